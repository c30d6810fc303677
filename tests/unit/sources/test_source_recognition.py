"""What a user types is taken for what they mean, and secrets are never kept."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from pinakes.core.errors import InvalidInput, InvalidSetting, NotFound
from pinakes.settings import SourceSettings
from pinakes.sources import SOURCES, open_source
from pinakes.sources.git_urls import file_uri, redact
from pinakes.sources.locations import recognise


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    subprocess.run(["git", "init", "-q", str(tmp_path / "repo")], check=True, env=os.environ)
    return tmp_path / "repo"


@pytest.mark.parametrize(
    "location",
    [
        "https://github.com/kubernetes/enhancements",
        "https://example.org:8443/a/b.git",
        "http://example.org/x",
        "ssh://git@example.org/x.git",
        "git@github.com:org/repo.git",
        "git://example.org/x",
        "file:///srv/git/x.git",
    ],
)
def test_urls_are_git(location: str) -> None:
    settings = recognise(location, "main")
    assert (settings.kind, settings.location, settings.ref) == ("git", location, "main")


@pytest.mark.parametrize(
    "location",
    [
        "https://docs.example",
        "https://docs.example/",
        "https://docs.example/sitemap.xml",
        "https://docs.example/sitemap.xml.gz",
        "http://docs.example:8080/guide/install.html",
        "https://docs.example/paper.PDF",
        "https://docs.example/page?id=7",
    ],
)
def test_urls_that_end_like_a_page_are_pages(location: str) -> None:
    assert recognise(location).kind == "http"


def test_a_url_is_what_is_said_of_it() -> None:
    assert recognise("https://docs.example/guide", kind="http").location == "https://docs.example/guide"
    assert recognise("https://docs.example/sitemap.xml", "main").kind == "git"
    assert recognise("https://docs.example/guide.html", kind="git").kind == "git"
    with pytest.raises(InvalidInput, match="no slack"):
        recognise("https://docs.example/x", kind="slack")


def test_folders_files_and_checkouts_are_folders(
    tmp_path: Path, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.md").write_text("x")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for typed, meant in ((".", tmp_path), ("a.md", tmp_path / "a.md"), ("~/repo", checkout), (str(checkout), checkout)):
        settings = recognise(typed)
        assert (settings.kind, settings.location) == ("folder", str(meant))
    assert recognise((tmp_path / "a.md").as_uri()).location == str(tmp_path / "a.md")


def test_a_checkout_with_a_ref_a_bare_repository_and_a_file_url_are_git(tmp_path: Path, checkout: Path) -> None:
    bare = tmp_path / "bare"
    subprocess.run(["git", "init", "-q", "--bare", str(bare)], check=True, env=os.environ)
    assert recognise(str(checkout), "main") == SourceSettings.model_validate(
        {"kind": "git", "location": str(checkout), "ref": "main"}
    )
    assert recognise(str(bare)).kind == "git"
    assert recognise(checkout.as_uri()).kind == "git"


def test_a_ref_of_something_that_is_no_repository_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="not a git repository"):
        recognise(str(tmp_path), "main")


@pytest.mark.parametrize(
    ("typed", "hint"),
    [
        ("documnets", "documents"),
        ("documents/reprots/x", "documents/reports"),
        ("zzzzzz", "there is no 'zzzzzz' in it"),
        ("github.com/org/repo", "https://github.com/org/repo"),
    ],
)
def test_a_path_that_does_not_exist_names_what_is_near(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, typed: str, hint: str
) -> None:
    (tmp_path / "documents/reports").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NotFound) as caught:
        recognise(typed)
    assert str(tmp_path / typed) in caught.value.message
    assert hint in caught.value.hint


@pytest.mark.parametrize(
    "location",
    [
        "",
        "  ",
        "ext::sh -c true",
        "ftp://example.org/x",
        "svn://x/y",
        "https://",
        "https://-o/x",
        "https://a:b/x",
        "a\0b",
    ],
)
def test_what_git_must_not_be_given_is_refused(location: str) -> None:
    with pytest.raises(InvalidInput):
        recognise(location)


@pytest.mark.parametrize(
    "location",
    [
        "https://user:s3cret@example.org/x.git",
        "https://s3cret@example.org/x.git",
        "https://user:s3c/ret@example.org/x.git",
        "https://user:p@s3cret@example.org/x.git",
        "ssh://git:s3cret@example.org/x.git",
        "https://example.org/x.git?private_token=s3cret",
    ],
)
def test_a_secret_in_a_url_is_refused_and_not_repeated(location: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        recognise(location)
    assert "s3c" not in str(caught.value)
    assert "ret@" not in str(caught.value)
    assert "example.org" in str(caught.value)


def test_redaction_leaves_the_rest_of_a_message() -> None:
    said = "fatal: unable to access 'https://u:p@example.org/x.git/': 403, see https://example.org/help?token=abc now"
    assert (
        redact(said)
        == "fatal: unable to access 'https://***@example.org/x.git/': 403, see https://example.org/help now"
    )
    assert redact("ssh://git@example.org/x and git@example.org:x") == "ssh://git@example.org/x and git@example.org:x"


@pytest.mark.parametrize(
    ("location", "uri"),
    [
        ("https://github.com/o/r.git", "https://github.com/o/r/blob/release/1/a%20b/c%23.md"),
        ("https://github.com/o/r", "https://github.com/o/r/blob/release/1/a%20b/c%23.md"),
        ("git@github.com:o/r.git", "ssh://git@github.com/o/r.git?ref=release/1#a%20b/c%23.md"),
        ("/srv/my repo", "file:///srv/my%20repo?ref=release/1#a%20b/c%23.md"),
        ("file:///srv/x.git", "file:///srv/x.git?ref=release/1#a%20b/c%23.md"),
    ],
)
def test_a_file_of_a_repository_has_a_uri_of_its_own(location: str, uri: str) -> None:
    assert file_uri(location, "release/1", "a b/c#.md") == uri


@pytest.mark.parametrize("kind", sorted(SOURCES))
def test_every_kind_opens_without_touching_anything(tmp_path: Path, kind: str) -> None:
    location = "https://docs.example/" if kind == "http" else str(tmp_path / "missing")
    settings = SourceSettings.model_validate({"kind": kind, "location": location})
    source = open_source(settings, work=tmp_path / "work", max_file_bytes=10, git_timeout_s=1)
    source.close()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", sorted(SOURCES))
def test_every_kind_reports_a_bad_pattern_when_it_is_opened(tmp_path: Path, kind: str) -> None:
    location = "https://docs.example/" if kind == "http" else str(tmp_path)
    settings = SourceSettings.model_validate({"kind": kind, "location": location, "include": ["[a"]})
    with pytest.raises(InvalidSetting, match="include"):
        open_source(settings, work=tmp_path / "work", max_file_bytes=10, git_timeout_s=1)
