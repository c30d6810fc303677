"""Word documents (DOCX): text with headings, numbered lists, tables, notes, comments, headers and footers.

Equations are returned separately: ``pinakes.parsing.equations`` writes them as LaTeX.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple
from xml.etree.ElementTree import Element

from pinakes.core.records import ReadingNote
from pinakes.core.wording import counted
from pinakes.parsing import blocks
from pinakes.parsing.blocks import MOST_HEADS, Block
from pinakes.parsing.charts import drawn
from pinakes.parsing.grids import Cell, filled
from pinakes.parsing.notes import comment, sections
from pinakes.parsing.openxml import Package, Relation, clean, line, number, on
from pinakes.parsing.word_styles import Numbering, Style, Styles, list_of, outline_level
from pinakes.parsing.word_text import Story

_DEEPEST: Final = 60
_BULLET: Final = re.compile(r"[•▪■●◦‣][ \t]+(?=\S)")
_EMPTY_ITEM: Final = re.compile(r"[•▪■●◦‣]")
_UNREAD: Final = frozenset(("sectPr", "sdtPr", "sdtEndPr", "del", "moveFrom", "tblPr", "tblGrid", "customXmlPr"))


class WordText(NamedTuple):
    """The text of a document, its equations by number, and notes."""

    text: str
    equations: list[Element]
    notes: list[ReadingNote]


def read_word(package: Package, insert: Callable[[Relation | None], Sequence[Block]]) -> WordText:
    """Return the text of a Word document as Markdown.

    ``insert``: relationship to a file that the document shows in place (HTML, RTF) → its content.

    Raises:
        Unreadable: it is not a Word document.
    """
    return _Word(package, insert).read()


class _Word:
    def __init__(self, package: Package, insert: Callable[[Relation | None], Sequence[Block]]) -> None:
        self._package = package
        self._insert = insert
        self._main = package.main("word/document.xml")
        self._relations = package.relations(self._main)
        self._styles = Styles(self._part("styles"))
        self._numbering = Numbering(self._part("numbering"), self._styles)
        self._notes = dict(self._notes_of())
        self._equations: list[Element] = []
        self._read: set[str] = set()
        self._hidden = 0

    def read(self) -> WordText:
        """Return the whole document."""
        root = self._package.tree(self._main)
        body = root.find("body")
        story = self._story(frozenset(self._notes))
        text = blocks.joined(_Flow(self, story).blocks(body if body is not None else root, 0))
        cited = [self._notes_text(self._notes[one]) for one in story.cited]
        text = f"{text}\n{sections(cited, self._comments())}{self._margins(root)}"
        self._hidden += story.hidden
        notes = []
        if self._hidden:
            message = f"Read and marked: {counted(self._hidden, 'chunk')} of hidden text."
            notes.append(ReadingNote("hidden", message, count=self._hidden))
        if count := sum(1 for one in root.iter("delText") if (one.text or "").strip()):
            notes.append(ReadingNote("deleted", f"Left out: {counted(count, 'part')} of deleted text.", count=count))
        return WordText(text, self._equations, notes)

    def _part(self, kind: str) -> Element:
        """Return the tree of a part related to the main part, found by its kind or by its usual name."""
        named = [one.target for one in self._relations.values() if one.kind == kind]
        return self._package.tree(named[0] if named else f"word/{kind}.xml")

    def _story(self, notes: frozenset[tuple[str, str]] = frozenset(), part: str = "", *, pages: bool = True) -> Story:
        relations = self._package.relations(part) if part else self._relations
        return Story(self._styles, relations, notes, equations=self._equations, pages=pages)

    def drawings(self, story: Story, drawing: Element) -> Iterator[str]:
        """Yield the charts and diagrams of a drawing."""
        wanted = {value for one in drawing.iter() for name, value in one.items() if name in ("r:id", "r:dm")}
        yield from drawn(
            self._package, {one: story.relations[one] for one in wanted & story.relations.keys()}, self._read
        )

    def inserted(self, story: Story, chunk: Element) -> Sequence[Block]:
        """Return the content of a file that stands in place of a paragraph."""
        return self._insert(story.relations.get(chunk.get("r:id", "")))

    def style_of(self, properties: Element | None) -> Style:
        """Return the style of a paragraph."""
        style = properties.find("pStyle") if properties is not None else None
        return self._styles.of(style.get("val", "") if style is not None else "")

    def label(self, properties: Element | None, style: Style) -> tuple[str | None, int]:
        """Return the label of a list paragraph, None for other paragraphs; and its level."""
        own, level = list_of(properties) if properties is not None else (None, None)
        list_id = own if own is not None else style.list_id
        if not list_id or list_id == "0":
            return None, 0
        at = level if level is not None else style.list_level
        if at is None:
            at = max((style.level or 1) - 1, 0) if own is None else 0
        return self._numbering.label(list_id, at), at

    def _notes_of(self) -> Iterator[tuple[tuple[str, str], Element]]:
        """Yield ((kind, id), element) of each note with text."""
        for kind in ("footnote", "endnote"):
            for one in self._part(f"{kind}s").iter(kind):
                if any((part.text or "").strip() for part in one.iter("t")):
                    yield (kind, one.get("id", "")), one

    def _notes_text(self, note: Element) -> str:
        kind = f"{note.tag}s"
        part = next((one.target for one in self._relations.values() if one.kind == kind), "")
        story = self._story(part=part)
        inner = _Flow(self, story).blocks(note, 0)
        self._hidden += story.hidden
        return " ".join(" ".join(block.text for block in inner).split())

    def _comments(self) -> Iterator[str]:
        """Yield each comment, with author and date."""
        for one in self._part("comments").iter("comment"):
            words = " ".join(self._story().text(paragraph, marked=False) for paragraph in one.iter("p"))
            if text := " ".join(words.split()):
                yield comment(line(one.get("author", "")), text, one.get("date", ""))

    def _margins(self, root: Element) -> str:
        """Return the distinct texts of headers and footers as a section, without page numbers."""
        found: dict[str, None] = {}
        for one in root.iter():
            if one.tag not in ("headerReference", "footerReference"):
                continue
            part = self._relations.get(one.get("r:id", ""))
            if part is None or part.target in self._read:
                continue
            self._read.add(part.target)
            story = self._story(part=part.target, pages=False)
            for block in _Flow(self, story).blocks(self._package.tree(part.target), 0):
                found.setdefault(blocks.in_margin(block, numbered=story.had_pages))
            self._hidden += story.hidden
        return blocks.margins(found)


class _Flow:
    """Reads paragraphs and tables in order."""

    def __init__(self, word: _Word, story: Story) -> None:
        self._word = word
        self._story = story
        self._initial = ""
        self._depth = -1  # of the last item of the current list

    def blocks(self, container: Element, depth: int) -> Iterator[Block]:
        """Yield the blocks of a container: a body, cell, text box or note."""
        for one in container:
            tag = one.tag
            if tag == "p":
                yield from self._paragraph(one, depth)
            elif tag == "tbl":
                self._depth = -1
                yield from self._table(one, depth)
            elif tag in ("oMath", "oMathPara"):
                inner = Element("p")
                inner.append(one if one.tag == "oMathPara" else _displayed(one))
                yield from self._paragraph(inner, depth)
            elif tag == "AlternateContent":
                chosen = one.find("Choice")
                chosen = chosen if chosen is not None else one.find("Fallback")
                if chosen is not None and depth < _DEEPEST:
                    yield from self.blocks(chosen, depth + 1)
            elif tag == "altChunk":
                yield from self._word.inserted(self._story, one)
            elif tag not in _UNREAD and depth < _DEEPEST and len(one):
                yield from self.blocks(one, depth + 1)
            elif tag not in _UNREAD and len(one):
                yield from (
                    Block("text", text) for text in [clean(" ".join(t.text or "" for t in one.iter("t")))] if text
                )

    def _paragraph(self, paragraph: Element, depth: int) -> Iterator[Block]:
        properties = paragraph.find("pPr")
        style = self._word.style_of(properties)
        outline = properties.find("outlineLvl") if properties is not None else None
        level = outline_level(outline) if outline is not None else style.level or 0
        text = self._story.text(paragraph, marked=not level)
        beside, self._story.beside = self._story.beside, []
        frame = properties.find("framePr") if properties is not None else None
        if frame is not None and frame.get("dropCap") in ("drop", "margin") and len(text) <= 5:
            self._initial += text
            return
        if text and not _EMPTY_ITEM.fullmatch(text):
            text, self._initial = self._initial + text, ""
            label, at = self._word.label(properties, style)
            yield self._block(text, level, label, at)
        for drawing in beside:
            yield from self._drawing(drawing, depth)

    def _block(self, text: str, level: int, label: str | None, at: int) -> Block:
        if level or label is None:
            self._depth = -1
        else:
            self._depth = min(at, self._depth + 1)
        if not level and label is None and (bullet := _BULLET.match(text)):
            return Block("item", f"- {' '.join(text[bullet.end() :].split())}")
        return blocks.paragraph(text, level, label, self._depth)

    def _drawing(self, drawing: Element, depth: int) -> Iterator[Block]:
        if depth >= _DEEPEST:
            return
        for box in _outermost(drawing, "txbxContent"):
            yield from _Flow(self._word, self._story).blocks(box, depth + 1)
        for text in self._word.drawings(self._story, drawing):
            yield Block("text", text)

    def _table(self, table: Element, depth: int) -> Iterator[Block]:
        rows = list(_rows(table))
        cells = [(row, list(_cells(row))) for row in rows]
        nests = any(cell.find(".//tbl") is not None for _, inside in cells[:1] for cell in inside)
        if (len(rows) == 1 and nests) or all(len(inside) <= 1 for _, inside in cells):
            for _, inside in cells:
                for cell in inside:
                    if depth < _DEEPEST:
                        yield from _Flow(self._word, self._story).blocks(cell, depth + 1)
                    elif words := line(" ".join(one.text or "" for one in cell.iter("t"))):
                        yield Block("text", words)
            return
        nested: list[Block] = []
        heads = 0
        while heads < min(len(rows) - 1, MOST_HEADS) and on(rows[heads].find("./trPr/tblHeader")):
            heads += 1
        grid = filled(self._spanning(cells, depth, nested), heads)
        yield from blocks.table(grid, heads)
        yield from nested

    def _spanning(self, rows: list[tuple[Element, list[Element]]], depth: int, nested: list[Block]) -> list[list[Cell]]:
        """Return the cells of each row with their spans; cells that continue one above are dropped.

        Large tables inside of cells, with their captions, are appended to ``nested``.
        """
        found: list[list[Cell]] = []
        above: dict[int, tuple[int, int]] = {}  # column → row and index of the cell that spans down
        for row, inside in rows:
            line_: list[Cell] = []
            before = row.find("./trPr/gridBefore")
            column = min(number(before.get("val")), 100) if before is not None else 0
            line_ += [Cell("")] * column
            for cell in inside:
                span, merged = cell.find("./tcPr/gridSpan"), cell.find("./tcPr/vMerge")
                columns = min(max(number(span.get("val"), 1), 1), 100) if span is not None else 1
                if merged is not None and merged.get("val", "continue") != "restart" and column in above:
                    at, place = above[column]
                    found[at][place] = found[at][place]._replace(rows=len(found) - at + 1)
                else:
                    inner = list(_Flow(self._word, self._story).blocks(cell, depth + 1)) if depth < _DEEPEST else []
                    text = blocks.of_cell(inner, nested)
                    if merged is not None:
                        above[column] = len(found), len(line_)
                    else:
                        above.pop(column, None)
                    line_.append(Cell(text, columns))
                column += columns
            found.append(line_)
        return found


def _displayed(equation: Element) -> Element:
    whole = Element("oMathPara")
    whole.append(equation)
    return whole


def _rows(table: Element, depth: int = 0) -> Iterator[Element]:
    """Yield the rows of a table, including those in content controls, without deleted ones."""
    for one in table:
        if one.tag == "tr":
            if one.find("./trPr/del") is None:
                yield one
        elif one.tag not in _UNREAD and depth < _DEEPEST:
            yield from _rows(one, depth + 1)


def _cells(row: Element, depth: int = 0) -> Iterator[Element]:
    for one in row:
        if one.tag == "tc":
            yield one
        elif one.tag not in _UNREAD and one.tag != "trPr" and depth < _DEEPEST:
            yield from _cells(one, depth + 1)


def _outermost(element: Element, tag: str) -> Iterator[Element]:
    """Yield the outermost elements called ``tag``; of alternative content, only the newer choice."""
    stack = [element]
    while stack:
        one = stack.pop()
        if one.tag == tag:
            yield one
        elif one.tag == "AlternateContent" and one.find("Choice") is not None:
            stack += one.findall("Choice")
        else:
            stack += reversed(one)
