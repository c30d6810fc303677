"""Regular expressions that are compiled when they are first used."""

from __future__ import annotations

import re

import pytest

from pinakes.core.regexes import lazy


def test_one_does_what_a_compiled_one_does() -> None:
    ours, theirs = lazy(r"(?P<word>[a-z]+)\d", re.IGNORECASE), re.compile(r"(?P<word>[a-z]+)\d", re.IGNORECASE)
    text = "Ab1 cd2 e"
    for _ in range(2):
        assert ours.findall(text) == theirs.findall(text) == ["Ab", "cd"]
        assert ours.sub("-", text) == theirs.sub("-", text)
        assert [one.span("word") for one in ours.finditer(text)] == [(0, 2), (4, 6)]
    assert (ours.groupindex, ours.groups, ours.pattern, ours.flags) == (
        theirs.groupindex,
        theirs.groups,
        theirs.pattern,
        theirs.flags,
    )


def test_one_that_is_wrong_fails_at_its_first_use() -> None:
    wrong = lazy("(")
    with pytest.raises(re.error):
        wrong.search("")
