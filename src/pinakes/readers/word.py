"""What kreuzberg 4 loses of Word documents, or puts elsewhere: it is written otherwise before, and put right after.

- Characters that are written as references (``&amp;``, ``&#8220;``): "R&D" would become "RD". They are replaced by
  characters, those that XML needs for itself by others that stand for them.
- Headings by styles that are so by their name only would be paragraphs, paragraphs of text headings of the sixth level.
- Tabs and hyphens that do not break: the words on both sides would become one. What was moved would stand twice.
- Paragraphs that a text box is anchored in: the box would take their place. It follows them.
- Equations within a line would stand before their paragraph. Each leaves its number in the line, and stands at the end
  of the document until it is converted.
- Lists within lists would be at one level. Each item that is deeper has a mark that says how deep.
- Notes, of which the first would be lost, and comments: they are read here, and become sections at the end.
"""

from __future__ import annotations

import html
import io
import re
import zipfile
from collections.abc import Iterator, Mapping
from typing import Final

from pinakes.readers import nesting
from pinakes.readers.containers import rewritten
from pinakes.readers.decode import line_of, scrub
from pinakes.readers.notes import comment, mark, numbered, sections

_MAIN: Final = "word/document.xml"
_NOTES: Final = {"word/footnotes.xml": "footnote", "word/endnotes.xml": "endnote"}
_COMMENTS: Final = "word/comments.xml"
_STYLES: Final = "word/styles.xml"
_PARTS: Final = re.compile(r"word/(?!.*rels/).*\.xml")
_UNREAD: Final = ("word/media/", "word/embeddings/", "word/fonts/")

_REFERENCE: Final = re.compile(
    rb"&(?:#(?P<decimal>\d{1,7})|#x(?P<hex>[0-9a-fA-F]{1,6})|(?P<name>amp|lt|gt|quot|apos));"
)
_NAMES: Final = {b"amp": "&", b"lt": "<", b"gt": ">", b"quot": '"', b"apos": "'"}
_STANDS_FOR: Final = {char: chr(0xE0F2 + at) for at, char in enumerate(_NAMES.values())}
_BACK: Final = str.maketrans({stands: char for char, stands in _STANDS_FOR.items()})
_LAST_CHARACTER: Final = 0x10FFFF

_TEXT: Final = '<w:t xml:space="preserve">{}</w:t>'
_CHARACTERS: Final = {
    b"<w:tab/>": _TEXT.format(" ").encode(),
    b"<w:cr/>": _TEXT.format(" ").encode(),
    b"<w:noBreakHyphen/>": _TEXT.format("-").encode(),
}
_CHARACTER: Final = re.compile(b"|".join(_CHARACTERS))
_MOVED: Final = re.compile(rb"<w:moveFrom(?=[\s>])(?:(?!<w:moveFrom[\s>]).)*?</w:moveFrom>", re.DOTALL)
_BEFORE: Final = re.compile(rb"<w:pPrChange(?=[\s>])(?:(?!<w:pPrChange[\s>]).)*?</w:pPrChange>", re.DOTALL)
"""What a paragraph was before a change."""
_LEVEL: Final = re.compile(rb'<w:ilvl w:val="([1-8])"\s*/>(?:(?!<w:(?:ilvl|p)[\s>]).)*?</w:pPr>', re.DOTALL)
_BOX: Final = re.compile(rb"<(/?)w:(?:(txbxContent)|p)(?=[\s>])[^<>]*(?<!/)>")
_TAG: Final = re.compile(rb"<[^<>]*>")
_MATH: Final = re.compile(rb"<(/?)m:oMath(Para)?(?=[\s>])[^<>]*(?<!/)>")
_END: Final = b"</w:body>"
_PLACE: Final = re.compile("\ue0f7(\\d+)\ue0f8")
_APART: Final = re.compile("\\s*\ue0f9(\\d+)\ue0fa\\s*(?:\\$\\$(.*?)\\$\\$)?", re.DOTALL)

