"""Collections: isolated sets of documents, each embedded by one model.

Whoever asks finds those only that ``caller.current()`` may use; the others are not there for it. All flows find
collections by what stands here, so this is the one place that keeps callers apart.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from sqlalchemy import (
    ColumnElement,
    Connection,
    Integer,
    RowMapping,
    ScalarSelect,
    Select,
    Table,
    bindparam,
    cast,
    delete,
    exists,
    func,
    literal,
    not_,
    or_,
    select,
    update,
)

from pinakes.catalog import changes, events, index_numbers
from pinakes.catalog.dialects.functions import is_shared
from pinakes.catalog.dialects.upsert import insert
from pinakes.catalog.engine import Catalog, now
from pinakes.catalog.schema import beside as besides
from pinakes.catalog.schema import changes as noted
from pinakes.catalog.schema import chunks, collections, documents, embeddings, models, sources
from pinakes.core import caller
from pinakes.core.errors import InvalidName, NotFound
from pinakes.core.next_steps import step
from pinakes.core.records import JSON

_NAME = re.compile(r"[\w][\w .-]*", re.UNICODE)
MAX_NAME_CHARS = 100

State: TypeAlias = Literal["serving", "embedding", "indexing", "ready", "previous"]
"""How far a generation is: it answers; its vectors are made; its index is built; it may be switched to; it answered
before, and may again."""


@dataclass(frozen=True, slots=True)
class CollectionRecord:
    """A collection as one of its generations: the one that answers, or the one beside it.

    ``fingerprint`` is that of the model its vectors come from, "" while none do; ``dimension`` is the length of that
    model's vectors, 0 while there is no model. ``head`` is the number of the newest change when the row was read,
    ``written`` that of the newest change of a text; 0 when there was none.
    ``generation`` numbers the folder of the index, which is another after each rebuild; ``line`` stays the same then
    and is never given again. ``embedding`` are the settings of the generation's own model, None where those of the
    home decide. ``kept`` are the settings the collection was made with, for ``Settings.of_collection``.
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
    embedding: Mapping[str, JSON] | None = None
    line: int = 0
    state: State = "serving"
    kept: Mapping[str, JSON] | None = None

    @property
    def is_beside(self) -> bool:
        """Whether another generation answers."""
        return self.state != "serving"


