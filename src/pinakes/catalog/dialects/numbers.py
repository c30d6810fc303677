"""Numbers of changes and events in PostgreSQL that follow the order in which transactions are committed.

Whoever follows a feed remembers the greatest number that it saw. A number that is drawn when a row is inserted would
be lost to it where a transaction with a greater number is committed first. So rows get provisional numbers, negative
ones, and the true ones as the last thing before the commit, under a lock that is held until after it. SQLite has one
writer at a time; its numbers do so by themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sqlalchemy import Column, Connection, Table, func, literal_column, select, text

from pinakes.catalog.schema import changes, events, metadata

CHANNEL: Final = "pinakes"
_LOCK: Final = 0x70696E616B6573
"""The key of the advisory lock: "pinakes" in ASCII."""

_FEEDS: Final[tuple[tuple[Column[int], str], ...]] = (
    (changes.c.seq, "change_numbers"),
    (events.c.id, "event_numbers"),
)


def sequences() -> list[str]:
    """Return the statements that prepare a new database."""
    made = []
    for column, numbers in _FEEDS:
        table = column.table.name
        provisional = f"-nextval('{table}_{column.name}_seq')"
        made.append(f"CREATE SEQUENCE {numbers}")
        made.append(f"ALTER TABLE {table} ALTER COLUMN {column.name} SET DEFAULT {provisional}")
    return made


def before_commit() -> str:
    """Return what ends a transaction that writes: its rows get their numbers, and others are woken.

    Others do not see rows with provisional numbers, so these are its own. No lock that somebody else may hold is taken
    after the first.
    """
    parts = [f"SELECT pg_advisory_xact_lock({_LOCK})"]
    for column, numbers in _FEEDS:
        table, name = column.table.name, column.name
        own = f"SELECT {name} AS provisional FROM {table} WHERE {name} < 0 ORDER BY {name} DESC"  # noqa: S608
        numbered = f"SELECT provisional, nextval('{numbers}') AS number FROM ({own}) AS own"  # noqa: S608
        update = f"UPDATE {table} SET {name} = number FROM ({numbered}) AS numbered"  # noqa: S608
        parts.append(f"{update} WHERE {name} = provisional")
    return "; ".join([*parts, f"NOTIFY {CHANNEL}"])


def last_numbers(connection: Connection) -> dict[str, int]:
    """Return table → the greatest number that a row of it ever had, of the tables that number their rows."""
    found = {}
    for table, column in _numbered():
        highest = connection.execute(select(func.max(column))).scalar() or 0
        if connection.dialect.name == "postgresql":
            last = connection.scalar(select(literal_column("last_value")).select_from(text(_sequence(column))))
        else:
            last = connection.scalar(text("SELECT seq FROM sqlite_sequence WHERE name = :name"), {"name": table.name})
        found[table.name] = max(highest, last or 0)
    return found


def continue_after(connection: Connection, last: Mapping[str, int]) -> None:
    """Have the next row of each table get a number above that in ``last``."""
    for table, column in _numbered():
        number = last[table.name]
        if connection.dialect.name == "postgresql":
            connection.execute(select(func.setval(_sequence(column), max(number, 1), number > 0)))
        elif table.kwargs.get("sqlite_autoincrement"):
            connection.execute(text("DELETE FROM sqlite_sequence WHERE name = :name"), {"name": table.name})
            row = {"name": table.name, "seq": number}
            connection.execute(text("INSERT INTO sqlite_sequence (name, seq) VALUES (:name, :seq)"), row)


def _numbered() -> list[tuple[Table, Column[int]]]:
    return [(table, column) for table in metadata.sorted_tables if (column := table.autoincrement_column) is not None]


def _sequence(column: Column[int]) -> str:
    return next((name for feed, name in _FEEDS if feed is column), f"{column.table.name}_{column.name}_seq")


def skip(connection: Connection, table: Table, upto: int) -> None:
    """Have the next row of ``table``, a feed, get a number above ``upto``, where the database is PostgreSQL."""
    if connection.dialect.name == "postgresql":
        numbers = next(numbers for column, numbers in _FEEDS if column.table is table)
        connection.execute(select(func.setval(numbers, upto)))
