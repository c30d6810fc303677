"""How long each step of a search takes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from pinakes.core import interrupt
from pinakes.core.records import JSON, Stage, Trace


class Tracer:
    """Collects the stages of a search.

    ``overtaken``: chunks that the index had were gone when they were looked up, and it is about to learn of that.
    """

    def __init__(self) -> None:
        self.overtaken = False
        self._start = time.perf_counter()
        self._stages: list[Stage] = []

    @contextmanager
    def stage(self, name: str) -> Iterator[dict[str, JSON]]:
        """Time a step; what the body puts into the dict becomes the stage's detail.

        Raises:
            Busy: the call under way is to end.
        """
        interrupt.check()
        detail: dict[str, JSON] = {}
        start = time.perf_counter()
        yield detail
        self._stages.append(Stage(name, (time.perf_counter() - start) * 1000, detail))

    def trace(self) -> Trace:
        """Return what was collected so far."""
        return Trace(tuple(self._stages), (time.perf_counter() - self._start) * 1000)
