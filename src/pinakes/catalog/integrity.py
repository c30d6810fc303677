"""Whether the catalogue still holds what was written into it."""

from __future__ import annotations

import hashlib
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection, select

from pinakes.catalog import changes
from pinakes.catalog.collections import CollectionRecord
from pinakes.catalog.dialects.translation import translated
from pinakes.catalog.schema import chunks, documents, embeddings
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
    wanted = {row.document_id for row in rows}
    texts = dict(connection.execute(select(documents.c.id, documents.c.text).where(documents.c.id.in_(wanted))).all())
    found = []
    for row in rows:
        text = texts[row.document_id][row.start : row.end]
        found.append(
            StoredChunk(row.id, f"{row.header}\n{text}" if row.header else text, row.embedding_key, row.vector)
        )
    return found


def row_counts(file: Path) -> tuple[int, int]:
    """Return how many collections and documents a copy of a catalogue holds, which is whole.

    Raises:
        CatalogueCorrupt: it is not.
    """
    with translated(), closing(sqlite3.connect(file)) as connection:
        said = [row[0] for row in connection.execute("PRAGMA quick_check(1)")]
        if said != ["ok"]:
            raise CatalogueCorrupt(f"The catalogue is damaged: {said[0]}.", hint="Restore an earlier backup.")
        held = connection.execute("SELECT (SELECT count(*) FROM collections), (SELECT count(*) FROM documents)")
        of_collections, of_documents = held.fetchone()
    return int(of_collections), int(of_documents)
