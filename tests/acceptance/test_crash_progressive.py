"""A collection that is searchable before all of it is embedded, killed in each phase and out of room in each phase.

Whatever happened, the next run goes on, and in the end every chunk has the vector a direct run gives it.
"""

from __future__ import annotations

import random
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import children
import pytest
from bert_reference import make_tiny_bert
from children import KILLED, Child
from progressive_support import (
    assert_sound,
    directly,
    small_steps,
    stopped_at_searchable,
    vectors,
    waiting,
    write_folder,
)
from small_disk import small_file_system

from pinakes.core.errors import StorageFull
from pinakes.core.records import Float32, Results
from pinakes.library import Library

NAMES = [f"file{number}" for number in range(25)]

Vectors = dict[tuple[str, int], Float32]


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    model = make_tiny_bert(tmp_path_factory.mktemp("model") / "tiny")
    return {**small_steps(model), "cache": str(tmp_path_factory.mktemp("cache"))}


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory, settings: dict[str, Any]) -> Vectors:
    place = tmp_path_factory.mktemp("direct")
    with Library.open(place / "prior", **settings) as library:
        library.app.embedder.prior()
    return directly(place / "home", [write_folder(place / "docs", NAMES)], settings)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    return write_folder(tmp_path / "docs", NAMES)


def run(
    home: Path, action: str, location: Path, settings: dict[str, Any], point: str = "", number: int = 0
) -> tuple[int, str]:
    return children.run(home, action, location, "default", point, number, **settings)


def check(home: Path, docs: Path, settings: dict[str, Any], expected: Vectors) -> None:
    """Look at what is there, add once more, and look at everything."""
    with Library.open(home, **settings) as library:
        report = library.add(str(docs))
        assert (report.failed, report.degraded, report.pending) == ([], None, 0)
        assert_sound(library, expected)
        again = library.add(str(docs))
        assert (again.unchanged, again.added, again.embedded) == (len(NAMES), 0, 0)
        record = library.collection()
    kept = [f"map-{record.id}-{record.model_id}.npz"]
    assert sorted(path.name for path in (home / "index").glob("map*")) in (kept, []), "something half-made is left"


@pytest.mark.parametrize(
    ("point", "number"),
    [
        ("batch", 2),
        ("state", 1),
        ("model", 1),
        ("sample", 1),
        ("sample", -1),
        ("map", 1),
        ("map file", 1),
        ("map", -1),
        ("waiting", -1),
        ("approximate", -1),
        ("vectors", -1),
        ("rest", 1),
        ("rest", -3),
        ("embedding", -4),
        ("snapshot", -1),
        ("snapshot", 3),
    ],
)
def test_a_kill_while_adding(
    point: str, number: int, home: Path, docs: Path, settings: dict[str, Any], expected: Vectors
) -> None:
    assert run(home, "add", docs, settings, point, number)[0] == KILLED
    check(home, docs, settings, expected)


@pytest.mark.parametrize(("point", "number"), [("map", -1), ("waiting", 1), ("waiting", -1), ("approximate", 1)])
def test_killed_around_the_moment_the_map_is_kept_the_next_run_approximates_all(
    point: str, number: int, home: Path, docs: Path, settings: dict[str, Any]
) -> None:
    assert run(home, "add", docs, settings, point, number)[0] == KILLED
    with Library.open(home, **settings) as library:
        stopped_at_searchable(library, docs)
        assert waiting(library) > 0
        assert library.status()[0].approximate == waiting(library)
        assert library.verify() == {"default": []}


@pytest.mark.parametrize(("point", "number"), [("map file", 1), ("map", -1), ("waiting", -1)])
def test_an_index_that_saw_the_documents_before_the_map_was_kept_takes_it_later(
    point: str, number: int, home: Path, docs: Path, settings: dict[str, Any]
) -> None:
    assert run(home, "add", docs, settings, "model", 1)[0] == KILLED
    with Library.open(home, **settings) as library:
        assert library.search("quick", mode="keyword").hits
    assert run(home, "add", docs, settings, point, number)[0] == KILLED
    if point == "map file":
        assert len(list(home.glob("index/map-*.npz.unfinished"))) == 1
    with Library.open(home, **settings) as library:
        stopped_at_searchable(library, docs)
        assert library.status()[0].approximate == waiting(library) > 0
        assert library.verify() == {"default": []}


