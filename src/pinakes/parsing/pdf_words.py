"""Words and lines of a PDF page, with their places."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

_CELL_GAP: Final = 0.9
"""Words farther apart than this share of their height are in different cells."""


@dataclass(slots=True)
class Word:
    """A word and its box on the page."""

    text: str
    left: float
    right: float
    bottom: float
    top: float
    at: int = -1
    """The index of its first character, if it follows another word in its line."""

    @property
    def height(self) -> float:
        """The line height of its font."""
        return self.top - self.bottom


class PageLine:
    """The words of one line, in reading order, and their bounding box.

    ``height`` is that of most words; ``cells`` are groups of words that are far apart.
    """

    __slots__ = ("bottom", "cells", "height", "left", "right", "top", "words")

    def __init__(self, words: list[Word]) -> None:
        self.words = words
        self.left = min([word.left for word in words])
        self.right = max([word.right for word in words])
        self.bottom = min([word.bottom for word in words])
        self.top = max([word.top for word in words])
        heights = sorted([word.top - word.bottom for word in words])
        self.height = heights[len(heights) // 2]
        self.cells = self._cells()

    def _cells(self) -> list[PageLine]:
        gap = self.height * _CELL_GAP
        ends = [at for at in range(1, len(self.words)) if self.words[at].left - self.words[at - 1].right > gap]
        if not ends:
            return [self]
        return [
            PageLine(self.words[begin:end]) for begin, end in zip((0, *ends), (*ends, len(self.words)), strict=True)
        ]

    def text(self) -> str:
        """Return the text of the line; cells are separated by two spaces."""
        return "  ".join(" ".join([word.text for word in cell.words]) for cell in self.cells)
