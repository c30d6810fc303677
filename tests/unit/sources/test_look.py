"""A folder can be looked at in part, with the same result as looking at all of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pinakes.core.errors import SourceError
from pinakes.core.ports import Lookable
from pinakes.settings import SourceSettings
from pinakes.sources.folder import FolderSource
from pinakes.sources.partial import PartialSource
from pinakes.testing import write_files

MAX = 1000


def source(location: Path, **settings: object) -> FolderSource:
    return FolderSource(SourceSettings.model_validate({"location": str(location), **settings}), max_file_bytes=MAX)


def test_what_is_at_a_path_is_what_a_scan_has_there(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.md": "a", "sub/b.md": "bb", "sub/deep/c.md": "ccc", "other/d.md": "d"})
    opened = source(tmp_path)
    whole = opened.scan(None)
    part = opened.look({"a.md", "sub"}, whole.state)
    assert not part.complete
    assert part.items == tuple(item for item in whole.items if not item.path.startswith("other/"))
    assert (part.removed, part.skipped, part.state) == (("a.md", "a.md/", "sub", "sub/"), (), whole.state)


def test_what_is_gone_is_told_with_all_that_may_have_been_below(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.md": "a"})
    part = source(tmp_path).look({"b.md", "gone/c.md"}, None)
    assert part.items == ()
    assert part.removed == ("b.md", "b.md/", "gone/c.md", "gone/c.md/")


def test_a_file_where_a_folder_was_tells_that_what_was_below_is_gone(tmp_path: Path) -> None:
    write_files(tmp_path, {"a": "now a file"})
    part = source(tmp_path).look({"a", "a/b.md"}, None)
    assert [item.path for item in part.items] == ["a"]
    assert part.removed == ("a", "a/")


def test_a_folder_and_what_is_in_it_are_looked_at_once(tmp_path: Path) -> None:
    write_files(tmp_path, {"a/b.md": "b", "a/sub/c.md": "c", "a/empty.md": "", "a-b/d.md": "d"})
    part = source(tmp_path).look({"a", "a-b", "a/b.md", "a/sub", "a/sub/c.md", "a/empty.md", "a/gone.md"}, None)
    assert [item.path for item in part.items] == ["a-b/d.md", "a/b.md", "a/sub/c.md"]
    assert [skip.path for skip in part.skipped] == ["a/empty.md"]
    assert part.removed == ("a", "a/", "a-b", "a-b/")


def test_what_is_below_a_path_that_rules_leave_out_is_looked_at_by_itself(tmp_path: Path) -> None:
    write_files(tmp_path, {".gitignore": "a\n!a/\n"})
    assert source(tmp_path).look({"a", "a/b.md"}, None).removed == ("a/b.md", "a/b.md/")


def test_a_folder_where_a_file_was_tells_that_the_file_is_gone(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.md/b.md": "b"})
    part = source(tmp_path).look({"a.md"}, None)
    assert [item.path for item in part.items] == ["a.md/b.md"]
    assert part.removed == ("a.md", "a.md/")


@pytest.mark.parametrize(
    "path", ["build/x.md", "sub/x.log", "node_modules/m/x.md", ".git/index", "sub/.x.md.swp", "gone.log"]
)
def test_what_rules_leave_out_is_neither_there_nor_gone(tmp_path: Path, path: str) -> None:
    write_files(tmp_path, {".gitignore": "build/\n", "sub/.gitignore": "*.log\n", "a.md": "a"})
    write_files(tmp_path, {name: "x" for name in (path,) if not name.startswith("gone")})
    part = source(tmp_path, exclude=("*.log",)).look({path}, None)
    assert (part.items, part.removed, part.complete) == ((), (), False)


def test_a_file_that_no_pattern_asks_for_is_neither_there_nor_gone(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.txt": "a"})
    part = source(tmp_path, include=("*.md",)).look({"a.txt"}, None)
    assert (part.items, part.removed) == ((), ())


def test_a_pattern_that_asks_for_other_files_does_not_hide_that_a_folder_is_gone(tmp_path: Path) -> None:
    opened = source(tmp_path, include=("*.md",))
    assert opened.look({"sub"}, None).removed == ("sub", "sub/")


def test_reasons_for_passing_over_are_those_of_a_scan(tmp_path: Path) -> None:
    write_files(tmp_path, {"empty.md": "", "large.md": "x" * (MAX + 1), "a.md": "a"})
    os.mkfifo(tmp_path / "pipe")
    opened = source(tmp_path)
    part = opened.look({"empty.md", "large.md", "pipe"}, None)
    assert part.skipped == opened.scan(None).skipped
    assert len(part.skipped) == 3


@pytest.mark.parametrize("path", [".gitignore", "sub/.pinakesignore"])
def test_a_change_of_an_ignore_file_makes_everything_be_looked_at(tmp_path: Path, path: str) -> None:
    write_files(tmp_path, {"a.md": "a", "sub/b.md": "b", path: "b.md\n"})
    opened = source(tmp_path)
    assert opened.look({path}, None) == opened.scan(None)


@pytest.mark.parametrize("path", ["link.md", "links/b.md", "real"])
def test_where_links_are_everything_is_looked_at(tmp_path: Path, path: str) -> None:
    write_files(tmp_path, {"a.md": "a", "real/b.md": "b"})
    (tmp_path / "link.md").symlink_to("a.md")
    (tmp_path / "links").symlink_to("real")
    (tmp_path / "real" / "up.md").symlink_to("../a.md")
    opened = source(tmp_path)
    assert opened.look({path}, None) == opened.scan(None)


def test_a_single_file_is_looked_at_as_a_whole(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.md": "a"})
    opened = source(tmp_path / "a.md")
    assert opened.look({"a.md"}, None) == opened.scan(None)


def test_a_folder_that_is_not_there_is_an_error_and_not_the_end_of_its_files(tmp_path: Path) -> None:
    with pytest.raises(SourceError):
        source(tmp_path / "gone").look({"a.md"}, None)


def test_folders_to_avoid_are_not_looked_into(tmp_path: Path) -> None:
    write_files(tmp_path, {"home/x.md": "x"})
    opened = FolderSource(SourceSettings(location=str(tmp_path)), max_file_bytes=MAX, avoid=(tmp_path / "home",))
    assert opened.look({"home/x.md", "home"}, None).items == ()


def test_a_part_of_a_source_reads_and_scans_that_part(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.md": "aa", "b.md": "b"})
    opened = source(tmp_path)
    assert isinstance(opened, Lookable)
    part = PartialSource(opened, {"a.md"})
    (item,) = part.scan(None).items
    assert part.read(item) == b"aa"
    part.close()
