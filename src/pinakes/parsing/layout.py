"""Nested HTML tables: layout tables become blocks; other tables get inner tables written into their cells."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

_TAG: Final = re.compile(r"<(/?)(table|thead|tbody|tfoot|tr|td|th|caption)\b([^<>]*)>", re.IGNORECASE)
_MOST_IN_LINE: Final = 4000
"""Maximum characters, including tags, of an inner table that is written on one line."""


def without_layout(page: str) -> str:
    """Return HTML without nested tables.

    Tables that contain others, or only one cell, become blocks. If the first row of such a table has column names, its
    rows stay, and a small inner table is written on one line: ``Part, Pieces; bolt, 4; nut, 5``.
    """
    if "<table" not in page.lower():
        return page
    tags = list(_TAG.finditer(page))
    laid, holding = _layout(tags)
    parts: list[str] = []
    position = 0
    own, last = frozenset[int](), -1  # tags of the enclosing table that keeps its rows, and the last of them
    line = _Line()
    for at, tag in enumerate(tags):
        if at in holding and at > last:
            own, last, line = frozenset(holding[at]), holding[at][-1], _Line()
        if at < last and at not in own:
            instead = line.instead(tag)
        elif at in laid and at > last:
            instead = "</div>" if tag[1] else "<div>"
        else:
            continue
        parts.append(page[position : tag.start()])
        if instead.startswith((",", ";")):
            while len(parts) > 1 and not parts[-1].strip():
                parts.pop()
            parts[-1] = parts[-1].rstrip()
        parts.append(instead)
        position = tag.end()
    return "".join([*parts, page[position:]])


class _Line:
    """Replaces the tags of an inner table by separators of rows and cells."""

    def __init__(self) -> None:
        self._rows = self._cells = False

    def instead(self, tag: re.Match[str]) -> str:
        """Return the replacement of ``tag``."""
        name, begins = tag[2].lower(), not tag[1]
        if name == "table" and begins:
            self._rows = self._cells = False
        elif name in ("tr", "caption") and begins:
            self._rows, self._cells, parted = True, False, self._rows
            return "; " if parted else " "
        elif name in ("td", "th") and begins:
            self._cells, parted = True, self._cells
            return ", " if parted else ""
        return "" if name in ("td", "th") else " "


@dataclass(slots=True)
class _Table:
    """A table: indices of its own tags, numbers of cells and inner tables, the largest one, tags of its first row."""

    tags: list[int]
    cells: int = 0
    tables: int = 0
    largest: int = 0
    rows: int = 0
    first: list[str] = field(default_factory=list)

    def add(self, at: int, tag: re.Match[str]) -> None:
        """Count one of the table's own tags."""
        self.tags.append(at)
        if tag[1]:
            return
        name = tag[2].lower()
        self.rows += name == "tr"
        if name in ("td", "th"):
            self.cells += 1
            if self.rows <= 1:
                self.first.append(name)

    @property
    def has_names(self) -> bool:
        """Whether the first row has column names, and other rows follow."""
        return self.rows > 1 and len(self.first) > 1 and all(name == "th" for name in self.first)


def _layout(tags: list[re.Match[str]]) -> tuple[set[int], dict[int, list[int]]]:
    """Return the tags of layout tables, and outer tables with column names → the tags of their inner tables."""
    laid: set[int] = set()
    holding: dict[int, list[int]] = {}
    opened: list[_Table] = []
    for at, tag in enumerate(tags):
        is_table, closing = tag[2].lower() == "table", bool(tag[1])
        if is_table and not closing:
            if opened:
                opened[-1].tables += 1
            opened.append(_Table([at]))
        elif opened:
            opened[-1].add(at, tag)
            if is_table:
                table = opened.pop()
                if opened:
                    opened[-1].largest = max(opened[-1].largest, tag.end() - tags[table.tags[0]].start())
                if table.tables and table.has_names and table.largest <= _MOST_IN_LINE:
                    holding[table.tags[0]] = table.tags
                elif table.tables or table.cells <= 1:
                    laid.update(table.tags)
    return laid, holding
