"""The sum of the vectors of each document's chunks: in which direction the document as a whole lies.

Made when a search first asks, then anew for the documents that a change touches, always in the order of the chunk ids,
so that it depends on what is there and not on how it came there.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from pinakes.core.records import Bool, Float32, Int64
from pinakes.indexes.vector.float16 import Float16, float32
from pinakes.indexes.vector.growable import extended

_ROWS_AT_ONCE = 1024
"""What a processor keeps near itself: with more rows their numbers are fetched from memory once more."""


@dataclass(frozen=True, slots=True)
class DocumentSums:
    """``documents`` int64 (n,), sorted; ``matrix`` float32 (n, dim)."""

    documents: Int64
    matrix: Float32

    @classmethod
    def none(cls, dimension: int) -> DocumentSums:
        """Return those of no documents."""
        return cls(np.empty(0, np.int64), np.empty((0, dimension), np.float32))

    @classmethod
    def from_rows(cls, ids: Int64, documents: Int64, matrix: Float16, rows: Int64) -> DocumentSums:
        """Return the sums of the documents of these ``rows``, which must be all rows of each."""
        rows = rows[np.lexsort((ids[rows], documents[rows]))]
        owners, starts = np.unique(documents[rows], return_index=True)
        sums = cls(owners, np.zeros((len(owners), matrix.shape[1]), np.float32))
        ends = np.append(starts[1:], len(rows))
        first = 0
        while first < len(owners):
            last = max(first + 1, int(np.searchsorted(ends, starts[first] + _ROWS_AT_ONCE, side="right")))
            part = float32(matrix[rows[starts[first] : ends[last - 1]]])
            bounds = [0, *(ends[first:last] - starts[first]).tolist()]
            for owner, (start, end) in enumerate(pairwise(bounds), first):
                np.add.reduce(part[start:end], axis=0, out=sums.matrix[owner])
            first = last
        return sums

    def updated(
        self, touched: Int64, ids: Int64, documents: Int64, matrix: Float16, alive: Bool, first: int = 0
    ) -> DocumentSums:
        """Return these with the sums of the ``touched`` documents as the living rows now have them.

        Rows before ``first`` are not of these documents.
        """
        rows = first + np.flatnonzero(alive[first:] & np.isin(documents[first:], touched))
        fresh = DocumentSums.from_rows(ids, documents, matrix, rows)
        if len(fresh.documents) and (not len(self.documents) or touched.min() > self.documents[-1]):
            return DocumentSums(extended(self.documents, fresh.documents), extended(self.matrix, fresh.matrix))
        stale = np.isin(self.documents, touched)
        if np.array_equal(self.documents[stale], fresh.documents):  # most often no document comes or goes
            sums = self.matrix.copy()
            sums[stale] = fresh.matrix
            return DocumentSums(self.documents, sums)
        kept = ~stale
        owners = np.concatenate([self.documents[kept], fresh.documents])
        order = np.argsort(owners, kind="stable")
        return DocumentSums(owners[order], np.concatenate([self.matrix[kept], fresh.matrix])[order])

    def get(self, documents: Int64) -> Float32:
        """Return float32 (n, dim), NaN where a document has no vector."""
        found = np.full((len(documents), self.matrix.shape[1]), np.nan, np.float32)
        if len(self.documents):
            places = np.minimum(np.searchsorted(self.documents, documents), len(self.documents) - 1)
            there = self.documents[places] == documents
            found[there] = self.matrix[places[there]]
        return found
