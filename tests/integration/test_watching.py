"""A folder is followed: what changes in it is found soon after, whatever an editor or a disk does."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import failing_reader
import pytest
import watchfiles
from working import worker_of

from pinakes.api.folder_watching import RetryPauses, Watching
from pinakes.catalog import events
from pinakes.ingestion.report import Report
from pinakes.library import Library
from pinakes.parsing import READERS
from pinakes.services.sync.watched import WatchedFolder, WatchStatus
from pinakes.settings import SourceSettings
from pinakes.testing import write_files

LONG_S = 30.0
SOON = {"watch__settle_ms": 100, "watch__poll_s": 0.1}
PAUSES = RetryPauses(first_s=0.05, absence_s=0.2)


class Followed:
    """A folder that is followed by a library, and what every run did."""

    def __init__(self, library: Library, folder: Path, **source: Any) -> None:
        self.library = library
        self.watched = WatchedFolder("default", SourceSettings.model_validate({"location": str(folder), **source}))
        self.runs: list[Report] = []
        self.read: list[str] = []
        self.said: list[str] = []
        task = Watching(library, [self.watched], say=self.said.append, on_read=self._on_read, pauses=PAUSES)
        self.watching = worker_of(library, task)
        self.watching.start()

    def _on_read(self, watched: WatchedFolder, report: Report, names: Sequence[str]) -> None:
        assert watched == self.watched
        self.read += names
        self.runs.append(report)

    def until(self, condition: Callable[[], object]) -> None:
        deadline = time.monotonic() + LONG_S
        while not condition():
            assert time.monotonic() < deadline, (self.runs, self.said, self.status)
            threading.Event().wait(0.01)

    def until_read(self) -> Followed:
        self.until(lambda: self.runs and self.status and self.status.doing in ("watching", "polling"))
        return self

    @property
    def status(self) -> WatchStatus | None:
        return self.library.watched.statuses().get(self.watched.key)

    def total(self, what: str) -> int:
        return sum(getattr(report, what) for report in list(self.runs))

    def totals(self) -> list[int]:
        return [self.total(what) for what in ("added", "changed", "moved", "removed")]

    def has(self, **wanted: str) -> bool:
        """Say whether the documents at these paths (without extension) hold these words, and there are no others."""
        found = texts(self.library)
        return found.keys() == {f"{name}.md" for name in wanted} and all(
            word in found[f"{name}.md"] for name, word in wanted.items()
        )


def texts(library: Library) -> dict[str, str]:
    """Return path → text of every document that a search of all finds."""
    if not library.collections():
        return {}
    hits = library.search("common", mode="keyword", top_k=50).hits
    return {hit.path: hit.text for hit in hits}


def uid(library: Library, path: str) -> str:
    return library.read(path).document.uid


@pytest.fixture
def library(open_library: Callable[..., Library]) -> Library:
    return open_library(**SOON)


@pytest.fixture
def follow(library: Library, docs: Path) -> Iterator[Callable[..., Followed]]:
    """Follow a folder; when it is read for the first time, give it."""
    begun: list[Followed] = []

    def begin(folder: Path = docs, by: Library = library, **source: Any) -> Followed:
        begun.append(Followed(by, folder, **source))
        return begun[-1]

    yield begin
    assert all(one.watching.stop() for one in begun)


@pytest.fixture(params=["told", "polled"])
def either(request: pytest.FixtureRequest, open_library: Callable[..., Library]) -> Library:
    """A library that is told of changes by the system, and one that looks for them."""
    return open_library(**SOON, watch__polling="auto" if request.param == "told" else "always")


def test_what_is_there_is_read_and_then_what_comes_changes_moves_and_goes(
    either: Library, docs: Path, follow: Callable[..., Followed]
) -> None:
    write_files(docs, {"a.md": "common alpha"})
    followed = follow(by=either).until_read()
    assert followed.has(a="alpha")
    write_files(docs, {"b.md": "common beta"})
    followed.until(lambda: followed.has(a="alpha", b="beta"))
    write_files(docs, {"a.md": "common gamma"})
    followed.until(lambda: followed.has(a="gamma", b="beta"))
    before = uid(either, "b.md")
    (docs / "b.md").rename(docs / "c.md")
    followed.until(lambda: followed.has(a="gamma", c="beta"))
    assert uid(either, "c.md") == before
    (docs / "a.md").unlink()
    followed.until(lambda: followed.has(c="beta"))
    followed.until(lambda: followed.totals() == [2, 1, 1, 1])
    assert followed.said == []
    assert either.verify() == {"default": []}


def test_only_what_changed_is_looked_at(library: Library, docs: Path, follow: Callable[..., Followed]) -> None:
    write_files(docs, {f"{number}.md": f"common {number}" for number in range(20)})
    followed = follow().until_read()
    followed.read.clear()
    write_files(docs, {"7.md": "common changed", "new.md": "common new"})
    followed.until(lambda: followed.total("added") == 21 and followed.total("changed") == 1)
    assert sorted(followed.read) == ["7.md", "new.md"]


def test_a_file_that_is_replaced_by_a_finished_one_stays_the_same_document(
    library: Library, docs: Path, follow: Callable[..., Followed]
) -> None:
    """As most editors save: a new file is written beside the old one and takes its name."""
    write_files(docs, {"a.md": "common alpha"})
    followed = follow().until_read()
    before = uid(library, "a.md")
    (docs / ".a.md.new").write_text("common beta")
    (docs / ".a.md.new").replace(docs / "a.md")
    followed.until(lambda: followed.has(a="beta"))
    assert uid(library, "a.md") == before
    followed.until(lambda: followed.totals() == [1, 1, 0, 0])


def test_a_file_that_is_moved_away_and_written_anew_stays_the_same_document(
    library: Library, docs: Path, follow: Callable[..., Followed]
) -> None:
    """As editors save that keep a backup."""
    write_files(docs, {"a.md": "common alpha"})
    followed = follow(exclude=["*~"]).until_read()
    before = uid(library, "a.md")
    (docs / "a.md").rename(docs / "a.md~")
    (docs / "a.md").write_text("common beta")
    followed.until(lambda: followed.has(a="beta"))
    assert uid(library, "a.md") == before


def test_a_half_written_file_is_not_read(open_library: Callable[..., Library], docs: Path) -> None:
    library = open_library(watch__settle_ms=600)
    followed = Followed(library, docs)
    try:
        followed.until_read()
        with (docs / "a.md").open("w") as file:
            for number in range(40):
                file.write(f"common line {number}\n")
                file.flush()
                threading.Event().wait(0.02)
        followed.until(lambda: followed.total("added") == 1)
        assert library.read("a.md").total_lines == 40
        assert followed.total("changed") == 0
    finally:
        assert followed.watching.stop()


def test_a_burst_of_changes_is_one_run(docs: Path, follow: Callable[..., Followed]) -> None:
    followed = follow().until_read()
    runs = len(followed.runs)
    aside = docs.parent / "aside"
    write_files(aside, {f"{number % 7}/{number}.md": f"common {number}" for number in range(300)})
    aside.rename(docs / "checkout")
    followed.until(lambda: followed.total("added") == 300)
    assert len(followed.runs) == runs + 1


def test_files_that_come_with_their_folder_are_read_once(
    open_library: Callable[..., Library], docs: Path, follow: Callable[..., Followed]
) -> None:
    library = open_library(**SOON | {"watch__settle_ms": 600})
    followed = follow(by=library).until_read()
    names = {f"n{number}": f"common {number}" for number in range(5)}
    (docs / "new" / "deep").mkdir(parents=True)
    threading.Event().wait(0.3)  # until the system tells of what comes into it, too
    write_files(docs, {f"new/deep/{name}.md": text for name, text in names.items()})
    followed.until(lambda: followed.has(**{f"new/deep/{name}": text for name, text in names.items()}))
    followed.until(lambda: followed.total("added") == len(names))
    assert sorted(followed.read) == [f"new/deep/{name}.md" for name in names]
    assert followed.totals() == [5, 0, 0, 0]
    with library.app.catalog.read() as connection:
        assert [event.version for event in events.after(connection, 0, 50, ("indexed", "updated"))] == [1] * 5


def test_more_changes_than_can_be_told_one_by_one_are_all_found(
    docs: Path, follow: Callable[..., Followed], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pinakes.api.debounce._MOST_PATHS", 50)
    followed = follow().until_read()
    write_files(docs, {f"{number}.md": f"common {number}" for number in range(200)})
    followed.until(lambda: followed.total("added") == 200)
    for number in range(0, 200, 2):
        (docs / f"{number}.md").unlink()
    followed.until(lambda: followed.total("removed") == 100)


def test_a_renamed_folder_moves_its_documents(either: Library, docs: Path, follow: Callable[..., Followed]) -> None:
    write_files(docs, {"old/a.md": "common alpha", "old/deep/b.md": "common beta"})
    followed = follow(by=either).until_read()
    before = uid(either, "old/deep/b.md")
    (docs / "old").rename(docs / "new")
    followed.until(lambda: followed.total("moved") == 2)
    assert uid(either, "new/deep/b.md") == before
    assert followed.total("removed") == 0


def test_a_folder_in_the_place_of_another_takes_with_it_what_that_one_had(
    either: Library, docs: Path, follow: Callable[..., Followed]
) -> None:
    write_files(docs, {"d/x.md": "common alpha", "d/kept.md": "common beta"})
    write_files(docs.parent, {"new/kept.md": "common gamma", "new/y.md": "common delta"})
    followed = follow(by=either).until_read()
    (docs / "d").rename(docs.parent / "old")
    (docs.parent / "new").rename(docs / "d")
    followed.until(lambda: texts(either).keys() == {"d/kept.md", "d/y.md"})
    assert "gamma" in texts(either)["d/kept.md"]


def test_a_file_in_the_place_of_a_folder_and_the_other_way_round_leave_nothing_behind(
    either: Library, docs: Path, follow: Callable[..., Followed]
) -> None:
    write_files(docs, {"n/y.md": "common alpha", "a.md": "common beta"})
    followed = follow(by=either).until_read()
    (docs / "n").rename(docs.parent / "n")
    write_files(docs, {"n": "common gamma"})
    followed.until(lambda: texts(either).keys() == {"n", "a.md"})
    (docs / "a.md").unlink()
    write_files(docs, {"a.md/i.md": "common delta"})
    followed.until(lambda: texts(either).keys() == {"n", "a.md/i.md"})


def test_what_is_left_out_is_not_read_and_a_changed_ignore_file_counts_at_once(
    either: Library, docs: Path, follow: Callable[..., Followed]
) -> None:
    write_files(docs, {"a.md": "common alpha", "b.md": "common beta", ".gitignore": "*.log\n"})
    followed = follow(by=either).until_read()
    write_files(docs, {"x.log": "common log", "c.md": "common gamma"})
    followed.until(lambda: "c.md" in texts(followed.library))
    assert "x.log" not in texts(followed.library)
    (docs / ".gitignore").write_text("b.md\n")
    followed.until(lambda: {"a.md", "c.md", "x.log"} <= texts(followed.library).keys())
    followed.until(lambda: "b.md" not in texts(followed.library))


@pytest.mark.parametrize(
    ("paths", "concerned"),
    [
        ({".git/index", "node_modules/m.js", "a.log"}, False),
        ({".git/index", "a.md"}, True),
        ({"gone.md"}, True),
        ({"empty.md"}, True),
        ({".gitignore"}, True),
    ],
)
def test_changes_of_what_is_left_out_are_not_worth_a_run(
    library: Library, docs: Path, paths: set[str], concerned: bool
) -> None:
    write_files(docs, dict.fromkeys((".git/index", "node_modules/m.js", "a.log", "a.md"), "x"))
    write_files(docs, {".gitignore": "*.log\n", "empty.md": ""})
    assert library.watched.concerns(WatchedFolder("default", SourceSettings(location=str(docs))), paths) is concerned


def test_a_folder_that_vanishes_takes_nothing_with_it_and_is_followed_again_when_it_is_back(
    either: Library, docs: Path, follow: Callable[..., Followed]
) -> None:
    write_files(docs, {"a.md": "common alpha"})
    followed = follow(by=either).until_read()
    away = docs.parent / "away"
    docs.rename(away)
    followed.until(lambda: followed.status and followed.status.doing == "waiting")
    assert followed.status is not None
    assert str(docs) in followed.status.message
    assert followed.has(a="alpha")
    followed.until(lambda: str(docs) in (either.status()[0].sources[0]["error"] or ""))
    away.rename(docs)
    write_files(docs, {"b.md": "common beta"})
    followed.until(lambda: followed.has(a="alpha", b="beta"))
    followed.until(lambda: either.status()[0].sources[0]["error"] is None)


def test_an_empty_folder_in_its_place_takes_nothing_with_it(
    library: Library, docs: Path, follow: Callable[..., Followed]
) -> None:
    write_files(docs, {"a.md": "common alpha"})
    followed = follow().until_read()
    docs.rename(docs.parent / "away")
    docs.mkdir()
    followed.until(lambda: followed.status and "is empty" in followed.status.message)
    assert followed.has(a="alpha")
    write_files(docs, {"b.md": "common beta"})
    followed.until(lambda: followed.has(b="beta"))


def test_a_folder_that_is_not_there_yet_is_read_when_it_comes(docs: Path, follow: Callable[..., Followed]) -> None:
    followed = follow(docs / "later")
    followed.until(lambda: followed.status and followed.status.doing == "waiting")
    write_files(docs, {"later/a.md": "common alpha"})
    followed.until(lambda: followed.has(a="alpha"))


def test_what_changed_while_nothing_followed_is_read_at_the_start_and_nothing_else(
    open_library: Callable[..., Library], docs: Path
) -> None:
    write_files(docs, {"a.md": "common alpha", "b.md": "common beta", "c.md": "common gamma"})
    first = Followed(open_library(**SOON), docs).until_read()
    before = uid(first.library, "a.md")
    assert first.watching.stop()
    write_files(docs, {"b.md": "common delta", "d.md": "common new"})
    (docs / "c.md").unlink()
    again = Followed(open_library(**SOON), docs).until_read()
    assert again.watching.stop()
    (report,) = again.runs
    assert (report.added, report.changed, report.removed, report.unchanged) == (1, 1, 1, 1)
    assert sorted(again.read) == ["b.md", "d.md"]
    assert uid(again.library, "a.md") == before


def test_one_process_follows_a_folder_and_another_takes_over_when_it_ends(
    library: Library, docs: Path, follow: Callable[..., Followed]
) -> None:
    write_files(docs, {"a.md": "common alpha"})
    first = follow().until_read()
    with Library(library.settings) as other:
        second = Followed(other, docs)
        try:
            write_files(docs, {"b.md": "common beta"})
            first.until(lambda: first.has(a="alpha", b="beta"))
            assert second.runs == []
            assert first.watching.stop()
            second.until_read()
            write_files(docs, {"c.md": "common gamma"})
            second.until(lambda: second.has(a="alpha", b="beta", c="gamma"))
        finally:
            assert second.watching.stop()


def test_once_stopped_it_follows_nothing(docs: Path, follow: Callable[..., Followed]) -> None:
    followed = follow().until_read()
    assert followed.watching.stop()
    assert followed.status is None


def test_where_the_system_cannot_tell_of_changes_they_are_looked_for_and_that_is_said(
    docs: Path, follow: Callable[..., Followed], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> Iterator[set[Any]]:
        raise OSError("OS file watch limit reached.")
        yield set()

    monkeypatch.setattr(watchfiles, "watch", full)
    write_files(docs, {"a.md": "common alpha"})
    followed = follow().until_read()
    followed.until(lambda: followed.status and followed.status.doing == "polling")
    assert followed.status is not None
    assert "limit reached" in followed.status.message
    assert "max_user_watches" in followed.said[0]
    write_files(docs, {"b.md": "common beta"})
    followed.until(lambda: followed.has(a="alpha", b="beta"))


def test_an_edit_that_keeps_size_and_time_is_seen_by_looking(
    open_library: Callable[..., Library], docs: Path, follow: Callable[..., Followed]
) -> None:
    write_files(docs, {"a.md": "common alpha"})
    os.utime(docs / "a.md", ns=(10**18, 10**18))
    followed = follow(by=open_library(**SOON, watch__polling="always")).until_read()
    (docs / "a.md").write_text("common gamma")
    os.utime(docs / "a.md", ns=(10**18, 10**18))
    followed.until(lambda: followed.has(a="gamma"))


def test_a_single_file_is_followed_also_when_it_is_replaced(docs: Path, follow: Callable[..., Followed]) -> None:
    write_files(docs, {"a.md": "common alpha", "other.md": "common other"})
    followed = follow(docs / "a.md").until_read()
    (docs / "new").write_text("common beta")
    (docs / "new").replace(docs / "a.md")
    followed.until(lambda: followed.has(a="beta"))


def test_a_file_that_cannot_be_read_is_said_once_tried_again_and_the_others_are_read(
    docs: Path, follow: Callable[..., Followed], open_library: Callable[..., Library], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pinakes.parsing.failing_reader", failing_reader)
    monkeypatch.setitem(READERS, ".oops", "failing_reader:FailingReader")
    write_files(docs, {"a.md": "common alpha"})
    followed = follow(by=open_library(**SOON, ingest__processes=0)).until_read()
    write_files(docs, {"b.oops": "common", "c.md": "common gamma"})
    followed.until(lambda: followed.has(a="alpha", c="gamma"))
    followed.until(lambda: followed.read.count("b.oops") >= 3)
    assert len([line for line in followed.said if "b.oops" in line]) == 1
    write_files(docs, {"b.oops": "fine common"})
    followed.until(lambda: "b.oops" in texts(followed.library))
