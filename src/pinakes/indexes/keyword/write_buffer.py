"""Buffers the latest entries of a keyword index, to write them again together with new ones.

Tantivy merges as soon as there are eight segments, and merges all that have less than some ten thousand entries each:
with documents put one by one, every seventh commit would rewrite the whole index. So the number of new segments is kept
low by rewriting their entries in one commit with the new ones; only large batches are left to Tantivy's merge.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

_MOST_SEGMENTS = 6
"""Together with the large segment before them and the one being written, fewer than the eight that Tantivy merges."""

_MOST_CHARS = 2_000_000
_CHARS_PER_ENTRY = 200
"""Overhead of an entry besides its text, in characters."""


@dataclass(frozen=True, slots=True)
class BufferedEntry:
    """One Tantivy document, and the number of characters of its text."""

    made: Any
    chars: int


@dataclass(slots=True)
class WriteBuffer:
    """The latest segments of an index, oldest first, each as document id → entries.

    ``committed``: the change that wrote the last segment; if the index is at another change, another process has
    written and the buffer may be outdated.
    """

    committed: int = -1
    _segments: list[dict[int, Sequence[BufferedEntry]]] = field(default_factory=list)

    def follow(
        self, gone: Iterable[int], added: Mapping[int, Sequence[BufferedEntry]]
    ) -> dict[int, Sequence[BufferedEntry]]:
        """Remove documents that are ``gone``, insert ``added``, and return the entries to write as one segment.

        These are the added ones and, now and then, older ones, which must be deleted from the index first.
        """
        for number in gone:
            for segment in self._segments:
                segment.pop(number, None)
        self._segments = [segment for segment in self._segments if segment]
        written = dict(added)
        if not written:
            return written
        sizes = [_size(segment) for segment in self._segments]
        if sum(sizes) + _size(written) > _MOST_CHARS:
            self._segments = []
            return written
        if len(sizes) == _MOST_SEGMENTS:
            first, total = len(sizes) - 1, sizes[-1] + _size(written)
            while first and sizes[first - 1] <= total:
                first -= 1
                total += sizes[first]
            for segment in self._segments[first:]:
                written |= segment
            del self._segments[first:]
        self._segments.append(written)
        return written


def _size(segment: Mapping[int, Sequence[BufferedEntry]]) -> int:
    return sum(entry.chars + _CHARS_PER_ENTRY for entries in segment.values() for entry in entries)
