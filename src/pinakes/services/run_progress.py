"""Progress of a long run: stage, rate and time left, in words and as numbers."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator
from typing import TYPE_CHECKING

from pinakes.core import interrupt
from pinakes.core.wording import percent

if TYPE_CHECKING:
    from pinakes.ingestion.report import Event

LINE_EVERY_S = 5.0
_SAID = {
    "wait": "waiting for the other process",
    "elsewhere": "another process embeds the rest",
    "graph": "building the graph",
}
FOUND_BY_WORDS = "what is read can be found by words"


def drain(events: Iterator[Event], on_event: Callable[[Event], object] | None = None) -> None:
    """Run a flow to its end, passing its events on; whatever stops it, it keeps what it made."""
    try:
        for event in events:
            interrupt.check()
            if on_event is not None:
                on_event(event)
    finally:
        if isinstance(events, Generator):
            events.close()


class RunProgress:
    """Follows the events of a run: puts them into words and estimates how far it is.

    A batch is read first and then embedded, which takes longest; so once a batch was embedded, only files
    whose batch is embedded count as done. Once the collection is searchable, chunks with exact vectors do.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._begin()

    def _begin(self) -> None:
        self._start = self._clock()
        self._embedding_since: float | None = None
        self._files = self._total = self._committed = 0
        self._settled: float = 0
        self._before = 0
        self._embedded = self._batch = 0
        self._detail = ""
        self._stage = ""
        self._searchable = False
        self._exact_before = 0

    def see(self, event: Event) -> None:
        """Take note of ``event``."""
        if event.stage == "scan" and not event.total:  # another source
            self._begin()
        before, self._stage = self._stage, event.stage
        if event.stage == "searchable":
            self._searchable, self._start = True, self._clock()
            self._exact_before = self._settled = event.done
            self._total, self._batch = event.total, 0
        elif self._searchable:
            self._see_the_rest(event, before)
        elif event.stage == "read":
            self._files, self._total = event.done, event.total
        elif event.stage == "embed":
            self._see_embedded(event)
        elif event.stage == "commit":
            self._committed = self._files
        elif event.stage == "scan":
            self._detail = event.detail
        elif event.stage == "fetch":
            self._detail = f"{event.done:,} of {event.total:,} pages fetched"
        else:
            self._batch = 0

    def _see_embedded(self, event: Event) -> None:
        if self._embedding_since is None:
            self._embedding_since = self._clock()
        self._embedded += event.done - self._batch
        self._batch = event.done
        self._settled = self._before + (self._files - self._before) * event.done / max(1, event.total)
        if event.done >= event.total:
            self._before, self._batch = self._files, 0

    def _see_the_rest(self, event: Event, before: str) -> None:
        """Count chunks as they become exact; a text that stands in several is embedded once."""
        if event.stage == "embed":
            self._settled = min(self._settled + event.done - self._batch, self._total)
            self._batch = event.done if event.done < event.total else 0
        elif (before, event.stage) == ("embed", "index"):
            self._settled = self._total - (event.total - event.done)

    @property
    def done(self) -> float:
        """Files done, those of a batch in the share of its chunks that are embedded; exact chunks once searchable."""
        return self._files if self._embedding_since is None and not self._searchable else self._settled

    @property
    def total(self) -> int:
        """Files, or chunks once it is searchable; 0 while that is not known."""
        return self._total

    def words(self) -> str:
        """Say where the run stands: stage, files, chunks embedded, rate and time left."""
        if self._stage in _SAID:
            return _SAID[self._stage]
        if self._stage == "fetch":
            return self._detail
        if self._stage == "scan" and not self._total:
            return f"looking through {self._detail}" if self._detail else "looking"
        if self._searchable:
            return self._words_of_embedding()
        parts = [f"{self._files:,} of {self._total:,} files read"] if self._total else []
        if self._embedding_since is not None:
            parts.append(f"{self._embedded:,} chunks embedded")
            parts += self._rate(self._embedded, self._embedding_since)
            if self._committed:
                parts.append(FOUND_BY_WORDS)
        elif self._stage == "index":
            parts.append("building the index")
        else:
            parts += self._rate(self._files, self._start)
        left = self.seconds_left()
        if left is not None:
            parts.append(f"{duration(left)} left")
        return ", ".join(parts)

    def _words_of_embedding(self) -> str:
        share = percent(self._settled / self._total if self._total else 1.0)
        words = f"searchable; {share} exact ({self._settled:,.0f} of {self._total:,} chunks)"
        left = self.seconds_left()
        rest = [] if left is None else [f"{duration(left)} left"]
        return ", ".join([words, *self._rate(self._settled - self._exact_before, self._start), *rest])

    def reached(self) -> str:
        """Say how far a run is that ends here; "" before anything was read."""
        if self._searchable:
            return f"{self._settled:,.0f} of {self._total:,} chunks with exact vectors"
        if not self._files:
            return ""
        embedded = f", {self._embedded:,} chunks embedded" if self._embedding_since is not None else ""
        return f"{self._committed:,} of {self._total:,} files{embedded}"

    def _rate(self, number: float, since: float) -> list[str]:
        seconds = self._clock() - since
        rate = number / seconds if seconds >= 1 else 0.0
        return [f"{rate:,.0f} per second" if rate >= 10 else f"{rate:.1f} per second"] if rate else []

    def seconds_left(self) -> float | None:
        """Return the estimated time left in seconds, None while there is too little to go by."""
        passed = self._clock() - self._start
        gained, all_of_it = self.done - self._exact_before, self._total - self._exact_before
        share = gained / all_of_it if all_of_it else 0.0
        return passed * (1 - share) / share if passed > 2 and 0.01 < share < 1 else None


def duration(seconds: float) -> str:
    """Return a length of time in the words of a progress line."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
