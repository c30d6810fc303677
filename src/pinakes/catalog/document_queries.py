"""Rows of ``documents`` without their texts: what they are called and about, how long, where their chunks lie."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import BindParameter, Connection, bindparam, func, or_, select

from pinakes.catalog.batched_rows import rows_among, rows_for
from pinakes.catalog.dialects.functions import among, is_shared, json_ids
from pinakes.catalog.schema import chunks, documents, fields
from pinakes.core.records import JSON, Metadata

UNNAMED = "urn:uuid:"
"""How the uris of documents begin that were given none; their own ids follow."""

_SYMBOL_CHUNKS = 50
"""Names that code defines further behind are not among those that say what it is."""


@dataclass(frozen=True, slots=True)
class DocumentRecord:
    """A row of ``documents`` without its text. ``metadata`` includes what the document's group gives it.

    ``summary`` is "" where none is kept; ``summary_by`` is then "", too.
    """

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
    summary: str
    summary_by: str

    @property
    def source(self) -> str:
        """Where it comes from: as its metadata say, else its uri; "" where it was given neither."""
        return str(self.metadata.get("source") or ("" if self.uri.startswith(UNNAMED) else self.uri))

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags among its metadata: a list of texts, or one text."""
        value: JSON = self.metadata.get("tags")
        if isinstance(value, str):
            return (value,) if value else ()
        return tuple(str(one) for one in value if one not in (None, "")) if isinstance(value, list | tuple) else ()


RECORD = select(*(documents.c[name] for name in DocumentRecord.__annotations__), documents.c.inherited)
"""What ``of_row`` makes a record of."""


def of_row(row: Any) -> DocumentRecord:
    """Return the record of a row of ``RECORD``."""
    values = row._asdict()
    values["metadata"] = {**values.pop("inherited"), **values["metadata"]}
    return DocumentRecord(**values)


@dataclass(frozen=True, slots=True)
class ChunkSpan:
    """Where a chunk lies in the text of its document, and how long it is."""

    id: int
    ordinal: int
    start: int
    end: int
    start_line: int
    end_line: int
    token_count: int
    heading_path: tuple[str, ...]
    symbols: tuple[str, ...]


def of_ids(connection: Connection, ids: Sequence[int]) -> dict[int, DocumentRecord]:
    """Return document id → record, of those that are there."""
    return {row.id: of_row(row) for row in rows_for(connection, _BY_ID, "ids", ids)}


def names(connection: Connection, ids: Sequence[int]) -> dict[int, Any]:
    """Return document id → row with its ``id``, ``uid``, ``path`` and ``title``, which take less time than the rest."""
    return {row.id: row for row in rows_for(connection, _NAMES, "ids", ids)}


def of_uids(connection: Connection, collection_ids: Sequence[int], uids: Sequence[str]) -> dict[str, DocumentRecord]:
    """Return document uid → record, of those that are in one of these collections."""
    rows = rows_for(connection, _BY_UID, "uids", uids, collections=list(collection_ids))
    return {row.uid: of_row(row) for row in rows}


def following(connection: Connection, collection_id: int, after: int, limit: int) -> list[DocumentRecord]:
    """Return the next ``limit`` documents of a collection behind the id ``after``, by id."""
    query = RECORD.where(documents.c.collection_id == collection_id, documents.c.id > after)
    return [of_row(row) for row in connection.execute(query.order_by(documents.c.id).limit(limit))]


def count(connection: Connection, collection_id: int) -> int:
    """Return how many documents a collection has."""
    query = select(func.count()).where(documents.c.collection_id == collection_id)
    return int(connection.execute(query).scalar_one())


def beginnings(connection: Connection, ids: Sequence[int], chars: int) -> dict[int, str]:
    """Return document id → the first ``chars`` of its text."""
    cut = func.substr(documents.c.text, 1, chars)
    rows = connection.execute(select(documents.c.id, cut).where(documents.c.id.in_(ids)))
    return {row[0]: str(row[1]) for row in rows}


def without_summary(connection: Connection, collection_id: int, *, again: bool = False) -> list[int]:
    """Return the documents of a collection that have no summary of their own; ``again``: or one that a model wrote."""
    writers = ("", "extractive", "chat") if again else ("", "extractive")
    query = select(documents.c.id).where(
        documents.c.collection_id == collection_id, documents.c.summary_by.in_(writers)
    )
    return list(connection.scalars(query.order_by(documents.c.id)))


