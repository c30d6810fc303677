"""What is not as it was indexed: a look through the sources of collections, which changes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Final

from pinakes.catalog import sources
from pinakes.catalog.collections import CollectionRecord
from pinakes.catalog.sources import FileRecord, SourceRecord
from pinakes.errors import PinakesError
from pinakes.shelves import Shelves
from pinakes.sources.stamp import state_of
from pinakes.types import Item, Scan
from pinakes.upkeep import sourcing
from pinakes.upkeep.sourcing import in_force
from pinakes.upkeep.syncing import Syncing

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
    current: int
    changed: tuple[str, ...]
    missing: tuple[str, ...]
    new: tuple[str, ...]
    kept: tuple[str, ...] = ()
    error: str = ""
    part: str = ""

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
        *(
            Stale(
                plan.collection,
                plan.source.kind,
                plan.source.location,
                0,
                (),
                (),
                (),
                error=_UNREAD,
                part=plan.source.part,
            )
            for plan in unread
        ),
    ]


def _compared(shelves: Shelves, collection: str, kept: SourceRecord, known: Mapping[str, FileRecord]) -> Stale:
    place = collection, kept.kind, kept.location
    keeps = sourcing.keeps_gone(shelves.settings, collection, kept)
    state = None if keeps and kept.kind == "git" else kept.state  # a difference lacks what went before it
    try:
        wanted = in_force(shelves.settings, collection, kept)
        with sourcing.alone(shelves.home, collection, wanted), closing(shelves.source(wanted)) as source:
            found = _sorted(place, source.scan(state), known)
    except PinakesError as error:
        return Stale(*place, 0, (), (), (), error=str(error), part=kept.part)
    if keeps:
        found = replace(found, missing=(), kept=found.missing)
    return replace(found, part=kept.part)


def _sorted(place: tuple[str, str, str], scan: Scan, known: Mapping[str, FileRecord]) -> Stale:
    indexed = {path for path, one in known.items() if one.document_id is not None}
    there = {item.path: item for item in scan.items}
    new = [path for path in there if path not in known]
    changed = [path for path, item in there.items() if path in known and _differs(place, item, known[path])]
    missing = sorted(_gone(scan, indexed))
    gone = len(indexed.intersection(changed)) + len(missing)
    return Stale(*place, len(indexed) - gone, tuple(sorted(changed)), tuple(missing), tuple(sorted(new)))


def _differs(place: tuple[str, str, str], item: Item, known: FileRecord) -> bool:
    _, kind, location = place
    if item.fingerprint == known.fingerprint:
        return False
    return kind != "folder" or state_of(location, item.path, known.fingerprint, known.content_hash) != "current"


def _gone(scan: Scan, indexed: Iterable[str]) -> set[str]:
    """Return those paths that gave documents and that the source does not have any more."""
    there = {item.path for item in scan.items}
    unseen = tuple(entry.path for entry in scan.skipped if entry.path.endswith("/"))
    left = {path for path in indexed if path not in there and not path.startswith(unseen)}
    if scan.complete:
        return left
    removed = {*scan.removed, *(entry.path for entry in scan.skipped if not entry.path.endswith("/"))}
    folders = tuple(path for path in removed if path.endswith("/"))
    return {path for path in left if path in removed or path.startswith(folders)}
