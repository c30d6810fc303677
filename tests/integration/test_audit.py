"""The audit log of a home: every call once, nothing waits for it, nothing fails by it."""

from __future__ import annotations

import json
import logging
import signal
import sqlite3
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from waiting import until

from pinakes.catalog.audit import AuditQuery
from pinakes.core.caller import Caller, calling
from pinakes.core.errors import InvalidInput, NotFound, StorageFull
from pinakes.library import Library
from pinakes.services.audit import Audit
from pinakes.testing import write_files

OpenLibrary = Callable[..., Library]

RECORD = """
import sys, time
from pinakes.library import Library
from pinakes.services.audit import Audit
library = Library.open(sys.argv[1], embedding__provider="deterministic")
for number in range(int(sys.argv[2])):
    with library.audit.recording("child", {"number": number}):
        pass
print("recorded", flush=True)
if sys.argv[3] == "wait":
    sys.stdin.readline()
if sys.argv[3] == "close":
    library.close()
"""
WAIT_S = 20


def child(home: Path, count: int, then: str) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", RECORD, str(home), str(count), then]
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)


def record(library: Library, tool: str = "search", **parameters: Any) -> None:
    with library.audit.recording(tool, parameters):
        pass


def kept(home: Path) -> int:
    """Count the entries in the database, whoever wrote them."""
    with closing(sqlite3.connect(home / "catalog.db")) as connection:
        return int(connection.execute("SELECT count(*) FROM audit").fetchone()[0])


def test_a_call_is_recorded_with_all_there_is_to_say_of_it(library: Library) -> None:
    with (
        calling(Caller(name="ann", interface="mcp", session="s1")),
        library.audit.recording("search", {"query": "herons", "collection": "birds"}) as call,
    ):
        call.answered({"results": [{"doc_id": "a"}, {"doc_id": "b"}, {"doc_id": "a"}], "query": "herons"})
    [entry] = library.audit.entries()
    assert (entry.tool, entry.caller, entry.interface, entry.session) == ("search", "ann", "mcp", "s1")
    assert (entry.parameters, entry.collection) == ({"query": "herons", "collection": "birds"}, "birds")
    assert (entry.result_count, entry.ids, entry.outcome) == (3, ("a", "b"), "ok")
    assert entry.at.startswith("20")
    assert entry.latency_ms >= 0


def test_names_that_callers_give_are_cut_and_cleaned(library: Library) -> None:
    key = "sk-abcdefghij0123456789klmnop"
    long = f"birds {key} " + "x" * 100_000
    with (
        calling(Caller(name="ann", interface="mcp", session=long)),
        library.audit.recording("search", {"collection": [long, "more"]}),
    ):
        pass
    [entry] = library.audit.entries(wanted=AuditQuery(session=long))
    for name in (entry.session, entry.collection):
        assert name.startswith("birds *** xxx")
        assert len(name) < 250
    assert library.audit.entries(wanted=AuditQuery(session="birds")) == []


@pytest.mark.parametrize(
    ("data", "count", "ids"),
    [
        ({"documents": [{"doc_id": "a", "chunks": [{"chunk_index": 0}]}]}, 1, ("a",)),
        ({"passages": [{"document_id": "a", "chunk_id": "a_0"}], "collection": "c"}, 1, ("a",)),
        ({"chunks": [{"id": "x"}, {"id": "y"}]}, 2, ("x", "y")),
        ({"success": True, "chunkIds": ["x", "y"], "chunksCreated": 2}, 2, ("x", "y")),
        ({"doc_id": "a", "status": "updated"}, 1, ("a",)),
        ({"collections": [{"name": "c"}, {"name": "d"}]}, 2, ()),
        ({"results": []}, 0, ()),
        ({"answer": "42"}, 0, ()),
        (None, 0, ()),
    ],
)
def test_what_was_found_is_read_from_the_answer(
    library: Library, data: dict[str, Any] | None, count: int, ids: tuple[str, ...]
) -> None:
    with library.audit.recording("any", {}) as call:
        call.answered(data)
    [entry] = library.audit.entries()
    assert (entry.result_count, entry.ids) == (count, ids)


@pytest.mark.parametrize("error", ["It broke.", {"message": "It broke.", "operation": "ingest"}])
def test_an_error_that_is_only_in_the_answer_is_one(library: Library, error: Any) -> None:
    with library.audit.recording("any", {}) as call:
        call.answered({"success": False, "error": error})
    [entry] = library.audit.entries()
    assert (entry.outcome, entry.message, entry.result_count) == ("ERROR", "It broke.", 0)


