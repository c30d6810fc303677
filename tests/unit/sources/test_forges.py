"""Links to files at a commit, as each forge writes them."""

from __future__ import annotations

import pytest

from pinakes.core.errors import InvalidSetting
from pinakes.sources.forges import link

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.mark.parametrize(
    ("repository", "expected"),
    [
        ("https://github.com/o/r", f"https://github.com/o/r/blob/{COMMIT}/a%20b/c.md#L3-L7"),
        ("https://github.com/o/r.git", f"https://github.com/o/r/blob/{COMMIT}/a%20b/c.md#L3-L7"),
        ("git@github.com:o/r.git", f"https://github.com/o/r/blob/{COMMIT}/a%20b/c.md#L3-L7"),
        ("ssh://git@gitlab.com:2222/g/s/r.git", f"https://gitlab.com/g/s/r/-/blob/{COMMIT}/a%20b/c.md#L3-7"),
        ("https://gitlab.example.org:8443/r", f"https://gitlab.example.org:8443/r/-/blob/{COMMIT}/a%20b/c.md#L3-7"),
        ("https://bitbucket.org/o/r", f"https://bitbucket.org/o/r/src/{COMMIT}/a%20b/c.md#lines-3:7"),
        ("https://codeberg.org/o/r", f"https://codeberg.org/o/r/src/commit/{COMMIT}/a%20b/c.md#L3-L7"),
        ("https://git.sr.ht/~o/r", f"https://git.sr.ht/~o/r/tree/{COMMIT}/item/a%20b/c.md#L3-7"),
        ("https://git.example.org/r.git", ""),
        ("/srv/git/r.git", ""),
        ("file:///srv/git/r.git", ""),
    ],
)
def test_known_forges_have_links_with_lines(repository: str, expected: str) -> None:
    assert link(repository, COMMIT, "a b/c.md", (3, 7)) == expected


def test_lines_that_are_not_those_of_the_file_are_left_out() -> None:
    assert link("https://github.com/o/r", COMMIT, "a.yaml") == f"https://github.com/o/r/blob/{COMMIT}/a.yaml"


def test_a_template_stands_for_forges_that_are_not_known() -> None:
    template = "{repository}/tree/{path}?id={commit}#n{first}"
    expected = f"https://git.example.org/r/tree/a.md?id={COMMIT}#n3"
    assert link("https://git.example.org/r.git", COMMIT, "a.md", (3, 7), template) == expected
    assert link("/srv/r.git", COMMIT, "a.md", (3, 7), "https://cgit.example.org/{path}#n{first}").endswith("/a.md#n3")
    with pytest.raises(InvalidSetting, match="It may name"):
        link("https://git.example.org/r", COMMIT, "a.md", (3, 7), "{nothing}")
    with pytest.raises(InvalidSetting):
        link("https://git.example.org/r", COMMIT, "a.md", (3, 7), "{path.__class__}")


@pytest.mark.parametrize("path", ["a?b#c.md", "<script>.md", "ä.md", "..%2f.md"])
def test_strange_paths_cannot_leave_their_place(path: str) -> None:
    made = link("https://github.com/o/r", COMMIT, path, (1, 1))
    assert made.startswith(f"https://github.com/o/r/blob/{COMMIT}/")
    assert made.count("#") == 1
    assert "?" not in made
    assert "<" not in made


def test_what_is_no_commit_and_what_is_no_web_address_has_no_link() -> None:
    assert link("https://github.com/o/r", "main;rm", "a.md", (1, 1)) == ""
    assert link("https://x.example.org/r", COMMIT, "a.md", (1, 1), "javascript:alert({first})") == ""
