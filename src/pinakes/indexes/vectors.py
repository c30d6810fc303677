"""Vectors in memory: an exact 8-bit scan by FAISS, re-scored with the float16 originals.

New rows are appended; a removed row is marked dead until the next rebuild; a row whose chunk gets another vector
is written over in place. FAISS holds the first ``scanned`` rows as they were when it was built; those behind them
and those written over since are compared directly. A reader works on a view that nothing but such writing over
changes, so searches never wait for changes. What is on disk is a snapshot: losing it costs a re-read of the catalogue.
"""

from __future__ import annotations

import copy
import json
import logging
import shutil
import threading
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from filelock import FileLock

from pinakes.indexes.half import Float16, float32, largest
from pinakes.indexes.room import extended
from pinakes.indexes.sums import Sums
from pinakes.types import Bool, Float32, IndexEntry, Int64, Ranking, VectorEntry

_log = logging.getLogger(__name__)

_DIRECT_ROWS = 2048
"""So many rows are compared without FAISS: a scan of them takes less than a millisecond."""

_TAIL_ROWS = 512
_TAIL_SHARE = 0.02
_TRAINED_TAIL_SHARE = 0.05
"""So many rows, and this share of those FAISS holds, are compared beside it before it is built anew. An inverted file
takes seconds for that, a flat scan milliseconds."""

_DEAD_SHARE = 0.2
_EIGHT_BIT = 127
_TRAINED_ROWS = 50_000
_ADDED_ROWS = 8192
_RESCORED = 2
_NLIST_PER_ROOT = 4
_SAVE_AFTER_ROWS = 1000
_LEFT_SHARE = 0.01
_SNAPSHOT_TIMEOUT_S = 30
_PARTS = ("ids", "documents", "matrix", "exact")
_FORMAT = 2
"""Of a snapshot. 1, not told in the file, did not say which vectors are exact."""

_UNFINISHED = "unfinished"


