"""Heartbeats of servers and workers of a shared catalogue, with the positions of their indexes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from sqlalchemy import Connection, delete, func, select

from pinakes.catalog.dialects.functions import clock
from pinakes.catalog.dialects.upsert import insert
from pinakes.catalog.schema import changes, servers

EVERY_S: Final = 5.0
STALE_S: Final = 3 * EVERY_S + 1
"""Who has not been heard of for so long counts as stopped."""

_FORGOTTEN_S: Final = 24 * 3600.0


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """A process with a part in the work: its name, where it runs and since when, in seconds since 1970.

    ``positions``: id of a collection → number of the last change that its index has. ``silent_s``: seconds since it
    was last heard of, by the clock of the catalogue.
    """

    id: str
    home: str
    host: str
    pid: int
    role: str
    version: str
    url: str
    started_at: float = 0.0
    beat_at: float = 0.0
    positions: Mapping[str, int] = field(default_factory=dict)
    silent_s: float = 0.0

    @property
    def is_stale(self) -> bool:
        """Whether it was not heard of for so long that it has most likely ended."""
        return self.silent_s > STALE_S


def beat(connection: Connection, one: Heartbeat) -> None:
    """Note that a process runs; forget those that were not heard of for a day."""
    values = {name: getattr(one, name) for name in ("id", "home", "host", "pid", "role", "version", "url")}
    latest = {"beat_at": clock(), "positions": dict(one.positions)}
    statement = insert(servers).values(**values, **latest, started_at=clock())
    connection.execute(statement.on_conflict_do_update(index_elements=["id"], set_=latest))
    connection.execute(delete(servers).where(servers.c.beat_at < clock() - _FORGOTTEN_S))


def forget(connection: Connection, name: str) -> None:
    """Remove a process that ends."""
    connection.execute(delete(servers).where(servers.c.id == name))


def list_all(connection: Connection) -> list[Heartbeat]:
    """Return all processes that were heard of within a day: servers, then workers, by their host and age."""
    query = select(servers, (clock() - servers.c.beat_at).label("silent_s"))
    rows = connection.execute(query.order_by(servers.c.role, servers.c.host, servers.c.started_at, servers.c.id))
    return [Heartbeat(**row._asdict()) for row in rows]


def behind(connection: Connection, collection_id: int, position: int) -> int:
    """Return how many changes of a collection come after ``position``."""
    query = select(func.count()).where(changes.c.collection_id == collection_id, changes.c.seq > position)
    return int(connection.execute(query).scalar_one())
