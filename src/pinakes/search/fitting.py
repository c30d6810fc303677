"""How well what each of several collections answers fits a question, and what those lose that fit it less.

A collection that is about something else has its best chunks, too, and by ranks they are as good as any. Its chunks
have fewer of the rare words of the question, though, and where it is known how probable an answer is, that is lower.
Measured by asking questions on one of seven corpora beside three others (``python -m benchmarks.quality.several``).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final

from pinakes.search.retrieval.term_statistics import TermStatistics

LOOKED_AT: Final = 10
"""So many of the best chunks of a collection are looked at, ``_BEST`` of these counted: it may have few that fit."""

_BEST = 5

SCORE, RANKS = 2.0, 100
"""What a collection loses that fits less by one: so many times the best score of all; so many ranks, where scores do
not compare."""

_WORDS, _ANSWERABLE, _USUAL = 1.5, 0.6, 0.4
_WORDS_ALONE = 0.04
"""Chunks that were found by words alone have more of them without fitting better."""


@dataclass(frozen=True, slots=True)
class CollectionAnswer:
    """What one collection answers: which words of the question its best chunks have, the best one first.

    ``answerable`` as in ``types.Results``. ``by_words``: they were found by these alone.
    """

    words: Sequence[Collection[str]]
    answerable: float | None
    by_words: bool


def lost(answers: Sequence[CollectionAnswer], terms: TermStatistics | None) -> list[float]:
    """Return by how much each answer fits less than the best.

    Words count by how rare they are in all collections together (``terms``), and those only that some chunk has.
    """
    looked_at = [one.words[:LOOKED_AT] for one in answers]
    known = frozenset[str]().union(*(words for chunks in looked_at for words in chunks))
    most = terms.of_words(known) if terms else 0.0
    shares = [[terms.of_words(words) / most if terms and most else 0.0 for words in those] for those in looked_at]
    fits = [_fit(those, one) for those, one in zip(shares, answers, strict=True)]
    return [max(fits) - fit for fit in fits]


def _fit(shares: Sequence[float], answer: CollectionAnswer) -> float:
    best = sorted(shares, reverse=True)[:_BEST]
    mean = _WORDS * fmean(best) if best else 0.0
    if answer.answerable is not None:
        return mean + _ANSWERABLE * (answer.answerable - _USUAL)
    return mean - _WORDS_ALONE if answer.by_words else mean
