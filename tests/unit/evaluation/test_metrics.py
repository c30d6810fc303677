"""Our metrics against ir-measures, which wraps trec_eval."""

from __future__ import annotations

import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinakes.evaluation.metrics import hit, ndcg, recall, reciprocal_rank

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import ir_measures
    from ir_measures import RR, R, Success, nDCG

DOCUMENTS = [f"d{number}" for number in range(12)]

rankings = st.permutations(DOCUMENTS).flatmap(lambda order: st.integers(0, 12).map(lambda n: order[:n]))
judgements = st.dictionaries(st.sampled_from(DOCUMENTS), st.integers(0, 3), min_size=1)


def reference(measure: object, ranking: list[str], relevant: dict[str, int]) -> float:
    qrels = {"q": relevant}
    run = {"q": {document: float(-rank) for rank, document in enumerate(ranking)}}
    return float(ir_measures.calc_aggregate([measure], qrels, run)[measure])


@given(rankings, judgements)
def test_every_metric_agrees_with_trec_eval(ranking: list[str], relevant: dict[str, int]) -> None:
    for k in (1, 5, 10):
        assert ndcg(ranking, relevant, k) == pytest.approx(reference(nDCG @ k, ranking, relevant))
        assert hit(ranking, relevant, k) == pytest.approx(reference(Success @ k, ranking, relevant))
        assert reciprocal_rank(ranking, relevant, k) == pytest.approx(reference(RR @ k, ranking, relevant))
        if any(relevant.values()):
            assert recall(ranking, relevant, k) == pytest.approx(reference(R @ k, ranking, relevant))


def test_a_perfect_ranking_scores_one_and_an_empty_one_zero() -> None:
    relevant = {"a": 2, "b": 1}
    assert ndcg(["a", "b"], relevant, 10) == pytest.approx(1)
    assert ndcg([], relevant, 10) == 0
    assert recall(["a"], relevant, 10) == 0.5


def test_a_question_without_relevant_documents_scores_zero() -> None:
    assert ndcg(["a"], {}, 10) == recall(["a"], {}, 10) == hit(["a"], {}, 10) == 0
