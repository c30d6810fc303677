"""Rows of the graph that are derived from a whole collection: from chunks, mentions and paths.

Rows that are there already stay, so that a graph that hardly changed is hardly written.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import Any, Final, NamedTuple

from pydantic_core import from_json
from sqlalchemy import Connection, cast, delete, select

from pinakes.catalog.batched_rows import rows_among
from pinakes.catalog.dialects.functions import id_list
from pinakes.catalog.dialects.inserts import insert_values
from pinakes.catalog.schema import chunks, documents, entity_mentions, entity_relations
from pinakes.catalog.schema.types import TEXT
from pinakes.core.batching import batches
from pinakes.core.records import Span

_BATCH: Final = 500
_ENDS: Final = ("entity_id", "source_id", "target_id")


class DerivedMention(NamedTuple):
    """A row of ``entity_mentions``."""

    document_id: int
    entity_id: int
    start: int
    end: int
    confidence: float


class DerivedRelation(NamedTuple):
    """A row of ``entity_relations``."""

    document_id: int
    source_id: int
    type: str
    target_id: int
    start: int
    end: int
    confidence: float


@dataclass(frozen=True, slots=True)
class MentioningDocument:
    """The chunks of a document, and its mentions in the text as (entity id, span), both by place."""

    id: int
    chunks: Sequence[Span]
    mentions: Sequence[tuple[int, Span]]


@dataclass(frozen=True, slots=True)
class SectionedDocument:
    """A document with the headings above its chunks, and the first of the chunks in a row that have the same.

    ``unit``: itself, or the group that it belongs to.
    """

    id: int
    path: str
    unit: str
    sections: Sequence[tuple[Sequence[str], Span]]


def mentioning(connection: Connection, collection_id: int, entity_ids: Collection[int]) -> Iterator[MentioningDocument]:
    """Yield the documents whose texts mention any of these entities; memory holds some of them at a time."""
    some = id_list(entity_ids)  # beside a sum, so that no index by entity is used: it is longer than the texts
    for ids in _id_batches(connection, collection_id) if entity_ids else ():
        table = entity_mentions
        query = select(table.c.document_id, table.c.entity_id, table.c.start, table.c.end).where(
            table.c.document_id.in_(ids), table.c.end > table.c.start, (table.c.entity_id + 0).in_(some)
        )
        rows = connection.execute(query.order_by(table.c.document_id, table.c.start, table.c.id)).all()
        mentions = {
            one: [(entity_id, (start, end)) for _, entity_id, start, end in of_one]
            for one, of_one in groupby(rows, key=itemgetter(0))
        }
        spans = select(chunks.c.document_id, chunks.c.start, chunks.c.end).where(chunks.c.document_id.in_(mentions))
        ordered = connection.execute(spans.order_by(chunks.c.document_id, chunks.c.start)).all()
        for one, of_one in groupby(ordered, key=itemgetter(0)):
            yield MentioningDocument(one, [(start, end) for _, start, end in of_one], mentions[one])


def sectioned(connection: Connection, collection_id: int) -> Iterator[SectionedDocument]:
    """Yield the documents of a collection with their headings; memory holds some of them at a time."""
    for ids in _id_batches(connection, collection_id):
        held = select(documents.c.id, documents.c.path, documents.c.uid, documents.c.group_key)
        about = {
            row.id: row for row in connection.execute(held.where(documents.c.id.in_(ids)).order_by(documents.c.id))
        }
        written = cast(chunks.c.heading_path, TEXT)
        query = select(chunks.c.document_id, written, chunks.c.start, chunks.c.end).where(chunks.c.document_id.in_(ids))
        sections: dict[int, list[tuple[Sequence[str], Span]]] = {one: [] for one in ids}
        before: tuple[int, str] | None = None
        for document_id, path, start, end in connection.execute(query.order_by(chunks.c.document_id, chunks.c.ordinal)):
            if (document_id, path) != before:
                sections[document_id].append((_titles(path), (start, end)))
            before = document_id, path
        for one, row in about.items():
            yield SectionedDocument(one, row.path, row.group_key or row.uid, sections[one])


@lru_cache(10_000)  # documents of one form have the same
def _titles(written: str) -> Sequence[str]:
    return tuple(from_json(written))


def _id_batches(connection: Connection, collection_id: int) -> Iterator[list[int]]:
    last = 0
    while True:
        query = select(documents.c.id).where(documents.c.collection_id == collection_id, documents.c.id > last)
        ids = list(connection.scalars(query.order_by(documents.c.id).limit(_BATCH)))
        if not ids:
            return
        yield ids
        last = ids[-1]


def put_mentions(
    connection: Connection, collection_id: int, extractor: str, wanted: Iterable[DerivedMention]
) -> set[int]:
    """Have exactly these mentions by an extractor; return the entities of those that were added or removed."""
    return _put(connection, collection_id, entity_mentions, {"extractor": extractor}, DerivedMention, set(wanted))


def put_relations(
    connection: Connection, collection_id: int, extractor: str, wanted: Iterable[DerivedRelation]
) -> set[int]:
    """Have exactly these relations by an extractor; return the entities of those that were added or removed."""
    return _put(connection, collection_id, entity_relations, {"extractor": extractor}, DerivedRelation, set(wanted))


def _put(
    connection: Connection, collection_id: int, table: Any, same: dict[str, str], form: Any, wanted: Collection[Any]
) -> set[int]:
    columns = [table.c[name] for name in form._fields]
    query = (
        select(table.c.id, *columns)
        .join_from(table, documents, documents.c.id == table.c.document_id)
        .where(documents.c.collection_id == collection_id, *(table.c[name] == value for name, value in same.items()))
    )
    present, gone, removed = set[Any](), list[int](), list[Any]()
    for row in connection.execute(query.order_by(table.c.id)):
        one = form(*row[1:])
        if one in wanted and one not in present:  # two writers at once may have made it twice
            present.add(one)
        else:
            gone.append(row.id)
            removed.append(one)
    for part in batches(gone, _BATCH):
        connection.execute(delete(table).where(table.c.id.in_(part)))
    added = sorted(set(wanted) - present)
    needed, there = sorted({one.document_id for one in added}), select(documents.c.id).order_by(documents.c.id)
    held = {row.id for row in rows_among(connection, there, documents.c.id, needed)}
    rows = [(*one, *same.values()) for one in added if one.document_id in held]
    insert_values(connection, table, (*form._fields, *same), rows)
    ends = [at for at, name in enumerate(form._fields) if name in _ENDS]
    return {int(row[at]) for row in (*rows, *removed) for at in ends}
