"""Totals of collections; the content type of each document, and whether it has all of its vectors."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    JSON,
    BindParameter,
    ColumnElement,
    Connection,
    bindparam,
    case,
    cast,
    distinct,
    func,
    select,
    true,
    type_coerce,
    update,
)

from pinakes.catalog.changes import with_embeddings
from pinakes.catalog.collections import CollectionRecord
from pinakes.catalog.dialects.functions import has_key, values_of
from pinakes.catalog.schema import chunks, collections, documents, embeddings, fields, files, sources
from pinakes.catalog.schema.types import TEXT
from pinakes.catalog.shared_files import HELD
from pinakes.core.content_types import CONTENT_TYPES, FIELD
from pinakes.core.records import Metadata


@dataclass(frozen=True, slots=True)
class Totals:
    """What a collection holds: documents by type, chunks with a vector by its model, and which documents lack some."""

    by_type: Mapping[str, int]
    vectors: int
    waiting: frozenset[int]


@dataclass(frozen=True, slots=True)
class FailedFile:
    """A file that was not indexed, and why; ``document_id`` is what it gave before."""

    path: str
    reason: str
    document_id: int | None


@dataclass(frozen=True, slots=True)
class ParserVersions:
    """So many documents of one ``kind`` and ``language`` that one reader and one chunker made, each with its version.

    ``path`` is that of the document where no reader is recorded. ``source_id``: whose files give them, None where no
    file does; ``failed``: these could not be read the last time.
    """

    reader: str
    chunker: str
    kind: str
    language: str | None
    path: str
    source_id: int | None
    failed: bool
    count: int

    @property
    def by_hand(self) -> bool:
        """Whether no file gives them."""
        return self.source_id is None


def makers(connection: Connection, collection_id: int) -> list[ParserVersions]:
    """Return what made the documents of a collection."""
    path = case((documents.c.reader == "", documents.c.path), else_="")
    made = (documents.c.reader, documents.c.chunker, documents.c.kind, documents.c.language, path.label("path"))
    of_files = (documents.c.source_id, documents.c.id.in_(_FAILED).label("failed"))
    query = select(*made, *of_files, func.count()).where(documents.c.collection_id == collection_id)
    return [ParserVersions(*row) for row in connection.execute(query.group_by(*made, *of_files).order_by(*made))]


def types_of(connection: Connection, uids: Collection[str]) -> dict[str, str]:
    """Return document uid → what it is there for."""
    rows = connection.execute(_TYPES, {"uids": list(uids)})
    return {row.uid: row.value for row in rows}


def at(connection: Connection, collection_id: int, path: str) -> list[tuple[str, str]]:
    """Return uid and uri of the documents at a uri, or where there is none, of those at a path."""
    of_collection = select(documents.c.uid, documents.c.uri).where(documents.c.collection_id == collection_id)
    of_collection = of_collection.order_by(documents.c.id)
    exact = (of_collection.where(column == path) for column in (documents.c.uri, documents.c.path))
    return next((found for query in exact if (found := [(*row,) for row in connection.execute(query)])), [])


def pushed(connection: Connection, document_id: int, size_bytes: int, digest: str) -> None:
    """Record what the file of a document is said to hold; the next run of its source looks whether that is so."""
    of_file = update(files).where(files.c.document_id == document_id, files.c.code.is_distinct_from(HELD))
    connection.execute(
        of_file.values(fingerprint=f"{size_bytes}:0:0", content_hash=digest, status="indexed", reason=None)
    )


def waiting(connection: Connection, document_id: int, model_id: int | None) -> int:
    """Return how many chunks of a document have no vector by the model."""
    query = select(func.count()).select_from(with_embeddings(model_id))
    of_document = query.where(chunks.c.document_id == document_id, embeddings.c.id.is_(None))
    return int(connection.execute(of_document).scalar_one())


def failed(connection: Connection, collection_id: int, path: str = "") -> list[FailedFile]:
    """Return the files of a collection that were not indexed the last time, or the one at ``path``.

    Not those that another source of the collection holds.
    """
    query = (
        select(files.c.path, func.coalesce(files.c.reason, "").label("reason"), files.c.document_id)
        .select_from(files.join(sources))
        .where(sources.c.collection_id == collection_id, files.c.status != "indexed")
        .where(files.c.code.is_distinct_from(HELD))
        .order_by(files.c.path)
    )
    rows = connection.execute(query.where(files.c.path == path) if path else query)
    return [FailedFile(*row) for row in rows]


def totals(connection: Connection, collection: CollectionRecord, vectors: int = 0) -> Totals:
    """Count what a collection holds. Looks at every chunk, unless an index has as many ``vectors`` of its model."""
    types = select(fields.c.value, func.count(distinct(fields.c.document_id)))
    types = types.where(fields.c.collection_id == collection.id, *_STATED).group_by(fields.c.value)
    of_collection = documents.c.collection_id == collection.id
    chunk_total = select(func.coalesce(func.sum(documents.c.chunk_count), 0)).where(of_collection)
    total = int(connection.execute(chunk_total).scalar_one())
    waits = {} if vectors >= total else _pending_by_document(connection, collection)
    return Totals(
        by_type={row[0]: row[1] for row in connection.execute(types)},
        vectors=total - sum(waits.values()),
        waiting=frozenset(waits),
    )


def _pending_by_document(connection: Connection, collection: CollectionRecord) -> dict[int, int]:
    """Return document id → how many of its chunks have no vector by the model, of those that have such chunks."""
    joined = with_embeddings(collection.model_id).join(documents, documents.c.id == chunks.c.document_id)
    pending = select(chunks.c.document_id, func.count()).select_from(joined).group_by(chunks.c.document_id)
    of_collection = documents.c.collection_id == collection.id
    return {row[0]: row[1] for row in connection.execute(pending.where(of_collection, embeddings.c.id.is_(None)))}


_STATED = fields.c.name == FIELD, fields.c.value.in_(CONTENT_TYPES)
_UIDS: BindParameter[str] = bindparam("uids", expanding=True)
_TYPES = (
    select(documents.c.uid, fields.c.value)
    .select_from(documents.join(fields, fields.c.document_id == documents.c.id))
    .where(documents.c.uid.in_(_UIDS), *_STATED)
)
_FAILED = select(files.c.document_id).where(files.c.status == "error", files.c.document_id.is_not(None))


_BATCH = 1000


@dataclass(frozen=True, slots=True)
class CollectionTotals:
    """A collection with how much it holds. ``oldest`` and ``newest`` are when documents were put there, "" for none."""

    name: str
    description: str
    documents: int
    tokens: int
    chunks: int
    oldest: str
    newest: str


def collection_totals(connection: Connection, collection_id: int | None = None) -> list[CollectionTotals]:
    """Return what each collection holds, or one of them, by name."""
    query = (
        select(
            collections.c.name,
            collections.c.description,
            func.count(documents.c.id),
            func.coalesce(func.sum(documents.c.token_count), 0),
            func.coalesce(func.sum(documents.c.chunk_count), 0),
            func.coalesce(func.min(documents.c.created_at), ""),
            func.coalesce(func.max(documents.c.created_at), ""),
        )
        .select_from(collections.outerjoin(documents))
        .group_by(collections.c.id)
        .order_by(collections.c.name)
    )
    if collection_id is not None:
        query = query.where(collections.c.id == collection_id)
    return [CollectionTotals(*row) for row in connection.execute(query)]


def values_of_field(connection: Connection, collection_id: int, field: str) -> dict[str, int]:
    """Return value → number of documents with it, of a metadata field that may be a list; the commonest first."""
    each = values_of(_metadata(field), field)
    shown = case({"true": "true", "false": "false"}, value=each.c.type, else_=cast(each.c.value, TEXT)).label("shown")
    number = func.count(documents.c.id.distinct())
    query = select(shown, number).select_from(documents.join(each, true()))
    query = query.where(documents.c.collection_id == collection_id, each.c.type != "null")
    return {row[0]: row[1] for row in connection.execute(query.group_by("shown").order_by(number.desc(), shown))}


def metadata_of_documents(connection: Connection, collection_id: int) -> Iterator[tuple[str, str, str, Metadata]]:
    """Yield path, kind, title and metadata of every document, with what its group gives it, by path."""
    query = select(documents.c.path, documents.c.kind, documents.c.title, documents.c.inherited, documents.c.metadata)
    query = query.where(documents.c.collection_id == collection_id).order_by(documents.c.path)
    for row in connection.execute(query.execution_options(yield_per=_BATCH)):
        yield row.path, row.kind, row.title, {**row.inherited, **row.metadata}


def origins(connection: Connection, collection_id: int) -> dict[str, int]:
    """Return where documents come from → how many do, the commonest first.

    That is their metadata ``source``; without it where they were read, a folder or repository; else their own uri.
    """
    own = func.nullif(type_coerce(_metadata("source"), JSON)["source"].as_string(), "")
    origin = func.coalesce(own, sources.c.location, documents.c.uri).label("origin")
    number = func.count()
    query = select(origin, number).select_from(documents.outerjoin(sources))
    query = query.where(documents.c.collection_id == collection_id)
    return {row[0]: row[1] for row in connection.execute(query.group_by("origin").order_by(number.desc(), origin))}


def _metadata(field: str) -> ColumnElement[Any]:
    """Return what has a field: a document's own metadata, which wins, or that of its group."""
    return case((has_key(documents.c.metadata, field), documents.c.metadata), else_=documents.c.inherited)
