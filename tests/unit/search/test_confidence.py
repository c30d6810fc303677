"""The confidence of a hit, by the published formula."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinakes.search.ranking.fusion import confidence, confidence_word


@pytest.mark.parametrize(
    ("cosine", "bm25", "expected"),
    [
        (0.0, 0.0, 0.1),
        (1.0, 0.0, 0.7 + 0.1 - 0.2 * 0.25),
        (0.5, 10 * math.atanh(0.5), 0.5 + 0.15 * 0.5 + 0.1),
        (0.6, 10 * math.atanh(0.8), 0.42 + 0.24 + 0.09 + 0.1 - 0.2 * 0.01),
        (1.0, 1e9, 1.0),
        (-0.4, 10 * math.atanh(0.6), 0.18 + 0.1 - 0.2 * 0.09),
    ],
)
def test_confidence_is_that_of_the_formula(cosine: float, bm25: float, expected: float) -> None:
    assert confidence(cosine, bm25) == pytest.approx(expected)


def test_a_hit_of_one_arm_is_told_by_that() -> None:
    assert confidence(None, 10 * math.atanh(0.6)) == pytest.approx(0.7)
    assert confidence(0.6, None) == pytest.approx(0.7)
    assert confidence(None, None) == pytest.approx(0.1)


@given(st.floats(-1, 1), st.floats(0, 1000))
def test_confidence_lies_between_zero_and_one_and_grows_with_both_scores(cosine: float, bm25: float) -> None:
    value = confidence(cosine, bm25)
    assert 0 <= value <= 1
    assert confidence(min(1, cosine + 0.1), bm25) >= value
    assert confidence(cosine, bm25 + 1) >= value - 1e-12


@pytest.mark.parametrize(
    ("value", "word"),
    [(1.0, "excellent"), (0.9, "excellent"), (0.8999, "good"), (0.7, "good"), (0.5, "moderate"), (0.4999, "weak")],
)
def test_words_begin_at_their_levels(value: float, word: str) -> None:
    assert confidence_word(value) == word
