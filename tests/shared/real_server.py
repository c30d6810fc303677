"""A server as its users start it: a process of its own, to be attacked."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from forking import Forked

SHARED = Path(__file__).parent
_STARTED_S = 60
_PROGRAM = """
from pinakes.models.embedders import EMBEDDERS
EMBEDDERS["stuck"] = "stuck_embedder:StuckEmbedder"
from pinakes.cli import main
main()
"""


@dataclass
class RealServer:
    """A server that runs, where it is reached, and what it says."""

    process: Forked | subprocess.Popen[bytes]
    home: Path
    url: str
    log: Path

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def call(self, tool: str, **arguments: Any) -> httpx.Response:
        return httpx.post(f"{self.url}/api/v1/tools/{tool}", json=arguments, timeout=60)

    def search(self, query: str, **more: Any) -> httpx.Response:
        return httpx.post(f"{self.url}/search", json={"query": query, **more}, timeout=60)

    def health(self) -> dict[str, Any]:
        found: dict[str, Any] = httpx.get(f"{self.url}/health", timeout=60).json()
        return found

    def connect(self, sent: bytes = b"") -> socket.socket:
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=30)
        connection.sendall(sent)
        return connection

    def end(self) -> float:
        """Send SIGTERM; return how long the process took to be gone, in seconds."""
        began = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)
        return time.monotonic() - began


@contextmanager
def real_server(home: Path, *, descriptors: int = 0, **settings: Any) -> Iterator[RealServer]:
    """Run ``pinakes serve``; ``settings`` as ``server__port=0``. ``descriptors``: as many files may it have open."""
    chosen = {"server__port": 0, "embedding__provider": "deterministic", "ingest__processes": 0, **settings}
    outer = {name: value for name, value in os.environ.items() if not name.startswith("PINAKES_")}
    inner = {f"PINAKES_{name.upper()}": str(value) for name, value in chosen.items()}
    log = home.parent / f"{home.name}.log"
    (home / "server.json").unlink(missing_ok=True)  # of another server over the home that this is a copy of
    environment = outer | inner | {"PYTHONPATH": str(SHARED)}
    words = ("--home", str(home), "serve")
    process: Forked | subprocess.Popen[bytes]
    if "server__workers" in settings:  # it says where they count together before it loads what counts
        with log.open("wb") as out:
            process = subprocess.Popen(
                [sys.executable, "-c", _PROGRAM, *words], env=environment, stdout=out, stderr=out
            )
    else:
        process = Forked(_PROGRAM, *words, environment=environment, log=log, descriptors=descriptors)
    try:
        yield RealServer(process, home, _ready(process, home, log), log)
    finally:
        process.kill()
        process.wait()


def _ready(process: Forked | subprocess.Popen[bytes], home: Path, log: Path) -> str:
    """Return the URL of a server once it is healthy."""
    deadline = time.monotonic() + _STARTED_S
    while time.monotonic() < deadline and process.poll() is None:
        try:
            told = json.loads((home / "server.json").read_text())
            url, headers = str(told["url"]), {"Authorization": f"Bearer {told['key']}"}  # where keys are needed
            if httpx.get(f"{url}/health", headers=headers, timeout=5).json()["status"] == "healthy":
                return url
        except (OSError, ValueError, KeyError, httpx.HTTPError):
            pass
        time.sleep(0.05)
    raise AssertionError(log.read_text())
