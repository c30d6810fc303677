"""Checks that the catalogue still holds what was written into it."""

from __future__ import annotations

import hashlib
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Select, func, or_, select

from pinakes.catalog import changes
from pinakes.catalog.collections import CollectionRecord
from pinakes.catalog.dialects.translation import translated
from pinakes.catalog.embeddings import with_texts
from pinakes.catalog.schema import chunks, documents, embeddings, entities, entity_mentions, entity_relations
from pinakes.core.errors import CatalogueCorrupt


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """One chunk as the catalogue holds it: the text that was embedded, its key, and its vector, float16, if any."""

    chunk_id: int
    text: str
    key: bytes
    vector: bytes | None

    @property
    def is_as_embedded(self) -> bool:
        """Whether the text is the one that the key was made of."""
        return hashlib.sha256(self.text.encode("utf-8", "surrogatepass")).digest()[: len(self.key)] == self.key


def chunks_after(connection: Connection, collection: CollectionRecord, after: int, limit: int) -> list[StoredChunk]:
    """Return up to ``limit`` chunks of a collection above the id ``after``, in the order of their ids."""
    joined = changes.with_embeddings(collection.model_id).join(documents, documents.c.id == chunks.c.document_id)
    rows = connection.execute(
        select(
            chunks.c.id,
            chunks.c.document_id,
            chunks.c.start,
            chunks.c.end,
            chunks.c.header,
            chunks.c.embedding_key,
            embeddings.c.vector,
        )
        .select_from(joined)
        .where(documents.c.collection_id + 0 == collection.id, chunks.c.id > after)
        .order_by(chunks.c.id)
        .limit(limit)
    ).all()
    texts = with_texts(connection, rows)
    return [StoredChunk(one, text, key, row.vector) for (one, key, text), row in zip(texts, rows, strict=True)]


def graph_faults(connection: Connection, collection_id: int) -> dict[str, list[int]]:
    """Return what is wrong in the rows of a graph, in words → ids of the documents, or of the entities, concerned."""
    main = entities.alias("main")
    own = documents.c.collection_id == collection_id
    found: dict[str, list[int]] = {}

    def note(problem: str, query: Select[Any]) -> None:
        if ids := sorted(set(connection.scalars(query))):
            found[problem] = ids

    for table, columns in (
        (entity_mentions, (entity_mentions.c.entity_id,)),
        (entity_relations, (entity_relations.c.source_id, entity_relations.c.target_id)),
    ):
        held = select(documents.c.id).join_from(table, documents, documents.c.id == table.c.document_id).where(own)
        for column in columns:
            of_collection = select(entities.c.id).where(entities.c.collection_id == collection_id)
            note(f"{table.name} refer to no entity of the collection", held.where(column.not_in(of_collection)))
        outside = or_(table.c.start < 0, table.c.end < table.c.start, table.c.end > func.length(documents.c.text))
        note(f"{table.name} are outside of the text", held.where(outside))
    other = select(entities.c.id).outerjoin(main, main.c.id == entities.c.canonical_id)
    wrong = or_(main.c.id.is_(None), main.c.canonical_id.is_not(None), main.c.collection_id != collection_id)
    note(
        "entities are names of no entity",
        other.where(entities.c.collection_id == collection_id, entities.c.canonical_id.is_not(None), wrong),
    )
    return found


def row_counts(file: Path) -> tuple[int, int]:
    """Return how many collections and documents a copy of a catalogue holds, which is whole.

    Raises:
        CatalogueCorrupt: it is not.
    """
    with translated(), closing(sqlite3.connect(file)) as connection:
        problems = [row[0] for row in connection.execute("PRAGMA quick_check(1)")]
        if problems != ["ok"]:
            raise CatalogueCorrupt(f"The catalogue is damaged: {problems[0]}.", hint="Restore an earlier backup.")
        held = connection.execute("SELECT (SELECT count(*) FROM collections), (SELECT count(*) FROM documents)")
        of_collections, of_documents = held.fetchone()
    return int(of_collections), int(of_documents)
