"""Claims of texts to embed in a shared catalogue: leases by the clock of the database.

There is one row for each text and model. A row without ``owner`` is a text that searches met, which comes first. One
whose lease has ended may be taken by anybody. ``refused`` says why the model cannot read a text.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from sqlalchemy import ColumnElement, Connection, Select, delete, exists, func, select, update

from pinakes.catalog import embeddings
from pinakes.catalog.dialects.functions import clock, is_shared
from pinakes.catalog.dialects.upsert import insert
from pinakes.catalog.schema import chunks, documents, embedding_claims
from pinakes.catalog.schema import embeddings as stored
from pinakes.core.batching import batches

_BATCH: Final = 500
_REFUSED_S: Final = 24 * 3600.0
"""So long a text that the model refused is not tried again."""

Rows = list[tuple[int, bytes, str]]
"""Chunk id, key, embedded text."""


def claim(
    connection: Connection,
    collection_id: int,
    model_id: int,
    owner: str,
    lease_s: float,
    limit: int,
    after: int = 0,
    *,
    only_wanted: bool = False,
) -> Rows:
    """Take up to ``limit`` texts of a collection that have no vector and that nobody else embeds, one chunk of each.

    First those that searches met and those whose lease has ended, then those of chunks above the id ``after``; with
    ``only_wanted`` none of these.
    """
    expires = clock() + lease_s
    found = _claim_free(connection, collection_id, model_id, owner, expires, limit)
    if only_wanted or len(found) >= limit:
        return found
    most, unclaimed = limit - len(found), _unclaimed(model_id)
    rows = embeddings.pending(connection, collection_id, model_id, most, after, where=unclaimed, locked=True)
    by_key = {key: (chunk_id, key, text) for chunk_id, key, text in reversed(rows)}
    if not by_key:
        return found
    fresh = {"model_id": model_id, "owner": owner, "wanted": 0, "refused": "", "expires_at": expires}
    statement = insert(embedding_claims).values([{**fresh, "key": key} for key in sorted(by_key)])
    inserted = statement.on_conflict_do_nothing().returning(embedding_claims.c.key)
    mine = set(connection.scalars(inserted))
    return found + sorted(row for key, row in by_key.items() if key in mine)


def _claim_free(
    connection: Connection, collection_id: int, model_id: int, owner: str, expires: ColumnElement[float], limit: int
) -> Rows:
    keys = connection.scalars(_free(collection_id, model_id, limit).with_for_update(skip_locked=True)).all()
    if not keys:
        return []
    mine = embedding_claims.c.model_id == model_id, embedding_claims.c.key.in_(keys)
    connection.execute(update(embedding_claims).where(*mine).values(owner=owner, expires_at=expires, refused=""))
    first = (
        select(func.min(chunks.c.id))
        .join(documents)
        .where(documents.c.collection_id == collection_id, chunks.c.embedding_key.in_(keys))
        .group_by(chunks.c.embedding_key)
    )
    return embeddings.embedded(connection, connection.scalars(first).all())


def _free(collection_id: int, model_id: int, limit: int) -> Select[tuple[bytes]]:
    """Return the query of texts that searches met, or whose lease has ended."""
    of_collection = (
        exists()
        .where(chunks.c.embedding_key == embedding_claims.c.key, documents.c.collection_id == collection_id)
        .where(documents.c.id == chunks.c.document_id)
    )
    vector = exists().where(stored.c.key == embedding_claims.c.key, stored.c.model_id == model_id)
    return (
        select(embedding_claims.c.key)
        .where(embedding_claims.c.model_id == model_id, embedding_claims.c.expires_at < clock())
        .where(of_collection, ~vector)
        .order_by(embedding_claims.c.wanted.desc(), embedding_claims.c.key)
        .limit(limit)
    )


def _unclaimed(model_id: int) -> ColumnElement[bool]:
    """Return the test whether a chunk's text has no row here."""
    return ~exists().where(embedding_claims.c.model_id == model_id, embedding_claims.c.key == chunks.c.embedding_key)


def is_free(connection: Connection, collection_id: int, model_id: int, *, only_wanted: bool = False) -> bool:
    """Say whether ``claim`` would take anything."""
    if connection.execute(_free(collection_id, model_id, 1)).first() is not None:
        return True
    unclaimed = _unclaimed(model_id)
    return not only_wanted and bool(embeddings.pending(connection, collection_id, model_id, 1, where=unclaimed))


