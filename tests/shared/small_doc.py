"""Documents of the old format (DOC), made of the texts and properties that a test needs."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from itertools import accumulate

_SECTOR, _LEAST = 512, 4096
_TEXT_AT = 2048
_FREE, _END = 0xFFFFFFFF, 0xFFFFFFFE
HEADING, TABLE, ROW, ITEM = b"", b"\x16\x24\x01\0", b"\x16\x24\x01\x17\x24\x01", b"\x0b\x46\x01\0"


def doc(
    main: str,
    *,
    footnotes: Sequence[str] = (),
    headers: str = "",
    comments: Sequence[str] = (),
    endnotes: Sequence[str] = (),
    boxes: str = "",
    styles: Sequence[tuple[int, bytes]] = (),
    narrow: bool = False,
    pages: int = 1,
    data: bytes = b"",
    fib: Sequence[tuple[int, int]] = (),
) -> bytes:
    """Return a document.

    ``styles`` of the first paragraphs: style number and properties. Marks of notes: 2 in ``main``, of comments: 5.
    ``narrow``: one byte per character. ``pages``: how often the page of paragraphs is named. ``data``: what
    pages have no room for. ``fib``: numbers to write at places of the header, after all others.
    """
    main = _units(main)
    stories = [main, *map(_units, ("".join(footnotes), headers, "", "".join(comments), "".join(endnotes), boxes, ""))]
    text = "".join(stories)
    width = 1 if narrow else 2
    raw = text.encode(*(("cp1252",) if narrow else ("utf-16-le", "surrogatepass")))
    page_at = -(-(_TEXT_AT + len(raw)) // _SECTOR)
    stream = bytearray(page_at * _SECTOR)
    stream[_TEXT_AT : _TEXT_AT + len(raw)] = raw
    stream += _page([at + 1 for at, char in enumerate(text) if char in "\r\x07"], styles, width)
    marks = [at for at, char in enumerate(main) if char == "\2"]
    parts = {
        13: struct.pack(f"<{2 * pages + 1}I", *[_TEXT_AT] * pages, _TEXT_AT + len(raw), *[page_at] * pages),
        33: b"\2" + struct.pack("<3I2xI2x", 16, 0, len(text), _TEXT_AT * 2 | 1 << 30 if narrow else _TEXT_AT),
        **_notes(2, marks[: len(footnotes)], footnotes, 2),
        **_notes(46, marks[len(footnotes) :], endnotes, 2),
        **_notes(4, [at for at, char in enumerate(main) if char == "\5"], comments, 30),
    }
    table = bytearray()
    struct.pack_into("<HH6xH", stream, 0, 0xA5EC, 0xC1, 0x200)
    struct.pack_into("<8I", stream, 0x4C, *map(len, stories))
    for number, part in parts.items():
        struct.pack_into("<2I", stream, 0x9A + 8 * number, len(table), len(part))
        table += part
    for at, value in fib:
        struct.pack_into("<I", stream, at, value)
    streams = {"WordDocument": bytes(stream), "1Table": bytes(table)}
    return compound(streams | {"Data": data} if data else streams)


def _units(text: str) -> str:
    """Return one character per UTF-16 code unit."""
    raw = text.encode("utf-16-le")
    return "".join(map(chr, struct.unpack(f"<{len(raw) // 2}H", raw)))


def _page(ends: Sequence[int], styles: Sequence[tuple[int, bytes]], width: int) -> bytes:
    page = bytearray(_SECTOR)
    places = [_TEXT_AT, *(_TEXT_AT + width * end for end in ends)]
    struct.pack_into(f"<{len(places)}I", page, 0, *places)
    free = _SECTOR - 2
    for at, (style, properties) in enumerate(styles):
        own = struct.pack("<BBH", 0, len(properties) // 2 + 1, style) + properties
        free -= len(own) + len(own) % 2
        page[free : free + len(own)] = own
        page[4 * len(places) + 13 * at] = free // 2
    page[-1] = len(ends)
    return bytes(page)


def _notes(number: int, marks: Sequence[int], texts: Sequence[str], size: int) -> dict[int, bytes]:
    if not texts:
        return {}
    edges = [*accumulate(map(len, texts), initial=0)]
    return {
        number: struct.pack(f"<{len(texts) + 1}I", *marks, 9999) + bytes(size * len(texts)),
        number + 1: struct.pack(f"<{len(edges) + 1}I", *edges, edges[-1] + 1),
    }


def compound(streams: dict[str, bytes]) -> bytes:
    """Return an OLE container with these streams."""
    wanted = sum(max(_LEAST, len(content) + _SECTOR) // _SECTOR for content in streams.values())
    tables = wanted // 120 + 1
    entries, sectors, links = [_entry("Root Entry", 5, _END, 0, child=1)], b"", [*[0xFFFFFFFD] * tables, _END]
    for number, (name, content) in enumerate(streams.items(), 1):
        size = max(_LEAST, -(-len(content) // _SECTOR) * _SECTOR)
        after = number + 1 if number < len(streams) else _FREE
        entries.append(_entry(name, 2, len(links), size, right=after))
        first = len(links)
        links += [*range(first + 1, first + size // _SECTOR), _END]
        sectors += content.ljust(size, b"\0")
    header = bytearray(_SECTOR)
    header[:8] = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
    struct.pack_into("<5H", header, 24, 0x3E, 3, 0xFFFE, 9, 6)
    struct.pack_into("<9I", header, 40, 0, tables, tables, 0, _LEAST, _END, 0, _END, 0)
    struct.pack_into("<109I", header, 76, *range(tables), *[_FREE] * (109 - tables))
    table = struct.pack(f"<{128 * tables}I", *links, *[_FREE] * (128 * tables - len(links)))
    return bytes(header) + table + b"".join(entries).ljust(_SECTOR, b"\0") + sectors


def _entry(name: str, kind: int, start: int, size: int, *, child: int = _FREE, right: int = _FREE) -> bytes:
    raw = name.encode("utf-16-le")
    sizes = struct.pack("<HBB3I", len(raw) + 2, kind, 1, _FREE, right, child)
    return raw.ljust(64, b"\0") + sizes + bytes(36) + struct.pack("<2Q", start, size)[:4] + struct.pack("<Q", size)
