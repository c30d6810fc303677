"""Processes that work on a home, and may die of it."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import crash_child
from forking import FORKING, forked

KILLED = -signal.SIGKILL
_TIMEOUT_S = 120


class Child:
    """A process of its own; it waits for ``go`` before it does anything. The arguments are those of its ``work``."""

    def __init__(
        self,
        home: Path,
        action: str,
        location: Path | str,
        collection: str = "c",
        point: str = "",
        number: int = 0,
        **settings: Any,
    ) -> None:
        self._pipe, theirs = FORKING.Pipe()
        self._stderr = NamedTemporaryFile()  # noqa: SIM115 - finish closes it
        arguments = (theirs, home, action, str(location), collection, point, number, settings, self._stderr.name)
        self.process = forked(crash_child.work, *arguments)
        theirs.close()
        assert self._pipe.recv() == "ready"

    def go(self) -> None:
        self._pipe.send("go")

    def kill(self) -> int:
        """Kill it, unless it has ended; return its exit code."""
        self.process.kill()
        return self.finish()[0]

    def finish(self) -> tuple[int, str]:
        """Wait for its end; return its exit code and what it said."""
        said = []
        try:
            while True:
                assert self._pipe.poll(_TIMEOUT_S), "it does not end"
                said.append(self._pipe.recv())
        except (EOFError, ConnectionResetError):
            self.process.join(_TIMEOUT_S)
        code = self.process.exitcode
        assert code is not None
        with self._stderr:
            told = self._stderr.read().decode()
        assert "Traceback" not in told, told
        return code, "\n".join(said)


def run(
    home: Path,
    action: str,
    location: Path | str,
    collection: str = "c",
    point: str = "",
    number: int = 0,
    **settings: Any,
) -> tuple[int, str]:
    """Let a child work to its end; return its exit code and what it said."""
    return together([Child(home, action, location, collection, point, number, **settings)])[0]


def together(children: Sequence[Child]) -> list[tuple[int, str]]:
    """Let all children go at the same time; return the exit code of each and what it said."""
    for child in children:
        child.go()
    return [child.finish() for child in children]
