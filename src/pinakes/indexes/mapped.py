"""Vectors in a file without a name: the memory they take is the system's to take back.

They are written as a file is and read as an array: a full disk is an error then, not the end of the process.
"""

from __future__ import annotations

import mmap
import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

import numpy as np

from pinakes.indexes.half import Float16
from pinakes.types import Int64

_SPARE_SHARE = 8
_SPARE_ROWS = 256
_ROWS_AT_ONCE = 8192


class MappedRows:
    """Makes float16 (n, ``width``) arrays that grow at their end without being copied, one after the other."""

    def __init__(self, folder: Path, width: int) -> None:
        """Keep the file in ``folder``, which is made when it is needed."""
        self._folder = folder
        self._width = width
        self._file: IO[bytes] | None = None
        self._room = np.empty((0, width), np.float16)
        self._pages: mmap.mmap | None = None

    def of(self, parts: Iterable[Float16]) -> Float16:
        """Return the rows of all ``parts``, in a file of their own.

        Raises:
            OSError: the file cannot be written.
        """
        self.close()
        self._folder.mkdir(parents=True, exist_ok=True)
        self._file = tempfile.TemporaryFile(buffering=0, dir=self._folder)  # noqa: SIM115 - kept open
        count = 0
        for part in parts:
            self._write(self._file, count, part)
            count += len(part)
        self._map(self._file, count)
        return self._room[:count]

    def extended(self, rows: Float16, more: Float16) -> Float16:
        """Return ``rows`` followed by ``more``. Only the newest may be extended; older ones stay as they are.

        Raises:
            OSError: the file cannot be written.
        """
        file, count, total = self._file_of(rows), len(rows), len(rows) + len(more)
        self._write(file, count, more)
        if len(self._room) < total:
            self._map(file, total)
        return self._room[:total]

    def overwritten(self, rows: Float16, places: Int64, others: Float16) -> Float16:
        """Return ``rows`` with ``others`` at these places; who reads the array as it was may see them too.

        Raises:
            OSError: the file cannot be written.
        """
        file = self._file_of(rows)
        for place, other in zip(places.tolist(), others, strict=True):
            self._write(file, place, other)
        return self._room[: len(rows)]

    def rest(self) -> None:
        """Give back the memory of what was read: read again, it comes from the system's cache or from the disk."""
        if self._pages is not None:
            self._pages.madvise(mmap.MADV_DONTNEED)

    def close(self) -> None:
        """Let go of the file; arrays stay as they are."""
        if self._file is not None:
            self._file.close()
        self._file, self._pages, self._room = None, None, self._room[:0]

    def _file_of(self, rows: Float16) -> IO[bytes]:
        """Return the file that holds ``rows``, which are copied where they come from elsewhere."""
        if self._file is None or rows.ctypes.data != self._room.ctypes.data:
            self.of(blocks(rows))
        assert self._file is not None
        return self._file

    def _write(self, file: IO[bytes], place: int, rows: Float16) -> None:
        data, offset = memoryview(rows.tobytes()), self._offset(place)
        while data:
            written = os.pwrite(file.fileno(), data, offset)
            data, offset = data[written:], offset + written

    def _map(self, file: IO[bytes], count: int) -> None:
        """Map the file anew, with room for more than ``count`` rows."""
        size = self._offset(count + max(_SPARE_ROWS, count // _SPARE_SHARE))
        file.truncate(size)
        self._pages = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)
        self._room = np.frombuffer(self._pages, np.float16).reshape(-1, self._width)

    def _offset(self, rows: int) -> int:
        return rows * self._width * self._room.itemsize


def blocks(matrix: Float16, rows: Int64 | None = None) -> Iterator[Float16]:
    """Yield all rows, or those with these numbers, some thousand at a time."""
    for start in range(0, len(matrix) if rows is None else len(rows), _ROWS_AT_ONCE):
        part = slice(start, start + _ROWS_AT_ONCE)
        yield matrix[part] if rows is None else matrix[rows[part]]
