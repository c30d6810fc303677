"""Snapshots of the vectors in memory; if lost, the vectors are read from the catalogue again."""

from __future__ import annotations

import logging
import shutil
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np
from filelock import FileLock

from pinakes.core.errors import NO_DESCRIPTORS, no_descriptors
from pinakes.core.records import Bool, Int64
from pinakes.indexes.storage import checksums
from pinakes.indexes.vector import scanners
from pinakes.indexes.vector.mapped_rows import VectorRows, blocks
from pinakes.indexes.vector.scanners import Scanner
from pinakes.platform.permissions import make_private

_log = logging.getLogger(__name__)

_TIMEOUT_S = 30
_FORMAT = 2
"""The snapshot format. Format 1, which recorded no number, did not mark exact vectors."""

_UNUSABLE = (OSError, ValueError, KeyError, TypeError, EOFError, SyntaxError, TokenError, MemoryError, OverflowError)
"""Errors that reading a damaged snapshot may raise; numpy evaluates the header of a file."""

_DTYPES = (np.dtype(np.int64), np.dtype(np.int64), np.dtype(np.bool_), np.dtype(np.float16))

_UNFINISHED = "unfinished"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """n rows: chunk ids, document ids, vectors (float16 (n, dim)), and which of these are exact.

    ``position``: the last change included. A matrix that was read is memory-mapped from its file, in ``folder``, None
    if it was not read; ``crc`` is the checksum of all rows.
    """

    ids: Int64
    documents: Int64
    matrix: VectorRows
    exact: Bool
    position: int = 0
    folder: Path | None = None
    crc: int = 0


class _OutdatedError(ValueError):
    """A snapshot of another model or an older format, or from before the collection had a model: this is no damage."""


