"""Which chunks make the head of an answer, when it is to be diverse."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pinakes.search.ranking.diversity import chosen
from pinakes.settings import SearchSettings


def order(values: Sequence[str]) -> list[int]:
    """Return the order of chunks whose scores fall; "" is one without a value."""
    scores = np.linspace(1, 0.5, len(values), dtype=np.float32)
    given = [(value,) if value else () for value in values]
    return [int(one) for one in chosen(scores, given, None, SearchSettings())]


def by_likeness(vectors: Sequence[Sequence[float]], scores: Sequence[float], weight: float) -> list[int]:
    given = np.array(vectors, np.float32)
    settings = SearchSettings(mmr_lambda=weight)
    return [int(one) for one in chosen(np.array(scores, np.float32), [()] * len(scores), given, settings)]


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
    given = [("a", "b"), ("b",), ("c",)]
    assert chosen(np.array([1, 0.9, 0.8], np.float32), given, None, SearchSettings()).tolist() == [0, 2, 1]


@given(st.lists(st.sampled_from(["a", "b", "c", "d", "e", "f", ""]), max_size=30))
def test_every_chunk_stays_and_values_differ_where_they_can(values: list[str]) -> None:
    found = order(values)
    assert sorted(found) == list(range(len(values)))
    head = Counter(values[row] for row in found[:5] if values[row])
    if values.count("") + len(set(filter(None, values))) >= 5:
        assert max(head.values(), default=0) <= 1


def test_a_copy_of_a_better_chunk_gives_way_to_another() -> None:
    vectors = [[1, 0], [1, 0], [0, 1]]
    assert by_likeness(vectors, [0.9, 0.85, 0.7], 0.5) == [0, 2, 1]
    assert by_likeness(vectors, [0.9, 0.85, 0.1], 0.9) == [0, 1, 2]


def test_relevance_alone_keeps_the_order_and_likeness_alone_ignores_it() -> None:
    vectors = [[1, 0], [1, 0], [0, 1]]
    assert by_likeness(vectors, [0.9, 0.8, 0.7], 1.0) == [0, 1, 2]
    assert by_likeness(vectors, [0.9, 0.8, 0.01], 0.0) == [0, 2, 1]


def test_a_chunk_without_a_vector_is_like_none() -> None:
    assert by_likeness([[1, 0], [1, 0], [np.nan, np.nan]], [0.9, 0.85, 0.7], 0.5) == [0, 2, 1]
    assert by_likeness([[np.nan, np.nan], [1, 0], [1, 0]], [0.9, 0.8, 0.7], 0.5) == [0, 1, 2]
