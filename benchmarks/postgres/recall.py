"""``python -m benchmarks.postgres.recall``: recall@10 and time of vector engines by how much a filter lets pass.

An engine answers as it does for a search: by its approximate index, or exactly where it decides so. Its answers are
compared with the exact ones, by numpy. Documents pass at random, or by subject: those nearest to a random chunk, so
that most questions are far from what passes. Vectors are those of ``--home``, asked what ``--golden`` asks, else
structured random ones: directions of groups within groups, of which few weigh much.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from sqlalchemy import select

from benchmarks.postgres.databases import database, server
from benchmarks.speed.corpus import KEPS
from benchmarks.speed.machine import describe
from pinakes.catalog import embeddings
from pinakes.catalog.schema import chunks
from pinakes.core.ports import VectorEngine, VectorQuery
from pinakes.core.records import Condition, Filter, Float32, Int64, VectorEntry
from pinakes.evaluation.questions import read_golden
from pinakes.indexes.opening import Opening
from pinakes.indexes.postgres.postgres_engine import PostgresEngine
from pinakes.indexes.vector.faiss_engine import FaissEngine
from pinakes.library import Library
from pinakes.settings import PostgresSettings

_BEST = 10
_DIMENSION = 384
_BATCH = 5000
_VECTORS_ONLY = frozenset(("vector",))


@dataclass(frozen=True, slots=True)
class Vectors:
    """``rows`` float32 (n, dim) of chunks, ``owners`` int64 (n,): their documents; ``questions`` float32 (q, dim)."""

    rows: Float32
    owners: Int64
    questions: Float32


def structured(count: int, questions: int, seed: int = 7) -> Vectors:
    """Return random unit vectors, float32 (count, 384), in 40 groups of 50 groups each; each of its own document."""
    random = np.random.default_rng(seed)
    weights = 1 / np.sqrt(np.arange(1, _DIMENSION + 1))
    outer, inner = (random.normal(size=(n, _DIMENSION)) * weights for n in (40, 2000))
    of = random.integers(0, 2000, count + questions)
    found = np.empty((len(of), _DIMENSION), np.float32)
    for first in range(0, len(of), _BATCH):
        some = of[first : first + _BATCH]
        noise = random.normal(size=(len(some), _DIMENSION)) * weights
        rows = outer[some % 40] + 0.8 * inner[some] + 0.9 * noise
        found[first : first + _BATCH] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return Vectors(found[:count], np.arange(count, dtype=np.int64), found[count:])


def of_home(folder: Path, golden: Path, questions: int) -> Vectors:
    """Return the vectors of the model's own in the home, and of the questions of a golden set by its model."""
    asked = [question.text for question in read_golden(golden)][:questions]
    with Library.open(folder) as library:
        record = library.collection()
        with library.app.catalog.read() as connection:
            _, ids = embeddings.chunk_ids(connection, record.id, record.model_id)
            kept = embeddings.of_chunks(connection, record.model_id, ids.tolist())
            found = connection.execute(select(chunks.c.id, chunks.c.document_id))
            owners = {one.id: one.document_id for one in found}
        vectors = np.stack([library.app.embedder.embed_query(text) for text in asked])
    rows = np.stack(list(kept.values()))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return Vectors(rows, np.array([owners[one] for one in kept], np.int64), vectors)


