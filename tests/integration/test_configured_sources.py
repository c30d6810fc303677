"""What the settings say of a collection's sources holds, also when they change."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pinakes.catalog import documents
from pinakes.core.errors import InvalidInput
from pinakes.library import Library
from pinakes.testing import write_files

OpenLibrary = Callable[..., Library]


@pytest.fixture
def places(tmp_path: Path) -> dict[str, Path]:
    """Two folders with a Markdown file and a text file each."""
    return {
        name: write_files(tmp_path / name, {f"{name}.md": f"# {name}\n\ntext\n", f"{name}.txt": "plain\n"})
        for name in ("one", "two")
    }


def configured(*folders: Path, include: tuple[str, ...] = ("*.md",)) -> dict[str, Any]:
    return {"collections": {"default": {"sources": [{"location": str(f), "include": include} for f in folders]}}}


def paths(library: Library) -> list[str]:
    with library.app.catalog.read() as connection:
        return sorted(documents.paths(connection, library.collection().id))


def test_a_source_that_is_configured_later_is_read(open_library: OpenLibrary, places: dict[str, Path]) -> None:
    library = open_library(**configured(places["one"]))
    assert library.unread() == ["default"]
    library.sync()
    assert (library.unread(), paths(library)) == ([], ["one.md"])
    library = open_library(**configured(places["one"], places["two"]))
    assert library.unread() == ["default"]
    library.sync()
    assert (library.unread(), paths(library)) == ([], ["one.md", "two.md"])


def test_a_folder_is_one_source_however_it_is_written(
    open_library: OpenLibrary, places: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    above = places["one"].parent
    monkeypatch.setenv("HOME", str(above))
    library = open_library(sources=[{"location": "~/one", "include": ["*.md"]}])
    library.sync()
    monkeypatch.chdir(places["two"])
    for location in ("../one", "~/one/", str(places["one"]), str(above / "two" / ".." / "one")):
        assert (library.add(location).unchanged, len(library.syncing.list_all())) == (1, 1)
    assert paths(library) == ["one.md"]


def test_a_typed_path_names_a_source_wherever_it_is_typed(
    library: Library, places: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(places["two"])
    library.add("../one")
    assert library.syncing.find("../one").location == str(places["one"])
    assert library.collecting.remove_source("default", "../one").documents == 2
    assert library.syncing.list_all() == []


def test_a_link_that_is_pointed_elsewhere_stays_the_same_source(
    open_library: OpenLibrary, places: dict[str, Path]
) -> None:
    above = places["one"].parent
    link = above / "current"
    link.symlink_to("one")
    library = open_library(sources=[{"location": f"{above}/two/../current"}])
    library.sync()
    assert paths(library) == ["one.md", "one.txt"]
    link.unlink()
    link.symlink_to("two")
    [report] = library.sync()
    assert (report.source, paths(library)) == (str(link), ["two.md", "two.txt"])


def test_the_folder_of_the_knowledge_base_is_one_source_however_it_is_written(
    open_library: OpenLibrary, places: dict[str, Path], home: Path
) -> None:
    library = open_library(knowledge_base__enabled=True, knowledge_base__folder="../one")
    library.sync()
    assert library.add(f"{home}/../one").unchanged == 2
    assert [one.location for one in library.syncing.list_all()] == [str(places["one"])]


def test_a_place_is_told_where_the_working_directory_is_gone(
    library: Library, places: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert library.add(str(places["one"])).added == 2
    with pytest.raises(InvalidInput, match="is no path here") as refused:
        library.add("one")
    assert refused.value.hint == "Give the whole path."


def test_other_configured_globs_take_effect(open_library: OpenLibrary, places: dict[str, Path]) -> None:
    open_library(**configured(places["one"])).sync()
    library = open_library(**configured(places["one"], include=("*.txt",)))
    assert library.unread() == ["default"]
    assert len(library.sync()) == 1
    assert (library.unread(), paths(library)) == ([], ["one.txt"])


def test_configured_globs_hold_when_the_place_is_added_by_hand(
    open_library: OpenLibrary, places: dict[str, Path]
) -> None:
    library = open_library()
    library.add(str(places["one"]), include=["*.txt"])
    library = open_library(**configured(places["one"]))
    library.add(str(places["one"]), remove=True)
    assert paths(library) == ["one.md"]


def test_a_copy_stands_for_the_configured_place(open_library: OpenLibrary, places: dict[str, Path]) -> None:
    library = open_library(**configured(places["one"] / "far away"))
    library.add(str(places["two"]))
    assert (library.unread(), paths(library)) == ([], ["two.md"])
    assert [report.error for report in library.sync()] == [None]
