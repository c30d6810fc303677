"""Two rankings in, one out. Above the engines, so that all engines fuse alike."""

from __future__ import annotations

import numpy as np

from pinakes.core.records import Float32, Int64, Ranking


def weighted(cosine: Float32, bm25: Float32, semantic: float, keyword: float) -> Float32:
    """Return ``semantic`` · cosine + ``keyword`` · ``bm25``, the weights scaled to sum to 1.

    All arrays are float32 (n,), one row per candidate; ``bm25`` as ``relative`` gives it, 0–1. Negative cosines count
    as 0, so that the result lies in 0–1. Both weights 0 means equal weights.
    """
    semantic, keyword = scaled(semantic, keyword)
    return (semantic * np.clip(cosine, 0, 1) + keyword * bm25).astype(np.float32)


def scaled(semantic: float, keyword: float) -> tuple[float, float]:
    """Return the weights scaled to sum to 1; both 0 means equal weights."""
    total = semantic + keyword
    return (semantic / total, keyword / total) if total > 0 else (0.5, 0.5)


def blended(chunk: Float32, document: Float32, share: float) -> Float32:
    """Return (1 - ``share``) · the chunk's score + ``share`` · that of its document, float32 (n,)."""
    return ((1 - share) * chunk + share * document).astype(np.float32)


def relative(scores: Float32, least: float = 0.0) -> Float32:
    """Return ``scores`` divided by the best of them, or by ``least`` if that is more; 0 where none is positive."""
    best = max(scores.max(initial=0.0), least)
    return np.clip(scores / best, 0, 1) if best > 0 else np.zeros_like(scores)


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
