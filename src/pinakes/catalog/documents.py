"""Documents with their chunks, versions and filterable fields, always changed together."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import compress
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, bindparam, delete, func, or_, select, union_all, update

from pinakes.catalog import changes, document_fields, entities, entity_changes, events, history
from pinakes.catalog.batched_rows import rows_among
from pinakes.catalog.dialects.functions import among, json_texts
from pinakes.catalog.dialects.inserts import insert_rows, inserted_id
from pinakes.catalog.document_fields import DocumentFields, place_of
from pinakes.catalog.document_queries import RECORD, UNNAMED, DocumentRecord, of_row
from pinakes.catalog.engine import now
from pinakes.catalog.history import Op, Retention
from pinakes.catalog.path_conditions import ends_with
from pinakes.catalog.schema import chunks, documents, files
from pinakes.core.graph_records import Findings
from pinakes.core.records import JSON, Chunk, Document, Metadata

KEY_BYTES = 16
OWN_SUMMARIES = ("given", "chat")
"""Who writes summaries that say what the text does not: their words are searched, and they have vectors."""

_USUAL = Retention()


@dataclass(frozen=True, slots=True)
class NewDocument:
    """A document to be put into a collection: what was read, where it came from, how it was cut.

    ``uri`` "": it has none of its own. ``summary`` None: none is known, and what the document has is kept while it
    fits. ``given``: what of ``metadata`` callers put over that of a file, None = as it was. ``uid``: of a document that
    was deleted, to be there again as it was ``created_at``; "" = a new one. ``chunker``: what cut it, with its version.
    ``tokens``: of the text, as budgets count them; None = those of the chunks. ``findings``: what it says of the graph.
    """

    uri: str
    path: str
    document: Document
    chunks: Sequence[Chunk]
    content_hash: str
    title: str
    metadata: Metadata
    group_key: str = ""
    source_id: int | None = None
    summary: str | None = None
    summary_by: str = ""
    given: Metadata | None = None
    uid: str = ""
    created_at: str = ""
    chunker: str = ""
    tokens: int | None = None
    findings: Findings | None = None


def embedding_key(chunk: Chunk) -> bytes:
    """Return the key of a chunk's embedding: 16 bytes of the SHA-256 of the embedded text."""
    return hashlib.sha256(chunk.embedded_text.encode()).digest()[:KEY_BYTES]


def summary_key(summary: str) -> bytes:
    """Return the key of a summary's embedding, as ``embedding_key`` does for a chunk."""
    return hashlib.sha256(summary.encode()).digest()[:KEY_BYTES]


def put(connection: Connection, collection_id: int, new: NewDocument, keeping: Retention = _USUAL) -> int:
    """Insert a document, or replace the one at the same path of the same source or with the same uri; return its id.

    The uri of a file may change (that of a git file names its branch), and another document may stand at the new one:
    that one is removed. What callers gave to a file's document, metadata or a summary, it keeps.
    """
    place = {"collection": collection_id, "source": new.source_id or 0, "path": new.path, "uri": new.uri}
    found = connection.execute(_AT_PLACE, place).all()
    for other in found[1:]:
        remove(connection, other.id, keeping)
    if not found:
        return add(connection, collection_id, new, keeping)
    rewrite(connection, found[0].id, new, keeping)
    return int(found[0].id)


def put_all(
    connection: Connection, collection_id: int, news: Sequence[NewDocument], keeping: Retention = _USUAL
) -> list[int]:
    """Put documents as ``put`` does, in fewer statements; return their ids in order."""
    places, uris = {(new.source_id, new.path) for new in news}, {new.uri for new in news}
    if min(len(places), len(uris)) < len(news):  # one replaces another
        return [put(connection, collection_id, new, keeping) for new in news]
    wanted = {"paths": json.dumps([new.path for new in news]), "uris": json.dumps([new.uri for new in news])}
    there = connection.execute(_AT_PLACES, {"collection": collection_id, **wanted}).all()
    indexed_at, named = {(row.source_id, row.path) for row in there if row.source_id}, {row.uri for row in there}
    is_new = [(new.source_id, new.path) not in indexed_at and new.uri not in named for new in news]
    added = iter(add_all(connection, collection_id, list(compress(news, is_new)), keeping))
    return [
        next(added) if fresh else put(connection, collection_id, new, keeping)
        for new, fresh in zip(news, is_new, strict=True)
    ]


