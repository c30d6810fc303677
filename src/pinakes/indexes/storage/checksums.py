"""How files of an index tell that they are damaged.

Every file that Tantivy writes for a segment ends in the CRC-32 of what stands before, which it makes while it writes
and does not look at when it reads. Small files of ours are JSON that has its own CRC-32.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

CRC = "crc32"

_PARTS = ("fast", "fieldnorm", "idx", "pos", "store", "term")
"""The files of a segment, by the endings of their names."""

_MAGIC = 1337
_NUMBER_BYTES = 4
_LONGEST_FOOTER = 4096
_BLOCK_BYTES = 1 << 20


def sealed(data: Mapping[str, Any]) -> str:
    """Return ``data`` as JSON with its checksum."""
    return json.dumps({**data, CRC: _crc(data)})


def unsealed(text: str) -> dict[str, Any]:
    """Return what was ``sealed``, without its checksum; what an older version wrote has none.

    Raises:
        ValueError: it is no JSON object, or another one than was written.
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
        OSError: it cannot be read.
    """
    return zlib.crc32(path.read_bytes())


def schema_crc(meta: Path) -> int:
    """Return the CRC-32 of the schema that Tantivy's description of an index has.

    Raises:
        OSError, ValueError, KeyError, TypeError: it cannot be read.
    """
    return _crc(json.loads(meta.read_text("utf-8"))["schema"])


def damaged_files(folder: Path, crc: int | None) -> Iterator[tuple[str, str]]:
    """Yield (name, what is wrong) of the files of the Tantivy index in ``folder``, which nobody is writing.

    ``crc``: that of its description, None where it is not known.
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
    """Return what is wrong with a file of a segment, "" where nothing is."""
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
    """Return the checksum that a file of Tantivy ends in, and of how many bytes it is.

    It is JSON, then the length of that and a fixed number, 32 bits each.

    Raises:
        ValueError, KeyError, TypeError: it is not as Tantivy writes it.
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
