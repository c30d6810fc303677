"""Relations as edges between canonical entities, and the places that state them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, case, func, or_, select, update

from pinakes.catalog.batched_rows import rows_among
from pinakes.catalog.dialects.functions import id_list
from pinakes.catalog.relation_ends import (
    AS_WRITTEN,
    CANONICAL,
    IS_EDGE,
    SOURCE,
    SOURCE_ID,
    TARGET,
    TARGET_ID,
    by_sureness,
    chunk_of,
)
from pinakes.catalog.schema import documents, entities, entity_mentions, entity_relations
from pinakes.core.batching import batches
from pinakes.core.graph_records import WEAK

_BATCH = 400
CONTEXT_BEFORE = 60
CONTEXT_CHARS = 200


@dataclass(frozen=True, slots=True)
class Edge:
    """A relation between two canonical entities, as stated in ``statements`` places; ``confidence`` of the surest."""

    source_id: int
    type: str
    target_id: int
    confidence: float
    statements: int

    @property
    def key(self) -> tuple[int, str, int]:
        """What tells it from other edges: source, type and target."""
        return self.source_id, self.type, self.target_id


@dataclass(frozen=True, slots=True)
class Evidence:
    """A place of a document that states a relation or mentions an entity.

    ``chunk_id``: the chunk that holds it, None where the document says it in its metadata. ``text``: its words;
    ``context``: at most 200 characters around them. ``field``: the metadata field that says it; ``text`` is then
    "FIELD: VALUE".
    """

    document_id: int
    uid: str
    path: str
    title: str
    start: int
    end: int
    chunk_id: int | None
    text: str
    context: str
    confidence: float
    extractor: str
    field: str = ""


def edges(
    connection: Connection,
    entity_ids: Collection[int],
    types: Collection[str] = (),
    direction: str = "both",
    min_confidence: float = 0.0,
) -> list[Edge]:
    """Return the edges of these canonical entities: "out" from them, "in" to them, or "both"; the surest first.

    Weak ones are among them only where ``types`` names these.
    """
    of_types = entity_relations.c.type.in_(sorted(types)) if types else entity_relations.c.type.not_in(sorted(WEAK))
    found = dict[tuple[int, str, int], Edge]()
    for some in batches(sorted(set(entity_ids)), _BATCH):
        members = name_ids(some)
        for column in _ENDS[direction]:
            for row in connection.execute(_EDGES.where(column.in_(members), of_types)):
                edge = Edge(*row)
                found[edge.key] = edge
    return sorted((one for one in found.values() if one.confidence >= min_confidence), key=sureness)


def sureness(one: Edge) -> tuple[float, int, str, int, int]:
    """Return what orders edges: the surest first, then those that most places state."""
    return -one.confidence, -one.statements, one.type, one.source_id, one.target_id


def all_edges(connection: Connection, collection_id: int) -> list[Edge]:
    """Return the edges of a collection."""
    of_collection = entity_relations.c.document_id.in_(
        select(documents.c.id).where(documents.c.collection_id == collection_id)
    )
    return [Edge(*row) for row in connection.execute(_EDGES.where(of_collection))]


def statements(
    connection: Connection, found: Sequence[Edge], limit: int = 5
) -> dict[tuple[int, str, int], list[Evidence]]:
    """Return source, type and target of each edge → at most ``limit`` places that state it, the surest first."""
    wanted = {one.key for one in found}
    ids: dict[int, tuple[int, str, int]] = {}
    hubs = _hubs(found)
    for some in batches(hubs, _BATCH):
        members = name_ids(some)
        near = or_(entity_relations.c.source_id.in_(members), entity_relations.c.target_id.in_(members))
        ranked = _RANKED.where(near, entity_relations.c.type.in_(sorted({one.type for one in found}))).subquery()
        query = select(ranked).where(ranked.c.place <= limit).order_by(ranked.c.id)
        ids |= {
            row.id: key for row in connection.execute(query) if (key := (row.source, row.type, row.target)) in wanted
        }
    places: dict[tuple[int, str, int], list[Evidence]] = {one.key: [] for one in found}
    table = entity_relations
    query = _places(table).add_columns(table.c.id).order_by(*by_sureness(table))
    for row in rows_among(connection, query, table.c.id, sorted(ids)):
        places[ids[row[-1]]].append(Evidence(*row[:-1]))
    return places


def _hubs(found: Sequence[Edge]) -> list[int]:
    """Return few entities that all these edges have at an end."""
    counts = Counter(end for one in found for end in (one.source_id, one.target_id))
    return sorted({max((one.source_id, one.target_id), key=lambda end: (counts[end], -end)) for one in found})


def statements_until(
    connection: Connection, entity_id: int, until: str, limit: int
) -> list[tuple[int, str, int, Evidence]]:
    """Return (source id, type, target id, place) of the relations of an entity, of documents unchanged since a time."""
    members = name_ids([entity_id])
    table = entity_relations
    query = (
        select(SOURCE.c.id, table.c.type, TARGET.c.id, *_evidence(table))
        .select_from(CANONICAL.join(documents, documents.c.id == table.c.document_id))
        .where(or_(table.c.source_id.in_(members), table.c.target_id.in_(members)), documents.c.updated_at <= until)
        .where(*IS_EDGE)
        .order_by(*by_sureness(table))
        .limit(limit)
    )
    return [(row[0], row[1], row[2], Evidence(*row[3:])) for row in connection.execute(query)]


def mentions(
    connection: Connection, entity_id: int, limit: int = 5, document_ids: Collection[int] | None = None
) -> list[Evidence]:
    """Return the places that mention a canonical entity: the surest of each document, those of many mentions first.

    ``document_ids``: of these documents only, None = of all.
    """
    table = entity_mentions
    some = () if document_ids is None else (table.c.document_id.in_(id_list(document_ids)),)
    best = (
        select(func.min(table.c.id).label("id"), func.count().label("places"))
        .where(table.c.entity_id.in_(name_ids([entity_id])), *some)
        .group_by(table.c.document_id)
        .order_by(func.count().desc(), table.c.document_id)
        .limit(limit)
        .subquery()
    )
    query = _places(table).join(best, best.c.id == table.c.id)
    rows = connection.execute(query.order_by(best.c.places.desc(), table.c.document_id))
    return [Evidence(*row) for row in rows]


def check_types(
    connection: Connection,
    collection_id: int,
    ends: Mapping[str, tuple[Collection[str], Collection[str]]],
    touched: Collection[int] | None,
) -> None:
    """Note which relations have ends of such types as they may have; of entities ``touched`` only, None = of all.

    ``ends``: type of a relation → the types of its sources and of its targets, none = any.
    """
    table, changed = entity_relations, {0: set[int](), 1: set[int]()}
    every = (
        select(table.c.id, table.c.type, SOURCE.c.type, TARGET.c.type, table.c.fits)
        .select_from(CANONICAL)
        .where(SOURCE.c.collection_id == collection_id, table.c.type.in_(sorted(ends)))
        .order_by(table.c.id)
    )
    some = None if touched is None else id_list(touched)
    queries = [every] if some is None else [every.where(end.in_(some)) for end in _ENDS["both"]]
    for row in (row for query in queries for row in connection.execute(query)):
        sources, targets = ends[row[1]]
        fits = int((not sources or row[2] in sources) and (not targets or row[3] in targets))
        if fits != row.fits:
            changed[fits].add(row.id)
    for fits, ids in changed.items():
        if ids:
            connection.execute(update(table).where(table.c.id.in_(id_list(ids))).values(fits=fits))


def mentions_until(connection: Connection, entity_id: int, until: str, limit: int) -> list[Evidence]:
    """Return the places that mention an entity, of documents that did not change since a time, the surest first."""
    table = entity_mentions
    query = _places(table).where(table.c.entity_id.in_(name_ids([entity_id])), documents.c.updated_at <= until)
    rows = connection.execute(query.order_by(*by_sureness(table)).limit(limit))
    return [Evidence(*row) for row in rows]


def name_ids(entity_ids: Collection[int]) -> Select[tuple[int]]:
    """Return the query for the ids of canonical entities and of those that are other names of them."""
    some = sorted(set(entity_ids))
    return select(entities.c.id).where(or_(entities.c.id.in_(some), entities.c.canonical_id.in_(some)))


def _places(table: Any) -> Select[Any]:
    return select(*_evidence(table)).join_from(table, documents, documents.c.id == table.c.document_id)


def _evidence(table: Any) -> Sequence[ColumnElement[Any]]:
    before = case((table.c.start > CONTEXT_BEFORE, table.c.start - CONTEXT_BEFORE), else_=0)
    return (
        documents.c.id,
        documents.c.uid,
        documents.c.path,
        documents.c.title,
        table.c.start,
        table.c.end,
        chunk_of(table),
        func.substr(documents.c.text, table.c.start + 1, table.c.end - table.c.start),
        func.substr(documents.c.text, before + 1, CONTEXT_CHARS),
        table.c.confidence,
        table.c.extractor,
    )


_EDGES = (
    select(SOURCE.c.id, entity_relations.c.type, TARGET.c.id, func.max(entity_relations.c.confidence), func.count())
    .select_from(CANONICAL)
    .where(*IS_EDGE)
    .group_by(SOURCE.c.id, entity_relations.c.type, TARGET.c.id)
    .order_by(SOURCE.c.id, entity_relations.c.type, TARGET.c.id)
)
_ENDS: dict[str, tuple[ColumnElement[int], ...]] = {
    "out": (entity_relations.c.source_id,),
    "in": (entity_relations.c.target_id,),
    "both": (entity_relations.c.source_id, entity_relations.c.target_id),
}
_RANKED = (
    select(
        entity_relations.c.id,
        SOURCE_ID.label("source"),
        entity_relations.c.type,
        TARGET_ID.label("target"),
        func.row_number()
        .over(
            partition_by=(SOURCE_ID, entity_relations.c.type, TARGET_ID),
            order_by=by_sureness(entity_relations),
        )
        .label("place"),
    )
    .select_from(AS_WRITTEN)
    .where(entity_relations.c.fits == 1)
)
"""Places that state a relation of two canonical entities, numbered, the surest first."""


def types_stated(connection: Connection, collection_id: int) -> frozenset[str]:
    """Return the types of relations that documents of a collection state."""
    query = (
        select(entity_relations.c.type)
        .join_from(entity_relations, entities, entities.c.id == entity_relations.c.source_id)
        .where(entities.c.collection_id == collection_id)
        .distinct()
        .order_by(entity_relations.c.type)
    )
    return frozenset(connection.scalars(query))


def types_of_entity(connection: Connection, entity_id: int) -> dict[str, int]:
    """Return type → number of places that state such a relation of a canonical entity, most first; weak ones, too."""
    members, table = name_ids([entity_id]), entity_relations
    query = (
        select(table.c.type, func.count())
        .where(or_(table.c.source_id.in_(members), table.c.target_id.in_(members)), table.c.fits == 1)
        .group_by(table.c.type)
        .order_by(func.count().desc(), table.c.type)
    )
    return {row[0]: row[1] for row in connection.execute(query)}
