"""Reranks the best candidates: chooses how many, keeps to a time budget, and reports what was done.

The number depends on the query and on the similarity of the first chunks, never on ``top_k``, so all pages of an answer
come from the same order.
"""

from __future__ import annotations

import hashlib
import logging
import re
import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from pinakes.core.errors import PinakesError
from pinakes.core.lru_cache import LruCache
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
"""The number of best chunks whose pairwise cosines are computed."""

_SHORT_WORDS, _SHORT_POOL = 5, 10
_LONG_WORDS, _LONG_POOL = 10, 30
_LOW_COSINE, _LOW_POOL = 0.7, 15
_HIGH_COSINE, _HIGH_POOL = 0.9, 25
"""Limits for short and long queries and for low and high mean cosine, with the pool size of each case."""

_QUOTED = re.compile(r'"[^"]+"')


@dataclass(frozen=True, slots=True)
class Candidate:
    """A candidate of the fused ranking. ``text`` is the reranker's input; ``document`` identifies the document.

    ``vector``: float32 (dim,), unit length; None, or NaN in it, if missing.
    """

    text: str
    document: Hashable
    vector: Float32 | None = None


@dataclass(frozen=True, slots=True)
class Complexity:
    """Features of a query: its words, and the number of names (identifiers, phrases, proper names) in it."""

    token_count: int
    entity_count: int
    query_type: QueryType


@dataclass(frozen=True, slots=True)
class ScoreSpread:
    """The similarity of the first chunks.

    Mean and variance of the pairwise cosines; None if fewer than two chunks have vectors. ``distinct_documents``:
    number of documents divided by number of chunks.
    """

    mean_pairwise_cosine: float | None
    variance_pairwise_cosine: float | None
    distinct_documents: float


@dataclass(frozen=True, slots=True)
class Pool:
    """The number of chunks to rerank, and the reason. ``threshold``: a mean pairwise cosine below it counts as low."""

    size: int
    reason: str
    complexity: Complexity
    diversity: ScoreSpread
    threshold: float


@dataclass(frozen=True, slots=True)
class RerankReport:
    """The outcome of reranking. ``model``: the reranker's fingerprint, "" if unknown.

    ``note``: what was not done, None if everything was. Times are in milliseconds; ``load_ms``, spent once to load the
    model, is not part of the budget.
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
        """Return the report as JSON values, for a trace."""
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
    """The new order: ``order`` int64 (n,), positions of the candidates, best first, each once.

    ``scores``: float32 (n,), the reranker's scores in the order of the candidates, NaN for those not scored. Scored
    candidates come first.
    """

    order: Int64
    scores: Float32
    report: RerankReport


ScoreCache: TypeAlias = LruCache[Hashable, tuple[Float32, RerankReport]]
"""The reranker's scores of the latest queries, so that pages of an answer share one order, also where time ran out."""


def rerank(
    query: str,
    candidates: Sequence[Candidate],
    reranker: Reranker,
    settings: RerankSettings,
    *,
    clock: Callable[[], float] = time.perf_counter,
    complexity: Complexity | None = None,
    memory: ScoreCache | None = None,
) -> Reranked:
    """Rerank the best of ``candidates``, given best first; the others follow in their order.

    They are scored in batches, best first, until the pool is done or the next batch would exceed
    ``settings.budget_ms``; the first batch is always scored. Only the first ``reach(settings)`` candidates affect the
    order, so further ones are only appended. If the reranker fails, the fused order is returned and ``report.note``
    gives the reason. ``clock`` returns seconds. ``complexity`` is computed from ``query`` if not given.
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
        if memory is not None and (known := memory.get(key)):
            scores, report = known[0], replace(known[1], pool=pool, remembered=True)
        else:
            scores, report = _scored(query, head, reranker, report, clock)
            if memory is not None and report.scored:
                memory.put(key, (scores, report))
    except PinakesError as error:
        report = replace(report, note=f"not reranked: {error}")
    except Exception as error:  # noqa: BLE001 - a reranker may raise anything; the fused ranking remains
        _log.warning("the reranker failed", exc_info=error)
        report = replace(report, note=f"not reranked: {type(error).__name__}: {error}")
    return _ordered(len(candidates), scores, report)


def reach(settings: RerankSettings) -> int:
    """Return the largest number of candidates that can be reranked; further ones need no text."""
    if not settings.adaptive:
        return settings.pool
    return max(settings.pool, _LONG_POOL)


def choose_pool(complexity: Complexity, candidates: Sequence[Candidate], settings: RerankSettings) -> Pool:
    """Choose how many of ``candidates``, given best first, to rerank.

    The first rule that applies decides: short query, long query, dissimilar first chunks, similar first chunks.
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
    """Return the features of a query; words are separated by white space."""
    found = identifiers.find(query)
    names = {match.start() for match in (*_PROPER.finditer(query), *_QUOTED.finditer(query))}
    names = {one.start for one in found} | {at for at in names if not any(one.start <= at < one.end for one in found)}
    kind: QueryType = "question" if query.rstrip().endswith("?") or _ASKING.match(query.lstrip()) else "keywords"
    if len(found) == 1 and found[0].name == query.strip():
        kind = "identifier"
    return Complexity(len(query.split()), len(names), kind)


def diversity_of(candidates: Sequence[Candidate]) -> ScoreSpread:
    """Return the similarity of ``candidates``; those without a vector count only for ``distinct_documents``."""
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
    """Score chunks in order while time remains; the scores are float32 (number scored,)."""
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
    """Sort the first candidates by ``scores``; ties keep their order, candidates without scores follow."""
    every = np.full(count, np.nan, np.float32)
    every[: len(scores)] = scores
    best = np.argsort(-scores, kind="stable")
    return Reranked(np.concatenate([best, np.arange(len(scores), count)]).astype(np.int64), every, report)


def _digest(texts: Sequence[str]) -> str:
    found = hashlib.sha256()
    for text in texts:
        found.update(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest())
    return found.hexdigest()
