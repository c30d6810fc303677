"""What scores are multiplied by, and what crowded documents lose."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from pinakes.search.retrieval.scoring import ScoreAdjustments, saturated


def of(*scores: float) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    return np.array(scores, np.float32)


def test_every_further_chunk_of_a_document_loses_a_little() -> None:
    documents = np.array([7, 3, 7, 7, 3])
    assert_allclose(saturated(of(1, 0.9, 0.8, 0.6, 0.95), documents, 0.1), of(1, 0.81, 0.72, 0.486, 0.95), rtol=1e-6)


def test_equal_chunks_of_a_document_lose_in_their_order() -> None:
    assert_allclose(saturated(of(0.5, 0.5, 0.5), np.array([1, 1, 1]), 0.5), of(0.5, 0.25, 0.125))


def test_a_chunk_loses_no_more_after_ten_better_ones() -> None:
    scores = saturated(np.ones(30, np.float32), np.zeros(30, np.int64), 0.1)
    assert_allclose(scores[:11], 0.9 ** np.arange(11), rtol=1e-6)
    assert_allclose(scores[10:], scores[10])


@given(st.lists(st.tuples(st.integers(0, 5), st.floats(0, 1, width=32)), max_size=40), st.floats(0, 0.5))
def test_within_a_document_the_order_stays_and_the_best_keeps_its_score(
    chunks: list[tuple[int, float]], loss: float
) -> None:
    documents = np.array([document for document, _ in chunks], np.int64)
    before = np.array([score for _, score in chunks], np.float32)
    after = saturated(before, documents, loss)
    for document in set(documents.tolist()):
        rows = np.flatnonzero(documents == document)
        rows = rows[np.argsort(-before[rows], kind="stable")]
        assert (np.diff(after[rows]) <= 0).all()
        assert after[rows[0]] == before[rows[0]]


def test_shares_that_are_nothing_are_not_named() -> None:
    lift = ScoreAdjustments(of(1.1, 1.0), {"vendor": of(0.15, 0), "test": of(-0.05, 0)})
    assert lift.parts_of(0) == {"vendor": 0.15, "test": -0.05}
    assert lift.parts_of(1) == {}
