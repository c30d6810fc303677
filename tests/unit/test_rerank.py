"""How many chunks are ranked again, within what time, and what is said when that does not go as it should."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from cross_encoder_reference import make_tiny_cross_encoder

from pinakes.core.errors import ModelUnavailable
from pinakes.core.records import Float32
from pinakes.models.rerankers import open_reranker
from pinakes.search.ranking.rerank import (
    Candidate,
    Complexity,
    ScoreCache,
    choose_pool,
    complexity_of,
    diversity_of,
    reach,
    rerank,
)
from pinakes.settings import RerankSettings

QUERY = "how are the signing keys rotated"
FIXED = RerankSettings(adaptive=False)


class Clock:
    """Stands still unless somebody works."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Numbers:
    """A reranker that reads the score in the chunk: ``7.5 whatever``. A call takes ``call_s``, a load ``load_s``."""

    fingerprint = "numbers/1"
    logits = True

    def __init__(self, clock: Clock, at_once: int = 4, call_s: float = 0.01, load_s: float = 0.0) -> None:
        self.clock, self.at_once, self.call_s, self.load_s = clock, at_once, call_s, load_s
        self.calls: list[int] = []

    def load(self) -> None:
        self.clock.now += self.load_s

    def score(self, query: str, chunks: Sequence[str], *, within_s: float | None = None) -> Float32:
        self.calls.append(len(chunks))
        self.clock.now += self.call_s
        return np.array([float(chunk.partition(" ")[0]) for chunk in chunks], np.float32)

    def close(self) -> None: ...


def candidates(count: int, cosine: float | None = 0.8) -> list[Candidate]:
    """The further back, the better; two of each document. Each two have this ``cosine``, None = no vectors."""
    return [Candidate(f"{number} chunk", number // 2, vector(number, cosine)) for number in range(count)]


def vector(number: int, cosine: float | None) -> Float32 | None:
    """Return one of up to 400 vectors of which each two have this cosine."""
    if cosine is None:
        return None
    made = np.zeros(401, np.float32)
    made[0], made[number + 1] = np.sqrt(cosine), np.sqrt(1 - cosine)
    return made


def test_the_best_go_first_and_the_others_stay_behind_them() -> None:
    clock = Clock()
    done = rerank(QUERY, candidates(30), Numbers(clock), FIXED, clock=clock)
    assert done.order.tolist() == [*range(19, -1, -1), *range(20, 30)]
    assert done.scores[:20].tolist() == list(range(20))
    assert np.isnan(done.scores[20:]).all()
    assert (done.report.scored, done.report.note, done.report.model) == (20, None, "numbers/1")


def test_equal_scores_keep_the_fused_order() -> None:
    clock = Clock()
    same = [Candidate(f"{score} x", n) for n, score in enumerate([1, 2, 1, 2, 1])]
    assert rerank(QUERY, same, Numbers(clock), FIXED, clock=clock).order.tolist() == [1, 3, 0, 2, 4]


@pytest.mark.parametrize("count", [0, 1, 3])
def test_few_candidates_are_all_ranked(count: int) -> None:
    clock = Clock()
    reranker = Numbers(clock)
    done = rerank(QUERY, candidates(count), reranker, RerankSettings(), clock=clock)
    assert reranker.calls == ([count] if count else [])
    assert done.order.tolist() == list(range(count))[::-1]
    assert (done.order.dtype, done.scores.dtype) == (np.int64, np.float32)
    assert (done.report.scored, done.report.note) == (count, None)


def test_when_the_time_is_over_what_is_scored_is_ranked_and_the_rest_stays() -> None:
    clock = Clock()
    reranker = Numbers(clock, at_once=4, call_s=0.06)
    done = rerank(QUERY, candidates(20), reranker, FIXED, clock=clock)
    assert reranker.calls == [4, 4, 4]
    assert done.order.tolist() == [*range(11, -1, -1), *range(12, 20)]
    assert done.report.note == "reranked only the best 12 of 20: the time of 200 ms was over (rerank.budget_ms)"
    assert done.report.milliseconds == pytest.approx(180)


def test_the_first_few_are_scored_whatever_they_take() -> None:
    clock = Clock()
    done = rerank(QUERY, candidates(20), Numbers(clock, call_s=9.0), FIXED, clock=clock)
    assert done.report.scored == 4


def test_loading_the_model_takes_nothing_from_the_time() -> None:
    clock = Clock()
    done = rerank(QUERY, candidates(20), Numbers(clock, load_s=3.0), FIXED, clock=clock)
    assert (done.report.scored, done.report.load_ms) == (20, 3000)


class Slow(Numbers):
    def score(self, query: str, chunks: Sequence[str], *, within_s: float | None = None) -> Float32:
        assert within_s == pytest.approx(0.2)
        raise TimeoutError


def test_a_reranker_that_gives_up_leaves_the_fused_order() -> None:
    clock = Clock()
    done = rerank(QUERY, candidates(20), Slow(clock, at_once=0), FIXED, clock=clock)
    assert done.order.tolist() == list(range(20))
    assert done.report.note == "not reranked: the time of 200 ms was over (rerank.budget_ms)"


class Missing(Numbers):
    def load(self) -> None:
        raise ModelUnavailable("The model is not installed.", hint="Install it.")


class Broken(Numbers):
    def score(self, query: str, chunks: Sequence[str], *, within_s: float | None = None) -> Float32:
        if self.calls:
            raise ZeroDivisionError("by zero")
        return super().score(query, chunks)


class Short(Numbers):
    def score(self, query: str, chunks: Sequence[str], *, within_s: float | None = None) -> Float32:
        return super().score(query, chunks)[1:]


class Undecided(Numbers):
    def score(self, query: str, chunks: Sequence[str], *, within_s: float | None = None) -> Float32:
        return super().score(query, chunks) * np.float32("nan")


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (Missing, "not reranked: The model is not installed. Install it."),
        (Broken, "not reranked: ZeroDivisionError: by zero"),
        (Short, "not reranked: ValueError: 4 chunks got (3,) scores, or some that are not numbers"),
        (Undecided, "not reranked: ValueError: 4 chunks got (4,) scores, or some that are not numbers"),
    ],
)
def test_whatever_a_reranker_does_wrong_the_fused_order_is_the_answer(
    kind: type[Numbers], said: str, caplog: pytest.LogCaptureFixture
) -> None:
    clock, memory = Clock(), ScoreCache(8)
    for _ in range(2):
        done = rerank(QUERY, candidates(20), kind(clock), FIXED, clock=clock, memory=memory)
        assert done.order.tolist() == list(range(20))
        assert np.isnan(done.scores).all()
        assert (done.report.note, done.report.scored, done.report.remembered) == (said, 0, False)
    assert all(record.levelno == logging.WARNING for record in caplog.records)
    assert len(caplog.records) == (0 if kind is Missing else 2)


