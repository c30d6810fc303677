"""The text of a Word paragraph: runs, links, fields, check boxes, notes, equations, hidden text."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final
from xml.etree.ElementTree import Element

from pinakes.parsing.openxml import Relation, clean, line, number, on
from pinakes.parsing.text_runs import Piece, joined
from pinakes.parsing.word_styles import PLAIN, Look, Styles, look_of

_DEEPEST: Final = 100
_SKIPPED: Final = frozenset(
    (
        "pPr",
        "rPr",
        "del",
        "moveFrom",
        "sdtPr",
        "sdtEndPr",
        "instrText",
        "delText",
        "delInstrText",
        "smartTagPr",
        "customXmlPr",
    )
)
_SPACES: Final = {"tab": " ", "ptab": " ", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_NOTES: Final = {"footnoteReference": "footnote", "endnoteReference": "endnote"}
_DRAWINGS: Final = ("drawing", "pict", "object")
_LINK: Final = re.compile(r'HYPERLINK\s+"([^"\s]+)"', re.IGNORECASE)
_PAGE_FIELD: Final = re.compile(r"\s*(?:PAGE|NUMPAGES|SECTIONPAGES)\b", re.IGNORECASE)
_OPENED, _CLOSED = "☐", "☒"
FONT_SYMBOLS: Final = {
    "wingdings": str.maketrans(
        "\x6f\x71\x72\xa8\xfe\xfd\xfc\xfb\xa7\xb7\xd8\xe0\xdf\xe8\x6e\x6c\xf0\xe1\xe2",
        "☐❑❒☐☒☒✓✗▪•➢→←➔■●⇨↑↓",
    ),
    "wingdings 2": str.maketrans("\x2a\x30\x4f\x50\x51\x52\x53\x54\xa3", "☐☐✗✓☒☑☒☒☐"),
    "symbol": str.maketrans(
        "abcdefghiklmnopqrstuxyzABCDEFGHIKLMNOPQRSTUXYZ\xb3\xa3\xb9\xb1\xb4\xb8\xb7\xa5\xae\xac\xab\xde\xbb\xb0\xd7\xe5\xd6\xb6",
        "αβχδεφγηικλμνοπθρστυξψζΑΒΧΔΕΦΓΗΙΚΛΜΝΟΠΘΡΣΤΥΞΨΖ≥≤≠±×÷•∞→←↔⇒≈°⋅∑√∂",
    ),
}
_NAMES: Final = {
    **dict.fromkeys(("symbol mt", "symbolmt", "symbolps"), "symbol"),
    "wingdings-regular": "wingdings",
    **dict.fromkeys(("wingdings2", "wingdings2-regular"), "wingdings 2"),
}
"""Other names of these fonts."""
_PRIVATE: Final = {0xF000 + code: code for code in range(0x20, 0x100)}
"""Private characters for those of symbol fonts → their places in the font."""
_IN_PRIVATE: Final = re.compile("[\uf020-\uf0ff]")
_GENERATED: Final = re.compile(
    r"\s*Description automatically generated[^.]*\.?$|.*\.(?:png|jpe?g|gif|emf|wmf|svg)$", re.IGNORECASE
)
STAND_INS: Final = str.maketrans("&<>", "\ue0f2\ue0f3\ue0f4")
"""Replacements for characters of equations that the converter would lose."""


@dataclass(slots=True)
class _Field:
    code: str = ""
    shown: bool = False
    link: str = ""
    choice: Piece | None = None
    at: int = 0
    """Where the entry chosen in a drop-down list stands among the pieces."""


@dataclass(slots=True)
class Story:
    """An independent text (the document, a header, a note) while it is being read.

    ``cited``: the notes in order, each once; ``beside``: text boxes and drawings to follow the current paragraph;
    ``equations``: the equations in the text, by number.
    """

    styles: Styles
    relations: dict[str, Relation]
    notes: frozenset[tuple[str, str]] = frozenset()
    cited: dict[tuple[str, str], int] = field(default_factory=dict)
    equations: list[Element] = field(default_factory=list)
    beside: list[Element] = field(default_factory=list)
    hidden: int = 0
    pages: bool = True
    """Whether page number fields are part of the text."""
    had_pages: bool = False
    fields: list[_Field] = field(default_factory=list)
    unshown: int = 0
    """The number of open fields whose result has not begun."""

    def text(self, paragraph: Element, *, marked: bool = True) -> str:
        """Return the text of a paragraph as Markdown, without emphasis marks if not ``marked``."""
        if self.unshown:  # a field code never extends beyond its paragraph
            self.fields, self.unshown = [one for one in self.fields if one.shown], 0
        pieces: list[Piece] = []
        self._inline(paragraph, pieces, self._mark_of(paragraph), "", 0)
        text, hidden = joined(pieces, marked=marked)
        self.hidden += hidden
        return clean(text).strip()

    def _mark_of(self, paragraph: Element) -> Look:
        properties = paragraph.find("pPr")
        style = properties.find("pStyle") if properties is not None else None
        return self.styles.of(style.get("val", "")).look if style is not None else PLAIN

    def _inline(self, element: Element, pieces: list[Piece], look: Look, link: str, depth: int) -> None:
        for one in element:
            tag = one.tag
            if tag == "r":
                self._run(one, pieces, look, link, depth)
            elif tag in _SKIPPED or depth >= _DEEPEST:
                continue
            elif tag == "hyperlink":
                to = self.relations.get(one.get("r:id", ""))
                self._inline(one, pieces, look, to.target if to and to.external else link, depth + 1)
            elif tag in ("oMath", "oMathPara"):
                self._equation(one, pieces, look)
            elif tag == "AlternateContent":
                self._alternative(one, pieces, look, link, depth)
            elif tag == "fldSimple" and _PAGE_FIELD.match(one.get("instr", "")) and not self.pages:
                self.had_pages = True
            else:
                self._inline(one, pieces, look, link, depth + 1)

    def _alternative(self, element: Element, pieces: list[Piece], look: Look, link: str, depth: int) -> None:
        """Read the alternative for new programs, else the one for old ones."""
        choice = element.find("Choice")
        chosen = choice if choice is not None else element.find("Fallback")
        if chosen is not None:
            self._run(chosen, pieces, look, link, depth + 1)

    def _run(self, run: Element, pieces: list[Piece], look: Look, link: str, depth: int) -> None:
        properties = run.find("rPr")
        if properties is not None:
            style = properties.find("rStyle")
            of_style = self.styles.of(style.get("val", "")).look if style is not None else PLAIN
            look = look_of(properties).over(of_style).over(look)
        for one in run:
            tag = one.tag
            if tag == "fldChar":
                self._field(one, pieces, look)
            elif self.unshown:
                self.fields[-1].code += (one.text or "") if tag == "instrText" else ""
            elif (text := _characters(one)) is not None:
                if _IN_PRIVATE.search(text):
                    text = _shown(text, _font_of(properties))
                pieces.append(Piece(text, look, self._linked(link)))
            elif tag in _NOTES:
                self._note((_NOTES[tag], one.get("id", "")), pieces)
            elif tag in _DRAWINGS:
                self._drawing(one, pieces, link)
            elif tag not in _SKIPPED and len(one) and depth < _DEEPEST:
                nested = {"AlternateContent": self._alternative, "r": self._run}.get(tag, self._inline)
                nested(one, pieces, look, link, depth + 1)

    def _linked(self, link: str) -> str:
        return next((one.link for one in reversed(self.fields[-3:]) if one.link), link) if self.fields else link

    def _field(self, mark: Element, pieces: list[Piece], look: Look) -> None:
        kind = mark.get("fldCharType")
        if kind == "begin":
            self.fields.append(_Field())
            self.unshown += 1
            if shown := _control(mark):
                pieces.append(Piece(shown, look))
                if shown not in (_OPENED, _CLOSED):
                    self.fields[-1].choice, self.fields[-1].at = pieces[-1], len(pieces) - 1
        elif kind == "separate" and self.fields:
            last = self.fields[-1]
            of_page = bool(_PAGE_FIELD.match(last.code)) and not self.pages
            self.had_pages = self.had_pages or of_page
            self.unshown -= not (of_page or last.shown)
            last.shown = last.shown or not of_page
            match = _LINK.search(last.code)
            last.link = match[1] if match else ""
        elif kind == "end" and self.fields:
            ended = self.fields.pop()
            self.unshown -= not ended.shown
            after = pieces[ended.at + 1 :] if ended.choice in pieces[ended.at : ended.at + 1] else ()
            if any(piece.text.strip() for piece in after):  # the result is the same entry
                pieces[ended.at] = Piece("", PLAIN)
            self.had_pages = self.had_pages or bool(_PAGE_FIELD.match(ended.code))

    def _note(self, note: tuple[str, str], pieces: list[Piece]) -> None:
        if note in self.notes:
            pieces.append(Piece(f"[^{self.cited.setdefault(note, len(self.cited) + 1)}]", PLAIN))

    def _equation(self, element: Element, pieces: list[Piece], look: Look) -> None:
        displayed = element.tag == "oMathPara"
        whole = element.iter("oMath") if displayed else (element,)
        signs = [placeholder(one, self.equations, displayed=displayed) for one in whole]
        pieces += [Piece(sign, Look(hidden=look.hidden)) for sign in signs]

    def _drawing(self, drawing: Element, pieces: list[Piece], link: str) -> None:
        """Collect a drawing to follow the paragraph; the descriptions of a picture become text."""
        self.beside.append(drawing)
        if any(one.tag in ("txbxContent", "chart", "relIds") for one in drawing.iter()):
            return
        described = [_GENERATED.sub("", line(one.get("descr", ""))) for one in drawing.iter("docPr")]
        described += [line(one.get("string", "")) for one in drawing.iter("textpath")]  # letters drawn along a path
        pieces += [Piece(f" {words} ", PLAIN, link) for words in described if words]


def placeholder(equation: Element, equations: list[Element], *, displayed: bool) -> str:
    """Append an equation to ``equations``; return what stands for it in the text until it is written as LaTeX."""
    equations.append(equation)
    return f"{chr(0xE0F5) if displayed else chr(0xE0F7)}{len(equations) - 1}\ue0f8"


def _characters(part: Element) -> str | None:
    """Return the text of a part of a run, None if it has none."""
    tag = part.tag
    if tag == "t":
        return part.text or ""
    if tag in _SPACES:
        return _SPACES[tag]
    if tag == "sym":
        return _symbol(part)
    if tag == "ruby":
        base, over = ("".join(one.text or "" for one in side.iter("t")) for side in _ruby(part))
        return f"{base}({over})" if over else base
    return None


def _control(mark: Element) -> str:
    """Return the displayed value of an old form field without text."""
    box = mark.find("./ffData/checkBox")
    if box is not None:
        checked = box.find("checked")
        return _CLOSED if on(checked if checked is not None else box.find("default")) else _OPENED
    choices = mark.find("./ffData/ddList")
    if choices is None:
        return ""
    chosen = choices.find("result") if choices.find("result") is not None else choices.find("default")
    entries = [one.get("val", "") for one in choices.iterfind("listEntry")]
    at = number(chosen.get("val")) if chosen is not None else 0
    return entries[at] if 0 <= at < len(entries) else ""


def _font_of(properties: Element | None) -> str:
    """Return the font of a run, "" if it has none of its own."""
    fonts = properties.find("rFonts") if properties is not None else None
    return fonts.get("ascii", fonts.get("hAnsi", "")) if fonts is not None else ""


def _shown(text: str, font: str) -> str:
    """Return a text with what its private characters look like; Word shows the others in an ordinary font."""
    return _IN_PRIVATE.sub(lambda found: of_symbol_font(found[0], font), text)


def of_symbol_font(text: str, font: str) -> str:
    """Return a text in a symbol font as the characters that it looks like, unchanged if the font is another one."""
    table = _table_of(font)
    return text.translate(_PRIVATE).translate(table) if table else text


def is_symbol_font(font: str) -> bool:
    """Return whether a font has symbols instead of letters."""
    return bool(_table_of(font))


def _table_of(font: str) -> dict[int, int] | None:
    """Return the table of a font: by its whole name, since ``Symbola`` has ordinary letters."""
    name = " ".join(font.lower().split())
    return FONT_SYMBOLS.get(_NAMES.get(name, name))


def _symbol(symbol: Element) -> str:
    """Return the character that a code in a symbol font looks like."""
    try:
        code = int(symbol.get("char", ""), 16)
    except ValueError:
        return ""
    font = symbol.get("font", "").lower()
    if 0xF000 <= code <= 0xF0FF:
        code -= 0xF000
    if code > 0xFF or code < 0x20:
        return chr(code) if 0x20 <= code < 0xD800 else ""
    char = chr(code)
    if table := _table_of(font):
        found = char.translate(table)
        return found if found != char or table is FONT_SYMBOLS["symbol"] else ""
    return char if not font.startswith(("webdings", "wingdings")) else ""


def _ruby(ruby: Element) -> Iterator[Element]:
    for tag in ("rubyBase", "rt"):
        found = ruby.find(tag)
        yield found if found is not None else Element(tag)


def omml(element: Element) -> str:
    """Return an equation as XML with the prefix ``m``, without run properties."""
    parts: list[str] = []
    stack: list[Element | str] = [element]
    while stack:
        one = stack.pop()
        if isinstance(one, str):
            parts.append(one)
        elif not one.tag.endswith(("rPr", "ctrlPr")):
            attributes = "".join(f' m:{name}="{html.escape(value)}"' for name, value in one.items() if ":" not in name)
            parts.append(f"<m:{one.tag}{attributes}>{clean(one.text or '').translate(STAND_INS)}")
            stack.append(f"</m:{one.tag}>")
            stack += reversed(one)
    return "".join(parts)
