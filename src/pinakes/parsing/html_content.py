"""What of a web page is its content: without navigation, banners and footers, with links that say where they lead."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Final
from urllib.parse import urljoin

from pinakes.text.markup import Element, cut, elements, within

_MOST_CHARS: Final = 5_000_000
"""Larger pages are read as they are: looking for their parts would take long."""

_MAIN: Final = frozenset(("main", "article"))
_NEVER: Final = frozenset(("nav", "dialog", "datalist"))
_AROUND: Final = frozenset(("footer", "aside"))
"""Left out unless they are inside of the main part."""

_ROLES: Final = frozenset(("navigation", "contentinfo", "search", "dialog", "alertdialog"))
_CONTAINERS: Final = frozenset(("div", "section", "aside", "form", "ul", "ol", "p", "header", "footer", "a"))
_NOISE: Final = re.compile(
    r"(?:[\w-]*[-_])?(?:cookies?|consent|gdpr)(?:[-_](?:banner|bar|notice|popup|modal|message|overlay|consent|law|policy|info)"
    r"[\w-]*)?|cookie(?:banner|bar|notice|consent)|breadcrumbs?|skip-?(?:link|nav|to-(?:main-)?content)|side-?bar|navbar"
    r"|site-(?:nav|navigation|footer)|pagination|pager|share-buttons|social-share|headerlink|screen-reader-text"
)
_MOST_NOISE: Final = 0.4
"""What is called like navigation and holds more of the page than this is its content."""

_LEAST_MAIN: Final = 0.15
"""A main part with less of the page than this is not the whole of its content."""

_DEEP: Final = 30
_DEEPEST: Final = 50
"""The converter drops, without a word, what is inside more than some sixty elements."""

_WRAPPERS: Final = frozenset(("div", "section", "article", "span", "font", "center", "main"))
_HIDDEN: Final = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_NOT_SHOWN: Final = frozenset(("html", "head", "input", "meta", "link"))
_WITHOUT_WORDS: Final = frozenset(("body", "table", "tbody", "thead", "tr", "ul", "ol", "select"))
"""No words can stand directly in them, or all of the page does."""
_HIDING: Final = re.compile(
    r"""\s(?:hidden(?:\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"'>]+))?|style\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"'>]+))(?=[\s/>])""",
    re.IGNORECASE,
)
_HREF: Final = re.compile(r"""(\shref\s*=\s*)("[^"]*"|'[^']*'|[^\s"'>]+)""", re.IGNORECASE)
_KEPT: Final = ("#", "mailto:", "javascript:", "data:", "tel:")
_TEXT: Final = re.compile(r"(?:^|(?<=>))[^<>]+")


HIDDEN_MARK: Final = "[hidden] "
"""Stands before what a page has and does not show."""


def main_part(source: str, base: str = "", *, mark_hidden: bool = False) -> str:
    """Return the part of an HTML page that is its content.

    ``base`` is the address that its links are relative to; without one they stay as they are. What is hidden is left
    out, or kept behind ``HIDDEN_MARK`` if ``mark_hidden``.
    """
    if len(source) > _MOST_CHARS:
        return source
    found, sizes = elements(source), _Sizes(source)
    main = _main(found, sizes)
    span = (main.start, main.end) if main else (0, len(source))
    changes = [(element.start, element.end, " ") for element in _left_out(found, sizes, main, mark_hidden)]
    if mark_hidden:
        changes += _hidden(source, found)
    changes += _unwrapped(found)
    if base:
        changes += list(_links(source, found, base))
    return cut(source, span, changes)


class _Sizes:
    """Tells of any part of a page about how many characters of it are shown."""

    def __init__(self, source: str) -> None:
        self._ends, self._sums = [0], [0]
        for match in _TEXT.finditer(source):
            self._ends += (match.start(), match.end())
            self._sums += (self._sums[-1], self._sums[-1] + len("".join(match[0].split())))
        self.whole = max(self._sums[-1], 1)

    def share(self, element: Element) -> float:
        """Return which share of the page an element shows."""
        before, after = (bisect_right(self._ends, place) - 1 for place in (element.start, element.end))
        return (self._sums[after] - self._sums[before]) / self.whole


def _main(found: Sequence[Element], sizes: _Sizes) -> Element | None:
    """Return the one element that says it is the main part."""
    named = [element for element in found if element.tag == "main" or element.attributes.get("role") == "main"]
    outer = [one for number, one in enumerate(named) if not number or one.start >= named[0].end]
    return outer[0] if len(outer) == 1 and sizes.share(outer[0]) >= _LEAST_MAIN else None


def _hidden(source: str, found: Sequence[Element]) -> Iterator[tuple[int, int, str]]:
    """Yield the tags of elements that are hidden as they would be if these were not; the outermost with a mark."""
    marked = 0
    for at, element in enumerate(found):
        if element.tag in _NOT_SHOWN or not _is_hidden(element):
            continue
        tag = _HIDING.sub("", source[element.start : element.inside])
        mark = ""
        if element.start >= marked and _has_words(source, element):
            marked = element.end
            cell = found[at + 1] if at + 1 < len(found) and found[at + 1].parent == at else element
            if element.tag not in _WITHOUT_WORDS:
                mark = f" {HIDDEN_MARK}"
            elif cell.tag in ("td", "th", "li") and not _is_hidden(cell):
                yield cell.inside, cell.inside, f" {HIDDEN_MARK}"
        yield element.start, element.inside, tag + mark


def _has_words(source: str, element: Element) -> bool:
    return any(match[0].strip() for match in _TEXT.finditer(source, element.inside, element.inner_end))


def _is_hidden(element: Element) -> bool:
    return "hidden" in element.attributes or bool(_HIDDEN.search(element.attributes.get("style", "")))


def _left_out(found: Sequence[Element], sizes: _Sizes, main: Element | None, keep_hidden: bool) -> Iterator[Element]:
    end = 0
    for index, element in enumerate(found):
        if element.start < end or element.tag in ("html", "head", "body", "main") or element is main:
            continue
        attributes = element.attributes
        hidden = not keep_hidden and _is_hidden(element)
        around = element.tag in _AROUND and not within(found, index, _MAIN)
        called = element.tag in _CONTAINERS and any(_NOISE.fullmatch(word) for word in element.words)
        unwanted = hidden or around or called or attributes.get("role", "") in _ROLES
        if element.tag in _NEVER or (unwanted and sizes.share(element) < _MOST_NOISE):
            end = element.end
            yield element


def _unwrapped(found: Sequence[Element]) -> Iterator[tuple[int, int, str]]:
    """Yield the tags of elements that others are wrapped in so deeply that what they hold would be lost."""
    depths: list[int] = []
    for element in found:
        depth = 1 + (depths[element.parent] if element.parent is not None else 0)
        unwrapped = depth > (_DEEP if element.tag in _WRAPPERS else _DEEPEST)
        depths.append(depth - unwrapped)
        if unwrapped:
            instead = " " if element.tag in ("span", "font") else "<br>"
            yield element.start, element.inside, instead
            if element.end > element.inner_end:
                yield element.inner_end, element.end, instead


def _links(source: str, found: Sequence[Element], base: str) -> Iterator[tuple[int, int, str]]:
    """Yield the tags of links, with the address they lead to in full."""
    for element in found:
        href = element.attributes.get("href", "").strip()
        if element.tag != "a" or not href or href.lower().startswith(_KEPT):
            continue
        try:
            full = urljoin(base, href)
        except ValueError:
            continue
        quoted = full.replace("&", "&amp;").replace('"', "%22")
        tag = source[element.start : element.inside]
        if match := _HREF.search(tag):
            yield element.start, element.inside, f'{tag[: match.start(2)]}"{quoted}"{tag[match.end(2) :]}'
