"""Blocks of a document that flows, such as those of a word processor: headings, items, tables, and what joins them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from pinakes.parsing.grids import Grid, markdown

_PAGE_WORDS: Final = re.compile(r"(?:page|seite|pagina|página|p|pg|of|von|de|di|sur|/|[\s.,:|–-])*", re.IGNORECASE)
_PAGE_END: Final = re.compile(r"[\s|–-]+(?:page|seite|pagina|página)[\s\d.–-]*\Z", re.IGNORECASE)
"""What is left of the number of a page behind other words."""
_MOST_IN_LINE: Final = 1000
"""Characters of the tables in a cell that stay in its row."""
_BAR: Final = re.compile(r"(?<!\\)\|")
_RULE: Final = re.compile(r"\|(?: --- \|)+")
MOST_HEADS: Final = 5
"""Rows that name the columns of a table."""


class Block(NamedTuple):
    """A part of a document: "item" of a list, "head", "table", its "caption", or other "text" that stands by itself."""

    kind: str
    text: str


def table(grid: Grid, heads: int) -> Iterator[Block]:
    """Yield a table whose first ``heads`` rows are said to name the columns; a first row of one cell is its caption."""
    if len(grid) > 1 and len({one for one in grid[0] if one}) == 1 and not any(grid[0][1:]) and any(grid[1][1:]):
        yield Block("caption", grid.pop(0)[0])
        heads = max(heads - 1, 0)
    if text := markdown(grid, max(heads, 1)):
        yield Block("table", text)


def in_margin(block: Block, *, numbered: bool) -> str:
    """Return what a block of a header or footer says, "" where it is the number of a page; ``numbered``: it had one."""
    if "\n|" in block.text:
        return block.text.strip()
    text = " ".join(block.text.split())
    if numbered:
        text = _PAGE_END.sub("", text)
        text = "" if _PAGE_WORDS.fullmatch(text) else text
    return text if any(char.isalnum() for char in text) else ""


def margins(texts: Iterable[str]) -> str:
    """Return the texts of headers and footers as a section, "" where there are none."""
    found = [
        Block("table", one) if one.startswith("|") else Block("item", f"- {one.removeprefix('- ')}")
        for one in texts
        if one
    ]
    return f"\n## Headers and footers\n\n{joined(found)}\n" if found else ""


def of_cell(blocks: Sequence[Block], further: list[Block]) -> str:
    """Return the text of a cell in one line, with the small tables in it: ``Part, Pieces; bolt, 4``.

    ``further`` gets the tables that are larger, with their captions.
    """
    inside = [block for block in blocks if block.kind == "table"]
    if sum(len(block.text) for block in inside) > _MOST_IN_LINE:
        further += [block for block in blocks if block.kind in ("table", "caption")]
        return flat(block for block in blocks if block.kind not in ("table", "caption"))
    return flat(Block("text", _in_line(one.text)) if one.kind == "table" else one for one in blocks)


def _in_line(table: str) -> str:
    rows = (line[1:-1] for line in table.split("\n") if line and not _RULE.fullmatch(line))
    cells = (", ".join(filter(None, (cell.strip() for cell in _BAR.split(row)))) for row in rows)
    return "; ".join(filter(None, cells)).replace("\\|", "|")


def flat(blocks: Iterable[Block]) -> str:
    """Return the text of a cell in one line."""
    return " ".join(
        " ".join(block.text.lstrip("# ") if block.kind == "head" else block.text for block in blocks).split()
    )


def joined(blocks: Iterable[Block]) -> str:
    """Return blocks as Markdown: items of one list follow each other, others have a blank line between them."""
    parts: list[str] = []
    before = ""
    for block in blocks:
        if before:
            parts.append("\n" if before == block.kind == "item" else "\n\n")
        parts.append(block.text)
        before = block.kind
    return "".join(parts)
