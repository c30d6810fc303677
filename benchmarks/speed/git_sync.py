"""``python -m benchmarks.speed.git_sync``: what a sync of a git repository costs in which one file changed, or none.

The repository is made anew, or is a copy of one that is given, and lies on this machine: no network is measured.
``sync`` is measured in a process that has the library open, as a server has, and as a command; with a real model unless
another is named, so that the changed chunk is embedded. ``stages`` are the seconds of the last run with a change.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.speed import machine
from benchmarks.speed.corpus import write_notes
from benchmarks.speed.machine import Spread, spread, timed
from pinakes.core.records import JSON
from pinakes.ingestion.report import Report
from pinakes.library import Library

_PINAKES = str(Path(sys.executable).with_name("pinakes"))


@dataclass(frozen=True, slots=True)
class Synced:
    """Figures of one repository: of a first sync, then of syncs with one changed file and with none."""

    files: int
    documents: int
    first_s: float
    changed: Spread
    unchanged: Spread
    command_changed: Spread
    command_unchanged: Spread
    stages: dict[str, float]


def measured(work: Path, files: int, given: Path | None, times: int, settings: dict[str, JSON]) -> Synced:
    """Measure in a home and a repository that are made anew in ``work``."""
    for name in ("home", "repository"):
        shutil.rmtree(work / name, ignore_errors=True)
    repository, home = work / "repository", work / "home"
    if given is None:
        _make(repository, files)
    else:
        _git(work, "clone", "--quiet", "--no-hardlinks", str(given), str(repository))
    source = f'[[sources]]\nkind = "git"\nlocation = "{repository.as_uri()}"\n'
    home.mkdir(parents=True)
    (home / "config.toml").write_text(source, "utf-8")
    changes = _changes(repository)
    with Library.open(home, **settings) as library:
        first_s, _ = _timed(library)
        changed, unchanged = [], []
        for _ in range(times):
            next(changes)
            seconds, report = _timed(library)
            _check(report, 1)
            changed.append(seconds)
            stages = report.seconds
            seconds, report = _timed(library)
            _check(report, 0)
            unchanged.append(seconds)
        documents = library.status()[0].documents
    commands: dict[bool, list[float]] = {True: [], False: []}
    for _ in range(times):
        for change in (True, False):
            if change:
                next(changes)
            commands[change].append(_command(home, settings))
    listed = len(_git(repository, "ls-files").splitlines())
    spreads = spread(changed), spread(unchanged), spread(commands[True]), spread(commands[False])
    return Synced(listed, documents, first_s, *spreads, {name: round(value, 4) for name, value in stages.items()})


def _timed(library: Library) -> tuple[float, Report]:
    [report], seconds = timed(library.sync)
    if report.error is not None:
        raise report.error
    return seconds, report


def _check(report: Report, changed: int) -> None:
    if (report.changed, report.added, report.removed) != (changed, 0, 0):
        raise RuntimeError(f"{changed} changed file was expected: {report}")


def _command(home: Path, settings: dict[str, JSON]) -> float:
    words = [word for name, value in settings.items() for word in ("--set", f"{name.replace('__', '.')}={value}")]
    start = time.perf_counter()
    subprocess.run([_PINAKES, "--home", str(home), "--quiet", *words, "sync"], check=True, capture_output=True)
    return time.perf_counter() - start


def _make(repository: Path, files: int) -> None:
    write_notes(repository, range(files))
    _git(repository, "init", "--quiet")
    _commit(repository)


def _changes(repository: Path) -> Iterator[Path]:
    """Change and commit one Markdown file each time, another one as long as there are any."""
    paths = [repository / name for name in _git(repository, "ls-files", "*.md").splitlines()]
    for number in range(10**6):
        path = paths[number * 31 % len(paths)]
        with path.open("a", encoding="utf-8") as file:
            file.write(f"\nChange {number} says quokka{number}.\n")
        _commit(repository)
        yield path


def _commit(repository: Path) -> None:
    _git(repository, "add", "--all")
    _git(repository, "commit", "--quiet", "--message", "change")


def _git(folder: Path, *words: str) -> str:
    who = {f"GIT_{role}_{what}": "bench@example.org" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    done = subprocess.run(["git", *words], cwd=folder, env=os.environ | who, check=True, capture_output=True)
    return done.stdout.decode()


def main() -> None:
    """Measure and print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="folder for the home and the repository, made anew")
    parser.add_argument("--repository", type=Path, help="a repository to be copied; none = one is made")
    parser.add_argument("--files", type=int, default=2_000, help="files of the repository that is made")
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--provider", default="onnx", help="embedding.provider")
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    about = machine.describe()
    settings = {"embedding__provider": given.provider}
    figures = measured(given.work.absolute(), given.files, given.repository, given.times, settings)
    print(machine.as_json(about, figures))


if __name__ == "__main__":
    main()
