"""On which pages of its file a part of a document stands."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence


def pages_of(begins: Sequence[int] | None, start: int, end: int) -> tuple[int, int] | tuple[None, None]:
    """Return the first and the last page of ``text[start:end]``, counted from 1; (None, None) where there are no pages.

    ``begins`` are the offsets at which the pages begin, ascending; that of a page without text is that of the next.
    """
    if not begins:
        return None, None
    first = max(1, bisect_right(begins, start))
    return first, max(first, bisect_left(begins, end))


def page_words(page: int | None, page_end: int | None) -> str:
    """Return how people are told of pages: ``p. 3``, ``p. 3-4``; ``""`` where there are none."""
    if page is None:
        return ""
    return f"p. {page}" if page_end in (None, page) else f"p. {page}-{page_end}"
