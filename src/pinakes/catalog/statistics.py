"""What collections hold, in figures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import JSON, ColumnElement, Connection, case, cast, func, select, true, type_coerce

from pinakes.catalog.dialects.expressions import has_key, values_of
from pinakes.catalog.schema import collections, documents, sources
from pinakes.catalog.schema.types import TEXT
from pinakes.core.records import Metadata

_BATCH = 1000


@dataclass(frozen=True, slots=True)
class CollectionTotals:
    """A collection with how much it holds. ``oldest`` and ``newest`` are when documents were put there, "" for none."""

    name: str
    description: str
    documents: int
    tokens: int
    chunks: int
    oldest: str
    newest: str


def held(connection: Connection, collection_id: int | None = None) -> list[CollectionTotals]:
    """Return what each collection holds, or one of them, by name."""
    query = (
        select(
            collections.c.name,
            collections.c.description,
            func.count(documents.c.id),
            func.coalesce(func.sum(documents.c.token_count), 0),
            func.coalesce(func.sum(documents.c.chunk_count), 0),
            func.coalesce(func.min(documents.c.created_at), ""),
            func.coalesce(func.max(documents.c.created_at), ""),
        )
        .select_from(collections.outerjoin(documents))
        .group_by(collections.c.id)
        .order_by(collections.c.name)
    )
    if collection_id is not None:
        query = query.where(collections.c.id == collection_id)
    return [CollectionTotals(*row) for row in connection.execute(query)]


def values(connection: Connection, collection_id: int, field: str) -> dict[str, int]:
    """Return value → number of documents with it, of a metadata field that may be a list; the commonest first."""
    each = values_of(_metadata(field), field)
    shown = case({"true": "true", "false": "false"}, value=each.c.type, else_=cast(each.c.value, TEXT)).label("shown")
    number = func.count(documents.c.id.distinct())
    query = select(shown, number).select_from(documents.join(each, true()))
    query = query.where(documents.c.collection_id == collection_id, each.c.type != "null")
    return {row[0]: row[1] for row in connection.execute(query.group_by("shown").order_by(number.desc(), shown))}


def metadata_of_documents(connection: Connection, collection_id: int) -> Iterator[tuple[str, str, str, Metadata]]:
    """Yield path, kind, title and metadata of every document, with what its group gives it, by path."""
    query = select(documents.c.path, documents.c.kind, documents.c.title, documents.c.inherited, documents.c.metadata)
    query = query.where(documents.c.collection_id == collection_id).order_by(documents.c.path)
    for row in connection.execute(query.execution_options(yield_per=_BATCH)):
        yield row.path, row.kind, row.title, {**row.inherited, **row.metadata}


def origins(connection: Connection, collection_id: int) -> dict[str, int]:
    """Return where documents come from → how many do, the commonest first.

    That is their metadata ``source``; without it where they were read, a folder or repository; else their own uri.
    """
    own = func.nullif(type_coerce(_metadata("source"), JSON)["source"].as_string(), "")
    origin = func.coalesce(own, sources.c.location, documents.c.uri).label("origin")
    number = func.count()
    query = select(origin, number).select_from(documents.outerjoin(sources))
    query = query.where(documents.c.collection_id == collection_id)
    return {row[0]: row[1] for row in connection.execute(query.group_by("origin").order_by(number.desc(), origin))}


def _metadata(field: str) -> ColumnElement[Any]:
    """Return what has a field: a document's own metadata, which wins, or that of its group."""
    return case((has_key(documents.c.metadata, field), documents.c.metadata), else_=documents.c.inherited)
