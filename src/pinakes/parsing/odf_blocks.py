"""Blocks of OpenDocument files in order: paragraphs, numbered headings and lists, tables, text boxes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final
from xml.etree.ElementTree import Element

from pinakes.parsing import blocks
from pinakes.parsing.blocks import MOST_HEADS, Block
from pinakes.parsing.grids import Cell, filled
from pinakes.parsing.odf_styles import OUTLINE, Counter
from pinakes.parsing.odf_text import SHAPES, UNREAD, Story, described
from pinakes.parsing.openxml import line, number

_DEEPEST: Final = 60
_MOST_REPEATED: Final = 1000
_WORDLESS: Final = UNREAD | {"title", "desc", "image", "object-ole", "thumbnail"}
_TRUE: Final = "true"


def comments_of(story: Story, element: Element) -> list[str]:
    """Return the comments that are direct children of ``element``."""
    return [text for one in element.iterfind("annotation") for text in story.comment(one)]


class Flow:
    """Reads paragraphs, lists and tables in order."""

    def __init__(self, story: Story) -> None:
        self._story = story
        self._last: Counter | None = None  # of the previous list

    def blocks(self, container: Element, depth: int) -> Iterator[Block]:
        """Yield the blocks of a container: a body, section, cell, text box or note."""
        for one in container:
            yield from self.block(one, depth)

    def block(self, one: Element, depth: int) -> Iterator[Block]:
        """Yield the blocks of one child of a container."""
        tag = one.tag
        if tag in ("p", "h"):
            yield from self._paragraph(one, depth)
        elif tag == "annotation":
            self._story.comments += self._story.comment(one)
        elif tag == "control":
            yield from filter(None, [_text(self._story.controls.get(one.get("control", ""), ""))])
        elif tag == "object":
            yield from self._story.shown(one.get("href", ""))
        elif depth >= _DEEPEST:
            yield from filter(None, [_text(line(" ".join(one.itertext())))])
        elif tag in _NESTED:
            yield from _NESTED[tag](self, one, depth)
        elif tag in SHAPES and tag != "text-box":
            yield from filter(None, [_text(described(one))])
            yield from Flow(self._story).blocks(one, depth + 1)
        elif tag not in _WORDLESS:
            yield from self.blocks(one, depth + 1)

    def _section(self, section: Element, depth: int) -> Iterator[Block]:
        is_hidden = section.get("display") == "none"
        for block in self.blocks(section, depth + 1):
            self._story.hidden += is_hidden
            marked = is_hidden and block.kind != "table"
            yield block._replace(text=f"[hidden] {block.text}") if marked else block

    def _paragraph(self, paragraph: Element, depth: int, label: str | None = None, at: int = 0) -> Iterator[Block]:
        """Yield a paragraph, then its shapes; ``label``: the label of a list item, None if it is not in a list."""
        story = self._story
        is_head = paragraph.tag == "h" and paragraph.get("is-list-header") != _TRUE
        text = story.text(paragraph, marked=not is_head)
        beside, story.beside = story.beside, []
        level = 0
        if is_head:
            level = number(paragraph.get("outline-level"), 1)
            if label is None:
                label = self._numbered(paragraph, level)
        if text:
            yield blocks.paragraph(text, min(max(level, 0), 6), label, min(at, 9))
        for shape in beside:
            yield from Flow(story).blocks(shape, depth + 1)

    def _numbered(self, heading: Element, level: int) -> str | None:
        """Return the number of a heading that is not in a list."""
        counter = self._counter(OUTLINE)
        start = heading.get("start-value")
        return counter.label(max(level - 1, 0), number(start) if start is not None else None) or None

    def _counter(self, name: str) -> Counter:
        return self._story.lists.setdefault(name, Counter(self._story.styles, name))

    def _list(self, element: Element, depth: int) -> Iterator[Block]:
        yield from self._items(element, depth, 0, self._counter_of(element, element.get("style-name", "")))

    def _items(self, element: Element, depth: int, level: int, counter: Counter) -> Iterator[Block]:
        """Yield the items of a list and its sublists, which use ``counter`` unless they have another style."""
        if known := element.get("id"):
            self._story.lists[f"\0{known}"] = counter
        for item in element:
            labelled = item.tag == "list-item"
            for one in item if item.tag in ("list-item", "list-header") else ():
                if one.tag == "list" and depth < _DEEPEST:
                    yield from self._items(one, depth + 1, level + 1, self._nested(one, level + 1, counter))
                elif one.tag in ("p", "h"):
                    start = item.get("start-value")
                    label = counter.label(level, number(start) if start is not None else None) if labelled else None
                    labelled = False
                    yield from self._paragraph(one, depth, label, level)
                else:
                    yield from self.block(one, depth + 1)

    def _nested(self, element: Element, level: int, counter: Counter) -> Counter:
        name = element.get("style-name", "")
        if name and name != counter.name:
            return Counter(self._story.styles, name)
        if element.get("continue-numbering") != _TRUE:
            counter.again(level)
        return counter

    def _counter_of(self, element: Element, name: str) -> Counter:
        """Return the counter of a list: a new one, or that of the list it continues."""
        before = self._story.lists.get(f"\0{element.get('continue-list', '')}")
        if element.get("continue-numbering") == _TRUE:
            before = before or self._last
        if before is None:
            before = Counter(self._story.styles, name)
        self._last = before
        return before

    def _table(self, table: Element, depth: int) -> Iterator[Block]:
        rows = list(_rows(table, 0))
        cells = [list(_cells(row)) for row, _ in rows]
        nests = any(cell.find(".//table") is not None for inside in cells[:1] for cell in inside)
        if (len(rows) == 1 and nests) or all(len(inside) <= 1 for inside in cells):
            for inside in cells:
                for cell in inside:
                    yield from Flow(self._story).blocks(cell, depth + 1)
            return
        nested: list[Block] = []
        heads = sum(is_head for _, is_head in rows)
        grid = filled([[self._cell(cell, depth, nested) for cell in inside] for inside in cells], heads)
        yield from blocks.table(grid, min(heads, MOST_HEADS, max(len(rows) - 1, 1)))
        yield from nested

    def _cell(self, cell: Element, depth: int, nested: list[Block]) -> Cell:
        inner = list(Flow(self._story).blocks(cell, depth + 1))
        return Cell(
            blocks.of_cell(inner, nested),
            number(cell.get("number-columns-spanned"), 1),
            number(cell.get("number-rows-spanned"), 1),
        )


_NESTED: Final = {"list": Flow._list, "table": Flow._table, "section": Flow._section}  # noqa: SLF001 - its own


def _text(words: str) -> Block | None:
    return Block("text", words) if words else None


def _rows(table: Element, depth: int, head: bool = False) -> Iterator[tuple[Element, bool]]:
    """Yield the rows of a table, and whether each is a header row."""
    for one in table:
        if one.tag == "table-row":
            again = min(number(one.get("number-rows-repeated"), 1), _MOST_REPEATED)
            for _ in range(max(again, 1) if any(cell.text or len(cell) for cell in one) else 1):
                yield one, head
        elif one.tag.startswith("table-") and depth < _DEEPEST:
            yield from _rows(one, depth + 1, head or one.tag == "table-header-rows")


def _cells(row: Element) -> Iterator[Element]:
    """Yield the cells of a row, without those covered by others."""
    for one in row:
        if one.tag == "table-cell":
            again = min(number(one.get("number-columns-repeated"), 1), _MOST_REPEATED)
            yield from [one] * max(again, 1)
