"""Metrics of ranked retrieval as pure functions, and their names, such as ``ndcg@10``.

``ranking`` is document names, best first, each once; ``relevant`` is document name → grade, 0, less or absent = not
relevant. Every function returns a number in 0–1, 0 where nothing is relevant; ``k`` may exceed the ranking.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import log2
from typing import TypeAlias

from pinakes.core.errors import InvalidInput

Grades: TypeAlias = Mapping[str, float]
Function: TypeAlias = Callable[[Sequence[str], Grades, int], float]

_NAME = re.compile(r"([a-z]+)(?:@([1-9]\d{0,5}))?")


def ndcg(ranking: Sequence[str], relevant: Grades, k: int) -> float:
    """Return nDCG@k with linear gain: Σ grade / log2(rank + 1), divided by that of the ideal order.

    Järvelin and Kekäläinen, TOIS 20(4), 2002; the gain and discount of trec_eval.
    """
    gains = [max(relevant.get(document, 0), 0) for document in ranking[:k]]
    ideal = sorted((grade for grade in relevant.values() if grade > 0), reverse=True)[:k]
    best = _discounted(ideal)
    return _discounted(gains) / best if best else 0.0


def precision(ranking: Sequence[str], relevant: Grades, k: int) -> float:
    """Return the share of the first k places that hold a relevant document; empty places count."""
    return sum(relevant.get(document, 0) > 0 for document in ranking[:k]) / k


def recall(ranking: Sequence[str], relevant: Grades, k: int) -> float:
    """Return the share of the relevant documents that are among the first k."""
    wanted = {document for document, grade in relevant.items() if grade > 0}
    return len(wanted & set(ranking[:k])) / len(wanted) if wanted else 0.0


def hit(ranking: Sequence[str], relevant: Grades, k: int) -> float:
    """Return 1 when any of the first k is relevant, else 0."""
    return float(first_relevant(ranking[:k], relevant) is not None)


def reciprocal_rank(ranking: Sequence[str], relevant: Grades, k: int) -> float:
    """Return 1 / rank of the first relevant document among the first k, 0 when there is none."""
    rank = first_relevant(ranking[:k], relevant)
    return 1 / rank if rank else 0.0


def average_precision(ranking: Sequence[str], relevant: Grades, k: int) -> float:
    """Return the mean over all relevant documents of the precision at their rank, 0 for those after the first k.

    Its mean over questions is MAP; the form of trec_eval's ``map`` and ``map_cut``.
    """
    wanted = sum(grade > 0 for grade in relevant.values())
    found, total = 0, 0.0
    for rank, document in enumerate(ranking[:k], start=1):
        if relevant.get(document, 0) > 0:
            found += 1
            total += found / rank
    return total / wanted if wanted else 0.0


def first_relevant(ranking: Sequence[str], relevant: Grades) -> int | None:
    """Return the rank, from 1, of the first relevant document, None when there is none."""
    return next((rank for rank, document in enumerate(ranking, start=1) if relevant.get(document, 0) > 0), None)


FUNCTIONS: Mapping[str, Function] = {
    "ndcg": ndcg,
    "mrr": reciprocal_rank,
    "map": average_precision,
    "precision": precision,
    "recall": recall,
    "hit": hit,
}
DEFAULT = (
    "ndcg@10",
    "ndcg@5",
    "mrr@10",
    "map@100",
    "precision@5",
    "recall@5",
    "recall@100",
    "hit@1",
    "hit@3",
    "hit@5",
)
"""The default metrics; the first is the headline."""


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric by name: ``ndcg@10``; without ``@k`` it looks at the whole ranking."""

    name: str
    function: Function
    k: int

    def __call__(self, ranking: Sequence[str], relevant: Grades) -> float:
        """Return its value, 0 to 1."""
        return self.function(ranking, relevant, self.k)


def metric(name: str) -> Metric:
    """Return the metric with this name.

    Raises:
        InvalidInput: there is none of that name.
    """
    found = _NAME.fullmatch(name.strip().lower())
    if found is None or found[1] not in FUNCTIONS or (found[1] == "precision" and not found[2]):
        raise InvalidInput(
            f"There is no metric {name!r}.", hint=f"Write one of {', '.join(FUNCTIONS)} and a depth: ndcg@10."
        )
    return Metric(found[0], FUNCTIONS[found[1]], int(found[2] or sys.maxsize))


def _discounted(gains: Sequence[float]) -> float:
    return sum(gain / log2(rank + 1) for rank, gain in enumerate(gains, start=1))
