"""Extracts the main content of a web page: without navigation, banners and footers, with absolute links."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from html import unescape
from typing import Final
from urllib.parse import urljoin

from pinakes.text.markup import Element, cut, elements, within

_MOST_CHARS: Final = 5_000_000
"""Larger pages are read unchanged, since finding their parts would take too long."""

_MAIN: Final = frozenset(("main", "article"))
_NEVER: Final = frozenset(("nav", "dialog", "datalist"))
_AROUND: Final = frozenset(("footer", "aside"))
"""Elements that are dropped unless they are inside of the main part."""

_NOTES: Final = re.compile(
    r"(?:doc-)?(?:(?:foot|end)?notes?|tip)(?:-[\w-]+)?|admonition|callout|warning|caution|important|danger"
)
"""Classes and roles of an aside that belongs to the text."""

_ROLES: Final = frozenset(("navigation", "contentinfo", "search", "dialog", "alertdialog"))
_CONTAINERS: Final = frozenset(("div", "section", "aside", "form", "ul", "ol", "p", "header", "footer", "a"))
_NOISE: Final = re.compile(
    r"(?:[\w-]*[-_])?(?:cookies?|consent|gdpr)(?:[-_](?:banner|bar|notice|popup|modal|message|overlay|consent|law|policy|info)"
    r"[\w-]*)?|cookie(?:banner|bar|notice|consent)|breadcrumbs?|skip-?(?:link|nav|to-(?:main-)?content)|side-?bar|navbar"
    r"|site-(?:nav|navigation|footer)|pagination|pager|share-buttons|social-share|headerlink|screen-reader-text"
)
_MOST_NOISE: Final = 0.4
"""An element named like navigation with a larger share of the page is its content."""

_LEAST_MAIN: Final = 0.15
"""A main part with a smaller share of the page is not the whole content."""

_DEEP: Final = 30
_DEEPEST: Final = 50
"""Maximum nesting depth: the converter silently drops content below about sixty levels."""

_WRAPPERS: Final = frozenset(("div", "section", "article", "span", "font", "center", "main"))
_HIDDEN: Final = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_NOT_SHOWN: Final = frozenset(("html", "head", "input", "meta", "link"))
_WITHOUT_WORDS: Final = frozenset(("body", "table", "tbody", "thead", "tr", "ul", "ol", "select"))
"""Elements that cannot contain text directly, or that contain the whole page."""
_HIDING: Final = re.compile(
    r"""\s(?:hidden(?:\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"'>]+))?|style\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"'>]+))(?=[\s/>])""",
    re.IGNORECASE,
)
_HREF: Final = re.compile(r"""(\shref\s*=\s*)("[^"]*"|'[^']*'|[^\s"'>]+)""", re.IGNORECASE)
_KEPT: Final = ("#", "mailto:", "javascript:", "data:", "tel:")
_SHARING: Final = re.compile(
    r"(?:javascript|whatsapp|tg|viber|fb-messenger|threema|line|sms|intent):|mailto:\?"
    r"|(?:https?:)?//(?:[\w-]+\.)*(?:facebook\.com/(?:sharer|share\.php|dialog/)|(?:twitter|x)\.com/(?:intent|share)\b"
    r"|linkedin\.com/(?:shareArticle|sharing)|t\.me/share|telegram\.me/share|whatsapp\.com/send|wa\.me/\?"
    r"|pinterest\.\w+/pin/create|reddit\.com/submit|xing\.com/(?:spi|social/share)|getpocket\.com/save"
    r"|news\.ycombinator\.com/submitlink|tumblr\.com/(?:share|widgets/share)|vk\.com/share)",
    re.IGNORECASE,
)
"""Addresses that share the page, and repeat its text, or are a script."""
_LONGEST_MARK: Final = 40
_WORD: Final = re.compile(r"[\w!-\"$-'*-/:-@\\`{}~]")
"""Letters, and signs of ASCII that a page may be about (+), unlike those that stand for links: # ^ [ ] ( ) |"""
_TEXT: Final = re.compile(r"(?:^|(?<=>))[^<>]+")


HIDDEN_MARK: Final = "[hidden] "
"""Precedes hidden text."""


def main_part(source: str, base: str = "", *, mark_hidden: bool = False) -> str:
    """Return the part of an HTML page that is its content.

    ``base``: URL that relative links are resolved against; without it they are unchanged. Hidden text is dropped, or
    kept after ``HIDDEN_MARK`` if ``mark_hidden``.
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
    changes += _links(source, found, base)
    return cut(source, span, changes)


class _Sizes:
    """Computes the approximate number of visible characters in any part of a page."""

    def __init__(self, source: str) -> None:
        self._ends, self._sums = [0], [0]
        for match in _TEXT.finditer(source):
            self._ends += (match.start(), match.end())
            self._sums += (self._sums[-1], self._sums[-1] + len("".join(match[0].split())))
        self.whole = max(self._sums[-1], 1)

    def share(self, element: Element) -> float:
        """Return an element's share of the visible text of the page."""
        before, after = (bisect_right(self._ends, place) - 1 for place in (element.start, element.end))
        return (self._sums[after] - self._sums[before]) / self.whole


def _main(found: Sequence[Element], sizes: _Sizes) -> Element | None:
    """Return the only element that is marked as the main part, if it is large enough."""
    named = [element for element in found if element.tag == "main" or element.attributes.get("role") == "main"]
    outer = [one for number, one in enumerate(named) if not number or one.start >= named[0].end]
    return outer[0] if len(outer) == 1 and sizes.share(outer[0]) >= _LEAST_MAIN else None


def _hidden(source: str, found: Sequence[Element]) -> Iterator[tuple[int, int, str]]:
    """Yield replacements that make hidden elements visible, with a mark before the outermost one."""
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
        role = attributes.get("role", "")
        is_note = element.tag == "aside" and any(map(_NOTES.fullmatch, (role, *element.words)))
        around = element.tag in _AROUND and not is_note and not within(found, index, _MAIN)
        called = element.tag in _CONTAINERS and any(_NOISE.fullmatch(word) for word in element.words)
        unwanted = hidden or around or called or role in _ROLES
        if element.tag in _NEVER or (unwanted and sizes.share(element) < _MOST_NOISE):
            end = element.end
            yield element


def _unwrapped(found: Sequence[Element]) -> Iterator[tuple[int, int, str]]:
    """Yield replacements that remove the tags of elements nested so deeply that their content would be lost."""
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


def _is_mark(content: str) -> bool:
    """Return whether a link has only a mark for text, such as the arrow from a note back to it."""
    shown = unescape(content)
    return len(content) < _LONGEST_MARK and not _WORD.search(shown) and not any(map(_is_operator, shown))


def _is_operator(char: str) -> bool:
    """Return whether a character is a sign of mathematics or a currency that a page may be about, such as ∑ or €."""
    if char.isascii() or unicodedata.category(char) not in ("Sm", "Sc"):
        return False
    return char != "×" and "ARROW" not in unicodedata.name(char, "")  # × closes a dialogue


def _links(source: str, found: Sequence[Element], base: str) -> Iterator[tuple[int, int, str]]:
    """Yield replacements for links: absolute URLs; none for those that share the page, run a script, or lead back."""
    for element in found:
        href = element.attributes.get("href", "").strip()
        if element.tag == "a" and href.startswith("#") and _is_mark(source[element.inside : element.inner_end]):
            yield element.start, element.end, " "
            continue
        if element.tag == "a" and _SHARING.match(href):
            yield element.start, element.inside, "<a>"
            continue
        if not base or element.tag != "a" or not href or href.lower().startswith(_KEPT):
            continue
        try:
            full = urljoin(base, href)
        except ValueError:
            continue
        quoted = full.replace("&", "&amp;").replace('"', "%22")
        tag = source[element.start : element.inside]
        if match := _HREF.search(tag):
            yield element.start, element.inside, f'{tag[: match.start(2)]}"{quoted}"{tag[match.end(2) :]}'
