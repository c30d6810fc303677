"""The parts that the settings name, opened and put together; the library works with these."""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Callable, Collection, Generator, Iterator, Mapping
from contextlib import contextmanager
from functools import partial

from pinakes.app.collection_models import OwnModels, check_model, close, vocabulary_of
from pinakes.app.graph_feeds import GraphFeeds
from pinakes.app.source_overlaps import how_to
from pinakes.app.source_settings import earlier_part, effective_settings, options_of, same_options
from pinakes.app.spending import Bill, asks, bill, check
from pinakes.catalog import Catalog, collections, selection, sources
from pinakes.catalog.collections import CollectionRecord
from pinakes.catalog.generations import require
from pinakes.catalog.home import Home
from pinakes.catalog.sources import SourceRecord
from pinakes.catalog.transactions import within
from pinakes.core.errors import IndexCorrupt, IndexTooNew, ModelUnavailable, NotFound, StorageFull
from pinakes.core.ports import Embedder, Index, Lookable, Remote, Source, Vocabulary
from pinakes.core.records import JSON
from pinakes.core.traffic import Traffic
from pinakes.indexes import drop_elsewhere, index_key, open_index
from pinakes.indexes.updater import Fill, IndexUpdater
from pinakes.ingestion import Approximator, Backlog, Claims, Event, Ingest, Tools, Waiting, tell_sources
from pinakes.ingestion.head_refinement import HeadRefiner
from pinakes.ingestion.reindexing import Reindexer
from pinakes.models.embedders import open_embedder, token_counter
from pinakes.models.rerankers import open_reranker
from pinakes.parsing.pool import ParseOptions, cutting
from pinakes.parsing.workers import WorkerProcesses
from pinakes.platform.locks import taken
from pinakes.search import CollectionStatistics, QueryVectors, Reranking, ResultCache, SearchContext, Tracer
from pinakes.search.results.freshness import Freshness
from pinakes.search.results.links import LinkMaker
from pinakes.settings import CollectionSettings, EmbeddingSettings, Settings, SourceSettings
from pinakes.sources import open_source
from pinakes.sources.partial import PartialSource

_log = logging.getLogger(__name__)

