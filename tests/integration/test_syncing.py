"""Sources by name, as the settings have them: what is read, what is left alone, what is told of each."""

from __future__ import annotations

import base64
import shutil
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from pinakes.catalog import documents
from pinakes.catalog.schema import sources
from pinakes.core.caller import Caller, calling
from pinakes.core.errors import InvalidInput, InvalidSetting, NotFound, SourceError
from pinakes.library import Library
from pinakes.services.sync.forecasting import Forecasts
from pinakes.services.sync.syncing import SourceStatus
from pinakes.settings import SourceSettings
from pinakes.sources.credentials import git_settings, token_of
from pinakes.testing import write_files

OpenLibrary = Callable[..., Library]

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    return write_files(tmp_path / "notes", {"tea.md": "# Tea\n\ngreen tea\n", "coffee.md": "# Coffee\n\nespresso\n"})


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = write_files(tmp_path / "wild.git", {"docs/otter.md": "# Otter\n\nOtters juggle.\n", "x.py": "x = 1\n"})
    git(folder, "init", "-q", "-b", "main")
    commit(folder)
    return folder


def git(folder: Path, *arguments: str) -> str:
    who = ("-c", "user.name=T", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false")
    command = ["git", "-C", str(folder), *who, *arguments]
    return subprocess.run(command, check=True, capture_output=True, timeout=60, text=True).stdout.strip()


def commit(folder: Path) -> None:
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "change")


def with_sources(*given: dict[str, Any], **settings: Any) -> dict[str, Any]:
    return {"sources": list(given), "sync__jitter_s": 0, **settings}


def standings(library: Library) -> dict[str, SourceStatus]:
    return {one.name: one for one in library.syncing.list_all()}


def paths(library: Library, collection: str = "default") -> list[str]:
    with library.app.catalog.read() as connection:
        return sorted(documents.paths(connection, library.collection(collection).id))


def set_read_at(library: Library, at: datetime) -> None:
    with library.app.catalog.write() as connection:
        connection.execute(update(sources).values(synced_at=at.isoformat(timespec="milliseconds")))


def test_a_list_of_sources_fills_collections(open_library: OpenLibrary, notes: Path) -> None:
    library = open_library(**with_sources({"location": str(notes), "collection": "drinks", "include": ["tea.md"]}))
    assert library.unread() == ["drinks"]
    assert standings(library)["notes"].state == "unread"
    [report] = library.sync()
    assert (report.collection, report.added) == ("drinks", 1)
    assert library.unread() == []
    one = standings(library)["notes"]
    assert (one.state, one.by, one.documents, one.collection) == ("read", "settings", 1, "drinks")


@needs_git
def test_a_git_source_tells_its_commit_and_follows_deletions(open_library: OpenLibrary, repository: Path) -> None:
    library = open_library(**with_sources({"kind": "git", "location": repository.as_uri(), "name": "wild"}))
    library.sync()
    one = standings(library)["wild"]
    assert (one.commit, one.ref) == (git(repository, "rev-parse", "HEAD"), "main")
    (repository / "docs/otter.md").unlink()
    commit(repository)
    [report] = library.sync(names=["wild"])
    assert (report.removed, paths(library)) == (1, ["x.py"])
    one = standings(library)["wild"]
    assert (one.commit, one.documents) == (git(repository, "rev-parse", "HEAD"), 1)
    assert one.last_run is not None
    assert one.last_run["removed"] == 1


@needs_git
@pytest.mark.parametrize(
    ("change", "read"),
    [
        ({"include": ["*.py"]}, ["x.py"]),
        ({"exclude": ["docs/"]}, ["x.py"]),
        ({"metadata": ["team=wild"]}, ["docs/otter.md", "x.py"]),
        ({"tags": ["animals"]}, ["docs/otter.md", "x.py"]),
        ({"ref": "next"}, ["docs/otter.md", "new.md", "x.py"]),
    ],
    ids=["include", "exclude", "metadata", "tags", "ref"],
)
def test_other_settings_of_a_source_read_it_again(
    open_library: OpenLibrary, repository: Path, change: dict[str, Any], read: list[str]
) -> None:
    git(repository, "checkout", "-q", "-b", "next")
    (repository / "new.md").write_text("# New\n\nnewts\n", "utf-8")
    commit(repository)
    git(repository, "checkout", "-q", "main")
    source = {"kind": "git", "location": repository.as_uri()}
    open_library(**with_sources(source)).sync()
    library = open_library(**with_sources(source | change))
    assert library.unread() == ["default"]
    library.sync()
    assert (paths(library), library.unread()) == (read, [])
    metadata = library.read("x.py").document.metadata
    assert metadata.get("team") == ("wild" if "metadata" in change else None)
    assert metadata.get("tags") == (["animals"] if "tags" in change else None)


