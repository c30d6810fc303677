"""Search of one collection: retrieve by keywords and vectors, rank, hydrate; every stage is in the trace."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from pinakes.catalog import Connection, selection
from pinakes.core.errors import IndexUnavailable, ModelUnavailable
from pinakes.core.ports import Index, VectorQuery, lexicon_of
from pinakes.core.records import JSON, Bool, Filter, Float32, Hit, Int64, Ranking, Results
from pinakes.search.query.request import FUSIONS, MODES, Request, check
from pinakes.search.query.understanding import ParsedRequest, metadata_values, understand
from pinakes.search.ranking.boosts import boosted
from pinakes.search.ranking.context import SearchContext, graph_state
from pinakes.search.ranking.diversity import Diversity
from pinakes.search.ranking.rank import Ranked, bound, rank, wanted_first
from pinakes.search.ranking.reranking import Reranking
from pinakes.search.result_cache import ResultCache
from pinakes.search.results.answerable import answer_probability
from pinakes.search.results.chunk_texts import ChunkTexts
from pinakes.search.results.hydration import deepened, hydrated
from pinakes.search.retrieval.candidates import Candidates, among, approximate, gather, nothing, rescored
from pinakes.search.retrieval.constraints import constrained
from pinakes.search.retrieval.tracer import Tracer
from pinakes.search.statistics.collection_statistics import CollectionStatistics
from pinakes.search.statistics.query_vectors import QueryVectors
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
    "parsed",
    "rank",
    "ranked_candidates",
    "retrieve",
    "scored",
    "search",
]

_HEAD = 10
_MOST_REFINED = 20
_REFINED_AT_ONCE = 4
"""Chunks embedded per batch: few enough to stay within the time budget, enough to use two cores."""

_POOL_GROWTH = 8
"""Growth of the candidate pool when the current one yielded too few hits."""

_NO_SPELLING = "no chunk has a word of the query; the index engine keeps no words, so none was looked for in its place"

_MOSTLY_KNOWN = 0.5
"""Share of a query's tokens that the model must know, or a note says that it does not."""

_MOST_OF_NAMED = 500
"""At most so many first chunks of a document that the query names are candidates for that."""

_OF_NAMES = re.compile(r"[\d./\\]")
"""Signs of which a query has one that names a document by an identifier, a path or an address."""

_OVERTAKEN_S, _LOOK_AGAIN_S = 2.0, 0.01
"""Seconds to wait for an index that still lists replaced chunks, and seconds between two checks."""


@dataclass(frozen=True, slots=True)
class Retrieved:
    """The candidates of a request before ranking. ``degraded``: why ``vector`` is None although the mode wants one."""

    asked: ParsedRequest
    vector: Float32 | None
    degraded: str | None
    found: Candidates


def retrieve(request: Request, context: SearchContext, also: Sequence[Ranking] = ()) -> Retrieved:
    """Parse ``request`` and retrieve its candidates, so that ``rank`` can rank them under several weightings.

    The chunks of ``also`` are always among the candidates.

    Raises:
        the same errors as ``search``.
    """
    check(request)
    with context.tracer.stage("understand") as detail:
        asked = parsed(request, context)
        detail |= {"mode": asked.request.mode} if asked.route else {}
    asked, also = _with_named(asked, context, also)
    vector, degraded = _query_vector(asked, context)
    if degraded and asked.request.mode == "vector":  # "auto" had chosen it: keyword search remains
        asked = replace(asked, request=replace(asked.request, mode="hybrid"))
    found = nothing()
    if asked.text:
        try:
            asked, found = _gathered(asked, vector, context, also)
        except IndexUnavailable as error:
            asked, vector, found, degraded = _gathered_by_one(asked, vector, context, also, error)
    found = replace(boosted(asked, found, context), named=asked.named, openings=asked.openings)
    return Retrieved(asked, vector, degraded, found)


