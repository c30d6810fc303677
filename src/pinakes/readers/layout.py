"""Tables that only lay out a page: their cells become blocks, so that what stands in them keeps its paragraphs."""

from __future__ import annotations

import re
from typing import Final

_TAG: Final = re.compile(r"<(/?)(table|thead|tbody|tfoot|tr|td|th|caption)\b([^<>]*)>", re.IGNORECASE)


def without_layout(page: str) -> str:
    """Return HTML in which tables that hold other tables, or one cell only, are blocks."""
    if "<table" not in page.lower():
        return page
    tags = list(_TAG.finditer(page))
    laid = _layout(tags)
    parts: list[str] = []
    position = 0
    for at, tag in enumerate(tags):
        if at in laid:
            parts += [page[position : tag.start()], "</div>" if tag[1] else "<div>"]
            position = tag.end()
    return "".join([*parts, page[position:]])


def _layout(tags: list[re.Match[str]]) -> set[int]:
    """Return which tags belong to tables that lay out."""
    found: set[int] = set()
    open_tables: list[tuple[list[int], list[int]]] = []  # the tags of each, and how many cells and tables it holds
    for at, tag in enumerate(tags):
        name, closing = tag[2].lower(), bool(tag[1])
        if name == "table" and not closing:
            if open_tables:
                open_tables[-1][1][1] += 1
            open_tables.append(([at], [0, 0]))
        elif open_tables:
            own, counts = open_tables[-1]
            own.append(at)
            counts[0] += name in ("td", "th") and not closing
            if name == "table":
                open_tables.pop()
                if counts[1] or counts[0] <= 1:
                    found.update(own)
    return found
