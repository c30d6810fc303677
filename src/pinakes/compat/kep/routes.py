"""The knowledge routes: ``POST /search`` and ``GET /stats``."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Response
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError, to_json

from pinakes.compat.server_parts import Server
from pinakes.core.errors import Busy
from pinakes.core.filters import nearest
from pinakes.core.records import JSON, Hit, Results, SearchMode
from pinakes.library import Library
from pinakes.models.embedders.presets import model_of
from pinakes.schemas.envelope import Refusal
from pinakes.schemas.hits import MODES, QUESTION, Chunk, Why, hit_data
from pinakes.settings import Settings, shortened
from pinakes.tools.exactness import counted, distinct, exact_share
from pinakes.tools.listing_limits import TOP_K, usual_top_k

RRF = "Reciprocal Rank Fusion (RRF)"


def _text(value: str) -> str:
    """Refuse half of a surrogate pair, which is a string in JSON but no text: encoding it raises a ValueError."""
    value.encode()
    return value


class SearchRequest(BaseModel):
    """What is asked."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"example": {"query": QUESTION, "search_type": "hybrid", "top_k": 5}},
    )

    query: Annotated[str, AfterValidator(_text), Field(description="A question in plain words, or exact terms.")]
    search_type: Annotated[
        Literal["hybrid", "vector", "keyword", "auto"],
        Field(description="How to search; auto = by what the query is like, with a note of what was chosen."),
    ] = "hybrid"
    top_k: Annotated[int, Field(ge=1, description="How many chunks.")] = TOP_K
    min_score: Annotated[float, Field(ge=0, le=1, description="Leave out chunks that score less.")] = 0.0
    filters: Annotated[
        dict[str, Any] | None,
        Field(
            description="Metadata that must match; a value may be a list, a range {gte, gt, lte, lt}, {ne} or {glob}."
        ),
    ] = None
    collection: Annotated[
        str | None, Field(description="One, several as `a,b`, `*` = all; none = the configured one, else all.")
    ] = None
    fusion: Annotated[Literal["weighted", "rrf"] | None, Field(description="How hybrid ranks are made.")] = None
    phrases: Annotated[
        Literal["auto", "required", "preferred"],
        Field(
            description="What quotation marks mean: chunks must have the phrase, or those that have it come first; "
            "auto = required beside at most three words and no stop word, else preferred."
        ),
    ] = "auto"
    neighbours: Annotated[int, Field(ge=0, le=3, description="So many chunks before and after each, too.")] = 0
    expand: Annotated[
        int | None,
        Field(ge=0, le=2, description="Also chunks that are so many relations of the graph away from what is named."),
    ] = None
    explain: Annotated[bool, Field(description="Say why each chunk is there, and where the words stand.")] = False
    as_of: Annotated[
        str | None,
        Field(
            description="The documents as they were at the end of this day (2026-01-31) or at this time, UTC; or at a "
            "branch, tag or commit at which a collection holds the same repository."
        ),
    ] = None

    refresh: Annotated[
        Literal["never", "auto"],
        Field(description="auto = first read files of results again that changed, for `search.refresh_ms` at most."),
    ] = "never"

    @model_validator(mode="before")
    @classmethod
    def _known(cls, body: Any) -> Any:
        """Refuse a field there is not, with what may have been meant."""
        for name in body if isinstance(body, dict) else ():
            if name not in cls.model_fields:
                near = nearest(str(name), list(cls.model_fields), 1)
                hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(cls.model_fields)}"
                raise PydanticCustomError(
                    "unknown_field", "There is no field {name}: {hint}", {"name": shortened(name), "hint": hint}
                )
        return body


class SearchResult(Chunk):
    """One chunk."""

    kep_id: Annotated[str, Field(description="The document's key: its group, or its id.")]
    why: Annotated[Why | None, Field(description="Why it is there, where asked for with `explain`.")] = None


class SearchResponse(BaseModel):
    """The chunks found, best first."""

    results: list[SearchResult]
    query: str
    search_type: str
    total_results: Annotated[int, Field(description="How many are returned.")]
    search_time_ms: float
    total_found: Annotated[
        int | None, Field(description="With `explain`: how many were found, before `top_k` cut them.")
    ] = None
    query_id: Annotated[
        str | None, Field(description="With `explain`: by which the log of calls has the query, where it has it.")
    ] = None
    degraded: Annotated[str | None, Field(description="Why the search could not be done in full; absent else.")] = None
    notes: Annotated[
        list[str] | None, Field(description="What was done to the query, or is odd about it; absent else.")
    ] = None
    answerable: Annotated[
        float | None,
        Field(description="How probable it is that the results hold an answer, 0 to 1; absent where not known."),
    ] = None


class Stats(BaseModel):
    """What is served."""

    total_keps: int
    total_chunks: int
    total_vectors: Annotated[int, Field(description="Exact and approximate ones.")]
    exact_vectors: Annotated[int, Field(description="Those that the embedding model made.")]
    exact_share: Annotated[float, Field(description="Share of all chunks that have an exact vector, 0 to 1.")]
    embedding_model: Annotated[str, Field(description="Of several collections all models, with commas between.")]
    embedding_dimension: Annotated[int, Field(description="Of several models the largest.")]
    search_modes: list[str]
    fusion_algorithm: str
    collections: Annotated[list[str], Field(description="Those that are counted.")]
    notes: Annotated[list[str] | None, Field(description="Why nothing is counted; absent else.")] = None


