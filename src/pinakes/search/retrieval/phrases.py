"""Quoted phrases: which chunks have them, and scores that rank chunks with more phrases first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from pinakes.core.records import Bool, Float32, Int64, Ranking

MOST_ADDED = 2000
"""The maximum number of candidates added because they have phrases."""

_CEILING = 0.99
"""The base to which scores of chunks with phrases are raised is capped here, so that they still differ."""


@dataclass(frozen=True, slots=True)
class PhraseMatches:
    """The chunks that have each phrase of a query: phrase → chunk ids, int64, sorted."""

    ids: Mapping[str, Int64]

    def matrix(self, ids: Int64) -> Bool:
        """Return bool (n, phrases): which of the chunks ``ids`` int64 (n,) have which phrase."""
        if not self.ids:
            return np.zeros((len(ids), 0), np.bool_)
        return np.stack([np.isin(ids, those) for those in self.ids.values()], axis=1)


@dataclass(frozen=True, slots=True)
class Phrases:
    """The ``phrases`` of a query, and ``there`` bool (n, phrases): which of n candidates have which.

    ``required``: all candidates have all phrases, so phrases do not affect the order.
    """

    phrases: tuple[str, ...]
    there: Bool
    required: bool = False

    def counts(self) -> Int64:
        """Return int64 (n,): the number of phrases each candidate has; all 0 if phrases do not affect the order."""
        if self.required:
            return np.zeros(len(self.there), np.int64)
        counts: Int64 = np.count_nonzero(self.there, axis=1).astype(np.int64)
        return counts

    def phrases_in(self, row: int) -> tuple[str, ...]:
        """Return the phrases that the candidate in this row has."""
        return tuple(phrase for phrase, there in zip(self.phrases, self.there[row].tolist(), strict=True) if there)


def raised(scores: Float32, counts: Int64) -> Float32:
    """Return scores (n,), 0 to 1, that rank chunks with more phrases before those with fewer.

    ``counts``: int64 (n,), the number of phrases of each. Chunks with the fewest keep their scores. The others get
    best + (1 - best) * score, where best is the highest score among chunks with fewer phrases.
    """
    found = np.clip(scores, 0, 1).astype(np.float64)
    levels = np.unique(counts)
    for fewer, more in pairwise(levels.tolist()):
        best = min(float(found[counts == fewer].max()), _CEILING)
        found[counts == more] = best + (1 - best) * found[counts == more]
    return found.astype(np.float32)


def with_phrase_matches(rankings: Sequence[Ranking], excluded: Int64 | None) -> tuple[Ranking, bool]:
    """Return chunks of ``rankings`` (one per phrase), those with the most phrases, and whether these are all.

    At most ``MOST_ADDED``; all or none of the chunks with an equal number of phrases; none of ``excluded``.
    """
    ids = np.concatenate([one.ids for one in rankings])
    owners = np.concatenate([one.documents for one in rankings])
    ids, first, counts = np.unique(ids, return_index=True, return_counts=True)
    owners = owners[first]
    if excluded is not None:
        allowed = np.isin(ids, excluded, invert=True)
        ids, owners, counts = ids[allowed], owners[allowed], counts[allowed]
    level = next((one for one in np.unique(counts) if np.count_nonzero(counts >= one) <= MOST_ADDED), len(rankings) + 1)
    kept = counts >= level
    return Ranking(ids[kept], owners[kept], np.zeros(np.count_nonzero(kept), np.float32)), bool(kept.all())
