"""The texts of presentations of the old format (PPT) that newer programs saved.

The converter finds none in them, since one of their records holds a ZIP container instead of records.
Source: [MS-PPT] 2.3.1 (records), 2.3.4 (where the current records are), 2.9.41 and 2.9.42 (texts).
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from typing import Final

from pinakes.parsing.limits import Limits
from pinakes.parsing.openxml import clean

_HEADER: Final = struct.Struct("<HHI")
_CONTAINER: Final = 15
_SLIDE, _NOTES, _PLACES, _OTHER_DATA = 1006, 1008, 6002, 5000
_CODECS: Final = {4000: "utf-16-le", 4008: "latin-1"}
"""Kind of a text → its encoding."""
_FIELD: Final = "*"
"""What stands for the number or date of a slide."""


def read_old_slides(data: bytes, limits: Limits) -> list[str]:
    """Return the text of each slide and of each page of notes.

    Raises:
        Exception: whatever the library raises on a damaged file.
    """
    from xlrd.compdoc import CompDoc

    stream = CompDoc(data, logfile=io.StringIO()).get_named_stream("PowerPoint Document")
    current: dict[int, int] = {}
    for kind, begin, end in _records(stream, 0, len(stream), deep=False):
        if kind == _PLACES:  # a later directory replaces places of an earlier one
            current |= _places(stream[begin:end])
    parts: list[str] = []
    size_of_all = 0
    for wanted, heading in ((_SLIDE, ""), (_NOTES, "### Notes\n\n")):
        for number in sorted(current):
            at = current[number]
            _, kind, size, *_, of_slide = struct.unpack_from("<HHIQI", stream, at)
            if kind == _NOTES and not of_slide:  # the master of notes
                continue
            if kind == wanted and (text := _text(stream, at + _HEADER.size, size)):
                parts.append(heading + text)
                size_of_all += len(text)
                limits.check_size(size_of_all)
    return parts


def _places(directory: bytes) -> dict[int, int]:
    """Return the number of each record in a directory, and where it is."""
    numbers = struct.unpack(f"<{len(directory) // 4}I", directory[: len(directory) // 4 * 4])
    found: dict[int, int] = {}
    at = 0
    while at < len(numbers):
        first, count = numbers[at] & 0xFFFFF, numbers[at] >> 20
        found |= dict(enumerate(numbers[at + 1 : at + 1 + count], first))
        at += 1 + count
    return found


def _text(stream: bytes, begin: int, size: int) -> str:
    texts = (
        stream[start:end].decode(_CODECS[kind], "replace").replace("\r", "\n").replace("\x0b", "\n").strip()
        for kind, start, end in _records(stream, begin, min(begin + size, len(stream)))
        if kind in _CODECS
    )
    return "\n\n".join(clean(text) for text in texts if text and text != _FIELD)


def _records(stream: bytes, begin: int, end: int, *, deep: bool = True) -> Iterator[tuple[int, int, int]]:
    """Yield the kind, begin and end of each record, ``deep``: also of those in others."""
    left = [(begin, end)]
    while left:
        at, end = left.pop()
        if at + _HEADER.size > end:
            continue
        bits, kind, size = _HEADER.unpack_from(stream, at)
        after = min(at + _HEADER.size + size, end)
        left.append((after, end))
        if deep and bits & _CONTAINER == _CONTAINER and kind != _OTHER_DATA:
            left.append((at + _HEADER.size, after))
        else:
            yield kind, at + _HEADER.size, after
