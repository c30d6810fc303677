"""From the scores of candidates to one ranking.

The weighted ranking uses four scores: cosine and BM25 of the chunk, and of its whole document. Then relevance feedback
raises chunks similar to the best ones, and chunks that define a name in the query are boosted. Constants:
``benchmarks/quality``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from pinakes.core.records import Float32, Int64
from pinakes.search.query.request import Request
from pinakes.search.ranking import fusion
from pinakes.search.retrieval.candidates import Candidates
from pinakes.search.retrieval.constraints import raised
from pinakes.search.retrieval.scoring import Scoring
from pinakes.settings import SearchSettings

_DECIMALS = 6
"""Scores that differ by less are ties, won by the older chunk: vector sums vary with the order of summation."""

_RETRIEVERS = {"vector": "meaning", "keyword": "words"}
"""The names of the retrievers' score parts."""

_DOCUMENT_SHARE = 0.5
"""The share of the whole document's BM25 in a ranking by keywords alone."""

_FEEDBACK_CHUNKS = 10
_FEEDBACK_SPREAD = 0.03
"""Scale of the weights in relevance feedback: a chunk this much below the best score has the weight 1/e."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A ranking: ``rows`` int64 (n,), indices of ``candidates``, best first; ``scores`` float32 (n,) in that order."""

    candidates: Candidates
    rows: Int64
    scores: Float32

    def best(self, most: int, min_score: float) -> Ranked:
        """Return the first ``most`` entries with at least ``min_score``."""
        kept = np.flatnonzero(self.scores >= bound(min_score))[:most]
        return Ranked(self.candidates, self.rows[kept], self.scores[kept])

    def near(self, min_similarity: float) -> tuple[Ranked, list[str]]:
        """Return the entries with at least this cosine, and a note if there are none."""
        found = self.candidates.cosine
        cosine = np.zeros(len(self.rows), np.float32) if found is None else np.nan_to_num(found[self.rows], nan=0.0)
        kept = np.flatnonzero(cosine >= bound(min_similarity))
        notes = [too_far(float(cosine.max()), min_similarity)] if len(cosine) and not len(kept) else []
        return Ranked(self.candidates, self.rows[kept], self.scores[kept]), notes

    def in_rows(self, values: Float32) -> Float32:
        """Return ``values`` (n,), one per entry of this ranking, reordered like the candidates; 0 if not ranked."""
        every = np.zeros(len(self.candidates.ids), np.float32)
        every[self.rows] = values
        return every

    def doubts(self, min_score: float) -> list[str]:
        """Return a note if ``min_score`` excludes everything; it gives the best score rounded down, to use instead."""
        if not len(self.scores) or self.scores[0] >= bound(min_score):
            return []
        return [too_low(float(self.scores[0]), min_score)]


def bound(least: float) -> np.float32:
    """Return a minimum score as float32, clamped to -2..2, since scores are in -1..1 and 1e300 would overflow."""
    return np.float32(min(max(least, -2.0), 2.0))


def too_low(best: float, min_score: float) -> str:
    """Return the note that the ``best`` score is below ``min_score``."""
    shown = math.floor(best * 1000) / 1000
    return f"the best chunk scores {shown:.3f}, less than the least score asked for ({min_score:g})"


def too_far(nearest: float, min_similarity: float) -> str:
    """Return the note that the ``nearest`` cosine is below ``min_similarity``."""
    shown = math.floor(max(0.0, nearest) * 1000) / 1000
    return f"the nearest chunk has a similarity of {shown:.3f}, less than the least asked for ({min_similarity:g})"


def rank(request: Request, found: Candidates, settings: SearchSettings) -> Ranked:
    """Return the candidates, best first, with their final scores, 0 to 1."""
    if not len(found.ids):
        return Ranked(found, np.empty(0, np.int64), np.empty(0, np.float32))
    scoring = _scoring(request, found, settings)
    if found.adjustments is not None:
        scoring = found.adjustments.applied(scoring, found.documents)
    scores = scoring.total()
    order = np.lexsort((found.ids, -np.round(scores, _DECIMALS)))
    found = replace(found, scoring=scoring.plus("cut", np.minimum(scores, 1) - scores))
    return wanted_first(Ranked(found, order, np.minimum.accumulate(np.minimum(scores[order], 1))))


def wanted_first(ranked: Ranked) -> Ranked:
    """Return ``ranked`` sorted by number of preferred phrases, behind the best chunks of each document that is named.

    The scores are raised to match that order.
    """
    found = ranked.candidates
    if found.phrases is not None:
        ranked = _raised(ranked, found.phrases.counts()[ranked.rows], "phrases")
    owners, best = found.documents[ranked.rows], np.zeros(len(ranked.rows), np.int64)
    for document in found.named:
        places = np.flatnonzero(owners == document)
        if len(places):
            best[places[_best_of(found, ranked.rows[places])]] = 1
    return _raised(ranked, best, "named")


def _best_of(found: Candidates, rows: Int64) -> Int64:
    """Return which of ``rows``, chunks of one named document in the order of their scores, are its best: mostly one.

    Every chunk of it has the name, so the scores hardly tell them apart: the sum of cosine and BM25 does, each scaled
    from 0 for its least to 1 for its greatest in the document. All openings go before, and so do those with the most
    preferred phrases; what a reranker said holds.
    """
    if (first := np.isin(found.ids[rows], found.openings)).any():
        return np.flatnonzero(first)
    if found.rerank is not None or found.bm25 is None or found.cosine is None:
        return np.zeros(1, np.int64)
    counts = np.zeros(len(rows), np.int64) if found.phrases is None else found.phrases.counts()[rows]
    near, words = fusion.spread(np.nan_to_num(found.cosine[rows], nan=0.0)), fusion.spread(found.bm25[rows])
    return np.lexsort((-np.round(near + words, _DECIMALS), -counts))[:1]


