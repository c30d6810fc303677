"""When requests are sent to a model server: within its rate limits, and again after transient errors."""

from __future__ import annotations

import random
import threading
import time
from collections import deque
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from typing import TypeVar

from pinakes.core.errors import ModelUnavailable

T = TypeVar("T")

FIRST_WAIT_S = 0.5
MOST_WAIT_S = 60.0
_PASSING = frozenset((0, 408, 409, 425, 429))


def is_transient(error: ModelUnavailable) -> bool:
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
            if not is_transient(error) or (until is not None and clock() + wait_s >= until):
                raise
            sleep(wait_s)
    return ask()


WINDOW_S = 60.0
_FOR_QUESTIONS = 10
"""One request in this many is reserved for queries, so that long runs do not block searches."""


class Pace:
    """A sliding window of 60 seconds that counts what was sent in it. Thread-safe.

    ``requests`` and ``tokens``: the limits per window, 0: none. A single request above the token limit is sent when the
    window is empty.
    """

    def __init__(self, requests: int = 0, tokens: int = 0, clock: Callable[[], float] = time.monotonic) -> None:
        self._requests = requests
        self._tokens = tokens
        self._clock = clock
        self._lock = threading.Lock()
        self._sent: deque[tuple[float, int]] = deque()
        self._in_window = 0

    def take(self, tokens: int, *, question: bool = False) -> float:
        """Count a request of ``tokens`` as sent and return 0, or return how many seconds it must wait."""
        with self._lock:
            now = self._clock()
            while self._sent and self._sent[0][0] <= now - WINDOW_S:
                self._in_window -= self._sent.popleft()[1]
            wait_s = max(self._wait_for_place(now, question), self._wait_for_tokens(now, tokens))
            if wait_s <= 0:
                self._sent.append((now, tokens))
                self._in_window += tokens
            return max(0.0, wait_s)

    def _wait_for_place(self, now: float, question: bool) -> float:
        if not self._requests:
            return 0.0
        most = self._requests if question else max(1, self._requests - self._requests // _FOR_QUESTIONS)
        return 0.0 if len(self._sent) < most else self._sent[len(self._sent) - most][0] + WINDOW_S - now

    def _wait_for_tokens(self, now: float, tokens: int) -> float:
        left = self._in_window + tokens - self._tokens
        if not self._tokens or left <= 0:
            return 0.0
        for sent_at, of_it in self._sent:
            left -= of_it
            if left <= 0:
                return sent_at + WINDOW_S - now
        return self._sent[-1][0] + WINDOW_S - now if self._sent else 0.0
