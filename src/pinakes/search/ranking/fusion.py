"""Formulas of scores, above the engines, so that all engines fuse alike: fusion of rankings, confidence in a hit."""

from __future__ import annotations

import math

import numpy as np

from pinakes.core.records import ConfidenceWord, Float32, Int64, Ranking


def weighted(cosine: Float32, bm25: Float32, semantic: float, keyword: float) -> Float32:
    """Return ``semantic`` · cosine + ``keyword`` · ``bm25``, the weights scaled to sum to 1.

    All arrays are float32 (n,), one value per candidate; ``bm25`` is relative, 0 to 1 (see ``relative``). Negative
    cosines count as 0, so that the result is in 0..1. Two weights of 0 mean equal weights.
    """
    semantic, keyword = scaled(semantic, keyword)
    return (semantic * np.clip(cosine, 0, 1) + keyword * bm25).astype(np.float32)


def scaled(semantic: float, keyword: float) -> tuple[float, float]:
    """Return the weights scaled to sum to 1; two weights of 0 mean equal weights."""
    total = semantic + keyword
    return (semantic / total, keyword / total) if total > 0 else (0.5, 0.5)


def blended(chunk: Float32, document: Float32, share: float) -> Float32:
    """Return (1 - ``share``) · ``chunk`` + ``share`` · ``document``, float32 (n,)."""
    return ((1 - share) * chunk + share * document).astype(np.float32)


def relative(scores: Float32, least: float = 0.0) -> Float32:
    """Return ``scores`` divided by their maximum, or by ``least`` if that is greater; 0 if no score is positive."""
    best = max(scores.max(initial=0.0), least)
    return np.clip(scores / best, 0, 1) if best > 0 else np.zeros_like(scores)


def spread(scores: Float32) -> Float32:
    """Return ``scores`` (n,) as their least is 0 and their greatest 1; 0 if all are the same."""
    least = scores.min(initial=np.inf)
    return relative((scores - least).astype(np.float32))


def rrf(candidates: Int64, rankings: list[Ranking], k: int) -> Float32:
    """Return the sum over ``rankings`` of 1 / (k + rank), ranks counted from 1, for each candidate.

    Reciprocal rank fusion: Cormack, Clarke and Büttcher, SIGIR 2009. ``candidates`` is int64 (n,),
    sorted, and holds every id of the rankings.
    """
    fused = np.zeros(len(candidates), np.float32)
    for ranking in rankings:
        places = np.searchsorted(candidates, ranking.ids)
        fused[places] += 1.0 / (k + np.arange(1, len(ranking) + 1))
    return fused


_MEANING, _WORDS = 0.7, 0.3
_AGREEMENT, _CONTEXT, _VARIANCE = 0.15, 0.1, 0.2
_HALFWAY_BM25 = 10
_LEVELS: tuple[tuple[float, ConfidenceWord], ...] = ((0.9, "excellent"), (0.7, "good"), (0.5, "moderate"))


def confidence(cosine: float | None, bm25: float | None) -> float:
    """Return the confidence in a chunk, 0 to 1, from its cosine and BM25, whatever the other hits; None = unknown.

    With s the cosine (negative ones count as 0) and b = tanh(BM25 / 10):
    .7 s + .3 b + .15 min(s, b) + .1 - .2 variance(s, b), clamped to 0..1. The BM25 is that of the index, so its IDF
    covers the whole collection. With only one of the scores, the result is s + .1 or b + .1.
    """
    s = None if cosine is None else min(max(cosine, 0.0), 1.0)
    b = None if bm25 is None else math.tanh(max(bm25, 0.0) / _HALFWAY_BM25)
    if s is None or b is None:
        return min(1.0, (s or 0.0) + (b or 0.0) + _CONTEXT)
    variance = ((s - b) / 2) ** 2
    total = _MEANING * s + _WORDS * b + _AGREEMENT * min(s, b) + _CONTEXT - _VARIANCE * variance
    return min(max(total, 0.0), 1.0)


def confidence_word(value: float) -> ConfidenceWord:
    """Return "excellent" from 0.9 on, "good" from 0.7, "moderate" from 0.5, else "weak"."""
    return next((word for least, word in _LEVELS if value >= least), "weak")
