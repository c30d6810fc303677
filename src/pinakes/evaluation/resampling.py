"""Confidence intervals and significance tests by resampling of questions, with a seed for reproducibility."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

RESAMPLES = 2000
FLIPS = 10_000
LEVEL = 0.95
_SEED = 20_020_401
_CELLS_AT_ONCE = 2_000_000


@dataclass(frozen=True, slots=True)
class Latency:
    """Percentiles of the latency, in milliseconds."""

    p50_ms: float
    p95_ms: float
    p99_ms: float


def latency(milliseconds: Sequence[float]) -> Latency:
    """Return the percentiles of these times, interpolated linearly; zeros when there are none."""
    return Latency(*(float(p) for p in np.percentile(milliseconds, (50, 95, 99)))) if milliseconds else Latency(0, 0, 0)


def intervals(scores: Sequence[Sequence[float]], level: float = LEVEL) -> list[tuple[float, float]]:
    """Return (low, high) of the mean of each column of ``scores`` (questions, metrics), at confidence ``level``.

    The percentile bootstrap: questions are drawn again with replacement, all metrics from the same draw (Efron and
    Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13).
    """
    table = np.asarray(scores, np.float64)
    count = len(table)
    random = np.random.default_rng(_SEED)
    drawn = []
    for size in _blocks(RESAMPLES, count):
        rows = random.integers(0, count, size=(size, count), dtype=np.int32)
        drawn.append(np.stack([column[rows].mean(axis=1) for column in table.T], axis=1))
    ends = np.percentile(np.concatenate(drawn), (50 * (1 - level), 50 * (1 + level)), axis=0)
    return [(float(low), float(high)) for low, high in ends.T]


def paired_p(differences: Sequence[float]) -> float:
    """Return the two-sided p value of the mean of paired ``differences`` being 0: the randomisation test.

    Under the null hypothesis each pair may be swapped, so signs are flipped at random; the value is the share of
    flips whose mean is as far from 0, the observed one included (Smucker, Allan and Carterette, CIKM 2007).
    """
    table = np.asarray(differences, np.float64)
    observed = abs(table.sum())
    if not table.any():
        return 1.0
    random = np.random.default_rng(_SEED)
    as_far = 1
    for size in _blocks(FLIPS, len(table)):
        swapped = random.integers(0, 2, size=(size, len(table)), dtype=np.int8).astype(np.float64)
        as_far += int((np.abs(2 * (swapped @ table) - table.sum()) >= observed - 1e-12).sum())
    return as_far / (FLIPS + 1)


def _blocks(total: int, width: int) -> Iterator[int]:
    """Yield numbers of rows that sum up to ``total``, each small enough for memory."""
    most = max(1, _CELLS_AT_ONCE // max(1, width))
    while total > 0:
        yield min(most, total)
        total -= most
