"""``python -m benchmarks.postgres``: ingest and queries with the catalogue in PostgreSQL, beside those with SQLite.

The same documents are read and asked in one run: by SQLite, by PostgreSQL, and by PostgreSQL through a proxy that makes
every packet later, as a network does. Vectors are those of the ``deterministic`` embedder, so that the catalogue is
what is seen. Questions go to all homes in turn, so that what else the machine does concerns all alike.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.postgres.databases import database, server
from benchmarks.postgres.places import Ingested, Place, asked, ingested, trips
from benchmarks.quality.sets import ROOT
from benchmarks.speed import machine
from benchmarks.speed.corpus import Corpus, prepare
from benchmarks.speed.home import in_new_process
from benchmarks.speed.machine import Spread

_SQLITE = "SQLite"
_FAR = "PostgreSQL, {:g} ms away"
_NEAR = "PostgreSQL"


@dataclass(frozen=True, slots=True)
class Figures:
    """What was measured of one place; ``question_trips``: round trips of a question, 0 where none was counted."""

    place: str
    ingested: Ingested
    asked: Spread
    question_trips: float = 0.0


@contextmanager
def far(url: str, delay_ms: float) -> Iterator[str]:
    """Give an address of the same database behind a proxy in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.postgres.proxy", url, "--delay-ms", str(delay_ms)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as proxy:
        assert proxy.stdout is not None
        yield proxy.stdout.readline().strip()


def measure(given: argparse.Namespace, corpus: Corpus) -> list[Figures]:
    """Measure all places."""
    with server(given.url) as url, ExitStack() as opened:
        near = opened.enter_context(database(url))
        places = [Place(_SQLITE, given.work / "sqlite"), Place(_NEAR, given.work / "near", near, near)]
        if given.delay_ms:
            name, direct = _FAR.format(given.delay_ms), opened.enter_context(database(url))
            behind = opened.enter_context(far(direct, given.delay_ms))
            places.append(Place(name, given.work / "far", behind, direct))
        read: dict[str, Ingested] = {}
        for place in places:
            _say(f"ingest: {place.name}")
            shutil.rmtree(place.folder, ignore_errors=True)
            read[place.name] = in_new_process(ingested, place, corpus)
        _say("queries")
        answers = in_new_process(asked, places, corpus, given.rounds)
        _, counted = in_new_process(trips, places[1], corpus)
        return [
            Figures(one.name, read[one.name], answers[one.name], question_trips=counted if one.url else 0.0)
            for one in places
        ]


def shown(figures: Sequence[Figures]) -> Iterator[str]:
    """Yield the lines of the table; ratios are those to SQLite."""
    base = figures[0]
    yield f"{'catalogue':<26}{'ingest':>9}{'ratio':>7}{'CPU':>9}{'p50':>10}{'ratio':>7}{'p95':>10}{'trips':>7}"
    for one in figures:
        yield (
            f"{one.place:<26}{one.ingested.wall_s:>7.1f} s{one.ingested.wall_s / base.ingested.wall_s:>7.2f}"
            f"{one.ingested.cpu_s:>7.1f} s{one.asked.p50_ms:>7.1f} ms{one.asked.p50_ms / base.asked.p50_ms:>7.2f}"
            f"{one.asked.p95_ms:>7.1f} ms{one.question_trips:>7.1f}"
        )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", default="", help="a server whose user may create databases; none = one of its own")
    parser.add_argument(
        "--corpus", choices=["keps", "linux", "own"], help="what to index; none = keps where its data is"
    )
    parser.add_argument("--limit-files", type=int, default=0, metavar="N", help="only N files, evenly chosen")
    parser.add_argument("--delay-ms", type=float, default=1.0, help="of the proxy, each way; 0 = without it")
    parser.add_argument("--rounds", type=int, default=3, help="how often each question is asked")
    parser.add_argument(
        "--work", type=Path, default=ROOT / "benchmarks" / "results" / "postgres", help="folder for all of it"
    )
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    corpus = prepare(given.corpus, given.work, given.limit_files)
    figures = measure(given, corpus)
    print("\n".join(shown(figures)))
    if corpus.note:
        print(f"\nNote: {corpus.note}.")
    found = {"machine": machine.describe(), "note": corpus.note, "figures": [asdict(one) for one in figures]}
    (given.work / "postgres.json").write_text(json.dumps(found, indent=1), "utf-8")


def _say(what: str) -> None:
    print(f"measuring {what} …", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
