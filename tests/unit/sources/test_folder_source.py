"""A folder is read completely, safely and the same way each time."""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pinakes.core.errors import SourceError, TooLarge, Unreadable
from pinakes.core.records import Item, Scan
from pinakes.settings import SourceSettings
from pinakes.sources.folder import FolderSource, _open_below

MAX = 1000


def make(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def source(
    location: Path, include: tuple[str, ...] = (), exclude: tuple[str, ...] = (), max_file_bytes: int = MAX
) -> FolderSource:
    settings = SourceSettings.model_validate({"location": str(location), "include": include, "exclude": exclude})
    return FolderSource(settings, max_file_bytes=max_file_bytes)


def paths(scan: Scan) -> list[str]:
    return [item.path for item in scan.items]


def reasons(scan: Scan) -> dict[str, str]:
    return {skip.path: skip.reason for skip in scan.skipped}


def test_all_files_are_listed_in_order_with_uri_size_and_state(tmp_path: Path) -> None:
    make(tmp_path, {"b.md": "bb", "a/c d.md": "ü", "a/b/x.txt": "x"})
    scan = source(tmp_path).scan(None)
    assert paths(scan) == ["a/b/x.txt", "a/c d.md", "b.md"]
    assert [item.uri for item in scan.items] == [(tmp_path / path).as_uri() for path in paths(scan)]
    assert [item.size_bytes for item in scan.items] == [1, 2, 2]
    assert scan.complete
    assert scan.removed == ()
    assert scan.skipped == ()
    again = source(tmp_path).scan(scan.state)
    assert again == scan


def test_the_content_that_is_read_is_the_content_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(bytes(range(256)))
    opened = source(tmp_path)
    (item,) = opened.scan(None).items
    assert opened.read(item) == bytes(range(256))


def test_one_file_is_a_source_whatever_its_name(tmp_path: Path) -> None:
    make(tmp_path, {".env": "x", "other.md": "y"})
    opened = source(tmp_path / ".env", include=("*.md",))
    (item,) = opened.scan(None).items
    assert (item.path, item.uri) == (".env", (tmp_path / ".env").as_uri())
    assert opened.read(item) == b"x"


def test_include_and_exclude_choose_files_relative_to_the_folder(tmp_path: Path) -> None:
    make(tmp_path, {"a.md": "x", "docs/b.md": "x", "docs/c.txt": "x", "docs/old/d.md": "x"})
    assert paths(source(tmp_path, ("/docs/**/*.md",), ("old/",)).scan(None)) == ["docs/b.md"]


def test_an_edit_that_keeps_size_and_mtime_changes_the_fingerprint(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    file.write_text("one")
    before = file.stat()
    (first,) = source(tmp_path).scan(None).items
    while file.stat().st_ctime_ns == before.st_ctime_ns:  # the clock of the file system ticks every few ms
        file.write_text("two")
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    (second,) = source(tmp_path).scan(None).items
    assert file.stat().st_mtime_ns == before.st_mtime_ns
    assert first.fingerprint != second.fingerprint


def test_ignore_files_hold_from_where_they_lie_downwards(tmp_path: Path) -> None:
    make(
        tmp_path,
        {
            ".gitignore": "*.log\nbuild/\n!keep.log\n",
            ".pinakesignore": "/private\n!extra.log\n",
            **dict.fromkeys(
                ["a.log", "keep.log", "extra.log", "private/x", "build/x", "sub/a.log", "sub/private/x"], "x"
            ),
            "sub/.gitignore": "!a.log\n/only-here\n",
            **dict.fromkeys(["sub/only-here", "sub/deep/only-here", "only-here"], "x"),
        },
    )
    scan = source(tmp_path, exclude=(".gitignore", ".pinakesignore")).scan(None)
    assert paths(scan) == [
        *("extra.log", "keep.log", "only-here", "sub/a.log", "sub/deep/only-here", "sub/private/x"),
    ]
    assert "Left out by ignore files: 4 entries (a.log, build, only-here, private)" in [s.reason for s in scan.skipped]


def test_ignore_files_above_hold_when_the_folder_lies_in_a_work_tree(tmp_path: Path) -> None:
    make(
        tmp_path,
        {
            ".git/HEAD": "ref: refs/heads/main",
            ".gitignore": "*.log\n/docs/api/gen\n/gen\n",
            "docs/.gitignore": "api/tmp\n",
            **dict.fromkeys(
                ["docs/api/a.md", "docs/api/a.log", "docs/api/gen/x", "docs/api/tmp", "docs/api/b/gen/x"], "x"
            ),
        },
    )
    assert paths(source(tmp_path / "docs/api", exclude=("/b/gen/y",)).scan(None)) == ["a.md", "b/gen/x"]


ODD = ["app/[id]/page.tsx", "app/i/page.tsx", "my docs/c.md"]
ODD += ["a*.md", "ab.md", "x?.md", "xy.md", "{a,b}.md", "a.md", "b.md"]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("app/[id]/page.tsx", ["app/[id]/page.tsx"]),
        ("./app/[id]/page.tsx", ["app/[id]/page.tsx"]),
        ("app/[id]", ["app/[id]/page.tsx"]),
        ("app/[id]/", ["app/[id]/page.tsx"]),
        ("app/[id]/*.tsx", ["app/[id]/page.tsx"]),
        ("app/[hij]/*.tsx", ["app/i/page.tsx"]),
        ("a*.md", ["a*.md"]),
        ("x?.md", ["x?.md"]),
        ("{a,b}.md", ["{a,b}.md"]),
        ("{a,ab}.md", ["a.md", "ab.md"]),
        ("b*.md", ["b.md"]),
        ("my docs/", ["my docs/c.md"]),
        ("../*/a*.md", []),
    ],
)
def test_a_path_that_is_there_is_that_path_before_it_is_a_pattern(
    tmp_path: Path, pattern: str, expected: list[str]
) -> None:
    root = make(tmp_path / "root", dict.fromkeys(ODD, "x"))
    assert paths(source(root, (pattern,)).scan(None)) == expected
    assert paths(source(root, (), (pattern,)).scan(None)) == sorted({*ODD} - {*expected})


