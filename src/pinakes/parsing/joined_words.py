"""Restores words that markup splits in Markdown: entities, bold type and tags inside of a word; raises superscripts."""

from __future__ import annotations

import html
import re
import unicodedata
from functools import partial
from typing import Final

import numpy as np

from pinakes.parsing.scripts import scripted

_LETTERS: Final = r"[^\W\d_]{1,40}"
_TAGS: Final = "b|i|em|strong|span|u|mark|font|small"
_BEFORE: Final = rf"\*\*(?<=[^\W\d_]\*\*){_LETTERS}\*\*|\*\*{_LETTERS}\*\*(?=[^\W\d_])"
_SLANTED: Final = (
    r"(?<![*\w])\*(?!\*)[^\W\d_]{2,40}\*(?=[^\W\d_])|(?<!\*)\*(?<=[^\W\d_]\*)(?!\*)[^\W\d_]{2,40}\*(?![*\w])"
)
"""The start or the end of a word; what touches words on both sides is a factor: ``width*height*depth``."""
_TAGGED: Final = rf"<(?:{_TAGS})\b[^<>\n]{{0,200}}>{_LETTERS}</(?:{_TAGS})>"
_ENTITY: Final = r"&(?:#[0-9]{2,6}|#[xX][0-9a-fA-F]{2,6}|[A-Za-z]{2,31}[0-9]{0,2});"
_REFERENCE: Final = re.compile("[#0-9A-Za-z]{1,33};")
_SCRIPT: Final = r"(?<=[\w)\]])<(?P<level>su[bp])>(?P<raised>[\w+\-\u2212–=()]{1,20})</(?P=level)>"
_CUT: Final = tuple(re.compile(pattern) for pattern in (_BEFORE, _SLANTED, _TAGGED, _ENTITY, _SCRIPT, "<wbr ?/?>"))
_ALL: Final = re.compile(
    rf"(?P<entity>{_ENTITY})|(?P<bold>{_BEFORE}|{_SLANTED})|(?P<tag>{_TAGGED})"
    rf"|(?P<script>{_SCRIPT})|(?P<break><wbr ?/?>)",
)
_INNER: Final = re.compile(rf"[*>]({_LETTERS})")
_TABS: Final = re.compile(r"\t++$", re.MULTILINE)
_KEPT: Final = re.compile(rb"<(?:!|/?(?:pre|code|script|style|textarea|samp|kbd)\b)", re.IGNORECASE)
"""An HTML block with one of these contains code or a comment."""
_IN_HTML: Final = re.compile(rb"[&<]")


def joined(text: str) -> str:
    """Return Markdown with such words restored; line numbers do not change."""
    if not any(pattern.search(text) for pattern in _CUT):
        return text
    return _ALL.sub(partial(_whole, _marks(text)), text)


def _marks(text: str) -> set[int]:
    """Return the offsets of marks, tags and entities that the parser recognises, which excludes code."""
    from pyromark import events_with_range

    # To the parser, a fence followed by a tab does not stay open.
    source = _TABS.sub(lambda tabs: " " * len(tabs[0]), text)
    data = source.encode()
    found: list[int] = []
    for event, span in events_with_range(source):
        [(kind, value)] = ((event, None),) if isinstance(event, str) else event.items()
        start, end = span["start"], span["end"]
        literal = str(value).startswith("&") and end - start == len(str(value).encode())
        if value in ("Strong", "Emphasis") or kind == "InlineHtml" or (kind == "Text" and not literal):
            found.append(start)
        elif kind == "Start" and value == "HtmlBlock" and not _KEPT.search(data, start, end):
            found.extend(mark.start() for mark in _IN_HTML.finditer(data, start, end))
    places = np.array(found, np.int64)
    inner = np.flatnonzero((np.frombuffer(data, np.uint8) & 0xC0) == 0x80)  # continuation bytes
    return set((places - inner.searchsorted(places)).tolist())


def _whole(marks: set[int], found: re.Match[str]) -> str:
    if found.start() not in marks:
        return found[0]
    kind = found.lastgroup
    if kind == "script":
        before = found.string[max(0, found.start() - 40) : found.start()]
        return scripted(found["raised"], "super" if found["level"] == "sup" else "sub", before)
    if kind == "entity":
        return _character(found)
    if kind == "break":
        return ""
    inner = _INNER.search(found[0]) if kind in ("bold", "tag") else None
    if inner is None or (kind == "tag" and not _touches(found)):
        return found[0]
    return inner[1]


def _touches(found: re.Match[str]) -> bool:
    """Return whether a letter is directly before or after the match."""
    text = found.string
    return text[found.start() - 1 : found.start()].isalpha() or text[found.end() : found.end() + 1].isalpha()


def _character(found: re.Match[str]) -> str:
    """Return the character of an entity, "" for a zero-width mark; the entity if it could become markup."""
    entity, around = (
        found[0],
        found.string[found.start() - 1 : found.start()] + found.string[found.end() : found.end() + 1],
    )
    char = html.unescape(entity)
    if all(unicodedata.category(one) == "Cf" for one in char):
        return ""
    if char.isascii() or len(char) > 2:
        within = (
            char in "&'" and len(around) == 2 and around.isalnum() and not _REFERENCE.match(found.string, found.end())
        )
        return char if within else entity
    return char if all(one.isprintable() or unicodedata.category(one) == "Zs" for one in char) else entity