def test_other_chunking_reads_a_source_again(open_library: OpenLibrary, docs: Path) -> None:
    (docs / "long.md").write_text("# Long\n\n" + "One more sentence of the text. " * 40, "utf-8")
    open_library(**with_sources({"location": str(docs)})).sync()
    library = open_library(**with_sources({"location": str(docs)}, chunking__unit="chars", chunking__size=200))
    [report] = library.sync()
    assert report.changed == 1
    assert report.chunks > 5


def test_settings_that_change_no_file_read_nothing_again(open_library: OpenLibrary, notes: Path) -> None:
    open_library(**with_sources({"location": str(notes)})).sync()
    other = {"location": str(notes), "name": "n", "schedule": "@daily", "on_delete": "keep", "token_variable": "T"}
    library = open_library(**with_sources(other))
    assert library.unread() == []
    [report] = library.sync()
    assert (report.changed, report.unchanged) == (0, 2)


def test_documents_may_be_kept_when_their_files_go(open_library: OpenLibrary, notes: Path) -> None:
    library = open_library(**with_sources({"location": str(notes), "on_delete": "keep"}))
    library.sync()
    (notes / "tea.md").unlink()
    [report] = library.sync()
    assert (report.removed, paths(library)) == (0, ["coffee.md", "tea.md"])
    assert library.search("green tea", mode="keyword").hits[0].path == "tea.md"
    (notes / "tea.md").write_text("# Tea\n\nblack tea\n", "utf-8")
    [report] = library.sync()
    assert (report.changed, report.added) == (1, 0)
    (notes / "tea.md").unlink()
    [report] = open_library(**with_sources({"location": str(notes)})).sync()
    assert report.removed == 1, "once the settings say so"


@needs_git
def test_one_repository_may_be_read_as_several_parts(open_library: OpenLibrary, repository: Path) -> None:
    git(repository, "tag", "v1")
    (repository / "docs/otter.md").write_text("# Otter\n\nOtters sleep.\n", "utf-8")
    commit(repository)
    place = {"kind": "git", "location": repository.as_uri()}
    now = {**place, "part": "now", "include": ["docs/"], "metadata": ["age=new"]}
    then = {**place, "part": "then", "ref": "v1", "include": ["docs/"], "metadata": ["age=old"]}
    code = {**place, "part": "code", "include": ["*.py"]}
    library = open_library(**with_sources(now, then, code))
    assert [(report.part, report.added) for report in library.sync()] == [("now", 1), ("then", 1), ("code", 1)]
    assert paths(library) == ["docs/otter.md", "docs/otter.md", "x.py"]
    found = {hit.metadata["age"]: hit.text for hit in library.search("otters", mode="keyword").hits}
    assert ("sleep" in found["new"], "juggle" in found["old"]) == (True, True)
    assert {report.unchanged for report in library.sync()} == {1}
    with pytest.raises(InvalidInput, match="has several sources here: code, now, then"):
        library.add(repository.as_uri())
    with pytest.raises(InvalidInput, match="several sources"):
        library.collecting.remove_source("default", repository.as_uri())
    left = open_library(**with_sources(now, code))
    [gone] = [one for one in left.syncing.list_all() if one.state == "no longer configured"]
    assert (gone.part, gone.documents) == ("then", 1)
    assert left.collecting.remove_source("default", gone.location, gone.part).documents == 1
    assert paths(left) == ["docs/otter.md", "x.py"]
    assert "sleep" in left.search("otters", mode="keyword").hits[0].text


@needs_git
def test_parts_that_have_no_names_are_called_by_their_parts(open_library: OpenLibrary, repository: Path) -> None:
    place = {"kind": "git", "location": repository.as_uri()}
    docs, code = {**place, "part": "docs", "include": ["docs/"]}, {**place, "part": "code", "include": ["*.py"]}
    open_library(**with_sources(docs, code)).sync()
    library = open_library(**with_sources({**docs, "name": "code"}, code))
    assert [one.name for one in library.syncing.list_all()] == [
        f"{repository.as_uri()} (code)",
        f"{repository.as_uri()} (docs)",
    ]
    library = open_library()  # as in a home to which the collection was imported
    assert [one.name for one in library.syncing.list_all()] == ["code", "docs"]
    assert [report.part for report in library.sync(names=["code"])] == ["code"]


