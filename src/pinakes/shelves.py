"""The parts that the settings name, opened and put together; the library works with these."""

from __future__ import annotations

import hashlib
import logging
import shutil
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from filelock import FileLock, Timeout

from pinakes.catalog import Catalog, collections, selection, sources
from pinakes.catalog.collections import CollectionRecord
from pinakes.catalog.sources import SourceRecord
from pinakes.cutting import Recipe, cutting
from pinakes.embedders import open_embedder
from pinakes.errors import IndexCorrupt, InvalidInput, ModelMismatch, ModelUnavailable, storing
from pinakes.follow import Difference, Fill, Followers, ModelChanged, catch_up, compare
from pinakes.indexes import open_index
from pinakes.ingest import Approximator, Backlog, Event, Ingest, Tools, Waiting
from pinakes.locks import awaited, held
from pinakes.ports import Embedder, Index, Source, Vocabulary
from pinakes.refine import Refiner
from pinakes.search import QueryVectors, Totals
from pinakes.settings import EmbeddingSettings, Settings, SourceSettings
from pinakes.sources import open_source
from pinakes.traffic import Traffic
from pinakes.types import JSON, Filter, Int64

_log = logging.getLogger(__name__)

_BATCHES_IN_A_ROUND = 8
_LOOK_AGAIN_S = 0.5

READING_VERSION = 2
"""Raised when readers or chunkers change so much that every document should be read again."""


