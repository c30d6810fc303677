"""Markdown: CommonMark blocks and tables, sections by their headings."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, partial
from html import unescape
from itertools import islice, pairwise

from pinakes.chunking.contexts import MAX_LABEL_CHARS, Context
from pinakes.chunking.indented import blocks_in
from pinakes.chunking.markdown_blocks import MarkdownBlock, blocks
from pinakes.chunking.outline import BLOCK, FENCE_LINE, Cuts, Outline, contents, regions, sections
from pinakes.chunking.scale import Scale, clean
from pinakes.chunking.tables import (
    MAX_HEAD_ROWS,
    Table,
    caption_in,
    cells_of,
    combined,
    head_rows,
    is_head,
    is_lacking,
    name_of,
)
from pinakes.core.records import Document

AFTER_COLON = BLOCK - 2
AFTER_HEADING = BLOCK - 4
NESTED = BLOCK - 6
ROW = 30
BEFORE_TABLE = ROW - 1
"""Level of a cut between a heading and a table: cuts between table rows are preferred."""
MAX_NESTING = 20
SMALL_TABLE = 4
"""Smaller tables, relative to a chunk (1/n), are never cut."""

_SHORT_ITEM = 500
"""Items of one line up to this many characters are not cut, so they need no context."""

_DASHES = re.compile(r"[\s|:-]+")
_ROWS = re.compile(r"(?:^|\n)[ \t]*\|.*+\s*+\Z", re.DOTALL)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_BULLET = re.compile(r"\s*[-*+]\s+")
_ENTRY = re.compile(r"[ \t]*+(?:[-*+]|\d{1,9}[.)])[ \t]++\[([^\n]*)\]\(#([^\s()]*+)\)[ \t]*+")
_WORDS = re.compile(r"\w+")
_NOT_IN_ANCHORS = re.compile(r"[^\w -]")
_NUMBERED = re.compile(r"-\d+\Z")
_MOST_LISTED = 0.8
"""A table of contents has so much of the headings after it, down to the level of its deepest entry."""

_CONTAINERS = re.compile(r"\A(?:[ \t]*(?:>|(?:[-*+]|\d{1,9}[.)])(?=[ \t])))+[ \t]*")
_COMMENTS = re.compile(r"(?:\s*+<!--(?:(?!-->).)*+-->)++\s*+", re.DOTALL)
_LANGUAGE = re.compile(r"[A-Za-z][\w+#-]{0,50}")
_INNER_LINES = {
    "fence": (2, 2, FENCE_LINE),
    "code": (1, 1, FENCE_LINE),
    "html": (1, 1, FENCE_LINE),
    "table": (3, 1, ROW),
}
"""Lines that stay together at the start and end of a solid block, and the level of cuts between."""
_HTML_HEAD_CHARS = 10_000
_HTML_TABLE = re.compile(r"<(/?)table\b", re.IGNORECASE)
_HTML_ROW = re.compile(r"<tr\b[^<>]*>((?:(?!</?tr\b).)*+)(?=<)", re.IGNORECASE | re.DOTALL)
_HTML_ROW_START = re.compile(r"(\n)[ \t]*<tr\b", re.IGNORECASE)
_HTML_CELL = re.compile(r"<t[hd]\b[^<>]*>", re.IGNORECASE)
_HTML_NAMES = re.compile(r"<th(?:ead)?\b", re.IGNORECASE)
_HTML_CAPTION = re.compile(r"<caption\b.*", re.IGNORECASE | re.DOTALL)
_HTML_TAG = re.compile(r"<[^<>]*>")
_FIRST_ROW = ROW - 5
"""Level of a cut between the column names and the first row, if both are too large for one chunk."""


def outline(document: Document, scale: Scale) -> Outline:
    """Find sections and blocks; omit comments between blocks and tables of contents, unless there is nothing else."""
    return _Blocks(scale, blocks(document.text, scale.line_starts)).outline()


class _Blocks:
    def __init__(self, scale: Scale, found: Sequence[MarkdownBlock]) -> None:
        self.scale = scale
        self.text = scale.text
        self.lines: list[int] = scale.line_starts.tolist()
        self.blocks = found
        self.cuts = Cuts()
        self.glue: set[int] = set()
        self.solids: list[tuple[int, int]] = []
        self.holes: list[tuple[int, int]] = []
        self.headings: list[tuple[int, int, int, str]] = []
        self.contexts: list[Context] = []
        self.small = scale.limits // SMALL_TABLE
        self.before: tuple[int, int] | None = None
        self.link_lists: list[tuple[int, int]] = []

    def outline(self) -> Outline:
        """Process the blocks once, then nest the sections."""
        level = BLOCK
        for index, block in enumerate(self.blocks):
            if block.level:
                self._nested(index, block)
            else:
                level = self._block(block, level)
        self.holes = sorted([*self.holes, *self._tables_of_contents()])
        root, glue = sections(self.text, regions(self.headings, len(self.text)), self.holes, self._fits)
        glue |= self.glue
        for point in glue:
            self.cuts.found.pop(point, None)
        entries = contents(self.headings, len(self.text))
        return Outline(
            root, self.cuts, frozenset(glue), tuple(self.solids), entries=entries, contexts=tuple(self.contexts)
        )

    def _block(self, block: MarkdownBlock, level: int) -> int:
        """Record a top-level block; ``level`` is the cut before it. Return the level of the next cut."""
        start, end = self._span(block)
        kind = block.kind
        if kind == "html" and _COMMENTS.fullmatch(self.text, start, end):
            self.holes.append((start, end))
            return level
        if kind == "list" and _ENTRY.match(self.text, start, end):
            self.link_lists.append((start, end))
        captioned = kind == "table" and self._captioned(start, end)
        self._parted(start, kind, AFTER_COLON if captioned and level == BLOCK else level)
        if kind == "heading":
            self.headings.append((start, end, block.heading, clean(block.name)))
            self.before = None
            return AFTER_HEADING
        if kind == "list" and level == AFTER_COLON and self.before:
            self._introduced(*self.before, end)
        self._solid(block, start, end)
        self.before = (start, end) if kind == "paragraph" else None
        return AFTER_COLON if kind == "paragraph" and self.text[start:end].rstrip().endswith(":") else BLOCK

    def _tables_of_contents(self) -> Iterator[tuple[int, int]]:
        """Yield the lists of links to the headings after them that have no word which the headings lack."""
        if not self.link_lists:
            return
        known = {word for *_, name in self.headings for word in _WORDS.findall(name.lower())}
        anchors = [_NOT_IN_ANCHORS.sub("", name.lower()).replace(" ", "-") for *_, name in self.headings]
        levels, places = dict[str, int](), defaultdict[tuple[str | None, int], list[int]](list)
        for (place, _, level, _), anchor in zip(self.headings, anchors, strict=True):
            levels[anchor] = level
            places[anchor, level].append(place)
            places[None, level].append(place)
        for start, end in self.link_lists:
            entries = [_ENTRY.fullmatch(line) for line in self.text[start:end].splitlines() if line.strip()]
            names = " ".join(entry[1].lower() for entry in entries if entry)
            targets = [entry[2].lower() for entry in entries if entry]
            listed = {one if one in levels else _NUMBERED.sub("", one) for one in targets}
            if not (all(entries) and listed <= levels.keys()):
                continue
            down_to = range(1, max(levels[one] for one in listed) + 1)
            after = _number_from(end, (places.get((None, level), ()) for level in down_to))
            found = _number_from(end, (places.get((one, level), ()) for one in listed for level in down_to))
            if found < max(1, _MOST_LISTED * after):
                continue
            if known.issuperset(_WORDS.findall(unescape(_HTML_TAG.sub("", names)).replace("\\", ""))):
                yield start, end

    def _captioned(self, start: int, end: int) -> bool:
        """Record the paragraph before a table if it is the table's caption. Return whether it is."""
        if self.before is None or self._is_small(start, end) or self.text[self.before[1] : start].strip():
            return False
        caption_text = caption_in(_ROWS.sub("", self.text[slice(*self.before)]))
        if not caption_text:
            return False
        self.contexts.append(Context(self.before[0], end, partial(str, caption_text)))
        return True

    def _introduced(self, start: int, end: int, last: int) -> None:
        """Record the introductory sentence (ending in a colon) of a list that reaches to ``last``."""
        self.contexts.append(Context(start, last, partial(_last_sentence, self.text, start, end)))

    def _parted(self, start: int, kind: str, level: int) -> None:
        if level == AFTER_HEADING and kind not in _INNER_LINES:
            self.glue.add(start)
        else:
            self.cuts.add(start, BEFORE_TABLE if level == AFTER_HEADING and kind == "table" else level)

    def _nested(self, index: int, block: MarkdownBlock) -> None:
        start, end = self._span(block)
        self.cuts.add(start, NESTED - min(block.level, MAX_NESTING))
        self._solid(block, start, end)
        if block.kind == "item" and (block.last - block.first > 1 or end - start > _SHORT_ITEM):
            self._item(index, start, end)

    def _item(self, index: int, start: int, end: int) -> None:
        first = self.blocks[index + 1] if index + 1 < len(self.blocks) else None
        if first and first.level > self.blocks[index].level and first.kind in ("paragraph", "heading"):
            lead = self._span(first)[1]
            self.contexts.append(Context(start, end, partial(_item_label, self.text, start, lead)))

    def _solid(self, block: MarkdownBlock, start: int, end: int) -> None:
        if block.kind not in _INNER_LINES:
            return
        head, tail, level = _INNER_LINES[block.kind]
        if block.kind == "table":
            start, head = self._table(block.first, block.last, end)
        if block.kind == "html":
            self._html_tables(start, end)
        if block.kind == "fence" and not self.scale.fits(start, end, self.scale.limits):
            self._listing(block.first, block.last)
        self.solids.append((start, end))
        for line in self.lines[block.first + head : block.last - tail + 1]:
            self.cuts.add(line, level)

    def _listing(self, first: int, last: int) -> None:
        """Record the blocks of code in a fence, which the end of the text, a quote or an item may leave open."""
        opening = self._line(first).strip()
        info = opening.lstrip(opening[:1])
        ending = self._line(last - 1).strip()
        is_closed = last - first > 1 and ending == opening[:1] * max(len(ending), len(opening) - len(info))
        language = _LANGUAGE.search(info)
        self.contexts += blocks_in(self.scale, first + 1, last - is_closed, language[0].lower() if language else "")

    def _html_tables(self, start: int, end: int) -> None:
        """Record the column names of the tables in an HTML block, and cuts before rows, except header rows."""
        begins = [tag.start() for tag in _HTML_TABLE.finditer(self.text, start, end) if not tag[1]]
        for begin, following in pairwise([*begins, end]):
            self._html_rows(start, begin)
            start = max(start, self._html_table(begin, following, end))
        if begins:
            self._html_rows(start, end)

    def _html_rows(self, start: int, end: int) -> None:
        for row in _HTML_ROW_START.finditer(self.text, start, end):
            self.cuts.add(row.end(1), ROW)

    def _html_table(self, begin: int, following: int, end: int) -> int:
        """Record the column names of a table, which may continue in further blocks; return where cuts are allowed.

        ``following``: start of the next table of the block, which may be in a cell; ``end``: end of the block.
        """
        last = self._html_ends.get(begin, end)
        if self._is_small(begin, last):
            return min(last, end)
        head = self.text[begin : min(begin + _HTML_HEAD_CHARS, following, last)]
        rows = list(islice(_HTML_ROW.finditer(head), 2))
        if not rows:
            return begin
        first, *second = ([name_of(_HTML_TAG.sub(" ", cell)) for cell in _HTML_CELL.split(row[1])[1:]] for row in rows)
        body = begin + rows[0].end()
        is_named = any(first) and (
            _HTML_NAMES.search(head, 0, rows[0].end()) or is_head(first, next(iter(second), None))
        )
        if is_named and body < last:
            caption_text = _HTML_CAPTION.search(head, 0, rows[0].start())
            caption = name_of(_HTML_TAG.sub(" ", caption_text[0])) if caption_text else ""
            self._named(begin, last, caption, Table(self.scale, first, body, last, has_bars=False))
        return body

    @cached_property
    def _html_ends(self) -> dict[int, int]:
        """Start of each closed HTML table → its end."""
        opened: list[int] = []
        ends: dict[int, int] = {}
        for tag in _HTML_TABLE.finditer(self.text):
            if not tag[1]:
                opened.append(tag.start())
            elif opened:
                ends[opened.pop()] = tag.start()
        return ends

    def _table(self, first: int, last: int, end: int) -> tuple[int, int]:
        """Record the column names of the table in these lines; return its start and its number of header lines.

        Header rows may be above the line of dashes, where the parser takes them for a paragraph, and below it.
        """
        if self._is_small(self.lines[first], end) and not (first and self._line(first - 1).strip()):
            return self.lines[first], 3
        names = [cells_of(self._line(first))]
        above, further = first, 0
        while above and first - above < MAX_HEAD_ROWS and self._is_row(above - 1, len(names[0])):
            above -= 1
            names.insert(0, cells_of(self._line(above)))
        if above == first and is_lacking(names[0]):
            below = [cells_of(self._line(line)) for line in range(first + 2, min(last, first + 3 + MAX_HEAD_ROWS))]
            further = head_rows([*names, *below]) - 1
            names += below[:further]
        caption, columns = combined(names)
        start, body = self.lines[above], first + 2 + further
        for point in self.lines[above + 1 : first + 1]:
            self.cuts.found.pop(point, None)
            self.glue.add(point)
        if any(columns) and body < last:
            self._named(start, end, caption, Table(self.scale, columns, self.lines[body], end))
        if body < last:
            self.cuts.add(self.lines[body], _FIRST_ROW)
        return start, 3 + further

    def _is_small(self, start: int, end: int) -> bool:
        """Return whether a table is so small that no chunk begins inside of it."""
        return self.scale.fits(start, end, self.small)

    def _named(self, start: int, end: int, caption: str, table: Table) -> None:
        if caption:
            self.contexts.append(Context(start, end, partial(str, caption)))
        self.contexts.append(Context(table.body - 1, end, table=table))

    def _line(self, number: int) -> str:
        """Return a line without the markers of its enclosing quotes and list items."""
        return _CONTAINERS.sub("", self.text[self.lines[number] : self.lines[number + 1]], count=1)

    def _is_row(self, number: int, width: int) -> bool:
        line = self._line(number).strip()
        return line.startswith("|") and len(line) > 1 and len(cells_of(line)) == width and not _DASHES.fullmatch(line)

    def _span(self, block: MarkdownBlock) -> tuple[int, int]:
        return self.lines[block.first], self.lines[block.last]

    def _fits(self, start: int, end: int, path: tuple[str, ...]) -> bool:
        return self.scale.fits(start, end, self.scale.room(path))


def _item_label(text: str, start: int, end: int) -> str:
    """Return the first words of a list item, including its number."""
    lead = text[start : min(end, start + 2 * MAX_LABEL_CHARS)]
    return name_of(_BULLET.sub("", lead, count=1))


def _last_sentence(text: str, start: int, end: int) -> str:
    caption_text = clean(text[max(start, end - MAX_LABEL_CHARS) : end])
    return _SENTENCE_END.split(caption_text)[-1].strip("*_: ")


def _number_from(first: int, lists: Iterable[Sequence[int]]) -> int:
    """Return how many numbers of sorted ``lists`` are at least ``first``."""
    return sum(len(places) - bisect_left(places, first) for places in lists)
