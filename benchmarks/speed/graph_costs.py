"""``python -m benchmarks.speed.graph_costs [CORPUS …]``: what the graph costs in an ingest, and after one change.

Processor time of this process and its workers, with vectors from hashes instead of a model: each corpus is read with
its graph and without one, in turn. Then one document changes, and the graph follows. ``rows`` are checksums of what
the graph holds, without ids, to compare one version of the code with another.
"""

from __future__ import annotations

import argparse
import hashlib
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any, Final

from benchmarks.quality.sets import DATA
from benchmarks.speed.machine import cpu_with_children_s, memory_mb
from pinakes.app.graph_feeds import GraphFeeds
from pinakes.catalog.collections import CollectionRecord
from pinakes.graph.feeding import GraphFeed
from pinakes.library import Library

CORPORA: Final = {
    "handbook": ("handbook", DATA / "handbook" / "handbook.tar.gz"),
    "keps": ("kep", DATA / "keps" / "keps.tar.gz"),
    "linux": ("kernel", DATA / "linux" / "linux-5.17-subset.tar.gz"),
}
ROWS: Final = {
    "entities": "select e.type, e.name, coalesce(c.type, ''), coalesce(c.name, ''), e.why, e.confidence, e.documents,"
    " e.mentions from entities e left join entities c on c.id = e.canonical_id",
    "mentions": "select d.path, e.type, e.name, m.start, m.end, m.confidence, m.extractor from entity_mentions m"
    " join entities e on e.id = m.entity_id join documents d on d.id = m.document_id",
    "relations": "select d.path, s.type, s.name, r.type, t.type, t.name, r.start, r.end, r.confidence, r.extractor,"
    " r.fits from entity_relations r join entities s on s.id = r.source_id join entities t on t.id = r.target_id"
    " join documents d on d.id = r.document_id where r.extractor <> 'co-occurrence'",
    "pairs": "select d.path, min(s.type, t.type), min(s.name, t.name), max(s.name, t.name), r.start, r.end,"
    " r.confidence from entity_relations r join entities s on s.id = r.source_id join entities t on t.id = r.target_id"
    " join documents d on d.id = r.document_id where r.extractor = 'co-occurrence'",
}


def main() -> None:
    """Print a line for each corpus and measurement."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", nargs="*", default=list(CORPORA), help=", ".join(CORPORA))
    parser.add_argument("--rounds", type=int, default=2, help="how often each corpus is read in each way")
    parser.add_argument("--keep", type=Path, help="folder that keeps the homes with a graph")
    parser.add_argument("--read", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.read:
        name, folder, home, graph = options.read
        read(name, Path(folder), Path(home), graph == "True")
        return
    with tempfile.TemporaryDirectory() as made:
        work = options.keep or Path(made)
        for name in options.corpora:
            folder = work / f"{name}-files"
            if not folder.is_dir():
                with tarfile.open(CORPORA[name][1]) as archive:
                    archive.extractall(folder, filter="data")
            for at in range(options.rounds):
                for graph in (False, True):
                    home = work / f"{name}-home-{graph}-{at}"
                    command = [sys.executable, "-m", "benchmarks.speed.graph_costs"]
                    subprocess.run([*command, "--read", name, str(folder), str(home), str(graph)], check=True)


def read(name: str, folder: Path, home: Path, graph: bool) -> None:
    """Read a corpus into a new home, and print what that took."""
    given: dict[str, Any] = {"embedding__provider": "deterministic", "profile": CORPORA[name][0]}
    with Library.open(home, **given) as library:
        if not graph:
            library.app.graphs = NoGraphs(library.settings)
        spent = cpu_with_children_s()
        report = library.add(str(folder))
        print(
            f"{name} graph={graph}: add {cpu_with_children_s() - spent:.2f} s, {report.chunks} chunks",
            end="",
            flush=True,
        )
    print(f", closed {cpu_with_children_s() - spent:.2f} s of processor time, {memory_mb()['peak']:.0f} MB", flush=True)
    if graph:
        with Library.open(home, **given) as library:
            checksums(library)
            path = next(
                one
                for one in sorted(folder.rglob("*.*"))
                if one.suffix in (".md", ".c") and 2_000 < one.stat().st_size < 20_000
            )
            before = path.read_text("utf-8")
            for text in (f"{before}\n\n/* One more line. */\n", before):
                path.write_text(text, "utf-8")
                spent = cpu_with_children_s()
                library.add(str(path))
                print(f"{name}: one change {cpu_with_children_s() - spent:.2f} s", flush=True)
                checksums(library)


class NoGraphs(GraphFeeds):
    """Gives no collection a graph."""

    def of(self, record: CollectionRecord) -> GraphFeed:
        """Return a feed that does nothing for ``record``."""
        del record
        return GraphFeed()


def checksums(library: Library) -> None:
    """Print how many rows a graph has, and their checksums."""
    for title, query in ROWS.items():
        with library.app.catalog.read() as connection:
            rows = sorted(map(repr, (tuple(row) for row in connection.exec_driver_sql(query))))
        digest = hashlib.sha256(repr(rows).encode()).hexdigest()[:12]
        print(f"  {title}: {len(rows)} rows {digest}", flush=True)


if __name__ == "__main__":
    main()
