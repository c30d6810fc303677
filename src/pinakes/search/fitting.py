"""How well the answer of each of several collections fits a question, and the penalty for a worse fit.

Ranks alone make the best chunks of an unrelated collection look as good as any. But those chunks have fewer of the
question's rare words, the words are less frequent in the collection as a whole, and the ``answerable`` probability, if
known, is lower. Measured by asking questions on one corpus together with three others (``python -m
benchmarks.quality.several``).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final

from pinakes.search.retrieval.term_statistics import TermStatistics

LOOKED_AT: Final = 7
"""Best chunks considered per collection, of which the ``_BEST`` best-fitting count: few of them may fit."""

_BEST = 5

SCORE, RANKS = 2.0, 100
"""Penalty per unit of worse fit: as a multiple of the best score of all, or in ranks if scores do not compare."""

_WORDS, _ANSWERABLE, _USUAL, _TOPIC = 2.0, 0.4, 0.4, 0.15
_PRIOR = 100
"""Documents, with a word as often as all collections together have it, that count as if each one also had these: a
small one tells little."""

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


def fit_penalties(answers: Sequence[CollectionAnswer], terms: Sequence[TermStatistics | None]) -> list[float]:
    """Return how much less each answer fits than the best one, in the order of ``answers``, as ``terms`` are.

    Of two answers as many chunks are compared as both have, up to ``_BEST``: the best one alone has more of the words
    than several on the mean. Words are weighted by their IDF over all collections together; those that no chunk has are
    ignored.
    """
    looked_at = [one.words[:LOOKED_AT] for one in answers]
    known = frozenset[str]().union(*(words for chunks in looked_at for words in chunks))
    counted = [one for one in terms if one is not None]
    every = TermStatistics.together(counted) if counted else None
    most = every.of_words(known) if every else 0.0
    shares = [[every.of_words(words) / most if every and most else 0.0 for words in those] for those in looked_at]
    topics = _topics(counted) if len(counted) == len(answers) else [0.0] * len(answers)
    fits = [_fits(*each) for each in zip(shares, topics, answers, strict=True)]
    alike = [[one for one in fits if len(one) == count] for count in {*map(len, fits)}]
    highest = [[max(each) for each in zip(*those, strict=True)] for those in alike]
    behind = [max(_margin(other, one) for other in highest) for one in fits]
    return [each - min(behind) for each in behind]


def _margin(one: Sequence[float], over: Sequence[float]) -> float:
    """Return how much better ``one`` fits than another, by as many chunks as both have."""
    count = min(len(one), len(over))
    return one[count - 1] - over[count - 1]


def _fits(shares: Sequence[float], topic: float, answer: CollectionAnswer) -> list[float]:
    """Return how well an answer fits by its best chunk, by its two best, and so on up to ``_BEST``; at least one."""
    best = sorted(shares, reverse=True)[:_BEST] or [0.0]
    other = _TOPIC * topic
    if answer.answerable is not None:
        other += _ANSWERABLE * (answer.answerable - _USUAL)
    elif answer.by_words:
        other -= _WORDS_ALONE
    return [other + _WORDS * fmean(best[: count + 1]) for count in range(len(best))]


def _topics(terms: Sequence[TermStatistics]) -> list[float]:
    """Return how much more frequent the query's words are in each collection than in all of them on the mean.

    The mean over the words of log (p / mean p), where p is the share of documents with the word, smoothed towards the
    share in all collections together by a Dirichlet prior of ``_PRIOR`` documents: the language model of collections
    by which Si et al. (CIKM 2002) select them.
    """
    together = TermStatistics.together(terms)
    sums = [0.0] * len(terms)
    for word, count in together.counts.items():
        prior = _PRIOR * count / max(1, together.documents)
        shares = [(one.counts[word] + prior) / (one.documents + _PRIOR) for one in terms]
        mean = fmean(shares)
        if mean:
            sums = [before + math.log(share / mean) for before, share in zip(sums, shares, strict=True)]
    return [each / len(together.counts) for each in sums]
