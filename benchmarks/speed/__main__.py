"""``python -m benchmarks.speed``: how fast, how large, how much memory, beside what is to be reached.

Everything is measured through what users call, on a corpus read anew in this run, so that all figures belong together.
The table goes to stdout, progress to stderr, all figures with machine and commit to a JSON file.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from benchmarks.quality.sets import ROOT
from benchmarks.speed import (
    approximation,
    handshake,
    ingest,
    install,
    machine,
    progressive,
    queries,
    reranking,
    serving,
)
from benchmarks.speed.corpus import LINUX, prepare
from benchmarks.speed.home import Home, in_new_process
from benchmarks.speed.report import Figures, more, rows, table, verdict
from pinakes.settings import load

RESULTS = ROOT / "benchmarks" / "results"


@dataclass(frozen=True, slots=True)
class Effort:
    """How often things are measured."""

    unchanged: int = 3
    changed: int = 15
    queries: int = 5
    http: int = 3
    starts: int = 5
    load_s: float = 10.0
    settled_s: float = 15.0
    handshakes: int = 7
    reranks: int = 20


QUICK = Effort(unchanged=1, changed=2, queries=1, http=1, starts=1, load_s=1.0, settled_s=1.0, handshakes=1, reranks=2)
_QUICK_FILES = 4
QUICK_SETTINGS = {"embedding__sample_chunks": 20, "embedding__progressive_chunks": 30}
"""Some of the project's own documents, whichever they are by now, are so few that they would be embedded at once."""


def main() -> None:
    """Measure and print."""
    given = _arguments()
    given.work.mkdir(parents=True, exist_ok=True)
    about = machine.describe()
    limit = given.limit_files or (_QUICK_FILES if given.quick else 0)
    corpus = prepare("own" if given.quick else given.corpus, given.work, limit)
    home = Home(given.work / "home", corpus, given.work)
    shutil.rmtree(home.folder, ignore_errors=True)
    figures = Figures()
    try:
        measure(home, QUICK if given.quick else Effort(), figures)
        if not given.quick and not limit and LINUX.is_dir() and corpus.name != "linux":
            _say("how soon the Linux subset answers")
            linux = Home(given.work / "linux", prepare("linux", given.work), given.work)
            figures.reached["linux"] = in_new_process(progressive.reached, linux)
        if given.install:
            _say("installed size")
            figures.installed = install.installed(given.work)
        if given.quality:
            _say("SciFact")
            figures.scifact_ndcg = _scifact(given.work / "quality")
    finally:
        _show(figures, corpus.note, comparable=corpus.name == "keps" and not corpus.note)
        found = {"corpus": corpus.name, "note": corpus.note, "machine": about, "figures": dataclasses.asdict(figures)}
        given.json.parent.mkdir(parents=True, exist_ok=True)
        given.json.write_text(json.dumps(found, indent=1), "utf-8")


def measure(home: Home, effort: Effort, figures: Figures) -> None:
    """Index the corpus, then measure everything that can be asked of the index; what changes it comes last."""
    _say(f"first ingest of {home.corpus.name}")
    figures.first = in_new_process(ingest.first, home)
    _say("size, queries")
    figures.size = in_new_process(ingest.size, home)
    figures.queries = in_new_process(queries.in_process, home, effort.queries)
    _say("approximate vectors")
    figures.approximation = in_new_process(approximation.approximating, home)
    _say("how soon it answers")
    settings = QUICK_SETTINGS if home.corpus.name == "own" else {}
    fresh = Home(home.work / "progressive", home.corpus, home.work)
    figures.reached[home.corpus.name] = in_new_process(progressive.reached, fresh, **settings)
    _say("queries while it is embedded")
    figures.meanwhile = in_new_process(progressive.meanwhile, fresh, effort.queries, **settings)
    _say("server")
    figures.served = serving.serving(home, effort.http, effort.starts, effort.load_s, effort.settled_s)
    _say("nothing changed, one file changed")
    figures.unchanged = in_new_process(ingest.unchanged, home, effort.unchanged)
    figures.changed = in_new_process(ingest.changed, home, effort.changed)
    _say("reranking")
    figures.reranking = in_new_process(reranking.reranking, load().cache, effort.reranks)
    _say("MCP")
    figures.handshake = handshake.handshake(home.work, effort.handshakes)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--corpus", choices=["keps", "linux", "own"], help="what to index; none = keps where its data is"
    )
    parser.add_argument("--limit-files", type=int, default=0, metavar="N", help="only N files, evenly chosen")
    parser.add_argument("--quick", action="store_true", help="some of the own documents, few repetitions")
    parser.add_argument("--install", action="store_true", help="also the installed size: makes an environment")
    parser.add_argument("--quality", action="store_true", help="also SciFact, by benchmarks.quality")
    parser.add_argument(
        "--work", type=Path, default=RESULTS / "speed", help="folder of the corpus and the home, which are made anew"
    )
    parser.add_argument("--json", type=Path, default=RESULTS / "speed.json", help="file for the figures")
    return parser.parse_args()


def _show(figures: Figures, note: str, *, comparable: bool) -> None:
    lines = [(row.what, row.reach, row.measured, verdict(row, comparable)) for row in rows(figures)]
    print("\n".join(table(("what", "reach", "measured", "verdict"), lines)))
    if note:
        print(f"\nNote: {note}.")
    print()
    print("\n".join(table(("also", "measured"), more(figures))))


def _scifact(work: Path) -> float:
    command = [sys.executable, "-m", "benchmarks.quality", "scifact", "--work", str(work)]
    subprocess.run(command, cwd=ROOT, check=True, stdout=sys.stderr)
    found = json.loads((work / "quality.json").read_text("utf-8"))
    return float(found["sets"]["scifact"]["hybrid"]["metrics"]["ndcg@10"])


def _say(what: str) -> None:
    print(f"measuring {what} …", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
