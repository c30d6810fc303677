"""The best chunks ranked again by a reranker: how many, within what time, and what is said of it.

How many depends on the question and on how alike the first chunks are, never on how many results are asked for. So
every page of an answer is cut from the same order.
"""

from __future__ import annotations

import hashlib
import logging
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from pinakes.core.errors import PinakesError
from pinakes.core.ports import Reranker
from pinakes.core.records import JSON, Float32, Int64
from pinakes.settings import RerankSettings
from pinakes.text import identifiers

_log = logging.getLogger(__name__)

QueryType: TypeAlias = Literal["question", "identifier", "keywords"]

_ASKING = re.compile(
    r"(who|what|when|where|which|why|how|is|are|can|could|do|does|did|should|will|would)\b", re.IGNORECASE
)
_PROPER = re.compile(r"(?<=\s)[A-Z]\w+")
_FIRST = 10
"""How many of the best chunks are compared with each other."""

_SHORT_WORDS, _SHORT_POOL = 5, 10
_LONG_WORDS, _LONG_POOL = 10, 30
_LOW_COSINE, _LOW_POOL = 0.7, 15
_HIGH_COSINE, _HIGH_POOL = 0.9, 25
"""What makes a question short or long and chunks differ or be alike, and how many are ranked again then."""

_QUOTED = re.compile(r'"[^"]+"')


@dataclass(frozen=True, slots=True)
class Candidate:
    """A chunk of the fused ranking. ``text`` is what the reranker reads; equal ``document``s are one document.

    ``vector`` float32 (dim,) has unit length; None, or NaN in it: there is none.
    """

    text: str
    document: Hashable
    vector: Float32 | None = None


@dataclass(frozen=True, slots=True)
class Complexity:
    """What a question is like: its words, and how many of them are names (identifiers, phrases, proper names)."""

    token_count: int
    entity_count: int
    query_type: QueryType


@dataclass(frozen=True, slots=True)
class ScoreSpread:
    """How alike the first chunks are.

    Mean and variance of the cosines of each two of them, None where fewer than two have vectors.
    ``distinct_documents``: different documents / chunks, 1.0 when each is of another.
    """

    mean_pairwise_cosine: float | None
    variance_pairwise_cosine: float | None
    distinct_documents: float


@dataclass(frozen=True, slots=True)
class Pool:
    """How many chunks are ranked again, and why. ``threshold`` is the mean pairwise cosine that counts as low."""

    size: int
    reason: str
    complexity: Complexity
    diversity: ScoreSpread
    threshold: float


@dataclass(frozen=True, slots=True)
class RerankReport:
    """What became of it. ``model`` is the reranker's fingerprint, "" where that could not be told.

    ``note`` says in words what was not done, None when all was. Times are in milliseconds; ``load_ms``, spent once on
    loading the model, does not count as part of the budget.
    """

    model: str
    pool: Pool
    scored: int
    milliseconds: float
    load_ms: float
    budget_ms: float
    note: str | None = None
    remembered: bool = False

    def detail(self) -> dict[str, JSON]:
        """Return it as plain values, for a trace."""
        pool, complexity, diversity = self.pool, self.pool.complexity, self.pool.diversity
        return {
            "model": self.model,
            "pool": pool.size,
            "reason": pool.reason,
            "threshold": pool.threshold,
            "complexity": {
                "token_count": complexity.token_count,
                "entity_count": complexity.entity_count,
                "query_type": complexity.query_type,
            },
            "diversity": {
                "mean_pairwise_cosine": diversity.mean_pairwise_cosine,
                "variance_pairwise_cosine": diversity.variance_pairwise_cosine,
                "distinct_documents": diversity.distinct_documents,
            },
            "scored": self.scored,
            "scoring_ms": self.milliseconds,
            "load_ms": self.load_ms,
            "budget_ms": self.budget_ms,
            "remembered": self.remembered,
            "note": self.note,
        }


