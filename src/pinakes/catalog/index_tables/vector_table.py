"""The vectors of one index in PostgreSQL: halfvec of pgvector, compared one by one or found by an HNSW index.

Vectors have unit length, so the inner product is the cosine.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import psycopg

from pinakes.catalog.index_tables.sessions import Row, Session, Sessions, of_index
from pinakes.core.errors import InvalidSetting
from pinakes.core.records import Float32, Int64
from pinakes.settings import PostgresSettings

TABLES: Final = ("vectors", "sums")
MOST_DIMENSIONS: Final = 4000
"""Of vectors with more, pgvector makes no HNSW index."""

_MOST_EF: Final = 1000

Vector: TypeAlias = tuple[int, int, bool, Float32]
"""Chunk id, document id, whether it is the model's own, float32 (dim,)."""


def create(session: Session, number: int, dimension: int) -> None:
    """Make the tables of vectors.

    Raises:
        InvalidSetting: the extension vector is not there, and cannot be made.
    """
    if session.execute("SELECT 1 FROM pg_extension WHERE extname = 'vector'").fetchone() is None:
        try:
            with session.transaction():
                session.execute("CREATE EXTENSION vector")
        except psycopg.Error as error:
            raise InvalidSetting(
                f"The engine 'postgres' needs the extension pgvector: {str(error).partition(chr(10))[0]}.",
                hint="Install pgvector on the server and run there: CREATE EXTENSION vector; "
                "or keep vectors elsewhere: index.engine = postgres+faiss",
            ) from error
    session.execute(of_index(_CREATE, number).replace("DIMENSION", str(dimension)))


def remove(session: Session, number: int, documents: Sequence[int]) -> int:
    """Remove the vectors of these documents; return of how many chunks."""
    session.execute(of_index("DELETE FROM $sums WHERE document_id = ANY(%s)", number), [documents])
    gone = session.execute(of_index("DELETE FROM $vectors WHERE document_id = ANY(%s)", number), [documents])
    return gone.rowcount


def add(session: Session, number: int, vectors: Iterable[Vector]) -> int:
    """Add vectors of chunks that have none; return how many."""
    added = 0
    columns = "$vectors (chunk_id, document_id, exact, vector)"
    with session.cursor().copy(of_index(f"COPY {columns} FROM STDIN", number)) as copy:
        for chunk_id, document_id, exact, vector in vectors:
            copy.write_row((chunk_id, document_id, exact, written(vector)))
            added += 1
    return added


def take_out(session: Session, number: int, chunks: Sequence[int]) -> int:
    """Remove the vectors of these chunks; return of how many."""
    gone = session.execute(of_index("DELETE FROM $vectors WHERE chunk_id = ANY(%s)", number), [chunks])
    return gone.rowcount


def add_up(session: Session, number: int, documents: Sequence[int]) -> None:
    """Compute the sums of the vectors of these documents."""
    session.execute(of_index(_ADD_UP, number), {"documents": documents})


def count_documents(session: Session, number: int) -> int:
    """Return how many documents have vectors."""
    row = session.execute(of_index("SELECT count(*) FROM $sums", number)).fetchone()
    assert row is not None
    return int(row[0])


@dataclass(frozen=True, slots=True)
class NearestChunks:
    """A query: the ``limit`` chunks nearest to ``vector``, float32 (dim,), of ``documents`` or ``among`` these chunks.

    None: of all. ``prefetch``: chunks whose vectors are read, too.
    """

    vector: Float32
    limit: int
    documents: Int64 | None
    prefetch: Int64
    among: Int64 | None = None

    def statement(self, number: int, near: str) -> tuple[str, dict[str, object]]:
        """Return the statement for an index that finds chunks by the subquery ``near``, and its parameters."""
        given: dict[str, object] = {"vector": written(self.vector), "limit": self.limit}
        given["prefetch"] = self.prefetch.tolist()
        where = "true"
        if self.among is not None:
            where, given["wanted"] = "chunk_id = ANY(%(wanted)s::bigint[])", self.among.tolist()
        elif self.documents is not None:
            where, given["wanted"] = "document_id = ANY(%(wanted)s::bigint[])", self.documents.tolist()
        return of_index(_NEAREST, number).replace("NEAR", of_index(near, number).replace("CONDITION", where)), given


def nearest_exactly(sessions: Sessions, number: int, query: NearestChunks) -> list[Row]:
    """Return the nearest chunks, all being compared, with their vectors, those to prefetch, and sums of documents.

    A row of a chunk is (chunk id, document id, exact, cosine, vector), the cosine None unless it is one of the nearest;
    a row of each of their documents is (document id, None, None, None, sum). Of the vectors see ``read``.
    """
    return sessions.columns(*query.statement(number, _EXACTLY))


def nearest_by_graph(sessions: Sessions, number: int, query: NearestChunks, settings: PostgresSettings) -> list[Row]:
    """Do the same by the HNSW index, searched until enough of the documents are found; there may be fewer."""
    options = (
        f"SET LOCAL hnsw.ef_search = {min(_MOST_EF, max(settings.ef_search, query.limit))}; "
        f"SET LOCAL hnsw.iterative_scan = 'strict_order'; "
        f"SET LOCAL hnsw.max_scan_tuples = {settings.max_scan_tuples}"
    )
    return sessions.columns(*query.statement(number, _BY_GRAPH), options)


