"""Page numbers of parts of a document."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence


def pages_of(begins: Sequence[int] | None, start: int, end: int) -> tuple[int, int] | tuple[None, None]:
    """Return the first and last page of ``text[start:end]``, from 1; (None, None) if there are no pages.

    ``begins``: ascending offsets of the page starts; a page without text has the offset of the next page.
    """
    if not begins:
        return None, None
    first = max(1, bisect_right(begins, start))
    return first, max(first, bisect_left(begins, end))


def page_words(page: int | None, page_end: int | None) -> str:
    """Return page numbers as text for users: ``p. 3``, ``p. 3-4``; ``""`` if there are none."""
    if page is None:
        return ""
    return f"p. {page}" if page_end in (None, page) else f"p. {page}-{page_end}"
