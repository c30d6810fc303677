"""Headers, footers and page numbers of printed pages: which lines are some, and the pages without them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pinakes.core.records import ReadingNote

_EDGE_LINES: Final = 3
"""Headers and footers stand among the first or last so many lines of a page, and are at most a quarter of it each."""
_LEAST_PAGES: Final = 3
_SHARE: Final = 0.5
"""A line on so many of all pages, or of all left or all right ones, is a header or footer."""
_MAX_CHARS: Final = 150
_LEAST_NUMBERED: Final = 4
"""A number beside words is that of a page only where it counts up on so many: chapters have numbers, too."""
_MAX_EXAMPLE_CHARS: Final = 60

_LETTERS: Final = re.compile(r"[^\W\d_]{2}")
_SIGNS: Final = re.compile(r"[\W_]+")
_PAGE: Final = r"(?:pages?|seite|página|pagina|pág\.|pag\.|p\.|pg\.|s\.)"
_OF: Final = r"(?:\s*(?:/|of|von|de|di|sur|\|)\s*\d{1,5})"
_ALONE: Final = re.compile(
    rf"[-–—(\[|\s]*(?:{_PAGE}\s*)?(?P<number>[1-9]\d{{0,4}}|[ivxl]{{1,8}}){_OF}?[-–—)\]|\s]*", re.IGNORECASE
)
_NAMED: Final = re.compile(
    rf"[-–—(\[|\s]*(?:{_PAGE}\s*(?P<named>\d{{1,5}}){_OF}?|[-–—]\s*(?P<dashed>\d{{1,5}})\s*[-–—])[)\]|\s]*",
    re.IGNORECASE,
)
_BEGINS: Final = re.compile(
    rf"(?:{_PAGE}\s*)?(?P<number>[1-9]\d{{0,4}}|[ivxl]{{2,8}}){_OF}?(?P<gap>\s*[|·•]\s*|\s+)(?P<rest>\S.*)",
    re.IGNORECASE,
)
_ENDS: Final = re.compile(
    rf"(?P<rest>\S.*?)(?P<gap>\s*[|·•]\s*|\s+)(?P<named>\(?{_PAGE}\s*)?(?P<number>[1-9]\d{{0,4}}|[ivxl]{{2,8}}){_OF}?\)?",
    re.IGNORECASE,
)
_IDENTIFIES: Final = re.compile(r"(?:[:#№=.]|\b(?:no|nr|num|number|nummer|numéro|número|id))\s*$", re.IGNORECASE)
"""Behind these words stands a value, not the number of a page."""

_ROMAN: Final = {
    f"{tens}{ones}": 10 * at_tens + at
    for at_tens, tens in enumerate(("", "x", "xx", "xxx", "xl", "l", "lx", "lxx", "lxxx"))
    for at, ones in enumerate(("", "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix"))
    if len(tens + ones) > 1
}
"""Numbers of pages before the first chapter; a single letter may be anything."""


@dataclass(frozen=True, slots=True)
class CleanedPages:
    """Pages without headers, footers and page numbers: how many lines were left out of how many pages, and one such."""

    pages: list[str]
    lines: int = 0
    of_pages: int = 0
    example: str = ""

    def note(self) -> ReadingNote | None:
        """Return what a report says of it, None where nothing was left out."""
        if not self.lines:
            return None
        lines = "1 line" if self.lines == 1 else f"{self.lines} lines"
        pages = "1 page" if self.of_pages == 1 else f"{self.of_pages} pages"
        message = f"{lines} of {pages} left out: headers, footers and page numbers, such as {self.example!r}"
        return ReadingNote("running-lines", message, count=self.lines)


@dataclass(frozen=True, slots=True)
class _Numbered:
    """A line with what may be the number of its page, and the words beside it.

    ``sure``: the form says that it is one, as in ``Page 3`` or ``3 | Title``; ``first``: the number begins the line.
    """

    at: int
    number: int
    rest: str = ""
    sure: bool = False
    first: bool = False


def cleaned(pages: Sequence[str]) -> CleanedPages:
    """Return pages without what stands there for paper's sake.

    A header or footer is a line that repeats to the letter on half of the pages (of half the left or right ones), at
    least on three; the first stays. A page number is one that counts up with the pages, alone, or beside words that
    stay where no other line has them. All other lines stay, also those that differ in numbers only.
    """
    split = [page.split("\n") for page in pages]
    edges = [_edges(lines) for lines in split]
    running = _running([{_key(line) for line in edge.values()} for edge in edges])
    numbered = [_numbered(edge, running, lines) for edge, lines in zip(edges, split, strict=True)]
    offsets = _offsets(numbered, len(pages))
    rests = Counter(_signless(one.rest) for page in numbered for one in page if one.rest)
    said = _lines_elsewhere(split, edges) if rests else set()
    seen: set[str] = set()
    dropped = of_pages = 0
    example = ""
    for page, (lines, edge) in enumerate(zip(split, edges, strict=True), start=1):
        found = [one for one in numbered[page - 1] if _is_page_number(one, page, offsets, rests)]
        changed = {one.at: one for one in found[:1]}
        before = dropped
        for at, line in edge.items():
            key, kept = _key(line), line
            if at in changed:
                rest = _signless(changed[at].rest)
                kept = "" if rest in said else changed[at].rest
                said.add(rest)
            elif key in running:
                kept = line if key not in seen else ""
                seen.add(key)
            if kept != line:
                lines[at] = kept
                dropped += 1
                example = example or " ".join(line.split())[:_MAX_EXAMPLE_CHARS]
        of_pages += dropped > before
    return CleanedPages(["\n".join(lines) for lines in split], dropped, of_pages, example)


def without_running(pages: Sequence[str]) -> list[str]:
    """Return pages without page numbers and repeated headers and footers."""
    return cleaned(pages).pages


def _edges(lines: Sequence[str]) -> dict[int, str]:
    """Return line number → line, of the first and last lines of a page. Rows of tables are none of them."""
    there = [at for at, line in enumerate(lines) if line.strip()]
    some = max(1, min(_EDGE_LINES, len(there) // 4))
    edge = dict.fromkeys((*there[:some], *there[-some:]))
    return {at: lines[at].strip() for at in edge if len(lines[at]) <= _MAX_CHARS and not lines[at].startswith("|")}


def _key(line: str) -> str:
    return " ".join(line.split()).casefold()


def _signless(line: str) -> str:
    """Return the letters and figures of a line: headers write the name of a section in another way than its heading."""
    return _SIGNS.sub("", line).casefold()


def _lines_elsewhere(pages: Sequence[Sequence[str]], edges: Sequence[Mapping[int, str]]) -> set[str]:
    """Return what lines say that do not stand at the edge of a page."""
    return {
        _signless(line)
        for lines, edge in zip(pages, edges, strict=True)
        for at, line in enumerate(lines)
        if at not in edge and len(line) <= _MAX_CHARS
    }


def _running(edges: Sequence[set[str]]) -> frozenset[str]:
    """Return the lines that stand at the edge of most pages, or of most left or right ones."""
    found: set[str] = set()
    for some in (edges, edges[::2], edges[1::2]):
        counted = Counter(line for edge in some for line in edge)
        least = max(_LEAST_PAGES, len(some) * _SHARE)
        found |= {line for line, count in counted.items() if count >= least and _LETTERS.search(line)}
    return frozenset(found)


def _numbered(edge: Mapping[int, str], running: frozenset[str], lines: Sequence[str]) -> list[_Numbered]:
    """Return what may be the number of a page, the likeliest first, in its first and last line but for running ones.

    A line that says that it is one may stand anywhere at the edge.
    """
    there = [at for at, line in edge.items() if _key(line) not in running]
    outer = {*there[:1], *there[-1:]} | {at for at in there if _NAMED.fullmatch(edge[at])}
    found = [one for at in sorted(outer) for one in _numbers(edge[at], at, lines)]
    return sorted(found, key=lambda one: (bool(one.rest), not one.sure, not one.first))


def _numbers(line: str, at: int, lines: Sequence[str]) -> Iterator[_Numbered]:
    """Find what may be the number of a page in a line: all of it, or its beginning or end."""
    if match := _ALONE.fullmatch(line):
        if number := _value(match["number"]):
            apart = at > 0 and not lines[at - 1].strip()
            yield _Numbered(at, number, sure=apart or _NAMED.fullmatch(line) is not None)
        return
    for pattern in (_BEGINS, _ENDS):
        match = pattern.fullmatch(line)
        if match and (number := _value(match["number"])) and not _IDENTIFIES.search(match["rest"]):
            wide = bool(match["gap"].strip()) or len(match["gap"]) > 1
            named = pattern is _ENDS and match["named"] is not None
            rest = match["rest"].strip(" |·•–—-")
            yield _Numbered(at, number, rest, sure=wide or named, first=pattern is _BEGINS)


def _value(number: str) -> int:
    return int(number) if number.isdigit() else _ROMAN.get(number.casefold(), 0)


def _offsets(numbered: Sequence[Sequence[_Numbered]], pages: int) -> tuple[frozenset[int], frozenset[int]]:
    """Return what is to be added to the place of a page to get its number: where it stands alone, and beside words.

    A number counts up where the sum fits on half of the pages, or on most of some that follow each other.
    """
    alone: dict[int, set[int]] = {}
    beside: dict[int, set[int]] = {}
    for page, found in enumerate(numbered, start=1):
        for one in found:
            if not one.rest:
                alone.setdefault(one.number - page, set()).add(page)
            elif one.sure or one.first:
                beside.setdefault(one.number - page, set()).add(page)
    return tuple(  # type: ignore[return-value]
        frozenset(
            offset
            for offset, on in found.items()
            if (len(on) >= max(least, pages * _SHARE))
            or (len(on) > least and len(on) >= (max(on) - min(on) + 1) * _SHARE)
        )
        for found, least in ((alone, 2), (beside, _LEAST_NUMBERED))
    )


def _is_page_number(
    one: _Numbered, page: int, offsets: tuple[frozenset[int], frozenset[int]], rests: Mapping[str, int]
) -> bool:
    alone, beside = offsets
    offset = one.number - page
    if not one.rest:
        return offset in alone or (one.sure and offset == 0)
    return offset in beside and (one.sure or rests[_signless(one.rest)] > 1)
