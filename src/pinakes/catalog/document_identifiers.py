"""Documents by what identifies them: path or address, the beginning of title or file name, a value of the metadata."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from sqlalchemy import ColumnElement, Connection, and_, func, select, union_all

from pinakes.catalog.references import absolute, spellings
from pinakes.catalog.schema import chunks, fields
from pinakes.core.filters import normal_text
from pinakes.core.records import Int64, Ranking

_BEGINNING: Final = ("file_name", "title")
_LAST: Final = "\U0010ffff"
_BEFORE_DIGITS, _AFTER_DIGITS = "0", ":"
"""Values between a word with these at its end begin with a longer number, RFC-12 where RFC-1 is wanted."""

_MOST_OF_NAME: Final = 5000
"""The end of a path is not looked for among more files of one name."""

_MOST_AT: Final = 1000
"""Chunks that begin before or nearest to a line, of which the one with the line is chosen."""

_ROWS_PER_DOCUMENT: Final = 20
"""Rows of which a longer word is the beginning (RFC-1 of RFC-1a) are among those that are read."""


def identified(
    connection: Connection,
    collection_id: int,
    spellings: Sequence[str],
    metadata: Sequence[tuple[Sequence[str], Sequence[str]]],
    most: int,
) -> list[int]:
    """Return the ids of documents whose title or file name begins with one of ``spellings``, as whole words.

    Also those that have in one of some metadata fields one of some values, both from ``metadata``; none if more than
    ``most`` fit.
    """
    beginnings = [normal_text(one) for one in spellings]
    name, value = fields.c.name, fields.c.value
    tests: list[tuple[ColumnElement[bool], ColumnElement[bool]]]
    tests = [(name.in_(names), value.in_([normal_text(one) for one in values])) for names, values in metadata]
    for one in beginnings:
        tests.append((name.in_(_BEGINNING), and_(value >= one, value < one + _BEFORE_DIGITS)))
        tests.append((name.in_(_BEGINNING), value.between(one + _AFTER_DIGITS, one + _LAST)))
    of_collection = select(fields.c.document_id, name, value).where(fields.c.collection_id == collection_id)
    # One test with OR would read all fields of the collection.
    query = union_all(*(of_collection.where(*each) for each in tests)).order_by("document_id", "name", "value")
    found = {
        row.document_id
        for row in connection.execute(query.limit(_ROWS_PER_DOCUMENT * (most + 1)))
        if row.name not in _BEGINNING or any(_begins_with(row.value, one) for one in beginnings)
    }
    return sorted(found) if len(found) <= most else []


def placed(connection: Connection, collection_id: int, place: str, most: int) -> list[int]:
    """Return the ids of documents at ``place``: an address, a path, its end below some folder, a path of a file.

    None if more than ``most`` of that file name fit. Only indexes of ``fields`` are read: ``references.find``, which
    knows more spellings, compares the paths of all documents.
    """
    spelled = [normal_text(one) for one in spellings(place)]
    exact = [*spelled, *(normal_text(one.as_uri()) for one in (absolute(place),) if one)]
    of_collection = select(fields.c.document_id, fields.c.value).where(fields.c.collection_id == collection_id)
    at = of_collection.where(fields.c.name.in_(("uri", "path")), fields.c.value.in_(exact))
    found = {row.document_id for row in connection.execute(at.order_by(fields.c.document_id).limit(most + 1))}
    if not found:
        named = fields.alias()
        last = {one.rpartition("/")[2] for one in spelled}
        files = of_collection.join(named, named.c.document_id == fields.c.document_id).where(
            named.c.collection_id == collection_id, named.c.name == "file_name", named.c.value.in_(last)
        )
        rows = connection.execute(
            files.where(fields.c.name == "path").order_by(fields.c.document_id).limit(_MOST_OF_NAME + 1)
        ).all()
        ends = tuple(f"/{one}" for one in spelled)
        found = {row.document_id for row in rows if f"/{row.value}".endswith(ends)}
        if len(rows) > _MOST_OF_NAME:
            return []
    return sorted(found) if len(found) <= most else []


def chunks_of(connection: Connection, document_ids: Sequence[int], most: int) -> Ranking:
    """Return the first ``most`` chunks of each document, by id; scores are 0."""
    query = select(chunks.c.id, chunks.c.document_id).where(chunks.c.document_id.in_(document_ids))
    rows = connection.execute(query.where(chunks.c.ordinal < most).order_by(chunks.c.id)).all()
    ids: Int64 = np.array([row.id for row in rows], np.int64)
    return Ranking(ids, np.array([row.document_id for row in rows], np.int64), np.zeros(len(ids), np.float32))


def chunk_at(connection: Connection, document_ids: Sequence[int], first: int, last: int) -> Ranking:
    """Return the chunk that has most of the lines ``first`` to ``last`` of its file, or the nearest; the score is 0."""
    columns = chunks.c.id, chunks.c.document_id, chunks.c.start_line, chunks.c.end_line
    query = select(*columns).where(chunks.c.document_id.in_(document_ids))
    # Chunks that begin behind the lines come last, the nearest first: they count only if no other is nearer.
    nearest = chunks.c.start_line > last, func.abs(chunks.c.start_line - last), chunks.c.id.desc()
    rows = connection.execute(query.order_by(*nearest).limit(_MOST_AT)).all()
    best = sorted(rows, key=lambda row: (max(row.start_line, first) - min(row.end_line, last), row.id))[:1]
    ids: Int64 = np.array([row.id for row in best], np.int64)
    return Ranking(ids, np.array([row.document_id for row in best], np.int64), np.zeros(len(ids), np.float32))


def _begins_with(value: str, word: str) -> bool:
    return value.startswith(word) and not value[len(word) : len(word) + 1].isalnum()
