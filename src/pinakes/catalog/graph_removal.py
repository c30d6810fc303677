"""Takes the graph of a collection away."""

from __future__ import annotations

from sqlalchemy import Connection, delete, select

from pinakes.catalog.schema import (
    documents,
    entities,
    entity_aliases,
    entity_mentions,
    entity_relations,
    extractions,
    graphs,
)


def remove(connection: Connection, collection_id: int) -> int:
    """Remove what documents and lists say of a graph, and return how many entities went.

    Decisions on names stay, since nothing but people can make them again.
    """
    own = select(documents.c.id).where(documents.c.collection_id == collection_id)
    for table in (entity_mentions, entity_relations, extractions):
        connection.execute(delete(table).where(table.c.document_id.in_(own)))
    for held in (entity_aliases, graphs):
        connection.execute(delete(held).where(held.c.collection_id == collection_id))
    return connection.execute(delete(entities).where(entities.c.collection_id == collection_id)).rowcount
