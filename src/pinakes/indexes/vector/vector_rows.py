"""The vectors of an index: those of a snapshot, mapped and never written, and behind them those that came since."""

from __future__ import annotations

import mmap
from dataclasses import dataclass
from typing import Self

import numpy as np

from pinakes.core.records import Int64
from pinakes.indexes.vector.float16 import Float16
from pinakes.indexes.vector.growable import extended
from pinakes.indexes.vector.mapped_rows import MappedRows


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
