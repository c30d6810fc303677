"""Collections as plain records for export and import: read and written row by row."""

from __future__ import annotations

import uuid
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from sqlalchemy import Connection, Select, bindparam, func, select

from pinakes.catalog import documents as writing
from pinakes.catalog.batched_rows import rows_among
from pinakes.catalog.documents import NewDocument
from pinakes.catalog.schema import chunks, collections, documents, embeddings, files, models, sources, versions
from pinakes.core.batching import batches
from pinakes.core.records import JSON, Metadata

_BATCH = 500

DOCUMENT: tuple[str, ...] = (
    "uid",
    "uri",
    "path",
    "title",
    "kind",
    "language",
    "text",
    "metadata",
    "inherited",
    "given",
    "group_key",
)
DOCUMENT += ("content_hash", "summary", "summary_by", "pages", "version", "created_at", "updated_at")
DOCUMENT += ("notes", "lines", "reader", "chunker", "token_count")
CHUNK = ("start", "end", "start_line", "end_line", "token_count", "header", "heading_path", "symbols")
SOURCE = ("kind", "location", "part", "options", "synced_at")
FILE = ("path", "fingerprint", "content_hash", "status", "reason", "code")
VERSION: tuple[str, ...] = (
    "uid",
    "number",
    "op",
    "at",
    "by",
    "changed",
    "content_hash",
    "until",
    "title",
    "uri",
    "path",
    "kind",
)
VERSION += ("language", "group_key", "metadata", "given", "summary", "summary_by")
"""The columns of each table that mean the same in any home."""


def each_source(connection: Connection, collection_id: int) -> Iterator[tuple[int, dict[str, JSON]]]:
    """Yield id and columns of each source."""
    columns = (sources.c[name] for name in SOURCE)
    query = select(sources.c.id, *columns).where(sources.c.collection_id == collection_id).order_by(sources.c.id)
    for row in connection.execute(query):
        yield row.id, {name: getattr(row, name) for name in SOURCE}


def each_document(connection: Connection, collection_id: int) -> Iterator[tuple[int | None, dict[str, JSON]]]:
    """Yield the source's id and the columns of each document, by id; ``chunks`` has the columns of its chunks.

    One document is in memory at a time. Each chunk has its ``key``, in hexadecimal digits.
    """
    ids = select(documents.c.id).where(documents.c.collection_id == collection_id).order_by(documents.c.id)
    for document_id in np.fromiter(connection.scalars(ids), np.int64).tolist():
        row = connection.execute(_DOCUMENT, {"document": document_id}).one()
        values = {name: getattr(row, name) for name in DOCUMENT}
        cut = connection.execute(_CHUNKS, {"document": document_id}).all()
        values["chunks"] = [
            {**{name: getattr(one, name) for name in CHUNK}, "key": one.embedding_key.hex()} for one in cut
        ]
        yield row.source_id, values


def each_file(connection: Connection, source_id: int) -> Iterator[dict[str, JSON]]:
    """Yield the columns of each file of a source, with the uid of its ``document``, None where it gave none."""
    columns = (files.c[name] for name in FILE)
    query = select(*columns, documents.c.uid).outerjoin(documents, documents.c.id == files.c.document_id)
    for row in connection.execute(query.where(files.c.source_id == source_id).order_by(files.c.id)):
        yield {**{name: getattr(row, name) for name in FILE}, "document": row.uid}


def each_version(connection: Connection, collection_id: int) -> Iterator[tuple[int | None, dict[str, JSON]]]:
    """Yield the source's id and the columns of each version of each document; ``text`` None where it stores none."""
    columns = (versions.c[name] for name in VERSION)
    query = select(versions.c.source_id, versions.c.text, *columns)
    ordered = query.where(versions.c.collection_id == collection_id).order_by(versions.c.uid, versions.c.number)
    for row in connection.execute(ordered):
        values = {name: getattr(row, name) for name in VERSION}
        yield row.source_id, {**values, "text": None if row.text is None else zlib.decompress(row.text).decode()}


def count_vectors(connection: Connection, collection_id: int, model_id: int | None) -> int:
    """Return how many texts of a collection, chunks and summaries, have a vector by the model."""
    return int(connection.execute(_vectors(collection_id, model_id, func.count())).scalar_one())


def each_vector(connection: Connection, collection_id: int, model_id: int | None) -> Iterator[tuple[bytes, bytes]]:
    """Yield key and vector, float16 in memory, of all that ``count_vectors`` counts, always in the same order."""
    query = _vectors(collection_id, model_id, embeddings.c.key, embeddings.c.vector).order_by(embeddings.c.id)
    for row in connection.execute(query):
        yield row.key, row.vector


def free_uids(connection: Connection, uids: Sequence[str]) -> dict[str, str]:
    """Return uid → the one to be used in this home: itself, or a new one where a document here has, or had, it."""
    used: set[str] = set()
    every = select(collections.c.id)
    for some in batches(uids, _BATCH):
        used.update(connection.scalars(select(documents.c.uid).where(documents.c.uid.in_(some))))
        before = versions.c.collection_id.in_(every), versions.c.uid.in_(some)
        used.update(connection.scalars(select(versions.c.uid).where(*before)))
    return {uid: str(uuid.uuid4()) if uid in used else uid for uid in uids}


