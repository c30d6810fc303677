"""How soon a collection answers that was never read before, and how fast it is until all of it is embedded."""

from __future__ import annotations

import shutil
import time
from dataclasses import dataclass
from typing import Any

from benchmarks.speed.home import Home, until
from benchmarks.speed.machine import Spread, spread
from pinakes.ingestion.report import Event
from pinakes.jobs.queue import Queue
from pinakes.jobs.worker import Worker
from pinakes.library import Library

_TOP_K = 5
_STARTED_S = 300.0
_MOST_TURNS = 20


@dataclass(frozen=True, slots=True)
class Reached:
    """Seconds from the start of ``add`` to the first answer of each kind, and until every vector is the model's own.

    In a process that has its libraries, the model and what that says of single tokens at hand.
    ``sampled``: chunks embedded at the first hybrid answer. The keyword answer, which is from all documents, was
    waited for in a run of its own.
    """

    chunks: int
    sampled: int
    keyword_s: float
    hybrid_s: float
    exact_s: float


@dataclass(frozen=True, slots=True)
class Meanwhile:
    """Hybrid queries: where everything is exact, and where most is approximate.

    ``refining``: asked for the first time, so that the head is embedded. ``refined``: asked again, nothing to embed.
    ``working``: asked again while the rest is embedded in the background.
    """

    exact: Spread
    refining: Spread
    refined: Spread
    working: Spread


class _Enough(Exception):
    """What was waited for has happened."""


def reached(home: Home, **settings: Any) -> Reached:
    """Read the corpus into a new home twice; what the home was when it first answered is kept beside it."""
    first = home.corpus.questions[0]

    def on_sample(event: Event) -> None:
        if event.stage == "embed":
            library.search(first, mode="keyword")
            raise _Enough

    shutil.rmtree(home.folder, ignore_errors=True)
    with home.open(**settings) as library:
        library.app.embedder.embed_query("load")
        began = time.perf_counter()
        try:
            library.add(str(home.corpus.folder), on_event=on_sample)
        except _Enough:
            keyword_s = time.perf_counter() - began

    hybrid_s = paused_s = 0.0
    sampled = 0

    def on_searchable(event: Event) -> None:
        nonlocal hybrid_s, paused_s, sampled
        if event.stage == "searchable":
            results = library.search(first)
            if not results.hits or results.degraded:
                raise RuntimeError(f"no hybrid answer: {results.degraded}")
            hybrid_s = time.perf_counter() - began
            sampled = event.done
            shutil.rmtree(_kept(home).folder, ignore_errors=True)
            shutil.copytree(home.folder, _kept(home).folder)
            paused_s = time.perf_counter() - began - hybrid_s

    shutil.rmtree(home.folder, ignore_errors=True)
    with home.open(**settings) as library:
        library.app.embedder.embed_query("load")
        began = time.perf_counter()
        report = library.add(str(home.corpus.folder), on_event=on_searchable)
        exact_s = time.perf_counter() - began - paused_s
    if report.pending or not hybrid_s:
        raise RuntimeError(f"{report.pending} of {report.chunks} chunks were left waiting; searchable: {hybrid_s} s")
    return Reached(report.chunks, sampled, keyword_s, hybrid_s, exact_s)


def meanwhile(home: Home, rounds: int, **settings: Any) -> Meanwhile:
    """Ask a home as it was when it first answered, and the same one with everything embedded, in turns.

    Questions embed what they meet: of a small corpus nothing may be left to embed in the background.
    """
    with home.open(**settings) as exact, _kept(home).open(**settings) as approximate:
        refining = _asked(approximate, home.corpus.questions)
        _refine(approximate, home.corpus.questions)
        times: dict[str, list[float]] = {"exact": [], "refined": [], "working": []}
        _asked(exact, home.corpus.questions)
        for _ in range(rounds):
            for question in home.corpus.questions:  # in turns, so that what else the machine does hits both alike
                times["exact"] += _asked(exact, (question,))
                times["refined"] += _asked(approximate, (question,))
        queue = Queue(approximate.app.catalog, approximate.settings.home)
        background = Worker(queue, [approximate.background()])
        waiting = approximate.status()[0].pending
        background.start()
        try:
            if waiting:
                embedded = "nothing was embedded in the background"
                until(lambda: approximate.status()[0].pending != waiting, _STARTED_S, embedded)
            for _ in range(rounds):
                times["working"] += _asked(approximate, home.corpus.questions)
        finally:
            background.stop()
    return Meanwhile(refining=spread(refining), **{name: spread(seconds) for name, seconds in times.items()})


def _kept(home: Home) -> Home:
    return Home(home.folder.with_name(f"{home.folder.name}-searchable"), home.corpus, home.work)


def _asked(library: Library, questions: tuple[str, ...]) -> list[float]:
    seconds = []
    for question in questions:
        began = time.perf_counter()
        library.search(question, top_k=_TOP_K)
        seconds.append(time.perf_counter() - began)
    return seconds


def _refine(library: Library, questions: tuple[str, ...]) -> None:
    """Ask until no head is left to be embedded; each time only so many are as there is time for."""
    for question in questions:
        for _ in range(_MOST_TURNS):
            if not any(stage.detail.get("refined") for stage in library.search(question, top_k=_TOP_K).trace.stages):
                break
            library.app.refiner.flush()
