"""A repository is read from its objects alone: incrementally, without running or asking for anything."""

from __future__ import annotations

import http.server
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pinakes.core.errors import Busy, InvalidInput, SourceError, TooLarge, Unreadable
from pinakes.core.records import Item, Scan
from pinakes.settings import SourceSettings
from pinakes.sources import git as git_module
from pinakes.sources.git import GitSource

MAX = 1000
LFS = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "a" * 64 + "\nsize 12345\n"


@pytest.fixture(autouse=True)
def _no_git_configuration(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    who = {f"GIT_{role}_{part}": "t@example.org" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")}
    settings = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "HOME": str(tmp_path)} | who
    for name, value in settings.items():
        monkeypatch.setenv(name, value)


class Repository:
    """A real work tree with a few words for what the tests do to it."""

    def __init__(self, path: Path, *options: str) -> None:
        self.path = path
        path.mkdir(parents=True)
        self.git("init", "-q", "-b", "main", *options)

    def git(self, *arguments: str) -> str:
        return subprocess.run(
            ["git", *arguments], cwd=self.path, check=True, capture_output=True, text=True
        ).stdout.strip()

    def write(self, files: dict[str, str]) -> Repository:
        for name, text in files.items():
            (self.path / name).parent.mkdir(parents=True, exist_ok=True)
            (self.path / name).write_text(text)
        return self

    def commit(self, files: dict[str, str] | None = None) -> str:
        self.write(files or {})
        self.git("add", "-A", "-f")
        self.git("commit", "-q", "--allow-empty", "-m", "x")
        return self.git("rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    made = Repository(tmp_path / "repo")
    made.commit({"README.md": "one", "docs/a.md": "a", "docs/b.md": "b"})
    return made


@contextmanager
def opened(
    location: Path | str,
    work: Path,
    ref: str | None = None,
    include: tuple[str, ...] = (),
    exclude: tuple[str, ...] = (),
    timeout_s: float = 30,
) -> Iterator[GitSource]:
    given = {"kind": "git", "location": str(location), "ref": ref, "include": include, "exclude": exclude}
    source = GitSource(SourceSettings.model_validate(given), work=work, max_file_bytes=MAX, git_timeout_s=timeout_s)
    try:
        yield source
    finally:
        source.close()


def paths(scan: Scan) -> list[str]:
    return [item.path for item in scan.items]


def reasons(scan: Scan) -> dict[str, str]:
    return {skip.path: skip.reason for skip in scan.skipped}


def test_the_committed_files_are_listed_and_read(repository: Repository, tmp_path: Path) -> None:
    commit = repository.git("rev-parse", "HEAD")
    repository.write({"not-committed.md": "x", "docs/a.md": "edited, not committed"})
    with opened(repository.path, tmp_path / "work") as source:
        scan = source.scan(None)
        assert paths(scan) == ["README.md", "docs/a.md", "docs/b.md"]
        assert [source.read(item) for item in scan.items] == [b"one", b"a", b"b"]
    first = scan.items[0]
    assert first.fingerprint == repository.git("rev-parse", "HEAD:README.md")
    assert first.size_bytes == 3
    assert first.uri == f"{repository.path.as_uri()}?ref=main#README.md"
    assert first.metadata == {"repository": str(repository.path), "commit": commit, "ref": "main"}
    assert scan.complete
    assert scan.state == f"{commit} refs/heads/main"


def test_a_second_scan_returns_only_what_changed(repository: Repository, tmp_path: Path) -> None:
    with opened(repository.path, tmp_path / "work") as source:
        first = source.scan(None)
        assert source.scan(first.state) == Scan((), first.state, complete=False)
        repository.git("mv", "docs/a.md", "docs/renamed.md")
        repository.git("rm", "-q", "docs/b.md")
        commit = repository.commit({"README.md": "two", "new/c.md": "c"})
        second = source.scan(first.state)
        assert not second.complete
        assert paths(second) == ["README.md", "docs/renamed.md", "new/c.md"]
        assert second.removed == ("docs/a.md", "docs/b.md")
        assert source.read(second.items[0]) == b"two"
        assert {item.metadata["commit"] for item in second.items} == {commit}
        assert source.read(first.items[0]) == b"one"
        # a caller that lost the second state in a crash gets the same changes again
        assert source.scan(first.state) == second


def test_changes_outside_include_are_not_reported(repository: Repository, tmp_path: Path) -> None:
    with opened(repository.path, tmp_path / "work", include=("docs/*.md",), exclude=("b.md",)) as source:
        first = source.scan(None)
        assert paths(first) == ["docs/a.md"]
        repository.git("rm", "-q", "docs/b.md", "README.md")
        repository.commit({"docs/c.md": "c", "other/d.md": "d"})
        second = source.scan(first.state)
    assert (paths(second), second.removed) == (["docs/c.md"], ())


def test_a_file_that_can_no_longer_be_read_is_removed_and_skipped(repository: Repository, tmp_path: Path) -> None:
    with opened(repository.path, tmp_path / "work") as source:
        first = source.scan(None)
        (repository.path / "docs/a.md").unlink()
        (repository.path / "docs/a.md").symlink_to("b.md")
        repository.commit({"README.md": "x" * (MAX + 1)})
        second = source.scan(first.state)
    assert second.items == ()
    assert second.removed == ("README.md", "docs/a.md")
    assert reasons(second) == {"README.md": "File too large (1001 bytes, max 1000)", "docs/a.md": "Symbolic link"}


def test_a_rewritten_branch_is_compared_with_what_was_read(repository: Repository, tmp_path: Path) -> None:
    with opened(repository.path, tmp_path / "work") as source:
        first = source.scan(None)
        repository.write({"README.md": "rewritten"})
        repository.git("commit", "-q", "-a", "--amend", "-m", "y")
        repository.git("reflog", "expire", "--expire=now", "--all")
        repository.git("gc", "-q", "--prune=now")
        second = source.scan(first.state)
    assert (paths(second), second.removed, second.complete) == (["README.md"], (), False)


def test_a_state_whose_commit_is_unknown_gives_a_complete_scan(repository: Repository, tmp_path: Path) -> None:
    with opened(repository.path, tmp_path / "work") as source:
        state = source.scan(None).state
        shutil.rmtree(tmp_path / "work")
        source.close()
        repository.commit({"new.md": "x"})
        for known in (state, "nonsense", f"{'0' * 40} refs/heads/main"):
            scan = source.scan(known)
            assert scan.complete
            assert len(scan.items) == 4


@pytest.mark.parametrize(
    ("ref", "text"), [("dev", b"dev"), ("v1", b"one"), ("v2", b"annotated"), ("release/1.0", b"rel")]
)
def test_branches_and_tags_are_read_by_name(repository: Repository, tmp_path: Path, ref: str, text: bytes) -> None:
    repository.git("tag", "v1")
    repository.commit({"README.md": "annotated"})
    repository.git("tag", "-a", "v2", "-m", "x")
    for branch, content in (("dev", "dev"), ("release/1.0", "rel")):
        repository.git("checkout", "-q", "-b", branch)
        repository.commit({"README.md": content})
    with opened(repository.path, tmp_path / "work", ref) as source:
        scan = source.scan(None)
        assert source.read(scan.items[0]) == text
        assert scan.items[0].metadata["ref"] == ref
        assert source.scan(scan.state) == Scan((), scan.state, complete=False)


def test_a_path_that_is_there_is_that_path_before_it_is_a_pattern(repository: Repository, tmp_path: Path) -> None:
    repository.commit({"app/[id]/p.md": "x", "app/i/p.md": "y"})
    for pattern in ("app/[id]/p.md", "app/[id]", "app/[id]/*.md"):
        with opened(repository.path, tmp_path / "work", include=(pattern,)) as source:
            assert paths(source.scan(None)) == ["app/[id]/p.md"]


@pytest.mark.parametrize("digits", [40, 12, 7])
@pytest.mark.parametrize("cloned", [False, True])
@pytest.mark.parametrize("upper", [False, True])
def test_a_commit_is_read_by_its_number_and_by_the_beginning_of_that(
    repository: Repository, tmp_path: Path, digits: int, cloned: bool, upper: bool
) -> None:
    first = repository.git("rev-parse", "HEAD")
    repository.commit({"README.md": "two"})
    repository.commit({"README.md": "three"})
    if cloned:
        with opened(repository.path, tmp_path / "work") as source:
            source.scan(None)
    ref = first[:digits].upper() if upper else first[:digits]
    with opened(repository.path, tmp_path / "work", ref=ref) as source:
        scan = source.scan(None)
        assert source.read(scan.items[0]) == b"one"
        assert scan.items[0].metadata["commit"] == first
        assert scan.state == f"{first} {first}"
        assert source.scan(scan.state).items == ()


def test_the_commit_of_a_branch_and_of_a_tag_is_found_by_its_beginning(repository: Repository, tmp_path: Path) -> None:
    first = repository.git("rev-parse", "HEAD")
    repository.git("tag", "-a", "v1", "-m", "one")
    repository.commit({"README.md": "two"})
    for number, commit in enumerate((first, repository.git("rev-parse", "HEAD"))):
        with opened(repository.path, tmp_path / f"work{number}", ref=commit[:8]) as source:
            assert source.scan(None).items[0].metadata["commit"] == commit


def test_a_shallow_repository_gives_the_commits_that_it_has(repository: Repository, tmp_path: Path) -> None:
    first = repository.git("rev-parse", "HEAD")
    last = repository.commit({"README.md": "two"})
    shallow = tmp_path / "shallow"
    repository.git("clone", "--quiet", "--depth=1", repository.path.as_uri(), str(shallow))
    with opened(shallow, tmp_path / "one", ref=last) as source:
        assert source.read(source.scan(None).items[0]) == b"two"
    for number, ref in enumerate((first, first[:10])):
        with opened(shallow, tmp_path / f"other{number}", ref=ref) as source, pytest.raises(SourceError) as caught:
            source.scan(None)
        assert "commit" in caught.value.message


@pytest.mark.parametrize("ref", ["0" * 40, "f" * 64, "abcdef1", "1234567890"])
def test_a_commit_that_is_not_there_is_said_so(repository: Repository, tmp_path: Path, ref: str) -> None:
    with opened(repository.path, tmp_path / "work", ref=ref) as source, pytest.raises(SourceError) as caught:
        source.scan(None)
    assert "commit" in caught.value.message
    assert str(repository.path) in caught.value.message


def test_a_branch_that_looks_like_a_number_is_that_branch(repository: Repository, tmp_path: Path) -> None:
    repository.git("branch", "abcdef1")
    with opened(repository.path, tmp_path / "work", ref="abcdef1") as source:
        assert source.scan(None).items[0].metadata["ref"] == "abcdef1"


def test_another_ref_in_the_same_clone_is_scanned_completely(repository: Repository, tmp_path: Path) -> None:
    repository.git("branch", "dev")
    with opened(repository.path, tmp_path / "work") as source:
        state = source.scan(None).state
    with opened(repository.path, tmp_path / "work", "dev") as source:
        scan = source.scan(state)
    assert scan.complete
    assert {item.metadata["ref"] for item in scan.items} == {"dev"}


def test_a_missing_branch_is_named_with_those_that_exist(repository: Repository, tmp_path: Path) -> None:
    repository.git("branch", "develop")
    repository.git("tag", "v1")
    with opened(repository.path, tmp_path / "work", "develp") as source, pytest.raises(SourceError) as caught:
        source.scan(None)
    assert "has no branch, tag or commit 'develp'" in caught.value.message
    assert caught.value.hint == "Did you mean 'develop'? There is develop, main, v1."


@pytest.mark.parametrize("ref", ["-x", "--upload-pack=x", "a..b", "a b", "x*", "a:b", "x.lock", "@{-1}", "a\nb"])
def test_a_ref_that_cannot_be_a_name_is_refused_before_git_runs(tmp_path: Path, ref: str) -> None:
    with pytest.raises(InvalidInput), opened(tmp_path, tmp_path / "work", ref):
        pass


def test_an_empty_repository_is_empty_until_its_first_commit(tmp_path: Path) -> None:
    made = Repository(tmp_path / "repo")
    with opened(made.path, tmp_path / "work") as source:
        first = source.scan(None)
        assert first == Scan((), "")
        made.commit({"a.md": "a"})
        second = source.scan(first.state)
    assert (paths(second), second.complete) == (["a.md"], True)


def test_a_repository_that_lost_all_its_commits_is_an_error(repository: Repository, tmp_path: Path) -> None:
    with opened(repository.path, tmp_path / "work") as source:
        state = source.scan(None).state
        shutil.rmtree(repository.path)
        Repository(repository.path)
        with pytest.raises(SourceError, match="empty now"):
            source.scan(state)


def test_a_default_branch_without_commits_names_the_others(repository: Repository, tmp_path: Path) -> None:
    repository.git("symbolic-ref", "HEAD", "refs/heads/nothing")
    with opened(repository.path, tmp_path / "work") as source, pytest.raises(SourceError) as caught:
        source.scan(None)
    assert "main" in caught.value.hint


def test_a_detached_work_tree_is_read_at_its_head(repository: Repository, tmp_path: Path) -> None:
    repository.commit({"README.md": "two"})
    repository.git("checkout", "-q", "--detach", "HEAD~1")
    with opened(repository.path, tmp_path / "work") as source:
        scan = source.scan(None)
        assert source.read(scan.items[0]) == b"one"
    assert scan.items[0].metadata["ref"] == "HEAD"


def test_shallow_bare_and_linked_repositories_are_read(repository: Repository, tmp_path: Path) -> None:
    repository.commit({"README.md": "two"})
    shallow, bare, linked = tmp_path / "shallow", tmp_path / "bare.git", tmp_path / "linked"
    repository.git("clone", "-q", "--depth", "1", repository.path.as_uri(), str(shallow))
    repository.git("clone", "-q", "--bare", str(repository.path), str(bare))
    repository.git("worktree", "add", "-q", "-b", "side", str(linked))
    for location in (shallow, bare, bare.as_uri(), linked):
        with opened(location, tmp_path / f"work-{len(str(location))}") as source:
            scan = source.scan(None)
            assert source.read(scan.items[0]) == b"two"
            assert len(scan.items) == 3


def test_a_shallow_repository_that_moves_on_is_followed(repository: Repository, tmp_path: Path) -> None:
    shallow = tmp_path / "shallow"
    repository.git("clone", "-q", "--depth", "1", repository.path.as_uri(), str(shallow))
    with opened(shallow, tmp_path / "work") as source:
        first = source.scan(None)
        repository.commit({"README.md": "two"})
        repository.commit({"README.md": "three"})
        subprocess.run(["git", "pull", "-q", "--depth", "1", "--rebase"], cwd=shallow, check=True)
        second = source.scan(first.state)
        assert (paths(second), second.complete) == (["README.md"], False)
        assert source.read(second.items[0]) == b"three"


def test_a_sha256_repository_is_read(tmp_path: Path) -> None:
    made = Repository(tmp_path / "repo", "--object-format=sha256")
    made.commit({"a.md": "a"})
    with opened(made.path, tmp_path / "work") as source:
        scan = source.scan(None)
        assert source.read(scan.items[0]) == b"a"
        assert len(scan.items[0].fingerprint) == 64


def test_links_submodules_pointers_and_odd_files_are_skipped_with_the_reason(tmp_path: Path) -> None:
    inner = Repository(tmp_path / "inner")
    inner.commit({"x.md": "x"})
    made = Repository(tmp_path / "repo")
    made.write({"big.md": "x" * (MAX + 1), "empty.md": "", "model.bin": LFS, "good.md": "x" * 200})
    made.write({"node_modules/x.js": "x", "a/__pycache__/y.py": "y", ".env": "KEY=1"})
    (made.path / "link.md").symlink_to("/etc/passwd")
    made.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner.path), "module")
    Path(os.fsdecode(os.fsencode(made.path) + b"/b\xe4d.md")).write_text("x")
    made.commit()
    with opened(made.path, tmp_path / "work") as source:
        scan = source.scan(None)
    assert paths(scan) == [".gitmodules", "good.md"]
    assert reasons(scan) == {
        ".": "Left out by default: 3 entries (.env, __pycache__, node_modules)",
        "b\\xe4d.md": "Name is not valid UTF-8",
        "big.md": "File too large (1001 bytes, max 1000)",
        "empty.md": "Empty file",
        "link.md": "Symbolic link",
        "model.bin": "Git LFS pointer",
        "module": "Submodule, another repository",
    }


