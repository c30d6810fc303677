"""Embeddings: float16, keyed by the hash of the embedded text and the model, computed once, ever."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from sqlalchemy import ColumnElement, Connection, Select, delete, exists, func, select

from pinakes.catalog import changes
from pinakes.catalog.batched_rows import rows_among
from pinakes.catalog.dialects.upsert import insert
from pinakes.catalog.schema import changes as noted
from pinakes.catalog.schema import chunks, documents, embeddings
from pinakes.core.batching import batches
from pinakes.core.records import Float32, Int64, with_header

_BATCH = 500
_CHARS_PER_TOKEN = 3.5
"""English prose has 4 to 5 in a token, code 3 to 4."""


def known_keys(connection: Connection, model_id: int | None, keys: Iterable[bytes]) -> set[bytes]:
    """Return those of ``keys`` that have an embedding by the model."""
    query = select(embeddings.c.key).where(embeddings.c.model_id == model_id)
    return {row.key for row in rows_among(connection, query, embeddings.c.key, dict.fromkeys(keys))}


def store(connection: Connection, model_id: int, vectors: Mapping[bytes, Float32]) -> None:
    """Keep ``vectors``, float32 (dim,) each, as float16. One that exists already stays as it is.

    Documents that waited for one of them, in any collection of the model, count as changed.
    """
    if vectors:
        connection.execute(insert(embeddings).on_conflict_do_nothing(), _rows(model_id, vectors))
        changes.record_embedded(connection, model_id, vectors)


def keys_of(connection: Connection, collection_id: int) -> list[bytes]:
    """Return the keys of all texts of a collection that may have a vector: chunks and summaries."""
    of_chunks = select(chunks.c.embedding_key).join(documents).where(documents.c.collection_id == collection_id)
    summaries = select(documents.c.summary_key).where(
        documents.c.collection_id == collection_id, documents.c.summary_key.is_not(None)
    )
    return list(connection.scalars(of_chunks.union(summaries)))


def of_summaries(connection: Connection, after: int = 0) -> tuple[set[bytes], int]:
    """Return the keys of all summaries of all collections that have vectors of their own, and the newest change.

    With ``after``, the number of a change: only those of documents that changed since.
    """
    query = select(documents.c.summary_key).where(documents.c.summary_key.is_not(None))
    if after:
        query = query.where(documents.c.id.in_(select(noted.c.document_id).where(noted.c.seq > after)))
    newest = connection.scalar(select(func.max(noted.c.seq))) or 0
    return set(connection.scalars(query)), max(after, newest)


def drop_unused(connection: Connection, keys: Sequence[bytes]) -> int:
    """Remove the vectors of these texts that no chunk has any more; return how many."""
    used = exists().where(chunks.c.embedding_key == embeddings.c.key)
    return connection.execute(delete(embeddings).where(embeddings.c.key.in_(keys), ~used)).rowcount


def replace(connection: Connection, model_id: int, vectors: Mapping[bytes, Float32]) -> None:
    """Keep ``vectors`` as ``store`` does, in place of those that there are."""
    if vectors:
        statement = insert(embeddings)
        renewed = {"vector": statement.excluded.vector}
        upsert = statement.on_conflict_do_update(index_elements=["key", "model_id"], set_=renewed)
        connection.execute(upsert, _rows(model_id, vectors))
        changes.record_embedded(connection, model_id, vectors)


def _rows(model_id: int, vectors: Mapping[bytes, Float32]) -> list[dict[str, Any]]:
    """Return rows in the order of keys: so two that store the same wait for one another, and never both."""
    return [
        {"key": key, "model_id": model_id, "vector": np.asarray(vectors[key], np.float16).tobytes()}
        for key in sorted(vectors)
    ]


def pending(
    connection: Connection,
    collection_id: int,
    model_id: int | None,
    limit: int,
    after: int = 0,
    *,
    where: ColumnElement[bool] | None = None,
    locked: bool = False,
) -> list[tuple[int, bytes, str]]:
    """Return up to ``limit`` (chunk id, key, embedded text) of chunks above ``after`` that have no vector yet.

    ``where``: only those for which this holds. ``locked``: only those that no other transaction has locked; they are
    locked until the end of this one.
    """
    waiting = _waiting(collection_id, model_id).where(chunks.c.id > after).order_by(chunks.c.id).limit(limit)
    waiting = waiting if where is None else waiting.where(where)
    if locked:
        waiting = waiting.with_for_update(skip_locked=True, of=chunks)
    return with_texts(connection, connection.execute(waiting).all())


def waiting(connection: Connection, collection_id: int, model_id: int | None) -> tuple[int, int]:
    """Return how many different texts of chunks have no vector yet, and their tokens: estimated, rather too many."""
    joined = changes.with_embeddings(model_id).join(documents, documents.c.id == chunks.c.document_id)
    each = (
        select((func.max(chunks.c.end - chunks.c.start) + func.max(func.length(chunks.c.header))).label("chars"))
        .select_from(joined)
        .where(documents.c.collection_id == collection_id, embeddings.c.id.is_(None))
        .group_by(chunks.c.embedding_key)
        .subquery()
    )
    texts, chars = connection.execute(select(func.count(), func.coalesce(func.sum(each.c.chars), 0))).one()
    return int(texts), math.ceil(int(chars) / _CHARS_PER_TOKEN)


def pending_among(
    connection: Connection, collection_id: int, model_id: int | None, chunk_ids: Sequence[int]
) -> list[tuple[int, bytes, str]]:
    """Return (chunk id, key, embedded text) of those of up to 500 ``chunk_ids`` that have no vector yet."""
    waiting = _waiting(collection_id, model_id).where(chunks.c.id.in_(chunk_ids))
    return with_texts(connection, connection.execute(waiting).all())


def embedded(connection: Connection, chunk_ids: Sequence[int]) -> list[tuple[int, bytes, str]]:
    """Return (chunk id, key, embedded text) of these chunks, in the order of their ids."""
    found: list[tuple[int, bytes, str]] = []
    for part in batches(chunk_ids, _BATCH):
        rows = connection.execute(_COLUMNS.where(chunks.c.id.in_(part)).order_by(chunks.c.id)).all()
        found += with_texts(connection, rows)
    return found


def places(connection: Connection, collection_id: int, keys: Iterable[bytes]) -> dict[bytes, str]:
    """Return key → where that text stands in a collection: ``guide.md:3-7``, or of which document it is the summary."""
    found = dict[bytes, str]()
    for part in batches(keys, _BATCH):
        written = (
            select(chunks.c.embedding_key, documents.c.path, chunks.c.start_line, chunks.c.end_line)
            .select_from(chunks.join(documents))
            .where(documents.c.collection_id == collection_id, chunks.c.embedding_key.in_(part))
            .order_by(chunks.c.id.desc())  # the first one stays
        )
        found |= {key: f"{path}:{start}-{end}" for key, path, start, end in connection.execute(written)}
        summaries = select(documents.c.summary_key, documents.c.path).where(
            documents.c.collection_id == collection_id, documents.c.summary_key.in_(part)
        )
        found |= {key: f"the summary of {path}" for key, path in connection.execute(summaries) if key not in found}
    return found


def of_keys(connection: Connection, model_id: int | None, keys: Sequence[bytes]) -> dict[bytes, Float32]:
    """Return key → float32 (dim,) for those of ``keys`` that have a vector by the model, in the order of ``keys``."""
    query = select(embeddings.c.key, embeddings.c.vector).where(embeddings.c.model_id == model_id)
    rows = rows_among(connection, query, embeddings.c.key, keys)
    vectors = {row.key: changes.vector_of(row.vector) for row in rows}
    return {key: vectors[key] for key in keys if key in vectors}


def of_chunks(connection: Connection, model_id: int | None, chunk_ids: Sequence[int]) -> dict[int, Float32]:
    """Return chunk id → float32 (dim,) for those of ``chunk_ids`` that have a vector by the model."""
    of_model = (
        select(chunks.c.id, embeddings.c.vector)
        .select_from(chunks.join(embeddings, embeddings.c.key == chunks.c.embedding_key))
        .where(embeddings.c.model_id == model_id)
    )
    return {row.id: changes.vector_of(row.vector) for row in rows_among(connection, of_model, chunks.c.id, chunk_ids)}


def chunk_ids(connection: Connection, collection_id: int, model_id: int | None) -> tuple[Int64, Int64]:
    """Return the sorted ids of all chunks of a collection, and of those that have a vector by the model."""
    of_collection = select(chunks.c.id).join(documents).where(documents.c.collection_id == collection_id)
    all_ids = np.fromiter(connection.scalars(of_collection.order_by(chunks.c.id)), np.int64)
    embedded = (
        select(chunks.c.id)
        .select_from(
            chunks.join(documents).join(embeddings, embeddings.c.key == chunks.c.embedding_key),
        )
        .where(documents.c.collection_id == collection_id, embeddings.c.model_id == model_id)
        .order_by(chunks.c.id)
    )
    return all_ids, np.fromiter(connection.scalars(embedded), np.int64)


def document_ids(connection: Connection, collection_id: int) -> Int64:
    """Return the sorted ids of all documents of a collection that have chunks."""
    owners = select(chunks.c.document_id).join(documents).where(documents.c.collection_id == collection_id)
    return np.fromiter(connection.scalars(owners.distinct().order_by(chunks.c.document_id)), np.int64)


def _waiting(collection_id: int, model_id: int | None) -> Select[Any]:
    joined = changes.with_embeddings(model_id).join(documents, documents.c.id == chunks.c.document_id)
    # Written so that SQLite walks the chunks in order; it would rather sort those of all documents for every batch.
    return _COLUMNS.select_from(joined).where(documents.c.collection_id + 0 == collection_id, embeddings.c.id.is_(None))


def with_texts(connection: Connection, rows: Sequence[Any]) -> list[tuple[int, bytes, str]]:
    """Return (chunk id, key, embedded text) of rows of chunks, in their order."""
    wanted = {row.document_id for row in rows}
    texts = dict(connection.execute(select(documents.c.id, documents.c.text).where(documents.c.id.in_(wanted))).all())
    return [
        (row.id, row.embedding_key, with_header(row.header, texts[row.document_id][row.start : row.end]))
        for row in rows
    ]


_COLUMNS = select(
    chunks.c.id, chunks.c.document_id, chunks.c.embedding_key, chunks.c.header, chunks.c.start, chunks.c.end
)
