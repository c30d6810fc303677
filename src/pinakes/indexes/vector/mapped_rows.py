"""Vectors in a file without a name: the memory they take is the system's to take back.

They are written as a file is and read as an array: a full disk is an error then, not the end of the process. Since an
index must answer on a full disk, too, its vectors are held in memory there.
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
from pathlib import Path
from typing import Any

import numpy as np

from pinakes.core.records import Int64
from pinakes.indexes.vector.float16 import Float16
from pinakes.indexes.vector.growable import extended, with_spare
from pinakes.platform.permissions import PRIVATE_FOLDER

_log = logging.getLogger(__name__)

_ROWS_AT_ONCE = 1024
"""What a processor keeps near itself: FAISS is built from blocks of 8192 rows in twice the time."""

_RETRY_S = 60.0


class MappedRows:
    """Makes float16 (n, ``width``) arrays that grow at their end without being copied, one after the other."""

    def __init__(self, folder: Path, width: int) -> None:
        """Keep the file in ``folder``, which is made when it is needed, unless that in which it is has gone."""
        self._folder = folder
        self._width = width
        self._file = -1
        self._letting_go: Any = None
        self._room = np.empty((0, width), np.float16)
        self._pages: mmap.mmap | None = None
        self._retry_at = 0.0

    def copy_rows(self, matrix: Float16, rows: Int64) -> Float16:
        """Return a copy of the rows with these numbers, in a file of its own."""
        if self._begun(matrix, rows):
            return self._room[: len(rows)]
        kept: Float16 = matrix[rows]
        return kept

    def extended(self, rows: Float16, more: Float16) -> Float16:
        """Return ``rows`` followed by ``more``. Only the newest may be extended; older ones stay as they are."""
        count, total = len(rows), len(rows) + len(more)
        try:
            if self._holds(rows):
                self._write(count, more)
                if len(self._room) < total:
                    self._map(total)
                return self._room[:total]
        except OSError as error:
            self._give_up(error)
        longer: Float16 = extended(rows, more)
        return longer

    def overwritten(self, rows: Float16, places: Int64, others: Float16) -> Float16:
        """Return ``rows`` with ``others`` at these places; who reads the array as it was may see them too."""
        try:
            if self._holds(rows):
                for place, other in zip(places.tolist(), others, strict=True):
                    self._write(place, other)
                return self._room[: len(rows)]
        except OSError as error:
            self._give_up(error)
        changed = rows if rows.flags.writeable else rows.copy()
        changed[places] = others
        return changed

    def rest(self) -> None:
        """Give back the memory of what was read: read again, it comes from the system's cache or from the disk."""
        if self._pages is not None:
            self._pages.madvise(mmap.MADV_DONTNEED)

    def close(self) -> None:
        """Let go of the file; arrays stay as they are."""
        if self._letting_go is not None:
            self._letting_go()
        self._file, self._letting_go, self._pages = -1, None, None
        self._room = np.empty((0, self._width), np.float16)

    def _holds(self, rows: Float16) -> bool:
        """Say whether ``rows`` are those of the file, into which they are copied where they come from elsewhere."""
        return (self._file >= 0 and rows.ctypes.data == self._room.ctypes.data) or self._begun(rows)

    def _begun(self, matrix: Float16, rows: Int64 | None = None) -> bool:
        """Begin a file with the rows with these numbers, or with all; say whether that was possible."""
        self.close()
        if time.monotonic() < self._retry_at:
            return False
        try:
            self._folder.mkdir(PRIVATE_FOLDER, exist_ok=True)
            with tempfile.TemporaryFile(dir=self._folder) as file:
                self._file = os.dup(file.fileno())
            self._letting_go = weakref.finalize(self, os.close, self._file)
            self._letting_go.atexit = False  # threads that still write must not find another file there
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
        """Hold what comes in memory for a while: trying each time would fill the disk for others again and again."""
        _log.warning("vectors are held in memory, since a file for them cannot be written: %s", error)
        if self._file >= 0:
            with suppress(OSError):
                os.ftruncate(self._file, self._offset(len(self._room)))
        self.close()
        self._retry_at = time.monotonic() + _RETRY_S

    def _write(self, place: int, rows: Float16) -> None:
        data, offset = memoryview(rows.tobytes()), self._offset(place)
        while data:
            written = os.pwrite(self._file, data, offset)
            data, offset = data[written:], offset + written

    def _map(self, count: int) -> None:
        """Map the file anew, with room for more than ``count`` rows."""
        size = self._offset(with_spare(count))
        os.ftruncate(self._file, size)
        self._pages = mmap.mmap(self._file, size, access=mmap.ACCESS_READ)
        self._room = np.frombuffer(self._pages, np.float16).reshape(-1, self._width)

    def _offset(self, rows: int) -> int:
        return rows * self._width * self._room.itemsize


def blocks(matrix: Float16, rows: Int64 | None = None) -> Iterator[Float16]:
    """Yield all rows, or those with these numbers, a thousand at a time."""
    for start in range(0, len(matrix) if rows is None else len(rows), _ROWS_AT_ONCE):
        part = slice(start, start + _ROWS_AT_ONCE)
        yield matrix[part] if rows is None else matrix[rows[part]]
