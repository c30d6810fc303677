"""Files that differ from what was indexed: a scan of the sources of collections, without changes."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from pinakes.app import App, source_settings
from pinakes.app.source_settings import effective_settings
from pinakes.catalog import manifest, sources
from pinakes.catalog.collections import CollectionRecord
from pinakes.catalog.document_queries import DocumentRecord
from pinakes.catalog.shared_files import HELD as HELD
from pinakes.catalog.sources import FileRecord, SourceRecord
from pinakes.core.errors import PinakesError
from pinakes.core.records import Item, Scan, SourceState
from pinakes.ingestion.file_changes import vanished_files
from pinakes.services import ingestion_runs
from pinakes.services.sync.syncing import Place, Syncing
from pinakes.sources.file_stat import state_of
from pinakes.sources.git_folder import is_at

_LOOK_S: Final = 0.3
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


@dataclass(frozen=True, slots=True)
class OutdatedDocuments:
    """Documents whose files are not as they were read: id → how their file is now. ``notes``: where not all is known.

    What a source keeps though its file is gone is not among them.
    """

    states: Mapping[int, SourceState]
    notes: tuple[str, ...]


class Staleness:
    """How the sources of a home differ from what was read of them. Safe to share between threads."""

    def __init__(self, app: App) -> None:
        self._app = app

    def outdated(self, record: CollectionRecord, document: DocumentRecord | None = None) -> OutdatedDocuments:
        """Look at the files that the documents of a collection were read from, or at that of one ``document``.

        Only at those on this machine, no longer than ``_LOOK_S``: files that are new are not found, nothing is asked.
        """
        states: dict[int, SourceState] = {}
        notes: list[str] = []
        until = time.monotonic() + _LOOK_S
        with self._app.catalog.read() as connection:
            for kept in sources.list_all(connection, record.id):
                files = manifest.read_files(connection, kept.id, document.id if document else None)
                if kept.kind == "git" and is_at(kept.location, kept.state) is False and next(files, None) is not None:
                    notes.append(f"{kept.location} has commits that were not read yet: pinakes sync")
                if kept.kind != "folder":
                    continue
                keeps, place = (
                    source_settings.keeps_gone(self._app.settings, record.name, kept),
                    Path(kept.location).expanduser(),
                )
                for number, one in enumerate(files):
                    if time.monotonic() > until:
                        notes.append(f"{kept.location}: only {number:,} files were looked at: pinakes status --stale")
                        break
                    state = state_of(str(place.absolute()), one.path, one.fingerprint, one.digest)
                    if state == "changed" or (state == "missing" and not keeps):
                        states[one.document_id] = state
        return OutdatedDocuments(states, tuple(notes))

    def stale(self, record: CollectionRecord) -> list[Stale]:
        """Look through every source of a collection, as ``sync`` would, and say what it would read or remove.

        Repositories and web pages are asked. A source that cannot be reached, or was never read, has an ``error``.
        """
        with self._app.catalog.read() as connection:
            known = [(kept, sources.manifest(connection, kept.id)) for kept in sources.list_all(connection, record.id)]
        unread = [plan for plan in Syncing(self._app).plans() if plan.collection == record.name and plan.kept is None]
        return [
            *(_compared(self._app, record.name, kept, files) for kept, files in known),
            *(Stale(*plan.place, error=_UNREAD) for plan in unread),
        ]


def _compared(app: App, collection: str, kept: SourceRecord, known: Mapping[str, FileRecord]) -> Stale:
    place = collection, *kept.place
    keeps = source_settings.keeps_gone(app.settings, collection, kept)
    state = None if keeps and kept.kind == "git" else kept.state  # a difference lacks what went before it
    try:
        wanted = effective_settings(app.settings, collection, kept)
        with (
            source_settings.source_lock(app.home, collection, wanted),
            closing(ingestion_runs.source_of(app, wanted)) as source,
        ):
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
    missing = sorted(indexed.intersection(vanished_files(scan, known)))
    gone = len(indexed.intersection(changed)) + len(missing)
    return Stale(*place, len(indexed) - gone, tuple(sorted(changed)), tuple(missing), tuple(sorted(new)))


def _differs(place: Place, item: Item, known: FileRecord) -> bool:
    _, kind, location, _ = place
    if item.fingerprint == known.fingerprint:
        return False
    return kind != "folder" or state_of(location, item.path, known.fingerprint, known.content_hash) != "current"
