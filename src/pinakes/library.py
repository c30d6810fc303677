"""The library: what a user of Pinakes holds. Short methods; the work is done by the flows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from pinakes import search
from pinakes import settings as settings_module
from pinakes.answering import Asking, ChatAnswer
from pinakes.app import App, source_settings
from pinakes.core.errors import PinakesError
from pinakes.core.ports import Embedder
from pinakes.core.records import JSON, Filter, Results, SearchMode
from pinakes.indexes.verification import Difference
from pinakes.ingestion import Event, Report
from pinakes.jobs.queue import open_queue
from pinakes.search import SearchContext, explaining
from pinakes.search.collection_choice import CollectionChoice
from pinakes.search.defaults import filled
from pinakes.search.federated import HitLimits
from pinakes.search.query.syntax import PhraseUse
from pinakes.services import model_change
from pinakes.services.audit import Audit
from pinakes.services.backup import BackupService
from pinakes.services.collection_search import answered_by
from pinakes.services.collections import completeness, upgrading, verifying
from pinakes.services.collections.background import Background, Loading
from pinakes.services.collections.credentials import Credentials
from pinakes.services.collections.management import CollectionRecord as CollectionRecord
from pinakes.services.collections.management import Collections
from pinakes.services.collections.status import CollectionStatus as CollectionStatus
from pinakes.services.collections.status import status_of
from pinakes.services.collections.verifying import Depth
from pinakes.services.document_search.search import DocumentSearch
from pinakes.services.documents import rechunking
from pinakes.services.documents.as_of_snapshots import Snapshots
from pinakes.services.documents.blame import Blames
from pinakes.services.documents.editing import Documents
from pinakes.services.documents.lookup import Lookup
from pinakes.services.documents.reading import DocumentRecord as DocumentRecord
from pinakes.services.documents.reading import Text as Text
from pinakes.services.events import Events
from pinakes.services.keys import Keys
from pinakes.services.nearness import known_of
from pinakes.services.run_progress import drain
from pinakes.services.spending import Spending
from pinakes.services.sync import adding
from pinakes.services.sync.forecasting import Forecasts
from pinakes.services.sync.refreshing import Refresh, Refreshing
from pinakes.services.sync.staleness import Staleness
from pinakes.services.sync.syncing import Syncing
from pinakes.services.sync.watched import WatchedFolders, knowledge_base_there
from pinakes.services.webhooks import Webhooks
from pinakes.settings import Settings, SourceSettings

if TYPE_CHECKING:
    from pinakes.services.measuring import Measuring

Generation: TypeAlias = Literal["serving", "beside"]
"""Which index of a collection: the one that answers, or the one of another model that was built beside it."""


class OnEvent(Protocol):
    """Something that wants to know how far a long run is."""

    def __call__(self, event: Event, /) -> object: ...


class Library:
    """A home folder with its collections: add, search, read, verify. Safe to share between threads.

    What it has no method for its services do. Each is made when it is first asked for; ``background``, ``forecasts``,
    ``spending`` and ``webhooks`` make a new one whenever they are called.
    """

    addition = cached_property(lambda self: partial(adding.addition, self.app))
    background = cached_property(lambda self: partial(Background, self.app, self.staged.texts))
    chosen_model = cached_property(lambda self: partial(model_change.chosen_model, self.app))
    credentials = cached_property(lambda self: Credentials(self.app))
    events = cached_property(lambda self: Events(self.app.catalog))
    exchange = cached_property(lambda self: BackupService(self.app))
    forecasts = cached_property(lambda self: partial(Forecasts, self.app))
    jobs = cached_property(lambda self: open_queue(self.app.catalog, self.settings.home))
    keys = cached_property(lambda self: Keys(self.app.catalog))
    loading = cached_property(lambda self: Loading(self.app))
    lookup = cached_property(lambda self: Lookup(self.app))
    naming = cached_property(lambda self: CollectionChoice(self.settings, self.app.catalog))
    spending = cached_property(lambda self: partial(Spending, self.app))
    staleness = cached_property(lambda self: Staleness(self.app))
    syncing = cached_property(lambda self: Syncing(self.app))
    watched = cached_property(lambda self: WatchedFolders(self.app))
    webhooks = cached_property(lambda self: partial(Webhooks, self.app.catalog, self.settings))

    def __init__(self, settings: Settings, embedder: Embedder | None = None) -> None:
        """Open the catalogue; models and indexes are opened when first needed.

        ``embedder``: the one that ``settings`` name, where it is opened already.
        """
        self.settings = settings
        self.app = App(settings, embedder)
        self.audit = Audit(self.app.catalog, settings)
        self.collecting = Collections(self.app)
        self.staged = DocumentSearch(self.app, self.naming)
        self.asking = Asking(settings, self.search)
        self._pasts = Snapshots(self.app)
        self._refreshing = Refreshing(self.app)
        self.blames = Blames(self.app)
        self.documents = Documents(self.app, self.naming)

    @cached_property
    def measuring(self) -> Measuring:
        """What evaluation and tuning need; loaded when it is first asked for, since it takes the longest."""
        from pinakes.services.measuring import Measuring

        return Measuring(self.app)

    @classmethod
    def open(cls, home: Path | str | None = None, *, profile: str | None = None, **settings: Any) -> Library:
        """Open ``home``; ``settings`` are dotted names with ``__`` for the dot: ``search__top_k=5``.

        Raises:
            InvalidSetting: an unknown setting or an impossible value.
            StorageFull: the home cannot be written.
        """
        return cls(settings_module.load(home=home, profile=profile, **settings))

    def add(
        self,
        location: str,
        collection: str | None = None,
        *,
        ref: str | None = None,
        kind: str | None = None,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        as_source: bool = False,
        remove: bool = False,
        on_event: OnEvent | None = None,
    ) -> Report:
        """Read a folder, file, git repository, page or export into a collection; what is unchanged is skipped.

        Without ``include`` and ``exclude`` those of the settings hold, else those given the last time; one of them
        replaces both. Without ``ref`` that of the settings does. ``kind`` says what the location is, where that cannot
        be told from it. What lies inside a folder that is a source of the collection is read by that source, unless it
        is to be one of its own (``as_source``); single files in a folder are its files once that is added. ``remove``:
        documents may be removed that other patterns, or another ref, leave out.

        Raises:
            NotFound, InvalidInput, SourceError: the location cannot be used, or another source has its files.
            WouldRemove: it would, and is not to ``remove`` any.
            ModelMismatch: the collection was embedded by another model.
        """
        name, wanted = (
            collection or self.naming.written,
            adding.AddRequest(location, ref, kind, include, exclude, as_source),
        )
        found = self.addition(name, wanted)
        if not remove:
            adding.check(self.app, name, found.source)
        adding.replace_files(self.app, name, found)
        drain(upgrading.upgrade_each(self.app, [name]), on_event)
        return adding.read(self.app, name, found.source, on_event, retry=True, paths=found.paths)

    def sync(
        self,
        collection: str | None = None,
        on_event: OnEvent | None = None,
        *,
        names: Sequence[str] = (),
        retry: bool = False,
    ) -> list[Report]:
        """Read every source of a collection, or of all, again: those it has, and those the settings name.

        The folder of the knowledge base is one of these, where it is in use. ``names``: only sources called so (see
        ``syncing``). ``retry``: also files that failed before, or lacked a password or OCR that is there now.

        What the settings say of a source (``ref``, ``include``, ``exclude``) wins over what was given with it. A
        collection that was filled from other places only, such as a copy, is not filled from the configured ones.
        A source that cannot be read has its ``error`` in its report; the others are read all the same.
        What older versions of Pinakes made is made again: see ``upgrading``.

        Raises:
            NotFound: there is no such collection, or source.
        """
        wanted = self.sources(collection, names)
        every = [record.name for record in self.collections()] if not (names or collection) else []
        mine = [*every, *filter(None, [collection]), *(name for name, _ in wanted)]
        drain(upgrading.upgrade_each(self.app, mine), on_event)
        return [self._attempt(name, source, on_event, retry) for name, source in wanted]

    def sources(self, collection: str | None = None, names: Sequence[str] = ()) -> list[tuple[str, SourceSettings]]:
        """Return (collection, source) of all that ``sync`` reads. See there for the errors."""
        wanted = self.syncing.sources_named(names)
        if not names:
            wanted = source_settings.configured_sources(self.app.catalog, self.settings, collection)
            wanted += knowledge_base_there(self.settings, collection)
        return source_settings.without_repeats(wanted)

    def search(
        self,
        query: str,
        collection: str | Sequence[str] | None = None,
        *,
        mode: SearchMode | None = None,
        top_k: int | None = None,
        filters: Mapping[str, JSON] | Filter | None = None,
        fusion: str | None = None,
        min_score: float = 0.0,
        neighbours: int = 0,
        rerank: bool = True,
        generation: Generation = "serving",
        as_of: str | None = None,
        refresh: Refresh = "never",
        blame: bool = False,
        phrases: PhraseUse = "auto",
        min_similarity: float = 0.0,
    ) -> Results:
        """Answer ``query`` with the best chunks of the collections that are named; where none is: ``CollectionChoice``.

        Several are asked together: a list of names, ``"a,b"``, or ``"*"`` for all. See ``search.federated``.
        ``neighbours``: so many chunks before and after each hit come with it, 0 to 3. ``phrases``: whether chunks
        must have what stands in quotation marks ("required"), or those that have it come first ("preferred"); "auto"
        decides by what stands outside them (``query``). ``rerank=False`` leaves out the reranker, where one is in use.
        ``generation="beside"`` asks the one that was built by another model, to compare the two before ``switch``.
        ``as_of`` a day or time asks the documents as they were then, as far as that is kept (``as_of_snapshots``); a
        tag or commit asks the collection that holds the repository as it was there (``as_of.held_at``).
        ``blame`` tells who wrote the lines of each hit, as far as ``search.blame_ms`` goes (``blame.Blames``).
        ``refresh="auto"`` first reads files of hits again that changed, for ``search.refresh_ms`` at most.
        ``min_score`` applies to the score, ``min_similarity`` to the cosine of query and chunk.

        Raises:
            InvalidInput: an unknown mode, fusion or use of phrases, a filter that cannot be used, a ``top_k`` below 1
                or above ``search.max_top_k``, or too many ``neighbours``.
            NotFound: there is no such collection, or no generation beside it that is built.
            ModelUnavailable: mode "vector" without a model; "hybrid" answers by keywords and says so.
            ModelMismatch: the collection was embedded by another model.
        """
        meant = self.naming.choose(collection, as_of, beside=generation == "beside")
        wanted, most, least = HitLimits.among(len(meant.names), self.settings.search, query, filters, top_k, min_score)
        request = partial(filled, self.settings, query, mode, most, filters, fusion, least, neighbours, rerank, phrases)
        request = partial(request, min_similarity=min_similarity)
        ask = partial(self._pasts.answer, as_of, answered_by, request, beside=generation == "beside")
        known = known_of(self.app, request, now=not as_of and generation != "beside")
        asked = partial(meant.answer, ask, known, wanted)
        with self.app.traffic.search():
            answer = self._refreshing.answer(asked, "never" if as_of or generation == "beside" else refresh)
        return self.blames.of_results(answer) if blame else answer

    def ask(
        self,
        question: str,
        collection: str | Sequence[str] | None = None,
        *,
        mode: SearchMode | None = None,
        passages: int | None = None,
        filters: Mapping[str, JSON] | Filter | None = None,
        as_of: str | None = None,
    ) -> ChatAnswer:
        """Answer ``question`` in words, by the chat model of the settings, from the best ``passages`` of a search.

        Raises:
            NotConfigured: the settings name no chat model, or its key is not there.
            ModelUnavailable: the chat model does not answer.
            as ``search``.
        """
        return self.asking.ask(question, collection, mode=mode, passages=passages, filters=filters, as_of=as_of)

    def rank(
        self,
        query: str,
        collection: str | None = None,
        *,
        mode: SearchMode | None = None,
        depth: int = 300,
        filters: Mapping[str, JSON] | Filter | None = None,
        generation: Generation = "serving",
    ) -> Results:
        """Answer as ``search`` does, with bare hits: document, place and score alone, none folded.

        Up to any ``depth``: behind the candidates of a search come those of a search for ``depth`` results.
        Raises as ``search`` does.
        """
        record = self.collection(collection)
        request = filled(self.settings, query, mode, None, filters, None, 0.0, 0, True, "auto", record)
        with self.app.traffic.search():
            near = replace(request, top_k=depth, bare=True)
            answers = (
                answered_by(self.app, replace(near, pool=pool), record.name, beside=generation == "beside")
                for pool in (request.top_k, depth)
            )
            return search.deepened(*answers)

    def explain(
        self,
        query: str,
        references: Sequence[str],
        collection: str | None = None,
        *,
        mode: SearchMode | None = None,
        filters: Mapping[str, JSON] | Filter | None = None,
        fusion: str | None = None,
        phrases: PhraseUse = "auto",
    ) -> explaining.Explanations:
        """Say why documents rank where they do for ``query``, or do not: see ``explaining``.

        Without a ``collection`` they are looked for in all of ``named``; each ranks among those of its own.
        """
        request = partial(filled, self.settings, query, mode, None, filters, fusion, 0.0, 0, True, phrases)
        each = [self.parts(name) for name in self.naming.having(references, collection)]
        answers = [
            explaining.explain(request(one.collection), one, references, self.staged.own_summaries(one)) for one in each
        ]
        return explaining.merged(answers, references, len(self.named(collection)))

    def parts(self, collection: str | None = None) -> SearchContext:
        """Return what searches of a collection work with as it is now, for trying other settings on it.

        Raises:
            NotFound: there is no such collection.
            ModelMismatch: the collection was embedded by another model.
        """
        record, index = self.app.index(self.chosen(collection))
        self.app.check_model(record)
        return self.app.parts(record, index, search.Tracer())

    def read(
        self,
        reference: str,
        collection: str | None = None,
        lines: tuple[int, int] | None = None,
        *,
        version: int | None = None,
        as_of: str | None = None,
    ) -> Text:
        """Return a document named by id, uri, path or the end of its path, whole or some lines of it.

        It is looked for in all collections of ``named``; see ``reading.read_in``.

        Raises:
            NotFound: nothing goes by that name, or it has no such lines, or it is not kept what it was.
            InvalidInput: several documents go by that name, or ``as_of`` is no day or time.
        """
        records = [self.collection(name) for name in self.named(collection)]
        return self.lookup.read_in(records, reference, lines, version, as_of, self.settings.ingest)

    def link(self, text: Text) -> str:
        """Return the link to the lines of a text on the forge of its repository, "" where none is known."""
        document, lines = text.document, (text.start_line, text.end_line)
        return self.app.links.link_to(document.collection_id, document.metadata, document.path, lines)

    def status(self, collection: str | None = None, *, mend: bool = True) -> list[CollectionStatus]:
        """Return what each collection (or one) holds, where it comes from and how far it is indexed.

        A damaged index is built anew; without ``mend`` its ``problem`` is told.
        """
        return [status_of(self.app, record, mend=mend) for record in self.collections(collection)]

    def completeness(
        self, collection: str | None = None, *, fields: Sequence[str] = (), missing: int = 20
    ) -> list[completeness.Completeness]:
        """Return how complete the metadata of each collection (or one) is: see ``completeness.completeness``."""
        told, app = completeness.completeness, self.app
        return [told(app.catalog, one, app.rules(one), fields, missing) for one in self.collections(collection)]

    def verify(
        self, collection: str | None = None, *, content: bool = False, embeddings: bool = False
    ) -> dict[str, list[Difference]]:
        """Read all that the catalogue and each index hold: collection → differences, none when all is well.

        ``content``: every chunk is also analysed again and looked for by its words. ``embeddings``: of each
        collection a sample is also embedded again.

        Raises:
            CatalogueCorrupt: the catalogue is damaged.
            ModelUnavailable: ``embeddings``, and the model cannot be had.
        """
        names = [record.name for record in self.collections(collection)]
        return verifying.verify(self.app, names, Depth(content, embeddings))

    def reindex(self, collection: str | None = None, *, embed: bool = False, on_event: OnEvent | None = None) -> None:
        """Build indexes anew from the catalogue; nothing is embedded again.

        Documents that no file gives are cut anew where they would be cut otherwise now; files are by ``sync``.
        ``embed`` makes the configured model that of the collections that have none of their own, and embeds what has
        no vector by it.
        """
        for record in self.collections(collection):
            if embed:
                model_change.adopt_settings(self.app, record)
            drain(self.app.rebuilder.rebuild(self.collection(record.name)), on_event)
            drain(rechunking.recut(self.app, record.name), on_event)
            if embed:
                self.embed_pending(record.name, on_event)

    def build_beside(
        self,
        model: str | None = None,
        collection: str | None = None,
        *,
        anyway: bool = False,
        on_event: OnEvent | None = None,
    ) -> CollectionStatus:
        """Build the vectors and index of another ``model`` beside those that answer; a stopped call is gone on with.

        Without ``model`` it is the one being built, or that of the settings. See ``generations.build`` for the errors.
        """
        name = self.chosen(collection)
        settings = self.chosen_model(name, model)
        drain(model_change.build(self.app, name, settings, anyway=anyway), on_event)
        return self.status(name)[0]

    def switch(self, collection: str | None = None, on_event: OnEvent | None = None) -> CollectionStatus:
        """Let the generation beside answer from now on, also in other processes. See ``generations.switch``."""
        name = self.chosen(collection)
        drain(model_change.switch(self.app, name), on_event)
        return self.status(name)[0]

    def roll_back(self, collection: str | None = None) -> CollectionStatus:
        """Let the generation answer again that did before ``switch``. See ``generations.roll_back``."""
        name = self.chosen(collection)
        model_change.roll_back(self.app, name)
        return self.status(name)[0]

    def drop_beside(self, collection: str | None = None) -> int:
        """Give up the generation beside the one that answers; return how many bytes that frees."""
        return model_change.drop(self.app, self.chosen(collection))

    def embed_pending(self, collection: str | None = None, on_event: OnEvent | None = None) -> None:
        """Embed what waits for a vector.

        Raises:
            ModelUnavailable: there still is no model.
        """
        for record in self.collections(collection):
            self.app.check_model(record)
            drain(self.app.embed_waiting(record.name, wait=True), on_event)

    def collections(self, name: str | None = None) -> list[CollectionRecord]:
        """Return the records of all collections, or of one.

        Raises:
            NotFound: there is none of that name.
        """
        return [self.app.record(name)] if name else self.app.records()

    def collection(self, name: str | None = None) -> CollectionRecord:
        """Return the record of one collection, that of ``chosen`` when no name is given; see ``collections``."""
        return self.collections(self.chosen(name))[0]

    def chosen(self, name: str | None = None) -> str:
        """Return the one collection that is meant: see ``CollectionChoice.chosen``."""
        return self.naming.chosen(name)

    def named(self, collection: str | Sequence[str] | None = None) -> list[str]:
        """Return the collections that are asked, or looked in: see ``CollectionChoice.named``."""
        return self.naming.named(collection)

    def collection_of(self, document: DocumentRecord) -> str:
        """Return the name of the collection that has a document."""
        return next(one.name for one in self.collections() if one.id == document.collection_id)

    def unread(self) -> list[str]:
        """Return the configured collections whose sources were not all read to the end yet, as they are configured."""
        return source_settings.unread_collections(self.app.catalog, self.settings)

    def close(self) -> None:
        """Save and release everything."""
        self.audit.close()
        self._refreshing.close()
        self.blames.close()
        self._pasts.close()
        self.app.close()

    def __enter__(self) -> Library:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _attempt(self, name: str, source: SourceSettings, on_event: OnEvent | None, retry: bool) -> Report:
        try:
            return adding.read(self.app, name, source, on_event, retry=retry)
        except PinakesError as error:
            return Report(name, source.location, error=error, part=source.part)