_STYLE: Final = re.compile(rb"(?<=</w:style>)|(?=<w:style\s)")
_BASED_ON: Final = re.compile(rb"<w:basedOn\s[^<>]*/>")
_HEADING: Final = re.compile(rb'<w:name w:val="heading ([1-6])"', re.IGNORECASE)
_OUTLINE: Final = re.compile(rb'<w:outlineLvl w:val="(\d)"\s*/>')
_TEXT_LEVEL: Final = b"9"

_CITED: Final = re.compile(rb'<w:(footnote|endnote)Reference\b(?=[^<>]*/>)[^<>]*?\bw:id="(-?\d+)"[^<>]*/>')
_NOTE: Final = re.compile(r"<w:(?:footnote|endnote|comment)\s([^<>]*)>")
_ID: Final = re.compile(r'\bw:id="(-?\d+)"')
_AUTHOR: Final = re.compile(r'\bw:author="([^"]*)"')
_WORDS: Final = re.compile(r"<(?:[wm]:t(?:\s[^<>]*)?>([^<]*)<|w:(?:tab|br|cr)/|/w:p>)")


def prepared(data: bytes) -> tuple[bytes, str]:
    """Return a DOCX from which everything is converted, and its notes and comments as Markdown.

    Where nothing has to be written otherwise it is the same DOCX; else its pictures are emptied.
    """
    with zipfile.ZipFile(io.BytesIO(data)) as container:
        names = container.namelist()
        before = {name: container.read(name) for name in names if _PARTS.fullmatch(name)}
        notes, order = dict(_notes(before)), dict[tuple[str, str], int]()
        after = {name: _REFERENCE.sub(_character, text) for name, text in before.items() if name not in _NOTES}
        if _STYLES in after:
            after[_STYLES] = _outlined(after[_STYLES])
        if _MAIN in after:
            after[_MAIN] = _rewritten(_cited(after[_MAIN], notes, order))
        besides = sections((notes[one] for one in order), _comments(before.get(_COMMENTS, b"")))
        if after == before:
            return data, besides
        unread = dict.fromkeys((name for name in names if name.startswith(_UNREAD)), b"")
        return rewritten(container, unread | after, _NOTES), besides


def restored(text: str) -> str:
    """Return text of a document that was ``prepared`` with all that other characters stood for."""
    text = nesting.nested(numbered(text.translate(_BACK)))
    if "\ue0f9" not in text:
        return text
    equations: dict[str, str] = {}

    def taken(match: re.Match[str]) -> str:
        equations[match[1]] = " ".join((match[2] or "").split())
        return ""

    text = _APART.sub(taken, text)
    text = _PLACE.sub(lambda match: _inline(equations.pop(match[1], "")), text)
    return "".join([text, *(f"\n$${equation}$$\n" for equation in equations.values() if equation)])


def _character(match: re.Match[bytes]) -> bytes:
    if name := match["name"]:
        char = _NAMES[name]
    else:
        code = int(match["hex"], 16) if match["hex"] else int(match["decimal"])
        char = chr(code) if code <= _LAST_CHARACTER else ""
    return _STANDS_FOR.get(char, char).encode("utf-8", "ignore")


def _outlined(part: bytes) -> bytes:
    """Return styles of which each that is called a heading says of which level, and none that it is text.

    The converter takes the level of text, 9, for a heading, as it does what such a style is based on.
    """
    return b"".join(_with_level(style) for style in _STYLE.split(part))


def _with_level(style: bytes) -> bytes:
    if outline := _OUTLINE.search(style):
        return style if outline[1] != _TEXT_LEVEL else _BASED_ON.sub(b"", _OUTLINE.sub(b"", style))
    heading = _HEADING.search(style)
    if not heading:
        return style
    level = b'<w:pPr><w:outlineLvl w:val="%d"/>' % (int(heading[1]) - 1)
    head, properties, rest = style.partition(b"<w:pPr>")
    return head + level + rest if properties else head.replace(b"</w:style>", level + b"</w:pPr></w:style>")


