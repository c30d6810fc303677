"""Quality before all is embedded: nDCG@10 by how much the model embedded and how far the head of an answer is refined.

Each row starts from a copy of the fully embedded catalogue that has only the vectors of a sample, opened as
``embedding.mode = "progressive"`` does. Each question is answered as the first of its kind: the vectors that its own
head is refined with come from the full catalogue, where the model's are, and nothing of them is kept for the next.
"""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Self

import numpy as np
from sqlalchemy import delete, select

from pinakes.catalog import Catalog, collections, embeddings, schema
from pinakes.catalog.collections import CollectionRecord
from pinakes.core.ports import Vocabulary
from pinakes.core.records import Float32, SearchMode
from pinakes.evaluation.questions import Question
from pinakes.evaluation.run import evaluate
from pinakes.ingestion.head_refinement import HeadRefiner
from pinakes.library import Library
from pinakes.models import approximation
from pinakes.models.embedders import EMBEDDERS
from pinakes.models.embedders.bert import BertEmbedder
from pinakes.services import ingestion_runs
from pinakes.settings import EmbeddingSettings

SAMPLES = (1000, 2000)
"""Chunks that the maps are fitted to; the first is the product's."""

SHARE = 0.25
"""Also measured: so much embedded since, document by document, with the map of the first sample."""

HEADS = (0, 10, 20)
"""Most chunks refined per question; the last is the product's, where its time suffices."""

WORST, MEAN = 0.97, 0.985
"""To be reached: least share of the fully embedded nDCG@10 in a set, and the mean over the sets."""

MODES: tuple[SearchMode, ...] = ("hybrid", "vector")
_COMPARED = 5000
_PRODUCTS = f"sample of {SAMPLES[0]}"
_UNLIMITED_MS = 1e9
_REMOTE = {"embedding__provider": "stand-in", "embedding__mode": "lazy"}

Ask = Callable[[Library, SearchMode, Question], list[str]]


@dataclass(frozen=True, slots=True)
class Row:
    """One measurement.

    ``grown``: more than the sample is embedded. ``remote``: in the mode "lazy", as by a model that runs elsewhere and
    has no vectors of single tokens. ``cosine``: mean, of approximate with real vectors; ``told``: what the
    map says of that. By mode: ``refined``, mean chunks per question; ``ndcg``, nDCG@10; ``of_full``, its share of the
    fully embedded figure.
    """

    sample: int
    grown: bool
    remote: bool
    embedded: int
    head: int
    cosine: float
    told: float
    refined: Mapping[str, float]
    ndcg: Mapping[str, float]
    of_full: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Progress:
    """The rows of one set. ``usual``: the set is large enough for the product to work so by itself."""

    name: str
    chunks: int
    usual: bool
    full: Mapping[str, float]
    rows: Sequence[Row]


class StandIn:
    """The default model in the place of one that runs elsewhere: nothing is known of its tokens."""

    def __init__(self, embedder: BertEmbedder) -> None:
        self.fingerprint = embedder.fingerprint
        self.dimension, self.max_tokens = embedder.dimension, embedder.max_tokens
        self.embed = embedder.embed
        self.embed_query = embedder.embed_query
        self.token_starts = embedder.token_starts

    @classmethod
    def open(cls, settings: EmbeddingSettings, cache: Path) -> Self:
        """Return the stand-in for the model of ``settings``."""
        return cls(BertEmbedder.open(settings, cache))


EMBEDDERS["stand-in"] = "benchmarks.quality.progressive:StandIn"


class FirstAnswer(HeadRefiner):
    """Refines every answer as if it were the first: with the vectors of ``full``, up to ``most``, keeping none."""

    def __init__(self, full: Library, library: Library) -> None:
        super().__init__(library.app.catalog, library.app.embedder, library.app.index)
        self._full = full.app.catalog
        self.most = 0
        self.refined: list[int] = []

    def begin(self, most: int) -> None:
        """Another question is asked."""
        self.most = most
        self.refined.append(0)

    def vectors(self, collection: CollectionRecord, chunk_ids: Sequence[int]) -> dict[int, Float32]:
        """Return those of the first chunks, until this question has had its ``most``."""
        taken = chunk_ids[: self.most - self.refined[-1]]
        self.refined[-1] += len(taken)
        with self._full.read() as connection:
            return embeddings.of_chunks(connection, collection.model_id, taken)

    def meet(self, collection: CollectionRecord, chunk_ids: Sequence[int]) -> None:
        """Forget them."""


