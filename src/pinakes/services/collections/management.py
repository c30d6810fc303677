"""Collections as a whole: made, described, renamed, copied, deleted, counted; and their sources taken out again."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from shlex import quote
from typing import Any

from pinakes.app import App
from pinakes.app.leftovers import drop_leftovers
from pinakes.app.source_settings import settings_of
from pinakes.catalog import (
    changes,
    collections,
    contents,
    copying,
    document_fields,
    documents,
    embeddings,
    entities,
    graph_state,
    shared_files,
    sources,
)
from pinakes.catalog.collections import CollectionRecord as CollectionRecord
from pinakes.catalog.contents import CollectionTotals as CollectionTotals
from pinakes.catalog.sources import SourceRecord
from pinakes.core import caller
from pinakes.core.batching import batches
from pinakes.core.errors import Busy, InvalidInput, NotFound, storing
from pinakes.ingestion.report import Event
from pinakes.ingestion.run_tools import keeping_of
from pinakes.platform.locks import Lock, try_acquire
from pinakes.services.documents.index_update import catch_up
from pinakes.services.sync.watched import WatchedFolder, WatchedFolders, knowledge_base
from pinakes.settings import EmbeddingSettings
from pinakes.settings.kept import OF_PROFILE, kept_settings
from pinakes.sources.locations import path_from_here

_REMOVED_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class CollectionStats:
    """What a collection holds, in figures.

    ``tag_distribution``: tag → documents with it. ``source_distribution``: where from → documents. The dates, ISO 8601
    in UTC, are when the oldest and the newest document were put there, "" where there is none.
    """

    collection: str
    document_count: int
    total_tokens: int
    avg_tokens_per_doc: float
    total_chunks: int
    tag_distribution: Mapping[str, int]
    source_distribution: Mapping[str, int]
    oldest_document: str
    newest_document: str
    index_size_bytes: int


@dataclass(frozen=True, slots=True)
class Removed:
    """What was taken out: of a collection as a whole (``location`` is "" then), or of one of its sources.

    ``handed_over``: documents that stay, since another source of the collection has their files.
    """

    collection: str
    location: str
    documents: int
    chunks: int
    handed_over: int = 0


class Collections:
    """The collections of a home. Safe to share between threads and processes."""

    def __init__(self, app: App) -> None:
        self._app = app

    def create(self, name: str, description: str = "", **settings: Any) -> CollectionRecord:
        """Make an empty collection that keeps these ``settings``: any of ``KEPT``, as they stand in settings files.

        What settings files say of a collection of that name wins over them.

        Raises:
            InvalidName: it cannot be called so, or there is one of that name.
            InvalidSetting: there is no such setting, or it cannot be kept, or the value is impossible.
        """
        with self._app.catalog.write() as connection:
            return collections.create(connection, name, description, kept_settings(settings))

    def describe(self, name: str, description: str) -> CollectionRecord:
        """Say what is in a collection, for people and agents.

        Raises:
            NotFound: there is no such collection.
            InvalidInput: the settings describe it.
        """
        if self._app.settings.of_collection(name).description:
            raise InvalidInput(
                f"Collection {name!r} is described by the settings.", hint=f"Change collections.{name}.description."
            )
        with self._app.catalog.write() as connection:
            record = collections.get(connection, name)
            return collections.change(connection, record, description=description, kept=record.kept)

    def configure(self, name: str, **settings: Any) -> CollectionRecord:
        """Change the settings that a collection keeps: those that are given; None gives one up.

        Documents that are there keep their chunks: files until the next ``sync``, others until ``reindex``. One that
        gives up the rules of its graph loses that, but for decisions on names.

        Raises:
            NotFound: there is no such collection.
            InvalidSetting: see ``create``.
        """
        wanted = kept_settings({key: value for key, value in settings.items() if value is not None}, known=settings)
        with self._app.catalog.write() as connection:
            record = collections.get(connection, name)
            given_up = {"profile"} if settings.keys() & set(OF_PROFILE) - wanted.keys() else set[str]()
            others = {key: value for key, value in (record.kept or {}).items() if key not in settings.keys() | given_up}
            changed = collections.change(connection, record, description=record.description, kept=others | wanted)
            if "graph" in settings and self._app.graphs.of(changed).extraction is None:
                graph_state.remove(connection, changed.id)
            return changed

    def rename(self, old: str, new: str) -> CollectionRecord:
        """Give a collection another name; nothing else changes.

        Raises:
            NotFound: there is no such collection.
            InvalidName: it cannot be called so, or there is one of that name.
            InvalidInput: the settings name it: they would make it anew.
            Busy: something is being read into it, or built beside it.
        """
        base = knowledge_base(self._app.settings)
        if old in self._app.settings.collections or (base is not None and base.collection == old):
            raise InvalidInput(f"The settings name collection {old!r}.", hint="Rename it there, then rename it here.")
        record = self._app.record(old)
        read = self._sources(record)
        locks = [self._app.home.changing(record), *self._reading(record, read)]
        with _locked(record, locks), self._app.catalog.write() as connection:
            self._check_not_followed(record, read)
            return collections.rename(connection, collections.get(connection, old), new)

    def move(self, name: str, engine: str) -> Generator[Event, None, None]:
        """Move the index of a collection to another engine, yielding events; the old one answers until it is there.

        Nothing is embedded. ``engine`` is as for ``index.engine``, which does not hold for this collection any more.

        Raises:
            NotFound: there is no such collection.
            InvalidInput: it is there already, the settings name its engine, or a generation stands beside it.
            InvalidSetting, MissingExtra, IndexUnavailable: the engine cannot be had; the old one answers as before.
            Busy: something is built beside it.
        """
        app, record = self._app, self._app.record(name)
        now = app.rules(record).engine or app.settings.index.engine
        if now == engine:
            raise InvalidInput(f"The index of collection {name!r} is in {engine!r} already.")
        if app.settings.of_collection(name).engine:
            raise InvalidInput(
                f"The settings name the engine of collection {name!r}: {now!r}.",
                hint=f"Take collections.{name}.engine out of them, then move it.",
            )
        with _locked(record, [app.home.changing(record)]):
            with app.catalog.read() as connection:
                if collections.beside(connection, name) is not None:
                    raise InvalidInput(
                        f"A generation stands beside collection {name!r}.",
                        hint=f"Drop it first: pinakes reindex --drop-beside -c {quote(name)}",
                    )
            yield from app.rebuilder.move(record, engine)

    def copy(self, name: str, new: str) -> CollectionRecord:
        """Make a collection that holds the same, in one transaction; nothing is embedded again.

        Documents get new ids. Sources are copied, too: ``sync`` reads them into both; so are decisions on names of the
        graph. History is not.

        Raises:
            NotFound: there is no such collection.
            InvalidName: it cannot be called so, or there is one of that name.
        """
        app = self._app
        with app.catalog.write() as connection:
            record = collections.get(connection, name)
            made = copying.copy(connection, record, new, keeping_of(app.settings.history))
            for decision in entities.decisions(connection, record.id):
                entities.decide(connection, made.id, decision)
        self._copy_map(record, made)
        catch_up(app, made.name)
        return made

    def delete(self, name: str) -> Removed:
        """Remove a collection with all it holds, for good: documents, history, sources, index.

        Searches that run find nothing of it any more; runs that read into it end with ``NotFound``.

        Raises:
            NotFound: there is no such collection.
            Busy: one of its folders is followed as it changes, so that it would be made anew at once.
        """
        app, record = self._app, self._app.record(name)
        with app.catalog.write() as connection:
            record = collections.get(connection, name)
            self._check_not_followed(record, sources.list_all(connection, record.id))
            [held] = contents.collection_totals(connection, record.id)
            read = sources.list_all(connection, record.id)
            keys = embeddings.keys_of(connection, record.id)
            collections.remove(connection, record)
        drop_leftovers(self._app)
        self._drop_locks(record.name, read)
        self._drop_vectors(keys)
        return Removed(record.name, "", held.documents, held.chunks)

    def remove_source(self, name: str, location: str, part: str | None = None) -> Removed:
        """Take a source out of a collection, with the documents that were read from it; ``part`` where it has several.

        They are kept like other deleted documents, for ``history.days``. A run that is killed goes on with the next.

        Raises:
            NotFound: there is no such collection, or it has no such source.
            InvalidInput: the settings name that source, so it would be read again, or there are several.
            Busy: it is being read, or followed.
        """
        app, record = self._app, self._app.record(name)
        kept = self._source(record, location, part)
        if any(one.place == kept.place for one in app.rules(record).sources):
            raise InvalidInput(
                f"The settings name the source {kept.location!r} of collection {name!r}.",
                hint=f"Take it out of the settings before: of the list `sources`, or of collections.{name}.sources.",
            )
        self._check_not_followed(record, [kept])
        with _locked(record, self._reading(record, [kept])):
            documents_, chunks, handed = self._remove_documents(record, kept)
        drop_leftovers(self._app)
        self._drop_locks(record.name, [kept])
        catch_up(app, name)
        return Removed(record.name, kept.location, documents_, chunks, handed)

    def stats(self, *names: str) -> CollectionStats:
        """Return what collections hold together, in figures.

        Raises:
            NotFound: there is no such collection.
        """
        each = [self._stats(name) for name in names]
        documents_, tokens = sum(one.document_count for one in each), sum(one.total_tokens for one in each)
        return CollectionStats(
            collection=", ".join(one.collection for one in each),
            document_count=documents_,
            total_tokens=tokens,
            avg_tokens_per_doc=round(tokens / documents_, 1) if documents_ else 0.0,
            total_chunks=sum(one.total_chunks for one in each),
            tag_distribution=_added(one.tag_distribution for one in each),
            source_distribution=_added(one.source_distribution for one in each),
            oldest_document=min((one.oldest_document for one in each if one.oldest_document), default=""),
            newest_document=max(one.newest_document for one in each),
            index_size_bytes=sum(one.index_size_bytes for one in each),
        )

    def _stats(self, name: str) -> CollectionStats:
        record, index = self._app.index(name, wait=False)
        with self._app.catalog.read() as connection:
            [held] = contents.collection_totals(connection, record.id)
            tags = contents.values_of_field(connection, record.id, "tags")
            origins = contents.origins(connection, record.id)
        return CollectionStats(
            collection=held.name,
            document_count=held.documents,
            total_tokens=held.tokens,
            avg_tokens_per_doc=round(held.tokens / held.documents, 1) if held.documents else 0.0,
            total_chunks=held.chunks,
            tag_distribution=tags,
            source_distribution=origins,
            oldest_document=held.oldest,
            newest_document=held.newest,
            index_size_bytes=sum(int(size) for part, size in index.describe().items() if part.endswith("_bytes")),
        )

    def model(self, name: str = "") -> tuple[EmbeddingSettings, int]:
        """Return what a collection is embedded by, and how long its vectors are; of none yet what the settings say."""
        if not name:
            return self._app.settings.embedding, self._app.embedder.dimension
        record = self._app.record(name)
        return self._app.model_of(record), record.dimension or self._app.embedder_of(record).dimension

    def list_all(self) -> list[CollectionTotals]:
        """Return what each collection holds that the caller may use, by name. No index is opened for that."""
        settings = self._app.settings
        with self._app.catalog.read() as connection:
            found = [held for held in contents.collection_totals(connection) if caller.current().sees(held.name)]
        return [
            replace(held, description=settings.of_collection(held.name).description or held.description)
            for held in found
        ]

    def _sources(self, record: CollectionRecord) -> list[SourceRecord]:
        with self._app.catalog.read() as connection:
            return sources.list_all(connection, record.id)

    def _source(self, record: CollectionRecord, location: str, part: str | None) -> SourceRecord:
        """Return the source that ``location`` names: as it is kept, or as a path from here."""
        known = self._sources(record)
        for wanted in (location, path_from_here(location)):
            found = [kept for kept in known if kept.location == wanted and part in (None, kept.part)]
            if len(found) > 1:
                raise InvalidInput(
                    f"Collection {record.name!r} has several sources of {location!r}.",
                    hint="Remove one by its name, as `pinakes sources` lists it: pinakes sources remove NAME",
                )
            if found:
                return found[0]
        there = ", ".join(kept.location for kept in known)
        raise NotFound(
            f"Collection {record.name!r} has no source {location!r}.",
            hint=f"Its sources: {there}." if there else "It has none.",
        )

    def _reading(self, record: CollectionRecord, read: Iterable[SourceRecord]) -> list[Lock]:
        """Return the locks of those who read these sources into a collection."""
        return [self._app.home.reading(record.name, kept.place) for kept in read]

    def _check_not_followed(self, record: CollectionRecord, read: Iterable[SourceRecord]) -> None:
        """Go on where no process follows one of these sources as it changes: it would be read anew at once.

        Raises:
            Busy: one does.
        """
        followed = WatchedFolders(self._app).statuses()
        if any(WatchedFolder(record.name, settings_of(kept)).key in followed for kept in read):
            raise _busy(record)

    def _remove_documents(self, record: CollectionRecord, kept: SourceRecord) -> tuple[int, int, int]:
        """Remove what was read from a source, then the source.

        Return how many documents and chunks that were, and how many documents went to other sources that have them.
        """
        keeping = keeping_of(self._app.settings.history)
        file_name = self._app.rules(record).group_metadata
        total = chunks = left = 0
        while True:
            with self._app.catalog.write() as connection:
                found = sources.documents_of(connection, kept.id, _REMOVED_AT_ONCE)
                handed = shared_files.next_holders(connection, kept, found)
                shared_files.hand_over(connection, record.id, handed)
                removed = {document_id: size for document_id, size in found.items() if document_id not in handed}
                groups = {documents.remove(connection, document_id, keeping) for document_id in removed}
                document_fields.inherit(connection, record.id, groups, file_name)
                if not found:
                    sources.drop(connection, kept.id)
                    return total, chunks, left
            total += len(removed)
            left += len(handed)
            chunks += sum(removed.values())

    def _copy_map(self, record: CollectionRecord, made: CollectionRecord) -> None:
        """Give a copy the map of approximate vectors, if there is one; chunks that wait are found by it."""
        old, new = self._app.home.map(record), self._app.home.map(made)
        beside = new.with_suffix(".copying")
        with storing("The search index"), suppress(FileNotFoundError):
            shutil.copyfile(old, beside)
            beside.replace(new)
            with self._app.catalog.write() as connection:
                changes.record_waiting(connection, made.id, made.model_id)

    def _drop_locks(self, collection: str, read: Iterable[SourceRecord]) -> None:
        for kept in read:
            self._app.home.drop_locks(collection, kept.place)

    def _drop_vectors(self, keys: list[bytes]) -> None:
        """Remove the vectors of texts that nothing has any more, some at a time, so that nobody waits long."""
        with self._app.catalog.read() as connection:
            summaries, seen = embeddings.of_summaries(connection)
        for part in batches(keys, _REMOVED_AT_ONCE):
            with self._app.catalog.write() as connection:
                new, seen = embeddings.of_summaries(connection, seen)
                summaries |= new
                some = [key for key in part if key not in summaries]
                embeddings.drop_unused(connection, some)


def _added(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Return the sums of these counts, the largest first."""
    total = Counter[str]()
    for one in counts:
        total.update(one)
    return dict(sorted(total.items(), key=lambda each: (-each[1], each[0])))


@contextmanager
def _locked(record: CollectionRecord, locks: Iterable[Lock]) -> Iterator[None]:
    """Hold ``locks``, which others hold while they work on a collection.

    Raises:
        Busy: somebody does.
    """
    with ExitStack() as stack:
        for lock in locks:
            if not try_acquire(lock, "The lock of a collection"):
                raise _busy(record)
            stack.callback(lock.release)
        yield


def _busy(record: CollectionRecord) -> Busy:
    words = f"Collection {record.name!r} is being read, followed or built anew by another process."
    return Busy(words, hint="Try again when that is done, or stop it.")
