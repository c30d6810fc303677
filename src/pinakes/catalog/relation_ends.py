"""Subqueries that queries of the graph share: relations with both ends, their places, and aliases."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import ColumnElement, and_, case, func, select

from pinakes.catalog.schema import chunks, documents, entities, entity_aliases, entity_relations

WRITTEN_SOURCE, WRITTEN_TARGET = entities.alias("source"), entities.alias("target")
SOURCE, TARGET = entities.alias("source_of"), entities.alias("target_of")
"""The canonical entities."""

SOURCE_ID: Final[ColumnElement[int]] = func.coalesce(WRITTEN_SOURCE.c.canonical_id, WRITTEN_SOURCE.c.id)
TARGET_ID: Final[ColumnElement[int]] = func.coalesce(WRITTEN_TARGET.c.canonical_id, WRITTEN_TARGET.c.id)
AS_WRITTEN: Final = entity_relations.join(WRITTEN_SOURCE, WRITTEN_SOURCE.c.id == entity_relations.c.source_id).join(
    WRITTEN_TARGET, WRITTEN_TARGET.c.id == entity_relations.c.target_id
)
CANONICAL: Final = AS_WRITTEN.join(SOURCE, SOURCE.c.id == SOURCE_ID).join(TARGET, TARGET.c.id == TARGET_ID)
IS_EDGE: Final[tuple[ColumnElement[bool], ...]] = (
    entity_relations.c.fits == 1,
    SOURCE.c.type != "",
    TARGET.c.type != "",
    SOURCE.c.id != TARGET.c.id,
)
"""The tests for a relation of two different entities that have types, and such types as it may have."""


def by_sureness(row: Any) -> tuple[ColumnElement[Any], ...]:
    """Return what orders places of relations or mentions: the surest first, then by document and position.

    Where a document says a thing at one position several times, by what says it, so that all is as after a rebuild.
    """
    return row.c.confidence.desc(), row.c.document_id, row.c.start, row.c.end, row.c.extractor, row.c.id


def is_held(table: Any) -> ColumnElement[bool]:
    """Return the test whether a chunk holds the place of a row of ``table``, a mention or a relation in the text."""
    return and_(
        chunks.c.document_id == table.c.document_id,
        chunks.c.start <= table.c.start,
        chunks.c.end > table.c.start,
        table.c.end > table.c.start,
    )


def chunk_of(table: Any) -> ColumnElement[int | None]:
    """Return the id of the chunk that holds the place of a row of ``table``, NULL where none does."""
    return select(func.min(chunks.c.id)).where(is_held(table)).scalar_subquery()


def words_of(table: Any, most: int) -> ColumnElement[str]:
    """Return the words at the place of a row of ``table``, at most so many characters."""
    length = case((table.c.end - table.c.start > most, most), else_=table.c.end - table.c.start)
    return func.substr(documents.c.text, table.c.start + 1, length)


def is_alias_of(entity: Any) -> ColumnElement[bool]:
    """Return the test whether a row of ``entity_aliases`` is another name of ``entity``."""
    return and_(
        entity_aliases.c.collection_id == entity.c.collection_id,
        entity_aliases.c.type == entity.c.type,
        entity_aliases.c.name == entity.c.folded,
    )