def _raised(ranked: Ranked, counts: Int64, part: str) -> Ranked:
    """Return ``ranked`` sorted by ``counts`` (n,), highest first; ``part`` of the score is what that adds."""
    found = ranked.candidates
    if not counts.any() or found.scoring is None:
        return ranked
    order = np.lexsort((np.arange(len(counts)), -counts))
    scores = np.minimum.accumulate(raised(ranked.scores, counts)[order])
    first, before = Ranked(found, ranked.rows[order], scores), ranked.in_rows(ranked.scores)
    scoring = found.scoring.plus(part, first.in_rows(scores) - before)
    fused = before if found.fused is None else found.fused
    return replace(first, candidates=replace(found, scoring=scoring, fused=fused))


def _scoring(request: Request, found: Candidates, settings: SearchSettings) -> Scoring:
    """Return the score parts of candidates, before feedback from a reranker or phrases."""
    near = found.cosine is not None and not np.isnan(found.cosine).all()
    if found.bm25 is None:
        cosine = np.zeros(len(found.ids), np.float32) if found.cosine is None else np.nan_to_num(found.cosine, nan=0.0)
        return Scoring({"meaning": np.clip(cosine, 0, 1)})
    if not near:  # no model, or no chunk with a vector
        return _by_words(found, found.bm25)
    if request.fusion == "rrf":
        rankings = ((_RETRIEVERS[name], ranking) for name, ranking in found.retrieved.items())
        return Scoring({name: fusion.rrf(found.ids, [ranking], settings.rrf_k) for name, ranking in rankings})
    return weighed(request, found, settings)


def _by_words(found: Candidates, bm25: Float32) -> Scoring:
    chunks, document = fusion.relative(bm25), found.document_bm25
    if document is None:
        return Scoring({"words": chunks}, {"bm25_share": chunks})
    whole = fusion.relative(document)
    parts = {"words": np.float32(1 - _DOCUMENT_SHARE) * chunks, "document_words": np.float32(_DOCUMENT_SHARE) * whole}
    return Scoring(parts, {"bm25_share": chunks, "document_bm25_share": whole})


def weighed(request: Request, found: Candidates, settings: SearchSettings) -> Scoring:
    """Return the score parts of candidates of both retrievers; ``found.evidence`` must be set.

    (semantic · blended cosines + keyword · blended BM25 + definition + identifier + feedback weight · similarity)
    / (1 + feedback weight), where the first two weights sum to 1. The sum may exceed 1, so that the best scores still
    differ. The BM25 of chunk and document are relative to the best. ``found.graph`` · cosine is added to that.
    """
    evidence, bm25, cosine = found.evidence, found.bm25, found.cosine
    assert evidence is not None
    assert bm25 is not None
    assert cosine is not None
    assert found.document_bm25 is not None
    assert found.vectors is not None
    semantic, keyword = fusion.scaled(request.semantic_weight, request.keyword_weight)
    near, document = np.nan_to_num(cosine, nan=0.0), np.nan_to_num(evidence.document_cosine, nan=0.0)
    counted = fusion.blended(near, document, settings.document_cosine_share) > 0
    least = 0.0 if evidence.terms is None else settings.bm25_attained * evidence.terms.attainable
    chunks, whole = fusion.relative(bm25, least), fusion.relative(found.document_bm25)
    cosine_share, bm25_share = settings.document_cosine_share, settings.document_bm25_share
    parts = {
        "meaning": np.float32(semantic * (1 - cosine_share)) * near * counted,
        "document_meaning": np.float32(semantic * cosine_share) * document * counted,
        "words": np.float32(keyword * (1 - bm25_share)) * chunks,
        "document_words": np.float32(keyword * bm25_share) * whole,
        "definition": np.float32(settings.definition_boost) * (evidence.definitions > 0),
    }
    if evidence.identifiers is not None:
        parts["identifier"] = np.float32(settings.identifier_boost) * evidence.identifiers
    raw = {"bm25_share": chunks, "document_bm25_share": whole}
    if weight := settings.feedback_weight:
        like = _feedback(Scoring(parts).total(), found.documents, found.vectors)
        parts = {name: part / np.float32(1 + weight) for name, part in parts.items()}
        parts["likeness"] = np.float32(weight / (1 + weight)) * like
        raw["likeness"] = like
    if found.graph is not None:
        parts["graph"] = found.graph * np.clip(near, 0, 1)
    return Scoring(parts, raw)


def _feedback(scores: Float32, documents: Int64, vectors: Float32) -> Float32:
    """Return float32 (n,): the similarity of each chunk to the best ones, which are of different documents.

    It is the cosine with the mean of their vectors, each weighted by exp(-(best score - its score) / spread): a chunk
    that stands out dominates the mean, chunks with equal scores share it. A soft form of pseudo relevance feedback
    (Rocchio, in Salton's SMART system, 1971).
    """
    order = np.lexsort((np.arange(len(scores)), -scores))
    order = order[~np.isnan(vectors[order, 0])]
    _, first = np.unique(documents[order], return_index=True)
    best = order[np.sort(first)[:_FEEDBACK_CHUNKS]]
    if not len(best):
        return np.zeros(len(scores), np.float32)
    voices = np.exp((scores[best] - scores[best[0]]) / np.float32(_FEEDBACK_SPREAD))
    centre = (voices[:, None] * vectors[best]).sum(axis=0)
    length = np.linalg.norm(centre)
    like: Float32 = np.vecdot(vectors, (centre / length if length > 0 else centre).astype(np.float32))
    return np.clip(np.nan_to_num(like, nan=0.0), 0, 1)
