"""Copies of a whole catalogue into another database: from SQLite to PostgreSQL, and back."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, Table, delete, func, insert, select, tuple_

from pinakes.catalog.dialects import numbers
from pinakes.catalog.dialects.database import Database
from pinakes.catalog.schema import EPHEMERAL, installation, metadata
from pinakes.core.step_reports import OnStep, ignore_step

_BATCH: Final = 500
_MOST_BYTES: Final = 8_000_000
_TABLES: Final = [table for table in metadata.sorted_tables if table not in (installation, *EPHEMERAL)]


@dataclass(frozen=True, slots=True)
class TableDigest:
    """What a table holds: its ``rows``, and the SHA-256 of all of them in the order of their keys."""

    rows: int
    digest: str


def copy_rows(source: Connection, target: Database, on_step: OnStep = ignore_step) -> None:
    """Copy what ``source`` has and ``target`` lacks, table by table in the order of keys, a transaction for each part.

    What an earlier call copied before it was stopped is not copied again. ``on_step`` is told of rows, by table.
    """
    for table in _TABLES:
        total = source.execute(select(func.count()).select_from(table)).scalar_one()
        with target.transaction(write=False) as connection:
            done = connection.execute(select(func.count()).select_from(table)).scalar_one()
            keys = table.primary_key.columns
            newest = connection.execute(select(*keys).order_by(*(key.desc() for key in keys)).limit(1)).first()
        on_step(table.name, done, total)
        for rows in _parts(source, table, tuple(newest) if newest else None):
            with target.transaction(write=True) as connection:
                connection.execute(insert(table), rows)
            done += len(rows)
            on_step(table.name, done, total)
    last = numbers.last_numbers(source)
    with target.transaction(write=True) as connection:
        numbers.continue_after(connection, last)


def empty(target: Database) -> None:
    """Remove all rows."""
    with target.transaction(write=True) as connection:
        for table in reversed(_TABLES):
            connection.execute(delete(table))


def is_empty(connection: Connection) -> bool:
    """Say whether no table has a row."""
    return not any(connection.execute(select(table).limit(1)).first() for table in _TABLES)


def digests(connection: Connection, on_step: OnStep) -> dict[str, TableDigest]:
    """Return table → what it holds, computed from every value of every row."""
    found = {}
    for table in _TABLES:
        total = connection.execute(select(func.count()).select_from(table)).scalar_one()
        digest, done = hashlib.sha256(), 0
        for rows in _parts(connection, table):
            for row in rows:
                digest.update(json.dumps(row, sort_keys=True, default=bytes.hex).encode())
            done += len(rows)
            on_step(table.name, done, total)
        found[table.name] = TableDigest(done, digest.hexdigest())
    return found


def _parts(connection: Connection, table: Table, after: Sequence[Any] | None = None) -> Iterator[list[dict[str, Any]]]:
    """Yield rows of ``table`` behind the key ``after`` in the order of keys, so many at once as memory has room for."""
    query = select(table).order_by(*table.primary_key.columns)
    if after is not None:
        query = query.where(tuple_(*table.primary_key.columns) > tuple_(*after))
    part: list[dict[str, Any]] = []
    size = 0
    with connection.execute(query.execution_options(yield_per=_BATCH)) as rows:
        for row in rows.mappings():
            part.append(dict(row))
            size += sum(len(value) for value in row.values() if isinstance(value, str | bytes))
            if len(part) >= _BATCH or size >= _MOST_BYTES:
                yield part
                part, size = [], 0
    if part:
        yield part
