"""Searchable before all of it is embedded: a sample by the model, the rest by a map fitted to that sample."""

from __future__ import annotations

import logging
import threading
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from pinakes import approximation
from pinakes.approximation import Map, Tokens
from pinakes.catalog import Catalog, changes, collections, embeddings
from pinakes.catalog.collections import CollectionRecord
from pinakes.errors import IndexCorrupt, ModelUnavailable
from pinakes.ingest.embedding import bind, embed, keep
from pinakes.ingest.report import Event
from pinakes.ports import Embedder, Vocabulary
from pinakes.types import Float32, IndexEntry

_log = logging.getLogger(__name__)

_TEXTS_PER_STEP = 2048


@dataclass(frozen=True, slots=True)
class Sample:
    """Chunks embedded by the model: their texts, and their vectors float32 (n, dim)."""

    texts: Sequence[str]
    vectors: Float32


class Approximator:
    """Gives chunks that wait for their vectors approximate ones, by the map kept at ``path``; none while there is none.

    Thread-safe. Other processes may replace the map: it is read anew when the file is another.
    """

    def __init__(self, path: Path, label: str, embedder: Embedder) -> None:
        """Keep the map of the model ``label``; with another ``embedder`` there is nothing to fill with."""
        self._path = path
        self._label = label
        self._embedder = embedder
        self._lock = threading.Lock()
        self._map: Map | None = None
        self._seen: tuple[int, int] | None = None

    def fill(self, entries: Sequence[IndexEntry]) -> list[IndexEntry]:
        """Return ``entries``, those without a vector with an approximate one."""
        waiting = [number for number, entry in enumerate(entries) if entry.vector is None]
        found = list(entries)
        fitted = self.map() if waiting else None
        try:
            vocabulary = self._vocabulary() if fitted else None
            if fitted is None or vocabulary is None:
                return found
            for start in range(0, len(waiting), _TEXTS_PER_STEP):
                part = waiting[start : start + _TEXTS_PER_STEP]
                tokens = Tokens.of(vocabulary.token_ids([entries[number].embedded_text for number in part]))
                for number, vector in zip(part, fitted.apply(tokens), strict=True):
                    found[number] = replace(entries[number], vector=vector)
        except ModelUnavailable as error:
            _log.warning("passages that wait for their vectors are found by words only: %s", error.message)
        return found

    def _vocabulary(self) -> Vocabulary | None:
        """Return the embedder where it is the model of the map and can tell of tokens."""
        embedder = self._embedder
        return embedder if isinstance(embedder, Vocabulary) and embedder.fingerprint == self._label else None

    def map(self) -> Map | None:
        """Return the map, None where there is none for this model."""
        try:
            stat = self._path.stat()
        except OSError:
            return None
        now = stat.st_mtime_ns, stat.st_ino
        with self._lock:
            if self._seen != now:
                try:
                    self._map = Map.load(self._path, self._label)
                except IndexCorrupt:
                    self._map = None
                self._seen = now
            return self._map

    def fit(self, sample: Sample) -> Map:
        """Fit a map to ``sample`` and keep it.

        Raises:
            ModelUnavailable: the model is not that of the collection, or cannot be had.
        """
        vocabulary = self._vocabulary()
        if vocabulary is None:
            raise ModelUnavailable(f"The model is not {self._label}.", hint="Set embedding.model back.")
        tokens = Tokens.of(vocabulary.token_ids(sample.texts))
        fitted = approximation.fit(tokens, sample.vectors, vocabulary.prior(), self._label)
        fitted.save(self._path)
        return fitted


def sampled(
    catalog: Catalog, collection: CollectionRecord, embedder: Embedder, count: int
) -> Generator[Event, None, Sample]:
    """Embed ``count`` chunks from all over a collection, as far as they are not, and return them.

    Raises:
        ModelUnavailable: the model cannot be loaded or does not answer.
    """
    with catalog.read() as connection:
        every, _ = embeddings.chunk_ids(connection, collection.id, collection.model_id)
        texts = embeddings.texts(connection, every[approximation.sample(len(every), count)].tolist())
        known = embeddings.known(connection, collection.model_id, texts)
    refused: dict[bytes, str] = {}
    missing = {key: text for key, text in texts.items() if key not in known}
    vectors = yield from embed(embedder, missing, refused)
    if collection.model_id is None:
        collection = bind(catalog, collection, embedder)
    with catalog.write() as connection:
        keep(connection, embedder, vectors)
    with catalog.read() as connection:
        model_id = collections.model_id(connection, embedder.fingerprint)
        found = embeddings.of_keys(connection, model_id, [key for key in texts if key not in refused])
    if not found:
        raise ModelUnavailable("The model embedded none of the sample.", hint="See the files that failed.")
    return Sample([texts[key] for key in found], np.stack(list(found.values())))


def follow_anew(catalog: Catalog, collection: CollectionRecord) -> None:
    """Have the index look at every document again: the map that fills its gaps is another."""
    with catalog.write() as connection:
        changes.record_everything(connection, collection.id)
