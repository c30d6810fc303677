"""Index updaters: an index reads the changes of the catalogue that it has not seen, and applies them."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from pinakes.catalog import Catalog, Connection, changes, collections
from pinakes.catalog.changes import Change, Op
from pinakes.catalog.collections import CollectionRecord
from pinakes.core.errors import Busy, IndexCorrupt, IndexUnavailable, NotFound, StorageFull
from pinakes.core.ports import Index
from pinakes.core.records import IndexEntry, VectorEntry
from pinakes.indexes.combined import CombinedIndex

_DOCUMENTS_PER_STEP = 500
_DOCUMENTS_PER_SEARCH = 50
_LONGEST_PER_SEARCH_S = 0.05
_IDLE_S = 60.0
_BEHIND_S = 10.0
"""Seconds for which an index that could not be written (disk full) is used as it is."""

_log = logging.getLogger(__name__)
_CHARS_PER_STEP = 8_000_000
"""Characters of texts and chunks per step, which are in memory together."""

Fill: TypeAlias = Callable[[Sequence[IndexEntry]], list[IndexEntry]]


class Superseded(Busy):
    """The opened index was replaced, or its collection's model changed; ``collection`` is the current record.

    If the generation was dropped, it is the record of the generation in use.
    """

    def __init__(self, collection: CollectionRecord) -> None:
        super().__init__(f"Collection {collection.name!r} gets another index.", hint="Try again.")
        self.collection = collection


def catch_up(
    catalog: Catalog,
    collection: CollectionRecord,
    index: Index,
    fill: Fill | None = None,
    at_once: int = _DOCUMENTS_PER_STEP,
) -> Iterator[int]:
    """Apply all new changes to ``index``, ``at_once`` documents per step; yield the number applied so far.

    ``fill``, if given, adds approximate vectors to pending chunks.

    Raises:
        IndexCorrupt: the index is ahead of the catalogue.
        Superseded: the collection's model changed, or a newer index replaced this one.
    """
    seen = 0
    position = index.position()
    furthest = index.furthest() if isinstance(index, CombinedIndex) else position
    written_at: dict[int, int] = {}
    while True:
        with catalog.read() as connection:
            head = _unless_superseded(connection, collection).head
            if position == head and furthest <= head:
                return
            found = changes.since(connection, collection.id, position, at_once, _CHARS_PER_STEP)
            written = _documents_of(found, "put", "remove")
            entries = changes.entries(connection, written, collection.model_id)
            embedded = changes.vectors(connection, _documents_of(found, "embed", but=written), collection.model_id)
            stale = [change for change in found if change.seq > written_at.get(change.document_id, 0)]
            waiting = changes.waiting(connection, _documents_of(stale, "approximate", but=written), collection.model_id)
            written_at |= dict.fromkeys(written, head)  # all that was fitted until then is in what they are filled with
        if furthest > head:
            raise IndexCorrupt(
                f"The index stands at change {furthest}, the catalogue at {head}: it was put back to an older state.",
                hint="Rebuild the index: pinakes reindex",
            )
        position = found[-1].seq
        if fill is not None:
            entries, waiting = fill(entries), fill(waiting)
        try:
            index.apply(written, entries, position, embedded + _vectors(waiting))
        except (IndexCorrupt, StorageFull):
            with catalog.read() as connection:
                _unless_superseded(connection, collection)  # its folder may have been deleted
            raise
        seen += len(found)
        yield seen


def _unless_superseded(connection: Connection, collection: CollectionRecord) -> CollectionRecord:
    """Return the current record of a collection.

    A shadow index has a higher number than the index in use.
    """
    now = collections.reload(connection, collection)
    if now is None or now.model_id != collection.model_id or now.generation > collection.generation:
        raise Superseded(now or collections.get(connection, collection.name))
    return now


def _documents_of(found: Sequence[Change], *ops: Op, but: Sequence[int] = ()) -> list[int]:
    """Return the documents with a change in ``ops``, except those in ``but``."""
    left_out = set(but)
    return [change.document_id for change in found if change.op in ops and change.document_id not in left_out]


def _vectors(entries: Sequence[IndexEntry]) -> list[VectorEntry]:
    return [
        VectorEntry(entry.chunk_id, entry.document_id, entry.vector, entry.exact)
        for entry in entries
        if entry.vector is not None
    ]


@dataclass(slots=True)
class _Open:
    """An open index; ``ready`` once it has caught up for the first time."""

    collection: CollectionRecord
    index: Index
    fill: Fill | None
    following: threading.Lock = field(default_factory=threading.Lock)
    ready: bool = False
    behind_until: float = 0.0
    used_at: float = 0.0

    def serves(self, collection: CollectionRecord) -> bool:
        """Return whether this index serves ``collection``, whose record may date from before a model change."""
        mine = self.collection
        if mine.generation != collection.generation:
            return mine.generation > collection.generation
        return collection.model_id in (None, mine.model_id)


class IndexUpdater:
    """Keeps the indexes of all collections open, and updates each before use.

    Both generations of a collection may be open; a generation that is no longer used is closed. ``starting``: somebody
    updates the indexes that have never been caught up, so that searches take them as they are.
    """

    def __init__(
        self,
        catalog: Catalog,
        open_index: Callable[[CollectionRecord], Index],
        fill_of: Callable[[CollectionRecord], Fill | None],
    ) -> None:
        self._catalog = catalog
        self._open_index = open_index
        self._fill_of = fill_of
        self._open: dict[tuple[int, int], _Open] = {}
        self._opening = threading.Lock()
        self.starting = False

    def current(self, collection: CollectionRecord, *, wait: bool = True) -> tuple[CollectionRecord, Index]:
        """Return the current record of ``collection`` and its index, caught up.

        ``wait`` False: when others are applying changes right now, or there are more than can be applied in the
        wink of an eye, take the index as it is, unless it has never been caught up and nobody is ``starting``; so, too,
        when there is no room to write it. One that is away is taken as it is in any case.

        Raises:
            IndexCorrupt: the index cannot be used.
            Busy: another process is writing to the index, and does not finish in time.
            NotFound: the collection was deleted.
        """
        while True:
            opened: _Open | None = None
            try:
                opened = self._opened(collection)
                if not (wait or opened.ready) and self.starting:
                    return collection, opened.index
                if not opened.ready or collection.head != opened.index.position():
                    lags = isinstance(opened.index, CombinedIndex) and opened.index.lags
                    self._follow(opened, wait=wait or lags or not opened.ready)
                return collection, opened.index
            except IndexUnavailable:  # whoever asks it is told; what is written meanwhile is caught up with before that
                if opened is None:
                    raise
                opened.ready = False
                return collection, opened.index
            except StorageFull as error:
                if wait or opened is None:
                    raise
                self._leave_behind(opened, error)
                return collection, opened.index
            except Superseded as changed:
                collection = changed.collection
                self._discard(opened)
            except NotFound:  # the collection was deleted
                self._discard(opened)
                raise

    def _leave_behind(self, opened: _Open, error: StorageFull) -> None:
        """Use an index that cannot be written as it is; try to update it again after a while."""
        _log.warning("the index of %r lacks the newest changes: %s", opened.collection.name, error.message)
        opened.ready, opened.behind_until = True, time.monotonic() + _BEHIND_S

    def catch_up_if_quick(self, collection: CollectionRecord) -> bool:
        """Let an index catch up if that is quick. Return whether it has, or another thread is about to.

        Raises:
            Superseded: a newer index has replaced that of ``collection``.
        """
        opened = self._opened(collection)
        if opened.collection.generation != collection.generation:
            raise Superseded(opened.collection)
        self._follow(opened, wait=False)
        with self._catalog.read_each() as connection:
            head = changes.head(connection, collection.id)
        return opened.following.locked() or opened.index.position() >= head

    def _follow(self, opened: _Open, *, wait: bool) -> None:
        if not wait and time.monotonic() < opened.behind_until:
            return
        if opened.following.acquire(blocking=wait):
            try:
                at_once = _DOCUMENTS_PER_STEP if wait else _DOCUMENTS_PER_SEARCH
                until = time.monotonic() + (math.inf if wait else _LONGEST_PER_SEARCH_S)
                for _ in catch_up(self._catalog, opened.collection, opened.index, opened.fill, at_once):
                    if time.monotonic() > until:
                        return
                opened.ready = True
            except Superseded:
                raise
            except Busy:
                if wait:
                    raise
            finally:
                opened.following.release()

    def unready(self) -> set[int]:
        """Return the ids of collections whose index is open and has never been caught up."""
        with self._opening:
            return {key[0] for key, opened in self._open.items() if not opened.ready}

    def positions(self) -> dict[int, int]:
        """Return id of a collection → number of the last change that its index, if it is open, has."""
        with self._opening:
            return {key[0]: opened.index.position() for key, opened in self._open.items()}

    def forget(self, collection: CollectionRecord) -> None:
        """Close the index of ``collection``, if it is open."""
        with self._opening:
            opened = self._open.pop((collection.id, collection.line), None)
        if opened is not None:
            opened.index.close()

    def drop_gone(self) -> bool:
        """Close the indexes of deleted collections, so that their files can be deleted. Return whether any was open."""
        with self._opening:
            held = {key[0] for key in self._open}
        with self._catalog.read() as connection:  # read last, so that indexes opened meanwhile stay open
            gone = held - collections.ids(connection)
        with self._opening:
            dropped = [self._open.pop(key) for key in list(self._open) if key[0] in gone]
        for opened in dropped:
            opened.index.close()
        return bool(dropped)

    def close(self) -> None:
        """Close all indexes."""
        with self._opening:
            for opened in self._open.values():
                opened.index.close()
            self._open.clear()

    def _discard(self, opened: _Open | None) -> None:
        if opened is None:
            return
        with self._opening:
            key = (opened.collection.id, opened.collection.line)
            if self._open.get(key) is opened:
                del self._open[key]
        opened.index.close()

    def _opened(self, collection: CollectionRecord) -> _Open:
        key = (collection.id, collection.line)
        with self._opening:
            opened = self._open.get(key)
            if opened is None or not opened.serves(collection):
                with self._catalog.read() as connection:  # opening would create a missing folder
                    _unless_superseded(connection, collection)
                if opened is not None:
                    opened.index.close()
                index, fill = self._open_index(collection), self._fill_of(collection)
                opened = self._open[key] = _Open(collection, index, fill)
            opened.used_at = time.monotonic()
            if len(self._open) > 1:
                self._close_idle(key, opened.used_at - _IDLE_S)
            return opened

    def _close_idle(self, used: tuple[int, int], before: float) -> None:
        """Close other generations of the collection that were not used since ``before``."""
        for key in [key for key in self._open if key[0] == used[0] and key != used]:
            if self._open[key].used_at < before:
                self._open.pop(key).index.close()
