"""How long the library takes to answer, in its own process and warm."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median

from benchmarks.speed.home import Home
from benchmarks.speed.machine import Spread, spread
from pinakes.core.records import JSON, SearchMode

MODES: tuple[SearchMode, ...] = ("hybrid", "keyword", "vector")
TOP_K = 5
FILTERED = "filtered hybrid"
_FILTER: Mapping[str, JSON] = {"path": "*.md"}
"""A pattern of paths that most documents fit: nothing is harder to filter by."""


@dataclass(frozen=True, slots=True)
class Answers:
    """Times of one mode or filter, and the median of each stage in milliseconds."""

    times: Spread
    stages_ms: Mapping[str, float]


def in_process(home: Home, rounds: int) -> dict[str, Answers]:
    """Ask every question ``rounds`` times in every mode and with a filter, after one round that is not counted."""
    asked: dict[str, tuple[SearchMode, Mapping[str, JSON]]] = {mode: (mode, {}) for mode in MODES}
    asked[FILTERED] = "hybrid", _FILTER
    with home.open() as library:
        found: dict[str, Answers] = {}
        for name, (mode, filters) in asked.items():
            seconds: list[float] = []
            stages: dict[str, list[float]] = {}
            for number in range(rounds + 1):
                for question in home.corpus.questions:
                    began = time.perf_counter()
                    results = library.search(question, mode=mode, top_k=TOP_K, filters=filters)
                    took = time.perf_counter() - began
                    if results.degraded:
                        raise RuntimeError(f"{name} search is degraded: {results.degraded}")
                    if number:
                        seconds.append(took)
                        for stage in results.trace.stages:
                            stages.setdefault(stage.name, []).append(stage.milliseconds)
            found[name] = Answers(spread(seconds), {name: median(times) for name, times in stages.items()})
    return found
