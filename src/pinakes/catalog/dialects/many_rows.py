"""Many new rows at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from sqlalchemy import Connection, Table

_FEW: Final = 16
"""COPY takes a second round trip."""


def insert_rows(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert rows that have the same columns; PostgreSQL gets many by COPY, a third of the work of INSERT."""
    if connection.dialect.name == "postgresql" and len(rows) > _FEW:
        _copy(connection, table, rows)
    elif rows:
        connection.execute(table.insert(), list(rows))


def _copy(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    dialect = connection.dialect
    columns = [table.c[name] for name in rows[0]]
    stored = [(one.name, one.type.dialect_impl(dialect).bind_processor(dialect)) for one in columns]
    names = ", ".join(dialect.identifier_preparer.quote(one.name) for one in columns)
    driver: Any = connection.connection.driver_connection
    with driver.cursor() as cursor, cursor.copy(f"COPY {table.name} ({names}) FROM STDIN") as copy:
        for row in rows:
            copy.write_row([make(row[name]) if make else row[name] for name, make in stored])
