"""What the settings say of a collection's sources holds, also when they change."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pinakes.catalog import documents
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
    with library.shelves.catalog.read() as connection:
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
    library.add(str(places["one"]))
    assert paths(library) == ["one.md"]


def test_a_copy_stands_for_the_configured_place(open_library: OpenLibrary, places: dict[str, Path]) -> None:
    library = open_library(**configured(places["one"] / "far away"))
    library.add(str(places["two"]))
    assert (library.unread(), paths(library)) == ([], ["two.md"])
    assert [report.error for report in library.sync()] == [None]
