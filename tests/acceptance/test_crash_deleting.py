"""A process that deletes a collection is killed: the collection is wholly there, or wholly gone.

Beside it is another one of the same documents, which shares its vectors and one of its repositories.
"""

from __future__ import annotations

import random
import shutil
import sqlite3
import subprocess
import time
from pathlib import Path

import pytest
from children import KILLED, Child, run
from test_crash import FILES, files, opened

from pinakes.testing import write_files

TABLES = ("documents", "versions", "fields", "changes", "sources")
CHILDREN = {
    "chunks": "document_id NOT IN (SELECT id FROM documents)",
    "files": "source_id NOT IN (SELECT id FROM sources)",
}
KILLS = 8

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the collections "c", of a folder and two repositories, and "kept", of the folder and one of these."""
    place = tmp_path_factory.mktemp("deleting")
    docs = write_files(place / "docs", files())
    with opened(place / "home") as library:
        for name in ("mine", "shared"):
            library.add(repository(place / name).as_uri(), "c")
        library.add((place / "shared").as_uri(), "kept")
        for collection in ("c", "kept"):
            assert library.add(str(docs), collection).added == FILES
        assert library.search("heron", "c").hits
    return place / "home"


def repository(folder: Path) -> Path:
    """Make a git repository with one file."""
    write_files(folder, {f"{folder.name}.md": f"# {folder.name}\n\nA heron of the repository {folder.name}.\n"})
    who = ("-c", "user.name=T", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false")
    for words in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-q", "-m", "first")):
        subprocess.run(["git", "-C", str(folder), *who, *words], check=True, capture_output=True, timeout=60)
    return folder


@pytest.fixture
def home(prepared: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(prepared, tmp_path / "home"))


def check(home: Path, number: int) -> bool:
    """Open the home and make sure that "c", the collection with this id, is wholly there or wholly gone; say which."""
    with opened(home) as library:
        names = [record.name for record in library.collections()]
        assert names in (["c", "kept"], ["kept"])
        assert library.verify() == {name: [] for name in names}
        for name in names:
            [about] = library.status(name)
            assert (about.documents, about.pending) == (FILES + (2 if name == "c" else 1), 0)
            assert len(library.search("heron", name, mode="keyword", top_k=1000).hits) == about.documents
            assert library.search("heron", name, mode="vector").hits
        there = "c" in names
        left = [path.name for path in (home / "index").iterdir() if path.name.startswith((f"{number}-", f"{number}."))]
        fetched = [path for path in (home / "sources").iterdir() if path.is_dir()]
    assert bool(left) == there, left
    assert len(fetched) == (2 if there else 1), "what a repository fetched goes with the last that has it"
    with sqlite3.connect(home / "catalog.db") as connection:
        for table in TABLES:
            query = f"SELECT count(*) FROM {table} WHERE collection_id = {number}"
            assert (connection.execute(query).fetchone()[0] > 0) == there, table
        for table, orphaned in CHILDREN.items():
            assert connection.execute(f"SELECT count(*) FROM {table} WHERE {orphaned}").fetchone() == (0,), table
    connection.close()
    return there


def number_of(home: Path) -> int:
    with opened(home) as library:
        return library.collection("c").id


@pytest.mark.parametrize(
    ("point", "number", "there"),
    [
        ("deletion", 1, True),
        ("deletion", -1, True),
        ("deleted", 2, False),
        ("deleted", -2, False),
        ("leftover", 1, False),
        ("leftover", -1, False),
        ("leftover", -2, False),
        ("unlinked", 3, False),
        ("unlinked", -6, False),
        ("locks", 1, False),
        ("unused", 1, False),
        ("unused", -1, False),
    ],
)
def test_a_kill_while_deleting(point: str, number: int, there: bool, home: Path, tmp_path: Path) -> None:
    identity = number_of(home)
    assert run(home, "delete", tmp_path, point=point, number=number)[0] == KILLED
    assert check(home, identity) == there
    assert run(home, "delete", tmp_path)[0] == (0 if there else 3), "what is gone is not found"
    assert check(home, identity) is False


def test_kills_at_random_moments(prepared: Path, tmp_path: Path) -> None:
    chance = random.Random(5)
    identity = number_of(prepared)
    took = 0.0
    seen: set[tuple[int, bool]] = set()
    for attempt in range(KILLS + 1):
        home = Path(shutil.copytree(prepared, tmp_path / f"home{attempt}"))
        child = Child(home, "delete", tmp_path)
        began = time.monotonic()
        child.go()
        if attempt:
            time.sleep(chance.uniform(0.05, 0.9) * took)
            code = child.kill()
        else:
            code, _ = child.finish()
            took = time.monotonic() - began
        seen.add((code, check(home, identity)))
    assert (0, False) in seen
    assert KILLED in {code for code, _ in seen}, "the children were too fast to be killed at work"