def measure(
    name: str,
    full: Library,
    figures: Mapping[str, float],
    ask: Ask,
    questions: Sequence[Question],
    reopen: Callable[..., Library],
    *,
    remote: bool = False,
) -> Progress | None:
    """Return the rows of one set, with ``remote`` also those of the mode "lazy"; None where nothing is approximated.

    ``full`` has everything embedded, and ``figures`` are its nDCG@10 by mode. ``reopen(home, **settings)`` opens a
    library of the same settings.
    """
    record = full.collection()
    with full.app.catalog.read() as connection:
        counts = collections.count(connection, record)
    if counts.pending or not counts.chunks or not isinstance(full.app.embedder, Vocabulary):
        return None
    rows: list[Row] = []
    usual = counts.chunks >= full.settings.embedding.progressive_chunks
    for count in SAMPLES:
        sample = _fitting(count, counts.chunks)
        with sampled(full, sample, reopen) as library:
            measured = partial(_rows, full, library, figures, ask, questions, sample)
            rows += measured()
            if count == SAMPLES[0] and grow(full, library, SHARE):
                rows += measured(grown=True)
    if remote:
        sample = _fitting(SAMPLES[0], counts.chunks)
        with sampled(full, sample, partial(reopen, **_REMOTE)) as library:
            rows += _rows(full, library, figures, ask, questions, sample, remote=True)
    return Progress(name, counts.chunks, usual, {mode: figures[mode] for mode in MODES}, rows)


@contextmanager
def sampled(full: Library, sample: int, reopen: Callable[..., Library]) -> Iterator[Library]:
    """Open a copy of ``full`` in which a sample is embedded, and all else has approximate vectors by it."""
    record = full.collection()
    with tempfile.TemporaryDirectory(prefix="progressive-", dir=full.settings.home.parent) as folder:
        home = Path(folder)
        _copy(full.settings.home / "catalog.db", home / "catalog.db")
        with closing(Catalog.at(home)) as catalog:
            _forget_all_but(catalog, record, sample)
        settings = {"embedding__sample_chunks": sample, "embedding__progressive_chunks": 1}
        with reopen(home, search__refine_ms=_UNLIMITED_MS, **settings) as library:
            for _ in ingestion_runs.embed_waiting(library.app, record.name, rest=False):
                pass
            yield library


def grow(full: Library, library: Library, share: float) -> bool:
    """Embed up to ``share`` of the chunks in their order, as the background does; False where so many are."""
    record = library.collection()
    with library.app.catalog.read() as connection:
        every, embedded = embeddings.chunk_ids(connection, record.id, record.model_id)
        missing = int(share * len(every)) - len(embedded)
        if missing <= 0:
            return False
        rows = embeddings.pending(connection, record.id, record.model_id, missing)
    with full.app.catalog.read() as connection:
        vectors = embeddings.of_keys(connection, record.model_id, [key for _, key, _ in rows])
    assert record.model_id is not None
    with library.app.catalog.write() as connection:
        embeddings.store(connection, record.model_id, vectors)
    return True


def show(one: Progress) -> None:
    """Print the table of a set."""
    print(f"\n{one.name}: {one.chunks} chunks{'' if one.usual else ' *'}")
    print(f"{'embedded':>16}{'head':>6}{'cosine':>8}" + "".join(f"{mode:>9}{'of full':>9}" for mode in MODES))
    print(f"{'all':>16}{'':>14}" + "".join(f"{one.full[mode]:>9.4f}{'':>9}" for mode in MODES))
    for row in one.rows:
        values = "".join(f"{row.ndcg[mode]:>9.4f}{row.of_full[mode]:>9.1%}" for mode in MODES)
        share = row.embedded / one.chunks
        note = "  remote" if row.remote else ""
        print(f"{row.embedded:>8}{share:>8.1%}{row.head or 'none':>6}{row.cosine:>8.3f}{values}{note}", flush=True)


