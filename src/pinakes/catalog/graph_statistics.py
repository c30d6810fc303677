"""Counts of the graph of a collection."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, func, select

from pinakes.catalog.schema import documents, entities, entity_mentions, extractions


@dataclass(frozen=True, slots=True)
class GraphCounts:
    """See ``services.graph_report.GraphReport``."""

    documents: int
    documents_with_entity: int
    candidates: int
    merged: int
    left_out: int


def counts(connection: Connection, collection_id: int) -> GraphCounts:
    """Return the counts of a collection."""
    own = entities.c.collection_id == collection_id
    main = entities.alias("main")
    typed = (
        select(func.count(entity_mentions.c.document_id.distinct()))
        .join_from(entity_mentions, entities, entities.c.id == entity_mentions.c.entity_id)
        .join(main, main.c.id == func.coalesce(entities.c.canonical_id, entities.c.id))
        .where(own, main.c.type != "")
    )
    candidates = select(func.count()).where(own, entities.c.type == "", entities.c.canonical_id.is_(None))
    merged = (
        select(func.count())
        .join_from(entities, main, main.c.id == entities.c.canonical_id)
        .where(own, main.c.type != "", entities.c.type == main.c.type)
    )
    left_out = (
        select(func.coalesce(func.sum(extractions.c.left_out), 0))
        .join_from(extractions, documents, documents.c.id == extractions.c.document_id)
        .where(documents.c.collection_id == collection_id)
    )
    every = select(func.count()).where(documents.c.collection_id == collection_id)
    values = [int(connection.scalar(query) or 0) for query in (every, typed, candidates, merged, left_out)]
    return GraphCounts(*values)


def frequent_candidates(connection: Connection, collection_id: int, limit: int) -> list[tuple[str, str, int]]:
    """Return names without a type that most documents mention, as ("", name, documents)."""
    query = (
        select(entities.c.type, entities.c.name, entities.c.documents)
        .where(entities.c.collection_id == collection_id, entities.c.type == "", entities.c.canonical_id.is_(None))
        .order_by(entities.c.documents.desc(), entities.c.name)
        .limit(limit)
    )
    return [(row[0], row[1], row[2]) for row in connection.execute(query)]
