"""File descriptors of this process: how many are open, and how many may be."""

from __future__ import annotations

import logging
import os
import time
from pathlib import Path
from typing import Final

from pinakes.core.records import JSON

_log = logging.getLogger(__name__)

_LISTS: Final = (Path("/proc/self/fd"), Path("/dev/fd"))
_ENOUGH: Final = 65_536
_COUNT_EVERY_S: Final = 0.2
_LOG_EVERY_S: Final = 60.0
_FEW: Final = 8
_MOST_KEPT_FREE: Final = 256
"""For the catalogue, indexes and files that are read, beside the connections."""


class Descriptors:
    """The descriptors of this process. Thread-safe."""

    def __init__(self) -> None:
        self.most = _limit()
        self._kept_free = min(_MOST_KEPT_FREE, self.most // 3)
        self._open = self._others = 0
        self._counted_at = float("-inf")
        self._logged_at = float("-inf")

    def most_connections(self, connections: int) -> int:
        """Return how many connections there may be, where ``connections`` of what is open are such."""
        if time.monotonic() - self._counted_at >= _COUNT_EVERY_S:
            self.count_open()
            self._others = self._open - connections
        return max(1, self.most - self._kept_free - self._others)

    def count_open(self) -> None:
        """Count what is open, and tell where hardly any more can be opened."""
        self._open, self._counted_at = _count(self.most), time.monotonic()
        if self.most - self._open < _FEW and self._counted_at - self._logged_at >= _LOG_EVERY_S:
            self._logged_at = self._counted_at
            _log.warning(
                "%d of %d files and connections are open that this process may have; `ulimit -n` raises the limit",
                self._open,
                self.most,
            )

    def status(self) -> dict[str, JSON]:
        """Return how many are open, and how many may be."""
        self.count_open()
        return {"open": self._open, "most": self.most}


def raise_limit() -> None:
    """Let this process open as many files as it is allowed to."""
    if os.name != "posix":
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _ENOUGH if hard == resource.RLIM_INFINITY else min(hard, _ENOUGH)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _limit() -> int:
    if os.name != "posix":
        return _ENOUGH
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _ENOUGH if soft == resource.RLIM_INFINITY else soft


def _count(most: int) -> int:
    """Return how many descriptors are open; where not even a list of them can be, all are."""
    for folder in _LISTS:
        try:
            return len(os.listdir(folder)) - 1  # noqa: PTH208 - which is quicker, and done often
        except FileNotFoundError:
            continue
        except OSError:
            return most
    return 0
