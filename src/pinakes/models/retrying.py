"""Retries of requests to a model server after transient errors."""

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
    """Return whether an error is transient: no answer, a busy server, or a server error."""
    return error.status is not None and (error.status in _PASSING or error.status >= 500)


def asked_wait_s(header: str) -> float | None:
    """Return the seconds in a ``Retry-After`` header, which may be a date; None if it is unusable."""
    try:
        if header.strip().isdigit():
            return float(header)
        return max(0.0, parsedate_to_datetime(header).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None


def wait_before(attempt: int, error: ModelUnavailable, chance: Callable[[], float] = random.random) -> float:
    """Return the seconds to wait before the next attempt; ``attempt``: number of attempts made, from 1.

    It is what the server asks for, else an exponential backoff with up to half of it taken off at random.
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
    """Return the result of ``ask``; after a transient error, retry up to ``retries`` times.

    ``until``: a deadline by ``clock`` after which it is not retried.

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
