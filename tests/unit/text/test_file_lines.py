"""Lines of a text by their numbers in the file."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinakes.text.file_lines import FileLines

TEXT = "two\nthree\nthree, too\nsix\n"
NUMBERS = (2, 3, 3, 6)


@pytest.mark.parametrize(("word", "number"), [("two", 2), ("three", 3), ("too", 3), ("six", 6)])
def test_a_line_has_the_number_that_it_has_in_the_file(word: str, number: int) -> None:
    assert FileLines(TEXT, NUMBERS).number_at(TEXT.index(word)) == number


@pytest.mark.parametrize(
    ("first", "last", "text"),
    [(1, 2, "two\n"), (3, 3, "three\nthree, too\n"), (4, 5, ""), (3, 99, "three\nthree, too\nsix\n"), (7, 9, "")],
)
def test_a_range_of_lines_is_one_of_the_file(first: int, last: int, text: str) -> None:
    start, end = FileLines(TEXT, NUMBERS).span(first, last)
    assert TEXT[start:end] == text


def test_a_place_counts_characters_from_the_first_line_of_its_number() -> None:
    lines = FileLines(TEXT, NUMBERS)
    assert lines.place(TEXT.index(", too")) == (3, len("three\nthree"))
    assert TEXT[lines.beginning(3) + len("three\nthree") :].startswith(", too")


@given(st.text(alphabet="a\n", max_size=40), st.integers(1, 9))
def test_without_numbers_lines_count_up(text: str, first: int) -> None:
    lines = FileLines(text, (), first)
    rows = text.split("\n")
    assert lines.total == first + max(0, len(rows) - 1 - (len(rows) > 1 and not rows[-1]))
    for offset in range(len(text)):
        assert lines.number_at(offset) == first + text.count("\n", 0, offset)
    start, end = lines.span(first, lines.total)
    assert text[start:end] == text


def test_a_long_text_takes_linear_time() -> None:
    start = time.process_time()
    FileLines("a\n" * 1_000_000, range(1, 1_000_001)).span(5, 500_000)
    assert time.process_time() - start < 5
