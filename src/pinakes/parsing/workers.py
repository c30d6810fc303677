"""Processes for work that may go wrong, each with limits on memory and time: what ends one costs one piece of work.

They are kept for the next piece, end when there is none for a while, and never outlive the process that started them.
"""

from __future__ import annotations

import fcntl
import logging
import os
import resource
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final

from pinakes.settings import IngestSettings

_log = logging.getLogger(__name__)

IDLE_S: Final = 60.0
"""A process that is asked for nothing so long ends."""

_START_TIMEOUT_S: Final = 60.0
_ALARM_LATER_S: Final = 5.0
"""The process that asks ends one that takes too long; the system does so later, should nobody ask any more."""

_READY: Final = "ready"
_MEBIBYTE: Final = 1 << 20
_ENDED_BY_OTHERS: Final = (0, -signal.SIGKILL, -signal.SIGTERM)
_PROGRAM: Final = """
import signal, sys
for number in (signal.SIGINT, signal.SIGTERM):  # they reach the whole group; the one who asked decides
    signal.signal(number, signal.SIG_IGN)
from pinakes.parsing import pool
pool.serve(*map(int, sys.argv[1:]))
"""


class WorkerStopped(ChildProcessError):
    """A process ended before it answered. ``again``: perhaps not by what it was given, which may be tried once more."""

    def __init__(self, words: str, *, again: bool = False) -> None:
        super().__init__(words)
        self.again = again


class Process:
    """One such process, for one thread at a time; ``usable`` unless it turns out that none can be started.

    ``greeted``: it was asked whether it is there; ``ended``: it was, for whatever reason.
    """

    def __init__(self, limits: IngestSettings) -> None:
        self._limits = limits
        self._process: subprocess.Popen[bytes] | None = None
        self.greeted = self.ended = False
        self.usable = True
        ours, theirs = socket.socketpair()
        self._connection = Connection(ours.detach())
        watched, self._lifeline = os.pipe()
        words = [str(number) for number in (theirs.fileno(), watched, limits.memory_mb, limits.nice)]
        try:
            # -P: the folder this is called in may hold anything, also modules
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", _PROGRAM, *words],
                pass_fds=[theirs.fileno(), watched],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        except OSError as error:
            _log.info("a process could not be started: %s", error)
        finally:
            theirs.close()
            os.close(watched)

    @property
    def pid(self) -> int | None:
        """Its number, None where it could not be started."""
        return self._process.pid if self._process else None

    def ready(self) -> bool:
        """Wait until it has started; say whether it can be asked."""
        if not (self.greeted or self.ended):
            try:
                started = self._process is not None and self._connection.poll(_START_TIMEOUT_S)
                self.usable = started and self._connection.recv() == _READY
            except (EOFError, OSError):
                self.usable = False
            self.greeted = True
            if not self.usable and not self.ended:
                _log.warning("no process could be started to read files beside this one; reading them here")
        return self.usable

    def idle(self) -> bool:
        """Say whether it waits for something to do: neither at work nor about to end."""
        return not self.ended and self._process is not None and not self._connection.poll(0)

    def ask(self, work: Any) -> Any:
        """Return what it answers to ``work``.

        Raises:
            Stopped: it ended.
            TimeoutError: it took longer than ``ingest.read_timeout_s``, and was ended.
        """
        limits = self._limits
        try:
            self._connection.send((limits.read_timeout_s, work))
            if self._connection.poll(limits.read_timeout_s):
                return self._connection.recv()
        except (EOFError, OSError) as error:
            self.kill()
            code = self._process.wait() if self._process else 0
            if code != -signal.SIGALRM:
                how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
                raise WorkerStopped(
                    f"Reading it ended the process that read it ({how}): it is damaged, or needs more than the "
                    f"{limits.memory_mb:,} MB of memory that it may have (ingest.memory_mb).",
                    again=code in _ENDED_BY_OTHERS,
                ) from error
        self.kill()
        raise TimeoutError(f"Reading it took longer than {limits.read_timeout_s:g} seconds (ingest.read_timeout_s).")

    def kill(self) -> None:
        """End it at once."""
        self.ended = True
        if self._process is not None:
            self._process.kill()

    def close(self) -> None:
        """End it and release what belonged to it."""
        self.kill()
        self._connection.close()
        os.close(self._lifeline)
        if self._process is not None:
            self._process.wait()


class WorkerProcesses:
    """The processes of one home: lent one by one, started where none is free. Thread-safe."""

    def __init__(self, limits: IngestSettings) -> None:
        self._limits = limits
        self._lock = threading.Lock()
        self._free: list[Process] = []
        self._closed = False

    @property
    def most(self) -> int:
        """How many may be at work at once; 0 where there are to be none."""
        if os.name != "posix" or not sys.executable:
            return 0
        return self._limits.processes if self._limits.processes is not None else os.cpu_count() or 1

    def take(self) -> Process:
        """Return a process that is free, the one that was last at work; it is to be given back."""
        ended: list[Process] = []
        try:
            with self._lock:
                while self._free:
                    process = self._free.pop()
                    if process.idle():
                        return process
                    ended.append(process)
            return Process(self._limits)
        finally:
            for process in ended:
                process.close()

    def give(self, process: Process) -> None:
        """Take a process back."""
        with self._lock:
            if not (self._closed or process.ended) and process.usable:
                self._free.append(process)
                return
        process.close()

    @contextmanager
    def lent(self) -> Iterator[Process]:
        """Give a process for as long as the block takes."""
        process = self.take()
        try:
            yield process
        finally:
            self.give(process)

    def close(self) -> None:
        """End the processes that are free; those at work end when they are given back."""
        with self._lock:
            self._closed, free, self._free = True, self._free, []
        for process in free:
            process.close()


class SandboxedWorker:
    """The other end, in such a process: gets its work, under limits that the system keeps, and answers."""

    def __init__(self, descriptor: int, lifeline: int, memory_mb: int, nice: int) -> None:
        os.nice(nice)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)  # ends the process whatever it is at, native code too
        self._memory = memory_mb * _MEBIBYTE
        # What it asks for to write into: not code of libraries, nor room that an allocator only set aside.
        resource.setrlimit(resource.RLIMIT_DATA, (self._memory, self._memory))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        _end_with(lifeline)
        self._connection = Connection(descriptor)
        self._connection.send(_READY)

    def next(self) -> Any:
        """Return the next piece of work.

        Raises:
            EOFError, OSError: nobody asks any more.
        """
        if not self._connection.poll(IDLE_S):
            raise EOFError
        limit_s, work = self._connection.recv()
        signal.setitimer(signal.ITIMER_REAL, limit_s + _ALARM_LATER_S)
        return work

    def answer(self, answer: Any) -> None:
        """Send an answer.

        Raises:
            EOFError, OSError: nobody asks any more, or this process has grown so large that another is to go on.
        """
        signal.setitimer(signal.ITIMER_REAL, 0)
        self._connection.send(answer)
        if _resident() > self._memory // 2:
            raise EOFError


def _end_with(lifeline: int) -> None:
    """Have the system end this process when the other end of the pipe ``lifeline`` is closed, as its owner's end does.

    A process in native code, or in a regular expression, would not notice by itself.
    """
    if hasattr(fcntl, "F_SETSIG"):
        fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(lifeline, fcntl.F_SETSIG, signal.SIGKILL)
        fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC)
    if select.select([lifeline], [], [], 0)[0]:
        raise EOFError


def _resident() -> int:
    """Return the memory this process has, in bytes; 0 where the system does not say."""
    try:
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    except OSError:
        return 0
    return pages * resource.getpagesize()
