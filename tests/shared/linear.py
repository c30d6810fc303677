"""Whether the time of something is linear in the length of its input, on a machine of any speed and load."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

MOST_RATIO = 10
"""Four times the input takes about 4 times as long in linear time and 16 times as long in quadratic time."""

_FLOOR_S = 0.005
_Input = TypeVar("_Input")


def assert_linear(work: Callable[[_Input], object], make: Callable[[int], _Input], size: int) -> None:
    """Assert that ``work`` on ``make(size)`` takes at most 10 times as long as on ``make(size // 4)``.

    The least processor time of up to three tries counts; a quarter that takes less than 5 ms counts as 5 ms. The
    whole comes first: what the first call loads or compiles then makes a try too slow, never one too fast.
    """
    part, whole = make(size // 4), make(size)
    part_s = whole_s = float("inf")
    for _ in range(3):
        whole_s = min(whole_s, _seconds(work, whole))
        part_s = min(part_s, _seconds(work, part))
        if whole_s <= MOST_RATIO * max(part_s, _FLOOR_S):
            return
    raise AssertionError(f"{part_s:.3f} s for a quarter, {whole_s:.3f} s for the whole")


def _seconds(work: Callable[[_Input], object], made: _Input) -> float:
    start = time.process_time()
    work(made)
    return time.process_time() - start
