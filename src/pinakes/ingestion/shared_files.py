"""Files that several sources of a collection contain: one source reads them, the others note that."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from pinakes.catalog import Catalog
from pinakes.catalog.shared_files import HELD, holders
from pinakes.catalog.sources import FileRecord
from pinakes.core.records import Item


@dataclass(frozen=True, slots=True)
class OtherSource:
    """Another source of the same collection: its id, name, kind and location."""

    id: int
    name: str
    kind: str
    location: str


def held_by_others(
    catalog: Catalog, collection_id: int, place: tuple[str, str], others: Sequence[OtherSource], items: Sequence[Item]
) -> dict[str, FileRecord]:
    """Return path → record of those ``items`` of a source that one of the ``others`` holds.

    ``place``: kind and location of the source. Symbolic links may give a folder several paths.
    """
    if not (others and items):
        return {}
    real = os.path.realpath(place[1])
    folders = [one for one in others if one.kind == "folder"] if place[0] == "folder" else []
    roots = [(one.location, os.path.realpath(one.location)) for one in folders]
    is_file = bool(roots) and Path(real).is_file()
    places = {item.path: real if is_file else f"{real.rstrip('/')}/{item.path}" for item in items}
    uris = {item.path: [item.uri, *_uris_of(places[item.path], roots)] for item in items}
    names = {one.id: one.name for one in others}
    with catalog.read() as connection:
        found = holders(connection, collection_id, names.keys(), list({uri for some in uris.values() for uri in some}))
    held: dict[str, FileRecord] = {}
    for item in items:
        holder = next((found[uri] for uri in uris[item.path] if uri in found), None)
        if holder is not None:
            reason = f"Read by the source {names[holder.source_id]!r}"
            record = FileRecord(item.path, item.fingerprint, None, "skipped", reason, holder.document_id, code=HELD)
            held[item.path] = record
    return held


def _uris_of(real: str, roots: Sequence[tuple[str, str]]) -> list[str]:
    """Return the uris of the file at the real path ``real`` in sources at these (location, real path) pairs."""
    uris = []
    for location, root in roots:
        uri = Path(location).as_uri().rstrip("/")
        if real == root:
            uris.append(uri)
        elif real.startswith(root.rstrip("/") + "/"):
            uris.append(f"{uri}/{quote(real[len(root.rstrip('/')) + 1 :])}")
    return uris
