"""Ctrl+C and SIGTERM in each stage of a run: it ends soon, in one line, leaves no process, and the next run resumes."""

from __future__ import annotations

import json
import os
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from embedding_server import EmbeddingServer
from forking import PINAKES, Forked

DETERMINISTIC = ("--set", "embedding.provider=deterministic")
SLOW = "# A\n\n" + "- one\n  - two\n    - three\n" * 200_000
"""Takes seconds to cut, in a process of its own."""

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked up in /proc")


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[EmbeddingServer]:
    server = EmbeddingServer()
    server.start()
    yield server
    server.stop()


def wait(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 240
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def children(pid: int) -> list[tuple[int, float]]:
    """Return (process, seconds of processor time it used) of the living children of a process."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[1]) == pid and fields[0] != "Z":
                found.append((int(entry.name), int(fields[11]) / os.sysconf("SC_CLK_TCK")))
    return found


@contextmanager
def adding(folder: Path, *words: str) -> Iterator[Forked]:
    """Give a running ``pinakes add``."""
    with Forked(PINAKES, *words, "add", str(folder), "--json", text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def test_ctrl_c_while_a_file_is_read_ends_its_reader_and_the_next_run_reads_it(tmp_path, program):
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "a.txt").write_text("The heron stands in the reeds.\n")
    (folder / "slow.md").write_text(SLOW)
    with adding(folder, *DETERMINISTIC) as process:
        wait(lambda: any(seconds > 1.5 for _, seconds in children(process.pid)))
        readers = [pid for pid, _ in children(process.pid)]
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in err
    assert re.fullmatch(
        r"stopped at \d of 2 files; what was committed stays; run again to resume", err.splitlines()[-1]
    )
    assert json.loads(out)["error"]["code"] == "INTERRUPTED"
    wait(lambda: not any(Path(f"/proc/{pid}").exists() for pid in readers))
    (folder / "slow.md").write_text(SLOW[:1000])
    [report] = program("add", folder, "--json").document["reports"]
    assert (report["added"], report["unchanged"]) == (2, 0)


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_a_stop_while_chunks_are_embedded_keeps_what_was_committed(ending, tmp_path, provider, program):
    folder = tmp_path / "docs"
    folder.mkdir()
    for number in range(60):
        (folder / f"{number}.md").write_text(
            f"# Field {number}\n\nThe yield of field {number} was {number * 7} tons.\n"
        )
    held, let_go = threading.Event(), threading.Event()

    def hold(texts: list[str]) -> None:
        if provider.requests > 3:
            held.set()
            let_go.wait(60)

    provider.before = hold
    words = ["--set", "embedding.provider=endpoint", "--set", f"embedding.url={provider.url}"]
    words += ["--set", "embedding.model=words", "--set", "ingest.batch_chunks=10", "--set", "embedding.connections=1"]
    with adding(folder, *words) as process:
        assert held.wait(90)
        process.send_signal(ending)
        _, err = process.communicate(timeout=60)
    let_go.set()
    assert process.returncode == 130
    assert "run again to resume" in err.splitlines()[-1]
    assert "Traceback" not in err
    provider.before = lambda texts: None
    with adding(folder, *words) as process:
        out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    [report] = json.loads(out)["reports"]
    assert report["added"] + report["unchanged"] == 60
    assert report["pending"] == 0


STUBBORN = """
import signal, sys, time
import pinakes.cli.entry as entry

def run(arguments):
    try:
        while True:
            time.sleep(0.05)
            print("working", flush=True)
    except KeyboardInterrupt:
        print("closing", flush=True)
        while True:
            try:
                time.sleep(60)
            except BaseException:
                pass

entry.run = run  # a command that will not end
from pinakes.cli import main
main()
"""
"""A command that will not end."""


def test_a_second_ctrl_c_ends_it_at_once():
    with Forked(STUBBORN, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "working\n"
        process.send_signal(signal.SIGINT)
        wait(lambda: process.stdout is not None and process.stdout.readline() == "closing\n")
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err == "stopped at once; what was committed stays; run again to resume\n"


def refusing(how: str) -> int:
    """Return a stream that takes nothing."""
    if how == "full disk":
        if not Path("/dev/full").exists():
            pytest.skip("no /dev/full on this system")
        return os.open("/dev/full", os.O_WRONLY)
    reading, writing = os.pipe()
    if how == "closed pipe":
        os.close(reading)
        return writing
    os.set_blocking(writing, False)
    with suppress(BlockingIOError):
        while True:
            os.write(writing, b"." * 4096)
    os.set_blocking(writing, True)
    return writing  # the other end stays open, and is never read


@pytest.mark.parametrize("how", ["full disk", "closed pipe", "full pipe"])
def test_a_second_ctrl_c_ends_it_at_once_whatever_stderr_takes(how: str):
    reading, out = os.pipe()
    nothing, err = os.open(os.devnull, os.O_RDONLY), refusing(how)
    process = Forked(STUBBORN, streams=[nothing, out, err])
    for stream in (nothing, out, err):
        os.close(stream)
    with process, os.fdopen(reading) as told:
        try:
            assert told.readline() == "working\n"
            process.send_signal(signal.SIGINT)
            wait(lambda: told.readline() == "closing\n")
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 130
        finally:
            process.kill()


STOPPED_AT_THE_INDEX = """
import os, signal
from pinakes.app import App

App.index = lambda *_: os.kill(os.getpid(), signal.SIGINT)
from pinakes.cli import main
main()
"""


def test_ctrl_c_after_an_import_has_committed_says_that_all_is_in(tmp_path, program):
    (tmp_path / "a.md").write_text("# Heron\n\nThe heron stands in the reeds.\n")
    file, other = tmp_path / "birds.zip", str(tmp_path / "other")
    assert program("add", tmp_path / "a.md", "-c", "birds").code == 0
    assert program("export", "birds", file).code == 0
    command = [*DETERMINISTIC, "import", str(file), "--home", other, "--json"]
    with Forked(STOPPED_AT_THE_INDEX, *command, text=True) as stopped:
        out, err = stopped.communicate(timeout=60)
    said = "stopped, but birds is in, all of it; its index is built at the first search"
    assert (stopped.returncode, err.splitlines()[-1]) == (130, said)
    assert json.loads(out)["error"]["retryable"] is False
    assert program("search", "heron", "-c", "birds", "--home", other, "--json").document["hits"]


STOPPED_IN_THE_FIRST_TRANSACTION = """
import os, signal
from sqlalchemy import event
from sqlalchemy.engine import Engine

event.listen(Engine, "after_cursor_execute", lambda *_: os.kill(os.getpid(), signal.SIGINT), once=True)
from pinakes.cli import main
main()
"""


def test_a_stop_while_the_catalogue_is_made_leaves_none_and_the_next_run_makes_it(tmp_path, program):
    (tmp_path / "a.md").write_text("# Heron\n\nThe heron stands in the reeds.\n")
    home = tmp_path / "home"
    words = [*DETERMINISTIC, "add", str(tmp_path / "a.md"), "--home", str(home)]
    with Forked(STOPPED_IN_THE_FIRST_TRANSACTION, *words, "--json", text=True) as stopped:
        out, err = stopped.communicate(timeout=60)
    assert (stopped.returncode, json.loads(out)["error"]["code"]) == (130, "INTERRUPTED"), err
    assert not list(home.glob("catalog*"))
    assert program(*words).code == 0
