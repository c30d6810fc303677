"""The home of commit 0c86f6d (``homes/``), unpacked with the folder that it was filled from."""

from __future__ import annotations

import sqlite3
import tarfile
from contextlib import closing
from pathlib import Path

ARCHIVE = Path(__file__).parent / "homes" / "home-0c86f6d.tar.gz"
PLACE = "/old"
"""The folder that stands in the catalogue for that of home and documents."""


def unpacked(root: Path) -> tuple[Path, Path]:
    """Unpack into ``root``; return the home and the folder of its documents."""
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(root, filter="data")
    with closing(sqlite3.connect(root / "home" / "catalog.db")) as connection, connection:
        for table, column in (("sources", "location"), ("documents", "uri"), ("versions", "uri"), ("fields", "value")):
            moved = f"UPDATE {table} SET {column} = replace({column}, ?, ?)"
            connection.execute(moved, (PLACE, str(root)))
    return root / "home", root / "docs"
