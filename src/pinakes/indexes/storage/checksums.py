"""Checksums that detect damaged index files.

Every segment file of Tantivy ends in the CRC-32 of its content, which Tantivy writes but does not verify. Our own small
files are JSON with a CRC-32 inside.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

CRC = "crc32"

_PARTS = ("fast", "fieldnorm", "idx", "pos", "store", "term")
"""File name endings of a segment."""

_MAGIC = 1337
_NUMBER_BYTES = 4
_LONGEST_FOOTER = 4096
_BLOCK_BYTES = 1 << 20


def sealed(data: Mapping[str, Any]) -> str:
    """Return ``data`` as JSON with a checksum."""
    return json.dumps({**data, CRC: _crc(data)})


def unsealed(text: str) -> dict[str, Any]:
    """Return the data of ``sealed`` JSON, without the checksum; files of older versions have none.

    Raises:
        ValueError: the text is not a JSON object, or the checksum differs.
    """
    data = json.loads(text)
    if not isinstance(data, dict):
        raise ValueError("it is no JSON object")
    if CRC in data and data.pop(CRC) != _crc(data):
        raise ValueError("its checksum differs")
    return data


def crc_of(path: Path) -> int:
    """Return the CRC-32 of a small file.

    Raises:
        OSError: the file cannot be read.
    """
    return zlib.crc32(path.read_bytes())


def schema_crc(meta: Path) -> int:
    """Return the CRC-32 of the schema in Tantivy's description of an index.

    Raises:
        OSError, ValueError, KeyError, TypeError: the description cannot be read.
    """
    return _crc(json.loads(meta.read_text("utf-8"))["schema"])


def damaged_files(folder: Path, crc: int | None) -> Iterator[tuple[str, str]]:
    """Yield (name, problem) of damaged files of the Tantivy index in ``folder``, which must not be written meanwhile.

    ``crc``: checksum of its description, None if unknown.
    """
    try:
        if crc is not None and crc_of(folder / "meta.json") != crc:
            yield "meta.json", "its checksum differs"
            return
        names = list(_files_of(json.loads((folder / "meta.json").read_text("utf-8"))))
        managed = json.loads((folder / ".managed.json").read_text("utf-8"))
        if left_out := [name for name in names if name not in managed]:
            yield ".managed.json", f"it does not have {left_out[0]}"
    except (OSError, ValueError, KeyError, TypeError) as error:
        yield "meta.json", f"it cannot be read: {error}"
        return
    for name in names:
        if problem := _problem(folder / name):
            yield name, problem


def _files_of(meta: Mapping[str, Any]) -> Iterator[str]:
    for segment in meta["segments"]:
        number = segment["segment_id"].replace("-", "")
        for part in _PARTS:
            yield f"{number}.{part}"
        if deleted := segment["deletes"]:
            yield f"{number}.{deleted['opstamp']}.del"


def _problem(path: Path) -> str:
    """Return the problem of a segment file, "" if it is intact."""
    try:
        with path.open("rb") as file:
            expected, length = _footer(file)
            found = 0
            file.seek(0)
            while length:
                block = file.read(min(length, _BLOCK_BYTES))
                found = zlib.crc32(block, found)
                length -= len(block)
    except (OSError, ValueError, KeyError, TypeError) as error:
        return f"it cannot be read: {error}"
    return "" if found == expected else "its checksum differs"


def _footer(file: BinaryIO) -> tuple[int, int]:
    """Return the checksum at the end of a Tantivy file, and the number of bytes that it covers.

    The footer is JSON, followed by its length and a magic number, 32 bits each.

    Raises:
        ValueError, KeyError, TypeError: the file does not have Tantivy's format.
    """
    size = file.seek(0, 2)
    end = size - 2 * _NUMBER_BYTES
    if end < 0:
        raise ValueError("it is cut short")
    file.seek(end)
    length, magic = (int.from_bytes(file.read(_NUMBER_BYTES), "little") for _ in range(2))
    if magic != _MAGIC or length > min(end, _LONGEST_FOOTER):
        raise ValueError("its end is not as it was written")
    file.seek(end - length)
    return int(json.loads(file.read(length))["crc"]), end - length


def _crc(data: Any) -> int:
    return zlib.crc32(json.dumps(data, sort_keys=True).encode())
