"""``GET /api/v1/sources``: how the sources stand, in the envelope of that interface."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, Field

from pinakes.api.envelope import PREFIX, ErrorResponse, RestApiResponse, wrapped
from pinakes.serve.service import Service
from pinakes.tools.sources import as_data

PATH = f"{PREFIX}/sources"


class Sources(BaseModel):
    """Sources, as the tool ``list_sources`` tells of them."""

    sources: list[dict[str, Any]]
    notes: Annotated[list[str] | None, Field(description="That there are no collections yet; absent else.")] = None


class SourcesResponse(RestApiResponse):
    """The sources that were asked for."""

    data: Sources  # type: ignore[assignment]


def routes(service: Service) -> APIRouter:
    """Return the routes over ``service``."""
    router = APIRouter(prefix=PREFIX, tags=["monitoring"])

    @router.get(
        "/sources",
        response_model=SourcesResponse,
        response_model_exclude_none=True,
        responses={404: {"model": ErrorResponse, "description": "There is no such collection."}},
    )
    async def list_sources(
        collection: Annotated[str, Query(description="Only those of this collection; empty = all.")] = "",
    ) -> Response:
        """Say of each source when it was read, what came of it, and when it is read next."""
        found = await service.run(lambda: service.library.syncing.everything(collection or None))
        none = "" if found else await service.run(service.library.naming.none_yet)
        return wrapped({"sources": [as_data(one) for one in found], **({"notes": [none]} if none else {})})

    return router
