"""Worker processes for risky work, with limits on memory and time: a crash costs one piece of work.

They are reused, exit after some idle time, and never outlive the process that started them.
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
"""Seconds without a request after which a process exits."""

_START_TIMEOUT_S: Final = 60.0
_ALARM_LATER_S: Final = 5.0
"""The parent kills a process that takes too long; the system does so this much later, in case the parent is gone."""

_READY: Final = "ready"
_MEBIBYTE: Final = 1 << 20
_ENDED_BY_OTHERS: Final = (0, -signal.SIGKILL, -signal.SIGTERM)
_PROGRAM: Final = """
import signal, sys
for number in (signal.SIGINT, signal.SIGTERM):  # sent to the whole group; the parent decides
    signal.signal(number, signal.SIG_IGN)
from pinakes.parsing import pool
pool.serve(*map(int, sys.argv[1:]))
"""


class WorkerStopped(ChildProcessError):
    """A process ended before it answered. ``again``: its work may not be the cause, and may be retried."""

    def __init__(self, words: str, *, again: bool = False) -> None:
        super().__init__(words)
        self.again = again


class Process:
    """A worker process, used by one thread at a time; ``usable`` unless no process can be started.

    ``greeted``: it was asked whether it is ready; ``ended``: it has ended.
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
            # -P: do not import modules from the current folder
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
        """The process id, None if it could not be started."""
        return self._process.pid if self._process else None

    def ready(self) -> bool:
        """Wait until the process has started. Return whether it can take work."""
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
        """Return whether the process waits for work: it is neither busy nor about to exit."""
        return not self.ended and self._process is not None and not self._connection.poll(0)

    def ask(self, work: Any) -> Any:
        """Return the answer to ``work``.

        Raises:
            WorkerStopped: the process ended.
            TimeoutError: it took longer than ``ingest.read_timeout_s``, and was killed.
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
        """Kill the process."""
        self.ended = True
        if self._process is not None:
            self._process.kill()

    def close(self) -> None:
        """Kill the process and release its resources."""
        self.kill()
        self._connection.close()
        os.close(self._lifeline)
        if self._process is not None:
            self._process.wait()


class WorkerProcesses:
    """The worker processes of one home: lent one at a time, started if none is free. Thread-safe."""

    def __init__(self, limits: IngestSettings) -> None:
        self._limits = limits
        self._lock = threading.Lock()
        self._free: list[Process] = []
        self._closed = False

    @property
    def most(self) -> int:
        """The maximum number of concurrent processes; 0 if none are to be used."""
        if os.name != "posix" or not sys.executable:
            return 0
        return self._limits.processes if self._limits.processes is not None else os.cpu_count() or 1

    def take(self) -> Process:
        """Return a free process, the most recently used one; it must be given back."""
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
        """Provide a process within the block."""
        process = self.take()
        try:
            yield process
        finally:
            self.give(process)

    def close(self) -> None:
        """Kill free processes; busy ones are killed when they are given back."""
        with self._lock:
            self._closed, free, self._free = True, self._free, []
        for process in free:
            process.close()


class SandboxedWorker:
    """The worker's side: receives work under system limits, and sends answers."""

    def __init__(self, descriptor: int, lifeline: int, memory_mb: int, nice: int) -> None:
        os.nice(nice)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)  # ends the process even in native code
        self._memory = memory_mb * _MEBIBYTE
        # Limits writable memory: not the code of libraries, nor address space that an allocator only reserves.
        resource.setrlimit(resource.RLIMIT_DATA, (self._memory, self._memory))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        _end_with(lifeline)
        self._connection = Connection(descriptor)
        self._connection.send(_READY)

    def next(self) -> Any:
        """Return the next piece of work.

        Raises:
            EOFError, OSError: there are no more requests.
        """
        if not self._connection.poll(IDLE_S):
            raise EOFError
        limit_s, work = self._connection.recv()
        signal.setitimer(signal.ITIMER_REAL, limit_s + _ALARM_LATER_S)
        return work

    def answer(self, answer: Any) -> None:
        """Send an answer.

        Raises:
            EOFError, OSError: there are no more requests, or this process has grown so large that it should be
                replaced.
        """
        signal.setitimer(signal.ITIMER_REAL, 0)
        self._connection.send(answer)
        if _resident() > self._memory // 2:
            raise EOFError


def _end_with(lifeline: int) -> None:
    """Let the system end this process when the other end of the pipe ``lifeline`` is closed, as when its owner exits.

    A process in native code, or in a regular expression, would not notice.
    """
    if hasattr(fcntl, "F_SETSIG"):
        fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(lifeline, fcntl.F_SETSIG, signal.SIGKILL)
        fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC)
    if select.select([lifeline], [], [], 0)[0]:
        raise EOFError


def _resident() -> int:
    """Return the memory of this process in bytes; 0 if the system does not report it."""
    try:
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    except OSError:
        return 0
    return pages * resource.getpagesize()
