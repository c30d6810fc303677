"""Cleaning the Markdown that converters write."""

from __future__ import annotations

import re
from typing import Final

from pinakes.parsing.decode import scrub

_ESCAPED: Final = re.compile(
    r"^```.*?(?:^```|\Z)|`[^`\n]+`|\$\$.+?\$\$|^[ \t]*\d*\\.|\\([\\_#.+=~!()<>*&\[\]-])", re.MULTILINE | re.DOTALL
)
_IMAGE: Final = re.compile(r"\\?!\[([^\[\]\n]*)\]\((?:<[^<>]*>[^()<>\n]*+|[^()<>\n]*+)\)(?=(!\[)?)")
"""A picture, and whether another one follows, from which the converter does not part it."""
_EMPTY_LINK: Final = re.compile(r"(?<!!)\[\s*\]\([^()\s]*\)")
_BLANK_LINES: Final = re.compile(r"\n{4,}")
_SKIP_LINK: Final = re.compile(r"\A(?:\s*\[[^\[\]\n]*\]\(#[^()\s]*\)[ \t]*\n)+")
_LISTING: Final = re.compile(r"^(```+|~~~+).*?(?:^\1|\Z)", re.MULTILINE | re.DOTALL)
_BULLET: Final = re.compile(r"^([ \t]*)[•▪■●◦‣][ \t]+(?=\S)", re.MULTILINE)
_EMPTY_ITEM: Final = re.compile(r"^[ \t]*\\?[-*•▪■●◦‣][ \t]*(?:\n|\Z)", re.MULTILINE)
_TABLE: Final = re.compile(r"(?:^[ \t]*\|.*\|[ \t]*\n?)+", re.MULTILINE)
_TAB: Final = "&#9;"
_UNSEEN: Final = re.compile("[\u200b\u2060\ufeff]")
_PADDING: Final = re.compile("^[ \t]*(?:\u00a0[ \t]*)+", re.MULTILINE)
_NUMBERED: Final = re.compile(r"^(#{1,6} (?:[A-Z]|\d{1,2})\.)(?=[^\W\d_])", re.MULTILINE)
"""A heading that lost the tab between number and name."""
_TABLE_END: Final = re.compile(r"^(\|.*\|[ \t]*\n)(?=[^|\s])", re.MULTILINE)
"""A table row followed directly by a line, which would become part of the table."""
_CELLS: Final = re.compile(r"(?<!\\)\|")
_DASHES: Final = re.compile(r":?-{3,}:?")


def tidy(markdown: str) -> str:
    """Return Markdown without noise.

    Needless escapes are removed, pictures become their alternative text, tables lose blank rows, padding and, with a
    single column, their frame; items without text and links that skip to the content are removed, too.
    """
    text = _EMPTY_LINK.sub("", _IMAGE.sub(_described, _UNSEEN.sub("", scrub(markdown).replace(_TAB, " "))))
    text = _ESCAPED.sub(lambda match: match[1] or match[0], text)
    parts: list[str] = []
    position = 0
    for listing in _LISTING.finditer(text):
        parts += [_lines(text[position : listing.start()]), listing[0]]
        position = listing.end()
    text = "".join([*parts, _lines(text[position:])])
    return _BLANK_LINES.sub("\n\n\n", _SKIP_LINK.sub("", text)).strip("\n") + "\n"


def _described(picture: re.Match[str]) -> str:
    return f"{picture[1]} " if picture[2] else picture[1]


def _lines(text: str) -> str:
    text = _EMPTY_ITEM.sub("", text)
    text = _NUMBERED.sub(r"\1 ", _BULLET.sub(r"\1- ", _PADDING.sub("", text)))
    return _TABLE_END.sub(r"\1\n", _TABLE.sub(_table, text))


def _table(match: re.Match[str]) -> str:
    rows = [[cell.strip() for cell in _CELLS.split(line.strip())[1:-1]] for line in match[0].splitlines()]
    kept = [row for row in rows if any(row)]
    ruled = [row for row in kept if all(_DASHES.fullmatch(cell) or not cell for cell in row)]
    body = [row for row in kept if row not in ruled]
    if not body:
        return "\n"
    end = "\n" if match[0].endswith("\n") else ""
    if max(map(len, rows)) == 1:
        return "\n\n".join(row[0] for row in body) + "\n" + end
    widest = max(map(len, kept))
    rule = ["---"] * (len(body[0]) if ruled else widest)
    lines = [body[0], rule, *body[1:]] if ruled else body
    return "\n".join(f"| {' | '.join(row)} |" for row in lines) + end
