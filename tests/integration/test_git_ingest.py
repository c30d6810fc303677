"""A git repository as a source, end to end."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from pinakes import parsing
from pinakes.ingestion.report import Event, Report
from pinakes.library import Library
from pinakes.testing import FILES, write_files

OpenLibrary = Callable[..., Library]

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = write_files(tmp_path / "repository")
    git(folder, "init", "-q", "-b", "main")
    commit(folder)
    return folder


def git(folder: Path, *arguments: str) -> None:
    who = ("-c", "user.name=T", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false")
    subprocess.run(["git", "-C", str(folder), *who, *arguments], check=True, capture_output=True, timeout=60)


def commit(folder: Path) -> None:
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "change")


def sync(library: Library) -> tuple[Report, list[str]]:
    events: list[Event] = []
    [report] = library.sync(on_event=events.append)
    return report, [event.detail for event in events if event.stage == "read"]


def test_a_second_sync_reads_only_what_changed(library: Library, repository: Path) -> None:
    report = library.add(repository.as_uri())
    assert (report.added, report.failed) == (len(FILES), [])
    assert library.search("earthworms").hits[0].path == "animals/badger.md"
    assert sync(library)[1] == []
    (repository / "animals/otter.md").write_text("# Otter\n\nOtters juggle stones.\n")
    (repository / "animals/newt.md").write_text("# Newt\n\nNewts swim.\n")
    commit(repository)
    report, read = sync(library)
    assert read == ["animals/newt.md", "animals/otter.md"]
    assert (report.added, report.changed, report.unchanged, report.removed) == (1, 1, len(FILES) - 1, 0)
    assert library.search("juggle", mode="keyword").hits[0].path == "animals/otter.md"
    assert not any(library.verify().values())


def test_what_is_not_committed_is_not_read(library: Library, repository: Path) -> None:
    (repository / "draft.md").write_text("Walruses are secret.\n")
    library.add(repository.as_uri())
    assert library.search("secret walruses", mode="keyword").hits == ()


def test_deletions_and_renames_are_followed(library: Library, repository: Path) -> None:
    library.add(repository.as_uri())
    before = library.read("animals/heron.md").document.uid
    (repository / "animals/badger.md").unlink()
    (repository / "birds").mkdir()
    git(repository, "mv", "animals/heron.md", "birds/heron.md")
    commit(repository)
    report, _ = sync(library)
    assert (report.removed, report.moved, report.added, report.embedded) == (1, 1, 0, 0)
    assert library.read("birds/heron.md").document.uid == before
    assert library.search("earthworms", mode="keyword").hits == ()
    assert not any(library.verify().values())


def test_a_branch_of_its_own_is_another_state(library: Library, repository: Path) -> None:
    library.add(repository.as_uri())
    git(repository, "checkout", "-q", "-b", "next")
    (repository / "next.md").write_text("Only on next.\n")
    commit(repository)
    assert sync(library)[0].added == 1, "the default branch is the one checked out"
    git(repository, "checkout", "-q", "main")
    assert sync(library)[0].removed == 1
    library.add(repository.as_uri(), ref="next")
    assert library.search("only on next", mode="keyword").hits[0].path == "next.md"
    assert not any(library.verify().values())


def test_a_sync_that_was_stopped_goes_on(library: Library, repository: Path) -> None:
    def stop(event: Event) -> None:
        if event.stage == "read" and event.done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        library.add(repository.as_uri(), on_event=stop)
    report, _ = sync(library)
    assert report.added == len(FILES)
    assert not any(library.verify().values())


@pytest.mark.parametrize("reached", [True, False])
def test_what_a_stopped_sync_had_done_is_undone_where_its_commit_is_taken_back(
    open_library: OpenLibrary, repository: Path, *, reached: bool
) -> None:
    def stop(event: Event) -> None:
        if event.stage == "read" and event.done == 3:
            raise KeyboardInterrupt

    library = open_library(ingest__batch_chunks=1)
    library.add(repository.as_uri())
    (repository / "animals/newt.md").write_text("# Newt\n\nNewts swim.\n")
    (repository / "animals/otter.md").write_text("# Otter\n\nOtters juggle stones.\n")
    (repository / "last.md").write_text("The last one.\n")
    commit(repository)
    with pytest.raises(KeyboardInterrupt):
        library.sync(on_event=stop)
    assert library.search("newts swim", mode="keyword").hits, "a part was done"
    git(repository, "reset", "-q", "--hard", "HEAD~1")
    if not reached:
        repository.rename(repository.with_name("away"))
        library.sync()
        repository.with_name("away").rename(repository)
    report, _ = sync(library)
    assert (report.removed, report.changed, report.unchanged) == (1, 1, len(FILES) - 1)
    assert library.search("newts juggle", mode="keyword").hits == ()
    assert sync(library)[1] == []
    assert not any(library.verify().values())


def test_another_ref_takes_the_place_of_the_one_before(library: Library, repository: Path) -> None:
    git(repository, "tag", "v1")
    (repository / "animals/otter.md").write_text("# Otter\n\nOtters juggle stones.\n")
    commit(repository)
    git(repository, "tag", "v2")
    library.add(repository.as_uri(), ref="v1")
    uids = {path: library.read(path).document.uid for path in FILES}
    report = library.add(repository.as_uri(), ref="v2")
    assert (report.added, report.changed, report.moved, report.embedded) == (0, 1, len(FILES) - 1, 1)
    assert library.status()[0].documents == len(FILES)
    assert {path: library.read(path).document.uid for path in FILES} == uids
    assert all("?ref=v2#" in library.read(path).document.uri for path in FILES)
    assert [hit.path for hit in library.search("fish", mode="keyword").hits if "otter" in hit.path] == []
    assert not any(library.verify().values())


def test_a_default_branch_may_be_renamed(library: Library, repository: Path) -> None:
    library.add(repository.as_uri())
    uids = {path: library.read(path).document.uid for path in FILES}
    git(repository, "branch", "-m", "main", "trunk")
    (repository / "animals/otter.md").write_text("# Otter\n\nOtters juggle stones.\n")
    commit(repository)
    report, _ = sync(library)
    assert (report.added, report.changed, report.removed) == (0, 1, 0)
    assert {path: library.read(path).document.uid for path in FILES} == uids
    documents = [library.read(path).document for path in FILES]
    assert all("?ref=trunk#" in document.uri and document.metadata["ref"] == "trunk" for document in documents)
    assert library.status()[0].documents == len(FILES)
    assert sync(library)[1] == []


def test_the_configured_ref_wins(open_library: OpenLibrary, repository: Path) -> None:
    git(repository, "tag", "v1")
    (repository / "next.md").write_text("Only on next.\n")
    commit(repository)
    place = {"kind": "git", "location": repository.as_uri()}
    library = open_library(collections={"default": {"sources": [place | {"ref": "v1"}]}})
    assert library.add(repository.as_uri()).added == len(FILES)
    library = open_library(collections={"default": {"sources": [place]}})
    assert library.unread() == ["default"]
    assert sync(library)[0].added == 1
    assert library.unread() == []


def test_a_sync_reads_what_older_readers_read_although_nothing_was_committed(
    library: Library, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library.add(repository.as_uri())
    assert sync(library)[1] == []
    monkeypatch.setitem(parsing.VERSIONS, "markdown", parsing.VERSIONS["markdown"] + 1)
    report, read = sync(library)
    assert report.reread == len(read) == sum(name.endswith(".md") for name in FILES)
    assert (report.embedded, report.removed) == (0, 0)
    assert sync(library)[1] == []