def _rewritten(document: bytes) -> bytes:
    document = _CHARACTER.sub(lambda match: _CHARACTERS[match[0]], _MOVED.sub(b"", document))
    document = _LEVEL.sub(lambda match: match[0] + _run(nesting.mark(int(match[1]))), _BEFORE.sub(b"", document))
    return _equations_apart(_boxes_apart(document) if b"<w:txbxContent" in document else document)


def _boxes_apart(document: bytes) -> bytes:
    """Return a document in which the content of text boxes follows the paragraph that they are anchored in."""
    kept: list[bytes] = []
    boxes: dict[bytes, bytes] = {}  # each stands twice, for old and new programs
    position, begun, depth = 0, 0, 0
    for tag in _BOX.finditer(document):
        closing, box = bool(tag[1]), bool(tag[2])
        if box and not closing:
            depth += 1
            if depth == 1:
                kept.append(document[position : tag.end()])
                begun = tag.end()
        elif box and depth:
            depth -= 1
            if not depth:
                content, position = document[begun : tag.start()], tag.start()
                boxes[_TAG.sub(b"", content)] = content
        elif closing and not depth and boxes:
            kept += [document[position : tag.end()], *boxes.values()]
            position = tag.end()
            boxes.clear()
    return b"".join([*kept, document[position:]]) if not depth else document


def _equations_apart(document: bytes) -> bytes:
    """Return a document whose equations within a line stand at its end, each below its number."""
    kept: list[bytes] = []
    apart: list[bytes] = []
    position, begun, displayed = 0, -1, False
    for tag in _MATH.finditer(document):
        closing = bool(tag[1])
        if tag[2]:
            displayed, begun = not closing, -1
        elif not displayed and not closing:
            begun = tag.start()
        elif not displayed and begun >= 0:
            kept += [document[position:begun], _run(f"\ue0f7{len(apart)}\ue0f8")]
            apart.append(document[begun : tag.end()])
            position, begun = tag.end(), -1
    text, end, rest = document[position:].rpartition(_END)
    if not apart or not end:
        return document
    lines = (
        b"<w:p>%b</w:p><w:p><m:oMathPara>%b</m:oMathPara></w:p>" % (_run(f"\ue0f9{number}\ue0fa"), equation)
        for number, equation in enumerate(apart)
    )
    return b"".join([*kept, text, *lines, end, rest])


def _run(text: str) -> bytes:
    return f"<w:r>{_TEXT.format(text)}</w:r>".encode()


def _inline(equation: str) -> str:
    return f"${equation}$" if equation else ""


def _notes(parts: Mapping[str, bytes]) -> Iterator[tuple[tuple[str, str], str]]:
    """Yield kind and id of each note that has words, and these."""
    for name, kind in _NOTES.items():
        for attributes, body in _elements(parts.get(name, b"")):
            if (own := _ID.search(attributes)) and (words := _words(body)):
                yield (kind, own[1]), words


def _cited(document: bytes, notes: Mapping[tuple[str, str], str], order: dict[tuple[str, str], int]) -> bytes:
    """Return a document with a number where a note is cited; ``order`` gets the notes as they come, each once."""

    def number(match: re.Match[bytes]) -> bytes:
        one = match[1].decode(), match[2].decode()
        if one not in notes:
            return b""
        return b"</w:r>%b<w:r>" % _run(mark(order.setdefault(one, len(order) + 1)))

    return _CITED.sub(number, document)


def _comments(part: bytes) -> Iterator[str]:
    """Yield each comment, with who made it."""
    for attributes, body in _elements(part):
        author = _AUTHOR.search(attributes)
        if words := _words(body):
            yield comment(scrub(html.unescape(author[1])) if author else "", words)


def _elements(part: bytes) -> Iterator[tuple[str, str]]:
    """Yield attributes and content of each note or comment."""
    _, *found = _NOTE.split(part.decode("utf-8", "replace"))
    return zip(found[::2], found[1::2], strict=True)


def _words(body: str) -> str:
    text = "".join(" " if match[1] is None else match[1] for match in _WORDS.finditer(body))
    return line_of(text)
