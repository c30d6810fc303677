"""Routes beside the tool ``manageKnowledge``: delete a source of documents, and answer a question in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Path, Request, Response
from pydantic import BaseModel, Field

from pinakes.answering import NOT_IN_CHUNKS, NOTHING_FOUND, AnswerWriter, NumberedChunk
from pinakes.compat.platform.knowledge import manage_knowledge
from pinakes.compat.server_parts import Server
from pinakes.core.errors import (
    Busy,
    CatalogueCorrupt,
    IndexCorrupt,
    IndexTooNew,
    IndexUnavailable,
    InvalidInput,
    ModelUnavailable,
    NotConfigured,
    PinakesError,
    Refused,
)
from pinakes.core.records import JSON
from pinakes.schemas.envelope import PREFIX, enveloped, json_object, refusals, refused, wrapped
from pinakes.settings import Settings
from pinakes.tools.listing_limits import limit_counts

_LIMIT = 20
_AWAY = (Busy, CatalogueCorrupt, IndexCorrupt, IndexTooNew, IndexUnavailable, ModelUnavailable)


class DeletedSource(BaseModel):
    """What was removed."""

    sourceIdentifier: str  # noqa: N815 - as clients read it
    chunksDeleted: int  # noqa: N815


DeleteSourceResponse = enveloped("DeleteSourceResponse", "The answer to the removal of a source.", DeletedSource)


class Source(BaseModel):
    """A document that was used. The answer names it by its place in the list, from 1."""

    uri: str
    title: Annotated[str | None, Field(description="Absent where it has none.")] = None


class UsedChunk(BaseModel):
    """A chunk that was used."""

    content: str
    uri: str
    score: float
    chunkIndex: int  # noqa: N815
    suspicious: Annotated[bool | None, Field(description="It has instructions aimed at a model; absent else.")] = None


class Answered(BaseModel):
    """An answer in words, and what it rests on."""

    answer: str
    sources: list[Source]
    chunks: list[UsedChunk]
    notes: Annotated[list[str] | None, Field(description="What is odd about it; absent else.")] = None


AskResponse = enveloped("AskResponse", "The answer to a question.", Answered)


class Question(BaseModel):
    """What is asked."""

    query: Annotated[str, Field(min_length=1, description="A question in plain words.")]
    limit: Annotated[int, Field(ge=1, description="So many chunks are used.")] = _LIMIT
    uriFilter: Annotated[str, Field(description="Only the document at this URL, or all below it.")] = ""  # noqa: N815


def routes(server: Server) -> APIRouter:
    """Return the routes over ``server``."""
    writer = server.library.answer_writer
    router = APIRouter(prefix=f"{PREFIX}/knowledge", tags=["knowledge"])

    # An id has slashes, which clients encode; what the server hands on is decoded, so the rest of the path is the id.
    @router.delete(
        "/source/{source_id:path}",
        response_model=DeleteSourceResponse,
        responses=refusals({403: "Not allowed.", 500: "It could not be removed.", 503: "Storage is not available."}),
        include_in_schema=not server.settings.server.read_only,
    )
    async def delete_source(source_id: Annotated[str, Path(examples=["example-source"])]) -> Response:
        """Remove all documents of a source; 0 chunks where there is none."""
        arguments = {"operation": "deleteBySource", "sourceId": source_id}
        outcome = await server.answer(manage_knowledge, arguments)
        if outcome.error is not None or outcome.data is None:
            return not_deleted(outcome.error, outcome.data)
        return wrapped({name: outcome.data[name] for name in ("sourceIdentifier", "chunksDeleted")})

    @router.post(
        "/ask",
        response_model=AskResponse,
        response_model_exclude_none=True,
        openapi_extra={
            "requestBody": {"required": True, "content": {"application/json": {"schema": _asked(server.settings)}}}
        },
        responses=refusals({400: "It cannot be asked.", 500: "No answer could be made.", 503: "There is no model."}),
    )
    async def ask(request: Request) -> Response:
        """Answer a question from the knowledge base, by the chat model of the settings."""
        body = await json_object(request)
        if isinstance(body, Response):
            return body
        return wrong_question(body) or await _answered(server, writer, body)

    return router


def _asked(settings: Settings) -> dict[str, JSON]:
    """Return the schema of a question, with as many chunks as the settings allow."""
    schema: dict[str, JSON] = Question.model_json_schema()
    limit_counts(schema["properties"], settings)
    return schema


async def _answered(server: Server, writer: AnswerWriter, body: Mapping[str, JSON]) -> Response:
    if not writer.chat.configured:
        hint = f"Set chat.url and chat.model. POST {PREFIX}/tools/manageKnowledge finds chunks without them."
        return refused(503, "AI_NOT_CONFIGURED", "No chat model is configured.", {"hint": hint})
    outcome = await server.answer(manage_knowledge, _search(body))
    if outcome.error is not None or outcome.data is None:
        return _unanswered(outcome.error)
    chunks: list[dict[str, JSON]] = outcome.data["chunks"]
    sources = _sources(chunks)
    words, notes = NOTHING_FOUND, list(outcome.data.get("notes", ()))
    try:
        if chunks:
            write = partial(writer.write, body["query"], passages(chunks, sources))
            written = await server.run(write, waits=True)
            words = NOT_IN_CHUNKS if written.refused else written.text
            notes += written.notes
    except PinakesError as error:
        return _unanswered(error)
    used = [{name: chunk[name] for name in UsedChunk.model_fields if name in chunk} for chunk in chunks]
    more = {"notes": notes} if notes else {}
    return wrapped({"answer": words, "sources": list(sources.values()), "chunks": used, **more})


def passages(chunks: Iterable[Mapping[str, JSON]], sources: Iterable[str]) -> list[NumberedChunk]:
    """Return the chunks as a model is shown them, each under its source's number.

    ``sources`` are the uris of the chunks in the order of their numbers.
    """
    number = {uri: place for place, uri in enumerate(sources, start=1)}
    return [
        NumberedChunk(
            number[one["uri"]],
            one["uri"],
            one["content"],
            bool(one.get("suspicious", False)),
            " > ".join(one.get("headingPath", ())),
        )
        for one in chunks
    ]


def _search(body: Mapping[str, JSON]) -> dict[str, JSON]:
    named = {name: body[name] for name in ("query", "limit", "uriFilter") if body.get(name) is not None}
    return {"operation": "search", **named}


def wrong_question(body: Mapping[str, JSON]) -> Response | None:
    """Return the refusal of a question that cannot be asked, None where it can."""
    query, limit, uri_filter = body.get("query"), body.get("limit"), body.get("uriFilter")
    if not isinstance(query, str) or not query.strip():
        return refused(400, "BAD_REQUEST", "Missing or empty required parameter: query")
    if limit is not None and not _is_count(limit):
        return refused(400, "INVALID_PARAMETER", "Invalid parameter: limit must be a whole number, 1 or more")
    if uri_filter is not None and not isinstance(uri_filter, str):
        return refused(400, "INVALID_PARAMETER", "Invalid parameter: uriFilter must be text")
    return None


def _is_count(limit: JSON) -> bool:
    whole = limit.is_integer() if isinstance(limit, float) else isinstance(limit, int)
    return whole and not isinstance(limit, bool) and limit >= 1


def _sources(chunks: Sequence[Mapping[str, JSON]]) -> dict[str, dict[str, JSON]]:
    """Return uri → document, in the order in which the chunks name them first."""
    found: dict[str, dict[str, JSON]] = {}
    for chunk in chunks:
        title = {"title": chunk["title"]} if chunk["title"] else {}
        found.setdefault(chunk["uri"], {"uri": chunk["uri"], **title})
    return found


def not_deleted(error: PinakesError | None, data: JSON) -> Response:
    """Return the refusal that tells why a source was not removed; ``data`` is what the tool says of it."""
    if isinstance(error, Refused):
        return refused(403, "FORBIDDEN", error.message, data)
    reason = {} if error is None else {"reason": error.message, "hint": error.hint}
    if isinstance(error, InvalidInput):
        return refused(400, "BAD_REQUEST", error.message, reason)
    if isinstance(error, _AWAY):
        return refused(503, "PLUGIN_UNAVAILABLE", "The storage is not available.", reason)
    return refused(500, "DELETE_SOURCE_ERROR", "The source could not be removed.", reason)


def _unanswered(error: PinakesError | None) -> Response:
    if isinstance(error, NotConfigured):
        return refused(503, "AI_NOT_CONFIGURED", error.message, {"hint": error.hint})
    if isinstance(error, InvalidInput):
        return refused(400, "BAD_REQUEST", error.message, {"hint": error.hint})
    reason = {"reason": error.message, "hint": error.hint} if error is not None else None
    return refused(500, "SYNTHESIS_ERROR", "The answer could not be made.", reason)
