"""Files are read and cut in other processes, with real ones."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from pinakes.core.errors import Binary, Unreadable
from pinakes.core.ports import Embedder
from pinakes.core.records import Item
from pinakes.library import Library
from pinakes.models.embedders import open_embedder
from pinakes.parsing.pool import InProcess, ParseOptions, ProcessPool, open_parser, read
from pinakes.parsing.workers import Process, WorkerProcesses
from pinakes.settings import ChunkingSettings, EmbeddingSettings, IngestSettings
from pinakes.settings.base import LONGEST_S

pytestmark = pytest.mark.skipif(os.name != "posix", reason="other processes are used on POSIX systems only")

SLOW = ("# A\n\n" + "- one\n  - two\n    - three\n" * 80_000).encode()
"""Takes seconds to cut."""


def recipe(tmp_path: Path, **limits: object) -> ParseOptions:
    embedding = EmbeddingSettings(provider="deterministic")
    return ParseOptions(IngestSettings.model_validate(limits), ChunkingSettings(), embedding, tmp_path, counted=True)


@pytest.fixture
def embedder(tmp_path: Path) -> Embedder:
    return open_embedder(EmbeddingSettings(provider="deterministic"), tmp_path)


class Counted(WorkerProcesses):
    """Knows every process that was ever lent."""

    def __init__(self, limits: IngestSettings) -> None:
        super().__init__(limits)
        self.seen: list[Process] = []

    def take(self) -> Process:
        process = super().take()
        if process not in self.seen:
            self.seen.append(process)
        return process


@contextmanager
def started(options: ParseOptions, embedder: Embedder, processes: int = 1) -> Iterator[tuple[ProcessPool, Counted]]:
    """Give what has everything read by processes, and these."""
    limits = options.limits.model_copy(update={"processes": processes})
    with (
        closing(Counted(limits)) as workers,
        closing(ProcessPool(options, InProcess(options, embedder), workers, all_of_it=True)) as beside,
    ):
        yield beside, workers


def busy(workers: Counted, number: int = 1) -> int:
    """Wait until process ``number`` is at work, which it is once it has answered that it is ready; return its id."""
    deadline = time.monotonic() + 60
    while not (len(workers.seen) >= number and workers.seen[number - 1].greeted):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    pid = workers.seen[number - 1].pid
    assert pid is not None
    return pid


def test_other_processes_cut_as_this_one_does(tmp_path: Path, embedder: Embedder) -> None:
    texts = {f"{n}.md": f"# Title {n}\n\nSome words of file {n}.\n\n- a\n- b\n".encode() for n in range(20)}
    with started(recipe(tmp_path), embedder, 2) as (beside, _):
        results = {path: beside.begin(data, path) for path, data in texts.items()}
        for path, result in results.items():
            here, there = InProcess(recipe(tmp_path), embedder).cut(texts[path], path), result()
            assert (there.document, list(there.chunks)) == (here.document, list(here.chunks))


def test_what_is_wrong_with_a_file_is_told_as_it_is_here(tmp_path: Path, embedder: Embedder) -> None:
    with started(recipe(tmp_path), embedder) as (beside, _):
        with pytest.raises(Binary) as told:
            beside.begin(b"\0\1\2" * 100, "x.md")()
        with pytest.raises(Binary) as expected:
            InProcess(recipe(tmp_path), embedder).cut(b"\0\1\2" * 100, "x.md")
        assert (told.value.message, told.value.hint) == (expected.value.message, expected.value.hint)


def test_a_file_whose_process_is_killed_gets_another_chance(tmp_path: Path, embedder: Embedder) -> None:
    with started(recipe(tmp_path), embedder) as (beside, workers):
        first = beside.begin(SLOW[: len(SLOW) // 4], "slow.md")
        os.kill(busy(workers), signal.SIGKILL)
        assert first().document.title == "A"
        assert len(workers.seen) == 2


def test_a_file_that_ends_two_processes_costs_itself_only(tmp_path: Path, embedder: Embedder) -> None:
    with started(recipe(tmp_path), embedder) as (beside, workers):
        first, second = beside.begin(SLOW, "slow.md"), beside.begin(b"words", "next.md")
        for number in (1, 2):
            os.kill(busy(workers, number), signal.SIGKILL)
        with pytest.raises(ChildProcessError, match="SIGKILL"):
            first()
        assert second().document.text.strip() == "words"


def test_a_file_that_takes_too_long_is_given_up(tmp_path: Path, embedder: Embedder) -> None:
    with started(recipe(tmp_path, read_timeout_s=3), embedder) as (beside, _):
        first, second = beside.begin(SLOW * 4, "slow.md"), beside.begin(b"words", "next.md")
        with pytest.raises(TimeoutError, match="took longer than"):
            first()
        assert second().document.text.strip() == "words"


@pytest.mark.parametrize("after_s", [0, 0.1, 0.3])
def test_closing_while_processes_start_does_not_hang(tmp_path: Path, embedder: Embedder, after_s: float) -> None:
    with started(recipe(tmp_path), embedder, 2) as (beside, workers):
        for number in range(4):
            beside.begin(SLOW, f"{number}.md")
        time.sleep(after_s)
    assert all(process.pid is not None and gone(process.pid) for process in workers.seen)


def test_without_another_process_files_are_read_here(
    tmp_path: Path, embedder: Embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "missing"))
    with started(recipe(tmp_path), embedder) as (beside, workers):
        for _ in range(3):
            assert beside.begin(b"words", "a.md")().document.text.strip() == "words"
        assert len(workers.seen) == 1


def test_closing_does_not_wait_for_a_file_at_work(tmp_path: Path, embedder: Embedder) -> None:
    with started(recipe(tmp_path), embedder) as (beside, workers):
        beside.begin(SLOW, "slow.md")
        pid = busy(workers)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@pytest.mark.parametrize("at_work", [False, True])
def test_a_process_ends_with_the_one_that_started_it(tmp_path: Path, at_work: bool) -> None:
    script = f"""
