"""The vectors of an index: those of a snapshot, mapped and never written, and behind them those that came since.

The later ones are in memory-mapped anonymous files, so that the system can reclaim their memory.

They are written with file operations and read as arrays: a full disk raises an error instead of killing the process. An
index must also answer on a full disk, so its vectors are then held in memory.
"""

from __future__ import annotations

import logging
import mmap
import os
import tempfile
import time
import weakref
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np

from pinakes.core.records import Int64
from pinakes.indexes.vector.vector_arrays import Float16, extended, with_spare
from pinakes.platform.permissions import PRIVATE_FOLDER

_log = logging.getLogger(__name__)

_ROWS_AT_ONCE = 1024
"""Rows per step: FAISS takes twice as long with blocks of 8192 rows, which exceed the processor's cache."""

_RETRY_S = 60.0


class FloatRows(Protocol):
    """Rows of float16 (n, dim), of an array or of several."""

    def __len__(self) -> int: ...

    def __getitem__(self, key: Any, /) -> Any:
        """Return the rows of a slice, or with these indices, as an array."""
        ...


class MappedRows:
    """Makes float16 (n, ``width``) arrays that can be extended without copying, one at a time."""

    def __init__(self, folder: Path, width: int) -> None:
        """Use files in ``folder``, which is created when needed, unless its parent folder was deleted."""
        self._folder = folder
        self._width = width
        self._file = -1
        self._finalizer: Any = None
        self._array = np.empty((0, width), np.float16)
        self._pages: mmap.mmap | None = None
        self._retry_at = 0.0

    def copy_rows(self, matrix: FloatRows, rows: Int64) -> Float16:
        """Return a copy of the rows with these indices, in a file of its own."""
        if self._new_file(matrix, rows):
            return self._array[: len(rows)]
        kept: Float16 = matrix[rows]
        return kept

    def extended(self, rows: Float16, more: Float16) -> Float16:
        """Return ``rows`` followed by ``more``. Only the latest array may be extended; older ones are unchanged."""
        count, total = len(rows), len(rows) + len(more)
        try:
            if self._holds(rows):
                self._write(count, more)
                if len(self._array) < total:
                    self._map(total)
                return self._array[:total]
        except OSError as error:
            self._give_up(error)
        longer: Float16 = extended(rows, more)
        return longer

    def overwritten(self, rows: Float16, places: Int64, others: Float16) -> Float16:
        """Return ``rows`` with ``others`` at these indices; readers of the old array may see the change."""
        try:
            if self._holds(rows):
                for place, other in zip(places.tolist(), others, strict=True):
                    self._write(place, other)
                return self._array[: len(rows)]
        except OSError as error:
            self._give_up(error)
        changed = rows if rows.flags.writeable else rows.copy()
        changed[places] = others
        return changed

    def rest(self) -> None:
        """Release the memory of pages that were read; they are read again from the system's cache or the disk."""
        if self._pages is not None:
            self._pages.madvise(mmap.MADV_DONTNEED)

    def close(self) -> None:
        """Close the file; existing arrays stay valid."""
        if self._finalizer is not None:
            self._finalizer()
        self._file, self._finalizer, self._pages = -1, None, None
        self._array = np.empty((0, self._width), np.float16)

    def _holds(self, rows: Float16) -> bool:
        """Return whether ``rows`` are in the file, after copying them into a new one if necessary and possible."""
        return (self._file >= 0 and rows.ctypes.data == self._array.ctypes.data) or self._new_file(rows)

    def _new_file(self, matrix: FloatRows, rows: Int64 | None = None) -> bool:
        """Start a file with the rows at these indices, or with all rows. Return whether that was possible."""
        self.close()
        if time.monotonic() < self._retry_at:
            return False
        try:
            self._folder.mkdir(PRIVATE_FOLDER, exist_ok=True)
            with tempfile.TemporaryFile(dir=self._folder) as file:
                self._file = os.dup(file.fileno())
            self._finalizer = weakref.finalize(self, os.close, self._file)
            self._finalizer.atexit = False  # threads that still write must not write to another file
            count = 0
            for block in blocks(matrix, rows):
                self._write(count, block)
                count += len(block)
            self._map(count)
            return True
        except OSError as error:
            self._give_up(error)
            return False
        except BaseException:
            self.close()
            raise

    def _give_up(self, error: OSError) -> None:
        """Hold new rows in memory for a while: repeated attempts would fill the disk for others."""
        _log.warning("vectors are held in memory, since a file for them cannot be written: %s", error)
        if self._file >= 0:
            with suppress(OSError):
                os.ftruncate(self._file, self._offset(len(self._array)))
        self.close()
        self._retry_at = time.monotonic() + _RETRY_S

    def _write(self, place: int, rows: Float16) -> None:
        data, offset = memoryview(rows.tobytes()), self._offset(place)
        while data:
            written = os.pwrite(self._file, data, offset)
            data, offset = data[written:], offset + written

    def _map(self, count: int) -> None:
        """Map the file again, with capacity for more than ``count`` rows."""
        size = self._offset(with_spare(count))
        os.ftruncate(self._file, size)
        self._pages = mmap.mmap(self._file, size, access=mmap.ACCESS_READ)
        self._array = np.frombuffer(self._pages, np.float16).reshape(-1, self._width)

    def _offset(self, rows: int) -> int:
        return rows * self._width * self._array.itemsize


