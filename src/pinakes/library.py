"""The library, the main class for users of Pinakes. Its methods are short; they delegate to other modules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from pinakes import search
from pinakes import settings as settings_module
from pinakes.core.errors import PinakesError
from pinakes.core.once import once
from pinakes.core.records import JSON, Filter, Results, SearchMode
from pinakes.search import SearchContext
from pinakes.search.defaults import filled
from pinakes.search.federated import HitLimits
from pinakes.services.collection_search import answered_by
from pinakes.services.facade.on_demand import Services
from pinakes.services.nearness import known_of
from pinakes.services.run_progress import drain
from pinakes.settings import SourceSettings

if TYPE_CHECKING:
    from pinakes.answering import AnswerWriter, ChatAnswer
    from pinakes.core.graph_paths import Expansion
    from pinakes.indexes.verification import Difference
    from pinakes.ingestion.report import Event, Report
    from pinakes.search.explaining import Explanations
    from pinakes.search.query.syntax import PhraseUse
    from pinakes.services.collections.completeness import Completeness
    from pinakes.services.collections.management import CollectionRecord
    from pinakes.services.collections.status import CollectionStatus
    from pinakes.services.documents.reading import DocumentRecord, Text
    from pinakes.services.sync.refreshing import Refresh

Generation: TypeAlias = Literal["serving", "beside"]
"""Generations of a collection's index: the one in use, or the one that was built beside it for another model."""


class OnEvent(Protocol):
    """Receives the progress events of a long run."""

    def __call__(self, event: Event, /) -> object: ...


