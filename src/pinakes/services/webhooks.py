"""Webhooks as jobs of a server: each reads events from its cursor and posts them in order.

What writes events never waits for them to be delivered. The cursor moves once a post was answered, so that each event
is delivered at least once, whatever ends in between. Of several servers of one home one tells an address at a time.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from pinakes.catalog import Catalog, events, webhooks
from pinakes.catalog.engine import now
from pinakes.catalog.jobs import Job
from pinakes.catalog.transactions import within
from pinakes.catalog.webhooks import Progress
from pinakes.core.errors import NotFound
from pinakes.core.records import JSON
from pinakes.core.schedules import pause_s
from pinakes.fetching import open_client
from pinakes.fetching.webhook_requests import Outcome, address, check, post
from pinakes.jobs.worker import Running, Task
from pinakes.services.events import Event, Events
from pinakes.settings import FetchSettings, Settings, WebhookSettings

if TYPE_CHECKING:
    from pinakes.fetching.client import Client

_log = logging.getLogger(__name__)

_FIRST_WAIT_S = 1.0
_MOST_WAIT_S = 3600.0
_WRONG_HERE_S = 60.0
_SKIPPED_AT_ONCE = 1000
"""So many events that an address is not told of are passed over before that is noted."""

_MOST_COUNTED = 10_000


class Webhooks(Task):
    """Telling addresses of events, as jobs of a server; for people: how far that is.

    Raises:
        InvalidSetting: two have one name, or an address cannot be one.
    """

    kind = "webhook"
    look_every_s = 0.25

    def __init__(self, catalog: Catalog, settings: Settings) -> None:
        hooks = settings.webhooks
        check(hooks)
        self.at_once = len(hooks)
        self._catalog, self._hooks, self._fetch = catalog, hooks, settings.fetch
        self.retry = within(catalog.write, webhooks.retry)
        self._senders = {f"webhook:{hook.name}": WebhookSender(catalog, hook) for hook in hooks}

    def due_jobs(self) -> Iterable[Job]:
        """Return a job for each address that is to be told of something now."""
        return [
            Job(key, self.kind, {"webhook": sender.name}) for key, sender in self._senders.items() if sender.is_due()
        ]

    def accepts(self, job: Job) -> bool:
        """Say whether an address is one of the settings."""
        return job.key in self._senders

    def run(self, running: Running) -> None:
        """Tell an address of all there is to tell now."""
        with closing(open_client(self._fetch)) as client:
            while self._senders[running.job.key].step(client):
                running.check()

    def status(self) -> list[dict[str, JSON]]:
        """Return how far each address was told, what waits for it, and what was laid aside."""
        return [self._status(hook) for hook in self._hooks]

    def _status(self, hook: WebhookSettings) -> dict[str, JSON]:
        row: dict[str, JSON] = {
            "name": hook.name,
            "address": address(hook),
            "events": list(hook.events),
            "collections": list(hook.collections),
            "signed": bool(hook.secret_variable),
        }
        kinds, within = hook.events, hook.collections or None
        with self._catalog.read() as connection:
            progress = webhooks.find_progress(connection, hook.name)
            aside = webhooks.failed_posts(connection, hook.name)
            after = None if progress is None else progress.position
            ahead = [] if after is None else events.after(connection, after, _MOST_COUNTED, kinds, within)
        row |= {"begun": progress is not None, "waiting": len(ahead)}
        empty: dict[str, JSON] = dict.fromkeys(("delivered", "missed", "tries"), 0)
        empty |= dict.fromkeys(("since", "delivered_at", "retry_at", "error"))
        known = empty if progress is None else asdict(progress)
        row |= {name: known[name] for name in empty}
        return row | {"laid_aside": [asdict(one) for one in aside]}


class WebhookSender:
    """Tells one address of events, in order, one post at a time."""

    def __init__(self, catalog: Catalog, hook: WebhookSettings) -> None:
        self._catalog, self._hook, self.name = catalog, hook, hook.name
        self._events = Events(catalog)
        self._seen = 0
        self._failing = 0

    def is_due(self) -> bool:
        """Say whether there is something to do now."""
        progress = self._begin()
        with self._catalog.read() as connection:
            if webhooks.to_be_sent(connection, self.name):
                return True
        if _waits(progress):
            return False
        found, seen, lost = self._find(progress)
        if found or _must_note(progress, seen, lost):
            return True
        self._seen = seen
        return False

    def step(self, client: Client) -> bool:
        """Send one post, if there is anything to tell and it is time; say whether there may be more."""
        progress = self._begin()
        if self._send_again(client):
            return True
        if _waits(progress):
            return False
        found, self._seen, lost = self._find(progress)
        if _must_note(progress, self._seen, lost):
            if lost:
                _log.warning("the webhook %s missed %d events: they were dropped", self.name, lost)
            with self._catalog.write() as connection:
                webhooks.passed(connection, self.name, self._seen, missed=lost)
        if not found:
            return False
        outcome = self._post(client, [one.as_data() for one in found])
        self._failing = found[-1].id if outcome.error else 0
        with self._catalog.write() as connection:
            if not outcome.error:
                webhooks.passed(connection, self.name, found[-1].id, delivered=len(found))
                return True
            tries = progress.tries + outcome.counts
            _log.warning("the webhook %s failed: %s", self.name, outcome.error)
            if tries >= self._hook.tries:
                data = [one.as_data() for one in found]
                webhooks.keep_failed_post(connection, self.name, found[-1].id, data, tries, outcome.error)
                return True
            wait_s = pause_s(tries, _FIRST_WAIT_S, _MOST_WAIT_S, self.name) if outcome.counts else _WRONG_HERE_S
            retry_at = datetime.now(UTC) + timedelta(seconds=wait_s)
            webhooks.failed(connection, self.name, outcome.error, tries, retry_at.isoformat())
        return False

    def _begin(self) -> Progress:
        with self._catalog.read() as connection:
            found = webhooks.find_progress(connection, self.name)
        if found is None:
            with self._catalog.write() as connection:
                found = webhooks.begin(connection, self.name)
        return found

    def _find(self, progress: Progress) -> tuple[list[Event], int, int]:
        """Return what to tell next, the last event before that, and how many were dropped."""
        hook, position = self._hook, max(self._seen, progress.position)
        upto, found, lost = self._events.after(position, hook.batch, hook.events, hook.collections or None)
        found = [one for one in found if one.id <= self._failing] or found  # what failed is sent as it was
        return found, found[0].id - 1 if found else max(upto, position), lost

    def _post(self, client: Client, data: Sequence[dict[str, JSON]]) -> Outcome:
        return post(client, self._hook, data, f"{self.name}-{data[0]['id']}-{data[-1]['id']}")

    def _send_again(self, client: Client) -> bool:
        """Send a post that was laid aside, if somebody wants that; say whether there was one."""
        with self._catalog.read() as connection:
            one = webhooks.to_be_sent(connection, self.name)
        if one is None:
            return False
        outcome = self._post(client, one.events)
        with self._catalog.write() as connection:
            if outcome.error:
                webhooks.failed_again(connection, one, outcome.error)
            else:
                webhooks.delivered_at_last(connection, self.name, one)
        return True


def named(hooks: Sequence[WebhookSettings], name: str) -> WebhookSettings:
    """Return the webhook that is called so.

    Raises:
        NotFound: there is none.
    """
    for hook in hooks:
        if hook.name == name:
            return hook
    there = ", ".join(hook.name for hook in hooks) or "none"
    raise NotFound(f"There is no webhook {name!r} in the settings.", hint=f"There are: {there}.")


def post_test(hook: WebhookSettings, fetch: FetchSettings) -> Outcome:
    """Post an event of the kind "test" now; return how that went."""
    event: dict[str, JSON] = {"id": 0, "at": now(), "kind": "test", "operation": "test", "collection": ""}
    with open_client(fetch) as client:
        return post(client, hook, [event], f"{hook.name}-test-{int(time.time() * 1000)}")


def _must_note(progress: Progress, seen: int, lost: int) -> bool:
    """Say whether so much is passed over that it is to be noted."""
    return lost > 0 or seen - progress.position >= _SKIPPED_AT_ONCE


def _waits(progress: Progress) -> bool:
    """Say whether the next post still has to wait; not where the clock was set back meanwhile."""
    if progress.retry_at is None:
        return False
    return 0 < (datetime.fromisoformat(progress.retry_at) - datetime.now(UTC)).total_seconds() <= 2 * _MOST_WAIT_S
