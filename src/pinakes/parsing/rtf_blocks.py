"""Builds paragraphs and tables from RTF control words."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from pinakes.parsing import blocks
from pinakes.parsing.blocks import Block
from pinakes.parsing.grids import Cell, filled
from pinakes.parsing.openxml import clean
from pinakes.parsing.text_runs import Piece, joined

_BULLET: Final = re.compile("[^\\w()]{0,2}|o|§|Ø|ü|v")
_NEAR: Final = 20
"""Cell borders within this distance, in twips, are the same."""
_MOST_BORDERS: Final = 1000


@dataclass(slots=True)
class _Edge:
    """The right edge of a cell, and whether the cell continues the one above or on its left."""

    right: int
    from_above: bool = False
    from_left: bool = False


@dataclass(slots=True)
class _Row:
    edges: list[_Edge] = field(default_factory=list)
    cells: list[str] = field(default_factory=list)
    is_head: bool = False


@dataclass(slots=True)
class Flow:
    """An independent text. ``styles``: number of a heading style → its level."""

    styles: dict[int, int]
    had_pages: bool = False
    hidden: int = 0
    _found: list[Block] = field(default_factory=list)
    _pieces: list[Piece] = field(default_factory=list)
    _cell: list[str] = field(default_factory=list)
    _cells: list[str] = field(default_factory=list)
    _rows: list[_Row] = field(default_factory=list)
    _edges: list[_Edge] = field(default_factory=list)
    _next: _Edge = field(default_factory=lambda: _Edge(0))
    _is_head: bool = False
    _in_table: bool = False
    _level: int = 0
    _label: str | None = None
    _depth: int = 0

    def add(self, piece: Piece) -> None:
        """Add text to the current paragraph."""
        self._pieces.append(piece)

    def withdraw(self, piece: Piece) -> None:
        """Remove a piece from the current paragraph."""
        at = next((at for at in reversed(range(len(self._pieces))) if self._pieces[at] is piece), None)
        if at is not None:
            del self._pieces[at]

    def labelled(self, label: str) -> None:
        """Set the label of the current paragraph: the number or bullet of a list item."""
        self._label = label.strip()

    def control(self, word: str, value: int | None) -> None:
        """Apply a control word; those that do not concern paragraphs and tables are ignored."""
        if word in ("par", "sect"):
            self._paragraph()
        elif word == "pard":
            self._level, self._depth, self._in_table = 0, 0, False
        elif word == "intbl":
            self._in_table = True
        elif word in ("cell", "row", "nestrow"):
            self._paragraph(in_cell=True)
            if word == "cell":
                self._cells.append(" ".join(filter(None, self._cell)))
                self._cell = []
            elif word == "row":
                self._row()
        elif word == "outlinelevel":
            self._level = min((value or 0) + 1, 6) if value is not None and 0 <= value < 9 else 0
        elif word == "s":
            self._level = self.styles.get(value or 0, 0)
        elif word in ("ilvl", "pnlvl"):
            self._depth = min(max(value or 0, 0), 8)
        else:
            self._defined(word, value or 0)

    def _defined(self, word: str, value: int) -> None:
        """Apply a control word of a table row definition."""
        if word == "trowd":
            self._edges, self._next, self._is_head = [], _Edge(0), False
        elif word == "trhdr":
            self._is_head = True
        elif word == "cellx":
            self._next.right = value
            self._edges.append(self._next)
            self._next = _Edge(0)
        elif word == "clvmrg":
            self._next.from_above = True
        elif word == "clmrg":
            self._next.from_left = True

    def finished(self) -> list[Block]:
        """Return all blocks."""
        self._paragraph()
        if self._cell or self._cells:
            self._row()
        self._table()
        return self._found

    def _paragraph(self, *, in_cell: bool = False) -> None:
        pieces, self._pieces = self._pieces, []
        label, self._label = self._label, None
        is_cell = in_cell or self._in_table
        raw, hidden = joined(pieces, marked=not self._level and not is_cell)
        self.hidden += hidden
        text = "\n".join(" ".join(one.split()) for one in clean(_whole(raw)).split("\n")).strip()
        if is_cell:
            self._cell += filter(None, [f"{label} {text}".strip() if label else text])
            return
        if not text:
            return
        if self._cells or self._cell:
            self._row()
        self._table()
        label = "-" if label is not None and _BULLET.fullmatch(label) else label
        self._found.append(blocks.paragraph(text, self._level, label, self._depth))

    def _row(self) -> None:
        if self._cell:
            self._cells.append(" ".join(filter(None, self._cell)))
        self._rows.append(_Row(self._edges, self._cells, self._is_head))
        self._cell, self._cells = [], []

    def _table(self) -> None:
        """Add the current table, whose rows are complete."""
        rows, self._rows = self._rows, []
        if not rows:
            return
        if all(len(row.cells) <= 1 for row in rows):
            self._found += (Block("text", text) for row in rows for text in row.cells if text)
            return
        heads = 0
        while heads < min(len(rows) - 1, blocks.MOST_HEADS) and rows[heads].is_head:
            heads += 1
        self._found += blocks.table(filled(_spanning(rows), heads), heads)


def _spanning(rows: list[_Row]) -> list[list[Cell]]:
    """Return the cells of each row with their spans, derived from their edges."""
    places = _places(rows)
    found: list[list[Cell]] = []
    above: dict[int, tuple[int, int]] = {}  # column → row and index of the cell that may span down
    for row in rows:
        line: list[Cell] = []
        column = 0
        for at, text in enumerate(row.cells):
            edge = row.edges[at] if at < len(row.edges) else _Edge(-1)
            end = places.get(edge.right, column + 1)
            columns = max(end - column, 1)
            if edge.from_left and line and not text:
                line[-1] = line[-1]._replace(columns=line[-1].columns + columns)
            elif edge.from_above and column in above and not text:
                top, place = above[column]
                found[top][place] = found[top][place]._replace(rows=len(found) - top + 1)
            else:
                above[column] = len(found), len(line)
                line.append(Cell(text, columns))
            column += columns
        found.append(line)
    return found


def _places(rows: list[_Row]) -> dict[int, int]:
    """Return border → index of the column that ends there."""
    borders = sorted({edge.right for row in rows for edge in row.edges})
    if len(borders) > _MOST_BORDERS:
        return {}
    places: dict[int, int] = {}
    count, last = 0, -_NEAR - 1
    for border in borders:
        count += border - last > _NEAR
        places[border], last = count, border
    return places


def _whole(text: str) -> str:
    """Return text with surrogate pairs joined."""
    if any(0xD800 <= ord(char) < 0xE000 for char in text) if not text.isascii() else False:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
