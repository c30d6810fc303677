"""Tables as grids: expands spanning cells, merges header rows, writes Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

_MOST_SPANNED: Final = 1000
"""The maximum rows or columns that one cell may span, as in HTML."""
_GROWTH: Final = 10
_FREE_CELLS: Final = 10_000
_FREE_CHARS: Final = 50_000
"""Characters that spans may add to a table, beyond ten times its own: a small file can ask for millions."""
MOST_REPEATED_CHARS: Final = 100
"""Longer texts of spanning cells are notes rather than keys of their rows, and are written once."""
MOST_REPEATED_COLUMNS: Final = 3
"""A cell over more columns, below the header, is a text rather than the value of each, as in forms."""
_PARTED: Final = " / "


class Cell(NamedTuple):
    """A cell of a file: its text, and how many columns and rows it spans."""

    text: str
    columns: int = 1
    rows: int = 1


Grid = list[list[str]]


def filled(rows: Sequence[Sequence[Cell]], heads: int = 1) -> Grid:
    """Return the grid of texts, in which a spanning cell fills all its positions; the first ``heads`` rows are names.

    Rows may differ in length. A cell alone in its row, such as the name of a group of rows, is not repeated, nor is a
    long text; a text over many columns fills the first one. Spans that would make the table many times larger are not
    expanded.
    """
    left = _Budget(rows)
    grid: Grid = []
    above: dict[int, tuple[str, int]] = {}  # column → text, and number of rows below that it still fills
    for number, row in enumerate(rows):
        line: list[str] = []
        below: dict[int, tuple[str, int]] = {}
        cells, alone = iter(row), len(row) == 1 and not above
        while True:
            at = len(line)
            if at in above:
                text, count = above.pop(at)
                line.append(left.repeated(text))
                if count > 1:
                    below[at] = text, count - 1
                continue
            cell = next(cells, None)
            if cell is None:
                if not above:
                    break
                line.append("")
                continue
            columns, down = left.spans(cell)
            is_value = number < max(heads, 1) or columns <= MOST_REPEATED_COLUMNS
            repeated = cell.text if is_value and not alone else ""
            line += [cell.text, *(left.repeated(repeated) for _ in range(columns - 1))]
            if down > 1:
                below |= {at + one: (cell.text if not one else repeated, down - 1) for one in range(columns)}
            for one in range(at, at + columns):
                above.pop(one, None)
        grid.append(line)
        above = below
    return grid


def without_twins(grid: Grid) -> Grid:
    """Return a table without columns that equal the previous one in every row, as spanning cells cause."""
    width = max(map(len, grid), default=0)
    kept = [at for at in range(width) if not at or any(row[at - 1 : at] != row[at : at + 1] for row in grid)]
    return [[row[at] for at in kept if at < len(row)] for row in grid] if len(kept) < width else grid


class _Budget:
    """The budget of cells and characters that spans may add to a table."""

    def __init__(self, rows: Sequence[Sequence[Cell]]) -> None:
        self._cells = _FREE_CELLS + _GROWTH * sum(map(len, rows))
        self._chars = _FREE_CHARS + _GROWTH * sum(len(cell.text) for row in rows for cell in row)

    def spans(self, cell: Cell) -> tuple[int, int]:
        """Return how many columns and rows ``cell`` may fill."""
        columns, rows = (min(max(count, 1), _MOST_SPANNED) for count in (cell.columns, cell.rows))
        if columns * rows > 1:
            self._cells -= columns * rows - 1
        return (columns, rows) if self._cells >= 0 else (1, 1)

    def repeated(self, text: str) -> str:
        """Return ``text`` if it may be repeated, else ""."""
        if len(text) > MOST_REPEATED_CHARS:
            return ""
        self._chars -= len(text)
        return text if self._chars >= 0 else ""


def with_one_header(grid: Grid, heads: int) -> Grid:
    """Return a table whose first ``heads`` rows are merged into one: the distinct names of each column joined."""
    if heads < 2 or len(grid) < heads:
        return grid
    width = max(map(len, grid[:heads]))
    columns = ([row[at] if at < len(row) else "" for row in grid[:heads]] for at in range(width))
    return [[_PARTED.join(dict.fromkeys(filter(None, names))) for names in columns], *grid[heads:]]


def markdown(grid: Grid, heads: int = 1) -> str:
    """Return a grid as a Markdown table, ``""`` if no cell has words; blank rows and columns are dropped.

    ``heads``: number of header rows; with 0 the columns have no names. A single column becomes paragraphs.
    """
    rows = [row for row in with_one_header(grid, heads) if any(row)]
    if not rows:
        return ""
    used = sorted({at for row in rows for at, text in enumerate(row) if text})
    if len(used) == 1:
        return "\n\n".join(row[used[0]] for row in rows if used[0] < len(row) and row[used[0]])
    if len(used) < max(map(len, rows)):
        rows = [[row[at] for at in used if at < len(row)] for row in rows]
    if not heads:
        rows.insert(0, [""] * len(used))
    width = len(used) if len(used) * len(rows) <= _FREE_CELLS + _GROWTH * sum(map(len, rows)) else 0
    lines = [_line(row, width) for row in rows]
    lines.insert(1, f"|{' --- |' * max(width, len(rows[0]), 1)}")
    return "\n".join(lines)


def _line(row: Sequence[str], width: int) -> str:
    """Return a table row of at least ``width`` cells."""
    cells = (" ".join(text.split()).replace("|", "\\|") if text else "" for text in row)
    return f"| {' | '.join(cells)} |" + "  |" * (width - len(row))
