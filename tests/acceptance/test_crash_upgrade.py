"""A home of an older version whose upgrade is killed: the old index answers, and the next sync goes on."""

from __future__ import annotations

from pathlib import Path

import pytest
from children import KILLED, Child, run, together
from old_home import unpacked

from pinakes.library import Library


def opened(home: Path) -> Library:
    return Library.open(home, embedding__provider="deterministic")


def index_folders(home: Path) -> set[str]:
    return {path.name for path in (home / "index").iterdir() if path.is_dir()}


def found(home: Path) -> list[str]:
    with opened(home) as library:
        assert library.verify() == {"default": []}
        return [hit.path for hit in library.search("lighthouse keepers", mode="keyword").hits]


def check_upgraded(home: Path) -> None:
    with opened(home) as library:
        assert all(report.error is None for report in library.sync())
        [state] = library.status()
        assert state.upgrade is not None
        assert state.upgrade.is_done
        assert (state.documents, state.pending) == (14, 0)
    assert len(index_folders(home)) == 1
    assert index_folders(home) != {"1-1"}
    assert found(home)[0] == "keeping.md"


@pytest.mark.parametrize(
    ("point", "number"),
    [
        ("version", 1),
        ("version", -1),
        ("keyword", 1),
        ("keyword", 2),
        ("position", 1),
        ("position", -2),
        ("vectors", 1),
        ("snapshot", 1),
        ("generation", 1),
        ("generation", -1),
        ("old folder", 2),
        ("old snapshot", 1),
    ],
)
def test_a_killed_upgrade_leaves_the_old_index_or_the_new_one(tmp_path: Path, point: str, number: int) -> None:
    home, _ = unpacked(tmp_path)
    code, told = run(home, "sync", "", point=point, number=number)
    assert code == KILLED, told
    assert found(home)[0] == "keeping.md"
    check_upgraded(home)


def test_two_processes_that_sync_at_once_leave_one_index(tmp_path: Path) -> None:
    home, _ = unpacked(tmp_path)
    assert together([Child(home, "sync", ""), Child(home, "sync", "")]) == [(0, ""), (0, "")]
    check_upgraded(home)


def test_a_search_beside_a_sync_is_answered(tmp_path: Path) -> None:
    home, _ = unpacked(tmp_path)
    children = [Child(home, "sync", ""), *(Child(home, "search", "", "default") for _ in range(3))]
    assert together(children) == [(0, "")] * 4
    check_upgraded(home)


def test_without_room_the_old_index_answers(tmp_path: Path) -> None:
    home, _ = unpacked(tmp_path)
    run(home, "sync", "", point="limit", number=4_000)
    assert found(home)[0] == "keeping.md"
    check_upgraded(home)
