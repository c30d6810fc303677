"""Progress events and the final report of a run."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from pinakes.core.errors import PinakesError
from pinakes.core.records import JSON, ReadingNote, Skipped

Reading: TypeAlias = Literal["wait", "scan", "fetch", "read", "embed", "commit"]


@dataclass(frozen=True, slots=True)
class Event:
    """The progress of a long run: ``done`` of ``total`` units (files, chunks) of the ``stage``.

    "wait": another process reads the same source. "fetch": pages are fetched, before the files to read are known.
    "commit": the latest files are in the catalogue. "searchable": every chunk has a vector, ``done`` of them exact.
    "elsewhere": another process embeds the rest. "summarize": documents got summaries. "graph": names of entities
    that mean the same are made one.
    """

    stage: Reading | Literal["index", "searchable", "elsewhere", "summarize", "graph"]
    done: int
    total: int
    detail: str = ""


@dataclass(slots=True)
class Report:
    """The result of a run. ``seconds`` are per stage; ``skipped`` and ``failed`` list files with the reason.

    Both list all such files of the source, including those found by earlier runs; ``excluded`` describes what rules
    left out. ``unlike``: values of the files just read that do not match the type of their field (``fields``) and were
    left out. ``notes``: what was dropped, doubtful or masked in the files just read, each with its path.
    ``reread``: those of the ``changed`` documents that older readers or chunkers had made, even if their file is
    unchanged. ``error``: why the source could not be read at all; ``degraded``: why chunks have no vectors yet.
    ``part`` distinguishes the source from others at its location ``source``; ``paths``: only these and what is below
    them were read, empty means all. ``include`` and ``exclude``: its patterns; ``before``: those of its patterns and
    its ref that differed in the previous run. ``overlaps``: other sources of the collection with common files.
    ``requests``, ``tokens`` and ``dollars``: usage of an embedding provider; None means that the price is unknown.
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
        """Return how many files were skipped or failed, by reason."""
        return Counter(entry.reason for entry in [*self.skipped, *self.failed])

    def spend(self, stage: str, seconds: float) -> None:
        """Add ``seconds`` to the time of a stage."""
        self.seconds[stage] = self.seconds.get(stage, 0.0) + seconds

    @contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        """Add the time spent in this context to a stage, also if it fails."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.spend(stage, time.perf_counter() - start)
