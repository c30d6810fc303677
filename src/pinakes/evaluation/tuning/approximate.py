"""Search effort of an approximate vector index: recall and quality against time."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from pinakes.core.errors import InvalidInput
from pinakes.core.ports import Index, VectorQuery
from pinakes.core.records import JSON
from pinakes.evaluation.resampling import Latency, latency, paired_p
from pinakes.evaluation.tuning.ascent import Budget, Scores, Stopped, Tries
from pinakes.evaluation.tuning.findings import LEVEL, SLOWER, Try, tries
from pinakes.evaluation.tuning.knobs import Point, Values, moved
from pinakes.evaluation.tuning.trials import Trials

SHARES = (0.005, 0.01, 0.02, 0.04, 0.06, 0.1, 0.2, 0.4)
LEAST_RECALL = 0.98
"""Minimum recall, relative to an exact scan, of a proposed approximate index."""

_MOST_LOST = 0.005
_ASKED_AGAIN = 3
_MAX, _SHARE = "index.exact_max_vectors", "index.approximate_share"


@dataclass(frozen=True, slots=True)
class SweepPoint:
    """One search effort. ``recall``: share of the candidates of an exact scan that it finds."""

    tried: Try
    recall: float
    latency: Latency


@dataclass(frozen=True, slots=True)
class Sweep:
    """``ways``: the search efforts that were tried, the current one first.

    ``best``: the settings of the fastest good one; none = no other.

    ``better``: it is faster than the current one, and that is not by chance; else ``why`` says why not.
    """

    metric: str
    questions: int
    vectors: int
    ways: tuple[SweepPoint, ...]
    best: Mapping[str, JSON]
    p: float
    better: bool
    why: str
    stopped: Stopped


_Asked: TypeAlias = Sequence[VectorQuery]
"""The query vector of each question, its number of candidates, its filter."""


def sweep(trials: Trials, metric: str, budget: Budget, on_try: Callable[[int], object] | None = None) -> Sweep:
    """Search the candidates of the questions in an exact scan, and in an approximate index with increasing effort.

    Raises:
        InvalidInput: the engine has no such choice, or the vectors are too few for it to matter.
    """
    parts = trials.subject.parts
    count = int(parts.index.describe().get("vectors", 0))
    settings = parts.settings.index
    current: Values = {_MAX: settings.exact_max_vectors, _SHARE: settings.approximate_share}
    exact = moved((), {_MAX: max(count, settings.exact_max_vectors)}, current)
    limit = settings.exact_max_vectors if count > settings.exact_max_vectors else count // 2
    others = [moved((), {_MAX: limit, _SHARE: share}, current) for share in SHARES]
    built = _approximate(trials, others[0], count)
    scanned = _built(trials, exact)
    efforts: dict[Point, Trials] = {(): trials, exact: scanned}
    efforts |= {point: built for point in others if point not in efforts}
    asked = _query_vectors(trials)
    truth = [set(one.ids.tolist()) for one in scanned.subject.parts.index.vector(*asked)]
    found: dict[Point, tuple[float, list[float]]] = {}

    def score(point: Point) -> Scores:
        by = efforts[point]
        scores = by.score(point)
        found[point] = _looked(by.parts(point).index, asked, truth)
        return scores

    tried: dict[Point, Scores] = {(): score(())}
    if on_try is not None:
        on_try(0)
    stopped = Tries(score, tried, budget, time.monotonic, on_try).make(efforts)
    looked = [found[point] for point in tried]
    measured = [
        SweepPoint(one, recall, latency(times))
        for one, (recall, times) in zip(tries(tried, built.milliseconds), looked, strict=True)
    ]
    return _judged(metric, len(asked), count, measured, [times for _, times in looked], stopped)


def _built(trials: Trials, point: Point) -> Trials:
    """Return trials of the index for ``point``, which is built here once."""
    subject = trials.subject
    return trials.on_subject(replace(subject, parts=replace(subject.parts, index=trials.parts(point).index)))


def _approximate(trials: Trials, point: Point, count: int) -> Trials:
    """Return trials of an approximate index, for all search efforts."""
    built = _built(trials, point)
    if not str(built.subject.parts.index.describe().get("vector_search", "")).startswith("approximate"):
        raise InvalidInput(
            f"There is nothing to tune: {count:,} vectors are too few for an approximate index to be used.",
            hint="They are compared one by one, which finds every one of the nearest.",
        )
    return built


def _query_vectors(trials: Trials) -> _Asked:
    """Return the vector query of each question.

    Raises:
        ModelUnavailable: there is no model.
    """
    parts = trials.subject.parts
    settings = parts.settings.search
    limit = max(settings.candidates, 4 * settings.top_k)
    return [VectorQuery(parts.vectors.vector_of(question.text), limit, question.where) for question in trials.questions]


def _looked(index: Index, asked: _Asked, truth: Sequence[set[int]]) -> tuple[float, list[float]]:
    """Return the recall of ``truth``, and the best time for each question, in milliseconds."""
    shares, times = [], []
    for one, wanted in zip(asked, truth, strict=True):
        milliseconds = []
        for _ in range(_ASKED_AGAIN):
            start = time.perf_counter()
            [found] = index.vector(one)
            milliseconds.append((time.perf_counter() - start) * 1000)
        times.append(min(milliseconds))
        shares.append(len(wanted & set(found.ids.tolist())) / max(1, len(wanted)))
    return float(np.mean(shares)), times


def _judged(
    metric: str, questions: int, count: int, ways: Sequence[SweepPoint], times: list[list[float]], stopped: Stopped
) -> Sweep:
    good = [
        place
        for place, way in enumerate(ways)
        if way.recall >= LEAST_RECALL and way.tried.change.mean >= -_MOST_LOST * ways[0].tried.score.mean
    ]
    best = min(good, key=lambda place: ways[place].latency.p50_ms, default=0)
    p = paired_p((np.array(times[best]) - np.array(times[0])).tolist())
    faster = ways[best].latency.p50_ms < ways[0].latency.p50_ms * (1 - SLOWER)
    better = bool(best) and faster and p < LEVEL
    why = "" if better else f"nothing found that is faster by more than {SLOWER:.0%} and finds as much"
    return Sweep(metric, questions, count, tuple(ways), dict(ways[best].tried.settings), p, better, why, stopped)