def of_chunks(sessions: Sessions, number: int, chunks: Sequence[int], documents: Sequence[int]) -> list[Row]:
    """Return the rows of chunks and of documents as ``nearest_exactly`` does, all without a cosine."""
    return sessions.columns(of_index(_OF_CHUNKS, number), {"chunks": chunks, "documents": documents})


def ids(sessions: Sessions, number: int) -> list[Row]:
    """Return (chunk id, exact) of all vectors."""
    return sessions.columns(of_index("SELECT chunk_id, exact FROM $vectors ORDER BY chunk_id", number), {})


def has_graph(sessions: Sessions, number: int) -> bool:
    """Say whether there is an HNSW index that is complete."""
    valid = of_index("SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('$graph')", number)
    return sessions.rows(valid, {}) == [(True,)]


def build_graph(sessions: Sessions, number: int, settings: PostgresSettings) -> bool:
    """Build the HNSW index while others read and write; return False where somebody else does so."""
    name = of_index("$graph", number)
    with sessions.direct() as session:
        if session.execute("SELECT pg_try_advisory_lock(hashtextextended(%s, 0))", [name]).fetchone() != (True,):
            return False
        try:
            _build_graph(session, name, number, settings)
        finally:  # the end of the connection would release it some time later
            session.execute("SELECT pg_advisory_unlock(hashtextextended(%s, 0))", [name])
    return True


def _build_graph(session: Session, name: str, number: int, settings: PostgresSettings) -> None:
    valid = session.execute("SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)", [name])
    state = valid.fetchone()
    if state == (True,):
        return
    session.execute("SET statement_timeout = 0")
    session.execute(f"SET maintenance_work_mem = '{settings.build_memory_mb}MB'")
    if state is not None:  # whoever built it was stopped
        session.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
    options = f"m = {settings.hnsw_m}, ef_construction = {settings.hnsw_ef_construction}"
    on = of_index("$vectors", number)
    using = f"USING hnsw (vector halfvec_ip_ops) WITH ({options})"
    session.execute(f"CREATE INDEX CONCURRENTLY {name} ON {on} {using}")
    session.execute("UPDATE engine_indexes SET graph = true WHERE id = %s", [number])


def written(vector: Float32) -> str:
    """Return a vector as pgvector reads it."""
    return "[" + ",".join(map(str, vector.astype(np.float16).tolist())) + "]"


def read(sent: Sequence[bytes], dimension: int) -> Float32:
    """Return vectors, float32 (n, dim), from as they are sent: two numbers of 16 bits each, then the values."""
    rows = np.frombuffer(b"".join(sent), ">f2").reshape(len(sent), dimension + 2)
    return rows[:, 2:].astype(np.float32)


def absent(dimension: int) -> bytes:
    """Return what ``read`` makes NaN of."""
    return np.full(dimension + 2, np.nan, ">f2").tobytes()


_CREATE: Final = """
CREATE TABLE $vectors (
    chunk_id bigint PRIMARY KEY, document_id bigint NOT NULL, exact boolean NOT NULL, vector halfvec(DIMENSION) NOT NULL
);
CREATE INDEX $vectors_documents ON $vectors (document_id);
CREATE TABLE $sums (document_id bigint PRIMARY KEY, sum halfvec(DIMENSION) NOT NULL)
"""
_ADD_UP: Final = """
INSERT INTO $sums (document_id, sum)
SELECT document_id, sum(vector::vector)::halfvec FROM $vectors WHERE document_id = ANY(%(documents)s)
GROUP BY document_id
ON CONFLICT (document_id) DO UPDATE SET sum = excluded.sum
"""
_EXACTLY: Final = """
    WITH every AS MATERIALIZED (
        SELECT chunk_id, vector <#> %(vector)s::halfvec AS distance FROM $vectors WHERE CONDITION
    )
    SELECT chunk_id, distance FROM every ORDER BY distance, chunk_id LIMIT %(limit)s
"""
_BY_GRAPH: Final = """
    SELECT chunk_id, vector <#> %(vector)s::halfvec AS distance FROM $vectors WHERE CONDITION
    ORDER BY vector <#> %(vector)s::halfvec LIMIT %(limit)s
"""
_OF_CHUNKS: Final = """
SELECT chunk_id, document_id, exact, NULL::float8, halfvec_send(vector) FROM $vectors
WHERE chunk_id = ANY(%(chunks)s::bigint[])
UNION ALL
SELECT document_id, NULL, NULL, NULL, halfvec_send(sum) FROM $sums WHERE document_id = ANY(%(documents)s::bigint[])
"""
_NEAREST: Final = """
WITH near AS MATERIALIZED (NEAR), own AS MATERIALIZED (
    SELECT chunk_id, document_id, exact, vector FROM $vectors
    WHERE chunk_id = ANY(ARRAY(SELECT chunk_id FROM near) || %(prefetch)s::bigint[])
)
SELECT chunk_id, document_id, exact, -distance, halfvec_send(vector) FROM own LEFT JOIN near USING (chunk_id)
UNION ALL
SELECT document_id, NULL, NULL, NULL, halfvec_send(sum) FROM $sums
WHERE document_id = ANY(ARRAY(SELECT document_id FROM own))
"""
