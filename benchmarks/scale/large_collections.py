"""Measures one large collection: ingest, index build, disk, opening, questions, memory, recall of the vector index."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.scale.invented_text import from_data
from benchmarks.speed.home import NOTHING_REMEMBERED, in_new_process
from benchmarks.speed.machine import MEGABYTE, Spread, disk_mb, memory_mb, own_memory_mb, spread
from pinakes.core.ports import Index, VectorQuery
from pinakes.core.records import Float32, Int64
from pinakes.library import Library

_QUIET = {**NOTHING_REMEMBERED, "audit__enabled": False}
_COMPARED_ROWS = 20_000
_NEAREST = 10


@dataclass(frozen=True, slots=True)
class Ingest:
    """``add`` of a new home in seconds, then the first hybrid answer, then closing, which saves the vectors.

    ``stages_s``: of ``add``, as it reports them. ``cpu_s``: of this process; ``children_s``: of its parsers.
    """

    files: int
    text_mb: float
    chunks: int
    add_s: float
    first_answer_s: float
    close_s: float
    cpu_s: float
    children_s: float
    peak_mb: float
    stages_s: dict[str, float]


@dataclass(frozen=True, slots=True)
class Served:
    """A process that opens the home and answers: times, memory (PSS) and recall.

    ``cpu_ms``: processor time of a question without head refinement, as a mean.
    """

    open_s: float
    hybrid: Spread
    unrefined: Spread
    cpu_ms: float
    pss_mb: float
    vector: Spread
    recall: float
    method: str


@dataclass(frozen=True, slots=True)
class Size:
    """What one size costs. ``disk_mb`` by part of the home."""

    ingest: Ingest
    served: Served
    disk_mb: dict[str, float]
    load: float


def measure(work: Path, files: int, questions: int, settings: Mapping[str, Any]) -> Size:
    """Generate ``files`` files below ``work``, read them into a new home there, and measure it."""
    corpus, home = work / "corpus", work / "home"
    load = os.getloadavg()[0]
    if not corpus.exists():
        from_data().write(corpus, files)
    ingest = in_new_process(_ingest, home, corpus, {**_QUIET, **settings})
    served = in_new_process(_serve, home, questions, {**_QUIET, **settings})
    return Size(ingest, served, _disk(home), load)


def _ingest(home: Path, corpus: Path, settings: Mapping[str, Any]) -> Ingest:
    question = from_data().question(0)
    library = Library.open(home, **settings)
    began = time.perf_counter()
    report = library.add(str(corpus))
    added = time.perf_counter()
    library.search(question)
    answered = time.perf_counter()
    library.close()
    closed = time.perf_counter()
    times = os.times()
    text = sum(path.stat().st_size for path in corpus.rglob("*.md"))
    return Ingest(
        files=sum(1 for _ in corpus.rglob("*.md")),
        text_mb=text / MEGABYTE,
        chunks=report.chunks,
        add_s=added - began,
        first_answer_s=answered - added,
        close_s=closed - answered,
        cpu_s=times.user + times.system,
        children_s=times.children_user + times.children_system,
        peak_mb=memory_mb()["peak"],
        stages_s=dict(report.seconds),
    )


def _serve(home: Path, questions: int, settings: Mapping[str, Any]) -> Served:
    maker = from_data()
    asked = [maker.question(number) for number in range(1, questions + 1)]
    began = time.perf_counter()
    with Library.open(home, **settings) as library:
        library.search(asked[0])
        opened = time.perf_counter() - began
    with Library.open(home, **{**settings, "search__refine_ms": 0}) as library:
        library.search(asked[0])
        library.search(asked[1])
        worked = time.process_time()
        unrefined = spread(_timed(library, asked))
        worked = time.process_time() - worked
        pss = own_memory_mb()
        index = library.parts().index
        method = str(index.describe().get("vector_search", ""))
        queries = np.stack([library.app.embedder.embed_query(text) for text in asked[:100]])
        recall, vector = _recall(index, queries)
    with Library.open(home, **settings) as library:
        library.search(asked[0])
        library.search(asked[1])
        hybrid = spread(_timed(library, asked))
    return Served(opened, hybrid, unrefined, worked * 1000 / len(asked), pss, vector, recall, method)


def _timed(library: Library, asked: Sequence[str]) -> Iterator[float]:
    for text in asked:
        began = time.perf_counter()
        library.search(text)
        yield time.perf_counter() - began


def _recall(index: Index, queries: Float32) -> tuple[float, Spread]:
    """Return the share of the ten nearest chunks that the index finds, and the time of a query."""
    nearest = exact(index, queries)
    found, times = [], []
    for query, right in zip(queries, nearest, strict=True):
        began = time.perf_counter()
        [ranking] = index.vector(VectorQuery(query, _NEAREST))
        times.append(time.perf_counter() - began)
        found.append(len(np.intersect1d(ranking.ids, right)) / len(right))
    return float(np.mean(found)), spread(times)


def exact(index: Index, queries: Float32) -> Int64:
    """Return int64 (q, 10): the chunks nearest to each of ``queries`` float32 (q, dim), of all vectors of the index."""
    ids = index.contents()["vector"]
    best_ids = np.zeros((len(queries), 0), np.int64)
    best = np.zeros((len(queries), 0), np.float32)
    for start in range(0, len(ids), _COMPARED_ROWS):
        some = ids[start : start + _COMPARED_ROWS]
        scores = queries @ index.vectors(some).own.T
        best = np.concatenate([best, scores], axis=1)
        best_ids = np.concatenate([best_ids, np.broadcast_to(some, scores.shape)], axis=1)
        if best.shape[1] > _NEAREST:
            kept = np.argpartition(-best, _NEAREST, axis=1)[:, :_NEAREST]
            best, best_ids = np.take_along_axis(best, kept, 1), np.take_along_axis(best_ids, kept, 1)
    return best_ids


def _disk(home: Path) -> dict[str, float]:
    parts: dict[str, Any] = {
        "catalogue": [*home.glob("catalog.db*")],
        "words": [*home.glob("index/*/keyword"), *home.glob("index/*/documents")],
        "vectors": [*home.glob("index/*/vectors/*/matrix.npy")],
        "scanner": [*home.glob("index/*/vectors/*/scanner.faiss")],
    }
    return {name: disk_mb(*paths) for name, paths in parts.items()} | {"all": disk_mb(home)}
