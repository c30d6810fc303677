"""The positions of HTML elements in a page, so that parts of it can be kept or removed unchanged."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

_VOID: Final = frozenset(
    ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr")
)
_RAW: Final = frozenset(("script", "style", "textarea", "title"))
_TAG: Final = re.compile(
    r"<(?P<slash>/?)(?P<name>[a-zA-Z][\w:.-]*+)(?P<attributes>(?:[^<>\"']++|\"[^\"<]*+\"|'[^'<]*+')*+)>"
)
"""No part of the pattern matches beyond the next ``<``, so that a search takes linear time."""

_ATTRIBUTE: Final = re.compile(r"(?P<name>[^\s=\"'<>/]++)(?:\s*+=\s*+(?P<value>\"[^\"]*+\"|'[^']*+'|[^\s\"'>]++))?")
_MOST_OPEN: Final = 1000
"""Maximum nesting of elements; deeper ones are ignored, since real pages have none."""


@dataclass(slots=True)
class Element:
    """An element ``text[start:end]`` with content ``text[inside:inner_end]``; ``parent`` is the index of its parent.

    Names of tags and attributes are lower-case. An unclosed element ends where its parent ends.
    """

    tag: str
    attributes: dict[str, str]
    start: int
    inside: int
    parent: int | None
    inner_end: int = -1
    end: int = -1
    words: frozenset[str] = field(default_factory=frozenset)
    """The names in the attributes ``class`` and ``id``, lower-case."""


def elements(text: str) -> list[Element]:
    """Return the elements of an HTML text in the order of their starts.

    Takes linear time for any text.
    """
    found: list[Element] = []
    opened: list[int] = []
    counts: Counter[str] = Counter()
    skip_to = 0
    for match in _TAG.finditer(text):
        if match.start() < skip_to:
            continue
        name = match["name"].lower()
        if match["slash"]:
            if counts[name]:
                _close(found, opened, counts, name, match)
            continue
        attributes = _attributes(match["attributes"])
        words = frozenset(f"{attributes.get('class', '')} {attributes.get('id', '')}".lower().split())
        parent = opened[-1] if opened else None
        element = Element(name, attributes, match.start(), match.end(), parent, words=words)
        found.append(element)
        if name in _VOID or match["attributes"].endswith("/") or len(opened) >= _MOST_OPEN:
            element.inner_end = element.end = match.end()
        else:
            opened.append(len(found) - 1)
            counts[name] += 1
            if name in _RAW:
                close = re.compile(f"</{name}", re.IGNORECASE).search(text, match.end())
                skip_to = close.start() if close else len(text)
    for index in opened:
        found[index].inner_end = found[index].end = len(text)
    return found


def _close(found: list[Element], opened: list[int], counts: Counter[str], name: str, match: re.Match[str]) -> None:
    """Close the innermost open element of this name, and all open elements inside it."""
    while opened:
        element = found[opened.pop()]
        counts[element.tag] -= 1
        element.inner_end = match.start()
        element.end = match.end() if element.tag == name else match.start()
        if element.tag == name:
            return


def _attributes(text: str) -> dict[str, str]:
    values: dict[str, str] = {}
    for match in _ATTRIBUTE.finditer(text):
        value = match["value"] or ""
        if value[:1] in ("'", '"'):
            value = value[1:-1]
        values.setdefault(match["name"].lower(), html.unescape(value))
    return values


def cut(text: str, span: tuple[int, int], changes: Iterable[tuple[int, int, str]]) -> str:
    """Return ``text[span]`` with replacements: (start, end, new text), in any order.

    Replacements inside another one or outside the span are ignored.
    """
    parts, at = [], span[0]
    for start, end, instead in sorted(changes, key=lambda change: (change[0], -change[1])):
        if start >= at and end <= span[1]:
            parts += [text[at:start], instead]
            at = end
    return "".join([*parts, text[at : span[1]]])


def within(found: Sequence[Element], index: int, tags: frozenset[str]) -> bool:
    """Return whether the element at ``index`` is in one of ``tags``."""
    parent = found[index].parent
    while parent is not None:
        if found[parent].tag in tags:
            return True
        parent = found[parent].parent
    return False
