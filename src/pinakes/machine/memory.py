"""How the C library keeps memory that is free."""

from __future__ import annotations

import ctypes
from contextlib import suppress

_M_ARENA_MAX = -8
"""The number of the option in ``malloc.h`` of the GNU C library."""

_ARENAS = 2


def share_arenas() -> None:
    """Have all threads of this process share what is free. Where the C library is not GNU's, nothing happens.

    It keeps up to eight heaps a core otherwise, and each thread that comes and goes, as those of an index that is
    written do, leaves the most it ever needed in one of them.
    """
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, _ARENAS)


def give_back() -> None:
    """Give the system what is free within the heaps. Where the C library is not GNU's, nothing happens.

    The C library keeps what was freed between things that are in use, as much as half of the memory of an ingest.
    """
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
