"""Building the index of a collection anew from the catalogue, while the old one answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace

from filelock import FileLock

from pinakes.catalog import Catalog, collections
from pinakes.catalog.collections import CollectionRecord
from pinakes.follow import Fill, Followers, Superseded, catch_up
from pinakes.home import Home
from pinakes.ingest import Event
from pinakes.machine.locks import held
from pinakes.ports import Index


@dataclass(frozen=True, slots=True)
class Rebuilder:
    """Builds indexes of one home. ``again`` gives a generation as it is now; ``timeout_s`` is for the lock."""

    catalog: Catalog
    home: Home
    followers: Followers
    again: Callable[[CollectionRecord], CollectionRecord]
    open_index: Callable[[CollectionRecord], Index]
    fill_of: Callable[[CollectionRecord], Fill | None]
    timeout_s: float

    def rebuild(self, record: CollectionRecord, only: int | None = None) -> Iterator[Event]:
        """Build an index beside the old one from the catalogue, then take it and drop the old one.

        Where ``only`` is given, only if that is still the number of its folder.

        Raises:
            Busy: another process is doing so, and does not finish.
        """
        with held(self.numbering(record), f"The index of {record.name!r}"):
            old = self.again(record)
            if only not in (None, old.generation):
                return
            with self.catalog.read() as connection:
                fresh = replace(old, generation=collections.following_number(connection, old.id))
                total = collections.count(connection, fresh).documents
            yield Event("index", 0, total)
            self._drop_folders(old)
            yield from self.fill(fresh, total)
            with self.catalog.write() as connection:
                collections.next_generation(connection, old.id, old.line)
            self.followers.forget(old)
            self._drop_folders(old)

    def numbering(self, record: CollectionRecord) -> FileLock:
        """Return the lock under which the indexes of a collection get their numbers."""
        return self.home.rebuilding(record, self.timeout_s)

    def fill(self, fresh: CollectionRecord, total: int) -> Iterator[Event]:
        """Build the index of ``fresh``; when the collection gets another model meanwhile, its vectors anew."""
        while True:
            try:
                with closing(self.open_index(fresh)) as index:
                    for done in catch_up(self.catalog, fresh, index, self.fill_of(fresh)):
                        yield Event("index", done, max(done, total))
                return
            except Superseded:
                fresh = replace(self.again(fresh), generation=fresh.generation)

    def _drop_folders(self, record: CollectionRecord) -> None:
        """Remove the index folders of a collection that are not of its generations, as killed processes leave them."""
        with self.catalog.read() as connection:
            found = [collections.find(connection, record.name), collections.beside(connection, record.name)]
        self.home.drop_all_but([one for one in found if one is not None])