def blocks(matrix: FloatRows, rows: Int64 | None = None) -> Iterator[Float16]:
    """Yield all rows, or those at these indices, a thousand at a time."""
    for start in range(0, len(matrix) if rows is None else len(rows), _ROWS_AT_ONCE):
        part = slice(start, start + _ROWS_AT_ONCE)
        yield matrix[part] if rows is None else matrix[rows[part]]


@dataclass(frozen=True, slots=True)
class VectorRows:
    """n rows of float16: ``base`` (b, dim), then ``tail`` (t, dim), which is of a file of ``MappedRows``.

    ``places``: int64 (n,), where each row is in both, for rows of the base that were overwritten; None: row i is at i.
    """

    base: Float16
    tail: Float16
    places: Int64 | None = None

    @classmethod
    def of(cls, base: Float16) -> Self:
        """Return the rows of ``base``."""
        return cls(base, np.empty((0, base.shape[1]), np.float16))

    def __len__(self) -> int:
        return len(self.base) + len(self.tail) if self.places is None else len(self.places)

    @property
    def shape(self) -> tuple[int, int]:
        """As of an array: (n, dim)."""
        return len(self), self.base.shape[1]

    @property
    def nbytes(self) -> int:
        """The bytes of all rows."""
        return int(len(self) * self.base.shape[1] * self.base.itemsize)

    def __getitem__(self, key: Int64 | slice) -> Float16:
        """Return the rows with these indices, or of a slice without steps, as an array."""
        begun = len(self.base)
        if isinstance(key, slice):
            first, last, _ = key.indices(len(self))
            if self.places is None and last <= begun:
                return self.base[first:last]
            if self.places is None and first >= begun:
                return self.tail[first - begun : last - begun]
            key = np.arange(first, last)
        places = key if self.places is None else self.places[key]
        if not begun:
            return self.tail[places]
        behind = places >= begun
        if not behind.any():
            return self.base[places]
        found = np.empty((len(places), self.base.shape[1]), np.float16)
        found[~behind] = self.base[places[~behind]]
        found[behind] = self.tail[places[behind] - begun]
        return found

    def rest(self) -> None:
        """Release the memory of base rows that were read; they are read again from the system's cache or the disk."""
        pages: object = self.base
        while isinstance(pages, np.ndarray):
            pages = pages.base
        if isinstance(pages, mmap.mmap):
            pages.madvise(mmap.MADV_DONTNEED)

    def appended(self, file: MappedRows, more: Float16) -> VectorRows:
        """Return these rows followed by ``more``. Only the latest may be appended to."""
        end = len(self.base) + len(self.tail)
        places = None if self.places is None else extended(self.places, np.arange(end, end + len(more)))
        return VectorRows(self.base, file.extended(self.tail, more), places)

    def overwritten(self, file: MappedRows, rows: Int64, others: Float16) -> VectorRows:
        """Return these rows with ``others`` at these indices; readers of the tail may see the change."""
        begun, tail = len(self.base), self.tail
        places = rows if self.places is None else self.places[rows]
        behind = places >= begun
        if behind.any():
            tail = file.overwritten(tail, places[behind] - begun, others[behind])
        if behind.all():
            return VectorRows(self.base, tail, self.places)
        moved = np.arange(len(self)) if self.places is None else self.places.copy()
        moved[rows[~behind]] = np.arange(begun + len(tail), begun + len(tail) + np.count_nonzero(~behind))
        return VectorRows(self.base, file.extended(tail, others[~behind]), moved)
