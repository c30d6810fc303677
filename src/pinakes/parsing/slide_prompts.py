"""Removes the prompts of masters ("Click to edit Master title style") from old presentations (PPT), which are no text.

Numbers of records: [MS-PPT] 2.13.24, and [MS-ODRAW] for shapes.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Final

from xlrd.compdoc import CompDoc

_STREAM: Final = "PowerPoint Document"
_HEADER: Final = 512
_MASTERS: Final = (0x03F8, 0x0FC9)
"""The masters of slides and of handouts."""
_NOTES: Final = 0x03F0
_SLIDE: Final = 0x03EE
_TITLE_MASTER: Final = 2
"""The layout of the master of title slides, which is a slide otherwise."""
_OF_MASTER: Final = 0x8000_0000
"""The least number of a master, to which notes may belong instead of a slide."""
_SHAPE: Final = 0xF004
_PLACEHOLDER: Final = b"\xc3\x0b\x08\0\0\0"
"""The record of a shape that a slide fills."""
_TEXTS: Final = (0x0FA0, 0x0FA8)
_NOTHING: Final = b"\xff\x0f"
"""A kind of record that does not exist."""
_DEEPEST: Final = 12


def without_prompts(data: bytes) -> bytes:
    """Return the bytes of a PPT whose masters have no prompts; unchanged if it is damaged."""
    try:
        container = CompDoc(data, logfile=io.StringIO())
        stream, start, size = container.locate_named_stream(_STREAM)
        first = next(entry.first_SID for entry in container.dirlist if entry.name == _STREAM)
    except Exception:  # noqa: BLE001 - the library may raise anything on damaged files
        return data
    sectors: list[int] = []
    while 0 <= first < len(container.SAT) and len(sectors) * container.sec_size < size:
        sectors.append(first)
        first = container.SAT[first]
    if size < container.min_size_std_stream or len(sectors) * container.sec_size < size:
        return data
    changed = bytearray(data)
    for kind, at, end in _records(stream, start, start + size):
        if _is_master(kind, int.from_bytes(stream[at + 16 : at + 20], "little")):
            for place in _texts(stream, at + 8, end):
                for offset, byte in enumerate(_NOTHING, place + 2 - start):
                    sector, within = divmod(offset, container.sec_size)
                    changed[_HEADER + sectors[sector] * container.sec_size + within] = byte
    return bytes(changed)


def _is_master(kind: int, first: int) -> bool:
    """Return whether a record is a master; ``first``: the first number of its first record."""
    if kind == _NOTES:
        return first == 0 or first >= _OF_MASTER
    return kind in _MASTERS or (kind == _SLIDE and first == _TITLE_MASTER)


def _records(data: bytes, start: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Yield the kind, the begin and the end of each record between two offsets."""
    while start + 8 <= end:
        stop = min(end, start + 8 + int.from_bytes(data[start + 4 : start + 8], "little"))
        yield int.from_bytes(data[start + 2 : start + 4], "little"), start, stop
        start = stop


def _texts(data: bytes, start: int, end: int, depth: int = 0) -> Iterator[int]:
    """Yield the offsets of the texts of placeholders."""
    for kind, at, stop in _records(data, start, end):
        if kind in _TEXTS:
            yield at
        contains = data[at] & 15 == 15 and (kind != _SHAPE or data.find(_PLACEHOLDER, at, stop) >= 0)
        if contains and depth < _DEEPEST:
            yield from _texts(data, at + 8, stop, depth + 1)
