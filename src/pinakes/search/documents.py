"""Ranks documents from ranked chunks: by the best chunk, and by a summary written for the document.

A written summary acts like one more chunk: if its cosine exceeds that of the best chunk, the document's score rises by
what a chunk with that cosine would gain. It never lowers a score. Extractive summaries are ignored, since their
sentences are in the chunks already. Measured by ``benchmarks/quality/staged.py``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from pinakes.catalog import document_queries, selection
from pinakes.core.ports import Index, VectorQuery
from pinakes.core.records import Float32, Int64
from pinakes.search import RankedCandidates
from pinakes.search.query.request import Request
from pinakes.search.ranking import fusion
from pinakes.search.ranking.context import SearchContext
from pinakes.search.ranking.rank import Ranked
from pinakes.search.retrieval.constraints import raised
from pinakes.search.retrieval.scoring import Scoring, plus
from pinakes.search.statistics.summary_vectors import SummaryVectors
from pinakes.settings import SearchSettings

_NOMINATED = 10
"""Documents considered for their summaries alone, when none of their chunks is a candidate."""


@dataclass(frozen=True, slots=True)
class FoundDocument:
    """A document found by document-level search. ``score`` is 0 to 1.

    ``chunk_id``: its best chunk; None if no chunk has a vector. ``cosine`` and ``bm25`` (relative to the best BM25) are
    of that chunk, each 0 to 1; None if it has no such score. ``summary_cosine``: of the document's own summary.
    ``phrases``: number of preferred phrases in that chunk; documents with more rank first. ``copies``: ids of found
    documents with the same content. ``named``: the name that the query calls it by; "" without. ``parts`` add up to the
    score, except those of the chunk, at ``row`` of the candidates, which ``with_parts`` adds.
    """

    document_id: int
    score: float
    chunk_id: int | None
    cosine: float | None = None
    bm25: float | None = None
    summary_cosine: float | None = None
    approximate: bool = False
    phrases: int = 0
    copies: tuple[int, ...] = ()
    named: str = ""
    row: int | None = None
    parts: Mapping[str, float] = field(default_factory=dict)

    def with_parts(self, ranked: Ranked) -> FoundDocument:
        """Return the document with all parts of its score; ``ranked`` holds its best chunk."""
        scoring = ranked.candidates.scoring
        if self.row is None or scoring is None:
            return self
        parts = scoring.parts_of(self.row)
        for name, added in self.parts.items():
            parts = plus(parts, name, added)
        return replace(self, row=None, parts=parts)


def best_documents(order: RankedCandidates, context: SearchContext, own: SummaryVectors) -> list[FoundDocument]:
    """Return the documents of the ranked chunks and those with a near summary, best first.

    ``own``: vectors of the summaries that were written for documents.
    """
    request, vector = order.known.asked.request, order.known.vector
    found = _by_chunks(order)
    if vector is not None and len(own.ids):
        near = np.clip(own.cosines(vector), 0, 1)
        found += _by_summaries(order, context, own.ids, near, vector)
        weight = _chunk_weight(request, context.settings.search)
        places = np.searchsorted(own.ids, [one.document_id for one in found])
        there = own.ids[np.minimum(places, len(own.ids) - 1)].tolist()
        cosines = near[np.minimum(places, len(own.ids) - 1)].tolist()
        found = [
            _with_summary(one, cosine, weight) if one.document_id == document else one
            for one, document, cosine in zip(found, there, cosines, strict=True)
        ]
    kept = [one for one in found if one.score >= request.min_score]
    return in_order(kept)


def in_order(found: Sequence[FoundDocument]) -> list[FoundDocument]:
    """Return documents sorted by number of phrases, then score, both descending, behind those that the query names."""
    return named_first(sorted(found, key=lambda one: (-one.phrases, -round(one.score, 6), one.document_id)))


def named_first(found: Sequence[FoundDocument]) -> list[FoundDocument]:
    """Return ``found``, given best first, behind those of them that the query names, with scores raised to match."""
    counts = np.array([bool(one.named) for one in found], np.int64)
    if not (np.diff(counts) > 0).any():
        return list(found)
    order = np.argsort(-counts, kind="stable")
    scores = np.minimum.accumulate(raised(np.array([one.score for one in found], np.float32), counts)[order])
    pairs = zip([found[place] for place in order.tolist()], scores.tolist(), strict=True)
    return [
        replace(one, score=score, parts=plus(one.parts, "named", score - one.score)) if one.named else one
        for one, score in pairs
    ]


def _by_chunks(order: RankedCandidates) -> list[FoundDocument]:
    """Return each document with its best chunk, best first."""
    ranked, found = order.ranked, order.ranked.candidates
    if not len(ranked.rows):
        return []
    _, first = np.unique(found.documents[ranked.rows], return_index=True)
    places = np.sort(first)
    rows = ranked.rows[places]
    best = float(found.bm25.max(initial=0.0)) if found.bm25 is not None else 0.0
    phrases = np.zeros(len(rows), np.int64) if found.phrases is None else found.phrases.counts()[rows]
    return [
        FoundDocument(
            document_id=int(found.documents[row]),
            score=min(max(score, 0.0), 1.0),
            chunk_id=int(found.ids[row]),
            cosine=_share(found.cosine, row),
            bm25=None if found.bm25 is None else _clipped(float(found.bm25[row]) / best if best > 0 else 0.0),
            approximate=found.exact is not None and not bool(found.exact[row]),
            phrases=count,
            row=row,
            named=found.named.get(int(found.documents[row]), ""),
        )
        for row, score, count in zip(rows.tolist(), ranked.scores[places].tolist(), phrases.tolist(), strict=True)
    ]


def _by_summaries(
    order: RankedCandidates, context: SearchContext, ids: Int64, near: Float32, vector: Float32
) -> list[FoundDocument]:
    """Return the documents with the nearest summaries that pass the filters and were not found by their chunks."""
    asked = order.known.asked
    if asked.request.mode == "keyword" or asked.phrases or asked.excluded:
        return []
    settings, candidates = context.settings.search, order.ranked.candidates
    with context.catalog.read() as connection:
        if asked.request.where:
            allowed = np.isin(ids, selection.matching(connection, context.collection.id, asked.request.where))
            ids, near = ids[allowed], near[allowed]
        nearest = ids[np.argsort(-near, kind="stable")[:_NOMINATED]]
        nominated = nearest[~np.isin(nearest, candidates.documents)].tolist()
        chunks = np.array(document_queries.chunk_ids(connection, nominated) if nominated else [], np.int64)
    if not nominated:
        return []
    best = _best_chunks(context.index, vector, chunks)
    nearness = np.array([best.get(one, (0, 0.0))[1] for one in nominated], np.float32)
    whole = _document_cosines(context.index, np.array(nominated, np.int64), vector)
    parts_of = {"meaning": nearness}
    if asked.request.mode != "vector":
        weight = _chunk_weight(asked.request, settings)
        share = settings.document_cosine_share * _semantic(asked.request) / (1 + settings.feedback_weight)
        parts_of = {"meaning": np.float32(weight) * nearness, "document_meaning": np.float32(share) * whole}
    scoring = Scoring(parts_of)
    return [
        FoundDocument(
            document_id=one,
            score=_clipped(score),
            chunk_id=best[one][0] if one in best else None,
            cosine=best.get(one, (0, 0.0))[1],
            bm25=0.0,
            parts=scoring.parts_of(row),
        )
        for row, (one, score) in enumerate(zip(nominated, scoring.total().tolist(), strict=True))
    ]


def _best_chunks(index: Index, vector: Float32, chunks: Int64) -> dict[int, tuple[int, float]]:
    """Return document id → (its chunk nearest to ``vector``, their cosine clipped to 0..1)."""
    if not len(chunks):
        return {}
    [ranked] = index.vector(VectorQuery(vector, len(chunks), among=chunks))
    best: dict[int, tuple[int, float]] = {}
    rows = zip(ranked.documents.tolist(), ranked.ids.tolist(), ranked.scores.tolist(), strict=True)
    for document, chunk, score in rows:
        best.setdefault(document, (chunk, _clipped(score)))
    return best


def _document_cosines(index: Index, ids: Int64, vector: Float32) -> Float32:
    """Return float32 (n,), 0 to 1: the cosine of ``vector`` with each document's summed vector."""
    sums = index.vectors(ids[:0], ids).sums
    if not len(ids) or sums.shape[1] != len(vector):
        return np.zeros(len(ids), np.float32)
    sums = np.nan_to_num(sums, nan=0.0)
    cosines: Float32 = np.vecdot(sums, vector) / np.maximum(np.linalg.norm(sums, axis=1), np.float32(1e-9))
    return np.clip(cosines, 0, 1)


