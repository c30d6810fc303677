"""The state of a vector index that a search sees, and what is read from it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pinakes.core.records import Bool, Float32, Int64, Ranking
from pinakes.indexes.vector.document_sums import DocumentSums
from pinakes.indexes.vector.float16 import float32
from pinakes.indexes.vector.mapped_rows import MappedRows, blocks
from pinakes.indexes.vector.saved_vectors import Snapshot
from pinakes.indexes.vector.scanners import Scanner
from pinakes.indexes.vector.vector_rows import VectorRows


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
