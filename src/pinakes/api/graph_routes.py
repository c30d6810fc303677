"""``GET /api/v1/graph/…``: the knowledge graph, in the envelope of that interface, and as a file."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from tempfile import TemporaryFile
from typing import IO, Annotated, Final, Literal

from fastapi import APIRouter, Query, Response
from starlette.responses import StreamingResponse

from pinakes.api.service import Service
from pinakes.core.records import JSON
from pinakes.schemas.envelope import PREFIX, RestApiResponse, refusals, wrapped
from pinakes.services.graph_export import MEDIA_TYPES, GraphFormat
from pinakes.tools.declare import Tool
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

TAG: Final = "graph"
PATH: Final = f"{PREFIX}/graph"
PATHS: Final = frozenset({PATH, *(f"{PATH}/{name}" for name in ("entity", "path", "experts", "impact", "export"))})
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
        400: "A parameter is missing, or cannot be one.",
        404: "There is no such entity or collection.",
        422: "Several entities are called so, or a value cannot be used.",
    }
)


class OverviewResponse(RestApiResponse):
    """What the graphs hold."""

    data: Overview  # type: ignore[assignment]


class RelatedResponse(RestApiResponse):
    """An entity and its relations."""

    data: Related  # type: ignore[assignment]


class PathsResponse(RestApiResponse):
    """Shortest paths between two entities."""

    data: Paths  # type: ignore[assignment]


class ExpertsResponse(RestApiResponse):
    """Who wrote most about an entity."""

    data: Experts  # type: ignore[assignment]


class ImpactResponse(RestApiResponse):
    """The documents to look at when an entity changes."""

    data: Impact  # type: ignore[assignment]


def routes(service: Service) -> APIRouter:
    """Return the routes over ``service``; they are described where a collection has a graph."""
    router = APIRouter(prefix=PATH, tags=[TAG], include_in_schema=service.library.graph.is_anywhere())

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
        relation: RelationTypes = [],  # noqa: B006
        direction: Direction = "both",
        min_confidence: Annotated[float, Query(ge=0, le=1, description="Only relations as sure as this.")] = 0.0,
        as_of: Annotated[str, Query(max_length=50, description="As stated on this day or at this time.")] = "",
        limit: Relations = 50,
        cursor: After = "",
    ) -> Response:
        """Show an entity and its relations, each with the document and the words that state it."""
        which = {"relation_types": relation, "direction": direction, "min_confidence": min_confidence, "as_of": as_of}
        more = {**which, "limit": limit, "cursor": cursor}
        return await answered(related_entities, name=name, collection=collection, **more)

    @get("/path", response_model=PathsResponse)
    async def path(
        source: Named,
        target: Named,
        collection: InCollection = "",
        relation: RelationTypes = [],  # noqa: B006
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
        more = {"relation_types": relation, **way}
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
