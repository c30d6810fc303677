"""Whether searches are running, for work that should wait while they are."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Traffic:
    """Counts the searches that are running. Thread-safe."""

    def __init__(self) -> None:
        self._running = 0
        self._changed = threading.Condition()

    @contextmanager
    def search(self) -> Iterator[None]:
        """Count as a running search within the block."""
        with self._changed:
            self._running += 1
        try:
            yield
        finally:
            with self._changed:
                self._running -= 1
                if not self._running:
                    self._changed.notify_all()

    def wait_for_none(self, timeout_s: float) -> bool:
        """Wait until no search is running, at most ``timeout_s`` seconds; return whether none is."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._running, timeout_s)
