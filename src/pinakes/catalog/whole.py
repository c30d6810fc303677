"""Documents with all that is known of them, and their chunks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, bindparam, select

from pinakes.catalog.schema import chunks, documents
from pinakes.types import JSON, Metadata

_BATCH = 500


@dataclass(frozen=True, slots=True)
class Content:
    """A row of ``documents``, all of it. ``metadata`` is its own, without what its group gives it (``inherited``)."""

    id: int
    uid: str
    collection_id: int
    source_id: int | None
    uri: str
    path: str
    title: str
    kind: str
    language: str | None
    text: str
    metadata: dict[str, JSON]
    inherited: dict[str, JSON]
    given: dict[str, JSON] | None
    group_key: str
    content_hash: str
    token_count: int
    chunk_count: int
    version: int
    created_at: str
    updated_at: str
    summary: str
    summary_by: str

    @property
    def all_metadata(self) -> Metadata:
        """Its own metadata, and that of its group where it has none."""
        return {**self.inherited, **self.metadata}


@dataclass(frozen=True, slots=True)
class ChunkText:
    """A chunk: ``text`` is ``document.text[start:end]``, lines count from 1, ``token_count`` includes its header."""

    index: int
    text: str
    start: int
    end: int
    start_line: int
    end_line: int
    token_count: int
    heading_path: tuple[str, ...]
    symbols: tuple[str, ...]


def of_uids(connection: Connection, collection_id: int, uids: Sequence[str]) -> dict[str, Content]:
    """Return id → document, in the order of ``uids``, less those that the collection does not have."""
    found: dict[str, Content] = {}
    for start in range(0, len(uids), _BATCH):
        rows = connection.execute(_OF_UIDS, {"collection": collection_id, "uids": list(uids[start : start + _BATCH])})
        found |= {row.uid: Content(**row._asdict()) for row in rows}
    return {uid: found[uid] for uid in uids if uid in found}


def of_id(connection: Connection, document_id: int) -> Content:
    """Return a document that is there."""
    return Content(**connection.execute(_OF_ID, {"document": document_id}).one()._asdict())


def at_uri(connection: Connection, collection_id: int, uri: str) -> Content | None:
    """Return the document that stands at ``uri``."""
    row = connection.execute(_AT_URI, {"collection": collection_id, "uri": uri}).first()
    return None if row is None else Content(**row._asdict())


def like(connection: Connection, collection_id: int, content_hash: str, title: str) -> list[Content]:
    """Return the documents of this content and title that are no files, the oldest first."""
    same = {"collection": collection_id, "content_hash": content_hash, "title": title}
    return [Content(**row._asdict()) for row in connection.execute(_LIKE, same)]


def chunks_of(connection: Connection, content: Content) -> list[ChunkText]:
    """Return the chunks of a document in their order."""
    rows = connection.execute(_CHUNKS, {"document": content.id})
    return [
        ChunkText(
            row.ordinal,
            content.text[row.start : row.end],
            row.start,
            row.end,
            row.start_line,
            row.end_line,
            row.token_count,
            tuple(row.heading_path),
            tuple(row.symbols),
        )
        for row in rows
    ]


_COLUMNS = tuple(Content.__annotations__)
_EVERY = select(*(documents.c[name] for name in _COLUMNS))
_OF_ID = _EVERY.where(documents.c.id == bindparam("document"))
_ROWS = _EVERY.where(documents.c.collection_id == bindparam("collection"))
_OF_UIDS = _ROWS.where(documents.c.uid.in_(bindparam("uids", expanding=True)))
_AT_URI = _ROWS.where(documents.c.uri == bindparam("uri"))
_LIKE = _ROWS.where(
    documents.c.content_hash == bindparam("content_hash"),
    documents.c.title == bindparam("title"),
    documents.c.source_id.is_(None),
).order_by(documents.c.id)
_CHUNKS = (
    select(
        chunks.c.ordinal,
        chunks.c.start,
        chunks.c.end,
        chunks.c.start_line,
        chunks.c.end_line,
        chunks.c.token_count,
        chunks.c.heading_path,
        chunks.c.symbols,
    )
    .where(chunks.c.document_id == bindparam("document"))
    .order_by(chunks.c.ordinal)
)
