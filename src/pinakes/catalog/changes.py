"""The record of changes that indexes follow: the latest operation on each document, in order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from sqlalchemy import Connection, delete, func, select

from pinakes.catalog.schema import changes, chunks, documents, embeddings
from pinakes.types import IndexEntry


def record(connection: Connection, collection_id: int, document_id: int, op: Literal["put", "remove"]) -> None:
    """Note that a document changed; an older note on the same document is superseded."""
    connection.execute(
        delete(changes).where(changes.c.collection_id == collection_id, changes.c.document_id == document_id)
    )
    connection.execute(changes.insert().values(collection_id=collection_id, document_id=document_id, op=op))


def head(connection: Connection, collection_id: int) -> int:
    """Return the number of the newest change, 0 when there is none."""
    query = select(func.max(changes.c.seq)).where(changes.c.collection_id == collection_id)
    return int(connection.execute(query).scalar() or 0)


def since(connection: Connection, collection_id: int, position: int, limit: int) -> list[tuple[int, int]]:
    """Return up to ``limit`` (change number, document id) after ``position``, oldest first."""
    rows = connection.execute(
        select(changes.c.seq, changes.c.document_id)
        .where(changes.c.collection_id == collection_id, changes.c.seq > position)
        .order_by(changes.c.seq)
        .limit(limit)
    )
    return [(row.seq, row.document_id) for row in rows]


def entries(connection: Connection, document_ids: Sequence[int], model_id: int | None) -> list[IndexEntry]:
    """Return the chunks of these documents as an index stores them, with vectors where they exist."""
    texts = {
        row.id: row
        for row in connection.execute(
            select(documents.c.id, documents.c.title, documents.c.path, documents.c.text).where(
                documents.c.id.in_(document_ids)
            )
        )
    }
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
        .where(chunks.c.document_id.in_(document_ids))
        .order_by(chunks.c.id)
    )
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