def owned(
    connection: Connection, model_id: int, owner: str, keys: Iterable[bytes], *, locked: bool = True
) -> set[bytes]:
    """Return those of ``keys`` that ``owner`` holds; with ``locked`` they stay so until the end of the transaction."""
    query = (
        select(embedding_claims.c.key)
        .where(embedding_claims.c.model_id == model_id, embedding_claims.c.owner == owner)
        .where(embedding_claims.c.key.in_(list(keys)))
        .order_by(embedding_claims.c.key)
    )
    return set(connection.scalars(query.with_for_update() if locked else query))


def renew(connection: Connection, owner: str, lease_s: float) -> None:
    """Prolong all that ``owner`` holds, but what was refused."""
    mine = embedding_claims.c.owner == owner, embedding_claims.c.refused == ""
    connection.execute(update(embedding_claims).where(*mine).values(expires_at=clock() + lease_s))


def release(connection: Connection, owner: str, model_id: int | None = None, keys: Sequence[bytes] = ()) -> None:
    """Give back what ``owner`` holds, or those of ``keys``: others may take them at once."""
    mine = [embedding_claims.c.owner == owner, embedding_claims.c.refused == ""]
    if model_id is not None:
        mine += [embedding_claims.c.model_id == model_id, embedding_claims.c.key.in_(keys)]
    connection.execute(delete(embedding_claims).where(*mine, embedding_claims.c.wanted == 0))
    connection.execute(update(embedding_claims).where(*mine).values(owner="", expires_at=clock()))


def done(connection: Connection, model_id: int, keys: Collection[bytes]) -> None:
    """Remove the claims of texts that have their vectors."""
    for part in batches(sorted(keys), _BATCH) if is_shared(connection) else ():
        mine = embedding_claims.c.model_id == model_id, embedding_claims.c.key.in_(part)
        connection.execute(delete(embedding_claims).where(*mine))


def refuse(connection: Connection, model_id: int, reasons: Mapping[bytes, str]) -> None:
    """Note that the model cannot read these texts, so that nobody tries them again soon."""
    for key in sorted(reasons):
        mine = embedding_claims.c.model_id == model_id, embedding_claims.c.key == key
        values = {"refused": reasons[key], "wanted": 0, "expires_at": clock() + _REFUSED_S}
        connection.execute(update(embedding_claims).where(*mine).values(values))


def refused(connection: Connection, model_id: int | None) -> dict[bytes, str]:
    """Return key → why the model cannot read that text."""
    query = select(embedding_claims.c.key, embedding_claims.c.refused).where(
        embedding_claims.c.model_id == model_id, embedding_claims.c.refused != ""
    )
    return {row.key: row.refused for row in connection.execute(query.order_by(embedding_claims.c.key))}


def is_left(connection: Connection, collection_id: int, model_id: int | None) -> bool:
    """Say whether a chunk of a collection has no vector that the model could give it, whoever embeds it."""
    refusal = exists().where(
        embedding_claims.c.model_id == model_id,
        embedding_claims.c.key == chunks.c.embedding_key,
        embedding_claims.c.refused != "",
    )
    return bool(embeddings.pending(connection, collection_id, model_id, 1, where=~refusal))


def prioritise(connection: Connection, collection_id: int, model_id: int, chunk_ids: Sequence[int]) -> None:
    """Have those of these chunks that have no vector be embedded before the others."""
    rows = embeddings.pending_among(connection, collection_id, model_id, chunk_ids)
    keys = sorted({key for _, key, _ in rows})
    if keys:
        fresh = {"model_id": model_id, "owner": "", "expires_at": clock(), "wanted": 1, "refused": ""}
        statement = insert(embedding_claims).values([{**fresh, "key": key} for key in keys])
        connection.execute(statement.on_conflict_do_update(index_elements=["model_id", "key"], set_={"wanted": 1}))


def held(connection: Connection) -> dict[str, int]:
    """Return owner → how many texts it embeds, by leases that have not ended."""
    live = embedding_claims.c.owner != "", embedding_claims.c.refused == "", embedding_claims.c.expires_at >= clock()
    texts = func.count().label("texts")
    query = select(embedding_claims.c.owner, texts).where(*live).group_by(embedding_claims.c.owner)
    return {row.owner: row.texts for row in connection.execute(query.order_by(embedding_claims.c.owner))}


def forget_old(connection: Connection) -> None:
    """Remove rows whose lease ended a day ago, as those of texts that are gone."""
    connection.execute(delete(embedding_claims).where(embedding_claims.c.expires_at < clock() - _REFUSED_S))
