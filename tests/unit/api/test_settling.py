"""Paths that changed are held back until they stay as they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from pinakes.api.debounce import EVERYTHING, Debounce


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def settling(tmp_path: Path, clock: Clock) -> Debounce:
    return Debounce(tmp_path, 0.3, clock)


def test_a_path_is_given_back_once_it_stayed_the_same(tmp_path: Path, settling: Debounce, clock: Clock) -> None:
    (tmp_path / "a.md").write_text("one")
    settling.add(["a.md"])
    clock.now += 0.2
    assert settling.ready() == frozenset()
    clock.now += 0.2
    assert settling.ready() == {"a.md"}
    clock.now += 9
    assert settling.ready() == frozenset()


def test_a_file_that_grows_begins_anew(tmp_path: Path, settling: Debounce, clock: Clock) -> None:
    file = tmp_path / "a.md"
    file.write_text("one")
    settling.add(["a.md"])
    for text in ("one two", "one two three"):
        clock.now += 0.25
        file.write_text(text)
        assert settling.ready() == frozenset()
    clock.now += 0.25
    assert settling.ready() == frozenset()
    clock.now += 0.1
    assert settling.ready() == {"a.md"}


def test_another_event_begins_anew_even_when_size_and_time_are_the_same(settling: Debounce, clock: Clock) -> None:
    settling.add(["a.md"])
    clock.now += 0.25
    settling.add(["a.md"])
    clock.now += 0.25
    assert settling.ready() == frozenset()
    clock.now += 0.1
    assert settling.ready() == {"a.md"}


def test_what_comes_in_one_go_is_given_back_together(settling: Debounce, clock: Clock) -> None:
    for number in range(10):
        settling.add([f"{number}.md"])
        clock.now += 0.05
        assert settling.ready() == frozenset()
    clock.now += 0.3
    assert len(settling.ready()) == 10


def test_one_file_that_is_written_all_the_time_does_not_hold_back_the_others_nor_itself_for_ever(
    tmp_path: Path, settling: Debounce, clock: Clock
) -> None:
    settling.add(["quiet.md", "app.log"])
    given: list[tuple[float, frozenset[str]]] = []
    start = clock.now
    for number in range(150):
        (tmp_path / "app.log").write_text("x" * number)
        settling.add(["app.log"])
        clock.now += 0.1
        if ready := settling.ready():
            given.append((clock.now - start, ready))
    (first, quiet), (second, log) = given[:2]
    assert (quiet, log) == ({"quiet.md"}, {"app.log"})
    assert 1 < first < 2
    assert 9 < second < 11


def test_very_many_paths_are_given_back_as_everything(settling: Debounce, clock: Clock) -> None:
    settling.add([f"{number}.md" for number in range(2000)])
    clock.now += 0.2
    settling.add(["more.md"])
    clock.now += 0.2
    assert settling.ready() == frozenset()
    clock.now += 0.2
    assert settling.ready() == {EVERYTHING}
    assert settling.ready() == frozenset()


def test_everything_is_given_back_alone(settling: Debounce, clock: Clock) -> None:
    settling.add(["a.md", EVERYTHING])
    clock.now += 1
    assert settling.ready() == {EVERYTHING}


def test_a_path_where_nothing_is_any_more_settles_too(tmp_path: Path, settling: Debounce, clock: Clock) -> None:
    file = tmp_path / "a.md"
    file.write_text("one")
    settling.add(["a.md"])
    file.unlink()
    clock.now += 0.4
    assert settling.ready() == frozenset()
    clock.now += 0.4
    assert settling.ready() == {"a.md"}
