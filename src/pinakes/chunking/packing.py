"""From an outline to chunks: sections that fit stay whole, others are cut at their best places and packed."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter

import numpy as np

from pinakes.chunking import prose
from pinakes.chunking.outline import Outline, Section, Symbol
from pinakes.chunking.scale import Scale, common
from pinakes.types import Chunk, Int64

TINY_SHARE = 4
"""A section under one part in so many of a chunk may be joined with its neighbour."""
TAIL = 1.5
"""What is left of a section is cut evenly once it is less than so many chunks."""


@dataclass(frozen=True, slots=True)
class _Passage:
    start: int
    end: int
    path: tuple[str, ...]
    whole: bool


def assemble(scale: Scale, outline: Outline) -> list[Chunk]:
    """Cut the document of ``scale`` along ``outline``: ordinals from 0, in order, never blank."""
    packer = _Packer(scale, outline)
    spans: list[tuple[int, int, tuple[str, ...]]] = []
    for passage in packer.passages(outline.root):
        for start, end in packer.settle(passage):
            start, end = _trim(scale.text, start, end)
            if start < end:
                spans.append((start, end, passage.path))
    return _chunks(scale, spans, outline.symbols)


class _Packer:
    def __init__(self, scale: Scale, outline: Outline) -> None:
        self.scale = scale
        self.outline = outline
        self.cuts, self.levels = outline.cuts.arrays()
        lines_first = (prose.LINE, prose.SENTENCE)
        self.order = lines_first if outline.lines_first else (prose.SENTENCE, prose.LINE)

    def passages(self, section: Section) -> list[_Passage]:
        """Cut ``section``: whole if it fits, else child by child with tiny neighbours joined."""
        if section.gapless and self.scale.fits(section.start, section.end, self.scale.room(section.path)):
            return [_Passage(section.start, section.end, section.path, whole=True)]
        if not section.children:
            return self._leaf(section)
        joined: list[_Passage] = []
        for child in section.children:
            for passage in self.passages(child):
                both = self._join(joined[-1], passage) if joined else None
                if both:
                    joined[-1] = both
                else:
                    joined.append(passage)
        whole = len(joined) == 1 and section.gapless
        return [_Passage(each.start, each.end, each.path, whole) for each in joined]

    def settle(self, passage: _Passage) -> Iterator[tuple[int, int]]:
        """Yield the passage, cut once more where text cut inside a word has more units than it had in place."""
        start, end, room = passage.start, passage.end, self.scale.room(passage.path)
        while not self.scale.fits_exactly(start, end, room):
            point = prose.fitting_end(self.scale, start, end, room)
            if point >= end:
                break
            yield start, point
            start = point
        yield start, end

    def _join(self, left: _Passage, right: _Passage) -> _Passage | None:
        if not (left.whole and right.whole and left.end == right.start):
            return None
        path = common([left.path, right.path])
        room = self.scale.room(path)
        tiny = room // TINY_SHARE
        some_tiny = self.scale.fits(left.start, left.end, tiny) or self.scale.fits(right.start, right.end, tiny)
        if some_tiny and self.scale.fits(left.start, right.end, room):
            return _Passage(left.start, right.end, path, whole=True)
        return None

    def _leaf(self, section: Section) -> list[_Passage]:
        room = self.scale.room(section.path)
        found = list(self._divide(section.start, section.end, room))
        points = np.array([section.start, *(point for point, _ in found), section.end], np.int64)
        strengths = np.array([0, *(level for _, level in found), 0], np.int64)
        ends = self._pack(points, strengths, room)
        passages: list[_Passage] = []
        start = section.start
        for end in ends:
            begin = self._overlapped(passages[-1].start, start, end, room) if passages else start
            passages.append(_Passage(begin, end, section.path, whole=len(ends) == 1))
            start = end
        return passages

    def _divide(self, start: int, end: int, room: Int64) -> Iterator[tuple[int, int]]:
        """Yield (offset, level): the strongest cuts, and inside of pieces that are still too large the next."""
        low, high = np.searchsorted(self.cuts, [start + 1, end])
        if low == high:
            yield from prose.divide(self.scale, start, end, room, self.outline.glue, self.order)
            return
        levels = self.levels[low:high]
        top = int(levels.max())
        edges = np.concatenate([[start], self.cuts[low:high][levels == top], [end]])
        counts = self.scale.upto(edges)[:, 1:] - self.scale.before(edges)[:, :-1]
        too_large: list[bool] = np.any(counts > room[:, None], axis=0).tolist()
        for left, right, large in zip(edges[:-1].tolist(), edges[1:].tolist(), too_large, strict=True):
            if left > start:
                yield left, top
            if large:
                yield from self._divide(left, right, room)

    def _pack(self, points: Int64, strengths: Int64, room: Int64) -> list[int]:
        """Return where the passages end that are made of the pieces between ``points``."""
        before, upto = self.scale.before(points), self.scale.upto(points)
        last = len(points) - 1
        ends: list[int] = []
        index, limit = 0, room
        while True:
            reached = before[:, index] + limit
            fars = [int(row.searchsorted(most, "right")) - 1 for row, most in zip(upto, reached, strict=True)]
            far = min(fars)
            if far >= last:
                return [*ends, int(points[last])]
            tight = fars.index(far)
            window = index + 1, max(far, index + 1)
            base, most = int(before[tight, index]), int(limit[tight])
            index = _best(upto[tight], strengths, window, base, most, self.outline.min_fill)
            ends.append(int(points[index]))
            limit = np.maximum(room - self._overlap_room, 1)

    @property
    def _overlap_room(self) -> Int64:
        spent = np.zeros_like(self.scale.limits)
        spent[0] = self.scale.sizing.overlap
        return spent

    def _overlapped(self, previous: int, start: int, end: int, room: Int64) -> int:
        """Return where the passage [start, end) begins when it repeats the last sentences or lines before it."""
        if not self.scale.sizing.overlap:
            return start
        low = max(self.scale.back(start, self.scale.sizing.overlap), previous + 1)
        choices = prose.edges(self.scale.text, low - 1, start)
        choices = choices or [prose.word_start(self.scale.text, low, start)]
        for choice in choices:
            if not self._inside_solid(choice) and self.scale.fits_exactly(choice, end, room):
                return choice
        return start

    def _inside_solid(self, point: int) -> bool:
        index = bisect_left(self.outline.solids, point, key=itemgetter(0)) - 1
        return index >= 0 and point < self.outline.solids[index][1]


def _best(upto: Int64, strengths: Int64, window: tuple[int, int], base: int, limit: int, min_fill: float) -> int:
    """Return the piece to end before: of those that leave a chunk full enough the strongest, then the fullest."""
    near, far = window
    left = int(upto[-1]) - base
    ending = left < limit * TAIL
    target = base + left // 2 if ending else base + limit
    full_enough = left - limit if ending else limit * min_fill
    low = min(max(int(upto.searchsorted(base + full_enough)), near), far)
    choices = strengths[low : far + 1]
    strongest = low + np.flatnonzero(choices == choices.max())[::-1]
    return int(strongest[np.abs(upto[strongest] - target).argmin()])


def _trim(text: str, start: int, end: int) -> tuple[int, int]:
    """Leave out blank lines around text[start:end]; the first line keeps its indentation."""
    piece = text[start:end]
    blank = piece[: len(piece) - len(piece.lstrip())]
    in_line = start > 0 and text[start - 1] != "\n"
    begin = start + len(blank if in_line and "\n" not in blank else blank.rstrip(" \t"))
    return begin, max(begin, start + len(piece.rstrip()))


def _chunks(scale: Scale, spans: Sequence[tuple[int, int, tuple[str, ...]]], symbols: Sequence[Symbol]) -> list[Chunk]:
    starts = np.array([start for start, _, _ in spans], np.int64)
    ends = np.array([end for _, end, _ in spans], np.int64)
    lines = scale.line_starts
    first = np.searchsorted(lines, starts, "right")
    last = np.searchsorted(lines, ends - 1, "right")
    symbol_starts = np.array([symbol.start for symbol in symbols], np.int64)
    symbol_ends = np.maximum.accumulate(np.array([symbol.end for symbol in symbols], np.int64))
    low = np.searchsorted(symbol_ends, starts, "right")
    high = np.searchsorted(symbol_starts, ends)
    chunks = []
    for ordinal, (start, end, path) in enumerate(spans):
        header = scale.header(path)
        defined = (symbol.name for symbol in symbols[low[ordinal] : high[ordinal]] if symbol.end > start)
        chunks.append(
            Chunk(
                ordinal=ordinal,
                text=scale.text[start:end],
                start=start,
                end=end,
                start_line=scale.file_line(int(first[ordinal])),
                end_line=scale.file_line(int(last[ordinal])),
                token_count=int(scale.count(start, end)[0] + scale.limits[0] - scale.room(path)[0]),
                header=header,
                heading_path=path,
                symbols=tuple(dict.fromkeys(defined)),
            )
        )
    return chunks
