"""What Pinakes keeps of documents is for its owner alone, whatever the umask is."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from attacked_home import SETTINGS, open_library, run, write_documents
from forking import run_each

OTHERS = 0o077


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    return write_documents(tmp_path / "documents")


@pytest.fixture
def open_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def readable(*places: Path) -> list[str]:
    """Return the files and folders at and below ``places`` that others may read, write or enter."""
    every = [path for place in places for path in (place, *place.rglob("*"))]
    return [f"{path}: {path.stat().st_mode & 0o777:o}" for path in every if path.stat().st_mode & OTHERS]


@pytest.mark.parametrize("umask", [0o000, 0o277], ids=oct)
def test_homes_backups_and_exports_are_private(umask: int, tmp_path: Path, documents: Path) -> None:
    home, backup, restored, archive = (tmp_path / name for name in ("home", "b.zip", "restored", "a.pinakes"))
    calls = (
        (home, "init", "--no-model"),
        (home, "add", str(documents)),
        (home, "keys", "create", "reader"),
        (home, "search", "heron"),
        (home, "backup", str(backup)),
        (home, "export", "default", str(archive)),
        (restored, "restore", str(backup)),
        (restored, "search", "heron"),
    )
    commands = [["--home", str(place), *words] for place, *words in calls]
    environment = {**os.environ, **SETTINGS}
    for done in run_each(commands, environment, before=lambda: os.umask(umask) and None):
        assert done.returncode == 0, (done.args, done.stderr)
    assert readable(home, backup, archive, restored) == []
    assert {path.name for path in home.iterdir()} >= {"catalog.db", "config.toml", "index"}


@pytest.mark.usefixtures("open_umask")
def test_the_log_of_an_open_catalogue_is_private(tmp_path: Path, documents: Path) -> None:
    """In a process that is not ours, whose umask is left as it is, others cannot enter what they could read."""
    home = tmp_path / "home"
    with open_library(home) as library:
        library.add(str(documents))
        kept = [home, *home.glob("catalog.db*"), home / "index", *(home / "index").glob("*-*")]
        assert {"catalog.db", "catalog.db-wal", "catalog.db-shm"} <= {path.name for path in kept}
        assert [str(path) for path in kept if path.stat().st_mode & OTHERS] == []


@pytest.mark.usefixtures("open_umask")
def test_a_folder_that_was_open_before_it_became_a_home_hides_what_is_put_there(
    tmp_path: Path, documents: Path
) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o755)
    assert run(home, "add", str(documents)).returncode == 0
    assert readable(*home.iterdir()) == []
