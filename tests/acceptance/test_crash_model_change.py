"""A change of model that is killed at any moment: one of the two models answers, whole, and the next run goes on."""

from __future__ import annotations

import random
import shutil
import time
from pathlib import Path
from typing import Any

import children
import pytest
from children import KILLED

from pinakes.library import Library
from pinakes.models.embedders import EMBEDDERS
from pinakes.testing import write_files

OLD, NEW = "old/32", "new/48"
SETTINGS: dict[str, Any] = {"embedding__provider": "named", "embedding__model": OLD, "embedding__mode": "full"}
QUERIES = ("heron", "number7 words", "more")
FILES = {f"file{n}.md": f"# File {n}\n\nHeron number{n}.\n\n## More\n\nWords, {n * 7} of them.\n" for n in range(30)}
RANDOM_KILLS = 6

Answers = list[list[tuple[str, int, float]]]


def run(home: Path, action: str, point: str = "", number: int = 0) -> int:
    return children.run(home, action, NEW, "c", point, number, **SETTINGS)[0]


def answers(library: Library, **how: Any) -> Answers:
    found = [library.search(query, "c", **how) for query in QUERIES]
    return [[(hit.path, hit.chunk_index, hit.score) for hit in one.hits] for one in found]


@pytest.fixture(autouse=True)
def named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(EMBEDDERS, "named", "named_embedder:NamedEmbedder")


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("filled")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(EMBEDDERS, "named", "named_embedder:NamedEmbedder")
        with Library.open(place / "home", **SETTINGS) as library:
            library.add(str(write_files(place / "docs", FILES)), "c")
    return place / "home"


@pytest.fixture
def home(filled: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(filled, tmp_path / "home"))


@pytest.fixture(scope="module")
def expected(filled: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Answers, Answers]:
    """The answers of the old model and of the new one."""
    copy = shutil.copytree(filled, tmp_path_factory.mktemp("expected") / "home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(EMBEDDERS, "named", "named_embedder:NamedEmbedder")
        with Library.open(copy, **SETTINGS) as library:
            library.build_beside(NEW, "c")
            old, new = answers(library), answers(library, generation="beside")
    assert old != new
    return old, new


def check(home: Path, expected: tuple[Answers, Answers]) -> None:
    """One model answers; whatever was begun can be brought to its end, switched to, and back."""
    old, new = expected
    with Library.open(home, **SETTINGS) as library:
        [state] = library.status("c")
        assert answers(library) == (old if state.model == "named/old/32" else new)
        assert library.verify("c") == {"c": []}
        if state.model == "named/new/48":
            library.roll_back("c")
            assert answers(library) == old
        library.build_beside(NEW, "c")
        library.switch("c")
        assert answers(library) == new
        assert library.verify("c") == {"c": []}
        library.roll_back("c")
        assert answers(library) == old
        library.drop_beside("c")
        library.reindex("c")
        assert library.verify("c") == {"c": []}
    assert len([path for path in (home / "index").iterdir() if path.is_dir()]) == 1


@pytest.mark.parametrize(
    ("point", "number"),
    [
        ("begin", 1),
        ("begin", -1),
        ("embedding", 1),
        ("embedding", -3),
        ("advance", 1),
        ("advance", -1),
        ("keyword", 1),
        ("keyword", -1),
        ("vectors", 1),
        ("snapshot", 1),
        ("snapshot", -1),
        ("advance", 2),
        ("advance", -2),
    ],
)
def test_a_kill_while_it_is_built(point: str, number: int, home: Path, expected: tuple[Answers, Answers]) -> None:
    assert run(home, "beside", point, number) == KILLED
    check(home, expected)


@pytest.mark.parametrize("number", [1, -1])
@pytest.mark.parametrize("action", ["switch", "rollback"])
def test_a_kill_while_switching(action: str, number: int, home: Path, expected: tuple[Answers, Answers]) -> None:
    assert run(home, "beside") == 0
    if action == "rollback":
        assert run(home, "switch") == 0
    assert run(home, action, "swap", number) == KILLED
    check(home, expected)


@pytest.mark.parametrize(("point", "number"), [("drop", 1), ("drop", -1), ("drop vectors", 1), ("drop vectors", -1)])
def test_a_kill_while_dropping(point: str, number: int, home: Path, expected: tuple[Answers, Answers]) -> None:
    assert run(home, "beside") == 0
    assert run(home, "drop", point, number) == KILLED
    check(home, expected)


def test_kills_at_any_moment(home: Path, expected: tuple[Answers, Answers]) -> None:
    moments = random.Random(4)
    child = children.Child(home, "beside", NEW, **SETTINGS)
    began = time.monotonic()
    child.go()
    assert child.finish()[0] == 0
    usual = time.monotonic() - began
    run(home, "drop")
    killed = 0
    for _ in range(RANDOM_KILLS):
        child = children.Child(home, "beside", NEW, **SETTINGS)
        child.go()
        time.sleep(moments.uniform(0.1, 0.95) * usual)
        killed += child.kill() == KILLED
    assert killed, "the children were too fast to be killed at work"
    check(home, expected)
