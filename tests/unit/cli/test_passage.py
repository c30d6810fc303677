from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pinakes.cli.passage import highlighted, passage
from pinakes.cli.screen import printable

TEXT = "\n".join(f"line {number} of nothing" for number in range(20)) + "\nthe apples are here\n\nand the end"


def test_the_lines_with_the_words_are_shown():
    assert "the apples are here" in passage(TEXT, "apple", 80)
    assert passage(TEXT, "zebra", 80) == ["line 0 of nothing", "line 1 of nothing", "line 2 of nothing"]


def test_code_keeps_its_inner_indentation():
    assert passage("    def f():\n        return apple\n", "apple", 80) == ["def f():", "    return apple"]


def test_words_are_marked_in_any_form_the_search_knows():
    marked = highlighted("Apples and an apple; GitHub's CustomResourceDefinition", "apple resource")
    assert [marked.plain[span.start : span.end] for span in marked.spans] == [
        "Apples",
        "apple",
        "CustomResourceDefinition",
    ]


@given(st.text(), st.text(), st.integers(20, 120))
def test_any_passage_fits_its_frame(text, query, width):
    shown = passage(text, query, width)
    assert 1 <= len(shown) <= 3
    assert all(len(line) <= width and "\n" not in line for line in shown)


@given(st.text())
def test_nothing_printable_steers_the_terminal(text):
    assert not any(ord(char) < 32 and char not in "\n\t" for char in printable(text))
    assert not {"\x1b", "\x9b", "\u202e"} & set(printable(text))
