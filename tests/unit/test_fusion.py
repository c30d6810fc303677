"""Two rankings become one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pinakes.core.records import Float32, Ranking
from pinakes.search.ranking import fusion


def floats(*values: float) -> Float32:
    return np.array(values, np.float32)


def ranking(*ids: int) -> Ranking:
    numbers = np.array(ids, np.int64)
    return Ranking(numbers, numbers, np.linspace(1, 0, len(ids), dtype=np.float32))


def test_the_first_place_of_a_list_counts_one_in_sixty_one() -> None:
    fused = fusion.rrf(np.array([3, 7]), [ranking(7, 3)], 60)
    assert fused == pytest.approx([1 / 62, 1 / 61])
    assert fused.dtype == np.float32


def test_places_in_several_lists_add_up() -> None:
    fused = fusion.rrf(np.array([1, 2, 3]), [ranking(1, 2), ranking(2, 3)], 60)
    assert fused == pytest.approx([1 / 61, 1 / 62 + 1 / 61, 1 / 62])


def test_no_lists_give_zeros() -> None:
    assert fusion.rrf(np.array([1, 2]), [], 60).tolist() == [0, 0]
    assert fusion.rrf(np.array([1, 2]), [ranking()], 60).tolist() == [0, 0]


def test_the_weighted_sum_is_that_of_the_decision() -> None:
    fused = fusion.weighted(floats(0.9, 0.2), fusion.relative(floats(2, 8)), 0.7, 0.3)
    assert fused == pytest.approx([0.7 * 0.9 + 0.3 * 0.25, 0.7 * 0.2 + 0.3])
    assert fused.dtype == np.float32


@pytest.mark.parametrize("scale", [0.001, 1, 50])
def test_weights_count_by_their_share(scale: float) -> None:
    expected = fusion.weighted(floats(0.5, 0.1), floats(1, 3), 0.7, 0.3)
    assert fusion.weighted(floats(0.5, 0.1), floats(1, 3), 0.7 * scale, 0.3 * scale) == pytest.approx(expected)


def test_no_weights_mean_equal_weights() -> None:
    assert fusion.weighted(floats(1, 0), floats(0, 1), 0, 0) == pytest.approx([0.5, 0.5])


def test_one_weight_alone_leaves_one_arm() -> None:
    assert fusion.weighted(floats(0.3, 0.6), floats(1, 0.1), 1, 0) == pytest.approx([0.3, 0.6])
    assert fusion.weighted(floats(0.3, 0.6), floats(1, 0.25), 0, 1) == pytest.approx([1, 0.25])


def test_negative_cosines_count_as_nothing() -> None:
    assert fusion.weighted(floats(-0.8), floats(0), 0.7, 0.3).tolist() == [0]


def test_a_document_speaks_for_its_chunks_with_its_share() -> None:
    assert fusion.blended(floats(0.5, 0.1), floats(1, 0), 0.4) == pytest.approx([0.7, 0.06])
    assert fusion.blended(floats(0.5), floats(1), 0).tolist() == [0.5]


def test_scores_are_relative_to_the_best() -> None:
    assert fusion.relative(floats(2, 8, 0)) == pytest.approx([0.25, 1, 0])
    assert fusion.relative(floats(2, 8, 0), 16) == pytest.approx([0.125, 0.5, 0])
    assert fusion.relative(floats(2, 8, 0), 4) == pytest.approx([0.25, 1, 0])
    assert fusion.relative(floats(0, 0)).tolist() == [0, 0]
    assert fusion.relative(floats()).tolist() == []


scores = arrays(np.float32, 8, elements=st.floats(0, 1, width=32))
cosines = arrays(np.float32, 8, elements=st.floats(-1, 1, width=32))


@given(cosines, scores, st.floats(0, 10), st.floats(0, 10))
def test_the_weighted_sum_lies_between_zero_and_one(cosine: Float32, bm25: Float32, one: float, two: float) -> None:
    fused = fusion.weighted(cosine, bm25, one, two)
    assert (fused >= 0).all()
    assert (fused <= 1 + 1e-5).all()


@given(cosines, scores)
def test_who_is_better_in_both_arms_is_better(cosine: Float32, bm25: Float32) -> None:
    fused = fusion.weighted(cosine, bm25, 0.7, 0.3)
    for one in range(8):
        for two in range(8):
            if cosine[one] >= cosine[two] and bm25[one] >= bm25[two]:
                assert fused[one] >= fused[two] - 1e-6


def test_ties_stay_ties() -> None:
    fused = fusion.weighted(floats(0.5, 0.5, 0.5), floats(2, 2, 2), 0.7, 0.3)
    assert len(set(fused.tolist())) == 1
