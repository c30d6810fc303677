"""The vector index: an 8-bit scan by FAISS, re-scored with float16 vectors in mapped files.

New rows are appended; a removed row is marked dead until the next rebuild; a row whose chunk gets another vector
is written over. FAISS holds the first ``scanned`` rows as they were when it was built; those behind them and those
written over since are compared directly. A reader works on a view that nothing but such writing over changes, so
searches do not wait for changes. What is on disk is a snapshot.

Up to ``exact_max_vectors`` the scan is exact and in memory: the first search compares all rows directly, since a
command asks only once; FAISS is built for the second, so that who only writes has no use of memory for it. Above, FAISS
is an inverted file, kept on disk with the snapshot and mapped. It is rebuilt, with the snapshot, when many rows have
changed, and when who wrote them closes the index: behind the searches, where that takes long.
"""

from __future__ import annotations

import copy
import logging
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np

from pinakes.core.errors import PinakesError
from pinakes.core.records import Bool, Float32, IndexEntry, Int64, Ranking, VectorEntry
from pinakes.indexes.vector import scanners
from pinakes.indexes.vector.mapped_rows import MappedRows, VectorRows
from pinakes.indexes.vector.saved_vectors import Snapshot, Snapshots
from pinakes.indexes.vector.scanners import Scanner
from pinakes.indexes.vector.vector_arrays import Float16, extended, float32
from pinakes.indexes.vector.vector_view import DocumentSums, View, living, members, ranked, rebased, rows_of

_DIRECT_ROWS = 2048
"""Rows compared without FAISS: this takes less than a millisecond."""

_TAIL_ROWS = 512
_TAIL_SHARE = 0.02
_TRAINED_TAIL_SHARE = 0.05
"""Rows, and the share of FAISS's rows, that are compared directly before FAISS is rebuilt. Rebuilding takes seconds for
an inverted file, milliseconds for a flat scan."""

_WAITED_FOR_ROWS = 50_000
"""Up to so many rows a search waits until an inverted file is built, which takes less than a second."""

_log = logging.getLogger(__name__)

_RETRY_S = 60.0
_DEAD_SHARE = 0.2
_REST_AFTER_ROWS = 6_000
"""Rows read before their memory is released: the system maps 16 pages around each, which counts as ours."""

