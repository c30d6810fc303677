"""What was written last to a keyword index, at hand to be written again together with what comes.

Tantivy merges as soon as eight segments are there, and all of them that have less than some ten thousand entries each:
of documents put one by one, every seventh would have the whole index written anew. So the newest segments are kept few
by writing their entries once more, in one commit with the new ones; only many of them together are left to Tantivy.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

_MOST_SEGMENTS = 6
"""With the large one before them and the one that is written, Tantivy has less than the eight that it merges."""

_MOST_CHARS = 2_000_000
_CHARS_PER_ENTRY = 200
"""What an entry costs besides its text."""


@dataclass(frozen=True, slots=True)
class BufferedEntry:
    """One entry as Tantivy takes it, and how many characters its text has."""

    made: Any
    chars: int


@dataclass(slots=True)
class WriteBuffer:
    """The newest segments of an index, oldest first, each by the numbers of its documents.

    ``committed`` is the change by which the last was written: where the index stands at another, somebody else has
    written to it, and what is here may be out of date.
    """

    committed: int = -1
    _segments: list[dict[int, Sequence[BufferedEntry]]] = field(default_factory=list)

    def follow(
        self, gone: Iterable[int], added: Mapping[int, Sequence[BufferedEntry]]
    ) -> dict[int, Sequence[BufferedEntry]]:
        """Take out documents that are ``gone``, put in those ``added``; return all that is to be one segment now.

        These are the added ones and, now and then, older ones, which are to be taken out of the index first.
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