def symbols(connection: Connection, document_id: int) -> tuple[str, ...]:
    """Return the names that a document's code defines, in the order of the text, less those far behind."""
    query = select(chunks.c.symbols).where(chunks.c.document_id == document_id, chunks.c.ordinal < _SYMBOL_CHUNKS)
    rows = connection.scalars(query.order_by(chunks.c.ordinal))
    return tuple(dict.fromkeys(str(name) for names in rows for name in names))


def marks(connection: Connection, document_id: int) -> list[ChunkSpan]:
    """Return where the chunks of a document lie, in their order."""
    return [
        ChunkSpan(*row[:-2], tuple(row.heading_path), tuple(row.symbols))
        for row in connection.execute(_MARKS, {"document": document_id})
    ]


def ordinals(connection: Connection, chunk_ids: Sequence[int]) -> dict[int, ChunkSpan]:
    """Return chunk id → where the chunk lies."""
    rows = connection.execute(_MARKS_OF, {"ids": list(chunk_ids)})
    return {row.id: ChunkSpan(*row[:-2], tuple(row.heading_path), tuple(row.symbols)) for row in rows}


def chunk_ids(connection: Connection, document_ids: Sequence[int]) -> list[int]:
    """Return the ids of the chunks of these documents, ascending."""
    query = select(chunks.c.id).where(chunks.c.document_id.in_(document_ids)).order_by(chunks.c.id)
    return list(connection.scalars(query))


_BY_ID = RECORD.where(documents.c.id.in_(bindparam("ids", expanding=True)))
_NAMES = select(documents.c.id, documents.c.uid, documents.c.path, documents.c.title).where(
    documents.c.id.in_(bindparam("ids", expanding=True))
)
_BY_UID = RECORD.where(
    documents.c.uid.in_(bindparam("uids", expanding=True)),
    documents.c.collection_id.in_(bindparam("collections", expanding=True)),
)
_MARK = select(
    chunks.c.id,
    chunks.c.ordinal,
    chunks.c.start,
    chunks.c.end,
    chunks.c.start_line,
    chunks.c.end_line,
    chunks.c.token_count,
    chunks.c.heading_path,
    chunks.c.symbols,
)
_MARKS = _MARK.where(chunks.c.document_id == bindparam("document")).order_by(chunks.c.ordinal)
_MARKS_OF = _MARK.where(chunks.c.id.in_(bindparam("ids", expanding=True)))


def preceding_chunks(
    connection: Connection, collection_id: int, group_keys: Collection[str]
) -> dict[str, dict[int, int]]:
    """Return group → document id → number of chunks of the group's documents before it, in order of path."""
    rows = connection.execute(_GROUPS, {"collection": collection_id, "keys": list(group_keys)})
    before: dict[str, dict[int, int]] = {group_key: {} for group_key in group_keys}
    totals: Counter[str] = Counter()
    for document_id, group_key, chunk_count in rows:
        before[group_key][document_id] = totals[group_key]
        totals[group_key] += chunk_count
    return before


_GROUPS = (
    select(documents.c.id, documents.c.group_key, documents.c.chunk_count)
    .where(
        documents.c.collection_id == bindparam("collection"),
        documents.c.group_key.in_(bindparam("keys", expanding=True)),
    )
    .order_by(documents.c.group_key, documents.c.path, documents.c.id)
)


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

    Where the catalogue may be far, the latest documents of a collection are there, too, at most so many.
    """
    given = {"ids": json.dumps(list(document_ids))}
    if is_shared(connection):
        rows = connection.execute(_KINDS_WITH_LATEST, {**given, "collection": collection_id, "most": most})
    else:
        rows = connection.execute(_KINDS, given)
    return {row[0]: (row[1], row[2]) for row in rows}


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


_KINDS = select(documents.c.id, documents.c.path, documents.c.kind).where(among(documents.c.id, json_ids("ids")))
_LATEST = select(documents.c.id).where(documents.c.collection_id == bindparam("collection"))
_KINDS_WITH_LATEST = select(documents.c.id, documents.c.path, documents.c.kind).where(
    or_(
        among(documents.c.id, json_ids("ids")),
        documents.c.id.in_(_LATEST.order_by(documents.c.id.desc()).limit(bindparam("most"))),
    )
)
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


def lines_of_document(connection: Connection, document_id: int) -> list[int]:
    """Return the numbers in the file of the lines of a document's text, none where they are the file's own."""
    return list(connection.scalar(select(documents.c.lines).where(documents.c.id == document_id)) or ())