def test_the_exclude_file_of_a_work_tree_is_obeyed(tmp_path: Path) -> None:
    root = make(tmp_path / "repo", {".git/info/exclude": "*.log\n/build/\n# a note\n", "a.md": "a", "b.log": "b"})
    make(root, {"build/c.md": "c", "docs/build/d.md": "d", "docs/e.log": "e", "k.log": "k", ".gitignore": "!k.log"})
    assert paths(source(root).scan(None)) == [".gitignore", "a.md", "docs/build/d.md", "k.log"]
    assert paths(source(root / "docs").scan(None)) == ["build/d.md"]
    assert reasons(source(root / "docs").scan(None)) == {".": "Left out by ignore files: 1 entry (e.log)"}
    looked = source(root).look(["docs/e.log", "docs/new.md", ".git/info/exclude"], None)
    assert looked.complete


def test_work_trees_within_a_folder_have_their_own_exclude_files(tmp_path: Path) -> None:
    make(tmp_path, {"one/.git/info/exclude": "x.md", "one/x.md": "x", "one/y.md": "y", "two/x.md": "x"})
    assert paths(source(tmp_path).scan(None)) == ["one/y.md", "two/x.md"]
    assert paths(source(tmp_path).look(["one/x.md", "one/y.md", "two/x.md"], None)) == ["one/y.md", "two/x.md"]


def test_linked_work_trees_and_submodules_find_their_exclude_file(tmp_path: Path) -> None:
    make(tmp_path, {"main/.git/info/exclude": "x.md", "main/.git/worktrees/w/commondir": "../..\n"})
    make(tmp_path, {"w/.git": "gitdir: ../main/.git/worktrees/w\n", "w/x.md": "x", "w/y.md": "y"})
    make(tmp_path, {"main/.git/modules/m/info/exclude": "y.md", "m/x.md": "x", "m/y.md": "y"})
    (tmp_path / "m/.git").write_text(f"gitdir: {tmp_path}/main/.git/modules/m")
    assert paths(source(tmp_path / "w").scan(None)) == ["y.md"]
    assert paths(source(tmp_path / "m").scan(None)) == ["x.md"]


@pytest.mark.parametrize("pointer", ["gitdir: x", "gitdir: /dev/zero", "gitdir:", "not git", "gitdir: \0", "x" * 9000])
def test_a_git_file_that_leads_nowhere_leaves_nothing_out(tmp_path: Path, pointer: str) -> None:
    make(tmp_path, {".git": pointer, "a.md": "a"})
    assert paths(source(tmp_path).scan(None)) == ["a.md"]


def test_a_folder_that_is_added_itself_is_read_although_git_ignores_it(tmp_path: Path) -> None:
    make(tmp_path, {".git/HEAD": "x", ".gitignore": "build\n*.o\n", "build/docs/a.md": "x", "build/docs/a.o": "x"})
    assert paths(source(tmp_path / "build/docs").scan(None)) == ["a.md"]


