"""Debounce of changed paths: they are held back while something is still written to them."""

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
"""With more paths, the whole folder is scanned once no further ones come: faster than each path by itself."""

_MOST_HELD_S = 1.0
"""Seconds for which settled paths wait for others that still change."""

_LONGEST_S = 10.0
"""Seconds after which a path that never settles is read all the same."""


@dataclass(slots=True)
class _Seen:
    first: float
    since: float
    state: _FileState


class Debounce:
    """Collects changed paths and returns them once their files have settled, together if that is soon."""

    def __init__(self, root: Path, settle_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._root = root
        self._settle_s = settle_s
        self._clock = clock
        self._seen: dict[str, _Seen] = {}
        self._first = self._last = 0.0

    def add(self, paths: Iterable[str]) -> None:
        """Add paths, relative to the folder; a path that is here already has to settle again."""
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
        """Return the settled paths, and forget them; ``EVERYTHING`` alone if they are many."""
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
    """Return size, modification time and inode of a path, None if nothing is there."""
    try:
        status = os.lstat(root / path)
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns, status.st_ino
