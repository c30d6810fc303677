"""Rejects containers that would crash a converter: zip bombs and damaged OLE files."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pinakes.core.errors import TooLarge, Unreadable

_MAX_BYTES: Final = 500_000_000
_FREE_BYTES: Final = 50_000_000
_MAX_RATIO: Final = 200
_MAX_ENTRIES: Final = 20_000
_LOCAL_HEADER: Final = struct.Struct("<26xHH")
_OLE_HEADER_BYTES: Final = 512
_END_OF_CHAIN: Final = 0xFFFFFFFE
_STEP_BYTES: Final = 1 << 20


def check_zip(data: bytes) -> None:
    """Check that a ZIP container in ``data`` unpacks to a reasonable size.

    The directory may give wrong sizes, so everything is inflated and counted.

    Raises:
        TooLarge: it unpacks to over 500 MB, or to over 50 MB and 200 times the packed size.
        Unreadable: the container is damaged or unusual.
    """
    allowed = min(_MAX_BYTES, max(_FREE_BYTES, len(data) * _MAX_RATIO))
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as container:
            entries = container.infolist()
    except (zipfile.BadZipFile, ValueError, OverflowError, struct.error, NotImplementedError) as error:
        raise _damaged(str(error).rstrip(".")) from error
    if len(entries) > _MAX_ENTRIES or sum(entry.file_size for entry in entries) > allowed:
        raise _bomb(allowed)
    left = allowed
    for entry in entries:  # entries may overlap: each small, all together large
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


@contextmanager
def reading_zip() -> Iterator[None]:
    """Translate errors of reading entries of a ZIP container to ``Unreadable``."""
    try:
        yield
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise _damaged(str(error).rstrip(".")) from error


def check_ole(data: bytes) -> None:
    """Check that an OLE container (DOC, XLS, PPT, MSG) is consistent with its length and has no loops.

    For an inconsistent container a converter may allocate gigabytes, which kills the process.
    Source: [MS-CFB] 2.2 (header), 2.3 (FAT), 2.4 (mini FAT), 2.5 (DIFAT).

    Raises:
        Unreadable: the container is damaged.
    """
    if len(data) < _OLE_HEADER_BYTES:
        raise _damaged("its header is cut off")
    version, byte_order, shift, mini_shift = struct.unpack_from("<4H", data, 26)
    _, fat_count, _, _, _, mini_start, mini_count, difat_start, difat_count = struct.unpack_from("<9I", data, 40)
    if byte_order != 0xFFFE or (version, shift) not in ((3, 9), (4, 12)) or mini_shift != 6:
        raise _damaged("its header makes no sense")
    if max(fat_count, mini_count, difat_count) > len(data) >> shift:
        raise _damaged("it is shorter than its header says")
    size = 1 << shift
    places = [np.frombuffer(data, "<u4", 109, 76)]
    for _ in range(difat_count):
        table = _sectors(data, np.array([difat_start]), size)
        places.append(table[:-1])
        difat_start = int(table[-1])
    fat = _sectors(data, np.concatenate(places)[:fat_count], size)
    if _loops(fat):
        raise _damaged("its sectors form a loop")
    mini_places = []
    for _ in range(mini_count):
        if mini_start == _END_OF_CHAIN:  # some programs count a sector that they did not write
            break
        if mini_start >= len(fat):
            raise _damaged("a sector it names is missing")
        mini_places.append(mini_start)
        mini_start = int(fat[mini_start])
    if _loops(_sectors(data, np.array(mini_places, np.uint32), size)):
        raise _damaged("its sectors form a loop")


def _sectors(data: bytes, numbers: NDArray[Any], size: int) -> NDArray[np.uint32]:
    """Return the sectors with these numbers, of ``size`` bytes, as uint32 (len(numbers) · size / 4,)."""
    parts = [data[(int(number) + 1) * size : (int(number) + 2) * size].ljust(size, b"\xff") for number in numbers]
    return np.frombuffer(b"".join(parts), "<u4")


def _loops(successors: NDArray[np.uint32]) -> bool:
    """Return whether following ``successors``, uint32 (n,), from any sector runs into a loop."""
    end = len(successors)
    jump = np.append(np.where(successors < end, successors, end), end).astype(np.int64)
    for _ in range(end.bit_length()):  # each iteration doubles the distance
        jump = jump[jump]
    return bool((jump != end).any())


def _damaged(reason: str) -> Unreadable:
    return Unreadable(f"The file is damaged: {reason}.", hint="Open and save it again, or replace it.")


def _inflated(data: bytes, entry: zipfile.ZipInfo, limit: int) -> int:
    """Return how many bytes ``entry`` inflates to; stops counting above ``limit``."""
    header = data[entry.header_offset : entry.header_offset + _LOCAL_HEADER.size]
    if len(header) < _LOCAL_HEADER.size:
        return 0
    name_length, extra_length = _LOCAL_HEADER.unpack(header)
    # Read to the end of the stream, since the stated packed size may be wrong, too.
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
    except zlib.error:  # a damaged entry: the converter reports it
        return total
    return total


def _bomb(allowed: int) -> TooLarge:
    return TooLarge(
        f"The file would unpack to more than {allowed / 1e6:,.0f} MB.", hint="Exclude it: it looks like a zip bomb."
    )
