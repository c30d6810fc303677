"""Tables of web pages: nested tables become blocks or text; spanning cells are expanded, header rows merged."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from pinakes.parsing.grids import Cell, Grid, filled, with_one_header, without_twins
from pinakes.text.markup import Element, cut, elements

_MOST_CHARS: Final = 5_000_000
_ALL_BELOW: Final = 1000
_TABLE_TAG: Final = re.compile(r"<(/?)(table|thead|tbody|tfoot|tr|td|th)\b[^<>]*>", re.IGNORECASE)
_CAPITAL: Final = re.compile("</?T[A-Za-z]|</?t[a-z]*[A-Z]")
"""Tables with mixed-case tags, of which the converter sometimes keeps only the first cell."""
_LOOSE: Final = re.compile(
    r"(<tr\b[^<>]*>|</t[rdh]\s*>)(?=(?:\s|&nbsp;|&#160;)*+[^<\s])([^<]++)(?=</?t(?:[rdh]|able|body|foot)\b)",
    re.IGNORECASE,
)
"""Text of a row outside of its cells, which the converter drops."""
_OPENED: Final = re.compile(r"<t[dh]\b", re.IGNORECASE)
_SHUT: Final = re.compile(r"</t[dh]\s*>", re.IGNORECASE)
_RANKS: Final = {"td": 3, "th": 3, "tr": 2, "thead": 1, "tbody": 1, "tfoot": 1, "table": 4}
"""Tag ranks: a tag closes open elements of up to its own rank; a table in a cell closes nothing."""
_TAG: Final = re.compile(r"<[^<>]*>")
_NESTED_TAG: Final = re.compile(r"<(/?)(table|thead|tbody|tfoot|tr|td|th|caption|h[1-6])\b([^<>]*)>", re.IGNORECASE)
_MOST_IN_LINE: Final = 4000
"""Maximum characters, including tags, of an inner table that is written on one line."""


def with_spans(source: str) -> str:
    """Return a page whose tables have one header row, and the text of each cell in all positions that it spans.

    Unclosed cells are closed, since the converter keeps only the first one of a table with one row.
    """
    source = _LOOSE.sub(r"\1<div>\2</div>", source)
    if _CAPITAL.search(source):
        source = _TABLE_TAG.sub(lambda tag: tag[0].replace(tag[2], tag[2].lower(), 1), source)
    if len(_OPENED.findall(source)) > len(_SHUT.findall(source)):
        source = _closed(source)
    if len(source) > _MOST_CHARS or ("span" not in source and "<thead" not in source):
        return source
    source = _closed(source)
    found = elements(source)
    of_table = _rows(found)
    changes = []
    for at, rows in of_table.items():
        table = found[at]
        caption = found[at + 1] if at + 1 < len(found) and found[at + 1].tag == "caption" else None
        inside = caption.end if caption else table.inside
        cells = [cell for _, row in rows for cell in row]
        if not _has_words_between(source, cells, inside, table.inner_end) and (inner := _rewritten(source, rows)):
            changes.append((inside, table.inner_end, inner))
    return cut(source, (0, len(source)), changes)


def _closed(source: str) -> str:
    """Return a page with the implied end tags of cells and rows."""
    parts: list[str] = []
    at = 0
    opened: list[str] = []
    for match in _TABLE_TAG.finditer(source):
        name, ends = match[2].lower(), bool(match[1])
        rank = 0 if ends and name == "table" else _RANKS[name]
        closing = []
        while opened and opened[-1] != "table" and _RANKS[opened[-1]] >= rank and not (ends and opened[-1] == name):
            closing.append(f"</{opened.pop()}>")
        if closing:
            parts += [source[at : match.start()], *closing]
            at = match.start()
        if not ends:
            opened.append(name)
        elif opened and opened[-1] == name:
            opened.pop()
    return "".join([*parts, source[at:]])


def _has_words_between(source: str, cells: Sequence[Element], begin: int, end: int) -> bool:
    """Return whether a table has text outside of its cells, which would be lost."""
    for cell in cells:
        if _TAG.sub("", source[begin : cell.start]).strip():
            return True
        begin = max(begin, cell.end)
    return bool(_TAG.sub("", source[begin:end]).strip())


def _rows(found: Sequence[Element]) -> dict[int, list[tuple[bool, list[Element]]]]:
    """Return, for each table without inner tables, its rows: whether they are in the head, and their cells."""
    tables: dict[int, dict[int, tuple[bool, list[Element]]]] = {}
    owner: list[int | None] = []  # the enclosing table of each element
    head: list[bool] = []
    holding: set[int] = set()
    for at, element in enumerate(found):
        parent = element.parent
        above = (owner[parent], head[parent]) if parent is not None else (None, False)
        if element.tag == "table":
            if above[0] is not None:
                holding.add(above[0])
            tables[at] = {}
            above = at, False
        elif element.tag == "thead":
            above = above[0], True
        owner.append(above[0])
        head.append(above[1])
        if above[0] is None or parent is None:
            continue
        if element.tag == "tr":
            tables[above[0]][at] = above[1], []
        elif element.tag in ("td", "th") and parent in tables[above[0]]:
            tables[above[0]][parent][1].append(element)
    return {at: list(rows.values()) for at, rows in tables.items() if at not in holding}


def _rewritten(source: str, rows: list[tuple[bool, list[Element]]]) -> str:
    """Return a table with all its cells, "" if it need not change."""
    heads = 0
    while heads < len(rows) and rows[heads][0]:
        heads += 1
    spans = [[_cell(source, cell) for cell in cells] for _, cells in rows]
    if not any(cell.columns > 1 or cell.rows > 1 for row in spans for cell in row) and heads < 2:
        return ""
    while not heads or heads < len(rows):
        cells = rows[heads][1] if heads < len(rows) else []
        if not cells or any(cell.tag != "th" for cell in cells) or (heads and len(cells) < 2):
            break
        heads += 1
    if not heads and spans and spans[0]:
        heads = min(max(cell.rows for cell in spans[0]), len(rows)) if len(spans[0]) > 1 else 0
    grid = filled(spans, heads)
    title = ""
    if len(grid) > 1 and grid[0] and not any(grid[0][1:]) and len(grid[0]) > 1 and rows[0][1][0].tag == "th":
        title, grid, heads = f"<caption>{grid[0][0]}</caption>", grid[1:], max(heads - 1, 0)
    grid = with_one_header(without_twins(grid), min(heads, max(len(grid) - 1, 1)))
    return title + "".join(_lines(grid))


def _lines(grid: Grid) -> Iterator[str]:
    for at, row in enumerate(grid):
        tag = "td" if at else "th"
        yield f"<tr>{''.join(f'<{tag}>{text}</{tag}>' for text in row)}</tr>"


def _cell(source: str, cell: Element) -> Cell:
    inner = source[cell.inside : cell.inner_end].strip()
    return Cell(inner, _span(cell, "colspan"), _span(cell, "rowspan") or _ALL_BELOW)


def _span(cell: Element, name: str) -> int:
    value = cell.attributes.get(name, "1").strip()
    return int(value) if value.isdecimal() and len(value) < 6 else 1


def without_layout(page: str) -> str:
    """Return HTML without nested tables.

    Tables that contain others, only one cell, or only one row with a heading become blocks. If the first row of such a
    table has column names, its rows stay, and a small inner table is written on one line:
    ``Part, Pieces; bolt, 4; nut, 5``.
    """
    if "<table" not in page.lower():
        return page
    tags = list(_NESTED_TAG.finditer(page))
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
    headings: int = 0
    first: list[str] = field(default_factory=list)

    def add(self, at: int, tag: re.Match[str]) -> None:
        """Count one of the table's own tags."""
        name = tag[2].lower()
        if name[1:].isdecimal():
            self.headings += not tag[1]
            return
        self.tags.append(at)
        if tag[1]:
            return
        self.rows += name == "tr"
        if name in ("td", "th"):
            self.cells += 1
            if self.rows <= 1:
                self.first.append(name)

    @property
    def is_layout(self) -> bool:
        """Whether the table only places what it contains."""
        one_row = self.rows <= 1 and "th" not in self.first
        return bool(self.tables) or self.cells <= 1 or (one_row and bool(self.headings))

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
                elif table.is_layout:
                    laid.update(table.tags)
    return laid, holding
