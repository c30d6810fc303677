"""Which chunks repeat another."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from pinakes.search.ranking.duplicates import repetitions

LICENCE = (
    "Licensed under the terms of the orchard licence, version two. You may not use this file except in compliance "
    "with the licence. You may obtain a copy of the licence at the gate. Unless required by law or agreed to in "
    "writing, fruit that is given away under the licence is given as it is, without warranties of any kind."
)
OTHER = "Pear trees are pruned in winter, never in the rain, with a saw that was sharpened the evening before."


def same(texts: Sequence[str], vectors: Sequence[Sequence[float]] | None = None) -> dict[int, int]:
    """Return row → row; without ``vectors`` all point the same way."""
    given = np.array(vectors if vectors is not None else [[1.0, 0.0]] * len(texts), np.float32)
    ids = [100 + row for row in range(len(texts))]

    def texts_of(wanted: Sequence[int]) -> dict[int, str]:
        return {one: texts[one - 100] for one in wanted}

    return {other - 100: one - 100 for other, one in repetitions(ids, given, texts_of).items()}


def test_the_same_words_in_another_dress_are_the_same() -> None:
    assert same([LICENCE, OTHER, "// " + LICENCE.upper().replace(". ", ".\n// ")]) == {2: 0}
    assert same(["TBD", "tbd.", "later"]) == {1: 0}


def test_a_copy_with_one_word_changed_is_the_same() -> None:
    assert same([LICENCE, LICENCE.replace("version two", "version three")]) == {1: 0}


def test_a_text_with_something_new_is_not_the_same() -> None:
    assert same([LICENCE, f"{LICENCE} {OTHER}"]) == {}
    half = LICENCE.replace("the licence", "this contract").replace("file", "tree").replace("given", "sold")
    assert same([LICENCE, half]) == {}


def test_a_part_of_a_better_hit_adds_nothing() -> None:
    assert same([f"{LICENCE} {OTHER}", LICENCE]) == {1: 0}


def test_short_texts_are_the_same_only_when_equal() -> None:
    assert same(["rotate the keys", "rotate the keys now"]) == {}


def test_all_copies_go_to_the_best_of_them() -> None:
    assert same([OTHER, LICENCE, LICENCE, OTHER, LICENCE]) == {2: 1, 3: 0, 4: 1}


def test_texts_far_apart_in_meaning_are_the_same_only_when_equal() -> None:
    apart = [[1.0, 0.0], [0.0, 1.0]]
    assert same([LICENCE, LICENCE.replace("version two", "version three")], apart) == {}
    assert same([LICENCE, LICENCE], apart) == {1: 0}
    assert same([], np.empty((0, 2), np.float32)) == {}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Invoice INV-7 of {}. " + LICENCE, "Invoice INV-8 of {}. " + LICENCE),
        (LICENCE + " Total due: 312.50 EUR", LICENCE + " Total due: 312.60 EUR"),
        (LICENCE + " Result of sample 12: 4.1 mmol/l", LICENCE + " Result of sample 12: 41 mmol/l"),
    ],
)
def test_texts_that_differ_in_numbers_are_never_the_same(one: str, other: str) -> None:
    assert same([one, other]) == {}


def test_chunks_without_a_vector_are_compared_with_all() -> None:
    nan = float("nan")
    assert same([LICENCE, OTHER, LICENCE], [[1.0, 0.0], [0.0, 1.0], [nan, nan]]) == {2: 0}


def test_a_chunk_that_was_deleted_meanwhile_is_the_same_as_nothing() -> None:
    assert repetitions([1, 2], np.ones((2, 1), np.float32), lambda _: {1: OTHER}) == {}


@pytest.mark.parametrize("words", [6000, 50_000])
def test_very_long_texts_are_the_same_only_when_equal(words: int) -> None:
    long = " ".join(f"w{number % 97}" for number in range(words))
    assert same([long, long]) == {1: 0}
    assert same([long, f"{long} end"]) == {}


def test_where_nothing_has_a_vector_words_alone_tell() -> None:
    assert same(["TBD", "later", "tbd."], [[], [], []]) == {2: 0}


def test_thousands_that_say_the_same_take_no_longer_than_reading_them() -> None:
    alike = same([OTHER, *[LICENCE] * 20_000, OTHER])  # all pairs would take gigabytes
    assert alike == {20_001: 0, **dict.fromkeys(range(2, 20_001), 1)}


def test_thousands_that_nearly_say_the_same_are_compared_with_one_of_them() -> None:
    alike = same([LICENCE, *(LICENCE.replace("orchard", f"orchard{'x' * (n % 50)}") for n in range(3000))])
    assert set(alike.values()) == {0}
    assert len(alike) == 3000
