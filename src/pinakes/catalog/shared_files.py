"""Files in several sources of a collection: one source holds the document, the others note that."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

from sqlalchemy import Connection, and_, func, or_, select, update

from pinakes.catalog import changes, document_fields
from pinakes.catalog.batched_rows import rows_among
from pinakes.catalog.path_conditions import is_below
from pinakes.catalog.schema import documents, files, sources
from pinakes.catalog.sources import SourceRecord

HELD: Final = "HELD"
"""The ``code`` of a file that is skipped since another source of the collection holds its document."""


@dataclass(frozen=True, slots=True)
class Holder:
    """The source that holds a document."""

    source_id: int
    document_id: int


def holders(
    connection: Connection, collection_id: int, among: Collection[int], uris: Sequence[str]
) -> dict[str, Holder]:
    """Return uri → holder, for documents that files of one of the sources ``among`` give."""
    if not among:
        return {}
    of_file = and_(files.c.document_id == documents.c.id, files.c.source_id == documents.c.source_id)
    query = (
        select(documents.c.uri, documents.c.source_id, documents.c.id)
        .join(files, of_file)
        .where(documents.c.collection_id == collection_id, documents.c.source_id.in_(among))
    )
    return {row[0]: Holder(row[1], row[2]) for row in rows_among(connection, query, documents.c.uri, uris)}


def held_below(connection: Connection, source_id: int, path: str) -> int:
    """Return how many documents a source holds at ``path``, which is not empty, and below."""
    below = or_(documents.c.path == path, is_below(documents.c.path, path))
    query = select(func.count()).select_from(documents).where(documents.c.source_id == source_id, below)
    return int(connection.execute(query).scalar_one())


def held_by(connection: Connection, source_id: int, document_ids: Collection[int]) -> set[int]:
    """Return those of these documents that a source holds."""
    held = select(documents.c.id).where(documents.c.source_id == source_id)
    return {row.id for row in rows_among(connection, held, documents.c.id, document_ids)}


def next_holders(
    connection: Connection, source: SourceRecord, document_ids: Collection[int]
) -> dict[int, tuple[int, str]]:
    """Return document → (source, path) of the first other one that has its file, for documents that ``source`` holds.

    That is a source of the same location, one that noted who holds the file, or one that lies around or in this one
    and read the file before.
    """
    columns = (files.c.document_id, files.c.source_id, files.c.path, files.c.code, sources.c.kind, sources.c.location)
    query = (
        select(*columns, documents.c.path.label("held_at"), documents.c.uri)
        .select_from(files.join(documents, documents.c.id == files.c.document_id))
        .join(sources, sources.c.id == files.c.source_id)
        .where(sources.c.collection_id == source.collection_id, sources.c.id != source.id)
        .where(documents.c.source_id == source.id)
        .order_by(files.c.source_id.desc())
    )
    found: dict[int, tuple[int, str]] = {}
    for row in rows_among(connection, query, files.c.document_id, document_ids):
        beside = (row.kind, row.location, row.path) == (source.kind, source.location, row.held_at)
        there = unquote(row.uri).endswith(f"{row.location.rstrip('/')}/{row.path}")
        if beside or row.code == HELD or (row.kind == "folder" and there):
            found[row.document_id] = (row.source_id, row.path)
    return found


def hand_over(connection: Connection, collection_id: int, heirs_of: Mapping[int, tuple[int, str]]) -> None:
    """Give documents to other sources (see ``next_holders``), which read them again with their next run."""
    for document_id, (heir, path) in heirs_of.items():
        values = {"source_id": heir, "path": path}
        connection.execute(update(documents).where(documents.c.id == document_id).values(values))
        unread = {"fingerprint": "", "content_hash": None, "status": "indexed", "reason": None, "code": None}
        of_heir = update(files).where(files.c.source_id == heir, files.c.document_id == document_id)
        connection.execute(of_heir.values(unread))
        document_fields.refresh(connection, document_id)
        changes.record(connection, collection_id, document_id, "put")
    again = {heir for heir, _ in heirs_of.values()}
    connection.execute(update(sources).where(sources.c.id.in_(again)).values(state=None))
