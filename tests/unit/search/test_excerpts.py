"""Which lines of a chunk are shown, and which words in it are marked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from linear import assert_linear

from pinakes.search.query.words import places_in
from pinakes.search.results.excerpts import Excerpt, excerpt
from pinakes.testing import ODD_QUERIES
from pinakes.text.analysis import Analyzer

TEXT = "\n".join(f"line {number} of nothing" for number in range(20)) + "\nthe apples are here\n\nand the end"


def shown_of(text: str, query: str, most: int, **how: object) -> Excerpt:
    return excerpt(text, places_in(text, query), most=most, **how)  # type: ignore[arg-type]


def lines(text: str, query: str, most: int = 5, **how: object) -> list[tuple[int, str]]:
    return [(line.number, line.text) for line in shown_of(text, query, most, **how).lines]


def marked(text: str, query: str) -> list[str]:
    return [text[start:end] for start, end in shown_of(text, query, most=5).highlights]


def test_the_lines_with_the_words_are_shown_with_their_numbers() -> None:
    assert (21, "the apples are here") in lines(TEXT, "apple")
    assert (121, "the apples are here") in lines(TEXT, "apple", first_line=101)


def test_without_any_word_of_the_query_the_chunk_is_shown_from_its_beginning() -> None:
    assert lines(TEXT, "zebra") == [(1, "line 0 of nothing"), (2, "line 1 of nothing"), (3, "line 2 of nothing")]


def test_together_the_lines_have_as_many_words_of_the_query_as_can_be() -> None:
    text = "\n".join(["alpha alpha", "alpha", "alpha", "beta", "nothing", "gamma", "delta", "epsilon", "zeta"])
    shown = lines(text, "alpha beta gamma delta epsilon zeta")
    assert [number for number, _ in shown] == [1, 4, 6, 7, 8]
    assert lines(text, "alpha beta gamma", most=2) == [(1, "alpha alpha"), (4, "beta")]


def test_lines_keep_the_order_of_the_text() -> None:
    text = "one beta\nnothing\nnothing\nnothing\nalpha gamma delta"
    assert [number for number, _ in lines(text, "alpha beta gamma delta")][:1] == [1]
    numbers = [number for number, _ in lines(TEXT, "end apple 12")]
    assert numbers == sorted(numbers)


def test_no_more_lines_are_shown_than_asked_for() -> None:
    many = "\n".join(f"word{number}" for number in range(20))
    query = " ".join(f"word{number}" for number in range(20))
    assert [len(lines(many, query, most)) for most in (0, 1, 5, 10)] == [0, 1, 5, 10]


def test_headings_that_are_said_anyway_and_lines_without_words_are_left_out() -> None:
    text = "# Pears\n\n```\n---\npears ripen late\n```\nin autumn"
    assert lines(text, "pear", headings={"Pears"}) == [(5, "pears ripen late"), (7, "in autumn")]
    assert lines("# Pears\n", "pear", headings={"Pears"}) == [(1, "# Pears")]


def test_code_keeps_its_indentation() -> None:
    text = "    def f():\n        return apple\n"
    assert lines(text, "apple f") == [(1, "    def f():"), (2, "        return apple")]


def test_of_a_long_line_the_part_with_most_words_is_shown() -> None:
    filler = "filler words that say nothing " * 20
    text = f"{filler}apple {filler}the apple trees of the orchard stand here {filler}"
    [line] = shown_of(text, "apple orchard trees", most=5).lines
    assert len(line.text) <= 202
    assert line.text[0] == line.text[-1] == "…"
    assert [line.text[start:end] for start, end in line.marks] == ["apple", "trees", "orchard"]


def test_words_are_marked_in_any_form_that_the_search_knows() -> None:
    text = "Apples and an apple; GitHub's CustomResourceDefinition, pineapple, apple-tree"
    assert marked(text, "apple resource") == ["Apples", "apple", "CustomResourceDefinition", "apple-tree"]


def test_in_scripts_without_spaces_only_what_matches_is_marked() -> None:
    assert marked("東京都の人口は多い", "人口") == ["人口"]
    assert marked("Kubernetesの設定を変更する", "kubernetes 設定") == ["Kubernetes", "設定"]


@pytest.mark.parametrize(
    ("text", "query", "found"),
    [
        ("the con\u00adfig\u00adu\u00adra\u00adtion file", "configuration", ["con\u00adfig\u00adu\u00adra\u00adtion"]),
        ("a zero\u200bwidth space", "zerowidth", ["zero\u200bwidth"]),
        ("a well\u2011known name", "well-known", ["well\u2011known"]),
        ("chaque étudiant", "etudiant", ["étudiant"]),
        ("each etudiant", "étudiant", ["etudiant"]),
        ("two indices", "index", ["indices"]),
        ("vitamin C, C++ and cc; xC", "vitamin c", ["vitamin", "C"]),
        ("C and C++ and C#", "C++", ["C++"]),
        ("It is the IT of it", "IT policy", ["IT"]),
        ("鳥は魚を食べる", "魚", ["魚"]),
    ],
)
def test_marked_is_the_word_as_it_stands_in_the_text(text: str, query: str, found: list[str]) -> None:
    assert marked(text, query) == found


def test_fragments_of_words_without_spaces_are_not_marked_in_thai() -> None:
    assert marked("ปลากินแมลง", "ปลา") == ["ปลา"]
    assert marked("ลากของ", "ปลา") == []


def test_marks_count_in_the_text_as_it_is_written() -> None:
    text = "ﬁle … the \uff21\uff30\uff29 of the file"
    assert marked(text, "file api") == ["ﬁle", "\uff21\uff30\uff29", "file"]


def test_the_terms_that_a_chunk_has_are_told() -> None:
    assert [terms for _, terms in places_in(TEXT, "apples pears")] == [{"appl"}]


@given(st.text(), st.text(), st.integers(0, 10))
def test_any_chunk_and_query_can_be_shown(text: str, query: str, most: int) -> None:
    shown = shown_of(text, query, most=most)
    assert len(shown.lines) <= most
    assert all("\n" not in line.text and len(line.text) <= 202 for line in shown.lines)
    assert all(0 <= start < end <= len(line.text) for line in shown.lines for start, end in line.marks)
    rows = text.split("\n")
    assert all(line.text.strip("…") in rows[line.number - 1] for line in shown.lines)


WORDS = st.lists(st.sampled_from(["apple", "Apples", "pear-tree", "x.y", "tree", "(tree)", "-", "'s", "GitHub", "de"]))


@given(WORDS, st.sampled_from(["", " ", "\n", "-", "."]), st.sampled_from(["apple", "tree", "hub", "x y"]))
def test_exactly_those_words_are_marked_that_give_terms_of_the_query(words: list[str], gap: str, query: str) -> None:
    text, analyzer = gap.join(words), Analyzer()
    wanted = set(analyzer.query_terms(query))
    parts, end = [], 0
    for start, stop in shown_of(text, query, most=3).highlights:
        assert start >= end
        assert wanted & set(analyzer.terms(text[start:stop]))
        parts.append(text[end:start])
        end = stop
    left = "\0".join([*parts, text[end:]])
    assert not wanted & set(analyzer.terms(left.replace("\0", " \0 ")))


@pytest.mark.parametrize("query", ODD_QUERIES, ids=lambda query: repr(query[:12]))
def test_odd_queries_mark_something_or_nothing(query: str) -> None:
    shown = shown_of(f"{query[:500]}\nmore", query, most=5)
    assert shown.lines or not query.strip()


@pytest.mark.parametrize(
    "unit",
    ["apple ", "apple-", "x", "a b\n", "apple\n", "東京"],
    ids=["words", "compound", "one word", "many lines", "many short lines", "no spaces"],
)
def test_large_chunks_take_linear_time(unit: str) -> None:
    assert_linear(
        lambda text: shown_of(text, "apple tree 東京", most=10), lambda chars: unit * (chars // len(unit)), 120_000
    )
