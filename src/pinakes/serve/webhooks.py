"""Tells addresses of what happens: a thread for each, which reads events behind a cursor and posts them in order.

What writes events never waits for them to be delivered. The cursor moves once a post was answered, so that each event
is delivered at least once, whatever ends in between. Of several servers of one home one tells an address at a time.
"""

from __future__ import annotations

import hashlib
import logging
import random
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta

from filelock import FileLock, Timeout

from pinakes.catalog import Catalog, events, webhooks
from pinakes.catalog.events import Event
from pinakes.catalog.webhooks import Progress
from pinakes.errors import PinakesError
from pinakes.fetching import open_client
from pinakes.fetching.client import Client
from pinakes.library import Library
from pinakes.posting import Outcome, check, post
from pinakes.settings import WebhookSettings

_log = logging.getLogger(__name__)

_LOOK_EVERY_S = 0.25
_FIRST_WAIT_S = 1.0
_MOST_WAIT_S = 3600.0
_WRONG_HERE_S = 60.0
_AFTER_FAILURE_S = 5.0
_SKIPPED_AT_ONCE = 1000
"""So many events that an address is not told of are passed over before that is noted."""

_STOP_TIMEOUT_S = 3.0


class Webhooks:
    """The threads of one server that tell addresses of events.

    Raises:
        InvalidSetting: two have one name, or an address cannot be one.
    """

    def __init__(self, library: Library) -> None:
        check(library.settings.webhooks)
        self._library = library
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []
        self._client: Client | None = None

    def start(self) -> None:
        """Begin; where no address is configured there is nothing to do."""
        if not self._library.settings.webhooks:
            return
        self._client = open_client(self._library.settings.fetch)
        for hook in self._library.settings.webhooks:
            teller = Teller(self._library, hook, self._client, self._stop)
            thread = threading.Thread(target=teller.run, name=f"pinakes-webhook-{hook.name}", daemon=True)
            thread.start()
            self._threads.append(thread)

    def end(self) -> None:
        """Ask the threads to end."""
        self._stop.set()

    def stop(self) -> bool:
        """Ask the threads to end and wait a little; say whether they did. What was not answered is sent again."""
        self.end()
        until = time.monotonic() + _STOP_TIMEOUT_S
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))
        ended = not any(thread.is_alive() for thread in self._threads)
        if ended and self._client is not None:
            self._client.close()
        return ended


class Teller:
    """Tells one address of events, in order, one post at a time."""

    def __init__(self, library: Library, hook: WebhookSettings, client: Client, stop: threading.Event) -> None:
        self._catalog: Catalog = library.shelves.catalog
        self._hook, self._client, self._stop = hook, client, stop
        digest = hashlib.sha256(hook.name.encode()).hexdigest()[:12]
        self._lock = FileLock(library.settings.home / f"webhook-{digest}.lock")
        self._seen = 0
        self._failing = 0

    def run(self) -> None:
        """Do so until the server ends."""
        while not self._stop.is_set() and not self._alone():
            self._stop.wait(_LOOK_EVERY_S)
        try:
            with suppress(PinakesError):  # the catalogue is busy: the first round tries again
                self._begin()
            while not self._stop.is_set():
                try:
                    wait_s = self.step()
                except PinakesError as error:
                    _log.warning("the webhook %s waits: %s", self._hook.name, error)
                    wait_s = _AFTER_FAILURE_S
                if wait_s:
                    self._stop.wait(wait_s)
        finally:
            self._lock.release()

    def step(self) -> float:
        """Send one post, if there is anything to tell and it is time; return after how many seconds to look again."""
        progress = self._begin()
        if self._send_again():
            return 0
        if (left := _left(progress)) > 0:
            return min(left, _LOOK_EVERY_S)
        found, newest = self._next(progress)
        if not found:
            return _LOOK_EVERY_S
        outcome = self._post(found)
        self._failing = found[-1].id if outcome.error else 0
        with self._catalog.write() as connection:
            if not outcome.error:
                webhooks.passed(connection, self._hook.name, found[-1].id, delivered=len(found))
                return 0 if found[-1].id < newest else _LOOK_EVERY_S
            tries = progress.tries + outcome.counts
            _log.warning("the webhook %s failed: %s", self._hook.name, outcome.error)
            if tries >= self._hook.tries:
                told = [one.as_data() for one in found]
                webhooks.lay_aside(connection, self._hook.name, found[-1].id, told, tries, outcome.error)
                return 0
            retry_at = datetime.now(UTC) + timedelta(seconds=wait_after(tries) if outcome.counts else _WRONG_HERE_S)
            webhooks.failed(connection, self._hook.name, outcome.error, tries, retry_at.isoformat())
        return 0

    def _begin(self) -> Progress:
        with self._catalog.read() as connection:
            found = webhooks.known(connection, self._hook.name)
        if found is None:
            with self._catalog.write() as connection:
                found = webhooks.begin(connection, self._hook.name)
        return found

    def _next(self, progress: Progress) -> tuple[list[Event], int]:
        """Return what to tell next, and the number of the newest event; pass over what the address is not told of."""
        hook, position = self._hook, max(self._seen, progress.position)
        with self._catalog.read() as connection:
            newest = events.newest(connection)
            if newest <= position:
                return [], newest
            lost = events.missed(connection, position)
            found = events.after(connection, position, hook.batch, hook.events, hook.collections or None)
        found = [one for one in found if one.id <= self._failing] or found  # what failed is sent as it was
        if lost:
            _log.warning("the webhook %s missed %d events: they were dropped", hook.name, lost)
        self._seen = found[0].id - 1 if found else newest
        if lost or self._seen - progress.position >= _SKIPPED_AT_ONCE:
            with self._catalog.write() as connection:
                webhooks.passed(connection, hook.name, self._seen, missed=lost)
        return found, newest

    def _post(self, found: Sequence[Event]) -> Outcome:
        delivery = f"{self._hook.name}-{found[0].id}-{found[-1].id}"
        return post(self._client, self._hook, [one.as_data() for one in found], delivery)

    def _send_again(self) -> bool:
        """Send a post that was laid aside, if somebody wants that; say whether there was one."""
        with self._catalog.read() as connection:
            one = webhooks.to_be_sent(connection, self._hook.name)
        if one is None:
            return False
        delivery = f"{self._hook.name}-{one.events[0]['id']}-{one.events[-1]['id']}"
        outcome = post(self._client, self._hook, one.events, delivery)
        with self._catalog.write() as connection:
            if outcome.error:
                webhooks.failed_again(connection, one, outcome.error)
            else:
                webhooks.delivered_at_last(connection, self._hook.name, one)
        return True

    def _alone(self) -> bool:
        try:
            self._lock.acquire(blocking=False)
        except Timeout:
            return False
        except OSError as error:
            _log.warning("the webhook %s waits: %s", self._hook.name, error)
            return False
        return True


def wait_after(tries: int) -> float:
    """Return how long to wait after so many failures, in seconds: twice as long each time, a random half left out."""
    return min(_FIRST_WAIT_S * 2.0 ** min(tries - 1, 20), _MOST_WAIT_S) * (0.5 + random.random() / 2)


def _left(progress: Progress) -> float:
    """Return how long the next post still has to wait; not at all where the clock was set back meanwhile."""
    if progress.retry_at is None:
        return 0
    left = (datetime.fromisoformat(progress.retry_at) - datetime.now(UTC)).total_seconds()
    return left if left <= _MOST_WAIT_S else 0
