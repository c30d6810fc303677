"""Copies of collections inside the database: nothing is parsed, chunked or embedded again."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Integer, Table, Text, and_, cast, insert, literal, select

from pinakes.catalog import changes, events, history
from pinakes.catalog.collections import CollectionRecord, create, get
from pinakes.catalog.dialects.functions import pairs
from pinakes.catalog.dialects.inserts import inserted_id
from pinakes.catalog.engine import now
from pinakes.catalog.history import Retention
from pinakes.catalog.schema import chunks, collections, documents, fields, files, sources
from pinakes.core import caller
from pinakes.core.batching import batches

_BATCH = 500


def copy(connection: Connection, record: CollectionRecord, name: str, keeping: Retention) -> CollectionRecord:
    """Make the collection ``name`` with all that ``record`` holds, under new ids; return it.

    Its vectors are those of ``record``, and so is its model. History and a generation beside are not copied.

    Raises:
        InvalidName: it cannot be called so, or there is one of that name.
    """
    made = create(connection, name, record.description, record.kept)
    own = dict(record.embedding) if record.embedding is not None else None
    model = {"model_id": record.model_id, "embedding": own}
    connection.execute(collections.update().where(collections.c.id == made.id).values(**model))
    source_ids = _copy_sources(connection, record.id, made.id)
    every = select(documents.c.id).where(documents.c.collection_id == record.id).order_by(documents.c.id)
    for ids in batches(connection.scalars(every).all(), _BATCH):
        _copy_documents(connection, ids, made.id)
    _copy_parts(connection, record.id, made.id, source_ids, keeping)
    changes.record_everything(connection, made.id)
    return get(connection, name)


def _copy_sources(connection: Connection, old: int, new: int) -> dict[int, int]:
    """Return id of a source → id of its copy."""
    columns = _columns_without(sources, "id", "collection_id")
    made = {}
    for row in connection.execute(select(sources.c.id, *columns).where(sources.c.collection_id == old)).all():
        values = {**row._asdict(), "collection_id": new}
        source_id = values.pop("id")
        made[source_id] = inserted_id(connection.execute(sources.insert().values(**values)))
    return made


def _copy_documents(connection: Connection, ids: Sequence[int], new: int) -> None:
    uids = {one: str(uuid.uuid4()) for one in ids}
    named = pairs(uids)
    columns = _columns_without(documents, "id", "uid", "collection_id", "source_id", "version")
    rows = (
        select(cast(named.c.value, Text), literal(new), literal(1), *columns)
        .select_from(documents.join(named, documents.c.id == cast(named.c.key, Integer)))
        .order_by(documents.c.id)
    )
    _insert(connection, documents, ["uid", "collection_id", "version", *_names(columns)], rows)


def _copy_parts(connection: Connection, old: int, new: int, source_ids: Mapping[int, int], keeping: Retention) -> None:
    """Copy what belongs to the documents, which are paired by their uris: those are unique in a collection."""
    was, now_is = documents.alias("was"), documents.alias("now_is")
    pairs = was.join(now_is, and_(now_is.c.collection_id == new, now_is.c.uri == was.c.uri))
    of_old = was.c.collection_id == old

    columns = _columns_without(chunks, "id", "document_id")
    rows = select(now_is.c.id, *columns).select_from(pairs.join(chunks, chunks.c.document_id == was.c.id))
    _insert(connection, chunks, ["document_id", *_names(columns)], rows.where(of_old).order_by(chunks.c.id))

    columns = _columns_without(fields, "id", "document_id", "collection_id")
    rows = select(now_is.c.id, literal(new), *columns)
    rows = rows.select_from(pairs.join(fields, fields.c.document_id == was.c.id)).where(of_old).order_by(fields.c.id)
    _insert(connection, fields, ["document_id", "collection_id", *_names(columns)], rows)

    columns = _columns_without(files, "id", "source_id", "document_id")
    for source_id, its_copy in source_ids.items():
        known = files.outerjoin(was, was.c.id == files.c.document_id)
        known = known.outerjoin(now_is, and_(now_is.c.collection_id == new, now_is.c.uri == was.c.uri))
        rows = select(literal(its_copy), now_is.c.id, *columns).select_from(known)
        _insert(
            connection,
            files,
            ["source_id", "document_id", *_names(columns)],
            rows.where(files.c.source_id == source_id).order_by(files.c.id),
        )
        mine = select(was.c.uri).where(of_old, was.c.source_id == source_id)
        owned = documents.update().where(documents.c.collection_id == new, documents.c.uri.in_(mine))
        connection.execute(owned.values(source_id=its_copy))

    at = now()
    begun = select(documents.c.uid, documents.c.content_hash).where(documents.c.collection_id == new)
    of_new = {row.uid: row.content_hash for row in connection.execute(begun.order_by(documents.c.id))}
    history.began(connection, new, of_new, at, keeping)
    events.copied(connection, new, caller.current().label)


def _columns_without(table: Table, *left_out: str) -> list[Any]:
    """Return the columns of ``table`` that are copied as they are."""
    return [column for column in table.c if column.name not in left_out]


def _names(columns: Sequence[Any]) -> list[str]:
    return [column.name for column in columns]


def _insert(connection: Connection, table: Table, names: list[str], rows: Any) -> None:
    connection.execute(insert(table).from_select(names, rows))
