"""Agreement of rankings: by hand, against scipy, and against the definition summed up far down."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import pytest
from scipy import stats

from pinakes.evaluation.agreement import kendall_tau, overlap, places, rank_biased_overlap, unique


def order(ranking: Sequence[str]) -> dict[str, float]:
    return places(list(ranking), ())


@pytest.mark.parametrize(
    ("a", "b", "k", "expected"),
    [
        ("abcde", "abcde", 5, 1.0),
        ("abcde", "edcba", 5, 1.0),
        ("abcde", "abcxy", 5, 0.6),
        ("abcde", "abcxy", 3, 1.0),
        ("abc", "abcxy", 5, 0.6),
        ("abc", "abc", 5, 1.0),
        ("abcdefg", "ab", 5, 0.4),
        ("abc", "", 5, 0.0),
        ("", "", 5, 1.0),
    ],
)
def test_overlap_is_the_share_of_the_longer_head_that_both_have(a: str, b: str, k: int, expected: float) -> None:
    assert overlap(a, b, k) == pytest.approx(expected)
    assert overlap(b, a, k) == pytest.approx(expected)


def test_kendalls_tau_of_small_rankings_by_hand() -> None:
    assert kendall_tau(order("abcd"), order("abcd")) == 1
    assert kendall_tau(order("abcd"), order("dcba")) == -1
    # abc against acb: of three pairs one is turned round, (2 - 1) / 3.
    assert kendall_tau(order("abc"), order("acb")) == pytest.approx(1 / 3)
    # x and y are not common: what remains is abc against acb.
    assert kendall_tau(order("axbc"), order("acyb")) == pytest.approx(1 / 3)
    # b and c tied in the first: pairs ab, ac agree, bc is tied; 2 / sqrt(2 * 3).
    assert kendall_tau({"a": 1, "b": 2, "c": 2}, order("abc")) == pytest.approx(2 / math.sqrt(6))


def test_kendalls_tau_is_not_defined_without_two_common_documents_or_when_all_are_tied() -> None:
    assert kendall_tau(order("abc"), order("xyz")) is None
    assert kendall_tau(order("abc"), order("cxy")) is None
    assert kendall_tau({"a": 1, "b": 1}, order("ab")) is None


def test_kendalls_tau_agrees_with_scipy_also_where_documents_are_tied() -> None:
    chance = random.Random(5)
    for _ in range(200):
        names = [str(number) for number in range(chance.randint(2, 15))]
        a = {name: float(chance.randint(1, 8)) for name in names}
        b = {name: float(chance.randint(1, 8)) for name in names}
        if len(set(a.values())) == 1 or len(set(b.values())) == 1:
            continue
        expected = stats.kendalltau(list(a.values()), [b[name] for name in a]).statistic
        assert kendall_tau(a, b) == pytest.approx(expected)


def test_documents_with_equal_scores_share_a_place() -> None:
    assert places("abcd", (3.0, 2.0, 2.0, 1.0)) == {"a": 1, "b": 2, "c": 2, "d": 4}
    assert places("ab", ()) == {"a": 1, "b": 2}


def test_rank_biased_overlap_of_small_rankings_by_hand() -> None:
    assert rank_biased_overlap("abc", "abc") == pytest.approx(1)
    assert rank_biased_overlap("abc", "xyz") == 0
    assert rank_biased_overlap("", "") == 1
    assert rank_biased_overlap("abc", "") == 0
    # ab against ba: no agreement at depth 1, full from depth 2 on: p.
    assert rank_biased_overlap("ab", "ba", 0.9) == pytest.approx(0.9)
    # a against ax: 1 at depth 1; at depth 2 half is there and the rest taken to agree.
    assert rank_biased_overlap("a", "ax", 0.5) == pytest.approx(1.0)
    # abc against axc, p = 0.5: agreements 1, 1/2, 2/3, then 2/3.
    assert rank_biased_overlap("abc", "axc", 0.5) == pytest.approx(0.5 + 0.25 / 2 + 0.125 * 2 / 3 + 0.125 * 2 / 3)


def test_rank_biased_overlap_agrees_with_equation_32_of_its_paper() -> None:
    chance = random.Random(7)
    for _ in range(200):
        documents = [str(number) for number in range(30)]
        a = chance.sample(documents, chance.randint(1, 20))
        b = chance.sample(documents, chance.randint(1, 20))
        p = chance.choice((0.5, 0.9, 0.98))
        assert rank_biased_overlap(a, b, p) == pytest.approx(equation_32(a, b, p))
        assert rank_biased_overlap(a, b, p) == rank_biased_overlap(b, a, p)


def test_rank_biased_overlap_agrees_with_its_definition_summed_over_an_unending_list() -> None:
    a, b, p = list("abcdef"), list("badcgh"), 0.9
    shares = [len(set(a[:d]) & set(b[:d])) / d for d in range(1, 7)]
    shares += [shares[-1]] * 2000
    assert rank_biased_overlap(a, b, p) == pytest.approx((1 - p) * sum(x * p**d for d, x in enumerate(shares)))


def test_what_only_one_side_found_keeps_its_order() -> None:
    assert unique("abcde", "cxyza", 5) == ("b", "d", "e")
    assert unique("abcde", "cxyza", 3) == ("a", "b")


def equation_32(a: Sequence[str], b: Sequence[str], p: float) -> float:
    short, long = sorted((a, b), key=len)
    s, end = len(short), len(long)

    def common(depth: int) -> int:
        return len(set(short[:depth]) & set(long[:depth]))

    first = sum(common(d) / d * p**d for d in range(1, end + 1))
    second = sum(common(s) * (d - s) / (s * d) * p**d for d in range(s + 1, end + 1))
    return (1 - p) / p * (first + second) + ((common(end) - common(s)) / end + common(s) / s) * p**end