@needs_git
def test_a_document_that_two_parts_read_stays_while_one_does(open_library: OpenLibrary, repository: Path) -> None:
    place = {"kind": "git", "location": repository.as_uri()}
    docs = {**place, "part": "docs", "include": ["docs/"], "metadata": ["of=docs"]}
    every, code = {**place, "part": "rest"}, {**place, "part": "rest", "include": ["*.py"]}
    library = open_library(**with_sources(docs, every))
    library.sync()
    [before] = library.search("otters", mode="keyword").hits
    assert "of" not in before.metadata, "the second one read it last"
    library = open_library(**with_sources(docs, code))
    assert [report.removed for report in library.sync()] == [0, 0]
    library.sync()
    [after] = library.search("otters", mode="keyword").hits
    assert (after.document_id, after.metadata["of"]) == (before.document_id, "docs")
    open_library(**with_sources(docs, every)).sync()
    left = open_library(**with_sources(docs))
    assert left.collecting.remove_source("default", repository.as_uri(), "rest").documents == 1
    assert paths(left) == ["docs/otter.md"]
    left.sync()
    assert [one.documents for one in left.syncing.list_all()] == [1]
    git(repository, "rm", "-q", "docs/otter.md")
    commit(repository)
    open_library(**with_sources(docs, every)).sync()
    assert paths(left) == ["x.py"]


@needs_git
def test_what_was_read_before_there_were_parts_is_not_read_again(open_library: OpenLibrary, repository: Path) -> None:
    place = {"kind": "git", "location": repository.as_uri()}
    open_library(**with_sources(place)).sync()
    library = open_library(**with_sources({**place, "part": "all"}))
    [report] = library.sync()
    assert (report.unchanged, report.added, report.changed) == (2, 0, 0)
    [one] = library.syncing.list_all()
    assert (one.part, one.state, one.documents) == ("all", "read", 2)
    assert library.add(repository.as_uri()).part == "all", "it is the only one there"


def test_nobody_says_that_a_document_goes_which_is_kept(open_library: OpenLibrary, notes: Path) -> None:
    source = {"location": str(notes), "on_delete": "keep"}
    library = open_library(**with_sources(source), search__refresh_ms=30_000)
    library.sync()
    (notes / "tea.md").unlink()
    assert Forecasts(library.app).forecast("default", library.settings.sources[0]).removed == 0
    [found] = library.staleness.stale(library.collection())
    assert (found.missing, found.kept, found.current, found.count) == ((), ("tea.md",), 1, 0)
    answer = library.search("green tea", mode="keyword", refresh="auto")
    assert any("its document stays" in note for note in answer.notes)
    deleting = open_library(**with_sources({"location": str(notes)}))
    assert Forecasts(deleting.app).forecast("default", deleting.settings.sources[0]).removed == 1
    [found] = deleting.staleness.stale(deleting.collection())
    assert found.missing == ("tea.md",)


def test_a_source_that_was_never_read_is_named_among_what_is_stale(
    open_library: OpenLibrary, notes: Path, docs: Path
) -> None:
    open_library(**with_sources({"location": str(notes)})).sync()
    library = open_library(**with_sources({"location": str(notes)}, {"location": str(docs)}))
    read, unread = library.staleness.stale(library.collection())
    assert (read.error, unread.location) == ("", str(docs))
    assert "was not read yet" in unread.error


@needs_git
def test_what_was_kept_of_a_repository_goes_once_the_settings_say_so(
    open_library: OpenLibrary, repository: Path
) -> None:
    source = {"kind": "git", "location": repository.as_uri()}
    keeping = open_library(**with_sources({**source, "on_delete": "keep"}))
    keeping.sync()
    (repository / "docs/otter.md").unlink()
    commit(repository)
    [report] = keeping.sync()
    assert (report.removed, paths(keeping)) == (0, ["docs/otter.md", "x.py"])
    [found] = keeping.staleness.stale(keeping.collection())
    assert (found.kept, found.current, found.count) == (("docs/otter.md",), 1, 0)
    deleting = open_library(**with_sources(source))
    [report] = deleting.sync()
    assert (report.removed, paths(deleting)) == (1, ["x.py"])


def test_a_location_with_a_secret_is_refused_before_it_is_kept(open_library: OpenLibrary, home: Path) -> None:
    url = f"http://127.0.0.1:1/page?token={'s3' * 20}"
    library = open_library(**with_sources({"kind": "http", "location": url}))
    [report] = library.sync()
    assert "carries a secret" in str(report.error)
    assert not [path for path in home.rglob("*") if path.is_file() and b"s3s3s3" in path.read_bytes()]


