"""How well the answer of each of several collections fits a question, and the penalty for a worse fit.

Ranks alone make the best chunks of an unrelated collection look as good as any. But those chunks have fewer of the
question's rare words, and their ``answerable`` probability, if known, is lower. Measured by asking questions on one of
seven corpora together with three others (``python -m benchmarks.quality.several``).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final

from pinakes.search.retrieval.term_statistics import TermStatistics

LOOKED_AT: Final = 10
"""Best chunks considered per collection, of which the ``_BEST`` best-fitting count: few of them may fit."""

_BEST = 5

SCORE, RANKS = 2.0, 100
"""Penalty per unit of worse fit: as a multiple of the best score of all, or in ranks if scores do not compare."""

_WORDS, _ANSWERABLE, _USUAL = 1.5, 0.6, 0.4
_WORDS_ALONE = 0.04
"""Subtracted for answers of keyword search alone: their chunks share more words without fitting better."""


@dataclass(frozen=True, slots=True)
class CollectionAnswer:
    """The answer of one collection: ``words`` are the query words that each of its best chunks has, best chunk first.

    ``answerable``: see ``Results``. ``by_words``: the chunks were found by keyword search alone.
    """

    words: Sequence[Collection[str]]
    answerable: float | None
    by_words: bool


def fit_penalties(answers: Sequence[CollectionAnswer], terms: TermStatistics | None) -> list[float]:
    """Return how much less each answer fits than the best one, in the order of ``answers``.

    Query words are weighted by their IDF over all collections together (``terms``); words that no chunk has are
    ignored.
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
