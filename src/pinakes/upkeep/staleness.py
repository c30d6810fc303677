"""What is not as it was indexed: a look through the sources of collections, which changes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Final

from pinakes.catalog import sources
from pinakes.catalog.collections import CollectionRecord
from pinakes.catalog.holders import HELD
from pinakes.catalog.sources import FileRecord, SourceRecord
from pinakes.errors import PinakesError
from pinakes.ingest.entries import vanished
from pinakes.shelves import Shelves
from pinakes.sources.stamp import state_of
from pinakes.types import Item, Scan
from pinakes.upkeep import sourcing
from pinakes.upkeep.sourcing import in_force
from pinakes.upkeep.syncing import Place, Syncing

_UNREAD: Final = "It was not read yet. Read it: pinakes sync"


@dataclass(frozen=True, slots=True)
class Stale:
    """How a source differs from what was read of it: paths by what happened to them since, and how many are current.

    ``kept`` are gone, and their documents stay since the settings say so. ``error`` is why that could not be found out,
    "" where it could.
    """

    collection: str
    kind: str
    location: str
    part: str
    current: int = 0
    changed: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    new: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    error: str = ""

    @property
    def count(self) -> int:
        """How many files a sync would read, or remove the documents of."""
        return len(self.changed) + len(self.missing) + len(self.new)


def stale(shelves: Shelves, record: CollectionRecord) -> list[Stale]:
    """Look through every source of a collection, as ``sync`` would, and say what it would read or remove.

    Repositories and web pages are asked. A source that cannot be reached, or was never read, has an ``error``.
    """
    with shelves.catalog.read() as connection:
        known = [(kept, sources.manifest(connection, kept.id)) for kept in sources.everything(connection, record.id)]
    unread = [plan for plan in Syncing(shelves).plans() if plan.collection == record.name and plan.kept is None]
    return [
        *(_compared(shelves, record.name, kept, files) for kept, files in known),
        *(Stale(*plan.place, error=_UNREAD) for plan in unread),
    ]


def _compared(shelves: Shelves, collection: str, kept: SourceRecord, known: Mapping[str, FileRecord]) -> Stale:
    place = collection, *kept.place
    keeps = sourcing.keeps_gone(shelves.settings, collection, kept)
    state = None if keeps and kept.kind == "git" else kept.state  # a difference lacks what went before it
    try:
        wanted = in_force(shelves.settings, collection, kept)
        with sourcing.alone(shelves.home, collection, wanted), closing(shelves.source(wanted)) as source:
            found = _sorted(place, source.scan(state), known)
    except PinakesError as error:
        return Stale(*place, error=str(error))
    return replace(found, missing=(), kept=found.missing) if keeps else found


def _sorted(place: Place, scan: Scan, known: Mapping[str, FileRecord]) -> Stale:
    held = {path for path, one in known.items() if one.code == HELD}
    indexed = {path for path, one in known.items() if one.document_id is not None} - held
    there = {item.path: item for item in scan.items if item.path not in held}
    new = [path for path in there if path not in known]
    changed = [path for path, item in there.items() if path in known and _differs(place, item, known[path])]
    missing = sorted(indexed.intersection(vanished(scan, known)))
    gone = len(indexed.intersection(changed)) + len(missing)
    return Stale(*place, len(indexed) - gone, tuple(sorted(changed)), tuple(missing), tuple(sorted(new)))


def _differs(place: Place, item: Item, known: FileRecord) -> bool:
    _, kind, location, _ = place
    if item.fingerprint == known.fingerprint:
        return False
    return kind != "folder" or state_of(location, item.path, known.fingerprint, known.content_hash) != "current"