@pytest.mark.parametrize(("point", "number"), [("map", 1), ("map", -1), ("waiting", -1), ("approximate", 1)])
def test_killed_while_an_outgrown_map_is_replaced_the_next_run_approximates_by_the_new_one(
    point: str, number: int, home: Path, docs: Path, settings: dict[str, Any]
) -> None:
    with Library.open(home, **settings) as library:
        stopped_at_searchable(library, docs)
    more = write_folder(docs.with_name("more"), [f"more{number}" for number in range(25)])
    assert run(home, "add", more, settings, point, number)[0] == KILLED
    with Library.open(home, **settings) as library:
        stopped_at_searchable(library, more)
        assert library.status()[0].approximate == waiting(library) > 0
        assert library.verify() == {"default": []}


@pytest.mark.parametrize(("point", "number"), [("approximate", -1), ("snapshot", -1), ("generation", 1)])
def test_a_kill_while_reindexing(
    point: str, number: int, home: Path, docs: Path, settings: dict[str, Any], expected: Vectors
) -> None:
    with Library.open(home, **settings) as library:
        stopped_at_searchable(library, docs)
        before = vectors(library)
    assert run(home, "reindex", docs, settings, point, number)[0] == KILLED
    with Library.open(home, **settings) as library:
        assert library.verify() == {"default": []}
        library.reindex()
        assert library.verify() == {"default": []}
        found = vectors(library)
    assert found.keys() == before.keys()
    assert all((found[place] == before[place]).all() for place in before)
    assert len([path for path in (home / "index").iterdir() if path.is_dir()]) == 1
    check(home, docs, settings, expected)


@pytest.mark.parametrize(("point", "number"), [("model", 1), ("refined", 1), ("refined", -1), ("embedding", -1)])
def test_a_kill_while_a_search_embeds(
    point: str, number: int, home: Path, docs: Path, settings: dict[str, Any], expected: Vectors
) -> None:
    with Library.open(home, **settings) as library:
        stopped_at_searchable(library, docs)
        before = waiting(library)
    assert run(home, "search", docs, settings, point, number)[0] == KILLED
    with Library.open(home, **settings) as library:
        assert library.verify() == {"default": []}
        assert waiting(library) == before
    check(home, docs, settings, expected)


def test_a_kill_after_a_search_wrote_leaves_what_it_wrote(
    home: Path, docs: Path, settings: dict[str, Any], expected: Vectors
) -> None:
    with Library.open(home, **settings) as library:
        stopped_at_searchable(library, docs)
        before = waiting(library)
    assert run(home, "search", docs, settings, "vectors", 1)[0] == KILLED
    with Library.open(home, **settings) as library:
        assert waiting(library) < before
        assert library.verify() == {"default": []}
    check(home, docs, settings, expected)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    with small_file_system(tmp_path / "small", megabytes=32) as place:
        yield place


def filled_up(place: Path, left_bytes: int) -> Path:
    """Leave so little room on a file system; return the file to remove for more."""
    ballast = place / "ballast"
    ballast.write_bytes(bytes(shutil.disk_usage(place).free - left_bytes))
    return ballast


@pytest.mark.parametrize("left_bytes", [0, 100_000, 250_000, 400_000])
def test_a_full_disk_is_said_and_the_next_run_goes_on(
    left_bytes: int, small_disk: Path, docs: Path, settings: dict[str, Any], expected: Vectors
) -> None:
    home = small_disk / "home"
    home.mkdir()
    ballast = filled_up(small_disk, left_bytes)
    code, said = run(home, "add", docs, settings)
    ballast.unlink()
    assert (code, said.partition(":")[0]) == (10, "StorageFull"), said
    check(home, docs, settings, expected)


@pytest.mark.parametrize("left_bytes", [0, 40_000])
def test_a_disk_that_is_full_once_all_is_searchable_costs_nothing_that_was_there(
    left_bytes: int, small_disk: Path, docs: Path, settings: dict[str, Any], expected: Vectors
) -> None:
    home = small_disk / "home"
    with Library.open(home, **settings) as library:
        stopped_at_searchable(library, docs)
        before = waiting(library)
    ballast = filled_up(small_disk, left_bytes)
    code, said = run(home, "add", docs, settings)
    assert (code, said.partition(":")[0]) == (10, "StorageFull"), said
    ballast.unlink()
    with Library.open(home, **settings) as library:
        assert 0 < waiting(library) <= before
        assert library.verify() == {"default": []}
    check(home, docs, settings, expected)


