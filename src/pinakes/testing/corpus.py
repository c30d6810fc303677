"""Made-up documents, and an index that computes every score as its definition says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from math import log
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np

from pinakes.core import filters
from pinakes.core.ports import KeywordQuery, VectorQuery, Vectors
from pinakes.core.records import HELD, Filter, Float32, IndexEntry, Int64, Metadata, Ranking, VectorEntry
from pinakes.text.analysis import Analyzer
from pinakes.text.identifiers import has_parts

Select: TypeAlias = Callable[[Filter], Int64]
"""Gives the sorted ids of the documents that pass a filter, int64 (n,)."""

DIMENSION = 16

FILES: Mapping[str, str] = {
    "README.md": "# Zoo\n\nHow the zoo is run, day by day.\n",
    "animals/badger.md": "# Badger\n\n## Food\n\nBadgers eat earthworms at night.\n\n"
    "## Home\n\nA sett has many doors.\n",
    "animals/heron.md": "# Heron\n\nThe grey heron waits for fish in shallow water.\n",
    "animals/otter.md": "# Otter\n\nOtters eat fish and play in the river.\n",
    "code/feeding.py": '"""When to feed."""\n\n\ndef feeding_time(animal: str) -> int:\n    """Return the hour."""\n'
    '    return 22 if animal == "badger" else 9\n',
    "notes/2024.txt": "In March the heron came back. In May a storm broke the fence.\n",
    "plans/fence.yaml": "title: New fence\nstatus: draft\ncost: 1200\n",
}
"""Path → text of a tiny corpus; ``write_files`` makes a folder of it."""

ODD_QUERIES = (
    "",
    " \t\n",
    "a",
    "?!.,;:-_()[]{}\"'`~@#$%^&*+=|\\/<>",
    "the of and",
    "🦡🐟",
    "鳥は魚を食べる",
    "барсук ест червей",
    "السمك",
    "मछली",
    'AND OR NOT "unclosed (paren text:heron^2 [a TO b]',
    "heron " * 2000,
    "x" * 10_000,
)
"""Queries that a search must survive."""


def write_files(folder: Path, files: Mapping[str, str] = FILES) -> Path:
    """Write ``files`` (path → text) below ``folder``; return it."""
    for path, text in files.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, "utf-8")
    return folder


class ReferenceIndex:
    """An ``Index`` in memory: every score computed for every chunk, as its definition says.

    BM25 (k1 1.2, b 0.75, terms of a query as often as they stand there) over the header and text of a chunk alone,
    or over the texts of a document's chunks.
    """

    def __init__(self, dimension: int, select: Select) -> None:
        self._dimension = dimension
        self._select = select
        self._position = 0
        self._entries: dict[int, IndexEntry] = {}
        self._analyzer = Analyzer()

    def position(self) -> int:
        return self._position

    def apply(
        self,
        removed: Iterable[int],
        added: Iterable[IndexEntry],
        position: int,
        vectors: Iterable[VectorEntry] = (),
    ) -> None:
        if position > self._position:
            added = list(added)
            gone = {*removed, *(entry.document_id for entry in added)}
            kept = {key: entry for key, entry in self._entries.items() if entry.document_id not in gone}
            for given in vectors:
                if given.chunk_id in kept:
                    kept[given.chunk_id] = replace(kept[given.chunk_id], vector=given.vector, exact=given.exact)
            self._entries = kept | {entry.chunk_id: entry for entry in added}
            self._position = position

    def keyword(self, *queries: KeywordQuery) -> list[Ranking]:
        return [self.by_words(query) for query in queries]

    def by_words(self, query: KeywordQuery) -> Ranking:
        """Answer one query."""
        text, limit, where, among = query.text, query.limit, query.where, query.among
        entries = self._documents() if query.evidence == "documents" else self._entries
        if query.evidence == "definitions":
            names = set(text.split())
            wholes = [f" {' '.join(self._analyzer.terms(name))} " for name in names if has_parts(name)]
            texts = {key: f" {' '.join(self._terms(entry))} " for key, entry in entries.items()}
            scores = {
                key: len(names & set(entry.symbols)) + HELD * sum(whole in texts[key] for whole in wholes)
                for key, entry in entries.items()
            }
            return self._ranked(entries, {key: score for key, score in scores.items() if score}, limit, where, among)
        if query.evidence == "phrases":
            run = f" {' '.join(self._analyzer.terms(text))} "
            texts = {key: f" {' '.join(self._terms(entry))} " for key, entry in entries.items()}
            having = [key for key, words in texts.items() if run.strip() and run in words]
            return self._ranked(entries, dict.fromkeys(having, 1.0), limit, where, among)
        return self._ranked(entries, self._bm25(text, entries), limit, where, among)

    def vector(self, *queries: VectorQuery) -> list[Ranking]:
        return [self.by_meaning(query) for query in queries]

    def by_meaning(self, query: VectorQuery) -> Ranking:
        """Answer one query."""
        entries = self._entries
        scores = {key: float(entry.vector @ query.vector) for key, entry in entries.items() if entry.vector is not None}
        found = self._ranked(entries, scores, query.limit, query.where, query.among)
        if all(entries[key].exact for key in scores):
            return found
        return replace(found, exact=np.array([entries[key].exact for key in found.ids.tolist()], np.bool_))

    def contents(self) -> Mapping[str, Int64]:
        embedded = [key for key, entry in self._entries.items() if entry.vector is not None]
        exact = [key for key in embedded if self._entries[key].exact]
        return {
            "keyword": sorted_ids(self._entries),
            "documents": sorted_ids(self._documents()),
            "vector": sorted_ids(embedded),
            "exact": sorted_ids(exact),
        }

    def vectors(self, chunks: Int64, documents: Int64 | None = None) -> Vectors:
        nothing = np.empty(0, np.int64)
        own = self._sums(chunks, "chunk_id")
        unsure = {key for key, entry in self._entries.items() if entry.vector is not None and not entry.exact}
        exact = np.array([key not in unsure for key in chunks.tolist()], np.bool_) if unsure else None
        return Vectors(own, exact, self._sums(nothing if documents is None else documents, "document_id"))

    def _sums(self, ids: Int64, field: Literal["chunk_id", "document_id"]) -> Float32:
        """Return float32 (n, dim): the sum of the vectors of the entries with each id, NaN where there is none."""
        found = np.full((len(ids), self._dimension), np.nan, np.float32)
        for row, key in enumerate(ids.tolist()):
            entries = self._entries.values()
            held = [one.vector for one in entries if key == getattr(one, field) and one.vector is not None]
            if held:
                found[row] = np.sum(held, axis=0)
        return found

    def describe(self) -> Mapping[str, str | int]:
        return {"engine": "reference", "keyword_chunks": len(self._entries)}

    def close(self) -> None:
        """Release nothing."""

    def _documents(self) -> dict[int, IndexEntry]:
        """Return document id → an entry with the texts of all its chunks."""
        whole: dict[int, IndexEntry] = {}
        for entry in self._entries.values():
            before = whole.get(entry.document_id)
            text = f"{before.text} {entry.text}" if before else entry.text
            whole[entry.document_id] = replace(entry, chunk_id=entry.document_id, header=entry.title, text=text)
        return whole

    def _bm25(self, query: str, entries: Mapping[int, IndexEntry]) -> dict[int, float]:
        counts = {key: Counter(self._terms(entry)) for key, entry in entries.items()}
        average = sum(sum(count.values()) for count in counts.values()) / max(1, len(counts))
        scores: dict[int, float] = {}
        for asked in self._analyzer.query(query):
            term = asked.text
            having = [key for key, count in counts.items() if count[term]]
            rarity = log(1 + (len(counts) - len(having) + 0.5) / (len(having) + 0.5))
            for key in having:
                times, length = counts[key][term], sum(counts[key].values())
                weight = times * 2.2 / (times + 1.2 * (0.25 + 0.75 * length / average))
                scores[key] = scores.get(key, 0.0) + asked.weight * rarity * weight
        return scores

    def _terms(self, entry: IndexEntry) -> list[str]:
        return self._analyzer.terms(f"{entry.header} {entry.text}")

    def _ranked(
        self,
        entries: Mapping[int, IndexEntry],
        scores: Mapping[int, float],
        limit: int,
        where: Filter | None,
        among: Int64 | None,
    ) -> Ranking:
        documents = set(self._select(where).tolist()) if where else None
        allowed = None if among is None else set(among.tolist())
        pairs = [
            (-score, key)
            for key, score in scores.items()
            if (allowed is None or key in allowed)
            and (documents is None or allowed is not None or entries[key].document_id in documents)
        ]
        best = sorted(pairs)[:limit]
        ids = np.array([key for _, key in best], np.int64)
        owners = np.array([entries[key].document_id for _, key in best], np.int64)
        return Ranking(ids, owners, np.array([-score for score, _ in best], np.float32))


class Corpus:
    """Made-up documents with chunks, vectors and metadata, the same each time for the same ``seed``."""

    WORDS = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heron", "islet", "krill", "lotus", "maple")

    def __init__(self, documents: int = 30, dimension: int = DIMENSION, seed: int = 7) -> None:
        self._random = np.random.default_rng(seed)
        self.dimension = dimension
        self.metadata: dict[int, Metadata] = {}
        self.entries: list[IndexEntry] = []
        for document_id in range(1, documents + 1):
            self.metadata[document_id] = {
                "status": ("alpha", "beta", "stable")[document_id % 3],
                "number": document_id,
                "path": f"part{document_id % 4}/file{document_id}.md",
                "tags": ["odd" if document_id % 2 else "even", f"of{document_id % 5}"],
            }
            for _ in range(1 + document_id % 4):
                self.entries.append(self.entry(document_id, len(self.entries) + 1))

    def entry(self, document_id: int, chunk_id: int) -> IndexEntry:
        """Make one chunk of up to 30 words with a random unit vector that float16 holds exactly."""
        words = self._random.choice(self.WORDS, self._random.integers(3, 30))
        path = str(self.metadata[document_id]["path"])
        return IndexEntry(chunk_id, document_id, "", path, "", " ".join(words), (), self.vector())

    def vector(self) -> Float32:
        """Return a random unit vector, float32 (dim,), rounded to float16."""
        drawn = self._random.standard_normal(self.dimension)
        return (drawn / np.linalg.norm(drawn)).astype(np.float16).astype(np.float32)

    def select(self, where: Filter) -> Int64:
        """Return the ids of the documents whose metadata pass ``where``, by ``filters.match``."""
        return sorted_ids(key for key, metadata in self.metadata.items() if filters.match(where, metadata))

    def reference(self) -> ReferenceIndex:
        """Return a ``ReferenceIndex`` that holds everything."""
        index = ReferenceIndex(self.dimension, self.select)
        index.apply((), self.entries, 1)
        return index


FILTERS: tuple[Filter, ...] = tuple(
    filters.parse(written)
    for written in (
        {"status": "Beta"},
        {"status": ["alpha", "stable"]},
        {"number": {"gte": 5, "lte": 9}},
        {"number": {"gt": 5, "lt": 9}},
        {"status": {"ne": ["alpha", "beta"]}},
        {"path": "part1/*.md"},
        {"path": {"glob": "part2/**"}, "tags": "odd"},
        {"tags": ["of3"], "number": {"lte": 20}},
        {"status": "nowhere"},
        {"unknown": "field"},
    )
)
"""Filters of each kind over the metadata of ``Corpus``, those that nothing passes included."""


def sorted_ids(ids: Iterable[int] | Sequence[int]) -> Int64:
    return np.array(sorted(ids), np.int64)


def equal(found: object, expected: object, what: str) -> None:
    assert found == expected, f"{what}: {found!r}, expected {expected!r}"