@dataclass(frozen=True)
class _View:
    """What a search sees. Arrays are of the same length n; ``order`` sorts ``ids``.

    ``unscanned`` marks the rows that ``scanner`` does not hold as they are now. ``sums`` is None until a search asks.
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
    sums: Sums | None = None

    @cached_property
    def all_exact(self) -> bool:
        """Whether every living row is exact."""
        return bool((self.exact | ~self.alive).all())


_Snapshot: TypeAlias = tuple[Int64, Int64, Float16, Bool, int]
"""Chunk ids, document ids, vectors, which of these are exact, and the position."""


class _OutdatedError(ValueError):
    """A snapshot from before the collection got its model, of another one, or of an older format: as it should be."""


class VectorIndex:
    """Cosine ranking over the vectors of one collection generation."""

    def __init__(
        self, folder: Path, dimension: int, label: str, exact_max_vectors: int, approximate_share: float
    ) -> None:
        """Open the newest snapshot in ``folder``; one of vectors with another ``label`` is not used."""
        self._folder = folder
        self._dimension = dimension
        self._label = label
        self._exact_max = exact_max_vectors
        self._share = approximate_share
        self._lock = threading.Lock()
        self._summing = threading.Lock()
        self._disk = FileLock(f"{folder}.lock", timeout=_SNAPSHOT_TIMEOUT_S)
        self._unsaved = 0
        self._view = self._load()
        self._saved_position = self._view.position

    def position(self) -> int:
        """Return the change number up to which changes are applied."""
        return self._view.position

    def apply(
        self, removed: Sequence[int], added: Sequence[IndexEntry], position: int, vectors: Sequence[VectorEntry] = ()
    ) -> None:
        """Drop the rows of ``removed`` documents, append those of ``added`` that have vectors, then set ``vectors``.

        A vector for a living row is written over it: a search that reads the row at that very moment may score a mix
        of both. The others are appended; those of documents that are also in ``removed`` or ``added`` are ignored.
        """
        with self._lock:
            view = self._view
            if position <= view.position:
                return
            replaced = {*removed, *(entry.document_id for entry in added)}
            given = {entry.chunk_id: entry for entry in vectors if entry.document_id not in replaced}
            touched = replaced | {entry.document_id for entry in given.values()}
            view, missing, written = self._overwritten(view, list(given.values()))
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
            self._view = self._arranged(replace(view, position=position))
            self._unsaved += len(fresh) + len(removed) + written
            if self._unsaved >= max(_SAVE_AFTER_ROWS, len(self._view.ids) // 2):
                self._save()

    def search(self, query: Float32, limit: int, documents: Int64 | None, among: Int64 | None) -> Ranking:
        """Rank the ``limit`` best chunks by cosine, of these documents or among these chunks only."""
        view = self._view
        if among is not None:
            rows, found = _rows_of(view, among)
            return _ranked(view, rows[found], query, limit)
        allowed = view.alive if documents is None else view.alive & _members(view.documents, documents)
        total = int(np.count_nonzero(allowed))
        if total <= _DIRECT_ROWS or view.scanner is None:
            return _ranked(view, np.flatnonzero(allowed), query, limit)
        held = (allowed & ~view.unscanned)[: view.scanned]
        scanned = _scan(view.scanner, query, min(limit * _RESCORED, total), held, self._share)
        rows = np.concatenate([scanned, np.flatnonzero(allowed & view.unscanned)])
        return _ranked(view, rows, query, limit)

    def under(self, exact_max_vectors: int, approximate_share: float) -> VectorIndex:
        """Return the same vectors, scanned by other settings; what they need is built in memory."""
        view, rows = self._view, len(self._view.ids)
        if view.scanner is not None and (rows > exact_max_vectors) != hasattr(view.scanner, "nlist"):
            scanner = self._scanner(view.matrix, exact_max_vectors)
            view = replace(view, scanner=scanner, scanned=rows, unscanned=np.zeros(rows, np.bool_))
        other = copy.copy(self)
        vars(other).update(_exact_max=exact_max_vectors, _share=approximate_share, _view=view)
        return other

    def get(self, chunk_ids: Int64) -> Float32:
        """Return float32 (n, dim), NaN where a chunk has no vector."""
        view = self._view
        vectors = np.full((len(chunk_ids), self._dimension), np.nan, np.float32)
        rows, found = _rows_of(view, chunk_ids)
        vectors[found] = float32(view.matrix[rows[found]])
        return vectors

    def sums(self, document_ids: Int64) -> Float32:
        """Return float32 (n, dim): the sum of each document's vectors, NaN where it has none."""
        if (sums := self._view.sums) is None:
            with self._summing:  # once, however many searches wait for it
                view = self._view
                if (sums := view.sums) is None:
                    sums = Sums.of(view.ids, view.documents, view.matrix, np.flatnonzero(view.alive))
                    self._keep(view, sums)
        return sums.get(document_ids)

    def chunk_ids(self) -> Int64:
        """Return the sorted ids of all chunks that have a vector."""
        return np.sort(self._view.ids[self._view.alive])

    def exact_ids(self) -> Int64:
        """Return the sorted ids of all chunks whose vector is exact."""
        view = self._view
        return np.sort(view.ids[view.alive & view.exact])

    def describe(self) -> dict[str, str | int]:
        """Say how many vectors there are and how they are searched."""
        view = self._view
        count = int(np.count_nonzero(view.alive))
        method = "approximate (IVF, 8 bit)" if view.scanned > self._exact_max else "exact (8 bit, re-scored)"
        about: dict[str, str | int] = {"vectors": count}
        if not view.all_exact:
            about["exact_vectors"] = int(np.count_nonzero(view.alive & view.exact))
        return {**about, "vector_search": method, "vector_bytes": view.matrix.nbytes}

    def close(self) -> None:
        """Save what is unsaved, unless it is so little that reading it from the catalogue again is less work."""
        with self._lock:
            unseen = self._view.position - self._saved_position
            if max(self._unsaved, unseen) > _LEFT_SHARE * len(self._view.ids):
                self._save()

    def _keep(self, view: _View, sums: Sums) -> None:
        """Keep the sums of a view, unless it is being changed: that is not waited for, the next search makes others."""
        if self._lock.acquire(blocking=False):
            try:
                if self._view is view:
                    self._view = replace(view, sums=sums)
            finally:
                self._lock.release()

    def _rows(self, entries: Sequence[IndexEntry | VectorEntry]) -> Float16:
        return np.array([entry.vector for entry in entries], np.float16).reshape(len(entries), self._dimension)

    def _overwritten(self, view: _View, entries: Sequence[VectorEntry]) -> tuple[_View, list[VectorEntry], int]:
        """Write ``entries``, one per chunk, over their rows.

        Return also those whose chunk has no living row, and how many rows are not as they were.
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
        view.matrix[rows[other]] = vectors[other]
        view.exact[rows] = exact
        return replace(view, unscanned=unscanned), missing, changed

    def _appended(self, view: _View, entries: Sequence[IndexEntry | VectorEntry]) -> _View:
        count, fresh = len(view.ids), np.array([entry.chunk_id for entry in entries], np.int64)
        ids, every = extended(view.ids, fresh), np.ones(len(entries), np.bool_)
        last = view.ids[view.order[-1:]]
        if (np.diff(np.concatenate([last, fresh])) >= 0).all():  # as a rule: numbers of passages only grow
            order = extended(view.order, np.arange(count, len(ids)))
        else:
            order = np.argsort(ids, kind="stable")
        return replace(
            view,
            ids=ids,
            documents=extended(view.documents, np.array([entry.document_id for entry in entries], np.int64)),
            matrix=extended(view.matrix, self._rows(entries)),
            exact=extended(view.exact, np.array([entry.exact for entry in entries])),
            alive=extended(view.alive, every),
            unscanned=extended(view.unscanned, every),
            order=order,
        )

    def _arranged(self, view: _View) -> _View:
        """Return the view without its dead rows and with FAISS built anew, where either has become worth it."""
        alive = view.alive
        if len(alive) - int(np.count_nonzero(alive)) > max(_DIRECT_ROWS, _DEAD_SHARE * len(alive)):
            parts = (view.ids[alive], view.documents[alive], view.matrix[alive], view.exact[alive])
            view = replace(_living(*parts, view.position), sums=view.sums)
        share = _TRAINED_TAIL_SHARE if len(view.ids) > self._exact_max else _TAIL_SHARE
        beside = int(np.count_nonzero(view.unscanned))
        if len(view.ids) > _DIRECT_ROWS and beside > max(_TAIL_ROWS, share * view.scanned):
            scanned, unscanned = len(view.ids), np.zeros(len(view.ids), np.bool_)
            scanner = self._scanner(view.matrix, self._exact_max)
            view = replace(view, scanner=scanner, scanned=scanned, unscanned=unscanned)
        return view

    def _scanner(self, matrix: Any, exact_max: int) -> Any:
        """Return a FAISS index over all rows: a flat 8-bit scan, or an inverted file when there are many."""
        faiss = _faiss()
        eight_bit, inner = faiss.ScalarQuantizer.QT_8bit_direct_signed, faiss.METRIC_INNER_PRODUCT
        scale = _EIGHT_BIT / max(largest(matrix), 1e-6)
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
        for start in range(0, len(matrix), _ADDED_ROWS):
            scanner.add(_eight_bit(float32(matrix[start : start + _ADDED_ROWS]), scale))
        return scanner

    def _load(self) -> _View:
        return self._arranged(_living(*self._newest()))

    def _newest(self) -> _Snapshot:
        """Return the newest snapshot that is whole, or an empty one; those that are not whole are removed."""
        try:
            with self._disk:
                for folder in self._snapshots():
                    try:
                        return _read_snapshot(folder, self._dimension, self._label)
                    except (OSError, ValueError, KeyError, TypeError, EOFError) as error:
                        level = logging.INFO if isinstance(error, _OutdatedError) else logging.WARNING
                        _log.log(level, "vector snapshot %s is unusable: %s", folder, error)
                        shutil.rmtree(folder, ignore_errors=True)
        except OSError as error:
            _log.warning("vector snapshots in %s cannot be read: %s", self._folder, error)
        nothing = np.empty(0, np.int64)
        return nothing, nothing, np.empty((0, self._dimension), np.float16), np.empty(0, np.bool_), 0

    def _snapshots(self) -> list[Path]:
        """Return the folders of the snapshots, newest first."""
        folders = [path for path in self._folder.glob("*") if path.name.isdigit()]
        return sorted(folders, key=lambda path: -int(path.name))

    def _save(self) -> None:
        """Write a snapshot beside the old ones, then drop those. Failing costs time at the next start only."""
        view = self._view
        if not self._folder.parent.is_dir():
            return  # another process has built the index anew elsewhere
        try:
            with self._disk:
                old = self._snapshots()
                if not old or int(old[0].name) < view.position:
                    temporary = self._folder / _UNFINISHED
                    shutil.rmtree(temporary, ignore_errors=True)
                    temporary.mkdir(parents=True)
                    _write_snapshot(temporary, view, self._label)
                    temporary.rename(self._folder / str(view.position))
                    for folder in old:
                        shutil.rmtree(folder, ignore_errors=True)
            self._unsaved, self._saved_position = 0, view.position
        except OSError as error:
            _log.warning("the vector snapshot could not be saved: %s", error)


def _write_snapshot(folder: Path, view: _View, label: str) -> None:
    parts = [part[view.alive] for part in (view.ids, view.documents, view.matrix, view.exact)]
    for name, part in zip(_PARTS, parts, strict=True):
        np.save(folder / f"{name}.npy", part)
    about = {"format": _FORMAT, "position": view.position, "label": label, "checksum": _checksum(parts)}
    (folder / "about.json").write_text(json.dumps(about), "utf-8")


def _read_snapshot(folder: Path, dimension: int, label: str) -> _Snapshot:
    """Return what a snapshot holds.

    Raises:
        OSError, ValueError, KeyError, TypeError, EOFError: it is not whole, or of other vectors.
    """
    about = json.loads((folder / "about.json").read_text("utf-8"))
    if about["label"] != label:
        raise _OutdatedError(f"its vectors are those of {about['label']!r}, not of {label!r}")
    if about.get("format", 1) != _FORMAT:
        raise _OutdatedError(f"it is of format {about.get('format', 1)}, not {_FORMAT}")
    ids, documents, matrix, exact = parts = [np.load(folder / f"{name}.npy", allow_pickle=False) for name in _PARTS]
    if _checksum(parts) != about["checksum"]:
        raise ValueError("the checksum differs")
    if not len(ids):
        matrix = np.empty((0, dimension), np.float16)
    if matrix.shape != (len(ids), dimension):
        raise ValueError(f"its vectors are of another length than {dimension}")
    return ids, documents, matrix, exact, int(about["position"])


def _living(ids: Int64, documents: Int64, matrix: Float16, exact: Bool, position: int) -> _View:
    """Return a view of living rows that has no scanner yet."""
    every = np.ones(len(ids), np.bool_)
    order = np.argsort(ids, kind="stable")
    return _View(ids, documents, matrix, exact, every, every, order, None, 0, position)


def _faiss() -> Any:
    """Return FAISS, told to scan in the calling thread: waking others costs more than a scan takes."""
    import faiss

    faiss.omp_set_num_threads(1)
    return faiss


def _eight_bit(rows: Float32, scale: float) -> Float32:
    scaled: Float32 = np.clip(np.rint(rows * scale), -_EIGHT_BIT, _EIGHT_BIT)
    return scaled


def _checksum(parts: Sequence[Any]) -> int:
    value = 0
    for part in parts:
        value = zlib.crc32(np.ascontiguousarray(part).view(np.uint8).data, value)
    return value


def _members(values: Int64, sorted_set: Int64) -> Any:
    """Return for each of ``values`` whether it is in ``sorted_set``."""
    if not len(sorted_set):
        return np.zeros(len(values), np.bool_)
    places = np.minimum(np.searchsorted(sorted_set, values), len(sorted_set) - 1)
    return sorted_set[places] == values


def _rows_of(view: _View, chunk_ids: Int64) -> tuple[Int64, Any]:
    """Return a row for each chunk, the newest of a chunk applied twice, and whether it is there and living."""
    if not len(view.ids):
        return np.zeros(len(chunk_ids), np.int64), np.zeros(len(chunk_ids), np.bool_)
    places = np.searchsorted(view.ids, chunk_ids, side="right", sorter=view.order) - 1
    rows = view.order[np.maximum(places, 0)]
    return rows, (places >= 0) & (view.ids[rows] == chunk_ids) & view.alive[rows]


def _scan(scanner: Any, query: Float32, limit: int, allowed: Any, share: float) -> Int64:
    faiss = _faiss()
    selector = faiss.IDSelectorBitmap(np.packbits(allowed, bitorder="little"))
    if hasattr(scanner, "nlist"):
        # The fewer rows a filter leaves, the more lists it takes to see as many.
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
    """Score ``rows`` with the float16 vectors and keep the best; ties go to the older chunk."""
    exact = None if view.all_exact else view.exact[rows]  # read before the vectors, which are written first
    if not len(rows):
        return Ranking(rows, rows, np.empty(0, np.float32), exact)
    # Row by row: a product of the whole lets the BLAS wake threads, which takes it 8 ms at times, not 0.1.
    scores = np.vecdot(float32(view.matrix[rows]), query)
    kept = np.arange(len(rows))
    if len(rows) > limit:
        kept = np.flatnonzero(scores >= np.partition(scores, -limit)[-limit])
    ids = view.ids[rows]
    best = kept[np.lexsort((ids[kept], -scores[kept]))[:limit]]
    exact = None if exact is None else exact[best]
    return Ranking(ids[best], view.documents[rows][best], scores[best].astype(np.float32), exact)
