"""When Python looks for garbage, and how the C library keeps memory that is free."""

from __future__ import annotations

import ctypes
import gc
from contextlib import suppress
from typing import Final

_COLLECTED_AFTER: Final = 10_000
_COLLECTED_AFTER_LOADED: Final = 200_000
"""Python looks for cycles after so many new objects. What a command loads are some 300,000, which stay."""

_M_ARENA_MAX = -8
"""The number of the option in ``malloc.h`` of the GNU C library."""

_ARENAS = 2


def load_uncollected() -> None:
    """Have Python hardly look for cycles while a command is loaded, which takes a tenth of that time otherwise.

    What goes on for long calls ``collect_seldom`` then.
    """
    gc.set_threshold(_COLLECTED_AFTER_LOADED)


def collect_seldom() -> None:
    """Have Python look for cycles more seldom: of the time reading takes, it spends a fifth on that otherwise.

    What there is now is not looked at any more: call it where little of that is garbage.
    """
    gc.freeze()
    gc.set_threshold(_COLLECTED_AFTER)


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
