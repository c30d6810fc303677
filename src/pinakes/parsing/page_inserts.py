"""Which parts of the source of a web page are shown: no scripts, but framed pages, words of drawings, shadow trees."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from html import escape, unescape
from typing import Final

from pinakes.text.markup import Element, elements

_QUOTED: Final = r"\"[^\"<]*+\"|'[^'<]*+'|\"[^\"]*+\"(?=[\s/>]|\Z)|'[^']*+'(?=[\s/>]|\Z)"
_TAG: Final = re.compile(
    r"<!--|<!\[CDATA\[|<(?P<slash>/?)(?P<name>[a-zA-Z][\w:.-]*+)"
    rf"(?P<attributes>(?:[^<>=]++|=(?:\s*+(?:{_QUOTED}))?+)*+)(?P<close>>?)"
)
"""A tag, with values of attributes that have tags themselves, or the begin of a comment or of character data."""
_ATTRIBUTE: Final = re.compile(rf"(?P<name>[^\s=\"'<>/]++)(?:\s*+=\s*+(?P<value>{_QUOTED}|[^\s\"'<>]++))?")
_CHARACTERS: Final = "<![cdata["
_ENDS: Final = {
    "<!--": re.compile(r"-->"),
    _CHARACTERS: re.compile(r"\]\]>"),
    **{
        name: re.compile(rf"</{name}\s*>", re.IGNORECASE)
        for name in ("script", "style", "noscript", "svg", "textarea", "title")
    },
    "iframe": re.compile(r"<(/?)iframe\b[^<>]*>", re.IGNORECASE),
}
"""Where the element ends whose content is not that of a page, for each name."""
_UNCHANGED: Final = ("textarea", "title")
"""Text in which tags are no tags."""
_TO_THE_END: Final = ("<!--", "script", "style", "noscript")
"""What goes on to the end of the page if it is not closed."""
_LINES: Final = frozenset(
    ("p", "li", "dt", "dd", "td", "th", "caption", "figcaption", *(f"h{level}" for level in range(1, 7)))
)
"""Elements whose text a drawing does not interrupt."""
_BLOCKS: Final = frozenset(("body", "div", "section", "article", "main", "figure", "ul", "ol", "dl", "table", "tr"))
_MOST_FRAMES: Final = 10
"""Maximum nesting of framed pages."""

_MARKUP: Final = re.compile(r"</?[a-zA-Z][^<>]*>|<!--.*?-->", re.DOTALL)
_CLOSING: Final = re.compile(r"</[a-zA-Z][^<>]*>")
_UNFINISHED: Final = re.compile(r"<[^<>]*\Z")
_OF_A_PAGE: Final = re.compile(
    r"<title\b[^<>]*>[^<]*(?:</title\s*>)?|<(?:meta|link|base|!doctype)\b[^<>]*>", re.IGNORECASE
)
_STRUCTURE: Final = re.compile(r"(</?)(?:html|head|body|main|article)(?=[\s/>])", re.IGNORECASE)
_MAIN_ROLE: Final = re.compile(r"\srole\s*=\s*(?:\"main\"|'main'|main(?=[\s/>]))", re.IGNORECASE)

_APART: Final = re.compile(r"<tspan\b[^<>]*\s(?:x|y|dy)\s*=[^<>]*>|</?(?:title|desc)\b[^<>]*>", re.IGNORECASE)
"""The begin of a part of a text that stands somewhere else than behind the part before it."""
_PICTURE: Final = "img"
"""The role of a drawing that a title describes; other drawings without words are signs."""
_WORDS: Final = ("text", "foreignobject")
_DESCRIPTIONS: Final = ("title", "desc")
_NEVER_DRAWN: Final = ("defs", "symbol", "clippath", "mask", "marker", "pattern", "metadata", "style", "script")
_HIDING: Final = re.compile(r"display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)", re.IGNORECASE)


def visible_source(source: str) -> str:
    """Return a page without scripts, styles, comments and templates.

    The text of framed pages (``srcdoc``), drawings (SVG) and shadow trees become elements; what is hidden of them is
    hidden there, too. Takes linear time.
    """
    return "".join(_visible(source, _MOST_FRAMES))


def _visible(source: str, frames: int) -> Iterator[str]:
    begin = at = 0
    opened = [True]  # whether the page and each open template in it is shown
    unclosed: set[str] = set()
    in_line = False
    while tag := _TAG.search(source, at):
        name, at = (tag["name"] or tag[0]).lower(), tag.end()
        in_line = not tag["slash"] if name in _LINES else in_line and name not in _BLOCKS
        shown = opened[-1]
        if name == "template" and tag["close"]:
            instead = _template(tag, opened)
        elif _is_kept(name, tag):
            continue
        else:
            at = _end_of(source, name, tag, unclosed)
            if name in _UNCHANGED:
                continue
            before = source[begin : tag.start()].rstrip()
            goes_on = in_line or before[-1:] not in ("", ">")
            instead = _instead(source[tag.start() : at], name, tag, frames, in_line=goes_on) if shown else ""
        if shown:
            yield source[begin : tag.start()]
        yield instead
        begin = at
    if opened[-1]:
        yield source[begin:]


def _is_kept(name: str, tag: re.Match[str]) -> bool:
    """Return whether a tag is one of the page itself."""
    if name not in _ENDS or tag["slash"] or (tag["name"] and not tag["close"]):
        return True
    return name == "iframe" and "srcdoc" not in _attributes(tag)


def _end_of(source: str, name: str, tag: re.Match[str], unclosed: set[str]) -> int:
    """Return where an element ends: after its tag if it has no content."""
    if name in ("svg", "iframe") and tag[0].endswith("/>"):
        return tag.end()
    close = None if name in unclosed else _ENDS[name].search(source, tag.end())
    if close and not (name == "iframe" and not close[1]):
        return close.end()
    if not close:
        unclosed.add(name)
    return len(source) if name in _TO_THE_END else tag.end()


def _template(tag: re.Match[str], opened: list[bool]) -> str:
    """Return the element instead of a template that a browser shows at once."""
    if not tag["slash"]:
        is_shown = opened[-1] and any(name.startswith("shadowroot") for name in _attributes(tag))
        opened.append(is_shown)
        return "<div>" if is_shown else " "
    was_shown = len(opened) > 1 and opened.pop()
    return "</div>" if was_shown else " "


def _instead(element: str, name: str, tag: re.Match[str], frames: int, *, in_line: bool) -> str:
    attributes = _attributes(tag)
    if name == "svg":
        parts = _words_of(element, is_picture=attributes.get("role") == _PICTURE, is_hidden=_hides(attributes))
        return _in_line(parts) if in_line else _on_lines(parts)
    if name == "iframe" and frames:
        mark = " hidden" if _hides(attributes) else ""
        return f"<div{mark}>{_framed(attributes['srcdoc'], frames - 1)}</div>"
    if name == _CHARACTERS and element.endswith("]]>"):
        return escape(element[len(_CHARACTERS) : -len("]]>")])
    return " " if name != _CHARACTERS else element


def _attributes(tag: re.Match[str]) -> dict[str, str]:
    values: dict[str, str] = {}
    for one in _ATTRIBUTE.finditer(tag["attributes"] or ""):
        value = one["value"] or ""
        values.setdefault(one["name"].lower(), unescape(value[1:-1] if value[:1] in ("'", '"') else value))
    return values


def _hides(attributes: Mapping[str, str]) -> bool:
    """Return whether an element is hidden, by its style or an attribute of HTML or SVG."""
    own = f"display:{attributes.get('display', '')};visibility:{attributes.get('visibility', '')}"
    return "hidden" in attributes or bool(_HIDING.search(f"{attributes.get('style', '')};{own}"))


def _framed(source: str, frames: int) -> str:
    """Return a framed page as content of the page around it, which it neither ends nor replaces."""
    content = _UNFINISHED.sub("", _OF_A_PAGE.sub("", "".join(_visible(source, frames))))
    content = _MAIN_ROLE.sub("", _STRUCTURE.sub(r"\1div", content))
    closed = {one.inner_end for one in elements(content) if one.end > one.inner_end}
    return _CLOSING.sub(lambda tag: tag[0] if tag.start() in closed else "", content)


def _words_of(source: str, *, is_picture: bool, is_hidden: bool) -> list[tuple[str, str, str]]:
    """Return the tag, the attribute that hides it, and the content of each text in a drawing."""
    found = elements(source)
    parts: list[tuple[str, str, str]] = []
    end = hidden_until = 0
    firsts: dict[int, int] = {}
    for at, one in enumerate(found):
        if one.start < end:
            continue
        if _hides(one.attributes):
            hidden_until = max(hidden_until, one.end)
        if one.tag in _NEVER_DRAWN or _is_alternative(found, at, firsts):
            end = one.end
        elif one.tag in (*_WORDS, *_DESCRIPTIONS):
            end = one.end
            if (words := _inner(source, one)).strip():
                parts.append((one.tag, " hidden" if is_hidden or one.start < hidden_until else "", words))
    return parts if is_picture or any(tag in _WORDS for tag, *_ in parts) else []


def _on_lines(parts: list[tuple[str, str, str]]) -> str:
    """Return texts of a drawing as elements of their own."""
    names = {"foreignobject": "div"}
    return "".join(f"<{(name := names.get(tag, 'p'))}{mark}>{words}</{name}>" for tag, mark, words in parts) or " "


def _in_line(parts: list[tuple[str, str, str]]) -> str:
    """Return texts of a drawing within a line of text."""
    return f" {'<br>'.join(f'<span{mark}>{words}</span>' for _, mark, words in parts)} "


def _is_alternative(found: list[Element], at: int, firsts: dict[int, int]) -> bool:
    """Return whether an element is drawn only where the first one of its ``switch`` cannot be."""
    parent = found[at].parent
    if parent is None or found[parent].tag != "switch":
        return False
    first = firsts.setdefault(parent, at)
    return first != at and "systemlanguage" not in found[first].attributes


def _inner(source: str, element: Element) -> str:
    inner = source[element.inside : element.inner_end]
    if element.tag == "foreignobject":
        return "".join(_visible(inner, 0))
    return _MARKUP.sub("", _APART.sub(" ", inner))
