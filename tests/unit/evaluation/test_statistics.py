"""Intervals and tests by resampling, compared with what theory and scipy say."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from pinakes.evaluation.resampling import intervals, latency, paired_p


def test_the_interval_of_a_mean_is_that_of_the_normal_approximation() -> None:
    scores = np.random.default_rng(1).beta(4, 2, size=(400, 2))
    found = intervals(scores.tolist())
    for column, (low, high) in zip(scores.T, found, strict=True):
        margin = 1.96 * column.std() / np.sqrt(len(column))
        assert low == pytest.approx(column.mean() - margin, abs=0.005)
        assert high == pytest.approx(column.mean() + margin, abs=0.005)


def test_intervals_are_the_same_every_time_and_wider_at_a_higher_level() -> None:
    scores = [[value] for value in np.linspace(0, 1, 20)]
    assert intervals(scores) == intervals(scores)
    (low, high), (lower, higher) = intervals(scores)[0], intervals(scores, 0.99)[0]
    assert lower < low < high < higher


def test_one_question_has_no_spread() -> None:
    assert intervals([[0.25]]) == [(0.25, 0.25)]


def test_the_paired_test_agrees_with_the_permutation_test_of_scipy() -> None:
    random = np.random.default_rng(2)
    for shift in (0.0, 0.03, 0.08):
        differences = random.normal(shift, 0.2, size=60)
        expected = stats.permutation_test(
            (differences,), np.mean, permutation_type="samples", n_resamples=9999, rng=np.random.default_rng(3)
        ).pvalue
        assert paired_p(differences.tolist()) == pytest.approx(expected, abs=0.02)


def test_nothing_changed_is_no_evidence_and_everything_better_is_strong_evidence() -> None:
    assert paired_p([0.0] * 30) == 1
    assert paired_p([]) == 1
    assert paired_p([0.1] * 30) < 0.001
    assert paired_p([0.1] * 30) == paired_p([-0.1] * 30)


def test_many_questions_are_resampled_in_blocks_that_fit_into_memory() -> None:
    assert paired_p([0.01, -0.01] * 5_000) > 0.5
    [(low, high)] = intervals([[float(number % 2)] for number in range(20_000)])
    assert 0.49 < low < 0.5 < high < 0.51


def test_latency_is_given_in_percentiles() -> None:
    found = latency([float(number) for number in range(1, 101)])
    assert (found.p50_ms, found.p95_ms, found.p99_ms) == pytest.approx((50.5, 95.05, 99.01))
    assert latency([]).p99_ms == 0