class Snapshots:
    """The snapshots of one index, one folder each, named by position."""

    def __init__(self, folder: Path, dimension: int, label: str) -> None:
        """Use ``folder``; snapshots of vectors with another ``label`` are ignored."""
        self._folder = folder
        self._dimension = dimension
        self._label = label
        self._lock = FileLock(f"{folder}.lock", timeout=_TIMEOUT_S)

    def newest(self) -> Snapshot:
        """Return the latest intact snapshot, or an empty one; remove damaged ones."""
        try:
            with self._lock:
                for folder in self._kept():
                    try:
                        return self._read(folder)
                    except _UNUSABLE as error:
                        if isinstance(error, OSError) and error.errno in NO_DESCRIPTORS:
                            raise no_descriptors() from error  # the snapshot may be intact
                        level = logging.INFO if isinstance(error, _OutdatedError) else logging.WARNING
                        _log.log(level, "vector snapshot %s is unusable: %s", folder, error)
                        shutil.rmtree(folder, ignore_errors=True)
        except OSError as error:
            _log.warning("vector snapshots in %s cannot be read: %s", self._folder, error)
        nothing = np.empty(0, np.int64)
        empty = VectorRows.of(np.empty((0, self._dimension), np.float16))
        return Snapshot(nothing, nothing, empty, np.empty(0, np.bool_))

    def save(self, rows: Snapshot, alive: Int64) -> bool:
        """Write the rows with indices ``alive`` as a new snapshot, then drop the old ones.

        Return whether it was saved. A failure only makes the next start slower.
        """
        if not self._folder.parent.is_dir():
            return False  # another process has rebuilt the index elsewhere
        try:
            with self._lock:
                old = self._kept()
                if not old or int(old[0].name) < rows.position:
                    temporary = self._folder / _UNFINISHED
                    shutil.rmtree(temporary, ignore_errors=True)
                    make_private(temporary)
                    self._write(temporary, rows, alive)
                    temporary.rename(self._folder / str(rows.position))
                    for folder in old:
                        shutil.rmtree(folder, ignore_errors=True)
            return True
        except OSError as error:
            _log.warning("the vector snapshot could not be saved: %s", error)
            return False

    def saved(self, rows: Snapshot, alive: Int64) -> Snapshot | None:
        """Save, as ``save``, and return what is on disk then, mapped; None if it is not the rows with these indices."""
        if not self.save(rows, alive):
            return None
        found = self.newest()
        same = found.position == rows.position and np.array_equal(found.ids, rows.ids[alive])
        return found if same else None

    def scanner(self, rows: Snapshot) -> Scanner | None:
        """Return the scanner that was kept for ``rows``, mapped; None if there is none. Remove a damaged one."""
        if rows.folder is None:
            return None
        try:
            return scanners.load(rows.folder, rows.crc, rows.matrix.shape)
        except FileNotFoundError:
            return None
        except _UNUSABLE as error:
            if isinstance(error, OSError) and error.errno in NO_DESCRIPTORS:
                raise no_descriptors() from error
            _log.warning("the scanner of vectors in %s is unusable, and built again: %s", rows.folder, error)
            scanners.remove(rows.folder)
            return None

    def keep_scanner(self, rows: Snapshot, scanner: Scanner) -> Scanner:
        """Write the scanner of ``rows``, and return it mapped; as it is, if that is not possible."""
        if rows.folder is not None:
            try:
                with self._lock:
                    scanners.save(rows.folder, scanner, rows.crc)
                    return scanners.load(rows.folder, rows.crc, rows.matrix.shape)
            except _UNUSABLE as error:
                _log.warning("the scanner of vectors could not be saved: %s", error)
        return scanner

    def _kept(self) -> list[Path]:
        """Return the snapshot folders, latest first."""
        folders = [path for path in self._folder.glob("*") if path.name.isdigit()]
        return sorted(folders, key=lambda path: -int(path.name))

    def _write(self, folder: Path, rows: Snapshot, alive: Int64) -> None:
        ids, documents, exact = rows.ids[alive], rows.documents[alive], rows.exact[alive]
        for name, part in (("ids", ids), ("documents", documents), ("exact", exact)):
            np.save(folder / f"{name}.npy", part)
        checksum = _checksum([ids, documents])
        with (folder / "matrix.npy").open("wb") as file:
            header = {"descr": "<f2", "fortran_order": False, "shape": (len(alive), self._dimension)}
            np.lib.format.write_array_header_1_0(file, header)
            for block in blocks(rows.matrix, alive):
                written = np.array(block)  # a copy: the tail may be written over meanwhile
                file.write(written.tobytes())
                checksum = _checksum([written], checksum)
        checksum = _checksum([exact], checksum)
        about = {"format": _FORMAT, "position": rows.position, "label": self._label, "checksum": checksum}
        (folder / "about.json").write_text(checksums.sealed(about), "utf-8")

    def _read(self, folder: Path) -> Snapshot:
        """Return the content of a snapshot.

        Raises:
            One of ``_UNUSABLE``: it is damaged, or of another model.
        """
        about = checksums.unsealed((folder / "about.json").read_text("utf-8"))
        if about["label"] != self._label:
            raise _OutdatedError(f"its vectors are those of {about['label']!r}, not of {self._label!r}")
        if about.get("format", 1) != _FORMAT:
            raise _OutdatedError(f"it is of format {about.get('format', 1)}, not {_FORMAT}")
        ids, documents, exact = (np.load(folder / f"{name}.npy") for name in ("ids", "documents", "exact"))
        matrix = np.empty((0, self._dimension), np.float16)
        if len(ids):
            matrix = np.load(folder / "matrix.npy", mmap_mode="r").view(np.ndarray)
        if (ids.dtype, documents.dtype, exact.dtype, matrix.dtype) != _DTYPES:
            raise ValueError("its rows are of another kind than was written")
        if not matrix.flags.c_contiguous or not ids.shape == documents.shape == exact.shape == (len(ids),):
            raise ValueError("its rows are not as many, or not in the order, that was written")
        if matrix.shape != (len(ids), self._dimension):
            raise ValueError(f"its vectors are of another length than {self._dimension}")
        if _checksum([ids, documents, *blocks(matrix), exact]) != about["checksum"]:
            raise ValueError("the checksum differs")
        rows = VectorRows.of(matrix)
        rows.rest()
        return Snapshot(ids, documents, rows, exact, int(about["position"]), folder, int(about["checksum"]))


def _checksum(parts: Iterable[Any], begun: int = 0) -> int:
    value = begun
    for part in parts:
        value = zlib.crc32(np.ascontiguousarray(part).view(np.uint8).data, value)
    return value
