"""Multi-hop questions over the handbook, made by rule from its annotated relations, with and without expansion.

A question names A and asks by two relations, A–B in one document and B–C in another, without naming B; relevant are the
documents that state the second. The owner is no B. Recall@10 is measured at equal numbers of hits: ten of the search,
or five of it and five of the graph.

Run: ``python -m benchmarks.quality.graph_questions HOME [keyword]`` on a home that has the handbook by its profile.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Literal

from pinakes.core.graph_paths import Expansion
from pinakes.library import Library

DATA = Path(os.environ.get("PINAKES_TEST_DATA", "../shared/data")) / "handbook" / "entities.jsonl"
OWNER = "Sourcegraph"
MOST = 10


def questions(lines: list[str]) -> list[tuple[str, set[str]]]:
    """Return (question, paths of the relevant documents): for each B the first one, evenly chosen from all B."""
    stated: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    types: dict[str, str] = {}
    for line in lines:
        page = json.loads(line)
        types |= {one["name"]: one["type"] for one in page["entities"]}
        for source, kind, target in page["relations"]:
            stated[source, kind, target].add(page["path"])
    at: dict[str, set[tuple[str, str, str]]] = defaultdict(set)
    for one in stated:
        for end in (one[0], one[2]):
            at[end].add(one)
    found: dict[str, tuple[str, set[str]]] = {}
    for between in sorted(at.keys() - {OWNER}):
        for first in sorted(at[between]):
            for second in sorted(at[between] - {first}):
                start = first[0] if first[2] == between else first[2]
                end = second[0] if second[2] == between else second[2]
                elsewhere = stated[second] - stated[first]
                if start == end or OWNER in (start, end) or not elsewhere:
                    continue
                kind = types.get(between, "entity").lower().replace("_", " ")
                words = [one[1].lower().replace("_", " ") for one in (first, second)]
                asked = (
                    f"{start} {words[0]} a {kind}: {types.get(end, 'entity').lower().replace('_', ' ')} {words[1]} it"
                )
                found.setdefault(between, (asked, elsewhere))
    every = [found[key] for key in sorted(found)]
    return every[:: max(1, len(every) // MOST)][:MOST]


def main(home: str, mode: Literal["hybrid", "keyword"] = "hybrid") -> None:
    """Print recall@10 of each way, and how many of the hits of the graph are of relevant documents."""
    asked = questions(DATA.read_text("utf-8").splitlines())
    ways = {"search alone": (10, 0), "5 + 5, one hop": (5, 1), "5 + 5, two hops": (5, 2)}
    with Library.open(home, profile="handbook") as library:
        library.graph.update("handbook")
        for name, (top_k, hops) in ways.items():
            recalls, added, times = list[float](), 0, list[float]()
            for query, relevant in asked:
                start = time.perf_counter()
                hits = library.search(query, "handbook", mode=mode, top_k=top_k, expand=Expansion(hops, hits=5)).hits
                times.append((time.perf_counter() - start) * 1000)
                paths = {f"handbook/{one.path}" if not one.path.startswith("handbook/") else one.path for one in hits}
                recalls.append(len(paths & relevant) / len(relevant))
                added += sum(one.match == "graph" for one in hits)
            middle = sorted(times)[len(times) // 2]
            print(f"{name}: recall@10 {sum(recalls) / len(asked):.3f}, {added} added, p50 {middle:.0f} ms")
        for query, relevant in asked:
            print(f"  {query} -> {', '.join(sorted(relevant))}")


if __name__ == "__main__":
    main(sys.argv[1], "keyword" if "keyword" in sys.argv[2:] else "hybrid")
