"""Claims of pending chunks: processes that share a catalogue take batches of them, each other ones."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Final

from pinakes.catalog import Catalog, collections, embedding_claims, embeddings
from pinakes.catalog.collections import CollectionRecord
from pinakes.core.errors import ModelMismatch, PinakesError
from pinakes.core.ports import Embedder
from pinakes.core.records import Float32

_log = logging.getLogger(__name__)

LEASE_S: Final = 30.0
"""Seconds until the claim of a batch ends unless it is renewed, which happens several times in that time."""

_RENEWALS: Final = 4
_MOST_REASON_CHARS: Final = 500


@dataclass(frozen=True, slots=True)
class Claims:
    """The pending chunks that one process, ``owner``, has claimed in a catalogue that several share. Thread-safe."""

    catalog: Catalog
    owner: str

    def bound(self, collection: CollectionRecord, embedder: Embedder) -> CollectionRecord:
        """Return a collection with its model: ``embedder``, where it had none yet.

        Raises:
            ModelMismatch: it has another one, perhaps since a moment ago.
            ModelUnavailable: see ``Embedder``.
        """
        fingerprint = embedder.fingerprint
        if collection.model_id is None:
            with self.catalog.write() as connection:
                collections.bind_first_model(connection, collection.id, fingerprint, embedder.dimension)
                collection = collections.reload(connection, collection) or collection
        if collection.fingerprint != fingerprint:
            raise ModelMismatch(
                f"Collection {collection.name!r} is embedded by {collection.fingerprint}, not by {fingerprint}.",
                hint="Set embedding.model, and its precision, as they are at the servers.",
            )
        return collection

    def take(
        self, collection: CollectionRecord, most: int, after: int = 0, *, only_wanted: bool = False
    ) -> list[tuple[int, bytes, str]]:
        """Claim up to ``most`` pending chunks; return (chunk id, key, embedded text) of each. See ``claim``."""
        if collection.model_id is None:
            return []
        of = collection.id, collection.model_id, self.owner, LEASE_S, most
        with self.catalog.read() as connection:  # writing wakes everybody
            if not embedding_claims.is_free(connection, *of[:2], only_wanted=only_wanted):
                return []
        with self.catalog.write() as connection:
            return embedding_claims.claim(connection, *of, after, only_wanted=only_wanted)

    @contextmanager
    def stored(
        self, collection: CollectionRecord, texts: Mapping[bytes, str], refused: Mapping[bytes, str]
    ) -> Iterator[Callable[[Mapping[bytes, Float32]], object]]:
        """Give what stores vectors of the claimed ``texts``, whose leases are renewed until the block ends.

        What others took over meanwhile is not stored. At the end, texts that were ``refused`` are noted, and those that
        have no vector are given back.
        """
        model_id = collection.model_id
        assert model_id is not None

        def store(vectors: Mapping[bytes, Float32]) -> None:
            with self.catalog.write() as connection:
                mine = embedding_claims.owned(connection, model_id, self.owner, vectors)
                embeddings.store(connection, model_id, {key: vectors[key] for key in vectors if key in mine})
                embedding_claims.done(connection, model_id, mine)

        ended = threading.Event()
        renewing = threading.Thread(target=self._renew, args=(ended,), name="pinakes-claims", daemon=True)
        renewing.start()
        try:
            yield store
        finally:
            ended.set()
            renewing.join()
            reasons = {key: refused[key][:_MOST_REASON_CHARS] for key in texts if key in refused}
            with suppress(PinakesError):  # the leases end by themselves
                self._settle(model_id, list(texts), reasons)

    def prioritise(self, collection: CollectionRecord, chunk_ids: Sequence[int]) -> None:
        """Have these chunks, which a search met, be embedded before others."""
        if collection.model_id is None or not chunk_ids:
            return
        with self.catalog.read() as connection:
            found = embeddings.pending_among(connection, collection.id, collection.model_id, chunk_ids)
        if found:
            with self.catalog.write() as connection:
                embedding_claims.prioritise(connection, collection.id, collection.model_id, chunk_ids)

    def _settle(self, model_id: int, keys: Sequence[bytes], reasons: Mapping[bytes, str]) -> None:
        with self.catalog.read() as connection:
            left = embedding_claims.owned(connection, model_id, self.owner, keys, locked=False)
        if left:
            with self.catalog.write() as connection:
                embedding_claims.refuse(connection, model_id, reasons)
                embedding_claims.release(connection, self.owner, model_id, keys)

    def _renew(self, ended: threading.Event) -> None:
        while not ended.wait(LEASE_S / _RENEWALS):
            try:
                with self.catalog.write() as connection:
                    embedding_claims.renew(connection, self.owner, LEASE_S)
            except PinakesError as error:
                _log.warning("the lease of chunks that are embedded here is not renewed: %s", error)