class CollectionCache:
    """Collections by name as ``get`` has them; each is read again after any commit. Thread-safe."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._known: tuple[int, dict[str, CollectionRecord]] = (-1, {})
        self._names: tuple[int, list[str]] = (-1, [])

    def names(self) -> list[str]:
        """Return the names of all collections that the caller may use, sorted."""
        version, (read_at, every) = self._catalog.version(), self._names
        if read_at != version:
            with self._catalog.read_each() as connection:
                every = list(connection.scalars(_NAMES))
            self._names = version, every
        return [name for name in every if caller.current().sees(name)]

    def get(self, name: str) -> CollectionRecord:
        """Return the collection ``name``. Raises as ``get`` does."""
        version, composed = self._catalog.version(), _composed(name)
        if self._known[0] != version:
            self._known = version, {}
        known = self._known[1]
        if composed not in known or not caller.current().sees(composed):
            with self._catalog.read_each() as connection:
                known[composed] = get(connection, name)
        return known[composed]


@dataclass(frozen=True, slots=True)
class CollectionCounts:
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


def create(
    connection: Connection, name: str, description: str = "", kept: Mapping[str, JSON] | None = None
) -> CollectionRecord:
    """Make the collection ``name``, with these settings of its own.

    Raises:
        InvalidName: it cannot be called so, or there is one of that name.
        NotFound: the caller may not use a collection of that name.
    """
    name = free(connection, name)
    values = {"name": name, "description": description, "settings": dict(kept) if kept else None}
    if not connection.execute(insert(collections).on_conflict_do_nothing().values(created_at=now(), **values)).rowcount:
        raise _name_in_use(name)  # by another server, at this moment
    return get(connection, name)


def free(connection: Connection, name: str) -> str:
    """Return ``name``, composed (NFC), if a collection can be called so and none is.

    Raises:
        InvalidName: otherwise.
        NotFound: the caller may not use a collection of that name.
    """
    name = _allowed(connection, check_name(name))
    if find(connection, name) is not None:
        raise _name_in_use(name)
    return name


def ensure(connection: Connection, name: str, description: str = "") -> CollectionRecord:
    """Return the collection ``name``, creating it where needed.

    Raises:
        NotFound: the caller may not use a collection of that name.
    """
    name = _allowed(connection, check_name(name))
    found = find(connection, name)
    if found is None:
        fresh = insert(collections).values(name=name, description=description, created_at=now())
        connection.execute(fresh.on_conflict_do_nothing())
    elif description and description != found.description:
        connection.execute(update(collections).where(collections.c.id == found.id).values(description=description))
    return get(connection, name)


def planned(connection: Connection, name: str, description: str = "") -> CollectionRecord:
    """Return the collection ``name``, or what it will be once it is made; its id is 0 until then.

    Raises:
        InvalidName: no collection can be called so.
        NotFound: the caller may not use a collection of that name.
    """
    found = find(connection, name)
    if found is not None:
        return found
    return CollectionRecord(
        id=0,
        name=free(connection, name),
        description=description,
        fingerprint="",
        model_id=None,
        generation=0,
        created_at="",
        dimension=0,
        head=0,
        written=0,
    )


def get(connection: Connection, name: str) -> CollectionRecord:
    """Return the collection ``name``.

    Raises:
        NotFound: there is none; the message names those that exist.
    """
    found = find(connection, name)
    if found is None:
        raise _missing(connection, name)
    return found


def find(connection: Connection, name: str) -> CollectionRecord | None:
    """Return the collection ``name``, or None."""
    return _one(connection, _BY_NAME, name)


def beside(connection: Connection, name: str) -> CollectionRecord | None:
    """Return the collection ``name`` as the generation beside the one that answers, None where there is none."""
    return _one(connection, _BESIDE, name)


def reload(connection: Connection, record: CollectionRecord) -> CollectionRecord | None:
    """Return the generation of ``record`` as it is now, whether it answers or not, whatever the collection is called.

    None once the generation was dropped.

    Raises:
        NotFound: the collection was deleted. One that was made since under its name is another.
    """
    row = connection.execute(_BY_ID, {"id": record.id}).mappings().first()
    if row is None:
        raise NotFound(
            f"Collection {record.name!r} was deleted meanwhile.", hint=f"See what there is: {step('collections')}"
        )
    answering = _record(row)
    if answering.line == record.line:
        return answering
    other = beside(connection, answering.name)
    return other if other is not None and other.line == record.line else None


def list_all(connection: Connection) -> list[CollectionRecord]:
    """Return all collections that the caller may use, by name."""
    rows = connection.execute(_ANSWERING.order_by(collections.c.name)).mappings()
    return [_record(row) for row in rows if caller.current().sees(row["name"])]


def bind_model(connection: Connection, collection_id: int, fingerprint: str, dimension: int) -> int:
    """Make the model with ``fingerprint`` that of the collection; return the model's id.

    Every document the collection has counts as changed: its chunks have other vectors now.
    """
    model_id = put_model(connection, fingerprint, dimension)
    other = collections.c.model_id.is_distinct_from(model_id)
    bound = update(collections).where(collections.c.id == collection_id, other).values(model_id=model_id)
    if connection.execute(bound).rowcount:
        changes.record_everything(connection, collection_id)
    return model_id


def put_model(connection: Connection, fingerprint: str, dimension: int) -> int:
    """Return the id of the model with ``fingerprint``, which is written if it is new."""
    connection.execute(insert(models).values(fingerprint=fingerprint, dimension=dimension).on_conflict_do_nothing())
    return int(connection.scalars(select(models.c.id).where(models.c.fingerprint == fingerprint)).one())


def bind_first_model(connection: Connection, collection_id: int, fingerprint: str, dimension: int) -> None:
    """Do the same as ``bind_model`` where the collection has no model yet; of several that do so the first decides."""
    unbound = select(collections.c.model_id).where(collections.c.id == collection_id).with_for_update()
    if connection.execute(unbound).one_or_none() == (None,):
        bind_model(connection, collection_id, fingerprint, dimension)


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


def ids(connection: Connection) -> set[int]:
    """Return the ids of all collections, whoever asks. None is ever given twice."""
    return set(connection.scalars(select(collections.c.id)))


def rename(connection: Connection, record: CollectionRecord, name: str) -> CollectionRecord:
    """Call a collection ``name`` from now on.

    Raises:
        InvalidName: it cannot be called so, or there is one of that name.
    """
    name = free(connection, name)
    connection.execute(update(collections).where(collections.c.id == record.id).values(name=name))
    return get(connection, name)


def change(
    connection: Connection, record: CollectionRecord, *, description: str, kept: Mapping[str, JSON] | None
) -> CollectionRecord:
    """Give a collection another description and other settings of its own."""
    values = {"description": description, "settings": dict(kept) if kept else None}
    connection.execute(update(collections).where(collections.c.id == record.id).values(**values))
    return get(connection, record.name)


def remove(connection: Connection, record: CollectionRecord) -> None:
    """Delete a collection with all it holds; vectors, which other collections may share, stay."""
    events.dropped(connection, record.id, caller.current().label)
    connection.execute(delete(documents).where(documents.c.collection_id == record.id))
    connection.execute(delete(collections).where(collections.c.id == record.id))


def count(connection: Connection, collection: CollectionRecord) -> CollectionCounts:
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
    return CollectionCounts(total, groups, int(chunk_total), int(tokens), int(chunk_total) - embedded)


def hold(connection: Connection, collection_id: int) -> None:
    """Have others who change single documents of the collection wait until the end of the transaction.

    Where one home has the catalogue, they do so anyway.
    """
    if is_shared(connection):
        connection.execute(_HOLD, {"collection": collection_id})


def _name_in_use(name: str) -> InvalidName:
    return InvalidName(
        f"There is a collection {name!r} already.", hint="Choose another name, or delete that one before."
    )


def _composed(name: str) -> str:
    """Return ``name`` as it is kept; "", which nothing is called, where it is no text that can be."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return ""
    return unicodedata.normalize("NFC", name)


