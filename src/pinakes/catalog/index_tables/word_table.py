"""The words of one index in PostgreSQL: postings of terms, in segments that never change once they are written.

A segment holds up to 65,536 chunks, or whole documents, which its postings number from 0. ``header`` is what the
segment says of each of them, ``dead`` a bit for each that is removed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, TypeAlias

from pinakes.catalog.index_tables.sessions import Row, Session, Sessions, of_index

TABLES: Final = ("terms", "segments")

Posting: TypeAlias = tuple[bytes, bytes, bytes | None]
"""A term; the numbers of the texts that have it, and how often, as uint16; its positions there, uint16."""


def create(session: Session, number: int) -> None:
    """Make the tables of words."""
    session.execute(of_index(_CREATE, number))


def segments(session: Session | Sessions, number: int) -> list[Row]:
    """Return (id, kind, dead) of all segments, by id."""
    query = of_index("SELECT id, kind, dead FROM $segments ORDER BY id", number)
    if isinstance(session, Sessions):
        return session.columns(query, {})
    return session.execute(query, binary=True).fetchall()


def headers(session: Session | Sessions, number: int, wanted: Sequence[int]) -> list[Row]:
    """Return (id, header) of these segments."""
    query = of_index("SELECT id, header FROM $segments WHERE id = ANY(%(wanted)s)", number)
    if isinstance(session, Sessions):
        return session.columns(query, {"wanted": wanted})
    return session.execute(query, {"wanted": wanted}, binary=True).fetchall()


def add_segment(
    session: Session, number: int, kind: int, header: bytes, dead: bytes, postings: Iterable[Posting]
) -> int:
    """Write a segment; return its id."""
    row = session.execute(
        of_index("INSERT INTO $segments (kind, header, dead) VALUES (%s, %s, %s) RETURNING id", number),
        [kind, header, dead],
    ).fetchone()
    assert row is not None
    [segment] = row
    copied = of_index("COPY $terms (term, segment, postings, positions) FROM STDIN (FORMAT BINARY)", number)
    with session.cursor().copy(copied) as copy:
        copy.set_types(["bytea", "int4", "bytea", "bytea"])
        for term, places, positions in postings:
            copy.write_row((term, segment, places, positions))
    return int(segment)


def set_dead(session: Session, number: int, segment: int, dead: bytes) -> None:
    """Write which texts of a segment are removed."""
    session.execute(of_index("UPDATE $segments SET dead = %s WHERE id = %s", number), [dead, segment])


def of_segments(session: Session, number: int, wanted: Sequence[int]) -> Iterator[Row]:
    """Yield (term, segment, postings, positions) of these segments, by term and segment."""
    query = "SELECT term, segment, postings, positions FROM $terms WHERE segment = ANY(%s) ORDER BY term, segment"
    yield from session.execute(of_index(query, number), [wanted], binary=True)


def drop_segments(session: Session, number: int, gone: Sequence[int]) -> None:
    """Remove these segments."""
    session.execute(of_index("DELETE FROM $terms WHERE segment = ANY(%s)", number), [gone])
    session.execute(of_index("DELETE FROM $segments WHERE id = ANY(%s)", number), [gone])


def of_terms(sessions: Sessions, number: int, terms: Sequence[bytes], with_positions: Sequence[bytes]) -> list[Row]:
    """Return (term, segment, postings, positions) of these terms; positions of those ``with_positions``, else None."""
    query = """
    SELECT term, segment, postings, CASE WHEN term = ANY(%(positions)s::bytea[]) THEN positions END
    FROM $terms WHERE term = ANY(%(terms)s::bytea[]) ORDER BY term, segment
    """
    return sessions.columns(of_index(query, number), {"terms": terms, "positions": with_positions})


def counts(sessions: Sessions, number: int, terms: Sequence[bytes]) -> dict[bytes, int]:
    """Return term → how many texts have it, also removed ones."""
    query = """
    SELECT term, sum(octet_length(postings) / 4) FROM $terms WHERE term = ANY(%(terms)s::bytea[])
    GROUP BY term ORDER BY term
    """
    return {bytes(term): int(count) for term, count in sessions.columns(of_index(query, number), {"terms": terms})}


def beginning(sessions: Sessions, number: int, first: bytes, beyond: bytes, most: int) -> list[tuple[bytes, int]]:
    """Return the terms from ``first`` to below ``beyond``, with how many texts have them, also removed ones."""
    query = """
    SELECT term, sum(octet_length(postings) / 4) FROM $terms WHERE term >= %(first)s AND term < %(beyond)s
    GROUP BY term ORDER BY term LIMIT %(most)s
    """
    given = {"first": first, "beyond": beyond, "most": most}
    return [(bytes(term), int(count)) for term, count in sessions.columns(of_index(query, number), given)]


_CREATE: Final = """
CREATE TABLE $segments (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, kind smallint NOT NULL,
    header bytea NOT NULL, dead bytea NOT NULL
);
CREATE TABLE $terms (
    term bytea NOT NULL, segment integer NOT NULL, postings bytea NOT NULL, positions bytea,
    PRIMARY KEY (term, segment)
);
ALTER TABLE $terms ALTER COLUMN postings SET STORAGE EXTERNAL, ALTER COLUMN positions SET STORAGE EXTERNAL;
CREATE INDEX $terms_segments ON $terms (segment)
"""