def test_an_error_goes_on_and_is_recorded(library: Library) -> None:
    with pytest.raises(NotFound), library.audit.recording("read", {}):
        raise NotFound("There is no 'x'.", hint="Look elsewhere.")
    with pytest.raises(ZeroDivisionError), library.audit.recording("read", {}):
        1 / 0  # noqa: B018
    with pytest.raises(KeyboardInterrupt), library.audit.recording("read", {}):
        raise KeyboardInterrupt
    found = [(entry.outcome, entry.message) for entry in library.audit.entries()]
    assert found[0][0] == "STOPPED"
    assert found[1:] == [
        ("INTERNAL_ERROR", "ZeroDivisionError: division by zero"),
        ("NOT_FOUND", "There is no 'x'."),
    ]
    assert len(library.audit.entries(wanted=AuditQuery(outcome="failed"))) == 3


def test_threads_record_every_call_once(library: Library) -> None:
    def work(thread: int) -> None:
        for number in range(250):
            record(library, "search", thread=thread, number=number)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(work, range(8)))
    entries = library.audit.entries(5000)
    assert len(entries) == 2000
    assert Counter((entry.parameters["thread"], entry.parameters["number"]) for entry in entries) == Counter(
        (thread, number) for thread in range(8) for number in range(250)
    )
    assert library.audit.status().lost == 0


def test_what_is_recorded_is_written_though_nobody_reads_it(library: Library, home: Path) -> None:
    record(library)
    until(lambda: kept(home) == 1)
    until(lambda: library.audit.status().waiting == 0)


def test_another_process_reads_it_and_writes_at_the_same_time(library: Library, home: Path) -> None:
    others = [child(home, 300, "close") for _ in range(2)]
    for number in range(300):
        record(library, "ours", number=number)
    for other in others:
        assert other.communicate(timeout=60)[0] == "recorded\n"
        assert other.returncode == 0
    counts = Counter(entry.tool for entry in library.audit.entries(5000))
    assert counts == {"ours": 300, "child": 600}


def test_a_process_that_ends_without_closing_leaves_nothing_unwritten(library: Library, home: Path) -> None:
    process = child(home, 50, "end")
    assert process.communicate(timeout=60) == ("recorded\n", "")
    assert kept(home) == 50


def test_a_kill_loses_no_more_than_the_last_moment(library: Library, home: Path) -> None:
    process = child(home, 50, "wait")
    assert process.stdout is not None
    assert process.stdout.readline() == "recorded\n"
    until(lambda: kept(home) == 50)
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert len(library.audit.entries(100, AuditQuery(tool="child"))) == 50


def test_only_the_newest_are_kept(open_library: OpenLibrary, home: Path) -> None:
    library = open_library(audit__max_entries=20)
    for number in range(50):
        record(library, number=number)
    assert [entry.parameters["number"] for entry in library.audit.entries(100)] == list(range(49, 29, -1))
    record(library, number=50)
    library.audit.flush()
    assert kept(home) == 20


def test_entries_of_some_age_are_neither_shown_nor_kept(open_library: OpenLibrary, home: Path) -> None:
    record(open_library())
    library = open_library(audit__max_days=1)
    assert len(library.audit.entries()) == 1
    library.audit.flush()
    with closing(sqlite3.connect(home / "catalog.db", isolation_level=None)) as connection:
        connection.execute("UPDATE audit SET at = '2020-01-01T00:00:00.000+00:00'")
    assert library.audit.entries() == []
    record(library, "new")
    assert [entry.tool for entry in library.audit.entries()] == ["new"]
    assert kept(home) == 1


def test_nothing_is_recorded_when_that_is_switched_off(open_library: OpenLibrary, home: Path) -> None:
    library = open_library(audit__enabled=False)
    record(library)
    assert library.audit.entries() == []
    assert not library.audit.status().enabled
    library.close()
    assert kept(home) == 0


@pytest.mark.parametrize(
    ("wanted", "count"),
    [
        (AuditQuery(since="2026-01-31"), 1),
        (AuditQuery(until="2020-01-01T12:00:00Z"), 0),
        (AuditQuery(since="2020-01-01T12:00:00+02:00", until="2100-01-01"), 1),
        (AuditQuery(until="2020-01-01"), 0),
        (AuditQuery(since="30m"), 1),
        (AuditQuery(since="1w", until="2d"), 0),
        (AuditQuery(until="1h30m"), 0),
    ],
)
def test_days_and_times_bound_what_is_shown(library: Library, wanted: AuditQuery, count: int) -> None:
    record(library)
    assert len(library.audit.entries(wanted=wanted)) == count


def test_a_day_ends_with_its_last_moment(library: Library) -> None:
    record(library)
    [entry] = library.audit.entries()
    day = entry.at[:10]
    assert library.audit.entries(wanted=AuditQuery(since=day, until=day)) == [entry]


