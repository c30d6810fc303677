"""Documents with their chunks, versions and filterable fields, always changed together."""

from __future__ import annotations

import hashlib
import uuid
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from sqlalchemy import Connection, and_, bindparam, delete, func, or_, select, update

from pinakes.catalog import changes
from pinakes.catalog.engine import now
from pinakes.catalog.schema import chunks, documents, fields, versions
from pinakes.filters import flatten, normal_text, number
from pinakes.types import JSON, Chunk, Document, Metadata

KEY_BYTES = 16


@dataclass(frozen=True, slots=True)
class NewDocument:
    """A document to be put into a collection: what was read, where it came from, how it was cut."""

    uri: str
    path: str
    document: Document
    chunks: Sequence[Chunk]
    content_hash: str
    title: str
    metadata: Metadata
    group_key: str = ""
    source_id: int | None = None


@dataclass(frozen=True, slots=True)
class DocumentRecord:
    """A row of ``documents`` without its text. ``metadata`` includes what the document's group gives it."""

    id: int
    uid: str
    collection_id: int
    uri: str
    path: str
    title: str
    kind: str
    language: str | None
    metadata: Metadata
    group_key: str
    content_hash: str
    token_count: int
    chunk_count: int
    version: int
    created_at: str
    updated_at: str


def embedding_key(chunk: Chunk) -> bytes:
    """Return the key of a chunk's embedding: 16 bytes of the SHA-256 of the embedded text."""
    return hashlib.sha256(chunk.embedded_text.encode()).digest()[:KEY_BYTES]


def put(connection: Connection, collection_id: int, new: NewDocument) -> int:
    """Insert a document, or replace the one at the same path of the same source or with the same uri; return its id.

    The uri of a file may change (that of a git file names its branch), and another document may stand at the new one:
    that one is removed.
    """
    place = {"collection": collection_id, "source": new.source_id or 0, "path": new.path, "uri": new.uri}
    found = connection.execute(_AT_PLACE, place).all()
    for other in found[1:]:
        remove(connection, other.id)
    values = {**_values(new), "inherited": {}}
    if not found:
        row = {"uid": str(uuid.uuid4()), "collection_id": collection_id, "version": 1, "created_at": now()}
        document_id, version = _only_key(connection.execute(documents.insert(), row | values)), 1
    else:
        document_id, version = found[0].id, found[0].version + 1
        connection.execute(_UPDATE.values(version=version, **values), {"document": document_id})
        connection.execute(_DROP_CHUNKS, {"document": document_id})
        connection.execute(_DROP_FIELDS, {"document": document_id})
    recorded = {"document_id": document_id, "number": version, "content_hash": new.content_hash, "recorded_at": now()}
    connection.execute(versions.insert(), recorded)
    if new.chunks:
        connection.execute(chunks.insert(), [_chunk_values(document_id, chunk) for chunk in new.chunks])
    _add_fields(connection, collection_id, document_id, _place_of(new), new.metadata, {})
    changes.record(connection, collection_id, document_id, "put")
    return document_id


def same_content(connection: Connection, document_id: int, new: NewDocument) -> bool:
    """Say whether a document was read from the bytes of ``new`` and has its text, kind and chunks, wherever it is."""
    columns = (documents.c.content_hash, documents.c.kind, documents.c.language, documents.c.text)
    old = connection.execute(select(*columns).where(documents.c.id == document_id)).first()
    document = new.document
    if old is None or tuple(old) != (new.content_hash, document.kind, document.language, document.text):
        return False
    keys = select(chunks.c.embedding_key).where(chunks.c.document_id == document_id).order_by(chunks.c.ordinal)
    return list(connection.scalars(keys)) == [embedding_key(chunk) for chunk in new.chunks]


