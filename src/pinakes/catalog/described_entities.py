"""The documents that are about entities, with the metadata that says more of these."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from sqlalchemy import Connection, select

from pinakes.catalog.batched_rows import rows_among
from pinakes.catalog.graph_statistics import OWN
from pinakes.catalog.schema import documents, entity_mentions
from pinakes.core.records import Metadata

_BATCH = 500


def each(connection: Connection, collection_id: int) -> Iterator[tuple[int, str, Metadata]]:
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
