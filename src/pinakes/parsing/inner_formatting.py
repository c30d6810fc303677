"""Restores words that formatting splits in reStructuredText and AsciiDoc. Line numbers do not change."""

from __future__ import annotations

import re
from typing import Final

from pinakes.parsing.scripts import scripted

_LETTER: Final = r"[^\W\d_]"
_WORD: Final = rf"{_LETTER}{{1,40}}"
_SHORT: Final = r"[\w+\-=()]{1,20}"
_RST: Final = re.compile(
    r"(?P<kept>``[^`\n]*``)"
    rf"|(?:(?<=[^\W_])\\[ ])?:(?P<role>sub|sup|subscript|superscript):`(?P<script>{_SHORT})`(?:\\[ ](?=\w))?"
    rf"|(?P<opened>(?<=\w)\\[ ])?(?P<star>\*\*?)(?P<word>{_WORD})(?P=star)(?(opened)(?:\\[ ](?=\w))?|\\[ ](?=\w))"
)
_ASCIIDOC: Final = re.compile(
    r"^(?P<fence>-{4,}|\.{4,}|`{3,}|\+{4,}|/{4,})[ \t]*\n[\s\S]*?(?:^(?P=fence)[ \t]*$|\Z)"
    r"|`[^`\n]+`|\+{1,3}[^+\n]+\+{1,3}"
    rf"|(?<={_LETTER})(?P<after>\*\*|__|\#\#)(?P<end>{_WORD})(?P=after)"
    rf"|(?P<before>\*\*|__|\#\#)(?P<start>{_WORD})(?P=before)(?={_LETTER})"
    rf"|(?<=\w)(?P<sign>[~^])(?P<script>{_SHORT})(?P=sign)",
    re.MULTILINE,
)


def whole_words_of_rst(text: str) -> str:
    """Return reStructuredText without the marks of formatting within a word; superscripts are characters."""
    return _RST.sub(_of_rst, text) if "\\ " in text or ":su" in text else text


def whole_words_of_asciidoc(text: str) -> str:
    """Return AsciiDoc without the marks of formatting within a word; superscripts are characters. Listings stay."""
    return _ASCIIDOC.sub(_of_asciidoc, text)


def _of_rst(found: re.Match[str]) -> str:
    if script := found["script"]:
        before = found.string[max(0, found.start() - 40) : found.start()]
        return scripted(script, "super" if found["role"].startswith("sup") else "sub", before)
    return found["word"] or found[0]


def _of_asciidoc(found: re.Match[str]) -> str:
    if script := found["script"]:
        before = found.string[max(0, found.start() - 40) : found.start()]
        return scripted(script, "super" if found["sign"] == "^" else "sub", before)
    return found["end"] or found["start"] or found[0]