def move(connection: Connection, collection_id: int, document_id: int, new: NewDocument) -> str:
    """Give a document the place and metadata of ``new``; its chunks and vectors stay as they are.

    Returns the group it was in. Another document that stands at the new place is removed.
    """
    group = str(connection.execute(select(documents.c.group_key).where(documents.c.id == document_id)).scalar_one())
    there = select(documents.c.id).where(
        documents.c.collection_id == collection_id, documents.c.uri == new.uri, documents.c.id != document_id
    )
    for other in connection.scalars(there).all():
        remove(connection, other)
    values = _values(new)
    kept = {name: values[name] for name in ("source_id", "uri", "path", "title", "metadata", "group_key", "updated_at")}
    connection.execute(update(documents).where(documents.c.id == document_id).values(inherited={}, **kept))
    _set_fields(connection, collection_id, document_id, _place_of(new), new.metadata, {})
    changes.record(connection, collection_id, document_id, "put")
    return group


def remove(connection: Connection, document_id: int) -> str:
    """Delete a document and all that belongs to it; return its group. Doing it twice is harmless."""
    row = connection.execute(
        select(documents.c.collection_id, documents.c.group_key).where(documents.c.id == document_id)
    ).first()
    if row is None:
        return ""
    connection.execute(delete(documents).where(documents.c.id == document_id))
    changes.record(connection, row.collection_id, document_id, "remove")
    return str(row.group_key)


def stands_at(connection: Connection, document_id: int, source_id: int, location: str, path: str) -> bool:
    """Say whether a document is the file at ``path`` of a source, and not moved on by another source around it."""
    row = connection.execute(
        select(documents.c.source_id, documents.c.uri, documents.c.path).where(documents.c.id == document_id)
    ).first()
    if row is None:
        return False
    if row.source_id in (None, source_id):
        return bool(row.path == path)
    return unquote(row.uri).endswith(f"{location.rstrip('/')}/{path}")


def inherit(connection: Connection, collection_id: int, group_key: str, file_name: str) -> None:
    """Give every document of a group the metadata of the group's file called ``file_name``."""
    rows = connection.execute(
        _SELECT.where(documents.c.collection_id == collection_id, documents.c.group_key == group_key)
    ).all()
    giver = next((row for row in rows if row.path.rpartition("/")[2] == file_name), None)
    given: Mapping[str, JSON] = giver.metadata if giver else {}
    for row in rows:
        inherited = {} if row is giver else dict(given)
        if inherited != row.inherited:
            connection.execute(update(documents).where(documents.c.id == row.id).values(inherited=inherited))
            place = _place(row.uri, row.path, row.title, row.kind, row.language)
            _set_fields(connection, collection_id, row.id, place, row.metadata, inherited)


def find(connection: Connection, collection_id: int, reference: str) -> list[DocumentRecord]:
    """Return the documents that ``reference`` names: id, uri, path, group, or the end of one path."""
    of_collection = documents.c.collection_id == collection_id
    exact = or_(documents.c.uid == reference, documents.c.uri == reference, documents.c.path == reference)
    rows = connection.execute(_SELECT.where(of_collection, exact)).all()
    if not rows and reference:
        rows = connection.execute(_SELECT.where(of_collection, documents.c.group_key == reference)).all()
    if not rows:
        ending = documents.c.path.endswith("/" + reference.lstrip("/"), autoescape=True)
        rows = connection.execute(_SELECT.where(of_collection, ending)).all()
    return [_record(row) for row in rows]


def text(connection: Connection, document_id: int) -> str:
    """Return the full text of a document."""
    return str(connection.execute(select(documents.c.text).where(documents.c.id == document_id)).scalar_one())


def preceding_chunks(connection: Connection, collection_id: int, group_keys: Collection[str]) -> dict[int, int]:
    """Return document id → number of chunks of its group's documents before it, in order of path."""
    rows = connection.execute(_GROUPS, {"collection": collection_id, "keys": list(group_keys)})
    before: dict[int, int] = {}
    totals: Counter[str] = Counter()
    for document_id, group_key, chunk_count in rows:
        before[document_id] = totals[group_key]
        totals[group_key] += chunk_count
    return before


def paths(connection: Connection, collection_id: int) -> list[str]:
    """Return the paths of all documents of a collection."""
    return list(connection.scalars(select(documents.c.path).where(documents.c.collection_id == collection_id)))


def _set_fields(
    connection: Connection, collection_id: int, document_id: int, place: Metadata, own: Metadata, inherited: Metadata
) -> None:
    """Write anew what filters see of a document."""
    connection.execute(_DROP_FIELDS, {"document": document_id})
    _add_fields(connection, collection_id, document_id, place, own, inherited)


