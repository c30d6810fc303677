"""Markdown: CommonMark blocks and tables, sections by their headings."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING

from pinakes.chunking.outline import BLOCK, FENCE_LINE, Cuts, Outline, Region, contents, paths, sections
from pinakes.chunking.scale import Scale, clean
from pinakes.types import Document

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.token import Token

AFTER_COLON = BLOCK - 2
AFTER_HEADING = BLOCK - 4
NESTED = BLOCK - 6
ROW = 30
BEFORE_TABLE = ROW - 1
"""Between a heading and a table: a table is rather cut between its rows than parted from its heading."""
MAX_NESTING = 20

_COMMENTS = re.compile(r"(?:\s*+<!--(?:(?!-->).)*+-->)++\s*+", re.DOTALL)
_INNER_LINES = {
    "fence": (2, 2, FENCE_LINE),
    "code_block": (1, 1, FENCE_LINE),
    "html_block": (1, 1, FENCE_LINE),
    "table_open": (3, 1, ROW),
}
"""How many lines stay together at the head and at the tail of a solid block, and the level of cuts between."""
_SOLID = frozenset(_INNER_LINES)
_BLOCKS = _SOLID | {"paragraph_open", "bullet_list_open", "ordered_list_open", "blockquote_open", "heading_open", "hr"}
_NESTED_BLOCKS = _BLOCKS | {"list_item_open"}


def outline(document: Document, scale: Scale) -> Outline:
    """Find sections and blocks; leave out comments that stand between blocks, unless there is nothing else."""
    # The parser would count a stray carriage return as a line end, and the lines are what we take from it.
    tokens = _block_parser().parse(document.text.replace("\r", " "))
    return _Blocks(document.text, scale.line_starts.tolist(), tokens).outline()


class _Blocks:
    def __init__(self, text: str, lines: list[int], tokens: Sequence[Token]) -> None:
        self.text = text
        self.lines = lines
        self.tokens = tokens
        self.cuts = Cuts()
        self.glue: set[int] = set()
        self.solids: list[tuple[int, int]] = []
        self.holes: list[tuple[int, int]] = []
        self.headings: list[tuple[int, int, int, str]] = []

    def outline(self) -> Outline:
        """Walk the tokens once, then nest the sections."""
        level = BLOCK
        for index, token in enumerate(self.tokens):
            if token.map is None or token.nesting < 0:
                continue
            if token.level:
                self._nested(token)
            elif token.type in _BLOCKS:
                level = self._block(index, token, level)
        root, glue = sections(self.text, self._regions(), self.holes)
        glue |= self.glue
        for point in glue:
            self.cuts.found.pop(point, None)
        entries = contents(self.headings, len(self.text))
        return Outline(root, self.cuts, frozenset(glue), tuple(self.solids), entries=entries)

    def _block(self, index: int, token: Token, level: int) -> int:
        """Note a block of the document itself, which ``level`` parts from the one before; return the next level."""
        start, end = self._span(token)
        if token.type == "html_block" and _COMMENTS.fullmatch(token.content):
            self.holes.append((start, end))
            return level
        self._parted(start, token.type, level)
        if token.type == "heading_open":
            name = _plain(self.tokens[index + 1].content)
            self.headings.append((start, end, int(token.tag[1:]), name))
            return AFTER_HEADING
        self._solid(token, start, end)
        opens = token.type == "paragraph_open" and self.tokens[index + 1].content.rstrip().endswith(":")
        return AFTER_COLON if opens else BLOCK

    def _parted(self, start: int, kind: str, level: int) -> None:
        if level == AFTER_HEADING and kind not in _SOLID:
            self.glue.add(start)
        else:
            self.cuts.add(start, BEFORE_TABLE if level == AFTER_HEADING and kind == "table_open" else level)

    def _nested(self, token: Token) -> None:
        start, end = self._span(token)
        if token.type in _NESTED_BLOCKS:
            self.cuts.add(start, NESTED - min(token.level, MAX_NESTING))
            self._solid(token, start, end)

    def _solid(self, token: Token, start: int, end: int) -> None:
        if token.type not in _SOLID:
            return
        self.solids.append((start, end))
        first, last = token.map or (0, 0)
        head, tail, level = _INNER_LINES[token.type]
        for line in self.lines[first + head : last - tail + 1]:
            self.cuts.add(line, level)

    def _span(self, token: Token) -> tuple[int, int]:
        first, last = token.map or (0, 0)
        return self.lines[first], self.lines[min(last, len(self.lines) - 1)]

    def _regions(self) -> list[Region]:
        ends = [start for start, *_ in self.headings] + [len(self.text)]
        regions = [Region(0, (), 0, 0, ends[0])]
        names: Iterable[tuple[str, ...]] = paths((level, name) for *_, level, name in self.headings)
        for (start, body, level, _), path, end in zip(self.headings, names, ends[1:], strict=True):
            regions.append(Region(level, path, start, body, end))
        return regions


def _plain(heading: str) -> str:
    """Return the words of a heading without inline markup."""
    inline = _inline_parser().parseInline(heading)[0].children or []
    words = (" " if token.type == "softbreak" else token.content for token in inline if token.type != "html_inline")
    return clean("".join(words))


@cache
def _block_parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark")
    parser.block.ruler.at("table", _table, {"alt": ["paragraph", "reference"]})
    parser.enable("table")
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


def _table(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Parse a table as the rule it replaces does, but without a token per cell: spreadsheets have millions."""
    if not _table_rule()(state, start, end, True):
        return False
    if silent:
        return True
    parent, state.parentType = state.parentType, "table"
    enders = state.md.block.ruler.getRules("blockquote")
    line = start + 2
    while (
        line < end
        and state.sCount[line] >= state.blkIndent
        and not state.isEmpty(line)
        and not state.is_code_block(line)
        and not any(rule(state, line, end, True) for rule in enders)
    ):
        line += 1
    state.push("table_open", "table", 1).map = [start, line]
    state.push("table_close", "table", -1)
    state.line, state.parentType = line, parent
    return True


@cache
def _table_rule() -> Callable[[StateBlock, int, int, bool], bool]:
    from markdown_it.rules_block import table

    return table


@cache
def _inline_parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark")