def _with_named(
    asked: ParsedRequest, context: SearchContext, also: Sequence[Ranking]
) -> tuple[ParsedRequest, Sequence[Ranking]]:
    """Return ``asked`` with the documents that its query names, and ``also`` with their chunks."""
    if not _OF_NAMES.search(asked.text):
        return asked, also
    from pinakes.catalog.document_identifiers import chunks_of
    from pinakes.search.query.named_documents import may_name, named_documents, openings, without_names

    if not may_name(asked.text):
        return asked, also
    with context.tracer.stage("names") as detail, context.catalog.read_each() as connection:
        named = named_documents(connection, context.collection, asked.text)
        detail["names"] = [one.name for one in named]
        every = sorted({each for one in named for each in one.documents})
        chunks = chunks_of(connection, every, _MOST_OF_NAMED)
        first = openings(connection, asked.text, named)
    ids, places = np.unique(np.concatenate([chunks.ids, first.ids]), return_index=True)
    owners = np.concatenate([chunks.documents, first.documents])[places]
    _, ids, owners = _passing(asked, context, ids, owners)
    named = [longest for one in named if (longest := one.longest(owners))]
    if not named:
        return asked, also
    documents = {each: one.name for one in reversed(named) for each in one.documents}
    asked = replace(asked, named=documents, openings=tuple(first.ids.tolist()), notes=without_names(asked.notes, named))
    return asked, [*also, Ranking(ids, owners, np.zeros(len(ids), np.float32))]


def scored(
    asked: ParsedRequest, context: SearchContext, ids: Int64, documents: Int64, *, boosts: bool = True
) -> Ranked:
    """Return these chunks (``ids`` sorted, and their documents) that pass the filters of ``asked``, the best first.

    They have the scores of a weighted search among them, without relevance feedback of others and without the reranker;
    with boosts, or, sooner, without.

    Raises:
        the same errors as ``search``.
    """
    vector, _ = _query_vector(asked, context)
    asked, ids, documents = _passing(asked, context, ids, documents)
    found = nothing()
    if asked.text and len(ids):
        try:
            found = among(asked, vector, ids, documents, context.index)
        except IndexUnavailable:
            found = among(asked, None, ids, documents, context.index)
    weighted = replace(asked.request, fusion="weighted")
    return rank(weighted, boosted(asked, found, context) if boosts else found, context.settings.search)


def _passing(
    asked: ParsedRequest, context: SearchContext, ids: Int64, documents: Int64
) -> tuple[ParsedRequest, Int64, Int64]:
    """Return ``asked`` as its phrases constrain it, and of these chunks those that filters and phrases let pass."""
    if asked.request.where:
        with context.catalog.read_each() as connection:
            fitting = selection.matching(connection, context.collection.id, asked.request.where)
        ids, documents = _rows(ids, documents, np.isin(documents, fitting))
    asked, only = constrained(asked, context.index)
    if only.required is not None:
        ids, documents = _rows(ids, documents, np.isin(ids, only.required))
    if only.excluded is not None:
        ids, documents = _rows(ids, documents, ~np.isin(ids, only.excluded))
    return asked, ids, documents


def _rows(ids: Int64, documents: Int64, kept: Bool) -> tuple[Int64, Int64]:
    return ids[kept], documents[kept]


def _gathered(
    asked: ParsedRequest, vector: Float32 | None, context: SearchContext, also: Sequence[Ranking]
) -> tuple[ParsedRequest, Candidates]:
    asked, only = constrained(asked, context.index)
    return asked, gather(asked, only, vector, context.index, context.settings, context.tracer, also)