from pathlib import Path
from pinakes.parsing.pool import *
from pinakes.settings import *

embedding = EmbeddingSettings(provider="deterministic")
options = ParseOptions(IngestSettings(), ChunkingSettings(), embedding, Path({str(tmp_path)!r}), True)
workers = WorkerProcesses(options.limits)
pool = ProcessPool(options, InProcess(options, open_embedder(embedding, options.cache)), workers, all_of_it=True)
pool.begin(b"words", "a.md")()
process = workers.take()
print(process.pid, flush=True)
if {at_work}:
    process.ask((options, ("# A\\n\\n" + "- one\\n  - two\\n    - three\\n" * 800_000).encode(), "slow.md"))
input()
"""
    with subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        parent.kill()
    assert gone(child)


def gone(pid: int) -> bool:
    """Wait until a process that belongs to nobody has ended."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return True
        if state == "Z":
            return True
        time.sleep(0.05)
    return False


@pytest.fixture
def many(tmp_path: Path) -> Iterator[Path]:
    """A folder with enough in it for processes to be worth their start."""
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(60):
        lines = (f"Line {line} of file {number} tells of herons and reeds.\n" for line in range(1500))
        (folder / f"{number}.txt").write_text("".join(lines))
    return folder


def test_a_large_folder_is_indexed_alike_with_and_without_processes(
    many: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (many / "yaml.py").write_text("raise SystemExit('code of a folder that is indexed was run')\n")
    (many / "broken.pdf").write_bytes(b"%PDF-1.7 broken")
    monkeypatch.chdir(many)
    found = []
    for processes in (0, 2):
        settings = {"embedding__provider": "deterministic", "ingest__processes": processes}
        with Library.open(tmp_path / f"home{processes}", **settings) as library:
            report = library.add(str(many))
            assert not any(library.verify().values())
            hits = library.search("heron 1499 file 7", top_k=3).hits
            found.append((report.added, report.chunks, report.skipped, [(hit.path, hit.text) for hit in hits]))
    assert found[0] == found[1]
    assert found[0][0] == 61
    assert [entry.path for entry in found[0][2]] == ["broken.pdf"]


def test_what_is_plain_and_short_needs_no_process(tmp_path: Path, embedder: Embedder) -> None:
    few, how = [Item(f"{n}", f"{n}", 1000, "") for n in range(10)], recipe(tmp_path)
    with closing(Counted(how.limits)) as workers, open_parser(how, embedder, workers, few) as parser:
        assert parser.begin(b"some words", "a.md")().document.text.strip() == "some words"
        assert not workers.seen
        assert parser.begin(b"<p>some words</p>", "a.html")().document.text.strip() == "some words"
        assert parser.begin(b"some words\n" * 100_000, "long.txt")().chunks
        assert [process.idle() for process in workers.seen] == [True]


def test_where_there_is_much_everything_is_read_by_processes(tmp_path: Path, embedder: Embedder) -> None:
    much, how = [Item(f"{n}", f"{n}", 1_000_000, "") for n in range(10)], recipe(tmp_path)
    with closing(Counted(how.limits)) as workers, open_parser(how, embedder, workers, much) as parser:
        parser.begin(b"some words", "a.md")()
        assert len(workers.seen) == 1


def test_a_process_is_used_again_by_the_next_run_until_it_is_gone(tmp_path: Path, embedder: Embedder) -> None:
    how = recipe(tmp_path)
    with closing(Counted(how.limits)) as workers:
        for _ in range(2):
            with open_parser(how, embedder, workers, ()) as parser:
                assert parser.begin(b"<p>words</p>", "a.html")().chunks
        [process] = workers.seen
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        assert read(b"<p>words</p>", "a.html", how.limits, workers).text.strip() == "words"
        assert len(workers.seen) == 2
    assert all(process.pid is not None and gone(process.pid) for process in workers.seen)


def test_what_a_tool_is_given_to_read_stays_within_the_limits_too(tmp_path: Path) -> None:
    limits = recipe(tmp_path, read_timeout_s=1).limits
    with closing(Counted(limits)) as workers:
        with pytest.raises(Unreadable, match="took longer than 1 seconds"):
            read(b"<div>" * 400_000, "deep.html", limits, workers)
        assert read(b"some words", "a.md", limits, workers).text.strip() == "some words"
        assert [process.ended for process in workers.seen] == [True]


def test_the_longest_time_limit_that_settings_take_is_one_that_the_system_waits_for(tmp_path: Path) -> None:
    limits = recipe(tmp_path, read_timeout_s=LONGEST_S).limits
    with closing(Counted(limits)) as workers:
        assert read(b"<p>words</p>", "a.html", limits, workers).text.strip() == "words"
        assert workers.seen
