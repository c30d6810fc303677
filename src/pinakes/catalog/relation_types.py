"""Which types of relations there are: in a collection, and of one entity."""

from __future__ import annotations

from sqlalchemy import Connection, func, or_, select

from pinakes.catalog.schema import entities, entity_relations
from pinakes.catalog.stated_edges import name_ids


def stated(connection: Connection, collection_id: int) -> frozenset[str]:
    """Return the types of relations that documents of a collection state."""
    query = (
        select(entity_relations.c.type)
        .join_from(entity_relations, entities, entities.c.id == entity_relations.c.source_id)
        .where(entities.c.collection_id == collection_id)
        .distinct()
        .order_by(entity_relations.c.type)
    )
    return frozenset(connection.scalars(query))


def of_entity(connection: Connection, entity_id: int) -> dict[str, int]:
    """Return type → number of places that state such a relation of a canonical entity, most first; weak ones, too."""
    members, table = name_ids([entity_id]), entity_relations
    query = (
        select(table.c.type, func.count())
        .where(or_(table.c.source_id.in_(members), table.c.target_id.in_(members)), table.c.fits == 1)
        .group_by(table.c.type)
        .order_by(func.count().desc(), table.c.type)
    )
    return {row[0]: row[1] for row in connection.execute(query)}
