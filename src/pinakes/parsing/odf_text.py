"""Paragraphs of OpenDocument files: spans, links, notes, comments, form fields, raised and hidden text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final
from xml.etree.ElementTree import Element

from pinakes.parsing.blocks import Block
from pinakes.parsing.notes import comment
from pinakes.parsing.odf_styles import Counter, Styles
from pinakes.parsing.openxml import clean, line
from pinakes.parsing.text_runs import Piece, joined
from pinakes.parsing.word_styles import PLAIN, Look

_DEEPEST: Final = 60
_SPACES: Final = re.compile("[ \t\r\n]+")
SHAPES: Final = frozenset(
    "frame g custom-shape rect line connector ellipse circle polygon polyline path regular-polygon measure caption "
    "control text-box page-thumbnail".split()
)
UNREAD: Final = frozenset(
    "tracked-changes forms variable-decls sequence-decls user-field-decls dde-connection-decls calculation-settings "
    "alphabetical-index-auto-mark-file table-of-content-source alphabetical-index-source illustration-index-source "
    "table-index-source object-index-source user-index-source bibliography-source soft-page-break annotation-end "
    "event-listeners glue-point enhanced-geometry animations par".split()
)
_PAGES: Final = ("page-number", "page-count")
_CHARACTERS: Final = {"s": " ", "tab": " ", "line-break": "\n"}
_TRUE: Final = "true"


@dataclass(slots=True)
class Story:
    """An independent text (body, header, note) while it is being read.

    ``shown``: address of an embedded object (chart, equation) → its blocks; ``controls``: name of a form field → its
    displayed value.
    """

    styles: Styles
    shown: Callable[[str], Iterator[Block]]
    controls: dict[str, str] = field(default_factory=dict)
    cited: list[str] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)
    beside: list[Element] = field(default_factory=list)
    hidden: int = 0
    pages: bool = True
    """Whether page number fields are part of the text."""
    had_pages: bool = False
    lists: dict[str, Counter] = field(default_factory=dict)

    def text(self, paragraph: Element, *, marked: bool = True) -> str:
        """Return the text of a paragraph or heading."""
        style = self.styles.of("paragraph", paragraph.get("style-name", ""))
        look = Look(hidden=style.look.hidden) if style.look.hidden else PLAIN
        concealed = any(one.get("is-hidden") == _TRUE for one in paragraph.iterfind("hidden-paragraph"))
        pieces: list[Piece] = []
        self._inline(paragraph, pieces, Look(hidden=True) if concealed else look, "", 0)
        text, hidden = joined(pieces, marked=marked)
        self.hidden += hidden
        return "\n".join(" ".join(one.split()) for one in clean(text).split("\n")).strip()

    def _inline(self, element: Element, pieces: list[Piece], look: Look, link: str, depth: int) -> None:
        if element.text:
            pieces.append(Piece(_SPACES.sub(" ", element.text), look, link))
        for one in element:
            self._part(one, pieces, look, link, depth)
            if one.tail:
                pieces.append(Piece(_SPACES.sub(" ", one.tail), look, link))

    def _part(self, one: Element, pieces: list[Piece], look: Look, link: str, depth: int) -> None:
        tag = one.tag
        if tag in _CHARACTERS:
            pieces.append(Piece(_CHARACTERS[tag], look, link))
        elif tag == "note":
            self._note(one, pieces)
        elif tag == "annotation":
            self.comments += self.comment(one)
        elif tag in _PAGES and not self.pages:
            self.had_pages = True
        elif tag in SHAPES or (tag == "a" and any(inner.tag in SHAPES for inner in one)):
            self._shape(one, pieces, link)
        elif tag in _WHOLE:
            pieces.append(_WHOLE[tag](one, look, link))
        elif depth >= _DEEPEST:
            pieces.append(Piece(_SPACES.sub(" ", "".join(one.itertext())), look))
        elif tag not in UNREAD:
            own = self.styles.of("text", one.get("style-name", "")).look if tag == "span" else PLAIN
            href = one.get("href", "") if tag == "a" else ""
            self._inline(one, pieces, own.over(look), href if ":" in href else link, depth + 1)

    def _shape(self, shape: Element, pieces: list[Piece], link: str) -> None:
        """Collect a shape to follow the paragraph; form fields and descriptions of pictures become text."""
        if shape.tag == "control":
            pieces.append(Piece(f" {self.controls.get(shape.get('control', ''), '')} ", PLAIN))
            return
        self.beside.append(shape)
        if words := described(shape):
            pieces.append(Piece(f" {words} ", PLAIN, link))

    def _note(self, note: Element, pieces: list[Piece]) -> None:
        body = note.find("note-body")
        words = (self.text(one) for one in body.iter() if one.tag in ("p", "h")) if body is not None else ()
        if text := " ".join(" ".join(words).split()):
            self.cited.append(text)
            pieces.append(Piece(f"[^{len(self.cited)}]", PLAIN))

    def comment(self, annotation: Element) -> Iterator[str]:
        """Yield a comment with author and date, if it has text."""
        author, made = (annotation.findtext(name, "") for name in ("creator", "date"))
        text = " ".join(" ".join(self.text(one, marked=False) for one in annotation.iter("p")).split())
        if text:
            done = " (resolved)" if annotation.get("resolved") == _TRUE else ""
            yield comment(line(author), text, made) + done


def described(shape: Element) -> str:
    """Return the alternative text of a picture; "" for other shapes, or if it has none."""
    if shape.find("image") is None:
        return ""
    words = (line("".join(one.itertext())) for one in shape if one.tag in ("title", "desc"))
    return " ".join(dict.fromkeys(filter(None, words)))


def _ruby(ruby: Element, look: Look, link: str) -> Piece:
    base, over = (
        line("".join("".join(one.itertext()) for one in ruby.iterfind(f"ruby-{tag}"))) for tag in ("base", "text")
    )
    return Piece(f"{base}({over})" if over else base, look, link)


def _conditional(text: Element, look: Look, link: str) -> Piece:
    """Return conditional text; if hidden, its value is in an attribute."""
    if text.get("is-hidden") == _TRUE:
        return Piece(text.get("string-value", ""), Look(hidden=True))
    return Piece(text.text or "", look, link)


_WHOLE: Final = {"ruby": _ruby, "hidden-text": _conditional}
