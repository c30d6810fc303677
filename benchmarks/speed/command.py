"""``python -m benchmarks.speed.command --home HOME``: seconds of ``pinakes search`` as a whole command, start to end.

The home is copied, so that nothing is written into it. Measured are the command alone, the command while a server of
the same home runs, which then answers, and ``pinakes --help``, which only starts. They take turns, so that what else
the machine does concerns all of them alike. ``--beside SOURCE`` has the sources of another checkout (its folder
``src``) answer the same question in the same turns. Processor time depends less on what else the machine does.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median

from benchmarks.speed import machine
from benchmarks.speed.home import serving_process, start, until

_START_TIMEOUT_S = 600.0


@dataclass(frozen=True, slots=True)
class Commands:
    """Median seconds of each command, and those of all runs, by the clock and of the processor (user and system)."""

    help_s: float
    search_s: float
    search_with_server_s: float
    runs_s: dict[str, list[float]]
    processor_s: dict[str, list[float]]


def measured(home: Path, question: str, settings: Sequence[str], times: int, beside: Path | None = None) -> Commands:
    """Run each command so often, after one run that is not counted; ``beside``: other sources that search, too."""
    options = [word for one in settings for word in ("--set", one)]
    with tempfile.TemporaryDirectory() as folder:
        alone, served = (Path(shutil.copytree(home, Path(folder) / name)) for name in ("alone", "served"))
        commands = {
            "help": ["--help"],
            "search": ["search", question, "--home", str(alone), *options],
            "search with server": ["search", question, "--home", str(served), *options],
        }
        sources = dict.fromkeys(commands, "")
        if beside is not None:
            other = Path(shutil.copytree(home, Path(folder) / "beside"))
            commands["search beside"] = ["search", question, "--home", str(other), *options]
            sources["search beside"] = str(beside.absolute())
        runs: dict[str, list[float]] = {name: [] for name in commands}
        spent: dict[str, list[float]] = {name: [] for name in commands}
        with serving_process(served, Path(folder) / "log", *options) as (_, port):
            until(partial(_is_ready, port), _START_TIMEOUT_S, "the server is not ready")
            for number in range(times + 1):
                for name, words in commands.items():
                    seconds, processor = _seconds(words, sources[name])
                    if number:
                        runs[name].append(seconds)
                        spent[name].append(processor)
    return Commands(median(runs["help"]), median(runs["search"]), median(runs["search with server"]), runs, spent)


def _seconds(words: Sequence[str], source: str) -> tuple[float, float]:
    """Run a command with the sources of this environment, or of ``source``; return its seconds, and the processor's."""
    environment = {**os.environ, "PYTHONPATH": source} if source else None
    began = time.perf_counter()
    process = start(*words, stdout=subprocess.DEVNULL, env=environment)
    _, status, used = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"`pinakes {' '.join(words)}` ended with {process.returncode}")
    return seconds, used.ru_utime + used.ru_stime


def _is_ready(port: int) -> bool:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=30) as answer:
        return bool(json.load(answer)["status"] == "healthy")


def main() -> None:
    """Measure and print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--home", type=Path, required=True, help="a home with documents")
    parser.add_argument("--question", default="how does it work?")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="as the commands take it")
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--beside", type=Path, metavar="SOURCE", help="other sources to measure in the same turns")
    given = parser.parse_args()
    figures = measured(given.home.absolute(), given.question, given.set, given.times, given.beside)
    print(machine.as_json(machine.describe(), figures))


if __name__ == "__main__":
    main()
