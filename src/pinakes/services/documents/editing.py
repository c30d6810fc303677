"""Commands on single documents: put, get, update, delete, restore."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

from pinakes.app import App
from pinakes.catalog import Connection, collections, documents, full_documents, history, selection
from pinakes.catalog.collections import CollectionRecord
from pinakes.catalog.document_queries import DocumentRecord
from pinakes.catalog.full_documents import ChunkText, StoredDocument
from pinakes.catalog.history import Version
from pinakes.core.errors import NotFound, PinakesError
from pinakes.core.records import DocumentKind, Filter, Metadata, ReadingNote, Summary
from pinakes.ingestion.run_tools import keeping_of
from pinakes.search.collection_choice import CollectionChoice
from pinakes.services.documents.index_update import catch_up
from pinakes.services.documents.planned_changes import (
    Draft,
    Edit,
    FileContent,
    Plan,
    check_not_of_files,
    check_version,
    editing,
    putting,
    require_document,
    restoring,
    unknown,
)
from pinakes.services.documents.writing import DocumentWriter, WriteResult
from pinakes.services.summaries import Summaries
from pinakes.text.secrets.masking import Masking, masking_of

__all__ = ["ChunkText", "Documents", "Draft", "Edit", "FileContent", "FullDocument", "Version", "WrittenDocument"]

_LEFT_OUT = "deleted by hand; it comes back when the file changes, or by: pinakes document restore {uid}"

_APART = ("tags", "source")
"""Metadata that documents have in places of their own."""


@dataclass(frozen=True, slots=True)
class FullDocument:
    """A document with all that is known of it. ``uid`` is its id.

    ``source`` says where it comes from: what was given, else where it stands. ``metadata`` is the rest of the
    metadata, also what its group gives it. ``summary_by``: "given", "chat", "extractive", or "" where there is none.
    ``of_file``: text and title come from a file. ``chunks`` only where they were asked for.
    """

    uid: str
    collection: str
    title: str
    text: str
    summary: str
    summary_by: str
    source: str
    tags: tuple[str, ...]
    metadata: Metadata
    kind: str
    language: str | None
    uri: str
    path: str
    token_count: int
    chunk_count: int
    version: int
    created_at: str
    updated_at: str
    of_file: bool
    chunks: tuple[ChunkText, ...] = ()


@dataclass(frozen=True, slots=True)
class WrittenDocument:
    """A document as it was written. ``degraded`` says why its chunks wait for their vectors, None where they do not.

    ``unchanged``: it was so already, and nothing was written. ``embed_s``: how long the model took for it and what was
    put with it, in seconds. ``notes`` name what of it was masked or left out, never the secret itself.
    """

    document: FullDocument
    outcome: Literal["created", "updated", "unchanged"]
    degraded: str | None = None
    embed_s: float = 0.0
    notes: tuple[ReadingNote, ...] = ()


@dataclass(slots=True)
class Documents:
    """Works on single documents of a library's collections. Safe to share between threads.

    Every method takes the name of a collection. Without one, see ``CollectionChoice``: what reads looks in all that are
    ``named``, a new document goes to the ``written``, and what changes a document finds it in the ``chosen`` one
    alone; the hint says which other one has it. What is written can be searched when the call returns.
    """

    app: App
    naming: CollectionChoice
    _summaries: Summaries = field(init=False)
    _writer: DocumentWriter = field(init=False)

    def __post_init__(self) -> None:
        self._summaries = Summaries(self.app)
        self._writer = DocumentWriter(self.app, self._summaries)

    def put(
        self,
        text: str,
        *,
        title: str = "",
        uri: str = "",
        collection: str | None = None,
        kind: DocumentKind = "markdown",
        tags: Sequence[str] | None = None,
        metadata: Metadata | None = None,
        summary: str | None = None,
        source: str | None = "",
        path: str = "",
        language: str | None = None,
        if_version: int | None = None,
        notes: Sequence[ReadingNote] = (),
    ) -> WrittenDocument:
        """Put a document; where it is there already, it becomes what is given. See ``Draft`` and ``put_many``.

        Raises:
            InvalidInput: empty or too long text or title, or something else that cannot be used.
            Refused: at the uri stands the document of a file.
            Conflict: it is not ``if_version``.
            ModelMismatch: the collection was embedded by another model.
        """
        draft = Draft(text, title, uri, kind, tags, metadata, summary, source, path, language, if_version, notes)
        return _single_result(self.put_many([draft], collection=collection))

    def put_many(
        self, drafts: Sequence[Draft], *, collection: str | None = None
    ) -> list[WrittenDocument | PinakesError]:
        """Put several documents, embedded together; return what became of each, in their order.

        One that is refused does not keep the others out. With a uri, the document at that uri is replaced; without,
        the same title, source and text are the same document. Nothing is embedded again that ever was.
        A collection that is not there is made.

        Raises:
            InvalidName: no collection can be called so.
            ModelMismatch: the collection was embedded by another model.
        """
        name = collection or self.naming.written
        plans = [_attempted(draft, self._masking) for draft in drafts]
        return self._written(name, self._writer.write(name, plans, create=True))

    def update(
        self,
        doc_id: str,
        *,
        collection: str | None = None,
        title: str | None = None,
        text: str | None = None,
        tags: Sequence[str] | None = None,
        metadata: Metadata | None = None,
        summary: str | None = None,
        source: str | None = None,
        if_version: int | None = None,
        content: FileContent | None = None,
        notes: Sequence[ReadingNote] = (),
    ) -> WrittenDocument:
        """Change what is given of a document; see ``Edit``. A new text gets a new summary unless one is given.

        Of a file's document text and title can be changed only as ``content`` of that file, until the next run of its
        source looks into it; what else is given stays when the file changes.

        Raises:
            NotFound: the collection has no such document.
            InvalidInput: empty or too long text or title, or something else that cannot be used.
            Refused: it is a file whose text or title is to be changed.
            Conflict: it is not ``if_version``.
        """
        edit = Edit(title, text, tags, metadata, summary, source, if_version, content, notes)
        return self._write_one(doc_id, collection, editing(doc_id, edit, self._masking))

    def restore(self, doc_id: str, *, collection: str | None = None, version: int | None = None) -> WrittenDocument:
        """Bring back a deleted document as it last was, or an older ``version`` of any document, under its id.

        Raises:
            NotFound: there never was such a document, or that version is not kept.
            InvalidInput: it is not deleted, and no version was named.
            Conflict: another document stands at its uri by now.
            Refused: it is the document of a file.
        """
        return self._write_one(doc_id, collection, restoring(doc_id, version, self._masking), deleted=True)

    def delete(self, doc_id: str, *, collection: str | None = None, if_version: int | None = None) -> DocumentRecord:
        """Delete a document; it can be restored for ``history.days``. A file is left out until it changes.

        Raises:
            NotFound: the collection has no such document.
            Conflict: it is not ``if_version``.
        """
        with self._to_change(doc_id, collection) as record, self.app.catalog.write() as connection:
            collections.hold(connection, record.id)
            base = require_document(connection, record.id, doc_id)
            check_version(base, if_version, doc_id)
            [gone] = self._remove(connection, record, [base.id])
        catch_up(self.app, record.name)
        return gone

    def delete_many(
        self,
        collection: str | None,
        where: Filter,
        only: Callable[[DocumentRecord], bool] = lambda _: True,
        *,
        files: bool = True,
    ) -> list[DocumentRecord]:
        """Delete the documents that pass ``where`` and for which ``only`` says so, all in one step; return them.

        Raises:
            NotFound: there is no such collection.
            Refused: one is the document of a file, and those are not to be deleted (``files``).
        """
        record = self.app.record(self.naming.chosen(collection))
        with self.app.catalog.write() as connection:
            collections.hold(connection, record.id)
            found = documents.of_ids(connection, selection.matching(connection, record.id, where).tolist())
            meant = [one for one in found if only(one)]
            if not files:
                check_not_of_files(connection, record.id, meant)
            gone = self._remove(connection, record, [one.id for one in meant])
        if gone:
            catch_up(self.app, record.name)
        return gone

    def get(self, doc_id: str, *, collection: str | None = None, chunks: bool = False) -> FullDocument:
        """Return a document, with its chunks where they are wanted.

        Raises:
            NotFound: the collection has no such document.
        """
        record = self._collection_of(doc_id, collection)
        with self.app.catalog.read() as connection:
            content = require_document(connection, record.id, doc_id)
            [found] = self._full(connection, record.name, [content], chunks=chunks)
            return found

    def get_many(
        self, doc_ids: Sequence[str], *, collection: str | None = None, chunks: bool = False
    ) -> list[FullDocument]:
        """Return these documents in their order; those that the collection does not have are left out."""
        records = self._looked_in(collection)
        found: dict[str, FullDocument] = {}
        with self.app.catalog.read() as connection:
            for record in records:
                there = list(full_documents.of_uids(connection, record.id, doc_ids).values())
                found |= {one.uid: one for one in self._full(connection, record.name, there, chunks=chunks)}
        return [found[uid] for uid in dict.fromkeys(doc_ids) if uid in found]

    def chunks(self, doc_id: str, *, collection: str | None = None) -> list[ChunkText]:
        """Return the chunks of a document in their order.

        Raises:
            NotFound: the collection has no such document.
        """
        record = self._collection_of(doc_id, collection)
        with self.app.catalog.read() as connection:
            return full_documents.chunks_of(connection, require_document(connection, record.id, doc_id))

    def history(self, doc_id: str, *, collection: str | None = None) -> list[Version]:
        """Return what happened to a document, newest first, also to one that was deleted.

        Raises:
            NotFound: there never was such a document, or nothing is known of it any more.
        """
        record = self._collection_of(doc_id, collection)
        with self.app.catalog.read() as connection:
            found = history.list_versions(connection, record.id, doc_id)
        if not found:
            raise unknown(doc_id)
        return found

    def version(self, doc_id: str, number: int, *, collection: str | None = None) -> str:
        """Return the text of a document as it was in version ``number``.

        Raises:
            NotFound: there never was such a document or version, or its text is not kept.
        """
        record = self._collection_of(doc_id, collection)
        with self.app.catalog.read() as connection:
            now = full_documents.of_uids(connection, record.id, [doc_id]).get(doc_id)
            if now is not None and now.version == number:
                return self._masking.text(now.text)
            state = history.state(connection, record.id, doc_id, number)
            last = history.last_number(connection, record.id, doc_id)
        if state is not None:
            return self._masking.text(state.text)
        if not last:
            raise unknown(doc_id)
        raise NotFound(
            f"Version {number} of document {doc_id!r} cannot be read.",
            hint="Its history says which can: old ones are kept for history.days, at most history.versions of them.",
        )

    def deleted(
        self, collection: str | None = None, limit: int = 1000, *, reference: str = ""
    ) -> list[tuple[str, Version]]:
        """Return (id, last version, ``at`` the time of deletion) of what can be restored, deleted latest first.

        ``reference``: only those that had this uri or path, or a path that ends so.

        Raises:
            NotFound: there is no such collection.
        """
        records = self._looked_in(collection)
        with self.app.catalog.read() as connection:
            every = [one for record in records for one in history.deleted(connection, record.id, limit, reference)]
        return sorted(every, key=lambda one: one[1].at, reverse=True)[:limit] if len(records) > 1 else every

    @property
    def _masking(self) -> Masking:
        return masking_of(self.app.settings.ingest)

    def _looked_in(self, collection: str | None) -> list[CollectionRecord]:
        return [self.app.record(name) for name in self.naming.named(collection)]

    def _collection_of(self, doc_id: str, collection: str | None) -> CollectionRecord:
        """Return the collection that has, or had, a document; one of those that are looked in where none has."""
        records = self._looked_in(collection)
        with self.app.catalog.read() as connection:
            had = (one for one in records if len(records) > 1 and history.last_number(connection, one.id, doc_id))
            return next(had, records[0])

    @contextmanager
    def _to_change(self, doc_id: str, collection: str | None, *, deleted: bool = False) -> Iterator[CollectionRecord]:
        """Give the collection in which a document is changed; where none is named the hint says which other has it.

        ``deleted``: also which one had it.
        """
        name = self.naming.chosen(collection)
        try:
            yield self.app.record(name)
        except NotFound as error:
            hint = "" if collection else self.naming.elsewhere([doc_id], [name], deleted=deleted)
            if not hint:
                raise
            raise unknown(doc_id, elsewhere=hint) from error

    def _write_one(self, doc_id: str, collection: str | None, plan: Plan, *, deleted: bool = False) -> WrittenDocument:
        with self._to_change(doc_id, collection, deleted=deleted) as record:
            return _single_result(self._written(record.name, self._writer.write(record.name, [plan])))

    def _written(
        self, name: str, results: Sequence[WriteResult | PinakesError]
    ) -> list[WrittenDocument | PinakesError]:
        contents = [one.content for one in results if isinstance(one, WriteResult)]
        with self.app.catalog.read() as connection:
            shown = iter(self._full(connection, name, contents, chunks=False))
        return [
            WrittenDocument(next(shown), one.outcome, one.degraded, one.embed_s, one.notes)
            if isinstance(one, WriteResult)
            else one
            for one in results
        ]

    def _full(
        self, connection: Connection, name: str, contents: Sequence[StoredDocument], *, chunks: bool
    ) -> list[FullDocument]:
        summaries = self._summaries.summaries_of(connection, contents)
        return [
            _full_document(name, one, summaries[one.id], full_documents.chunks_of(connection, one) if chunks else ())
            for one in contents
        ]

    def _remove(self, connection: Connection, record: CollectionRecord, ids: Sequence[int]) -> list[DocumentRecord]:
        gone, keeping = documents.of_ids(connection, ids), keeping_of(self.app.settings.history)
        for one in gone:
            documents.leave_out(connection, one.id, _LEFT_OUT.format(uid=one.uid))
            documents.remove(connection, one.id, keeping)
        self._writer.inherit(connection, record, {one.group_key for one in gone})
        history.sweep(connection, record.id, keeping)
        return gone


def _attempted(draft: Draft, masking: Masking) -> Plan | PinakesError:
    try:
        return putting(draft, masking)
    except PinakesError as error:
        return error


def _single_result(results: Sequence[WrittenDocument | PinakesError]) -> WrittenDocument:
    [result] = results
    if isinstance(result, PinakesError):
        raise result
    return result


def _full_document(name: str, content: StoredDocument, summary: Summary, chunks: Sequence[ChunkText]) -> FullDocument:
    return FullDocument(
        uid=content.uid,
        collection=name,
        title=content.title,
        text=content.text,
        summary=summary.text,
        summary_by=summary.by if summary.text else "",
        source=content.source,
        tags=content.tags,
        metadata={name: value for name, value in content.metadata.items() if name not in _APART and value is not None},
        kind=content.kind,
        language=content.language,
        uri=content.uri,
        path=content.path,
        token_count=content.token_count,
        chunk_count=content.chunk_count,
        version=content.version,
        created_at=content.created_at,
        updated_at=content.updated_at,
        of_file=content.source_id is not None,
        chunks=tuple(chunks),
    )