class Library(Services):
    """A home folder with its collections: add, search, read, verify. Safe to share between threads.

    What it has no method for its services do: see ``Services``. Models and indexes are opened at their first use.
    """

    @once
    def answer_writer(self) -> AnswerWriter:
        """Writes answers with the chat model of the settings.

        Raises:
            InvalidSetting: a setting of ``chat`` cannot be used.
        """
        from pinakes.answering import AnswerWriter

        return AnswerWriter(self.settings.chat)

    @classmethod
    def open(cls, home: Path | str | None = None, *, profile: str | None = None, **settings: Any) -> Library:
        """Open ``home``; ``settings`` are setting names with ``__`` in place of the dot: ``search__top_k=5``.

        Raises:
            InvalidSetting: a setting is unknown or has an invalid value.
            StorageFull: the home is not writable.
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
        """Read a folder, file, git repository, page or export into a collection; unchanged files are skipped.

        Without ``include`` and ``exclude``, those of the settings apply, else those of the last call; either of them
        replaces both. Without ``ref``, that of the settings applies. ``kind`` is needed only if it cannot be derived
        from the location. A location inside a folder source of the collection is read as a part of that source, unless
        it should be a source of its own (``as_source``); files that were added one by one belong to their folder once
        that is added. ``remove``: allow the removal of documents that new patterns or another ref exclude.

        Raises:
            NotFound, InvalidInput, SourceError: the location is unusable, or another source already has its files.
            WouldRemove: documents would be removed without ``remove``.
            ModelMismatch: the collection was embedded by another model.
        """
        from pinakes.services.collections import upgrading
        from pinakes.services.sync import adding

        wanted = adding.AddRequest(location, ref, kind, include, exclude, as_source)
        name = collection or self.naming.written
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
        """Read all sources of a collection, or of all collections, again: those in the catalogue and in the settings.

        This includes the folder of the knowledge base, if enabled. ``names``: read only sources with these names (see
        ``syncing``). ``retry``: also read files that failed before, or whose password or OCR was missing and is now
        available.

        Settings of a source (``ref``, ``include``, ``exclude``) precede earlier arguments. A collection that was filled
        only from other places, such as a copy, is not filled from its configured sources. The report of a source that
        cannot be read has an ``error``; the others are still read. Older data is upgraded: see ``upgrading``.

        Raises:
            NotFound: the collection or source does not exist.
        """
        from pinakes.services.collections import upgrading

        wanted = self.syncing.wanted(collection, names)
        every = [record.name for record in self.collections()] if not (names or collection) else []
        mine = [*every, *filter(None, [collection]), *(name for name, _ in wanted)]
        drain(upgrading.upgrade_each(self.app, mine), on_event)
        return [self._attempt(name, source, on_event, retry) for name, source in wanted]

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
        expand: int | Expansion | None = None,
    ) -> Results:
        """Return the best chunks for ``query`` from the named collections; for defaults see ``CollectionChoice``.

        Several collections are searched together: a list of names, ``"a,b"``, or ``"*"`` for all. See
        ``search.federated``. ``neighbours``: number of surrounding chunks to return before and after each hit, 0 to 3.
        ``phrases``: whether chunks must contain the quoted phrases ("required"), or rank first if they do
        ("preferred"); "auto" decides by the words outside the quotation marks (``query``). ``rerank=False`` disables
        the reranker. ``generation="beside"`` searches the generation of another model, to compare the two before
        ``switch``. ``as_of``: a day or time searches the documents as they were then, if that history is kept
        (``as_of_snapshots``); a tag or commit searches the collection that holds the repository at that commit
        (``as_of.held_at``). ``blame``: also return the commits of the lines of each hit, within ``search.blame_ms``
        (``blame.Blames``). ``refresh="auto"`` first rereads changed files of hits, within ``search.refresh_ms``.
        ``min_score`` applies to the score, ``min_similarity`` to the cosine of query and chunk. ``expand``: behind the
        ``top_k`` hits, add some that are so many relations of the graph away (0 to 2), see ``graph_search``.

        Raises:
            InvalidInput: an unknown mode, fusion, relation or use of phrases, an unusable filter, or a number that is
                out of range: ``top_k`` (1 to ``search.max_top_k``), ``neighbours``, ``expand``.
            NotFound: the collection does not exist, or has no complete generation beside the serving one.
            ModelUnavailable: mode "vector" without a model; mode "hybrid" then uses keywords, with a note.
            ModelMismatch: the collection was embedded by another model.
        """
        meant = self.naming.choose(collection, as_of, beside=generation == "beside")
        wanted, most, least = HitLimits.among(len(meant.names), self.settings.search, query, filters, top_k, min_score)
        request = partial(filled, self.settings, query, mode, most, filters, fusion, least, neighbours, rerank, phrases)
        request = partial(request, min_similarity=min_similarity)
        ask = self.asked_as_of(as_of, request, beside=generation == "beside")
        known = known_of(self.app, request, now=(now := not as_of and generation != "beside"))
        with self.app.traffic.search():
            answer = self.refreshed(partial(meant.answer, ask, known, wanted), refresh if now else "never")
            answer = self.expanded(answer, request, meant.names, expand, as_of, generation)
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
        """Answer ``question`` with the chat model of the settings, based on the best ``passages`` of a search.

        Raises:
            NotConfigured: the settings name no chat model, or its key is missing.
            ModelUnavailable: the chat model does not answer.
            PinakesError: as ``search``.
        """
        self.answer_writer.check(question)
        most = min(passages or self.settings.chat.passages, self.settings.search.max_top_k)
        results = self.search(question, collection, mode=mode, top_k=most, filters=filters, as_of=as_of)
        return self.answer_writer.answer(question, results)

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
        """Search like ``search``, but return bare hits: only document, place and score, with duplicates.

        The candidates of a normal search come first, then those of one for ``depth`` results. Raises as ``search``.
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
    ) -> Explanations:
        """Explain why documents rank where they do for ``query``, or are not found: see ``explaining``.

        Without a ``collection``, they are looked up in all of ``named``; each is ranked within its own collection.
        """
        from pinakes.search import explaining

        explaining.check_count(references)
        request = partial(filled, self.settings, query, mode, None, filters, fusion, 0.0, 0, True, phrases)
        each = [self.parts(name) for name in self.naming.having(references, collection)]
        answers = [
            explaining.explain(request(one.collection), one, references, self.staged.own_summaries(one)) for one in each
        ]
        return explaining.merged(answers, references, len(self.named(collection)))

    def parts(self, collection: str | None = None) -> SearchContext:
        """Return the context of searches in a collection at present, to try other settings on it.

        Raises:
            NotFound: the collection does not exist.
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
        """Return a document, given by id, uri, path or the end of its path; all of it or a range of lines.

        It is looked up in all collections of ``named``; see ``reading.read_in``. Raises:
            NotFound: the document, the lines or the earlier version do not exist.
            InvalidInput: the reference is ambiguous, or ``as_of`` is not a day or time.
        """
        records = [self.collection(name) for name in self.named(collection)]
        return self.lookup.read_in(records, reference, lines, version, as_of, self.settings.ingest)

    def link(self, text: Text) -> str:
        """Return the URL of the lines of a text on the forge of its repository, "" if unknown."""
        document, lines = text.document, (text.start_line, text.end_line)
        return self.app.links.link_to(document.collection_id, document.metadata, document.path, lines)

    def status(self, collection: str | None = None, *, mend: bool = True) -> list[CollectionStatus]:
        """Return the content, sources and index state of each collection, or of one.

        A damaged index is rebuilt; without ``mend`` its ``problem`` is reported instead.
        """
        from pinakes.services.collections.status import status_of

        return [status_of(self.app, record, mend=mend) for record in self.collections(collection)]

    def completeness(
        self, collection: str | None = None, *, fields: Sequence[str] = (), missing: int = 20
    ) -> list[Completeness]:
        """Return the completeness of the metadata of each collection, or of one: see ``completeness.completeness``."""
        from pinakes.services.collections import completeness

        report_of, app = completeness.completeness, self.app
        return [report_of(app.catalog, one, app.rules(one), fields, missing) for one in self.collections(collection)]

    def verify(
        self, collection: str | None = None, *, content: bool = False, embeddings: bool = False
    ) -> dict[str, list[Difference]]:
        """Check the catalogue and each index in full; return collection → differences, which are empty if all is well.

        ``content``: also analyse and search every chunk again. ``embeddings``: also embed a sample of each collection.

        Raises:
            CatalogueCorrupt: the catalogue is damaged.
            ModelUnavailable: ``embeddings`` is set, and the model is unavailable.
        """
        from pinakes.services.collections.verifying import Depth, verify

        names = [record.name for record in self.collections(collection)]
        return verify(self.app, names, Depth(content, embeddings))

    def reindex(self, collection: str | None = None, *, embed: bool = False, on_event: OnEvent | None = None) -> None:
        """Rebuild indexes from the catalogue, without embedding again.

        Documents that do not come from files are chunked again if the chunking has changed; ``sync`` does so for files.
        ``embed``: assign the configured model to collections without one, and embed chunks that have no vector of it.
        """
        from pinakes.services import model_change
        from pinakes.services.documents import rechunking

        for record in self.collections(collection):
            if embed:
                model_change.adopt_settings(self.app, record)
            drain(self.app.rebuilder.rebuild(self.collection(record.name)), on_event)
            drain(rechunking.rechunk(self.app, record.name), on_event)
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
        """Build vectors and index of another ``model`` beside the serving ones; an interrupted call is resumed.

        Without ``model``: the model of the unfinished build, or of the settings. For errors see ``generations.build``.
        """
        from pinakes.services import model_change

        name = self.chosen(collection)
        settings = self.chosen_model(name, model)
        drain(model_change.build(self.app, name, settings, anyway=anyway), on_event)
        return self.status(name)[0]

    def switch(self, collection: str | None = None, on_event: OnEvent | None = None) -> CollectionStatus:
        """Serve the generation beside from now on, also in other processes. See ``generations.switch``."""
        from pinakes.services import model_change

        name = self.chosen(collection)
        drain(model_change.switch(self.app, name), on_event)
        return self.status(name)[0]

    def roll_back(self, collection: str | None = None) -> CollectionStatus:
        """Serve the generation that served before ``switch``. See ``generations.roll_back``."""
        from pinakes.services import model_change

        name = self.chosen(collection)
        model_change.roll_back(self.app, name)
        return self.status(name)[0]

    def drop_beside(self, collection: str | None = None) -> int:
        """Delete the generation beside the serving one; return the number of bytes freed."""
        from pinakes.services import model_change

        return model_change.drop(self.app, self.chosen(collection))

    def embed_pending(self, collection: str | None = None, on_event: OnEvent | None = None) -> None:
        """Embed all chunks without a vector.

        Raises:
            ModelUnavailable: there is still no model.
        """
        from pinakes.services import ingestion_runs

        for record in self.collections(collection):
            self.app.check_model(record)
            drain(ingestion_runs.embed_waiting(self.app, record.name, wait=True), on_event)

    def collections(self, name: str | None = None) -> list[CollectionRecord]:
        """Return the records of all collections, or of one.

        Raises:
            NotFound: no collection has this name.
        """
        return [self.app.record(name)] if name else self.app.records()

    def collection(self, name: str | None = None) -> CollectionRecord:
        """Return the record of one collection; without a name, of the one from ``chosen``. See ``collections``."""
        return self.collections(self.chosen(name))[0]

    def chosen(self, name: str | None = None) -> str:
        """Return the name of the single collection to use: see ``CollectionChoice.chosen``."""
        return self.naming.chosen(name)

    def named(self, collection: str | Sequence[str] | None = None) -> list[str]:
        """Return the names of the collections to search: see ``CollectionChoice.named``."""
        return self.naming.named(collection)

    def collection_of(self, document: DocumentRecord) -> str:
        """Return the name of the collection of a document."""
        return next(one.name for one in self.collections() if one.id == document.collection_id)

    def unread(self) -> list[str]:
        """Return the configured collections with sources that were not yet read completely as configured now."""
        return self.syncing.unread()

    def __enter__(self) -> Library:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _attempt(self, name: str, source: SourceSettings, on_event: OnEvent | None, retry: bool) -> Report:
        from pinakes.ingestion.report import Report
        from pinakes.services.sync import adding

        try:
            return adding.read(self.app, name, source, on_event, retry=retry)
        except PinakesError as error:
            return Report(name, source.location, error=error, part=source.part)
