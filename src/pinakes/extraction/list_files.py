"""Files of curated lists: CSV (name, type, aliases) or JSON."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any, Final

from pinakes.core.errors import InvalidSetting
from pinakes.core.graph_records import MAX_NAME_CHARS, EntityName, folded
from pinakes.extraction.gazetteer import Listing
from pinakes.platform.regular_files import read_regular

_MOST_BYTES: Final = 50_000_000
_COLUMNS: Final = ("name", "type")


def read_list(path: Path) -> list[Listing]:
    """Return the entities of a file of a curated list.

    CSV: columns ``name``, ``type`` and ``aliases``, these separated by ``;``. JSON: type → list of names, or of objects
    with ``name`` and ``aliases``.

    Raises:
        InvalidSetting: the file cannot be read, or is none.
    """
    try:
        text = read_regular(path, _MOST_BYTES).decode("utf-8-sig")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InvalidSetting(
            f"The list of entities {str(path)!r} cannot be read: {reason}.",
            hint=f"graph.lists names files of at most {_MOST_BYTES:,} bytes, CSV or JSON in UTF-8.",
        ) from error
    try:
        return _of_json(json.loads(text)) if path.suffix.lower() == ".json" else _of_csv(text)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, csv.Error) as error:
        raise InvalidSetting(
            f"The list of entities {str(path)!r} is not as lists are: {error}.",
            hint='CSV has the columns name, type and aliases; JSON is {"VENDOR": [{"name": "…", "aliases": ["…"]}]}.',
        ) from error


def listing(kind: str, name: str, aliases: list[str]) -> Listing:
    """Return an entry of a list; what is too long for a name, or has no letter, is left out.

    Raises:
        ValueError: its own name is such a one.
    """
    kept = [" ".join(alias.split()) for alias in aliases if folded(alias) and len(alias) <= MAX_NAME_CHARS]
    name = " ".join(name.split())
    if not folded(name) or len(name) > MAX_NAME_CHARS:
        raise ValueError(f"{name[:50]!r} is no name of at most {MAX_NAME_CHARS} characters")
    return Listing(EntityName(kind.strip().upper(), name), kept)


def _of_csv(text: str) -> list[Listing]:
    rows = csv.DictReader(io.StringIO(text))
    if missing := [name for name in _COLUMNS if name not in (rows.fieldnames or ())]:
        raise ValueError(f"there is no column {missing[0]!r}")
    return [listing(row["type"], row["name"], (row.get("aliases") or "").split(";")) for row in rows if row["name"]]


def _of_json(held: Any) -> list[Listing]:
    made = []
    for kind, entries in held.items():
        for entry in entries:
            name, aliases = (entry, []) if isinstance(entry, str) else (entry["name"], entry.get("aliases") or [])
            made.append(listing(str(kind), str(name), [str(alias) for alias in aliases]))
    return made
