"""Tuning of Python's garbage collector, and of how the C library keeps free memory."""

from __future__ import annotations

import ctypes
import gc
from contextlib import suppress
from typing import Final

_COLLECTED_AFTER: Final = 10_000
_COLLECTED_AFTER_LOADED: Final = 200_000
"""New objects between collections. A command creates about 300,000 objects at start, which stay."""

_M_ARENA_MAX = -8
"""The number of the option M_ARENA_MAX in ``malloc.h`` of the GNU C library."""

_ARENAS = 2


def load_uncollected() -> None:
    """Make garbage collection rare while a command starts, which otherwise takes a tenth of that time.

    Long-running code then calls ``collect_seldom``.
    """
    gc.set_threshold(_COLLECTED_AFTER_LOADED)


def collect_seldom() -> None:
    """Make garbage collection less frequent, which otherwise takes a fifth of the time of reading files.

    Existing objects are no longer collected: call this while there is little garbage.
    """
    gc.freeze()
    gc.set_threshold(_COLLECTED_AFTER)


def share_arenas() -> None:
    """Limit the number of malloc arenas, so that threads share free memory. No effect without the GNU C library.

    By default there are up to eight arenas per core, and each short-lived thread, such as those that write an index,
    leaves memory of its peak size in one of them.
    """
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, _ARENAS)


def give_back() -> None:
    """Return free heap memory to the system. No effect without the GNU C library.

    The C library keeps freed memory between blocks in use: up to half of the memory of an ingest.
    """
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
