"""Detects tables in PDF pages by cells aligned in columns; writes Markdown rows with column names."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from pinakes.parsing.pdf_words import PageLine

_SAME_ROW: Final = 0.5
"""Lines are in one row if the distance of their middles is less than this share of their height."""
_WINDOW: Final = 12
"""Lines in which the cells of a row occur: all lines of a cell are adjacent."""
_FARTHEST: Final = 1.9
"""Maximum distance of the rows of a table, relative to their height."""
_WRAPPED: Final = 0.85
"""A line below a cell continues it if it is closer than this share of the row distance."""
_MAX_COLUMNS: Final = 40
_MAX_MEAN_CHARS: Final = 32
"""Maximum mean length of cells: longer ones are columns of prose."""
_MAX_SCATTERED_CHARS: Final = 20
"""The same if the cells of a row are not adjacent in the file, which makes columns of prose more likely."""
_LEAST_FILLED: Final = 0.55
_LEAST_ROWS: Final = 3
_LEAST_PAIRS: Final = 4
"""Minimum rows of a table with two columns."""
_LONG: Final = 60
"""If this many rows are not a table, no table is searched for among them."""
_EDGE: Final = 4
"""A table continues on the next page if at most this many lines are below and above it."""
_BLANK: Final = 0.75
"""Lines are in different blocks if their distance exceeds this share of their height."""
_FIGURES: Final = re.compile(r"[\s\d.,:%+−–()/$€£¥-]*\d[\s\d.,:%+−–()/$€£¥-]*(?:E[+-]?\d+)?")
_NUMBER: Final = re.compile(r"\d+(?:[.,]\d+)*")
_YEAR: Final = re.compile(r"(?:19|20)\d\d")
_WORD: Final = re.compile(r"[^\W\d_]{2}")
_NAMED: Final = re.compile(r"[^\W\d_](?:[^\W\d_]|\d)|^[^\W\d_]$")
_FORMULA: Final = re.compile("[=∂∈⇒∑∫∇√≤≥±∞∪∩\ue000-\uf8ff]|−(?!\\d)|^[^\\w\\s✓✗☐☒•$€£-]$")
_FORMULAS_SHARE: Final = 0.15
"""A table with this share of cells with formula signs is a formula on several lines."""
_MARKER: Final = re.compile(r"[\W_]*|[(\[]?\w{1,3}[.)\]]|\d{1,4}")
"""A bullet, or the number of a list item."""

Span: TypeAlias = tuple[float, float]
"""The left and right edge of a column, in points."""


@dataclass(slots=True)
class Table:
    """Rows of cells; the first has the column names if ``named``. ``columns``: their positions.

    ``lines``: those of the page, () if its rows are not lines.
    """

    rows: list[list[str]]
    columns: list[Span]
    lines: Sequence[PageLine]
    named: bool

    def text(self) -> str:
        """Return the table as Markdown, or as lines if it has no column names."""
        if not self.named:
            rows = ["  ".join(filter(None, row)) for row in self.rows]
            return "\n".join([line.text() for line in self.lines] if self.lines else rows)
        lines = [f"| {' | '.join(_escaped(cell) for cell in row)} |" for row in self.rows]
        return "\n".join([lines[0], f"| {' | '.join(['---'] * len(self.columns))} |", *lines[1:]])

    def continues(self, before: Table) -> bool:
        """Return whether the columns match those of the table on the previous page."""
        return len(self.columns) == len(before.columns) and all(
            max(one[0], other[0]) < min(one[1], other[1])
            for one, other in zip(self.columns, before.columns, strict=True)
        )


Block: TypeAlias = PageLine | Table


class _Row:
    """The cells at one height, from left to right, and the indices of their lines on the page."""

    __slots__ = ("bottom", "cells", "height", "lines", "top")

    def __init__(self, cells: list[PageLine], line: int) -> None:
        self.cells = cells
        self.lines = [line]
        self.height = max(cells[0].height, 1.0)
        self._measure()

    def add(self, cells: list[PageLine], line: int) -> None:
        """Add the cells of another line at this height."""
        self.cells = sorted([*self.cells, *cells], key=lambda cell: cell.left)
        self.lines.append(line)
        self._measure()

    def _measure(self) -> None:
        self.top = max([cell.top for cell in self.cells])
        self.bottom = min([cell.bottom for cell in self.cells])


def with_tables(lines: Sequence[PageLine]) -> list[Block]:
    """Return the lines and tables of a page, each table at the position of its first line."""
    if not any(len(line.cells) > 1 for line in lines):
        return list(lines)
    rows = _rows(lines)
    tables: dict[int, Table] = {}
    taken: set[int] = set()
    at = 0
    while at < len(rows):
        if len(rows[at].cells) < 2:
            at += 1
            continue
        block, columns = _block(rows, at)
        if (table := _table(block, columns, lines)) is None:
            at += 1 if len(block) < _LONG else len(block)
            continue
        if table.named and at and (names := _spanning(rows[at - 1], block[0], columns)):
            table.rows[0] = [" ".join(filter(None, pair)) for pair in zip(names, table.rows[0], strict=True)]
            block.insert(0, rows[at - 1])
            at -= 1
        members = [one for row in block for one in row.lines]
        tables[min(members)] = table
        taken.update(members)
        at += len(block)
    return [tables.get(number, line) for number, line in enumerate(lines) if number in tables or number not in taken]


def continued(pages: Sequence[list[Block]]) -> None:
    """Give tables that continue from the previous page the column names of that table."""
    before: Table | None = None
    for blocks in pages:
        tables = [at for at, block in enumerate(blocks) if isinstance(block, Table)]
        if tables and before is not None and tables[0] < _EDGE:
            first = blocks[tables[0]]
            if isinstance(first, Table) and first.continues(before) and not first.named:
                first.rows.insert(0, before.rows[0])
                first.named = True
        last = blocks[tables[-1]] if tables and len(blocks) - tables[-1] <= _EDGE else None
        before = last if isinstance(last, Table) and last.named else None


def tables_as_text(blocks: Sequence[Block]) -> str:
    """Return the text of a page, with blank lines between distant lines and around tables."""
    parts: list[str] = []
    before: PageLine | None = None
    for block in blocks:
        if isinstance(block, Table):
            parts += ["", block.text(), ""]
            before = None
            continue
        if before is not None and before.bottom - block.top > _BLANK * min(before.height, block.height):
            parts.append("")
        parts.append(block.text())
        before = block
    return "\n".join(parts)


def _rows(lines: Sequence[PageLine]) -> list[_Row]:
    """Return the rows of a page: lines at one height, even if they are not adjacent in the file."""
    rows: list[_Row] = []
    for number, line in enumerate(lines):
        row = next((one for one in reversed(rows[-_WINDOW:]) if _is_in_row(one, line)), None)
        if row is None:
            rows.append(_Row(line.cells, number))
        else:
            row.add(line.cells, number)
    return rows


def _is_in_row(row: _Row, line: PageLine) -> bool:
    """Return whether a line is at the height of a row, beside its cells."""
    if abs((row.top + row.bottom) - (line.top + line.bottom)) >= 2 * _SAME_ROW * min(row.height, line.height):
        return False
    gap = row.height * _SAME_ROW
    return all(line.right + gap < cell.left or line.left > cell.right + gap for cell in row.cells)


def _block(rows: Sequence[_Row], begin: int) -> tuple[list[_Row], list[Span]]:
    """Return the rows from ``begin`` on whose cells are in the same columns, and these columns."""
    block = [rows[begin]]
    columns = [(cell.left, cell.right) for cell in rows[begin].cells]
    for row in rows[begin + 1 :]:
        before = block[-1]
        apart = before.bottom - row.top
        if apart > _FARTHEST * before.height or row.top > before.top:
            break
        widened = _widened(columns, row)
        if widened is None or len(widened) > _MAX_COLUMNS:
            break
        block.append(row)
        columns = widened
    usual = _usual(block)
    while len(block) > 1 and len(block[-1].cells) < 2 and not _continues(block[-2], block[-1], usual):
        block.pop()
    return block, columns


def _widened(columns: Sequence[Span], row: _Row) -> list[Span] | None:
    """Return columns extended by the cells of a row, None if a cell spans two columns, or one column has two cells."""
    found = list(columns)
    used: set[int] = set()
    for cell in row.cells:
        left, right = cell.left, cell.right
        over = [at for at, (begin, end) in enumerate(found) if left < end and right > begin]
        if len(over) > 1 or (over and over[0] in used):
            return None
        if over:
            at = over[0]
            found[at] = (min(found[at][0], left), max(found[at][1], right))
        elif len(row.cells) == 1:
            return None
        else:
            at = sum(begin < left for begin, _ in found)
            found.insert(at, (left, right))
            used = {one + (one >= at) for one in used}
        used.add(at)
    return found


def _table(block: Sequence[_Row], columns: Sequence[Span], lines: Sequence[PageLine]) -> Table | None:
    """Return the table of a block of rows, None if it is not a table: too few rows, or columns of prose."""
    full = [row for row in block if len(row.cells) > 1]
    least = _LEAST_PAIRS if len(columns) == 2 else _LEAST_ROWS
    single = len(columns) > 2 and len(full) == 2 and all(len(row.cells) == len(columns) for row in full)
    if len(columns) < 2 or (len(full) < least and not single) or len(full) * 2 < len(block):
        return None
    rows = _cells(block, columns)
    if len(rows) < 2:
        return None
    filled = [cell for row in rows for cell in row if cell]
    scattered = any(len(row.lines) > 1 and max(row.lines) - min(row.lines) > 1 for row in block)
    most = _MAX_SCATTERED_CHARS if scattered else _MAX_MEAN_CHARS
    if sum(map(len, filled)) > most * len(filled) or len(filled) < _LEAST_FILLED * len(rows) * len(columns):
        return None
    if scattered and len(columns) == 2:
        return None
    if single and not (any(map(_FIGURES.fullmatch, rows[-1])) and sum(map(bool, map(_WORD.search, rows[0]))) > 1):
        return None
    by_column = [[cell for cell in column if cell] for column in zip(*rows, strict=True)]
    if has_labels(rows):
        return None
    markers = [len(list(filter(_MARKER.fullmatch, column))) * 4 > 3 * len(column) for column in by_column]
    if has_formulas(filled):
        return None
    if len(columns) == 2 and (markers[0] or (markers[1] and not is_named(rows))):
        return None
    rows = _with_groups(rows)
    members = sorted(one for row in block for one in row.lines)
    return Table(rows, list(columns), [lines[one] for one in members], is_named(rows))


def has_formulas(cells: Sequence[str]) -> bool:
    """Return whether so many cells have signs of formulas that they are a formula on several lines."""
    return len(list(filter(_FORMULA.search, cells))) > _FORMULAS_SHARE * len(cells)


def has_labels(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether most cells of a column are labels of the cells beside them, as in forms: ``Name:``."""
    return any(
        sum(cell.endswith(":") for cell in column) * 2 > sum(map(bool, column)) for column in zip(*rows, strict=True)
    )


