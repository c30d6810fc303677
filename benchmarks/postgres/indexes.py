"""``python -m benchmarks.postgres.indexes``: the engine ``postgres`` beside ``local`` on one catalogue, in one run.

Two homes of a catalogue index the same chunks, one by each engine. Printed are the times of a hybrid question, asked of
both in turn, what the tables of the engine take, what a chunk costs beyond its text, and the round trips of a question
as a whole.
"""

from __future__ import annotations

import argparse
import time
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg
from sqlalchemy import func, select

from benchmarks.postgres.databases import database, server
from benchmarks.postgres.places import Place, asked_in_turn, trips
from benchmarks.speed.corpus import Corpus, prepare
from benchmarks.speed.machine import describe
from pinakes.catalog.schema import chunks

_ENGINES = ("local", "postgres")
_SIZES = """
SELECT relname, pg_total_relation_size(oid), pg_relation_size(oid), pg_indexes_size(oid), reltuples::bigint
FROM pg_class WHERE relname ~ '^engine_[0-9]+_[a-z]+$' AND relkind = 'r' ORDER BY relname
"""


def compared(corpus: Corpus, url: str, folder: Path, provider: str, rounds: int) -> None:
    """Index the corpus by both engines, ask them, and print."""
    with ExitStack() as stack:
        libraries = {}
        for engine in _ENGINES:
            place = Place(engine, folder / engine, url)
            settings = {"index__engine": engine, "embedding__provider": provider}
            library = libraries[engine] = stack.enter_context(place.open(corpus.profile, **settings))
            began = time.perf_counter()
            if engine == "local":
                library.add(str(corpus.folder))
            else:
                library.search("what is asked first has the index built")
            print(f"{engine:<10} {time.perf_counter() - began:6.1f} s to index", flush=True)
        for engine, found in asked_in_turn(libraries, corpus.questions, rounds).items():
            print(f"{engine:<10} hybrid p50 {found.p50_ms:6.1f} ms, p95 {found.p95_ms:6.1f} ms")
        with libraries["local"].app.catalog.read() as connection:
            count, chars = connection.execute(select(func.count(), func.sum(chunks.c.end - chunks.c.start))).one()
        sizes(url, int(count), int(chars))
    for engine in _ENGINES:
        place = Place(engine, folder / engine, url)
        new, again = trips(place, corpus, index__engine=engine, embedding__provider=provider)
        print(f"{engine:<10} {new:.1f} round trips for a new question, {again:.1f} where it was asked before")


def sizes(url: str, count: int, chars: int) -> None:
    """Print what the tables of the engine take, for each of ``count`` chunks."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")
        total = 0
        for name, whole, main, own, rows in connection.execute(_SIZES).fetchall():
            total += whole
            parts = f"rows {main / count:.0f}, indexes {own / count:.0f}"
            print(f"{name:<22} {whole / count:7.0f} B a chunk ({parts}), {rows:,} rows")
    print(f"{'all tables':<22} {total / count:7.0f} B a chunk; {count:,} chunks of {chars / count:.0f} characters")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", default="", help="a server whose user may create databases; none = one of its own")
    parser.add_argument("--corpus", choices=["keps", "linux", "own"], help="what to index; none = keps where there is")
    parser.add_argument("--limit-files", type=int, default=0, metavar="N", help="only N files, evenly chosen")
    parser.add_argument("--provider", default="deterministic", help="the embedder: deterministic, onnx")
    parser.add_argument("--rounds", type=int, default=2, help="how often each question is asked")
    given = parser.parse_args()
    about = describe()
    print(f"{about['cpu']}, {about['cores']} cores")
    with TemporaryDirectory() as name, server(given.url) as url, database(url) as own:
        corpus = prepare(given.corpus, Path(name), given.limit_files)
        compared(corpus, own, Path(name), given.provider, given.rounds)


if __name__ == "__main__":
    main()
