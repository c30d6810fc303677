"""Cuts text without structure: between sentences, lines, words, and if necessary inside a word."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from pinakes.chunking.scale import Scale
from pinakes.core.records import Int64

WORD, LINE, SENTENCE, CELL = 0, 1, 2, 3
"""Levels of cuts, all below those of structure."""

_SENTENCE_END = re.compile(
    r"(?<=[.!?…])(?<!\be\.g\.)(?<!\bi\.e\.)[\"'”’)\]*_`]*\s++(?![a-z])|(?<=[。！？])(?![。！？」』”’）])"
)
_LINE_END = re.compile(r"\n(?:[^\S\n]*\n)*+(?![^\S\n]*[)\]}])")
_CELL_END = re.compile(r"(?<!\\)\|\s")
_PATTERNS = {SENTENCE: _SENTENCE_END, LINE: _LINE_END, CELL: _CELL_END}
_INSIDE_WORD = (";", ",", "}", ")", ">")


def divide(
    scale: Scale, start: int, end: int, room: Int64, glue: frozenset[int], order: tuple[int, ...]
) -> Iterator[tuple[int, int]]:
    """Yield (offset, level) of cuts inside [start, end) that leave no piece larger than ``room``."""
    if scale.fits(start, end, room):
        return
    if not order:
        yield from ((point, WORD) for point in _word_cuts(scale, start, end, room))
        return
    level, *rest = order
    found = (match.end() for match in _PATTERNS[level].finditer(scale.text, start, end))
    edges = np.array([start, *(edge for edge in found if start < edge < end and edge not in glue), end], np.int64)
    counts = scale.upto(edges)[:, 1:] - scale.before(edges)[:, :-1]
    too_large: list[bool] = np.any(counts > room[:, None], axis=0).tolist()
    for left, right, large in zip(edges[:-1].tolist(), edges[1:].tolist(), too_large, strict=True):
        if left > start:
            yield left, level
        if large:
            yield from divide(scale, left, right, room, glue, tuple(rest))


def edges(text: str, start: int, end: int) -> list[int]:
    """Return the starts of sentences and lines inside (start, end), ascending."""
    found = {match.end() for pattern in (_SENTENCE_END, _LINE_END) for match in pattern.finditer(text, start, end)}
    return sorted(edge for edge in found if start < edge < end)


def word_start(text: str, start: int, end: int) -> int:
    """Return the start of the first whole word at or after ``start``, ``end`` if there is none before it."""
    if start == 0 or text[start - 1].isspace():
        return start
    found = re.compile(r"\s+").search(text, start, end)
    return found.end() if found else end


def fitting_end(scale: Scale, start: int, end: int, room: Int64) -> int:
    """Return the offset at which to cut [start, end) so that the first piece, tokenized alone, is within ``room``."""
    point = _soft(scale, start, scale.reach(start, end, room))
    while point > start + 1:
        excess = float((scale.count(start, point) / np.maximum(room, 1)).max())
        if excess <= 1:
            break
        point = start + max(1, min(int((point - start) / excess), point - start - 1))
    return point


def _word_cuts(scale: Scale, start: int, end: int, room: Int64) -> Iterator[int]:
    """Yield cuts into pieces of about equal length."""
    total = scale.count(start, end)
    share = total / np.maximum(room, 1)
    tightest = int(share.argmax())
    even = room.copy()
    even[tightest] = -(-total[tightest] // int(np.ceil(share[tightest])))
    length = end - start
    while not scale.fits(start, end, room):
        # The size of one piece predicts that of the next; each attempt costs a tokenization.
        point = fitting_end(scale, start, min(end, start + length + length // 4 + 1), even)
        if point >= end:
            return
        yield point
        start, length = point, point - start


def _soft(scale: Scale, start: int, end: int) -> int:
    """Return ``end`` moved back to after white space or punctuation, if there is any nearby."""
    if scale.is_safe(end):
        return end
    text = scale.text
    space = max(text.rfind(blank, start + 1, end) for blank in " \n\t\u3000")
    if space > start:
        return space + 1
    sign = max(text.rfind(mark, start + (end - start) // 2, end) for mark in _INSIDE_WORD)
    return sign + 1 if sign > start else end
