"""The registry of the engine ``postgres``: its indexes, their positions, and the homes that use each.

Homes of one catalogue share an index: its key says what it is made of and by what, not by whom. A home that needs it
no more lets it go; the last one drops it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pinakes.catalog.index_tables import vector_table, word_table
from pinakes.catalog.index_tables.sessions import Row, Session, Sessions

_MAKING: Final = 0x70696E616B6575
"""The key of the advisory lock of whoever makes tables of the engine, or drops them."""

_TABLES: Final = """
CREATE TABLE IF NOT EXISTS engine_indexes (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    key text NOT NULL UNIQUE,
    position bigint NOT NULL DEFAULT 0,
    turn bigint NOT NULL DEFAULT 0,
    chunks bigint NOT NULL DEFAULT 0,
    documents bigint NOT NULL DEFAULT 0,
    vectors bigint NOT NULL DEFAULT 0,
    graph boolean NOT NULL DEFAULT false
);
CREATE TABLE IF NOT EXISTS engine_homes (
    index_id integer NOT NULL REFERENCES engine_indexes (id) ON DELETE CASCADE,
    home text NOT NULL,
    PRIMARY KEY (index_id, home)
)
"""


@dataclass(frozen=True, slots=True)
class Head:
    """How an index stands: its ``position``, and ``turn``, which every change of its content raises.

    ``chunks``, ``documents`` and ``vectors``: how many there are. ``graph``: its HNSW index was built once.
    """

    position: int
    turn: int
    chunks: int
    documents: int
    vectors: int
    graph: bool


def opened(sessions: Sessions, key: str, home: str, dimension: int | None, *, words: bool) -> tuple[int, bool]:
    """Return the number of the index of this ``key``, and whether it was made just now.

    ``dimension``: of its vectors, None where it has none. ``words``: it has words. One whose tables are not all there
    is made anew.

    Raises:
        InvalidSetting: the extension vector is not there, and cannot be made.
    """
    with sessions.writing() as session:
        row = _locked_index_id(session, key)
        if row is not None and not _is_whole(session, row[0], dimension, words=words):
            _drop(session, row[0])
            row = None
        made = row is None
        if row is None:
            row = session.execute("INSERT INTO engine_indexes (key) VALUES (%s) RETURNING id", [key]).fetchone()
            assert row is not None
            _drop_tables(session, row[0])  # left by an index that somebody took out of the registry
            if dimension:
                vector_table.create(session, row[0], dimension)
            if words:
                word_table.create(session, row[0])
        mine = "INSERT INTO engine_homes (index_id, home) VALUES (%s, %s) ON CONFLICT DO NOTHING"
        session.execute(mine, [row[0], home])
        return row[0], made


def _locked_index_id(session: Session, key: str) -> Row | None:
    """Return the number of the index of this ``key``, held until the transaction ends, None where there is none."""
    session.execute(f"SELECT pg_advisory_xact_lock({_MAKING})")
    session.execute(_TABLES)
    return session.execute("SELECT id FROM engine_indexes WHERE key = %s", [key]).fetchone()


def _is_whole(session: Session, number: int, dimension: int | None, *, words: bool) -> bool:
    tables = [*(vector_table.TABLES if dimension else ()), *(word_table.TABLES if words else ())]
    names = [f"engine_{number}_{table}" for table in tables]
    found = session.execute("SELECT bool_and(to_regclass(name) IS NOT NULL) FROM unnest(%s::text[]) AS name", [names])
    return found.fetchone() in ((True,), (None,))


def released(sessions: Sessions, key: str, home: str) -> None:
    """Note that ``home`` does not use the index of this ``key`` any more; drop it where no other does."""
    with sessions.writing() as session:
        row = _locked_index_id(session, key)
        if row is None:
            return
        session.execute("DELETE FROM engine_homes WHERE index_id = %s AND home = %s", [row[0], home])
        if session.execute("SELECT 1 FROM engine_homes WHERE index_id = %s", [row[0]]).fetchone() is None:
            _drop(session, row[0])


def _drop_tables(session: Session, number: int) -> None:
    for table in (*vector_table.TABLES, *word_table.TABLES):
        session.execute(f"DROP TABLE IF EXISTS engine_{number}_{table}")


def _drop(session: Session, number: int) -> None:
    _drop_tables(session, number)
    session.execute("DELETE FROM engine_indexes WHERE id = %s", [number])


def head(sessions: Sessions, number: int) -> Head | None:
    """Return how an index stands, None where it was dropped."""
    found = sessions.rows(_HEAD, {"number": number})
    return Head(*found[0]) if found else None


def locked_head(session: Session, number: int) -> Head | None:
    """Return how an index stands, and keep all others from writing to it until the transaction ends."""
    row = session.execute(f"{_HEAD} FOR UPDATE", {"number": number}).fetchone()
    return None if row is None else Head(*row)


def advance(session: Session, number: int, now: Head) -> None:
    """Write how an index stands from now on; its ``graph`` stays as it is."""
    session.execute(
        "UPDATE engine_indexes SET position = %s, turn = %s, chunks = %s, documents = %s, vectors = %s WHERE id = %s",
        [now.position, now.turn, now.chunks, now.documents, now.vectors, number],
    )


def disk_bytes(sessions: Sessions, number: int) -> int:
    """Return the size of the tables of an index with their own indexes, in bytes."""
    names = [f"engine_{number}_{table}" for table in (*vector_table.TABLES, *word_table.TABLES)]
    total = "SELECT coalesce(sum(pg_total_relation_size(to_regclass(name))), 0) FROM unnest(%(names)s::text[]) AS name"
    return int(sessions.rows(total, {"names": names})[0][0])


_HEAD: Final = "SELECT position, turn, chunks, documents, vectors, graph FROM engine_indexes WHERE id = %(number)s"
