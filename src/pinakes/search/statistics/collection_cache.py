"""A cache of values per collection, valid until a text in it changes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from pinakes.catalog.collections import CollectionRecord

Key = TypeVar("Key")
Value = TypeVar("Value")

_MOST_COLLECTIONS = 64


class CollectionCache(Generic[Key, Value]):
    """Caches up to about ``most`` values for each of the latest collections. Thread-safe."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._known: dict[Hashable, tuple[int, dict[Key, Value]]] = {}

    def values_of(self, collection: CollectionRecord, about: Hashable = ()) -> dict[Key, Value]:
        """Return the cached values of a collection for the topic ``about``, to read and to add to."""
        key = (collection.id, about)
        with self._lock:
            written, known = self._known.get(key, (-1, {}))
            if written != collection.written or len(known) >= self._most:
                known = {}
                if len(self._known) >= _MOST_COLLECTIONS:
                    self._known.clear()
                self._known[key] = (collection.written, known)
            return known

    def get(self, collection: CollectionRecord, key: Key, find: Callable[[], Value]) -> Value:
        """Return the cached value of ``key``, or that of ``find``, which is then cached."""
        known = self.values_of(collection)
        if key not in known:
            known[key] = find()
        return known[key]
