"""Vertical lines of Chinese and Japanese pages: columns that are read from top to bottom, from right to left."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby, pairwise
from typing import Any, Final

from pinakes.parsing.pdf_fonts import is_vertical
from pinakes.parsing.pdf_gaps import Box
from pinakes.parsing.pdf_words import Word

_LETTER: Final = re.compile("[\u1100-\u11ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff]")
_ASIDE: Final = 0.5
"""Letters of one column are at most this share of their size beside each other."""
_APART: Final = 1.2
"""Letters of one column are at most this share of their size apart."""
_SHARE: Final = 0.8
"""At least this share of the letters of vertical lines stand below the letter before."""


def columns(raw: str, begin: int, box_of: Callable[[int], Box]) -> list[tuple[Word, float]]:
    """Return the columns of a line and where they end; ``begin``: index of its first character. None if horizontal.

    The library returns columns beside each other as one line.
    """
    letters = [at for at, char in enumerate(raw) if char > " "]
    if len(letters) < 2 or not _LETTER.match(raw[letters[0]]):
        return []
    if not _is_below(box_of(begin + letters[1]), box_of(begin + letters[0])):
        return []
    boxes = {at: box_of(begin + at) for at in letters}
    aside = [after for at, after in pairwise(letters) if not _is_below(boxes[after], boxes[at])]
    if len(aside) > (1 - _SHARE) * len(letters):
        return []
    starts = sorted({*aside, *(after for at, after in pairwise(letters) if _is_apart(boxes[after], boxes[at]))})
    return [
        _column(raw[start:end], [boxes[at] for at in letters if start <= at < end], begin + start)
        for start, end in zip((letters[0], *starts), (*starts, len(raw)), strict=True)
    ]


def is_set_vertically(library: Any, textpage: Any, at: int) -> bool:
    """Return whether the font of a character is for vertical text, rather than letters put below each other."""
    drawn = library.FPDFText_GetTextObject(textpage, at)
    return bool(drawn) and is_vertical(library, library.FPDFTextObj_GetFont(drawn))


def from_right_to_left(lines: Sequence[list[Word]], ends: Mapping[int, float]) -> list[list[Word]]:
    """Return lines in the order of reading. ``ends``: identities of words that are columns → where they end."""
    ordered: list[list[Word]] = []
    for is_column, group in groupby(lines, lambda line: id(line[0]) in ends):
        some = list(group)
        ordered += _tier_by_tier(some, ends) if is_column else some
    return ordered


def _tier_by_tier(lines: Sequence[list[Word]], ends: Mapping[int, float]) -> list[list[Word]]:
    """Return columns from right to left; those that begin below the end of all others follow them."""
    tiers: list[list[list[Word]]] = []
    end = 0.0
    for line in sorted(lines, key=lambda line: -line[0].top):
        if not tiers or line[0].top <= end:
            tiers.append([])
            end = ends[id(line[0])]
        tiers[-1].append(line)
        end = min(end, ends[id(line[0])])
    return [line for tier in tiers for line in sorted(tier, key=lambda line: -line[0].right)]


def _is_below(box: Box, other: Box) -> bool:
    size = max(box[1] - box[0], box[3] - box[2])
    return abs(box[0] + box[1] - other[0] - other[1]) <= 2 * _ASIDE * size and box[3] + box[2] < other[3] + other[2]


def _is_apart(box: Box, other: Box) -> bool:
    """Return whether a letter begins another column below that of the letter before it."""
    return other[2] - box[3] > _APART * max(box[1] - box[0], box[3] - box[2])


def _column(text: str, boxes: Sequence[Box], at: int) -> tuple[Word, float]:
    """Return a column as a word, with the height of one letter, since it is a line of text, and where it ends."""
    left, right, top = min(box[0] for box in boxes), max(box[1] for box in boxes), boxes[0][3]
    return Word(" ".join(text.split()), left, right, top - (right - left), top, at), min(box[2] for box in boxes)
