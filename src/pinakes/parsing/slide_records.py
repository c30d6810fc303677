"""The records of old presentations (PPT), of which a file consists.

Source: [MS-PPT] 2.3.1 (records) and 2.13.24 (their kinds), [MS-ODRAW] for shapes.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final, NamedTuple

DOCUMENT, SLIDE, NOTES, MASTER, HANDOUT_MASTER, SHAPE = 0x03E8, 0x03EE, 0x03F0, 0x03F8, 0x0FC9, 0xF004
LIST, LISTED = 0x0FF0, 0x03F3
"""A list of slides, masters or notes; in it the number of each, which its texts of the outline follow."""
PLACES, OTHER_DATA = 0x1772, 0x1388
"""A directory: the numbers of records, and where they are; what programs add, which is no text."""
TEXTS: Final = {0x0FA0: "utf-16-le", 0x0FA8: "latin-1"}
"""Kind of a text → its encoding."""
_HEADER: Final = struct.Struct("<HHI")
_HOLDS_RECORDS: Final = 15


class Record(NamedTuple):
    """A record of a kind: where it is, and where its content begins and ends.

    ``bits``: whether it holds other records, and above that its instance, which some kinds number.
    """

    kind: int
    bits: int
    at: int
    begin: int
    end: int

    @property
    def holds_records(self) -> bool:
        """Whether the content is records."""
        return self.bits & _HOLDS_RECORDS == _HOLDS_RECORDS

    def number(self, data: bytes, offset: int) -> int:
        """Return the 4-byte number in the content at an offset."""
        return int.from_bytes(data[self.begin + offset : self.begin + offset + 4], "little")


def records(data: bytes, at: int, end: int) -> Iterator[Record]:
    """Yield each record between two offsets, without those that it holds; the last one may be cut off."""
    while at + _HEADER.size <= end:
        bits, kind, size = _HEADER.unpack_from(data, at)
        begin = at + _HEADER.size
        after = min(begin + size, end)
        yield Record(kind, bits, at, begin, after)
        at = after


def texts(data: bytes, at: int, end: int) -> Iterator[str]:
    """Yield the texts between two offsets, those in other records included, in their order."""
    left = [(at, end)]
    while left:
        at, end = left.pop()
        if not (record := next(records(data, at, end), None)):
            continue
        if record.end < end:
            left.append((record.end, end))
        if record.holds_records and record.kind != OTHER_DATA:
            left.append((record.begin, record.end))
        elif record.kind in TEXTS:
            yield data[record.begin : record.end].decode(TEXTS[record.kind], "replace")


def places_of(directory: bytes) -> dict[int, int]:
    """Return the number of each record in a directory, and where it is."""
    numbers = struct.unpack(f"<{len(directory) // 4}I", directory[: len(directory) // 4 * 4])
    found: dict[int, int] = {}
    at = 0
    while at < len(numbers):
        first, count = numbers[at] & 0xFFFFF, numbers[at] >> 20
        found |= dict(enumerate(numbers[at + 1 : at + 1 + count], first))
        at += 1 + count
    return found