def routes(server: Server) -> APIRouter:
    """Return the routes over ``server``."""
    router = APIRouter()

    @router.post(
        "/search",
        tags=["search"],
        summary="Search",
        response_model=SearchResponse,
        responses={
            404: {"model": Refusal, "description": "There is no such collection."},
            422: {"model": Refusal, "description": "This cannot be searched for."},
            500: {"model": Refusal, "description": "Search failed."},
            503: {"model": Refusal, "description": "Server not ready. Index not loaded."},
        },
    )
    async def search(request: SearchRequest) -> Response:
        """Find the chunks that answer a question, best first."""
        results = await server.run(lambda: recorded(server, request))
        return Response(to_json(rendered(server.settings, request, results)), media_type="application/json")

    @router.get("/stats", tags=["monitoring"], response_model=Stats, responses={503: {"description": "Not ready."}})
    async def stats() -> Response:
        """Say how much is indexed, and by what."""
        return Response(to_json(await server.run(lambda: _stats(server))), media_type="application/json")

    return router


def recorded(server: Server, request: SearchRequest, *, mode: SearchMode | None = None, rerank: bool = True) -> Results:
    """Answer as ``answered`` does, as a call that the audit log has."""
    with server.library.audit.recording("search", request.model_dump(exclude_defaults=True)) as call:
        results = answered(server, request, mode=mode, rerank=rerank)
        call.found([hit.document_id for hit in results.hits], collection=results.collection)
        return results


def answered(server: Server, request: SearchRequest, *, mode: SearchMode | None = None, rerank: bool = True) -> Results:
    """Answer ``request``, by another ``mode`` than it wants where one is given.

    Raises:
        Busy: the collection is still being read.
        PinakesError: as ``Library.search``.
    """
    asked = server.library.naming.choose(request.collection, request.as_of)
    unready = server.unready(asked.names)
    results = server.library.search(
        request.query,
        asked.names,
        mode=mode or request.search_type,
        top_k=request.top_k if "top_k" in request.model_fields_set else usual_top_k(server.settings),
        filters={("path" if name == "file_path" else name): value for name, value in (request.filters or {}).items()},
        fusion=request.fusion,
        phrases=request.phrases,
        min_score=request.min_score,
        neighbours=request.neighbours,
        rerank=rerank,
        as_of=request.as_of,
        refresh=request.refresh,
        expand=request.expand,
    )
    unread = tuple(f"{name!r} is still being read: there will be more to find" for name in unready)
    unread = unread or tuple(filter(None, [server.unfinished()]))
    return replace(results, notes=(*results.notes, *asked.notes, *unread))


def rendered(settings: Settings, request: SearchRequest, results: Results) -> dict[str, JSON]:
    """Return ``results`` as ``SearchResponse`` has them."""
    answer: dict[str, JSON] = {
        "results": [_result(hit, settings, request, several=results.several) for hit in results.hits],
        "query": request.query,
        "search_type": request.search_type,
        "total_results": len(results.hits),
        "search_time_ms": round(results.trace.milliseconds, 2),
    }
    if request.explain:
        answer |= {"total_found": results.total_found} | ({"query_id": results.query_id} if results.query_id else {})
    if results.degraded:
        answer["degraded"] = results.degraded
    if results.answerable is not None:
        answer["answerable"] = round(results.answerable, 4)
    return answer | ({"notes": list(results.notes)} if results.notes else {})


def _result(hit: Hit, settings: Settings, request: SearchRequest, *, several: bool) -> dict[str, JSON]:
    key = str(hit.metadata.get(settings.of_collection(hit.collection).key_field) or hit.document_id)
    name = hit.path.rpartition("/")[2]
    place = {
        "kep_id": key,
        "title": hit.title,
        "file_path": hit.path,
        "file_type": name.rpartition(".")[2].lower() if "." in name else "",
        "heading_path": list(hit.heading_path),
    }
    result = {**hit_data(hit, Chunk, several=several), "kep_id": key, "metadata": {**hit.metadata, **place}}
    if request.neighbours:
        result.setdefault("neighbours", [])
    return result | ({"why": hit_data(hit, Why)} if request.explain else {})


def _stats(server: Server) -> dict[str, JSON]:
    library, settings = server.library, server.settings
    names = library.named()
    try:
        server.unready(names)
    except Busy as error:
        raise Busy("Server not ready", hint=error.hint) from error
    every = counted(library)
    models = [_model(library, status.name) for status in every] or [_model(library)]
    chunks, exact = sum(status.chunks for status in every), sum(status.exact for status in every)
    missing = "" if every else library.naming.missing()
    return {
        "total_keps": sum(map(distinct, every)),
        "total_chunks": chunks,
        "total_vectors": exact + sum(status.approximate for status in every),
        "exact_vectors": exact,
        "exact_share": exact_share(every),
        "embedding_model": ", ".join(dict.fromkeys(name for name, _ in models)),
        "embedding_dimension": max(dimension for _, dimension in models),
        "search_modes": MODES,
        "fusion_algorithm": fusion_words(settings),
        "collections": [status.name for status in every],
        **({"notes": [missing]} if missing else {}),
    }


def _model(library: Library, name: str = "") -> tuple[str, int]:
    """Return what a collection is embedded by, and how long its vectors are; of none yet what the settings say."""
    model, dimension = library.collecting.model(name)
    return "deterministic" if model.provider == "deterministic" else model_of(model), dimension


def fusion_words(settings: Settings) -> str:
    """Say in words how hybrid rankings are made."""
    if settings.search.fusion == "rrf":
        return RRF
    semantic, keyword = settings.search.semantic_weight, settings.search.keyword_weight
    return f"Weighted ({semantic:g} · cosine + {keyword:g} · BM25 / best BM25); on request {RRF}"