def add(connection: Connection, collection_id: int, new: NewDocument, keeping: Retention = _USUAL) -> int:
    """Insert a document, which may be one that was deleted (see ``NewDocument.uid``); return its id."""
    return add_all(connection, collection_id, [new], keeping)[0]


def add_all(
    connection: Connection, collection_id: int, news: Sequence[NewDocument], keeping: Retention = _USUAL
) -> list[int]:
    """Insert documents as ``add`` does; return their ids in order."""
    at, rows, begun = now(), [], dict[str, str]()
    for new in news:
        uid, version = new.uid or str(uuid.uuid4()), 1
        if new.uid and history.last_number(connection, collection_id, uid):
            version = history.revived(connection, collection_id, uid, at, keeping, new.content_hash)
        else:
            begun[uid] = new.content_hash
        row = {"uid": uid, "collection_id": collection_id, "version": version, "created_at": new.created_at or at}
        values = {**_values(new, at), **_summary(new.summary or "", new.summary_by), "given": new.given}
        rows.append({**row, **values, "uri": new.uri or UNNAMED + uid, "inherited": {}})
    if not rows:
        return []
    history.began(connection, collection_id, begun, at, keeping)
    ids = list(connection.scalars(_INSERT, rows))
    _add_chunks(connection, [(one, chunk) for one, new in zip(ids, news, strict=True) for chunk in new.chunks])
    named = (replace(new, uri=row["uri"]) for new, row in zip(news, rows, strict=True))
    document_fields.add(
        connection,
        [_fields_of(collection_id, one, new, new.metadata, {}) for one, new in zip(ids, named, strict=True)],
    )
    entities.add(connection, collection_id, [(one, new.findings) for one, new in zip(ids, news, strict=True)])
    changes.record_new(connection, ids)
    events.changed(connection, ids)
    return ids


def take_over(
    connection: Connection, collection_id: int, new: NewDocument, inherited: Metadata, version: int, updated_at: str
) -> int:
    """Insert a document as another home had it, with ``new.uid`` and its dates; return its id.

    Its history, and the note that it changed, are the caller's business.
    """
    row = {"uid": new.uid, "collection_id": collection_id, "version": version, "created_at": new.created_at}
    own = {**_summary(new.summary or "", new.summary_by), "given": new.given, "inherited": dict(inherited)}
    document_id = inserted_id(connection.execute(documents.insert(), row | _values(new, updated_at) | own))
    _add_chunks(connection, [(document_id, chunk) for chunk in new.chunks])
    document_fields.add(connection, [_fields_of(collection_id, document_id, new, new.metadata, inherited)])
    return document_id


def rewrite(
    connection: Connection,
    document_id: int,
    new: NewDocument,
    keeping: Retention = _USUAL,
    *,
    op: Op = "updated",
    inherited: Metadata | None = None,
    rechunk: bool = True,
) -> None:
    """Make a document what ``new`` says, as its next version; what is read again as it was is none.

    ``inherited`` is what its group gives it, where that is known already. Not ``rechunk``: its chunks are those it has.
    """
    old = connection.execute(_OLD_WITH_TEXT, {"document": document_id}).one()
    at, of_group = now(), dict(inherited or {})
    metadata, kept = _merged_metadata(old, new)
    values = {**_values(new, at), **kept, "metadata": metadata, "inherited": of_group}
    if not rechunk:
        values = {name: value for name, value in values.items() if name not in _OF_CHUNKS}
    changed = history.changed_fields(old._asdict(), values)
    is_another = op != "updated" or bool(changed) or any(getattr(old, name) != values[name] for name in _UNNAMED_STATE)
    if is_another:
        replaced = old.text if old.text != new.document.text else None
        values["version"] = history.followed(connection, old, replaced, at, keeping, op, changed, new.content_hash)
    else:
        del values["updated_at"]
    connection.execute(_UPDATE.values(**values), {"document": document_id})
    if rechunk:
        connection.execute(_DROP_CHUNKS, {"document": document_id})
        _add_chunks(connection, [(document_id, chunk) for chunk in new.chunks])
    document_fields.replace(connection, [_fields_of(old.collection_id, document_id, new, metadata, of_group)])
    entities.put(connection, old.collection_id, document_id, new.findings)
    changes.record(connection, old.collection_id, document_id, "put")
    if is_another:
        events.changed(connection, [document_id])


