"""Metrics of ranked retrieval, as small pure functions.

``ranking`` is document ids, best first, each once; ``relevant`` is document id → grade, 0 or absent = not
relevant. Every function returns a number in 0–1, 0 where nothing is relevant.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log2


def ndcg(ranking: Sequence[str], relevant: Mapping[str, int], k: int) -> float:
    """Return nDCG@k with linear gain: Σ grade / log2(rank + 1), over that of the best order.

    Järvelin and Kekäläinen, TOIS 20(4), 2002; the gain and discount of trec_eval.
    """
    gains = [relevant.get(document, 0) for document in ranking[:k]]
    ideal = sorted((grade for grade in relevant.values() if grade > 0), reverse=True)[:k]
    best = _discounted(ideal)
    return _discounted(gains) / best if best else 0.0


def recall(ranking: Sequence[str], relevant: Mapping[str, int], k: int) -> float:
    """Return the share of the relevant documents that are among the first k."""
    wanted = {document for document, grade in relevant.items() if grade > 0}
    return len(wanted & set(ranking[:k])) / len(wanted) if wanted else 0.0


def hit(ranking: Sequence[str], relevant: Mapping[str, int], k: int) -> float:
    """Return 1 when any of the first k is relevant, else 0."""
    return float(any(relevant.get(document, 0) > 0 for document in ranking[:k]))


def reciprocal_rank(ranking: Sequence[str], relevant: Mapping[str, int], k: int) -> float:
    """Return 1 / rank of the first relevant document among the first k, 0 when there is none."""
    return next((1 / rank for rank, doc in enumerate(ranking[:k], 1) if relevant.get(doc, 0) > 0), 0.0)


def _discounted(gains: Sequence[int]) -> float:
    return sum(gain / log2(rank + 1) for rank, gain in enumerate(gains, start=1))
