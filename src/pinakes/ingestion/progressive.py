"""Progressive embedding: exact vectors for a sample, approximate ones for the rest by a map fitted to the sample."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from pinakes.catalog import Catalog, changes, collections, embeddings
from pinakes.catalog.collections import CollectionRecord
from pinakes.core.errors import IndexCorrupt, ModelUnavailable, storing
from pinakes.core.ports import Embedder, Index, Vocabulary
from pinakes.core.records import Float32, IndexEntry
from pinakes.ingestion.embedding import embed_and_keep, has_pending
from pinakes.ingestion.report import Event
from pinakes.models import approximation
from pinakes.models.approximation import ApproximateMap, TokenRows
from pinakes.platform.permissions import make_private
from pinakes.settings import EmbeddingSettings

_log = logging.getLogger(__name__)

_TEXTS_PER_STEP = 2048
_OUTGROWN = 1.25
"""A map is fitted again once the collection has this many times the chunks it was fitted for."""

_ENLARGED = 2
_WORTH_ENLARGING = 5
_KEPT_AT_ONCE = 256
"""At most this many embedded sample chunks are lost when the run is stopped."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Texts of a sample of ``of_chunks`` chunks, and their exact vectors, float32 (n, dim)."""

    texts: Sequence[str]
    vectors: Float32
    of_chunks: int


class Approximator:
    """Fills in approximate vectors for pending chunks, by the map stored at ``path``, if there is one.

    Thread-safe. Other processes may replace the map; it is reloaded when the file changes.
    """

    def __init__(self, path: Path, label: str, embedder: Embedder, vocabulary: Vocabulary) -> None:
        """Use the map of the model ``label``; with another ``embedder`` nothing is filled in.

        ``vocabulary`` tokenizes texts: the embedder itself, or another model if it cannot.
        """
        self._path = path
        self._label = label
        self._embedder = embedder
        self._vocabulary = vocabulary
        self._lock = threading.Lock()
        self._map: ApproximateMap | None = None
        self._seen: tuple[int, int] | None = None

    @property
    def place(self) -> tuple[Path, str]:
        """The path of the map, and the label of its model."""
        return self._path, self._label

    def fill(self, entries: Sequence[IndexEntry]) -> list[IndexEntry]:
        """Return ``entries``, with approximate vectors for those without a vector."""
        waiting = [number for number, entry in enumerate(entries) if entry.vector is None]
        found = list(entries)
        fitted = self.map() if waiting else None
        try:
            if fitted is None or self._embedder.fingerprint != self._label:
                return found
            for start in range(0, len(waiting), _TEXTS_PER_STEP):
                part = waiting[start : start + _TEXTS_PER_STEP]
                tokens = TokenRows.from_ids(
                    *self._vocabulary.token_ids([entries[number].embedded_text for number in part])
                )
                for number, vector in zip(part, fitted.apply(tokens), strict=True):
                    found[number] = replace(entries[number], vector=vector, exact=False)
        except ModelUnavailable as error:
            _log.warning("chunks that wait for their vectors are found by words only: %s", error.message)
        return found

    def map(self) -> ApproximateMap | None:
        """Return the map; None if there is none for this model."""
        try:
            stat = self._path.stat()
        except OSError:
            return None
        now = stat.st_mtime_ns, stat.st_ino
        with self._lock:
            if self._seen != now:
                self._map = None
                with suppress(IndexCorrupt):
                    self._map = ApproximateMap.load(self._path, self._label)
                    self._seen = now
            return self._map

    def fit(self, sample: Sample) -> ApproximateMap:
        """Fit a map to ``sample`` and store it. Index updaters must then be notified, and ``unrecorded`` removed.

        Raises:
            StorageFull: the map cannot be written.
            ModelUnavailable: the embedder is not the collection's model, or cannot be loaded.
        """
        if self._embedder.fingerprint != self._label:
            raise ModelUnavailable(f"The model is not {self._label}.", hint="Set embedding.model back.")
        tokens = TokenRows.from_ids(*self._vocabulary.token_ids(sample.texts))
        fitted = approximation.fit(tokens, sample.vectors, self._prior(), self._label, sample.of_chunks)
        with storing("The search index"):
            make_private(self._path.parent)
            self.unrecorded.touch()
        fitted.save(self._path)
        return fitted

    @property
    def unrecorded(self) -> Path:
        """A marker file: it exists from before a map is replaced until the change feed records the replacement."""
        return self._path.with_suffix(".untold")

    def _prior(self) -> Float32:
        """Return float32 (vocabulary, dim); zeros if the model has no vectors for single tokens."""
        if isinstance(self._embedder, Vocabulary):
            return self._embedder.prior()
        return np.zeros((self._vocabulary.vocabulary_size(), self._embedder.dimension), np.float32)


