"""A cache of the vectors of summaries written for documents, updated from the change feed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from pinakes.catalog import Connection, changes, summaries
from pinakes.catalog.collections import CollectionRecord
from pinakes.core.records import Float32, Int64

_MOST_CHANGES = 1000
"""After more changes, all vectors are read again."""

_REMEMBERED_COLLECTIONS = 16
_LOOK_AGAIN_S = 5.0

Connect: TypeAlias = Callable[[], AbstractContextManager[Connection]]


@dataclass(frozen=True, slots=True)
class SummaryVectors:
    """``ids`` int64 (n,), ascending document ids; ``vectors`` float32 (n, dim), unit length; (0, 0) if empty.

    ``head``: number of the newest change included. ``waiting``: some summaries had no vector at the time ``read_at``
    (monotonic seconds); adding a vector is not a change.
    """

    ids: Int64
    vectors: Float32
    head: int
    waiting: bool = False
    read_at: float = 0.0

    def cosines(self, query: Float32) -> Float32:
        """Return float32 (n,): the cosine of each vector with ``query``."""
        return self.vectors @ query if len(self.ids) else np.empty(0, np.float32)


class OwnSummaries:
    """Caches summary vectors by collection and model. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[tuple[int, int | None], SummaryVectors] = {}

    def vectors_for(self, connect: Connect, collection: CollectionRecord) -> SummaryVectors:
        """Return the summary vectors for the model of ``collection``; ``connect`` is called only after a change."""
        key = (collection.id, collection.model_id)
        known, now = self._known.get(key), time.monotonic()
        if known is not None and known.waiting and now - known.read_at > _LOOK_AGAIN_S:
            known = None
        if known is not None and known.head >= collection.head:
            return known
        with connect() as connection:
            fresh = self._followed(connection, collection, known) or _read(connection, collection, now)
        with self._lock:
            if len(self._known) >= _REMEMBERED_COLLECTIONS:
                self._known.clear()
            self._known[key] = fresh
        return fresh

    def _followed(
        self, connection: Connection, collection: CollectionRecord, known: SummaryVectors | None
    ) -> SummaryVectors | None:
        """Return ``known`` updated by the changes since; None if there are too many."""
        if known is None:
            return None
        found = changes.since(connection, collection.id, known.head, _MOST_CHANGES + 1)
        if len(found) > _MOST_CHANGES:
            return None
        head = max((change.seq for change in found), default=known.head)
        touched = np.unique([change.document_id for change in found]).astype(np.int64)
        model_id = collection.model_id
        ids, vectors = summaries.summary_vectors(connection, collection.id, model_id, touched.tolist())
        stays = ~np.isin(known.ids, touched)
        waiting = known.waiting or summaries.own_count(connection, touched.tolist()) > len(ids)
        if not len(ids):
            ids, vectors = known.ids[stays], known.vectors[stays]
        elif len(known.ids):
            ids = np.concatenate([known.ids[stays], ids])
            order = np.argsort(ids, kind="stable")
            ids, vectors = ids[order], np.concatenate([known.vectors[stays], vectors])[order]
        return SummaryVectors(ids, vectors, head, waiting, known.read_at)


def _read(connection: Connection, collection: CollectionRecord, now: float) -> SummaryVectors:
    head = changes.head(connection, collection.id)
    ids, vectors = summaries.summary_vectors(connection, collection.id, collection.model_id)
    waiting = bool(summaries.pending(connection, collection.id, collection.model_id, 1))
    return SummaryVectors(ids, vectors, head, waiting, now)
