"""The parts that the settings name, opened and put together; the library works with these."""

from __future__ import annotations

import hashlib
import logging
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from pinakes import readers
from pinakes.analysis import estimated_token_starts
from pinakes.catalog import Catalog, collections, selection, sources
from pinakes.catalog.collections import CollectionRecord
from pinakes.catalog.sources import SourceRecord
from pinakes.chunking import Sizing, chunk, sizing_for
from pinakes.embedders import open_embedder
from pinakes.errors import IndexCorrupt, ModelMismatch, ModelUnavailable
from pinakes.follow import Followers
from pinakes.indexes import open_index
from pinakes.ingest import Event, Ingest, Tools, embed_pending
from pinakes.ports import Index, Source
from pinakes.settings import Settings, SourceSettings
from pinakes.sources import open_source
from pinakes.types import JSON, Filter, Int64

_log = logging.getLogger(__name__)

READING_VERSION = 1
"""Raised when readers or chunkers change so much that every document should be read again."""


class Shelves:
    """Catalogue, embedder and indexes of one home. Models and indexes open when first needed."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.catalog = Catalog.at(settings.home)
        self.embedder = open_embedder(settings.embedding, settings.cache)
        self.followers = Followers(self.catalog, self._open_index)

    def index(self, name: str, *, wait: bool = True) -> tuple[CollectionRecord, Index]:
        """Return a collection and its index, caught up with the catalogue."""
        with self.catalog.read() as connection:
            record = collections.get(connection, name)
        return record, self.followers.current(record, wait=wait)

    def remember(self, name: str, source: SourceSettings) -> tuple[CollectionRecord, SourceRecord]:
        """Record a collection and a source of it.

        Raises:
            ModelMismatch: the collection was embedded by another model than the settings name.
        """
        with self.catalog.write() as connection:
            record = collections.ensure(connection, name, self.settings.of_collection(name).description)
            if record.fingerprint not in ("", self.embedder.fingerprint):
                raise mismatch(record, self.embedder.fingerprint)
            kept = sources.remember(connection, record.id, source.kind, source.location, self._options(name, source))
        return record, kept

    def ingest(self, record: CollectionRecord, kept: SourceRecord) -> Ingest:
        """Return a run over one source, to be started with its ``run``."""
        return Ingest(self._tools(record), record, kept, self._source(kept))

    def rebuild(self, record: CollectionRecord) -> Iterator[Event]:
        """Build the index in a new folder from the catalogue, then drop the old folder."""
        with self.catalog.write() as connection:
            collections.next_generation(connection, record.id)
            fresh = collections.get(connection, record.name)
            total = collections.count(connection, fresh).documents
        yield Event("index", 0, total)
        self.followers.forget(record)
        self.followers.current(fresh)
        shutil.rmtree(self._folder(record), ignore_errors=True)
        yield Event("index", total, total)

    def embed_pending(self, record: CollectionRecord) -> Iterator[Event]:
        """Embed what waits for a vector, yielding events."""
        follow = partial(self.index, record.name)
        return embed_pending(self.catalog, record, self.embedder, follow, self.settings.ingest.batch_chunks)

    def close(self) -> None:
        """Save and release everything."""
        self.followers.close()
        self.catalog.close()

    def _open_index(self, record: CollectionRecord) -> Index:
        """Open a collection's index; one that cannot be used is thrown away and follows from the start."""
        folder = self._folder(record)
        select = partial(self._select, record.id)
        try:
            return open_index(self.settings, folder, self.embedder.dimension, select)
        except IndexCorrupt as error:
            _log.warning("the index of %r is rebuilt from the catalogue: %s", record.name, error.message)
            shutil.rmtree(folder, ignore_errors=True)
            return open_index(self.settings, folder, self.embedder.dimension, select)

    def _select(self, collection_id: int, where: Filter) -> Int64:
        with self.catalog.read() as connection:
            return selection.matching(connection, collection_id, where)

    def _folder(self, record: CollectionRecord) -> Path:
        return self.settings.home / "index" / f"{record.id}-{record.generation}"

    def _source(self, kept: SourceRecord) -> Source:
        settings = settings_of(kept)
        name = hashlib.sha256(f"{kept.kind} {kept.location} {settings.ref}".encode()).hexdigest()[:16]
        limits = self.settings.ingest
        return open_source(
            settings,
            work=self.settings.home / "sources" / name,
            max_file_bytes=limits.max_file_bytes,
            git_timeout_s=limits.git_timeout_s,
        )

    def _tools(self, record: CollectionRecord) -> Tools:
        limits = self.settings.ingest
        return Tools(
            catalog=self.catalog,
            embedder=self.embedder,
            read=partial(readers.read, max_chars=limits.max_text_chars, timeout_s=limits.read_timeout_s),
            chunk=partial(chunk, sizing=self._sizing(record.name)),
            follow=partial(self.index, record.name),
            limits=limits,
            rules=self.settings.of_collection(record.name),
        )

    def _sizing(self, name: str) -> Sizing:
        starts = self.embedder.token_starts if self._counts_tokens() else estimated_token_starts
        return sizing_for(self.settings.chunking_of(name), starts, self.embedder.max_tokens)

    def _counts_tokens(self) -> bool:
        """Say whether the model's tokenizer is at hand; without it tokens are estimated."""
        try:
            self.embedder.token_starts("")
        except ModelUnavailable as error:
            _log.warning("tokens are estimated: %s", error.message)
            return False
        return True

    def _options(self, name: str, source: SourceSettings) -> dict[str, JSON]:
        """Return all that decides what a source's files become; a change makes them be read again."""
        rules = self.settings.of_collection(name)
        return {
            **source.model_dump(mode="json", include={"ref", "include", "exclude"}),
            "rules": rules.model_dump(mode="json", include={"path_templates", "document_key", "key_field"}),
            "group_metadata": rules.group_metadata,
            "chunking": self.settings.chunking_of(name).model_dump(mode="json"),
            "min_text_chars": self.settings.ingest.min_text_chars,
            "counted_by": self.embedder.fingerprint if self._counts_tokens() else "estimate",
            "reading": READING_VERSION,
        }


def settings_of(kept: SourceRecord) -> SourceSettings:
    """Return the settings of a source that the catalogue remembers."""
    options = {name: kept.options[name] for name in ("ref", "include", "exclude")}
    return SourceSettings.model_validate({"kind": kept.kind, "location": kept.location, **options})


def mismatch(record: CollectionRecord, fingerprint: str) -> ModelMismatch:
    """Return the error that says a collection was embedded by another model."""
    return ModelMismatch(
        f"Collection {record.name!r} was embedded by {record.fingerprint}, the settings name {fingerprint}.",
        hint=f"Set embedding.model back, or embed it anew: pinakes reindex --embed -c {record.name}",
    )
