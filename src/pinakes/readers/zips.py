"""Refuses ZIP containers (DOCX, XLSX, PPTX, ODT, EPUB …) that would inflate beyond measure."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from typing import Final

from pinakes.errors import TooLarge, Unreadable

_MAX_BYTES: Final = 500_000_000
_FREE_BYTES: Final = 50_000_000
_MAX_RATIO: Final = 200
_MAX_ENTRIES: Final = 20_000
_LOCAL_HEADER: Final = struct.Struct("<26xHH")
_STEP_BYTES: Final = 1 << 20


def check_zip(data: bytes) -> None:
    """Pass, where ``data`` is a ZIP container whose content is of a reasonable size.

    The directory may lie about sizes, so everything is inflated and counted.

    Raises:
        TooLarge: over 500 MB, or over 50 MB and 200 times the packed size.
        Unreadable: the container is damaged or unusual.
    """
    allowed = min(_MAX_BYTES, max(_FREE_BYTES, len(data) * _MAX_RATIO))
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as container:
            entries = container.infolist()
    except (zipfile.BadZipFile, ValueError, OverflowError, struct.error, NotImplementedError) as error:
        raise Unreadable(f"The file is damaged: {error}.", hint="Open and save it again, or replace it.") from error
    if len(entries) > _MAX_ENTRIES or sum(entry.file_size for entry in entries) > allowed:
        raise _bomb(allowed)
    left = allowed
    for entry in entries:  # which may overlap, so that each is small and all together are not
        if entry.compress_type == zipfile.ZIP_DEFLATED:
            left -= _inflated(data, entry, left)
        elif entry.compress_type == zipfile.ZIP_STORED:
            left -= min(entry.compress_size, len(data))
        else:
            raise Unreadable(
                f"The file is packed by a method that documents do not use ({entry.compress_type}).",
                hint="Open and save it again.",
            )
        if left < 0:
            raise _bomb(allowed)


def _inflated(data: bytes, entry: zipfile.ZipInfo, limit: int) -> int:
    """Return how many bytes ``entry`` inflates to; counting stops above ``limit``."""
    header = data[entry.header_offset : entry.header_offset + _LOCAL_HEADER.size]
    if len(header) < _LOCAL_HEADER.size:
        return 0
    name_length, extra_length = _LOCAL_HEADER.unpack(header)
    # To the end of the stream rather than to the stated size, which may lie as well.
    packed = memoryview(data)[entry.header_offset + _LOCAL_HEADER.size + name_length + extra_length :]
    inflater = zlib.decompressobj(-zlib.MAX_WBITS)
    total = 0
    try:
        rest: bytes | memoryview = packed[:_STEP_BYTES]
        position = len(rest)
        while not inflater.eof and total <= limit and rest:
            total += len(inflater.decompress(rest, _STEP_BYTES))
            rest = inflater.unconsumed_tail
            if not rest:
                rest = packed[position : position + _STEP_BYTES]
                position += len(rest)
    except zlib.error:  # a damaged entry: the converter says so in its own words
        return total
    return total


def _bomb(allowed: int) -> TooLarge:
    return TooLarge(
        f"The file would unpack to more than {allowed / 1e6:,.0f} MB.", hint="Exclude it: it looks like a zip bomb."
    )
