"""Measures one document: its units are counted once; all later measurements are binary searches."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property

import numpy as np

from pinakes.chunking.sizing import Sizing
from pinakes.core.records import Document, Int64

HEADER_SHARE = 5
"""A header takes at most this fraction (1/n) of a chunk."""
CHARS_PER_UNIT = 32
"""Maximum characters per unit in a chunk: tokenizers may read a blob of any length as one token."""
MIN_CHARS = 1024
_REMEMBERED_NAMES = 50_000
SEPARATOR = " > "

_SPACES = frozenset(
    "\t\n\r \xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)
"""White space for every tokenizer. Control characters are excluded: BERT's drops them and joins the words around."""


class Scale:
    """Counts the units of ``document`` and builds headers. A "room" is int64 (k,): the units left for each limit.

    The k limits are the size, the model's tokens if these are not the unit, and a maximum in characters.
    """

    def __init__(self, document: Document, sizing: Sizing) -> None:
        self.text = document.text
        self.title = clean(document.title)
        self._file_lines = document.lines
        self.sizing = sizing
        self._counters: list[Callable[[str], Int64]] = [sizing.starts]
        limits = [sizing.size]
        if sizing.token_starts is not None:
            self._counters.append(sizing.token_starts)
            limits.append(sizing.max_tokens)
        self._marks = [counter(self.text) for counter in self._counters]
        self.limits: Int64 = np.array([*limits, max(MIN_CHARS, CHARS_PER_UNIT * sizing.size)], np.int64)
        self._headers: dict[tuple[str, ...], tuple[str, Int64]] = {}
        self._recounts: dict[tuple[int, int], Int64] = {}
        self._counts_blank = any(self._name_units(" "))

    def header(self, path: tuple[str, ...]) -> str:
        """Return the context line of a chunk under the headings ``path``, "" if it is empty."""
        return self._header_and_room(path)[0]

    def room(self, path: tuple[str, ...]) -> Int64:
        """Return the room for text in a chunk under ``path``."""
        return self._header_and_room(path)[1]

    def file_line(self, line: int) -> int:
        """Return the line number in the file for a line of the text, both from 1."""
        return self._file_lines[min(line, len(self._file_lines)) - 1] if self._file_lines else line

    def with_labels(self, path: tuple[str, ...], labels: Sequence[str]) -> tuple[str, int]:
        """Return the header of a chunk under ``path`` with context ``labels``, and its units of the first limit."""
        header = SEPARATOR.join([*filter(None, [self.header(path)]), *labels])
        spent = self._header_units(header) if labels else (self.limits - self.room(path)).tolist()
        return header, int(spent[0])

    def pieces_units(self, pieces: Iterable[str], room: Int64 | None = None) -> Int64:
        """Return int64 (k - 1,): the units of ``pieces`` joined by spaces; stops counting once above ``room``."""
        total = np.zeros(len(self._counters), np.int64)
        for piece in pieces:
            text = f"{piece} " if self._counts_blank else piece
            total += self._name_units(text)
            if room is not None and (total > room).any():
                break
        return total

    def before(self, points: Int64) -> Int64:
        """Return int64 (k, n): how many units start before each of the n offsets."""
        return np.stack([*(marks.searchsorted(points) for marks in self._marks), points])

    def upto(self, points: Int64) -> Int64:
        """Like ``before``, for ends of chunks, whose trailing white space will be trimmed."""
        if self._counts_blank:
            points = np.array([self._trimmed(int(point)) for point in points], np.int64)
        return self.before(points)

    def fits(self, start: int, end: int, room: Int64) -> bool:
        """Return whether text[start:end] is within ``room``, by the units of the whole text."""
        end = max(start, self._trimmed(end)) if self._counts_blank else end
        if end - start > room[-1]:
            return False
        return all(
            marks.searchsorted(end) - marks.searchsorted(start) <= units
            for marks, units in zip(self._marks, room, strict=False)
        )

    def fits_exactly(self, start: int, end: int, room: Int64) -> bool:
        """Return whether text[start:end] is within ``room`` when tokenized alone."""
        return bool((self.count(start, end) <= room).all())

    def count(self, start: int, end: int) -> Int64:
        """Return int64 (k,): the units of text[start:end] as a separate text."""
        planned = self._planned(start, end)
        if (self.is_safe(start) and self.is_safe(end)) or end - start > self.limits[-1]:
            return planned
        if (start, end) not in self._recounts:
            piece = self.text[start:end].rstrip()
            counts = [*(len(counter(piece)) for counter in self._counters), len(piece)]
            self._recounts[start, end] = np.array(counts, np.int64)
        return self._recounts[start, end]

    def is_safe(self, point: int) -> bool:
        """Return whether the units on both sides are unchanged if the text is cut at ``point``."""
        text = self.text
        return not 0 < point < len(text) or text[point - 1] in _SPACES or text[point] in _SPACES

    def reach(self, start: int, end: int, room: Int64) -> int:
        """Return the largest offset up to ``end`` within ``room`` of ``start``; at least one character."""
        far = min(end, start + int(room[-1]))
        for marks, units in zip(self._marks, room, strict=False):
            last = int(marks.searchsorted(start)) + int(units)
            far = min(far, int(marks[last])) if last < len(marks) else far
        return max(far, start + 1)

    def back(self, point: int, units: int) -> int:
        """Return the offset that is ``units`` of the first limit before ``point``, at least 0."""
        marks = self._marks[0]
        index = int(marks.searchsorted(point)) - units
        return int(marks[index]) if 0 <= index < len(marks) else 0

    @cached_property
    def line_starts(self) -> Int64:
        """int64 (lines + 1,): the start of each line, and the end of the text."""
        if self.text.isascii():
            codes = np.frombuffer(self.text.encode(), np.uint8)
        else:
            codes = np.frombuffer(self.text.encode("utf-32-le", "surrogatepass"), np.uint32)
        starts = np.flatnonzero(codes == ord("\n")).astype(np.int64) + 1
        tail = [] if len(starts) and starts[-1] == len(self.text) else [len(self.text)]
        return np.concatenate([np.zeros(1, np.int64), starts, np.array(tail, np.int64)])

    def _planned(self, start: int, end: int) -> Int64:
        end = max(start, self._trimmed(end)) if self._counts_blank else end
        counts = [marks.searchsorted(end) - marks.searchsorted(start) for marks in self._marks]
        return np.array([*counts, end - start], np.int64)

    def _trimmed(self, end: int) -> int:
        while end and self.text[end - 1].isspace():
            end -= 1
        return end

    def _header_and_room(self, path: tuple[str, ...]) -> tuple[str, Int64]:
        if path not in self._headers:
            header = self._make_header(path)
            self._headers[path] = header, self.limits - np.array([*self._header_units(header), 0], np.int64)
        return self._headers[path]

    def _make_header(self, path: tuple[str, ...]) -> str:
        names = [name for name in path if name]
        if names and names[0].casefold() == self.title.casefold():
            names = names[1:]
        parts = [self.title, *names] if self.title else names
        header = SEPARATOR.join(parts)
        while len(parts) > 2 and not self._is_short(header):
            del parts[1]
            header = SEPARATOR.join(parts)
        if self._is_short(header):
            return header
        most = int(self.limits[0]) // HEADER_SHARE
        inner = self._cut(parts[-1], most if len(parts) == 1 else most // 2)
        if len(parts) == 2:
            outer = self._cut(parts[0], most - self._header_units(f"{SEPARATOR}{inner}")[0])
            inner = f"{outer}{SEPARATOR}{inner}" if outer and inner else outer or inner
        return inner if self._is_short(inner) else ""

    def _is_short(self, header: str) -> bool:
        units = self._header_units(header)
        return all(spent <= limit // HEADER_SHARE for spent, limit in zip(units, self.limits, strict=False))

    def _header_units(self, header: str) -> list[int]:
        """Return the units of ``header`` and its newline for each limit. Recurring names are counted once."""
        if not header:
            return [0] * len(self._counters)
        if self._counts_blank:
            return [len(counter(f"{header}\n")) for counter in self._counters]
        names = header.split(SEPARATOR)
        counts = [self._name_units(name) for name in [*names, *[SEPARATOR.strip()] * (len(names) - 1)]]
        return [sum(column) for column in zip(*counts, strict=True)]

    def _name_units(self, name: str) -> tuple[int, ...]:
        known = self.sizing.names
        if name not in known:
            if len(known) >= _REMEMBERED_NAMES:
                known.clear()
            known[name] = tuple(len(counter(name)) for counter in self._counters)
        return known[name]

    def _cut(self, name: str, units: int) -> str:
        """Return the first words of ``name`` that take at most ``units``."""
        words = name.split()
        taken = bisect_right(range(1, len(words) + 1), units, key=lambda n: self._header_units(" ".join(words[:n]))[0])
        return " ".join(words[:taken])


def clean(name: str) -> str:
    """Return ``name`` on one line with single spaces."""
    return " ".join(name.split())


def common(paths: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Return the longest common prefix of all ``paths``."""
    shared: list[str] = []
    for names in zip(*paths, strict=False):
        if any(name != names[0] for name in names):
            break
        shared.append(names[0])
    return tuple(shared)
