"""The cache of the values that were used last, and long sequences in parts."""

from __future__ import annotations

from pinakes.core.batching import batches
from pinakes.core.lru_cache import LruCache


def test_the_value_that_was_not_used_for_longest_goes_first() -> None:
    kept = LruCache[str, int](2)
    kept.put("a", 1)
    kept.put("b", 2)
    assert kept.get("a") == 1
    kept.put("c", 3)
    assert (kept.get("a"), kept.get("b"), kept.get("c"), len(kept)) == (1, None, 3, 2)


def test_a_value_is_made_once() -> None:
    kept, numbers = LruCache[str, int](2), iter((1, 2))
    for _ in range(2):
        assert kept.get_or_make("a", lambda: next(numbers)) == 1


def test_parts_have_the_size_and_the_order_of_the_whole() -> None:
    assert list(batches(range(5), 2)) == [[0, 1], [2, 3], [4]]
    assert list(batches([], 2)) == []
