"""Our metrics against ir-measures, which wraps trec_eval."""

from __future__ import annotations

import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinakes.core.errors import InvalidInput
from pinakes.evaluation.metrics import (
    DEFAULT,
    average_precision,
    hit,
    metric,
    ndcg,
    precision,
    recall,
    reciprocal_rank,
)

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import ir_measures
    from ir_measures import AP, RR, P, R, Success, nDCG

DOCUMENTS = [f"d{number}" for number in range(12)]

rankings = st.permutations(DOCUMENTS).flatmap(lambda order: st.integers(0, 12).map(lambda n: order[:n]))
judgements = st.dictionaries(st.sampled_from(DOCUMENTS), st.integers(-1, 3), min_size=1).filter(
    lambda grades: max(grades.values()) >= 0
)
"""Never negative grades alone: then trec_eval reads memory it has not written, and may count through it for ever."""


def reference(measure: object, ranking: list[str], relevant: dict[str, int]) -> float:
    run = {"q": {document: float(-rank) for rank, document in enumerate(ranking)}}
    return float(ir_measures.calc_aggregate([measure], {"q": relevant}, run)[measure])


@given(rankings, judgements, st.integers(1, 15))
def test_every_metric_agrees_with_trec_eval_at_any_depth(ranking: list[str], relevant: dict[str, int], k: int) -> None:
    assert ndcg(ranking, relevant, k) == pytest.approx(reference(nDCG @ k, ranking, relevant))
    assert precision(ranking, relevant, k) == pytest.approx(reference(P @ k, ranking, relevant))
    assert hit(ranking, relevant, k) == pytest.approx(reference(Success @ k, ranking, relevant))
    assert reciprocal_rank(ranking, relevant, k) == pytest.approx(reference(RR @ k, ranking, relevant))
    if any(grade > 0 for grade in relevant.values()):
        assert recall(ranking, relevant, k) == pytest.approx(reference(R @ k, ranking, relevant))
        assert average_precision(ranking, relevant, k) == pytest.approx(reference(AP @ k, ranking, relevant))


@given(rankings, judgements)
def test_a_metric_without_a_depth_looks_at_the_whole_ranking(ranking: list[str], relevant: dict[str, int]) -> None:
    assert metric("mrr")(ranking, relevant) == pytest.approx(reference(RR, ranking, relevant))
    assert metric("ndcg")(ranking, relevant) == pytest.approx(reference(nDCG, ranking, relevant))
    if any(grade > 0 for grade in relevant.values()):
        assert metric("map")(ranking, relevant) == pytest.approx(reference(AP, ranking, relevant))


def test_a_perfect_ranking_scores_one_and_an_empty_one_zero() -> None:
    relevant = {"a": 2, "b": 1}
    assert ndcg(["a", "b"], relevant, 10) == average_precision(["a", "b"], relevant, 10) == pytest.approx(1)
    assert ndcg([], relevant, 10) == average_precision([], relevant, 10) == 0
    assert recall(["a"], relevant, 10) == 0.5
    assert precision(["a", "b"], relevant, 5) == 0.4


def test_a_question_without_relevant_documents_scores_zero() -> None:
    for relevant in ({}, {"a": 0, "b": -1}, {"a": -1}):
        assert all(metric(name)(["a"], relevant) == 0 for name in (*DEFAULT, "ndcg", "mrr", "map"))


def test_the_names_of_metrics_print_and_parse() -> None:
    assert [metric(name).name for name in (*DEFAULT, "mrr", "recall")] == [*DEFAULT, "mrr", "recall"]
    assert metric(" NDCG@7 ").name == "ndcg@7"


@pytest.mark.parametrize("name", ["", "ndcg@", "ndcg@0", "f1@3", "precision", "recall@-1", "ndcg@10 mrr"])
def test_what_is_no_metric_is_refused_with_the_names_there_are(name: str) -> None:
    with pytest.raises(InvalidInput, match="ndcg, mrr, map"):
        metric(name)