def test_a_source_that_is_configured_no_more_stays_as_it_is(open_library: OpenLibrary, notes: Path, docs: Path) -> None:
    open_library(**with_sources({"location": str(notes), "name": "drinks"})).sync()
    (docs / "new.md").write_text("# New\n\nnewts\n", "utf-8")
    (notes / "tea.md").unlink()
    library = open_library(**with_sources({"location": str(docs)}))
    assert [report.source for report in library.sync()] == [str(docs)]
    assert paths(library) == ["coffee.md", "new.md", "tea.md"]
    left = standings(library)["drinks"]
    assert (left.state, left.documents, left.next_run) == ("no longer configured", 2, None)
    removed = library.collecting.remove_source(left.collection, left.location)
    assert (removed.documents, list(standings(library))) == (2, ["docs"])


def test_a_source_that_was_added_is_read_beside_those_of_the_settings(
    open_library: OpenLibrary, notes: Path, docs: Path
) -> None:
    (docs / "new.md").write_text("# New\n\nnewts\n", "utf-8")
    library = open_library(**with_sources({"location": str(notes), "include": ["tea.md"]}))
    library.add(str(docs))
    assert {report.source for report in library.sync()} == {str(notes), str(docs)}
    assert paths(library) == ["new.md", "tea.md"]
    assert {one.by for one in standings(library).values()} == {"settings", "added"}


def test_one_that_is_configured_no_more_can_be_added_by_hand(open_library: OpenLibrary, notes: Path) -> None:
    open_library(**with_sources({"location": str(notes)})).sync()
    library = open_library()
    assert library.sync() == []
    library.add(str(notes))
    assert (standings(library)["notes"].state, len(library.sync())) == ("read", 1)


def test_a_push_source_is_told_and_never_read(open_library: OpenLibrary) -> None:
    library = open_library(**with_sources({"kind": "push", "name": "crm", "collection": "people"}))
    assert (library.sync(), library.unread()) == ([], [])
    one = standings(library)["crm"]
    assert (one.state, one.documents, one.location) == ("pushed", 0, "crm")
    library.documents.put("Ada is a customer.", title="Ada", collection="people")
    assert standings(library)["crm"].documents == 1
    with pytest.raises(InvalidInput, match="put there by calls"):
        library.sync(names=["crm"])


def test_sources_go_by_name_by_place_and_by_collection(open_library: OpenLibrary, notes: Path, tmp_path: Path) -> None:
    other = write_files(tmp_path / "other" / "notes", {"a.md": "# A\n\nalpha\n"})
    library = open_library(
        **with_sources({"location": str(notes), "collection": "one"}, {"location": str(other), "collection": "two"})
    )
    assert set(standings(library)) == {"one:notes", "two:notes"}
    for name in ("one:notes", str(notes), "two:notes", str(other)):
        [report] = library.sync(names=[name])
        assert report.source == str(notes if "one" in name or name == str(notes) else other)
    with pytest.raises(NotFound, match=r"no source 'three'.*one:notes, two:notes"):
        library.sync(names=["three"])


def test_a_place_in_two_collections_is_named_with_its_collection(open_library: OpenLibrary, notes: Path) -> None:
    both = ({"location": str(notes), "collection": name} for name in ("one", "two"))
    library = open_library(**with_sources(*both))
    with pytest.raises(InvalidInput, match="several collections"):
        library.syncing.find(str(notes))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([{}], "'sources.0' has no location"),
        ([{"kind": "push"}], "'sources.0' has no name"),
        ([{"kind": "push", "name": "a", "schedule": "@daily"}], "nothing is fetched: it has no schedule"),
        ([{"location": "a", "schedule": "daily"}], "'sources.0.schedule' cannot be used: 'daily' is no schedule"),
        ([{"location": "a", "name": "n"}, {"location": "b", "name": "n"}], "gives two sources the name 'n'"),
        ([{"location": "/a"}, {"location": "/a", "include": ["*.md"]}], "has '/a' twice for collection 'default'"),
        ([{"location": "a", "on_delete": "ask"}], "has to be 'delete' or 'keep'"),
        ([{"location": "a", "colection": "x"}], "Did you mean 'sources.0.collection'"),
        ("a", "'sources' cannot be 'a': it has to be a list"),
        ([{"kind": "git", "location": "https://me:hush@a.example/x.git"}], "a login in the URL of source no. 1"),
        ([{"kind": "http", "name": "n", "urls": ["https://a.example/", "https://hush@a.example/"]}], "of source 'n'"),
    ],
)
def test_sources_that_cannot_be_are_refused(open_library: OpenLibrary, given: Any, words: str) -> None:
    with pytest.raises(InvalidSetting) as refused:
        open_library(sources=given)
    assert words in str(refused.value)
    assert "hush" not in str(refused.value)


