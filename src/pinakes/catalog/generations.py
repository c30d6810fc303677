"""The shadow generation of a collection: begun, built, switched to, switched back from, dropped."""

from __future__ import annotations

from collections.abc import Mapping
from shlex import quote

from sqlalchemy import Connection, delete, exists, or_, select, update

from pinakes.catalog import index_numbers
from pinakes.catalog.collections import CollectionRecord, State, beside, get, put_model
from pinakes.catalog.schema import beside as besides
from pinakes.catalog.schema import collections, embeddings
from pinakes.core.errors import NotFound
from pinakes.core.records import JSON

_DROPPED_AT_ONCE = 20_000


def begin(
    connection: Connection,
    name: str,
    fingerprint: str,
    dimension: int,
    embedding: Mapping[str, JSON],
    answering: Mapping[str, JSON] | None = None,
) -> CollectionRecord:
    """Put a generation of another model beside the one that answers, in place of what was there; return it.

    ``embedding`` are the settings by which its model is opened, whatever those of the home say; ``answering`` those of
    the model that answers, if they are known: from now on it has to be told from the other.
    """
    model_id = put_model(connection, fingerprint, dimension)
    record = get(connection, name)
    collection_id = record.id
    number = index_numbers.newer(connection, collection_id)
    own = answering if record.embedding is None else record.embedding
    of_collection = update(collections).where(collections.c.id == collection_id)
    connection.execute(of_collection.values(newest=number, embedding=own))
    connection.execute(delete(besides).where(besides.c.collection_id == collection_id))
    connection.execute(
        besides.insert().values(
            collection_id=collection_id,
            model_id=model_id,
            generation=number,
            embedding=dict(embedding),
            line=number,
            state="embedding",
        )
    )
    return require(connection, name)


def require(connection: Connection, name: str, hint: str = "") -> CollectionRecord:
    """Return the generation beside the one that answers; ``hint`` says what to do without one, if not to build it.

    Raises:
        NotFound: there is no such collection, or nothing beside it.
    """
    record = beside(connection, name)
    if record is None:
        get(connection, name)
        raise NotFound(
            f"There is no generation beside collection {name!r}.",
            hint=hint or f"Build one: pinakes reindex --beside --model MODEL -c {quote(name)}",
        )
    return record


def renew(connection: Connection, record: CollectionRecord, embedding: Mapping[str, JSON]) -> CollectionRecord:
    """Note by which settings the model of the generation beside is opened from now on; return it.

    Raises:
        NotFound: it was dropped, or switched to, meanwhile.
    """
    return _noted(connection, record, embedding=dict(embedding))


def advance(connection: Connection, record: CollectionRecord, state: State) -> CollectionRecord:
    """Note how far the generation beside is; return it.

    Raises:
        NotFound: it was dropped, or switched to, meanwhile.
    """
    return _noted(connection, record, state=state)


def _noted(connection: Connection, record: CollectionRecord, **values: object) -> CollectionRecord:
    mine = besides.c.collection_id == record.id, besides.c.line == record.line
    if not connection.execute(update(besides).where(*mine).values(**values)).rowcount:
        raise NotFound(
            f"The generation that was built beside collection {record.name!r} is not there any more.",
            hint="Another process dropped it or switched to it; see: pinakes status",
        )
    return require(connection, record.name)


def swap(
    connection: Connection, name: str, state: State, embedding: Mapping[str, JSON] | None
) -> tuple[CollectionRecord, CollectionRecord]:
    """Let the generation beside answer and put the other beside it in this ``state``; return both as they are then.

    ``embedding`` are the settings of the model that answered until now, None where those of the home decide.
    """
    now, other = get(connection, name), require(connection, name)
    connection.execute(
        update(collections)
        .where(collections.c.id == now.id)
        .values(model_id=other.model_id, generation=other.generation, embedding=other.embedding, line=other.line)
    )
    connection.execute(
        update(besides)
        .where(besides.c.collection_id == now.id)
        .values(model_id=now.model_id, generation=now.generation, embedding=embedding, line=now.line, state=state)
    )
    return get(connection, name), require(connection, name)


def drop(connection: Connection, record: CollectionRecord, usual: str | None = None) -> None:
    """Forget the generation ``record`` beside a collection; its vectors stay until ``drop_vectors``.

    What answers has its model from the settings again if it is the first there was, and theirs is that model: the
    fingerprint of theirs is ``usual``.
    """
    mine = besides.c.collection_id == record.id, besides.c.line == record.line
    connection.execute(delete(besides).where(*mine))
    answering = get(connection, record.name)
    if answering.line == 0 and answering.fingerprint == usual:
        connection.execute(update(collections).where(collections.c.id == record.id).values(embedding=None))


def drop_vectors(connection: Connection, model_id: int | None) -> int:
    """Remove some of the vectors of a model that no generation of any collection has; return how many.

    Called until it returns 0, each time in a transaction of its own, it removes all.
    """
    used = or_(
        exists().where(collections.c.model_id == model_id),
        exists().where(besides.c.model_id == model_id),
    )
    some = select(embeddings.c.id).where(embeddings.c.model_id == model_id, ~used).limit(_DROPPED_AT_ONCE)
    return connection.execute(delete(embeddings).where(embeddings.c.id.in_(some))).rowcount