def test_nothing_of_a_repository_is_run_or_checked_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Repository(tmp_path / "repo")
    ran = tmp_path / "ran"
    hook = f"#!/bin/sh\ntouch {ran}\n"
    hooks = tmp_path / "hooks"
    for folder in (made.path / ".git/hooks", hooks):
        folder.mkdir(exist_ok=True)
        for name in ("post-checkout", "reference-transaction", "post-merge", "pre-auto-gc"):
            (folder / name).write_text(hook)
            (folder / name).chmod(0o755)
    made.git("-c", "core.hooksPath=/dev/null", "config", "filter.evil.smudge", f"touch {ran}")
    made.git("config", "core.fsmonitor", f"touch {ran}")
    made.write({".gitattributes": "* filter=evil\n", "a.md": "a"})
    made.git("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "add", "-A")
    made.git("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "commit", "-q", "-m", "x")
    ran.unlink(missing_ok=True)
    config = tmp_path / "config"
    config.write_text(f"[core]\n hooksPath = {hooks}\n fsmonitor = touch {ran}\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    with opened(made.path, tmp_path / "work") as source:
        scan = source.scan(None)
        assert [source.read(item) for item in scan.items] == [b"* filter=evil\n", b"a"]
    assert not ran.exists()
    assert not list((tmp_path / "work").rglob("a.md"))


def test_the_surrounding_repository_and_its_variables_are_not_taken(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Repository(tmp_path / "other")
    other.commit({"other.md": "x"})
    other.git("config", f"url.{tmp_path}/nowhere.insteadOf", str(repository.path))
    monkeypatch.setenv("GIT_DIR", str(other.path / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other.path))
    monkeypatch.setenv("GIT_TRACE", "1")
    with opened(repository.path, other.path / "home/sources/x") as source:
        assert len(source.scan(None).items) == 3


@pytest.mark.parametrize(
    ("location", "words"),
    [
        ("file:///nonexistent", "not a git repository"),
        ("/nonexistent/repo", "not a git repository"),
        ("https://127.0.0.1:1/x.git", "does not answer"),
        ("ssh://git@127.0.0.1:1/x.git", "does not answer"),
    ],
)
def test_an_unreachable_repository_is_one_clear_error_in_seconds(tmp_path: Path, location: str, words: str) -> None:
    started = time.monotonic()
    with opened(location, tmp_path / "work") as source, pytest.raises(SourceError) as caught:
        source.scan(None)
    assert time.monotonic() - started < 20
    assert location in caught.value.message
    assert words in caught.value.message
    assert caught.value.hint
    assert caught.value.retryable
    assert not list((tmp_path / "work").glob("*.git"))


def test_a_folder_that_is_no_repository_is_said_so(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    with (
        opened(tmp_path / "plain", tmp_path / "work") as source,
        pytest.raises(SourceError, match="not a git repository"),
    ):
        source.scan(None)


class _Refusing(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(401)
        self.send_header("WWW-Authenticate", 'Basic realm="private"')
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002
        """Stay silent."""


@pytest.fixture
def refusing() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Refusing) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/x.git"
        server.shutdown()
        thread.join()


def test_a_repository_that_asks_for_credentials_fails_at_once_and_says_what_to_do(
    refusing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asking = tmp_path / "ask"
    asking.write_text(f"#!/bin/sh\ntouch {tmp_path}/asked\n")
    asking.chmod(0o755)
    for name in ("GIT_ASKPASS", "SSH_ASKPASS"):
        monkeypatch.setenv(name, str(asking))
    with opened(refusing, tmp_path / "work") as source, pytest.raises(SourceError) as caught:
        source.scan(None)
    assert "asks for credentials" in caught.value.message
    assert "credential helper" in caught.value.hint
    assert not (tmp_path / "asked").exists()


def test_a_credential_from_a_helper_never_shows_in_an_error(
    refusing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = refusing.removeprefix("http://").removesuffix("/x.git")
    config = tmp_path / "config"
    config.write_text(f'[url "http://me:s3cret@{address}/"]\n insteadOf = http://{address}/\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    with opened(refusing, tmp_path / "work") as source, pytest.raises(SourceError) as caught:
        source.scan(None)
    assert "s3cret" not in str(caught.value)
    assert not any(b"s3cret" in file.read_bytes() for file in (tmp_path / "work").rglob("*") if file.is_file())


def test_a_url_with_a_password_is_refused_without_repeating_it(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput) as caught, opened("https://me:s3cret@example.org/x.git", tmp_path / "work"):
        pass
    assert "s3cret" not in str(caught.value)
    assert "credential helper" in caught.value.hint
    assert not (tmp_path / "work").exists()


def test_a_server_that_never_answers_is_given_up_and_its_processes_end(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/x.git"
        started = time.monotonic()
        with opened(url, tmp_path / "work", timeout_s=0.5) as source, pytest.raises(SourceError, match=r"after 0\.5 s"):
            source.scan(None)
        assert time.monotonic() - started < 20
        connection, _ = silent.accept()
        with connection:
            connection.settimeout(10)
            while connection.recv(4096):  # what was asked, then the end: nobody holds the other side open
                pass


def test_git_that_is_not_installed_is_said_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with opened("https://example.org/x.git", tmp_path / "work") as source, pytest.raises(SourceError) as caught:
        source.scan(None)
    assert caught.value.message == "git is not installed."
    assert "Install git" in caught.value.hint


def test_an_unreachable_repository_loses_nothing_that_was_read(repository: Repository, tmp_path: Path) -> None:
    with opened(repository.path, tmp_path / "work") as source:
        first = source.scan(None)
        repository.path.rename(tmp_path / "away")
        with pytest.raises(SourceError) as caught:
            source.scan(first.state)
        assert caught.value.retryable
        assert source.read(first.items[0]) == b"one"
        (tmp_path / "away").rename(repository.path)
        assert source.scan(first.state) == Scan((), first.state, complete=False)


def test_a_damaged_clone_is_made_anew(repository: Repository, tmp_path: Path) -> None:
    with opened(repository.path, tmp_path / "work") as source:
        first = source.scan(None)
        for pack in (tmp_path / "work/clone.git/objects/pack").iterdir():
            pack.chmod(0o600)
            pack.write_bytes(b"")
        repository.commit({"README.md": "two"})
        second = source.scan(first.state)
        assert second.complete
        assert [source.read(item) for item in second.items] == [b"two", b"a", b"b"]


def test_what_an_interrupted_run_left_is_cleared_away(repository: Repository, tmp_path: Path) -> None:
    for name in ("new-abc", "old-new-abc"):
        (tmp_path / "work" / name / "objects").mkdir(parents=True)
    with opened(repository.path, tmp_path / "work") as source:
        assert len(source.scan(None).items) == 3
    assert sorted(path.name for path in (tmp_path / "work").iterdir()) == ["clone.git", "lock"]


def test_a_lock_left_by_a_killed_fetch_is_no_obstacle(repository: Repository, tmp_path: Path) -> None:
    with opened(repository.path, tmp_path / "work") as source:
        first = source.scan(None)
        (tmp_path / "work/clone.git/shallow.lock").touch()
        (tmp_path / "work/clone.git/refs/pinakes/current.lock").touch()
        repository.commit({"README.md": "two"})
        second = source.scan(first.state)
        assert source.read(second.items[0]) == b"two"


def test_many_fetches_are_packed_together(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git_module, "MAX_PACKS", 3)
    with opened(repository.path, tmp_path / "work") as source:
        state = source.scan(None).state
        for number in range(6):
            repository.commit({"README.md": f"number {number}"})
            scan = source.scan(state)
            assert (paths(scan), scan.complete) == (["README.md"], False)
            assert source.read(scan.items[0]) == f"number {number}".encode()
            state = scan.state
    assert len(list((tmp_path / "work/clone.git/objects/pack").glob("*.pack"))) <= 3


def test_a_clone_in_use_by_another_process_is_waited_for_then_busy(repository: Repository, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    script = "import sys, filelock\nwith filelock.FileLock(sys.argv[1]):\n print('held', flush=True)\n sys.stdin.read()"
    command = [sys.executable, "-c", script, str(tmp_path / "work/lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdin is not None
        assert holder.stdout.readline() == b"held\n"
        with opened(repository.path, tmp_path / "work", timeout_s=0.2) as source, pytest.raises(Busy):
            source.scan(None)
        holder.stdin.close()
    with opened(repository.path, tmp_path / "work") as source:
        assert len(source.scan(None).items) == 3


def test_several_sources_at_once_share_one_clone(repository: Repository, tmp_path: Path) -> None:
    found: list[list[bytes]] = []

    def run() -> None:
        with opened(repository.path, tmp_path / "work") as source:
            found.append([source.read(item) for item in source.scan(None).items])

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [[b"one", b"a", b"b"]] * 4


def test_reading_what_is_not_in_the_clone_is_unreadable_and_the_next_read_works(
    repository: Repository, tmp_path: Path
) -> None:
    with opened(repository.path, tmp_path / "work") as source:
        (first, *_) = source.scan(None).items
        with pytest.raises(Unreadable):
            source.read(Item("x", "", 1, "0" * 40))
        with pytest.raises(Unreadable):
            source.read(Item("x", "", 1, "HEAD\nHEAD"))
        assert source.read(first) == b"one"


def test_a_blob_over_the_limit_is_not_read_and_the_next_read_works(repository: Repository, tmp_path: Path) -> None:
    repository.commit({"big.md": "x" * 3_000_000})
    big = repository.git("rev-parse", "HEAD:big.md")
    with opened(repository.path, tmp_path / "work") as source:
        (first, *_) = source.scan(None).items
        with pytest.raises(TooLarge, match=r"3000000 bytes, max 1000"):
            source.read(Item("big.md", "", 3_000_000, big))
        assert source.read(first) == b"one"


def test_a_source_can_be_read_again_after_it_was_closed(repository: Repository, tmp_path: Path) -> None:
    with opened(repository.path, tmp_path / "work") as source:
        (first, *_) = source.scan(None).items
        assert source.read(first) == b"one"
        source.close()
        source.close()
        assert source.read(first) == b"one"