@pytest.mark.parametrize(
    ("words", "cosine", "size", "reason"),
    [
        (1, 0.95, 10, "a short question: fewer than 5 words"),
        (4, 0.5, 10, "a short question: fewer than 5 words"),
        (5, 0.5, 15, "chunks that differ: mean pairwise cosine 0.50 < 0.7"),
        (10, 0.69, 15, "chunks that differ: mean pairwise cosine 0.69 < 0.7"),
        (7, 0.71, 20, "a question and chunks of the usual kind"),
        (7, 0.89, 20, "a question and chunks of the usual kind"),
        (7, 0.91, 25, "chunks much alike: mean pairwise cosine 0.91 > 0.9"),
        (7, None, 20, "a question and chunks of the usual kind"),
        (11, 0.95, 30, "a long question: more than 10 words"),
        (60, None, 30, "a long question: more than 10 words"),
    ],
)
def test_question_and_chunks_decide_how_many_are_ranked_again(
    words: int, cosine: float | None, size: int, reason: str
) -> None:
    pool = choose_pool(Complexity(words, 0, "keywords"), candidates(100, cosine), RerankSettings())
    assert (pool.size, pool.reason, pool.threshold) == (size, reason, 0.7)


@pytest.mark.parametrize(("pool", "reached"), [(1, 30), (50, 50)])
def test_the_pool_of_the_settings_is_that_of_the_usual_question_alone(pool: int, reached: int) -> None:
    given = RerankSettings(pool=pool)
    sizes = [choose_pool(Complexity(7, 0, "keywords"), candidates(200, c), given).size for c in (0.1, 0.8, 0.95)]
    assert sizes == [15, pool, 25]
    assert reach(given) == reached
    done = rerank(QUERY, candidates(200), Numbers(clock := Clock()), given, clock=clock)
    assert done.report.scored == pool


def test_without_rules_the_pool_is_that_of_the_settings() -> None:
    given = RerankSettings(pool=6, adaptive=False)
    assert (reach(given), choose_pool(Complexity(1, 0, "keywords"), candidates(50), given).size) == (6, 6)


def test_how_alike_the_chunks_are_is_told() -> None:
    first, second, third = (np.array(one, np.float32) for one in ([1, 0], [0.6, 0.8], [0.8, 0.6]))
    unknown = np.full(2, np.nan, np.float32)
    found = diversity_of(
        [Candidate("", "a", one) for one in (first, second, third, unknown)] + [Candidate("", "b"), Candidate("", "c")]
    )
    cosines = [0.6, 0.8, 0.96]
    assert found.mean_pairwise_cosine == pytest.approx(np.mean(cosines), abs=1e-6)
    assert found.variance_pairwise_cosine == pytest.approx(np.var(cosines), abs=1e-6)
    assert found.distinct_documents == pytest.approx(1 / 2)
    nothing = diversity_of([Candidate("", "a", first), Candidate("", "b", unknown)])
    assert (nothing.mean_pairwise_cosine, nothing.variance_pairwise_cosine) == (None, None)
    assert nothing.distinct_documents == 1.0


