"""Further processes that answer behind the port of a server: one Python process uses little more than one core.

The first process alone reads sources, embeds what waits, follows folders, keeps schedules and posts to webhooks. Its
replicas begin when it has read what was never read, and only answer. They end with it, however it ends; one that ends
by itself is started again.
"""

from __future__ import annotations

import json
import logging
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from pinakes.core.schedules import pause_s
from pinakes.settings import Settings

_log = logging.getLogger(__name__)

_LOOK_EVERY_S: Final = 0.2
_FIRST_WAIT_S, _LONGEST_WAIT_S = 1.0, 60.0
"""How long before a replica that ended is started again; twice as long each time it ends soon."""

_LONG_S: Final = 300.0
"""A replica that ran this long did not fail at its start."""


@dataclass(frozen=True, slots=True)
class Role:
    """What a replica is told: its settings, and what it has in common with the first process."""

    settings: Settings
    instance_id: str
    local_key: str

    @classmethod
    def read(cls, line: bytes) -> Role:
        """Return what was ``written``."""
        data = json.loads(line)
        return cls(Settings.model_validate(data["settings"]), data["instance_id"], data["local_key"])

    def written(self) -> bytes:
        """Return it as one line. Of the settings those that were given: what is not decides otherwise."""
        settings = self.settings.model_dump(mode="json", exclude_unset=True)
        data = {"settings": settings, "instance_id": self.instance_id, "local_key": self.local_key}
        return json.dumps(data).encode() + b"\n"


class Replicas:
    """The replicas of a server. ``ready`` says whether to begin."""

    def __init__(self, role: Role, listener: socket.socket, *, ready: Callable[[], bool]) -> None:
        self._role = role
        self._listener = listener
        self._ready = ready
        self._slots = [_Slot() for _ in range(role.settings.server.workers - 1)]
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="pinakes-replicas", daemon=True)

    def start(self) -> None:
        """Begin, in a thread of its own."""
        self._thread.start()

    def end(self) -> None:
        """Ask all to end; they take the time that a server has for that."""
        self._stop.set()

    def stop(self) -> bool:
        """Wait until all have ended; say whether they did. Those that did not are killed."""
        self.end()
        if self._thread.is_alive():
            self._thread.join()
        within_s = self._role.settings.server.shutdown_s
        ended = [slot.ended(within_s) for slot in self._slots]
        return all(ended)

    def _run(self) -> None:
        while not self._stop.wait(_LOOK_EVERY_S):
            if self._ready():
                for slot in self._slots:
                    self._supervise(slot)
        for slot in self._slots:
            slot.end()

    def _supervise(self, slot: _Slot) -> None:
        code = slot.process.poll() if slot.process is not None else None
        if code is not None:
            slot.note_end(code)
        elif slot.process is None and time.monotonic() >= slot.again_at:
            slot.start(self._role, self._listener)
            if all(one.process is not None for one in self._slots):
                processes = ", ".join(f"{one.process.pid}" for one in self._slots if one.process is not None)
                words = f"{len(self._slots) + 1} processes answer: {os.getpid()}, {processes}"
                print(words, file=sys.stderr, flush=True)  # noqa: T201 - a line for people


class _Slot:
    """One replica, and when it may be started again."""

    def __init__(self) -> None:
        self.again_at = 0.0
        self.process: subprocess.Popen[bytes] | None = None
        self._since = 0.0
        self._failures = 0

    def note_end(self, code: int) -> None:
        """Note that its process ended, and when another is started."""
        self._failures = 1 if time.monotonic() - self._since > _LONG_S else self._failures + 1
        wait_s = pause_s(self._failures, _FIRST_WAIT_S, _LONGEST_WAIT_S, f"{id(self)}")
        self.again_at = time.monotonic() + wait_s
        _log.warning("a process that answers ended with %d; another is started in %.0f s", code, wait_s)
        self._close()

    def start(self, role: Role, listener: socket.socket) -> None:
        """Start its process. It ends when the pipe to it is closed, as when this process ends."""
        self._since = time.monotonic()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "pinakes.api.replica", str(listener.fileno())],
            stdin=subprocess.PIPE,
            pass_fds=(listener.fileno(),),
            start_new_session=True,  # Ctrl+C reaches the first process, which tells the others
        )
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):
            self.process.stdin.write(role.written())
            self.process.stdin.flush()

    def end(self) -> None:
        """Ask its process to end."""
        if self.process is not None:
            self.process.terminate()

    def ended(self, within_s: float) -> bool:
        """Wait for the end of its process, which is killed after that time; say whether it ended by itself."""
        if self.process is None:
            return True
        try:
            self.process.wait(within_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return False
        finally:
            self._close()
        return True

    def _close(self) -> None:
        if self.process is not None and self.process.stdin is not None:
            with suppress(BrokenPipeError):
                self.process.stdin.close()
        self.process = None
