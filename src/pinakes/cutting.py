"""Reading files and cutting them into chunks: here, or in processes of their own when there is much to do.

Such a process runs ``serve``: it is told once how files are to be cut, is then sent one after the other and answers
each. It ends with the one that started it, and whatever brings it down concerns one file only.
"""

from __future__ import annotations

import gc
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path

from pinakes import readers
from pinakes.analysis import estimated_token_starts
from pinakes.chunking import chunk, sizing_for
from pinakes.embedders import open_embedder
from pinakes.errors import Empty, PinakesError, Unreadable
from pinakes.ports import Embedder
from pinakes.settings import ChunkingSettings, EmbeddingSettings, IngestSettings
from pinakes.types import Chunk, Cut, Document, Item

_log = logging.getLogger(__name__)

_WORTH_BYTES = 4_000_000
"""Processes take half a second to start: less than this, about two seconds of work, is done here."""

_FILES_AHEAD = 256
_START_TIMEOUT_S = 60
_READY = "ready"
_PROGRAM = """
import signal, sys
for number in (signal.SIGINT, signal.SIGTERM):  # they reach the whole group; the one who asked decides
    signal.signal(number, signal.SIG_IGN)
from pinakes import cutting
cutting.serve(int(sys.argv[1]))
"""
_COLLECTED_AFTER = 10_000
_NICENESS = 5
"""Embedding, which goes on at the same time, comes first: it takes nine tenths of a run."""

_USUAL_MAX_TOKENS = 254
"""What the default model reads: how large chunks become while it is not known which model will embed them."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """All that decides what a file becomes; ``counted``: by the model's tokenizer, else tokens are estimated."""

    limits: IngestSettings
    chunking: ChunkingSettings
    embedding: EmbeddingSettings
    cache: Path
    counted: bool


class Here:
    """Reads and cuts in this process, when the result is asked for."""

    files_ahead = 0

    def __init__(self, recipe: Recipe, embedder: Embedder) -> None:
        self._limits = recipe.limits
        counted = recipe.counted
        starts = embedder.token_starts if counted else estimated_token_starts
        most = embedder.max_tokens if counted else _USUAL_MAX_TOKENS
        self._sizing = sizing_for(recipe.chunking, starts, most)

    def begin(self, data: bytes, path: str) -> Callable[[], Cut]:
        """Return a function that does the work. See ``ingest.Cutter``."""
        return partial(self.cut, data, path)

    def cut(self, data: bytes, path: str) -> Cut:
        """Read and cut one file.

        Raises:
            Unreadable: it cannot be read, or has too little text.
        """
        limits = self._limits
        start = time.perf_counter()
        document = readers.read(data, path, max_chars=limits.max_text_chars, timeout_s=limits.read_timeout_s)
        length = len(document.text.strip())
        if length < max(1, limits.min_text_chars):
            raise Empty(f"Only {length} characters of text (at least {limits.min_text_chars}).")
        middle = time.perf_counter()
        # What has no title of its own, as most code, is known by its path: passages of it say where they stand.
        chunks = self.chunks(document if document.title else replace(document, title=path))
        return Cut(document, chunks, middle - start, time.perf_counter() - middle)

    def chunks(self, document: Document) -> list[Chunk]:
        """Cut a document that needs no reading."""
        return chunk(document, self._sizing)


