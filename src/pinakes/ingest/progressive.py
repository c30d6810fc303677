"""Searchable before all of it is embedded: a sample by the model, the rest by a map fitted to that sample."""

from __future__ import annotations

import threading
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from pinakes import approximation
from pinakes.approximation import Map, Tokens
from pinakes.catalog import Catalog, changes, embeddings
from pinakes.catalog.collections import CollectionRecord
from pinakes.errors import IndexCorrupt, ModelUnavailable
from pinakes.ingest.embedding import bind, embed
from pinakes.ingest.report import Event
from pinakes.ports import Embedder, Vocabulary
from pinakes.types import Float32, IndexEntry

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

    def __init__(self, path: Path, label: str, vocabulary: Vocabulary) -> None:
        self._path = path
        self._label = label
        self._vocabulary = vocabulary
        self._lock = threading.Lock()
        self._map: Map | None = None
        self._seen: tuple[int, int] | None = None

    def fill(self, entries: Sequence[IndexEntry]) -> list[IndexEntry]:
        """Return ``entries``, those without a vector with an approximate one."""
        waiting = [number for number, entry in enumerate(entries) if entry.vector is None]
        found = list(entries)
        fitted = self.map() if waiting else None
        if fitted is None:
            return found
        for start in range(0, len(waiting), _TEXTS_PER_STEP):
            part = waiting[start : start + _TEXTS_PER_STEP]
            texts = [entries[number].embedded_text for number in part]
            for number, vector in zip(part, self.vectors(fitted, texts), strict=True):
                found[number] = replace(entries[number], vector=vector)
        return found

    def vectors(self, fitted: Map, texts: Sequence[str]) -> Float32:
        """Return float32 (n, dim), unit length: what the map makes of ``texts``."""
        return fitted.apply(Tokens.of(self._vocabulary.token_ids(texts)))

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
        """Fit a map to ``sample`` and keep it."""
        tokens = Tokens.of(self._vocabulary.token_ids(sample.texts))
        fitted = approximation.fit(tokens, sample.vectors, self._vocabulary.prior(), self._label)
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
    assert collection.model_id is not None
    with catalog.write() as connection:
        embeddings.store(connection, collection.model_id, vectors)
    with catalog.read() as connection:
        found = embeddings.of_keys(connection, collection.model_id, [key for key in texts if key not in refused])
    if not found:
        raise ModelUnavailable("The model embedded none of the sample.", hint="See the files that failed.")
    return Sample([texts[key] for key in found], np.stack(list(found.values())))


def follow_anew(catalog: Catalog, collection: CollectionRecord) -> None:
    """Have the index look at every document again: the map that fills its gaps is another."""
    with catalog.write() as connection:
        changes.record_everything(connection, collection.id)
