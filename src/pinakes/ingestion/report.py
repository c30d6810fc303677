"""What a run tells while it goes on, and at its end."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

from pinakes.core.errors import PinakesError
from pinakes.core.records import JSON, ReadingNote, Skipped


@dataclass(frozen=True, slots=True)
class Event:
    """Where a long run stands: ``done`` of ``total`` of the ``stage``'s units (files, chunks).

    "wait": another process reads the same source. "fetch": pages are asked for, before it is known what to read.
    "commit": the files read last are in the catalogue. "searchable": every chunk has a vector, ``done`` of them the
    model's own. "elsewhere": another process embeds the rest. "summarize": documents got summaries.
    """

    stage: Literal["wait", "scan", "fetch", "read", "embed", "commit", "index", "searchable", "elsewhere", "summarize"]
    done: int
    total: int
    detail: str = ""


@dataclass(slots=True)
class Report:
    """How an ingest ended. Seconds are per stage; ``skipped`` and ``failed`` name files with the reason.

    Both name every such file of the source, also those that an earlier run found; ``excluded`` says in words what
    rules left out.
    ``unlike`` names values of the files read now that are not what their field says (``fields``): they were left out.
    ``notes`` name what was dropped, doubted or masked in the files read now, each with its path.
    Of the ``changed`` documents ``reread`` were made by older readers or chunkers, whether their files changed or not.
    ``error`` is why the source could not be read at all, ``degraded`` why chunks wait for their vectors.
    ``part`` tells the source from others of its location, which is ``source``; ``paths``: only these and what is
    below were read, none = all. ``include`` and ``exclude`` are its patterns; ``before``: what of these and its ref was
    another in the run before. ``overlaps`` names other sources of the collection that have files of it.
    ``requests``, ``tokens`` and ``dollars``: what a provider of embeddings was asked; None = its price is not known.
    """

    collection: str
    source: str
    added: int = 0
    changed: int = 0
    reread: int = 0
    moved: int = 0
    removed: int = 0
    unchanged: int = 0
    chunks: int = 0
    embedded: int = 0
    reused: int = 0
    pending: int = 0
    skipped: list[Skipped] = field(default_factory=list)
    failed: list[Skipped] = field(default_factory=list)
    excluded: list[str] = field(default_factory=list)
    unlike: list[Skipped] = field(default_factory=list)
    notes: list[tuple[str, ReadingNote]] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    requests: int = 0
    tokens: int = 0
    dollars: float | None = 0.0
    degraded: str | None = None
    error: PinakesError | None = None
    part: str = ""
    paths: list[str] = field(default_factory=list)
    include: list[str] = field(default_factory=list)
    exclude: list[str] = field(default_factory=list)
    before: dict[str, JSON] = field(default_factory=dict)
    overlaps: list[str] = field(default_factory=list)

    def reasons(self) -> Counter[str]:
        """Count skipped and failed files by reason."""
        return Counter(entry.reason for entry in [*self.skipped, *self.failed])

    def spend(self, stage: str, seconds: float) -> None:
        """Add to the time that a stage took."""
        self.seconds[stage] = self.seconds.get(stage, 0.0) + seconds

    @contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        """Add to a stage the time of what is done in this context, also where that fails."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.spend(stage, time.perf_counter() - start)
