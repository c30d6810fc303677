"""The tools of the toolset "code": search code and documentation, add a file, and the status of the index."""

from __future__ import annotations

import math
from typing import Annotated, Any

from pydantic import BeforeValidator, Field
from pydantic.json_schema import SkipJsonSchema

from pinakes.compat.code import contents
from pinakes.compat.code.codes import as_code
from pinakes.compat.code.contents import ContentStatus, IndexReply, SystemStats
from pinakes.core.content_types import FIELD, ContentType
from pinakes.core.errors import InvalidInput, NotFound, QueryTooLong
from pinakes.core.records import JSON, Hit, Results
from pinakes.library import Library
from pinakes.schemas.hits import hit_data
from pinakes.tools.declare import Reply, list_from, object_from, tool
from pinakes.tools.parameters import Collection, Searched, WrittenTo, collection_from

_HALFWAY_BM25 = 10
_MOST_COPIES = 5
_EMBEDDING_STAGES = frozenset({"embed"})
_SEARCH_STAGES = frozenset({"follow", "mend", "understand", "keyword", "vector", "score"})
"""Of a search that finds candidates; its other stages put them into their order."""


def _type_from(value: JSON) -> JSON:
    """Return a content type as it is called, however it is capitalised."""
    return value.strip().lower() if isinstance(value, str) else value


def _types_from(value: JSON) -> JSON:
    given = list_from(value)
    return [_type_from(one) for one in given] if isinstance(given, list) else given


class Copy(Reply):
    """A chunk that says the same as a result, but perhaps for a version or date."""

    content_id: str
    source_path: str
    start_line: int


class Found(Reply):
    """One chunk that was found. Scores and confidence are 0 to 1; lines count from 1. ``uri`` leads to the original.

    ``score_parts`` add up to ``combined_score``. ``query_id``: by which the log of calls has the query.
    ``link`` leads to its lines on the forge of its repository, where that is known. ``changed`` is there where the file
    has changed since it was indexed, ``suspicious`` where the chunk has instructions aimed at a model.
    ``duplicate_count`` chunks of others say the same and are no results; ``duplicates`` are the first of them.
    """

    query_id: str | SkipJsonSchema[None] = None
    content_id: str
    title: str
    source_path: str
    content_type: str
    similarity_score: float
    bm25_score: float
    combined_score: float
    score_parts: dict[str, float]
    confidence: float
    context_lines: list[str]
    explanation: str
    start_line: int
    end_line: int
    uri: str
    metadata: dict[str, Any]
    heading_path: list[str]
    link: str | SkipJsonSchema[None] = None
    changed: bool | SkipJsonSchema[None] = None
    suspicious: bool | SkipJsonSchema[None] = None
    duplicate_count: int | SkipJsonSchema[None] = None
    duplicates: list[Copy] | SkipJsonSchema[None] = None


class QueryStats(Reply):
    """How many results were found, before ``max_results`` cut them, and how long it took, in seconds."""

    total_results: int
    processing_time: float
    query_embedding_time: float
    search_time: float
    ranking_time: float


class SearchReply(Reply):
    """What was found, best first. ``degraded`` says what part of the search was not possible."""

    query_id: str | SkipJsonSchema[None] = None
    results: list[Found]
    query_stats: QueryStats
    degraded: str | SkipJsonSchema[None] = None
    notes: list[str] | SkipJsonSchema[None] = None


class StatusReply(Reply):
    """How one content stands, and all of them."""

    content_status: ContentStatus | SkipJsonSchema[None] = None
    system_stats: SystemStats | SkipJsonSchema[None] = None
    notes: list[str] | SkipJsonSchema[None] = None


@tool(toolset="code", error_data=as_code)
def semantic_search(
    library: Library,
    query: Annotated[str, Field(description="A question in plain words, or exact identifiers.", min_length=1)],
    max_results: Annotated[int, Field(description="Most results.", ge=1)] = 20,
    similarity_threshold: Annotated[
        float, Field(description="Least similarity_score: cosine of query and chunk.", ge=0, le=1)
    ] = 0.0,
    content_types: Annotated[
        list[ContentType], BeforeValidator(_types_from), Field(description="Only these; empty = all.")
    ] = [],  # noqa: B006 - pydantic copies it
    file_paths: Annotated[
        list[str], BeforeValidator(list_from), Field(description="Only paths like these: mm/*.c, drivers/net/**.")
    ] = [],  # noqa: B006
    collection: Searched = "",
) -> SearchReply:
    """Find chunks of code, documentation and configuration by meaning and by exact words.

    Identifiers are searched for as they are written. Each result has its path and lines to read on from."""
    limits = library.settings.search
    if len(query) > limits.max_query_chars:
        raise QueryTooLong(
            f"The query has {len(query)} characters.", hint=f"At most {limits.max_query_chars} are searched for."
        )
    if not query.strip():
        raise InvalidInput("The query is empty.", hint="Write what to look for.")
    if max_results > limits.max_top_k:
        raise InvalidInput(f"max_results cannot be {max_results}.", hint=f"At most {limits.max_top_k}.")
    where: dict[str, JSON] = {FIELD: content_types} if content_types else {}
    if file_paths:
        where["path"] = {"glob": file_paths}
    name = collection_from(library, collection)
    try:
        results = library.search(query, name, top_k=max_results, filters=where, min_similarity=similarity_threshold)
    except NotFound:
        if name:
            raise
        return _NOTHING_YET.model_copy(update={"notes": [library.naming.missing()]})
    types = library.lookup.types_of({hit.document_id for hit in results.hits})
    known = results.query_id or None
    return SearchReply(
        query_id=known,
        results=[_found(hit, types.get(hit.document_id, "documentation"), known) for hit in results.hits],
        query_stats=_stats(results),
        degraded=results.degraded,
        notes=list(results.notes) or None,
    )


