"""Column names of tables: header rows, and which columns a part of a table has."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np

from pinakes.chunking.scale import Scale, clean
from pinakes.core.records import Int64

MAX_NAME_CHARS = 100
_MAX_HEAD_CHARS = 100_000
MAX_HEAD_ROWS = 3
"""The maximum number of header rows."""

_BAR = re.compile(r"(?<!\\)\|")
_LINK = re.compile(r"!?\[([^\[\]\n]{0,200})\]\([^()\s]{0,500}\)")
_MARKS = re.compile(r"[*`]+|</?[A-Za-z][^<>\n]{0,100}>")
_CAPTION = re.compile(r"(?:Tab(?:le|elle|\.|leau|la|ela|ella)?|Tafel|Таблица|表)\s*[\d:.]", re.IGNORECASE)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_MARKED = re.compile(r"[\[*`<\\]")
_NUMBER = re.compile(r"[-+−(]?[$€£¥]?\s?\d[\d.,\s%:/-]*\)?\s?(?:%|[$€£¥])?")
_YEAR = re.compile(r"(?:19|20)\d\d")


class Table:
    """The columns of a table whose rows are the lines of ``scale.text`` in [body, end), with cells separated by bars.

    ``names``: of its columns from the left, "" if a column has none. ``edged``: a row may begin with a bar. Not
    ``has_bars``: cells are separated differently, and their columns are unknown.
    """

    def __init__(
        self, scale: Scale, names: Sequence[str], body: int, end: int, *, edged: bool = True, has_bars: bool = True
    ) -> None:
        self.names = tuple(names)
        self._edged = edged
        self._has_bars = has_bars
        self._scale = scale
        self.body = body
        self._end = end

    def names_in(self, start: int, end: int) -> list[str]:
        """Return the names of the columns with text in [start, end), from the left."""
        if not self._has_bars:
            return list(self.names)
        text = self._scale.text
        found: set[int] = set()
        start = max(start, self.body)
        first = self._column(start)
        for line in text[start : max(start, min(end, self._end))].split("\n"):
            cells = _BAR.split(line)
            found.update(first + place for place, cell in enumerate(cells) if cell.strip())
            first = -1 if self._has_edge(self.body) else 0
        return [self.names[column] for column in sorted(found) if 0 <= column < len(self.names)]

    def key_at(self, point: int) -> str:
        """Return the first cell of the row that ``point`` is in, "" if it is in no row, or in that cell."""
        if not self._has_bars:
            return ""
        row = self._row(point)
        head = self._scale.text[row : row + 4 * MAX_NAME_CHARS]
        cells = _BAR.split(head)
        place = int(self._has_edge(row))
        before = sum(len(cell) + 1 for cell in cells[: place + 1])
        return name_of(cells[place]) if place + 1 < len(cells) and row + before <= point else ""

    def _row(self, point: int) -> int:
        lines = self._scale.line_starts
        return max(self.body, int(lines[int(lines.searchsorted(point, "right")) - 1]))

    def _column(self, point: int) -> int:
        """Return the column of the cell that begins at, or contains, ``point``."""
        row = self._row(point)
        bars = int(self._bars.searchsorted(point)) - int(self._bars.searchsorted(row))
        return bars - 1 if self._has_edge(row) else bars

    def _has_edge(self, row: int) -> bool:
        return self._edged and self._scale.text[row : row + 100].lstrip(" \t>").startswith("|")

    @cached_property
    def _bars(self) -> Int64:
        found = _BAR.finditer(self._scale.text, self.body, self._end)
        return np.fromiter((match.start() for match in found), np.int64)


def cells_of(line: str, *, edged: bool = True) -> list[str]:
    """Return the cells of a row separated by bars, as names; with ``edged``, bars at both ends are ignored."""
    if edged:
        line = line.strip()
        line = line[1:] if line.startswith("|") else line
        line = line[:-1] if line.endswith("|") and not line.endswith("\\|") else line
    return [name_of(cell) for cell in _BAR.split(line)]


def separated_names(lines: Iterable[str], delimiter: str = ",") -> list[list[str]]:
    """Return the cells of lines with a ``delimiter``, as names; very long lines are cut."""
    # ``csv`` rejects carriage returns and longer cells.
    looked_at = [line[:_MAX_HEAD_CHARS].replace("\r", " ") for line in lines]
    return [
        [name_of(cell) for cell in row] for row in csv.reader(looked_at, delimiter=delimiter, skipinitialspace=True)
    ]


def name_of(cell: str) -> str:
    """Return the text of a cell without markup, shortened if it is long."""
    cell = cell[: 10 * MAX_NAME_CHARS]
    if _MARKED.search(cell):
        cell = _MARKS.sub(" ", _LINK.sub(r"\1", cell)).replace("\\|", "|")
    name = clean(cell)
    return name if len(name) <= MAX_NAME_CHARS else name[:MAX_NAME_CHARS].rpartition(" ")[0] + " …"


def caption_in(paragraph: str) -> str:
    """Return the caption of the table that follows ``paragraph``, "" if the paragraph is prose."""
    words = name_of(paragraph) if len(paragraph) <= 2 * MAX_NAME_CHARS else ""
    if not words:
        last = clean(paragraph[-2 * MAX_NAME_CHARS :])
        return _SENTENCE_END.split(last)[-1].strip("*_: ") if last.endswith(":") else ""
    return words.strip("*_: ") if _CAPTION.match(words) or not words.endswith((".", "!", "?")) else ""


def head_rows(rows: Sequence[Sequence[str]]) -> int:
    """Return how many of the first ``rows`` are header rows; the first one must be.

    A further row is one if the row above has no name for each column (a name over several columns, in cells that are
    empty or equal; or none at all), and it has the rest: other words, no figures.
    """
    count = 1
    while count < min(len(rows), MAX_HEAD_ROWS + 1) and _continues(rows[count - 1], rows[count]):
        count += 1
    return count if count < len(rows) or count == 1 else count - 1


def is_lacking(names: Sequence[str]) -> bool:
    """Return whether a header row lacks a separate name for some column."""
    return not all(names) or any(left == right for left, right in pairwise(names))


def combined(rows: Sequence[Sequence[str]]) -> tuple[str, list[str]]:
    """Return a caption, "" for none, and the column names that ``rows``, one below the other, make together."""
    caption = ""
    rows = list(rows)
    while len(rows) > 1 and len(rows[0]) > 1 and len(set(filter(None, rows[0]))) == 1 and _spans_all(rows[0]):
        caption = caption or next(filter(None, rows[0]))
        rows = rows[1:]
    width = max(map(len, rows), default=0)
    filled = [*(_filled(row, below) for row, below in pairwise(rows)), *rows[-1:]]
    names = []
    for column in range(width):
        parts = dict.fromkeys(row[column] for row in filled if column < len(row) and row[column])
        names.append(" ".join(parts))
    return caption, names


def is_head(first: Sequence[str], second: Sequence[str] | None) -> bool:
    """Return whether the ``first`` row of a table without markup has column names, rather than figures like others."""
    figures = [bool(_NUMBER.fullmatch(cell)) for cell in first]
    if not any(figures) or second is None:
        return bool(any(first)) and not all(figures)
    if all(_YEAR.fullmatch(cell) for cell, figure in zip(first, figures, strict=True) if figure):
        return len(set(first)) == len(first) and not all(figures)
    return any(
        figure != bool(_NUMBER.fullmatch(cell)) for cell, figure in zip(second, figures, strict=False) if cell
    ) and not all(figures)


def _spans_all(row: Sequence[str]) -> bool:
    return all(cell == row[0] or not cell for cell in row[1:]) and bool(row[0])


def _continues(above: Sequence[str], row: Sequence[str]) -> bool:
    if len(above) < 2 or not any(row) or any(_NUMBER.fullmatch(cell) and not _YEAR.fullmatch(cell) for cell in row):
        return False
    if not any(above):
        return len(row) > 2 and len(set(row)) == len(row) and all(row)
    grouped = _grouped(above)
    if not any(grouped):
        return False
    words = [cell for cell, shared in zip(row, grouped, strict=False) if shared]
    rest = [(cell, name) for cell, name, shared in zip(row, above, grouped, strict=False) if not shared]
    return all(words) and len(set(words)) > 1 and all(not cell or cell == name for cell, name in rest)


def _grouped(row: Sequence[str]) -> list[bool]:
    """Return for each cell whether it shares a name with others: it equals its neighbour, or an empty cell follows."""
    same = [bool(left) and (right in (left, "")) for left, right in pairwise(row)]
    grouped = [False] * len(row)
    open_ = False
    for place, cell in enumerate(row):
        follows = place > 0 and (same[place - 1] or (open_ and not cell))
        open_ = follows or (place < len(same) and same[place])
        grouped[place] = open_
    return grouped


def _filled(row: Sequence[str], below: Sequence[str]) -> list[str]:
    """Return ``row`` with names over several columns repeated in each, if the row ``below`` has a name there."""
    filled: list[str] = []
    for place, cell in enumerate(row):
        spanned = not cell and place > 0 and place < len(below) and bool(below[place])
        filled.append(filled[-1] if spanned else cell)
    return filled