@dataclass(frozen=True, slots=True)
class Reranked:
    """The new order. ``order`` int64 (n,): positions of the candidates, best first, each once.

    ``scores`` float32 (n,): what the reranker gave each candidate, in the order of the candidates; NaN where it did not
    look at it. Those it looked at come first.
    """

    order: Int64
    scores: Float32
    report: RerankReport


class Memory:
    """The scores of the questions asked last, so that the next page of an answer is of the same order. Thread-safe.

    A question whose time ran out has the same scores again, too.
    """

    def __init__(self, most: int = 256) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._kept: OrderedDict[Hashable, tuple[Float32, RerankReport]] = OrderedDict()

    def get(self, key: Hashable) -> tuple[Float32, RerankReport] | None:
        """Return what was put under ``key``, None when that is not there (any more)."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def put(self, key: Hashable, scores: Float32, report: RerankReport) -> None:
        """Keep ``scores`` float32 (pool,) and ``report``."""
        with self._lock:
            self._kept[key] = scores, report
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)


def rerank(
    query: str,
    candidates: Sequence[Candidate],
    reranker: Reranker,
    settings: RerankSettings,
    *,
    clock: Callable[[], float] = time.perf_counter,
    complexity: Complexity | None = None,
    memory: Memory | None = None,
) -> Reranked:
    """Rank the best of ``candidates``, which come best first, again; the others stay behind them as they are.

    They are scored a few at a time, best first, until the pool is done or the next few would take longer than
    ``settings.budget_ms`` allows; the first few are scored in any case. Only the first ``reach(settings)`` decide on
    anything, so more candidates give the same order with a longer tail. Whatever the reranker does wrong, there is an
    order, and ``report.note`` says what is missing. ``clock`` counts seconds. ``complexity`` is that of ``query`` when
    not given.
    """
    pool = choose_pool(complexity or complexity_of(query), candidates, settings)
    head = [candidate.text for candidate in candidates[: pool.size]]
    scores, report = np.empty(0, np.float32), RerankReport("", pool, 0, 0.0, 0.0, settings.budget_ms)
    if not head:
        return _ordered(len(candidates), scores, report)
    try:
        start = clock()
        reranker.load()
        report = replace(report, model=reranker.fingerprint, load_ms=(clock() - start) * 1000)
        key = (report.model, query, _digest(head))
        if memory and (known := memory.get(key)):
            scores, report = known[0], replace(known[1], pool=pool, remembered=True)
        else:
            scores, report = _scored(query, head, reranker, report, clock)
            if memory and report.scored:
                memory.put(key, scores, report)
    except PinakesError as error:
        report = replace(report, note=f"not reranked: {error}")
    except Exception as error:  # noqa: BLE001 - whatever a reranker does wrong, the fused ranking is an answer
        _log.warning("the reranker failed", exc_info=error)
        report = replace(report, note=f"not reranked: {type(error).__name__}: {error}")
    return _ordered(len(candidates), scores, report)


def reach(settings: RerankSettings) -> int:
    """Return how many candidates, from the best on, are looked at at most; further ones need no text."""
    if not settings.adaptive:
        return settings.pool
    return max(settings.pool, _LONG_POOL)


def choose_pool(complexity: Complexity, candidates: Sequence[Candidate], settings: RerankSettings) -> Pool:
    """Say how many of ``candidates``, best first, are to be ranked again.

    The first rule that fits decides: a short question, a long one, first chunks that differ, that are much alike.
    """
    diversity = diversity_of(candidates[:_FIRST])
    words, mean = complexity.token_count, diversity.mean_pairwise_cosine
    size, reason = settings.pool, "a question and chunks of the usual kind"
    if not settings.adaptive:
        reason = "always so many"
    elif words < _SHORT_WORDS:
        size, reason = _SHORT_POOL, f"a short question: fewer than {_SHORT_WORDS} words"
    elif words > _LONG_WORDS:
        size, reason = _LONG_POOL, f"a long question: more than {_LONG_WORDS} words"
    elif mean is not None and mean < _LOW_COSINE:
        size, reason = _LOW_POOL, f"chunks that differ: mean pairwise cosine {mean:.2f} < {_LOW_COSINE}"
    elif mean is not None and mean > _HIGH_COSINE:
        size, reason = _HIGH_POOL, f"chunks much alike: mean pairwise cosine {mean:.2f} > {_HIGH_COSINE}"
    return Pool(min(size, len(candidates)), reason, complexity, diversity, _LOW_COSINE)


def complexity_of(query: str) -> Complexity:
    """Tell from its form what a question is like; words are what stands between spaces."""
    found = identifiers.find(query)
    names = {match.start() for match in (*_PROPER.finditer(query), *_QUOTED.finditer(query))}
    names = {one.start for one in found} | {at for at in names if not any(one.start <= at < one.end for one in found)}
    kind: QueryType = "question" if query.rstrip().endswith("?") or _ASKING.match(query.lstrip()) else "keywords"
    if len(found) == 1 and found[0].name == query.strip():
        kind = "identifier"
    return Complexity(len(query.split()), len(names), kind)


def diversity_of(candidates: Sequence[Candidate]) -> ScoreSpread:
    """Return how alike ``candidates`` are; candidates without a vector count for documents only."""
    vectors = [one.vector for one in candidates if one.vector is not None and np.isfinite(one.vector).all()]
    documents = len({one.document for one in candidates})
    cosines = np.empty(0, np.float32)
    if len(vectors) > 1:
        matrix = np.stack(vectors)
        cosines = (matrix @ matrix.T)[np.triu_indices(len(vectors), 1)]
    return ScoreSpread(
        mean_pairwise_cosine=round(float(cosines.mean()), 6) if len(cosines) else None,
        variance_pairwise_cosine=round(float(cosines.var()), 6) if len(cosines) else None,
        distinct_documents=documents / len(candidates) if candidates else 0.0,
    )


def _scored(
    query: str, chunks: Sequence[str], reranker: Reranker, report: RerankReport, clock: Callable[[], float]
) -> tuple[Float32, RerankReport]:
    """Score chunks from the first on while there is time: float32 (as many as were scored,)."""
    start, budget_s, step_s = clock(), report.budget_ms / 1000, 0.0
    parts: list[Float32] = []
    done, passed = 0, 0.0
    over = False
    while done < len(chunks) and not (over := bool(done) and passed + step_s > budget_s):
        part = chunks[done : done + (reranker.at_once or len(chunks))]
        try:
            found = reranker.score(query, part, within_s=budget_s - passed)
        except TimeoutError:
            over, passed = True, clock() - start
            break
        if found.shape != (len(part),) or not np.isfinite(found).all():
            raise ValueError(f"{len(part)} chunks got {found.shape} scores, or some that are not numbers")
        parts.append(found)
        done += len(part)
        step_s, passed = clock() - start - passed, clock() - start
    scores = np.concatenate(parts) if parts else np.empty(0, np.float32)
    report = replace(report, scored=done, milliseconds=passed * 1000)
    if over:
        what = f"reranked only the best {done} of {len(chunks)}" if done else "not reranked"
        report = replace(report, note=f"{what}: the time of {report.budget_ms:g} ms was over (rerank.budget_ms)")
    return scores, report


def _ordered(count: int, scores: Float32, report: RerankReport) -> Reranked:
    """Put the first candidates, which have ``scores``, into their order; equal scores keep the order they had."""
    every = np.full(count, np.nan, np.float32)
    every[: len(scores)] = scores
    best = np.argsort(-scores, kind="stable")
    return Reranked(np.concatenate([best, np.arange(len(scores), count)]).astype(np.int64), every, report)


def _digest(texts: Sequence[str]) -> str:
    found = hashlib.sha256()
    for text in texts:
        found.update(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest())
    return found.hexdigest()
