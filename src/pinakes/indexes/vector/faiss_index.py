"""The vector index: an exact 8-bit scan by FAISS in memory, re-scored with float16 vectors in mapped files.

New rows are appended; a removed row is marked dead until the next rebuild; a row whose chunk gets another vector
is written over in place. The first search compares all rows directly, since a command asks only once; FAISS is built
for the second, so that who only writes has no use of memory for it. It holds the first ``scanned`` rows as they were
when it was built; those behind them and those written over since are compared directly. A reader works on a view that
nothing but such writing over changes, so searches do not wait for changes, but for the second. What is on disk is a
snapshot.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from pinakes.core.records import Bool, Float32, IndexEntry, Int64, Ranking, VectorEntry
from pinakes.indexes.vector.document_sums import DocumentSums
from pinakes.indexes.vector.float16 import Float16, float32, largest
from pinakes.indexes.vector.growable import extended
from pinakes.indexes.vector.mapped_rows import MappedRows, blocks
from pinakes.indexes.vector.saved_vectors import Snapshot, Snapshots

_DIRECT_ROWS = 2048
"""Rows compared without FAISS: this takes less than a millisecond."""

_TAIL_ROWS = 512
_TAIL_SHARE = 0.02
_TRAINED_TAIL_SHARE = 0.05
"""Rows, and the share of FAISS's rows, that are compared directly before FAISS is rebuilt. Rebuilding takes seconds for
an inverted file, milliseconds for a flat scan."""

_DEAD_SHARE = 0.2
_EIGHT_BIT = 127
_TRAINED_ROWS = 50_000
_RESCORED = 2
_NLIST_PER_ROOT = 4
_SAVE_AFTER_ROWS = 1000
_LEFT_SHARE = 0.01


@dataclass(frozen=True)
class _View:
    """The state that a search sees. Arrays have the same length n; ``order`` sorts ``ids``.

    ``unscanned``: rows whose current vector ``scanner`` does not hold. ``sums``: None until a search needs them.
    """

    ids: Int64
    documents: Int64
    matrix: Float16
    exact: Bool
    alive: Bool
    unscanned: Bool
    order: Int64
    scanner: Any
    scanned: int
    position: int
    sums: DocumentSums | None = None

    @cached_property
    def all_exact(self) -> bool:
        """Whether every living row is exact."""
        return bool((self.exact | ~self.alive).all())


class VectorIndex:
    """Cosine ranking over the vectors of one collection generation."""

    def __init__(
        self, folder: Path, dimension: int, label: str, exact_max_vectors: int, approximate_share: float
    ) -> None:
        """Open the latest snapshot in ``folder``, unless its ``label`` differs."""
        self._dimension = dimension
        self._exact_max = exact_max_vectors
        self._share = approximate_share
        self._lock = threading.Lock()
        self._summing = threading.Lock()
        self._snapshots = Snapshots(folder, dimension, label)
        self._rows_file = MappedRows(folder, dimension)
        self._unsaved = 0
        self._used: set[str] = set()
        self._view = _living(self._snapshots.newest())
        self._saved_position = self._view.position

    def position(self) -> int:
        """Return the number of the last change applied."""
        return self._view.position

    def apply(
        self, removed: Sequence[int], added: Sequence[IndexEntry], position: int, vectors: Sequence[VectorEntry] = ()
    ) -> None:
        """Drop the rows of ``removed`` documents, append ``added`` entries that have vectors, then set ``vectors``.

        The vector of a living row is overwritten: a search that reads the row at that moment may score a mix of both.
        Other vectors are appended, except those of documents that are also in ``removed`` or ``added``, which are
        ignored.
        """
        with self._lock:
            view = self._view
            if position <= view.position:
                return
            replaced = {*removed, *(entry.document_id for entry in added)}
            given = {entry.chunk_id: entry for entry in vectors if entry.document_id not in replaced}
            touched = replaced | {entry.document_id for entry in given.values()}
            view, missing, written = self._overwritten(view, list(given.values()))
            self._view = view  # if the rest fails, the view must not claim that FAISS has these rows
            owners = np.fromiter(touched, np.int64)
            all_new = bool(touched) and min(touched) > view.documents.max(initial=-1)
            first = len(view.ids) if all_new else 0
            if replaced and not all_new:
                gone = np.isin(view.documents, np.fromiter(replaced, np.int64))
                view = replace(view, alive=view.alive & ~gone)
            fresh: list[IndexEntry | VectorEntry] = [entry for entry in added if entry.vector is not None]
            fresh += missing
            if fresh:
                view = self._appended(view, fresh)
            if touched and view.sums is not None:
                sums = view.sums.updated(owners, view.ids, view.documents, view.matrix, view.alive, first)
                view = replace(view, sums=sums)
            self._view = self._compacted(replace(view, position=position))
            self._unsaved += len(fresh) + len(removed) + written
            if self._unsaved >= max(_SAVE_AFTER_ROWS, len(self._view.ids) // 2):
                self._save()

    def search(self, query: Float32, limit: int, documents: Int64 | None, among: Int64 | None) -> Ranking:
        """Return the ``limit`` best chunks by cosine, restricted to ``documents`` or to the chunks ``among``."""
        view = self._view
        if among is not None:
            rows, found = _rows_of(view, among)
            return _ranked(view, rows[found], query, limit)
        allowed = view.alive if documents is None else view.alive & _members(view.documents, documents)
        total = int(np.count_nonzero(allowed))
        if total <= _DIRECT_ROWS:
            return _ranked(view, np.flatnonzero(allowed), query, limit)
        if view.scanner is None:
            if len(view.ids) <= self._exact_max and self._is_first("search"):
                return _ranked(view, np.flatnonzero(allowed), query, limit)
            self._build()
            return self.search(query, limit, documents, among)
        held = (allowed & ~view.unscanned)[: view.scanned]
        scanned = _scan(view.scanner, query, min(limit * _RESCORED, total), held, self._share)
        rows = np.concatenate([scanned, np.flatnonzero(allowed & view.unscanned)])
        return _ranked(view, rows, query, limit)

    def with_settings(self, exact_max_vectors: int, approximate_share: float) -> VectorIndex:
        """Return the same vectors with other scan settings; what these need is built in memory."""
        if len(self._view.ids) > _DIRECT_ROWS:
            self._build()
        view, rows = self._view, len(self._view.ids)
        if view.scanner is not None and (rows > exact_max_vectors) != hasattr(view.scanner, "nlist"):
            scanner = self._scanner(view.matrix, exact_max_vectors)
            view = replace(view, scanner=scanner, scanned=rows, unscanned=np.zeros(rows, np.bool_))
        other = copy.copy(self)
        vars(other).update(_exact_max=exact_max_vectors, _share=approximate_share, _view=view)
        return other

    def get(self, chunk_ids: Int64) -> tuple[Float32, Bool | None]:
        """Return float32 (n, dim), NaN for chunks without a vector; and bool (n,), true if exact, None if all are."""
        view = self._view
        rows, found = _rows_of(view, chunk_ids)
        exact = None if view.all_exact else ~found | view.exact[rows]  # read before the vectors, written after
        if found.all() and len(found):
            return float32(view.matrix[rows]), exact
        vectors = np.full((len(chunk_ids), self._dimension), np.nan, np.float32)
        vectors[found] = float32(view.matrix[rows[found]])
        return vectors, exact

    def sums(self, document_ids: Int64) -> Float32:
        """Return float32 (n, dim): the sum of each document's vectors, NaN if it has none."""
        if not len(document_ids):
            return np.empty((0, self._dimension), np.float32)
        view = self._view
        if view.sums is None and self._is_first("sums"):
            rows = np.flatnonzero(view.alive & np.isin(view.documents, document_ids))
            return DocumentSums.from_rows(view.ids, view.documents, view.matrix, rows).get(document_ids)
        if (sums := self._view.sums) is None:
            with self._summing:  # concurrent searches compute it once
                view = self._view
                if (sums := view.sums) is None:
                    sums = DocumentSums.from_rows(view.ids, view.documents, view.matrix, np.flatnonzero(view.alive))
                    self._store_sums(view, sums)
        return sums.get(document_ids)

    def chunk_ids(self) -> Int64:
        """Return the sorted ids of all chunks with a vector."""
        return np.sort(self._view.ids[self._view.alive])

    def exact_ids(self) -> Int64:
        """Return the sorted ids of all chunks with an exact vector."""
        view = self._view
        return np.sort(view.ids[view.alive & view.exact])

    def describe(self) -> dict[str, str | int]:
        """Return the number of vectors and the search method."""
        view = self._view
        count = int(np.count_nonzero(view.alive))
        many = len(view.ids) > max(self._exact_max, _DIRECT_ROWS)
        is_approximate = many if view.scanner is None else hasattr(view.scanner, "nlist")
        method = "approximate (IVF, 8 bit)" if is_approximate else "exact (8 bit, re-scored)"
        about: dict[str, str | int] = {"vectors": count}
        if not view.all_exact:
            about["exact_vectors"] = int(np.count_nonzero(view.alive & view.exact))
        return {**about, "vector_search": method, "vector_bytes": view.matrix.nbytes}

    def close(self) -> None:
        """Save unsaved rows, unless they are so few that reading the changes again is cheaper."""
        with self._lock:
            unseen = self._view.position - self._saved_position
            if max(self._unsaved, unseen) > _LEFT_SHARE * len(self._view.ids):
                self._save()
            self._rows_file.close()

    def _is_first(self, use: str) -> bool:
        """Say whether this is the first ``use``: for one alone, as of a command, nothing is made that others need."""
        first = use not in self._used
        self._used.add(use)
        return first

    def _build(self) -> None:
        """Build FAISS once, even if several searches wait for it."""
        with self._lock:
            if self._view.scanner is None and len(self._view.ids) > _DIRECT_ROWS:
                self._view = self._with_scanner(self._view)

    def _store_sums(self, view: _View, sums: DocumentSums) -> None:
        """Store the sums of a view, unless it is being changed; then the next search computes them again."""
        if self._lock.acquire(blocking=False):
            try:
                if self._view is view:
                    self._view = replace(view, sums=sums)
            finally:
                self._lock.release()

    def _rows(self, entries: Sequence[IndexEntry | VectorEntry]) -> Float16:
        return np.array([entry.vector for entry in entries], np.float16).reshape(len(entries), self._dimension)

    def _overwritten(self, view: _View, entries: Sequence[VectorEntry]) -> tuple[_View, list[VectorEntry], int]:
        """Overwrite the rows of ``entries``, one entry per chunk.

        Return the new view, the entries whose chunk has no living row, and the number of rows changed.
        """
        if not entries:
            return view, [], 0
        rows, found = _rows_of(view, np.array([entry.chunk_id for entry in entries], np.int64))
        vectors, exact = self._rows(entries), np.array([entry.exact for entry in entries])
        missing = [entry for entry, held in zip(entries, found.tolist(), strict=True) if not held]
        rows, vectors, exact = rows[found], vectors[found], exact[found]
        other = (view.matrix[rows] != vectors).any(axis=1)
        changed = int(np.count_nonzero(other | (view.exact[rows] != exact)))
        unscanned = view.unscanned.copy()
        unscanned[rows[other]] = True
        matrix = self._rows_file.overwritten(view.matrix, rows[other], vectors[other]) if other.any() else view.matrix
        flags = view.exact.copy()  # readers of the old view may have rows from another file
        flags[rows] = exact
        return replace(view, matrix=matrix, exact=flags, unscanned=unscanned), missing, changed

    def _appended(self, view: _View, entries: Sequence[IndexEntry | VectorEntry]) -> _View:
        count, fresh = len(view.ids), np.array([entry.chunk_id for entry in entries], np.int64)
        ids, every = extended(view.ids, fresh), np.ones(len(entries), np.bool_)
        last = view.ids[view.order[-1:]]
        if (np.diff(np.concatenate([last, fresh])) >= 0).all():  # usually true, since chunk ids only grow
            order = extended(view.order, np.arange(count, len(ids)))
        else:
            order = np.argsort(ids, kind="stable")
        return replace(
            view,
            ids=ids,
            documents=extended(view.documents, np.array([entry.document_id for entry in entries], np.int64)),
            matrix=self._rows_file.extended(view.matrix, self._rows(entries)),
            exact=extended(view.exact, np.array([entry.exact for entry in entries])),
            alive=extended(view.alive, every),
            unscanned=extended(view.unscanned, every),
            order=order,
        )

    def _compacted(self, view: _View) -> _View:
        """Return the view without dead rows, and with FAISS rebuilt, if either is worth it."""
        alive, scanner = view.alive, view.scanner
        if len(alive) - int(np.count_nonzero(alive)) > max(_DIRECT_ROWS, _DEAD_SHARE * len(alive)):
            rows = np.flatnonzero(alive)
            matrix = self._rows_file.copy_rows(view.matrix, rows)
            kept = Snapshot(view.ids[rows], view.documents[rows], matrix, view.exact[rows], view.position)
            view = replace(_living(kept), sums=view.sums)
        share = _TRAINED_TAIL_SHARE if len(view.ids) > self._exact_max else _TAIL_SHARE
        beside = int(np.count_nonzero(view.unscanned))
        if scanner is not None and len(view.ids) > _DIRECT_ROWS and beside > max(_TAIL_ROWS, share * view.scanned):
            view = self._with_scanner(view)
        return view

    def _with_scanner(self, view: _View) -> _View:
        scanner, rows = self._scanner(view.matrix, self._exact_max), len(view.ids)
        return replace(view, scanner=scanner, scanned=rows, unscanned=np.zeros(rows, np.bool_))

    def _scanner(self, matrix: Any, exact_max: int) -> Any:
        """Return a FAISS index over all rows: a flat 8-bit scan, or an inverted file for many rows."""
        faiss = _faiss()
        eight_bit, inner = faiss.ScalarQuantizer.QT_8bit_direct_signed, faiss.METRIC_INNER_PRODUCT
        scale = _EIGHT_BIT / max(*map(largest, blocks(matrix)), 1e-6)
        if len(matrix) > exact_max:
            lists = max(1, int(_NLIST_PER_ROOT * len(matrix) ** 0.5))
            quantizer = faiss.IndexFlatIP(self._dimension)
            scanner = faiss.IndexIVFScalarQuantizer(quantizer, self._dimension, lists, eight_bit, inner, False)
            quantizer.this.disown()
            scanner.own_fields = True
            scanner.cp.niter, scanner.cp.min_points_per_centroid = 5, 1
            scanner.train(_eight_bit(float32(matrix[:: max(1, len(matrix) // _TRAINED_ROWS)]), scale))
        else:
            scanner = faiss.IndexScalarQuantizer(self._dimension, eight_bit, inner)
        for block in blocks(matrix):
            scanner.add(_eight_bit(float32(block), scale))
        return scanner

    def _save(self) -> None:
        view = self._view
        rows = Snapshot(view.ids, view.documents, view.matrix, view.exact, view.position)
        if self._snapshots.save(rows, np.flatnonzero(view.alive)):
            self._unsaved, self._saved_position = 0, view.position
        self._rows_file.rest()


def _living(rows: Snapshot) -> _View:
    """Return a view of living rows without a scanner."""
    every = np.ones(len(rows.ids), np.bool_)
    order = np.argsort(rows.ids, kind="stable")
    return _View(
        rows.ids,
        rows.documents,
        rows.matrix,
        rows.exact,
        every,
        every,
        order,
        scanner=None,
        scanned=0,
        position=rows.position,
    )


def _faiss() -> Any:
    """Return FAISS, set to scan in the calling thread: starting other threads takes longer than a scan."""
    import faiss

    faiss.omp_set_num_threads(1)
    return faiss


def _eight_bit(rows: Float32, scale: float) -> Float32:
    scaled: Float32 = rows * scale
    np.rint(scaled, out=scaled)
    return np.clip(scaled, -_EIGHT_BIT, _EIGHT_BIT, out=scaled)


def _members(values: Int64, sorted_set: Int64) -> Any:
    """Return bool (n,): which of ``values`` are in ``sorted_set``."""
    if not len(sorted_set):
        return np.zeros(len(values), np.bool_)
    places = np.minimum(np.searchsorted(sorted_set, values), len(sorted_set) - 1)
    return sorted_set[places] == values


def _rows_of(view: _View, chunk_ids: Int64) -> tuple[Int64, Any]:
    """Return the row of each chunk, the latest if it was applied twice, and whether that row exists and is living."""
    if not len(view.ids):
        return np.zeros(len(chunk_ids), np.int64), np.zeros(len(chunk_ids), np.bool_)
    places = np.searchsorted(view.ids, chunk_ids, side="right", sorter=view.order) - 1
    rows = view.order[np.maximum(places, 0)]
    return rows, (places >= 0) & (view.ids[rows] == chunk_ids) & view.alive[rows]


def _scan(scanner: Any, query: Float32, limit: int, allowed: Any, share: float) -> Int64:
    faiss = _faiss()
    selector = faiss.IDSelectorBitmap(np.packbits(allowed, bitorder="little"))
    if hasattr(scanner, "nlist"):
        # A stricter filter needs more lists to see the same number of rows.
        probed = max(1, int(share * scanner.nlist))
        lists = min(scanner.nlist, probed * len(allowed) // max(1, int(np.count_nonzero(allowed))))
        parameters = faiss.SearchParametersIVF(sel=selector, nprobe=lists)
    else:
        parameters = faiss.SearchParameters(sel=selector)
    scaled = _eight_bit(query.reshape(1, -1), _EIGHT_BIT / max(float(np.abs(query).max()), 1e-6))
    _, rows = scanner.search(scaled, limit, params=parameters)
    found: Int64 = rows[0][rows[0] >= 0]
    return found


def _ranked(view: _View, rows: Int64, query: Float32, limit: int) -> Ranking:
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
