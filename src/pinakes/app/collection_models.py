"""The models of single collections, whatever the settings of the home name."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from shlex import quote

from pinakes.catalog import Catalog
from pinakes.catalog.collections import CollectionRecord
from pinakes.core.errors import ModelMismatch
from pinakes.core.ports import Embedder, Remote, Vocabulary
from pinakes.core.records import JSON
from pinakes.ingestion.head_refinement import HeadRefiner
from pinakes.models.embedders import open_embedder
from pinakes.search import QueryVectors
from pinakes.settings import EmbeddingSettings, Settings

_OF_THE_MACHINE = {
    *("threads", "mode", "sample_chunks", "progressive_chunks"),
    *("batch", "connections", "requests_per_minute", "tokens_per_minute", "retries", "timeout_s", "question_timeout_s"),
    *("price_per_million", "ask_above", "ask_above_tokens"),
}
"""Settings that say how the work is done here, not what a vector is."""

_OF_PROVIDERS = {"url", "key_variable", "dimension", "max_tokens", "fallback"}
"""Settings that are recorded where they are given, so that records of models that run here stay as they are."""


def recorded(settings: EmbeddingSettings) -> dict[str, JSON]:
    """Return what has to be known of a model to open it again."""
    values: dict[str, JSON] = settings.model_dump(mode="json", exclude=_OF_THE_MACHINE | _OF_PROVIDERS)
    values |= settings.model_dump(mode="json", include=_OF_PROVIDERS, exclude_defaults=True)
    if settings.path is not None:
        values["path"] = str(settings.path.expanduser().absolute())
    return values


@dataclass(frozen=True, slots=True)
class OwnModel:
    """An opened model with what answers by it: the vectors of questions, and the refiner of their answers."""

    settings: EmbeddingSettings
    embedder: Embedder
    vocabulary: Vocabulary | None
    query_vectors: QueryVectors
    refiner: HeadRefiner


class OwnModels:
    """Opens the models that catalogue records name, one for all collections that have it. Thread-safe."""

    def __init__(self, settings: Settings, catalog: Catalog, follow: Callable[[str], object]) -> None:
        """``follow`` brings the index of a collection up to date."""
        self._settings = settings
        self._catalog = catalog
        self._follow = follow
        self._usual = recorded(settings.embedding)
        self._opened: dict[str, OwnModel] = {}
        self._lock = threading.Lock()

    def model_of(self, record: CollectionRecord) -> OwnModel | None:
        """Return the model of a generation's own; None where it is that of the settings."""
        return None if record.embedding is None else self.by(record.embedding)

    def by(self, values: Mapping[str, JSON]) -> OwnModel | None:
        """Return the model that was ``recorded`` like this; None where it is that of the settings."""
        if values == self._usual:
            return None
        key = json.dumps(values, sort_keys=True)
        with self._lock:
            if key not in self._opened:
                self._opened[key] = self._open(values)
            return self._opened[key]

    def embedders(self) -> list[Embedder]:
        """Return those that are open."""
        with self._lock:
            return [own.embedder for own in self._opened.values()]

    def close(self) -> None:
        """Write what the refiners have not written yet."""
        with self._lock:
            for own in self._opened.values():
                own.refiner.close()
                close(own.embedder)

    def _open(self, values: Mapping[str, JSON]) -> OwnModel:
        here = self._settings.embedding.model_dump(include=_OF_THE_MACHINE)
        settings = EmbeddingSettings.model_validate({**values, **here})
        embedder = open_embedder(settings, self._settings.cache)
        return OwnModel(
            settings,
            embedder,
            vocabulary_of(embedder, self._settings),
            QueryVectors(embedder, self._settings.search.remembered_queries),
            HeadRefiner(self._catalog, embedder, self._follow),
        )


def vocabulary_of(embedder: Embedder, settings: Settings) -> Vocabulary | None:
    """Return what tells the tokens of texts: the embedder, or where that cannot, the default model."""
    if isinstance(embedder, Vocabulary):
        return embedder
    default = open_embedder(EmbeddingSettings(), settings.cache)
    return default if isinstance(default, Vocabulary) else None


def close(embedder: Embedder) -> None:
    """Close the connections of a model that runs elsewhere."""
    if isinstance(embedder, Remote):
        embedder.close()


def check_model(record: CollectionRecord, fingerprint: str | None) -> None:
    """Make sure that a collection was embedded by the model with this ``fingerprint``; None: it is not known.

    Raises:
        ModelMismatch: it was not.
    """
    if fingerprint is not None and record.fingerprint not in ("", fingerprint):
        raise mismatch(record, fingerprint)


def mismatch(record: CollectionRecord, fingerprint: str) -> ModelMismatch:
    """Return the error that says a collection was embedded by another model than would embed its questions."""
    if record.embedding is not None:
        return ModelMismatch(
            f"Collection {record.name!r} was embedded by {record.fingerprint}, but what it names as its own model is "
            f"{fingerprint} now.",
            hint="Put the model's files back, or build a generation by another model: "
            f"pinakes reindex --beside --model MODEL -c {quote(record.name)}",
        )
    return ModelMismatch(
        f"Collection {record.name!r} was embedded by {record.fingerprint}, the settings name {fingerprint}.",
        hint=f"Set embedding.model back, or embed it anew: pinakes reindex --embed -c {quote(record.name)}. To be "
        "answered by meaning until that is done, set it back and build the other index beside: "
        f"pinakes reindex --beside --model MODEL -c {quote(record.name)}",
    )
