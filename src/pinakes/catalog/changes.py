"""The record of changes that indexes follow: the latest operation on each document, in order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np
from sqlalchemy import ColumnElement, Connection, bindparam, delete, func, literal, select

from pinakes.catalog.schema import changes, chunks, collections, documents, embeddings
from pinakes.types import IndexEntry

_BATCH = 500


def record(connection: Connection, collection_id: int, document_id: int, op: Literal["put", "remove"]) -> None:
    """Note that a document changed; an older note on the same document is superseded."""
    connection.execute(_SUPERSEDE, {"collection": collection_id, "document": document_id})
    connection.execute(changes.insert(), {"collection_id": collection_id, "document_id": document_id, "op": op})


def record_everything(connection: Connection, collection_id: int) -> None:
    """Note that every document of a collection changed."""
    connection.execute(delete(changes).where(changes.c.collection_id == collection_id, changes.c.op == "put"))
    every = select(documents.c.collection_id, documents.c.id, literal("put"))
    of_collection = every.where(documents.c.collection_id == collection_id).order_by(documents.c.id)
    connection.execute(changes.insert().from_select(["collection_id", "document_id", "op"], of_collection))


def record_embedded(connection: Connection, model_id: int, keys: Iterable[bytes]) -> None:
    """Note a change of every document with a passage of one of these ``keys``, whichever collection has it."""
    wanted = list(keys)
    for i in range(0, len(wanted), _BATCH):
        waiting = (
            select(documents.c.collection_id, documents.c.id)
            .select_from(chunks.join(documents).join(collections))
            .where(chunks.c.embedding_key.in_(wanted[i : i + _BATCH]), collections.c.model_id == model_id)
            .distinct()
        )
        for collection_id, document_id in connection.execute(waiting).all():
            record(connection, collection_id, document_id, "put")


def head(connection: Connection, collection_id: int) -> int:
    """Return the number of the newest change, 0 when there is none."""
    query = select(func.max(changes.c.seq)).where(changes.c.collection_id == collection_id)
    return int(connection.execute(query).scalar() or 0)


def since(
    connection: Connection, collection_id: int, position: int, limit: int, most_chars: int | None = None
) -> list[tuple[int, int]]:
    """Return up to ``limit`` (change number, document id) after ``position``, oldest first.

    ``most_chars`` bounds what the documents' texts have together, in characters; one is returned in any case.
    """
    wanted = {"collection": collection_id, "position": position, "limit": limit}
    if most_chars is None:
        return [(row.seq, row.document_id) for row in connection.execute(_SINCE, wanted)]
    found: list[tuple[int, int]] = []
    chars = 0
    with connection.execute(_SINCE_WITH_LENGTH, wanted) as rows:
        for row in rows:
            chars += row.chars or 0
            if found and chars > most_chars:
                break
            found.append((row.seq, row.document_id))
    return found


def entries(connection: Connection, document_ids: Sequence[int], model_id: int | None) -> list[IndexEntry]:
    """Return the chunks of these documents as an index stores them, with vectors where they exist."""
    return _entries(connection, chunks.c.document_id.in_(document_ids), model_id)


def entries_of(connection: Connection, chunk_ids: Sequence[int]) -> list[IndexEntry]:
    """Return these chunks as an index stores them, without their vectors."""
    return _entries(connection, chunks.c.id.in_(chunk_ids), None)


def _entries(connection: Connection, which: ColumnElement[bool], model_id: int | None) -> list[IndexEntry]:
    rows = connection.execute(
        select(
            chunks.c.id,
            chunks.c.document_id,
            chunks.c.start,
            chunks.c.end,
            chunks.c.header,
            chunks.c.symbols,
            embeddings.c.vector,
        )
        .select_from(
            chunks.outerjoin(
                embeddings, (embeddings.c.key == chunks.c.embedding_key) & (embeddings.c.model_id == model_id)
            )
        )
        .where(which)
        .order_by(chunks.c.id)
    ).all()
    columns = select(documents.c.id, documents.c.title, documents.c.path, documents.c.text)
    wanted = {row.document_id for row in rows}
    texts = {row.id: row for row in connection.execute(columns.where(documents.c.id.in_(wanted)))}
    found = []
    for row in rows:
        document = texts[row.document_id]
        vector = None if row.vector is None else np.frombuffer(row.vector, np.float16).astype(np.float32)
        text = document.text[row.start : row.end]
        found.append(
            IndexEntry(
                row.id, row.document_id, document.title, document.path, row.header, text, tuple(row.symbols), vector
            )
        )
    return found


_SINCE = (
    select(changes.c.seq, changes.c.document_id)
    .where(changes.c.collection_id == bindparam("collection"), changes.c.seq > bindparam("position"))
    .order_by(changes.c.seq)
    .limit(bindparam("limit"))
)
_SINCE_WITH_LENGTH = _SINCE.add_columns(
    select(func.length(documents.c.text))
    .where(documents.c.id == changes.c.document_id)
    .scalar_subquery()
    .label("chars")
)
_SUPERSEDE = delete(changes).where(
    changes.c.collection_id == bindparam("collection"), changes.c.document_id == bindparam("document")
)