def test_only_the_first_ten_chunks_decide() -> None:
    far = [Candidate("0 x", number, vector(number, 0.1)) for number in range(40)]
    pool = choose_pool(Complexity(7, 0, "keywords"), [*candidates(10, 0.95), *far], RerankSettings())
    assert pool.size == 25


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("signing keys", Complexity(2, 0, "keywords")),
        ("How do I rotate keys?", Complexity(5, 0, "question")),
        ("tcp_rcv_established", Complexity(1, 1, "identifier")),
        (" CustomResourceDefinition ", Complexity(1, 1, "identifier")),
        ("does Berlin use GFP_KERNEL and CustomResourceDefinition", Complexity(6, 3, "question")),
        ("where is tcp_rcv_established called", Complexity(4, 1, "question")),
        ('the phrase "key rotation" in Berlin', Complexity(6, 2, "keywords")),
        ("", Complexity(0, 0, "keywords")),
    ],
)
def test_what_a_question_is_like_is_told_from_its_form(query: str, expected: Complexity) -> None:
    assert complexity_of(query) == expected


@pytest.mark.parametrize("adaptive", [True, False])
@pytest.mark.parametrize("call_s", [0.01, 0.06])
def test_every_page_is_cut_from_the_same_order(adaptive: bool, call_s: float) -> None:
    clock, memory, given = Clock(), ScoreCache(8), RerankSettings(adaptive=adaptive)
    reranker = Numbers(clock, call_s=call_s)
    first = rerank(QUERY, candidates(40), reranker, given, clock=clock, memory=memory)
    calls, reranker.call_s = len(reranker.calls), 0.001
    further = rerank(QUERY, candidates(80), reranker, given, clock=clock, memory=memory)
    assert further.order[:40].tolist() == first.order.tolist()
    assert further.order[40:].tolist() == list(range(40, 80))
    assert (len(reranker.calls), further.report.remembered) == (calls, True)
    assert further.report.note == first.report.note


def test_without_a_memory_pages_agree_as_well_while_there_is_time() -> None:
    clock = Clock()
    short, long = (rerank(QUERY, candidates(n), Numbers(clock), RerankSettings(), clock=clock) for n in (40, 400))
    assert long.order[:40].tolist() == short.order.tolist()


def test_the_memory_tells_questions_and_chunks_apart_and_forgets_the_oldest() -> None:
    clock, memory = Clock(), ScoreCache(2)
    reranker = Numbers(clock, at_once=0)
    for query, count in [("a", 20), ("b", 20), ("a", 20), ("a", 19), ("b", 20)]:
        rerank(query, candidates(count), reranker, FIXED, clock=clock, memory=memory)
    assert reranker.calls == [20, 20, 19, 20]


def test_the_report_is_plain_values() -> None:
    clock = Clock()
    detail = rerank(QUERY, candidates(40), Numbers(clock), RerankSettings(), clock=clock).report.detail()
    assert detail["complexity"] == {"token_count": 6, "entity_count": 0, "query_type": "question"}
    assert detail["diversity"] == {
        "mean_pairwise_cosine": pytest.approx(0.8),
        "variance_pairwise_cosine": pytest.approx(0),
        "distinct_documents": 0.5,
    }
    assert (detail["pool"], detail["scored"], detail["threshold"]) == (20, 20, 0.7)
    assert detail["reason"]


def test_a_real_cross_encoder_ranks_again(tmp_path: Path) -> None:
    folder = make_tiny_cross_encoder(tmp_path / "tiny")
    reranker = open_reranker(RerankSettings(model="acme/tiny", path=folder), tmp_path / "cache")
    texts = ["the lazy dog", "a quick fox", "search engines index it", "every word of it"]
    found = [Candidate(text, text) for text in texts]
    done = rerank("which dog jumps over the fox", found, reranker, RerankSettings(budget_ms=60_000))
    scores = reranker.score("which dog jumps over the fox", texts)
    assert done.order.tolist() == np.argsort(-scores, kind="stable").tolist()
    assert np.array_equal(done.scores, scores)
    assert done.report.model.startswith("onnx/acme/tiny@")
    reranker.close()


def test_without_weights_the_answer_is_the_fused_order_and_says_why(tmp_path: Path) -> None:
    done = rerank(QUERY, candidates(5), open_reranker(RerankSettings(), tmp_path), RerankSettings())
    assert done.order.tolist() == [0, 1, 2, 3, 4]
    assert done.report.note is not None
    assert done.report.note.startswith("not reranked: The model cross-encoder/ms-marco-MiniLM-L-6-v2 is not installed.")
    assert "pinakes model install --rerank" in done.report.note