def is_cut(connection: Connection, document_id: int, cut: Sequence[Chunk]) -> bool:
    """Say whether a document has these chunks, of as many tokens each."""
    columns = (chunks.c.embedding_key, chunks.c.token_count)
    rows = connection.execute(select(*columns).where(chunks.c.document_id == document_id).order_by(chunks.c.ordinal))
    return [tuple(row) for row in rows] == [(embedding_key(chunk), chunk.token_count) for chunk in cut]


def rechunk(
    connection: Connection,
    collection_id: int,
    document_id: int,
    cut: Sequence[Chunk],
    chunker: str = "",
    tokens: int | None = None,
) -> None:
    """Give a document these chunks in place of those it has; that is no new version of it."""
    tokens = sum(chunk.token_count for chunk in cut) if tokens is None else tokens
    counts = {"token_count": tokens, "chunk_count": len(cut), "chunker": chunker}
    connection.execute(_UPDATE.values(**counts), {"document": document_id})
    connection.execute(_DROP_CHUNKS, {"document": document_id})
    _add_chunks(connection, [(document_id, chunk) for chunk in cut])
    changes.record(connection, collection_id, document_id, "put")


def note_chunker(connection: Connection, document_id: int, chunker: str, tokens: int) -> None:
    """Record what would cut a document as it is cut, and how many tokens its text has."""
    connection.execute(_UPDATE.values(chunker=chunker, token_count=tokens), {"document": document_id})


def same_text(connection: Connection, document_id: int, new: NewDocument) -> bool:
    """Say whether a document was read from the bytes of ``new`` and has its text and kind, wherever it is."""
    columns = (documents.c.content_hash, documents.c.kind, documents.c.language, documents.c.text)
    old = connection.execute(select(*columns).where(documents.c.id == document_id)).first()
    document = new.document
    return old is not None and tuple(old) == (new.content_hash, document.kind, document.language, document.text)


def same_content(connection: Connection, document_id: int, new: NewDocument) -> bool:
    """Say whether a document was read from the bytes of ``new`` and has its text, kind and chunks, wherever it is."""
    if not same_text(connection, document_id, new):
        return False
    keys = select(chunks.c.embedding_key).where(chunks.c.document_id == document_id).order_by(chunks.c.ordinal)
    return list(connection.scalars(keys)) == [embedding_key(chunk) for chunk in new.chunks]


def move(
    connection: Connection, collection_id: int, document_id: int, new: NewDocument, keeping: Retention = _USUAL
) -> str:
    """Give a document the place and metadata of ``new``; its chunks and vectors stay as they are.

    Returns the group it was in. Another document that stands at the new place is removed.
    """
    old = connection.execute(_OLD, {"document": document_id}).one()
    there = select(documents.c.id).where(
        documents.c.collection_id == collection_id, documents.c.uri == new.uri, documents.c.id != document_id
    )
    for other in connection.scalars(there).all():
        remove(connection, other, keeping)
    at = now()
    metadata, _ = _merged_metadata(old, new)
    values = {**_values(new, at), "metadata": metadata}
    kept = {name: values[name] for name in _OF_PLACE}
    before = {**old._asdict(), "text": values["text"]}
    changed = history.changed_fields(before, {**values, "summary": old.summary})
    version = history.followed(connection, old, None, at, keeping, "moved", changed, new.content_hash)
    moved = update(documents).where(documents.c.id == document_id)
    connection.execute(moved.values(inherited={}, version=version, **kept))
    document_fields.replace(connection, [_fields_of(collection_id, document_id, new, metadata, {})])
    entities.put(connection, collection_id, document_id, new.findings)
    changes.record(connection, collection_id, document_id, "put")
    events.changed(connection, [document_id])
    return str(old.group_key)


