"""What is measured of a home, wherever its catalogue is."""

from __future__ import annotations

import resource
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.postgres.proxy import Proxy
from benchmarks.speed.corpus import Corpus
from benchmarks.speed.machine import Spread, spread
from pinakes.library import Library

_TOP_K = 5


@dataclass(frozen=True, slots=True)
class Place:
    """Where a catalogue is: ``url`` "" is SQLite; ``direct_url`` goes around the proxy."""

    name: str
    folder: Path
    url: str = ""
    direct_url: str = ""

    def open(self, profile: str) -> Library:
        """Open the library; nothing is remembered of questions asked before."""
        return Library.open(
            self.folder,
            profile=profile or None,
            catalog={"url": self.url, "direct_url": self.direct_url},
            embedding__provider="deterministic",
            embedding__mode="full",
            search__remembered_queries=0,
            search__remembered_answers=0,
        )


@dataclass(frozen=True, slots=True)
class Ingested:
    """Seconds of a first ``add``: wall time, processor time of the process and its children, stages."""

    wall_s: float
    cpu_s: float
    stages_s: Mapping[str, float]


def ingested(place: Place, corpus: Corpus) -> Ingested:
    """Read the corpus into a new home."""
    with place.open(corpus.profile) as library:
        began, used = time.perf_counter(), _cpu_s()
        report = library.add(str(corpus.folder))
        wall, cpu = time.perf_counter() - began, _cpu_s() - used
        return Ingested(wall, cpu, dict(report.seconds))


def asked(places: Sequence[Place], corpus: Corpus, rounds: int) -> dict[str, Spread]:
    """Ask every place every question in turn ``rounds`` times, after one round that is not counted."""
    with ExitStack() as opened:
        libraries = {place.name: opened.enter_context(place.open(corpus.profile)) for place in places}
        seconds: dict[str, list[float]] = {name: [] for name in libraries}
        for number in range(rounds + 1):
            for question in corpus.questions:
                for name, library in libraries.items():
                    began = time.perf_counter()
                    library.search(question, mode="hybrid", top_k=_TOP_K)
                    if number:
                        seconds[name].append(time.perf_counter() - began)
        return {name: spread(times) for name, times in seconds.items()}


def trips(place: Place, corpus: Corpus) -> float:
    """Return the round trips of a question on average, in a process that has answered all of them before."""
    with Proxy(place.direct_url or place.url) as proxy:
        counted = replace(place, url=proxy.url, direct_url=place.direct_url or place.url)
        with counted.open(corpus.profile) as library:
            for question in corpus.questions:
                library.search(question, mode="hybrid", top_k=_TOP_K)
            before = proxy.round_trips
            for question in corpus.questions:
                library.search(question, mode="hybrid", top_k=_TOP_K)
            return (proxy.round_trips - before) / len(corpus.questions)


def _cpu_s() -> float:
    kinds = resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN
    return sum(used.ru_utime + used.ru_stime for used in map(resource.getrusage, kinds))
