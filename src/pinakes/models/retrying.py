"""Asking again where a model's server is only busy or away for a moment."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from typing import TypeVar

from pinakes.core.errors import ModelUnavailable

T = TypeVar("T")

FIRST_WAIT_S = 0.5
MOST_WAIT_S = 60.0
_PASSING = frozenset((0, 408, 409, 425, 429))


def is_passing(error: ModelUnavailable) -> bool:
    """Say whether it may go well a moment later: nobody answered, or the server is busy or in trouble."""
    return error.status is not None and (error.status in _PASSING or error.status >= 500)


def asked_wait_s(header: str) -> float | None:
    """Return what ``Retry-After`` says in seconds, which may also be a date; None where it says nothing of use."""
    try:
        if header.strip().isdigit():
            return float(header)
        return max(0.0, parsedate_to_datetime(header).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None


def wait_before(attempt: int, error: ModelUnavailable, chance: Callable[[], float] = random.random) -> float:
    """Return how long to wait before the next attempt, in seconds; ``attempt``: so many were made, from 1.

    What the server asks for, else twice as long each time, of which a random half is left out.
    """
    if error.wait_s is not None:
        return min(error.wait_s, MOST_WAIT_S)
    return min(FIRST_WAIT_S * 2.0 ** (attempt - 1), MOST_WAIT_S) * (0.5 + chance() / 2)


def retried(
    ask: Callable[[], T],
    retries: int,
    until: float | None = None,
    *,
    sleep: Callable[[float], object] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> T:
    """Return what ``ask`` does; where it fails in passing, it is asked again, up to ``retries`` times.

    ``until``: a time by ``clock`` after which it is not asked again.

    Raises:
        ModelUnavailable: the last failure.
    """
    for attempt in range(1, retries + 1):
        try:
            return ask()
        except ModelUnavailable as error:
            wait_s = wait_before(attempt, error)
            if not is_passing(error) or (until is not None and clock() + wait_s >= until):
                raise
            sleep(wait_s)
    return ask()
