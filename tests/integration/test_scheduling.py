"""A server reads sources when it is time: once, never twice at once, also when its clock is put forward or back."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import flaky_reader
import pytest
from flaky_reader import FlakyReader
from sqlalchemy import update
from working import jobs_of, worker_of

from pinakes.api.scheduling import Scheduling
from pinakes.catalog.schema import sources
from pinakes.library import Library
from pinakes.parsing import READERS
from pinakes.testing import write_files

OpenLibrary = Callable[..., Library]
LONG_S = 30.0
START = datetime(2026, 3, 28, 12, tzinfo=UTC)


class Clock:
    """A clock that a test sets; it also runs."""

    def __init__(self, at: datetime | None = None) -> None:
        self._ahead = (at or datetime.now(UTC)) - datetime.now(UTC)

    def __call__(self) -> datetime:
        return datetime.now(UTC) + self._ahead

    def put(self, at: datetime) -> None:
        self._ahead = at - datetime.now(UTC)


class Scheduled:
    """The schedules of a library, and what they said."""

    def __init__(self, library: Library, clock: Callable[[], datetime], ready: Callable[[], bool]) -> None:
        self.library = library
        self.said: list[str] = []
        self.scheduling = Scheduling(library, clock=clock, ready=ready, say=self.said.append)
        self.scheduling.look_every_s = 0.1
        self.worker = worker_of(library, self.scheduling)
        self.worker.start()

    def until(self, condition: Callable[[], object]) -> None:
        deadline = time.monotonic() + LONG_S
        while not condition():
            assert time.monotonic() < deadline, (self.said, self.library.syncing.list_all())
            threading.Event().wait(0.01)

    def state(self) -> Any:
        [one] = self.library.syncing.list_all()
        return one

    def states(self) -> list[str]:
        return [job.state for job in jobs_of(self.library)]

    def read_at(self) -> str | None:
        last: str | None = self.state().last_try
        return last

    def until_read_after(self, before: str | None) -> str:
        self.until(lambda: self.read_at() != before and self.state().state != "reading")
        return self.read_at() or ""


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    return write_files(tmp_path / "notes", {"tea.md": "# Tea\n\ngreen tea\n"})


@pytest.fixture
def keep_time(open_library: OpenLibrary, notes: Path) -> Iterator[Callable[..., Scheduled]]:
    """Read a folder by a schedule."""
    begun: list[Scheduled] = []

    def begin(
        schedule: str,
        *,
        clock: Callable[[], datetime] | None = None,
        ready: Callable[[], bool] = lambda: True,
        **more: Any,
    ) -> Scheduled:
        source = {"location": str(notes), "schedule": schedule}
        library = open_library(sources=[source], sync__jitter_s=0, sync__timezone="Europe/Berlin", **more)
        begun.append(Scheduled(library, clock or Clock(), ready))
        return begun[-1]

    yield begin
    ended = [one.worker.stop() for one in begun]
    assert all(ended)


def set_read_at(library: Library, at: datetime) -> str:
    text = at.isoformat(timespec="milliseconds")
    with library.app.catalog.write() as connection:
        connection.execute(update(sources).values(synced_at=text))
    return text


def test_changes_are_found_again_and_again(keep_time: Callable[..., Scheduled], notes: Path) -> None:
    scheduled = keep_time("@every 1s")
    library = scheduled.library
    scheduled.until(lambda: scheduled.state().documents == 1)
    write_files(notes, {"milk.md": "# Milk\n\noat milk\n"})
    scheduled.until(lambda: library.search("oat", mode="keyword").hits)
    (notes / "tea.md").rename(notes / "cup.md")
    scheduled.until(lambda: [hit.path for hit in library.search("green", mode="keyword").hits] == ["cup.md"])
    (notes / "cup.md").unlink()
    scheduled.until(lambda: not library.search("green", mode="keyword").hits)
    assert scheduled.said[0] == "notes → default: 1 added"
    scheduled.until(lambda: len(scheduled.said) == 4)


def test_what_was_missed_is_read_once_at_the_start(
    keep_time: Callable[..., Scheduled], open_library: OpenLibrary, notes: Path
) -> None:
    open_library(sources=[{"location": str(notes)}]).sync()
    clock = Clock()
    scheduled = keep_time("0 * * * *", clock=clock, ready=lambda: False)
    missed = set_read_at(scheduled.library, datetime.now(UTC) - timedelta(days=3))
    scheduled.scheduling._ready = lambda: True
    read_at = scheduled.until_read_after(missed)
    due = datetime.fromisoformat(scheduled.state().next_run)
    assert due > datetime.fromisoformat(read_at), "72 runs were missed, one was made up for"


def test_nothing_is_read_before_the_server_is_ready(keep_time: Callable[..., Scheduled]) -> None:
    ready = threading.Event()
    asked = threading.Event()

    def is_ready() -> bool:
        asked.set()
        return ready.is_set()

    scheduled = keep_time("@every 1s", ready=is_ready)
    assert asked.wait(LONG_S)
    assert scheduled.read_at() is None
    ready.set()
    scheduled.until_read_after(None)


def test_a_time_in_the_gap_of_summer_time_is_kept(
    keep_time: Callable[..., Scheduled], open_library: OpenLibrary, notes: Path
) -> None:
    set_read_at(_read(open_library, notes), START)
    clock = Clock(datetime(2026, 3, 29, 0, 59, 50, tzinfo=UTC))  # 01:59:50; 02:30 is left out
    scheduled = keep_time("30 2 * * *", clock=clock)
    before = scheduled.read_at()
    scheduled.until(lambda: scheduled.scheduling._due)
    [due] = scheduled.scheduling._due.values()
    assert due[1] == datetime(2026, 3, 29, 1, tzinfo=UTC)
    assert scheduled.read_at() == before
    clock.put(datetime(2026, 3, 29, 1, 0, 1, tzinfo=UTC))
    scheduled.until_read_after(before)


def test_a_clock_that_is_put_back_does_not_stop_the_schedule(
    keep_time: Callable[..., Scheduled], open_library: OpenLibrary, notes: Path
) -> None:
    set_read_at(_read(open_library, notes), START + timedelta(days=30))
    clock = Clock(START + timedelta(days=30, minutes=1))
    scheduled = keep_time("@every 1h", clock=clock)
    scheduled.until(lambda: scheduled.scheduling._due)
    clock.put(START)
    soon = lambda: [one[1] for one in scheduled.scheduling._due.values()]  # noqa: E731
    scheduled.until(lambda: [at for at in soon() if at and at < START + timedelta(hours=2)])
    before = scheduled.read_at()
    clock.put(START + timedelta(hours=1, minutes=1))
    scheduled.until_read_after(before)


def test_a_clock_that_is_put_forward_reads_once(
    keep_time: Callable[..., Scheduled], open_library: OpenLibrary, notes: Path
) -> None:
    before = set_read_at(_read(open_library, notes), START)
    clock = Clock(START + timedelta(minutes=1))
    scheduled = keep_time("0 3 * * *", clock=clock)
    scheduled.until(lambda: scheduled.scheduling._due)
    clock.put(START + timedelta(days=400))
    scheduled.until_read_after(before)


def test_a_source_is_read_by_one_process_at_a_time(
    keep_time: Callable[..., Scheduled], open_library: OpenLibrary, notes: Path
) -> None:
    library = _read(open_library, notes)
    lock = library.app.home.reading("default", ("folder", str(notes), ""))
    before = set_read_at(library, datetime.now(UTC) - timedelta(hours=1))
    with lock:
        scheduled = keep_time("@every 1s")
        scheduled.until(lambda: "running" in scheduled.states())
        assert scheduled.state().state == "reading"
        assert scheduled.read_at() == before
    scheduled.until_read_after(before)


def test_of_two_servers_one_reads_a_source_and_the_other_goes_on_when_it_ends(
    keep_time: Callable[..., Scheduled], notes: Path
) -> None:
    first = keep_time("@every 1s")
    other = Library(first.library.settings)
    second = Scheduled(other, Clock(), lambda: True)
    try:
        first.until_read_after(None)
        for number in range(3):
            write_files(notes, {f"{number}.md": f"# {number}\n\nwords\n"})
            first.until(lambda wanted=number + 2: first.state().documents == wanted)
        first.until(lambda: first.said + second.said == ["notes → default: 1 added"] * 4)
        assert first.worker.stop()
        second.until_read_after(first.read_at())
    finally:
        assert second.worker.stop()
        other.close()


def test_a_source_that_cannot_be_read_is_told_once_and_read_when_it_is_back(
    keep_time: Callable[..., Scheduled], notes: Path
) -> None:
    scheduled = keep_time("@every 1s", sync__retry_first_s=0.2, sync__retry_longest_s=0.4)
    scheduled.until(lambda: scheduled.state().documents == 1)
    aside = notes.rename(notes.with_name("aside"))
    scheduled.until(lambda: scheduled.state().failures >= 3)
    assert len([line for line in scheduled.said if "notes" in line and "added" not in line]) == 1
    assert scheduled.state().documents == 1
    aside.rename(notes)
    scheduled.until(lambda: scheduled.state().state == "read")


def test_a_file_that_failed_is_tried_again_without_a_schedule(
    keep_time: Callable[..., Scheduled], notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pinakes.parsing.flaky_reader", flaky_reader)
    monkeypatch.setitem(READERS, ".flaky", "flaky_reader:FlakyReader")
    monkeypatch.setattr(FlakyReader, "broken", True)
    (notes / "a.flaky").write_text("otters juggle", "utf-8")
    scheduled = keep_time("", ingest__processes=0, sync__retry_first_s=0.2, sync__retry_longest_s=0.3)
    library = scheduled.library
    [report] = library.sync()
    assert [entry.path for entry in report.failed] == ["a.flaky"]
    scheduled.until(lambda: scheduled.state().failing and scheduled.state().failing[0].tries >= 3)
    monkeypatch.setattr(FlakyReader, "broken", False)
    scheduled.until(lambda: library.search("otters", mode="keyword").hits)
    assert scheduled.state().failing == ()


def test_it_ends_in_the_middle_of_a_run(keep_time: Callable[..., Scheduled], notes: Path) -> None:
    write_files(notes, {f"{number}.md": f"# {number}\n\nwords of {number}\n" for number in range(300)})
    scheduled = keep_time("@every 1s", ingest__batch_chunks=8)
    scheduled.until(lambda: "running" in scheduled.states())
    assert scheduled.worker.stop()
    scheduled.library.sync()
    assert scheduled.state().documents == 301


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_trouble_with_one_source_does_not_keep_others_from_being_read(
    open_library: OpenLibrary, notes: Path, tmp_path: Path
) -> None:
    sources_ = [
        {"kind": "git", "location": str(tmp_path / "none"), "schedule": "@every 1s", "name": "broken"},
        {"location": str(notes), "schedule": "@every 1s"},
    ]
    scheduled = Scheduled(open_library(sources=sources_, sync__jitter_s=0), Clock(), lambda: True)
    try:
        wanted = {"broken": "failed", "notes": "read"}
        every = scheduled.library.syncing.list_all
        scheduled.until(lambda: {one.name: one.state for one in every()} == wanted)
    finally:
        assert scheduled.worker.stop()


def _read(open_library: OpenLibrary, notes: Path) -> Library:
    library = open_library(sources=[{"location": str(notes)}])
    library.sync()
    return library