def _gathered_by_one(
    asked: ParsedRequest,
    vector: Float32 | None,
    context: SearchContext,
    also: Sequence[Ranking],
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
    """Candidates in their final order, before hydration. ``notes``: what was changed or left out, for the reader."""

    known: Retrieved
    ranked: Ranked
    notes: tuple[str, ...]


def ranked_candidates(request: Request, context: SearchContext) -> RankedCandidates:
    """Fuse, refine and rerank the candidates of ``request``; refinement embeds as many as its time budget allows.

    Raises:
        the same errors as ``search``.
    """
    tracer = context.tracer
    graph_state(context)  # what is kept of another graph is forgotten
    known = retrieve(request, context)
    with tracer.stage("fuse") as detail:
        ranked = rank(known.asked.request, known.found, context.settings.search)
        detail |= {"candidates": len(known.found.ids), "fusion": request.fusion}
    known, ranked = _with_graph(request, known, ranked, context)
    notes = [*known.asked.notes]
    if known.vector is not None and known.found.exact is not None:
        ranked = _refine_head(known.asked.request, ranked, known.vector, context, notes)
    if request.min_similarity > 0:
        ranked, far_notes = ranked.near(request.min_similarity)
        notes += far_notes
    if request.rerank and context.reranking is not None and len(ranked.rows):
        with context.catalog.read() as connection, tracer.stage("rerank") as detail:
            ranked, report = context.reranking.rerank(connection, known.asked.text, ranked, context.index)
            detail |= report.detail()
        ranked = wanted_first(ranked)
        notes += [report.note] if report.note else []
    return RankedCandidates(known, ranked, tuple(notes))


def _with_graph(request: Request, known: Retrieved, ranked: Ranked, context: SearchContext) -> tuple[Retrieved, Ranked]:
    """Return candidates and ranking with what shares entities with the question or the best chunks, as it is weighted.

    The retrievers are asked again with the chunks that the graph adds. Only hybrid search with weighted fusion does so.
    """
    graph, found = context.graph, known.found
    if graph is None or not graph.rules.weight or found.evidence is None or not len(ranked.rows):
        return known, ranked
    from pinakes.graph.entity_retriever import SPREAD

    with context.tracer.stage("graph") as detail:
        head = ranked.rows[:_HEAD]
        weights = np.exp((ranked.scores[: len(head)] - ranked.scores[0]) / SPREAD)
        best = dict(zip(found.ids[head].tolist(), weights.round(4).tolist(), strict=True))
        with context.catalog.read_each() as connection:
            documents = context.statistics.count(connection, context.collection, ())
        lexicon = lexicon_of(context.index)
        links = graph.links(known.asked.text, lexicon.has if lexicon else lambda _: False)
        related = graph.related(links, best, documents)
        detail |= {"entities": [one.entity.name for one in links], "chunks": len(related)}
        if not related:
            return known, ranked
        ids = np.array(sorted(related), np.int64)
        owners = np.array([related[one][0] for one in ids.tolist()], np.int64)
        _, ids, owners = _passing(known.asked, context, ids, owners)
        also = Ranking(ids, owners, np.zeros(len(ids), np.float32))
        known = retrieve(request, replace(context, tracer=Tracer()), [also])
        strengths = [related[one][1] if one in related else 0.0 for one in known.found.ids.tolist()]
        share = np.array(strengths, np.float32) * np.float32(graph.rules.weight)
        known = replace(known, found=replace(known.found, graph=share))
        return known, rank(known.asked.request, known.found, context.settings.search)


def search(request: Request, context: SearchContext) -> Results:
    """Search one collection.

    The best chunks with approximate vectors get exact ones, within the time budget ``search.refine_ms``.

    Raises:
        InvalidInput: an unknown mode or fusion, or a top_k out of range.
        ModelUnavailable: mode "vector" and there is no model. In mode "hybrid" the answer is by keywords
            alone and says ``degraded``.
        IndexUnavailable: no engine answers that the mode needs; of two in mode "hybrid" one is enough.
        Superseded: the collection has another index by now, which has what this one lacks.
    """
    answer, deadline, attempts_behind = _search_growing_pool(request, context), time.monotonic() + _OVERTAKEN_S, 0
    while (
        context.tracer.overtaken and attempts_behind < 2 and time.monotonic() < deadline
    ):  # replaced documents must be found
        time.sleep(_LOOK_AGAIN_S)
        with context.tracer.stage("follow"):
            attempts_behind = 0 if context.follow() else attempts_behind + 1
        answer = _search_growing_pool(request, context)
    context.tracer.overtaken = context.tracer.overtaken and not attempts_behind
    return answer


def _search_growing_pool(request: Request, context: SearchContext) -> Results:
    """Search; while folded duplicates leave too few hits and a retriever may have more, enlarge the candidate pool."""
    while True:
        answer, limited = _search_pool(request, context)
        if len(answer.hits) >= request.top_k or not limited:
            return answer
        request = replace(request, pool=_POOL_GROWTH * (request.pool or request.top_k))


def _search_pool(request: Request, context: SearchContext) -> tuple[Results, bool]:
    """Search with one candidate pool. Return the results, and whether a larger pool may yield more hits."""
    collection, index, tracer = context.collection, context.index, context.tracer
    order = ranked_candidates(request, context)
    asked, vector, degraded, found = order.known.asked, order.known.vector, order.known.degraded, order.known.found
    ranked, notes = order.ranked, [*order.notes]
    # Neighbours are found by their places, which a later state may have given to others.
    reading = context.catalog.read if request.neighbours else context.catalog.read_each
    with reading() as connection:
        with tracer.stage("hydrate"):
            where = asked.request.where
            total = context.statistics.count(connection, collection, where)
            notes += selection.doubts(connection, collection.id, where, total)
            if vector is not None and total and not _has_any_vector(found, vector, index, where):
                degraded = "none of these chunks has a vector yet"
                degraded += ": keyword search only" if asked.request.mode == "hybrid" else ""
            diversity, chunks = Diversity.wanted(context, connection), ChunkTexts(connection, asked.text)
            hits = hydrated(context, ranked, asked.request, chunks, diversity)
            notes += _names_notes(hits) if asked.named else []
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
                answerable, signs = answer_probability(ranked, context, chunks)
                detail |= signs
    above = np.count_nonzero(ranked.scores >= bound(request.min_score))
    more = above == len(ranked.scores) > 0 and not _has_all_near(request, found)
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


def _names_notes(hits: Sequence[Hit]) -> list[str]:
    from pinakes.search.query.named_documents import names_notes

    return names_notes(hit.named for hit in hits)


def _has_all_near(request: Request, found: Candidates) -> bool:
    """Return whether every chunk that reaches ``request.min_similarity`` is among the candidates."""
    near = found.retrieved.get("vector")
    return request.min_similarity > 0 and (near is None or not len(near) or near.scores[-1] < request.min_similarity)


def parsed(request: Request, context: SearchContext) -> ParsedRequest:
    """Return ``request`` as its query is understood."""
    fields: frozenset[str] = frozenset()
    if ":" in request.query:
        with context.catalog.read_each() as connection:
            fields = context.statistics.fields(connection, context.collection)
    asked = understand(request, fields, context.index, context.settings)
    return _weighed(asked, context) if asked.request.mode == "hybrid" else asked


def _weighed(asked: ParsedRequest, context: SearchContext) -> ParsedRequest:
    """Return ``asked`` with a lower weight of the meaning if the model does not know some of the query's letters."""
    try:
        known = context.vectors.known_share(asked.text)
    except ModelUnavailable:
        return asked
    if known == 1:
        return asked
    request = replace(asked.request, semantic_weight=asked.request.semantic_weight * known)
    note = "the model does not know the letters of this query: its words count, not its meaning"
    return replace(asked, request=request, notes=(*asked.notes, note) if known < _MOSTLY_KNOWN else asked.notes)


def filters_meant(connection: Connection, asked: ParsedRequest, context: SearchContext) -> list[str]:
    """Return notes on query words that are metadata values, each with the filter to write for it."""
    if asked.request.bare or asked.request.mode == "vector":
        return []
    return metadata_values(connection, context.collection, context.statistics, asked.text)


def _query_vector(asked: ParsedRequest, context: SearchContext) -> tuple[Float32 | None, str | None]:
    """Return the query vector, float32 (dim,), and None; or None, and why the model could not embed if asked to."""
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


def _has_any_vector(found: Candidates, vector: Float32, index: Index, where: Filter) -> bool:
    """Return whether any chunk that passes ``where`` has a vector, phrases and excluded words aside."""
    if len(found.retrieved["vector"]):
        return True
    [nearest] = index.vector(VectorQuery(vector, 1, where))
    return len(nearest) > 0


def _refine_head(request: Request, ranked: Ranked, vector: Float32, context: SearchContext, notes: list[str]) -> Ranked:
    """Embed the best chunks that have approximate vectors, and report those left to the head refiner."""
    with context.tracer.stage("refine") as detail:
        vectors_of = partial(context.refiner.vectors, context.collection)
        ranked = _rescore_head(request, ranked, vector, vectors_of, context.settings.search, detail)
    if "failed" in detail:
        notes.append(f"the best chunks are ranked by approximate vectors: {detail['failed']}")
    still_approximate = approximate(ranked.candidates, ranked.rows[: max(request.top_k, _MOST_REFINED)])
    context.refiner.meet(context.collection, still_approximate)
    return ranked


def _rescore_head(
    request: Request,
    ranked: Ranked,
    query: Float32,
    vectors_of: Callable[[Sequence[int]], Mapping[int, Float32]],
    settings: SearchSettings,
    detail: dict[str, JSON],
) -> Ranked:
    """Rescore the best candidates with exact vectors, a few at a time, until the head has no approximate ones.

    Stops early when the next batch would exceed ``settings.refine_ms``.
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
