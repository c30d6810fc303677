"""The cursor of each webhook, and the posts that could not be delivered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, bindparam, case, delete, insert, select, update

from pinakes.catalog import events
from pinakes.catalog.engine import now
from pinakes.catalog.schema import undelivered, webhooks
from pinakes.core.records import JSON

_MOST_ERROR_CHARS = 500
_LAID_ASIDE = (
    select(*(undelivered.c[field] for field in ("id", "at", "events", "tries", "error")))
    .where(undelivered.c.webhook == bindparam("name"))
    .order_by(undelivered.c.id)
)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an address was told: up to the event ``position``. Times are ISO 8601 in UTC, None where there is none.

    ``delivered`` counts events. ``missed``: events that were dropped before they could be delivered. ``tries``: how
    often the next post failed by now, at last for ``error``; it is sent again at ``retry_at``.
    """

    name: str
    position: int
    since: str
    delivered: int = 0
    delivered_at: str | None = None
    missed: int = 0
    tries: int = 0
    retry_at: str | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class FailedDelivery:
    """A post that failed too often, at last for ``error``: the events it has, as they are told."""

    id: int
    at: str
    events: list[dict[str, JSON]]
    tries: int
    error: str


def find_progress(connection: Connection, name: str) -> Progress | None:
    """Return how far an address was told, None where nothing is known of it."""
    row = connection.execute(select(webhooks).where(webhooks.c.name == name)).first()
    return None if row is None else Progress(**row._asdict())


def begin(connection: Connection, name: str) -> Progress:
    """Return how far an address was told; one that is new is told of what happens from now on."""
    found = find_progress(connection, name)
    if found is None:
        found = Progress(name, events.newest(connection), now())
        values = {"name": name, "position": found.position, "since": found.since}
        connection.execute(insert(webhooks).values(**values))
    return found


def passed(connection: Connection, name: str, position: int, *, delivered: int = 0, missed: int = 0) -> None:
    """Note that all events up to ``position`` are done with, of which some were ``delivered``, others ``missed``."""
    values: dict[str, Any] = {
        "position": position,
        "missed": webhooks.c.missed + missed,
        "tries": 0,
        "retry_at": None,
    }
    if delivered:
        values |= {"delivered": webhooks.c.delivered + delivered, "delivered_at": now(), "error": None}
    connection.execute(update(webhooks).where(webhooks.c.name == name).values(**values))


def failed(connection: Connection, name: str, error: str, tries: int, retry_at: str) -> None:
    """Note that a post failed, and when it is sent again."""
    values = {"error": error[:_MOST_ERROR_CHARS], "tries": tries, "retry_at": retry_at}
    connection.execute(update(webhooks).where(webhooks.c.name == name).values(**values))


def keep_failed_post(
    connection: Connection, name: str, position: int, sent: Sequence[dict[str, JSON]], tries: int, error: str
) -> None:
    """Keep a post that failed too often, and go on behind it: behind the event ``position``."""
    values = {"webhook": name, "at": now(), "events": list(sent), "tries": tries, "error": error[:_MOST_ERROR_CHARS]}
    connection.execute(insert(undelivered).values(**values))
    passed(connection, name, position)


def failed_posts(connection: Connection, name: str) -> list[FailedDelivery]:
    """Return the posts to an address that failed too often, oldest first."""
    return [FailedDelivery(*row) for row in connection.execute(_LAID_ASIDE, {"name": name})]


def to_be_sent(connection: Connection, name: str) -> FailedDelivery | None:
    """Return the oldest post that failed too often and is to be sent once more."""
    row = connection.execute(_LAID_ASIDE.where(undelivered.c.again == 1).limit(1), {"name": name}).first()
    return None if row is None else FailedDelivery(*row)


def retry(connection: Connection, name: str) -> int:
    """Have what failed sent once more, and what waits for its time at once; return how many posts were laid aside."""
    connection.execute(update(webhooks).where(webhooks.c.name == name).values(retry_at=None))
    return int(connection.execute(update(undelivered).where(undelivered.c.webhook == name).values(again=1)).rowcount)


def delivered_at_last(connection: Connection, name: str, post: FailedDelivery) -> None:
    """Note that a post that was laid aside was delivered; why another failed is kept while that waits."""
    connection.execute(delete(undelivered).where(undelivered.c.id == post.id))
    count = webhooks.c.delivered + len(post.events)
    error = case((webhooks.c.tries > 0, webhooks.c.error), else_=None)
    values = {"delivered": count, "delivered_at": now(), "error": error}
    connection.execute(update(webhooks).where(webhooks.c.name == name).values(**values))


def failed_again(connection: Connection, post: FailedDelivery, error: str) -> None:
    """Note that a post that was laid aside failed once more; it stays there."""
    values = {"again": 0, "tries": post.tries + 1, "error": error[:_MOST_ERROR_CHARS]}
    connection.execute(update(undelivered).where(undelivered.c.id == post.id).values(**values))