def _one(connection: Connection, query: Select[Any], name: str) -> CollectionRecord | None:
    name = _composed(name)
    if not caller.current().sees(name):
        return None
    row = connection.execute(query, {"name": name}).mappings().first()
    return _record(row) if row else None


def _allowed(connection: Connection, name: str) -> str:
    """Return ``name`` if the caller may use a collection of that name, whether there is one or not."""
    if not caller.current().sees(name):
        raise _missing(connection, name)
    return name


def _missing(connection: Connection, name: str) -> NotFound:
    known = [record.name for record in list_all(connection)]
    hint = f"Collections: {', '.join(known)}." if known else "Add documents first: pinakes add PATH"
    return NotFound(f"There is no collection {name!r}.", hint=hint)


def _record(row: RowMapping) -> CollectionRecord:
    values = dict(row)
    written = max(values.pop("put"), values.pop("removed"))
    return CollectionRecord(**values, written=written)


def _newest(op: str) -> ScalarSelect[int]:
    query = select(func.coalesce(func.max(noted.c.seq), 0))
    return query.where(noted.c.collection_id == collections.c.id, noted.c.op == op).scalar_subquery()


def _query(generation: Table, state: ColumnElement[str]) -> Select[Any]:
    """Return the query of all fields of a record, those that differ between generations from ``generation``."""
    return select(
        collections.c.id,
        collections.c.name,
        collections.c.description,
        func.coalesce(models.c.fingerprint, "").label("fingerprint"),
        generation.c.model_id,
        index_numbers.of_this_home(generation.c.line, generation.c.generation).label("generation"),
        collections.c.created_at,
        func.coalesce(models.c.dimension, 0).label("dimension"),
        select(func.coalesce(func.max(noted.c.seq), 0))
        .where(noted.c.collection_id == collections.c.id)
        .scalar_subquery()
        .label("head"),
        _newest("put").label("put"),
        _newest("remove").label("removed"),
        generation.c.embedding,
        generation.c.line,
        state.label("state"),
        collections.c.settings.label("kept"),
    )


_ANSWERING = _query(collections, literal("serving")).select_from(
    collections.outerjoin(models, models.c.id == collections.c.model_id)
)
_HOLD = select(func.pg_advisory_xact_lock(literal(1, Integer), cast(bindparam("collection"), Integer)))
_NAMES = select(collections.c.name).order_by(collections.c.name)
_BY_NAME = _ANSWERING.where(collections.c.name == bindparam("name"))
_BY_ID = _ANSWERING.where(collections.c.id == bindparam("id"))
_BESIDE = (
    _query(besides, besides.c.state)
    .select_from(collections.join(besides).outerjoin(models, models.c.id == besides.c.model_id))
    .where(collections.c.name == bindparam("name"))
)
