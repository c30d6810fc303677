"""Text of a web page that no element of HTML holds: pages in attributes, words in drawings, shadow trees."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from typing import Final

from pinakes.text.markup import Element, elements

_FRAME: Final = re.compile(
    r"<iframe\b[^<>]*?\ssrcdoc\s*=\s*(?:\"(?P<double>[^\"]*+)\"|'(?P<single>[^']*+)')[^<>]*>", re.IGNORECASE
)
_SHADOW: Final = re.compile(r"(<(/?)template\b)([^<>]*)>", re.IGNORECASE)
_DRAWING: Final = re.compile(r"<svg\b[^<>]*>.*?(?:</svg\s*>|\Z)", re.IGNORECASE | re.DOTALL)
_TAG: Final = re.compile(r"<[^<>]*>")
_NEW_LINE: Final = re.compile(r"<tspan\b[^<>]*\s(?:x|y|dy)\s*=[^<>]*>", re.IGNORECASE)
"""The begin of a part of a text that stands somewhere else than behind the part before it."""
_PICTURE: Final = "img"
"""The role of a drawing that a title describes; other drawings without words are signs."""


def with_inserts(source: str) -> str:
    """Return a page with the text of its framed pages (``srcdoc``), drawings (SVG) and shadow trees as elements."""
    lowered = source.lower()
    if "srcdoc" in lowered:
        source = _FRAME.sub(_framed, source)
    if "shadowroot" in lowered:
        source = "".join(_with_shadows(source))
    return _DRAWING.sub(_words_of, source) if "<svg" in lowered else source


def _framed(frame: re.Match[str]) -> str:
    return f"<div>{unescape(frame['double'] or frame['single'] or '')}</div><iframe>"


def _with_shadows(source: str) -> Iterator[str]:
    """Yield the parts of a page in which templates that a browser shows at once are ordinary elements."""
    at, opened = 0, list[bool]()
    for tag in _SHADOW.finditer(source):
        shown = opened.pop() if tag[2] and opened else not tag[2] and "shadowroot" in tag[3].lower()
        if not tag[2]:
            opened.append(shown)
        if shown:
            yield from (source[at : tag.start()], "</div>" if tag[2] else "<div>")
            at = tag.end()
    yield source[at:]


def _words_of(drawing: re.Match[str]) -> str:
    """Return the words of a drawing as paragraphs."""
    source = drawing[0]
    found = elements(source)
    has_words = any(one.tag in ("text", "foreignobject") for one in found)
    described = has_words or (found and found[0].attributes.get("role") == _PICTURE)
    wanted = {"text", "foreignobject", *(("title", "desc") if described else ())}
    end, shown = 0, list[str]()
    for one in found:
        if one.tag in wanted and one.start >= end:
            end = one.end
            shown.append(_inner(source, one))
    return "".join(f"<p>{words}</p>" for words in shown if words.strip()) or " "


def _inner(source: str, element: Element) -> str:
    inner = source[element.inside : element.inner_end]
    return inner if element.tag == "foreignobject" else _TAG.sub("", _NEW_LINE.sub(" ", inner))
