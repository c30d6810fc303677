"""New rows: the id of one, and many at once, by COPY in PostgreSQL and by the driver in SQLite."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any, Final

from sqlalchemy import Connection, CursorResult, Float, Integer, Table

_FEW: Final = 16
"""COPY takes a second round trip."""


def inserted_id(result: CursorResult[Any]) -> int:
    """Return the id of the row that a statement inserted."""
    key = result.inserted_primary_key
    assert key is not None
    return int(key[0])


def insert_rows(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert rows that have the same columns; see ``insert_values``."""
    if rows and len(rows) <= _FEW:
        connection.execute(table.insert(), list(rows))
    elif rows:
        names = list(rows[0])
        insert_values(connection, table, names, [itemgetter(*names)(row) for row in rows] if len(names) > 1 else rows)


def insert_values(
    connection: Connection, table: Table, names: Sequence[str], rows: Sequence[Any], *, but_known: bool = False
) -> None:
    """Insert rows, each the values of the columns ``names``, at least two.

    PostgreSQL gets many by COPY, SQLite by its driver, since SQLAlchemy takes longer to make the rows than they to
    write them. ``but_known``: those that a unique constraint refuses are left out, on SQLite and PostgreSQL alike.
    """
    if not rows:
        return
    makers = _makers(connection, table, names)
    if connection.dialect.name == "postgresql" and len(rows) > _FEW and not but_known:
        _copy(connection, table, names, _made(rows, makers))
        return
    quote = connection.dialect.identifier_preparer.quote
    mark = "%s" if connection.dialect.name == "postgresql" else "?"
    columns, marks = ", ".join(map(quote, names)), ", ".join([mark] * len(names))
    known = " ON CONFLICT DO NOTHING" if but_known else ""
    statement = f"INSERT INTO {table.name} ({columns}) VALUES ({marks}){known}"  # noqa: S608 - names of the schema
    connection.exec_driver_sql(statement, list(_made(rows, makers)))


def _makers(connection: Connection, table: Table, names: Sequence[str]) -> list[Any]:
    """Return what makes a value of each column one of the driver, None where it is that already, as numbers are."""
    dialect = connection.dialect
    types = [table.c[name].type for name in names]
    plain = (Integer, Float)
    return [None if isinstance(one, plain) else one.dialect_impl(dialect).bind_processor(dialect) for one in types]


def _made(rows: Sequence[Any], makers: Sequence[Any]) -> Iterator[Any]:
    if not any(makers):
        return iter(rows)
    return (tuple([make(value) if make else value for value, make in zip(row, makers, strict=True)]) for row in rows)


def _copy(connection: Connection, table: Table, names: Sequence[str], rows: Iterator[Any]) -> None:
    quoted = ", ".join(map(connection.dialect.identifier_preparer.quote, names))
    driver: Any = connection.connection.driver_connection
    with driver.cursor() as cursor, cursor.copy(f"COPY {table.name} ({quoted}) FROM STDIN") as copy:
        for row in rows:
            copy.write_row(row)