def remove(connection: Connection, document_id: int, keeping: Retention = _USUAL) -> str:
    """Delete a document and all that belongs to it but its history; return its group. Doing it twice is harmless."""
    old = connection.execute(_OLD_WITH_TEXT, {"document": document_id}).first()
    if old is None:
        return ""
    events.deleted(connection, document_id, keeping.by)
    history.followed(connection, old, old.text, now(), keeping, "deleted", (), old.content_hash)
    entity_changes.note_document(connection, old.collection_id, document_id)
    connection.execute(delete(documents).where(documents.c.id == document_id))
    changes.record(connection, old.collection_id, document_id, "remove")
    return str(old.group_key)


def leave_out(connection: Connection, document_id: int, reason: str) -> None:
    """Have a document's file left out, for ``reason``, until it changes: its document is about to be removed."""
    left_out = {"status": "skipped", "reason": reason, "document_id": None}
    connection.execute(update(files).where(files.c.document_id == document_id).values(left_out))


def is_left_out(connection: Connection, source_id: int | None, path: str, content_hash: str) -> bool:
    """Say whether a source has a file of this content that gives no document now."""
    of_file = select(files.c.id).where(files.c.source_id == source_id, files.c.path == path)
    left_out = of_file.where(files.c.document_id.is_(None), files.c.content_hash == content_hash)
    return connection.execute(left_out).first() is not None


def take_back(connection: Connection, document_id: int, source_id: int, path: str) -> None:
    """Let a file that was left out give this document again."""
    of_file = update(files).where(files.c.source_id == source_id, files.c.path == path)
    connection.execute(of_file.values(status="indexed", reason=None, document_id=document_id))


def is_file_at(connection: Connection, document_id: int, source_id: int, path: str) -> bool:
    """Say whether a document is the file at ``path`` of a source; what another source holds is not its own."""
    of = select(documents.c.source_id, documents.c.path).where(documents.c.id == document_id)
    row = connection.execute(of).first()
    return row is not None and row.source_id in (None, source_id) and bool(row.path == path)


def find(connection: Connection, collection_id: int, reference: str) -> list[DocumentRecord]:
    """Return the documents that ``reference`` names: id, uri, path, group, or the end of one path."""
    of_collection = documents.c.collection_id == collection_id
    exact = or_(documents.c.uid == reference, documents.c.uri == reference, documents.c.path == reference)
    rows = connection.execute(_SELECT.where(of_collection, exact)).all()
    if not rows and reference:
        rows = connection.execute(_SELECT.where(of_collection, documents.c.group_key == reference)).all()
    if not rows:
        ending = ends_with(documents.c.path, reference.lstrip("/"))
        rows = connection.execute(_SELECT.where(of_collection, ending)).all()
    return [of_row(row) for row in rows]


def where(connection: Connection, collection_id: int, test: ColumnElement[bool]) -> list[DocumentRecord]:
    """Return the documents of a collection that pass ``test``, those with short paths first."""
    return [of_row(row) for row in connection.execute(_SELECT.where(documents.c.collection_id == collection_id, test))]


def of_ids(connection: Connection, document_ids: Sequence[int]) -> list[DocumentRecord]:
    """Return these documents, those with the shortest paths first, less those that are not there."""
    found = (of_row(row) for row in rows_among(connection, RECORD, documents.c.id, document_ids))
    return sorted(found, key=lambda one: (len(one.path), one.path))


def text(connection: Connection, document_id: int) -> str:
    """Return the full text of a document."""
    return str(connection.execute(select(documents.c.text).where(documents.c.id == document_id)).scalar_one())


def pages(connection: Connection, document_id: int) -> list[int]:
    """Return the offsets at which the pages of a document begin, none where it has no pages."""
    return list(connection.scalar(select(documents.c.pages).where(documents.c.id == document_id)) or ())


def text_of(connection: Connection, uid: str) -> str:
    """Return the full text of a document by its id for callers, "" where there is none."""
    return str(connection.execute(select(documents.c.text).where(documents.c.uid == uid)).scalar() or "")


def paths(connection: Connection, collection_id: int) -> list[str]:
    """Return the paths of all documents of a collection, those first that came first."""
    query = select(documents.c.path).where(documents.c.collection_id == collection_id)
    return list(connection.scalars(query.order_by(documents.c.id)))


