"""What stands on pages for paper's sake: running headers and footers, page numbers, words broken or joined by lines."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

_EDGE_LINES: Final = 3
"""Running lines stand among the first or last so many of a page."""
_LEAST_PAGES: Final = 3
_SHARE: Final = 0.5
"""A line on so many of all pages, or of all left or all right ones, is a running one."""
_MAX_RUNNING_CHARS: Final = 150

_LEAST_NUMBERED: Final = 4
"""Words beside a number make it that of a page where it fits on so many: chapters begin with numbers, too."""

_LETTERS: Final = re.compile(r"[^\W\d_]{2}")
_NUMBER: Final = re.compile(r"\d+")
_PAGE_NUMBER: Final = re.compile(
    r"[-–—(\[\s]*(?:(?:page|seite|página|pagina|p\.|pg\.)\s*)?(?P<number>\d{1,4})"
    r"(?:\s*(?:/|of|von|de|di|sur|\|)\s*\d{1,4})?[-–—)\]\s]*",
    re.IGNORECASE,
)
_FIRST: Final = re.compile(r"(?P<number>\d{1,4})\s+\S.*")
_LAST: Final = re.compile(r".*\S\s+(?P<number>\d{1,4})")
_NAMED_NUMBER: Final = re.compile(
    r"\s*(?:(?:page|seite|página|pagina)\s*\d{1,4}(?:\s*(?:/|of|von|de|di|sur)\s*\d{1,4})?|[-–—]\s*\d{1,4}\s*[-–—])\s*",
    re.IGNORECASE,
)

_ROMAN: Final = {
    f"{tens}{ones}": 10 * len(tens) + at
    for tens in ("", "x", "xx", "xxx")
    for at, ones in enumerate(("", "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix"))
    if len(tens + ones) > 1
}
"""Numbers of pages before the first chapter; a single letter may be anything."""

_BREAK: Final = "(?:[\x02\ufffe]\n?|[-‐]\n)"
"""How a hyphen at the end of a line comes: as a mark of its own, or as it is printed."""
_BREAKS: Final = ("\x02", "\ufffe", "-\n", "‐\n")
_BROKEN: Final = re.compile(
    rf"(?<![^\W\d_])(?P<head>[^\W\d_]{{2,}}|[^\W\d_](?=[\x02\ufffe]|[-‐]\n[^\W\d_A-Z]{{2}})){_BREAK}(?P<tail>\w+)"
)
"""Single letters that end a line by a printed hyphen may be grades, one below the other: ``A-``, ``B-``."""
_MARKS: Final = re.compile("[\x02\ufffe]\n?")
_SOFT_HYPHEN: Final = re.compile("\u00ad\n?")
_WORD: Final = re.compile(r"[^\W\d_]{2,}(?:[-‐]\w{2,})*")
_JOINED: Final = re.compile(r"(?<![\w/.:@#`-])(?P<left>[a-zà-ÿ]{3,})(?P<right>[A-ZÀ-Þ][a-zà-ÿ]{2,})(?![\w/(@`])")


def without_running(pages: Sequence[str]) -> list[str]:
    """Return pages without page numbers and running lines.

    A running line is one that stands, numbers apart, among the first or last three of half the pages (of half the left
    or right ones), at least of three. Where it has no number, as a title has none, the first of them is kept. The first
    or last line of a page is one, too, where it begins or ends with the number that is printed on the page.
    """
    edges = [_edges(page.split("\n")) for page in pages]
    running = _running([{_key(line) for line in edge.values()} for edge in edges])
    offset = _offset(edges)
    seen: set[str] = set()
    cleaned = []
    for number, (page, edge) in enumerate(zip(pages, edges, strict=True), start=1):
        lines = page.split("\n")
        for at, line in edge.items():
            key = _key(line)
            outermost = at in (min(edge), max(edge))
            if _is_number(line, number, offset) or (outermost and _has_number(line, number, offset)):
                lines[at] = ""
            elif key in running:
                lines[at] = lines[at] if key not in seen and "0" not in key else ""
                seen.add(key)
        cleaned.append("\n".join(lines))
    return cleaned


def mended(pages: Sequence[str]) -> list[str]:
    """Return pages with words made whole that lines broke, and parted that were joined (``endStart``).

    What the pages have elsewhere decides: ``well-known`` keeps its hyphen where it is written so. So do words before a
    capital or a number, single letters (``d-dimensional``), and words that have one already (``state-of-the-art``):
    none of these ends by a syllable. Two words are parted only where both stand alone elsewhere and they stand together
    once, so names as ``eBay`` and ``camelCase`` stay.
    """
    pages = [_SOFT_HYPHEN.sub("", page) for page in pages]
    if not any((_may_break(page) and _BROKEN.search(page)) or _JOINED.search(page) for page in pages):
        return [_MARKS.sub("", page) for page in pages]
    words: Counter[str] = Counter()
    for page in pages:
        words.update(_WORD.findall((_BROKEN.sub(" ", page) if _may_break(page) else page).lower()))

    def whole(match: re.Match[str]) -> str:
        head, tail = match["head"], match["tail"]
        if words[(head + tail).lower()]:
            return head + tail
        hyphened = match.start() > 0 and match.string[match.start() - 1] in "-‐"
        compound = hyphened or len(head) == 1 or not tail[0].islower() or words[f"{head}-{tail}".lower()]
        return f"{head}-{tail}" if compound else head + tail

    def apart(match: re.Match[str]) -> str:
        left, right = match["left"], match["right"]
        known = words[left] and words[right.lower()] and words[match[0].lower()] == 1
        return f"{left} {right}" if known else match[0]

    whole_words = (_MARKS.sub("", _BROKEN.sub(whole, page)) if _may_break(page) else page for page in pages)
    return [_JOINED.sub(apart, page) for page in whole_words]


def _may_break(page: str) -> bool:
    """Say whether there can be a broken word: much faster than looking for one."""
    return any(mark in page for mark in _BREAKS)


def _edges(lines: Sequence[str]) -> dict[int, str]:
    """Return line number → line, of the first and last lines of a page that may be running ones."""
    there = [at for at, line in enumerate(lines) if line.strip()]
    edge = dict.fromkeys((*there[:_EDGE_LINES], *there[-_EDGE_LINES:]))
    return {at: lines[at].strip() for at in edge if len(lines[at]) <= _MAX_RUNNING_CHARS}


def _key(line: str) -> str:
    """Return ``line`` with every number as 0, since pages count up."""
    return _NUMBER.sub("0", " ".join(line.split()).casefold())


def _running(edges: Sequence[set[str]]) -> frozenset[str]:
    """Return the lines that stand at the edge of most pages, or of most left or right ones."""
    found: set[str] = set()
    for some in (edges, edges[::2], edges[1::2]):
        counted = Counter(line for edge in some for line in edge)
        least = max(_LEAST_PAGES, len(some) * _SHARE)
        found |= {line for line, count in counted.items() if count >= least and _LETTERS.search(line)}
    return frozenset(found)


def _offset(edges: Sequence[dict[int, str]]) -> int | None:
    """Return what is to be added to the place of a page to get the number printed on it, None where there is none."""
    alone, beside = Counter[int](), Counter[int]()
    for number, edge in enumerate(edges, start=1):
        printed = [(line, one - number) for line in edge.values() for one in _numbers(line)]
        alone.update({offset for line, offset in printed if _PAGE_NUMBER.fullmatch(line)})
        beside.update({offset for _, offset in printed})
    for offsets, least in ((alone, 2), (beside, _LEAST_NUMBERED)):
        best, count = next(iter(offsets.most_common(1)), (0, 0))
        if count >= max(least, len(edges) * _SHARE):
            return best
    return None


def _numbers(line: str) -> set[int]:
    """Return what may be the number of a page in a line: all of it, or its beginning and end."""
    if match := _PAGE_NUMBER.fullmatch(line):
        return {int(match["number"])}
    found = (_FIRST.fullmatch(line), _LAST.fullmatch(line))
    return {int(match["number"]) for match in found if match}


def _is_number(line: str, page: int, offset: int | None) -> bool:
    if _NAMED_NUMBER.fullmatch(line):
        return True
    match = _PAGE_NUMBER.fullmatch(line)
    return match is not None and int(match["number"]) - page in (0, offset)


def _has_number(line: str, page: int, offset: int | None) -> bool:
    return _ROMAN.get(line) == page or (offset is not None and page + offset in _numbers(line))
