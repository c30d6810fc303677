"""Call edges of the Linux subset, compared with 200 functions whose calls were judged by reading.

``linux-calls.jsonl`` has functions that were drawn by chance from all that the C files of the subset define (51,132, by
a search for bodies that knows nothing of ours). Of each, ``calls`` has what it calls by name: the files whose
definition is meant, or why there is none. Several files define one function for several configurations, as a header
does for those without it: all of them are meant.

- ``outside``: no file of the subset defines it, or only one that is not meant;
- ``pointer``: what a variable or a field holds;
- ``generated``: a macro makes the definition, so no file has its name.

An edge of the graph is right when each definition of its target is one that is meant. Its precision counts edges that
lead to a definition; its recall, calls whose definition the subset has. Intervals: 95 %, bootstrap over functions.

Run: ``python -m benchmarks.quality.call_edges [--cases] [HOME]``; HOME has the subset by the profile ``kernel``, and is
made without a model of meaning where it is not there.
"""

from __future__ import annotations

import argparse
import json
import random
import tarfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, select

from benchmarks.quality.sets import DATA, ROOT
from pinakes.catalog.code_symbols import AT
from pinakes.catalog.relation_ends import AS_WRITTEN, TARGET_ID, WRITTEN_SOURCE, WRITTEN_TARGET
from pinakes.catalog.schema import documents, entity_mentions, entity_relations
from pinakes.library import Library

JUDGED = Path(__file__).with_name("linux-calls.jsonl")
ARCHIVE = DATA / "linux" / "linux-5.17-subset.tar.gz"
DRAWS, SEED = 2_000, 24


@dataclass(slots=True)
class Counts:
    """Of one function: edges that lead to a definition, the right ones; calls that have one, those that were found."""

    edges: int = 0
    right: int = 0
    wanted: int = 0
    found: int = 0
    others: Counter[str] = field(default_factory=Counter)
    cases: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Edge:
    name: str
    line: int
    definitions: frozenset[str]


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("home", nargs="?", type=Path, default=ROOT / "benchmarks" / "results" / "quality" / "linux")
    parser.add_argument("--cases", action="store_true", help="show what is wrong and missed")
    arguments = parser.parse_args()
    if not ARCHIVE.is_file():
        print(f"no {ARCHIVE}")
        return
    judged = [json.loads(line) for line in JUDGED.read_text("utf-8").splitlines()]
    home = arguments.home / "home"
    is_there = home.is_dir()
    with Library.open(home, profile="kernel", embedding__provider="deterministic") as library:
        if not is_there:
            library.add(str(_sources(arguments.home)))
        library.graph.update("kernel")
        with library.app.catalog.read() as connection:
            counted = [_counted(connection, library.app.record("kernel").id, one) for one in judged]
    for name, top, bottom in (("precision", "right", "edges"), ("recall", "found", "wanted")):
        low, high = _interval(counted, top, bottom)
        above, below = _sum(counted, top), _sum(counted, bottom)
        print(f"{name:<10} {above / below:.3f} [{low:.3f}, {high:.3f}]  {above} of {below}")
    print(
        "calls without a definition:",
        *(f"{n} {what}," for what, n in sum((one.others for one in counted), Counter()).items()),
    )
    if arguments.cases:
        print(*(case for one in counted for case in one.cases), sep="\n")


def _sources(home: Path) -> Path:
    """Return the folder of the subset, which is unpacked where it is not there."""
    place = home / "corpus"
    if not place.is_dir():
        with tarfile.open(ARCHIVE) as archive:
            archive.extractall(place, filter="data")
    return place / "linux"


def _counted(connection: Connection, collection_id: int, one: dict[str, Any]) -> Counts:
    """Compare the edges of one function with what was judged."""
    begin, end = one["lines"]
    by_name: dict[str, list[_Edge]] = defaultdict(list)
    for edge in _edges(connection, collection_id, one["path"], one["function"]):
        by_name[edge.name].append(edge)
    counts, calls = Counts(), one["calls"]
    where = f"{one['path']}:{begin} {one['function']}"
    for name, edges in by_name.items():
        meant = calls.get(name, "no call")
        for edge in edges:
            # A function that a file defines twice has the calls of both: those of the other were not judged.
            if not edge.definitions or (name not in calls and not begin <= edge.line <= end):
                continue
            counts.edges += 1
            if isinstance(meant, list) and edge.definitions <= set(meant):
                counts.right += 1
            else:
                counts.cases.append(f"wrong: {where} → {name} of {', '.join(sorted(edge.definitions))}; {meant}")
    for name, meant in calls.items():
        edges = by_name.get(name, [])
        if isinstance(meant, str):
            marked = "no edge" if not edges else "resolved" if any(each.definitions for each in edges) else "marked"
            counts.others[f"{meant}: {marked}"] += 1
            continue
        counts.wanted += 1
        if any(each.definitions and each.definitions <= set(meant) for each in edges):
            counts.found += 1
        else:
            found = [sorted(each.definitions) for each in edges]
            counts.cases.append(f"missed: {where} → {name} of {', '.join(meant)}; the graph: {found}")
    return counts


def _edges(connection: Connection, collection_id: int, path: str, function: str) -> Iterable[_Edge]:
    """Yield the calls of a function, with the files that define what each means: none where it is not resolved."""
    table = entity_relations.c
    query = (
        select(WRITTEN_SOURCE.c.name, WRITTEN_TARGET.c.name, TARGET_ID, table.start, documents.c.text)
        .select_from(AS_WRITTEN.join(documents, documents.c.id == table.document_id))
        .where(documents.c.collection_id == collection_id, documents.c.path == path, table.type == "CALLS")
    )
    for source, target, target_id, start, text in connection.execute(query):
        if source.partition(AT)[0] == function:
            defining = (
                select(documents.c.path)
                .join(entity_mentions, entity_mentions.c.document_id == documents.c.id)
                .where(entity_mentions.c.entity_id == target_id, entity_mentions.c.extractor == "code")
            )
            name = target.partition(AT)[0].removeprefix("->")
            yield _Edge(name, text.count("\n", 0, start) + 1, frozenset(connection.scalars(defining)))


def _sum(counted: Sequence[Counts], name: str) -> int:
    return sum(getattr(one, name) for one in counted)


def _interval(counted: Sequence[Counts], top: str, bottom: str) -> tuple[float, float]:
    draw = random.Random(SEED)
    rates = sorted(
        _sum(some, top) / max(1, _sum(some, bottom))
        for some in (draw.choices(counted, k=len(counted)) for _ in range(DRAWS))
    )
    return rates[DRAWS // 40], rates[-DRAWS // 40 - 1]


if __name__ == "__main__":
    main()
