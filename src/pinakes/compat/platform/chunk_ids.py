"""Chunk ids that are computed: UUIDv5 of ``uri#index``, the same for everyone who computes it."""

from __future__ import annotations

import hashlib
import threading
import uuid
from collections.abc import Mapping
from weakref import WeakKeyDictionary

from pinakes.library import Library
from pinakes.services.collections.management import CollectionRecord

_SPACE = uuid.NAMESPACE_DNS.bytes


def chunk_id(uri: str, index: int) -> str:
    """Return the id of chunk number ``index``, from 0, of the document at ``uri``."""
    return str(uuid.uuid5(uuid.NAMESPACE_DNS, f"{uri}#{index}"))


class ChunkIds:
    """Finds the chunk that an id stands for. An id does not say so itself: those of all chunks are made and remembered.

    Thread-safe.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._collection = 0, 0
        self._counts: dict[str, int] = {}
        self._places: dict[bytes, tuple[str, int]] = {}

    def place(self, library: Library, record: CollectionRecord, wanted: str) -> tuple[str, int] | None:
        """Return uri and number of the chunk with this id, None where the collection has none."""
        try:
            key = uuid.UUID(wanted).bytes
        except ValueError:
            return None
        with self._lock:
            if (record.id, record.written) != self._collection:
                self._learn(record, library.lookup.chunk_counts(record.id))
            uri, index = self._places.get(key, ("", 0))
            return (uri, index) if index < self._counts.get(uri, 0) else None

    def _learn(self, record: CollectionRecord, counts: Mapping[str, int]) -> None:
        """Take in what the collection holds now; ids that were made before are not made again."""
        known = self._counts if record.id == self._collection[0] else {}
        gone = len(known.keys() - counts.keys())
        if not known or gone > len(counts):
            known, self._places = {}, {}
        for uri, count in counts.items():
            self._add(uri, known.get(uri, 0), count)
        self._counts = dict(counts)
        self._collection = record.id, record.written

    def _add(self, uri: str, first: int, count: int) -> None:
        """Make the ids from ``first`` on, as ``uuid.uuid5`` does: a hash with the bits of version and variant set."""
        begun = hashlib.sha1(_SPACE + f"{uri}#".encode(), usedforsecurity=False)
        for index in range(first, count):
            one = begun.copy()
            one.update(b"%d" % index)
            digest = bytearray(one.digest()[:16])
            digest[6] = digest[6] & 0x0F | 0x50
            digest[8] = digest[8] & 0x3F | 0x80
            self._places[bytes(digest)] = uri, index


_REMEMBERED: WeakKeyDictionary[Library, ChunkIds] = WeakKeyDictionary()


def place_of(library: Library, record: CollectionRecord, wanted: str) -> tuple[str, int] | None:
    """Return uri and number of the chunk with the id ``wanted``, None where the collection has none."""
    return _REMEMBERED.setdefault(library, ChunkIds()).place(library, record, wanted)
