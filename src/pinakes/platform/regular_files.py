"""Reads files that a user names: regular ones of a limited size, nothing that never ends or never begins."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

_OPEN: Final = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_KINDS: Final = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def read_regular(path: Path, most_bytes: int) -> bytes:
    """Return the content of a regular file; a link to one counts as one. Waits for nobody.

    Raises:
        OSError: it cannot be opened or read.
        ValueError: it is no regular file, or has more than ``most_bytes`` bytes.
    """
    file = os.open(path, _OPEN)  # without waiting for who writes into a pipe
    try:
        mode = os.fstat(file).st_mode
        if not stat.S_ISREG(mode):
            kind = next((name for test, name in _KINDS if test(mode)), "something else")
            raise ValueError(f"it is {kind}, not a file")
        with open(file, "rb", closefd=False) as opened:
            data = opened.read(most_bytes + 1)
    finally:
        os.close(file)
    if len(data) > most_bytes:
        raise ValueError(f"it has more than {most_bytes:,} bytes")
    return data
