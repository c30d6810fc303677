"""Which chunks make the head of an answer, when it is to be diverse."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from pinakes.search.ranking.diversity import chosen


def order(values: Sequence[str]) -> list[int]:
    """Return the order of chunks; "" is one without a value."""
    return chosen([(value,) if value else () for value in values]).tolist()


def test_no_value_has_more_than_one_of_the_first_five() -> None:
    assert order("aaabcdea") == [0, 3, 4, 5, 6, 1, 2, 7]
    assert order("abcdeffg") == [0, 1, 2, 3, 4, 5, 6, 7]


def test_where_there_are_no_others_the_order_stays() -> None:
    assert order("aaaaaa") == [0, 1, 2, 3, 4, 5]
    assert order("aaab") == [0, 3, 1, 2]
    assert order("aabb") == [0, 2, 1, 3]


def test_chunks_without_a_value_are_never_too_many() -> None:
    assert order(["a", "", "", "a", "", "a"]) == [0, 1, 2, 4, 3, 5]


def test_each_value_of_a_chunk_counts() -> None:
    assert chosen([("a", "b"), ("b",), ("c",)]).tolist() == [0, 2, 1]


@given(st.lists(st.sampled_from(["a", "b", "c", "d", "e", "f", ""]), max_size=30))
def test_every_chunk_stays_and_values_differ_where_they_can(values: list[str]) -> None:
    found = order(values)
    assert sorted(found) == list(range(len(values)))
    head = Counter(values[row] for row in found[:5] if values[row])
    if values.count("") + len(set(filter(None, values))) >= 5:
        assert max(head.values(), default=0) <= 1
