"""Include, exclude and ignore patterns mean what they mean to git."""

from __future__ import annotations

import os
import random
import subprocess
from pathlib import Path

import pytest

from pinakes.core.errors import InvalidSetting
from pinakes.settings import SourceSettings
from pinakes.sources.folder import FolderSource
from pinakes.sources.globs import DEFAULT_EXCLUDES, Rules, Tally

NO_CONFIG = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}


@pytest.mark.parametrize(
    ("include", "path", "wanted"),
    [
        ("*.md", "a/b.md", True),
        ("**/*.md", "b.md", True),
        ("**/*.md", "a/b/c.md", True),
        ("**/*.md", "a/b.txt", False),
        ("docs/", "docs/a.txt", True),
        ("docs/", "x/docs/a.txt", True),
        ("docs/", "docs", False),
        ("/docs/", "x/docs/a.txt", False),
        ("docs/*.md", "docs/a.md", True),
        ("docs/*.md", "x/docs/a.md", False),
        ("docs/**", "docs/a/b.txt", True),
        ("./docs/*.md", "docs/a.md", True),
        ("*.{md,txt}", "a.txt", True),
        ("{docs,notes}/**/*.{md,rst}", "notes/x/y.rst", True),
        ("{docs,notes}/**/*.{md,rst}", "other/y.rst", False),
        ("[ab].md", "b.md", True),
        ("*.MD", "a.md", False),
    ],
)
def test_an_include_pattern_asks_for_the_files_git_would_match(include: str, path: str, wanted: bool) -> None:
    assert Rules([include]).includes(path) is wanted


def test_a_later_include_pattern_takes_back_what_an_earlier_one_asked_for() -> None:
    rules = Rules(["**/*.md", "!drafts/"])
    assert rules.includes("a.md")
    assert not rules.includes("drafts/a.md")


@pytest.mark.parametrize("pattern", ["", "   ", "!", "/", "[a", "[z-a]", "#comment", "a\\"])
def test_a_pattern_that_could_never_match_is_refused_with_its_text(pattern: str) -> None:
    with pytest.raises(InvalidSetting) as caught:
        Rules(exclude=[pattern])
    assert repr(pattern) in caught.value.message
    assert "gitignore" in caught.value.hint


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("a" * 1001, "1001 characters"),
        ("*a" * 33, "33 wildcards"),
        ("{a,b}" * 40, "more than 100 patterns"),
        ("{" + "a," * 400 + "b}", "more than 100 patterns"),
    ],
)
def test_a_pattern_that_is_too_much_is_refused_with_the_reason(pattern: str, why: str) -> None:
    with pytest.raises(InvalidSetting, match=why) as caught:
        Rules([pattern])
    assert len(caught.value.message) < 200
    assert "1000 characters, 32 wildcards and 100 alternatives" in caught.value.hint


def test_lines_of_ignore_files_that_are_not_used_are_told() -> None:
    rules = Rules()
    below = rules.with_ignore_file("sub", "*.log\n" + "*a" * 33 + "\n[z-a]\n# [z-a]\n\n")
    assert below.why_not("sub/x.log", folder=False) == "ignore file"
    [told] = rules.unused()
    assert told.path == "."
    assert told.reason.startswith("Not used of the ignore files in 'sub': '*a*a")
    assert "33 wildcards, more than 32; '[z-a]', it has a class that is none" in told.reason
    assert Tally(rules).skipped() == [told]


def test_of_an_endless_ignore_file_the_beginning_is_used() -> None:
    rules = Rules().with_ignore_file("", "\n".join(f"/a{number}" for number in range(3000)))
    assert rules.why_not("a1999", folder=False)
    assert not rules.why_not("a2000", folder=False)
    assert "all behind line 2000" in rules.unused()[0].reason


def test_an_ignore_file_holds_in_a_folder_whose_path_is_long_or_has_signs() -> None:
    folder = "/".join(["[x]" + "y" * 200] * 8)
    rules = Rules().with_ignore_file(folder, "/build/\n*.o\n")
    assert not rules.unused()
    assert rules.why_not(f"{folder}/build", folder=True)
    assert rules.why_not(f"{folder}/deep/a.o", folder=False)
    assert not rules.why_not("a.o", folder=False)


