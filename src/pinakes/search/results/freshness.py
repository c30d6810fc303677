"""Whether what hits were read from is still as it was indexed."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from pinakes.catalog import Catalog, manifest
from pinakes.catalog.collections import CollectionRecord
from pinakes.catalog.manifest import Stamp
from pinakes.core.late import changed
from pinakes.core.records import Hit, Results, SourceState
from pinakes.sources.file_stat import state_of
from pinakes.sources.git_refs import is_at
from pinakes.sources.git_urls import local_path

_REMEMBERED_COLLECTIONS = 64
_REMEMBERED_DOCUMENTS = 50_000

_CHANGED: Mapping[SourceState, bool | None] = {"current": False, "changed": True, "missing": True, "unknown": None}


class Freshness:
    """Looks at the sources of hits, each time anew. Remembers only where they are. Thread-safe.

    Files of folders are looked at. A git repository on this machine is current while its branch is at the commit that
    was read; of others nothing is known, since nothing is fetched for that. A document that was put by itself is what
    it is.
    """

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._lock = threading.Lock()
        self._known: dict[int, tuple[int, dict[str, Stamp | None]]] = {}

    def with_freshness(self, results: Results, collection: CollectionRecord) -> Results:
        """Return ``results`` whose hits tell how their sources are."""
        return replace(results, hits=self.checked(results.hits, collection)) if results.hits else results

    def checked(self, hits: Iterable[Hit], collection: CollectionRecord) -> tuple[Hit, ...]:
        """Return the hits of one collection with ``source_state`` and ``changed``."""
        given = tuple(hits)
        states = self.states({hit.document_id for hit in given}, collection)
        told = ((hit, *states[hit.document_id]) for hit in given)
        return tuple(changed(hit, source_state=state, changed=is_changed) for hit, state, is_changed in told)

    def changed(self, uids: Iterable[str], collection: CollectionRecord) -> dict[str, bool | None]:
        """Return document uid → whether its file is another now, or gone; None: it has none, or it is not known."""
        return {uid: is_changed for uid, (_, is_changed) in self.states(uids, collection).items()}

    def states(self, uids: Iterable[str], collection: CollectionRecord) -> dict[str, tuple[SourceState, bool | None]]:
        """Return document uid → how what it was read from is now, and what ``changed`` says of it.

        "unknown" of such as are gone meanwhile.
        """
        wanted = list(uids)
        known = self._of_collection(collection)
        if missing := [uid for uid in wanted if uid not in known]:
            known |= self._fetched(missing)
        states = {uid: _state(known, uid) for uid in wanted}
        if doubtful := [uid for uid in wanted if _is_doubtful(states[uid], known.get(uid))]:
            known |= self._fetched(doubtful)  # perhaps it was read again meanwhile
            states |= {uid: _state(known, uid) for uid in doubtful}
        return {uid: (state, _CHANGED[state] if known.get(uid) else None) for uid, state in states.items()}

    def stamps(self, uids: Iterable[str]) -> dict[str, Stamp | None]:
        """Return document uid → what it was read from, of folders as an absolute path; None: nothing."""
        return self._fetched(uids)

    def _fetched(self, uids: Iterable[str]) -> dict[str, Stamp | None]:
        with self._catalog.read() as connection:
            found = manifest.stamps(connection, uids)
        return {uid: stamp and replace(stamp, location=_place(stamp)) for uid, stamp in found.items()}

    def _of_collection(self, collection: CollectionRecord) -> dict[str, Stamp | None]:
        """Return what is remembered of a collection; after a change of a text in it, not what had no file before.

        Of a document that was read again meanwhile the file is another than is remembered, and is looked up anew.
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
    """Say whether what is remembered may be old: the source says something else by now."""
    if state == "unknown":
        return stamp is not None and stamp.kind == "git" and local_path(stamp.location) is not None
    return state != "current"


def _place(stamp: Stamp) -> str:
    return str(Path(stamp.location).expanduser().absolute()) if stamp.kind == "folder" else stamp.location
