"""``python -m benchmarks.speed.watching``: what following a folder costs, and how soon a change is found.

A real ``pinakes serve`` follows a folder of many small files as its knowledge base. Measured are the processor time of
the whole server while nothing happens, and the time from a change until a search over HTTP shows it.
"""

from __future__ import annotations

import argparse
import http.client
import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.speed import machine
from benchmarks.speed.corpus import write_notes
from benchmarks.speed.home import serving_process, until
from benchmarks.speed.machine import Spread, cpu_seconds, spread
from pinakes.core.records import JSON

_TIMEOUT_S = 900.0
_CALM_S = 20.0


@dataclass(frozen=True, slots=True)
class Followed:
    """Figures of one folder of ``files`` files.

    ``first_s``: from the start of the server until all is read and embedded. ``idle_share`` is the processor time of
    the server while nothing happens, as a share of one core; ``idle_share_alone`` that of one that follows nothing.
    ``added``, ``changed``, ``removed``: until a search shows it. ``burst_s``: until a folder of ``burst`` files that
    came at once is found.
    """

    files: int
    first_s: float
    idle_share: float
    idle_share_alone: float
    added: Spread
    changed: Spread
    removed: Spread
    burst: int
    burst_s: float


def following(work: Path, files: int, idle_s: float, changes: int, burst: int) -> Followed:
    """Measure in a folder and a home that are made anew in ``work``."""
    for name in ("home", "folder", "aside"):
        shutil.rmtree(work / name, ignore_errors=True)
    write_notes(work / "folder", range(files))
    began = time.perf_counter()
    options = ("--set", "knowledge_base.enabled=true", "--set", f"knowledge_base.folder={work / 'folder'}")
    with _server(work, *options) as (process, ask):
        _until(lambda: ask.holds(files) and ask.waiting() == 0)
        first_s = time.perf_counter() - began
        idle_share = _idle(process, idle_s)
        times = _changes(work / "folder", ask, changes)
        write_notes(work / "aside", range(files, files + burst))
        began = time.perf_counter()
        (work / "aside").rename(work / "folder" / "burst")
        _until(lambda: ask.holds(files + burst))
        burst_s = time.perf_counter() - began
    with _server(work) as (process, ask):
        _until(lambda: ask.holds(files + burst))
        alone = _idle(process, idle_s)
    return Followed(files, first_s, idle_share, alone, *times, burst, burst_s)


class _Ask:
    """Asks the server that is measured."""

    def __init__(self, port: int) -> None:
        self._port = port

    def holds(self, documents: int) -> bool:
        """Say whether so many documents are there."""
        return bool(self._get("GET", "/health")["indexed_documents"] == documents)

    def waiting(self) -> int:
        """Return how many chunks have no vector of the model yet."""
        embedding = self._get("GET", "/health")["components"]["embedding"]
        return int(embedding["approximate"] + embedding["waiting"])

    def finds(self, words: str) -> bool:
        """Say whether a chunk has these words in a row."""
        body = {"query": f'"{words}"', "search_type": "keyword", "top_k": 1}
        return bool(self._get("POST", "/search", body)["results"])

    def lacks(self, words: str) -> bool:
        """Say whether no chunk has them."""
        return not self.finds(words)

    def _get(self, method: str, path: str, body: JSON = None) -> dict[str, JSON]:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        try:
            content = None if body is None else json.dumps(body)
            connection.request(method, path, content, {"Content-Type": "application/json"})
            answer: dict[str, JSON] = json.loads(connection.getresponse().read())
            return answer
        finally:
            connection.close()


def _changes(folder: Path, ask: _Ask, times: int) -> tuple[Spread, Spread, Spread]:
    """Add, change and remove a file, each so many times; return the times until a search shows it."""
    taken: dict[str, list[float]] = {"added": [], "changed": [], "removed": []}
    for number in range(times):
        file = folder / f"fresh{number}.md"
        for what, words in (("added", f"quokka{number} appears"), ("changed", f"numbat{number} follows")):
            began = time.perf_counter()
            file.write_text(f"# Fresh {number}\n\nHere {words} in the text.\n", "utf-8")
            _until(partial(ask.finds, words))
            taken[what].append(time.perf_counter() - began)
        began = time.perf_counter()
        file.unlink()
        _until(partial(ask.lacks, words))
        taken["removed"].append(time.perf_counter() - began)
    return spread(taken["added"]), spread(taken["changed"]), spread(taken["removed"])


def _idle(process: subprocess.Popen[bytes], seconds: float) -> float:
    time.sleep(min(_CALM_S, seconds))
    before = cpu_seconds(process.pid)
    time.sleep(seconds)
    return (cpu_seconds(process.pid) - before) / seconds


_until = partial(until, timeout_s=_TIMEOUT_S, missing="the server does not show a change")


@contextmanager
def _server(work: Path, *options: str) -> Iterator[tuple[subprocess.Popen[bytes], _Ask]]:
    with serving_process(work / "home", work / "serve.log", *options) as (process, port):
        yield process, _Ask(port)


def main() -> None:
    """Measure and print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="folder for the home and the files, made anew")
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--idle-s", type=float, default=20.0)
    parser.add_argument("--changes", type=int, default=10)
    parser.add_argument("--burst", type=int, default=1000)
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    about = machine.describe()
    figures = following(given.work, given.files, given.idle_s, given.changes, given.burst)
    print(machine.as_json(about, figures))


if __name__ == "__main__":
    main()
