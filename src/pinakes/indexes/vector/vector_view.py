"""The state of a vector index that a search sees, and what is read from it: rows, rankings, sums by document."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from pinakes.core.records import Bool, Float32, Int64, Ranking
from pinakes.indexes.vector.mapped_rows import MappedRows, VectorRows, blocks
from pinakes.indexes.vector.saved_vectors import Snapshot
from pinakes.indexes.vector.scanners import Scanner
from pinakes.indexes.vector.vector_arrays import Float16, extended, float32


@dataclass(frozen=True)
class View:
    """The state that a search sees. Arrays have the same length n; ``order`` sorts ``ids``.

    ``unscanned``: rows whose current vector ``scanner`` does not hold. ``sums``: None until a search needs them.
    """

    ids: Int64
    documents: Int64
    matrix: VectorRows
    exact: Bool
    alive: Bool
    unscanned: Bool
    order: Int64
    scanner: Scanner | None
    scanned: int
    position: int
    sums: DocumentSums | None = None

    @cached_property
    def all_exact(self) -> bool:
        """Whether every living row is exact."""
        return bool((self.exact | ~self.alive).all())

    @cached_property
    def living(self) -> int:
        """The number of living rows."""
        return int(np.count_nonzero(self.alive))

    def snapshot(self) -> Snapshot:
        """Return all rows, also the dead ones, as they are saved."""
        return Snapshot(self.ids, self.documents, self.matrix, self.exact, self.position)

    @cached_property
    def _by_document(self) -> tuple[Int64, Int64]:
        order = np.argsort(self.documents, kind="stable")
        return order, self.documents[order]

    def rows_of_documents(self, documents: Int64) -> Int64:
        """Return the living rows of ``documents``, which must be distinct."""
        order, owners = self._by_document
        starts, ends = (np.searchsorted(owners, documents, side=side) for side in ("left", "right"))
        counts = ends - starts
        places = np.arange(counts.sum()) + np.repeat(starts - np.cumsum(counts) + counts, counts)
        rows = order[places]
        found: Int64 = rows[self.alive[rows]]
        return found


def living(rows: Snapshot, scanner: Scanner | None = None) -> View:
    """Return a view of living rows, which ``scanner`` holds."""
    count = len(rows.ids)
    every = np.ones(count, np.bool_)
    return View(
        rows.ids,
        rows.documents,
        rows.matrix,
        rows.exact,
        every,
        every if scanner is None else np.zeros(count, np.bool_),
        order=np.argsort(rows.ids, kind="stable"),
        scanner=scanner,
        scanned=0 if scanner is None else count,
        position=rows.position,
    )


def rebased(now: View, fresh: View, rows: Int64, behind: int, overwritten: Int64, file: MappedRows) -> View:
    """Return ``now`` on the rows of ``fresh``, which are a copy that was made of some of its rows.

    ``rows``: int64 (n,), the row of ``now`` that each row of ``fresh`` is a copy of; ``overwritten``: rows of ``now``
    with another vector since; ``behind``: the number of rows that ``now`` had then.
    """
    count = len(rows)
    tail = behind + np.flatnonzero(now.alive[behind:])
    unscanned = fresh.unscanned | np.isin(rows, overwritten)
    other = np.flatnonzero(unscanned & now.alive[rows]) if len(overwritten) else overwritten
    matrix = fresh.matrix.overwritten(file, other, now.matrix[rows[other]]) if len(other) else fresh.matrix
    matrix = matrix.appended(file, now.matrix[tail]) if len(tail) else matrix
    ids = np.concatenate([fresh.ids, now.ids[tail]])
    return View(
        ids,
        np.concatenate([fresh.documents, now.documents[tail]]),
        matrix,
        np.concatenate([now.exact[rows], now.exact[tail]]),
        np.concatenate([now.alive[rows], np.ones(len(tail), np.bool_)]),
        np.concatenate([unscanned, np.ones(len(tail), np.bool_)]),
        order=np.argsort(ids, kind="stable"),
        scanner=fresh.scanner,
        scanned=count,
        position=now.position,
        sums=now.sums,
    )


def members(values: Int64, sorted_set: Int64) -> Bool:
    """Return bool (n,): which of ``values`` are in ``sorted_set``."""
    if not len(sorted_set):
        return np.zeros(len(values), np.bool_)
    places = np.minimum(np.searchsorted(sorted_set, values), len(sorted_set) - 1)
    found: Bool = sorted_set[places] == values
    return found


def rows_of(view: View, chunk_ids: Int64) -> tuple[Int64, Bool]:
    """Return the row of each chunk, the latest if it was applied twice, and whether that row exists and is living."""
    if not len(view.ids):
        return np.zeros(len(chunk_ids), np.int64), np.zeros(len(chunk_ids), np.bool_)
    places = np.searchsorted(view.ids, chunk_ids, side="right", sorter=view.order) - 1
    rows = view.order[np.maximum(places, 0)]
    return rows, (places >= 0) & (view.ids[rows] == chunk_ids) & view.alive[rows]


def ranked(view: View, rows: Int64, query: Float32, limit: int) -> Ranking:
    """Score ``rows`` with the float16 vectors and keep the best ``limit``; ties go to the older chunk."""
    exact = None if view.all_exact else view.exact[rows]  # flags are read before the vectors, and written after them
    if not len(rows):
        return Ranking(rows, rows, np.empty(0, np.float32), exact)
    # Row by row: a product of the whole lets the BLAS wake threads, which takes it 8 ms at times, not 0.1.
    scores = np.concatenate([np.vecdot(float32(block), query) for block in blocks(view.matrix, rows)])
    kept = np.arange(len(rows))
    if len(rows) > limit:
        kept = np.flatnonzero(scores >= np.partition(scores, -limit)[-limit])
    ids = view.ids[rows]
    best = kept[np.lexsort((ids[kept], -scores[kept]))[:limit]]
    exact = None if exact is None else exact[best]
    return Ranking(ids[best], view.documents[rows][best], scores[best].astype(np.float32), exact)


_ROWS_AT_ONCE = 1024
"""Rows per step, chosen to fit the processor's cache."""


@dataclass(frozen=True, slots=True)
class DocumentSums:
    """The sum of the chunk vectors of each document: ``documents`` int64 (n,), sorted; ``matrix`` float32 (n, dim).

    Computed on first use, then updated for changed documents, always in the order of chunk ids, so that the result
    depends only on the content and not on the order of changes.
    """

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
