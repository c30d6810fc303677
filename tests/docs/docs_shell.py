"""A shell that runs the commands of a document in a home of their own, as a reader would."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Thread

import httpx
from forking import PINAKES, Forked

from pinakes.cli.entry import run as run_pinakes

BIN = Path(sys.executable).parent
_SERVER = re.compile(r"(?:localhost|127\.0\.0\.1):(?:8000|8090|3001|3456)\b")
_NEEDS_A_SHELL = re.compile(r"[|&;<>$*?(]")
_QUOTED = re.compile(r"(['\"]).*?\1")
_INTO_PINAKES = re.compile(r"(echo '[^']*') \| pinakes ([^|&;<>$*?(]*)")
_SAY_CODE = 'echo "exit code $?"'
_START_S, _STOP_S = 60, 30


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str


@dataclass
class Shell:
    """Runs commands; ``pinakes`` in this process or a forked one where no shell is needed, which saves its start."""

    home: Path
    environment: Mapping[str, str]
    captured: Callable[[], tuple[str, str]]
    server: Server | None = None

    def run(self, line: str) -> Outcome:
        if line.startswith("pinakes serve"):
            self.stop()
            self.server = Server(shlex.split(line)[1:], self.environment, self.home)
            return Outcome(0, "", "")
        if _SERVER.search(line):
            assert self.server is not None, f"no server was started before: {line}"
            line = _SERVER.sub(self.server.address, line)
        first, otherwise, second = line.partition(" || ")
        if otherwise and _is_pinakes(first) and (second == _SAY_CODE or _is_pinakes(second)):
            return self._one_or_other(first, second)
        if _is_pinakes(line):
            return self._pinakes([self._expanded(word) for word in shlex.split(line, comments=True)[1:]])
        if into := _INTO_PINAKES.fullmatch(line):
            with Forked(PINAKES, *shlex.split(into[2]), environment=self.environment, folder=self.home) as process:
                out, err = process.communicate(self.bash(into[1]).out.encode(), timeout=60)
                return Outcome(process.wait(), out.decode(), err.decode())
        return self.bash(line)

    def stop(self) -> None:
        if self.server is not None:
            self.server.stop()
            self.server = None

    def _pinakes(self, words: list[str]) -> Outcome:
        self.captured()
        code = run_pinakes(words)
        return Outcome(code, *self.captured())

    def _one_or_other(self, first: str, second: str) -> Outcome:
        done = self.run(first)
        if done.code == 0:
            return done
        then = Outcome(0, f"exit code {done.code}\n", "") if second == _SAY_CODE else self.run(second)
        return Outcome(then.code, done.out + then.out, done.err + then.err)

    def bash(self, line: str) -> Outcome:
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", line],
            env=self.environment,
            cwd=self.home,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        return Outcome(done.returncode, done.stdout, done.stderr)

    def _expanded(self, word: str) -> str:
        return str(self.home / word[2:]) if word.startswith("~/") else word


def _is_pinakes(line: str) -> bool:
    """Say whether a line is one command of Pinakes that needs no shell."""
    return line.startswith("pinakes ") and not _NEEDS_A_SHELL.search(_QUOTED.sub("", line))


class Server:
    """``pinakes serve`` on a free port, ready to answer."""

    def __init__(self, words: list[str], environment: Mapping[str, str], home: Path) -> None:
        self._process = Forked(PINAKES, *words, "--port", "0", environment=environment, folder=home)
        self.said: list[str] = []
        self.address = ""
        self._listener = Thread(target=self._listen, daemon=True)
        self._listener.start()
        try:
            self._wait_for(lambda: bool(self.address))
            key = environment.get("PINAKES_KEY")
            headers = {"Authorization": f"Bearer {key}"} if key else None
            with httpx.Client(base_url=f"http://{self.address}", headers=headers) as client:
                self._wait_for(lambda: client.get("/health").json()["status"] == "healthy")
        except BaseException:
            self._kill()
            raise

    def stop(self) -> None:
        """Ask it to end; where it does not it is killed, and what it said is shown."""
        self._process.terminate()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_STOP_S)
        self._kill()
        assert self._process.returncode == 0, "".join(self.said)

    def _listen(self) -> None:
        assert self._process.stderr is not None
        for line in map(bytes.decode, self._process.stderr):
            self.said.append(line)
            if found := re.search(r"at http://(127\.0\.0\.1:\d+)", line):
                self.address = found[1]

    def _wait_for(self, true: Callable[[], bool]) -> None:
        end = time.monotonic() + _START_S
        while not true():
            assert self._process.poll() is None, "".join(self.said)
            assert time.monotonic() < end, "".join(self.said)
            time.sleep(0.02)

    def _kill(self) -> None:
        """End it, if it has not, before its pipe is closed: that waits for the thread which reads from it."""
        with self._process:
            self._process.kill()
            self._listener.join(_STOP_S)


def environment_of(home: Path) -> dict[str, str]:
    """Return the environment of a reader whose home is ``home``.

    Meaning is made up, for speed, and a refresh may take as long as it does on a busy machine.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PINAKES_")}
    return {
        **kept,
        "HOME": str(home),
        "PATH": f"{BIN}{os.pathsep}{kept['PATH']}",
        "COLUMNS": "100",
        "PINAKES_EMBEDDING__PROVIDER": "deterministic",
        "PINAKES_CACHE": str(home / "cache"),
        "PINAKES_SEARCH__REFRESH_MS": "30000",
        "GIT_CONFIG_GLOBAL": os.devnull,
    }
