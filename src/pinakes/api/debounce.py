"""Paths that changed, held back while something is still written to them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

EVERYTHING = ""
"""The path of the folder itself: all of it is to be looked at."""

_FileState: TypeAlias = tuple[int, int, int] | None

_MOST_PATHS = 1000
"""With more, everything is looked at once there are no further ones: that takes less time than each by itself."""

_MOST_HELD_S = 1.0
"""What stays the same is not held back longer for what does not."""

_LONGEST_S = 10.0
"""What is written to all the time is read so often."""


@dataclass(slots=True)
class _Seen:
    first: float
    since: float
    state: _FileState


class Debounce:
    """Takes paths that changed and gives them back when they stay as they are, together where that is soon."""

    def __init__(self, root: Path, settle_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._root = root
        self._settle_s = settle_s
        self._clock = clock
        self._seen: dict[str, _Seen] = {}
        self._first = self._last = 0.0

    def add(self, paths: Iterable[str]) -> None:
        """Take paths, relative to the folder; one that is here already begins anew."""
        now = self._clock()
        for path in paths:
            if not self._seen:
                self._first = now
            self._last = now
            known = self._seen.get(path)
            if known is None:
                self._seen[path] = _Seen(now, now, _state_of(self._root, path))
            else:
                known.since = now

    def ready(self) -> frozenset[str]:
        """Return the paths to look at now, and forget them; ``EVERYTHING`` alone where they are many."""
        now = self._clock()
        if EVERYTHING in self._seen or len(self._seen) > _MOST_PATHS:
            if now - self._last < self._settle_s and now - self._first < _LONGEST_S:
                return frozenset()
            self._seen.clear()
            return frozenset({EVERYTHING})
        settled = {path: seen for path, seen in self._seen.items() if self._has_settled(path, seen, now)}
        longest = max((now - seen.since for seen in settled.values()), default=0.0)
        if len(settled) < len(self._seen) and longest < self._settle_s + _MOST_HELD_S:
            return frozenset()
        for path in settled:
            del self._seen[path]
        return frozenset(settled)

    def _has_settled(self, path: str, seen: _Seen, now: float) -> bool:
        state = _state_of(self._root, path)
        if state != seen.state:
            seen.state, seen.since = state, now
        return now - seen.since >= self._settle_s or now - seen.first >= _LONGEST_S


def _state_of(root: Path, path: str) -> _FileState:
    """Return what changes while something is written to a path, None where nothing is there."""
    try:
        status = os.lstat(root / path)
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns, status.st_ino
