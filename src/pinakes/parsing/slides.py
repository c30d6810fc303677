"""Presentations (PPTX): slides in order, with tables, charts, notes and comments."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final
from xml.etree.ElementTree import Element

from pinakes.core.records import ReadingNote
from pinakes.core.wording import counted
from pinakes.parsing.charts import drawn
from pinakes.parsing.grids import Cell, filled, markdown
from pinakes.parsing.notes import comment
from pinakes.parsing.openxml import Package, line, number
from pinakes.parsing.slide_text import SlideText

_SLIDE: Final = re.compile(r"ppt/slides/slide(\d+)\.xml")
_TITLES: Final = ("title", "ctrTitle")
_NUMBERS: Final = ("sldNum",)
_BULLETED: Final = ("", "obj")
"""Placeholders for content, whose paragraphs are list items by default."""
_DEEPEST: Final = 50
_INDENT: Final = "    "
_GENERATED: Final = re.compile(
    r"\s*Description automatically generated[^.]*\.?$|\.(?:png|jpe?g|gif|emf|wmf|svg)$", re.IGNORECASE
)


@dataclass(slots=True)
class _Show:
    """State shared by the slides of a presentation: comment authors, parts already read, hidden counts."""

    package: Package
    authors: dict[str, str] = field(default_factory=dict)
    read: set[str] = field(default_factory=set)
    equations: list[Element] = field(default_factory=list)
    hidden_slides: int = 0
    hidden_shapes: int = 0

    def text(self, part: str) -> SlideText:
        """Return the reader of the paragraphs of a part."""
        return SlideText(self.package.relations(part), self.equations)


def read_presentation(package: Package) -> tuple[list[str], list[Element], list[ReadingNote]]:
    """Return the text of each slide, in order, the equations by number, and notes.

    Raises:
        Unreadable: it is not a presentation.
    """
    main = package.main("ppt/presentation.xml")
    relations = package.relations(main)
    show = _Show(package)
    for relation in relations.values():
        if relation.kind in ("commentAuthors", "authors"):
            show.authors |= {one.get("id", ""): one.get("name", "") for one in package.tree(relation.target)}
    named = [one.get("r:id", "") for one in package.tree(main).iter("sldId")]
    slides = list(dict.fromkeys(relations[one].target for one in named if one in relations))
    if not slides or not set(slides) <= package.names or len(slides) < len(dict.fromkeys(named)):
        found = (match for name in package.names if (match := _SLIDE.fullmatch(name)))
        slides = [match[0] for match in sorted(found, key=lambda match: int(match[1]))]
    texts = [_slide(show, name) for name in slides]
    return texts, show.equations, hidden_notes(show.hidden_slides, show.hidden_shapes)


def hidden_notes(slides: int, shapes: int) -> list[ReadingNote]:
    """Return notes on the number of hidden slides and shapes, if there are any."""
    return [
        ReadingNote("hidden", f"Read and marked: {counted(count, f'hidden {kind}')}.", count=count)
        for kind, count in (("slide", slides), ("shape", shapes))
        if count
    ]


def slide_text(title: str, parts: Sequence[str], *, is_hidden: bool) -> str:
    """Return a slide as Markdown: its title as a heading, and its parts."""
    heading = " ".join(filter(None, ("##" if title or is_hidden else "", title, "(hidden slide)" if is_hidden else "")))
    return "\n\n".join(filter(None, (heading, *parts)))


def _slide(show: _Show, name: str) -> str:
    root = show.package.tree(name)
    hidden = root.get("show") in ("0", "false")
    show.hidden_slides += hidden
    tree = root.find(".//spTree")
    blocks = list(_shapes(show, name, tree, 0)) if tree is not None else []
    titles = [text for kind, text in blocks if kind == "title"]
    parts = [text for kind, text in blocks if kind != "title"]
    return slide_text(" ".join(titles), [*parts, *_extras(show, name)], is_hidden=hidden)


def _shapes(show: _Show, part: str, tree: Element, depth: int) -> Iterator[tuple[str, str]]:
    """Yield kind and text of the shapes of a slide, in order; ``title`` is a separate kind."""
    for shape in tree:
        tag = shape.tag
        if tag == "AlternateContent":
            inner = shape.find("Choice")
            blocks = list(_shapes(show, part, inner, depth + 1)) if inner is not None and depth < _DEEPEST else []
            fallback = shape.find("Fallback")
            if not blocks and fallback is not None and depth < _DEEPEST:
                blocks = list(_shapes(show, part, fallback, depth + 1))
            yield from blocks
        elif tag == "grpSp" and depth < _DEEPEST:
            yield from _shapes(show, part, shape, depth + 1)
        elif tag in ("sp", "cxnSp", "pic", "graphicFrame", "grpSp"):
            hidden = any(one.get("hidden") in ("1", "true") for one in shape.iterfind("./*/cNvPr"))
            for kind, text in _shape(show, part, shape):
                show.hidden_shapes += hidden
                yield kind, f"[hidden] {text}" if hidden else text


def _shape(show: _Show, part: str, shape: Element) -> Iterator[tuple[str, str]]:
    holder = shape.find(".//nvPr/ph")
    kind = holder.get("type", "") if holder is not None else None
    if kind in _NUMBERS:
        return
    for table in shape.iter("tbl"):
        yield "table", _table(show.text(part), table)
    if shape.tag == "graphicFrame":
        yield from (("chart", text) for text in _drawings(show, part, shape))
        return
    for body in shape.iter("txBody"):
        if kind in _TITLES:
            if text := line(" ".join(show.text(part).paragraph(one, linked=False) for one in body.iter("p"))):
                yield "title", text
        elif text := "\n".join(_lines(show.text(part), body, kind)).strip("\n"):
            yield "text", text
    if shape.tag == "pic":
        described = (line(one.get("descr", "")) for one in shape.iter("cNvPr"))
        if text := " ".join(filter(None, (_GENERATED.sub("", one) for one in described))):
            yield "picture", text


def _drawings(show: _Show, part: str, frame: Element) -> Iterator[str]:
    """Yield the chart or diagram of a frame."""
    wanted = {
        value
        for one in frame.iter()
        if one.tag in ("chart", "relIds")
        for name, value in one.items()
        if name in ("r:id", "r:dm")
    }
    relations = show.package.relations(part)
    for one in wanted & relations.keys():
        yield from drawn(show.package, {one: relations[one]}, show.read)


def _lines(reader: SlideText, body: Element, kind: str | None) -> Iterator[str]:
    """Yield the lines of a text: list items are adjacent, paragraphs are separated by blank lines."""
    counts: dict[int, int] = {}
    before = ""
    for paragraph in body.iter("p"):
        text = reader.paragraph(paragraph).strip()
        if not text:
            continue
        properties = paragraph.find("pPr")
        level = min(number(properties.get("lvl")), 8) if properties is not None else 0
        sign = _sign(properties, kind, level, counts)
        if before and not (sign and before == "item"):
            yield ""
        before = "item" if sign else "text"
        yield f"{_INDENT * level if sign else ''}{sign}{' '.join(text.split()) if sign else text}"


def _sign(properties: Element | None, kind: str | None, level: int, counts: dict[int, int]) -> str:
    """Return the label of a list item, "" for other paragraphs; ``counts``: the last number of each level."""
    numbered = properties.find("buAutoNum") if properties is not None else None
    if numbered is not None:
        begin = number(numbered.get("startAt"), 1)
        counts[level] = counts[level] + 1 if level in counts else begin
        for deeper in [one for one in counts if one > level]:
            del counts[deeper]
        return f"{counts[level]}. "
    counts.pop(level, None)
    if properties is not None:
        if properties.find("buNone") is not None:
            return ""
        if properties.find("buChar") is not None or properties.find("buBlip") is not None:
            return "- "
    return "- " if kind in _BULLETED or (level and kind == "body") else ""


def _table(reader: SlideText, table: Element) -> str:
    rows: list[list[Cell]] = []
    for row in table.iterfind("tr"):
        cells = []
        for cell in row.iterfind("tc"):
            if cell.get("hMerge") in ("1", "true") or cell.get("vMerge") in ("1", "true"):
                continue
            text = " ".join(filter(None, (" ".join(reader.paragraph(one).split()) for one in cell.iter("p"))))
            cells.append(Cell(text, number(cell.get("gridSpan"), 1), number(cell.get("rowSpan"), 1)))
        rows.append(cells)
    heads = max((cell.rows for cell in rows[0]), default=1) if rows else 1
    grid = filled(rows, heads)
    return markdown(grid, min(heads, max(len(grid) - 1, 1)))


def _extras(show: _Show, slide: str) -> Iterator[str]:
    """Yield charts without a shape, the speaker notes, and the comments of a slide; parts already read are skipped."""
    relations = show.package.relations(slide)
    yield from drawn(show.package, relations, show.read)
    for relation in relations.values():
        if relation.kind not in ("notesSlide", "comments", "threadedComments") or relation.target in show.read:
            continue
        show.read.add(relation.target)
        root, reader = show.package.tree(relation.target), show.text(relation.target)
        if relation.kind == "notesSlide":
            bodies = (one for one in root.iter("sp") if any(ph.get("type") == "body" for ph in one.iter("ph")))
            lines = (" ".join(reader.paragraph(one).split()) for body in bodies for one in body.iter("p"))
            if note := "\n\n".join(filter(None, lines)):
                yield f"### Notes\n\n{note}"
        elif found := [f"- {one}" for one in _comments(show, reader, root)]:
            yield "\n".join(["### Comments\n", *found])


def _comments(show: _Show, reader: SlideText, root: Element) -> Iterator[str]:
    """Yield the comments of a slide with author and date; replies follow the comment that they answer."""
    for one in root.iter():
        if one.tag not in ("cm", "reply"):
            continue
        author = line(show.authors.get(one.get("authorId", ""), ""))
        body = one.find("txBody")
        old = one.find("text")
        words = line(" ".join(reader.paragraph(part) for part in body.iter("p"))) if body is not None else ""
        if words := words or (line(old.text or "") if old is not None else ""):
            yield comment(author, words, one.get("dt", one.get("created", "")))
