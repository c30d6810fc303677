"""The entities that changed documents mention, and what was derived for each, so that only these are updated."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from sqlalchemy import ColumnElement, Connection, bindparam, delete, func, literal_column, select, union

from pinakes.catalog.dialects.functions import among, id_list, json_ids
from pinakes.catalog.dialects.inserts import insert_values
from pinakes.catalog.schema import (
    changes,
    entities,
    entity_changes,
    entity_facts,
    entity_mentions,
    entity_relations,
)
from pinakes.catalog.schema.types import ID
from pinakes.core.graph_records import CODE_TYPES

MOST_DOCUMENTS: Final = 500
MOST_ENTITIES: Final = 20_000
"""Where more changed, everything is computed anew, which then is faster."""

MOST_NOTES: Final = 100_000
"""So many notes are read, of which one entity may have several: where there are more, everything is computed anew."""


class EntityFact(NamedTuple):
    """How often one clue (``extractor``) was found for an entity: in so many documents and places."""

    entity_id: int
    extractor: str
    documents: int
    mentions: int
    confidence: float


@dataclass(frozen=True, slots=True)
class Touched:
    """The entities that changed documents mention or did, None for all; ``notes``: the rows that told some of them.

    They are ranges of ids, the last included, in which no other id is: in PostgreSQL a writer may commit a lower id
    later.
    """

    entities: frozenset[int] | None = None
    notes: Sequence[tuple[int, int]] = ()

    def sql(self, column: ColumnElement[int]) -> list[ColumnElement[bool]]:
        """Return the tests for a column to be one of the entities: none for all."""
        return [] if self.entities is None else [column.in_(id_list(self.entities))]


def note_document(connection: Connection, collection_id: int, document_id: int) -> None:
    """Note the entities of what a document says, before that is removed, or where ``changes`` does not tell of it."""
    connection.execute(_NOTE_DOCUMENT, {"collection": collection_id, "document": document_id})


def note(connection: Connection, collection_id: int, entity_ids: Collection[int]) -> None:
    """Note entities of which mentions or relations changed without their documents."""
    rows = [(collection_id, one) for one in sorted(entity_ids)]
    insert_values(connection, entity_changes, ("collection_id", "entity_id"), rows)


def newest(connection: Connection, collection_id: int) -> int:
    """Return the highest id of the entities of a collection, 0 where there is none."""
    return int(connection.scalar(select(func.max(entities.c.id)).where(entities.c.collection_id == collection_id)) or 0)


def since(connection: Connection, collection_id: int, position: int, entity_id: int) -> Touched:
    """Return what changed since the change ``position`` and the entity ``entity_id``; all if that is 0, or too much."""
    ranges = connection.execute(_NOTE_RANGES, {"collection": collection_id})
    notes = [(row[0], row[1]) for row in ranges]
    found = _touched(connection, collection_id, position, entity_id) if position else None
    return Touched(found, notes)


def _touched(connection: Connection, collection_id: int, position: int, entity_id: int) -> frozenset[int] | None:
    written = select(changes.c.document_id).where(
        changes.c.collection_id == collection_id, changes.c.seq > position, changes.c.op == "put"
    )
    ids = connection.scalars(written.order_by(changes.c.seq).limit(MOST_DOCUMENTS + 1)).all()
    if len(ids) > MOST_DOCUMENTS:
        return None
    noted = select(entity_changes.c.entity_id).where(entity_changes.c.collection_id == collection_id)
    rows = connection.scalars(noted.order_by(entity_changes.c.id).limit(MOST_NOTES + 1)).all()
    if len(rows) > MOST_NOTES:
        return None
    made = select(entities.c.id).where(entities.c.collection_id == collection_id, entities.c.id > entity_id)
    found = frozenset(rows).union(
        connection.scalars(_NAMED, {"ids": json.dumps(list(ids))}),
        connection.scalars(made.order_by(entities.c.id).limit(MOST_ENTITIES + 1)),
    )
    return None if len(found) > MOST_ENTITIES else found


def is_any(connection: Connection, collection_id: int) -> bool:
    """Say whether there is a note of a change that was not followed."""
    noted = select(entity_changes.c.id).where(entity_changes.c.collection_id == collection_id)
    return connection.scalar(noted.limit(1)) is not None


def forget(connection: Connection, touched: Touched) -> None:
    """Forget the notes of changes that were followed."""
    if touched.notes:
        connection.execute(_FORGET, [{"first": first, "last": last} for first, last in touched.notes])


def facts(connection: Connection, collection_id: int, touched: Touched) -> tuple[list[EntityFact], list[EntityFact]]:
    """Return what was found for each entity by clue: of those ``touched``, and of the others as it was found before.

    Without those of code.
    """
    table = entity_mentions
    now = (
        select(
            table.c.entity_id,
            table.c.extractor,
            func.count(table.c.document_id.distinct()),
            func.count(),
            func.max(table.c.confidence),
        )
        .join_from(table, entities, entities.c.id == table.c.entity_id)
        .where(entities.c.collection_id == collection_id, _IS_PROSE, *touched.sql(table.c.entity_id))
        .group_by(table.c.entity_id, table.c.extractor)
    )
    found = [EntityFact._make(row) for row in connection.execute(now.order_by(table.c.entity_id, table.c.extractor))]
    if touched.entities is None:
        return found, []
    before = connection.execute(_KNOWN, {"collection": collection_id})
    return found, [EntityFact._make(row) for row in before if row[0] not in touched.entities]


def put_facts(connection: Connection, collection_id: int, touched: Touched, found: Sequence[EntityFact]) -> None:
    """Have exactly these facts of the entities ``touched``."""
    of_collection = select(entities.c.id).where(entities.c.collection_id == collection_id)
    if touched.entities is not None:
        of_collection = of_collection.where(entities.c.id.in_(id_list(touched.entities)))
    connection.execute(delete(entity_facts).where(entity_facts.c.entity_id.in_(of_collection)))
    insert_values(connection, entity_facts, EntityFact._fields, found)


_NUMBERED: Final = (
    select(
        entity_changes.c.id,
        (entity_changes.c.id - func.row_number().over(order_by=entity_changes.c.id)).label("range"),
    )
    .where(entity_changes.c.collection_id == bindparam("collection"))
    .subquery()
)
_NOTE_RANGES: Final = (
    select(func.min(_NUMBERED.c.id), func.max(_NUMBERED.c.id))
    .group_by(_NUMBERED.c.range)
    .order_by(func.min(_NUMBERED.c.id))
)
_FORGET: Final = delete(entity_changes).where(entity_changes.c.id.between(bindparam("first"), bindparam("last")))
_IS_PROSE: Final = entities.c.type.not_in(sorted(CODE_TYPES))
_KNOWN: Final = (
    select(*(entity_facts.c[name] for name in EntityFact._fields))
    .join_from(entity_facts, entities, entities.c.id == entity_facts.c.entity_id)
    .where(entities.c.collection_id == bindparam("collection"))
    .order_by(entity_facts.c.entity_id, entity_facts.c.extractor)
)


def _named(documents: Any, *first: ColumnElement[Any]) -> Any:
    """Return the query for the entities that documents mention or relate, behind the columns ``first``."""
    columns = (entity_mentions.c.entity_id, entity_relations.c.source_id, entity_relations.c.target_id)
    return union(*(select(*first, column).where(documents(column.table.c.document_id)) for column in columns))


_NAMED: Final = _named(lambda column: among(column, json_ids("ids")))
_OF_DOCUMENT: Final = _named(lambda column: column == bindparam("document"), bindparam("collection", type_=ID))
_NOTE_DOCUMENT: Final = entity_changes.insert().from_select(
    ["collection_id", "entity_id"], _OF_DOCUMENT.order_by(literal_column("2"))
)
