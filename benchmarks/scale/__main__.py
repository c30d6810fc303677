"""``python -m benchmarks.scale --sizes 100000,1100000``: tables of what collections of about so many chunks cost.

The table goes to stdout as Markdown, with the machine and its load; all figures go to a JSON file.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.scale.invented_text import CHUNKS_PER_FILE
from benchmarks.scale.large_collections import Size, measure
from benchmarks.speed import machine
from pinakes.core.records import JSON

_ROWS: tuple[tuple[str, Callable[[Size], str]], ...] = (
    ("files, text", lambda one: f"{one.ingest.files:,}, {one.ingest.text_mb:,.0f} MB"),
    ("chunks", lambda one: f"{one.ingest.chunks:,}"),
    ("add", lambda one: f"{one.ingest.add_s:,.0f} s"),
    ("first hybrid answer after it", lambda one: f"{one.ingest.first_answer_s:,.1f} s"),
    ("close: save vectors, build the approximate index", lambda one: f"{one.ingest.close_s:,.1f} s"),
    (
        "processor time, parsers' beside it",
        lambda one: f"{one.ingest.cpu_s:,.0f} s, {one.ingest.children_s:,.0f} s",
    ),
    ("peak memory of adding", lambda one: f"{one.ingest.peak_mb:,.0f} MB"),
    ("open to first hybrid answer", lambda one: f"{one.served.open_s:.2f} s"),
    ("hybrid query, p50 / p95", lambda one: _times(one.served.hybrid)),
    ("the same without head refinement", lambda one: _times(one.served.unrefined)),
    ("processor time of such a query, mean", lambda one: f"{one.served.cpu_ms:.1f} ms"),
    ("vector query, p50 / p95", lambda one: _times(one.served.vector)),
    ("recall@10 of the vector index against exact", lambda one: f"{one.served.recall:.3f}"),
    ("vector index", lambda one: one.served.method),
    ("memory after the queries (PSS)", lambda one: f"{one.served.pss_mb:,.0f} MB"),
    ("disk", lambda one: ", ".join(f"{name} {size:,.0f}" for name, size in one.disk_mb.items()) + " MB"),
    ("load before", lambda one: f"{one.load:.1f}"),
)


def _times(spread: machine.Spread) -> str:
    return f"{spread.p50_ms:.1f} / {spread.p95_ms:.1f} ms"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.add_argument("--sizes", default="100000", help="numbers of chunks, separated by commas (default: 100000)")
    parser.add_argument("--questions", type=int, default=200, help="questions asked of each (default: 200)")
    parser.add_argument("--mode", default="lazy", help="embedding.mode (default: lazy)")
    parser.add_argument("--approximate-above", type=int, help="another index.exact_max_vectors")
    parser.add_argument("--work", type=Path, help="keep corpora and homes here; a corpus that is there is used")
    parser.add_argument("--json", type=Path, help="a file for all figures")
    chosen = parser.parse_args()
    sizes = [int(size) for size in chosen.sizes.split(",")]
    settings: dict[str, JSON] = {"embedding__mode": chosen.mode}
    if chosen.approximate_above is not None:
        settings["index__exact_max_vectors"] = chosen.approximate_above
    about = machine.describe()
    work = chosen.work or Path(tempfile.mkdtemp(prefix="pinakes-scale-"))
    found: list[Size] = []
    try:
        for size in sizes:
            files = max(1, size // CHUNKS_PER_FILE)
            print(f"{files:,} files …", file=sys.stderr)
            shutil.rmtree(work / str(size) / "home", ignore_errors=True)
            found.append(measure(work / str(size), files, chosen.questions, settings))
    finally:
        if chosen.work is None:
            shutil.rmtree(work, ignore_errors=True)
    print(table(found))
    print(f"\n{about['cpu']}, {about['cores']} cores, {about['memory_mb']} MB; commit {about['commit']}")
    if chosen.json:
        figures = {"machine": about, "settings": settings, "sizes": [dataclasses.asdict(one) for one in found]}
        chosen.json.write_text(json.dumps(figures, indent=1), "utf-8")


def table(sizes: Sequence[Size]) -> str:
    """Return a Markdown table, one column for each size."""
    head = ["", *(f"{one.ingest.chunks:,} chunks" for one in sizes)]
    rows = [[name, *(cell(one) for one in sizes)] for name, cell in _ROWS]
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows])


if __name__ == "__main__":
    main()
