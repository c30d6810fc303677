"""Ties between documents, chunks and the entities that they mention or are about."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, and_, bindparam, func, or_, select

from pinakes.catalog.graph_statistics import OWN
from pinakes.catalog.relation_ends import is_held
from pinakes.catalog.schema import chunks, documents, entities, entity_mentions
from pinakes.core.batching import batches
from pinakes.core.graph_records import STRUCTURE

MOST_ROWS: Final = 2_000
"""So many pairs of entity and document are looked at."""


@dataclass(frozen=True, slots=True)
class OwnEntity:
    """A document, and the canonical entity that it is about: a proposal, or the document itself, named by its path.

    ``entity_id`` is None where there is none.
    """

    uid: str
    group_key: str
    document_id: int
    entity_id: int | None


def own_entities(connection: Connection, collection_id: int, uids: Collection[str]) -> list[OwnEntity]:
    """Return these documents with the entities that they are about."""
    rows = connection.execute(_OWN, {"collection": collection_id, "uids": sorted(set(uids))}) if uids else ()
    return [OwnEntity(*row) for row in rows]


def about(connection: Connection, entity_ids: Collection[int], until: str = "") -> list[tuple[int, int]]:
    """Return (canonical entity, document) of the documents that are about these entities.

    ``until``: only documents that did not change since that time.
    """
    asked = {"ids": sorted(set(entity_ids)), "until": until or "9999"}
    return [(row[0], row[1]) for row in connection.execute(_ABOUT, asked)] if entity_ids else []


def naming(connection: Connection, entity_ids: Collection[int]) -> dict[int, int]:
    """Return canonical entity → how many documents name it."""
    rows = connection.execute(_COUNTS, {"ids": sorted(set(entity_ids))}) if entity_ids else ()
    return {row[0]: row[1] for row in rows}


def mentioning(connection: Connection, entity_ids: Collection[int], until: str = "") -> list[tuple[int, int, float]]:
    """Return (canonical entity, document, sum of the confidence of its mentions there), the largest ``MOST_ROWS``.

    ``until``: only documents that did not change since that time.
    """
    asked = {"ids": sorted(set(entity_ids)), "until": until or "9999"}
    rows = connection.execute(_MENTIONING, asked).all() if entity_ids else ()
    return [(entity, document, often) for entity, document, often in rows]


def chunks_of(connection: Connection, document_ids: Collection[int], most: int) -> list[tuple[int, int]]:
    """Return (chunk, document) of these documents, the first ``most`` chunks of each."""
    asked = {"ids": sorted(set(document_ids)), "most": most}
    rows = connection.execute(_CHUNKS, asked).all() if document_ids else ()
    return [(chunk, document) for chunk, document in rows]


def chunks_at(connection: Connection, places: Collection[tuple[int, int]]) -> dict[int, int]:
    """Return chunk → document of the chunks at these places, each a document and the place of the chunk in it."""
    asked = {"ids": sorted({one[0] for one in places}), "ordinals": sorted({one[1] for one in places})}
    rows = connection.execute(_CHUNKS_AT, asked) if places else ()
    wanted = set(places)
    return {row[0]: row[1] for row in rows if (row[1], row[2]) in wanted}


_CANONICAL: Final = func.coalesce(entities.c.canonical_id, entities.c.id)
_NAMED: Final = or_(*(one.in_(bindparam("ids", expanding=True)) for one in (entities.c.id, entities.c.canonical_id)))
_IS_OWN: Final = entity_mentions.c.extractor.startswith(OWN)
_OWN: Final = (
    select(documents.c.uid, documents.c.group_key, documents.c.id, _CANONICAL)
    .select_from(
        documents.outerjoin(entity_mentions, and_(entity_mentions.c.document_id == documents.c.id, _IS_OWN)).outerjoin(
            entities, entities.c.id == entity_mentions.c.entity_id
        )
    )
    .where(documents.c.collection_id == bindparam("collection"), documents.c.uid.in_(bindparam("uids", expanding=True)))
    .distinct()
    .order_by(documents.c.id, _CANONICAL)
)
_ABOUT: Final = (
    select(_CANONICAL, documents.c.id)
    .join_from(entities, entity_mentions, entity_mentions.c.entity_id == entities.c.id)
    .join(documents, documents.c.id == entity_mentions.c.document_id)
    .where(_NAMED, _IS_OWN, documents.c.updated_at <= bindparam("until"))
    .distinct()
    .order_by(documents.c.id, _CANONICAL)
)
_OFTEN: Final = func.sum(entity_mentions.c.confidence)
_MENTIONING: Final = (
    select(_CANONICAL, documents.c.id, _OFTEN)
    .join_from(entities, entity_mentions, entity_mentions.c.entity_id == entities.c.id)
    .join(documents, documents.c.id == entity_mentions.c.document_id)
    .where(_NAMED, entity_mentions.c.end > entity_mentions.c.start, documents.c.updated_at <= bindparam("until"))
    .group_by(_CANONICAL, documents.c.id)
    .order_by(_OFTEN.desc(), documents.c.id, _CANONICAL)
    .limit(MOST_ROWS)
)
_COUNTS: Final = (
    select(entities.c.id, entities.c.documents)
    .where(entities.c.id.in_(bindparam("ids", expanding=True)))
    .order_by(entities.c.id)
)
_CHUNKS: Final = (
    select(chunks.c.id, chunks.c.document_id)
    .where(chunks.c.document_id.in_(bindparam("ids", expanding=True)), chunks.c.ordinal < bindparam("most"))
    .order_by(chunks.c.id)
)
_CHUNKS_AT: Final = (
    select(chunks.c.id, chunks.c.document_id, chunks.c.ordinal)
    .where(chunks.c.document_id.in_(bindparam("ids", expanding=True)))
    .where(chunks.c.ordinal.in_(bindparam("ordinals", expanding=True)))
    .order_by(chunks.c.id)
)


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
    """A mention in the chunk with this ``ordinal`` of the document ``uid``, with its words."""

    mention: ChunkMention
    uid: str
    group_key: str
    path: str
    ordinal: int
    text: str


def mentions_of_chunks(connection: Connection, chunk_ids: Collection[int]) -> list[ChunkMention]:
    """Return the canonical entities that these chunks name, the surest mention of each."""
    parts = batches(sorted(set(chunk_ids)), _BATCH)
    return [ChunkMention(*row) for part in parts for row in connection.execute(_OF_CHUNKS, {"ids": part})]


def mentions_of_documents(
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
