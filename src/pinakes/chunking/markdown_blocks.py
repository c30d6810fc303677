"""The blocks of a Markdown text with their lines: CommonMark, and GitHub's tables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from pinakes.chunking.tables import cells_of
from pinakes.core.records import Int64

Kind = Literal["list", "item", "quote", "paragraph", "heading", "fence", "code", "html", "rule", "table"]

_CONTAINERS: dict[str, Kind] = {"List": "list", "Item": "item", "BlockQuote": "quote"}
_LEAVES: dict[str, Kind] = {"Paragraph": "paragraph", "Heading": "heading", "CodeBlock": "fence", "HtmlBlock": "html"}
_BLOCKS = _CONTAINERS | _LEAVES | {"Rule": "rule"}
_INDENTED = {"CodeBlock": "Indented"}
_SAID = {"SoftBreak": " ", "HardBreak": " "}

_SPACES = b" \t\n"
_TABS = re.compile(r"(?<!\t)\t++$", re.MULTILINE)
_MARGIN = " \t>"
_CELL = r"[ \t]*+:?+-++:?+[ \t]*+"
_DASHES = re.compile(rf"^[ \t>]*+(\|?+{_CELL}(?:\|{_CELL})*+\|?+)[ \t]*+$", re.MULTILINE)
"""The line between the column names and the rows of a table."""


@dataclass(slots=True)
class MarkdownBlock:
    """A block inside of ``level`` lists, items and quotes.

    ``start`` and ``end``: offsets; ``first`` and ``last``: lines from 0, half-open. For a heading, ``heading`` is its
    level from 1, and ``name`` its text without markup.
    """

    kind: Kind
    level: int
    start: int
    end: int
    first: int = 0
    last: int = 0
    heading: int = 0
    name: str = ""


def blocks(text: str, line_starts: Int64) -> list[MarkdownBlock]:
    """Return the blocks of ``text``, outer ones first; ``line_starts``: see ``Scale``."""
    source = _tamed(text)
    data = source.encode()
    found = list(_parsed(source, data))
    spans = np.array([(block.start, block.end) for block in found], np.int64).reshape(-1, 2).T
    if len(data) > len(text):
        spans = spans - np.flatnonzero((np.frombuffer(data, np.uint8) & 0xC0) == 0x80).searchsorted(spans)
    first = line_starts[:-1].searchsorted(spans[0], "right") - 1
    last = line_starts.searchsorted(spans[1])
    for block, *places in zip(found, *spans.tolist(), first.tolist(), last.tolist(), strict=True):
        block.start, block.end, block.first, block.last = places
    lines: list[int] = line_starts.tolist()
    return [part for block in found for part in _with_table(text, lines, block)]


def _tamed(text: str) -> str:
    """Return ``text``, of equal length, without characters that the parser treats differently from other programs."""
    # Carriage returns, tabs after a fence, and lone surrogates.
    text = text.replace("\r", " ")
    if "\t\n" in text:
        text = _TABS.sub(lambda tabs: " " * len(tabs[0]), text)
    return text.encode("utf-8", "replace").decode()


def _parsed(source: str, data: bytes) -> Iterator[MarkdownBlock]:
    """Yield the blocks of ``source``, in UTF-8 ``data``, without line numbers, and with tables as paragraphs.

    Offsets are in bytes. Content after a block may extend it: the paragraph of an item has no end of its own.
    """
    from pyromark import events_with_range

    around: list[MarkdownBlock] = []
    leaf: MarkdownBlock | None = None
    end = 0
    for event, span in events_with_range(source):
        [(kind, value)] = ((event, None),) if isinstance(event, str) else event.items()
        tag = _tag(value) if kind in ("Start", "End") else kind
        if tag not in _BLOCKS:
            if leaf is None:
                leaf = MarkdownBlock("paragraph", len(around), span["start"], span["end"])
                yield leaf
            if leaf.kind == "paragraph":
                leaf.end = end = max(leaf.end, span["end"])
            elif leaf.kind == "heading":
                leaf.name += _SAID.get(kind, str(value) if kind in ("Text", "Code") else "")
        elif kind == "End":
            leaf = None
            if tag in _CONTAINERS:
                # The parser includes the space before the next block in the previous one.
                around.pop().end = end
            else:
                end = span["end"]
        else:
            block = _opened(tag, value, len(around), span["start"], span["end"])
            # After a tab, the parser's start may be in the previous line.
            while block.start < block.end and data[block.start] in _SPACES:
                block.start += 1
            yield block
            leaf = block if tag in _LEAVES else None
            end = block.end
            if tag in _CONTAINERS:
                around.append(block)
                end = block.start + 1


def _tag(value: object) -> str:
    return value if isinstance(value, str) else next(iter(value)) if isinstance(value, dict) else ""


def _opened(tag: str, value: object, level: int, start: int, end: int) -> MarkdownBlock:
    kind: Kind = "code" if value == _INDENTED else _BLOCKS[tag]
    heading = int(value["Heading"]["level"][1:]) if isinstance(value, dict) and tag == "Heading" else 0
    return MarkdownBlock(kind, level, start, end, heading=heading)


def _with_table(text: str, lines: list[int], block: MarkdownBlock) -> Iterator[MarkdownBlock]:
    """Yield ``block``, or the table in it, with the paragraphs before and after the table."""
    place = _table_in(text, lines, block) if block.kind in ("paragraph", "heading") else None
    if place is None:
        yield block
        return
    table = replace(block, kind="table", start=lines[place], first=place, heading=0, name="")
    if place > block.first:
        yield replace(table, kind="paragraph", start=block.start, end=lines[place], first=block.first, last=place)
    # A line of dashes below a table makes a heading of it.
    ruled = block.heading and text[lines[block.last - 1] : block.end].strip().startswith("-")
    if ruled:
        table = replace(table, end=lines[block.last - 1], last=block.last - 1)
    yield table
    if ruled:
        yield replace(block, kind="rule", start=table.end, first=table.last, heading=0, name="")


def _table_in(text: str, lines: list[int], block: MarkdownBlock) -> int | None:
    """Return the line of the column names of a table in a paragraph, None if it has no table."""
    if block.last - block.first < 2 or "|" not in (paragraph_text := text[block.start : block.end]):
        return None
    line, place = block.first, block.start
    for dashes in _DASHES.finditer(paragraph_text):
        while lines[line + 1] <= block.start + dashes.start():
            place = max(lines[line], block.start)
            line += 1
        names = text[place : lines[line]].lstrip(_MARGIN)
        if line > block.first and "|" in names and len(cells_of(names)) == len(cells_of(dashes[1])):
            return line - 1
    return None
