"""All documents of a collection at once, as far as naming and counting them goes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import BindParameter, Connection, bindparam, or_, select

from pinakes.catalog.batched_rows import rows_among, rows_for
from pinakes.catalog.schema import chunks, documents, fields


@dataclass(frozen=True, slots=True)
class ListedDocument:
    """A document with what it can be called."""

    id: int
    uid: str
    uri: str
    path: str
    group_key: str
    content_hash: str


@dataclass(frozen=True, slots=True)
class ChunkLocation:
    """Where a chunk stands: its number within its document, and what that is called and belongs to."""

    ordinal: int
    document_id: int
    group_key: str
    uid: str
    uri: str
    path: str
    title: str


def list_all(connection: Connection, collection_id: int) -> list[ListedDocument]:
    """Return every document of a collection, shortest paths first."""
    rows = connection.execute(_LISTED.where(documents.c.collection_id == collection_id)).all()
    return sorted((ListedDocument(*row) for row in rows), key=lambda one: (one.path.count("/"), one.path))


def chunk_counts(connection: Connection, collection_id: int, uris: Sequence[str] | None = None) -> dict[str, int]:
    """Return uri → number of chunks of every document of a collection, or of those at these ``uris``."""
    query = select(documents.c.uri, documents.c.chunk_count).where(documents.c.collection_id == collection_id)
    if uris is None:
        return {row.uri: row.chunk_count for row in connection.execute(query)}
    return {row.uri: row.chunk_count for row in rows_among(connection, query, documents.c.uri, uris)}


def values(connection: Connection, collection_id: int, field: str) -> dict[int, list[str]]:
    """Return document id → values of a metadata field, both as filters compare them (``filters.normal_name``)."""
    query = select(fields.c.document_id, fields.c.value).where(
        fields.c.collection_id == collection_id, fields.c.name == field
    )
    found: dict[int, list[str]] = {}
    for document_id, value in connection.execute(query.order_by(fields.c.id)):
        found.setdefault(document_id, []).append(value)
    return found


def places(connection: Connection, chunk_ids: Sequence[int]) -> dict[int, ChunkLocation]:
    """Return chunk id → where it stands, less those that are not there."""
    return {row[0]: ChunkLocation(*row[1:]) for row in rows_for(connection, _PLACES, "ids", chunk_ids)}


def paths_and_kinds(
    connection: Connection, document_ids: Sequence[int], collection_id: int = 0, most: int = 0
) -> dict[int, tuple[str, str]]:
    """Return document id → path and kind ("markdown", "code", "text"), less those that are not there.

    The latest documents of a collection are there, too, at most so many.
    """
    latest = select(documents.c.id).where(documents.c.collection_id == collection_id)
    latest = latest.order_by(documents.c.id.desc()).limit(most)
    query = select(documents.c.id, documents.c.path, documents.c.kind)
    query = query.where(or_(documents.c.id.in_(_IDS), documents.c.id.in_(latest)))
    return {row[0]: (row[1], row[2]) for row in rows_for(connection, query, "ids", document_ids)}


def values_of(
    connection: Connection, document_ids: Sequence[int], names: Sequence[str]
) -> dict[int, dict[str, list[str]]]:
    """Return document id → field → its values as filters compare them, of these fields, for those that have any."""
    query = select(fields.c.document_id, fields.c.name, fields.c.value).where(
        fields.c.document_id.in_(_IDS), fields.c.name.in_(names)
    )
    found: dict[int, dict[str, list[str]]] = {}
    for document_id, name, value in rows_for(connection, query.order_by(fields.c.id), "ids", document_ids):
        found.setdefault(document_id, {}).setdefault(name, []).append(value)
    return found


_IDS: BindParameter[int] = bindparam("ids", expanding=True)
_LISTED = select(
    documents.c.id,
    documents.c.uid,
    documents.c.uri,
    documents.c.path,
    documents.c.group_key,
    documents.c.content_hash,
)
_PLACES = (
    select(
        chunks.c.id,
        chunks.c.ordinal,
        documents.c.id,
        documents.c.group_key,
        documents.c.uid,
        documents.c.uri,
        documents.c.path,
        documents.c.title,
    )
    .select_from(chunks.join(documents))
    .where(chunks.c.id.in_(bindparam("ids", expanding=True)))
)