def test_default_exclusions_are_reported_in_one_line(tmp_path: Path) -> None:
    make(tmp_path, {"a.md": "x", ".git/HEAD": "x", **{f"p{n}/__pycache__/x.py": "x" for n in range(5)}})
    scan = source(tmp_path).scan(None)
    assert paths(scan) == ["a.md"]
    assert reasons(scan) == {".": "Left out by default: 6 entries (.git, __pycache__)"}


def test_empty_and_large_files_are_skipped_with_the_numbers(tmp_path: Path) -> None:
    make(tmp_path, {"empty.md": "", "large.md": "x" * (MAX + 1), "limit.md": "x" * MAX})
    scan = source(tmp_path).scan(None)
    assert paths(scan) == ["limit.md"]
    assert reasons(scan) == {"empty.md": "Empty file", "large.md": "File too large (1001 bytes, max 1000)"}


def test_folders_to_avoid_are_left_out_wherever_a_path_leads_into_them(tmp_path: Path) -> None:
    make(tmp_path, {"a.md": "a", "deep/home/b.md": "b", "deep/c.md": "c", "home/d.md": "d"})
    (tmp_path / "link").symlink_to(tmp_path / "deep/home")
    (tmp_path / "deep/link.md").symlink_to(tmp_path / "deep/home/b.md")
    (tmp_path.parent / "alias").symlink_to(tmp_path / "deep")
    settings = SourceSettings.model_validate({"location": str(tmp_path)})
    avoid = [tmp_path.parent / "alias/home", tmp_path, tmp_path.parent, tmp_path / "not there"]
    scan = FolderSource(settings, max_file_bytes=MAX, avoid=avoid).scan(None)
    assert paths(scan) == ["a.md", "deep/c.md", "home/d.md"]
    assert reasons(scan)["."] == "Left out by default: 1 entry (home)"
    assert set(reasons(scan)) == {".", "link", "deep/link.md"}


def test_a_link_never_leads_outside(tmp_path: Path) -> None:
    make(tmp_path, {"out/secret": "s", "in-side/x": "s", "in/a.md": "x"})
    (tmp_path / "in/file").symlink_to(tmp_path / "out/secret")
    (tmp_path / "in/folder").symlink_to("../out")
    (tmp_path / "in/sibling").symlink_to("../in-side")
    scan = source(tmp_path / "in").scan(None)
    assert paths(scan) == ["a.md"]
    assert reasons(scan) == dict.fromkeys(["file", "folder", "sibling"], "Link leads outside the folder")


def test_links_that_lead_nowhere_or_in_circles_are_named(tmp_path: Path) -> None:
    make(tmp_path, {"a/b/x.md": "x"})
    (tmp_path / "gone").symlink_to("nothing")
    (tmp_path / "a/b/up").symlink_to("../..")
    (tmp_path / "a/b/self").symlink_to("self")
    scan = source(tmp_path).scan(None)
    assert paths(scan) == ["a/b/x.md"]
    assert reasons(scan)["gone"] == "Link leads nowhere"
    assert reasons(scan)["a/b/up"] == "Link leads back to a folder around it"
    assert "circle" in reasons(scan)["a/b/self"]


def test_what_a_link_leads_to_is_read_once_under_its_own_name(tmp_path: Path) -> None:
    make(tmp_path, {"real/x.md": "x", "real/y.md": "y"})
    (tmp_path / "a-folder").symlink_to("real")
    (tmp_path / "a-file.md").symlink_to("real/x.md")
    scan = source(tmp_path).scan(None)
    assert paths(scan) == ["real/x.md", "real/y.md"]
    assert reasons(scan) == {
        "a-file.md": "Link leads to real/x.md, which is read itself",
        "a-folder": "Link leads to real, where nothing else is to be read",
    }


def test_a_link_is_followed_to_a_file_that_is_not_asked_for_itself(tmp_path: Path) -> None:
    make(tmp_path, {"README": "readme", "docs/a.md": "x", "more/b.md": "b"})
    (tmp_path / "docs/README.md").symlink_to("../README")
    (tmp_path / "docs/more").symlink_to("../more")
    (tmp_path / "docs/again").symlink_to("../more")
    opened = source(tmp_path, ("docs/**/*.md",))
    scan = opened.scan(None)
    assert paths(scan) == ["docs/README.md", "docs/a.md", "docs/again/b.md"]
    assert [opened.read(item) for item in scan.items] == [b"readme", b"x", b"b"]


