"""Entities, mentions and relations: written with documents, and read as a graph of canonical entities."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import (
    CompoundSelect,
    Connection,
    Executable,
    Select,
    and_,
    bindparam,
    delete,
    func,
    literal,
    not_,
    or_,
    select,
    tuple_,
    union,
    update,
)

from pinakes.catalog import entity_changes
from pinakes.catalog.batched_rows import rows_among, rows_for
from pinakes.catalog.dialects.functions import id_list
from pinakes.catalog.dialects.inserts import insert_values
from pinakes.catalog.engine import now
from pinakes.catalog.graph_statistics import OWN
from pinakes.catalog.relation_ends import is_alias_of
from pinakes.catalog.schema import (
    documents,
    entities,
    entity_aliases,
    entity_decisions,
    entity_mentions,
    entity_relations,
    extractions,
    graphs,
)
from pinakes.core.graph_records import CODE_TYPES, STRUCTURE, EntityName, Findings
from pinakes.core.records import DocumentKind, Metadata

_PLACE = ("start", "end", "confidence", "extractor")


class EntityRecord(NamedTuple):
    """An entity of a collection as the catalogue has it; see ``catalog.schema.graph_tables.entities``."""

    id: int
    type: str
    name: str
    folded: str
    canonical_id: int | None = None
    why: str = ""
    confidence: float = 0.0
    documents: int = 0
    mentions: int = 0


@dataclass(frozen=True, slots=True)
class ExtractedText:
    """A document as extractors see it, with its own metadata, without that of its group."""

    id: int
    version: int
    path: str
    title: str
    kind: DocumentKind
    language: str | None
    text: str
    metadata: Metadata


@dataclass(frozen=True, slots=True)
class Decision:
    """What somebody decided: ``other`` is another name of ``name`` ("merge"), or is not ("split")."""

    kind: str
    type: str
    name: str
    other: str
    other_type: str = ""


@dataclass(frozen=True, slots=True)
class Resolution:
    """What became of an entity: its canonical one, None for itself, and why."""

    id: int
    canonical_id: int | None
    why: str
    confidence: float


def ensure(connection: Connection, collection_id: int, names: Iterable[EntityName]) -> None:
    """Make rows for the entities that have none. All writers do so in one order, and nobody waits for what is there."""
    rows = {one.key: one for one in names}
    is_remote = connection.dialect.name == "postgresql"
    known = ids(connection, collection_id, rows).keys() if is_remote else set[tuple[str, str]]()
    new = sorted(rows.keys() - known)
    values = [(collection_id, kind, rows[kind, name].name, name) for kind, name in new]
    insert_values(connection, entities, ("collection_id", "type", "name", "folded"), values, but_known=True)


def ids(connection: Connection, collection_id: int, keys: Collection[tuple[str, str]]) -> dict[tuple[str, str], int]:
    """Return key → id of the entities that have a row."""
    rows = rows_for(connection, _KEYS, "names", sorted({name for _, name in keys}), collection=collection_id)
    return {(kind, folded): entity_id for kind, folded, entity_id in rows}


def put(
    connection: Connection, collection_id: int, document_id: int, findings: Findings | None, *, noted: bool = True
) -> None:
    """Write what a document says, in place of what it said before; None: that is not known yet.

    Not ``noted``: everything is computed anew, and needs no notes of what it said before.
    """
    if noted:
        entity_changes.note_document(connection, collection_id, document_id)
    for table in (entity_mentions, entity_relations, extractions):
        connection.execute(delete(table).where(table.c.document_id == document_id))
    add(connection, collection_id, [(document_id, findings)])


def add(connection: Connection, collection_id: int, found: Iterable[tuple[int, Findings | None]]) -> None:
    """Write what new documents, given by their ids, say; see ``put``."""
    known = [(document_id, findings) for document_id, findings in found if findings is not None and findings.recipe]
    if not known:
        return
    named = {(name.type, name.name): name for _, findings in known for name in findings.every_name()}
    keys = {written: name.key for written, name in named.items()}
    wanted = set(keys.values())
    rows = ids(connection, collection_id, wanted)
    if wanted - rows.keys():
        ensure(connection, collection_id, named.values())
        rows = ids(connection, collection_id, wanted)
    numbers = {written: rows[key] for written, key in keys.items()}
    mentions = [
        (document_id, numbers[one.entity.type, one.entity.name], one.start, one.end, one.confidence, one.extractor)
        for document_id, findings in known
        for one in findings.mentions
    ]
    relations = [
        (
            document_id,
            numbers[one.source.type, one.source.name],
            one.type,
            numbers[one.target.type, one.target.name],
            one.start,
            one.end,
            one.confidence,
            one.extractor,
        )
        for document_id, findings in known
        for one in findings.relations
    ]
    insert_values(connection, entity_mentions, ("document_id", "entity_id", *_PLACE), mentions)
    insert_values(connection, entity_relations, ("document_id", "source_id", "type", "target_id", *_PLACE), relations)
    extracted = [(document_id, findings.recipe, findings.left_out) for document_id, findings in known]
    insert_values(connection, extractions, ("document_id", "recipe", "left_out"), extracted)


def outdated(connection: Connection, collection_id: int, recipe: str, limit: int, after: int = 0) -> list[int]:
    """Return ids of documents whose mentions are not known, or were found by another recipe, lowest first.

    ``after``: only higher ids.
    """
    known = documents.outerjoin(extractions, extractions.c.document_id == documents.c.id)
    query = select(documents.c.id).select_from(known)
    query = query.where(documents.c.collection_id == collection_id, documents.c.id > after)
    other = or_(extractions.c.recipe.is_(None), extractions.c.recipe != recipe)
    return list(connection.scalars(query.where(other).order_by(documents.c.id).limit(limit)))


def subjects(connection: Connection, document_ids: Sequence[int]) -> list[ExtractedText]:
    """Return these documents as extractors see them."""
    columns = (documents.c[name] for name in ExtractedText.__annotations__)
    query = select(*columns).where(documents.c.id.in_(document_ids)).order_by(documents.c.id)
    return [ExtractedText(*row) for row in connection.execute(query)]


def forget(connection: Connection, collection_id: int) -> None:
    """Have all documents of a collection extracted again, and the graph computed anew. Decisions stay."""
    ids = select(documents.c.id).where(documents.c.collection_id == collection_id)
    connection.execute(delete(extractions).where(extractions.c.document_id.in_(ids)))
    connection.execute(delete(graphs).where(graphs.c.collection_id == collection_id))


def last_decision(connection: Connection, collection_id: int) -> int:
    """Return the number of the latest decision on names of a collection, 0 where there is none."""
    newest = select(func.max(entity_decisions.c.id)).where(entity_decisions.c.collection_id == collection_id)
    return int(connection.scalar(newest) or 0)


def every(connection: Connection, collection_id: int) -> list[EntityRecord]:
    """Return all entities of a collection, candidates included, oldest first; without those of code."""
    query = _RECORD.where(entities.c.collection_id == collection_id, _IS_PROSE)
    rows = connection.execute(query.order_by(entities.c.id))
    return [EntityRecord._make(row) for row in rows]


def own_names(connection: Connection, collection_id: int) -> list[tuple[int, int]]:
    """Return (other name, entity) for the names of documents that are about one entity: their paths, and aliases."""
    other, own = entity_mentions.alias("other"), entity_mentions.alias("own")
    query = (
        select(other.c.entity_id, own.c.entity_id)
        .join_from(other, own, (own.c.document_id == other.c.document_id) & (own.c.extractor == OWN))
        .join(documents, documents.c.id == other.c.document_id)
        .where(documents.c.collection_id == collection_id, other.c.extractor.startswith(f"{OWN}:"))
        .distinct()
        .order_by(other.c.entity_id, own.c.entity_id)
    )
    return [(row[0], row[1]) for row in connection.execute(query)]


def are_together(connection: Connection, one: int, other: int) -> bool:
    """Say whether a document mentions both of two names."""
    a, b = entity_mentions.alias("a"), entity_mentions.alias("b")
    query = select(a.c.id).join_from(a, b, (b.c.document_id == a.c.document_id) & (b.c.entity_id == other))
    return connection.scalar(query.where(a.c.entity_id == one).limit(1)) is not None


def decisions(connection: Connection, collection_id: int) -> list[Decision]:
    """Return the decisions on names of a collection, oldest first."""
    columns = (getattr(entity_decisions.c, name) for name in ("kind", "type", "name", "other", "other_type"))
    query = select(*columns).where(entity_decisions.c.collection_id == collection_id)
    return [Decision(*row) for row in connection.execute(query.order_by(entity_decisions.c.id))]


def decide(connection: Connection, collection_id: int, one: Decision) -> None:
    """Remember a decision on two names, in place of earlier ones on the same."""
    same = tuple_(entity_decisions.c.type, entity_decisions.c.name, entity_decisions.c.other)
    connection.execute(
        delete(entity_decisions).where(
            entity_decisions.c.collection_id == collection_id, same.in_([(one.type, one.name, one.other)])
        )
    )
    values = {"kind": one.kind, "type": one.type, "name": one.name, "other": one.other, "other_type": one.other_type}
    connection.execute(entity_decisions.insert(), values | {"collection_id": collection_id, "at": now()})


def resolve(connection: Connection, resolutions: Sequence[Resolution]) -> None:
    """Write what became of entities."""
    rows = [
        {"entity": one.id, "canonical": one.canonical_id, "because": one.why, "sure": one.confidence}
        for one in resolutions
    ]
    if rows:
        connection.execute(_RESOLVE, rows)


def put_aliases(connection: Connection, collection_id: int, aliases: Iterable[tuple[EntityName, str, str]]) -> None:
    """Have exactly these other names of lists and titles, as (entity, alias, folded alias)."""
    connection.execute(delete(entity_aliases).where(entity_aliases.c.collection_id == collection_id))
    rows = {
        (entity.type, entity.key[1], folded): {
            "collection_id": collection_id,
            "type": entity.type,
            "name": entity.key[1],
            "alias": alias,
            "folded": folded,
        }
        for entity, alias, folded in aliases
    }
    if rows:
        connection.execute(entity_aliases.insert(), [rows[key] for key in sorted(rows)])


def count(connection: Connection, collection_id: int, some: Collection[int] | None) -> None:
    """Write how many documents mention each canonical entity, and how often, of ``some`` entities only; None = of all.

    Those of code are counted by ``code_symbols``.
    """
    canonical = func.coalesce(entities.c.canonical_id, entities.c.id)
    own = and_(entities.c.collection_id == collection_id, _IS_PROSE)
    counted = (
        select(canonical, func.count(entity_mentions.c.document_id.distinct()), func.count())
        .join_from(entities, entity_mentions, entity_mentions.c.entity_id == entities.c.id)
        .where(own)
        .group_by(canonical)
        .order_by(canonical)
    )
    rows = select(entities.c.id, entities.c.documents, entities.c.mentions).where(own).order_by(entities.c.id)
    if some is not None:
        counted = counted.where(entities.c.id.in_(with_other_names(some)))
        rows = rows.where(entities.c.id.in_(id_list(some)))
    write_counts(connection, counted, rows)


def write_counts(connection: Connection, counted: Executable, rows: Executable) -> None:
    """Write how many documents and places mention entities, where that is not what ``rows`` have.

    ``counted`` gives (entity, documents, places), none where there are none; ``rows`` (id, documents, mentions).
    """
    found = {row[0]: (row[1], row[2]) for row in connection.execute(counted)}
    changed = [
        {"entity": row.id, "in_documents": counts[0], "in_places": counts[1]}
        for row in connection.execute(rows).all()
        if (counts := found.get(row.id, (0, 0))) != (row.documents, row.mentions)
    ]
    if changed:
        connection.execute(_COUNT, changed)


def with_other_names(some: Collection[int]) -> CompoundSelect[tuple[int]]:
    """Return the query for the ids of any number of entities and of those that are other names of them."""
    listed = id_list(some)
    others = select(entities.c.id).where(entities.c.canonical_id.in_(listed))
    return union(select(entities.c.id).where(entities.c.id.in_(listed)), others)


def named(
    connection: Connection,
    collection_ids: Sequence[int],
    folded: str,
    written: str = "",
    *,
    unmentioned: bool = False,
) -> list[EntityRecord]:
    """Return the canonical entities that are called so, or have such an alias, the most mentioned first.

    ``written``: the name itself. Of code what is called exactly so, or so in one of the files: ``helper@fs/inode.c``.
    ``unmentioned``: also those that no document mentions any more.
    """
    same = entities.alias("same")
    is_code = same.c.type.in_(sorted(CODE_TYPES))
    tests = [and_(same.c.folded == folded, not_(is_code))]
    if written:
        behind = f"{written}{chr(ord('@') + 1)}"
        tests.append(and_(is_code, same.c.folded == written))
        tests.append(and_(is_code, same.c.folded > f"{written}@", same.c.folded < behind))
    main = select(func.coalesce(same.c.canonical_id, same.c.id)).where(same.c.collection_id.in_(collection_ids))
    by_name = [main.where(test) for test in tests]  # each by an index, which OR would not be
    by_alias = (
        select(func.coalesce(same.c.canonical_id, same.c.id))
        .join_from(entity_aliases, same, is_alias_of(same))
        .where(entity_aliases.c.collection_id.in_(collection_ids), entity_aliases.c.folded == folded)
    )
    query = _RECORD.where(entities.c.id.in_(union(*by_name, by_alias)))
    if not unmentioned:
        query = query.where(entities.c.documents > 0)
    return [EntityRecord(*row) for row in connection.execute(_most_first(query))]


def known(
    connection: Connection, collection_id: int, types: Collection[str] = (), limit: int | None = None, after: int = 0
) -> list[EntityRecord]:
    """Return the canonical entities of a collection that documents mention, the most mentioned first.

    Documents and topics are among them only where ``types`` names these.
    """
    wanted = entities.c.type.in_(sorted(types)) if types else entities.c.type.not_in(sorted(STRUCTURE))
    query = _RECORD.where(entities.c.collection_id == collection_id, *_CANONICAL, wanted)
    return [EntityRecord(*row) for row in connection.execute(_most_first(query).limit(limit).offset(after))]


def counts(connection: Connection, collection_id: int) -> dict[str, int]:
    """Return type → number of canonical entities that documents mention."""
    query = select(entities.c.type, func.count()).where(entities.c.collection_id == collection_id, *_CANONICAL)
    return {row[0]: row[1] for row in connection.execute(query.group_by(entities.c.type).order_by(entities.c.type))}


def of_ids(connection: Connection, entity_ids: Collection[int]) -> dict[int, EntityRecord]:
    """Return id → entity."""
    rows = rows_among(connection, _RECORD.order_by(entities.c.id), entities.c.id, sorted(set(entity_ids)))
    return {row.id: EntityRecord(*row) for row in rows}


def canonical_of(
    connection: Connection, collection_id: int, keys: Collection[tuple[str, str]]
) -> dict[tuple[str, str], int]:
    """Return (type, folded name) → id of the canonical entity, of names that have a row."""
    numbers = ids(connection, collection_id, keys)
    rows = of_ids(connection, numbers.values())
    return {key: rows[number].canonical_id or number for key, number in numbers.items() if number in rows}


def other_names(connection: Connection, one: EntityRecord) -> list[str]:
    """Return the other names of a canonical entity: of lists, and those that were merged into it."""
    merged = select(entities.c.name).where(
        entities.c.canonical_id == one.id, entities.c.name != one.name, entities.c.type.not_in(sorted(STRUCTURE))
    )
    of_entity = select(entities.c.collection_id).where(entities.c.id == one.id).scalar_subquery()
    listed = select(entity_aliases.c.alias).where(
        entity_aliases.c.collection_id == of_entity,
        entity_aliases.c.type == one.type,
        entity_aliases.c.name == one.folded,
    )
    return sorted(set(connection.scalars(merged.union(listed))))


def members(connection: Connection, entity_ids: Sequence[int]) -> dict[int, list[EntityRecord]]:
    """Return canonical id → the entities that are other names of it."""
    found: dict[int, list[EntityRecord]] = {one: [] for one in entity_ids}
    for row in rows_among(connection, _RECORD.order_by(entities.c.id), entities.c.canonical_id, list(found)):
        found[row.canonical_id].append(EntityRecord(*row))
    return found


def _most_first(query: Select[Any]) -> Select[Any]:
    return query.order_by(entities.c.documents.desc(), entities.c.mentions.desc(), entities.c.name, entities.c.id)


_IS_PROSE = entities.c.type.not_in(sorted(CODE_TYPES))
_KEYS = (
    select(entities.c.type, entities.c.folded, entities.c.id)
    .where(
        entities.c.collection_id == bindparam("collection"), entities.c.folded.in_(bindparam("names", expanding=True))
    )
    .order_by(entities.c.id)
)
_RECORD = select(
    entities.c.id,
    entities.c.type,
    entities.c.name,
    entities.c.folded,
    entities.c.canonical_id,
    entities.c.why,
    entities.c.confidence,
    entities.c.documents,
    entities.c.mentions,
)
_CANONICAL = (entities.c.canonical_id.is_(None), entities.c.type != literal(""), entities.c.documents > 0)
_RESOLVE = (
    update(entities)
    .where(entities.c.id == bindparam("entity"))
    .values(
        canonical_id=bindparam("canonical"),
        why=bindparam("because"),
        confidence=bindparam("sure"),
    )
)
_COUNT = (
    update(entities)
    .where(entities.c.id == bindparam("entity"))
    .values(documents=bindparam("in_documents"), mentions=bindparam("in_places"))
)
