"""The entities of code in a graph: which are defined, what the others may mean, how many documents name each."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    and_,
    bindparam,
    case,
    exists,
    func,
    not_,
    or_,
    select,
    union_all,
    update,
)

from pinakes.catalog.batched_rows import rows_among
from pinakes.catalog.dialects.functions import id_list, text_list
from pinakes.catalog.entities import with_other_names, write_counts
from pinakes.catalog.relation_ends import AS_WRITTEN, TARGET_ID, WRITTEN_SOURCE
from pinakes.catalog.schema import entities, entity_mentions, entity_relations
from pinakes.core.graph_records import CODE_TYPES, FILE, FUNCTION

AT: Final = "@"
"""Stands between a name and the file that alone sees it."""

INHERITS: Final = "INHERITS"
_BATCH: Final = 500
_CODE: Final = tuple(sorted(CODE_TYPES))
_EXTRACTORS: Final = ("code", "code:build")


@dataclass(frozen=True, slots=True)
class Symbol:
    """A name in code that a document defines, or refers to."""

    id: int
    type: str
    name: str


@dataclass(frozen=True, slots=True)
class Reference:
    """A name that no document defines, and what it was found to mean by now: see ``entities``."""

    id: int
    type: str
    name: str
    canonical_id: int | None
    why: str


def references(connection: Connection, collection_id: int, some: Collection[int] | None = None) -> list[Reference]:
    """Return the names in code that no document defines, oldest first; of ``some`` entities only, None = of all."""
    row = entities.c
    query = select(row.id, row.type, row.name, row.canonical_id, row.why).where(
        row.collection_id == collection_id, row.type.in_(_CODE), not_(_IS_DEFINED), *_among(some)
    )
    return [Reference(*found) for found in connection.execute(query.order_by(row.id))]


def symbols(connection: Connection, collection_id: int, some: Collection[int]) -> list[Symbol]:
    """Return these entities, as far as they are names in code."""
    row = entities.c
    query = select(row.id, row.type, row.name).where(
        row.collection_id == collection_id, row.type.in_(_CODE), *_among(some)
    )
    return [Symbol(*found) for found in connection.execute(query.order_by(row.id))]


def symbols_named(connection: Connection, collection_id: int, names: Collection[str]) -> list[Symbol]:
    """Return what has one of these names, for all files or for some: ``load``, ``load@a/b.c``, ``load@*``."""
    row, listed = entities.c, text_list(sorted(names)).subquery()
    behind = and_(row.folded > listed.c[0].concat(AT), row.folded < listed.c[0].concat(chr(ord(AT) + 1)))
    own = and_(row.collection_id == collection_id, row.type.in_(_CODE))
    within = select(row.id, row.type, row.name).join_from(listed, entities, and_(own, behind))
    alone = select(row.id, row.type, row.name).where(own, row.folded.in_(text_list(sorted(names))))
    return [Symbol(*found) for query in (alone, within) for found in connection.execute(query.order_by(row.id))]


def meaning(connection: Connection, entity_ids: Collection[int]) -> list[int]:
    """Return the ids of the entities that are other names of these."""
    query = select(entities.c.id).where(entities.c.canonical_id.in_(id_list(entity_ids)), entities.c.type.in_(_CODE))
    return list(connection.scalars(query.order_by(entities.c.id)))


def inherited_names(connection: Connection, collection_id: int) -> list[int]:
    """Return the ids of methods that may mean those of base classes, or did."""
    row = entities.c
    of_file = and_(row.name.contains(AT, autoescape=True), not_(row.name.contains(f"{AT}*", autoescape=True)))
    query = select(row.id).where(row.collection_id == collection_id, row.type == FUNCTION, of_file)
    if not bases(connection, collection_id):
        query = query.where(row.canonical_id.is_not(None))
    return list(connection.scalars(query.order_by(row.id)))


def defined(connection: Connection, collection_id: int, names: Collection[str]) -> dict[str, list[Symbol]]:
    """Return name → the definitions that all files see by that name."""
    found: dict[str, list[Symbol]] = {}
    query = _DEFINED.where(entities.c.collection_id == collection_id).order_by(entities.c.id)
    for row in rows_among(connection, query, entities.c.folded, sorted(names)):
        found.setdefault(row.name, []).append(Symbol(*row))
    return found


def defined_within(connection: Connection, collection_id: int, names: Collection[str]) -> dict[str, list[Symbol]]:
    """Return name → its definitions that their own files see."""
    found: dict[str, list[Symbol]] = {name: [] for name in names}
    if not found:
        return found
    query = _DEFINED.where(entities.c.collection_id == collection_id, entities.c.name.contains(AT, autoescape=True))
    if len(found) <= _BATCH:
        query = query.where(
            entities.c.id.in_(id_list([one.id for one in symbols_named(connection, collection_id, found)]))
        )
    for row in connection.execute(query.order_by(entities.c.id)):
        name = row.name.partition(AT)[0]
        if name in found:
            found[name].append(Symbol(*row))
    return found


def of_type(connection: Connection, collection_id: int, kind: str) -> list[Symbol]:
    """Return the names of one type, whether documents define them or not."""
    row = entities.c
    query = select(row.id, row.type, row.name).where(row.collection_id == collection_id, row.type == kind)
    return [Symbol(*found) for found in connection.execute(query.order_by(row.id))]


def files(connection: Connection, collection_id: int) -> list[Symbol]:
    """Return the files that are documents."""
    query = _DEFINED.where(entities.c.collection_id == collection_id, entities.c.type == FILE)
    return [Symbol(*row) for row in connection.execute(query.order_by(entities.c.id))]


def bases(connection: Connection, collection_id: int) -> list[tuple[int, int, int]]:
    """Return (id of a class, id of a base class, id of what that was found to mean by now), as documents state them."""
    table = entity_relations
    query = (
        select(table.c.source_id, table.c.target_id, TARGET_ID)
        .select_from(AS_WRITTEN)
        .where(WRITTEN_SOURCE.c.collection_id == collection_id, table.c.type == INHERITS)
        .order_by(table.c.id)
    )
    return [(row[0], row[1], row[2]) for row in connection.execute(query)]


def names(connection: Connection, ids: Collection[int]) -> dict[int, str]:
    """Return id → name."""
    query = select(entities.c.id, entities.c.name).order_by(entities.c.id)
    return {row.id: row.name for row in rows_among(connection, query, entities.c.id, sorted(ids))}


def write(
    connection: Connection, collection_id: int, changed: Sequence[Mapping[str, Any]], some: Collection[int] | None
) -> None:
    """Write what references mean: rows of ``entity``, ``canonical`` and ``because``; then count names in code.

    A name that was a reference and is defined by now means itself again. ``some``: only these entities, and what they
    mean and meant, None = all.
    """
    row = entities.c
    own = and_(row.collection_id == collection_id, row.type.in_(_CODE))
    before = None if some is None else _with_meanings(connection, some)
    if changed:
        connection.execute(_RESOLVE, list(changed))
    stale = or_(row.canonical_id.is_not(None), row.why != "")
    connection.execute(update(entities).where(own, stale, _IS_DEFINED, *_among(some)).values(canonical_id=None, why=""))
    sure = case((_IS_DEFINED, 1.0), else_=0.5)
    connection.execute(update(entities).where(own, row.confidence != sure, *_among(some)).values(confidence=sure))
    _count(connection, own, None if before is None else before | _with_meanings(connection, before))


def _with_meanings(connection: Connection, some: Collection[int]) -> set[int]:
    """Return these entities, and those that they mean."""
    query = select(entities.c.canonical_id).where(entities.c.canonical_id.is_not(None), *_among(some)).distinct()
    return {*some, *connection.scalars(query.order_by(entities.c.canonical_id))}


def _count(connection: Connection, own: ColumnElement[bool], some: Collection[int] | None) -> None:
    """Write how many documents name each entity of code, and in how many places; of ``some`` only, None = of all."""
    main = func.coalesce(entities.c.canonical_id, entities.c.id)
    only = [] if some is None else [with_other_names(some)]
    targets = entity_relations.c.extractor.in_((*_EXTRACTORS, "code:documents"))
    named = union_all(
        select(entity_mentions.c.entity_id, entity_mentions.c.document_id).where(
            *(entity_mentions.c.entity_id.in_(ids) for ids in only)
        ),
        select(entity_relations.c.target_id, entity_relations.c.document_id).where(
            targets, *(entity_relations.c.target_id.in_(ids) for ids in only)
        ),
    ).subquery()
    counted = (
        select(main, func.count(named.c.document_id.distinct()), func.count())
        .join_from(entities, named, named.c.entity_id == entities.c.id)
        .where(own)
        .group_by(main)
        .order_by(main)
    )
    rows = select(entities.c.id, entities.c.documents, entities.c.mentions).where(own, *_among(some))
    write_counts(connection, counted, rows.order_by(entities.c.id))


def figures(connection: Connection, collection_id: int) -> tuple[int, int, int]:
    """Return how many names in code are defined, were found in another way of writing, and are not defined."""
    row = entities.c
    own = and_(row.collection_id == collection_id, row.type.in_(_CODE), row.documents > 0)
    joined = and_(row.collection_id == collection_id, row.type.in_(_CODE), row.canonical_id.is_not(None))
    tests: Iterable[ColumnElement[bool]] = (
        and_(own, row.confidence == 1.0),
        joined,
        and_(own, row.confidence < 1.0, row.canonical_id.is_(None)),
    )
    counts = [int(connection.scalar(select(func.count()).where(test)) or 0) for test in tests]
    return counts[0], counts[1], counts[2]


def _among(some: Collection[int] | None) -> list[ColumnElement[bool]]:
    return [] if some is None else [entities.c.id.in_(id_list(some))]


_IS_DEFINED: Final = exists(
    select(1).where(entity_mentions.c.entity_id == entities.c.id, entity_mentions.c.extractor.in_(_EXTRACTORS))
)
_DEFINED: Final[Select[Any]] = select(entities.c.id, entities.c.type, entities.c.name).where(
    entities.c.type.in_(_CODE), _IS_DEFINED
)
_RESOLVE: Final = (
    update(entities)
    .where(entities.c.id == bindparam("entity"))
    .values(canonical_id=bindparam("canonical"), why=bindparam("because"))
)
