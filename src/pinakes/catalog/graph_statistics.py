"""Counts of the graph of a collection, and the documents that are about its entities."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, func, or_, select

from pinakes.catalog.batched_rows import rows_among
from pinakes.catalog.schema import documents, entities, entity_mentions, extractions
from pinakes.core.graph_records import STRUCTURE
from pinakes.core.records import Metadata


@dataclass(frozen=True, slots=True)
class GraphCounts:
    """See ``services.graph_report.GraphReport``."""

    documents: int
    documents_with_entity: int
    candidates: int
    merged: int
    left_out: int


_BATCH: Final = 500

OWN: Final = "documents"
"""The extractor of the entity that a document is about; those of its other names begin so."""

LINK: Final = "links"
"""The extractor of documents that a text links to."""

FIELD: Final = "metadata:"
"""The extractor of an entity that a metadata field names begins so."""


@dataclass(frozen=True, slots=True)
class Reference:
    """An entity that metadata ``fields`` of documents refer to, ``references`` times, each field of a document once."""

    type: str
    name: str
    references: int
    fields: Sequence[str]


def counts(connection: Connection, collection_id: int) -> GraphCounts:
    """Return the counts of a collection."""
    own = entities.c.collection_id == collection_id
    main = entities.alias("main")
    typed = (
        select(func.count(entity_mentions.c.document_id.distinct()))
        .join_from(entity_mentions, entities, entities.c.id == entity_mentions.c.entity_id)
        .join(main, main.c.id == func.coalesce(entities.c.canonical_id, entities.c.id))
        .where(own, main.c.type.not_in(["", *sorted(STRUCTURE)]))
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


def without_document(connection: Connection, collection_id: int, types: Collection[str]) -> list[Reference]:
    """Return the entities of ``types`` that metadata or links refer to and no document is about.

    The most referred to come first.
    """
    member, main = entities.alias("member"), entities.alias("main")
    joined = (
        select(main.c.type, main.c.name, entity_mentions.c.extractor, entity_mentions.c.document_id)
        .join_from(entity_mentions, member, member.c.id == entity_mentions.c.entity_id)
        .join(main, main.c.id == func.coalesce(member.c.canonical_id, member.c.id))
        .where(
            main.c.collection_id == collection_id,
            main.c.type.in_(sorted(types)),
            or_(*(entity_mentions.c.extractor.startswith(one) for one in (OWN, FIELD, LINK))),
        )
        .order_by(main.c.name, entity_mentions.c.extractor, entity_mentions.c.document_id)
    )
    fields: dict[tuple[str, str], set[str]] = {}
    referring: Counter[tuple[str, str]] = Counter()
    documented: set[tuple[str, str]] = set()
    for kind, name, extractor, _ in connection.execute(joined.distinct()):
        if extractor.startswith(OWN):
            documented.add((kind, name))
            continue
        fields.setdefault((kind, name), set()).add(extractor.removeprefix(FIELD))
        referring[kind, name] += 1
    found = [
        Reference(kind, name, referring[kind, name], tuple(sorted(named)))
        for (kind, name), named in fields.items()
        if (kind, name) not in documented
    ]
    return sorted(found, key=lambda one: (-one.references, one.type, one.name))


def most_left_out(connection: Connection, collection_id: int, limit: int) -> list[tuple[str, int]]:
    """Return path and number of what was left out, of the documents with most of it."""
    query = (
        select(documents.c.path, extractions.c.left_out)
        .join_from(extractions, documents, documents.c.id == extractions.c.document_id)
        .where(documents.c.collection_id == collection_id, extractions.c.left_out > 0)
        .order_by(extractions.c.left_out.desc(), documents.c.path)
        .limit(limit)
    )
    return [(row[0], row[1]) for row in connection.execute(query)]


def has_document(connection: Connection, entity_id: int) -> bool:
    """Say whether a document is about a canonical entity."""
    query = (
        select(entity_mentions.c.id)
        .join_from(entity_mentions, entities, entities.c.id == entity_mentions.c.entity_id)
        .where(
            or_(entities.c.id == entity_id, entities.c.canonical_id == entity_id),
            entity_mentions.c.extractor.startswith(OWN),
        )
        .limit(1)
    )
    return connection.scalar(query) is not None


def frequent_candidates(connection: Connection, collection_id: int, limit: int) -> list[tuple[str, str, int]]:
    """Return names without a type that most documents mention, as ("", name, documents)."""
    query = (
        select(entities.c.type, entities.c.name, entities.c.documents)
        .where(entities.c.collection_id == collection_id, entities.c.type == "", entities.c.canonical_id.is_(None))
        .order_by(entities.c.documents.desc(), entities.c.name)
        .limit(limit)
    )
    return [(row[0], row[1], row[2]) for row in connection.execute(query)]


def described_entities(connection: Connection, collection_id: int) -> Iterator[tuple[int, str, Metadata]]:
    """Yield (id of the entity, path, metadata) of the documents of a collection that are about one."""
    query = (
        select(entity_mentions.c.entity_id, documents.c.path, documents.c.metadata)
        .join_from(entity_mentions, documents, documents.c.id == entity_mentions.c.document_id)
        .where(documents.c.collection_id == collection_id, entity_mentions.c.extractor == OWN)
        .order_by(documents.c.id, entity_mentions.c.id)
    )
    with connection.execute(query.execution_options(yield_per=_BATCH)) as rows:
        for row in rows:
            yield row[0], row[1], row[2]


def metadata_of(connection: Connection, document_ids: Collection[int]) -> Mapping[int, Metadata]:
    """Return id → metadata of these documents, without that of their groups."""
    query = select(documents.c.id, documents.c.metadata).order_by(documents.c.id)
    return {row[0]: row[1] for row in rows_among(connection, query, documents.c.id, sorted(set(document_ids)))}
