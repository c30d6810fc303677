"""The composition root: opens the parts that the settings name, and puts them together."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from shlex import quote
from typing import TYPE_CHECKING

from pinakes.app.collection_models import OwnModels, check_model, close, vocabulary_of
from pinakes.app.graph_feeds import GraphFeeds
from pinakes.app.profile_rules import ProfileRules
from pinakes.catalog import Catalog, collections, selection
from pinakes.catalog.collections import CollectionRecord
from pinakes.catalog.generations import require
from pinakes.catalog.home import Home
from pinakes.catalog.transactions import within
from pinakes.core.errors import IndexCorrupt, IndexTooNew, ModelUnavailable, NotFound, StorageFull
from pinakes.core.once import once
from pinakes.core.ports import Embedder, Index
from pinakes.core.records import JSON
from pinakes.core.traffic import Traffic
from pinakes.indexes import drop_elsewhere, index_key, open_index
from pinakes.indexes.updater import Fill, IndexUpdater
from pinakes.ingestion.head_refinement import HeadRefiner
from pinakes.ingestion.reindexing import Reindexer
from pinakes.models.embedders import open_embedder
from pinakes.models.rerankers import open_reranker
from pinakes.platform.locks import try_acquire
from pinakes.search import CollectionStatistics, QueryVectors, Reranking, ResultCache, SearchContext, Tracer
from pinakes.search.results.freshness import Freshness
from pinakes.search.results.links import LinkMaker
from pinakes.settings import CollectionSettings, EmbeddingSettings, Settings

if TYPE_CHECKING:
    from pinakes.ingestion.claiming import Claims
    from pinakes.ingestion.progressive import Approximator
    from pinakes.parsing.workers import WorkerProcesses

_log = logging.getLogger(__name__)

_ONLY_READ = "%s, so searches are answered, but nothing can be added, nor are the audit log and new vectors kept"


class App:
    """Catalogue, embedders and indexes of one home. Models and indexes open when first needed.

    ``embedder``, ``query_vectors`` and ``refiner`` are of the model that the settings name; a collection may have one
    of its own (``embedder_of`` …). ``embeds_later``: something else embeds what large runs leave waiting, so that
    they need not. ``agreed``: to whatever it costs to have a provider embed. ``process`` names this process.
    """

    def __init__(self, settings: Settings, embedder: Embedder | None = None) -> None:
        self.settings = settings
        self.catalog = Catalog.of(settings)
        self._known = collections.CollectionCache(self.catalog)
        self.records = within(self.catalog.read_each, collections.list_all)
        self._ids = within(self.catalog.read_each, collections.ids)
        self._select = within(self.catalog.read, selection.matching)
        self.embedder = embedder or open_embedder(settings.embedding, settings.cache)
        dropped = partial(drop_elsewhere, settings, catalog=self.catalog)
        writable, lock = not self.catalog.unwritable, self.catalog.shared_lock
        self.home = Home(settings.home, writable=writable, on_drop=dropped, shared_lock=lock)
        if self.catalog.unwritable:
            _log.warning(_ONLY_READ, self.catalog.unwritable)
        else:
            self.home.belongs_to(self.catalog.epoch, is_shared=self.catalog.is_shared)
        self._vocabulary = vocabulary_of(self.embedder, settings)
        self._own = OwnModels(settings, self.catalog, self.index)
        self._approximators: dict[tuple[int, int], Approximator] = {}
        self.followers = IndexUpdater(self.catalog, self._open_index, self.fill_of)
        self.rebuilder = Reindexer(
            catalog=self.catalog,
            home=self.home,
            followers=self.followers,
            again=self.reload,
            open_index=self._open_index,
            fill_of=self.fill_of,
            languages_of=lambda record: settings.text_of(record.name, record.kept).languages,
            timeout_s=settings.index.lock_timeout_s,
        )
        self.statistics = CollectionStatistics()
        self.result_cache = ResultCache(settings.search.remembered_answers)
        self.freshness = Freshness(self.catalog)
        self.links = LinkMaker(self.catalog)
        self.graphs, self.profile_rules = GraphFeeds(settings), ProfileRules(settings)
        self.reranking = Reranking.opened(settings.rerank, lambda: open_reranker(settings.rerank, settings.cache))
        self.query_vectors = QueryVectors(self.embedder, settings.search.remembered_queries)
        self.refiner = HeadRefiner(self.catalog, self.embedder, self.index)
        self.traffic = Traffic()
        self.embeds_later = self.agreed = False
        self.process = secrets.token_hex(4)

    @once
    def workers(self) -> WorkerProcesses:
        """The processes that parse files."""
        from pinakes.parsing.workers import WorkerProcesses

        return WorkerProcesses(self.settings.ingest)

    @once
    def claims(self) -> Claims | None:
        """The chunks that this process embeds, where others embed some; None where no other does."""
        from pinakes.ingestion.claiming import Claims

        return Claims(self.catalog, self.process) if self.catalog.is_shared else None

    def index(self, name: str, *, wait: bool = True, beside: bool = False) -> tuple[CollectionRecord, Index]:
        """Return a collection and its index, caught up with the catalogue; one that is damaged is built anew.

        ``beside``: as the generation beside the one that answers.

        Raises:
            NotFound: there is no such collection, or no generation beside it whose index is built.
        """
        try:
            record = self.beside(name) if beside else self.record(name)
            found, index = self.followers.current(record, wait=wait)
        except IndexCorrupt as error:
            found, index = self.mend(record, error)
        except (NotFound, StorageFull):  # a folder that vanishes while it is written to may be that of a deleted one
            self.drop_gone()
            self.record(name)
            raise
        if beside and found.line != record.line:
            raise _dropped(record)
        return found, index

    def mend(self, damaged: CollectionRecord, error: IndexCorrupt) -> tuple[CollectionRecord, Index]:
        """Build a damaged index anew, unless that has happened since ``damaged`` was read; return both."""
        _log.warning("the index of %r is built anew: %s", damaged.name, error.message)
        if self.home.empty(damaged):
            self.followers.forget(damaged)
            return self.followers.current(self.reload(damaged))
        for _ in self.rebuilder.rebuild(damaged, only=damaged.generation):
            pass
        return self.followers.current(self.reload(damaged))

    def drop_gone(self) -> None:
        """Drop what is in memory, and on the disk, of collections that were deleted, by whichever process."""
        if self.followers.drop_gone():
            self._approximators.clear()
        self.home.keep_only(self._ids)

    def record(self, name: str) -> CollectionRecord:
        """Return a collection as the generation that answers."""
        return self._known.get(name)

    def beside(self, name: str) -> CollectionRecord:
        """Return the generation beside the one that answers.

        Raises:
            NotFound: there is none, or its index is not built yet.
        """
        with self.catalog.read() as connection:
            record = require(connection, name)
        if record.state in ("embedding", "indexing"):
            raise NotFound(
                f"The generation beside collection {name!r} is not built yet: it cannot be searched.",
                hint=f"Build it to the end: pinakes reindex --beside -c {quote(name)}",
            )
        return record

    def reload(self, record: CollectionRecord) -> CollectionRecord:
        """Return a generation as it is now, whether it answers or not.

        Raises:
            NotFound: it was dropped.
        """
        with self.catalog.read() as connection:
            found = collections.reload(connection, record)
        if found is None:
            raise _dropped(record)
        return found

    def embedder_of(self, record: CollectionRecord) -> Embedder:
        """Return what embeds the chunks and questions of a collection: its own model, or that of the settings."""
        return (self._own.model_of(record) or self).embedder

    def model_of(self, record: CollectionRecord) -> EmbeddingSettings:
        """Return the settings of that model."""
        own = self._own.model_of(record)
        return own.settings if own else self.settings.embedding

    def embedder_by(self, recorded: Mapping[str, JSON]) -> Embedder:
        """Return what embeds by a model that is ``collection_models.recorded`` like this."""
        return (self._own.by(recorded) or self).embedder

    def embedders(self) -> list[Embedder]:
        """Return all that are open."""
        return [self.embedder, *self._own.embedders()]

    def query_vectors_of(self, record: CollectionRecord) -> QueryVectors:
        """Return what embeds and remembers the questions to a collection."""
        return (self._own.model_of(record) or self).query_vectors

    def refiner_of(self, record: CollectionRecord) -> HeadRefiner:
        """Return what embeds the head of a ranking of a collection's chunks."""
        return (self._own.model_of(record) or self).refiner

    def parts(self, record: CollectionRecord, index: Index, tracer: Tracer) -> SearchContext:
        """Return what one search of a collection works with."""
        models = self.query_vectors_of(record), self.refiner_of(record), self.reranking
        rules, tell = self.rules(record), (partial(self.followers.catch_up_if_quick, record), self.freshness.note)
        ranks = rules.graph.weight or any(rule.when == "entity" for rule in rules.boosts)
        graph = self.graphs.retriever_of(self.catalog, record) if ranks else None
        return SearchContext(self.catalog, record, index, *models, self.settings, self.statistics, tracer, *tell, graph)

    def rules(self, record: CollectionRecord) -> CollectionSettings:
        """Return the settings of a collection: those of files, then those that it was made with."""
        return self.settings.of_collection(record.name, record.kept)

    def expands(self, name: str) -> bool:
        """Say whether searches of a collection follow relations of its graph unasked; False where it is gone."""
        with suppress(NotFound):
            rules = self.rules(self.record(name)).graph
            return bool(rules.types and rules.expand)
        return False

    def check_model(self, record: CollectionRecord) -> None:
        """Make sure that a collection's vectors and the model for its questions go together, as far as is known.

        Raises:
            ModelMismatch: the collection was embedded by another model than the settings name, or than its own is now.
        """
        check_model(record, self.fingerprint_of(record))

    def fill_of(self, record: CollectionRecord) -> Fill | None:
        """Return what gives approximate vectors to chunks of a collection that wait for theirs, if anything does."""
        approximator = self.approximator_of(record)
        return approximator.fill if approximator else None

    def close(self) -> None:
        """Save and release everything."""
        if self.reranking is not None:
            self.reranking.reranker.close()
        self.refiner.close()
        if "workers" in vars(self):
            self.workers.close()
        self._own.close()
        close(self.embedder)
        self.followers.close()
        self.catalog.close()
        self.home.close()

    def approximator_of(self, record: CollectionRecord) -> Approximator | None:
        """Return what gives approximate vectors to chunks of a collection, None where its model cannot."""
        own = self._own.model_of(record)
        vocabulary = own.vocabulary if own else self._vocabulary
        if not record.fingerprint or vocabulary is None:
            return None
        from pinakes.ingestion.progressive import Approximator

        place = self.home.map(record), record.fingerprint
        key = record.id, record.line
        found = self._approximators.get(key)
        if found is None or found.place != place:
            found = self._approximators[key] = Approximator(*place, self.embedder_of(record), vocabulary)
        return found

    @contextmanager
    def embedding(self, record: CollectionRecord) -> Iterator[bool]:
        """Keep other processes from embedding the same chunks; give False where one is at it."""
        lock = self.home.embedding(record)
        try:
            yield try_acquire(lock, "The search index")
        finally:
            lock.release()

    def _open_index(self, record: CollectionRecord) -> Index:
        select, folder = partial(self._select, record.id), self.home.index(record)
        languages = self.rebuilder.languages_of(record)
        try:
            called = index_key(self.catalog, record), self.rules(record).engine, self.catalog
            return open_index(self.settings, folder, record.dimension, select, record.fingerprint, languages, *called)
        except IndexTooNew as error:
            raise IndexTooNew(f"Collection {record.name!r}: {error.message}", hint=error.hint) from error

    def fingerprint_of(self, record: CollectionRecord | None) -> str | None:
        """Return the fingerprint of the model of a collection, None while it is not known."""
        try:
            return (self.embedder if record is None else self.embedder_of(record)).fingerprint
        except ModelUnavailable:
            return None


def _dropped(record: CollectionRecord) -> NotFound:
    return NotFound(
        f"That generation of collection {record.name!r} was dropped meanwhile.",
        hint="See what there is: pinakes status",
    )
