"""Records how long each stage of a search takes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from pinakes.core import interrupt
from pinakes.core.records import JSON, Stage, Trace


class Tracer:
    """Collects the stages of a search.

    ``overtaken``: chunks of the index were deleted before hydration, and the index will soon learn of it.
    """

    def __init__(self) -> None:
        self.overtaken = False
        self._start = time.perf_counter()
        self._stages: list[Stage] = []

    @contextmanager
    def stage(self, name: str) -> Iterator[dict[str, JSON]]:
        """Time a stage; entries that the body adds to the dict become the stage's detail.

        Raises:
            Busy: the current call is to be interrupted.
        """
        interrupt.check()
        detail: dict[str, JSON] = {}
        start = time.perf_counter()
        yield detail
        self._stages.append(Stage(name, (time.perf_counter() - start) * 1000, detail))

    def trace(self) -> Trace:
        """Return the stages so far, and the total time."""
        return Trace(tuple(self._stages), (time.perf_counter() - self._start) * 1000)