class Shelves:
    """Catalogue, embedder and indexes of one home. Models and indexes open when first needed.

    ``embeds_later``: something else embeds what large runs leave waiting, so that they need not.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.catalog = Catalog.at(settings.home)
        self.embedder = open_embedder(settings.embedding, settings.cache)
        self._vocabulary = _vocabulary(settings, self.embedder)
        self._approximators: dict[int, Approximator] = {}
        self.followers = Followers(self.catalog, self._open_index, self.fill_of)
        self.totals = Totals()
        self.query_vectors = QueryVectors(self.embedder, settings.search.remembered_queries)
        self.refiner = Refiner(self.catalog, self.embedder, self.index)
        self.traffic = Traffic()
        self.embeds_later = False

    def index(self, name: str, *, wait: bool = True) -> tuple[CollectionRecord, Index]:
        """Return a collection and its index, caught up with the catalogue; one that is damaged is built anew."""
        record = self._record(name)
        try:
            return self.followers.current(record, wait=wait)
        except IndexCorrupt as error:
            return self.mend(record, error)

    def mend(self, damaged: CollectionRecord, error: IndexCorrupt) -> tuple[CollectionRecord, Index]:
        """Build a damaged index anew, unless that has happened since ``damaged`` was read; return both."""
        _log.warning("the index of %r is built anew: %s", damaged.name, error.message)
        for _ in self._rebuild(damaged.name, damaged.generation):
            pass
        return self.followers.current(self._record(damaged.name))

    def check_model(self, record: CollectionRecord) -> None:
        """Make sure that a collection's vectors and the configured model go together, as far as is known.

        Raises:
            ModelMismatch: the collection was embedded by another model than the settings name.
        """
        _check_model(record, self._fingerprint())

    def remember(self, name: str, source: SourceSettings) -> tuple[CollectionRecord, SourceRecord]:
        """Record a collection and a source of it.

        Raises:
            ModelMismatch: the collection was embedded by another model than the settings name.
        """
        options = self._options(name, source)
        fingerprint = self._fingerprint()  # may fetch the model, which nobody else should wait for
        with self.catalog.write() as connection:
            record = collections.ensure(connection, name, self.settings.of_collection(name).description)
            _check_model(record, fingerprint)
            kept = sources.remember(connection, record.id, source.kind, source.location, options)
        return record, kept

    @contextmanager
    def alone(self, name: str, source: SourceSettings, on_event: Callable[[Event], object] | None) -> Iterator[None]:
        """Keep other processes from reading the same source into the same collection; wait while one does.

        Without this both would embed the same texts.

        Raises:
            StorageFull: the lock's file cannot be made.
        """
        place = f"{name}\0{source.kind}\0{source.location}".encode(errors="surrogateescape")
        folder = self.settings.home / "sources"
        with storing(f"The folder {str(folder)!r}"):
            folder.mkdir(exist_ok=True)
        lock = FileLock(folder / f"{hashlib.sha256(place).hexdigest()[:16]}.lock", thread_local=False)
        said = False

        def on_wait() -> None:
            nonlocal said
            if not said:
                _log.warning("another process is reading this source: waiting (%s)", source.location)
                said = True
            if on_event is not None:
                on_event(Event("wait", 0, 0, source.location))

        with awaited(lock, f"The lock of {source.location!r}", on_wait):
            yield

    def ingest(self, record: CollectionRecord, kept: SourceRecord) -> Ingest:
        """Return a run over one source, to be started with its ``run``."""
        return Ingest(self._tools(record), record, kept, self._source(kept))

    def rebuild(self, record: CollectionRecord) -> Iterator[Event]:
        """Build the index beside the old one from the catalogue, then switch and drop the old one.

        Raises:
            Busy: another process is doing so, and does not finish.
        """
        return self._rebuild(record.name)

    def embed_waiting(
        self,
        name: str,
        *,
        embedder: Embedder | None = None,
        on_batch: Callable[[int], object] | None = None,
        rest: bool = True,
        wait: bool = False,
    ) -> Generator[Event, None, None]:
        """Embed what waits for a vector, yielding events; where that is much, make it searchable first.

        ``embedder`` may do the work in place of the configured one, being the same model. ``on_batch`` is told of
        every batch, how many chunks it had, and has the index follow; without it the index follows each batch.
        Without ``rest``, and in the mode "lazy", the work ends once all is searchable. Where another process is at
        it the only event is "elsewhere"; with ``wait`` there are events "wait" until it is done or has ended.

        Raises:
            ModelMismatch: the collection was embedded by another model than the settings name.
            ModelUnavailable: the model cannot be had.
            InvalidInput: passages are longer than the model reads; all others are embedded.
        """
        while True:
            with self._embedding(self._record(name)) as alone:
                if alone:
                    yield from self._embed_alone(name, embedder or self.embedder, on_batch, rest)
                    return
            if not wait:
                yield Event("elsewhere", 0, 0)
                return
            yield Event("wait", 0, 0, name)
            time.sleep(_LOOK_AGAIN_S)

    def _embed_alone(
        self, name: str, embedder: Embedder, on_batch: Callable[[int], object] | None, rest: bool
    ) -> Generator[Event, None, None]:
        """Embed what waits; now and then see whether so much has come meanwhile that it is to be searchable first."""
        follow, settings = partial(self.index, name), self.settings
        if on_batch is None:
            follow()  # before changes are made: an index newer than the catalogue shows only now
        backlog = Backlog(
            catalog=self.catalog,
            name=name,
            embedder=embedder,
            settings=settings.embedding,
            approximator=self._approximator,
            follow=follow,
            settle=lambda: self.followers.forget(self._record(name)),
        )
        record = self._record(name)
        wanted = partial(self.refiner.take_met, record)
        waiting = Waiting(self.catalog, record, embedder, on_batch or (lambda _: follow()), wanted)
        again, more = False, backlog.waits()
        while more:
            self.check_model(self._record(name))
            if self._is_progressive() and (yield from backlog.make_searchable(again=again)):
                if settings.embedding.mode == "lazy" or not rest:
                    return
                yield from backlog.enlarge_sample()
            waiting.collection = self._record(name)
            more, again = (yield from waiting.embed(settings.ingest.batch_chunks, _BATCHES_IN_A_ROUND)), True
        if waiting.refused:
            raise InvalidInput(
                f"{len(waiting.refused)} passages have no vector: {next(iter(waiting.refused.values()))}",
                hint="They were cut before this model was there. Cut them anew: pinakes sync",
            )

    def is_lazy(self, name: str) -> bool:
        """Say whether new passages of a collection are to be embedded only when a search meets them."""
        approximator = self._approximator(self._record(name))
        return self.settings.embedding.mode == "lazy" and approximator is not None and approximator.map() is not None

    def fill_of(self, record: CollectionRecord) -> Fill | None:
        """Return what gives approximate vectors to chunks of a collection that wait for theirs, if anything does."""
        approximator = self._approximator(record)
        return approximator.fill if approximator else None

    def compare(self, name: str) -> list[Difference]:
        """Compare the index of a collection with the catalogue."""
        record, index = self.index(name)
        return compare(self.catalog, record, index, self.fill_of(record))

    def close(self) -> None:
        """Save and release everything."""
        self.refiner.close()
        self.followers.close()
        self.catalog.close()

    def _rebuild(self, name: str, generation: int | None = None) -> Iterator[Event]:
        """Build an index anew; where a ``generation`` is given, only if that is still the current one."""
        with held(self._rebuilding(name), f"The index of {name!r}"):
            old = self._record(name)
            if generation not in (None, old.generation):
                return
            fresh = replace(old, generation=old.generation + 1)
            with self.catalog.read() as connection:
                total = collections.count(connection, fresh).documents
            yield Event("index", 0, total)
            self._drop_folders(old)
            yield from self._fill(fresh, total)
            with self.catalog.write() as connection:
                collections.next_generation(connection, old.id)
            self.followers.forget(old)
            self._drop_folders(fresh)

    def _fill(self, fresh: CollectionRecord, total: int) -> Iterator[Event]:
        """Build the index of ``fresh``; when the collection gets another model meanwhile, its vectors anew."""
        while True:
            try:
                with closing(self._open_index(fresh)) as index:
                    for done in catch_up(self.catalog, fresh, index, self.fill_of(fresh)):
                        yield Event("index", done, max(done, total))
                return
            except ModelChanged as changed:
                fresh = replace(changed.collection, generation=fresh.generation)

    def _approximator(self, record: CollectionRecord) -> Approximator | None:
        if not record.fingerprint or self._vocabulary is None:
            return None
        place = self._map(record), record.fingerprint
        found = self._approximators.get(record.id)
        if found is None or found.place != place:
            found = self._approximators[record.id] = Approximator(*place, self.embedder, self._vocabulary)
        return found

    @contextmanager
    def _embedding(self, record: CollectionRecord) -> Iterator[bool]:
        """Keep other processes from embedding the same passages; give False where one is at it."""
        folder = self.settings.home / "index"
        with storing(f"The folder {str(folder)!r}"):
            folder.mkdir(exist_ok=True)
        lock = FileLock(folder / f"{record.id}.embedding.lock", thread_local=False)
        with storing("The search index"), suppress(Timeout):
            lock.acquire(blocking=False)
        try:
            yield lock.is_locked
        finally:
            lock.release()

    def _map(self, record: CollectionRecord) -> Path:
        """Return the place of a collection's map: one per model, whatever the generation of the index."""
        return self.settings.home / "index" / f"map-{record.id}-{record.model_id}.npz"

    def _rebuilding(self, name: str) -> FileLock:
        folder = self.settings.home / "index"
        with storing(f"The folder {str(folder)!r}"):
            folder.mkdir(exist_ok=True)
        path = folder / f"{self._record(name).id}.lock"
        return FileLock(path, timeout=self.settings.index.lock_timeout_s, thread_local=False)

    def _drop_folders(self, kept: CollectionRecord) -> None:
        """Remove all index folders of a collection but the current one; killed processes may have left some."""
        for folder in (self.settings.home / "index").glob(f"{kept.id}-*"):
            if folder != self._folder(kept):
                shutil.rmtree(folder, ignore_errors=True)
        for path in (self.settings.home / "index").glob(f"map-{kept.id}-*"):
            if path.name.partition(".")[0] != self._map(kept).stem:
                path.unlink(missing_ok=True)

    def _open_index(self, record: CollectionRecord) -> Index:
        select = partial(self._select, record.id)
        return open_index(self.settings, self._folder(record), record.dimension, select, record.fingerprint)

    def _record(self, name: str) -> CollectionRecord:
        with self.catalog.read() as connection:
            return collections.get(connection, name)

    def _select(self, collection_id: int, where: Filter) -> Int64:
        with self.catalog.read() as connection:
            return selection.matching(connection, collection_id, where)

    def _folder(self, record: CollectionRecord) -> Path:
        return self.settings.home / "index" / f"{record.id}-{record.generation}"

    def _source(self, kept: SourceRecord) -> Source:
        settings = settings_of(kept)
        name = hashlib.sha256(f"{kept.kind} {kept.location} {settings.ref}".encode()).hexdigest()[:16]
        limits, home = self.settings.ingest, self.settings.home
        return open_source(
            settings,
            work=home / "sources" / name,
            max_file_bytes=limits.max_file_bytes,
            git_timeout_s=limits.git_timeout_s,
            avoid=(home, home / "index", home / "sources", self.settings.cache),
        )

    def _tools(self, record: CollectionRecord) -> Tools:
        limits = self.settings.ingest
        return Tools(
            catalog=self.catalog,
            embedder=self.embedder,
            cutting=partial(cutting, self._recipe(record.name), self.embedder),
            follow=partial(self.index, record.name),
            embed_waiting=lambda on_batch: self.embed_waiting(
                record.name, on_batch=on_batch, rest=not self.embeds_later
            ),
            defer_chunks=self._defer_chunks(record.name),
            limits=limits,
            rules=self.settings.of_collection(record.name),
        )

    def _recipe(self, name: str) -> Recipe:
        settings = self.settings
        counted = self._counts_tokens()
        return Recipe(settings.ingest, settings.chunking_of(name), settings.embedding, settings.cache, counted)

    def _is_progressive(self) -> bool:
        mode = self.settings.embedding.mode
        return mode == "lazy" or (mode == "progressive" and isinstance(self.embedder, Vocabulary))

    def _defer_chunks(self, name: str) -> int | None:
        """Return from how many new chunks on they are first put into the catalogue and then embedded; None: never."""
        if not self._is_progressive():
            return None
        return 0 if self.is_lazy(name) else self.settings.embedding.progressive_chunks

    def _fingerprint(self) -> str | None:
        """Return the fingerprint of the configured model, None while it is not known."""
        try:
            return self.embedder.fingerprint
        except ModelUnavailable:
            return None

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


def _vocabulary(settings: Settings, embedder: Embedder) -> Vocabulary | None:
    """Return what tells the tokens of texts: the embedder, or where that cannot, the default model."""
    if isinstance(embedder, Vocabulary):
        return embedder
    default = open_embedder(EmbeddingSettings(), settings.cache)
    return default if isinstance(default, Vocabulary) else None


def _check_model(record: CollectionRecord, fingerprint: str | None) -> None:
    if fingerprint is not None and record.fingerprint not in ("", fingerprint):
        raise mismatch(record, fingerprint)


def mismatch(record: CollectionRecord, fingerprint: str) -> ModelMismatch:
    """Return the error that says a collection was embedded by another model."""
    return ModelMismatch(
        f"Collection {record.name!r} was embedded by {record.fingerprint}, the settings name {fingerprint}.",
        hint=f"Set embedding.model back, or embed it anew: pinakes reindex --embed -c {record.name}",
    )