_SAVE_AFTER_ROWS = 1000
_LEFT_SHARE = 0.01
_CLOSING_S = 15.0
"""Seconds that a closing index is rebuilt for; what takes longer is left to the next who opens it."""


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
        self._rebuilding = threading.Lock()
        self._overwritten_since: list[Int64] | None = None
        self._closing = threading.Event()
        self._rebuilder: threading.Thread | None = None
        self._retry_at = 0.0
        self._rows_read = 0
        rows = self._snapshots.newest()
        scanner = self._snapshots.scanner(rows) if self._is_many(len(rows.ids)) else None
        self._scanned_from = None if scanner is None else rows.folder
        self._view = living(rows, scanner)
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
            if view.sums is not None and self._is_many(len(view.ids)):
                view = replace(view, sums=None)
            elif touched and view.sums is not None:
                sums = view.sums.updated(owners, view.ids, view.documents, view.matrix, view.alive, first)
                view = replace(view, sums=sums)
            self._view = self._compacted(replace(view, position=position))
            if fresh:
                self._used.add("write")
            self._unsaved += len(fresh) + len(removed) + written
            if self._unsaved >= max(_SAVE_AFTER_ROWS, len(self._view.ids) // 2):
                self._save()
        if self._is_worn(self._view):
            self._renew(self._is_worn)

    def search(self, query: Float32, limit: int, documents: Int64 | None, among: Int64 | None) -> Ranking:
        """Return the ``limit`` best chunks by cosine, restricted to ``documents`` or to the chunks ``among``."""
        view = self._view
        if among is not None:
            rows, found = rows_of(view, among)
            return ranked(view, rows[found], query, limit)
        allowed = view.alive if documents is None else view.alive & members(view.documents, documents)
        total = int(np.count_nonzero(allowed))
        if total <= _DIRECT_ROWS:
            return ranked(view, np.flatnonzero(allowed), query, limit)
        if view.scanner is None:
            first, many = self._is_first("search"), self._is_many(view.living)
            if many and view.living > _WAITED_FOR_ROWS:
                self._renew(_has_no_scanner)
            if (many and view.living > _WAITED_FOR_ROWS) or (first and not many):
                return ranked(view, np.flatnonzero(allowed), query, limit)
            self._build()
            return self.search(query, limit, documents, among)
        held = (allowed & ~view.unscanned)[: view.scanned]
        scanned = view.scanner.scan(query, min(limit, total), held, self._share)
        rows = np.concatenate([scanned, np.flatnonzero(allowed & view.unscanned)])
        self._rest_after(view, len(rows))
        return ranked(view, rows, query, limit)

    def with_settings(self, exact_max_vectors: int, approximate_share: float) -> VectorIndex:
        """Return the same vectors with other scan settings; what these need is built in memory."""
        if len(self._view.ids) > _DIRECT_ROWS:
            self._build()
        view, rows = self._view, len(self._view.ids)
        if view.scanner is not None and (rows > exact_max_vectors) != view.scanner.is_approximate:
            scanner = self._scanner(view.matrix, exact_max_vectors)
            view = replace(view, scanner=scanner, scanned=rows, unscanned=np.zeros(rows, np.bool_))
        other = copy.copy(self)
        vars(other).update(_exact_max=exact_max_vectors, _share=approximate_share, _view=view)
        return other

    def get(self, chunk_ids: Int64) -> tuple[Float32, Bool | None]:
        """Return float32 (n, dim), NaN for chunks without a vector; and bool (n,), true if exact, None if all are."""
        view = self._view
        rows, found = rows_of(view, chunk_ids)
        self._rest_after(view, len(rows))
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
        if self._is_many(len(view.ids)):  # those of all would be read from the disk for this, and take long
            rows = view.rows_of_documents(np.unique(document_ids))
            self._rest_after(view, len(document_ids))  # those of a document are next to each other
            return DocumentSums.from_rows(view.ids, view.documents, view.matrix, rows).get(document_ids)
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
        count = view.living
        method = "exact (8 bit, re-scored)"
        if view.scanner is None and self._is_many(count):
            method = "approximate (IVF of 1 bit), not built yet: all are compared"
        elif view.scanner is not None and view.scanner.is_approximate:
            method = f"approximate (IVF of 1 bit, {self._share or view.scanner.share:.1%} read, re-scored)"
        about: dict[str, str | int] = {"vectors": count}
        if not view.all_exact:
            about["exact_vectors"] = int(np.count_nonzero(view.alive & view.exact))
        return {**about, "vector_search": method, "vector_bytes": view.matrix.nbytes}

    def damaged(self) -> list[tuple[str, str]]:
        """Return the damaged files of the approximate index in use, as (name, problem); vectors are compared anyway."""
        folder = self._scanned_from
        if folder is None or not folder.is_dir():  # a newer one took its place; what is mapped stays
            return []
        problem = scanners.problem(folder)
        return [(scanners.CODES, problem)] if problem else []

    def close(self) -> None:
        """Save unsaved rows, unless they are so few that reading the changes again is cheaper.

        An approximate index is rebuilt if that is done in seconds; else, or if it was being built, it is left to who
        opens it next.
        """
        self._closing.set()
        given_up = (rebuilder := self._rebuilder) is not None and rebuilder.is_alive()
        if rebuilder is not None:
            rebuilder.join()
        view = self._view
        changed = max(self._unsaved, view.position - self._saved_position) > _LEFT_SHARE * len(view.ids)
        if not given_up and self._is_many(view.living) and (changed or (view.scanner is None and self._used)):
            until = time.monotonic() + _CLOSING_S
            with suppress(_ClosingError):
                self._rebuild(lambda _: True, lambda: _check_before(until))
        with self._lock:
            if changed and self._saved_position < view.position:
                self._save()
            self._rows_file.close()

    def _is_first(self, use: str) -> bool:
        """Say whether this is the first ``use``: for one alone, as of a command, nothing is made that others need."""
        first = use not in self._used
        self._used.add(use)
        return first

    def _rest_after(self, view: View, rows: int) -> None:
        """Release the memory of mapped rows now and then; ``rows``: how many are read now."""
        self._rows_read += rows
        if self._rows_read > _REST_AFTER_ROWS:
            self._rows_read = 0
            view.matrix.rest()

    def _build(self) -> None:
        """Build FAISS once, even if several searches wait for it."""
        if self._is_many(self._view.living):
            self._rebuild(_has_no_scanner)
        with self._lock:
            if self._view.scanner is None and len(self._view.ids) > _DIRECT_ROWS:
                self._view = self._with_scanner(self._view)

    def _is_many(self, rows: int) -> bool:
        """Say whether the index of so many rows is approximate."""
        return rows > max(self._exact_max, _DIRECT_ROWS)

    def _is_worn(self, view: View) -> bool:
        """Say whether an approximate index has so many changed or dead rows that it should be rebuilt."""
        if view.scanner is None or not self._is_many(view.living):
            return False
        beside, dead = int(np.count_nonzero(view.unscanned)), len(view.ids) - view.living
        return beside > max(_TAIL_ROWS, _TRAINED_TAIL_SHARE * view.scanned) or _is_too_many(dead, view)

    def _renew(self, needed: Callable[[View], bool]) -> None:
        """Rebuild the approximate index where ``needed``, in a thread if that takes long."""
        if self._view.living <= _WAITED_FOR_ROWS:
            self._rebuild(needed)
        elif not self._closing.is_set() and time.monotonic() >= self._retry_at:
            with self._lock:
                if self._rebuilder is None or not self._rebuilder.is_alive():
                    self._rebuilder = threading.Thread(
                        target=self._rebuild_behind, args=(needed,), name="pinakes-vectors", daemon=True
                    )
                    self._rebuilder.start()

    def _rebuild_behind(self, needed: Callable[[View], bool]) -> None:
        try:
            self._rebuild(needed, self._check_closing)
        except _ClosingError:
            pass
        except (PinakesError, OSError, MemoryError, RuntimeError):  # searches go on as before
            self._retry_at = time.monotonic() + _RETRY_S
            _log.exception("the approximate index of vectors could not be built")

    def _check_closing(self) -> None:
        if self._closing.is_set():
            raise _ClosingError

    def _rebuild(self, needed: Callable[[View], bool], check: scanners.Check = lambda: None) -> None:
        """Save the living rows with an inverted file, and go on with both mapped, where ``needed`` by the view.

        Searches and changes go on meanwhile. Where they cannot be saved, the inverted file is built in memory.
        """
        with self._rebuilding:
            with self._lock:
                view = self._view
                if not needed(view) or not self._is_many(view.living):
                    return
                self._overwritten_since = []
            try:
                rows = np.flatnonzero(view.alive)
                fresh = self._snapshots.saved(view.snapshot(), rows)
                matrix, kept = (view.matrix, np.arange(len(view.ids))) if fresh is None else (fresh.matrix, rows)
                scanner = self._renewed(view, matrix, kept, check)
                check()
                scanner = scanner if fresh is None else self._snapshots.keep_scanner(fresh, scanner)
                with self._lock:
                    since = np.concatenate([np.empty(0, np.int64), *self._overwritten_since])
                    self._go_on(view, fresh, scanner, rows, since)
            finally:
                with self._lock:  # a change may be about to add to it
                    self._overwritten_since = None

    def _renewed(self, view: View, matrix: VectorRows, rows: Int64, check: scanners.Check) -> Scanner:
        """Return a scanner of ``matrix``, whose rows are ``rows`` of ``view``, made from the old one if possible."""
        old = view.scanner
        if old is None or not old.is_approximate or old.is_outgrown:
            return self._scanner(matrix, self._exact_max, check)
        places = np.full(len(view.ids), -1)
        places[rows] = np.arange(len(rows))
        places[view.unscanned] = -1
        return scanners.followed(old, places[: view.scanned], matrix, check)

    def _go_on(self, before: View, fresh: Snapshot | None, scanner: Scanner, rows: Int64, since: Int64) -> None:
        """Use what was built of the view ``before``, of whose ``rows`` ``fresh`` is; ``since``: overwritten rows."""
        now = self._view
        if fresh is None:
            self._retry_at, self._scanned_from = time.monotonic() + _RETRY_S, None
            unscanned = np.ones(len(now.ids), np.bool_)
            unscanned[: len(before.ids)] = False
            unscanned[since] = True
            self._view = replace(now, scanner=scanner, scanned=len(before.ids), unscanned=unscanned)
            return
        self._rows_file.close()
        self._view = rebased(now, living(fresh, scanner), rows, len(before.ids), since, self._rows_file)
        self._unsaved = int(np.count_nonzero(self._view.unscanned))
        self._saved_position, self._scanned_from = fresh.position, fresh.folder if scanner.is_kept else None

    def _store_sums(self, view: View, sums: DocumentSums) -> None:
        """Store the sums of a view, unless it is being changed; then the next search computes them again."""
        if self._lock.acquire(blocking=False):
            try:
                if self._view is view:
                    self._view = replace(view, sums=sums)
            finally:
                self._lock.release()

    def _rows(self, entries: Sequence[IndexEntry | VectorEntry]) -> Float16:
        return np.array([entry.vector for entry in entries], np.float16).reshape(len(entries), self._dimension)

    def _overwritten(self, view: View, entries: Sequence[VectorEntry]) -> tuple[View, list[VectorEntry], int]:
        """Overwrite the rows of ``entries``, one entry per chunk.

        Return the new view, the entries whose chunk has no living row, and the number of rows changed.
        """
        if not entries:
            return view, [], 0
        rows, found = rows_of(view, np.array([entry.chunk_id for entry in entries], np.int64))
        vectors, exact = self._rows(entries), np.array([entry.exact for entry in entries])
        missing = [entry for entry, held in zip(entries, found.tolist(), strict=True) if not held]
        rows, vectors, exact = rows[found], vectors[found], exact[found]
        other = (view.matrix[rows] != vectors).any(axis=1)
        changed = int(np.count_nonzero(other | (view.exact[rows] != exact)))
        unscanned = view.unscanned.copy()
        unscanned[rows[other]] = True
        matrix = view.matrix
        if other.any():
            matrix = matrix.overwritten(self._rows_file, rows[other], vectors[other])
        if self._overwritten_since is not None:
            self._overwritten_since.append(rows[other])
        flags = view.exact.copy()  # readers of the old view may have rows from another file
        flags[rows] = exact
        return replace(view, matrix=matrix, exact=flags, unscanned=unscanned), missing, changed

    def _appended(self, view: View, entries: Sequence[IndexEntry | VectorEntry]) -> View:
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
            matrix=view.matrix.appended(self._rows_file, self._rows(entries)),
            exact=extended(view.exact, np.array([entry.exact for entry in entries])),
            alive=extended(view.alive, every),
            unscanned=extended(view.unscanned, every),
            order=order,
        )

    def _compacted(self, view: View) -> View:
        """Return the view without dead rows, and with FAISS rebuilt, if either is worth it and quick."""
        scanner = view.scanner
        if scanner is not None and self._is_many(view.living):
            return view  # ``_renew`` does both
        if _is_too_many(len(view.ids) - view.living, view):
            rows = np.flatnonzero(view.alive)
            matrix = VectorRows(view.matrix.base[:0], self._rows_file.copy_rows(view.matrix, rows))
            kept = Snapshot(view.ids[rows], view.documents[rows], matrix, view.exact[rows], view.position)
            view = replace(living(kept), sums=view.sums)
        if scanner is None or len(view.ids) <= _DIRECT_ROWS:
            return view
        beside = int(np.count_nonzero(view.unscanned))
        return self._with_scanner(view) if beside > max(_TAIL_ROWS, _TAIL_SHARE * view.scanned) else view

    def _with_scanner(self, view: View) -> View:
        scanner, rows = self._scanner(view.matrix, self._exact_max), len(view.ids)
        return replace(view, scanner=scanner, scanned=rows, unscanned=np.zeros(rows, np.bool_))

    def _scanner(self, matrix: VectorRows, exact_max: int, check: scanners.Check = lambda: None) -> Scanner:
        """Return a FAISS index over all rows: a flat 8-bit scan, or an inverted file for many rows."""
        return scanners.inverted_file(matrix, check) if len(matrix) > exact_max else scanners.flat(matrix)

    def _save(self) -> None:
        view = self._view
        if self._snapshots.save(view.snapshot(), np.flatnonzero(view.alive)):
            self._unsaved, self._saved_position = 0, view.position
        self._rows_file.rest()


class _ClosingError(Exception):
    """The index is closed while it is rebuilt."""


def _check_before(until: float) -> None:
    if time.monotonic() > until:
        raise _ClosingError


def _has_no_scanner(view: View) -> bool:
    return view.scanner is None


def _is_too_many(dead: int, view: View) -> bool:
    """Say whether so many dead rows are worth a copy of the others."""
    return dead > max(_DIRECT_ROWS, _DEAD_SHARE * len(view.ids))
