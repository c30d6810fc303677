"""``python -m benchmarks.postgres.workers``: how much faster two workers are than one, and what each of them did.

The embedder waits (``--provider slow``), or is the model (``--provider onnx``), each worker with ``--threads`` of it.
Everything is claimed by this process until the workers have started; then it is given back at once, and the time until
nothing waits is taken. One and two workers take turns, ``--rounds`` times.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.postgres.databases import database, server
from benchmarks.quality.sets import ROOT
from benchmarks.speed.corpus import prepare
from benchmarks.speed.machine import describe
from pinakes.catalog.schema import embeddings as vectors_kept
from pinakes.ingestion import claiming
from pinakes.library import Library

sys.path.insert(0, str(ROOT / "tests" / "shared"))
worker = import_module("worker_processes").worker
_EMBEDDED = re.compile(r"(\d+) chunks embedded,")


@dataclass(frozen=True, slots=True)
class Taken:
    """How long it took, in seconds, and how many chunks each worker embedded."""

    seconds: float
    chunks: list[int]


def taken(library: Library, url: str, folder: Path, count: int, words: Sequence[str], own: dict[str, Any]) -> Taken:
    """Have so many workers embed all chunks."""
    with library.app.catalog.write() as connection:
        connection.execute(vectors_kept.delete())
    with ExitStack() as stack:
        held, record = claiming.Claims(library.app.catalog, "held"), library.collection()
        rows = held.take(record, 100_000)
        homes = [folder / f"{time.time_ns()}-{number}" for number in range(count)]
        workers = [stack.enter_context(worker(home, url, *words, **own)) for home in homes]
        while not all("takes" in one.said() for one in workers):
            time.sleep(0.05)
        with held.stored(record, {key: text for _, key, text in rows}, {}):
            pass
        began = time.perf_counter()
        while library.status()[0].pending:
            time.sleep(0.02)
        seconds = time.perf_counter() - began
        return Taken(seconds, [sum(map(int, _EMBEDDED.findall(one.said()))) for one in workers])


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", default="", help="a server whose user may create databases; none = one of its own")
    parser.add_argument("--provider", default="slow", choices=["slow", "onnx"], help="slow: it waits; onnx: the model")
    parser.add_argument("--chunks", type=int, default=800, help="of the embedder that waits")
    parser.add_argument("--files", type=int, default=60, help="of the KEPs, for the model")
    parser.add_argument("--threads", type=int, default=1, help="of each worker that runs the model")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=1)
    given = parser.parse_args()
    with TemporaryDirectory() as name, server(given.url) as address, database(address) as url:
        own = {"embedding__provider": given.provider, "embedding__threads": given.threads}
        usual = {"embedding__provider": "deterministic" if given.provider == "slow" else given.provider}
        with Library.open(Path(name, "server"), catalog__url=url, embedding__mode="lazy", **usual) as library:
            library.add(str(documents(Path(name), given)))
            chunks = library.status()[0].chunks
            print(f"{chunks:,} chunks, {describe()['cores']} cores, load {os.getloadavg()[0]:.0f}", flush=True)
            for _ in range(given.rounds):
                words = ("--batch", str(given.batch))
                one, two = (taken(library, url, Path(name), count, words, own) for count in (1, 2))
                print(
                    f"one worker {one.seconds:.2f} s, two {two.seconds:.2f} s "
                    f"({' + '.join(map(str, two.chunks))} chunks), {one.seconds / two.seconds:.2f} times as fast",
                    flush=True,
                )


def documents(folder: Path, given: argparse.Namespace) -> Path:
    """Return a folder of what is to be embedded: small notes, or files of the KEPs."""
    if given.provider != "slow":
        return prepare("keps", folder, given.files).folder
    notes = folder / "notes"
    notes.mkdir()
    for number in range(given.chunks):
        (notes / f"n{number}.md").write_text(f"# Note {number}\n\nThe word w{number} stands here.\n", "utf-8")
    return notes


if __name__ == "__main__":
    main()
