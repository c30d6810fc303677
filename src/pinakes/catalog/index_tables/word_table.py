"""The words of one index in PostgreSQL: postings of terms, in segments that never change once they are written.

A segment holds up to 65,536 chunks, or whole documents, which its postings number from 0. ``header`` is what the
segment says of each of them, ``dead`` a bit for each that is removed.

A row of ``terms`` is a block: terms of one field of a segment that follow each other, with their postings. The block
of a term is the last one of its segment that begins with it or before. ``names`` has the terms, each between two bytes
``SEPARATOR``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

from pinakes.catalog.index_tables.sessions import Parameters, Row, Session, Sessions, of_index

TABLES: Final = ("terms", "segments")

SEPARATOR: Final = b"\xff"
"""Is in no term, since none is in UTF-8."""

Block: TypeAlias = tuple[bytes, bytes, bytes, bytes, bytes | None]
"""The first term; all of them; in how many texts each is, less one, uint16; packed postings; packed positions."""


def create(session: Session, number: int) -> None:
    """Make the tables of words."""
    session.execute(of_index(_CREATE, number))


def segments(session: Session | Sessions, number: int) -> list[Row]:
    """Return (id, kind, dead) of all segments, by id."""
    return _binary(session, of_index("SELECT id, kind, dead FROM $segments ORDER BY id", number), {})


def headers(session: Session | Sessions, number: int, wanted: Sequence[int]) -> list[Row]:
    """Return (id, header) of these segments."""
    query = of_index("SELECT id, header FROM $segments WHERE id = ANY(%(wanted)s) ORDER BY id", number)
    return _binary(session, query, {"wanted": wanted})


def _binary(session: Session | Sessions, query: str, given: Parameters) -> list[Row]:
    if isinstance(session, Sessions):
        return session.columns(query, given)
    return session.execute(query, given, binary=True).fetchall()


def add_segment(session: Session, number: int, kind: int, header: bytes, dead: bytes, blocks: Iterable[Block]) -> int:
    """Write a segment; return its id."""
    row = session.execute(
        of_index("INSERT INTO $segments (kind, header, dead) VALUES (%s, %s, %s) RETURNING id", number),
        [kind, header, dead],
    ).fetchone()
    assert row is not None
    [segment] = row
    copied = of_index(
        "COPY $terms (segment, first_term, names, counts, postings, positions) FROM STDIN (FORMAT BINARY)", number
    )
    with session.cursor().copy(copied) as copy:
        copy.set_types(["int4", *["bytea"] * 5])
        for block in blocks:
            copy.write_row((segment, *block))
    return int(segment)


def set_dead(session: Session, number: int, segment: int, dead: bytes) -> None:
    """Write which texts of a segment are removed."""
    session.execute(of_index("UPDATE $segments SET dead = %s WHERE id = %s", number), [dead, segment])


def of_segments(session: Session, number: int, wanted: Sequence[int]) -> list[Row]:
    """Return (segment, names, counts, postings, positions) of these segments, by segment and term."""
    query = "SELECT segment, names, counts, postings, positions FROM $terms WHERE segment = ANY(%s)"
    ordered = of_index(f"{query} ORDER BY segment, first_term", number)
    return session.execute(ordered, [wanted], binary=True).fetchall()


def drop_segments(session: Session, number: int, gone: Sequence[int]) -> None:
    """Remove these segments."""
    session.execute(of_index("DELETE FROM $terms WHERE segment = ANY(%s)", number), [gone])
    session.execute(of_index("DELETE FROM $segments WHERE id = ANY(%s)", number), [gone])


def of_terms(sessions: Sessions, number: int, terms: Sequence[bytes], with_positions: Sequence[bytes]) -> list[Row]:
    """Return (term, segment, names, counts, postings, positions): the blocks that have these terms.

    ``positions`` of those ``with_positions``, else None.
    """
    return sessions.columns(*_of_terms(number, terms, with_positions))


def of_terms_and_ranges(
    sessions: Sessions,
    number: int,
    terms: Sequence[bytes],
    wanted: Sequence[int],
    ranges: Sequence[tuple[bytes, bytes]],
    most: int,
) -> tuple[list[Row], list[list[Row]]]:
    """Return ``of_terms`` without positions, and ``beginning`` of each range, all read at once."""
    among = [_in_range(number, wanted, first, beyond, most) for first, beyond in ranges]
    found, *begun = sessions.several_columns(_of_terms(number, terms, []), *among)
    return found, begun


def counts(sessions: Sessions, number: int, terms: Sequence[bytes]) -> list[Row]:
    """Return (term, segment, names, counts): the blocks that have these terms."""
    return sessions.columns(of_index(_OF_TERMS.format(""), number), {"terms": terms, "separator": SEPARATOR})


def beginning(
    sessions: Sessions, number: int, wanted: Sequence[int], first: bytes, beyond: bytes, most: int
) -> list[Row]:
    """Return (names, counts) of the blocks that may have terms in a range, up to ``most`` of each of these segments."""
    return sessions.columns(*_in_range(number, wanted, first, beyond, most))


def _of_terms(number: int, terms: Sequence[bytes], with_positions: Sequence[bytes]) -> tuple[str, Parameters]:
    given = {"terms": terms, "positions": with_positions, "separator": SEPARATOR}
    return of_index(_OF_TERMS.format(_POSTINGS), number), given


def _in_range(number: int, wanted: Sequence[int], first: bytes, beyond: bytes, most: int) -> tuple[str, Parameters]:
    return of_index(_BEGINNING, number), {"wanted": wanted, "first": first, "beyond": beyond, "most": most}


_POSTINGS: Final = ", block.postings, CASE WHEN asked.term = ANY(%(positions)s::bytea[]) THEN block.positions END"
_OF_TERMS: Final = """
SELECT asked.term, segment.id, block.names, block.counts{}
FROM unnest(%(terms)s::bytea[]) AS asked (term)
JOIN $segments AS segment ON segment.kind = get_byte(asked.term, 0) / 16
CROSS JOIN LATERAL (
    SELECT * FROM $terms AS one WHERE one.segment = segment.id AND one.first_term <= asked.term
    ORDER BY one.first_term DESC LIMIT 1
) AS block
WHERE position(%(separator)s::bytea || asked.term || %(separator)s::bytea IN block.names) > 0
ORDER BY asked.term, segment.id
"""
_BEGINNING: Final = """
SELECT block.names, block.counts
FROM unnest(%(wanted)s::int[]) AS segment (id)
CROSS JOIN LATERAL (
    SELECT * FROM $terms AS one
    WHERE one.segment = segment.id AND one.first_term < %(beyond)s AND one.first_term >= coalesce((
        SELECT max(other.first_term) FROM $terms AS other
        WHERE other.segment = segment.id AND other.first_term <= %(first)s
    ), %(first)s)
    ORDER BY one.first_term LIMIT %(most)s
) AS block
ORDER BY block.first_term, segment.id
"""
_CREATE: Final = """
CREATE TABLE $segments (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, kind smallint NOT NULL,
    header bytea NOT NULL, dead bytea NOT NULL
);
CREATE TABLE $terms (
    segment integer NOT NULL, first_term bytea NOT NULL, names bytea NOT NULL, counts bytea NOT NULL,
    postings bytea NOT NULL, positions bytea,
    PRIMARY KEY (segment, first_term)
) WITH (autovacuum_vacuum_scale_factor = 0.05, toast.autovacuum_vacuum_scale_factor = 0.05);
ALTER TABLE $terms ALTER COLUMN names SET STORAGE EXTERNAL, ALTER COLUMN counts SET STORAGE EXTERNAL,
    ALTER COLUMN postings SET STORAGE EXTERNAL, ALTER COLUMN positions SET STORAGE EXTERNAL
"""
