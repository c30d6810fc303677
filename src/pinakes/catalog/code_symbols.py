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

from pinakes.catalog.schema import entities, entity_mentions, entity_relations
from pinakes.core.graph_records import CODE_TYPES, FILE

AT: Final = "@"
"""Stands between a name and the file that alone sees it."""

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


def references(connection: Connection, collection_id: int) -> list[Reference]:
    """Return the names in code that no document defines and some document refers to, oldest first."""
    row = entities.c
    query = (
        select(row.id, row.type, row.name, row.canonical_id, row.why)
        .where(row.collection_id == collection_id, row.type.in_(_CODE), not_(_IS_DEFINED))
        .order_by(row.id)
    )
    return [Reference(*found) for found in connection.execute(query)]


def defined(connection: Connection, collection_id: int, names: Collection[str]) -> dict[str, list[Symbol]]:
    """Return name → the definitions that all files see by that name."""
    found: dict[str, list[Symbol]] = {}
    wanted = sorted(names)
    for start in range(0, len(wanted), _BATCH):
        query = _DEFINED.where(
            entities.c.collection_id == collection_id, entities.c.folded.in_(wanted[start : start + _BATCH])
        )
        for row in connection.execute(query.order_by(entities.c.id)):
            found.setdefault(row.name, []).append(Symbol(*row))
    return found


def defined_within(connection: Connection, collection_id: int, names: Collection[str]) -> dict[str, list[Symbol]]:
    """Return name → its definitions that their own files see."""
    found: dict[str, list[Symbol]] = {name: [] for name in names}
    if not found:
        return found
    query = _DEFINED.where(entities.c.collection_id == collection_id, entities.c.name.contains(AT, autoescape=True))
    for row in connection.execute(query.order_by(entities.c.id)):
        name = row.name.partition(AT)[0]
        if name in found:
            found[name].append(Symbol(*row))
    return found


def files(connection: Connection, collection_id: int) -> list[Symbol]:
    """Return the files that are documents."""
    query = _DEFINED.where(entities.c.collection_id == collection_id, entities.c.type == FILE)
    return [Symbol(*row) for row in connection.execute(query.order_by(entities.c.id))]


def bases(connection: Connection, collection_id: int, relation: str) -> list[tuple[int, int]]:
    """Return (id, id of what it has such a relation to), as documents state them."""
    table = entity_relations
    query = (
        select(table.c.source_id, table.c.target_id)
        .join_from(table, entities, entities.c.id == table.c.source_id)
        .where(entities.c.collection_id == collection_id, table.c.type == relation)
        .order_by(table.c.id)
    )
    return [(row[0], row[1]) for row in connection.execute(query)]


def names(connection: Connection, ids: Collection[int]) -> dict[int, str]:
    """Return id → name."""
    found, wanted = dict[int, str](), sorted(ids)
    for start in range(0, len(wanted), _BATCH):
        query = select(entities.c.id, entities.c.name).where(entities.c.id.in_(wanted[start : start + _BATCH]))
        found |= {row.id: row.name for row in connection.execute(query.order_by(entities.c.id))}
    return found


def write(connection: Connection, collection_id: int, changed: Sequence[Mapping[str, Any]]) -> None:
    """Write what references mean: rows of ``entity``, ``canonical`` and ``because``; then count all names in code.

    A name that was a reference and is defined by now means itself again.
    """
    if changed:
        connection.execute(_RESOLVE, list(changed))
    row = entities.c
    own = and_(row.collection_id == collection_id, row.type.in_(_CODE))
    stale = or_(row.canonical_id.is_not(None), row.why != "")
    connection.execute(update(entities).where(own, stale, _IS_DEFINED).values(canonical_id=None, why=""))
    sure = case((_IS_DEFINED, 1.0), else_=0.5)
    connection.execute(update(entities).where(own, row.confidence != sure).values(confidence=sure))
    _count(connection, own)


def _count(connection: Connection, own: ColumnElement[bool]) -> None:
    """Write how many documents name each entity of code, and in how many places."""
    named = union_all(
        select(entity_mentions.c.entity_id, entity_mentions.c.document_id),
        select(entity_relations.c.target_id, entity_relations.c.document_id).where(
            entity_relations.c.extractor.in_((*_EXTRACTORS, "code:documents"))
        ),
    ).subquery()
    main = func.coalesce(entities.c.canonical_id, entities.c.id)
    counted = (
        select(
            main.label("main"), func.count(named.c.document_id.distinct()).label("documents"), func.count().label("at")
        )
        .join_from(entities, named, named.c.entity_id == entities.c.id)
        .where(own)
        .group_by(main)
        .subquery()
    )
    other = or_(entities.c.documents != counted.c.documents, entities.c.mentions != counted.c.at)
    values = {"documents": counted.c.documents, "mentions": counted.c.at}
    connection.execute(update(entities).where(entities.c.id == counted.c.main, other).values(values))
    gone = and_(own, entities.c.documents > 0, entities.c.id.not_in(select(counted.c.main)))
    connection.execute(update(entities).where(gone).values(documents=0, mentions=0))


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
