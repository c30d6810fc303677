"""The confidence in a hit, independent of the other hits: the formula of the acceptance document, S2-14."""

from __future__ import annotations

import math

from pinakes.core.records import ConfidenceWord

_MEANING, _WORDS = 0.7, 0.3
_AGREEMENT, _CONTEXT, _VARIANCE = 0.15, 0.1, 0.2
_HALFWAY_BM25 = 10
_LEVELS: tuple[tuple[float, ConfidenceWord], ...] = ((0.9, "excellent"), (0.7, "good"), (0.5, "moderate"))


def confidence(cosine: float | None, bm25: float | None) -> float:
    """Return the confidence, 0 to 1, from the cosine and BM25 of a chunk; None for a score that is unknown.

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