_BATCHES_IN_A_ROUND = 8
_ONLY_READ = "%s, so searches are answered, but nothing can be added, nor are the audit log and new vectors kept"
_LOOK_AGAIN_S = 0.5
_CHUNKS_OF_A_SMALL_RUN, _TOKENS_OF_A_CHUNK = 64, 512
"""Fewer are embedded elsewhere before they are in the catalogue; more are put there first, so that costs are known."""


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
        self.workers = WorkerProcesses(settings.ingest)
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
        self.graphs = GraphFeeds(settings)
        self.reranking = Reranking.opened(settings.rerank, lambda: open_reranker(settings.rerank, settings.cache))
        self.query_vectors = QueryVectors(self.embedder, settings.search.remembered_queries)
        self.refiner = HeadRefiner(self.catalog, self.embedder, self.index)
        self.traffic = Traffic()
        self.embeds_later = self.agreed = False
        self.process = secrets.token_hex(4)
        self.claims = Claims(self.catalog, self.process) if self.catalog.is_shared else None

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
                hint=f"Build it to the end: pinakes reindex --beside -c {name}",
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
        own = self._own.model_of(record)
        return own.embedder if own else self.embedder

    def model_of(self, record: CollectionRecord) -> EmbeddingSettings:
        """Return the settings of that model."""
        own = self._own.model_of(record)
        return own.settings if own else self.settings.embedding

    def embedder_by(self, recorded: Mapping[str, JSON]) -> Embedder:
        """Return what embeds by a model that is ``collection_models.recorded`` like this."""
        own = self._own.by(recorded)
        return own.embedder if own else self.embedder

    def embedders(self) -> list[Embedder]:
        """Return all that are open."""
        return [self.embedder, *self._own.embedders()]

    def query_vectors_of(self, record: CollectionRecord) -> QueryVectors:
        """Return what embeds and remembers the questions to a collection."""
        own = self._own.model_of(record)
        return own.query_vectors if own else self.query_vectors

    def refiner_of(self, record: CollectionRecord) -> HeadRefiner:
        """Return what embeds the head of a ranking of a collection's chunks."""
        own = self._own.model_of(record)
        return own.refiner if own else self.refiner

    def parts(self, record: CollectionRecord, index: Index, tracer: Tracer) -> SearchContext:
        """Return what one search of a collection works with."""
        models = self.query_vectors_of(record), self.refiner_of(record), self.reranking
        wait, graph = partial(self.followers.hurry, record), self.graphs.retriever_of(self.catalog, record)
        return SearchContext(self.catalog, record, index, *models, self.settings, self.statistics, tracer, wait, graph)

    def rules(self, record: CollectionRecord) -> CollectionSettings:
        """Return the settings of a collection: those of files, then those that it was made with."""
        return self.settings.of_collection(record.name, record.kept)

    def check_model(self, record: CollectionRecord) -> None:
        """Make sure that a collection's vectors and the model for its questions go together, as far as is known.

        Raises:
            ModelMismatch: the collection was embedded by another model than the settings name, or than its own is now.
        """
        check_model(record, self._fingerprint(record))

    def remember(self, name: str, source: SourceSettings) -> tuple[CollectionRecord, SourceRecord]:
        """Record a collection and a source of it.

        Raises:
            ModelMismatch: the collection was embedded by another model than the settings name.
            InvalidInput, InvalidSetting: the source cannot be used; its location may have a secret, so it is not kept.
        """
        self.source(source).close()
        with self.catalog.read() as connection:
            known = collections.find(connection, name)
        options = self.options_of(name, known, source)
        fingerprint = self._fingerprint(known)  # may fetch the model, which nobody else should wait for
        with self.catalog.write() as connection:
            record = collections.ensure(connection, name, self.settings.of_collection(name).description)
            record = self.graphs.keep(connection, record)
            if known is None or record.line == known.line:
                check_model(record, fingerprint)
            was = earlier_part(self.settings, name, source)
            kept = sources.remember(connection, record.id, source.place, options, was=was, same=same_options)
        return record, kept

    def options_of(self, name: str, known: CollectionRecord | None, source: SourceSettings) -> dict[str, JSON]:
        """Return all that decides what the files of a source become; ``known`` is the collection where it is there."""
        _, embedder = self._cuts(known)
        return options_of(self.settings, name, known.kept if known else None, source, embedder)

    def ingest(
        self,
        record: CollectionRecord,
        kept: SourceRecord,
        paths: Collection[str] | None = None,
        *,
        retry: bool = False,
    ) -> Ingest:
        """Return a run over one source, or over what it has at ``paths`` and below, to be started with its ``run``.

        ``retry``: files that failed before, or lacked what is there by now, are tried at once; those at ``paths`` are.
        """
        source = self.source(effective_settings(self.settings, record.name, kept))
        if paths is not None and isinstance(source, Lookable):
            source = PartialSource(source, paths)
        how = how_to(self.catalog, self.settings, record.name, kept, retry=retry, parts=paths is not None)
        return Ingest(self.tools(record), record, kept, source, how)

    def embed_waiting(
        self,
        name: str,
        *,
        through: Callable[[Embedder], Embedder] = lambda embedder: embedder,
        on_batch: Callable[[int], object] | None = None,
        rest: bool = True,
        wait: bool = False,
        sample: int | None = None,
    ) -> Generator[Event, None, None]:
        """Embed what waits for a vector, yielding events; where that is much, make it searchable first.

        ``through`` gives what does the work in place of an embedder, being the same model. ``on_batch`` is told of
        every batch, how many chunks it had, and has the index follow; without it the index follows each batch.
        Without ``rest``, and in the mode "lazy", the work ends once all is searchable. Where another process is at
        it the only event is "elsewhere"; with ``wait`` there are events "wait" until it is done or has ended.
        ``sample``: so many chunks that wait are much, and enough for a sample, instead of what the settings say.

        Raises:
            ModelMismatch: the collection was embedded by another model than the settings name.
            ModelUnavailable: the model cannot be had.
            TooCostly: it costs more than is spent unasked, and nobody ``agreed``.
            InvalidInput: chunks are longer than the model reads; all others are embedded.
        """
        while True:
            record = self.record(name)
            with self._embedding(record) as alone:
                embedder = through(self.embedder_of(record))
                left = not alone or (yield from self._embed_alone(record, embedder, on_batch, rest, sample))
            if not left and self.record(name).line == record.line:
                return
            if left:
                yield Event("wait" if wait else "elsewhere", 0, 0, name)
                if not wait:
                    return
                time.sleep(_LOOK_AGAIN_S)

    def _embed_alone(
        self,
        started: CollectionRecord,
        embedder: Embedder,
        on_batch: Callable[[int], object] | None,
        rest: bool,
        sample: int | None,
    ) -> Generator[Event, None, bool]:
        """Embed what waits; now and then see whether so much has come meanwhile that it is to be searchable first.

        Ends when another generation answers: that has another model. Returns whether others still embed a part.
        """
        name, settings = started.name, self.settings
        few = {} if sample is None else {"progressive_chunks": sample, "sample_chunks": max(sample, 1)}
        follow = partial(self.index, name)
        if on_batch is None:
            follow()  # before changes are made: an index newer than the catalogue shows only now
        backlog = Backlog(
            catalog=self.catalog,
            name=name,
            embedder=embedder,
            settings=settings.embedding.model_copy(update=few),
            approximator=self._approximator,
            follow=follow,
            settle=lambda: self.followers.forget(self.record(name)),
        )
        wanted = partial(self.refiner_of(started).take_met, started)
        waiting = Waiting(self.catalog, started, embedder, on_batch or (lambda _: follow()), wanted, claims=self.claims)
        if isinstance(embedder, Remote) and not rest:
            return False
        again, left, more = False, False, backlog.has_pending()
        if more:
            self.check_cost(started)
        while more and (record := self.record(name)).line == started.line:
            self.check_model(record)
            searchable = self._is_progressive(record) and (yield from backlog.make_searchable(again=again))
            waiting.collection = self.reload(started)
            if searchable:
                if settings.embedding.mode == "lazy" or not rest:
                    if rest:
                        waiting.embed_summaries()  # no search would ever embed these
                    break
                yield from backlog.enlarge_sample()
            more, again = (yield from waiting.embed(settings.ingest.batch_chunks, _BATCHES_IN_A_ROUND)), True
            left = not more and waiting.left_to_others()
        tell_sources(self.catalog, name)
        waiting.check()
        return left

    def bill(self, record: CollectionRecord) -> Bill | None:
        """Return what embedding what waits in a generation is going to cost; None for a model that runs here.

        Raises:
            ModelUnavailable: the model has no name yet, and cannot be had.
        """
        settings = self.settings.embedding
        most = settings.sample_chunks if settings.mode == "lazy" else None
        return bill(self.catalog, record, self.embedder_of(record), settings, most)

    def check_cost(self, record: CollectionRecord) -> None:
        """Make sure that embedding what waits may be paid for.

        Raises:
            TooCostly: it costs more than is spent unasked, and nobody ``agreed``.
        """
        if not self.agreed:
            check(self.bill(record))

    def is_lazy(self, record: CollectionRecord) -> bool:
        """Say whether new chunks of a collection are to be embedded only when a search meets them."""
        approximator = self._approximator(record)
        return self.settings.embedding.mode == "lazy" and approximator is not None and approximator.map() is not None

    def fill_of(self, record: CollectionRecord) -> Fill | None:
        """Return what gives approximate vectors to chunks of a collection that wait for theirs, if anything does."""
        approximator = self._approximator(record)
        return approximator.fill if approximator else None

    def close(self) -> None:
        """Save and release everything."""
        if self.reranking is not None:
            self.reranking.reranker.close()
        self.refiner.close()
        self.workers.close()
        self._own.close()
        close(self.embedder)
        self.followers.close()
        self.catalog.close()
        self.home.close()

    def _approximator(self, record: CollectionRecord) -> Approximator | None:
        own = self._own.model_of(record)
        vocabulary = own.vocabulary if own else self._vocabulary
        if not record.fingerprint or vocabulary is None:
            return None
        place = self.home.map(record), record.fingerprint
        key = record.id, record.line
        found = self._approximators.get(key)
        if found is None or found.place != place:
            found = self._approximators[key] = Approximator(*place, self.embedder_of(record), vocabulary)
        return found

    @contextmanager
    def _embedding(self, record: CollectionRecord) -> Iterator[bool]:
        """Keep other processes from embedding the same chunks; give False where one is at it."""
        lock = self.home.embedding(record)
        try:
            yield taken(lock, "The search index")
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

    def source(self, settings: SourceSettings) -> Source:
        """Open a source; nothing is read yet."""
        limits, home = self.settings.ingest, self.settings.home
        return open_source(
            settings,
            work=self.home.source(settings.kind, settings.location, settings.ref),
            max_file_bytes=settings.max_file_bytes or limits.max_file_bytes,
            git_timeout_s=limits.git_timeout_s,
            avoid=(home, home / "index", home / "sources", self.settings.cache),
            fetch=self.settings.fetch,
        )

    def tools(self, record: CollectionRecord) -> Tools:
        """Return what writing into a collection works with."""
        return Tools(
            catalog=self.catalog,
            embedder=self.embedder_of(record),
            cutting=partial(cutting, *self._parse_options(record), self.workers),
            follow=partial(self.index, record.name),
            embed_waiting=lambda on_batch: self.embed_waiting(
                record.name, on_batch=on_batch, rest=not self.embeds_later
            ),
            defer_chunks=self._defer_chunks(record),
            limits=self.settings.ingest,
            rules=self.rules(record),
            history=self.settings.history,
            graph=self.graphs.of(record),
            longest={self.settings.knowledge_base.location(self.settings.home): self.settings.documents.max_tokens},
        )

    def _parse_options(self, record: CollectionRecord) -> tuple[ParseOptions, Embedder]:
        settings = self.settings
        model, embedder = self._cuts(record)
        chunking = settings.chunking_of(record.name, record.kept)
        counts = token_counter.counts_tokens(embedder)
        plan = self.graphs.of(record).plan
        return ParseOptions(settings.ingest, chunking, model, settings.cache, counts, plan), embedder

    def _cuts(self, record: CollectionRecord | None) -> tuple[EmbeddingSettings, Embedder]:
        """Return the model whose tokens decide how files are cut, with its settings.

        While the generation that answered before is kept, chunks have to suit both models, so that either can
        answer: that which reads less decides, of equals the one that came first.
        """
        if record is None:
            return self.settings.embedding, self.embedder
        with self.catalog.read() as connection:
            other = collections.beside(connection, record.name)
        suiting = [record]
        if other is not None and other.state == "previous" and self._fingerprint(other) == other.fingerprint:
            suiting.append(other)
            suiting.sort(key=lambda one: (token_counter.reads(self.embedder_of(one)), one.line))
        return self.model_of(suiting[0]), self.embedder_of(suiting[0])

    def _is_progressive(self, record: CollectionRecord) -> bool:
        mode = self.settings.embedding.mode
        return mode == "lazy" or (mode == "progressive" and isinstance(self.embedder_of(record), Vocabulary))

    def _defer_chunks(self, record: CollectionRecord) -> int | None:
        """Return from how many new chunks on they are first put into the catalogue and then embedded; None: never."""
        embedder = self.embedder_of(record)
        if isinstance(embedder, Remote) and not self._is_progressive(record):
            cheap = not asks(embedder, _CHUNKS_OF_A_SMALL_RUN * _TOKENS_OF_A_CHUNK, self.settings.embedding)
            return _CHUNKS_OF_A_SMALL_RUN if cheap else 0
        if not self._is_progressive(record):
            return None
        return 0 if self.is_lazy(record) else self.settings.embedding.progressive_chunks

    def _fingerprint(self, record: CollectionRecord | None) -> str | None:
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
