"""Sources over the same files: what lies inside a known one is read there; what one holds no other takes from it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import counting_embedder
import pytest
from sqlalchemy import update

from pinakes.catalog import document_fields, documents, sources
from pinakes.catalog.schema import documents as rows
from pinakes.core.errors import InvalidInput, NotFound, WouldRemove
from pinakes.library import Library
from pinakes.models.embedders import EMBEDDERS
from pinakes.services import ingestion_runs
from pinakes.services.sync.adding import AddRequest, addition
from pinakes.services.sync.forecasting import Forecasts
from pinakes.settings import SourceSettings
from pinakes.testing import write_files

OpenLibrary = Callable[..., Library]

FILES = {"a.md": "# A\n\nalpha\n", "sub/x.txt": "no heading, xenon\n", "sub/y.txt": "no heading, yttrium\n"}

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


@pytest.fixture
def tree(docs: Path) -> Path:
    return write_files(docs, FILES)


def standing(library: Library, collection: str = "default") -> dict[str, str]:
    """Return path → uid of the documents of a collection."""
    with library.app.catalog.read() as connection:
        found = documents.where(connection, library.collection(collection).id, rows.c.id > 0)
        return {one.path: one.uid for one in found}


def locations(library: Library, collection: str = "default") -> list[str]:
    return [one["location"] for one in library.status(collection)[0].sources]


def git(folder: Path, *arguments: str) -> None:
    who = ("-c", "user.name=T", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false")
    subprocess.run(["git", "-C", str(folder), *who, *arguments], check=True, capture_output=True, timeout=60)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = write_files(tmp_path / "wild", {"docs/otter.md": "# Otter\n\nOtters juggle.\n", "x.py": "x = 1\n"})
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "one")
    return folder


@pytest.mark.parametrize(
    "spelled",
    [
        "{docs}/sub",
        "{docs}/sub/",
        "{docs}/./sub",
        "{docs}/sub/../sub",
        "{docs}/../link/sub",
        "{docs}/../inner",
        "file://{docs}/sub",
        "sub",
        "./sub/x.txt",
        "{docs}/../link/sub/x.txt",
        "file://localhost{docs}/sub/x.txt",
    ],
)
def test_what_lies_inside_a_source_is_read_there(
    spelled: str, library: Library, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tree.parent / "link").symlink_to(tree)
    (tree.parent / "inner").symlink_to(tree / "sub")
    library.add(str(tree))
    before = standing(library)
    (tree / "sub/x.txt").write_text("no heading, xylem\n", "utf-8")
    (tree / "a.md").write_text("# A\n\nargon\n", "utf-8")
    monkeypatch.chdir(tree)
    report = library.add(spelled.format(docs=tree))
    assert (report.source, report.changed, report.added) == (str(tree), 1, 0)
    assert report.paths in (["sub"], ["sub/x.txt"])
    assert standing(library) == before, "the same documents at the same paths"
    assert locations(library) == [str(tree)]
    assert library.search("xylem", filters={"path": {"glob": "sub/*"}}, mode="keyword").hits
    assert not library.search("argon", mode="keyword").hits, "what was not named was not read"
    assert library.sync()[0].changed == 1


def test_a_new_file_inside_a_source_becomes_one_document(library: Library, tree: Path) -> None:
    library.add(str(tree))
    (tree / "sub/z.txt").write_text("no heading, zinc\n", "utf-8")
    assert library.add(str(tree / "sub/z.txt")).added == 1
    assert sorted(standing(library)) == ["a.md", "sub/x.txt", "sub/y.txt", "sub/z.txt"]
    assert library.sync()[0].unchanged == 4


def test_the_place_of_a_source_by_another_path_is_that_source(library: Library, tree: Path) -> None:
    (tree.parent / "link").symlink_to(tree)
    library.add(str(tree))
    report = library.add(str(tree.parent / "link"))
    assert (report.source, report.unchanged, report.paths) == (str(tree), 3, [])
    assert locations(library) == [str(tree)]


def test_what_rules_leave_out_is_refused_and_not_passed_over(library: Library, tree: Path) -> None:
    library.add(str(tree), include=["*.md"])
    with pytest.raises(InvalidInput, match="left out by its rules") as caught:
        library.add(str(tree / "sub/x.txt"))
    assert "*.md" in caught.value.message
    assert "--as-source" in caught.value.hint
    assert sorted(standing(library)) == ["a.md"]
    assert library.add(str(tree / "sub/x.txt"), as_source=True).added == 1
    assert len(standing(library)) == 2


def test_patterns_for_what_lies_inside_are_refused(library: Library, tree: Path) -> None:
    library.add(str(tree))
    with pytest.raises(InvalidInput, match="lies in the source 'docs'") as caught:
        library.add(str(tree / "sub"), include=["x.txt"])
    assert str(tree) in caught.value.hint
    assert locations(library) == [str(tree)]


def test_a_folder_around_a_source_is_refused(library: Library, tree: Path) -> None:
    library.add(str(tree / "sub"))
    for around in (tree, f"{tree}/", tree / "sub" / ".."):
        with pytest.raises(InvalidInput, match="holds the files of the source 'sub'") as caught:
            library.add(str(around))
        assert "--as-source" in caught.value.hint
        assert "sources remove sub" in caught.value.hint
    assert locations(library) == [str(tree / "sub")]
    assert sorted(standing(library)) == ["x.txt", "y.txt"]


def test_single_files_become_files_of_the_folder_that_is_added(library: Library, tree: Path) -> None:
    (tree / "empty.md").write_text("", "utf-8")
    for name in ("sub/x.txt", "sub/y.txt"):
        library.add(str(tree / name))
    before = standing(library)
    report = library.add(str(tree / "sub"))
    assert (report.added, report.embedded) == (0, 0)
    assert standing(library) == before, "the same documents at the same paths"
    assert locations(library) == [str(tree / "sub")]
    assert library.sync()[0].unchanged == 2
    with pytest.raises(InvalidInput, match="holds the files of the source 'sub'"):
        library.add(str(tree))


def test_a_single_file_deeper_in_a_folder_stays_a_source(library: Library, tree: Path) -> None:
    library.add(str(tree / "sub/x.txt"))
    with pytest.raises(InvalidInput, match=r"holds the files of the source 'x\.txt'"):
        library.add(str(tree))
    assert library.add(str(tree), as_source=True).added == 2
    assert sorted(standing(library)) == ["a.md", "sub/y.txt", "x.txt"]


def test_a_single_file_that_the_folder_leaves_out_stays_a_source(library: Library, tree: Path) -> None:
    library.add(str(tree / "a.md"))
    library.add(str(tree), include=["*.txt"])
    assert sorted(standing(library)) == ["a.md", "sub/x.txt", "sub/y.txt"]
    assert locations(library) == [str(tree / "a.md"), str(tree)]


def test_a_source_beside_another_leaves_it_what_it_holds(
    open_library: OpenLibrary, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(EMBEDDERS, "counting", "counting_embedder:CountingEmbedder")
    library = open_library(embedding__provider="counting")
    library.add(str(tree / "sub"))
    before = standing(library)
    report = library.add(str(tree), as_source=True)
    assert (report.added, report.embedded, report.overlaps) == (1, 1, ["sub"])
    assert {one.reason for one in report.skipped} == {"Read by the source 'sub'"}
    assert {path: uid for path, uid in standing(library).items() if path != "a.md"} == before
    for _ in range(2):
        assert [(one.changed, one.embedded) for one in library.sync()] == [(0, 0), (0, 0)]
    (tree / "sub/x.txt").write_text("no heading, xylem\n", "utf-8")
    embedder = library.app.embedder
    assert isinstance(embedder, counting_embedder.CountingEmbedder)
    embedder.texts.clear()
    assert [(one.changed, one.embedded) for one in library.sync()] == [(1, 1), (0, 0)]
    assert len(embedder.texts) == 1, "embedded once"
    assert standing(library).keys() == {"a.md", "x.txt", "y.txt"}
    assert not any(library.verify().values())


@pytest.mark.parametrize("first", [True, False], ids=["the first goes", "the second goes"])
@pytest.mark.parametrize("alias", [True, False], ids=["by a link", "as it is"])
def test_taking_a_source_out_leaves_what_another_holds(
    first: bool, alias: bool, library: Library, tree: Path, tmp_path: Path
) -> None:
    (tmp_path / "link").symlink_to(tree)
    outer = tmp_path / "link" if alias else tree
    library.add(str(tree / "sub"))
    library.add(str(outer), as_source=True)
    before = standing(library)
    gone, left = (tree / "sub", outer) if first else (outer, tree / "sub")
    removed = library.collecting.remove_source("default", str(gone))
    assert (removed.documents, removed.handed_over) == ((0, 2) if first else (1, 0))
    after = {"a.md", "sub/x.txt", "sub/y.txt"} if first else {"x.txt", "y.txt"}
    assert standing(library).keys() == after, "a document that goes over has its path in the source that goes on"
    [report] = library.sync()
    assert (report.source, report.removed, report.embedded) == (str(left), 0, 0)
    assert {path.rpartition("/")[2]: uid for path, uid in standing(library).items()}.items() <= {
        path.rpartition("/")[2]: uid for path, uid in before.items()
    }.items()
    assert not any(library.verify().values())


def test_what_one_source_leaves_out_later_goes_on_in_the_other(library: Library, tree: Path) -> None:
    library.add(str(tree))
    library.add(str(tree / "sub"), as_source=True)
    before = standing(library)["sub/x.txt"]
    report = library.add(str(tree), exclude=["sub/"])
    assert report.removed == 0, "nothing goes, so nobody is asked"
    library.sync()
    assert standing(library)["x.txt"] == before
    (tree / "sub/x.txt").unlink()
    library.sync()
    assert sorted(standing(library)) == ["a.md", "y.txt"]


def test_a_file_that_is_deleted_leaves_once_its_holder_is_read(library: Library, tree: Path) -> None:
    library.add(str(tree))
    library.add(str(tree / "sub"), as_source=True)
    (tree / "sub/x.txt").unlink()
    library.add(str(tree / "sub"))
    assert "sub/x.txt" in standing(library), "it is not that source's to remove"
    assert library.add(str(tree)).removed == 1
    assert library.sync()[1].removed == 0
    assert sorted(standing(library)) == ["a.md", "sub/y.txt"]


def take_over(library: Library, tree: Path) -> None:
    """Make of two sources what older versions did: the second has taken the documents of the first."""
    library.add(str(tree))
    library.add(str(tree / "sub"), as_source=True)
    with library.app.catalog.write() as connection:
        record = library.collection()
        outer, inner = sources.list_all(connection, record.id)
        known = sources.manifest(connection, outer.id)
        for path in ("sub/x.txt", "sub/y.txt"):
            file = known[path]
            assert file.document_id is not None
            taken = {"source_id": inner.id, "path": path.removeprefix("sub/")}
            connection.execute(update(rows).where(rows.c.id == file.document_id).values(taken))
            document_fields.refresh(connection, file.document_id)
            mine = replace(file, path=path.removeprefix("sub/"), uri=None)
            sources.note(connection, inner.id, [mine])


def test_overlapping_sources_of_older_homes_keep_working_and_are_named(library: Library, tree: Path) -> None:
    take_over(library, tree)
    before = standing(library)
    assert before.keys() == {"a.md", "x.txt", "y.txt"}
    reports = library.sync()
    assert [(one.changed, one.removed, one.embedded) for one in reports] == [(0, 0, 0)] * 2
    assert [one.overlaps for one in reports] == [["sub"], ["docs"]]
    assert {one.name: tuple(one.overlaps) for one in library.syncing.list_all()} == {
        "docs": ("sub",),
        "sub": ("docs",),
    }
    assert [one["overlaps"] for one in library.status()[0].sources] == [[str(tree / "sub")], [str(tree)]]
    (tree / "sub/x.txt").write_text("no heading, xylem\n", "utf-8")
    assert [(one.changed, one.embedded) for one in library.sync()] == [(0, 0), (1, 1)]
    assert standing(library) == before
    removed = library.collecting.remove_source("default", str(tree / "sub"))
    assert (removed.documents, removed.handed_over) == (0, 2)
    library.sync()
    assert standing(library) == {"a.md": before["a.md"], "sub/x.txt": before["x.txt"], "sub/y.txt": before["y.txt"]}
    assert not any(library.verify().values())


def test_a_source_that_the_settings_no_longer_name_holds_nothing_back(open_library: OpenLibrary, tree: Path) -> None:
    open_library(sources=[{"location": str(tree / "sub")}]).sync()
    library = open_library(sources=[{"location": str(tree)}])
    library.sync()
    assert sorted(standing(library)) == ["a.md", "sub/x.txt", "sub/y.txt"]


def test_what_lies_inside_a_configured_source_is_read_as_that_source(open_library: OpenLibrary, tree: Path) -> None:
    library = open_library(sources=[{"location": str(tree), "exclude": ["y.txt"], "tags": ["kept"]}])
    report = library.add(str(tree / "sub"))
    assert (report.source, report.added, report.paths) == (str(tree), 2, []), "it was never read, so all of it is"
    assert library.unread() == []
    (tree / "sub/x.txt").write_text("no heading, xylem\n", "utf-8")
    assert library.add(str(tree / "sub")).paths == ["sub"]
    assert library.read("sub/x.txt").document.metadata["tags"] == ["kept"]
    assert library.syncing.list_all()[0].by == "settings"


def test_one_folder_may_be_in_two_collections(library: Library, tree: Path) -> None:
    library.add(str(tree), "one")
    assert library.add(str(tree / "sub"), "two").added == 2
    assert library.add(str(tree), "three").added == 3
    assert [one.overlaps for one in library.syncing.list_all()] == [(), (), ()]


@needs_git
def test_a_repository_and_a_folder_of_it(library: Library, repository: Path) -> None:
    library.add(str(repository), ref="main")
    for location in (repository, repository / "docs"):
        with pytest.raises(InvalidInput, match=r"the source 'wild' \(git\)") as caught:
            library.add(str(location))
        assert "--as-source" in caught.value.hint
    for same in (repository.as_uri(), f"{repository.as_uri()}/", f"{repository}/"):
        assert library.add(same, kind="git").source == str(repository), "the same repository"
    assert locations(library) == [str(repository)]
    assert library.add(str(repository / "docs"), as_source=True).added == 1


@needs_git
def test_a_folder_that_is_a_source_and_the_repository_around_it(library: Library, repository: Path) -> None:
    library.add(str(repository / "docs"))
    with pytest.raises(InvalidInput, match="holds the files of the source 'docs'"):
        library.add(repository.as_uri(), kind="git")
    assert locations(library) == [str(repository / "docs")]


def test_one_repository_by_several_urls_is_one_source(library: Library, tmp_path: Path) -> None:
    known = "https://Git.example.org/team/handbook.git"
    record, _ = ingestion_runs.remember(library.app, "default", SourceSettings(kind="git", location=known))
    for url in ("https://git.example.org/team/handbook", "https://git.example.org/team/handbook.git/", known):
        assert addition(library.app, record.name, AddRequest(url)).source.location == known
    other = "https://git.example.org/team/other"
    assert addition(library.app, record.name, AddRequest(other)).source.location == other


def test_a_dry_run_says_the_same_and_writes_nothing(library: Library, tree: Path) -> None:
    library.add(str(tree / "sub"))
    with pytest.raises(InvalidInput):
        addition(library.app, "default", AddRequest(str(tree)))
    beside = addition(library.app, "default", AddRequest(str(tree), as_source=True))
    told = Forecasts(library.app).forecast("default", beside.source, paths=beside.paths)
    assert (told.new, told.skipped) == (1, {"Read by the source 'sub'": 2})
    (tree / "sub/z.txt").write_text("no heading, zinc\n", "utf-8")
    inside = addition(library.app, "default", AddRequest(str(tree / "sub/z.txt")))
    told = Forecasts(library.app).forecast("default", inside.source, paths=inside.paths)
    assert (told.source, told.paths, told.new) == (str(tree / "sub"), ("z.txt",), 1)
    assert locations(library) == [str(tree / "sub")]


def test_what_another_source_holds_is_not_stale(library: Library, tree: Path) -> None:
    library.add(str(tree))
    library.add(str(tree / "sub"), as_source=True)
    (tree / "sub/x.txt").write_text("no heading, xylem\n", "utf-8")
    assert [one.count for one in library.staleness.stale(library.collection())] == [1, 0]


def test_other_patterns_are_said_before_they_remove_anything(library: Library, tree: Path) -> None:
    first = library.add(str(tree), include=["*.md", "*.txt"])
    assert (first.include, first.before) == (["*.md", "*.txt"], {})
    before = standing(library)
    with pytest.raises(WouldRemove, match=r"removes 2 documents: sub/x.txt, sub/y.txt") as caught:
        library.add(str(tree), exclude=["sub/"])
    assert "include was *.md *.txt, becomes none; exclude was none, becomes sub/" in caught.value.message
    assert "--yes" in caught.value.hint
    again = library.add(str(tree))
    assert (standing(library), again.include, again.before) == (before, ["*.md", "*.txt"], {}), "nothing was changed"
    done = library.add(str(tree), exclude=["sub/"], remove=True)
    assert (done.removed, done.exclude) == (2, ["sub/"])
    assert done.before == {"include": ["*.md", "*.txt"], "exclude": []}
    [one] = library.syncing.list_all()
    assert (list(one.include), list(one.exclude)) == ([], ["sub/"])
    wider = library.add(str(tree), include=["*"])
    assert (wider.added, wider.before) == (2, {"include": [], "exclude": ["sub/"]}), "what only adds does not ask"
    assert library.sync()[0].before == {}


def test_taking_back_what_was_left_out_by_default_counts(library: Library, tree: Path) -> None:
    write_files(tree, {"node_modules/m.md": "# M\n\nmodule\n", ".gitignore": "a.md\n"})
    library.add(str(tree), exclude=["!node_modules/", "!a.md"])
    assert "node_modules/m.md" in standing(library)
    with pytest.raises(WouldRemove, match=r"removes 2 documents: a.md, node_modules/m.md"):
        library.add(str(tree), exclude=["nothing"])


@needs_git
def test_another_branch_is_said_before_it_removes_anything(library: Library, repository: Path) -> None:
    git(repository, "checkout", "-q", "-b", "next")
    git(repository, "rm", "-q", "x.py")
    git(repository, "commit", "-q", "-m", "two")
    library.add(str(repository), ref="main")
    with pytest.raises(WouldRemove, match=r"ref was main, becomes next. That removes 1 document: x.py"):
        library.add(str(repository), ref="next")
    assert sorted(standing(library)) == ["docs/otter.md", "x.py"]
    assert library.add(str(repository), ref="next", remove=True).removed == 1


def test_a_location_that_is_not_there_is_no_part_of_a_source(library: Library, tree: Path) -> None:
    library.add(str(tree))
    with pytest.raises(NotFound):
        library.add(str(tree / "sub/none.txt"))
    with pytest.raises(NotFound):
        library.add(os.fspath(tree / "SUB"))
