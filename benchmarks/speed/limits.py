"""``python -m benchmarks.speed.limits``: the memory of an ingest with all its processes, and a large folder read again.

Two corpora: many small generated files (the ``deterministic`` embedder, so that reading and writing are what is seen)
and the Linux subset (the usual model, in the mode ``lazy``, which embeds a sample). Memory is the sum of the resident
memory of all processes of a `pinakes add`, looked at all the time; what they share is counted in each of them.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.speed import machine
from benchmarks.speed.corpus import LINUX, prepare, write_notes
from benchmarks.speed.home import start

_EVERY_S = 0.2
_PARTS = 4
_DETERMINISTIC = ("--set", "embedding.provider=deterministic", "--set", "embedding.mode=full")
_LAZY = ("--set", "embedding.mode=lazy")


@dataclass(frozen=True, slots=True)
class Memory:
    """Megabytes of all processes of an ingest of ``files`` files; ``parts_mb``: most in each quarter of its time.

    ``own_mb``: the same without the pages of files, which the system takes back when it wants to. ``writer_mb``: what
    of that the process has that writes; the others read and cut files.
    """

    corpus: str
    files: int
    seconds: float
    processes: int
    peak_mb: float
    parts_mb: tuple[float, ...]
    own_mb: tuple[float, ...]
    writer_mb: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Unchanged:
    """Seconds of a whole `pinakes sync` of a folder in which nothing changed, the fastest of some."""

    files: int
    command_s: float


def ingested(home: Path, corpus: str, folder: Path, files: int, *settings: str) -> Memory:
    """Add a folder to a new home, looking at the memory all the time."""
    shutil.rmtree(home, ignore_errors=True)
    began = time.perf_counter()
    process = start("add", str(folder), "--home", str(home), *settings, stdout=subprocess.DEVNULL)
    seen: list[tuple[float, float, float, int]] = []
    while process.poll() is None:
        held = [_resident_mb(pid) for pid in machine.with_children(process.pid)]
        own = [own for _, own in held]
        seen.append((sum(all_of_it for all_of_it, _ in held), sum(own), own[0], len(held)))
        time.sleep(_EVERY_S)
    if process.returncode:
        raise RuntimeError(f"`pinakes add` ended with exit code {process.returncode}")
    seconds = time.perf_counter() - began
    parts = [seen[len(seen) * n // _PARTS : len(seen) * (n + 1) // _PARTS] for n in range(_PARTS)]
    most, own_mb, writer = (tuple(max(at[kind] for at in part) for part in parts) for kind in range(3))
    return Memory(corpus, files, seconds, max(count for *_, count in seen), max(most), most, own_mb, writer)


def unchanged(home: Path, files: int, rounds: int) -> Unchanged:
    """Read the sources of a home again."""
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        if start("sync", "--home", str(home), *_DETERMINISTIC, stdout=subprocess.DEVNULL).wait():
            raise RuntimeError("`pinakes sync` failed")
        times.append(time.perf_counter() - began)
    return Unchanged(files, min(times))


def _resident_mb(pid: int) -> tuple[float, float]:
    """Return what a process holds in memory, and what of it are not pages of files."""
    try:
        _, resident, of_files, *_ = map(int, Path(f"/proc/{pid}/statm").read_text("ascii").split())
    except (OSError, ValueError):
        return 0.0, 0.0
    page = os.sysconf("SC_PAGE_SIZE") / machine.MEGABYTE
    return resident * page, (resident - of_files) * page


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, default=Path("benchmarks/results/limits"), help="folder for all of it")
    parser.add_argument("--files", type=int, nargs="+", default=[20_000, 100_000], help="generated files, one run each")
    parser.add_argument("--rounds", type=int, default=3, help="how often nothing changed is measured")
    parser.add_argument("--no-linux", action="store_true", help="only generated files")
    given = parser.parse_args()
    found: dict[str, object] = {"machine": machine.describe()}
    memory: list[Memory] = []
    for files in given.files:
        print(f"measuring {files:,} generated files …", file=sys.stderr, flush=True)
        shutil.rmtree(given.work / "files", ignore_errors=True)
        write_notes(given.work / "files", range(files))
        home = given.work / "home"
        memory.append(ingested(home, "generated", given.work / "files", files, *_DETERMINISTIC))
        again = unchanged(home, files, given.rounds)
        found[f"unchanged_{files}"] = asdict(again)
        print(f"{files:,} files, nothing changed: {again.command_s:.1f} s")
    if LINUX.is_dir() and not given.no_linux:
        print("measuring the Linux subset …", file=sys.stderr, flush=True)
        corpus = prepare("linux", given.work)
        files = sum(path.is_file() for path in corpus.folder.rglob("*"))
        memory.append(ingested(given.work / "linux", "linux", corpus.folder, files, *_LAZY))
    for one in memory:
        quarters = (one.parts_mb, one.own_mb, one.writer_mb)
        parts, own, writer = (", ".join(f"{mb:.0f}" for mb in quarter) for quarter in quarters)
        print(
            f"{one.corpus}, {one.files:,} files: peak {one.peak_mb:.0f} MB of {one.processes} processes "
            f"(by quarters: {parts}; without pages of files: {own}; the writer's: {writer}) in {one.seconds:.0f} s"
        )
    found["memory"] = [asdict(one) for one in memory]
    (given.work / "limits.json").write_text(json.dumps(found, indent=1), "utf-8")


if __name__ == "__main__":
    main()
