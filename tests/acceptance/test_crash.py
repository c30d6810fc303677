"""Processes that are killed, run side by side, or run out of disk: nothing is lost and nothing lies.

A child process works on a home and dies by SIGKILL at a chosen or a random moment. Afterwards another process opens
the home and adds the folder again: every file must be there exactly once and the index equal to the catalogue.
"""

from __future__ import annotations

import random
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from children import KILLED, Child, run, together
from small_disk import small_file_system

from pinakes.library import Library
from pinakes.testing import write_files

FILES = 30


def files(salt: str = "") -> dict[str, str]:
    return {
        f"part{number % 4}/file{number}.md": f"# File {number}\n\nHeron number{number} {salt}.\n\n## More\n\nWords.\n"
        for number in range(FILES)
    }


def opened(home: Path) -> Library:
    return Library.open(home, embedding__provider="deterministic", search__max_top_k=1000)


def fill(home: Path, docs: Path, collection: str = "c") -> None:
    with opened(home) as library:
        assert library.add(str(docs), collection).added == FILES


def check(home: Path, docs: Path, collection: str = "c") -> None:
    """Add once more and look at everything."""
    expected = sorted(path.relative_to(docs).as_posix() for path in docs.rglob("*.md"))
    with opened(home) as library:
        report = library.add(str(docs), collection)
        assert report.failed == []
        assert library.verify(collection) == {collection: []}
        [about] = library.status(collection)
        assert (about.documents, about.pending) == (len(expected), 0)
        hits = library.search("heron", collection, mode="keyword", top_k=1000).hits
        assert Counter(hit.path for hit in hits) == Counter(expected)
        for path in expected:
            assert library.read(path, collection).text.strip() == (docs / path).read_text().strip()
        again = library.add(str(docs), collection)
        assert (again.unchanged, again.added, again.changed, again.removed) == (len(expected), 0, 0, 0)
        record = library.collection(collection)
    vectors = home / "index" / f"{record.id}-{record.generation}" / "vectors"
    assert [path.name for path in vectors.iterdir() if not path.name.isdigit()] == [], "something half-made is left"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    return write_files(tmp_path / "docs", files())


@pytest.mark.parametrize(
    ("point", "number"),
    [
        ("embedding", 2),
        ("batch", 1),
        ("batch", 3),
        ("manifest", -3),
        ("state", 1),
        ("state", -1),
        ("keyword", 1),
        ("keyword", 2),
        ("keyword", -1),
        ("keyword", -3),
        ("position", -2),
        ("vectors", 2),
        ("array", 2),
        ("snapshot", -1),
        ("old snapshot", 3),
    ],
)
def test_a_kill_while_adding(point: str, number: int, home: Path, docs: Path) -> None:
    assert run(home, "add", docs, point=point, number=number)[0] == KILLED
    check(home, docs)


@pytest.mark.parametrize(("point", "number"), [("document", 5), ("removal", 3), ("keyword", -1), ("vectors", 1)])
def test_a_kill_while_following_changes(point: str, number: int, home: Path, docs: Path) -> None:
    fill(home, docs)
    write_files(docs, dict(list(files("changed").items())[:12]))
    for number_ in range(20, 26):
        (docs / f"part{number_ % 4}/file{number_}.md").unlink()
    (docs / "part3/file27.md").rename(docs / "part3/moved.md")
    assert run(home, "add", docs, point=point, number=number)[0] == KILLED
    check(home, docs)


@pytest.mark.parametrize(
    ("point", "number"),
    [("keyword", 1), ("keyword", -1), ("snapshot", 1), ("generation", 1), ("generation", -1), ("old folder", 2)],
)
def test_a_kill_while_reindexing(point: str, number: int, home: Path, docs: Path) -> None:
    fill(home, docs)
    assert run(home, "reindex", docs, point=point, number=number)[0] == KILLED
    check(home, docs)
    with opened(home) as library:
        library.reindex("c")
        assert library.verify() == {"c": []}
    assert len([path for path in (home / "index").iterdir() if path.is_dir()]) == 1


def time_of_adding(home: Path, docs: Path) -> float:
    """Return how many seconds a child takes for a dozen changed files, from when it is told to go."""
    fill(home, docs)
    write_files(docs, dict(list(files("timed").items())[:12]))
    child = Child(home, "add", docs)
    began = time.monotonic()
    assert together([child]) == [(0, "")]
    return time.monotonic() - began


