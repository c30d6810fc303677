"""Tools of staged retrieval that explain rankings and list earlier queries."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field
from pydantic.json_schema import SkipJsonSchema

from pinakes.core import caller
from pinakes.core.errors import InvalidInput, NotFound, codes
from pinakes.core.filters import nearest
from pinakes.core.records import JSON
from pinakes.core.wording import rounded_score
from pinakes.library import Library
from pinakes.search.explaining import MOST_DOCUMENTS, Explanation, Explanations
from pinakes.services.audit import FAILED, OK, AuditQuery, as_data
from pinakes.tools.declare import Reply, list_from, tool
from pinakes.tools.failures import as_word
from pinakes.tools.listing_limits import most_items
from pinakes.tools.parameters import Collection, collection_from, undefaulted

_MOST_ENTRIES = 1000
_OUTCOMES = (OK, FAILED, *codes())
_SCORE_DIGITS = 4


class Why(Reply):
    """Why a document ranks where it does. ``score`` and ``rank`` are those of search_summaries; ``score_parts`` add up
    to the score. ``passage_score`` and ``passage_rank`` are of its best chunk; a summary of its own lifts it above.

    ``cosine_similarity`` and ``bm25_score`` (a share of the query's best) are of the chunks that either half of the
    search likes best, 0 to 1; ``query_doc_term_overlap`` is the share of the query's words that it has.
    """

    doc_id: str
    title: str
    cosine_similarity: float
    bm25_score: float
    top_matching_terms: list[str]
    query_doc_term_overlap: float
    explanation_text: str
    score: float | SkipJsonSchema[None] = None
    rank: int | SkipJsonSchema[None] = None
    passage_score: float | SkipJsonSchema[None] = None
    passage_rank: int | SkipJsonSchema[None] = None
    found: bool
    bm25: float | SkipJsonSchema[None] = None
    document_cosine: float | SkipJsonSchema[None] = None
    document_bm25: float | SkipJsonSchema[None] = None
    summary_cosine: float | SkipJsonSchema[None] = None
    keyword_rank: int | SkipJsonSchema[None] = None
    vector_rank: int | SkipJsonSchema[None] = None
    rerank_score: float | SkipJsonSchema[None] = None
    missing_terms: list[str]
    matches: list[dict[str, Any]]
    score_parts: dict[str, float]
    boosts: dict[str, float]
    left_out_by: list[str]
    passage: dict[str, Any] | SkipJsonSchema[None] = None


class Whys(Reply):
    """The documents that were asked about, in that order.

    ``not_found`` are ids that no document here has; ``hint`` says which of them another collection has.
    """

    query: str
    collection: str
    explanations: list[Why]
    candidates: int
    notes: list[str]
    degraded: str | SkipJsonSchema[None] = None
    not_found: list[str] | SkipJsonSchema[None] = None
    hint: str | SkipJsonSchema[None] = None


class Log(Reply):
    """Calls, newest first; ``total_entries`` counts those that are shown. ``truncated``: there are more."""

    entries: list[dict[str, Any]]
    total_entries: int
    truncated: bool | SkipJsonSchema[None] = None
    next: str | SkipJsonSchema[None] = None


def _outcomes(schema: dict[str, JSON]) -> None:
    undefaulted(schema)
    schema["enum"] = list(_OUTCOMES)


def _outcome(written: str) -> str:
    """Return an outcome as it is recorded, "" for any.

    Raises:
        InvalidInput: there is none of that name.
    """
    known = {one.casefold(): one for one in _OUTCOMES}
    found = known.get(written.strip().casefold(), "")
    if written.strip() and not found:
        near = nearest(written.upper(), _OUTCOMES) or _OUTCOMES
        raise InvalidInput(f"There is no outcome {written[:50]!r}.", hint=f"Use {', '.join(near)}, or leave it out.")
    return found


@tool(toolset="observe", error_data=as_word)
def explain_retrieval(
    library: Library,
    query: Annotated[str, Field(description="The query.")],
    doc_ids: Annotated[
        list[str],
        BeforeValidator(list_from),
        Field(
            description=f"Documents, found or not; at most {MOST_DOCUMENTS}.",
            json_schema_extra=most_items(MOST_DOCUMENTS),
        ),
    ],
    collection: Collection = "",
    tags_filter: Annotated[
        list[str], BeforeValidator(list_from), Field(description="Tags that the search was limited to.")
    ] = [],  # noqa: B006 - pydantic copies it
) -> Whys:
    """Show why documents rank where they do for a query, or are not found: scores, ranks, words they have or lack."""
    where, name = {"tags": tags_filter} if tags_filter else None, collection_from(library, collection)
    try:
        explained = whys(library.explain(query, doc_ids, name, filters=where))
        hint = library.naming.elsewhere(explained.not_found or (), library.named(name))
        return explained.model_copy(update={"hint": hint or None})
    except NotFound:
        if name:
            raise
        missing = list(dict.fromkeys(doc_ids)) or None
        return Whys(
            query=query,
            collection=library.chosen(),
            explanations=[],
            candidates=0,
            notes=[note] if (note := library.naming.missing()) else [],
            not_found=missing,
        )


@tool(toolset="observe", error_data=as_word)
def retrieval_log(
    library: Library,
    last_n: Annotated[
        int,
        Field(
            description=f"At most so many, up to {_MOST_ENTRIES}.", ge=1, json_schema_extra={"maximum": _MOST_ENTRIES}
        ),
    ] = 10,
    tool_filter: Annotated[str, Field(description="Only calls of this tool.")] = "",
    session_id: Annotated[str, Field(description="Only calls of this session.")] = "",
    collection: Annotated[str, Field(description="Only calls about it.")] = "",
    outcome: Annotated[
        str, Field(description="failed: any error; or the code of one.", json_schema_extra=_outcomes)
    ] = "",
    since: Annotated[
        str,
        Field(
            description="From this time on, or a day alone: 2026-01-31; UTC; or so long ago: 30m, 1h, 2d, 1w.",
            json_schema_extra=undefaulted,
        ),
    ] = "",
    text: Annotated[str, Field(description="Only where the parameters have this, or of this query_id.")] = "",
) -> Log:
    """List the last calls of tools, newest first: parameters, results, time taken."""
    who = caller.current()
    outcome = _outcome(outcome)
    wanted = AuditQuery(
        tool=tool_filter,
        session=session_id,
        caller="" if who.scope == "admin" and who.collections is None else who.name,
        collection=collection_from(library, collection) or "",
        outcome=outcome,
        since=since,
        text=text,
    )
    entries = library.audit.entries(min(last_n, _MOST_ENTRIES + 1), wanted)
    shown = [as_data(entry) for entry in entries[:_MOST_ENTRIES]]
    if len(entries) == len(shown):
        return Log(entries=shown, total_entries=len(shown))
    how = f"At most {_MOST_ENTRIES} entries are shown: narrow it with since, tool_filter, outcome or text."
    return Log(entries=shown, total_entries=len(shown), truncated=True, next=how)


def whys(found: Explanations) -> Whys:
    """Return explanations as they are told to programs."""
    return Whys(
        query=found.query,
        collection=found.collection,
        explanations=[_why(one) for one in found.documents],
        candidates=found.candidates,
        notes=list(found.notes),
        degraded=found.degraded,
        not_found=list(found.unknown) or None,
    )


def _why(one: Explanation) -> Why:
    hit, keyword, vector = one.passage, one.keyword, one.vector
    return Why(
        doc_id=one.document_id,
        title=one.title,
        cosine_similarity=_clamped(vector.score if vector else None),
        bm25_score=_clamped(keyword.score / keyword.best if keyword and keyword.score and keyword.best > 0 else None),
        top_matching_terms=[match.word for match in one.matches],
        query_doc_term_overlap=round(one.overlap, _SCORE_DIGITS),
        explanation_text=one.text,
        score=rounded_score(one.score if one.staged_score is None else one.staged_score),
        rank=one.rank if one.staged_rank is None else one.staged_rank,
        passage_score=rounded_score(one.score),
        passage_rank=one.rank,
        found=one.candidate or one.staged_rank is not None,
        bm25=rounded_score(keyword.score if keyword else None),
        document_cosine=rounded_score(one.document_cosine),
        document_bm25=rounded_score(one.document_bm25),
        summary_cosine=rounded_score(one.summary_cosine),
        keyword_rank=keyword.rank if keyword else None,
        vector_rank=vector.rank if vector else None,
        rerank_score=rounded_score(hit.scores.rerank if hit else None),
        missing_terms=list(one.missing),
        matches=[
            {"term": match.word, "fields": list(match.fields), "lines": list(match.lines), "count": match.count}
            for match in one.matches
        ],
        score_parts=dict(one.parts if one.staged_score is None else one.staged_parts),
        boosts=dict(hit.boosts) if hit else {},
        left_out_by=list(one.left_out),
        passage={
            "chunk_id": hit.chunk_id,
            "chunk_index": hit.chunk_index,
            "start_line": hit.start_line,
            "end_line": hit.end_line,
            "heading_path": list(hit.heading_path),
            **({"approximate": True} if hit.approximate else {}),
        }
        if hit
        else None,
    )


def _clamped(score: float | None) -> float:
    return round(min(max(score or 0.0, 0.0), 1.0), _SCORE_DIGITS)
