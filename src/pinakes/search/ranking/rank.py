"""From the scores of candidates to one ranking.

The weighted ranking takes four scores of a chunk: its cosine and that of its document as a whole, its BM25 and
that of its whole document. Then the best chunks speak for those that are like them (relevance feedback), and what
defines a name that the query has is lifted. Constants: ``benchmarks/quality``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from pinakes.core.records import Float32, Int64
from pinakes.search.query.request import Request
from pinakes.search.ranking import fusion
from pinakes.search.retrieval.candidates import Candidates
from pinakes.search.retrieval.phrases import raised
from pinakes.search.retrieval.scoring import Scoring
from pinakes.settings import SearchSettings

_DECIMALS = 6
"""Scores that differ by less are equal, and the older chunk is first: sums of vectors differ so by how they came."""

_RETRIEVERS = {"vector": "meaning", "keyword": "words"}
"""What the parts of a score are called that the retrievers give."""

_DOCUMENT_SHARE = 0.5
"""Share of the whole document's BM25 beside that of the chunk, where words alone rank."""

_FEEDBACK_CHUNKS = 10
_FEEDBACK_SPREAD = 0.03
"""A chunk whose score is lower than the best by this much speaks with 1/e of its voice."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """``rows`` int64 (n,) of the candidates, best first, and the ``scores`` float32 (n,) by which they are."""

    candidates: Candidates
    rows: Int64
    scores: Float32

    def best(self, most: int, min_score: float) -> Ranked:
        """Return the first so many, less those below ``min_score``."""
        kept = np.flatnonzero(self.scores >= bound(min_score))[:most]
        return Ranked(self.candidates, self.rows[kept], self.scores[kept])

    def near(self, min_similarity: float) -> tuple[Ranked, list[str]]:
        """Return those with at least this cosine with the query, and say in words where that leaves nothing."""
        found = self.candidates.cosine
        cosine = np.zeros(len(self.rows), np.float32) if found is None else np.nan_to_num(found[self.rows], nan=0.0)
        kept = np.flatnonzero(cosine >= bound(min_similarity))
        told = [too_far(float(cosine.max()), min_similarity)] if len(cosine) and not len(kept) else []
        return Ranked(self.candidates, self.rows[kept], self.scores[kept]), told

    def in_rows(self, values: Float32) -> Float32:
        """Return ``values`` (n,), one for each that is ranked, in the order of the candidates; 0 for the others."""
        every = np.zeros(len(self.candidates.ids), np.float32)
        every[self.rows] = values
        return every

    def doubts(self, min_score: float) -> list[str]:
        """Say in words that ``min_score`` leaves nothing, if so; the best score is rounded down, to be used instead."""
        if not len(self.scores) or self.scores[0] >= bound(min_score):
            return []
        return [too_low(float(self.scores[0]), min_score)]


def bound(least: float) -> np.float32:
    """Return a least score as scores are compared with it, which are from -1 to 1: 1e300 has no place in 32 bits."""
    return np.float32(min(max(least, -2.0), 2.0))


def too_low(best: float, min_score: float) -> str:
    """Say in words that even the ``best`` score is below ``min_score``."""
    shown = math.floor(best * 1000) / 1000
    return f"the best chunk scores {shown:.3f}, less than the least score asked for ({min_score:g})"


def too_far(nearest: float, min_similarity: float) -> str:
    """Say in words that even the ``nearest`` cosine is below ``min_similarity``."""
    shown = math.floor(max(0.0, nearest) * 1000) / 1000
    return f"the nearest chunk has a similarity of {shown:.3f}, less than the least asked for ({min_similarity:g})"


def rank(request: Request, found: Candidates, settings: SearchSettings) -> Ranked:
    """Return the candidates, best first, with the score that is returned, 0 to 1."""
    if not len(found.ids):
        return Ranked(found, np.empty(0, np.int64), np.empty(0, np.float32))
    scoring = _scoring(request, found, settings)
    if found.adjustments is not None:
        scoring = found.adjustments.applied(scoring, found.documents)
    scores = scoring.total()
    order = np.lexsort((found.ids, -np.round(scores, _DECIMALS)))
    found = replace(found, scoring=scoring.plus("cut", np.minimum(scores, 1) - scores))
    return phrases_first(Ranked(found, order, np.minimum.accumulate(np.minimum(scores[order], 1))))


def phrases_first(ranked: Ranked) -> Ranked:
    """Return ``ranked`` with the chunks first that have more of the preferred phrases, and scores that say so."""
    found = ranked.candidates
    counts = None if found.phrases is None else found.phrases.counts()[ranked.rows]
    if counts is None or not counts.any() or found.scoring is None:
        return ranked
    order = np.lexsort((np.arange(len(counts)), -counts))
    scores = np.minimum.accumulate(raised(ranked.scores, counts)[order])
    first, before = Ranked(found, ranked.rows[order], scores), ranked.in_rows(ranked.scores)
    scoring = found.scoring.plus("phrases", first.in_rows(scores) - before)
    fused = before if found.fused is None else found.fused
    return replace(first, candidates=replace(found, scoring=scoring, fused=fused))


def _scoring(request: Request, found: Candidates, settings: SearchSettings) -> Scoring:
    """Return what the scores of candidates are made of before anything else changes them."""
    near = found.cosine is not None and not np.isnan(found.cosine).all()
    if found.bm25 is None:
        cosine = np.zeros(len(found.ids), np.float32) if found.cosine is None else np.nan_to_num(found.cosine, nan=0.0)
        return Scoring({"meaning": np.clip(cosine, 0, 1)})
    if not near:  # there is no model, or no chunk has a vector yet
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
    """Weigh candidates of both retrievers, of which the documents are known.

    (semantic · the blended cosines + keyword · the blended BM25 + definition + identifier + feedback weight · likeness)
    / (1 + feedback weight), the first two weights summing to 1; it may exceed 1: the best still differ. BM25 is that
    of chunk and document as shares of the best.
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
    return Scoring(parts, raw)


def _feedback(scores: Float32, documents: Int64, vectors: Float32) -> Float32:
    """Return float32 (n,): how like each chunk is to the best ones, of different documents.

    The cosine with the mean of their vectors, each weighted by exp(-(best score - its score) / spread): one that
    stands out speaks nearly alone, equals speak with one voice. A soft form of pseudo relevance feedback (Rocchio,
    in Salton's SMART system, 1971).
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
