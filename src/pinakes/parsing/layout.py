"""Tables that hold other tables: those that only lay out a page become blocks, others have the inner ones in a cell."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

_TAG: Final = re.compile(r"<(/?)(table|thead|tbody|tfoot|tr|td|th|caption)\b([^<>]*)>", re.IGNORECASE)
_MOST_IN_LINE: Final = 4000
"""Characters of a table in a cell, tags included, that are written in a line."""


def without_layout(page: str) -> str:
    """Return HTML in which no table holds another one.

    Tables that hold others, or one cell only, are blocks. Where the first row of such a table is column names, its rows
    stay, and a small table in one of its cells is written in a line: ``Part, Pieces; bolt, 4; nut, 5``.
    """
    if "<table" not in page.lower():
        return page
    tags = list(_TAG.finditer(page))
    laid, holding = _layout(tags)
    parts: list[str] = []
    position = 0
    own, last = frozenset[int](), -1  # the tags of the table with rows that a tag is in, and the last of them
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
    """Writes the tags of tables as what parts rows and cells in a line."""

    def __init__(self) -> None:
        self._rows = self._cells = False

    def instead(self, tag: re.Match[str]) -> str:
        """Return what stands for ``tag``."""
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
    """A table: its own tags, how many cells and tables it holds, the length of the largest, what its first row has."""

    tags: list[int]
    cells: int = 0
    tables: int = 0
    largest: int = 0
    rows: int = 0
    first: list[str] = field(default_factory=list)

    def add(self, at: int, tag: re.Match[str]) -> None:
        """Count one of its own tags."""
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
        """Whether its first row is column names, and others follow."""
        return self.rows > 1 and len(self.first) > 1 and all(name == "th" for name in self.first)


def _layout(tags: list[re.Match[str]]) -> tuple[set[int], dict[int, list[int]]]:
    """Return which tags belong to tables that lay out, and the tags of those that hold others in rows with names."""
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
