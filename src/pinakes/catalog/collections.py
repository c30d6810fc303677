"""Collections: isolated sets of documents, each embedded by one model."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from sqlalchemy import Connection, RowMapping, ScalarSelect, bindparam, delete, exists, func, not_, or_, select, update
from sqlalchemy.dialects.sqlite import insert

from pinakes.catalog import changes
from pinakes.catalog.engine import now
from pinakes.catalog.schema import changes as noted
from pinakes.catalog.schema import chunks, collections, documents, embeddings, models, sources
from pinakes.errors import InvalidName, NotFound

_NAME = re.compile(r"[\w][\w .-]*", re.UNICODE)
MAX_NAME_CHARS = 100


@dataclass(frozen=True, slots=True)
class CollectionRecord:
    """A row of ``collections``; ``fingerprint`` is that of the model its vectors come from, "" while none do.

    ``dimension`` is the length of that model's vectors, 0 while there is no model. ``head`` is the number of the
    newest change when the row was read, ``written`` that of the newest change of a text; 0 when there was none.
    """

    id: int
    name: str
    description: str
    fingerprint: str
    model_id: int | None
    generation: int
    created_at: str
    dimension: int
    head: int
    written: int


@dataclass(frozen=True, slots=True)
class Counts:
    """How much a collection holds. ``pending`` chunks have no vector yet."""

    documents: int
    groups: int
    chunks: int
    tokens: int
    pending: int


def check_name(name: str) -> str:
    """Return ``name``, composed (NFC), if it can name a collection.

    Raises:
        InvalidName: it is empty, too long, or has characters other than letters, digits, space ``. _ -``.
    """
    name = unicodedata.normalize("NFC", name)
    if len(name) > MAX_NAME_CHARS:
        raise InvalidName(
            f"Collection name {name[:20]!r}… has {len(name)} characters.", hint=f"At most {MAX_NAME_CHARS}."
        )
    if not _NAME.fullmatch(name) or ".." in name or name != name.strip():
        raise InvalidName(
            f"A collection cannot be called {name!r}.",
            hint="Use letters, digits, spaces, dots, dashes and underscores, beginning with a letter or digit.",
        )
    return name


def ensure(connection: Connection, name: str, description: str = "") -> CollectionRecord:
    """Return the collection ``name``, creating it where needed."""
    name = check_name(name)
    found = find(connection, name)
    if found is None:
        connection.execute(collections.insert().values(name=name, description=description, created_at=now()))
    elif description and description != found.description:
        connection.execute(update(collections).where(collections.c.id == found.id).values(description=description))
    return get(connection, name)


def get(connection: Connection, name: str) -> CollectionRecord:
    """Return the collection ``name``.

    Raises:
        NotFound: there is none; the message names those that exist.
    """
    found = find(connection, name)
    if found is None:
        known = [record.name for record in everything(connection)]
        hint = f"Collections: {', '.join(known)}." if known else "Add documents first: pinakes add PATH"
        raise NotFound(f"There is no collection {name!r}.", hint=hint)
    return found


def find(connection: Connection, name: str) -> CollectionRecord | None:
    """Return the collection ``name``, or None."""
    row = connection.execute(_BY_NAME, {"name": unicodedata.normalize("NFC", name)}).mappings().first()
    return _record(row) if row else None


def everything(connection: Connection) -> list[CollectionRecord]:
    """Return all collections by name."""
    return [_record(row) for row in connection.execute(_SELECT.order_by(collections.c.name)).mappings()]


def bind_model(connection: Connection, collection_id: int, fingerprint: str, dimension: int) -> int:
    """Make the model with ``fingerprint`` that of the collection; return the model's id.

    Every document the collection has counts as changed: its passages have other vectors now.
    """
    connection.execute(insert(models).values(fingerprint=fingerprint, dimension=dimension).on_conflict_do_nothing())
    model_id = connection.execute(select(models.c.id).where(models.c.fingerprint == fingerprint)).scalar_one()
    other = collections.c.model_id.is_distinct_from(model_id)
    bound = update(collections).where(collections.c.id == collection_id, other).values(model_id=model_id)
    if connection.execute(bound).rowcount:
        changes.record_everything(connection, collection_id)
    return int(model_id)


def model_id(connection: Connection, fingerprint: str) -> int | None:
    """Return the id of the model with ``fingerprint``, None when no collection ever used it."""
    return connection.execute(select(models.c.id).where(models.c.fingerprint == fingerprint)).scalar()


def drop_if_empty(connection: Connection, collection_id: int) -> None:
    """Forget a collection that has neither documents nor sources."""
    used = or_(
        exists().where(documents.c.collection_id == collection_id),
        exists().where(sources.c.collection_id == collection_id),
    )
    connection.execute(delete(collections).where(collections.c.id == collection_id, not_(used)))


def next_generation(connection: Connection, collection_id: int) -> int:
    """Let the collection's index start anew in another folder; return the new generation."""
    generation = collections.c.generation
    connection.execute(update(collections).where(collections.c.id == collection_id).values(generation=generation + 1))
    return int(connection.execute(select(generation).where(collections.c.id == collection_id)).scalar_one())


def count(connection: Connection, collection: CollectionRecord) -> Counts:
    """Count what the collection holds."""
    of_collection = documents.c.collection_id == collection.id
    total, chunk_total, tokens = connection.execute(
        select(
            func.count(),
            func.coalesce(func.sum(documents.c.chunk_count), 0),
            func.coalesce(func.sum(documents.c.token_count), 0),
        ).where(of_collection)
    ).one()
    groups = connection.execute(
        select(func.count(func.distinct(documents.c.group_key))).where(of_collection, documents.c.group_key != "")
    ).scalar_one()
    embedded = connection.execute(
        select(func.count())
        .select_from(chunks.join(documents).join(embeddings, embeddings.c.key == chunks.c.embedding_key))
        .where(of_collection, embeddings.c.model_id == collection.model_id)
    ).scalar_one()
    return Counts(total, groups, int(chunk_total), int(tokens), int(chunk_total) - embedded)


def _record(row: RowMapping) -> CollectionRecord:
    values = dict(row)
    written = max(values.pop("put"), values.pop("removed"))
    return CollectionRecord(**values, written=written)


def _newest(op: str) -> ScalarSelect[int]:
    query = select(func.coalesce(func.max(noted.c.seq), 0))
    return query.where(noted.c.collection_id == collections.c.id, noted.c.op == op).scalar_subquery()


_SELECT = select(
    collections.c.id,
    collections.c.name,
    collections.c.description,
    func.coalesce(models.c.fingerprint, "").label("fingerprint"),
    collections.c.model_id,
    collections.c.generation,
    collections.c.created_at,
    func.coalesce(models.c.dimension, 0).label("dimension"),
    select(func.coalesce(func.max(noted.c.seq), 0))
    .where(noted.c.collection_id == collections.c.id)
    .scalar_subquery()
    .label("head"),
    _newest("put").label("put"),
    _newest("remove").label("removed"),
).select_from(collections.outerjoin(models))
_BY_NAME = _SELECT.where(collections.c.name == bindparam("name"))