@pytest.mark.long
def test_kills_at_random_moments(home: Path, docs: Path) -> None:
    chance = random.Random(20)
    killed = 0
    took = time_of_adding(home, docs)
    for attempt in range(10):
        write_files(docs, dict(chance.sample(list(files(f"salt{attempt}").items()), 12)))
        if attempt % 3 == 2:
            chance.choice(sorted(docs.rglob("*.md"))).unlink()
        child = Child(home, "reindex" if attempt % 5 == 4 else "add", docs)
        child.go()
        time.sleep(chance.uniform(0.02, 0.8) * took)
        killed += child.kill() == KILLED
    assert killed >= 4, "the children were too fast to be killed at work"
    check(home, docs)


def test_two_processes_may_add_to_one_collection_at_once(home: Path, docs: Path, tmp_path: Path) -> None:
    more = write_files(tmp_path / "more", {f"more{number}.md": f"Heron more{number}.\n" for number in range(FILES)})
    children = [Child(home, "add", docs), Child(home, "add", docs), Child(home, "add", more)]
    assert together(children) == [(0, "")] * 3
    with opened(home) as library:
        assert library.verify() == {"c": []}
        [about] = library.status()
        assert (about.documents, about.pending) == (2 * FILES, 0)
        hits = library.search("heron", "c", mode="keyword", top_k=1000).hits
        assert set(Counter(hit.uri for hit in hits).values()) == {1}
        assert len(hits) == 2 * FILES


def test_processes_may_add_to_collections_of_their_own_while_others_search_and_reindex(
    home: Path, docs: Path, tmp_path: Path
) -> None:
    more = write_files(tmp_path / "more", {f"more{number}.md": f"Heron more{number}.\n" for number in range(FILES)})
    fill(home, docs, "one")
    children = [
        Child(home, "add", more, "one"),
        Child(home, "add", more, "two"),
        Child(home, "reindex", docs, "one"),
        Child(home, "search", docs, "one"),
    ]
    assert together(children) == [(0, "")] * 4
    with opened(home) as library:
        assert library.verify() == {"one": [], "two": []}
        assert [about.documents for about in library.status()] == [2 * FILES, FILES]
        assert len(library.search("heron", "one", mode="keyword", top_k=1000).hits) == 2 * FILES


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    with small_file_system(tmp_path / "small", megabytes=5) as place:
        yield place


def large(docs: Path) -> None:
    chance = random.Random(1)
    words = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=9)) for _ in range(20_000)]
    for number in range(25):
        text = "\n\n".join(" ".join(chance.choices(words, k=120)) for _ in range(25))
        (docs / f"large{number}.md").write_text(f"# Large {number}\n\nA heron.\n\n{text}\n")


def test_a_full_disk_is_said_and_nothing_is_half_written(small_disk: Path, docs: Path) -> None:
    home = small_disk / "home"
    fill(home, docs)
    large(docs)
    code, said = run(home, "add", docs)
    assert (code, said.partition(":")[0]) == (10, "StorageFull"), said
    assert "Free disk space" in said
    subprocess.run(["mount", "-o", "remount,size=64m", str(small_disk)], check=True, timeout=10)
    with opened(home) as library:
        [about] = library.status()
        assert (about.documents >= FILES, about.pending) == (True, 0), "a document comes with its chunks and vectors"
        assert library.verify() == {"c": []}
    check(home, docs)


@pytest.mark.parametrize("size_bytes", [40_000, 300_000, 1_000_000])
def test_files_that_may_not_grow_are_a_full_disk(size_bytes: int, home: Path, docs: Path) -> None:
    large(docs)
    code, said = run(home, "add", docs, point="limit", number=size_bytes)
    assert (code, said.partition(":")[0]) == (10, "StorageFull"), said
    check(home, docs)


def test_a_damaged_catalogue_is_an_error_with_a_way_out(home: Path, docs: Path) -> None:
    fill(home, docs)
    path = home / "catalog.db"
    path.write_bytes(b"not a database, not any more " * 1000)
    for action in ("add", "search"):
        code, said = run(home, action, docs)
        assert (code, said.partition(":")[0]) == (8, "CatalogueCorrupt")
        assert "Restore catalog.db from a backup" in said
    assert path.read_bytes().startswith(b"not a database"), "it is left for whoever can mend it"
