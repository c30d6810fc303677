"""Removes from PPT files what is no text: prompts of masters ("Click to edit Master title style"), replaced slides."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from typing import Final

from pinakes.parsing.slide_records import (
    HANDOUT_MASTER,
    MASTER,
    NOTES,
    PLACES,
    SHAPE,
    SLIDE,
    TEXTS,
    Record,
    places_of,
    records,
)

_STREAM: Final = "PowerPoint Document"
_BEFORE_SECTORS: Final = 512
"""Size of the container's header, in bytes."""
_TITLE_MASTER: Final = 2
"""The layout of the master of title slides, which is a slide otherwise."""
_OF_MASTER: Final = 0x8000_0000
"""The least number of a master, to which notes may belong instead of a slide."""
_PLACEHOLDER: Final = b"\xc3\x0b\x08\0\0\0"
"""The record of a shape that a slide fills."""
_NOTHING: Final = b"\xff\x0f"
"""A kind of record that does not exist."""
_DEEPEST: Final = 12


def without_prompts(data: bytes) -> bytes:
    """Return the bytes of a PPT whose masters have no prompts and replaced slides no text; unchanged if damaged."""
    from xlrd.compdoc import CompDoc

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
    found = [*records(stream, start, start + size)]
    replaced = _replaced(stream, start, found)
    for record in found:
        is_replaced = record.at in replaced
        if is_replaced or _is_master(record.kind, record.number(stream, 8)):
            for place in _prompts(stream, record, every=is_replaced):
                for offset, byte in enumerate(_NOTHING, place + 2 - start):
                    sector, within = divmod(offset, container.sec_size)
                    changed[_BEFORE_SECTORS + sectors[sector] * container.sec_size + within] = byte
    return bytes(changed)


def _is_master(kind: int, first: int) -> bool:
    """Return whether a record is a master; ``first``: the first number of its first record."""
    if kind == NOTES:
        return first == 0 or first >= _OF_MASTER
    return kind in (MASTER, HANDOUT_MASTER) or (kind == SLIDE and first == _TITLE_MASTER)


def _replaced(stream: bytes, start: int, found: Sequence[Record]) -> set[int]:
    """Return where the slides and notes are that the directories name no more, as later versions replaced them.

    Without a directory that names a slide, nothing is known to be replaced.
    """
    places: dict[int, int] = {}
    for record in found:
        if record.kind == PLACES:
            places |= places_of(stream[record.begin : record.end])
    current = {start + place for place in places.values()}
    pages = {record.at for record in found if record.kind in (SLIDE, NOTES)}
    return pages - current if pages & current else set()


def _prompts(data: bytes, around: Record, depth: int = 0, *, every: bool = False) -> Iterator[int]:
    """Yield the offsets of the texts of placeholders, or of ``every`` shape."""
    for record in records(data, around.begin, around.end):
        if record.kind in TEXTS:
            yield record.at
        if not every and record.kind == SHAPE and data.find(_PLACEHOLDER, record.at, record.end) < 0:
            continue
        if record.holds_records and depth < _DEEPEST:
            yield from _prompts(data, record, depth + 1, every=every)
