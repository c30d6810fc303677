"""Rebuilds the index of a collection from the catalogue while the old index answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from filelock import FileLock

from pinakes.catalog import Catalog, changes, collections, index_numbers
from pinakes.catalog.collections import CollectionRecord
from pinakes.catalog.home import Home
from pinakes.core.errors import IndexCorrupt
from pinakes.core.ports import Index
from pinakes.core.records import JSON
from pinakes.indexes.combined import CombinedIndex
from pinakes.indexes.storage import versions
from pinakes.indexes.storage.versions import IndexVersion
from pinakes.indexes.updater import Fill, IndexUpdater, Superseded, catch_up
from pinakes.ingestion.report import Event
from pinakes.platform.locks import locked, try_acquire

_LOOK_S = 0.5
"""Seconds an upgrade waits for the lock, which a status query may hold for a moment."""


@dataclass(frozen=True, slots=True)
class Reindexer:
    """Builds indexes of one home. ``again`` reloads a collection record; ``timeout_s`` applies to the lock.

    ``languages_of`` returns the languages of a collection that a new index stems.
    """

    catalog: Catalog
    home: Home
    followers: IndexUpdater
    again: Callable[[CollectionRecord], CollectionRecord]
    open_index: Callable[[CollectionRecord], Index]
    fill_of: Callable[[CollectionRecord], Fill | None]
    languages_of: Callable[[CollectionRecord], Sequence[str]]
    timeout_s: float

    def rebuild(self, record: CollectionRecord, only: int | None = None) -> Iterator[Event]:
        """Build a shadow index from the catalogue, then switch to it and drop the old one.

        If ``only`` is given, only if the current index still has that number.

        Raises:
            Busy: another process is rebuilding, and does not finish in time.
            IndexTooNew: the old index was built by a newer Pinakes; it is left unchanged.
        """
        with locked(self.numbering(record), f"The index of {record.name!r}"):
            old = self.again(record)
            if only not in (None, old.generation):
                return
            with suppress(IndexCorrupt):
                if found := self.version(old):
                    versions.check(found)
            yield from self._replaced(old, resume=False, whole=False)

    def move(self, record: CollectionRecord, engine: str) -> Iterator[Event]:
        """Build the index of a collection by another engine beside the old one, which answers; then take it.

        Nothing is embedded. The collection has that engine from then on.

        Raises:
            Busy: another process is building an index of it, and does not finish.
            IndexUnavailable: the engine is elsewhere and does not answer. The old index answers as before.
        """
        with locked(self.numbering(record), f"The index of {record.name!r}"):
            old = self.again(record)
            yield from self._replaced(replace(old, kept={**(old.kept or {}), "engine": engine}), resume=False)

    def upgrade(self, record: CollectionRecord) -> Iterator[Event]:
        """Rebuild an index that an older version built, then switch to the new one and drop the old one.

        Resumes an interrupted upgrade, and removes the remains of killed ones. Does nothing if the index has the
        current version or a newer one; if another process is building it, the only event is "elsewhere".

        Raises:
            StorageFull: there is not enough disk space. The old index stays in use.
        """
        if not self.is_outdated(record) and not self.home.all_but(self._generations(record)):
            return
        lock = self.numbering(record)
        if not try_acquire(lock, f"The index of {record.name!r}", _LOOK_S):
            yield Event("elsewhere", 0, 0)
            return
        try:
            old = self.again(record)
            if self.is_outdated(old):
                yield from self._replaced(old, resume=True)
            else:
                self._drop_folders(old)
        finally:
            lock.release()

    def version(self, record: CollectionRecord) -> IndexVersion | None:
        """Return the version that an index was built by; None if there is no index yet.

        Raises:
            IndexCorrupt: the version cannot be read.
        """
        return versions.recorded(self.home.index(record))

    def is_outdated(self, record: CollectionRecord) -> bool:
        """Return whether an index exists that an older version built."""
        with suppress(IndexCorrupt):
            found = self.version(record)
            return found is not None and not (found.is_present(self.languages_of(record)) or found.is_newer)
        return False

    def progress(self, record: CollectionRecord) -> tuple[int, int]:
        """Return how many documents the shadow index has, and how many it will have."""
        with self.catalog.read() as connection:
            number = index_numbers.following(connection, record.id, record.line)
            folder = self.home.index(replace(record, generation=number))
            position = versions.position(folder) if self._is_begun(folder, record) else 0
            return changes.put_until(connection, record.id, position)

    def numbering(self, record: CollectionRecord) -> FileLock:
        """Return the lock that guards the numbering of a collection's indexes."""
        return self.home.rebuilding(record, self.timeout_s)

    def fill(self, fresh: CollectionRecord, total: int, *, whole: bool = True) -> Iterator[Event]:
        """Build the index of ``fresh``; when the collection gets another model meanwhile, its vectors anew.

        Raises:
            IndexUnavailable: an engine does not answer. Not ``whole``: one half is enough, the other follows.
        """
        while True:
            try:
                with closing(self.open_index(fresh)) as index:
                    for done in catch_up(self.catalog, fresh, index, self.fill_of(fresh)):
                        yield Event("index", done, max(done, total))
                    if whole and isinstance(index, CombinedIndex):
                        index.check()
                return
            except Superseded:
                fresh = replace(self.again(fresh), generation=fresh.generation, kept=fresh.kept)

    def _replaced(self, old: CollectionRecord, *, resume: bool, whole: bool = True) -> Iterator[Event]:
        """Build an index beside ``old``, then take it. ``resume``: go on with what a killed process built of it."""
        with self.catalog.write() as connection:
            number = index_numbers.reserve(connection, old.id, old.line, old.generation)
            fresh = replace(old, generation=number)
            total = collections.count(connection, fresh).documents
        yield Event("index", 0, total)
        folder = self.home.index(fresh)
        begun = resume and self._is_begun(folder, old)
        self._drop_folders(old, fresh if begun else None)
        try:
            yield from self.fill(fresh, total, whole=whole)
        except IndexCorrupt:
            if not begun:
                raise
            self.home.drop_index(fresh)
            yield from self.fill(fresh, total, whole=whole)
        with self.catalog.write() as connection:
            index_numbers.take(connection, old.id, old.line)
            now = collections.get(connection, old.name)
            if (engine := _engine(old)) != _engine(now):
                kept = {**(now.kept or {}), "engine": engine}
                collections.change(connection, now, description=now.description, kept=kept)
        self.followers.forget(old)
        self._drop_folders(old)

    def _is_begun(self, folder: Path, record: CollectionRecord) -> bool:
        """Return whether ``folder`` has an index of the current version, complete or partial."""
        with suppress(IndexCorrupt):
            found = versions.recorded(folder)
            return found is not None and found.is_present(self.languages_of(record))
        return False

    def _drop_folders(self, record: CollectionRecord, also: CollectionRecord | None = None) -> None:
        """Remove index folders that belong to no generation of a collection, left by killed processes.

        ``also``: a generation whose folder is kept, too.
        """
        self.home.drop_all_but([*self._generations(record), *([also] if also else [])])

    def _generations(self, record: CollectionRecord) -> list[CollectionRecord]:
        """Return all current generations of a collection.

        Raises:
            NotFound: the collection was deleted.
        """
        with self.catalog.read() as connection:
            found = collections.beside(connection, record.name)
            return [collections.get(connection, record.name), *([found] if found else [])]


def _engine(record: CollectionRecord) -> JSON:
    """Return the engine that a collection was moved to, None where it was not."""
    return (record.kept or {}).get("engine")
