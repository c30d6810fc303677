"""What is said of signs in a query that no word stands for."""

from __future__ import annotations

import pytest

from pinakes.search.query.understanding import unsearchable_signs


@pytest.mark.parametrize("query", ["?", "🦡", "§", "→ ←", "...", "🦡 🐟 !"])
def test_a_query_without_a_word_is_told_so(query: str) -> None:
    [by_words] = unsearchable_signs(query, "keyword")
    assert query.split()[0] in by_words
    assert "nothing can be found by words" in by_words
    assert "by meaning alone" in unsearchable_signs(query, "hybrid")[0]


@pytest.mark.parametrize(
    "query",
    [
        *("badger 🦡", "section § of the act", "price in € today", "laptop @", "5 % off"),
        *("what does != mean", "operator ->", "x => y", "std :: vector", "a && b", "x = y", "# title", "a <> b"),
        *("great👍", "2500€", "€2,500", "$12 each", "19%", "4 °C", "-20°C", "5 × 3"),
    ],
)
def test_signs_beside_words_are_named(query: str) -> None:
    [said] = unsearchable_signs(query, "hybrid")
    assert said.startswith("not searched for by words: ")


@pytest.mark.parametrize(
    "query",
    [
        "",
        "what is a badger?",
        "C++",
        "C",
        "IT",
        "vitamin A",
        "a - b",
        "“quoted” – words…",
        "魚",
        "(see below)",
        "this / that",
        "so ... no",
        "R & D",
    ],
)
def test_of_words_and_punctuation_nothing_is_said(query: str) -> None:
    assert unsearchable_signs(query, "hybrid") == []


def test_what_is_said_is_short_however_many_signs_there_are() -> None:
    assert len(unsearchable_signs(" ".join("→" * 900), "keyword")[0]) < 250
    assert len(unsearchable_signs("→" * 2000, "keyword")[0]) < 250
    assert unsearchable_signs("\x01\x02", "keyword")
