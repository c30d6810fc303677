"""``python -m benchmarks.speed.engines HOME COLLECTION QUESTIONS``: a hybrid query beside other engines in process.

The same chunks, vectors, model and questions (JSON lines with a ``query``), each asked once and never before:

- Pinakes, as it comes, without what it remembers of answers and questions;
- bm25s and a flat FAISS index, fused by reciprocal ranks;
- Qdrant Edge with dense and sparse (BM25) vectors, fused by its own reciprocal ranks.

All give the texts of the ten best. ``pip install bm25s PyStemmer qdrant-edge-py`` first; what is not there is left out.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.speed.machine import describe
from pinakes.catalog import selection
from pinakes.core.records import Float32
from pinakes.library import Library

BEST = 10
CANDIDATES = 100
POINTS_AT_ONCE = 500
RRF = 60
"""The constant of reciprocal rank fusion: 1 / (60 + rank), from 1."""


@dataclass(frozen=True)
class Corpus:
    """The chunks of a collection and their vectors, float32 (n, dim)."""

    texts: Sequence[str]
    vectors: Float32


Ask = Callable[[str], Sequence[str]]
Embed = Callable[[str], Float32]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("home", type=Path)
    parser.add_argument("collection")
    parser.add_argument("questions", type=Path)
    parser.add_argument("--most", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3, help="so often all are asked one after another, best of each")
    given = parser.parse_args()
    lines = given.questions.read_text("utf-8").splitlines()
    questions = [json.loads(line)["query"] for line in lines if line.strip()][: given.most]
    with Library.open(given.home, search__remembered_answers=0, search__remembered_queries=0) as library:
        corpus = read(library, given.collection)
        embed = library.app.embedder_of(library.collection(given.collection)).embed_query
        machine = describe()
        print(f"{machine['cpu']}, {machine['cores']} cores: {len(corpus.texts)} chunks, {len(questions)} questions")
        ways = {"Pinakes": lambda query: [hit.text for hit in library.search(query, given.collection).hits]}
        with others(corpus, embed) as more:
            report(ways | more, questions, given.rounds)


def read(library: Library, collection: str) -> Corpus:
    """Return all chunks of a collection that have a vector."""
    _, index = library.app.index(collection)
    ids = index.contents()["exact"]
    with library.app.catalog.read() as connection:
        rows = selection.hit_rows(connection, ids.tolist())
    return Corpus([rows[one].text for one in ids.tolist()], index.vectors(ids).own)


@contextmanager
def others(corpus: Corpus, embed: Embed) -> Iterator[dict[str, Ask]]:
    """Give the other engines that are installed, filled with ``corpus``."""
    ways: dict[str, Ask] = {}
    with tempfile.TemporaryDirectory() as folder:
        if find_spec("bm25s") is not None:
            ways["bm25s + FAISS"] = with_bm25s(corpus, embed)
        if find_spec("qdrant_edge") is not None:
            ways["Qdrant Edge"] = with_qdrant(corpus, embed, Path(folder, "shard"))
        yield ways


def with_bm25s(corpus: Corpus, embed: Embed) -> Ask:
    """Return what asks bm25s and FAISS."""
    import bm25s
    import faiss

    stemmer = None
    if find_spec("Stemmer") is not None:
        import Stemmer

        stemmer = Stemmer.Stemmer("english")
    words = bm25s.BM25()
    words.index(bm25s.tokenize(list(corpus.texts), stemmer=stemmer, show_progress=False), show_progress=False)
    faiss.omp_set_num_threads(1)
    near = faiss.IndexFlatIP(corpus.vectors.shape[1])
    near.add(corpus.vectors)

    def ask(query: str) -> Sequence[str]:
        terms = bm25s.tokenize([query], stemmer=stemmer, show_progress=False)
        by_words, _ = words.retrieve(terms, k=CANDIDATES, show_progress=False)
        _, by_meaning = near.search(embed(query).reshape(1, -1), CANDIDATES)
        scores: dict[int, float] = {}
        for ranking in (by_words[0].tolist(), by_meaning[0].tolist()):
            for rank, one in enumerate(ranking, 1):
                scores[one] = scores.get(one, 0.0) + 1 / (RRF + rank)
        best = sorted(scores, key=lambda one: -scores[one])[:BEST]
        return [corpus.texts[one] for one in best]

    return ask


def with_qdrant(corpus: Corpus, embed: Embed, folder: Path) -> Ask:
    """Return what asks Qdrant's engine."""
    import qdrant_edge as qdrant

    model = qdrant.Bm25()
    dense = qdrant.EdgeVectorParams(corpus.vectors.shape[1], qdrant.Distance.Dot)
    sparse = qdrant.EdgeSparseVectorParams(modifier=qdrant.Modifier.Idf)
    config = qdrant.EdgeConfig(vectors={"meaning": dense}, sparse_vectors={"words": sparse})
    shard = qdrant.EdgeShard.create(str(folder), config)
    for start in range(0, len(corpus.texts), POINTS_AT_ONCE):
        texts = corpus.texts[start : start + POINTS_AT_ONCE]
        vectors = corpus.vectors[start : start + POINTS_AT_ONCE].tolist()
        points = [
            qdrant.Point(number, {"meaning": vector, "words": model.embed_document(text)}, {"text": text})
            for number, (text, vector) in enumerate(zip(texts, vectors, strict=True), start)
        ]
        shard.update(qdrant.UpdateOperation.upsert_points(points))
    shard.optimize()

    fused: Any = qdrant.Fusion.Rrf(RRF)

    def ask(query: str) -> Sequence[str]:
        stages: list[Any] = [
            qdrant.Prefetch(CANDIDATES, qdrant.Query.Nearest(embed(query).tolist(), "meaning")),
            qdrant.Prefetch(CANDIDATES, qdrant.Query.Nearest(model.embed_query(query), "words")),
        ]
        found = shard.query(qdrant.QueryRequest(BEST, query=fused, prefetches=stages, with_payload=True))
        return [(one.payload or {})["text"] for one in found]

    return ask


def report(ways: dict[str, Ask], questions: Sequence[str], rounds: int) -> None:
    """Ask every question in every way, one way after another, and print the times of the best round of each."""
    best: dict[str, tuple[float, float]] = {}
    for _ in range(rounds):
        for name, ask in ways.items():
            ask("what is asked first takes longer")
            taken = []
            for question in questions:
                start = time.perf_counter()
                assert ask(question), question
                taken.append((time.perf_counter() - start) * 1000)
            figures = float(np.percentile(taken, 50)), float(np.percentile(taken, 95))
            best[name] = min(best.get(name, figures), figures)
    fastest = min((figures for name, figures in best.items() if name != "Pinakes"), default=None)
    print("| engine | p50 | p95 |\n|---|---|---|")
    for name, (middle, high) in best.items():
        print(f"| {name} | {middle:.2f} ms | {high:.2f} ms |")
    if fastest:
        ratio, of_high = (mine / other for mine, other in zip(best["Pinakes"], fastest, strict=True))
        print(f"Pinakes takes {ratio:.2f} (p50) and {of_high:.2f} (p95) times as long as the fastest other.")


if __name__ == "__main__":
    main()
