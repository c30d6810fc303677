"""Finds the tables of a sheet, which blank columns and rows separate.

A blank row does not end a table if what follows has no column names of its own; nor does a blank column if what follows
has no keys of its own.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from pinakes.parsing.grids import MOST_REPEATED_CHARS, MOST_REPEATED_COLUMNS, Grid, markdown

Place: TypeAlias = tuple[int, int]
"""Row and column of a cell, from 0."""

_DEEPEST: Final = 8
_MOST_HEADS: Final = 5
_GROWTH: Final = 10
_FREE_CELLS: Final = 10_000
_HIDDEN: Final = "[hidden]"
_YEARS: Final = range(1800, 2201)


@dataclass(slots=True)
class Sheet:
    """The displayed cells of a sheet: row → column → text; ``size``: approximate total characters.

    ``named``: areas that the file defines as tables, with their names and numbers of header rows.
    """

    rows: dict[int, dict[int, str]] = field(default_factory=dict)
    columns: set[int] = field(default_factory=set)
    numbers: set[Place] = field(default_factory=set)
    merged: list[tuple[Place, Place]] = field(default_factory=list)
    named: list[tuple[tuple[Place, Place], str, int]] = field(default_factory=list)
    hidden_rows: set[int] = field(default_factory=set)
    hidden_columns: set[int] = field(default_factory=set)
    size: int = 0


@dataclass(slots=True)
class _Table:
    """Rows and columns of one table, with a ``caption`` and the number of header rows, if known."""

    rows: list[int]
    columns: list[int]
    caption: str = ""
    heads: int | None = None


def tables_of(sheet: Sheet) -> Iterator[str]:
    """Yield the tables and paragraphs of a sheet as Markdown, from top to bottom and from left to right."""
    return _Tables(sheet).found()


class _Tables:
    def __init__(self, sheet: Sheet) -> None:
        self._sheet = sheet
        self._spanned: dict[Place, tuple[Place, Place]] = {}
        room = _FREE_CELLS + _GROWTH * sum(map(len, sheet.rows.values()))
        for first, last in sheet.merged:
            area = (last[0] - first[0] + 1) * (last[1] - first[1] + 1)
            if area > room or not self._own(first):
                continue
            room -= area
            for row in range(first[0], last[0] + 1):
                for column in range(first[1], last[1] + 1):
                    self._spanned[row, column] = first, last
        self._used: dict[int, set[int]] = {row: set(cells) for row, cells in sheet.rows.items()}
        for row, column in self._spanned:
            self._used.setdefault(row, set()).add(column)

    def found(self) -> Iterator[str]:
        named = self._named()
        blocks = [*named, *self._blocks(sorted(self._used), sorted(set().union(*self._used.values())), 0)]
        blocks.sort(key=lambda one: (one.rows[0], one.columns[0]) if named else (0, 0))
        for block in self._continued(blocks):
            if block.caption:
                yield block.caption
            if text := self._markdown(block):
                yield text

    def _named(self) -> list[_Table]:
        """Return the areas that the file defines as tables; their cells are not used by other tables."""
        found = []
        for ((top, left), (bottom, right)), name, heads in self._sheet.named:
            rows = [row for row in self._used if top <= row <= bottom and self._in(row, left, right)]
            columns = {column for row in rows for column in self._in(row, left, right)}
            if not rows or len(self._sheet.named) > _FREE_CELLS:
                continue
            found.append(_Table(sorted(rows), sorted(columns), name, heads))
        for table in found:
            for row in table.rows:
                self._used[row] = self._used[row] - set(table.columns)
        self._used = {row: columns for row, columns in self._used.items() if columns}
        return found

    def _in(self, row: int, left: int, right: int) -> set[int]:
        return {column for column in self._used[row] if left <= column <= right}

    def _blocks(self, rows: Sequence[int], columns: Sequence[int], depth: int) -> Iterator[_Table]:
        """Yield the tables in these rows and columns of a sheet, all of which have content."""
        for band in _runs(rows):
            wanted = set(columns)
            heads, body = self._titles(band, wanted)
            yield from (_Table([row], sorted(self._used[row] & wanted)) for row in heads)
            if not body:
                continue
            used = sorted(set().union(*(self._used[row] & wanted for row in body)))
            groups = self._groups(body, _runs(used)) if depth < _DEEPEST else [used]
            if len(groups) == 1:
                yield _Table(body, used)
                continue
            for group in groups:
                inside = set(group)
                yield from self._continued(
                    [*self._blocks([row for row in body if self._used[row] & inside], group, depth + 1)]
                )

    def _titles(self, band: list[int], wanted: set[int]) -> tuple[list[int], list[int]]:
        """Return the first rows that have only one cell, and the other rows."""
        at = 0
        while at < len(band) and self._is_alone(band[at], wanted):
            at += 1
        width = len(set().union(*(self._used[row] & wanted for row in band)))
        return (band[:at], band[at:]) if width > 1 else ([], band)

    def _is_alone(self, row: int, wanted: set[int]) -> bool:
        used = self._used[row] & wanted
        return len(used) == 1 or len({self._spanned.get((row, column), column) for column in used}) == 1

    def _groups(self, rows: list[int], runs: list[list[int]]) -> list[list[int]]:
        """Group ``runs`` of columns, which blank columns separate, into tables."""
        groups = [runs[0]]
        for run in runs[1:]:
            if self._stands_alone(rows, groups[-1]) and self._stands_alone(rows, run):
                groups.append(run)
            else:
                groups[-1] = groups[-1] + run
        return groups

    def _stands_alone(self, rows: list[int], columns: list[int]) -> bool:
        """Return whether columns have their own column names and keys."""
        inside = set(columns)
        own = [row for row in rows if self._used[row] & inside]
        if len(columns) < 2 or len(own) < 2:
            return False
        first = next((row for row in own if not self._is_alone(row, inside)), own[0])
        keys = [(row, columns[0]) for row in own if row > first and columns[0] in self._used[row]]
        return self._has_names(first, inside) and any(key not in self._sheet.numbers for key in keys)

    def _has_names(self, row: int, columns: set[int]) -> bool:
        """Return whether a row may have column names: its cells are words, or years after a word."""
        numbers = [column for column in self._used[row] & columns if (row, column) in self._sheet.numbers]
        return all(self._is_year(row, column) for column in numbers) and len(numbers) < len(self._used[row] & columns)

    def _is_year(self, row: int, column: int) -> bool:
        text = self._sheet.rows.get(row, {}).get(column, "")
        return len(text) == 4 and text.isdecimal() and int(text) in _YEARS

    def _continued(self, blocks: list[_Table]) -> list[_Table]:
        """Return tables, each joined with the tables below it that have no column names."""
        found: list[_Table] = []
        for block in blocks:
            last = found[-1] if found else None
            if (
                last
                and len(last.rows) > 1
                and len(last.columns) > 1
                and (last.heads, block.heads) == (None, None)
                and len(block.columns) > 1
                and set(block.columns) <= set(last.columns)
                and block.rows[0] > last.rows[-1]
                and (len(block.rows) == 1 or not self._has_names(block.rows[0], set(block.columns)))
            ):
                last.rows += block.rows
            else:
                found.append(block)
        return found

    def _markdown(self, table: _Table) -> str:
        begun = self._begun(table)
        heads = self._heads(table, begun) if table.heads is None else table.heads
        dense = len(table.rows) * len(table.columns)
        cells = sum(len(self._used.get(row, ())) for row in table.rows)
        whole = dense <= _FREE_CELLS + _GROWTH * cells or table.heads is not None
        inside = set(begun)
        rows = [row for at, row in enumerate(table.rows) if not at or self._with_text(row, inside)]
        if heads:  # a row that only continues merged cells says nothing
            heads = max(1, len({*table.rows[:heads]} & {*rows[:heads]}))
        grid: Grid = []
        for at, row in enumerate(rows):
            columns = begun if whole else sorted(self._used.get(row, set()) & inside)
            line = [self._text(row, column, table, columns, at < heads) for column in columns]
            if row in self._sheet.hidden_rows:
                line = _marked(line)
            if not at and whole:
                line = [
                    _behind(text, column in self._sheet.hidden_columns)
                    for text, column in zip(line, columns, strict=True)
                ]
            grid.append(line)
        return markdown(grid, heads)

    def _begun(self, table: _Table) -> list[int]:
        """Return the columns of a table in which a text begins; others only continue merged cells."""
        first, inside = table.columns[0], set(table.columns)
        begun = {column for row in table.rows for column in self._with_text(row, inside)}
        begun |= {first for row in table.rows if (row, first) in self._spanned}
        return [column for column in table.columns if column in begun]

    def _heads(self, table: _Table, begun: Sequence[int]) -> int:
        """Return the number of header rows of a table with the columns ``begun``."""
        first, columns = table.rows[0], set(table.columns)
        if not self._has_names(first, columns):
            numbers = sum((first, column) in self._sheet.numbers for column in columns)
            return 0 if numbers * 2 >= len(self._used.get(first, columns)) and len(table.rows) > 1 else 1
        spans = [self._spanned[first, column] for column in columns if (first, column) in self._spanned]
        heads = max((last[0] - first + 1 for _, last in spans), default=1)
        if heads == 1 and any(_count_between(begun, begin[1], last[1]) > 1 for begin, last in spans):
            heads = 2
        while heads < min(_MOST_HEADS, len(table.rows) - 1) and self._names_below(
            table.rows[:heads], table.rows[heads], table.columns
        ):
            heads += 1
        heads = min(heads, _MOST_HEADS, len(table.rows) - 1)
        if all(row in self._used and self._has_names(row, columns) for row in table.rows[1:heads]):
            return max(heads, 1)
        return 1

    def _names_below(self, above: list[int], row: int, columns: list[int]) -> bool:
        """Return whether a row continues the header ``above``: it has only words, and none in the key column.

        It names columns that have no name of their own yet, or at least half of all columns.
        """
        used = self._used[row] & set(columns)
        unnamed = [column for column in used if not any(self._is_named(one, column) for one in above)]
        return (
            len(used) > 1
            and columns[0] not in used
            and self._has_names(row, used)
            and not any((row, column) in self._sheet.numbers for column in used)
            and (bool(unnamed) or len(used) * 2 >= len(columns) - 1)
        )

    def _is_named(self, row: int, column: int) -> bool:
        """Return whether a row names a column, and no other one by the same cell."""
        first, last = self._spanned.get((row, column), ((row, column), (row, column)))
        return first[1] == last[1] and bool(self._own(first))

    def _with_text(self, row: int, columns: set[int]) -> list[int]:
        """Return those of ``columns`` in which a row has a text of its own; its other cells take no time."""
        cells = self._sheet.rows.get(row, {})
        return [column for column in cells.keys() & columns if cells[column]]

    def _own(self, place: Place) -> str:
        return self._sheet.rows.get(place[0], {}).get(place[1], "")

    def _text(self, row: int, column: int, table: _Table, columns: list[int], is_name: bool) -> str:
        """Return the displayed text at a position among ``columns``.

        A merged cell that spans whole rows of a table is not repeated, nor is a long text; a text over many columns
        is written in the first one, unless it ``is_name`` of each.
        """
        span = self._spanned.get((row, column))
        if span is None:
            return self._own((row, column))
        (top, left), (_, right) = span
        text = self._own((top, left))
        if left <= table.columns[0] and right >= table.columns[-1]:
            return text if (row, column) == (top, left) else ""
        is_first_column = column == max(left, table.columns[0])
        if is_first_column and row == max(top, table.rows[0]):
            return text
        is_value = is_name or _count_between(columns, left, right) <= MOST_REPEATED_COLUMNS
        return text if (is_first_column or is_value) and len(text) <= MOST_REPEATED_CHARS else ""


def _count_between(columns: Sequence[int], left: int, right: int) -> int:
    """Return how many of ``columns``, which are sorted, are among those from ``left`` to ``right``."""
    return bisect_right(columns, right) - bisect_left(columns, left)


def _marked(line: list[str]) -> list[str]:
    """Return a row with a hidden mark before its first text."""
    at = next((at for at, text in enumerate(line) if text), None)
    return [f"{_HIDDEN} {text}" if place == at else text for place, text in enumerate(line)]


def _behind(text: str, hidden: bool) -> str:
    return f"{text} {_HIDDEN}".strip() if hidden else text


def _runs(numbers: Sequence[int]) -> list[list[int]]:
    """Return increasing numbers grouped into runs without gaps."""
    runs: list[list[int]] = []
    for one in numbers:
        if runs and runs[-1][-1] == one - 1:
            runs[-1].append(one)
        else:
            runs.append([one])
    return runs
