"""Patterns of .gitignore: they mean what pathspec makes of them, and take a time that is bounded."""

from __future__ import annotations

import time
import warnings

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from pathspec import GitIgnoreSpec

from pinakes.core.gitignore import MOST_CHARS, MOST_WILDCARDS, compiled

NAMES = ("a", "b", "ab", "abab", "foo", "a.c", "x[1]", "aab", ".a", "bar baz", "aXb")
# Without negated classes: those of pathspec fit a slash, those of git do not.
PIECES = ("a", "b", "*", "?", "[ab]", ".c", "ab", "foo", r"\*", "[a-c]", "[]a]", "**", "X", r"\[")
names = st.lists(st.sampled_from(PIECES), min_size=1, max_size=5).map("".join) | st.sampled_from(("**", "*"))
lines = st.builds(
    lambda sign, top, parts, end: sign + top + "/".join(parts) + end,
    st.sampled_from(("", "", "!")),
    st.sampled_from(("", "/")),
    st.lists(names, min_size=1, max_size=5),
    st.sampled_from(("", "", "/")),
)
paths = st.lists(st.sampled_from(NAMES), min_size=1, max_size=6).map("/".join)


def fits(line: str, path: str, inside: str = "") -> bool:
    return compiled(line, inside).match_file(path) is not None


@settings(max_examples=150)
@given(lines, st.lists(paths, min_size=1, max_size=10))
def test_a_pattern_means_what_pathspec_makes_of_it(line: str, asked: list[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        [theirs] = GitIgnoreSpec.from_lines([line], backend="simple").patterns
    assume(theirs.include is not None)
    ours = compiled(line)
    assert ours.include == theirs.include
    for path in asked:
        one, other = ours.match_file(path), theirs.match_file(path)
        assert (one is None) == (other is None), (line, path, ours.regex, theirs.regex)
        if one and other:  # pathspec goes by whether the path itself or a folder around it fits
            assert bool(one.match.groupdict().get("ps_d")) == bool(other.match.groupdict().get("ps_d")), (line, path)


@pytest.mark.parametrize(
    ("line", "path", "expected"),
    [
        ("a[!b]c", "a/c", False),
        ("a[!b]c", "axc", True),
        ("[^a]b", "xb", True),
        ("**", "a\nb", True),
        ("*.md", "a\nb.md", True),
        ("a**b", "a-b", True),
        ("a**b", "a/b", False),
        ("**/", "a", False),
        ("**/", "a/b", True),
        (r"a\ ", "a ", True),
        ("a ", "a", True),
        ("[[:]", ":", True),
        ("é?", "éa", True),
        ("*a", "\udcffa", True),
    ],
)
def test_signs_mean_what_git_says(line: str, path: str, expected: bool) -> None:
    assert fits(line, path) is expected


@pytest.mark.parametrize(
    ("line", "path", "expected"),
    [
        ("*.md", "docs/[a]/b/c.md", True),
        ("/c.md", "docs/[a]/b/c.md", False),
        ("/c.md", "docs/[a]/c.md", True),
        ("b/", "docs/[a]/b/c.md", True),
        ("**/c.md", "docs/a/c.md", False),
        ("**", "docs/[a]/c", True),
        ("**", "docs/b", False),
    ],
)
def test_a_pattern_holds_in_its_folder(line: str, path: str, expected: bool) -> None:
    assert fits(line, path, "docs/[a]") is expected


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("", "matches nothing"),
        ("  ", "matches nothing"),
        ("!", "matches nothing"),
        ("/", "matches nothing"),
        ("# words", "matches nothing"),
        ("a\\", "behind the backslash"),
        ("a/[b", r"\[ without its \]"),
        ("[!]", r"\[ without its \]"),
        ("[z-a]", "class that is none"),
        ("a" * (MOST_CHARS + 1), f"{MOST_CHARS + 1} characters, more than {MOST_CHARS}"),
        ("*a" * (MOST_WILDCARDS + 1), f"{MOST_WILDCARDS + 1} wildcards, more than {MOST_WILDCARDS}"),
        ("**/a/" * (MOST_WILDCARDS + 1) + "b", "wildcards, more than"),
    ],
)
def test_what_is_no_pattern_or_too_much_is_refused_in_words(line: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        compiled(line)


@pytest.mark.parametrize(
    "line",
    [
        *("*a" * 32, "a*" * 31 + "b", "*" + "?" * 31 + "b", "*" + "a?" * 31 + "c", "?a*b" * 10 + "x"),
        *("**/a/" * 31 + "b", "**/*a*/" * 10 + "b", "**/a/a/" * 30 + "b/**/c", "*[ab]" * 16 + "q"),
        *("*" + "a" * 400 + "*" + "a" * 400 + "b", "*" + ("abaababab*") * 31 + "z", "*" * 900 + "b"),
    ],
)
def test_no_pattern_tries_all_ways_to_fit(line: str) -> None:
    """A plain translation of most of these takes longer than the world has stood."""
    pattern = compiled(line)
    start = time.process_time()
    for path in ("a" * 250, "ab" * 125, "a/" * 500 + "c", "aab/" * 250 + "c", "a" * 4000, "abaab" * 800):
        pattern.match_file(path)
    assert time.process_time() - start < 5