def _add_fields(
    connection: Connection, collection_id: int, document_id: int, place: Metadata, own: Metadata, inherited: Metadata
) -> None:
    """Write what filters see of a document: its place, and its own metadata, which wins over what it inherits."""
    values = {
        (name, normal_text(value)): number(value) for name, value in (*flatten(place), *flatten({**inherited, **own}))
    }
    connection.execute(
        fields.insert(),
        [
            {
                "document_id": document_id,
                "collection_id": collection_id,
                "name": name,
                "value": value,
                "number": as_number,
            }
            for (name, value), as_number in values.items()
        ],
    )


def _place_of(new: NewDocument) -> dict[str, JSON]:
    return _place(new.uri, new.path, new.title, new.document.kind, new.document.language)


def _place(uri: str, path: str, title: str, kind: str, language: str | None) -> dict[str, JSON]:
    name = path.rpartition("/")[2]
    extension = name.rpartition(".")[2].lower() if "." in name else ""
    return {
        "uri": uri,
        "path": path,
        "title": title,
        "kind": kind,
        "language": language,
        "file_name": name,
        "file_type": extension,
    }


def _values(new: NewDocument) -> dict[str, Any]:
    return {
        "source_id": new.source_id,
        "uri": new.uri,
        "path": new.path,
        "title": new.title,
        "kind": new.document.kind,
        "language": new.document.language,
        "text": new.document.text,
        "metadata": dict(new.metadata),
        "group_key": new.group_key,
        "content_hash": new.content_hash,
        "token_count": sum(chunk.token_count for chunk in new.chunks),
        "chunk_count": len(new.chunks),
        "updated_at": now(),
    }


def _chunk_values(document_id: int, chunk: Chunk) -> dict[str, Any]:
    return {
        "document_id": document_id,
        "ordinal": chunk.ordinal,
        "start": chunk.start,
        "end": chunk.end,
        "start_line": chunk.start_line,
        "end_line": chunk.end_line,
        "token_count": chunk.token_count,
        "header": chunk.header,
        "heading_path": list(chunk.heading_path),
        "symbols": list(chunk.symbols),
        "embedding_key": embedding_key(chunk),
    }


def _only_key(result: Any) -> int:
    return int(result.inserted_primary_key[0])


def _record(row: Any) -> DocumentRecord:
    values = row._asdict()
    values["metadata"] = {**values.pop("inherited"), **values["metadata"]}
    return DocumentRecord(**values)


_SELECT = select(
    documents.c.id,
    documents.c.uid,
    documents.c.collection_id,
    documents.c.uri,
    documents.c.path,
    documents.c.title,
    documents.c.kind,
    documents.c.language,
    documents.c.metadata,
    documents.c.inherited,
    documents.c.group_key,
    documents.c.content_hash,
    documents.c.token_count,
    documents.c.chunk_count,
    documents.c.version,
    documents.c.created_at,
    documents.c.updated_at,
).order_by(func.length(documents.c.path), documents.c.path)
_GROUPS = (
    select(documents.c.id, documents.c.group_key, documents.c.chunk_count)
    .where(
        documents.c.collection_id == bindparam("collection"),
        documents.c.group_key.in_(bindparam("keys", expanding=True)),
    )
    .order_by(documents.c.group_key, documents.c.path)
)
_SAME_FILE = and_(documents.c.source_id + 0 == bindparam("source"), documents.c.path == bindparam("path"))
_IN_COLLECTION = documents.c.collection_id == bindparam("collection")
_AT_PLACE = (
    select(documents.c.id, documents.c.version)
    # Written so that SQLite uses the index of paths; it would rather look through all documents of the source.
    .where(or_(and_(_IN_COLLECTION, _SAME_FILE), and_(_IN_COLLECTION, documents.c.uri == bindparam("uri"))))
    .order_by(func.coalesce(_SAME_FILE, False).desc())
)
_UPDATE = update(documents).where(documents.c.id == bindparam("document"))
_DROP_CHUNKS = delete(chunks).where(chunks.c.document_id == bindparam("document"))
_DROP_FIELDS = delete(fields).where(fields.c.document_id == bindparam("document"))
