"""The record of changes that indexes follow: the latest operations on each document, in order."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from sqlalchemy import (
    ColumnElement,
    Connection,
    Join,
    bindparam,
    case,
    delete,
    exists,
    func,
    literal,
    or_,
    select,
)

from pinakes.catalog.dialects.functions import among, json_ids
from pinakes.catalog.dialects.upsert import insert
from pinakes.catalog.schema import beside, changes, chunks, collections, documents, embeddings
from pinakes.core.batching import batches
from pinakes.core.filters import flatten
from pinakes.core.records import JSON, Float32, IndexEntry, VectorEntry

_BATCH = 500
_MOST_METADATA = 5000
"""So many characters of a document's metadata are found by their words."""

Op: TypeAlias = Literal["put", "remove", "embed", "approximate"]
"""What happened to a document: it was written; it was removed; chunks of it got the model's vectors; those that
wait for theirs get other approximate ones. A later write or removal supersedes all, the last two only their like."""


@dataclass(frozen=True, slots=True)
class Change:
    """One change: number ``seq``, of one document."""

    seq: int
    document_id: int
    op: Op


def record(connection: Connection, collection_id: int, document_id: int, op: Literal["put", "remove"]) -> None:
    """Note that a document was written or removed; older notes on the same document are superseded."""
    connection.execute(_SUPERSEDE, {"collection": collection_id, "document": document_id})
    connection.execute(_INSERT, {"collection_id": collection_id, "document_id": document_id, "op": op})


def record_new(connection: Connection, document_ids: Sequence[int]) -> None:
    """Note that documents were written which are new, so that there are no older notes on them."""
    connection.execute(_INSERT_NEW, {"documents": json.dumps(list(document_ids))})


def record_everything(connection: Connection, collection_id: int) -> None:
    """Note that every document of a collection changed."""
    connection.execute(delete(changes).where(changes.c.collection_id == collection_id, changes.c.op != "remove"))
    every = select(documents.c.collection_id, documents.c.id, literal("put"))
    of_collection = every.where(documents.c.collection_id == collection_id).order_by(documents.c.id)
    connection.execute(changes.insert().from_select(["collection_id", "document_id", "op"], of_collection))


def record_waiting(connection: Connection, collection_id: int, model_id: int | None) -> None:
    """Note that the chunks of a collection without a vector by the model get other approximate ones."""
    older = delete(changes).where(changes.c.collection_id == collection_id, changes.c.op == "approximate")
    connection.execute(older)
    waiting = (
        select(documents.c.collection_id, documents.c.id, literal("approximate"))
        .where(
            documents.c.collection_id == collection_id,
            exists().select_from(with_embeddings(model_id)).where(chunks.c.document_id == documents.c.id, _WAITING),
        )
        .order_by(documents.c.id)
    )
    connection.execute(changes.insert().from_select(["collection_id", "document_id", "op"], waiting))


def record_embedded(connection: Connection, model_id: int, keys: Iterable[bytes]) -> None:
    """Note that chunks with these ``keys`` got vectors by the model, in every collection of that model.

    A generation beside counts once its index is being built; that begins when its vectors are there.
    """
    following = select(beside.c.collection_id).where(beside.c.model_id == model_id, beside.c.state != "embedding")
    of_model = or_(collections.c.model_id == model_id, collections.c.id.in_(following))
    for part in batches(keys, _BATCH):
        found = connection.execute(
            select(documents.c.collection_id, documents.c.id.label("document_id"))
            .select_from(chunks.join(documents).join(collections))
            .where(chunks.c.embedding_key.in_(part), of_model)
            .distinct()
        ).mappings()
        if rows := [{**row, "op": "embed"} for row in found]:
            of_documents = changes.c.document_id.in_([row["document_id"] for row in rows])
            in_collections = changes.c.collection_id.in_({row["collection_id"] for row in rows})
            connection.execute(delete(changes).where(in_collections, of_documents, changes.c.op == "embed"))
            connection.execute(_INSERT, sorted(rows, key=lambda row: (row["collection_id"], row["document_id"])))


def head(connection: Connection, collection_id: int) -> int:
    """Return the number of the newest change, 0 when there is none."""
    query = select(func.max(changes.c.seq)).where(changes.c.collection_id == collection_id)
    return int(connection.execute(query).scalar() or 0)


def put_until(connection: Connection, collection_id: int, position: int) -> tuple[int, int]:
    """Return how many documents of a collection were last written by the change ``position``, and how many there are.

    An index that is built from the catalogue and stands at ``position`` has the former.
    """
    counts = select(func.count(case((changes.c.seq <= position, 1))), func.count())
    of_documents = changes.c.collection_id == collection_id, changes.c.op == "put"
    written, every = connection.execute(counts.where(*of_documents)).one()
    return written, every


def since(
    connection: Connection, collection_id: int, position: int, limit: int, most_chars: int | None = None
) -> list[Change]:
    """Return up to ``limit`` changes after ``position``, oldest first.

    ``most_chars`` bounds what the documents' texts have together, in characters; one is returned in any case.
    """
    wanted = {"collection": collection_id, "position": position, "limit": limit}
    if most_chars is None:
        return [Change(*row) for row in connection.execute(_SINCE, wanted)]
    found: list[Change] = []
    chars = 0
    with connection.execute(_SINCE_WITH_LENGTH, wanted) as rows:
        for seq, document_id, op, length in rows:
            chars += length or 0
            if found and chars > most_chars:
                break
            found.append(Change(seq, document_id, op))
    return found


