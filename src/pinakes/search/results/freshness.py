"""Freshness: whether the sources of hits have changed since they were indexed."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from pinakes.catalog import Catalog, manifest
from pinakes.catalog.collections import CollectionRecord
from pinakes.catalog.manifest import Stamp
from pinakes.core.late import changed
from pinakes.core.records import Hit, Results, SourceState
from pinakes.sources.file_stat import state_of
from pinakes.sources.git_folder import is_at
from pinakes.sources.git_urls import local_path

_REMEMBERED_COLLECTIONS = 64
_REMEMBERED_DOCUMENTS = 50_000

_CHANGED: Mapping[SourceState, bool | None] = {"current": False, "changed": True, "missing": True, "unknown": None}


class Freshness:
    """Checks the sources of hits, on every call; caches only their locations. Thread-safe.

    Files of folders are checked on disk. A local git repository is current while its branch is at the commit that was
    read; remote repositories are "unknown", since nothing is fetched. A document that was put through the API has no
    source.
    """

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._lock = threading.Lock()
        self._known: dict[int, tuple[int, dict[str, Stamp | None]]] = {}

    def with_freshness(self, results: Results, collection: CollectionRecord) -> Results:
        """Return ``results`` with the source state of each hit."""
        return replace(results, hits=self.checked(results.hits, collection)) if results.hits else results

    def checked(self, hits: Iterable[Hit], collection: CollectionRecord) -> tuple[Hit, ...]:
        """Return the hits of one collection with ``source_state`` and ``changed`` set."""
        given = tuple(hits)
        states = self.states({hit.document_id for hit in given}, collection)
        told = ((hit, *states[hit.document_id]) for hit in given)
        return tuple(changed(hit, source_state=state, changed=is_changed) for hit, state, is_changed in told)

    def changed(self, uids: Iterable[str], collection: CollectionRecord) -> dict[str, bool | None]:
        """Return document uid → whether its file was changed or deleted; None if it has no file, or that is unknown."""
        return {uid: is_changed for uid, (_, is_changed) in self.states(uids, collection).items()}

    def states(self, uids: Iterable[str], collection: CollectionRecord) -> dict[str, tuple[SourceState, bool | None]]:
        """Return document uid → (state of its source, whether it ``changed``).

        The state of a deleted document is "unknown".
        """
        wanted = list(uids)
        known = self._of_collection(collection)
        if missing := [uid for uid in wanted if uid not in known]:
            self._remember(known, self._fetched(missing))
        states = {uid: _state(known, uid) for uid in wanted}
        if doubtful := [uid for uid in wanted if _is_doubtful(states[uid], known.get(uid))]:
            self._remember(known, self._fetched(doubtful))  # the document may have been indexed again since
            states |= {uid: _state(known, uid) for uid in doubtful}
        return {uid: (state, _CHANGED[state] if known.get(uid) else None) for uid, state in states.items()}

    def stamps(self, uids: Iterable[str]) -> dict[str, Stamp | None]:
        """Return document uid → the stamp of its source, with an absolute path for folders; None if it has none."""
        return self._fetched(uids)

    def note(self, collection: CollectionRecord, stamps: Mapping[str, Stamp | None]) -> None:
        """Remember the stamps of documents of a collection, by uid, as they were just read."""
        self._remember(self._of_collection(collection), _placed(stamps))

    def _remember(self, known: dict[str, Stamp | None], stamps: Mapping[str, Stamp | None]) -> None:
        with self._lock:
            known.update(stamps)

    def _fetched(self, uids: Iterable[str]) -> dict[str, Stamp | None]:
        with self._catalog.read_each() as connection:
            return _placed(manifest.stamps(connection, uids))

    def _of_collection(self, collection: CollectionRecord) -> dict[str, Stamp | None]:
        """Return the cached stamps of a collection; after a text changed, without the documents that had no file.

        The stamp of a document that was indexed again differs from its file, so ``states`` fetches it again.
        """
        with self._lock:
            written, known = self._known.get(collection.id, (-1, {}))
            if written != collection.written:
                known = {uid: stamp for uid, stamp in known.items() if stamp}
            if len(known) >= _REMEMBERED_DOCUMENTS:
                known = {}
            if len(self._known) >= _REMEMBERED_COLLECTIONS:
                self._known.clear()
            self._known[collection.id] = (collection.written, known)
            return known


def _state(known: Mapping[str, Stamp | None], uid: str) -> SourceState:
    if uid not in known:
        return "unknown"
    stamp = known[uid]
    if stamp is None:
        return "current"
    if stamp.kind == "folder":
        return state_of(stamp.location, stamp.path, stamp.fingerprint, stamp.digest)
    return "current" if stamp.kind == "git" and is_at(stamp.location, stamp.state) else "unknown"


def _is_doubtful(state: SourceState, stamp: Stamp | None) -> bool:
    """Return whether a cached stamp may be outdated: the source no longer matches it."""
    if state == "unknown":
        return stamp is not None and stamp.kind == "git" and local_path(stamp.location) is not None
    return state != "current"


def _placed(stamps: Mapping[str, Stamp | None]) -> dict[str, Stamp | None]:
    return {uid: stamp and replace(stamp, location=_place(stamp)) for uid, stamp in stamps.items()}


def _place(stamp: Stamp) -> str:
    if stamp.kind != "folder":
        return stamp.location
    return _absolute(stamp.location) if stamp.location.startswith("/") else _expanded(stamp.location)


def _expanded(location: str) -> str:
    return str(Path(location).expanduser().absolute())


_absolute = lru_cache(maxsize=1024)(_expanded)
"""The same for locations that depend on no working directory, which the documents of a source share."""
