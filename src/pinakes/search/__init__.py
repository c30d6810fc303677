"""From a question to ranked chunks: two retrievers, one ranking, every step in the trace."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from pinakes.catalog import Connection, selection
from pinakes.core.errors import IndexUnavailable, ModelUnavailable
from pinakes.core.ports import Index, VectorQuery, lexicon_of
from pinakes.core.records import JSON, Filter, Float32, Ranking, Results
from pinakes.search.query.request import FUSIONS, MODES, Request, check
from pinakes.search.query.understanding import ParsedRequest, understand
from pinakes.search.query.unmatched import values
from pinakes.search.ranking.boosts import lifted
from pinakes.search.ranking.context import SearchContext
from pinakes.search.ranking.diversity import Diversity
from pinakes.search.ranking.rank import Ranked, bound, phrases_first, rank
from pinakes.search.ranking.reranking import Reranking
from pinakes.search.result_cache import ResultCache
from pinakes.search.results.answerable import judged
from pinakes.search.results.chunk_texts import ChunkTexts
from pinakes.search.results.hydration import hydrated
from pinakes.search.results.ids_only import deepened
from pinakes.search.retrieval.candidates import Candidates, approximate, gather, nothing, rescored
from pinakes.search.retrieval.constraints import constrained
from pinakes.search.retrieval.tracer import Tracer
from pinakes.search.statistics.caches import CollectionStatistics, QueryVectors
from pinakes.settings import SearchSettings

__all__ = [
    "FUSIONS",
    "MODES",
    "CollectionStatistics",
    "QueryVectors",
    "RankedCandidates",
    "Request",
    "Reranking",
    "ResultCache",
    "Retrieved",
    "SearchContext",
    "Tracer",
    "deepened",
    "filters_meant",
    "rank",
    "ranked_candidates",
    "retrieve",
    "search",
]

_HEAD = 10
_MOST_REFINED = 20
_REFINED_AT_ONCE = 4
"""Few enough to keep to the time, enough to keep two cores at work."""

_POOL_GROWTH = 8
"""The pool of candidates is made so many times larger where one gave too few hits."""

_NO_SPELLING = "no chunk has a word of the query; the index engine keeps no words, so none was looked for in its place"

_OVERTAKEN_S, _LOOK_AGAIN_S = 2.0, 0.01
"""How long a search waits for an index that has chunks which were just replaced, and how often it looks."""


@dataclass(frozen=True, slots=True)
class Retrieved:
    """All that is known before anything is ranked. ``degraded``: what is lacking, where no ``vector`` could be had."""

    asked: ParsedRequest
    vector: Float32 | None
    degraded: str | None
    found: Candidates


def retrieve(request: Request, context: SearchContext, also: Ranking | None = None) -> Retrieved:
    """Understand ``request`` and gather its candidates, which ``rank`` can then rank by one weighting after another.

    Chunks of ``also`` are among them in any case.

    Raises:
        as ``search``.
    """
    check(request)
    with context.tracer.stage("understand") as detail:
        asked = _understood(request, context)
        detail |= {"mode": asked.request.mode} if asked.route else {}
    vector, degraded = _embedded(asked, context)
    if degraded and asked.request.mode == "vector":  # "auto" had chosen it: words are what is left
        asked = replace(asked, request=replace(asked.request, mode="hybrid"))
    found = nothing()
    if asked.text:
        try:
            asked, found = _gathered(asked, vector, context, also)
        except IndexUnavailable as error:
            asked, vector, found, degraded = _gathered_by_one(asked, vector, context, also, error)
    found = lifted(asked, found, context)
    return Retrieved(asked, vector, degraded, found)


def _gathered(
    asked: ParsedRequest, vector: Float32 | None, context: SearchContext, also: Ranking | None
) -> tuple[ParsedRequest, Candidates]:
    asked, only = constrained(asked, context.index)
    return asked, gather(asked, only, vector, context.index, context.settings, context.tracer, also)


def _gathered_by_one(
    asked: ParsedRequest,
    vector: Float32 | None,
    context: SearchContext,
    also: Ranking | None,
    error: IndexUnavailable,
) -> tuple[ParsedRequest, Float32 | None, Candidates, str]:
    """Gather by the retriever whose engine answers, after that of one did not; return also what is lacking.

    Raises:
        IndexUnavailable: no engine does that the request may be answered by.
    """
    mode = asked.request.mode
    if vector is None or (mode == "vector" and asked.route is None):
        raise error
    hybrid = replace(asked, request=replace(asked.request, mode="hybrid"))
    with suppress(IndexUnavailable):
        by_words, found = _gathered(hybrid, None, context, also)
        return by_words, None, found, f"keyword search only: {error.message}"
    if asked.phrases or asked.preferred or asked.excluded:  # what only the words could tell
        raise error
    near = replace(asked, request=replace(asked.request, mode="vector"))
    by_meaning, found = _gathered(near, vector, context, also)
    return by_meaning, vector, found, f"vector search only: {error.message}"


@dataclass(frozen=True, slots=True)
class RankedCandidates:
    """Candidates in their final order, not yet looked up. ``notes`` say what was done, in words."""

    known: Retrieved
    ranked: Ranked
    notes: tuple[str, ...]


def ranked_candidates(request: Request, context: SearchContext) -> RankedCandidates:
    """Rank the candidates of ``request``: fused, made exact as far as the time for that goes, reranked.

    Raises:
        as ``search``.
    """
    tracer = context.tracer
    known = retrieve(request, context)
    with tracer.stage("fuse") as detail:
        ranked = rank(known.asked.request, known.found, context.settings.search)
        detail |= {"candidates": len(known.found.ids), "fusion": request.fusion}
    notes = [*known.asked.notes]
    if known.vector is not None and known.found.exact is not None:
        ranked = _made_exact(known.asked.request, ranked, known.vector, context, notes)
    if request.min_similarity > 0:
        ranked, far = ranked.near(request.min_similarity)
        notes += far
    if request.rerank and context.reranking is not None and len(ranked.rows):
        with context.catalog.read() as connection, tracer.stage("rerank") as detail:
            ranked, report = context.reranking.rerank(connection, known.asked.text, ranked, context.index)
            detail |= report.detail()
        ranked = phrases_first(ranked)
        notes += [report.note] if report.note else []
    return RankedCandidates(known, ranked, tuple(notes))


def search(request: Request, context: SearchContext) -> Results:
    """Answer ``request`` from one collection.

    Where chunks have approximate vectors, those of the head get the model's, as far as the time for that goes.

    Raises:
        InvalidInput: an unknown mode or fusion, or a top_k out of range.
        ModelUnavailable: mode "vector" and there is no model. In mode "hybrid" the answer is by keywords
            alone and says ``degraded``.
        IndexUnavailable: no engine answers that the mode needs; of two in mode "hybrid" one is enough.
        Superseded: the collection has another index by now, which has what this one lacks.
    """
    answer, until, behind = _searched(request, context), time.monotonic() + _OVERTAKEN_S, 0
    while context.tracer.overtaken and behind < 2 and time.monotonic() < until:  # what is replaced is never missing
        time.sleep(_LOOK_AGAIN_S)
        with context.tracer.stage("follow"):
            behind = 0 if context.follow() else behind + 1
        answer = _searched(request, context)
    context.tracer.overtaken = context.tracer.overtaken and not behind
    return answer


def _searched(request: Request, context: SearchContext) -> Results:
    """Answer ``request``; where copies leave too few hits and there may be others, from a larger pool of candidates."""
    while True:
        answer, limited = _of_pool(request, context)
        if len(answer.hits) >= request.top_k or not limited:
            return answer
        request = replace(request, pool=_POOL_GROWTH * (request.pool or request.top_k))


def _of_pool(request: Request, context: SearchContext) -> tuple[Results, bool]:
    """Answer ``request`` from one pool of candidates; say, too, whether a larger one may give more hits."""
    collection, index, tracer = context.collection, context.index, context.tracer
    order = ranked_candidates(request, context)
    asked, vector, degraded, found = order.known.asked, order.known.vector, order.known.degraded, order.known.found
    ranked, notes = order.ranked, [*order.notes]
    with context.catalog.read() as connection:
        with tracer.stage("hydrate"):
            where = asked.request.where
            total = context.statistics.count(connection, collection, where)
            notes += selection.doubts(connection, collection.id, where, total)
            if vector is not None and total and not _any_vector(found, vector, index, where):
                degraded = "none of these chunks has a vector yet"
                degraded += ": keyword search only" if asked.request.mode == "hybrid" else ""
            diversity, chunks = Diversity.wanted(context, connection), ChunkTexts(connection, asked.text)
            hits = hydrated(context, ranked, asked.request, chunks, diversity)
            notes += ranked.doubts(request.min_score)
            if asked.text and total and vector is None and lexicon_of(index) and not (len(ranked.rows) or notes):
                notes.append("no chunk has a word of the query")
            notes += filters_meant(connection, asked, context)
            by_words = found.retrieved.get("keyword")
            if by_words is not None and not len(by_words) and total and lexicon_of(index) is None:
                notes.append(_NO_SPELLING)
        tracer.overtaken = chunks.overtaken
        answerable = None
        if ranked.candidates.evidence is not None and not request.bare:
            with tracer.stage("judge") as detail:
                answerable, seen = judged(ranked, context, chunks)
                detail |= seen
    above = np.count_nonzero(ranked.scores >= bound(request.min_score))
    more = above == len(ranked.scores) > 0 and not _all_near_known(request, found)
    answer = Results(
        query=request.query,
        collection=collection.name,
        mode=request.mode,
        fusion=request.fusion,
        hits=tuple(hits),
        total_candidates=total,
        trace=tracer.trace(),
        degraded=degraded,
        notes=tuple(notes),
        answerable=answerable,
        required=asked.phrases if hits else (),
        total_found=int(above) - sum(len(hit.duplicates) for hit in hits),
    )
    return answer, found.limited and more


def _all_near_known(request: Request, found: Candidates) -> bool:
    """Say whether all chunks that are as near as ``request`` wants are candidates."""
    near = found.retrieved.get("vector")
    return request.min_similarity > 0 and (near is None or not len(near) or near.scores[-1] < request.min_similarity)


def _understood(request: Request, context: SearchContext) -> ParsedRequest:
    fields: frozenset[str] = frozenset()
    if ":" in request.query:
        with context.catalog.read() as connection:
            fields = context.statistics.fields(connection, context.collection)
    return understand(request, fields, context.index, context.settings)


def filters_meant(connection: Connection, asked: ParsedRequest, context: SearchContext) -> list[str]:
    """Say which words of a query are values of metadata, and how to filter by them."""
    if asked.request.bare or asked.request.mode == "vector":
        return []
    return values(connection, context.collection, context.statistics, asked.text)


def _embedded(asked: ParsedRequest, context: SearchContext) -> tuple[Float32 | None, str | None]:
    """Return the vector of the query, None where none is wanted or to be had, and what is lacking then."""
    if not asked.text or asked.request.mode == "keyword":
        return None, None
    with context.tracer.stage("embed") as detail:
        try:
            vector = context.vectors.vector_of(asked.text)
            detail["model"] = context.vectors.fingerprint
            return vector, None
        except ModelUnavailable as error:
            detail["model"] = context.collection.fingerprint
            if asked.request.mode == "vector" and asked.route is None:
                raise
            return None, f"keyword search only: {error.message}"


def _any_vector(found: Candidates, vector: Float32, index: Index, where: Filter) -> bool:
    """Say whether any chunk that passes ``where`` has a vector, whatever phrases and excluded words leave."""
    if len(found.retrieved["vector"]):
        return True
    [nearest] = index.vector(VectorQuery(vector, 1, where))
    return len(nearest) > 0


def _made_exact(request: Request, ranked: Ranked, vector: Float32, context: SearchContext, notes: list[str]) -> Ranked:
    """Embed the best chunks that have approximate vectors, and note those that still have."""
    with context.tracer.stage("refine") as detail:
        vectors_of = partial(context.refiner.vectors, context.collection)
        ranked = _refined(request, ranked, vector, vectors_of, context.settings.search, detail)
    if "failed" in detail:
        notes.append(f"the best chunks are ranked by approximate vectors: {detail['failed']}")
    met = approximate(ranked.candidates, ranked.rows[: max(request.top_k, _MOST_REFINED)])
    context.refiner.meet(context.collection, met)
    return ranked


def _refined(
    request: Request,
    ranked: Ranked,
    query: Float32,
    vectors_of: Callable[[Sequence[int]], Mapping[int, Float32]],
    settings: SearchSettings,
    detail: dict[str, JSON],
) -> Ranked:
    """Score the best candidates with the model's own vectors, a few at a time, until the head has none but these.

    Ends before when the time is over: the next few would take too long.
    """
    assert ranked.candidates.exact is not None
    start, step_s, tried, refined = time.perf_counter(), 0.0, 0, 0
    untried = ~ranked.candidates.exact
    while settings.refine_ms and tried < _MOST_REFINED:
        head = ranked.rows[:_HEAD]
        rows = head[untried[head]][:_REFINED_AT_ONCE]
        passed = time.perf_counter() - start
        if not len(rows) or (tried and passed + step_s > settings.refine_ms / 1000):
            break
        try:
            vectors = vectors_of(ranked.candidates.ids[rows].tolist())
        except ModelUnavailable as error:
            detail["failed"] = error.message
            break
        ranked = rank(request, rescored(ranked.candidates, vectors, query), settings)
        untried[rows] = False
        tried += len(rows)
        refined += len(vectors)
        step_s = time.perf_counter() - start - passed
    detail |= {"refined": refined, "approximate": len(approximate(ranked.candidates, ranked.rows))}
    return ranked