@pytest.mark.parametrize(
    "time_", ["yesterday", "2026-13-01", "99999-01-01", "12:00", "1 hour", "h", "-1h", "9999999999w"]
)
def test_what_is_no_time_is_refused(library: Library, time_: str) -> None:
    with pytest.raises(InvalidInput, match="is no time") as caught:
        library.audit.entries(wanted=AuditQuery(since=time_))
    assert "2026-01-31" in caught.value.hint
    with pytest.raises(InvalidInput, match="0 entries"):
        library.audit.entries(0)


def test_everything_is_exported_as_json_lines(library: Library, tmp_path: Path) -> None:
    for number in range(30):
        record(library, "search" if number % 2 else "read", query=f"número {number}")
    file = tmp_path / "calls.jsonl"
    file.write_text("what was there before")
    assert library.audit.export(file) == 30
    lines = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    assert [line["params"]["query"] for line in lines] == [f"número {number}" for number in range(30)]
    assert list(lines[0])[:6] == ["timestamp", "tool", "params", "result_count", "doc_ids", "latency_ms"]
    assert library.audit.export(file, AuditQuery(tool="read")) == 15
    assert len(file.read_text("utf-8").splitlines()) == 15
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("calls")] == ["calls.jsonl"]


def test_a_file_that_cannot_be_written_is_an_error_and_leaves_nothing(library: Library, tmp_path: Path) -> None:
    with pytest.raises(StorageFull):
        library.audit.export(tmp_path / "nowhere" / "calls.jsonl")
    with pytest.raises(StorageFull):
        library.audit.export(tmp_path)
    assert not (tmp_path.parent / f"{tmp_path.name}.tmp").exists()


def test_a_call_neither_waits_nor_fails_while_the_log_cannot_be_written(
    library: Library, home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    record(library, "before")
    library.audit.flush()
    with closing(sqlite3.connect(home / "catalog.db", isolation_level=None)) as connection:
        connection.execute("ALTER TABLE audit RENAME TO elsewhere")
        with caplog.at_level(logging.WARNING):
            for number in range(20):
                record(library, "meanwhile", number=number)
            library.audit.flush()
        assert "audit log cannot be written" in caplog.text
        connection.execute("ALTER TABLE elsewhere RENAME TO audit")
    assert library.audit.status().problem
    record(library, "after")
    tools = Counter(entry.tool for entry in library.audit.entries(100))
    assert tools == {"before": 1, "meanwhile": 20, "after": 1}
    assert library.audit.status().problem == ""


def test_what_had_to_be_dropped_is_counted_and_told(library: Library, home: Path) -> None:
    with closing(Audit(library.app.catalog, library.settings, most_waiting=5)) as audit:
        with closing(sqlite3.connect(home / "catalog.db", isolation_level=None)) as connection:
            connection.execute("ALTER TABLE audit RENAME TO elsewhere")
            for number in range(12):
                with audit.recording("search", {"number": number}):
                    pass
            audit.flush()
            connection.execute("ALTER TABLE elsewhere RENAME TO audit")
        assert audit.status().lost == 7
        audit.flush()
        for _ in range(2):
            with audit.recording("after", {}):
                pass
            audit.flush()
        outcomes = [entry.outcome for entry in audit.entries(100)]
        assert outcomes.count("LOST") == 1
        [told] = audit.entries(wanted=AuditQuery(outcome="LOST"))
        assert told.message.startswith("7 calls could not be recorded.")


def test_what_cannot_be_written_down_does_not_make_the_call_fail(library: Library) -> None:
    class Odd:
        def __str__(self) -> str:
            raise RuntimeError("no text")

    with library.audit.recording("odd", {"value": Odd()}) as call:
        call.found(["a"])
    assert library.audit.entries() == []
    assert library.audit.status().lost == 1


def test_a_writer_of_the_catalogue_makes_no_call_wait(library: Library, home: Path) -> None:
    with closing(sqlite3.connect(home / "catalog.db", isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        for number in range(100):
            record(library, number=number)
        assert kept(home) == 0
        connection.execute("ROLLBACK")
    assert len(library.audit.entries(1000)) == 100


def test_deleting_a_collection_leaves_what_was_asked_of_it(library: Library, docs: Path) -> None:
    write_files(docs, {"a.md": "# Heron\n\nA heron.\n"})
    library.add(str(docs), "birds")
    record(library, query="heron", collection="birds")
    library.collecting.delete("birds")
    assert len(library.audit.entries(wanted=AuditQuery(collection="birds"))) == 1


def test_closing_twice_and_recording_afterwards_are_harmless(library: Library, home: Path) -> None:
    others = set(threading.enumerate())
    record(library)
    library.audit.close()
    library.audit.close()
    record(library, "late")
    assert kept(home) == 1
    left = set(threading.enumerate()) - others
    assert not [thread for thread in left if thread.name == "pinakes-audit"]
