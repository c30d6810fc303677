"""Line numbers of a text in its file, which may differ from those in the text."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate

from pinakes.core.records import Span

_NEWLINE = re.compile("\n")


class FileLines:
    """Maps lines of ``text`` to ``numbers`` (``Document.lines``, one per line), or else counts from ``first``.

    Several lines of the text may have the same number, and numbers may be missing.
    """

    def __init__(self, text: str, numbers: Sequence[int] = (), first: int = 1) -> None:
        self._starts = [0, *(newline.end() for newline in _NEWLINE.finditer(text))]
        self._end = len(text)
        rows = len(self._starts)
        if numbers:
            self._numbers: Sequence[int] = [*accumulate(numbers[:rows], max)]
        else:
            self._numbers = range(first, first + max(1, rows - text.endswith("\n")))

    @property
    def total(self) -> int:
        """The number of the last line."""
        return self._numbers[-1]

    def number_at(self, offset: int) -> int:
        """Return the line number at an offset of the text."""
        return self._numbers[min(bisect_right(self._starts, offset), len(self._numbers)) - 1]

    def beginning(self, number: int) -> int:
        """Return the offset of the first line with this number or a higher one, or the end of the text."""
        row = bisect_left(self._numbers, number)
        return self._starts[row] if row < len(self._numbers) else self._end

    def place(self, offset: int) -> tuple[int, int]:
        """Return the line number at an offset, and the number of characters before it in the lines of this number."""
        number = self.number_at(offset)
        return number, offset - self.beginning(number)

    def span(self, first: int, last: int) -> Span:
        """Return the part of the text with the lines ``first`` to ``last``, including the final newline."""
        row = bisect_right(self._numbers, last)
        end = self._starts[row] if row < len(self._numbers) else self._end
        start = self.beginning(first)
        return start, max(start, end)
