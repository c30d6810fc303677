"""What is measured of a home, wherever its catalogue is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.postgres.proxy import Proxy
from benchmarks.speed.corpus import Corpus
from benchmarks.speed.home import NOTHING_REMEMBERED
from benchmarks.speed.machine import Spread, cpu_with_children_s, spread, timed
from pinakes.library import Library

_TOP_K = 5


@dataclass(frozen=True, slots=True)
class Place:
    """Where a catalogue is: ``url`` "" is SQLite; ``direct_url`` goes around the proxy."""

    name: str
    folder: Path
    url: str = ""
    direct_url: str = ""

    def open(self, profile: str, **settings: Any) -> Library:
        """Open the library; nothing is remembered of questions asked before."""
        usual = {"embedding__provider": "deterministic", "embedding__mode": "full"}
        catalog = {"url": self.url, "direct_url": self.direct_url}
        given = {**usual, **NOTHING_REMEMBERED, **settings}
        return Library.open(self.folder, profile=profile or None, catalog=catalog, **given)


@dataclass(frozen=True, slots=True)
class Ingested:
    """Seconds of a first ``add``: wall time, processor time of the process and its children, stages."""

    wall_s: float
    cpu_s: float
    stages_s: Mapping[str, float]


def ingested(place: Place, corpus: Corpus) -> Ingested:
    """Read the corpus into a new home."""
    with place.open(corpus.profile) as library:
        used = cpu_with_children_s()
        report, wall = timed(partial(library.add, str(corpus.folder)))
        cpu = cpu_with_children_s() - used
        return Ingested(wall, cpu, dict(report.seconds))


def asked(places: Sequence[Place], corpus: Corpus, rounds: int) -> dict[str, Spread]:
    """Ask every place every question in turn ``rounds`` times, after one round that is not counted."""
    with ExitStack() as opened:
        libraries = {place.name: opened.enter_context(place.open(corpus.profile)) for place in places}
        return asked_in_turn(libraries, corpus.questions, rounds)


def asked_in_turn(libraries: Mapping[str, Library], questions: Sequence[str], rounds: int) -> dict[str, Spread]:
    """Ask every library every question in turn ``rounds`` times, after one round that is not counted."""
    seconds: dict[str, list[float]] = {name: [] for name in libraries}
    for number in range(rounds + 1):
        for question in questions:
            for name, library in libraries.items():
                _, taken = timed(partial(library.search, question, mode="hybrid", top_k=_TOP_K))
                if number:
                    seconds[name].append(taken)
    return {name: spread(times) for name, times in seconds.items()}


def trips(place: Place, corpus: Corpus, **settings: Any) -> tuple[float, float]:
    """Return the round trips of a question on average: of one that is new to the process, and of one asked again."""
    with Proxy(place.direct_url or place.url) as proxy:
        counted = replace(place, url=proxy.url, direct_url=place.direct_url or place.url)
        with counted.open(corpus.profile, **settings) as library:
            library.search("what is asked first opens connections", mode="hybrid", top_k=_TOP_K)
            taken = []
            for _ in range(2):
                before = proxy.round_trips
                for question in corpus.questions:
                    library.search(question, mode="hybrid", top_k=_TOP_K)
                taken.append((proxy.round_trips - before) / len(corpus.questions))
            return taken[0], taken[1]