@contextmanager
def opened(
    name: str, vectors: Vectors, passing: dict[Filter, Int64], settings: dict[str, Any]
) -> Iterator[VectorEngine]:
    """Give an engine that has these vectors, and its approximate index; ``passing``: the documents of each filter."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        url = stack.enter_context(database(stack.enter_context(server()))) if name == "postgres" else ""
        usual: dict[str, Any] = {
            "catalog__url": url,
            "catalog__statement_timeout_s": 600,
            "index__exact_max_vectors": 0,
            "postgres__exact_max_vectors": 0,
        }
        library = stack.enter_context(Library.open(folder / "home", **usual, **settings))
        dimension = vectors.rows.shape[1]
        catalog = library.app.catalog if url else None
        opening = Opening(
            folder / "index",
            dimension,
            passing.__getitem__,
            library.settings,
            "recall",
            parts=_VECTORS_ONLY,
            catalog=catalog,
        )
        (folder / "index").mkdir()
        engine: Any = (PostgresEngine if name == "postgres" else FaissEngine)(opening)
        began = time.perf_counter()
        for first in range(0, len(vectors.rows), _BATCH):
            some = range(first, min(first + _BATCH, len(vectors.rows)))
            entries = [VectorEntry(one, int(vectors.owners[one]), vectors.rows[one]) for one in some]
            engine.apply([], [], some[-1] + 1, entries)
        added = time.perf_counter()
        if name == "postgres":
            engine.build_graph()
        else:  # its approximate index is built as it is closed
            engine.close()
            engine = FaissEngine(opening)
        built = time.perf_counter() - added
        print(
            f"{name}: {len(vectors.rows):,} vectors added in {added - began:.0f} s, built in {built:.0f} s", flush=True
        )
        try:
            engine.vector(VectorQuery(vectors.questions[0], _BEST))
            print(f"  {dict(engine.describe())}", flush=True)
            yield engine
        finally:
            engine.close()


def passing_documents(vectors: Vectors, shares: list[float]) -> dict[Filter, Int64]:
    """Return the sorted documents of filters that let so large a share of documents pass, at random and by subject."""
    random, found = np.random.default_rng(1), dict[Filter, Int64]()
    documents, first = np.unique(vectors.owners, return_index=True)
    near = vectors.rows[first] @ vectors.rows[random.integers(len(vectors.rows))]
    for share in shares:
        count = max(1, round(share * len(documents)))
        if share == 1:
            found[()] = documents
            continue
        found[(Condition(f"random {share:.2%}"),)] = np.sort(random.choice(documents, count, replace=False))
        found[(Condition(f"subject {share:.2%}"),)] = np.sort(documents[np.argsort(-near, kind="stable")[:count]])
    return found


def measure(engine: VectorEngine, vectors: Vectors, passing: dict[Filter, Int64]) -> None:
    """Print a line for each filter: recall@10, answers that are short, and the time of an answer."""
    rows = vectors.rows.astype(np.float16).astype(np.float32)
    for where, documents in passing.items():
        among = np.flatnonzero(np.isin(vectors.owners, documents))
        right, found, short, times = 0, 0, 0, []
        for question in vectors.questions:
            cosines = rows[among] @ question if where else rows @ question
            best = among[np.argsort(-cosines, kind="stable")[:_BEST]]
            began = time.perf_counter()
            [ranking] = engine.vector(VectorQuery(question, _BEST, where or None))
            times.append(time.perf_counter() - began)
            right += len(best)
            found += len(np.intersect1d(ranking.ids, best))
            short += len(ranking.ids) < len(best)
        name = where[0].field if where else "all"
        p50, p95 = np.percentile(times, [50, 95]) * 1000
        print(
            f"  {name:<15} {len(among):>9,} chunks  recall@10 {found / right:.3f}  short {short}/{len(times)}  "
            f"p50 {p50:6.1f} ms, p95 {p95:6.1f} ms",
            flush=True,
        )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engines", nargs="+", default=["postgres", "faiss"], choices=["postgres", "faiss"])
    parser.add_argument("--home", type=Path, help="a home whose vectors are taken; none = structured random vectors")
    parser.add_argument("--golden", type=Path, default=KEPS / "golden.jsonl", help="what is asked of it")
    parser.add_argument("--count", type=int, default=50_000, help="of structured vectors")
    parser.add_argument("--questions", type=int, default=50)
    parser.add_argument("--shares", type=float, nargs="+", default=[1.0, 0.5, 0.1, 0.01, 0.001, 0.0001])
    parser.add_argument("--ef-search", type=int, default=PostgresSettings().ef_search)
    parser.add_argument("--max-scan-tuples", type=int, default=PostgresSettings().max_scan_tuples)
    parser.add_argument("--exact-max-filtered", type=int, default=PostgresSettings().exact_max_filtered)
    given = parser.parse_args()
    settings = {
        "postgres__ef_search": given.ef_search,
        "postgres__max_scan_tuples": given.max_scan_tuples,
        "postgres__exact_max_filtered": given.exact_max_filtered,
    }
    about = describe()
    print(f"{about['cpu']}, {about['cores']} cores, load {os.getloadavg()[0]:.0f}")
    if given.home is None:
        vectors = structured(given.count, given.questions)
    else:
        vectors = of_home(given.home, given.golden, given.questions)
    passing = passing_documents(vectors, given.shares)
    for name in given.engines:
        with opened(name, vectors, passing, settings) as engine:
            measure(engine, vectors, passing)


if __name__ == "__main__":
    main()
