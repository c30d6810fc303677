"""The disk space of files."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def folder_bytes(folder: Path) -> int:
    """Return the total bytes of all files below ``folder``, except those removed in the meantime."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):
                total += Path(place, name).lstat().st_size
    return total
