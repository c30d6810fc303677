"""Searchable before all of it is embedded: a sample by the model, the rest by a map fitted to that sample."""

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
"""A map fitted to a sample of a collection serves until the collection has so many times the chunks."""

_ENLARGED = 2
_WORTH_ENLARGING = 5
_KEPT_AT_ONCE = 256
"""Chunks of the sample that are lost at most when the run is stopped."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Chunks out of ``of_chunks``, embedded by the model: their texts, and their vectors float32 (n, dim)."""

    texts: Sequence[str]
    vectors: Float32
    of_chunks: int


class Approximator:
    """Gives chunks that wait for their vectors approximate ones, by the map kept at ``path``; none while there is none.

    Thread-safe. Other processes may replace the map: it is read anew when the file is another.
    """

    def __init__(self, path: Path, label: str, embedder: Embedder, vocabulary: Vocabulary) -> None:
        """Keep the map of the model ``label``; with another ``embedder`` there is nothing to fill with.

        ``vocabulary`` tells the tokens of texts: the embedder itself, or where that cannot, another model.
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
        """Where the map is, and of which model."""
        return self._path, self._label

    def fill(self, entries: Sequence[IndexEntry]) -> list[IndexEntry]:
        """Return ``entries``, those without a vector with an approximate one."""
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
        """Return the map, None where there is none for this model."""
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
        """Fit a map to ``sample`` and keep it. What follows the catalogue has to be told, then ``untold`` removed.

        Raises:
            StorageFull: it cannot be written.
            ModelUnavailable: the model is not that of the collection, or cannot be had.
        """
        if self._embedder.fingerprint != self._label:
            raise ModelUnavailable(f"The model is not {self._label}.", hint="Set embedding.model back.")
        tokens = TokenRows.from_ids(*self._vocabulary.token_ids(sample.texts))
        fitted = approximation.fit(tokens, sample.vectors, self._prior(), self._label, sample.of_chunks)
        with storing("The search index"):
            make_private(self._path.parent)
            self.untold.touch()
        fitted.save(self._path)
        return fitted

    @property
    def untold(self) -> Path:
        """The file that is there from before a map is replaced until the catalogue's changes tell of that."""
        return self._path.with_suffix(".untold")

    def _prior(self) -> Float32:
        """Return float32 (vocabulary, dim); zeros where the model is one that cannot be asked of single tokens."""
        if isinstance(self._embedder, Vocabulary):
            return self._embedder.prior()
        return np.zeros((self._vocabulary.vocabulary_size(), self._embedder.dimension), np.float32)


@dataclass(frozen=True, slots=True)
class Backlog:
    """What waits for its vectors in one collection, and how it gets them.

    ``approximator`` gives that of the collection as it is then; ``follow`` brings the index up to date, and ``settle``
    writes it down, so that other processes need not make the approximate vectors again.
    """

    catalog: Catalog
    name: str
    embedder: Embedder
    settings: EmbeddingSettings
    approximator: Callable[[CollectionRecord], Approximator | None]
    follow: Callable[[], tuple[CollectionRecord, Index]]
    settle: Callable[[], object]

    def has_pending(self) -> bool:
        """Say whether any chunk has no vector by the model, or any summary that is to have one."""
        with self.catalog.read() as connection:
            return has_pending(connection, collections.get(connection, self.name))

    def make_searchable(self, *, again: bool = False) -> Generator[Event, None, bool]:
        """Give the chunks that wait approximate vectors, where they are many; say whether they have them then.

        A map is fitted where there is none, or where the collection has outgrown it. ``again``: the event is told
        only if one was.
        """
        self._tell()
        counts, fitted = self._counts(), self._fitted()
        if counts.pending < self.settings.progressive_chunks:
            if fitted is None or self.settings.mode != "lazy":
                return False
        elif fitted is None or counts.chunks > _OUTGROWN * fitted.of_texts:
            yield from self._fit(self.settings.sample_chunks)
            counts, again = self._counts(), False
        self._follow_without_gaps(counts.chunks)
        if not again:
            self.settle()
            yield Event("searchable", counts.chunks - counts.pending, counts.chunks)
        return True

    def _follow_without_gaps(self, chunks: int) -> None:
        """Bring the index up to date; where it got no vectors, having followed without the model, have it try again."""
        record, index = self.follow()
        if int(index.describe().get("vectors", chunks)) < chunks:
            with self.catalog.write() as connection:
                changes.record_waiting(connection, record.id, record.model_id)
            self.follow()

    def enlarge_sample(self) -> Generator[Event, None, None]:
        """Fit the map to a larger sample, where embedding all of the rest takes so long that this is worth the time."""
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
            self._tell()

    def _tell(self) -> None:
        """Have what follows the catalogue take a new map, also one that a killed run kept and could not tell of."""
        record = self._record()
        approximator = self.approximator(record)
        if approximator is not None and approximator.untold.exists():
            with self.catalog.write() as connection:
                changes.record_waiting(connection, record.id, record.model_id)
            approximator.untold.unlink(missing_ok=True)

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
    """Embed ``count`` chunks from all over a collection, as far as they are not, and return them.

    Raises:
        ModelUnavailable: the model cannot be loaded or does not answer.
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
