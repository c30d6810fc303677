"""Statements of SQL dumps that insert rows: each row repeats the table and the columns of its statement."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from functools import partial

from pinakes.chunking.contexts import Context
from pinakes.chunking.scale import clean

_NAME = r"(?:\"[^\"\n]{1,100}\"|\[[^\]\n]{1,100}\]|`[^`\n]{1,100}`|[\w$]{1,100})"
_STATEMENT = re.compile(
    r"^(?:(?:INSERT|REPLACE)(?:[ \t]+(?:IGNORE|OR[ \t]+\w{1,20}))?(?:[ \t]+INTO)?|(?P<copy>COPY))[ \t]+"
    rf"{_NAME}(?:\.{_NAME}){{0,3}}[ \t]*\([^()]{{1,2000}}\)\s*+(?(copy)FROM[ \t]+STDIN\b[^\n]*+|VALUES\b)",
    re.MULTILINE | re.IGNORECASE,
)
_COPY_END = re.compile(r"^\\\.[ \t\r]*$", re.MULTILINE)
_COMMENT = r"--[^\n]*+|/\*(?:[^*]|\*(?!/)){0,2000}+\*/"
_GAP = re.compile(rf"(?:\s++|#[^\n]*+|{_COMMENT})*+")
_AFTER_TEXT = r"(?=\s*+(?:[^\s\w']|(?:AS|AT|COLLATE)\b))"
"""What may follow a text: any other word is within it, as its quotation mark was escaped in another way."""


def _row(text: str) -> re.Pattern[str]:
    """Return the pattern of a row whose quoted texts hold ``text``."""
    inner = rf"[^()'\"`;/-]++|'{text}'{_AFTER_TEXT}|\"{text.replace(chr(39), chr(34))}\"|`[^`]*+`|{_COMMENT}|[/-]"
    pattern = ""
    for _ in range(3):  # functions within functions
        pattern = rf"\((?:{inner}{'|' if pattern else ''}{pattern})*+\)"
    return re.compile(rf"(?:ROW[ \t]*+)?{pattern}", re.IGNORECASE)


_ROWS = (_row(r"(?:[^']++|'')*+"), _row(r"(?:[^'\\]++|''|\\[\s\S])*+"))
"""A row of standard SQL, and of dialects in which a backslash escapes quotation marks."""


def inserted_rows(text: str) -> Iterator[Context]:
    """Yield the statements of a dump that insert rows, up to the last row that is understood, each with its columns."""
    copy_ends: list[int] | None = None
    place = 0
    while found := _STATEMENT.search(text, place):
        place = end = found.end()
        if found["copy"]:
            copy_ends = [one.start() for one in _COPY_END.finditer(text)] if copy_ends is None else copy_ends
            place = end = next(iter(copy_ends[bisect_left(copy_ends, end) :][:1]), end)
        else:
            place = end = _end_of_rows(text, end)
        if end > found.end():
            yield Context(found.start(), end, partial(clean, found[0]))


def _end_of_rows(text: str, place: int) -> int:
    end = place
    while row := _matched(text, _after_gap(text, place)):
        end = row
        place = _after_gap(text, row)
        if text[place : place + 1] != ",":
            break
        place += 1
    return end


def _after_gap(text: str, place: int) -> int:
    gap = _GAP.match(text, place)
    return gap.end() if gap else place


def _matched(text: str, place: int) -> int | None:
    return next((found.end() for row in _ROWS if (found := row.match(text, place))), None)
