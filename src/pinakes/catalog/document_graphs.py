"""The entities and relations of one document, with all names of the entities."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, or_, select

from pinakes.catalog.path_conditions import ends_with
from pinakes.catalog.relation_ends import is_alias_of
from pinakes.catalog.schema import documents, entities, entity_aliases, entity_mentions, entity_relations
from pinakes.core.graph_records import STRUCTURE, WEAK, folded


@dataclass(frozen=True, slots=True)
class NamedRelation:
    """A relation that a document states, with all folded names of its ends."""

    source: str
    type: str
    target: str
    source_names: frozenset[str]
    target_names: frozenset[str]


@dataclass(frozen=True, slots=True)
class DocumentGraph:
    """The canonical entities that a document mentions, as (type, name, all folded names), and its relations."""

    entities: Sequence[tuple[str, str, frozenset[str]]]
    relations: Sequence[NamedRelation]


def of_path(connection: Connection, collection_id: int, path: str) -> DocumentGraph | None:
    """Return what the document says whose path is the end of ``path``, or ends with it; None where there is none."""
    names = path.split("/")
    ends = ["/".join(names[at:]) for at in range(len(names))]
    exact = select(documents.c.id, documents.c.path).where(
        documents.c.collection_id == collection_id, documents.c.path.in_(ends)
    )
    rows = connection.execute(exact.order_by(documents.c.path)).all()
    if not rows:
        longer = select(documents.c.id, documents.c.path).where(
            documents.c.collection_id == collection_id, ends_with(documents.c.path, path)
        )
        rows = connection.execute(longer.order_by(documents.c.path)).all()
    if not rows:
        return None
    return _of_document(connection, max(rows, key=lambda row: len(row.path)).id)


def _of_document(connection: Connection, document_id: int) -> DocumentGraph:
    mentioned = select(entity_mentions.c.entity_id).where(entity_mentions.c.document_id == document_id)
    table = entity_relations
    stated = connection.execute(
        select(table.c.source_id, table.c.type, table.c.target_id)
        .where(table.c.document_id == document_id, table.c.fits == 1, table.c.type.not_in(sorted(WEAK)))
        .order_by(table.c.id)
    ).all()
    ids = {*connection.scalars(mentioned.distinct())} | {end for row in stated for end in (row[0], row[2])}
    canonical = {
        row.id: row.canonical_id or row.id
        for row in connection.execute(
            select(entities.c.id, entities.c.canonical_id).where(entities.c.id.in_(ids)).order_by(entities.c.id)
        )
    }
    held = _with_names(connection, set(canonical.values()))
    in_document = {canonical[one] for one in connection.scalars(mentioned.distinct())}
    relations = {
        (canonical[a], kind, canonical[b]): None
        for a, kind, b in stated
        if canonical[a] in held and canonical[b] in held and canonical[a] != canonical[b]
    }
    return DocumentGraph(
        [held[one] for one in sorted(in_document) if one in held],
        [NamedRelation(held[a][1], kind, held[b][1], held[a][2], held[b][2]) for a, kind, b in relations],
    )


def _with_names(connection: Connection, canonical_ids: Collection[int]) -> dict[int, tuple[str, str, frozenset[str]]]:
    """Return canonical id → type, name and all names, of those that have a type."""
    names: dict[int, set[str]] = defaultdict(set)
    main: dict[int, tuple[str, str, str]] = {}
    wanted = list(canonical_ids)
    query = select(entities).where(or_(entities.c.id.in_(wanted), entities.c.canonical_id.in_(wanted)))
    for row in connection.execute(query.order_by(entities.c.id)):
        names[row.canonical_id or row.id].add(row.folded)
        if row.canonical_id is None and row.type not in ("", *STRUCTURE):
            main[row.id] = (row.type, row.name, row.folded)
    of_lists = (
        select(entities.c.id, entity_aliases.c.alias)
        .join_from(entities, entity_aliases, is_alias_of(entities))
        .where(entities.c.id.in_(wanted))
        .order_by(entity_aliases.c.id)
    )
    for row in connection.execute(of_lists):
        names[row.id].add(folded(row.alias))
    return {one: (kind, name, frozenset(names[one])) for one, (kind, name, _) in main.items()}
