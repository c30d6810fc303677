"""``pinakes mcp`` as an agent starts it: seconds from the start of the process to the answer to ``initialize``."""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.speed.home import start

_INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "benchmark", "version": "1"},
    },
}


@dataclass(frozen=True, slots=True)
class Handshake:
    """Seconds of each run, and the median."""

    median_s: float
    runs_s: tuple[float, ...]


def handshake(work: Path, runs: int) -> Handshake:
    """Start an MCP server as often as ``runs``, each time with an empty home and no model in the cache."""
    seconds = []
    for _ in range(runs):
        with tempfile.TemporaryDirectory(dir=work) as folder:
            seconds.append(_initialize(Path(folder)))
    return Handshake(median(seconds), tuple(seconds))


def _initialize(folder: Path) -> float:
    began = time.perf_counter()
    where = ("--home", str(folder / "home"), "--set", f"cache={folder / 'cache'}")
    process = start("mcp", *where, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(json.dumps(_INITIALIZE).encode() + b"\n")
        process.stdin.flush()
        answer = process.stdout.readline()
        seconds = time.perf_counter() - began
        if "serverInfo" not in json.loads(answer or b"{}").get("result", {}):
            raise RuntimeError(f"`pinakes mcp` answered {answer!r} to initialize")
        return seconds
    finally:
        process.stdin.close()
        process.kill()
        process.wait()
        process.stdout.close()
