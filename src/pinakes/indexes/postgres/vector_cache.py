"""A cache of the vectors of chunks and sums of documents that were read last, to score what a search found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from pinakes.catalog.index_tables import vector_table
from pinakes.catalog.index_tables.sessions import Row
from pinakes.core.ports import Vectors
from pinakes.core.records import Ranking

_MOST: Final = 4096
"""So many vectors are kept: those of about ten searches."""


class VectorCache:
    """Vectors as of a ``turn`` of an index: ``own`` by chunk, with whether it is exact, ``sums`` by document.

    Thread-safe: nothing is removed. That there is none is kept, too.
    """

    def __init__(self, turn: int, dimension: int) -> None:
        self.turn, self._dimension = turn, dimension
        self.own: dict[int, tuple[bool, bytes]] = {}
        self.sums: dict[int, bytes] = {}

    @property
    def is_full(self) -> bool:
        """Whether others should be read into a new one."""
        return len(self.own) + len(self.sums) > _MOST

    def keep(self, rows: Sequence[Row], chunks: Sequence[int], documents: Sequence[int] = ()) -> None:
        """Keep rows as ``vector_table`` gives them, and that of these chunks and documents there are no others."""
        nothing = vector_table.absent(self._dimension)
        own = dict.fromkeys(chunks, (True, nothing))
        own |= {row[0]: (row[2], row[4]) for row in rows if row[2] is not None}
        sums = dict.fromkeys(documents, nothing)
        sums |= {row[0]: row[4] for row in rows if row[2] is None}
        self.own |= own
        self.sums |= sums

    def vectors(self, chunks: Sequence[int], documents: Sequence[int]) -> Vectors:
        """Return the vectors of chunks and documents that are kept."""
        flags = np.array([self.own[one][0] for one in chunks], np.bool_)
        own = vector_table.read([self.own[one][1] for one in chunks], self._dimension)
        sums = vector_table.read([self.sums[one] for one in documents], self._dimension)
        return Vectors(own, None if flags.all() else flags, sums)


def ranking_of(rows: Sequence[Row], limit: int) -> Ranking:
    """Return the first ``limit`` of the rows with a cosine; of those that are equally near the lowest ids first."""
    near = [row for row in rows if row[3] is not None]
    near = sorted(near, key=lambda row: (-row[3], row[0]))[:limit]
    ids, owners = (np.array([row[at] for row in near], np.int64) for at in (0, 1))
    exact, scores = np.array([row[2] for row in near], np.bool_), np.array([row[3] for row in near], np.float32)
    return Ranking(ids, owners, scores, None if exact.all() else exact)