@pytest.mark.parametrize("size_bytes", [20_000, 60_000, 120_000, 200_000])
def test_files_that_may_not_grow_are_a_full_disk(
    size_bytes: int, home: Path, docs: Path, settings: dict[str, Any], expected: Vectors
) -> None:
    code, said = run(home, "add", docs, settings, "limit", size_bytes)
    assert (code, said.partition(":")[0]) == (10, "StorageFull"), said
    check(home, docs, settings, expected)


def test_a_map_that_cannot_be_kept_is_said_and_fitted_by_the_next_run(
    home: Path, docs: Path, settings: dict[str, Any]
) -> None:
    with Library.open(home, **settings) as library:
        library.add(str(write_folder(docs.with_name("small"), NAMES[:3])))
        record = library.collection()
        unfinished = home / "index" / f"map-{record.id}-{record.model_id}.npz.unfinished"
        unfinished.mkdir()
        with pytest.raises(StorageFull, match=r"map-1-1\.npz"):
            library.add(str(docs))
        assert library.verify() == {"default": []}
        unfinished.rmdir()
        stopped_at_searchable(library, docs)
        assert library.status()[0].approximate == waiting(library) > 0
        assert library.verify() == {"default": []}


def test_a_search_whose_vectors_cannot_be_kept_answers_and_remembers_them(
    small_disk: Path,
    docs: Path,
    settings: dict[str, Any],
    expected: Vectors,
    caplog: pytest.LogCaptureFixture,
) -> None:
    home = small_disk / "home"
    with Library.open(home, **settings) as library:
        stopped_at_searchable(library, docs)
        before = waiting(library)
    with Library.open(home, **settings, search__refine_ms=60_000) as library:
        library.search("quick brown fox", mode="keyword")
        ballast = filled_up(small_disk, 0)
        first = library.search("quick brown fox", top_k=5)
        library.app.refiner.flush()
        second = library.search("quick brown fox", top_k=5)
        assert "are not kept" in caplog.text
        assert [hit.chunk_id for hit in first.hits] == [hit.chunk_id for hit in second.hits]
        assert not any(hit.approximate for hit in first.hits + second.hits)
        assert refined(first) > 0
        assert waiting(library) == before
        ballast.unlink()
        assert library.verify() == {"default": []}
    check(home, docs, settings, expected)


def refined(results: Results) -> int:
    """Return how many chunks a search gave the model's vectors."""
    [stage] = [stage for stage in results.trace.stages if stage.name == "refine"]
    found: int = stage.detail["refined"]
    return found


def test_kills_at_random_moments(
    home: Path, docs: Path, tmp_path: Path, settings: dict[str, Any], expected: Vectors
) -> None:
    chance = random.Random(20)
    slow = {**settings, "ingest__batch_chunks": 2}
    child = Child(tmp_path / "timed", "add", docs, "default", **slow)
    began = time.monotonic()
    child.go()
    assert child.finish() == (0, "")
    killed, longest = 0, time.monotonic() - began
    for action in ["add", "add", "search", "reindex", "add", "search", *["reindex"] * 20]:
        child = Child(home, action, docs, "default", **slow)
        child.go()
        time.sleep(chance.uniform(0.1, 0.9) * longest)
        code = child.kill()
        killed += code == KILLED
        longest *= 1 if code == KILLED else 0.7  # it was too fast to be killed at work
        with Library.open(home, **settings) as library:
            assert not any(library.verify().values())
        if killed == 4:
            break
    assert killed == 4
    check(home, docs, settings, expected)


def test_processes_may_embed_search_and_reindex_at_once(
    home: Path, docs: Path, settings: dict[str, Any], expected: Vectors
) -> None:
    with Library.open(home, **settings) as library:
        stopped_at_searchable(library, docs)
    small = {**settings, "ingest__batch_chunks": 2}
    at_once = [Child(home, action, docs, "default", **small) for action in ("add", "search", "reindex", "search")]
    assert children.together(at_once) == [(0, "")] * 4
    check(home, docs, settings, expected)
