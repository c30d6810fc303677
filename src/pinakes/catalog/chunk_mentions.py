"""Which chunks name which entities, asked for from the chunks: one prepared statement each, since searches wait."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, and_, bindparam, func, select

from pinakes.catalog.relation_ends import is_held
from pinakes.catalog.schema import chunks, documents, entities, entity_mentions
from pinakes.core.batching import batches
from pinakes.core.graph_records import STRUCTURE

_BATCH: Final = 10_000


@dataclass(frozen=True, slots=True)
class ChunkMention:
    """An entity that a chunk names. ``documents``: how many documents do, under any of its names."""

    chunk_id: int
    document_id: int
    entity_id: int
    type: str
    documents: int
    confidence: float


@dataclass(frozen=True, slots=True)
class PlacedMention:
    """A mention in a chunk that is told by the document's ``uid`` and the chunk's ``ordinal``, with its words."""

    mention: ChunkMention
    uid: str
    group_key: str
    path: str
    ordinal: int
    text: str


def of_chunks(connection: Connection, chunk_ids: Collection[int]) -> list[ChunkMention]:
    """Return the canonical entities that these chunks name, the surest mention of each."""
    parts = batches(sorted(set(chunk_ids)), _BATCH)
    return [ChunkMention(*row) for part in parts for row in connection.execute(_OF_CHUNKS, {"ids": part})]


def of_documents(
    connection: Connection, collection_id: int, uids: Collection[str], until: str = ""
) -> list[PlacedMention]:
    """Return the canonical entities that the chunks of these documents name, the surest mention of each first.

    Documents and topics are none of them. ``until``: only documents that did not change since that time.
    """
    if not uids:
        return []
    asked = {"collection": collection_id, "uids": sorted(set(uids)), "until": until or "9999"}
    return [PlacedMention(ChunkMention(*row[:6]), *row[6:]) for row in connection.execute(_OF_DOCUMENTS, asked)]


_MAIN = entities.alias("main")
_ENTITY = and_(
    _MAIN.c.id == func.coalesce(entities.c.canonical_id, entities.c.id), _MAIN.c.type != "", _MAIN.c.documents > 0
)
_OF = (chunks.c.id, chunks.c.document_id, _MAIN.c.id, _MAIN.c.type, _MAIN.c.documents)
_JOINED = chunks.join(entity_mentions, is_held(entity_mentions)).join(
    entities, entities.c.id == entity_mentions.c.entity_id
)
_OF_CHUNKS = (
    select(*_OF, func.max(entity_mentions.c.confidence))
    .select_from(_JOINED.join(_MAIN, _ENTITY))
    .where(chunks.c.id.in_(bindparam("ids", expanding=True)))
    .group_by(*_OF)
    .order_by(chunks.c.id, _MAIN.c.id)
)
_PLACED = (documents.c.uid, documents.c.group_key, documents.c.path, chunks.c.ordinal, _MAIN.c.name)
_OF_DOCUMENTS = (
    select(*_OF, func.max(entity_mentions.c.confidence), *_PLACED)
    .select_from(_JOINED.join(_MAIN, _ENTITY).join(documents, documents.c.id == chunks.c.document_id))
    .where(documents.c.collection_id == bindparam("collection"), documents.c.uid.in_(bindparam("uids", expanding=True)))
    .where(documents.c.updated_at <= bindparam("until"), _MAIN.c.type.not_in(sorted(STRUCTURE)))
    .group_by(*_OF, *_PLACED)
    .order_by(chunks.c.id, _MAIN.c.id)
)
