"""Routes that one tool answers, in the envelope of ``/api/v1``: asking, sources, and the knowledge graph.

The graph is there as a file, too.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from tempfile import TemporaryFile
from typing import IO, Annotated, Final, Literal

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.responses import StreamingResponse

from pinakes.api.service import Service
from pinakes.core.records import JSON
from pinakes.schemas.envelope import PREFIX, enveloped, failed, json_object, refusals, wrapped
from pinakes.services.graph_export import MEDIA_TYPES, GraphFormat
from pinakes.tools.ask import AskReply, ask
from pinakes.tools.declare import Tool
from pinakes.tools.describe import Sources, list_sources
from pinakes.tools.graph_tools import (
    MAX_GIVEN_CHARS,
    MOST_DOCUMENTS,
    MOST_ENTITIES,
    MOST_PEOPLE,
    MOST_RELATIONS,
    Experts,
    Impact,
    Overview,
    Paths,
    Related,
    entity_path,
    find_experts,
    graph_overview,
    impact_of,
    related_entities,
)

GRAPH_TAG: Final = "graph"
_ASK: Final = f"{PREFIX}/ask"
_SOURCES: Final = f"{PREFIX}/sources"
_GRAPH: Final = f"{PREFIX}/graph"
_OF_GRAPH: Final = ("entity", "path", "experts", "impact", "export")
PATHS: Final = frozenset({_ASK, _SOURCES, _GRAPH, *(f"{_GRAPH}/{name}" for name in _OF_GRAPH)})
_BLOCK = 1 << 16

InCollection = Annotated[str, Query(description="Only of this collection; empty = of the usual ones.")]
Named = Annotated[
    str,
    Query(
        min_length=1,
        max_length=MAX_GIVEN_CHARS,
        description="Name or alias, in any case; TYPE:NAME names the type.",
        examples=["Salesforce"],
    ),
]
RelationTypes = Annotated[list[str], Query(description="Only relations of these types; may be repeated.")]
Direction = Annotated[Literal["out", "in", "both"], Query(description="From the entity, to it, or both.")]
After = Annotated[str, Query(max_length=500, description="`next_cursor` of the page before.")]
Entities = Annotated[int, Query(ge=1, le=MOST_ENTITIES, description="How many at most.")]
Relations = Annotated[int, Query(ge=1, le=MOST_RELATIONS, description="How many at most.")]
People = Annotated[int, Query(ge=1, le=MOST_PEOPLE, description="How many at most.")]
Documents = Annotated[int, Query(ge=1, le=MOST_DOCUMENTS, description="How many at most.")]
_MISSING: Final = refusals(
    {
        400: "A parameter is missing, is not known, or cannot be one.",
        404: "There is no such entity or collection.",
        422: "Several entities are called so, or a value cannot be used.",
    }
)


OverviewResponse = enveloped("OverviewResponse", "What the graphs hold.", Overview)
RelatedResponse = enveloped("RelatedResponse", "An entity and its relations.", Related)
PathsResponse = enveloped("PathsResponse", "Shortest paths between two entities.", Paths)
ExpertsResponse = enveloped("ExpertsResponse", "Who wrote most about an entity.", Experts)
ImpactResponse = enveloped("ImpactResponse", "The documents to look at when an entity changes.", Impact)
AskedResponse = enveloped("AskedResponse", "The answer to a question.", AskReply)
SourcesResponse = enveloped("SourcesResponse", "The sources that were asked for.", Sources)


def _refuse_unknown_parameters(request: Request) -> None:
    """Refuse a request with a parameter that its route does not have: a filter that is misspelt would not hold.

    Raises:
        RequestValidationError: it has one.
    """
    known = [one.alias for one in request.scope["route"].dependant.query_params]
    if unknown := [name for name in request.query_params if name not in known]:
        there = f"there are {', '.join(known)}" if known else "there are none"
        words = "there is no such parameter; " + there
        raise RequestValidationError(
            [{"type": "extra_forbidden", "loc": ("query", name[:100]), "msg": words} for name in unknown]
        )


def asking(service: Service) -> APIRouter:
    """Return ``POST /api/v1/ask``: a question answered in words, with the chunks that the answer cites.

    Raises:
        InvalidSetting: a setting of ``chat`` cannot be used, which is to be told when a server starts.
    """
    _ = service.library.answer_writer, service.library.staged.texts.writer
    router = APIRouter(tags=["search"])

    @router.post(
        _ASK,
        response_model=AskedResponse,
        response_model_exclude_none=True,
        openapi_extra={"requestBody": {"required": True, "content": {"application/json": {"schema": ask.schema()}}}},
        responses=refusals(
            {
                400: "The body is no JSON object.",
                404: "There is no such collection.",
                422: "The question cannot be asked.",
                503: "There is no chat model, or it does not answer.",
            }
        ),
    )
    async def answer(request: Request) -> Response:
        """Have a question answered in words from the documents, with citations like [2] and what they stand for."""
        body = await json_object(request)
        if isinstance(body, Response):
            return body
        outcome = await service.answer(ask, body)
        if outcome.error is not None:
            return failed(outcome.error)
        return wrapped(outcome.data or {})

    return router


def sources(service: Service) -> APIRouter:
    """Return ``GET /api/v1/sources``: how the sources stand."""
    router = APIRouter(tags=["monitoring"], dependencies=[Depends(_refuse_unknown_parameters)])

    @router.get(
        _SOURCES,
        response_model=SourcesResponse,
        response_model_exclude_none=True,
        responses=refusals({400: "A parameter is not known.", 404: "There is no such collection."}),
    )
    async def sources(
        collection: Annotated[str, Query(description="Only those of this collection; empty = all.")] = "",
    ) -> Response:
        """Say of each source when it was read, what came of it, and when it is read next."""
        found = await service.run(lambda: list_sources.call(service.library, {"collection": collection}))
        return wrapped(found.as_data() or {})

    return router


def graph(service: Service) -> APIRouter:
    """Return the routes of the knowledge graph; they are described where a collection has one."""
    described = service.library.graph.is_anywhere()
    router = APIRouter(
        prefix=_GRAPH, tags=[GRAPH_TAG], include_in_schema=described, dependencies=[Depends(_refuse_unknown_parameters)]
    )

    async def answered(tool: Tool, **arguments: JSON) -> Response:
        found = await service.run(lambda: tool.call(service.library, arguments), least_s=tool.least_s)
        return wrapped(found.as_data() or {})

    get = partial(router.get, response_model_exclude_none=True, responses=_MISSING)

    @get("", response_model=OverviewResponse)
    async def overview(
        collection: InCollection = "", entity_type: str = "", limit: Entities = 20, cursor: After = ""
    ) -> Response:
        """Tell which types of entities there are, and which entities most documents mention."""
        more = {"entity_type": entity_type, "limit": limit, "cursor": cursor}
        return await answered(graph_overview, collection=collection, **more)

    @get("/entity", response_model=RelatedResponse)
    async def entity(
        name: Named,
        collection: InCollection = "",
        relation_types: RelationTypes = [],  # noqa: B006
        direction: Direction = "both",
        min_confidence: Annotated[float, Query(ge=0, le=1, description="Only relations as sure as this.")] = 0.0,
        as_of: Annotated[str, Query(max_length=50, description="As stated on this day or at this time.")] = "",
        limit: Relations = 50,
        cursor: After = "",
    ) -> Response:
        """Show an entity and its relations, each with the document and the words that state it."""
        which = {"direction": direction, "min_confidence": min_confidence, "as_of": as_of}
        more = {"relation_types": relation_types, **which, "limit": limit, "cursor": cursor}
        return await answered(related_entities, name=name, collection=collection, **more)

    @get("/path", response_model=PathsResponse)
    async def path(
        source: Named,
        target: Named,
        collection: InCollection = "",
        relation_types: RelationTypes = [],  # noqa: B006
        max_hops: Annotated[int, Query(ge=1, le=6, description="At most so many relations.")] = 4,
        direction: Annotated[
            Literal["out", "in", "both"], Query(description="Along all relations, against them, or either.")
        ] = "both",
        through_owner: Annotated[
            Literal["auto", "yes", "no"],
            Query(description="Whether paths go through the owner (`we`); auto = only where there is no other."),
        ] = "auto",
    ) -> Response:
        """Show how two entities are connected, with the direction and the words of each step."""
        way = {"max_hops": max_hops, "direction": direction, "through_owner": through_owner}
        more = {"relation_types": relation_types, **way}
        return await answered(entity_path, source=source, target=target, collection=collection, **more)

    _add_documents(router, answered)
    _add_export(router, service)
    return router


def _add_documents(router: APIRouter, answered: Callable[..., Awaitable[Response]]) -> None:
    get = partial(router.get, response_model_exclude_none=True, responses=_MISSING)

    @get("/experts", response_model=ExpertsResponse)
    async def experts(name: Named, collection: InCollection = "", limit: People = 5, cursor: After = "") -> Response:
        """Tell who wrote most about an entity, with documents that show it."""
        return await answered(find_experts, name=name, collection=collection, limit=limit, cursor=cursor)

    @get("/impact", response_model=ImpactResponse)
    async def impact(name: Named, collection: InCollection = "", limit: Documents = 20, cursor: After = "") -> Response:
        """List the documents to look at when an entity changes, the most direct first."""
        return await answered(impact_of, name=name, collection=collection, limit=limit, cursor=cursor)


def _add_export(router: APIRouter, service: Service) -> None:
    @router.get(
        "/export",
        response_class=Response,
        responses={
            **_MISSING,
            200: {"content": {one: {} for one in MEDIA_TYPES.values()}, "description": "The graph as a file."},
        },
    )
    async def export(
        collection: InCollection = "",
        form: Annotated[GraphFormat, Query(alias="format", description="GraphML or JSON-LD.")] = "graphml",
    ) -> Response:
        """Return the graph of a collection as GraphML or JSON-LD."""
        file = await service.run(lambda: _file(service, collection, form))
        return StreamingResponse(_blocks(file), media_type=MEDIA_TYPES[form])


def _file(service: Service, collection: str, form: GraphFormat) -> IO[bytes]:
    """Return a file with the graph, so that no slow client holds a transaction open."""
    library = service.library
    file = TemporaryFile()  # noqa: SIM115 - closed where it was sent
    try:
        with library.audit.recording("graph_export", {"format": form}, name := library.graph.only(collection or None)):
            file.writelines(part.encode() for part in library.graph.export(name, form))
        file.seek(0)
    except BaseException:
        file.close()
        raise
    return file


def _blocks(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        while block := file.read(_BLOCK):
            yield block
