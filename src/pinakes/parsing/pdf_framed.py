"""Tables of a PDF page whose cells are framed: the words of each cell together, however they are aligned in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from pinakes.parsing.pdf_frames import Frame
from pinakes.parsing.pdf_tables import Block, Table, has_formulas, is_named, joined, with_tables
from pinakes.parsing.pdf_words import PageLine, Word

_MAX_CELL_CHARS: Final = 600
"""A frame with a longer cell lays out the page."""
_MAX_MEAN_CHARS: Final = 120
_MAX_REPEATED_CHARS: Final = 100
_MAX_NAME_CHARS: Final = 60
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
    taken: dict[int, list[Block]] = {}
    rest: dict[int, list[Word]] = {}
    for frame in frames:
        filled = _filled(lines, frame)
        if filled.lines & taken.keys() or not (blocks := _blocks(filled)):
            continue
        taken |= {number: [] for number in filled.lines}
        taken[min(filled.lines)] = blocks
        rest |= filled.rest
    if not taken:
        return with_tables(lines)
    found: list[Block] = []
    run: list[PageLine] = []
    for number, line in enumerate(lines):
        if blocks := taken.get(number, []):
            found += [*with_tables(run), *blocks]
            run = []
        left = rest.get(number, []) if number in taken else line.words
        run += [line] if number not in taken else [PageLine(left)] if left else []
    return [*found, *with_tables(run)]


def _filled(lines: Sequence[PageLine], frame: Frame) -> _Filled:
    filled = _Filled(frame)
    for number, line in enumerate(lines):
        if line.top < frame.rows[-1] or line.bottom > frame.rows[0]:
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
    rows = [row for at in range(first, last) if any(row := _row(frame, at, texts))]
    sizes = [len(text) for (row, _), text in texts.items() if first <= row < last]
    full = sum(len(list(filter(None, row))) > 1 for row in rows)
    if full < _LEAST_ROWS or max(sizes) > _MAX_CELL_CHARS or sum(sizes) > _MAX_MEAN_CHARS * len(sizes):
        return []
    if len(sizes) < _LEAST_FILLED * len(rows) * width or has_formulas(list(texts.values())):
        return []
    if len(rows) > _LEAST_ROWS and len(frame.spans[first]) < len(frame.spans[first + 1]):
        names = [" ".join(dict.fromkeys(filter(None, pair))) for pair in zip(*rows[:2], strict=True)]
        rows = [names, *rows[2:]]
    rows = _without_empty_columns(rows)
    if len(rows[0]) < 2:
        return []
    named = is_named(rows) and max(map(len, rows[0])) <= _MAX_NAME_CHARS
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


def _row(frame: Frame, row: int, texts: dict[tuple[int, int], str]) -> list[str]:
    """Return the texts of a row. Cells over several rows or columns fill them, unless they fill the row or are long."""
    begins = (*frame.spans[row], len(frame.columns) - 1)
    cells: list[str] = []
    for begin, end, top in zip(begins, begins[1:], frame.tops[row], strict=False):
        text = texts.get((top, begin), "")
        repeated = text if len(text) <= _MAX_REPEATED_CHARS else ""
        cells += [text if top == row else repeated, *([repeated if len(begins) > 2 else ""] * (end - begin - 1))]
    return cells


def _without_empty_columns(rows: list[list[str]]) -> list[list[str]]:
    kept = [any(column) for column in zip(*rows, strict=True)]
    return [[cell for cell, keep in zip(row, kept, strict=True) if keep] for row in rows]
