"""From a question to ranked passages: two arms, one ranking, every step in the trace."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

import numpy as np
from sqlalchemy import Connection

from pinakes import fusion
from pinakes.catalog import Catalog, documents, selection
from pinakes.catalog.collections import CollectionRecord
from pinakes.errors import InvalidInput, ModelUnavailable
from pinakes.ports import Embedder, Index
from pinakes.refine import Refiner
from pinakes.settings import SearchSettings
from pinakes.types import JSON, Bool, Filter, Float32, Hit, Int64, Ranking, Results, Scores, SearchMode, Stage, Trace

MODES: tuple[SearchMode, ...] = ("hybrid", "vector", "keyword")
FUSIONS = ("weighted", "rrf")
_CANDIDATES_PER_RESULT = 4
_HEAD = 10
_MOST_REFINED = 20
_REFINED_AT_ONCE = 4
"""Few enough to keep to the time, enough to keep two cores at work."""

_REMEMBERED_TOTALS = 256


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked. ``min_score`` applies to the score that is returned."""

    query: str
    mode: SearchMode = "hybrid"
    top_k: int = 10
    where: Filter = ()
    fusion: str = "weighted"
    semantic_weight: float = 0.7
    keyword_weight: float = 0.3
    min_score: float = 0.0


@dataclass(frozen=True, slots=True)
class Candidates:
    """Every chunk either arm found. Arrays share their order; NaN where a chunk has no vector.

    ``exact`` False: the cosine is that of an approximate vector; None: none is.
    """

    ids: Int64
    cosine: Float32 | None
    bm25: Float32 | None
    arms: dict[str, Ranking]
    exact: Bool | None = None


class Watch:
    """Collects the stages of a search."""

    def __init__(self) -> None:
        self._start = time.perf_counter()
        self._stages: list[Stage] = []

    @contextmanager
    def stage(self, name: str) -> Iterator[dict[str, JSON]]:
        """Time a step; what the body puts into the dict becomes the stage's detail."""
        detail: dict[str, JSON] = {}
        start = time.perf_counter()
        yield detail
        self._stages.append(Stage(name, (time.perf_counter() - start) * 1000, detail))

    def trace(self) -> Trace:
        """Return what was collected so far."""
        return Trace(tuple(self._stages), (time.perf_counter() - self._start) * 1000)


