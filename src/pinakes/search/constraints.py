"""Phrases that a passage must have, and words that it must not: both arms rank only what is left."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from pinakes.ports import Index
from pinakes.types import Bool, Filter, Int64, Ranking

_EVERY = 2**31 - 1
_FEW = 2000
"""Of so many allowed passages all are ranked; of more, the best of all are, until enough of them are allowed."""


@dataclass(frozen=True, slots=True)
class Constraints:
    """``required``: chunk ids, one of which a passage must be; None: any. ``barred``: those it must not be. Sorted."""

    required: Int64 | None = None
    barred: Int64 | None = None

    @classmethod
    def of(cls, phrases: Sequence[str], excluded: Sequence[str], index: Index, where: Filter) -> Constraints:
        """Return what ``phrases`` and ``excluded`` words mean for the chunks that pass ``where``."""
        having = [np.sort(index.keyword(phrase, _EVERY, where, None, "phrases").ids) for phrase in phrases]
        without = [index.keyword(words, _EVERY, where, None, "phrases").ids for words in excluded]
        barred = np.unique(np.concatenate(without)) if without else None
        required = reduce(lambda one, other: np.intersect1d(one, other, assume_unique=True), having) if having else None
        if required is not None and barred is not None:
            return cls(np.setdiff1d(required, barred, assume_unique=True))
        return cls(required, barred)

    def best(self, ask: Callable[[int, Int64 | None], Ranking], limit: int) -> Ranking:
        """Return the best ``limit`` allowed ones of what ``ask`` ranks, given a limit and the ids to choose from."""
        if self.required is None and self.barred is None:
            return ask(limit, None)
        if self.required is not None and len(self.required) <= _FEW:
            return ask(limit, self.required)
        most = 2 * limit
        while True:
            found = ask(most, None)
            kept = np.flatnonzero(self._allow(found.ids))[:limit]
            if len(kept) == limit or len(found) < most:
                exact = None if found.exact is None else found.exact[kept]
                return Ranking(found.ids[kept], found.documents[kept], found.scores[kept], exact)
            most *= 4

    def _allow(self, ids: Int64) -> Bool:
        if self.required is not None:
            return np.isin(ids, self.required)
        assert self.barred is not None
        return np.isin(ids, self.barred, invert=True)
