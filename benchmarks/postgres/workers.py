"""``python -m benchmarks.postgres.workers``: how much faster two workers are than one, with an embedder that waits.

Everything is claimed by this process until the workers have started; then it is given back at once, and the time until
nothing waits is taken.
"""

from __future__ import annotations

import argparse
import sys
import time
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.postgres.databases import database, server
from benchmarks.quality.sets import ROOT
from pinakes.catalog.schema import embeddings as vectors_kept
from pinakes.ingestion import claiming
from pinakes.library import Library

sys.path.insert(0, str(ROOT / "tests" / "shared"))
worker = import_module("worker_processes").worker


def took_s(library: Library, url: str, folder: Path, count: int) -> float:
    """Return in how many seconds so many workers embed all chunks."""
    with library.app.catalog.write() as connection:
        connection.execute(vectors_kept.delete())
    with ExitStack() as stack:
        held, record = claiming.Claims(library.app.catalog, "held"), library.collection()
        rows = held.take(record, 100_000)
        homes = [folder / f"w{count}{number}" for number in range(count)]
        workers = [stack.enter_context(worker(home, url, "--batch", "32")) for home in homes]
        while not all("takes" in one.said() for one in workers):
            time.sleep(0.05)
        with held.stored(record, {key: text for _, key, text in rows}, {}):
            pass
        began = time.perf_counter()
        while library.status()[0].pending:
            time.sleep(0.02)
        return time.perf_counter() - began


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", default="", help="a server whose user may create databases; none = one of its own")
    parser.add_argument("--chunks", type=int, default=800)
    given = parser.parse_args()
    with TemporaryDirectory() as name, server(given.url) as address, database(address) as url:
        notes = Path(name, "notes")
        notes.mkdir()
        for number in range(given.chunks):
            (notes / f"n{number}.md").write_text(f"# Note {number}\n\nThe word w{number} stands here.\n", "utf-8")
        with Library.open(Path(name, "server"), catalog__url=url, embedding__provider="deterministic") as library:
            library.add(str(notes))
            one, two = (took_s(library, url, Path(name), count) for count in (1, 2))
        print(f"{given.chunks} chunks: one worker {one:.2f} s, two {two:.2f} s, {one / two:.2f} times as fast")


if __name__ == "__main__":
    main()
