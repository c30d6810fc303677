"""How much room files take."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def folder_bytes(folder: Path) -> int:
    """Return the bytes of all files below ``folder``; those that vanish meanwhile do not count."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):
                total += Path(place, name).lstat().st_size
    return total
