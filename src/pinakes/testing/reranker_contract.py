"""What every reranker must do."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from pinakes.core.ports import Reranker
from pinakes.testing.corpus import ODD_QUERIES, equal

QUERY = "Which animals eat fish?"
CHUNKS = ("The grey heron waits.", "Otters eat fish.", "def feed(animal): return 22", "鳥は魚を食べる", "🦡", "")


def every_chunk_has_one_score_in_the_order_given(reranker: Reranker) -> None:
    scores = reranker.score(QUERY, CHUNKS)
    equal((scores.dtype, scores.shape), (np.dtype(np.float32), (len(CHUNKS),)), "scores")
    assert np.isfinite(scores).all(), "a score is not a number"
    assert np.allclose(reranker.score(QUERY, CHUNKS[::-1])[::-1], scores, atol=1e-3), "a score depends on the order"
    equal(reranker.score(QUERY, []).shape, (0,), "shape of no scores")


def a_score_does_not_depend_on_the_chunks_beside_it(reranker: Reranker) -> None:
    together = reranker.score(QUERY, CHUNKS)
    alone = [float(reranker.score(QUERY, [chunk])[0]) for chunk in CHUNKS]
    assert np.allclose(together, alone, atol=1e-3), "a score depends on the chunks beside it"


def what_is_no_logit_is_from_0_to_1(reranker: Reranker) -> None:
    scores = reranker.score(QUERY, CHUNKS)
    assert reranker.logits or ((scores >= 0) & (scores <= 1)).all(), "a score is outside of 0 to 1, and no logit"


def odd_questions_and_chunks_have_scores(reranker: Reranker) -> None:
    for text in (*ODD_QUERIES, "a\0b", "\ud800 half a pair", "word " * 5_000):
        for query, chunk in ((text, CHUNKS[0]), (QUERY, text)):
            assert np.isfinite(reranker.score(query, [chunk])).all(), f"no score for {text[:20]!r}"


def it_says_what_it_is_and_how_it_wants_to_be_asked(reranker: Reranker) -> None:
    reranker.load()
    assert reranker.fingerprint, "the fingerprint is empty"
    equal(reranker.fingerprint, reranker.fingerprint, "fingerprint asked for twice")
    assert reranker.at_once >= 0, "at_once is below 0"


def threads_may_share_it(reranker: Reranker) -> None:
    expected = reranker.score(QUERY, CHUNKS)
    with ThreadPoolExecutor(4) as pool:
        for scores in pool.map(lambda _: reranker.score(QUERY, CHUNKS), range(8)):
            assert np.allclose(scores, expected, atol=1e-3), "threads get different scores"


RERANKER_CHECKS: tuple[Callable[[Reranker], None], ...] = (
    every_chunk_has_one_score_in_the_order_given,
    a_score_does_not_depend_on_the_chunks_beside_it,
    what_is_no_logit_is_from_0_to_1,
    odd_questions_and_chunks_have_scores,
    it_says_what_it_is_and_how_it_wants_to_be_asked,
    threads_may_share_it,
)


def check_reranker(reranker: Reranker) -> None:
    """Run every check of a reranker.

    Raises:
        AssertionError: it does not do what ``ports.Reranker`` promises.
    """
    for check in RERANKER_CHECKS:
        check(reranker)
