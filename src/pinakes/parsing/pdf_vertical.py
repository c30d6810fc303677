"""Vertical lines of Chinese and Japanese pages: columns that are read from top to bottom, from right to left."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from itertools import groupby, pairwise
from typing import Final

from pinakes.parsing.pdf_gaps import Box
from pinakes.parsing.pdf_words import Word

_LETTER: Final = re.compile("[\u1100-\u11ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff]")
_ASIDE: Final = 0.5
"""Letters of one column are at most this share of their size beside each other."""
_SHARE: Final = 0.8
"""At least this share of the letters of vertical lines stand below the letter before."""


def columns(raw: str, begin: int, box_of: Callable[[int], Box]) -> list[Word]:
    """Return the columns of a line, whose first character has the index ``begin``; none if it is horizontal.

    The library returns columns beside each other as one line.
    """
    letters = [at for at, char in enumerate(raw) if char > " "]
    if len(letters) < 2 or not _LETTER.match(raw[letters[0]]):
        return []
    if not _is_below(box_of(begin + letters[1]), box_of(begin + letters[0])):
        return []
    boxes = {at: box_of(begin + at) for at in letters}
    starts = [after for at, after in pairwise(letters) if not _is_below(boxes[after], boxes[at])]
    if len(starts) > (1 - _SHARE) * len(letters):
        return []
    return [
        _column(raw[start:end], [boxes[at] for at in letters if start <= at < end], begin + start)
        for start, end in zip((letters[0], *starts), (*starts, len(raw)), strict=True)
    ]


def from_right_to_left(lines: Sequence[list[Word]], vertical: Collection[int]) -> list[list[Word]]:
    """Return lines in the order of reading. ``vertical``: the identities of the words that are columns."""
    ordered: list[list[Word]] = []
    for is_vertical, group in groupby(lines, lambda line: id(line[0]) in vertical):
        some = list(group)
        ordered += sorted(some, key=lambda line: -line[0].right) if is_vertical else some
    return ordered


def _is_below(box: Box, other: Box) -> bool:
    size = max(box[1] - box[0], box[3] - box[2])
    return abs(box[0] + box[1] - other[0] - other[1]) <= 2 * _ASIDE * size and box[3] + box[2] < other[3] + other[2]


def _column(text: str, boxes: Sequence[Box], at: int) -> Word:
    """Return a column as a word, with the height of one letter, since it is a line of text."""
    left, right, top = min(box[0] for box in boxes), max(box[1] for box in boxes), boxes[0][3]
    return Word(" ".join(text.split()), left, right, top - (right - left), top, at)
