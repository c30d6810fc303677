"""Relations as edges between canonical entities, and the places that state them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, func, or_, select

from pinakes.catalog.schema import chunks, documents, entities, entity_mentions, entity_relations

_BATCH = 400


@dataclass(frozen=True, slots=True)
class Edge:
    """A relation between two canonical entities, as stated in ``statements`` places; ``confidence`` of the surest."""

    source_id: int
    type: str
    target_id: int
    confidence: float
    statements: int


@dataclass(frozen=True, slots=True)
class Evidence:
    """A place of a document that states a relation or mentions an entity.

    ``chunk_id``: the chunk that holds it, None where the document says it in its metadata. ``text``: its words.
    """

    document_id: int
    uid: str
    path: str
    title: str
    start: int
    end: int
    chunk_id: int | None
    text: str
    confidence: float
    extractor: str


def edges(
    connection: Connection,
    entity_ids: Collection[int],
    types: Collection[str] = (),
    direction: str = "both",
    min_confidence: float = 0.0,
) -> list[Edge]:
    """Return the edges of these canonical entities: "out" from them, "in" to them, or "both"; the surest first."""
    wanted, found = sorted(set(entity_ids)), dict[tuple[int, str, int], Edge]()
    for start in range(0, len(wanted), _BATCH):
        some = wanted[start : start + _BATCH]
        members = select(entities.c.id).where(or_(entities.c.id.in_(some), entities.c.canonical_id.in_(some)))
        for column in _ENDS[direction]:
            query = _EDGES.where(column.in_(members))
            if types:
                query = query.where(entity_relations.c.type.in_(sorted(types)))
            for row in connection.execute(query):
                edge = Edge(*row)
                found[edge.source_id, edge.type, edge.target_id] = edge
    kept = (one for one in found.values() if one.confidence >= min_confidence)
    return sorted(kept, key=lambda one: (-one.confidence, -one.statements, one.type, one.source_id, one.target_id))


def all_edges(connection: Connection, collection_id: int) -> list[Edge]:
    """Return the edges of a collection."""
    of_collection = entity_relations.c.document_id.in_(
        select(documents.c.id).where(documents.c.collection_id == collection_id)
    )
    return [Edge(*row) for row in connection.execute(_EDGES.where(of_collection))]


def statements(connection: Connection, edge: Edge, limit: int = 5) -> list[Evidence]:
    """Return the places that state an edge, the surest first."""
    table = entity_relations
    query = _evidence(table).where(
        table.c.type == edge.type,
        table.c.source_id.in_(_members(edge.source_id)),
        table.c.target_id.in_(_members(edge.target_id)),
    )
    rows = connection.execute(query.order_by(table.c.confidence.desc(), table.c.id).limit(limit))
    return [Evidence(*row) for row in rows]


def mentions(connection: Connection, entity_id: int, limit: int = 5) -> list[Evidence]:
    """Return the places that mention a canonical entity: the surest of each document, those of many mentions first."""
    table = entity_mentions
    best = (
        select(func.min(table.c.id).label("id"), func.count().label("places"))
        .where(table.c.entity_id.in_(_members(entity_id)))
        .group_by(table.c.document_id)
        .order_by(func.count().desc(), func.min(table.c.id))
        .limit(limit)
        .subquery()
    )
    query = _evidence(table).join(best, best.c.id == table.c.id)
    rows = connection.execute(query.order_by(best.c.places.desc(), table.c.id))
    return [Evidence(*row) for row in rows]


def documents_of(connection: Connection, entity_id: int, limit: int | None = None) -> list[tuple[int, int]]:
    """Return (document id, number of mentions) of the documents that mention a canonical entity, most first."""
    query = (
        select(entity_mentions.c.document_id, func.count())
        .where(entity_mentions.c.entity_id.in_(_members(entity_id)))
        .group_by(entity_mentions.c.document_id)
        .order_by(func.count().desc(), entity_mentions.c.document_id)
        .limit(limit)
    )
    return [(row[0], row[1]) for row in connection.execute(query)]


def _members(entity_id: int) -> Select[tuple[int]]:
    return select(entities.c.id).where(or_(entities.c.id == entity_id, entities.c.canonical_id == entity_id))


def _evidence(table: Any) -> Select[Any]:
    chunk = (
        select(func.min(chunks.c.id))
        .where(
            chunks.c.document_id == table.c.document_id, chunks.c.start <= table.c.start, chunks.c.end > table.c.start
        )
        .scalar_subquery()
    )
    return select(
        documents.c.id,
        documents.c.uid,
        documents.c.path,
        documents.c.title,
        table.c.start,
        table.c.end,
        chunk,
        func.substr(documents.c.text, table.c.start + 1, table.c.end - table.c.start),
        table.c.confidence,
        table.c.extractor,
    ).join_from(table, documents, documents.c.id == table.c.document_id)


_SOURCE, _TARGET = entities.alias("source"), entities.alias("target")
_SOURCE_ID = func.coalesce(_SOURCE.c.canonical_id, _SOURCE.c.id)
_TARGET_ID = func.coalesce(_TARGET.c.canonical_id, _TARGET.c.id)
_SOURCE_OF, _TARGET_OF = entities.alias("source_of"), entities.alias("target_of")
_EDGES = (
    select(
        _SOURCE_OF.c.id,
        entity_relations.c.type,
        _TARGET_OF.c.id,
        func.max(entity_relations.c.confidence),
        func.count(),
    )
    .select_from(
        entity_relations.join(_SOURCE, _SOURCE.c.id == entity_relations.c.source_id)
        .join(_TARGET, _TARGET.c.id == entity_relations.c.target_id)
        .join(_SOURCE_OF, _SOURCE_OF.c.id == _SOURCE_ID)
        .join(_TARGET_OF, _TARGET_OF.c.id == _TARGET_ID)
    )
    .where(_SOURCE_OF.c.type != "", _TARGET_OF.c.type != "", _SOURCE_OF.c.id != _TARGET_OF.c.id)
    .group_by(_SOURCE_OF.c.id, entity_relations.c.type, _TARGET_OF.c.id)
    .order_by(_SOURCE_OF.c.id, entity_relations.c.type, _TARGET_OF.c.id)
)
_ENDS: dict[str, tuple[ColumnElement[int], ...]] = {
    "out": (entity_relations.c.source_id,),
    "in": (entity_relations.c.target_id,),
    "both": (entity_relations.c.source_id, entity_relations.c.target_id),
}
