"""Queries of the graph for searches: names in a question, relations of entities, chunks that mention them.

Each function is one statement, whatever the number of entities, since each is a round trip in PostgreSQL.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, NamedTuple

from sqlalchemy import (
    BindParameter,
    Connection,
    Select,
    and_,
    bindparam,
    func,
    or_,
    select,
    union_all,
)

from pinakes.catalog.relation_ends import by_sureness, is_alias_of, is_held, words_of
from pinakes.catalog.schema import chunks, documents, entities, entity_aliases, entity_mentions, entity_relations
from pinakes.core.graph_records import DOCUMENT, WEAK

MOST_ROWS: Final = 2_000
"""So many relations of a statement are looked at, the surest first."""


_MOST_NAMES: Final = 50_000
"""So many names of one kind are compared with one that nothing has."""


@dataclass(frozen=True, slots=True)
class NamedEntity:
    """A canonical entity under one of its names, ``folded``."""

    folded: str
    id: int
    type: str
    name: str
    documents: int


class Hop(NamedTuple):
    """A relation between two canonical entities; ``statement``: the id of the row of the surest place."""

    source_id: int
    type: str
    target_id: int
    confidence: float
    statements: int
    statement: int


@dataclass(frozen=True, slots=True)
class MentioningChunk:
    """A chunk whose text names an entity."""

    entity_id: int
    chunk_id: int
    document_id: int
    confidence: float


@dataclass(frozen=True, slots=True)
class Statement:
    """The place of a relation, in which chunk of which document, and its words.

    ``chunk_id`` and ``ordinal`` are None, and ``text`` is "", where the document states it outside of its text:
    ``extractor`` says where, as "metadata:FIELD".
    """

    id: int
    chunk_id: int | None
    ordinal: int | None
    document_id: int
    uid: str
    group_key: str
    path: str
    text: str
    extractor: str = ""


def called(connection: Connection, collection_id: int, names: Collection[str]) -> list[NamedEntity]:
    """Return the entities and topics that are called by any of these folded names, or have such an alias."""
    rows = connection.execute(_CALLED, {"collection": collection_id, "names": sorted(names)}) if names else ()
    return list(dict.fromkeys(NamedEntity(*row) for row in rows))


def all_names(connection: Connection, collection_id: int, types: Collection[str]) -> list[NamedEntity]:
    """Return all names of the entities of these types."""
    some = _MAIN.c.type.in_(sorted(types))
    by_name = _NAMES.where(some, _OF.c.collection_id == collection_id)
    every = union_all(by_name, _ALIASES.where(some, entity_aliases.c.collection_id == collection_id)).subquery()
    query = select(every).order_by(every.c.documents.desc(), every.c.id, every.c.folded)
    return list(dict.fromkeys(NamedEntity(*row) for row in connection.execute(query)))


def similar_names(
    connection: Connection, collection_id: int, types: Collection[str], near: str, most: int = _MOST_NAMES
) -> list[tuple[str, int]]:
    """Return (folded name, id) of names of the entities of these types, to compare with the folded name ``near``.

    Of more than ``most`` those that begin with the same two letters, in any case, and the oldest.
    """
    begin = near[:2]
    of_types = _MAIN.c.type.in_(sorted(types))
    named = _NAMES.where(of_types, _OF.c.collection_id == collection_id)
    alike = [
        named.where(_OF.c.folded >= one, _OF.c.folded <= f"{one}\U0010ffff").order_by(_OF.c.folded, _OF.c.id)
        for one in sorted({begin, begin.upper(), begin.capitalize()})
    ]
    listed = _ALIASES.where(of_types, entity_aliases.c.collection_id == collection_id).order_by(entity_aliases.c.id)
    queries = (*alike, named.order_by(_OF.c.id), listed)
    every = (row for query in queries for row in connection.execute(query.limit(most)))
    return list(dict.fromkeys((row[0], row[1]) for row in every))


def hops(
    connection: Connection,
    entity_ids: Collection[int],
    types: Collection[str] = (),
    direction: str = "both",
    min_confidence: float = 0.0,
    until: str = "",
) -> list[Hop]:
    """Return the relations of these canonical entities: "out" from them, "in" to them, or "both"; the surest first.

    ``until``: only those that documents state which did not change since that time.
    """
    if not entity_ids:
        return []
    asked: dict[str, Any] = {"ids": sorted(set(entity_ids)), "least": min_confidence}
    asked |= {"types": sorted(types)} if types else {}
    asked |= {"until": until} if until else {}
    query = _hops_query(direction, typed=bool(types), past=bool(until))
    return [Hop._make(row) for row in connection.execute(query, asked).all()]


@cache
def _hops_query(direction: str, *, typed: bool, past: bool) -> Select[Any]:
    """Return the statement of ``hops``, made once, since that takes longer than to run it."""
    some: BindParameter[Any] = bindparam("ids", expanding=True)
    members = select(entities.c.id).where(or_(entities.c.id.in_(some), entities.c.canonical_id.in_(some)))
    tests = [entity_relations.c.fits == 1, entity_relations.c.confidence >= bindparam("least")]
    of_type = entity_relations.c.type
    tests.append(of_type.in_(bindparam("types", expanding=True)) if typed else of_type.not_in(sorted(WEAK)))
    if past:
        tests.append(entity_relations.c.document_id.in_(_UNCHANGED))
    near = {one: _ENDS[one].in_(members) for one in (("out", "in") if direction == "both" else (direction,))}
    other = {"in": (~near["out"],)} if len(near) == 2 else {}  # so that each comes once
    rows = union_all(
        *(select(*_RELATION).where(is_near, *other.get(one, ()), *tests) for one, is_near in near.items())
    ).subquery()
    source, target = entities.alias(), entities.alias()
    source_id = func.coalesce(source.c.canonical_id, source.c.id)
    target_id = func.coalesce(target.c.canonical_id, target.c.id)
    of_hop = source_id, rows.c.type, target_id
    placed = (
        select(
            *(source_id.label("source"), rows.c.type, target_id.label("target"), rows.c.confidence),
            func.count().over(partition_by=of_hop).label("places"),
            rows.c.id,
            func.row_number().over(partition_by=of_hop, order_by=by_sureness(rows)).label("place"),
        )
        .select_from(rows.join(source, source.c.id == rows.c.source_id).join(target, target.c.id == rows.c.target_id))
        .where(source_id != target_id)
        .subquery()
    )
    one = placed.c
    return (
        select(one.source, one.type, one.target, one.confidence, one.places, one.id)
        .where(one.place == 1)
        .order_by(one.confidence.desc(), one.places.desc(), one.source, one.type, one.target)
        .limit(MOST_ROWS)
    )


def statements(connection: Connection, ids: Sequence[int]) -> dict[int, Statement]:
    """Return id → the place of these relations, with at most 200 characters of its words."""
    rows = connection.execute(_statements_query(), {"ids": sorted(set(ids))}) if ids else ()
    return {row[0]: Statement(*row) for row in rows}


@cache
def _statements_query() -> Select[Any]:
    table = entity_relations
    words = words_of(table, _MOST_CHARS)
    of_document = (documents.c.id, documents.c.uid, documents.c.group_key, documents.c.path)
    return (
        select(table.c.id, func.min(chunks.c.id), func.min(chunks.c.ordinal), *of_document, words, table.c.extractor)
        .select_from(table.join(documents, documents.c.id == table.c.document_id).outerjoin(chunks, is_held(table)))
        .where(table.c.id.in_(bindparam("ids", expanding=True)))
        .group_by(table.c.id, *of_document, words, table.c.extractor)
        .order_by(table.c.id)
    )


def mentioning(
    connection: Connection, entity_ids: Collection[int], most: int, until: str = ""
) -> list[MentioningChunk]:
    """Return the chunks that name these canonical entities: for each at most ``most``, the surest mentions first.

    ``until``: only those of documents that did not change since that time.
    """
    asked = {"ids": sorted(set(entity_ids)), "most": most, **({"until": until} if until else {})}
    rows = connection.execute(_mentioning_query(past=bool(until)), asked) if entity_ids else ()
    return [MentioningChunk(*row) for row in rows]


@cache
def _mentioning_query(*, past: bool) -> Select[Any]:
    some: BindParameter[Any] = bindparam("ids", expanding=True)
    table, canonical = entity_mentions, func.coalesce(entities.c.canonical_id, entities.c.id)
    place = func.row_number().over(
        partition_by=canonical, order_by=(table.c.confidence.desc(), table.c.document_id, table.c.start)
    )
    places = (
        select(
            canonical.label("entity_id"),
            table.c.document_id,
            table.c.start,
            table.c.end,
            table.c.confidence,
            place.label("place"),
        )
        .join_from(table, entities, entities.c.id == table.c.entity_id)
        .where(or_(entities.c.id.in_(some), entities.c.canonical_id.in_(some)), table.c.end > table.c.start)
    )
    if past:
        places = places.where(table.c.document_id.in_(_UNCHANGED))
    ranked = places.subquery()
    return (
        select(ranked.c.entity_id, chunks.c.id, ranked.c.document_id, func.max(ranked.c.confidence))
        .join_from(ranked, chunks, is_held(ranked))
        .where(ranked.c.place <= bindparam("most"))
        .group_by(ranked.c.entity_id, chunks.c.id, ranked.c.document_id)
        .order_by(ranked.c.entity_id, chunks.c.id)
    )


def names_of(connection: Connection, entity_ids: Collection[int]) -> Mapping[int, tuple[str, str]]:
    """Return id → (name, type) of these entities; those without a type are missing."""
    query = select(entities.c.id, entities.c.name, entities.c.type).where(
        entities.c.id.in_(sorted(set(entity_ids))), entities.c.type != ""
    )
    return {row[0]: (row[1], row[2]) for row in connection.execute(query.order_by(entities.c.id))}


_MOST_CHARS = 200
_UNCHANGED = select(documents.c.id).where(documents.c.updated_at <= bindparam("until"))
_OF, _MAIN = entities.alias("of"), entities.alias("main")
_CANONICAL = and_(_MAIN.c.id == func.coalesce(_OF.c.canonical_id, _OF.c.id), _MAIN.c.type != "", _MAIN.c.documents > 0)
_COLUMNS = (_MAIN.c.id, _MAIN.c.type, _MAIN.c.name, _MAIN.c.documents)
_NAMES = select(_OF.c.folded, *_COLUMNS).join_from(_OF, _MAIN, _CANONICAL)
_ALIASES = select(entity_aliases.c.folded, *_COLUMNS).select_from(
    entity_aliases.join(_OF, is_alias_of(_OF)).join(_MAIN, _CANONICAL)
)


def _called_query() -> Select[Any]:
    names: BindParameter[Any] = bindparam("names", expanding=True)
    of_collection: BindParameter[Any] = bindparam("collection")
    by_name = _NAMES.where(_MAIN.c.type != DOCUMENT, _OF.c.folded.in_(names), _OF.c.collection_id == of_collection)
    by_alias = _ALIASES.where(
        _MAIN.c.type != DOCUMENT, entity_aliases.c.collection_id == of_collection, entity_aliases.c.folded.in_(names)
    )
    every = union_all(by_name, by_alias).subquery()
    return select(every).order_by(every.c.documents.desc(), every.c.id, every.c.folded)


_CALLED = _called_query()
_ENDS = {"out": entity_relations.c.source_id, "in": entity_relations.c.target_id}
_RELATION = tuple(
    entity_relations.c[name]
    for name in ("id", "document_id", "source_id", "type", "target_id", "start", "end", "confidence", "extractor")
)
