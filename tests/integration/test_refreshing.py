"""Files of hits that changed are read again before the answer, as far as there is time for it."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import slow_reader
from waiting import until

from pinakes.core.caller import Caller, calling
from pinakes.core.records import Hit, Results, SourceState
from pinakes.library import Library
from pinakes.parsing import READERS
from pinakes.testing import write_files

Open = Callable[..., Library]
WAIT_S = 30


@pytest.fixture
def library(open_library: Open) -> Library:
    """A library that has all the time there is, also on a busy machine."""
    return open_library(search__refresh_ms=30_000)


@pytest.fixture
def keys(library: Library, docs: Path) -> Path:
    files = {f"{name}.md": f"# {name.title()}\n\nRotate the {name} keys.\n" for name in ("first", "second", "third")}
    library.add(str(write_files(docs, files)))
    return docs / "first.md"


def ask(library: Library, query: str = "rotate", **options: str) -> Results:
    return library.search(query, mode="keyword", refresh="auto", **options)  # type: ignore[arg-type]


def texts(answer: Results) -> list[str]:
    return [hit.text.splitlines()[-1] for hit in answer.hits]


def states(answer: Results) -> dict[str, SourceState]:
    return {hit.path: hit.source_state for hit in answer.hits}


class TestStates:
    def test_a_hit_says_how_its_file_is(self, library: Library, keys: Path) -> None:
        keys.write_text("# First\n\nNever rotate them, ever.\n")
        keys.with_name("second.md").unlink()
        answer = library.search("rotate", mode="keyword")
        assert states(answer) == {"first.md": "changed", "second.md": "missing", "third.md": "current"}
        assert {hit.path: hit.changed for hit in answer.hits} == {
            "first.md": True,
            "second.md": True,
            "third.md": False,
        }

    def test_a_document_that_was_put_by_itself_is_what_it_is(self, library: Library) -> None:
        library.documents.put("# Owls\n\nOwls hunt mice.\n", title="Owls")
        [hit] = library.search("owls", mode="keyword").hits
        assert (hit.source_state, hit.changed) == ("current", None)  # there is no file that could

    def test_a_repository_here_is_current_while_its_branch_stands_where_it_was_read(
        self, library: Library, docs: Path
    ) -> None:
        write_files(docs, {"a.md": "# A\n\nRotate them.\n"})
        git(docs, "init", "--quiet", "--initial-branch=main")
        commit(docs)
        library.add(str(docs), ref="main")

        def hit() -> Hit:
            return library.search("rotate", mode="keyword").hits[0]

        assert (hit().source_state, hit().changed) == ("current", False)
        git(docs, "pack-refs", "--all")
        assert hit().source_state == "current"
        write_files(docs, {"b.md": "# B\n\nother\n"})
        commit(docs)
        assert (hit().source_state, hit().changed) == ("unknown", None)
        library.sync()
        assert hit().source_state == "current"

    def test_of_versions_of_the_past_nothing_is_said(self, library: Library) -> None:
        document = library.documents.put("# Owls\n\nOwls hunt mice.\n", title="Owls").document
        library.documents.update(document.uid, text="# Owls\n\nOwls sleep.\n")
        [hit] = library.search("mice", mode="keyword", as_of=document.updated_at).hits
        assert (hit.source_state, hit.changed) == ("unknown", None)


class TestReadAgain:
    def test_what_changed_is_found_as_it_is_now(self, library: Library, keys: Path) -> None:
        keys.write_text("# First\n\nRotate the first keys twice.\n")
        assert "Rotate the first keys twice." not in texts(library.search("rotate", mode="keyword"))
        answer = ask(library)
        assert "Rotate the first keys twice." in texts(answer)
        assert set(states(answer).values()) == {"current"}
        assert "read again, since it changed: first.md" in answer.notes
        assert answer.trace.stages[0].name == "refresh"
        assert answer.trace.stages[0].detail == {"read_again": 1, "left": 0}

    def test_what_is_gone_is_not_found(self, library: Library, keys: Path) -> None:
        keys.unlink()
        answer = ask(library)
        assert set(states(answer)) == {"second.md", "third.md"}
        assert "left out, since it is gone: first.md" in answer.notes

    def test_only_files_of_the_answer_are_read(self, library: Library, keys: Path) -> None:
        keys.write_text("# First\n\nRotate the first keys twice.\n")
        keys.with_name("third.md").write_text("# Third\n\nRotate the third keys twice.\n")
        ask(library, "first")
        assert states(library.search("rotate", mode="keyword"))["third.md"] == "changed"

    def test_where_nothing_changed_nothing_is_done(self, library: Library, keys: Path) -> None:
        answer = ask(library)
        assert answer.notes == ()
        assert all(stage.name != "refresh" for stage in answer.trace.stages)

    def test_several_collections_are_read_again(self, library: Library, keys: Path, tmp_path: Path) -> None:
        other = write_files(tmp_path / "other", {"other.md": "# Other\n\nRotate the other keys.\n"})
        library.add(str(other), "b")
        keys.write_text("# First\n\nRotate the first keys twice.\n")
        (other / "other.md").write_text("# Other\n\nRotate the other keys thrice.\n")
        answer = library.search("rotate", ["default", "b"], mode="keyword", refresh="auto")
        assert {"Rotate the first keys twice.", "Rotate the other keys thrice."} <= set(texts(answer))

    def test_a_source_of_one_file_is_read_again(self, library: Library, docs: Path) -> None:
        write_files(docs, {"one.md": "# One\n\nRotate it.\n"})
        library.add(str(docs / "one.md"))
        (docs / "one.md").write_text("# One\n\nRotate it twice.\n")
        assert texts(ask(library)) == ["Rotate it twice."]

    def test_a_file_that_cannot_be_read_any_more_is_told(self, library: Library, keys: Path) -> None:
        keys.write_bytes(b"\x00\x01" * 500)
        answer = ask(library)
        assert "first.md" not in states(answer)
        assert any(note.startswith("left out, since it cannot be read: first.md: ") for note in answer.notes)
        assert library.status()[0].problems[0]["path"] == "first.md"

    def test_a_file_that_rules_leave_out_by_now_is_told(self, library: Library, keys: Path) -> None:
        write_files(keys.parent, {".gitignore": "first.md\n"})
        keys.write_text("# First\n\nRotate the first keys twice.\n")
        answer = ask(library)
        assert states(answer)["first.md"] == "changed"
        assert any(note.startswith("could not be read again: first.md: ") for note in answer.notes)

    def test_a_source_that_the_settings_name_no_more_is_left_alone(self, open_library: Open, docs: Path) -> None:
        path = write_files(docs, {"a.md": "Rotate the first keys.\n"}) / "a.md"
        source = {"location": str(docs), "collection": "default"}
        with open_library(sources=[source]) as library:
            library.sync()
        path.write_text("Rotate them never.\n")
        library = open_library(search__refresh_ms=30_000)
        answer = ask(library)
        assert texts(answer) == ["Rotate the first keys."]
        assert answer.notes == ("could not be read again: a.md: the settings do not name its source any more",)

    def test_a_folder_that_is_the_knowledge_base_by_now_is_read_again(self, open_library: Open, docs: Path) -> None:
        path = write_files(docs, {"a.md": "Rotate the first keys.\n"}) / "a.md"
        with open_library(sources=[{"location": str(docs), "collection": "default"}]) as library:
            library.sync()
        path.write_text("Rotate them never.\n")
        base = {"knowledge_base__enabled": True, "knowledge_base__folder": str(docs)}
        assert texts(ask(open_library(search__refresh_ms=30_000, **base))) == ["Rotate them never."]

    def test_unless_it_is_asked_for_nothing_is_read(self, library: Library, keys: Path) -> None:
        keys.write_text("# First\n\nRotate the first keys twice.\n")
        for _ in range(2):
            assert states(library.search("rotate", mode="keyword"))["first.md"] == "changed"


class TestWhoMayNot:
    def test_a_caller_who_may_only_read_changes_nothing(self, library: Library, keys: Path) -> None:
        keys.write_text("# First\n\nRotate the first keys twice.\n")
        with calling(Caller(name="reader", scope="read")):
            answer = ask(library)
        assert states(answer)["first.md"] == "changed"
        assert "not read again, since nothing may be changed here: first.md" in answer.notes

    def test_a_server_that_changes_nothing_does_not(self, open_library: Open, docs: Path) -> None:
        library = open_library(server__read_only=True)
        write_files(docs, {"a.md": "# A\n\nRotate.\n"})
        library.add(str(docs))
        (docs / "a.md").write_text("# A\n\nRotate twice.\n")
        assert "nothing may be changed here" in ask(library).notes[-1]

    def test_a_budget_of_nothing_is_never(self, open_library: Open, docs: Path) -> None:
        library = open_library(search__refresh_ms=0)
        write_files(docs, {"a.md": "# A\n\nRotate.\n"})
        library.add(str(docs))
        (docs / "a.md").write_text("# A\n\nRotate twice.\n")
        assert states(ask(library)) == {"a.md": "changed"}


class TestTheBudget:
    def test_a_source_that_somebody_else_reads_keeps_no_answer_waiting_longer(
        self, open_library: Open, docs: Path
    ) -> None:
        library = open_library(search__refresh_ms=200)
        write_files(docs, {"a.md": "# A\n\nRotate.\n"})
        library.add(str(docs))
        (docs / "a.md").write_text("# A\n\nRotate twice.\n")
        with library.app.home.reading("default", ("folder", str(docs), "")):
            start = time.perf_counter()
            answer = ask(library)
            took = time.perf_counter() - start
            assert took >= 0.2  # and it ends, though the source is still being read
        assert states(answer) == {"a.md": "changed"}
        assert "changed, but not read again within 200 ms (search.refresh_ms): a.md" in answer.notes

    def test_what_was_not_done_in_time_is_done_behind_the_answer(self, open_library: Open, docs: Path) -> None:
        library = open_library(search__refresh_ms=50)
        write_files(docs, {"a.md": "# A\n\nRotate.\n"})
        library.add(str(docs))
        (docs / "a.md").write_text("# A\n\nRotate twice.\n")
        with library.app.home.reading("default", ("folder", str(docs), "")):
            assert texts(ask(library)) == ["Rotate."]
            assert texts(ask(library)) == ["Rotate."]
        until(lambda: texts(library.search("rotate", mode="keyword")) == ["Rotate twice."])

    def test_a_slow_reader_keeps_no_answer_waiting_longer(
        self, open_library: Open, docs: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, "pinakes.parsing.slow_reader", slow_reader)
        monkeypatch.setitem(READERS, ".slow", "slow_reader:SlowReader")
        library = open_library(search__refresh_ms=200, ingest__processes=0)
        write_files(docs, {"a.slow": "Rotate."})
        slow_reader.GO_ON.set()
        library.add(str(docs))
        (docs / "a.slow").write_text("Rotate twice.")
        slow_reader.GO_ON.clear()
        start = time.perf_counter()
        answer = ask(library)
        assert time.perf_counter() - start >= 0.2
        assert not slow_reader.GO_ON.is_set()
        assert states(answer) == {"a.slow": "changed"}
        slow_reader.GO_ON.set()
        until(lambda: texts(library.search("rotate", mode="keyword")) == ["Rotate twice."])

    def test_closing_does_not_wait_for_a_source_that_somebody_else_reads(self, open_library: Open, docs: Path) -> None:
        library = open_library(search__refresh_ms=50)
        write_files(docs, {"a.md": "# A\n\nRotate.\n"})
        library.add(str(docs))
        (docs / "a.md").write_text("# A\n\nRotate twice.\n")
        with library.app.home.reading("default", ("folder", str(docs), "")):
            ask(library)
            library.close()

    def test_many_who_ask_at_once_are_all_answered(self, library: Library, keys: Path) -> None:
        keys.write_text("# First\n\nRotate the first keys twice.\n")
        answers: list[Results] = []
        threads = [threading.Thread(target=lambda: answers.append(ask(library))) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(WAIT_S)
        assert len(answers) == 8
        assert any("Rotate the first keys twice." in texts(answer) for answer in answers)
        assert library.documents.history(answers[0].hits[0].document_id)
        assert library.verify() == {"default": []}


class TestWhatIsStale:
    def test_each_path_is_named_by_what_happened_to_it(self, library: Library, keys: Path, docs: Path) -> None:
        keys.write_text("# First\n\nAnother text.\n")
        (docs / "second.md").unlink()
        write_files(docs, {"new/fourth.md": "# Fourth\n"})
        [found] = library.staleness.stale(library.collection())
        assert (found.changed, found.missing, found.new) == (("first.md",), ("second.md",), ("new/fourth.md",))
        assert (found.current, found.count, found.location) == (1, 3, str(docs))

    def test_looking_changes_nothing(self, library: Library, keys: Path) -> None:
        keys.write_text("# First\n\nAnother text.\n")
        assert library.staleness.stale(library.collection()) == library.staleness.stale(library.collection())
        [report] = library.sync()
        assert (report.changed, report.unchanged) == (1, 2)
        [found] = library.staleness.stale(library.collection())
        assert (found.current, found.count) == (3, 0)

    def test_a_file_that_was_only_touched_is_current(self, library: Library, keys: Path) -> None:
        keys.write_text(keys.read_text())
        [found] = library.staleness.stale(library.collection())
        assert (found.current, found.count) == (3, 0)

    def test_a_file_that_was_left_out_and_changed_since_counts_as_changed(self, library: Library, docs: Path) -> None:
        write_files(docs, {"a.md": "# A\n"})
        (docs / "b.md").write_bytes(b"\x00\x01" * 500)
        library.add(str(docs))
        [found] = library.staleness.stale(library.collection())
        assert found.count == 0
        (docs / "b.md").write_text("# B\n\nA text now.\n")
        [found] = library.staleness.stale(library.collection())
        assert found.changed == ("b.md",)

    def test_a_folder_that_is_not_there_is_told_and_the_others_are_looked_at(
        self, library: Library, keys: Path, tmp_path: Path
    ) -> None:
        other = write_files(tmp_path / "other", {"a.md": "# A\n"})
        library.add(str(other))
        other.rename(tmp_path / "elsewhere")
        here, there = library.staleness.stale(library.collection())
        assert (here.error, here.current) == ("", 3)
        assert "does not exist" in there.error

    def test_a_repository_is_asked_what_changed(self, library: Library, docs: Path) -> None:
        write_files(docs, {"a.md": "# A\n", "b.md": "# B\n", "c.md": "# C\n"})
        git(docs, "init", "--quiet", "--initial-branch=main")
        commit(docs)
        library.add(str(docs), ref="main")
        (docs / "a.md").write_text("# Another\n")
        (docs / "b.md").unlink()
        write_files(docs, {"d.md": "# D\n"})
        commit(docs)
        [found] = library.staleness.stale(library.collection())
        assert (found.changed, found.missing, found.new, found.current) == (("a.md",), ("b.md",), ("d.md",), 1)
        [report] = library.sync()
        assert (report.added, report.changed, report.removed) == (1, 1, 1)


def git(folder: Path, *words: str) -> None:
    who = ["-c", "user.name=Me", "-c", "user.email=me@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)


def commit(folder: Path) -> None:
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "Change")
