"""Ask every question, compare the rankings with what is relevant, average."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from pinakes.evaluation.metrics import hit, ndcg, recall, reciprocal_rank
from pinakes.evaluation.questions import Question

Ask = Callable[[str], Sequence[str]]
"""Takes a question, returns document ids, best first, each once."""

METRICS: Mapping[str, Callable[[Sequence[str], Mapping[str, int]], float]] = {
    "ndcg@10": lambda ranking, relevant: ndcg(ranking, relevant, 10),
    "recall@100": lambda ranking, relevant: recall(ranking, relevant, 100),
    "mrr@10": lambda ranking, relevant: reciprocal_rank(ranking, relevant, 10),
    "hit@1": lambda ranking, relevant: hit(ranking, relevant, 1),
    "hit@3": lambda ranking, relevant: hit(ranking, relevant, 3),
    "hit@5": lambda ranking, relevant: hit(ranking, relevant, 5),
}


@dataclass(frozen=True, slots=True)
class Figures:
    """Mean of every metric over ``questions`` answerable questions; ``p50_ms`` is the median time to answer."""

    questions: int
    metrics: Mapping[str, float]
    p50_ms: float
    by_kind: Mapping[str, Mapping[str, float]]


def evaluate(ask: Ask, questions: Sequence[Question]) -> Figures:
    """Return the figures of ``ask`` over the questions that have an answer."""
    answerable = [question for question in questions if any(grade > 0 for grade in question.relevant.values())]
    scores: list[dict[str, float]] = []
    times: list[float] = []
    for question in answerable:
        start = time.perf_counter()
        ranking = ask(question.text)
        times.append((time.perf_counter() - start) * 1000)
        scores.append({name: metric(ranking, question.relevant) for name, metric in METRICS.items()})
    kinds = sorted({question.kind for question in answerable if question.kind})
    by_kind = {
        kind: _mean([score for score, question in zip(scores, answerable, strict=True) if question.kind == kind])
        for kind in kinds
    }
    return Figures(len(answerable), _mean(scores), median(times) if times else 0.0, by_kind)


def _mean(scores: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {name: fmean(score[name] for score in scores) for name in METRICS} if scores else {}