@dataclass(frozen=True, slots=True)
class Backlog:
    """The pending chunks of one collection, and how they are embedded.

    ``approximator`` returns the approximator of a collection; ``follow`` updates the index, and ``settle`` saves it, so
    that other processes need not compute the approximate vectors again.
    """

    catalog: Catalog
    name: str
    embedder: Embedder
    settings: EmbeddingSettings
    approximator: Callable[[CollectionRecord], Approximator | None]
    follow: Callable[[], tuple[CollectionRecord, Index]]
    settle: Callable[[], object]

    def has_pending(self) -> bool:
        """Return whether a chunk, or a summary that needs one, has no vector of the model."""
        with self.catalog.read() as connection:
            return has_pending(connection, collections.get(connection, self.name))

    def make_searchable(self, *, again: bool = False) -> Generator[Event, None, bool]:
        """If many chunks are pending, give them approximate vectors. Return whether they have vectors.

        A map is fitted if there is none, or if the collection has outgrown it. With ``again``, the event is sent only
        if a map was fitted.
        """
        self._record_map()
        counts, fitted = self._counts(), self._fitted()
        if counts.pending < self.settings.progressive_chunks:
            if fitted is None or self.settings.mode != "lazy":
                return False
        elif fitted is None or counts.chunks > _OUTGROWN * fitted.of_texts:
            yield from self._fit(self.settings.sample_chunks)
            counts, again = self._counts(), False
        self._update_index_fully(counts.chunks)
        if not again:
            self.settle()
            yield Event("searchable", counts.chunks - counts.pending, counts.chunks)
        return True

    def _update_index_fully(self, chunks: int) -> None:
        """Update the index; if it updated before the model was known and lacks vectors, make it read them again."""
        record, index = self.follow()
        if int(index.describe().get("vectors", chunks)) < chunks:
            with self.catalog.write() as connection:
                changes.record_waiting(connection, record.id, record.model_id)
            self.follow()

    def enlarge_sample(self) -> Generator[Event, None, None]:
        """Fit the map to a larger sample, if embedding the rest takes long enough to be worth it."""
        fitted, larger = self._fitted(), _ENLARGED * self.settings.sample_chunks
        small = fitted is not None and fitted.samples <= self.settings.sample_chunks
        if small and self._counts().pending >= _WORTH_ENLARGING * larger:
            yield from self._fit(larger)
            self.follow()

    def _fit(self, count: int) -> Generator[Event, None, None]:
        """Embed a sample of ``count`` chunks and fit a map to it."""
        sample = yield from _sampled(self.catalog, self._record(), self.embedder, count)
        approximator = self.approximator(self._record())
        if approximator is not None:
            approximator.fit(sample)
            self._record_map()

    def _record_map(self) -> None:
        """Make index updaters use a new map, including one that a killed run stored without recording it."""
        record = self._record()
        approximator = self.approximator(record)
        if approximator is not None and approximator.unrecorded.exists():
            with self.catalog.write() as connection:
                changes.record_waiting(connection, record.id, record.model_id)
            approximator.unrecorded.unlink(missing_ok=True)

    def _fitted(self) -> ApproximateMap | None:
        approximator = self.approximator(self._record())
        return approximator.map() if approximator else None

    def _counts(self) -> collections.CollectionCounts:
        with self.catalog.read() as connection:
            return collections.count(connection, collections.get(connection, self.name))

    def _record(self) -> CollectionRecord:
        with self.catalog.read() as connection:
            return collections.get(connection, self.name)


def _sampled(
    catalog: Catalog, collection: CollectionRecord, embedder: Embedder, count: int
) -> Generator[Event, None, Sample]:
    """Embed those of ``count`` chunks, spread over a collection, that have no vector; return them all.

    Raises:
        ModelUnavailable: the model cannot be loaded, does not answer, or refused all texts.
    """
    with catalog.read() as connection:
        every, _ = embeddings.chunk_ids(connection, collection.id, collection.model_id)
        chosen = every[approximation.sample(len(every), count)].tolist()
        texts = {key: text for _, key, text in embeddings.embedded(connection, chosen)}
        known = embeddings.known_keys(connection, collection.model_id, texts)
    refused: dict[bytes, str] = {}
    missing = [key for key in texts if key not in known]
    for start in range(0, len(missing), _KEPT_AT_ONCE):
        part = {key: texts[key] for key in missing[start : start + _KEPT_AT_ONCE]}
        collection = yield from embed_and_keep(catalog, collection, embedder, part, refused)
    with catalog.read() as connection:
        model_id = collections.model_id(connection, embedder.fingerprint)
        found = embeddings.of_keys(connection, model_id, [key for key in texts if key not in refused])
    if not found:
        raise ModelUnavailable("The model embedded none of the sample.", hint="See the files that failed.")
    return Sample([texts[key] for key in found], np.stack(list(found.values())), len(every))
