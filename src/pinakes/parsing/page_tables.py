"""Prepares tables of web pages for conversion: expands spanning cells, merges header rows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from pinakes.parsing.grids import Cell, Grid, filled, with_one_header, without_twins
from pinakes.text.markup import Element, cut, elements

_MOST_CHARS: Final = 5_000_000
_ALL_BELOW: Final = 1000
_TABLE_TAG: Final = re.compile(r"<(/?)(table|thead|tbody|tfoot|tr|td|th)\b[^<>]*>", re.IGNORECASE)
_CAPITAL: Final = re.compile("</?T[A-Za-z]|</?t[a-z]*[A-Z]")
"""Tables with mixed-case tags, of which the converter sometimes keeps only the first cell."""
_OPENED: Final = re.compile(r"<t[dh]\b", re.IGNORECASE)
_SHUT: Final = re.compile(r"</t[dh]\s*>", re.IGNORECASE)
_RANKS: Final = {"td": 3, "th": 3, "tr": 2, "thead": 1, "tbody": 1, "tfoot": 1, "table": 4}
"""Tag ranks: a tag closes open elements of up to its own rank; a table in a cell closes nothing."""
_TAG: Final = re.compile(r"<[^<>]*>")


def with_spans(source: str) -> str:
    """Return a page whose tables have one header row, and the text of each cell in all positions that it spans.

    Unclosed cells are closed, since the converter keeps only the first one of a table with one row.
    """
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