class Totals:
    """Remembers how many chunks pass a filter, until the next change of a text. Thread-safe."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int, Filter], int] = {}

    def count(self, connection: Connection, collection: CollectionRecord, where: Filter) -> int:
        """Return how many chunks of ``collection`` pass ``where``."""
        key = (collection.id, collection.written, where)
        known = self._known.get(key)
        if known is None:
            chosen = selection.matching(connection, collection.id, where) if where else None
            known = selection.count_chunks(connection, collection.id, chosen)
            if len(self._known) >= _REMEMBERED_TOTALS:
                self._known.clear()
            self._known[key] = known
        return known


class QueryVectors:
    """Embeds questions, remembering those asked last. Thread-safe."""

    def __init__(self, embedder: Embedder, remembered: int) -> None:
        self._embedder = embedder
        self._known = lru_cache(maxsize=remembered)(self._embed)

    @property
    def fingerprint(self) -> str:
        """That of the embedder."""
        return self._embedder.fingerprint

    def of(self, query: str) -> Float32:
        """Return float32 (dim,), unit length, not to be changed.

        Raises:
            ModelUnavailable: the model cannot be had.
        """
        return self._known(query)

    def _embed(self, query: str) -> Float32:
        vector = self._embedder.embed_query(query)
        vector.flags.writeable = False
        return vector


def search(
    request: Request,
    *,
    catalog: Catalog,
    collection: CollectionRecord,
    index: Index,
    vectors: QueryVectors,
    refiner: Refiner,
    settings: SearchSettings,
    totals: Totals,
    watch: Watch,
) -> Results:
    """Answer ``request`` from one collection.

    Where passages have approximate vectors, those of the head get the model's, as far as the time for that goes.

    Raises:
        InvalidInput: an unknown mode or fusion, or a top_k out of range.
        ModelUnavailable: mode "vector" and there is no model. In mode "hybrid" the answer is by keywords
            alone and says ``degraded``.
    """
    _check(request)
    notes: list[str] = []
    query = _cleaned(request.query, settings.max_query_chars, notes)
    degraded: str | None = None
    vector: Float32 | None = None
    if query and request.mode != "keyword":
        with watch.stage("embed") as detail:
            vector, degraded = _embedded(query, request.mode, vectors)
            detail["model"] = collection.fingerprint if vector is None else vectors.fingerprint
    found = _gather(request, query, vector, index, settings, watch) if query else _nothing()
    with watch.stage("fuse") as detail:
        ranked, scores = _fused(request, found, settings)
        detail |= {"candidates": len(found.ids), "fusion": request.fusion}
    if vector is not None and found.exact is not None:
        with watch.stage("refine") as detail:
            vectors_of = partial(refiner.vectors, collection)
            found, ranked, scores = _refined(request, (found, ranked, scores), vector, vectors_of, settings, detail)
        if "failed" in detail:
            notes.append(f"the best passages are ranked by approximate vectors: {detail['failed']}")
        refiner.meet(collection, _approximate(found, ranked[: max(request.top_k, _MOST_REFINED)]))
    with watch.stage("hydrate"), catalog.read() as connection:
        total = totals.count(connection, collection, request.where)
        notes += selection.doubts(connection, collection.id, request.where, total)
        if vector is not None and total and not len(found.arms["vector"]):
            degraded = "none of these passages has a vector yet"
            degraded += ": keyword search only" if request.mode == "hybrid" else ""
        kept = [i for i in range(len(ranked)) if scores[i] >= request.min_score][: request.top_k]
        hits = _hydrated(connection, collection, found, ranked[kept], scores[kept])
    return Results(
        query=request.query,
        collection=collection.name,
        mode=request.mode,
        fusion=request.fusion,
        hits=tuple(hits),
        total_candidates=total,
        trace=watch.trace(),
        degraded=degraded,
        notes=tuple(notes),
    )


def _check(request: Request) -> None:
    if request.mode not in MODES:
        raise InvalidInput(f"There is no search mode {request.mode!r}.", hint=f"Use one of {', '.join(MODES)}.")
    if request.fusion not in FUSIONS:
        raise InvalidInput(f"There is no fusion {request.fusion!r}.", hint=f"Use one of {', '.join(FUSIONS)}.")
    if request.top_k < 1:
        raise InvalidInput(f"top_k cannot be {request.top_k}.", hint="Use 1 or more.")


def _cleaned(query: str, most: int, notes: list[str]) -> str:
    query = query.replace("\0", " ").encode("utf-8", "replace").decode("utf-8").strip()
    if len(query) > most:
        notes.append(f"the query was cut from {len(query)} to {most} characters")
    if not query:
        notes.append("the query is empty")
    return query[:most]


def _embedded(query: str, mode: SearchMode, vectors: QueryVectors) -> tuple[Float32 | None, str | None]:
    try:
        return vectors.of(query), None
    except ModelUnavailable as error:
        if mode == "vector":
            raise
        return None, f"keyword search only: {error.message}"


def _gather(
    request: Request, query: str, vector: Float32 | None, index: Index, settings: SearchSettings, watch: Watch
) -> Candidates:
    """Ask both arms, then give every candidate both scores."""
    limit = max(settings.candidates, _CANDIDATES_PER_RESULT * request.top_k)
    arms: dict[str, Ranking] = {}
    if request.mode != "vector":
        with watch.stage("keyword") as detail:
            arms["keyword"] = index.keyword(query, limit, request.where)
            detail["found"] = len(arms["keyword"])
    if vector is not None:
        with watch.stage("vector") as detail:
            arms["vector"] = index.vector(vector, limit, request.where)
            detail["found"] = len(arms["vector"])
    ids = np.unique(np.concatenate([arm.ids for arm in arms.values()]))
    cosine = bm25 = None
    exact = None
    with watch.stage("score"):
        if vector is not None:
            both = _asked(ids, arms["vector"], lambda rest: index.vector(vector, len(rest), None, rest))
            cosine, exact = _scores(ids, both, np.nan), _exact(ids, both)
        if "keyword" in arms:
            both = _asked(ids, arms["keyword"], lambda rest: index.keyword(query, len(rest), None, rest))
            bm25 = _scores(ids, both, 0.0)
    return Candidates(ids, cosine, bm25, arms, exact)


def _nothing() -> Candidates:
    return Candidates(np.empty(0, np.int64), None, None, {})


def _asked(ids: Int64, arm: Ranking, ask: Callable[[Int64], Ranking]) -> list[Ranking]:
    """Return what the arm ranked, and what it says of those of ``ids`` that it did not."""
    rest = np.setdiff1d(ids, arm.ids, assume_unique=True)
    return [arm, ask(rest)] if len(rest) else [arm]


def _scores(ids: Int64, rankings: Sequence[Ranking], absent: float) -> Float32:
    """Return the score of each of ``ids``; ``absent`` where there is none."""
    scores = np.full(len(ids), absent, np.float32)
    for ranking in rankings:
        scores[np.searchsorted(ids, ranking.ids)] = ranking.scores
    return scores


def _exact(ids: Int64, rankings: Sequence[Ranking]) -> Bool | None:
    """Return which of ``ids`` are not scored by an approximate vector; None: all."""
    if all(ranking.exact is None for ranking in rankings):
        return None
    exact = np.ones(len(ids), np.bool_)
    for ranking in rankings:
        if ranking.exact is not None:
            exact[np.searchsorted(ids, ranking.ids)] = ranking.exact
    return exact


def _refined(
    request: Request,
    fused: tuple[Candidates, Int64, Float32],
    query: Float32,
    vectors_of: Callable[[Sequence[int]], Mapping[int, Float32]],
    settings: SearchSettings,
    detail: dict[str, JSON],
) -> tuple[Candidates, Int64, Float32]:
    """Score the best candidates with the model's own vectors, a few at a time, until the head has none but these.

    ``fused``: the candidates, their rows best first, and the scores by which they are. Ends before when the time is
    over: the next few would take too long.
    """
    found, ranked, scores = fused
    assert found.exact is not None
    start, step_s, tried, refined = time.perf_counter(), 0.0, 0, 0
    untried = ~found.exact
    while settings.refine_ms and tried < _MOST_REFINED:
        head = ranked[:_HEAD]
        rows = head[untried[head]][:_REFINED_AT_ONCE]
        passed = time.perf_counter() - start
        if not len(rows) or (tried and passed + step_s > settings.refine_ms / 1000):
            break
        try:
            vectors = vectors_of(found.ids[rows].tolist())
        except ModelUnavailable as error:
            detail["failed"] = error.message
            break
        found = _rescored(found, vectors, query)
        ranked, scores = _fused(request, found, settings)
        untried[rows] = False
        tried += len(rows)
        refined += len(vectors)
        step_s = time.perf_counter() - start - passed
    detail |= {"refined": refined, "approximate": len(_approximate(found, ranked))}
    return found, ranked, scores


def _approximate(found: Candidates, rows: Int64) -> list[int]:
    """Return the chunks in these rows of the candidates that are scored by approximate vectors."""
    assert found.exact is not None
    ids: list[int] = found.ids[rows[~found.exact[rows]]].tolist()
    return ids


def _rescored(found: Candidates, vectors: Mapping[int, Float32], query: Float32) -> Candidates:
    """Return ``found`` with the cosines that these ``vectors`` of some chunks give."""
    assert found.cosine is not None
    assert found.exact is not None
    cosine, exact, arm = found.cosine.copy(), found.exact.copy(), found.arms["vector"]
    rows = np.searchsorted(found.ids, np.fromiter(vectors, np.int64, len(vectors)))
    cosine[rows] = [float(vector @ query) for vector in vectors.values()]
    exact[rows] = True
    scores = cosine[np.searchsorted(found.ids, arm.ids)]
    order = np.lexsort((arm.ids, -scores))
    arms = {**found.arms, "vector": Ranking(arm.ids[order], scores[order])}
    return replace(found, cosine=cosine, exact=exact, arms=arms)


def _fused(request: Request, found: Candidates, settings: SearchSettings) -> tuple[Int64, Float32]:
    """Return rows of the candidates, best first, with the score that is returned."""
    if not len(found.ids):
        return np.empty(0, np.int64), np.empty(0, np.float32)
    cosine = np.zeros(len(found.ids), np.float32) if found.cosine is None else np.nan_to_num(found.cosine, nan=0.0)
    if found.bm25 is None:
        scores = np.clip(cosine, 0, 1)
    elif found.cosine is None:
        scores = fusion.relative(found.bm25)
    elif request.fusion == "rrf":
        scores = fusion.rrf(found.ids, list(found.arms.values()), settings.rrf_k)
    else:
        scores = fusion.weighted(cosine, found.bm25, request.semantic_weight, request.keyword_weight)
    order = np.lexsort((found.ids, -scores))
    return order, scores[order]


def _hydrated(
    connection: Any, collection: CollectionRecord, found: Candidates, rows: Int64, scores: Float32
) -> list[Hit]:
    chunk_ids = found.ids[rows].tolist()
    passages = selection.passages(connection, chunk_ids) if chunk_ids else {}
    groups = {row.group_key for row in passages.values() if row.group_key}
    offsets = documents.preceding_chunks(connection, collection.id, groups) if groups else {}
    arm_ids = {name: set(arm.ids.tolist()) for name, arm in found.arms.items()}
    return [
        _hit(passages[chunk_id], collection.name, offsets, _raw(found, row, score), arm_ids, _guessed(found, row))
        for chunk_id, row, score in zip(chunk_ids, rows, scores, strict=True)
        if chunk_id in passages
    ]


def _raw(found: Candidates, row: int, fused: float) -> Scores:
    cosine = None if found.cosine is None or np.isnan(found.cosine[row]) else float(found.cosine[row])
    return Scores(cosine=cosine, bm25=None if found.bm25 is None else float(found.bm25[row]), fused=float(fused))


def _guessed(found: Candidates, row: int) -> bool:
    """Say whether the cosine of a candidate is that of an approximate vector."""
    return found.exact is not None and not found.exact[row]


def _hit(
    row: Any,
    collection: str,
    offsets: dict[int, int],
    scores: Scores,
    arms: dict[str, set[int]],
    approximate: bool,
) -> Hit:
    chunk_index = offsets.get(row.document_id, 0) + row.ordinal
    return Hit(
        chunk_id=f"{row.group_key}_{chunk_index}" if row.group_key else f"{row.uid}_{chunk_index}",
        document_id=row.uid,
        collection=collection,
        uri=row.uri,
        path=row.path,
        title=row.title,
        text=row.text,
        chunk_index=chunk_index,
        start_line=row.start_line,
        end_line=row.end_line,
        heading_path=tuple(row.heading_path),
        symbols=tuple(row.symbols),
        score=scores.fused or 0.0,
        scores=scores,
        matched_by=tuple(name for name in ("vector", "keyword") if row.id in arms.get(name, ())),
        metadata={**row.inherited, **row.metadata},
        approximate=approximate,
    )
