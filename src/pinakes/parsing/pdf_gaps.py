"""Finds words of a PDF that stand so close together that the library returns them as one."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Final, TypeAlias

Box: TypeAlias = tuple[float, float, float, float]
"""Left, right, bottom, top of a character with its advance width, in points."""

_LEAST: Final = 0.055
"""A gap of this share of the height may part words; kerning moves letters apart by less."""
_OTHERS: Final = 0.5
"""The other gaps of the word are at most this share of it, so that letters which are spaced out stay together."""
_LONG: Final = 10
"""Shorter words are examined only where a long one was parted, for the sake of speed."""
_LONGEST: Final = 400
_LETTERS: Final = re.compile(r"[^\W\d_](?=[^\W\d_])|[,;:.!?)](?=[^\W\d_])")
"""The places at which a word may be parted: behind the first character."""


class NarrowGaps:
    """Parts the words of one page.

    ``seen``: whether a long word of the page was parted, so that short ones are examined, too.
    """

    def __init__(self, box_of: Callable[[int], Box]) -> None:
        self._box_of = box_of
        self.seen = False

    def parts(self, text: str, first: int) -> list[tuple[int, int]]:
        """Return the begin and the end of each part of ``text``, whose first character has the index ``first``."""
        whole = [(0, len(text))]
        if not (_LONG if not self.seen else 3) <= len(text) <= _LONGEST:
            return whole
        boxes = [self._box_of(first + at) for at in range(len(text))]
        gaps = [right[0] - left[1] for left, right in pairwise(boxes)]
        least = _LEAST * max(top - bottom for _, _, bottom, top in boxes)
        wide = [at for at, gap in enumerate(gaps) if gap >= least]
        if least <= 0 or not wide:
            return whole
        narrow = [gap for gap in gaps if gap < least]
        if len(narrow) < len(wide) or max(narrow) > _OTHERS * min(gaps[at] for at in wide):
            return whole
        ends = [at + 1 for at in wide if _LETTERS.match(text, at)]
        if not ends:
            return whole
        self.seen = True
        return list(zip((0, *ends), (*ends, len(text)), strict=True))
