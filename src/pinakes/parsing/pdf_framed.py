"""Tables of a PDF page whose cells are framed: the words of each cell together, however they are aligned in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from pinakes.parsing.pdf_frames import Frame
from pinakes.parsing.pdf_tables import (
    Block,
    Table,
    has_formulas,
    has_labels,
    is_figure,
    is_named,
    is_year,
    joined,
    with_tables,
)
from pinakes.parsing.pdf_words import PageLine, Word

_MAX_CELL_CHARS: Final = 600
"""A frame with a longer cell lays out the page."""
_MAX_MEAN_CHARS: Final = 120
_MAX_REPEATED_CHARS: Final = 100
_MAX_NAME_CHARS: Final = 60
_MAX_LINE_CHARS: Final = 80
"""Longer rows cannot be lines of the page among others."""
_MAX_MARK_CHARS: Final = 3
_LEAST_FILLED: Final = 0.3
_UNRULED_LINES: Final = 3
"""Cells of one row that all have so many lines are columns whose rows have no lines between them."""
_STRADDLING: Final = 2.0
_SAME_LINE: Final = 0.5
_LEAST_ROWS: Final = 2


@dataclass(slots=True)
class _Filled:
    """The words in the cells of a frame; ``first``: the number of the first line with any."""

    frame: Frame
    cells: dict[tuple[int, int], list[list[Word]]] = field(default_factory=dict)
    lines: set[int] = field(default_factory=set)
    rest: dict[int, list[Word]] = field(default_factory=dict)
    """Line number → its words outside of the frame."""


def blocks_of(lines: Sequence[PageLine], frames: Sequence[Frame]) -> list[Block]:
    """Return the lines and tables of a page, each table at the position of its first line."""
    tables: dict[int, list[Block]] = {}
    edges: dict[int, float] = {}
    left: list[PageLine | None] = list(lines)
    for frame in frames:
        filled = _filled(left, frame)
        if not (blocks := _blocks(filled)):
            continue
        for number in filled.lines:
            words = filled.rest.get(number)
            left[number] = PageLine(words) if words else None
        tables.setdefault(min(filled.lines), []).extend(blocks)
        edges.setdefault(min(filled.lines), frame.columns[0])
    if not tables:
        return with_tables(lines)
    found: list[Block] = []
    run: list[PageLine] = []
    for number, line in enumerate(left):
        blocks = tables.get(number, [])
        beside = [] if line is None else [line]
        first = bool(blocks) and all(one.left < edges[number] for one in beside)
        run += beside if first else []
        if blocks:
            found += [*with_tables(run), *blocks]
            run = []
        run += [] if first else beside
    return [*found, *with_tables(run)]


def _filled(lines: Sequence[PageLine | None], frame: Frame) -> _Filled:
    filled = _Filled(frame)
    for number, line in enumerate(lines):
        if line is None or line.top < frame.rows[-1] or line.bottom > frame.rows[0]:
            continue
        parts: dict[tuple[int, int] | None, list[Word]] = {}
        for word in line.words:
            place = frame.place((word.left + word.right) / 2, (word.bottom + word.top) / 2)
            parts.setdefault(place, []).append(word)
        outside = parts.pop(None, [])
        for place, words in parts.items():
            if place is not None:
                filled.cells.setdefault(place, []).append(words)
        if parts:
            filled.lines.add(number)
            if outside:
                filled.rest[number] = outside
    return filled


def _blocks(filled: _Filled) -> list[Block]:
    """Return the table of a frame, with the rows of a single cell above and below it as lines; [] if it is none."""
    frame = filled.frame
    if _straddles(filled):
        return []
    height, width = len(frame.rows) - 1, len(frame.columns) - 1
    lines = {place: _lines(words) for place, words in filled.cells.items()}
    if _is_unruled(lines, height):
        return []
    texts = {place: _text(each) for place, each in lines.items()}
    first, last = 0, height
    while first < last and len(frame.spans[first]) == 1:
        first += 1
    while first < last and len(frame.spans[last - 1]) == 1:
        last -= 1
    own = {row for row, _ in texts}
    filled_rows = {at: row for at in range(first, last) if at in own and any(row := _row(frame, at, texts))}
    rows = list(filled_rows.values())
    sizes = [len(text) for (row, _), text in texts.items() if first <= row < last]
    full = sum(len(list(filter(None, row))) > 1 for row in rows)
    if full < _LEAST_ROWS or max(sizes) > _MAX_CELL_CHARS or sum(sizes) > _MAX_MEAN_CHARS * len(sizes):
        return []
    if len(sizes) < _LEAST_FILLED * len(rows) * width or has_formulas(list(texts.values())):
        return []
    if len(rows) > _LEAST_ROWS and _has_groups(frame, filled_rows):
        groups = _row(frame, next(iter(filled_rows)), texts, in_all_columns=True)
        names = [" ".join(dict.fromkeys(filter(None, pair))) for pair in zip(groups, rows[1], strict=True)]
        rows = [names, *rows[2:]]
    rows = _without_empty_columns(rows)
    if len(rows[0]) < 2:
        return []
    named = is_named(rows) and max(map(len, rows[0])) <= _MAX_NAME_CHARS and not has_labels(rows)
    if not named and max(len(" ".join(row)) for row in rows) > _MAX_LINE_CHARS:
        return []
    edges = list(pairwise(frame.columns)) if len(rows[0]) == width else []
    above = [PageLine(words) for row in range(first) for words in lines.get((row, 0), [])]
    below = [PageLine(words) for row in range(last, height) for words in lines.get((row, 0), [])]
    return [*above, Table(rows, edges or [(0, 0)] * len(rows[0]), [], named), *below]


def _straddles(filled: _Filled) -> bool:
    """Return whether words lie across the borders of cells, as in drawings."""
    columns, spans = filled.frame.columns, filled.frame.spans
    for (row, column), lines in filled.cells.items():
        after = [begin for begin in spans[row] if begin > column]
        left, right = columns[column], columns[after[0]] if after else columns[-1]
        if any(word.left < left - _STRADDLING or word.right > right + _STRADDLING for words in lines for word in words):
            return True
    return False


def _lines(parts: Sequence[list[Word]]) -> list[list[Word]]:
    """Return the lines of a cell from above: parts at one height are one line."""
    lines: list[list[Word]] = []
    for words in sorted(parts, key=lambda words: -(words[0].top + words[0].bottom)):
        middle = words[0].top + words[0].bottom
        above = lines[-1][0] if lines else None
        if above and above.top + above.bottom - middle < 2 * _SAME_LINE * min(above.height, words[0].height):
            lines[-1] += words
        else:
            lines.append(list(words))
    return lines


def _text(lines: Sequence[Sequence[Word]]) -> str:
    text = ""
    for words in lines:
        text = joined(text, " ".join(word.text for word in words))
    return text


def _is_unruled(lines: dict[tuple[int, int], list[list[Word]]], height: int) -> bool:
    """Return whether the lines inside of the cells are the rows: there are no lines drawn between rows."""
    least = []
    for row in range(height):
        counts = [len(each) for (at, _), each in lines.items() if at == row]
        least.append(min(counts) if len(counts) > 1 else 0)
    return max(least) >= _UNRULED_LINES or sum(count > 1 for count in least) * 2 > height


def _row(frame: Frame, row: int, texts: dict[tuple[int, int], str], *, in_all_columns: bool = False) -> list[str]:
    """Return the texts of a row. A cell over several rows fills them if it is short; one over several columns stands in
    the first of them, or ``in_all_columns``.
    """
    begins = (*frame.spans[row], len(frame.columns) - 1)
    cells: list[str] = []
    for begin, end, top in zip(begins, begins[1:], frame.tops[row], strict=False):
        text = texts.get((top, begin), "")
        shown = text if top == row or len(text) <= _MAX_REPEATED_CHARS else ""
        cells += [shown, *[shown if in_all_columns else ""] * (end - begin - 1)]
    return cells


def _has_groups(frame: Frame, filled: dict[int, list[str]]) -> bool:
    """Return whether the first row has names of groups of columns, and the second one those of the columns.

    Forms and timetables have cells over several columns, too: the other columns must have one name at most, most rows
    below a cell in each column, and the names must be the same in each group, or be above figures or marks.
    """
    (top, groups), (under, names), *body = filled.items()
    spans, width = frame.spans, len(frame.columns) - 1
    whole = sum(len(spans[at]) == width for at, _ in body) * 2 > len(body)
    if not whole or under != top + 1 or len(spans[under]) < width or len(spans[top]) == width:
        return False
    grouped = [range(begin, end) for begin, end in pairwise((*spans[top], width)) if end - begin > 1]
    within = {column for group in grouped for column in group}
    if any(groups[at] and names[at] not in ("", groups[at]) for at in range(width) if at not in within):
        return False
    if any(is_figure(names[at]) and not is_year(names[at]) for at in within):
        return False
    parts = [[names[at] for at in group] for group in grouped]
    if len(parts) > 1 and all(part == parts[0] for part in parts):
        return True
    if len(within) == width:
        return False
    cells = [row[at] for _, row in body for at in within if row[at]]
    return sum(len(cell) <= _MAX_MARK_CHARS or is_figure(cell) for cell in cells) * 2 >= max(1, len(cells))


def _without_empty_columns(rows: list[list[str]]) -> list[list[str]]:
    kept = [any(column) for column in zip(*rows, strict=True)]
    return [[cell for cell, keep in zip(row, kept, strict=True) if keep] for row in rows]