def test_default_exclusions_hold_and_an_exclude_pattern_takes_one_back() -> None:
    rules = Rules()
    for path in (
        "node_modules/a.js",
        "x/.git/HEAD",
        "a/__pycache__/b.py",
        ".env",
        "x/id_rsa",
        "p-1.dist-info/METADATA",
    ):
        assert rules.why_not_listed(path), path
    assert rules.why_not_listed(".env.example") is None
    assert rules.why_not_listed("environment.md") is None
    taken_back = Rules(exclude=["!node_modules/"])
    assert taken_back.why_not_listed("node_modules/a.js") is None
    assert taken_back.why_not_listed("node_modules/__pycache__/a.py") == ("default", "node_modules/__pycache__")


def test_an_ignore_file_cannot_take_back_a_default_exclusion() -> None:
    rules = Rules().with_ignore_file("", "!.env\n!.git\n")
    assert rules.why_not_listed(".env")
    assert rules.why_not_listed(".git/config")


def test_an_exclude_pattern_has_the_last_word_over_ignore_files() -> None:
    rules = Rules(exclude=["!build/", "*.tmp"]).with_ignore_file("", "build/\n*.o\n!x.tmp\n")
    assert rules.why_not_listed("build/a.md") is None
    assert rules.why_not_listed("build/a.o") == ("ignore file", "build/a.o")
    assert rules.why_not_listed("x.tmp") == ("exclude", "x.tmp")


def test_a_folder_name_with_special_characters_is_taken_literally_by_its_ignore_file() -> None:
    rules = Rules().with_ignore_file("a[1]*", "*.log\n/top\n")
    assert rules.why_not_listed("a[1]*/x/y.log")
    assert rules.why_not_listed("a[1]*/top")
    assert rules.why_not_listed("a1b/y.log") is None


def test_what_rules_left_out_is_counted_once_per_kind_and_named() -> None:
    tally = Tally()
    for index in range(1000):
        tally.add("default", f"p{index}/__pycache__")
    tally.add("default", ".git")
    tally.add("ignore file", "a.o")
    reasons = [skip.reason for skip in tally.skipped()]
    assert reasons == [
        "Left out by default: 1,001 entries (.git, __pycache__)",
        "Left out by ignore files: 1 entry (a.o)",
    ]


def test_every_default_exclusion_is_one_pattern_without_a_path() -> None:
    assert len(set(DEFAULT_EXCLUDES)) == len(DEFAULT_EXCLUDES)
    assert all("/" not in pattern.rstrip("/") for pattern in DEFAULT_EXCLUDES)


IDIOMS = [
    ["*", "!*/", "!*.md"],
    ["/*", "!/a", "/a/*", "!/a/b"],
    ["a/**", "!a/b/", "!a/b/**"],
    ["a/", "!a/b/x.md"],
    ["*.o", "!a/y.o", " ", "# all", "\\#k", "k\\ "],
    ["a/**/k", "**/d/", "!b/d/"],
]
POOL = (
    *("*", "!*/", "!*.md", "*.o", "/a", "!/a", "/a/*", "!/a/b", "a/**", "!a/b/", "!a/b/**", "**/d", "!**/d/x.md"),
    *("d/", "!d/", "b", "!b", "/*", "!k", "a/*/k", "**/b/**", "*/", "[ab]/x.md", "?", "!?/", "a/**/k", "[^k]"),
)


def test_ignore_files_at_two_levels_leave_the_files_that_git_leaves(tmp_path: Path) -> None:
    folders = [tmp_path, *(tmp_path / one for one in "abd"), *(tmp_path / one / two for one in "abd" for two in "abd")]
    for folder in folders:
        folder.mkdir(exist_ok=True)
        for name in ("x.md", "y.o", "k", "#k"):
            (folder / name).write_text("x")
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True, env=os.environ | NO_CONFIG)
    choose = random.Random(7)
    cases: list[tuple[list[str], list[str]]] = [(idiom, []) for idiom in IDIOMS]
    cases += [
        (choose.choices(POOL, k=choose.randint(1, 4)), choose.choices(POOL, k=choose.randint(0, 3))) for _ in range(60)
    ]
    source = FolderSource(SourceSettings(location=str(tmp_path)), max_file_bytes=100)
    for top, nested in cases:
        (tmp_path / ".gitignore").write_text("\n".join(top))
        (tmp_path / "a" / ".gitignore").write_text("\n".join(nested))
        listed = subprocess.run(
            ["git", "ls-files", "-o", "--exclude-standard", "-z"],
            cwd=tmp_path,
            check=True,
            capture_output=True,
            env=os.environ | NO_CONFIG,
        ).stdout.decode()
        by_git = {path for path in listed.split("\0") if path and (tmp_path / path).stat().st_size > 0}
        assert {item.path for item in source.scan(None).items} == by_git, (top, nested)
