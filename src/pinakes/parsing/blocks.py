"""Blocks of a flowing document, such as a word processor's: headings, list items, tables; and how they are joined."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from pinakes.parsing.grids import Grid, markdown

_PAGE_WORDS: Final = re.compile(r"(?:page|seite|pagina|página|p|pg|of|von|de|di|sur|/|[\s.,:|–-])*", re.IGNORECASE)
_PAGE_END: Final = re.compile(r"[\s|–-]+(?:page|seite|pagina|página)[\s\d.–-]*\Z", re.IGNORECASE)
"""A page number after other words in a header or footer."""
_MOST_IN_LINE: Final = 1000
"""Characters of tables inside of a cell that are written in the cell's row."""
_HEADING_SIGN: Final = re.compile(r"(?=#{1,6} |```|~~~)")
_ORDERED: Final = re.compile(r"\d{1,9}\.")
_INDENT: Final = "    "
_BAR: Final = re.compile(r"(?<!\\)\|")
_RULE: Final = re.compile(r"\|(?: --- \|)+")
MOST_HEADS: Final = 5
"""The maximum number of header rows of a table."""


class Block(NamedTuple):
    """A part of a document: "item" of a list, "head", "table", its "caption", or other "text"."""

    kind: str
    text: str


def paragraph(text: str, level: int, label: str | None, depth: int) -> Block:
    """Return a paragraph as Markdown: a heading of ``level``, 0 for none; else a list item at ``depth``; else text.

    ``label``: the number of a heading or list item, "-" or "" for a bullet; None outside of lists.
    """
    words = " ".join(text.split())
    if level:
        return Block("head", f"{'#' * level} {label} {words}" if label and label != "-" else f"{'#' * level} {words}")
    if label is None:
        return Block("text", _HEADING_SIGN.sub(r"\\", text, count=1) if _HEADING_SIGN.match(text) else text)
    sign = label if label == "-" or _ORDERED.fullmatch(label) else f"- {label}" if label else "-"
    return Block("item", f"{_INDENT * depth}{sign} {words}")


def table(grid: Grid, heads: int) -> Iterator[Block]:
    """Yield a table with ``heads`` header rows; a first row with a single cell becomes the caption."""
    if len(grid) > 1 and len({one for one in grid[0] if one}) == 1 and not any(grid[0][1:]) and any(grid[1][1:]):
        yield Block("caption", grid.pop(0)[0])
        heads = max(heads - 1, 0)
    if text := markdown(grid, max(heads, 1)):
        yield Block("table", text)


def in_margin(block: Block, *, numbered: bool) -> str:
    """Return the text of a header or footer block, "" if it is only a page number; ``numbered``: it had one."""
    if "\n|" in block.text:
        return block.text.strip()
    text = " ".join(block.text.split())
    if numbered:
        text = _PAGE_END.sub("", text)
        text = "" if _PAGE_WORDS.fullmatch(text) else text
    return text if any(char.isalnum() for char in text) else ""


def margins(texts: Iterable[str]) -> str:
    """Return the texts of headers and footers as a section, "" if there are none."""
    found = [
        Block("table", one) if one.startswith("|") else Block("item", f"- {one.removeprefix('- ')}")
        for one in texts
        if one
    ]
    return f"\n## Headers and footers\n\n{joined(found)}\n" if found else ""


def of_cell(blocks: Sequence[Block], further: list[Block]) -> str:
    """Return the text of a cell on one line, including small tables in it: ``Part, Pieces; bolt, 4``.

    Larger tables and their captions are appended to ``further``.
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
    """Return the text of blocks on one line."""
    return " ".join(
        " ".join(block.text.lstrip("# ") if block.kind == "head" else block.text for block in blocks).split()
    )


def joined(blocks: Iterable[Block]) -> str:
    """Return blocks as Markdown: list items are adjacent, other blocks are separated by blank lines."""
    parts: list[str] = []
    before = ""
    for block in blocks:
        if before:
            parts.append("\n" if before == block.kind == "item" else "\n\n")
        parts.append(block.text)
        before = block.kind
    return "".join(parts)