def is_figure(cell: str) -> bool:
    """Return whether a cell is a number, with signs and currencies."""
    return _FIGURES.fullmatch(cell) is not None


def is_year(cell: str) -> bool:
    """Return whether a cell is a year of our time."""
    return _YEAR.fullmatch(cell) is not None


def is_named(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the first row has names rather than figures, and unlike the other rows.

    Several years count as names.
    """
    if any(_is_like_others(column) for column in zip(*rows, strict=True)):
        return False
    first = [cell for cell in rows[0] if cell]
    years = len(list(filter(_YEAR.fullmatch, first)))
    figures = len(list(filter(_FIGURES.fullmatch, first))) - (years if years > 1 else 0)
    names = len(list(filter(_NAMED.search, first))) + (years if years > 1 else 0)
    return not figures and names * 2 > len(first) and len(first) * 2 >= len(rows[0])


def _is_like_others(column: Sequence[str]) -> bool:
    """Return whether the first cell differs from most others only in its numbers, and has words beside them."""
    first = _NUMBER.sub("0", column[0])
    if "0" not in first or not _WORD.search(first):
        return False
    return sum(_NUMBER.sub("0", cell) == first for cell in column[1:]) * 2 > len(column) - 1


def _with_groups(rows: list[list[str]]) -> list[list[str]]:
    """Return rows with two header rows merged: long names, or group names above others."""
    groups, names = rows[0], rows[1]
    if any(map(_FIGURES.fullmatch, names)):
        return rows
    repeated = len(set(filter(None, names))) < sum(map(bool, names))
    if repeated and groups.count("") > names.count(""):
        filled: list[str] = []
        for group, name in zip(groups, names, strict=True):
            filled.append(group if group or not name or not filled else filled[-1])
        return [[" ".join(filter(None, pair)) for pair in zip(filled, names, strict=True)], *rows[2:]]
    if len(rows) > 2 and "" in names:
        below = [cell for row in rows[2:] for cell, name in zip(row, names, strict=True) if name and cell]
        if 2 * len(list(filter(_FIGURES.fullmatch, below))) > len(below):
            return [[joined(*pair) for pair in zip(groups, names, strict=True)], *rows[2:]]
    return rows


def _cells(block: Sequence[_Row], columns: Sequence[Span]) -> list[list[str]]:
    """Return the texts of rows, with the lines of a cell joined."""
    rows: list[list[str]] = []
    usual = _usual(block)
    for at, row in enumerate(block):
        texts = [""] * len(columns)
        for cell in row.cells:
            column = next(at for at, (begin, end) in enumerate(columns) if cell.left < end and cell.right > begin)
            texts[column] = joined(texts[column], " ".join(word.text for word in cell.words))
        if rows and _continues(block[at - 1], row, usual):
            rows[-1] = [joined(one, other) for one, other in zip(rows[-1], texts, strict=True)]
        else:
            rows.append(texts)
    return rows


def _usual(block: Sequence[_Row]) -> tuple[int, float]:
    """Return the largest number of cells in a row, and the usual distance of rows with several cells."""
    full = [row for row in block if len(row.cells) > 1]
    apart = sorted(one.top - other.top for one, other in itertools.pairwise(full))
    return max(len(row.cells) for row in block), apart[len(apart) // 2] if apart else 2 * block[0].height


def _continues(before: _Row, row: _Row, usual: tuple[int, float]) -> bool:
    """Return whether a row continues the cells of the previous one: it has few cells and is closer than usual."""
    most, pitch = usual
    return len(row.cells) * 2 <= most and before.top - row.top < _WRAPPED * pitch


def _spanning(row: _Row, first: _Row, columns: Sequence[Span]) -> list[str] | None:
    """Return for each column the name in a row of group names, None if the row has none."""
    if len(row.cells) < 2 or row.bottom - first.top > first.height or row.top <= first.top:
        return None
    names = [""] * len(columns)
    most = 0
    for cell in row.cells:
        left, right = cell.left, cell.right
        over = [at for at, (begin, end) in enumerate(columns) if left < end and right > begin]
        if not over or any(names[at] for at in over):
            return None
        most = max(most, len(over))
        for at in over:
            names[at] = " ".join(word.text for word in cell.words)
    return names if most > 1 else None


def joined(text: str, more: str) -> str:
    """Return two parts of a cell with a space between them, none behind a hyphen that breaks a word."""
    if not text or not more or text.endswith("\x02"):
        return text + more
    return f"{text} {more}"


def _escaped(cell: str) -> str:
    return cell.replace("|", "\\|")
