"""The home that is measured: the same settings for this process and for the commands it starts."""

from __future__ import annotations

import multiprocessing
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from benchmarks.speed.corpus import Corpus
from pinakes.core.records import JSON
from pinakes.library import Library

_P = ParamSpec("_P")
_R = TypeVar("_R")
_START_TIMEOUT_S = 900.0
_POLL_S = 0.01
NOTHING_REMEMBERED: dict[str, JSON] = {"search__remembered_queries": 0, "search__remembered_answers": 0}
"""Settings with which every question is asked as for the first time."""


@dataclass(frozen=True, slots=True)
class Home:
    """A home folder, the corpus it indexes, and a folder for what else a measurement writes."""

    folder: Path
    corpus: Corpus
    work: Path

    @property
    def profile(self) -> tuple[str, ...]:
        """The words by which a command gets the profile of the corpus."""
        return ("--profile", self.corpus.profile) if self.corpus.profile else ()

    def open(self, **settings: Any) -> Library:
        """Open the library; nothing is remembered of questions asked before."""
        return Library.open(self.folder, profile=self.corpus.profile or None, **{**NOTHING_REMEMBERED, **settings})

    def start(self, *words: str, **options: Any) -> subprocess.Popen[bytes]:
        """Start ``pinakes WORDS`` on this home; ``options`` go to ``Popen``."""
        return start(*words, "--home", str(self.folder), *self.profile, **options)


def start(*words: str, **options: Any) -> subprocess.Popen[bytes]:
    """Start ``pinakes WORDS`` of this environment; ``options`` go to ``Popen``, what it says is dropped."""
    command = [sys.executable, "-c", "from pinakes.cli import main; main()", *words]
    return subprocess.Popen(command, **{"stderr": subprocess.DEVNULL, **options})


@contextmanager
def serving_process(home: Path, log: Path, *options: str) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """Give a ``pinakes serve`` of ``home`` that takes connections, and its port; what it says goes into ``log``."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = int(listener.getsockname()[1])
    with log.open("wb") as stderr:
        words = ("serve", "--port", str(port), "--home", str(home), *options)
        process = start(*words, stdout=subprocess.DEVNULL, stderr=stderr)
        try:
            deadline = time.perf_counter() + _START_TIMEOUT_S
            while not _listens(port):
                if process.poll() is not None or time.perf_counter() > deadline:
                    raise RuntimeError(f"`pinakes serve` does not answer:\n{log.read_text('utf-8', 'replace')}")
                time.sleep(_POLL_S)
            yield process, port
        finally:
            process.terminate()
            process.wait(30)


def until(condition: Callable[[], object], timeout_s: float, missing: str) -> None:
    """Wait until ``condition`` is true.

    Raises:
        RuntimeError: it is not within ``timeout_s``; ``missing`` says what did not come.
    """
    deadline = time.perf_counter() + timeout_s
    while not condition():
        if time.perf_counter() > deadline:
            raise RuntimeError(f"{missing} within {timeout_s:g} s")
        time.sleep(_POLL_S)


def _listens(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
    except OSError:
        return False


def in_new_process(function: Callable[_P, _R], *arguments: _P.args, **named: _P.kwargs) -> _R:
    """Return what ``function`` returns in a process of its own, so that memory and warmth are its own."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(function, *arguments, **named).result()
