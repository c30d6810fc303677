"""What the figures were measured on, and small ways to measure time, memory and disk."""

from __future__ import annotations

import json
import os
import platform
import resource
import sqlite3
import statistics
import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

from benchmarks.quality.sets import ROOT
from pinakes.core.records import JSON
from pinakes.models.runtime import cores

_R = TypeVar("_R")

_LIBRARIES = (
    *("pinakes", "numpy", "onnxruntime", "tokenizers", "tantivy", "faiss-cpu", "sqlalchemy"),
    *("fastapi", "uvicorn", "fastmcp", "pyromark"),
)
MEGABYTE = 1_000_000


@dataclass(frozen=True, slots=True)
class Spread:
    """Milliseconds of ``count`` measurements."""

    count: int
    p50_ms: float
    p95_ms: float
    max_ms: float


def spread(seconds: Iterable[float]) -> Spread:
    """Return median, 95th percentile and maximum of times given in seconds."""
    times = sorted(second * 1000 for second in seconds)
    p95 = statistics.quantiles(times, n=20, method="inclusive")[-1] if len(times) > 1 else times[0]
    return Spread(len(times), statistics.median(times), p95, times[-1])


def describe() -> dict[str, JSON]:
    """Return the machine, the versions, the commit and the time: what makes figures comparable."""
    return {
        "cpu": _cpu_model(),
        "cores": cores(),
        "memory_mb": round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / MEGABYTE),
        "platform": platform.platform(),
        "load_before": os.getloadavg()[0],
        "python": platform.python_version(),
        "libraries": {name: version(name) for name in _LIBRARIES} | {"sqlite": sqlite3.sqlite_version},
        "commit": _git("rev-parse", "HEAD"),
        "uncommitted_changes": bool(_git("status", "--porcelain")),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def as_json(about: JSON, figures: Any) -> str:
    """Return ``about`` the machine and ``figures``, a dataclass, as JSON."""
    return json.dumps({"machine": about, "figures": asdict(figures)}, indent=1)


def timed(work: Callable[[], _R]) -> tuple[_R, float]:
    """Return the result of ``work``, and in how many seconds it was there."""
    began = time.perf_counter()
    result = work()
    return result, time.perf_counter() - began


def cpu_with_children_s() -> float:
    """Return seconds of processor time of this process and of those it started that have ended."""
    kinds = resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN
    return sum(used.ru_utime + used.ru_stime for used in map(resource.getrusage, kinds))


def memory_mb(pid: int | str = "self") -> dict[str, float]:
    """Return ``now`` and ``peak`` resident memory of a process, and of ``now`` what is no mapped file, in MB."""
    lines = Path(f"/proc/{pid}/status").read_text("utf-8").splitlines()
    kilobytes = {name: rest.split()[0] for name, _, rest in (line.partition(":") for line in lines) if rest.split()}
    names = {"now": "VmRSS", "peak": "VmHWM", "anonymous": "RssAnon"}
    return {name: int(kilobytes[field]) * 1024 / MEGABYTE for name, field in names.items()}


def own_memory_mb(pid: int | str = "self") -> float:
    """Return the memory of a process in MB, what it shares with others counted by their number (PSS)."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text("utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) * 1024 / MEGABYTE


def with_children(pid: int) -> list[int]:
    """Return a process, those that it started, and those that these started."""
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    try:
        children = [int(one) for task in tasks for one in task.read_text("utf-8").split()]
    except OSError:  # it has ended
        return [pid]
    return [pid, *(one for child in children for one in with_children(child))]


def cpu_seconds(pid: int) -> float:
    """Return the processor time that a process has used so far, with what the kernel did for it."""
    fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def disk_mb(*paths: Path) -> float:
    """Return the blocks that files and folders take on disk, in MB."""
    files = {file for path in paths for file in (path, *path.rglob("*"))}
    return sum(file.lstat().st_blocks * 512 for file in files if file.exists()) / MEGABYTE


def _cpu_model() -> str:
    info = Path("/proc/cpuinfo")
    lines: Sequence[str] = info.read_text("utf-8").splitlines() if info.exists() else ()
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(models, platform.processor())


def _git(*arguments: str) -> str | None:
    try:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()