def conclude(found: Sequence[Progress]) -> None:
    """Print what the sets come to, and whether that is what is to be reached."""
    if any(not one.usual for one in found):
        print("\n* embedded at once by the product; here with a sample of a quarter and of half of its chunks")
    shares = _by_rule([one for one in found if one.usual])
    print(f"\n{'hybrid, sets without *':<24}{'head':>6}{'mean':>8}{'worst':>8}" if shares else "")
    for (label, head), of_full in shares.items():
        verdict = ""
        if (label, head) == (_PRODUCTS, HEADS[-1]):
            reached = fmean(of_full) >= MEAN and min(of_full) >= WORST
            verdict = f"  to be reached: {MEAN:.1%} and {WORST:.1%}: {'yes' if reached else 'NO'}"
        print(f"{label:<24}{head or 'none':>6}{fmean(of_full):>8.1%}{min(of_full):>8.1%}{verdict}")


def _fitting(count: int, chunks: int) -> int:
    """Return ``count``; of a small set in proportion, so that most of it is approximate all the same."""
    return min(count, max(1, chunks * count // (4 * SAMPLES[0])))


def _copy(database: Path, place: Path) -> None:
    with closing(sqlite3.connect(database)) as old, closing(sqlite3.connect(place)) as new:
        old.backup(new)


def _forget_all_but(catalog: Catalog, record: CollectionRecord, sample: int) -> None:
    """Leave only the embeddings of the chunks that a progressive run would begin with."""
    with catalog.write() as connection:
        every, _ = embeddings.chunk_ids(connection, record.id, record.model_id)
        chosen = every[approximation.sample(len(every), sample)].tolist()
        kept = connection.scalars(select(schema.chunks.c.embedding_key).where(schema.chunks.c.id.in_(chosen))).all()
        connection.execute(delete(schema.embeddings).where(schema.embeddings.c.key.not_in(kept)))


def _rows(
    full: Library,
    library: Library,
    figures: Mapping[str, float],
    ask: Ask,
    questions: Sequence[Question],
    sample: int,
    *,
    grown: bool = False,
    remote: bool = False,
) -> list[Row]:
    """Measure one state of a library, with each length of the head."""
    refiner = library.app.refiner = FirstAnswer(full, library)
    record = library.collection()
    with library.app.catalog.read() as connection:
        counts = collections.count(connection, record)
    [kept] = library.settings.home.glob("index/map-*.npz")
    told = approximation.ApproximateMap.load(kept, record.fingerprint).agreement
    cosine = _cosine(full, library)
    rows = []
    for head in HEADS:
        ndcg: dict[str, float] = {}
        refined: dict[str, float] = {}
        for mode in MODES:
            refiner.refined.clear()
            found = evaluate(partial(_first_answer, refiner, head, library, ask, mode), questions)
            ndcg[mode] = found.metrics["ndcg@10"]
            refined[mode] = fmean(refiner.refined)
        of_full: dict[str, float] = {mode: ndcg[mode] / figures[mode] for mode in MODES}
        embedded = counts.chunks - counts.pending
        rows.append(Row(sample, grown, remote, embedded, head, cosine, told, refined, ndcg, of_full))
    return rows


def _first_answer(
    refiner: FirstAnswer, head: int, library: Library, ask: Ask, mode: SearchMode, question: Question
) -> list[str]:
    refiner.begin(head)
    return ask(library, mode, question)


def _cosine(full: Library, library: Library) -> float:
    """Return the mean cosine of approximate and real vectors, over up to 5,000 of the former from all over."""
    _, index = library.app.index(library.chosen())
    _, right = full.app.index(full.chosen())
    held = index.contents()
    waiting = np.setdiff1d(held["vector"], held["exact"])
    some = waiting[approximation.sample(len(waiting), _COMPARED)]
    return float(np.mean(np.sum(index.vectors(some).own * right.vectors(some).own, axis=1)))


def _by_rule(found: Sequence[Progress]) -> dict[tuple[str, int], list[float]]:
    """Return each set's share of its fully embedded figure by (how much was embedded, head)."""
    shares: dict[tuple[str, int], list[float]] = {}
    for one in found:
        for row in one.rows:
            shares.setdefault((_label(row), row.head), []).append(row.of_full["hybrid"])
    return shares


def _label(row: Row) -> str:
    if row.grown:
        return f"{SHARE:.0%} embedded"
    return f"remote, {_PRODUCTS}" if row.remote else f"sample of {row.sample}"
