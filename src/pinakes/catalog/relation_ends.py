"""Stated relations joined with both ends, as they are written and as the canonical entities that these mean."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import ColumnElement, func

from pinakes.catalog.schema import entities, entity_relations

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