@tool(toolset="code", read_only=False, idempotent=True, error_data=as_code)
def index_content(
    library: Library,
    content_type: Annotated[ContentType, BeforeValidator(_type_from), Field(description="What it is there for.")],
    source_path: Annotated[str, Field(description="Its path; decides how it is read.", min_length=1, max_length=4096)],
    content: Annotated[str, Field(description="All of its text.", min_length=1)],
    title: Annotated[str, Field(description="What it is called; empty = as it calls itself.")] = "",
    metadata: Annotated[dict[str, Any], BeforeValidator(object_from), Field(description="Fields to filter by.")] = {},  # noqa: B006
    force_reindex: Annotated[bool, Field(description="Embed it again even if it is unchanged.")] = False,
    collection: WrittenTo = "",
) -> IndexReply:
    """Put the content of one file in, or in place of what is at its path. Unchanged content is not embedded again."""
    return contents.index(
        library,
        content,
        source_path.strip().removeprefix("./"),
        content_type,
        title=title.strip(),
        metadata=metadata,
        collection=collection_from(library, collection),
        again=force_reindex,
    )


@tool(toolset="code", error_data=as_code)
def get_index_status(
    library: Library,
    content_id: Annotated[str, Field(description="Id or path of one content; empty = none.")] = "",
    include_stats: Annotated[bool, Field(description="Also count all contents.")] = True,
    collection: Collection = "",
) -> StatusReply:
    """Tell how far contents are indexed: one of them, or all counted by type and status."""
    one, doubts = (
        contents.status_of(library, content_id, collection_from(library, collection)) if content_id else (None, ())
    )
    stats, unknown = contents.overview(library, collection_from(library, collection)) if include_stats else (None, [])
    none = library.naming.none_yet() if include_stats else ""
    notes = dict.fromkeys([*doubts, *unknown, *filter(None, [none])])
    return StatusReply(content_status=one, system_stats=stats, notes=[*notes] or None)


_NOTHING_YET = SearchReply(
    results=[],
    query_stats=QueryStats(
        total_results=0, processing_time=0.0, query_embedding_time=0.0, search_time=0.0, ranking_time=0.0
    ),
)


def _found(hit: Hit, purpose: str, query_id: str | None) -> Found:
    own = {
        "query_id": query_id,
        "content_id": hit.document_id,
        "source_path": hit.path,
        "content_type": purpose,
        "similarity_score": _clamped(hit.scores.cosine),
        "bm25_score": math.tanh(max(hit.scores.bm25 or 0.0, 0.0) / _HALFWAY_BM25),
        "combined_score": _clamped(hit.score),
        "context_lines": [line.text for line in hit.context],
        "metadata": {name: value for name, value in hit.metadata.items() if name != FIELD},
        "duplicate_count": len(hit.duplicates) or None,
        "duplicates": [
            Copy(content_id=one.document_id, source_path=one.path, start_line=one.start_line)
            for one in hit.duplicates[:_MOST_COPIES]
        ]
        or None,
    }
    return Found(**(hit_data(hit, Found) | own))


def _clamped(score: float | None) -> float:
    return min(max(score or 0.0, 0.0), 1.0)


def _stats(results: Results) -> QueryStats:
    """Return how long each part of a search took; what is none of the parts counts as putting in order."""
    trace = results.trace
    spent = {stage.name: stage.milliseconds / 1000 for stage in trace.stages}
    embedding = sum(seconds for name, seconds in spent.items() if name in _EMBEDDING_STAGES)
    searching = sum(seconds for name, seconds in spent.items() if name in _SEARCH_STAGES)
    return QueryStats(
        total_results=results.total_found,
        processing_time=trace.milliseconds / 1000,
        query_embedding_time=embedding,
        search_time=searching,
        ranking_time=sum(spent.values()) - embedding - searching,
    )
