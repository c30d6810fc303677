"""Rate limits: keeps requests and tokens per minute below a provider's limits, across threads."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable

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