def _fields_of(
    collection_id: int, document_id: int, new: NewDocument, own: Metadata, inherited: Metadata
) -> DocumentFields:
    place = place_of(new.uri, new.path, new.title, new.document.kind, new.document.language)
    return DocumentFields(document_id, collection_id, place, own, inherited)


def _merged_metadata(old: Any, new: NewDocument) -> tuple[dict[str, JSON], dict[str, Any]]:
    """Return the metadata of a document that becomes ``new``, and its columns of what callers may have given it."""
    given = old.given if new.given is None else dict(new.given)
    by_hand = new.given is None and new.source_id is not None and old.summary_by == "given"
    fits = new.summary is None and getattr(old, "text", None) == new.document.text
    summary, by = (old.summary, old.summary_by) if by_hand or fits else (new.summary or "", new.summary_by)
    return {**new.metadata, **(given or {})}, {"given": given or None, **_summary(summary, by)}


def _summary(summary: str, by: str) -> dict[str, Any]:
    key = summary_key(summary) if summary and by in OWN_SUMMARIES else None
    return {"summary": summary, "summary_by": by if summary else "", "summary_key": key}


def _add_chunks(connection: Connection, cut: Sequence[tuple[int, Chunk]]) -> None:
    """Insert chunks, each with the id of its document."""
    insert_rows(connection, chunks, [_chunk_values(*one) for one in cut])


def _values(new: NewDocument, at: str) -> dict[str, Any]:
    return {
        "source_id": new.source_id,
        "uri": new.uri,
        "path": new.path,
        "title": new.title,
        "kind": new.document.kind,
        "language": new.document.language,
        "text": new.document.text,
        "pages": list(new.document.pages) or None,
        "notes": [asdict(note) for note in new.document.notes] or None,
        "lines": list(new.document.lines) or None,
        "reader": new.document.reader,
        "chunker": new.chunker,
        "metadata": dict(new.metadata),
        "group_key": new.group_key,
        "content_hash": new.content_hash,
        "token_count": sum(chunk.token_count for chunk in new.chunks) if new.tokens is None else new.tokens,
        "chunk_count": len(new.chunks),
        "updated_at": at,
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


_SELECT = RECORD.order_by(func.length(documents.c.path), documents.c.path)
_SAME_FILE = and_(documents.c.source_id + 0 == bindparam("source"), documents.c.path == bindparam("path"))
_IN_COLLECTION = documents.c.collection_id == bindparam("collection")
_AT_PLACE = (
    select(documents.c.id)
    # Written so that SQLite uses the index of paths; it would rather look through all documents of the source.
    .where(or_(and_(_IN_COLLECTION, _SAME_FILE), and_(_IN_COLLECTION, documents.c.uri == bindparam("uri"))))
    .order_by(func.coalesce(_SAME_FILE, False).desc())
)
_PLACES = select(documents.c.source_id, documents.c.path, documents.c.uri).where(_IN_COLLECTION)
_AT_PLACES = union_all(
    _PLACES.where(among(documents.c.path, json_texts("paths"))),
    _PLACES.where(among(documents.c.uri, json_texts("uris"))),
)
_INSERT = documents.insert().returning(documents.c.id, sort_by_parameter_order=True)
_OF_CHUNKS = ("token_count", "chunk_count", "notes", "lines", "reader", "chunker")
"""Columns that stay as they are where a document keeps its chunks."""

_OF_PLACE = ("source_id", "uri", "path", "title", "metadata", "group_key", "updated_at", *_OF_CHUNKS[2:])
"""Columns that change with the place of a document: it was read there, and gave the same text and chunks."""

_UNNAMED_STATE = ("kind", "language", "source_id", "group_key", "content_hash")
"""What makes another version of a document, too, and is not named among what changed."""

_OLD = (
    select(*history.STATE_COLUMNS, documents.c.content_hash)
    .where(documents.c.id == bindparam("document"))
    .with_for_update()
)
_OLD_WITH_TEXT = _OLD.add_columns(documents.c.text)
_UPDATE = update(documents).where(documents.c.id == bindparam("document"))
_DROP_CHUNKS = delete(chunks).where(chunks.c.document_id == bindparam("document"))