def test_folders_that_link_to_each_other_end(tmp_path: Path) -> None:
    make(tmp_path, {"a/x.md": "x", "b/y.md": "y"})
    (tmp_path / "a/to-b").symlink_to("../b")
    (tmp_path / "b/to-a").symlink_to("../a")
    assert paths(source(tmp_path).scan(None)) == ["a/x.md", "b/y.md"]
    assert paths(source(tmp_path, ("/a/",)).scan(None)) == ["a/to-b/y.md", "a/x.md"]


def test_a_link_does_not_open_what_is_excluded(tmp_path: Path) -> None:
    make(tmp_path, {".git/config": "token", ".env": "KEY=1", "old/x.md": "x"})
    (tmp_path / "docs").symlink_to(".git")
    (tmp_path / "settings.md").symlink_to(".env")
    (tmp_path / "new").symlink_to("old")
    scan = source(tmp_path, exclude=("old/",)).scan(None)
    assert paths(scan) == []
    assert reasons(scan)["docs"] == "Link leads to .git, which is left out"
    assert reasons(scan)["settings.md"] == "Link leads to .env, which is left out"
    assert reasons(scan)["new"] == "Link leads to old, which is left out"


def test_pipes_and_sockets_are_skipped_and_never_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    monkeypatch.chdir(tmp_path)  # the path of a socket may have 108 bytes only
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket.md")
        scan = source(tmp_path).scan(None)
    assert paths(scan) == []
    assert reasons(scan) == {
        "pipe.md": "Not a regular file but a named pipe",
        "socket.md": "Not a regular file but a socket",
    }


def test_a_file_that_became_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    make(tmp_path, {"a.md": "x"})
    opened = source(tmp_path)
    (item,) = opened.scan(None).items
    (tmp_path / "a.md").unlink()
    os.mkfifo(tmp_path / "a.md")
    with pytest.raises(Unreadable, match="named pipe"):
        opened.read(item)


def test_names_that_are_not_utf8_are_skipped_and_shown(tmp_path: Path) -> None:
    make(tmp_path, {"gut.md": "x"})
    try:
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/b\xe4d.md")).write_text("x")
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/f\xff")).mkdir()
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    scan = source(tmp_path).scan(None)
    assert paths(scan) == ["gut.md"]
    assert reasons(scan) == dict.fromkeys(["b\\xe4d.md", "f\\xff/"], "Name is not valid UTF-8")


def test_odd_but_valid_names_come_through(tmp_path: Path) -> None:
    names = ["#hash.md", "?query.md", "100%.md", "back\\slash.md", "new\nline.md", "é.md", "漢字.md"]
    opened = source(make(tmp_path, dict.fromkeys(names, "x")))
    items = opened.scan(None).items
    assert sorted(item.path for item in items) == sorted(names)
    assert {item.uri for item in items} == {(tmp_path / name).as_uri() for name in names}
    assert all(opened.read(item) == b"x" for item in items)