def test_a_time_zone_that_is_none_is_refused(open_library: OpenLibrary) -> None:
    with pytest.raises(InvalidSetting, match=r"'sync\.timezone' cannot be used: there is no time zone 'Mars/Olympus'"):
        open_library(sync__timezone="Mars/Olympus")


def test_the_next_run_is_told(open_library: OpenLibrary, notes: Path) -> None:
    source = {"location": str(notes), "schedule": "0 3 * * *"}
    library = open_library(**with_sources(source, sync__timezone="Europe/Berlin"))
    assert standings(library)["notes"].next_run is not None, "it is due now"
    library.sync()
    set_read_at(library, datetime(2026, 3, 28, 12, tzinfo=UTC))
    assert standings(library)["notes"].next_run == "2026-03-29T01:00:00+00:00", "03:00 in summer time"


def test_a_last_run_in_the_future_counts_as_now(open_library: OpenLibrary, notes: Path) -> None:
    library = open_library(**with_sources({"location": str(notes), "schedule": "@every 1h"}))
    library.sync()
    set_read_at(library, datetime.now(UTC) + timedelta(days=400))
    due = datetime.fromisoformat(standings(library)["notes"].next_run or "")
    assert due - datetime.now(UTC) <= timedelta(hours=1)


def test_a_source_that_cannot_be_reached_is_tried_later_and_later(open_library: OpenLibrary, notes: Path) -> None:
    library = open_library(**with_sources({"location": str(notes), "schedule": "@every 1s"}))
    library.sync()
    read_at = standings(library)["notes"].last_sync
    shutil.rmtree(notes)
    for failures in (1, 2, 3):
        [report] = library.sync()
        assert isinstance(report.error, SourceError)
        one = standings(library)["notes"]
        assert (one.state, one.failures, one.last_sync) == ("failed", failures, read_at)
        pause = datetime.fromisoformat(one.next_run or "") - datetime.fromisoformat(one.last_try or "")
        middle = 60 * 2 ** (failures - 1)
        assert 0.74 * middle - 1 < pause.total_seconds() < 1.26 * middle + 1
    assert one.documents == 2, "nothing was removed"
    write_files(notes, {"tea.md": "# Tea\n\ngreen tea\n"})
    library.sync()
    one = standings(library)["notes"]
    assert (one.state, one.failures, one.error) == ("read", 0, None)


def test_a_token_comes_from_the_environment_and_goes_to_one_host(monkeypatch: pytest.MonkeyPatch) -> None:
    source = SourceSettings(kind="git", location="https://git.example.org/a/b.git", token_variable="FORGE_TOKEN")
    with pytest.raises(SourceError, match="FORGE_TOKEN, which is to hold the token"):
        token_of(source)
    monkeypatch.setenv("FORGE_TOKEN", "secret")
    shown = "Authorization: Basic " + base64.b64encode(b"x-access-token:secret").decode()
    assert git_settings(source.location, token_of(source)) == {"http.https://git.example.org/.extraHeader": shown}
    monkeypatch.setenv("FORGE_TOKEN", "me:secret")
    [header] = git_settings(source.location, token_of(source)).values()
    assert base64.b64decode(header.rpartition(" ")[2]) == b"me:secret"
    monkeypatch.setenv("FORGE_TOKEN", "two\nlines")
    with pytest.raises(SourceError, match="several lines"):
        token_of(source)


@pytest.mark.parametrize("location", ["http://git.example.org/a", "ssh://git.example.org/a", "git@example.org:a", "/a"])
def test_a_token_is_not_sent_where_others_could_read_it_or_nobody_wants_it(location: str) -> None:
    with pytest.raises(InvalidInput):
        git_settings(location, "secret")
    assert git_settings(location, "") == {}


def test_sources_of_a_collection_that_there_is_not_or_that_is_not_for_the_caller_are_not_told(
    open_library: OpenLibrary, notes: Path
) -> None:
    library = open_library(**with_sources({"location": str(notes), "collection": "drinks"}))
    library.sync()
    with pytest.raises(NotFound, match="no collection 'dishes'"):
        library.syncing.list_all("dishes")
    with calling(Caller("guest", scope="read", collections=("dishes",))):
        assert library.syncing.list_all() == []
        with pytest.raises(NotFound):
            library.syncing.list_all("drinks")
        with pytest.raises(NotFound, match="There is none yet"):
            library.syncing.find("notes")
