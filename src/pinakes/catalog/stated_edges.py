"""Relations as edges between canonical entities, and the places that state them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, and_, case, func, or_, select, true, update

from pinakes.catalog.schema import chunks, documents, entities, entity_mentions, entity_relations
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
    wanted, found = sorted(set(entity_ids)), dict[tuple[int, str, int], Edge]()
    for start in range(0, len(wanted), _BATCH):
        some = wanted[start : start + _BATCH]
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
    for start in range(0, len(hubs), _BATCH):
        members = name_ids(hubs[start : start + _BATCH])
        near = or_(entity_relations.c.source_id.in_(members), entity_relations.c.target_id.in_(members))
        ranked = _RANKED.where(near, entity_relations.c.type.in_(sorted({one.type for one in found}))).subquery()
        query = select(ranked).where(ranked.c.place <= limit).order_by(ranked.c.id)
        ids |= {
            row.id: key for row in connection.execute(query) if (key := (row.source, row.type, row.target)) in wanted
        }
    places: dict[tuple[int, str, int], list[Evidence]] = {one.key: [] for one in found}
    numbers = sorted(ids)
    for start in range(0, len(numbers), _BATCH):
        table = entity_relations
        query = _evidence(table).add_columns(table.c.id).where(table.c.id.in_(numbers[start : start + _BATCH]))
        for row in connection.execute(query.order_by(table.c.confidence.desc(), table.c.id)):
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
        _evidence(table)
        .add_columns(_SOURCE_OF.c.id, table.c.type, _TARGET_OF.c.id)
        .join(_SOURCE, _SOURCE.c.id == table.c.source_id)
        .join(_TARGET, _TARGET.c.id == table.c.target_id)
        .join(_SOURCE_OF, _SOURCE_OF.c.id == _SOURCE_ID)
        .join(_TARGET_OF, _TARGET_OF.c.id == _TARGET_ID)
        .where(or_(table.c.source_id.in_(members), table.c.target_id.in_(members)), documents.c.updated_at <= until)
        .where(table.c.fits == 1, _SOURCE_OF.c.type != "", _TARGET_OF.c.type != "", _SOURCE_OF.c.id != _TARGET_OF.c.id)
        .order_by(table.c.confidence.desc(), table.c.id)
        .limit(limit)
    )
    return [(row[-3], row[-2], row[-1], Evidence(*row[:-3])) for row in connection.execute(query)]


def mentions(connection: Connection, entity_id: int, limit: int = 5) -> list[Evidence]:
    """Return the places that mention a canonical entity: the surest of each document, those of many mentions first."""
    table = entity_mentions
    best = (
        select(func.min(table.c.id).label("id"), func.count().label("places"))
        .where(table.c.entity_id.in_(name_ids([entity_id])))
        .group_by(table.c.document_id)
        .order_by(func.count().desc(), func.min(table.c.id))
        .limit(limit)
        .subquery()
    )
    query = _evidence(table).join(best, best.c.id == table.c.id)
    rows = connection.execute(query.order_by(best.c.places.desc(), table.c.id))
    return [Evidence(*row) for row in rows]


def check_types(
    connection: Connection, collection_id: int, relation: str, sources: Collection[str], targets: Collection[str]
) -> None:
    """Note which relations of a type have ends of such types; none = of any type."""
    table = entity_relations
    wanted = [
        (column, types) for column, types in ((table.c.source_id, sources), (table.c.target_id, targets)) if types
    ]
    tests = [column.in_(_of_types(collection_id, types)) for column, types in wanted]
    of_collection = table.c.document_id.in_(select(documents.c.id).where(documents.c.collection_id == collection_id))
    fits = case((and_(true(), *tests), 1), else_=0)
    connection.execute(
        update(table).where(table.c.type == relation, of_collection, table.c.fits != fits).values(fits=fits)
    )


def _of_types(collection_id: int, types: Collection[str]) -> Select[tuple[int]]:
    """Return the ids of entities whose canonical entity has one of these types."""
    main = entities.alias("main")
    return (
        select(entities.c.id)
        .join_from(entities, main, main.c.id == func.coalesce(entities.c.canonical_id, entities.c.id))
        .where(entities.c.collection_id == collection_id, main.c.type.in_(sorted(types)))
    )


def mentions_until(connection: Connection, entity_id: int, until: str, limit: int) -> list[Evidence]:
    """Return the places that mention an entity, of documents that did not change since a time, the surest first."""
    table = entity_mentions
    query = _evidence(table).where(table.c.entity_id.in_(name_ids([entity_id])), documents.c.updated_at <= until)
    rows = connection.execute(query.order_by(table.c.confidence.desc(), table.c.id).limit(limit))
    return [Evidence(*row) for row in rows]


def documents_of(connection: Connection, entity_id: int, limit: int | None = None) -> list[tuple[int, int]]:
    """Return (document id, number of mentions) of the documents that mention a canonical entity, most first."""
    query = (
        select(entity_mentions.c.document_id, func.count())
        .where(entity_mentions.c.entity_id.in_(name_ids([entity_id])))
        .group_by(entity_mentions.c.document_id)
        .order_by(func.count().desc(), entity_mentions.c.document_id)
        .limit(limit)
    )
    return [(row[0], row[1]) for row in connection.execute(query)]


def name_ids(entity_ids: Collection[int]) -> Select[tuple[int]]:
    """Return the query for the ids of canonical entities and of those that are other names of them."""
    some = sorted(set(entity_ids))
    return select(entities.c.id).where(or_(entities.c.id.in_(some), entities.c.canonical_id.in_(some)))


def _evidence(table: Any) -> Select[Any]:
    chunk = (
        select(func.min(chunks.c.id))
        .where(
            chunks.c.document_id == table.c.document_id,
            chunks.c.start <= table.c.start,
            chunks.c.end > table.c.start,
            table.c.end > table.c.start,
        )
        .scalar_subquery()
    )
    before = case((table.c.start > CONTEXT_BEFORE, table.c.start - CONTEXT_BEFORE), else_=0)
    return select(
        documents.c.id,
        documents.c.uid,
        documents.c.path,
        documents.c.title,
        table.c.start,
        table.c.end,
        chunk,
        func.substr(documents.c.text, table.c.start + 1, table.c.end - table.c.start),
        func.substr(documents.c.text, before + 1, CONTEXT_CHARS),
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
    .where(
        entity_relations.c.fits == 1,
        _SOURCE_OF.c.type != "",
        _TARGET_OF.c.type != "",
        _SOURCE_OF.c.id != _TARGET_OF.c.id,
    )
    .group_by(_SOURCE_OF.c.id, entity_relations.c.type, _TARGET_OF.c.id)
    .order_by(_SOURCE_OF.c.id, entity_relations.c.type, _TARGET_OF.c.id)
)
_ENDS: dict[str, tuple[ColumnElement[int], ...]] = {
    "out": (entity_relations.c.source_id,),
    "in": (entity_relations.c.target_id,),
    "both": (entity_relations.c.source_id, entity_relations.c.target_id),
}
_RANKED = (
    select(
        entity_relations.c.id,
        _SOURCE_ID.label("source"),
        entity_relations.c.type,
        _TARGET_ID.label("target"),
        func.row_number()
        .over(
            partition_by=(_SOURCE_ID, entity_relations.c.type, _TARGET_ID),
            order_by=(entity_relations.c.confidence.desc(), entity_relations.c.id),
        )
        .label("place"),
    )
    .select_from(
        entity_relations.join(_SOURCE, _SOURCE.c.id == entity_relations.c.source_id).join(
            _TARGET, _TARGET.c.id == entity_relations.c.target_id
        )
    )
    .where(entity_relations.c.fits == 1)
)
"""Places that state a relation of two canonical entities, numbered, the surest first."""
