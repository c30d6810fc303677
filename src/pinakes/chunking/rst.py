"""reStructuredText: sections by their underlined titles, then paragraphs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from pinakes.chunking.outline import Cuts, Outline
from pinakes.chunking.plain_text import Tables, lists, paragraphs, sectioned
from pinakes.chunking.scale import Scale, clean
from pinakes.core.records import Document

_RULE = re.compile(r"([!-/:-@\[-`{-~])\1{2,}[ \t]*")
_LABEL = re.compile(r"\.\. (?:_[^:]+:$|SPDX-)")
_ROLE = re.compile(r":[\w.+:-]+:`([^`<]+?)(?:\s*<[^`>]*>)?`")
_MARKUP = re.compile(r"\*\*|``|`_?|(?<!\w)\*|\*(?!\w)")


def outline(document: Document, scale: Scale) -> Outline:
    """Find titles and paragraphs. The level of a style is the order in which styles first appear in the text."""
    text = document.text
    cuts = Cuts()
    paragraphs(text, cuts)
    items = list(lists(scale, cuts))
    tables = Tables(scale, cuts)
    tables.find()
    styles: list[str] = []
    titles = []
    for start, end, style, name in _titles(text, scale.line_starts.tolist()):
        if style not in styles:
            styles.append(style)
        titles.append((start, end, styles.index(style) + 1, name))
    return sectioned(scale, cuts, titles, tables, items)


def _titles(text: str, starts: list[int]) -> Iterator[tuple[int, int, str, str]]:
    """Yield (start, end, style, name) of each title; the style is its underline sign, doubled if it has an overline."""
    lines = [text[start:end].rstrip() for start, end in pairwise(starts)]
    row = 0
    while row + 1 < len(lines):
        line, below = lines[row], lines[row + 1]
        over = _RULE.fullmatch(line)
        if over and row + 2 < len(lines) and lines[row + 2] == line and below and len(below) <= len(line):
            yield starts[_labelled(lines, row)], starts[row + 3], line[0] * 2, _plain(below)
            row += 3
        elif _is_title(line, below, lines[row - 1] if row else ""):
            yield starts[_labelled(lines, row)], starts[row + 2], below[0], _plain(line)
            row += 2
        else:
            row += 1


def _labelled(lines: list[str], row: int) -> int:
    """Return the first row of the labels, or of the licence line, above a title."""
    first = row
    while row and (not lines[row - 1] or _LABEL.match(lines[row - 1])):
        row -= 1
        first = row if lines[row] else first
    return first


def _is_title(line: str, below: str, above: str) -> bool:
    under = _RULE.fullmatch(below)
    plain = bool(line) and not line[0].isspace() and not _RULE.fullmatch(line)
    return bool(under) and plain and not above.strip() and (len(below) >= len(line) or len(below) >= 4)


def _plain(name: str) -> str:
    return clean(_MARKUP.sub("", _ROLE.sub(r"\1", name)))
