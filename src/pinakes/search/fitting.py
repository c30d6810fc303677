"""How well what each of several collections answers fits a question, and what those lose that fit it less.

A collection that is about something else has its best passages, too, and by ranks they are as good as any. Its passages
have fewer of the rare words of the question, though, and where it is known how probable an answer is, that is lower.
Measured by asking questions on one of seven corpora beside three others (``python -m benchmarks.quality.several``).
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import Final

LOOKED_AT: Final = 10
"""So many of the best passages of a collection are looked at, ``_BEST`` of these counted: it may have few that fit."""

_BEST = 5

SCORE, RANKS = 2.0, 100
"""What a collection loses that fits less by one: so many times the best score of all; so many ranks, where scores do
not compare."""

_WORDS, _ANSWERABLE, _USUAL = 1.5, 0.6, 0.4
_WORDS_ALONE = 0.04
"""Passages that were found by words alone have more of them without fitting better."""


def fit(shares: Sequence[float], answerable: float | None, *, by_words: bool) -> float:
    """Return how well an answer fits, the larger the better.

    ``shares``: how much of the words of the question each of its best passages has, weighted by how rare they are in
    all collections together (``Rarity.share``). ``answerable`` as in ``types.Results``. ``by_words``: it was found by
    these alone.
    """
    if not shares:  # the question has no words
        return 0.0
    mean = _WORDS * fmean(sorted(shares[:LOOKED_AT], reverse=True)[:_BEST])
    if answerable is not None:
        return mean + _ANSWERABLE * (answerable - _USUAL)
    return mean - _WORDS_ALONE if by_words else mean


def behind(fits: Sequence[float]) -> list[float]:
    """Return by how much each fits less than the best."""
    return [max(fits) - one for one in fits]
