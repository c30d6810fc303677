"""From an outline to chunks: sections that fit stay whole, others are cut at their best places and packed."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import ceil
from operator import itemgetter

import numpy as np

from pinakes.chunking import prose
from pinakes.chunking.contexts import Contexts
from pinakes.chunking.outline import Outline, Section, Symbol, is_slight
from pinakes.chunking.scale import Scale, common
from pinakes.core.records import Chunk, Int64

TINY_SHARE = 4
"""A section smaller than this fraction (1/n) of a chunk may be joined with its neighbour."""
TAIL = 1.5
"""The rest of a section is cut evenly once it is less than this many chunks."""


@dataclass(frozen=True, slots=True)
class _Chunk:
    start: int
    end: int
    path: tuple[str, ...]
    whole: bool


def assemble(scale: Scale, outline: Outline) -> list[Chunk]:
    """Cut the document of ``scale`` along ``outline``: chunks in order, with ordinals from 0, never blank."""
    packer = _Packer(scale, outline)
    spans: list[tuple[int, int, tuple[str, ...]]] = []
    for chunk in packer.document():
        for start, end in packer.settle(chunk):
            start, end = _trim(scale.text, start, end)
            if start < end:
                spans.append((start, end, chunk.path))
    return _chunks(scale, spans, packer.contexts, outline.symbols)


class _Packer:
    def __init__(self, scale: Scale, outline: Outline) -> None:
        self.scale = scale
        self.outline = outline
        self.cuts, self.levels = outline.cuts.arrays()
        lines_first = (prose.LINE, prose.SENTENCE)
        self.order = lines_first if outline.lines_first else (prose.SENTENCE, prose.LINE)
        self.contexts = Contexts(scale, outline.contexts)
        self._least = scale.limits * (scale.sizing.min_size - 1) // scale.sizing.size
        """The maximum size of a chunk that is joined with its neighbours."""

    def room(self, start: int, path: tuple[str, ...]) -> Int64:
        """Return the room for text in a chunk under ``path`` from ``start`` on, after header and repeated context."""
        return self.scale.room(path) - self.contexts.reserve(start, path)

    def chunks(self, section: Section) -> list[_Chunk]:
        """Cut ``section``: whole if it fits, else child by child with tiny neighbours joined."""
        if section.gapless and self.scale.fits(section.start, section.end, self.room(section.start, section.path)):
            return [_Chunk(section.start, section.end, section.path, whole=True)]
        if not section.children:
            return self._leaf(section)
        joined: list[_Chunk] = []
        for child in section.children:
            for chunk in self._with_slight_before(joined, self.chunks(child)):
                both = self._join(joined[-1], chunk) if joined else None
                if both:
                    joined[-1] = both
                else:
                    joined.append(chunk)
        whole = len(joined) == 1 and section.gapless
        return [_Chunk(each.start, each.end, each.path, whole) for each in joined]

    def document(self) -> list[_Chunk]:
        """Cut the document; a meaningless last chunk joins the one before it."""
        chunks = self.chunks(self.outline.root)
        if len(chunks) > 1 and self._is_slight(chunks[-1]) and chunks[-2].end == chunks[-1].start:
            slight = chunks.pop()
            first = len(chunks) - 1
            while first and _is_same_section(chunks[first - 1], chunks[first]):
                first -= 1
            chunks[first:] = self._leaf(Section(chunks[first].start, slight.end, chunks[first].path), slight.start)
        return chunks

    def _with_slight_before(self, before: list[_Chunk], chunks: list[_Chunk]) -> list[_Chunk]:
        """Join the last chunk of ``before`` with ``chunks`` if it is meaningless and does not fit elsewhere."""
        adjacent = before and chunks and before[-1].end == chunks[0].start
        if not (adjacent and self._is_slight(before[-1])):
            return chunks
        if self._join(before[-1], chunks[0]):
            return chunks
        count = 1
        while count < len(chunks) and _is_same_section(chunks[count - 1], chunks[count]):
            count += 1
        slight = before.pop()
        if before and (both := self._join(before[-1], slight)):
            before[-1] = both
            return chunks
        led = self._leaf(Section(slight.start, chunks[count - 1].end, chunks[0].path), slight.end)
        return [replace(each, whole=False) for each in led] + chunks[count:]

    def _is_slight(self, chunk: _Chunk) -> bool:
        if self.scale.sizing.min_size and self.scale.fits(chunk.start, chunk.end, self._least):
            return True
        return not self.outline.lines_first and is_slight(self.scale.text[chunk.start : chunk.end])

    def settle(self, chunk: _Chunk) -> Iterator[tuple[int, int]]:
        """Yield the chunk, cut again if text cut inside a word has more units by itself than in place."""
        start, end, room = chunk.start, chunk.end, self.scale.room(chunk.path)
        while not self.scale.fits_exactly(start, end, room):
            point = prose.fitting_end(self.scale, start, end, room)
            if point >= end:
                break
            yield start, point
            start = point
        yield start, end

    def _join(self, left: _Chunk, right: _Chunk) -> _Chunk | None:
        if not (left.whole and right.whole and left.end == right.start):
            return None
        path = common([left.path, right.path])
        room = self.room(left.start, path)
        tiny = np.maximum(room // TINY_SHARE, self._least)
        some_tiny = self.scale.fits(left.start, left.end, tiny) or self.scale.fits(right.start, right.end, tiny)
        if some_tiny and self.scale.fits(left.start, right.end, room):
            return _Chunk(left.start, right.end, path, whole=True)
        return None

    def _leaf(self, section: Section, joint: int = -1) -> list[_Chunk]:
        """Cut an oversized section along its structure; not at ``joint`` if the pieces around it fit together."""
        found = self._joined(list(self._divide(section.start, section.end, section.path)), section, joint)
        points = np.array([section.start, *(point for point, _ in found), section.end], np.int64)
        strengths = np.array([0, *(level for _, level in found), 0], np.int64)
        ends = self._pack(points, strengths, section.path)
        chunks: list[_Chunk] = []
        start = section.start
        for end in ends:
            begin = self._overlapped(chunks[-1].start, start, end, section.path) if chunks else start
            chunks.append(_Chunk(begin, end, section.path, whole=len(ends) == 1))
            start = end
        return chunks

    def _joined(self, found: list[tuple[int, int]], section: Section, joint: int) -> list[tuple[int, int]]:
        place = next((place for place, (point, _) in enumerate(found) if point == joint), -1)
        if place < 0:
            return found
        start = found[place - 1][0] if place else section.start
        end = found[place + 1][0] if place + 1 < len(found) else section.end
        room = self.room(start, section.path)
        if self.scale.fits(start, end, room):
            return found[:place] + found[place + 1 :]
        if not self.scale.sizing.min_size:
            return found
        glue = self.outline.glue | {joint}
        return [*found[:place], *prose.divide(self.scale, start, end, room, glue, self.order), *found[place + 1 :]]

    def _divide(self, start: int, end: int, path: tuple[str, ...]) -> Iterator[tuple[int, int]]:
        """Yield (offset, level): the strongest cuts, and within pieces that are still too large the next ones."""
        low, high = np.searchsorted(self.cuts, [start + 1, end])
        if low == high:
            order = (prose.CELL, *self.order) if self.contexts.table_at(start + 1) else self.order
            yield from prose.divide(self.scale, start, end, self.room(start + 1, path), self.outline.glue, order)
            return
        levels = self.levels[low:high]
        top = int(levels.max())
        edges = np.concatenate([[start], self.cuts[low:high][levels == top], [end]])
        counts = self.scale.upto(edges)[:, 1:] - self.scale.before(edges)[:, :-1]
        room = self.scale.room(path)
        too_large: list[bool] = np.any(counts > room[:, None], axis=0).tolist()
        doubtful: list[bool] = np.any(counts > self.contexts.least(room)[:, None], axis=0).tolist()
        for place, (left, right) in enumerate(pairwise(edges.tolist())):
            if left > start:
                yield left, top
            if too_large[place] or (doubtful[place] and not self._fits_here(left, right, path)):
                yield from self._divide(left, right, path)

    def _fits_here(self, start: int, end: int, path: tuple[str, ...]) -> bool:
        """Return whether a piece fits with its context; a table row counts with a single column name."""
        table = self.contexts.table_at(start)
        reserve = self.contexts.one_name(table, path) if table else self.contexts.reserve(start, path)
        return self.scale.fits(start, end, self.scale.room(path) - reserve)

    def _pack(self, points: Int64, strengths: Int64, path: tuple[str, ...]) -> list[int]:
        """Return the ends of the chunks that are made of the pieces between ``points``."""
        before, upto = self.scale.before(points), self.scale.upto(points)
        last = len(points) - 1
        ends: list[int] = []
        index, limit = 0, self.room(int(points[0]), path)
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
            limit = np.maximum(self.room(int(points[index]), path) - self._overlap_room, 1)

    @property
    def _overlap_room(self) -> Int64:
        spent = np.zeros_like(self.scale.limits)
        spent[0] = self.scale.sizing.overlap
        return spent

    def _overlapped(self, previous: int, start: int, end: int, path: tuple[str, ...]) -> int:
        """Return the start of the chunk [start, end) when it repeats the last sentences or lines before it."""
        if not self.scale.sizing.overlap:
            return start
        low = max(self.scale.back(start, self.scale.sizing.overlap), previous + 1)
        choices = prose.edges(self.scale.text, low - 1, start)
        choices = choices or [prose.word_start(self.scale.text, low, start)]
        for choice in choices:
            fits = self.scale.fits_exactly(choice, end, self.room(choice, path))
            if fits and not self._inside_solid(choice):
                return choice
        return start

    def _inside_solid(self, point: int) -> bool:
        index = bisect_left(self.outline.solids, point, key=itemgetter(0)) - 1
        return index >= 0 and point < self.outline.solids[index][1]


def _is_same_section(left: _Chunk, right: _Chunk) -> bool:
    return left.path == right.path and left.end >= right.start and not left.whole and not right.whole


def _best(upto: Int64, strengths: Int64, window: tuple[int, int], base: int, limit: int, min_fill: float) -> int:
    """Return the piece to end before: the strongest cut of those that fill the chunk enough, then the fullest."""
    near, far = window
    left = int(upto[-1]) - base
    ending = left < limit * TAIL
    target = base + left // 2 if ending else base + limit
    full_enough = left - limit if ending else ceil(limit * min_fill)  # an int: for a float, numpy copies ``upto``
    low = min(max(int(upto.searchsorted(base + full_enough)), near), far)
    choices = strengths[low : far + 1]
    strongest = low + np.flatnonzero(choices == choices.max())[::-1]
    return int(strongest[np.abs(upto[strongest] - target).argmin()])


def _trim(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the span without blank lines around text[start:end]; the first line keeps its indentation."""
    piece = text[start:end]
    blank = piece[: len(piece) - len(piece.lstrip())]
    in_line = start > 0 and text[start - 1] != "\n"
    begin = start + len(blank if in_line and "\n" not in blank else blank.rstrip(" \t"))
    return begin, max(begin, start + len(piece.rstrip()))


def _chunks(
    scale: Scale,
    spans: Sequence[tuple[int, int, tuple[str, ...]]],
    contexts: Contexts,
    symbols: Sequence[Symbol],
) -> list[Chunk]:
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
        labels = contexts.labels(start, end, path)
        header, spent = scale.with_labels(path, labels)
        defined = (symbol.name for symbol in symbols[low[ordinal] : high[ordinal]] if symbol.end > start)
        chunks.append(
            Chunk(
                ordinal=ordinal,
                text=scale.text[start:end],
                start=start,
                end=end,
                start_line=scale.file_line(int(first[ordinal])),
                end_line=scale.file_line(int(last[ordinal])),
                token_count=int(scale.count(start, end)[0]) + spent,
                header=header,
                heading_path=(*path, *labels),
                symbols=tuple(dict.fromkeys(defined)),
            )
        )
    return chunks
