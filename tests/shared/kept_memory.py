"""How a process of tests gets its memory from the system."""

from __future__ import annotations

import ctypes

_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -2, -3, -8
"""Names of glibc's ``mallopt``."""


def keep_memory() -> None:
    """Keep what is freed, up to a gigabyte, in one arena for all threads, where the C library is glibc.

    Opening and writing an index takes and frees tens of megabytes: to map and to clear them is half of that work.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        for name, value in ((_TRIM_THRESHOLD, 2**30), (_MMAP_THRESHOLD, 2**30), (_TOP_PAD, 2**26), (_ARENA_MAX, 1)):
            mallopt(name, value)
