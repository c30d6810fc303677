"""An index follows the catalogue: it reads the changes it has not seen and applies them."""

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
"""So long an index that could not be written, for want of room, is used as it is."""

_log = logging.getLogger(__name__)
_CHARS_PER_STEP = 8_000_000
"""A step's texts and chunks are in memory at once."""

Fill: TypeAlias = Callable[[Sequence[IndexEntry]], list[IndexEntry]]


class Superseded(Busy):
    """A collection got another model, or another index, than the one opened; ``collection`` is it as it is now.

    Where the generation was dropped, it is the one that answers.
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
    """Apply every change the index has not seen, up to so many ``at_once``, yielding how many that were so far.

    ``fill`` may give chunks that wait for their vectors approximate ones.

    Raises:
        IndexCorrupt: the index has seen changes that the catalogue does not know.
        Superseded: the collection has another model now, or an index that was built meanwhile: this one is dropped.
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
            written = _of(found, "put", "remove")
            entries = changes.entries(connection, written, collection.model_id)
            embedded = changes.vectors(connection, _of(found, "embed", but=written), collection.model_id)
            stale = [change for change in found if change.seq > written_at.get(change.document_id, 0)]
            waiting = changes.waiting(connection, _of(stale, "approximate", but=written), collection.model_id)
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
                _unless_superseded(connection, collection)  # its folder may be gone
            raise
        seen += len(found)
        yield seen


def _unless_superseded(connection: Connection, collection: CollectionRecord) -> CollectionRecord:
    """Return a collection as it is now, unless an index that was opened for it has been replaced.

    One that is being built has a higher number than the one that answers.
    """
    now = collections.reload(connection, collection)
    if now is None or now.model_id != collection.model_id or now.generation > collection.generation:
        raise Superseded(now or collections.get(connection, collection.name))
    return now


def _of(found: Sequence[Change], *ops: Op, but: Sequence[int] = ()) -> list[int]:
    """Return the documents that one of ``ops`` happened to, less those in ``but``."""
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
    """An open index. ``ready`` once it has been caught up."""

    collection: CollectionRecord
    index: Index
    fill: Fill | None
    following: threading.Lock = field(default_factory=threading.Lock)
    ready: bool = False
    behind_until: float = 0.0
    used_at: float = 0.0

    def serves(self, collection: CollectionRecord) -> bool:
        """Say whether this is the index for ``collection``, which may have been read before a change of model."""
        mine = self.collection
        if mine.generation != collection.generation:
            return mine.generation > collection.generation
        return collection.model_id in (None, mine.model_id)


class IndexUpdater:
    """The open indexes of all collections, each brought up to date before it is used.

    Both generations of a collection may be open; one that is not asked for any more is closed while the other is.
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

    def current(self, collection: CollectionRecord, *, wait: bool = True) -> tuple[CollectionRecord, Index]:
        """Return ``collection``, or what it became meanwhile, and its index, caught up.

        ``wait`` False: when others are applying changes right now, or there are more than can be applied in the
        wink of an eye, take the index as it is, unless it has never been caught up; so, too, when there is no room
        to write it. One that is away is taken as it is in any case.

        Raises:
            IndexCorrupt: the index cannot be used.
            Busy: another process is writing to the index, and does not finish.
            NotFound: the collection was deleted.
        """
        while True:
            opened: _Open | None = None
            try:
                opened = self._opened(collection)
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
        """Answer by an index as it is, which cannot be written; try again after a while."""
        _log.warning("the index of %r lacks the newest changes: %s", opened.collection.name, error.message)
        opened.ready, opened.behind_until = True, time.monotonic() + _BEHIND_S

    def hurry(self, collection: CollectionRecord) -> bool:
        """Have an index catch up, as far as that takes no time; say whether it has, or is about to in this process.

        Raises:
            Superseded: ``collection`` has another index by now.
        """
        opened = self._opened(collection)
        if opened.collection.generation != collection.generation:
            raise Superseded(opened.collection)
        self._follow(opened, wait=False)
        with self._catalog.read() as connection:
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

    def forget(self, collection: CollectionRecord) -> None:
        """Close the index of ``collection``, if it is open."""
        with self._opening:
            opened = self._open.pop((collection.id, collection.line), None)
        if opened is not None:
            opened.index.close()

    def drop_gone(self) -> bool:
        """Close the indexes of collections that are gone, as another process may delete them; say if there are any."""
        with self._opening:
            held = {key[0] for key in self._open}
        with self._catalog.read() as connection:  # asked last: what is opened meanwhile stays
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
                with self._catalog.read() as connection:  # opening makes a folder where there is none
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
