"""From scores to one ranking: weights, two levels of evidence, feedback, definitions, odd vectors, ties."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinakes.core.records import Float32, Int64, Ranking
from pinakes.search.query.request import Request
from pinakes.search.ranking.rank import Ranked, rank
from pinakes.search.retrieval.candidates import Candidates, DocumentEvidence, rescored
from pinakes.search.retrieval.scoring import ScoreAdjustments
from pinakes.settings import SearchSettings

PLAIN = SearchSettings(document_cosine_share=0, document_bm25_share=0, feedback_weight=0, definition_boost=0)
HYBRID = Request("q")


def f32(*values: float) -> Float32:
    return np.array(values, np.float32)


def i64(*values: int) -> Int64:
    return np.array(values, np.int64)


def unit(*values: float) -> Float32:
    vector = f32(*values)
    return vector / np.linalg.norm(vector)


def candidates(
    cosine: Float32 | None,
    bm25: Float32 | None,
    *,
    documents: Int64 | None = None,
    vectors: Float32 | None = None,
    **evidence: Float32,
) -> Candidates:
    """Make candidates 10, 11, 12 …, each its own document unless said otherwise, with nothing known beside scores."""
    count = len(cosine if cosine is not None else bm25 if bm25 is not None else ())
    ids = np.arange(10, 10 + count)
    owners = ids if documents is None else documents
    zero = np.zeros(count, np.float32)
    vectors = np.full((count, 2), np.nan, np.float32) if vectors is None else vectors
    document_bm25 = evidence.pop("document_bm25", zero if cosine is not None else None)
    known: dict[str, Any] = {"document_cosine": zero, "definitions": zero, **evidence}
    both = DocumentEvidence(sums=vectors, owner_of=np.arange(count), **known)
    return Candidates(ids, owners, cosine, bm25, {}, evidence=both, document_bm25=document_bm25, vectors=vectors)


def by_id(ranked: Ranked) -> dict[int, float]:
    return dict(zip(ranked.candidates.ids[ranked.rows].tolist(), ranked.scores.tolist(), strict=True))


def order(ranked: Ranked) -> list[int]:
    ids: list[int] = ranked.candidates.ids[ranked.rows].tolist()
    return ids


class TestWeights:
    def test_the_score_is_the_weighted_sum_of_cosine_and_relative_bm25(self) -> None:
        found = candidates(f32(0.8, 0.4, 0.1), f32(2, 4, 0))
        assert by_id(rank(HYBRID, found, PLAIN)) == pytest.approx({10: 0.71, 11: 0.58, 12: 0.07})

    def test_other_weights_are_scaled_to_one(self) -> None:
        found = candidates(f32(0.8, 0.4), f32(2, 4))
        words = rank(Request("q", semantic_weight=0, keyword_weight=5), found, PLAIN)
        assert by_id(words) == pytest.approx({11: 1.0, 10: 0.5})
        equal = rank(Request("q", semantic_weight=3, keyword_weight=3), found, PLAIN)
        assert by_id(equal) == pytest.approx({11: 0.7, 10: 0.65})

    def test_one_arm_alone_is_ranked_by_itself(self) -> None:
        words = replace(candidates(None, f32(1, 4)), evidence=None)
        assert by_id(rank(HYBRID, words, PLAIN)) == pytest.approx({11: 1.0, 10: 0.25})
        meaning = candidates(f32(0.3, -0.2, 0.9), None)
        assert by_id(rank(HYBRID, meaning, PLAIN)) == pytest.approx({12: 0.9, 10: 0.3, 11: 0.0})

    def test_words_alone_are_those_of_the_chunk_and_of_its_document(self) -> None:
        found = replace(candidates(None, f32(1, 4)), evidence=None, document_bm25=f32(8, 2))
        assert by_id(rank(HYBRID, found, PLAIN)) == pytest.approx({11: 0.5 + 0.5 / 4, 10: 0.5 / 4 + 0.5})

    def test_nothing_found_is_an_empty_ranking(self) -> None:
        nothing = rank(HYBRID, candidates(f32(), f32()), PLAIN)
        assert len(nothing.rows) == len(nothing.scores) == 0
        assert nothing.scores.dtype == np.float32


class TestTwoLevels:
    def test_each_share_goes_to_the_document(self) -> None:
        settings = PLAIN.model_copy(update={"document_cosine_share": 0.25, "document_bm25_share": 0.5})
        found = candidates(
            f32(0.8, 0.4), f32(2, 4), document_cosine=f32(0.4, 0.8), document_bm25=f32(10, 5), documents=i64(1, 2)
        )
        first = 0.7 * (0.75 * 0.8 + 0.25 * 0.4) + 0.3 * (0.5 * 0.5 + 0.5 * 1.0)
        second = 0.7 * (0.75 * 0.4 + 0.25 * 0.8) + 0.3 * (0.5 * 1.0 + 0.5 * 0.5)
        assert by_id(rank(HYBRID, found, settings)) == pytest.approx({10: first, 11: second})

    def test_of_equal_chunks_that_of_the_better_document_comes_first(self) -> None:
        usual = SearchSettings()
        near = candidates(f32(0.5, 0.5), f32(3, 3), document_cosine=f32(0.2, 0.6))
        worded = candidates(f32(0.5, 0.5), f32(3, 3), document_bm25=f32(2, 9))
        assert [order(rank(HYBRID, found, usual)) for found in (near, worded)] == [[11, 10]] * 2

    def test_a_document_without_vectors_counts_as_far_away(self) -> None:
        known = candidates(f32(0.5, 0.5), f32(3, 3), document_cosine=f32(np.nan, 0.3))
        scores = by_id(rank(HYBRID, known, SearchSettings()))
        assert scores[11] > scores[10] > 0


class TestFeedback:
    WEIGHTED = PLAIN.model_copy(update={"feedback_weight": 0.5})

    def test_one_that_stands_out_speaks_alone(self) -> None:
        vectors = np.stack([unit(1, 0), unit(0, 1), unit(0.8, 0.6)])
        found = candidates(f32(0.9, 0.3, 0.3), f32(0, 0, 0), vectors=vectors)
        scores = by_id(rank(HYBRID, found, self.WEIGHTED))
        assert scores[10] == pytest.approx((0.63 + 0.5) / 1.5, abs=1e-5)
        assert scores[11] == pytest.approx(0.21 / 1.5, abs=1e-5)
        assert scores[12] == pytest.approx((0.21 + 0.5 * 0.8) / 1.5, abs=1e-5)

    def test_equals_speak_with_one_voice(self) -> None:
        vectors = np.stack([unit(1, 0), unit(0, 1), unit(1, 1), unit(-1, -1)])
        found = candidates(f32(0.8, 0.8, 0.2, 0.2), f32(0, 0, 0, 0), vectors=vectors)
        scores = by_id(rank(HYBRID, found, self.WEIGHTED))
        half = float(np.sqrt(0.5))
        assert scores[10] == pytest.approx(scores[11])
        assert scores[10] == pytest.approx((0.56 + 0.5 * half) / 1.5, abs=1e-4)
        assert scores[12] == pytest.approx((0.14 + 0.5) / 1.5, abs=1e-4)
        assert scores[13] == pytest.approx(0.14 / 1.5, abs=1e-4), "being the opposite takes nothing away"

    def test_a_document_has_one_voice_however_many_chunks_it_has(self) -> None:
        """Nine chunks of one document would drown the two others."""
        vectors = np.stack([unit(1, 0)] * 9 + [unit(0, 1)] * 2)
        cosine = np.full(11, 0.8, np.float32)
        found = candidates(cosine, 0 * cosine, documents=i64(*[1] * 9, 2, 3), vectors=vectors)
        scores = by_id(rank(HYBRID, found, self.WEIGHTED))
        assert scores[19] == scores[20] > scores[10]

    def test_what_has_no_vector_neither_speaks_nor_gains(self) -> None:
        vectors = np.stack([f32(np.nan, np.nan), unit(0, 1), unit(0, 1)])
        found = candidates(f32(np.nan, 0.5, 0.1), f32(9, 0, 0), vectors=vectors)
        scores = by_id(rank(HYBRID, found, self.WEIGHTED))
        assert scores == pytest.approx({10: 0.3 / 1.5, 11: (0.35 + 0.5) / 1.5, 12: (0.07 + 0.5) / 1.5})

    def test_without_any_vector_words_decide(self) -> None:
        found = candidates(f32(np.nan, np.nan), f32(2, 4), document_bm25=f32(2, 4))
        assert by_id(rank(HYBRID, found, self.WEIGHTED)) == pytest.approx({11: 1.0, 10: 0.5})

    def test_vectors_that_cancel_out_say_nothing(self) -> None:
        vectors = np.stack([unit(1, 0), unit(-1, 0)])
        scores = by_id(rank(HYBRID, candidates(f32(0.6, 0.6), f32(0, 0), vectors=vectors), self.WEIGHTED))
        assert scores == pytest.approx({10: 0.28, 11: 0.28})


class TestDefinitions:
    BOOSTED = PLAIN.model_copy(update={"definition_boost": 0.15})

    def test_what_defines_a_name_is_lifted_once_however_many_it_defines(self) -> None:
        found = candidates(f32(0.5, 0.5, 0.5), f32(0, 0, 0), definitions=f32(0, 1, 3))
        assert by_id(rank(HYBRID, found, self.BOOSTED)) == pytest.approx({10: 0.35, 11: 0.5, 12: 0.5})

    def test_the_best_keep_their_order_where_their_scores_would_exceed_one(self) -> None:
        found = candidates(f32(0.95, 0.99), f32(5, 5), definitions=f32(1, 1))
        ranked = rank(HYBRID, found, self.BOOSTED)
        assert order(ranked) == [11, 10]
        assert ranked.scores.tolist() == [1, 1]


class TestTies:
    def test_equals_come_in_the_order_of_their_ids(self) -> None:
        found = candidates(f32(0.5, 0.5, 0.7, 0.5), f32(1, 1, 1, 1))
        assert order(rank(HYBRID, found, PLAIN)) == [12, 10, 11, 13]

    def test_rrf_knows_only_the_places(self) -> None:
        found = candidates(f32(0.9, 0.1), f32(1, 100))
        retrieved = {"vector": Ranking(i64(10, 11), i64(10, 11), f32(0.9, 0.1))}
        retrieved["keyword"] = Ranking(i64(11, 10), i64(11, 10), f32(100, 1))
        ranked = rank(Request("q", fusion="rrf"), replace(found, retrieved=retrieved, evidence=None), SearchSettings())
        assert by_id(ranked) == pytest.approx({10: 1 / 61 + 1 / 62, 11: 1 / 61 + 1 / 62})
        assert order(ranked) == [10, 11]


def test_what_lifts_decides_before_scores_are_cut_to_one() -> None:
    found = replace(candidates(f32(0.9, 1), f32(5, 5)), adjustments=ScoreAdjustments(f32(1.5, 1)))
    ranked = rank(HYBRID, found, PLAIN)
    assert order(ranked) == [10, 11]
    assert ranked.scores.tolist() == [1, 1]


def test_the_best_are_those_above_the_least_score() -> None:
    ranked = rank(HYBRID, candidates(f32(0.9, 0.5, 0.1), None), PLAIN)
    assert order(ranked.best(5, 0.5)) == [10, 11]
    assert order(ranked.best(1, 0.0)) == [10]
    assert order(ranked.best(5, 0.95)) == []


def test_a_better_vector_of_a_chunk_changes_its_document_too() -> None:
    """As when the head is embedded while a question waits."""
    query, right = unit(1, 0), unit(1, 0)
    vectors = np.stack([unit(0, 1), unit(0, 1), unit(1, 1)])
    sums = np.stack([vectors[0] + vectors[1], vectors[2]])
    evidence = DocumentEvidence(f32(0, 0, 0.7), f32(0, 0, 0), sums, i64(0, 0, 1))
    ranking = Ranking(i64(10, 11, 12), i64(1, 1, 2), f32(0, 0, 0.7), np.array([False, True, True]))
    bm25 = f32(0, 0, 0)
    found = Candidates(
        ranking.ids,
        ranking.documents,
        f32(0, 0, 0.7),
        bm25,
        {"vector": ranking},
        ranking.exact,
        evidence,
        vectors=vectors,
    )
    after = rescored(found, {10: right}, query)
    assert after.cosine is not None
    assert after.evidence is not None
    assert after.cosine.tolist() == pytest.approx([1, 0, 0.7])
    assert after.evidence.document_cosine[:2] == pytest.approx(np.sqrt(0.5), abs=1e-6)
    assert after.evidence.document_cosine[0] == after.evidence.document_cosine[1]
    assert np.array_equal(found.evidence.sums if found.evidence else [], sums), "what was found is not touched"
    assert after.retrieved["vector"].ids.tolist() == [10, 12, 11]


NUMBERS = st.floats(-1, 1, width=32) | st.just(float("nan"))


@given(
    st.lists(
        st.tuples(NUMBERS, st.floats(0, 50, width=32), st.integers(0, 4), st.integers(0, 2), NUMBERS), max_size=20
    ),
    st.floats(0, 3),
    st.floats(0, 1),
)
def test_scores_are_numbers_from_zero_to_one_that_fall(
    rows: list[tuple[float, float, int, int, float]], feedback: float, share: float
) -> None:
    cosine, bm25, owners, defined, document = ([row[at] for row in rows] for at in range(5))
    random = np.random.default_rng(len(rows))
    vectors = random.standard_normal((len(rows), 3)).astype(np.float32)
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    vectors[np.isnan(cosine)] = np.nan
    found = candidates(
        f32(*cosine),
        f32(*bm25),
        documents=np.array(owners, np.int64),
        vectors=vectors,
        definitions=f32(*defined),
        document_cosine=f32(*document),
        document_bm25=f32(*bm25),
    )
    settings = SearchSettings(feedback_weight=feedback, document_cosine_share=share, document_bm25_share=share)
    ranked = rank(HYBRID, found, settings)
    assert sorted(ranked.rows.tolist()) == list(range(len(rows)))
    assert ((ranked.scores >= 0) & (ranked.scores <= 1)).all()
    assert (np.diff(ranked.scores) <= 0).all()
    assert ranked.scores.dtype == np.float32
