"""Finds the framed tables of a PDF page: rows and columns between the lines that are drawn around cells."""

from __future__ import annotations

import ctypes
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from pinakes.parsing.pdf_gaps import Box

_PATH: Final = 2
_LINE, _MOVE = 0, 2
_THIN: Final = 3.0
"""A rectangle that is thinner, in points, is a line."""
_LEAST: Final = 4.0
"""Shorter lines are parts of drawings."""
_SAME: Final = 2.5
"""Lines at most this far from each other are at one place."""
_REACH: Final = 2.0
"""Lines meet if they are at most this far apart."""
_COVERED: Final = 0.7
"""A line parts two cells if it covers this share of the border between them."""
_MOST_OBJECTS: Final = 4000
_MOST_SEGMENTS: Final = 400
_MOST_LINES: Final = 3000
"""A page with more lines is a drawing."""
_MOST_SEGMENTS_OF_PAGE: Final = 20_000
_MOST_PAIRS: Final = 100_000
"""A page with more segments, or more pairs of lines that may touch, is a drawing, too."""
_MOST_COLUMNS: Final = 40
_LEAST_PLACES: Final = 3
"""Lines of a table in each direction: two rows and two columns at least."""


@dataclass(frozen=True, slots=True)
class Frame:
    """The lines of one table: the edges of its columns from the left, and of its rows from the top.

    ``spans``: for each row, the columns in which its cells begin; a cell reaches to the next one. ``tops``: for each of
    these, the row in which the cell begins: merged cells begin above.
    """

    columns: tuple[float, ...]
    rows: tuple[float, ...]
    spans: tuple[tuple[int, ...], ...]
    tops: tuple[tuple[int, ...], ...]

    def place(self, across: float, down: float) -> tuple[int, int] | None:
        """Return the first row and column of the cell that a point is in, None if it is outside."""
        if not (self.columns[0] <= across <= self.columns[-1] and self.rows[-1] <= down <= self.rows[0]):
            return None
        row = min(max(bisect_right([-edge for edge in self.rows], -down), 1), len(self.rows) - 1) - 1
        column = min(max(bisect_right(self.columns, across), 1), len(self.columns) - 1) - 1
        cell = bisect_right(self.spans[row], column) - 1
        return self.tops[row][cell], self.spans[row][cell]

    def is_around(self, other: Frame) -> bool:
        """Return whether another frame is in this one, which then lays out the page."""
        across = self.columns[0] < other.columns[0] and other.columns[-1] < self.columns[-1]
        return across and other.rows[0] < self.rows[0] and self.rows[-1] < other.rows[-1]


@dataclass(slots=True)
class _Rule:
    """A line at ``place`` from ``begin`` to ``end``; ``across``: it is horizontal."""

    across: bool
    place: float
    begin: float
    end: float


def frames_of(library: Any, page: Any, turn: Callable[[Box], Box]) -> tuple[Frame, ...]:
    """Return the framed tables of a page; ``turn`` turns a box upright."""
    count = library.FPDFPage_CountObjects(page)
    rules: list[_Rule] = []
    segments = 0
    for at in range(min(count, _MOST_OBJECTS)):
        drawn = library.FPDFPage_GetObject(page, at)
        if library.FPDFPageObj_GetType(drawn) == _PATH:
            segments += library.FPDFPath_CountSegments(drawn)
            rules += _rules(_boxes(library, drawn), turn)
            if len(rules) > _MOST_LINES or segments > _MOST_SEGMENTS_OF_PAGE:
                return ()
    if len(rules) < 2 * _LEAST_PLACES - 2:
        return ()
    frames = [frame for group in _groups(_distinct(rules)) if (frame := _frame(group))]
    return tuple(frame for frame in frames if not any(frame.is_around(other) for other in frames))


def _boxes(library: Any, drawn: Any) -> Iterator[Box]:
    """Yield the boxes of the lines of a path, or its own if it is a line or a rectangle."""
    edges = [ctypes.c_float() for _ in range(4)]
    if not library.FPDFPageObj_GetBounds(drawn, *map(ctypes.byref, edges)):
        return
    left, bottom, right, top = (edge.value for edge in edges)
    segments = library.FPDFPath_CountSegments(drawn)
    if min(right - left, top - bottom) < _THIN or segments <= 2:
        yield left, right, bottom, top
    elif segments <= _MOST_SEGMENTS:
        yield from _segments(library, drawn, segments)


def _segments(library: Any, drawn: Any, count: int) -> Iterator[Box]:
    """Yield the box of each straight segment of a path; nothing if the path has a curve."""
    matrix = library.FS_MATRIX()
    if not library.FPDFPageObj_GetMatrix(drawn, ctypes.byref(matrix)):
        return
    found: list[Box] = []
    x, y = ctypes.c_float(), ctypes.c_float()
    first = last = (0.0, 0.0)
    for at in range(count):
        segment = library.FPDFPath_GetPathSegment(drawn, at)
        kind = library.FPDFPathSegment_GetType(segment)
        library.FPDFPathSegment_GetPoint(segment, ctypes.byref(x), ctypes.byref(y))
        point = (
            matrix.a * x.value + matrix.c * y.value + matrix.e,
            matrix.b * x.value + matrix.d * y.value + matrix.f,
        )
        if kind == _MOVE:
            first = point
        elif kind == _LINE:
            found.append(_box(last, point))
        else:
            return
        last = point
        if library.FPDFPathSegment_GetClose(segment) and point != first:
            found.append(_box(point, first))
    yield from found


