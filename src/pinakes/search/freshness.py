"""Whether the files of hits are still as they were indexed."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from pinakes.catalog import Catalog, manifest
from pinakes.catalog.collections import CollectionRecord
from pinakes.catalog.manifest import Stamp
from pinakes.sources.stamp import has_changed
from pinakes.types import Hit, Results

_REMEMBERED_COLLECTIONS = 64
_REMEMBERED_DOCUMENTS = 50_000


class Freshness:
    """Looks at the files of hits, each time anew. Remembers only where they are. Thread-safe."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._lock = threading.Lock()
        self._known: dict[int, tuple[int, dict[str, Stamp | None]]] = {}

    def told(self, results: Results, collection: CollectionRecord) -> Results:
        """Return ``results`` whose hits tell whether their files have changed."""
        return replace(results, hits=self.of(results.hits, collection)) if results.hits else results

    def of(self, hits: Iterable[Hit], collection: CollectionRecord) -> tuple[Hit, ...]:
        """Return the hits of one collection with ``changed``."""
        given = tuple(hits)
        changed = self.changed({hit.document_id for hit in given}, collection)
        return tuple(replace(hit, changed=changed[hit.document_id]) for hit in given)

    def changed(self, uids: Iterable[str], collection: CollectionRecord) -> dict[str, bool | None]:
        """Return document uid → whether its file has changed since it was indexed, or is gone; None: not known."""
        wanted = list(uids)
        known = self._of_collection(collection)
        if missing := [uid for uid in wanted if uid not in known]:
            known |= {**dict.fromkeys(missing), **self._fetched(missing)}
        verdicts = {uid: _verdict(known[uid]) for uid in wanted}
        if doubtful := [uid for uid, verdict in verdicts.items() if verdict]:  # perhaps it was read again meanwhile
            known |= self._fetched(doubtful)
            verdicts |= {uid: _verdict(known[uid]) for uid in doubtful}
        return verdicts

    def _fetched(self, uids: Iterable[str]) -> Mapping[str, Stamp]:
        with self._catalog.read() as connection:
            found = manifest.stamps(connection, uids)
        return {uid: replace(stamp, location=_absolute(stamp.location)) for uid, stamp in found.items()}

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


def _verdict(stamp: Stamp | None) -> bool | None:
    return None if stamp is None else has_changed(stamp.location, stamp.path, stamp.fingerprint, stamp.digest)


def _absolute(location: str) -> str:
    return str(Path(location).expanduser().absolute())