class Beside:
    """Reads and cuts in other processes, each kept busy by a thread of this one."""

    files_ahead = _FILES_AHEAD

    def __init__(self, recipe: Recipe, here: Here, processes: int) -> None:
        self._recipe = recipe
        self._here = here
        self._threads = ThreadPoolExecutor(processes, thread_name_prefix="pinakes-cut")
        self._mine = threading.local()
        self._lock = threading.Lock()
        self._started: list[_Process] = []
        self._closing = False

    def begin(self, data: bytes, path: str) -> Callable[[], Cut]:
        """Hand a file to the next process that is free. See ``ingest.Cutter``."""
        return self._threads.submit(self._cut, data, path).result

    def chunks(self, document: Document) -> list[Chunk]:
        """Cut a document that needs no reading, in this process."""
        return self._here.chunks(document)

    def close(self) -> None:
        """End the processes, also one that is still at work; what was not begun is dropped."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        with self._lock:
            self._closing = True
            for process in self._started:
                process.kill()
        self._threads.shutdown()
        for process in self._started:
            process.close()

    def _cut(self, data: bytes, path: str) -> Cut:
        process = self._process()
        if not process.usable:
            return self._here.cut(data, path)
        try:
            return process.cut(data, path)
        except ChildProcessError:  # perhaps ended by somebody else: the file gets another chance
            process = self._process()
            return process.cut(data, path) if process.usable else self._here.cut(data, path)

    def _process(self) -> _Process:
        """Return the process of this thread, a new one where the last has ended."""
        process: _Process | None = getattr(self._mine, "process", None)
        if process is None or process.ended:
            with self._lock:
                if self._closing:
                    raise CancelledError
                process = self._mine.process = _Process(self._recipe)
                self._started.append(process)
            process.greet()
            if process.ended:
                raise CancelledError
        return process


class _Process:
    """A process that reads and cuts files; ``usable`` once it has answered."""

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe
        self._timeout_s = 2 * recipe.limits.read_timeout_s
        self._process: subprocess.Popen[bytes] | None = None
        self.usable = self.ended = False
        ours, theirs = socket.socketpair()
        self._connection = Connection(ours.detach())
        try:
            with theirs:
                # -P: the folder this is called in may hold anything, also modules
                self._process = subprocess.Popen(
                    [sys.executable, "-P", "-c", _PROGRAM, str(theirs.fileno())],
                    pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
        except OSError as error:
            _log.info("a process could not be started: %s", error)

    @property
    def pid(self) -> int | None:
        """Its number, None where it could not be started."""
        return self._process.pid if self._process else None

    def greet(self) -> None:
        """Tell it how to cut, and wait until it is ready; one that is not stays unusable."""
        try:
            if self._process is not None:
                self._connection.send(self._recipe)
                self.usable = self._connection.poll(_START_TIMEOUT_S) and self._connection.recv() == _READY
        except (EOFError, OSError):
            self.usable = False
        if not self.usable and not self.ended:
            _log.warning("no process could be started to read files beside this one; reading them here")

    def cut(self, data: bytes, path: str) -> Cut:
        """Read and cut one file.

        Raises:
            Unreadable: it cannot be read.
            ChildProcessError: the process ended.
            TimeoutError: it took too long, and the process was ended.
        """
        try:
            self._connection.send((data, path))
            answer = self._connection.recv() if self._connection.poll(self._timeout_s) else None
        except (EOFError, OSError) as error:
            self.kill()
            raise ChildProcessError(
                f"Reading it ended the process that read it ({self._how()}). It may be damaged or need too much memory."
            ) from error
        if answer is None:
            self.kill()
            raise TimeoutError(f"Reading it took longer than {self._timeout_s:g} seconds (ingest.read_timeout_s).")
        if isinstance(answer, PinakesError):
            raise answer
        if not isinstance(answer, Cut):
            raise RuntimeError(answer)
        return answer

    def kill(self) -> None:
        """End the process at once."""
        self.ended = True
        if self._process is not None:
            self._process.kill()

    def close(self) -> None:
        """Release what belonged to a process; one that lives on is ended."""
        self.kill()
        self._connection.close()
        if self._process is not None:
            self._process.wait()

    def _how(self) -> str:
        code = self._process.wait() if self._process else 0
        return signal.Signals(-code).name if code < 0 else f"exit code {code}"


@contextmanager
def cutting(recipe: Recipe, embedder: Embedder, wanted: Sequence[Item]) -> Iterator[Here | Beside]:
    """Give what reads and cuts the files ``wanted``, for as long as the block takes."""
    here = Here(recipe, embedder)
    processes = recipe.limits.processes if recipe.limits.processes is not None else os.cpu_count() or 1
    much = len(wanted) > 1 and sum(item.size_bytes for item in wanted) >= _WORTH_BYTES
    if not (much and processes and os.name == "posix" and sys.executable):
        yield here
        return
    beside = Beside(recipe, here, processes)
    try:
        yield beside
    finally:
        beside.close()


def collect_seldom() -> None:
    """Have Python look for cycles more seldom: of the time reading takes, it spends a fifth on that otherwise."""
    gc.freeze()
    gc.set_threshold(_COLLECTED_AFTER)


def serve(descriptor: int) -> None:
    """Be such a process: read the recipe, then file after file, until the other end is closed."""
    os.nice(_NICENESS)
    logging.getLogger().addHandler(logging.NullHandler())
    connection = Connection(descriptor)
    try:
        recipe: Recipe = connection.recv()
        here = Here(recipe, open_embedder(recipe.embedding, recipe.cache))
        connection.send(_READY)
        collect_seldom()
        while True:
            data, path = connection.recv()
            connection.send(_answer(here, data, path))
    except (EOFError, OSError):
        return


def _answer(here: Here, data: bytes, path: str) -> Cut | PinakesError | str:
    try:
        return here.cut(data, path)
    except PinakesError as error:
        error.__cause__ = error.__context__ = None
        return error
    except MemoryError:
        return Unreadable("Reading it needs more memory than there is.", hint="Split the file.")
    except Exception as error:  # noqa: BLE001 - told to the other side, which reports it for this file
        return f"{type(error).__name__}: {error}"