def _with_summary(one: FoundDocument, cosine: float, weight: float) -> FoundDocument:
    gain = weight * max(0.0, cosine - (one.cosine or 0.0))
    score = _clipped(one.score + gain)
    return replace(one, score=score, summary_cosine=cosine, parts=plus(one.parts, "summary", score - one.score))


def _chunk_weight(request: Request, settings: SearchSettings) -> float:
    """Return the weight of a chunk's cosine in its score."""
    if request.mode == "vector":
        return 1.0
    return (1 - settings.document_cosine_share) * _semantic(request) / (1 + settings.feedback_weight)


def _semantic(request: Request) -> float:
    return fusion.scaled(request.semantic_weight, request.keyword_weight)[0]


def similarities(index: Index, reference: Float32, documents: Sequence[int]) -> Float32:
    """Return float32 (n,), 0 to 1: the cosine of ``reference``, of any norm, with each document's summed vector."""
    length = float(np.linalg.norm(reference))
    unit = (reference / length).astype(np.float32) if length > 0 else reference
    return _document_cosines(index, np.array(documents, np.int64), unit)


def _share(values: Float32 | None, row: int) -> float | None:
    return None if values is None or np.isnan(values[row]) else _clipped(float(values[row]))


def _clipped(value: float) -> float:
    return min(max(value, 0.0), 1.0)
