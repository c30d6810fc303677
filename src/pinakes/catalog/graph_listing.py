"""All entities and relations of a collection, row by row, for exports; and the documents that speak of one entity."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from sqlalchemy import Connection, Select, case, func, or_, select, union

from pinakes.catalog.dialects.functions import id_list
from pinakes.catalog.graph_statistics import FIELD, OWN
from pinakes.catalog.relation_ends import CANONICAL, IS_EDGE, SOURCE, TARGET, by_sureness, chunk_of, is_alias_of
from pinakes.catalog.relation_ends import words_of as place_words
from pinakes.catalog.schema import documents, entities, entity_aliases, entity_mentions, entity_relations
from pinakes.catalog.stated_edges import name_ids
from pinakes.core.batching import batches
from pinakes.core.graph_records import WEAK
from pinakes.core.records import Metadata

_BATCH = 500
_MOST_CHARS: Final = 500
"""So many characters of the words of a statement are read."""


@dataclass(frozen=True, slots=True)
class ListedEntity:
    """A canonical entity with its other names, and how many documents and places mention it."""

    id: int
    type: str
    name: str
    confidence: float
    documents: int
    mentions: int
    aliases: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class ListedRelation:
    """A relation between canonical entities, stated in ``statements`` places, with the surest of these.

    ``chunk_id``: the chunk that states it, None where ``metadata`` does; ``text`` is then "".
    """

    source_id: int
    source_type: str
    source: str
    type: str
    target_id: int
    target_type: str
    target: str
    confidence: float
    statements: int
    uid: str
    path: str
    title: str
    chunk_id: int | None
    text: str
    extractor: str
    metadata: Metadata | None = None


@dataclass(frozen=True, slots=True)
class MentioningDocument:
    """A document that mentions an entity, in ``mentions`` places; ``is_about`` it, where its metadata says so.

    ``metadata``: read only where it is asked for.
    """

    id: int
    uid: str
    path: str
    title: str
    mentions: int
    is_about: bool
    metadata: Metadata = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DocumentStatement:
    """A relation of one entity as a document states it."""

    id: int
    document_id: int
    uid: str
    path: str
    title: str
    source: str
    type: str
    target: str
    confidence: float


@dataclass(frozen=True, slots=True)
class StatementWords:
    """The words of a statement: ``text``, at most 500 characters, "" where ``metadata`` or the ``path`` states it."""

    id: int
    path: str
    source: str
    target: str
    text: str
    extractor: str
    metadata: Metadata | None


def each_entity(connection: Connection, collection_id: int) -> Iterator[ListedEntity]:
    """Yield the canonical entities that documents mention or relate, by type and name; some hundred are in memory."""
    columns = (entities.c[name] for name in ("id", "type", "name", "confidence", "documents", "mentions"))
    member = entities.alias("member")
    related = [
        select(func.coalesce(member.c.canonical_id, member.c.id))
        .join_from(entity_relations, member, member.c.id == end)
        .where(member.c.collection_id == collection_id, entity_relations.c.fits == 1)
        for end in (entity_relations.c.source_id, entity_relations.c.target_id)
    ]
    query: Select[Any] = (
        select(*columns)
        .where(
            entities.c.collection_id == collection_id,
            entities.c.canonical_id.is_(None),
            entities.c.type != "",
            or_(entities.c.documents > 0, entities.c.id.in_(union(*related))),
        )
        .order_by(entities.c.type, entities.c.folded, entities.c.id)
    )
    with connection.execute(query.execution_options(yield_per=_BATCH)) as rows:
        for part in rows.partitions(_BATCH):
            aliases = _aliases(connection, [row.id for row in part])
            for row in part:
                values: tuple[Any, ...] = (*row, tuple(sorted(aliases[row.id] - {row.name})))
                yield ListedEntity(*values)


def _aliases(connection: Connection, entity_ids: Collection[int]) -> Mapping[int, set[str]]:
    found: dict[int, set[str]] = defaultdict(set)
    merged = select(entities.c.canonical_id, entities.c.name).where(entities.c.canonical_id.in_(entity_ids))
    listed = (
        select(entities.c.id, entity_aliases.c.alias)
        .join_from(entities, entity_aliases, is_alias_of(entities))
        .where(entities.c.id.in_(entity_ids))
    )
    for query in (merged.order_by(entities.c.id), listed.order_by(entity_aliases.c.id)):
        for entity_id, name in connection.execute(query):
            found[entity_id].add(name)
    return found


def each_relation(connection: Connection, collection_id: int) -> Iterator[ListedRelation]:
    """Yield the relations between canonical entities, each once; some hundred are in memory at a time."""
    table = entity_relations
    ends = SOURCE.c.id, table.c.type, TARGET.c.id
    place = func.row_number().over(partition_by=ends, order_by=by_sureness(table))
    ranked = (
        select(
            table.c.id,
            SOURCE.c.id.label("source_id"),
            SOURCE.c.type.label("source_type"),
            SOURCE.c.name.label("source"),
            TARGET.c.id.label("target_id"),
            TARGET.c.type.label("target_type"),
            TARGET.c.name.label("target"),
            place.label("place"),
            func.count().over(partition_by=ends).label("statements"),
        )
        .select_from(CANONICAL.join(documents, documents.c.id == table.c.document_id))
        .where(documents.c.collection_id == collection_id, *IS_EDGE)
        .subquery()
    )
    one = ranked.c
    query: Select[Any] = (
        select(
            *(one.source_id, one.source_type, one.source, table.c.type, one.target_id, one.target_type, one.target),
            *(table.c.confidence, one.statements, documents.c.uid, documents.c.path, documents.c.title),
            *(chunk_of(table), place_words(table, _MOST_CHARS), table.c.extractor, _metadata(table)),
        )
        .select_from(ranked.join(table, table.c.id == one.id).join(documents, documents.c.id == table.c.document_id))
        .where(one.place == 1)
        .order_by(one.source_id, table.c.type, one.target_id)
    )
    with connection.execute(query.execution_options(yield_per=_BATCH)) as rows:
        for row in rows:
            yield ListedRelation(*row)


def mentioning_documents(
    connection: Connection, entity_id: int, limit: int, *, metadata: bool = False
) -> list[MentioningDocument]:
    """Return the documents that mention a canonical entity: those about it first, then those of most mentions.

    ``metadata``: whether that is read, too.
    """
    read = ("id", "uid", "path", "title", *(("inherited", "metadata") if metadata else ()))
    about = func.max(case((entity_mentions.c.extractor == OWN, 1), else_=0))
    counted = (
        select(entity_mentions.c.document_id, func.count().label("places"), about.label("about"))
        .where(entity_mentions.c.entity_id.in_(name_ids([entity_id])))
        .group_by(entity_mentions.c.document_id)
        .order_by(about.desc(), func.count().desc(), entity_mentions.c.document_id)
        .limit(limit)
        .subquery()
    )
    query = (
        select(documents, counted.c.places, counted.c.about)
        .join_from(counted, documents, documents.c.id == counted.c.document_id)
        .order_by(counted.c.about.desc(), counted.c.places.desc(), documents.c.id)
        .with_only_columns(
            *(documents.c[name] for name in read),
            counted.c.places,
            counted.c.about,
        )
    )
    return [
        MentioningDocument(
            *(row.id, row.uid, row.path, row.title, row.places, bool(row.about)),
            {**row.inherited, **row.metadata} if metadata else {},
        )
        for row in connection.execute(query)
    ]


def statements_of(connection: Connection, entity_id: int, limit: int) -> list[DocumentStatement]:
    """Return the statements of relations from and to a canonical entity, the surest first, without weak ones."""
    table, members = entity_relations, name_ids([entity_id])
    query: Select[Any] = (
        select(
            *(table.c.id, *(documents.c[name] for name in ("id", "uid", "path", "title"))),
            *(SOURCE.c.name, table.c.type, TARGET.c.name, table.c.confidence),
        )
        .select_from(CANONICAL.join(documents, documents.c.id == table.c.document_id))
        .where(
            or_(table.c.source_id.in_(members), table.c.target_id.in_(members)),
            table.c.type.not_in(sorted(WEAK)),
            *IS_EDGE,
        )
        .order_by(*by_sureness(table))
        .limit(limit)
    )
    return [DocumentStatement(*row) for row in connection.execute(query)]


def words_of(connection: Connection, statement_ids: Collection[int]) -> dict[int, StatementWords]:
    """Return id of a statement → its words."""
    table = entity_relations
    query: Select[Any] = (
        select(
            *(table.c.id, documents.c.path, SOURCE.c.name, TARGET.c.name, place_words(table, _MOST_CHARS)),
            *(table.c.extractor, _metadata(table)),
        )
        .select_from(CANONICAL.join(documents, documents.c.id == table.c.document_id))
        .where(table.c.id.in_(id_list(statement_ids)))
        .order_by(table.c.id)
    )
    return {row[0]: StatementWords(*row) for row in connection.execute(query)} if statement_ids else {}


def about_any(connection: Connection, entity_ids: Collection[int], limit: int) -> list[tuple[int, int, str, str, str]]:
    """Return (canonical id, document id, uid, path, title) of documents that are about any of these entities."""
    canonical = func.coalesce(entities.c.canonical_id, entities.c.id)
    query = (
        select(canonical, documents.c.id, documents.c.uid, documents.c.path, documents.c.title)
        .join_from(entity_mentions, entities, entities.c.id == entity_mentions.c.entity_id)
        .join(documents, documents.c.id == entity_mentions.c.document_id)
        .where(entity_mentions.c.entity_id.in_(name_ids(entity_ids)), entity_mentions.c.extractor == OWN)
        .distinct()
        .order_by(documents.c.id, canonical)
        .limit(limit)
    )
    return [(row[0], row[1], row[2], row[3], row[4]) for row in connection.execute(query)]


def main_names(connection: Connection, collection_id: int, names: Collection[str]) -> dict[str, str]:
    """Return folded name → folded name of the entity that it is another name of, also where no text mentions that."""
    wanted, found = sorted(names), dict[str, str]()
    main = entities.alias("main")
    merged = (
        select(entities.c.folded, main.c.folded)
        .join_from(entities, main, main.c.id == entities.c.canonical_id)
        .where(entities.c.collection_id == collection_id, main.c.type != "")
        .order_by(entities.c.id)
    )
    listed = (
        select(entity_aliases.c.folded, entity_aliases.c.name)
        .where(entity_aliases.c.collection_id == collection_id)
        .order_by(entity_aliases.c.id)
    )
    for some in batches(wanted, _BATCH):
        for query in (merged.where(entities.c.folded.in_(some)), listed.where(entity_aliases.c.folded.in_(some))):
            found |= {row[0]: row[1] for row in connection.execute(query)}
    return found


def _metadata(table: Any) -> Any:
    """Return the metadata of the document where that states a relation, else nothing."""
    return case((table.c.extractor.startswith(FIELD, autoescape=True), documents.c.metadata), else_=None)
