"""Words of a text are found whatever signs stand around them."""

from __future__ import annotations

import pytest

from pinakes.text.analysis import english


@pytest.mark.parametrize("before", ["", "(", "**", "<", "{", "|", '"', "=", "([`"])
@pytest.mark.parametrize("behind", ["", ".", ").", "**.", "...", ">", "}", "|", "=", "`]),"])
def test_a_word_is_found_between_signs(before: str, behind: str) -> None:
    found = english().places(f"see {before}Policies{behind} here", frozenset(["polici"]))
    start = len(f"see {before}")
    assert found == [((start, start + len("Policies")), frozenset(["polici"]))]


@pytest.mark.parametrize(("text", "term"), [("use .NET.", ".net"), ("in C++, too", "c++"), ("by A*.", "a*")])
def test_signs_that_are_part_of_a_name_stay_with_it(text: str, term: str) -> None:
    assert [terms for _, terms in english().places(text, frozenset([term]))] == [frozenset([term])]
