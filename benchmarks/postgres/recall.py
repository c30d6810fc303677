"""``python -m benchmarks.postgres.recall``: recall@10 and time of the HNSW index by how much a filter lets pass.

All is compared with the exact answer by numpy. Vectors are those of ``--vectors`` (float32 (n, dim), .npy; the last
ones are the questions), else structured random ones: directions of groups within groups, of which few weigh much.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.postgres.databases import database, server
from pinakes.catalog.index_tables import registry, vector_table
from pinakes.catalog.index_tables.sessions import Sessions
from pinakes.core.records import Float32, Int64
from pinakes.library import Library
from pinakes.settings import PostgresSettings

_BEST = 10
_SHARES = (1.0, 0.1, 0.01, 0.001)
_DIMENSION = 384


def structured(count: int, seed: int = 7) -> Float32:
    """Return random unit vectors, float32 (count, 384), in 40 groups of 50 groups each."""
    random = np.random.default_rng(seed)
    weights = 1 / np.sqrt(np.arange(1, _DIMENSION + 1))
    outer, inner = (random.normal(size=(n, _DIMENSION)) * weights for n in (40, 2000))
    of = random.integers(0, 2000, count)
    found = outer[of % 40] + 0.8 * inner[of] + 0.9 * random.normal(size=(count, _DIMENSION)) * weights
    unit: Float32 = (found / np.linalg.norm(found, axis=1, keepdims=True)).astype(np.float32)
    return unit


@contextmanager
def table(vectors: Float32) -> Iterator[tuple[Sessions, int]]:
    """Give an index that has these vectors, each of a document of its own, and its graph."""
    with (
        TemporaryDirectory() as name,
        server() as address,
        database(address) as url,
        Library.open(Path(name), catalog__url=url, catalog__statement_timeout_s=600) as library,
    ):
        sessions = Sessions(library.app.catalog, library.settings.catalog)
        number, _ = registry.opened(sessions, "recall", "home", vectors.shape[1], words=False)
        with sessions.writing() as session:
            vector_table.add(session, number, ((one, one, True, row) for one, row in enumerate(vectors)))
        began = time.perf_counter()
        vector_table.build_graph(sessions, number, PostgresSettings())
        print(f"graph of {len(vectors):,} vectors built in {time.perf_counter() - began:.0f} s", flush=True)
        yield sessions, number


def measure(sessions: Sessions, number: int, vectors: Float32, questions: Float32, settings: PostgresSettings) -> None:
    """Print a line for each share: recall of the graph, how many answers were short, and the times."""
    random = np.random.default_rng(1)
    cosines = questions @ vectors.astype(np.float16).astype(np.float32).T
    for share in _SHARES:
        passing: Int64 = np.flatnonzero(random.random(len(vectors)) < share)
        hits, short, by_graph, exactly = 0, 0, [], []
        for question, cosine in zip(questions, cosines, strict=True):
            best = passing[np.argsort(-cosine[passing], kind="stable")[:_BEST]]
            documents = None if share == 1 else passing
            began = time.perf_counter()
            rows = vector_table.nearest_by_graph(sessions, number, question, _BEST, documents, settings)
            by_graph.append(time.perf_counter() - began)
            began = time.perf_counter()
            vector_table.nearest_exactly(sessions, number, question, _BEST, documents, None)
            exactly.append(time.perf_counter() - began)
            short += len(rows) < min(_BEST, len(passing))
            hits += len({row[0] for row in rows} & set(best.tolist()))
        recall = hits / (len(questions) * min(_BEST, len(passing)))
        times = f"graph {np.median(by_graph) * 1000:.1f} ms, exact {np.median(exactly) * 1000:.1f} ms"
        print(
            f"ef_search {settings.ef_search:>4}  max_scan_tuples {settings.max_scan_tuples:>6}  passing {share:7.1%} "
            f"({len(passing):,})  recall@10 {recall:.3f}  short {short}/{len(questions)}  {times}",
            flush=True,
        )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vectors", type=Path, help="an .npy file; none = structured random vectors")
    parser.add_argument("--count", type=int, default=50_000, help="of structured vectors")
    parser.add_argument("--questions", type=int, default=50)
    parser.add_argument("--ef-search", type=int, nargs="+", default=[100, 200])
    parser.add_argument("--max-scan-tuples", type=int, nargs="+", default=[40_000])
    given = parser.parse_args()
    every = structured(given.count + given.questions) if given.vectors is None else np.load(given.vectors)
    vectors, questions = every[: -given.questions], every[-given.questions :]
    with table(vectors) as (sessions, number):
        for ef in given.ef_search:
            for most in given.max_scan_tuples:
                measure(sessions, number, vectors, questions, PostgresSettings(ef_search=ef, max_scan_tuples=most))


if __name__ == "__main__":
    main()
