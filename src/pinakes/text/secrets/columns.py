"""Passwords and tokens in tables: the values below a column name."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, Final

import re2

from pinakes.core.regexes import lazy
from pinakes.text.secrets import secret_values

_NAMES: Final = (
    r"(?i:(?:[a-z0-9]{1,20}[ _.-]){0,2}(?:passw(?:or)?d|passphrase|pwd|secret|token|credentials?|"
    r"(?:api|access|auth|client|secret|private)[ _.-]?(?:key|token|secret)"
    rf"|{secret_values.IN_OTHER_LANGUAGES}))"
)
_CELL: Final = rf"(?:^|[|,;\t])[ \"*`]{{0,4}}{_NAMES}[ \"*`]{{0,4}}(?:[|,;\t\r]|$)"
_NAME: Final = lazy(_NAMES)
_PASSWORD: Final = lazy(rf"(?i:pass|pwd|{secret_values.IN_OTHER_LANGUAGES})")
_DELIMITER: Final = lazy(r"[|:\s-]*-[|:\s-]*")
_SEPARATORS: Final = "|\t;,"
_AROUND: Final = " \t\"'`*"
_LONGEST_HEADER: Final = 2000
_MOST_COLUMNS: Final = 8
"""Maximum columns examined per table, so that a table full of such names does not take long."""


def in_columns(text: str) -> Iterator[tuple[int, int]]:
    """Yield the ranges of values that look secret in columns whose names say so."""
    data = text.encode("utf-8", "replace")
    ascii_only = len(data) == len(text)
    chars, counted, free = 0, 0, 0
    for hit in _cells().finditer(data):
        begin = hit.start()
        if ascii_only:
            chars = begin
        else:  # each piece of the text is counted once
            chars += len(data[counted:begin].decode("utf-8", "replace"))
            counted = begin
        if chars >= free:
            found, free = _of_table(text, text.rfind("\n", 0, chars) + 1)
            yield from found


def _of_table(text: str, start: int) -> tuple[list[tuple[int, int]], int]:
    """Return the secrets of a table that may begin at ``start``, and the end of the table."""
    end = _end_of_line(text, start)
    header = text[start:end]
    separator = next((one for one in _SEPARATORS if one in header), None)
    if separator is None or len(header) > _LONGEST_HEADER:
        return [], end
    found = list[tuple[int, int]]()
    names = [part.strip(_AROUND) for part in header.split(separator)]
    columns = [place for place, name in enumerate(names) if _NAME.fullmatch(name)][:_MOST_COLUMNS]
    while columns and end < len(text):
        row_start = end + 1
        row_end = _end_of_line(text, row_start)
        row = text[row_start:row_end]
        if not _DELIMITER.fullmatch(row):
            if row.count(separator) != len(names) - 1:
                break
            found += _of_row(row, row_start, separator, {place: names[place] for place in columns})
        end = row_end
    return found, end


def _of_row(row: str, start: int, separator: str, names: dict[int, str]) -> Iterator[tuple[int, int]]:
    for place, part in enumerate(row.split(separator)):
        if place in names:
            value = part.strip().strip(_AROUND)
            test = secret_values.is_password if _PASSWORD.search(names[place]) else secret_values.is_token
            if value and " " not in value and test(value, quoted=True):
                first = start + part.index(value)
                yield first, first + len(value)
        start += len(part) + 1


def _end_of_line(text: str, start: int) -> int:
    end = text.find("\n", start)
    return len(text) if end < 0 else end


@cache
def _cells() -> Any:
    options = re2.Options()
    options.encoding, options.never_capture = re2.Options.Encoding.LATIN1, True
    return re2.compile(f"(?m){_CELL}".encode(), options)
