"""How long the library takes to answer, in its own process and warm."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median

from benchmarks.speed.home import Home
from benchmarks.speed.machine import Spread, spread
from pinakes.types import SearchMode

MODES: tuple[SearchMode, ...] = ("hybrid", "keyword", "vector")
TOP_K = 5


@dataclass(frozen=True, slots=True)
class Answers:
    """Times of one mode, and the median of each stage in milliseconds."""

    times: Spread
    stages_ms: Mapping[str, float]


def in_process(home: Home, rounds: int) -> dict[str, Answers]:
    """Ask every question ``rounds`` times in every mode, after one round that is not counted."""
    with home.open() as library:
        found: dict[str, Answers] = {}
        for mode in MODES:
            seconds: list[float] = []
            stages: dict[str, list[float]] = {}
            for number in range(rounds + 1):
                for question in home.corpus.questions:
                    began = time.perf_counter()
                    results = library.search(question, mode=mode, top_k=TOP_K)
                    took = time.perf_counter() - began
                    if results.degraded:
                        raise RuntimeError(f"{mode} search is degraded: {results.degraded}")
                    if number:
                        seconds.append(took)
                        for stage in results.trace.stages:
                            stages.setdefault(stage.name, []).append(stage.milliseconds)
            found[mode] = Answers(spread(seconds), {name: median(times) for name, times in stages.items()})
    return found
