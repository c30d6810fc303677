"""``POST /api/v1/command/search``: a command asks the server of its home, which answers as the command would.

It shows the secret that the server wrote into the home, which only those can read who may do everything with it.
"""

from __future__ import annotations

import hmac
from typing import Any, Final

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import to_json

from pinakes.api.access import bearer_token
from pinakes.api.instance import COMMANDS
from pinakes.api.service import Service
from pinakes.core.caller import Caller, calling
from pinakes.core.errors import InvalidInput, NotFound, PinakesError
from pinakes.core.graph_paths import Expansion
from pinakes.core.records import Condition, Results, SearchMode
from pinakes.schemas.envelope import refused
from pinakes.search.query.syntax import PhraseUse
from pinakes.services.sync.refreshing import Refresh

_PASSED_ON: Final = (InvalidInput, NotFound)
"""Errors that the command would have had itself. Any other may be that of the server alone, so the command tries."""


class SearchCommand(BaseModel):
    """What ``Library.search`` is given."""

    model_config = ConfigDict(extra="forbid")

    query: str
    collection: str | list[str] | None = None
    mode: SearchMode | None = None
    top_k: int | None = None
    filters: tuple[Condition, ...] = ()
    fusion: str | None = None
    min_score: float = 0.0
    min_similarity: float = 0.0
    neighbours: int = 0
    as_of: str | None = None
    refresh: Refresh = "never"
    blame: bool = False
    phrases: PhraseUse = "auto"
    expand: Expansion = Expansion()


class AuditedCommand(BaseModel):
    """A question, with the command as the audit log has it: its name, and what it was given."""

    model_config = ConfigDict(extra="forbid")

    command: str
    given: dict[str, Any]
    question: SearchCommand


def routes(service: Service) -> APIRouter:
    """Return the route over ``service``."""
    router = APIRouter()

    @router.post(COMMANDS, include_in_schema=False)
    async def search(request: Request) -> Response:
        """Answer the question of a command."""
        shown = bearer_token(request.headers)
        if not service.local_key or not hmac.compare_digest(shown.encode(), service.local_key.encode()):
            return refused(403, "FORBIDDEN", "Only commands of the same home ask here.")
        try:
            asked = AuditedCommand.model_validate_json(await request.body())
        except ValidationError as error:
            return refused(400, "INVALID_REQUEST", "The request cannot be used", error.errors(include_context=False))
        try:
            results = await service.run(lambda: _answered(service, asked))
        except _PASSED_ON as error:
            body = {"code": error.code, "message": error.message, **error.details}
            return Response(to_json({"error": body}), 422, media_type="application/json")
        return Response(to_json(results, inf_nan_mode="constants"), media_type="application/json")

    return router


def _answered(service: Service, asked: AuditedCommand) -> Results:
    """Answer as the command would, recorded as its call.

    Raises:
        Busy: a collection that is asked is still being loaded.
        PinakesError: as ``Library.search``.
    """
    library, question = service.library, asked.question
    with calling(Caller(interface="cli")):
        _check_ready(service, question)
        with library.audit.recording(asked.command, asked.given) as call:
            results = library.search(**{name: getattr(question, name) for name in SearchCommand.model_fields})
            call.found([hit.document_id for hit in results.hits])
            return results


def _check_ready(service: Service, question: SearchCommand) -> None:
    try:
        names = service.library.naming.choose(question.collection, question.as_of).names
    except PinakesError:  # to be told, and recorded, by the search
        return
    for name in names:
        service.check_ready(name)
