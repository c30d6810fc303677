"""Documents with all that is known of them, and their chunks; or only with their words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, bindparam, select

from pinakes.catalog import document_queries
from pinakes.catalog.batched_rows import rows_for
from pinakes.catalog.document_queries import RECORD, DocumentRecord
from pinakes.catalog.schema import chunks, documents
from pinakes.core.records import JSON, ReadingNote


@dataclass(frozen=True, slots=True)
class StoredDocument(DocumentRecord):
    """A row of ``documents``, all of it. ``own`` is its metadata without what its group gives it (``inherited``)."""

    text: str
    source_id: int | None
    own: dict[str, JSON]
    inherited: dict[str, JSON]
    given: dict[str, JSON] | None
    pages: list[int] | None
    notes: tuple[ReadingNote, ...]


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


def of_uids(connection: Connection, collection_id: int, uids: Sequence[str]) -> dict[str, StoredDocument]:
    """Return id → document, in the order of ``uids``, less those that the collection does not have."""
    rows = rows_for(connection, _OF_UIDS, "uids", uids, collection=collection_id)
    found = {row.uid: _content(row) for row in rows}
    return {uid: found[uid] for uid in uids if uid in found}


def of_id(connection: Connection, document_id: int) -> StoredDocument:
    """Return a document that is there."""
    return _content(connection.execute(_OF_ID, {"document": document_id}).one())


def at_uri(connection: Connection, collection_id: int, uri: str) -> StoredDocument | None:
    """Return the document that stands at ``uri``."""
    row = connection.execute(_AT_URI, {"collection": collection_id, "uri": uri}).first()
    return None if row is None else _content(row)


def like(connection: Connection, collection_id: int, content_hash: str, title: str) -> list[StoredDocument]:
    """Return the documents of this content and title that are no files, the oldest first."""
    same = {"collection": collection_id, "content_hash": content_hash, "title": title}
    return [_content(row) for row in connection.execute(_LIKE, same)]


def without_file(connection: Connection, collection_id: int) -> list[tuple[str, str, str, str | None]]:
    """Return id, chunker, kind and language of the documents that no file gives, the oldest first."""
    own = (documents.c.collection_id == collection_id, documents.c.source_id.is_(None))
    cut = select(documents.c.uid, documents.c.chunker, documents.c.kind, documents.c.language)
    return [tuple(row) for row in connection.execute(cut.where(*own).order_by(documents.c.id))]


def noted(connection: Connection, collection_id: int) -> list[tuple[str, ReadingNote]]:
    """Return path and note of all that was dropped, doubted or masked in the documents of a collection, by path."""
    query = select(documents.c.path, documents.c.notes).where(
        documents.c.collection_id == collection_id, documents.c.notes.is_not(None)
    )
    rows = connection.execute(query.order_by(documents.c.path))
    return [(row.path, ReadingNote(**note)) for row in rows for note in row.notes]


def chunks_of(connection: Connection, content: StoredDocument) -> list[ChunkText]:
    """Return the chunks of a document in their order."""
    return [
        ChunkText(
            mark.ordinal,
            content.text[mark.start : mark.end],
            mark.start,
            mark.end,
            mark.start_line,
            mark.end_line,
            mark.token_count,
            mark.heading_path,
            mark.symbols,
        )
        for mark in document_queries.marks(connection, content.id)
    ]


def _content(row: Any) -> StoredDocument:
    values = row._asdict()
    own = values["metadata"]
    notes = tuple(ReadingNote(**note) for note in values["notes"] or ())
    return StoredDocument(**values | {"metadata": {**values["inherited"], **own}, "own": own, "notes": notes})


_EVERY = RECORD.add_columns(
    documents.c.text, documents.c.source_id, documents.c.given, documents.c.pages, documents.c.notes
)
_OF_ID = _EVERY.where(documents.c.id == bindparam("document"))
_ROWS = _EVERY.where(documents.c.collection_id == bindparam("collection"))
_OF_UIDS = _ROWS.where(documents.c.uid.in_(bindparam("uids", expanding=True)))
_AT_URI = _ROWS.where(documents.c.uri == bindparam("uri"))
_LIKE = _ROWS.where(
    documents.c.content_hash == bindparam("content_hash"),
    documents.c.title == bindparam("title"),
    documents.c.source_id.is_(None),
).order_by(documents.c.id)


@dataclass(frozen=True, slots=True)
class DocumentTerms:
    """The words of a document. ``chunk_ids`` are in the order of the text; ``headings`` and ``symbols`` once each.

    ``numbers`` are those of the lines of ``text`` in the file, () where they are the file's own.
    """

    text: str
    chunk_ids: tuple[int, ...]
    headings: tuple[str, ...]
    symbols: tuple[str, ...]
    numbers: tuple[int, ...] = ()


def wordings(connection: Connection, document_ids: Sequence[int]) -> dict[int, DocumentTerms]:
    """Return document id → its words, less those that are not there."""
    ids = {"ids": list(document_ids)}
    of_document: dict[int, list[tuple[int, Sequence[str], Sequence[str]]]] = {}
    for chunk_id, document_id, headings, symbols in connection.execute(_CHUNKS, ids):
        of_document.setdefault(document_id, []).append((chunk_id, headings, symbols))
    return {row.id: _wording(row, of_document.get(row.id, [])) for row in connection.execute(_TEXTS, ids)}


def _wording(document: Any, rows: Sequence[tuple[int, Sequence[str], Sequence[str]]]) -> DocumentTerms:
    headings = dict.fromkeys(heading for _, path, _ in rows for heading in path)
    symbols = dict.fromkeys(symbol for _, _, some in rows for symbol in some)
    ids = tuple(row[0] for row in rows)
    return DocumentTerms(document.text, ids, tuple(headings), tuple(symbols), tuple(document.lines or ()))


_TEXTS = select(documents.c.id, documents.c.text, documents.c.lines).where(
    documents.c.id.in_(bindparam("ids", expanding=True))
)
_CHUNKS = (
    select(chunks.c.id, chunks.c.document_id, chunks.c.heading_path, chunks.c.symbols)
    .where(chunks.c.document_id.in_(bindparam("ids", expanding=True)))
    .order_by(chunks.c.document_id, chunks.c.ordinal)
)