def _box(one: tuple[float, float], other: tuple[float, float]) -> Box:
    return min(one[0], other[0]), max(one[0], other[0]), min(one[1], other[1]), max(one[1], other[1])


def _rules(boxes: Iterable[Box], turn: Callable[[Box], Box]) -> Iterator[_Rule]:
    for box in boxes:
        left, right, bottom, top = turn(box)
        if top - bottom < _THIN and right - left >= _LEAST:
            yield _Rule(True, (bottom + top) / 2, left, right)
        elif right - left < _THIN and top - bottom >= _LEAST:
            yield _Rule(False, (left + right) / 2, bottom, top)


def _distinct(rules: Sequence[_Rule]) -> list[_Rule]:
    """Return lines without those drawn twice: boxes of adjacent cells share their edges."""
    return list({(one.across, round(one.place), round(one.begin), round(one.end)): one for one in rules}.values())


def _groups(rules: Sequence[_Rule]) -> Iterator[list[_Rule]]:
    """Yield the lines that touch each other, directly or by others; nothing if there are too many."""
    upright = sorted((rule for rule in rules if not rule.across), key=lambda rule: rule.place)
    places = [rule.place for rule in upright]
    parents: dict[int, int] = {}

    def root(one: int) -> int:
        while parents.get(one, one) != one:
            parents[one] = parents.get(parents[one], parents[one])
            one = parents[one]
        return one

    flat = [rule for rule in rules if rule.across]
    pairs = 0
    for rule in flat:
        low, high = bisect_right(places, rule.begin - _REACH), bisect_right(places, rule.end + _REACH)
        pairs += high - low
        if pairs > _MOST_PAIRS:
            return
        for other in upright[low:high]:
            if other.begin - _REACH <= rule.place <= other.end + _REACH:
                parents[root(id(other))] = root(id(rule))
    groups: dict[int, list[_Rule]] = {}
    for rule in (*flat, *upright):
        groups.setdefault(root(id(rule)), []).append(rule)
    yield from groups.values()


def _frame(rules: Sequence[_Rule]) -> Frame | None:
    """Return the table that lines make, None if they make none."""
    flat = [rule for rule in rules if rule.across]
    upright = [rule for rule in rules if not rule.across]
    rows, columns = _places(flat)[::-1], _places(upright)
    if min(len(rows), len(columns)) < _LEAST_PLACES or len(columns) > _MOST_COLUMNS:
        return None
    above = [_covered(flat, edge, columns) for edge in rows]
    above[0] = above[-1] = [True] * (len(columns) - 1)
    kept = [at for at, covered in enumerate(above) if any(covered)]
    rows, above = [rows[at] for at in kept], [above[at] for at in kept]
    spans: list[tuple[int, ...]] = []
    tops: list[tuple[int, ...]] = []
    for at, (top, bottom) in enumerate(pairwise(rows)):
        between = [rule for rule in upright if min(rule.end, top) - max(rule.begin, bottom) > _COVERED * (top - bottom)]
        inner = enumerate(columns[1:-1], 1)
        begins = (0, *(column for column, edge in inner if any(abs(one.place - edge) <= _SAME for one in between)))
        ends = (*begins[1:], len(columns) - 1)
        tops.append(
            tuple(
                tops[-1][spans[-1].index(begin)] if at and _is_merged(begin, end, spans[-1], above[at]) else at
                for begin, end in zip(begins, ends, strict=True)
            )
        )
        spans.append(begins)
    return Frame(tuple(columns), tuple(rows), tuple(spans), tuple(tops)) if len(rows) >= _LEAST_PLACES else None


def _is_merged(begin: int, end: int, spans_above: Sequence[int], covered: Sequence[bool]) -> bool:
    """Return whether no line parts a cell from the one above, which has the same columns."""
    at = spans_above.index(begin) if begin in spans_above else -1
    ends = (*spans_above[1:], len(covered))
    return at >= 0 and ends[at] == end and not any(covered[begin:end])


def _covered(flat: Sequence[_Rule], edge: float, columns: Sequence[float]) -> list[bool]:
    """Return for each column whether lines at the height ``edge`` reach across it."""
    here = [rule for rule in flat if abs(rule.place - edge) <= _SAME]
    return [
        sum(max(0.0, min(rule.end, right) - max(rule.begin, left)) for rule in here) >= _COVERED * (right - left)
        for left, right in pairwise(columns)
    ]


def _places(rules: Sequence[_Rule]) -> list[float]:
    """Return the different places of lines, ascending."""
    found: list[float] = []
    for place in sorted(rule.place for rule in rules):
        if not found or place - found[-1] > _SAME:
            found.append(place)
    return found
