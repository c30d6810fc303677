"""Summaries that users or models wrote, and their vectors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sqlalchemy import Connection, func, select, update

from pinakes.catalog import changes
from pinakes.catalog.schema import documents, embeddings
from pinakes.core.records import Float32, Int64


def write(connection: Connection, document_id: int, summary: str, by: str) -> None:
    """Give a document the summary that ``by`` wrote ("chat", "extractive"), unless a caller has given one.

    That is no new version of the document. Its words are searched from now on if they are not those of its text.
    """
    from pinakes.catalog.documents import OWN_SUMMARIES, summary_key

    own = by in OWN_SUMMARIES
    key = summary_key(summary) if own and summary else None
    written = connection.execute(
        update(documents)
        .where(documents.c.id == document_id, documents.c.summary_by != "given")
        .values(summary=summary, summary_by=by if summary else "", summary_key=key)
        .returning(documents.c.collection_id)
    ).first()
    if written is not None and own:
        changes.record(connection, written.collection_id, document_id, "put")


def pending(
    connection: Connection, collection_id: int, model_id: int | None, limit: int = 500
) -> list[tuple[int, bytes, str]]:
    """Return up to ``limit`` (document id, key, summary) of summaries that should have a vector and have none yet."""
    by_model = (embeddings.c.key == documents.c.summary_key) & (embeddings.c.model_id == model_id)
    rows = connection.execute(
        select(documents.c.id, documents.c.summary_key, documents.c.summary)
        .select_from(documents.outerjoin(embeddings, by_model))
        .where(
            documents.c.collection_id == collection_id,
            documents.c.summary_key.is_not(None),
            embeddings.c.id.is_(None),
        )
        .order_by(documents.c.id)
        .limit(limit)
    )
    return [(row.id, row.summary_key, row.summary) for row in rows]


def summary_vectors(
    connection: Connection, collection_id: int, model_id: int | None, among: Sequence[int] | None = None
) -> tuple[Int64, Float32]:
    """Return the vectors by the model of given and chat-written summaries, or of those of these documents.

    Document ids int64 (n,), ascending, and float32 (n, dim), unit length; (0, 0) where there are none.
    """
    query = (
        select(documents.c.id, embeddings.c.vector)
        .select_from(documents.join(embeddings, embeddings.c.key == documents.c.summary_key))
        .where(
            documents.c.collection_id == collection_id,
            documents.c.summary_key.is_not(None),
            embeddings.c.model_id == model_id,
        )
        .order_by(documents.c.id)
    )
    rows = connection.execute(query if among is None else query.where(documents.c.id.in_(among))).all()
    if not rows:
        return np.empty(0, np.int64), np.empty((0, 0), np.float32)
    return np.array([row.id for row in rows], np.int64), np.stack([changes.vector_of(row.vector) for row in rows])


def own_count(connection: Connection, document_ids: Sequence[int]) -> int:
    """Return how many of these documents have a summary that should have a vector."""
    query = select(func.count()).where(documents.c.id.in_(document_ids), documents.c.summary_key.is_not(None))
    return int(connection.execute(query).scalar_one())
