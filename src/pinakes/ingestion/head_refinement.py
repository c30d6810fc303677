"""Head refinement: embeds the best chunks of an answer during the search, and stores the vectors afterwards."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait

import numpy as np

from pinakes.catalog import Catalog, embeddings
from pinakes.catalog.collections import CollectionRecord
from pinakes.core.errors import InvalidInput
from pinakes.core.ports import Embedder
from pinakes.core.records import Float32
from pinakes.ingestion.embedding import keep, tell_sources

_log = logging.getLogger(__name__)

_REMEMBERED = 4096
_MOST_MET = 10_000
_CLOSE_TIMEOUT_S = 10.0


class HeadRefiner:
    """Embeds chunks on demand, and stores their vectors in a background thread. Thread-safe."""

    def __init__(self, catalog: Catalog, embedder: Embedder, follow: Callable[[str], object]) -> None:
        """``follow`` brings the index of the named collection up to date."""
        self._catalog = catalog
        self._embedder = embedder
        self._follow = follow
        self._lock = threading.Lock()
        self._fresh: OrderedDict[int, Float32] = OrderedDict()
        self._met: dict[int, OrderedDict[int, None]] = {}
        self._closed = False
        self._writer: ThreadPoolExecutor | None = None
        self._unwritten: set[Future[None]] = set()

    def vectors(self, collection: CollectionRecord, chunk_ids: Sequence[int]) -> dict[int, Float32]:
        """Return chunk id → float32 (dim,), unit length; deleted chunks and those too long for the model are missing.

        Raises:
            ModelUnavailable: the model does not answer.
        """
        with self._lock:
            found = {chunk_id: self._fresh[chunk_id] for chunk_id in chunk_ids if chunk_id in self._fresh}
        missing = [chunk_id for chunk_id in chunk_ids if chunk_id not in found]
        if not missing:
            return found
        with self._catalog.read() as connection:
            found |= embeddings.of_chunks(connection, collection.model_id, missing)
            rows = embeddings.embedded(connection, [chunk_id for chunk_id in missing if chunk_id not in found])
        if rows:
            by_key = self._embedded({key: text for _, key, text in rows})
            made = {chunk_id: by_key[key] for chunk_id, key, _ in rows if key in by_key}
            self._remember(made)
            self._write(collection, by_key, list(made))
            found |= made
        return found

    def meet(self, collection: CollectionRecord, chunk_ids: Sequence[int]) -> None:
        """Record chunks with approximate vectors from an answer, best first, to be embedded next."""
        if not chunk_ids:
            return
        with self._lock:
            met = self._met.setdefault(collection.id, OrderedDict())
            for chunk_id in reversed(chunk_ids):
                met[chunk_id] = None
                met.move_to_end(chunk_id)
            while len(met) > _MOST_MET:
                met.popitem(last=False)

    def take_recorded(self, collection: CollectionRecord, most: int) -> list[int]:
        """Remove up to ``most`` recorded chunks, latest first, and return their ids."""
        with self._lock:
            met = self._met.get(collection.id, OrderedDict())
            return [met.popitem()[0] for _ in range(min(most, len(met)))]

    def flush(self) -> None:
        """Wait until all vectors are stored in the catalogue, or storing them has failed."""
        with self._lock:
            unwritten = list(self._unwritten)
        wait(unwritten, _CLOSE_TIMEOUT_S)

    def close(self) -> None:
        """Store what is not stored yet."""
        with self._lock:
            self._closed = True
            writer, self._writer = self._writer, None
        if writer is not None:
            self.flush()
            writer.shutdown(wait=False, cancel_futures=True)

    def _embedded(self, texts: Mapping[bytes, str]) -> dict[bytes, Float32]:
        try:
            vectors = self._embedder.embed(list(texts.values()))
            return dict(zip(texts, vectors.astype(np.float16).astype(np.float32), strict=True))  # as stored
        except InvalidInput:
            if len(texts) == 1:
                return {}
            each = [self._embedded({key: text}) for key, text in texts.items()]
            return {key: vector for one in each for key, vector in one.items()}

    def _remember(self, vectors: Mapping[int, Float32]) -> None:
        with self._lock:
            self._fresh |= vectors
            while len(self._fresh) > _REMEMBERED:
                self._fresh.popitem(last=False)

    def _write(self, collection: CollectionRecord, vectors: Mapping[bytes, Float32], chunk_ids: Sequence[int]) -> None:
        with self._lock:
            if self._closed or self._catalog.unwritable:
                return
            if self._writer is None:
                self._writer = ThreadPoolExecutor(1, thread_name_prefix="pinakes-refine")
            future = self._writer.submit(self._store, collection.name, vectors, chunk_ids)
            self._unwritten.add(future)
        future.add_done_callback(self._unwritten.discard)

    def _store(self, collection: str, vectors: Mapping[bytes, Float32], chunk_ids: Sequence[int]) -> None:
        """Store the vectors and update the index; on failure they stay in memory only."""
        try:
            with self._catalog.write() as connection:
                keep(connection, self._embedder, vectors)
        except Exception as error:  # noqa: BLE001 - background work: nobody would see the error
            _log.warning("%d vectors that a search made are not kept: %s", len(vectors), error)
            return
        try:
            self._follow(collection)
            tell_sources(self._catalog, collection)
        except Exception as error:  # noqa: BLE001 - likewise; the next search updates the index
            _log.warning("the index, or the state of the sources, is not up to date yet: %s", error)
            return
        with self._lock:
            for chunk_id in chunk_ids:
                self._fresh.pop(chunk_id, None)