def entries(connection: Connection, document_ids: Sequence[int], model_id: int | None) -> list[IndexEntry]:
    """Return the chunks of these documents as an index stores them, with vectors where they exist."""
    return _entries(connection, model_id, chunks.c.document_id.in_(document_ids)) if document_ids else []


def waiting(connection: Connection, document_ids: Sequence[int], model_id: int | None) -> list[IndexEntry]:
    """Return the chunks of these documents that have no vector by the model, as an index stores them."""
    return _entries(connection, model_id, chunks.c.document_id.in_(document_ids), _WAITING) if document_ids else []


def entries_of(connection: Connection, chunk_ids: Sequence[int]) -> list[IndexEntry]:
    """Return these chunks as an index stores them, without their vectors."""
    return _entries(connection, None, chunks.c.id.in_(chunk_ids))


def vectors(connection: Connection, document_ids: Sequence[int], model_id: int | None) -> list[VectorEntry]:
    """Return the vectors by the model that chunks of these documents have."""
    if not document_ids:
        return []
    rows = connection.execute(
        select(chunks.c.id, chunks.c.document_id, embeddings.c.vector)
        .select_from(chunks.join(embeddings, embeddings.c.key == chunks.c.embedding_key))
        .where(chunks.c.document_id.in_(document_ids), embeddings.c.model_id == model_id)
    )
    return [VectorEntry(chunk_id, document_id, vector_of(vector)) for chunk_id, document_id, vector in rows]


def _entries(connection: Connection, model_id: int | None, *which: ColumnElement[bool]) -> list[IndexEntry]:
    rows = connection.execute(
        select(
            chunks.c.id,
            chunks.c.document_id,
            chunks.c.ordinal,
            chunks.c.start,
            chunks.c.end,
            chunks.c.header,
            chunks.c.symbols,
            embeddings.c.vector,
        )
        .select_from(with_embeddings(model_id))
        .where(*which)
        .order_by(chunks.c.id)
    ).all()
    own_summary = case((documents.c.summary_key.is_not(None), documents.c.summary), else_="").label("summary")
    columns = select(
        documents.c.id,
        documents.c.title,
        documents.c.uri,
        documents.c.path,
        documents.c.kind,
        documents.c.text,
        documents.c.metadata,
        documents.c.inherited,
        own_summary,
    )
    wanted = {row.document_id for row in rows}
    texts = {row.id: row for row in connection.execute(columns.where(documents.c.id.in_(wanted)))}
    found = []
    for row in rows:
        document = texts[row.document_id]
        text, fields = document.text[row.start : row.end], {**document.inherited, **document.metadata}
        found.append(
            IndexEntry(
                row.id,
                row.document_id,
                document.title,
                document.path,
                row.header,
                text,
                tuple(row.symbols),
                None if row.vector is None else vector_of(row.vector),
                summary="" if row.ordinal else document.summary,
                is_code=document.kind == "code",
                metadata="" if row.ordinal else _words_of(fields),
                uri=document.uri,
                fields=fields,
            )
        )
    return found


def _words_of(metadata: Mapping[str, JSON]) -> str:
    """Return the values of metadata, by whose words a document is found; of a great many the first ones."""
    values = dict.fromkeys(str(value) for _, value in flatten(metadata) if not isinstance(value, bool) and value)
    return "\n".join(values)[:_MOST_METADATA]


def with_embeddings(model_id: int | None) -> Join:
    """Return chunks, each with its embedding by the model where there is one."""
    by_model = (embeddings.c.key == chunks.c.embedding_key) & (embeddings.c.model_id == model_id)
    return chunks.outerjoin(embeddings, by_model)


def vector_of(stored: bytes) -> Float32:
    """Return a stored vector, float16 in memory, as float32 (dim,)."""
    return np.frombuffer(stored, np.float16).astype(np.float32)


_WAITING = embeddings.c.id.is_(None)
_SINCE = (
    select(changes.c.seq, changes.c.document_id, changes.c.op)
    .where(changes.c.collection_id == bindparam("collection"), changes.c.seq > bindparam("position"))
    .order_by(changes.c.seq)
    .limit(bindparam("limit"))
)
_SINCE_WITH_LENGTH = _SINCE.add_columns(
    select(func.length(documents.c.text))
    .where(documents.c.id == changes.c.document_id)
    .scalar_subquery()
    .label("chars")
)
_INSERT = insert(changes)
_INSERT = _INSERT.on_conflict_do_update(  # where another server notes the same at this moment
    index_elements=["collection_id", "document_id", "op"], set_={"seq": _INSERT.excluded.seq}
)
_INSERT_NEW = changes.insert().from_select(
    ["collection_id", "document_id", "op"],
    select(documents.c.collection_id, documents.c.id, literal("put"))
    .where(among(documents.c.id, json_ids("documents")))
    .order_by(documents.c.id),
)
_SUPERSEDE = delete(changes).where(
    changes.c.collection_id == bindparam("collection"), changes.c.document_id == bindparam("document")
)
