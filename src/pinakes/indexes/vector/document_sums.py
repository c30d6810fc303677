"""The sum of the chunk vectors of each document, as a vector of the whole document.

Computed on first use, then updated for changed documents, always in the order of chunk ids, so that the result depends
only on the content and not on the order of changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from pinakes.core.records import Bool, Float32, Int64
from pinakes.indexes.vector.float16 import Float16, float32
from pinakes.indexes.vector.growable import extended
from pinakes.indexes.vector.vector_rows import VectorRows

_ROWS_AT_ONCE = 1024
"""Rows per step, chosen to fit the processor's cache."""


@dataclass(frozen=True, slots=True)
class DocumentSums:
    """``documents`` int64 (n,), sorted; ``matrix`` float32 (n, dim)."""

    documents: Int64
    matrix: Float32

    @classmethod
    def none(cls, dimension: int) -> DocumentSums:
        """Return the sums of no documents."""
        return cls(np.empty(0, np.int64), np.empty((0, dimension), np.float32))

    @classmethod
    def from_rows(cls, ids: Int64, documents: Int64, matrix: Float16 | VectorRows, rows: Int64) -> DocumentSums:
        """Return the sums of the documents of these ``rows``, which must contain all rows of each."""
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
        self, touched: Int64, ids: Int64, documents: Int64, matrix: Float16 | VectorRows, alive: Bool, first: int = 0
    ) -> DocumentSums:
        """Return these sums with those of the ``touched`` documents recomputed from their living rows.

        Rows before ``first`` do not belong to these documents.
        """
        rows = first + np.flatnonzero(alive[first:] & np.isin(documents[first:], touched))
        fresh = DocumentSums.from_rows(ids, documents, matrix, rows)
        if len(fresh.documents) and (not len(self.documents) or touched.min() > self.documents[-1]):
            return DocumentSums(extended(self.documents, fresh.documents), extended(self.matrix, fresh.matrix))
        stale = np.isin(self.documents, touched)
        if np.array_equal(self.documents[stale], fresh.documents):  # usually no document is added or removed
            sums = self.matrix.copy()
            sums[stale] = fresh.matrix
            return DocumentSums(self.documents, sums)
        kept = ~stale
        owners = np.concatenate([self.documents[kept], fresh.documents])
        order = np.argsort(owners, kind="stable")
        return DocumentSums(owners[order], np.concatenate([self.matrix[kept], fresh.matrix])[order])

    def get(self, documents: Int64) -> Float32:
        """Return float32 (n, dim), NaN for documents without a vector."""
        found = np.full((len(documents), self.matrix.shape[1]), np.nan, np.float32)
        if len(self.documents):
            places = np.minimum(np.searchsorted(self.documents, documents), len(self.documents) - 1)
            there = self.documents[places] == documents
            found[there] = self.matrix[places[there]]
        return found
