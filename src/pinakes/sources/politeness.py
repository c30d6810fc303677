"""Politeness towards hosts: robots.txt, delays between requests, and giving up on hosts that do not answer."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from pinakes.core.errors import PinakesError, Refused, SourceError, TooLarge
from pinakes.models.retrying import asked_wait_s
from pinakes.settings import FetchSettings

if TYPE_CHECKING:
    from protego import Protego

    from pinakes.fetching.client import Client, Fetched

AGENT: Final = "pinakes"
"""Our user agent name in robots.txt."""

_MOST_ROBOTS_BYTES: Final = 1_000_000
_LONGEST_DELAY_S: Final = 60.0
"""The maximum delay between two requests, even if a host asks for more."""

_FAILURES: Final = 5
"""Consecutive failures after which a host is not asked again in this run."""

_LATER: Final = frozenset((429, 503))


@dataclass(slots=True)
class _Host:
    """A host: the earliest time of the next request, and its robots.txt. ``rules`` None: everything is allowed."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    next_at: float = 0.0
    delay_s: float = 0.0
    failures: int = 0
    known: bool = False
    rules: Protego | None = None
    trouble: str = ""


class Politeness:
    """Sends requests to hosts politely. Thread-safe; for one run.

    ``wait``: pauses for a number of seconds, and raises if the run is cancelled.
    """

    def __init__(self, client: Client, settings: FetchSettings, wait: Callable[[float], object]) -> None:
        self._client = client
        self._settings = settings
        self._wait = wait
        self._hosts: dict[str, _Host] = {}
        self._lock = threading.Lock()

    def refusal(self, url: str) -> str | None:
        """Return why the robots.txt of its host disallows ``url``, None if it is allowed.

        Raises:
            SourceError: the robots.txt cannot be fetched at present, so nothing may be requested.
            Refused: the host is not on the public network, and not allowed by the settings.
        """
        if not self._settings.robots:
            return None
        host = self._host(url)
        with host.lock:
            if not host.known:
                self._learn(host, url)
        if host.trouble:
            raise SourceError(host.trouble, hint="Nothing is fetched from there until it can be read.")
        if host.rules is None or host.rules.can_fetch(url, AGENT):
            return None
        return "Its host's robots.txt does not allow it"

    def get(self, url: str, *, max_bytes: int, headers: Mapping[str, str]) -> Fetched:
        """Request ``url`` when its host's delay has passed; retry once if the host asks to retry later.

        Raises:
            PinakesError: see ``Client.get``; also if the host failed several times in a row.
        """
        host = self._host(url)
        answer = self._request(host, url, max_bytes, headers)
        if answer.status in _LATER and (wait_s := _wait_s(answer)) is not None:
            with host.lock:
                host.next_at = max(host.next_at, time.monotonic() + wait_s)
            answer = self._request(host, url, max_bytes, headers)
        return answer

    def _request(self, host: _Host, url: str, max_bytes: int, headers: Mapping[str, str]) -> Fetched:
        if host.failures >= _FAILURES:
            raise SourceError("Its host did not answer several times, and is not asked again for now.")
        self._await_turn(host)
        try:
            answer = self._client.get(url, max_bytes=max_bytes, headers=headers)
        except SourceError:
            host.failures += 1
            raise
        host.failures = 0
        return answer

    def _await_turn(self, host: _Host) -> None:
        with host.lock:
            at = max(host.next_at, time.monotonic())
            host.next_at = at + max(host.delay_s, self._settings.delay_s)
        while (left := at - time.monotonic()) > 0:
            self._wait(left)

    def _host(self, url: str) -> _Host:
        parts = urlsplit(url)
        with self._lock:
            return self._hosts.setdefault(f"{parts.scheme}://{parts.netloc}", _Host())

    def _learn(self, host: _Host, url: str) -> None:
        from protego import Protego

        parts = urlsplit(url)
        at = f"{parts.scheme}://{parts.netloc}/robots.txt"
        try:
            answer = self._client.get(at, max_bytes=_MOST_ROBOTS_BYTES)
        except TooLarge:  # treat an oversized robots.txt as empty
            host.known = True
            return
        except Refused:
            raise
        except PinakesError as error:
            host.trouble, host.known = f"{at} cannot be read: {error.message}", True
            return
        host.known = True
        if answer.status >= 500 or answer.status == 429:
            host.trouble = f"{at} cannot be read: status {answer.status}."
        elif answer.is_success:
            host.rules = Protego.parse(answer.body.decode("utf-8-sig", "replace"))
            host.delay_s = min(float(host.rules.crawl_delay(AGENT) or 0), _LONGEST_DELAY_S)
        host.next_at = time.monotonic() + max(host.delay_s, self._settings.delay_s)


def _wait_s(answer: Fetched) -> float | None:
    """Return the seconds that the host asks to wait, None if it does not, or asks for too long."""
    wait_s = asked_wait_s(answer.headers.get("retry-after", ""))
    return wait_s if wait_s is not None and wait_s <= _LONGEST_DELAY_S else None