def put_source(connection: Connection, collection_id: int, values: Mapping[str, JSON]) -> int:
    """Write a source that was never read to its end here; return its id."""
    row = {name: values[name] for name in SOURCE}
    made = connection.execute(sources.insert().values(collection_id=collection_id, **row))
    return int((made.inserted_primary_key or (0,))[0])


def put_document(connection: Connection, collection_id: int, new: NewDocument, values: Mapping[str, JSON]) -> int:
    """Write a document with its chunks; version, dates and what its group gives it are those of ``values``."""
    inherited: Metadata = values["inherited"]
    return writing.take_over(connection, collection_id, new, inherited, values["version"], values["updated_at"])


def put_files(connection: Connection, source_id: int, rows: Sequence[tuple[Mapping[str, JSON], int | None]]) -> None:
    """Write files of a source, each with the id of its document."""
    if rows:
        values = [
            {**{name: row[name] for name in FILE}, "source_id": source_id, "document_id": document_id}
            for row, document_id in rows
        ]
        connection.execute(files.insert(), values)


def put_versions(
    connection: Connection, collection_id: int, rows: Sequence[tuple[Mapping[str, JSON], int | None]]
) -> None:
    """Write versions of documents, each with the id of its source."""
    if rows:
        values = [
            {
                **{name: row[name] for name in VERSION},
                "collection_id": collection_id,
                "source_id": source_id,
                "text": None if row["text"] is None else zlib.compress(row["text"].encode(), 1),
            }
            for row, source_id in rows
        ]
        connection.execute(versions.insert(), values)


def begin_versions(connection: Connection, collection_id: int, by: str) -> None:
    """Let each document begin with the version it has, as put by whoever does this: nothing is known of before."""
    query = select(documents.c.uid, documents.c.version, documents.c.updated_at, documents.c.content_hash)
    rows = connection.execute(query.where(documents.c.collection_id == collection_id)).all()
    for part in batches(rows, _BATCH):
        begun = [
            {
                "collection_id": collection_id,
                "uid": row.uid,
                "number": row.version,
                "op": "created" if row.version == 1 else "updated",
                "at": row.updated_at,
                "by": by,
                "changed": [],
                "content_hash": row.content_hash,
            }
            for row in part
        ]
        connection.execute(versions.insert(), begun)


def document_ids(connection: Connection, collection_id: int, uids: Sequence[str]) -> dict[str, int]:
    """Return uid → id of those documents that a collection has."""
    query = select(documents.c.uid, documents.c.id).where(documents.c.collection_id == collection_id)
    return {row.uid: row.id for row in rows_among(connection, query, documents.c.uid, uids)}


def wanted_keys(connection: Connection, collection_id: int, keys: Sequence[bytes]) -> set[bytes]:
    """Return those of ``keys`` that a chunk or summary of the collection has."""
    # Written so that SQLite looks the keys up; it would rather walk through the whole collection.
    mine = documents.c.collection_id + 0 == collection_id
    of_chunks = select(chunks.c.embedding_key).join(documents).where(chunks.c.embedding_key.in_(keys), mine)
    found = set(connection.scalars(of_chunks))
    if left := [key for key in keys if key not in found]:
        of_summaries = select(documents.c.summary_key).where(documents.c.collection_id == collection_id)
        found.update(connection.scalars(of_summaries.where(documents.c.summary_key.in_(left))))
    return found


def dimension_of(connection: Connection, fingerprint: str) -> int | None:
    """Return the dimension that a model is known to have here, None where it was never used."""
    return connection.execute(select(models.c.dimension).where(models.c.fingerprint == fingerprint)).scalar()


def keep_model(connection: Connection, collection_id: int, embedding: Mapping[str, JSON]) -> None:
    """Give a collection a model of its own, as ``collection_models.recorded`` has it."""
    own = collections.update().where(collections.c.id == collection_id)
    connection.execute(own.values(embedding=dict(embedding)))


def _vectors(collection_id: int, model_id: int | None, *columns: Any) -> Select[Any]:
    mine = documents.c.collection_id == collection_id
    of_chunks = select(chunks.c.embedding_key).join(documents).where(mine)
    of_summaries = select(documents.c.summary_key).where(mine, documents.c.summary_key.is_not(None))
    either = embeddings.c.key.in_(of_chunks) | embeddings.c.key.in_(of_summaries)
    return select(*columns).select_from(embeddings).where(embeddings.c.model_id == model_id, either)


def halves(vectors: Sequence[bytes]) -> bytes:
    """Return stored vectors one behind the other, little end first."""
    return np.frombuffer(b"".join(vectors), np.float16).astype("<f2").tobytes()


_DOCUMENT = select(documents.c.source_id, *(documents.c[name] for name in DOCUMENT)).where(
    documents.c.id == bindparam("document")
)
_CHUNKS = (
    select(*(chunks.c[name] for name in CHUNK), chunks.c.embedding_key)
    .where(chunks.c.document_id == bindparam("document"))
    .order_by(chunks.c.ordinal)
)