@contextmanager
def unprivileged() -> Iterator[None]:
    """Run as nobody when the tests run as root, to whom nothing is forbidden."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder everyone may enter: ``tmp_path`` lies in one that only its owner may."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def test_what_may_not_be_read_is_skipped_and_the_rest_goes_on(open_folder: Path) -> None:
    make(open_folder, {"a.md": "x", "locked.md": "x", "locked/x.md": "x", "z.md": "x"})
    (open_folder / "locked.md").chmod(0)
    (open_folder / "locked").chmod(0)
    with unprivileged():
        scan = source(open_folder).scan(None)
    (open_folder / "locked").chmod(0o700)
    assert paths(scan) == ["a.md", "z.md"]
    assert reasons(scan) == {
        "locked.md": "No permission to read it",
        "locked/": "Folder cannot be read: no permission",
    }


def test_a_file_that_was_locked_meanwhile_is_unreadable_with_the_reason(open_folder: Path) -> None:
    opened = source(make(open_folder, {"a.md": "x"}))
    (item,) = opened.scan(None).items
    (open_folder / "a.md").chmod(0)
    with unprivileged(), pytest.raises(Unreadable, match="no permission"):
        opened.read(item)


def test_a_root_that_may_not_be_read_is_an_error(open_folder: Path) -> None:
    (open_folder / "locked").mkdir(mode=0)
    with unprivileged(), pytest.raises(SourceError, match="no permission"):
        source(open_folder / "locked").scan(None)


def test_a_root_that_vanished_is_an_error_and_not_an_empty_scan(tmp_path: Path) -> None:
    make(tmp_path, {"in/a.md": "x"})
    opened = source(tmp_path / "in")
    state = opened.scan(None).state
    shutil.rmtree(tmp_path / "in")
    with pytest.raises(SourceError) as caught:
        opened.scan(state)
    assert str(tmp_path / "in") in caught.value.message
    assert "Nothing was removed" in caught.value.hint
    with pytest.raises(SourceError):
        source(tmp_path / "in" / "file.md").scan(None)


def test_another_folder_in_its_place_is_told_from_the_folder_itself(tmp_path: Path) -> None:
    make(tmp_path, {"in/a.md": "x", "new/a.md": "x"})
    state = source(tmp_path / "in").scan(None).state
    (tmp_path / "in/a.md").unlink()
    assert not source(tmp_path / "in").scan(state).replaced
    assert not source(tmp_path / "in").scan(f"device:{tmp_path.stat().st_dev}").replaced
    assert source(tmp_path / "in").scan("device:1").replaced
    assert source(tmp_path / "new").scan(state).replaced
    looked = source(tmp_path / "new").look(["a.md"], state)
    assert (looked.complete, looked.replaced) == (True, True)


def test_a_folder_exchanged_for_a_link_after_the_scan_is_not_followed_outside(tmp_path: Path) -> None:
    make(tmp_path, {"in/sub/a.md": "x", "out/a.md": "secret"})
    opened = source(tmp_path / "in")
    (item,) = opened.scan(None).items
    shutil.rmtree(tmp_path / "in/sub")
    (tmp_path / "in/sub").symlink_to("../out")
    with pytest.raises(Unreadable, match="outside"):
        opened.read(item)


def test_a_folder_exchanged_for_a_link_between_check_and_opening_is_not_entered(tmp_path: Path) -> None:
    make(tmp_path, {"in/sub/a.md": "x"})
    (tmp_path / "in/link").symlink_to("sub")
    os.close(_open_below(str(tmp_path / "in"), "sub/a.md"))
    with pytest.raises(OSError, match=r"Not a directory|symbolic"):
        _open_below(str(tmp_path / "in"), "link/a.md")


@pytest.mark.parametrize("path", ["../out/a.md", "/etc/passwd", "sub/../../out/a.md", "", ".", "a\0b"])
def test_a_path_that_no_scan_gave_is_refused(tmp_path: Path, path: str) -> None:
    make(tmp_path, {"in/a.md": "x", "out/a.md": "secret"})
    with pytest.raises(Unreadable):
        source(tmp_path / "in").read(Item(path, "", 1, ""))


def test_a_file_that_vanished_or_grew_is_unreadable(tmp_path: Path) -> None:
    opened = source(make(tmp_path, {"a.md": "x", "b.md": "x"}))
    first, second = opened.scan(None).items
    (tmp_path / "a.md").unlink()
    (tmp_path / "b.md").write_text("x" * (MAX + 1))
    with pytest.raises(Unreadable, match="vanished"):
        opened.read(first)
    with pytest.raises(TooLarge, match=r"File too large \(1001 bytes, max 1000\)"):
        opened.read(second)


def test_a_file_that_changes_while_it_is_read_is_never_given_half_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "busy.txt"
    file.write_text("old " * 100)
    opened = source(tmp_path)
    (item,) = opened.scan(None).items
    read, moments = os.read, iter(range(1, 1000))

    def read_while_another_writes(descriptor: int, count: int) -> bytes:
        data = read(descriptor, count)
        file.write_text("new " * 100)
        os.utime(file, (0, next(moments)))
        return data

    with monkeypatch.context() as patch:
        patch.setattr(os, "read", read_while_another_writes)
        with pytest.raises(Unreadable, match="changed while it was read") as caught:
            opened.read(item)
    assert "next sync" in caught.value.hint
    assert opened.read(item) == b"new " * 100


def test_ten_thousand_empty_files_are_listed_quickly(tmp_path: Path) -> None:
    for index in range(10_000):
        (tmp_path / f"{index}.md").touch()
    scan = source(tmp_path).scan(None)
    assert scan.items == ()
    assert len(scan.skipped) == 10_000


def test_an_exclude_file_that_is_too_large_stops_the_scan(tmp_path: Path) -> None:
    root = make(tmp_path / "repo", {".git/info/exclude": "private.md\n" + "# a note\n" * 1_200_000, "private.md": "x"})
    with pytest.raises(SourceError, match="info/exclude' cannot be read, or has more than 10,000,000 bytes"):
        source(root).scan(None)
