"""The servers and workers of a shared catalogue: each tells that it runs, and anybody may ask how all of them are."""

from __future__ import annotations

import logging
import os
import socket
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from pinakes.app import App
from pinakes.catalog import collections, embedding_claims, heartbeats, jobs
from pinakes.catalog.heartbeats import EVERY_S, Heartbeat
from pinakes.core.errors import PinakesError
from pinakes.core.installation import running_version

_log = logging.getLogger(__name__)

Role = Literal["server", "worker"]
_STOP_TIMEOUT_S: Final = 3.0


@dataclass(frozen=True, slots=True)
class IndexPosition:
    """How far the index of a collection is in one home: the number of its last change, and how many it lacks."""

    collection: str
    position: int
    lag: int


@dataclass(frozen=True, slots=True)
class MemberStatus:
    """A server or worker: where it runs, ``silent_s`` seconds since it was last heard of, and what it does.

    ``state``: "stale" was not heard of for so long that it has most likely ended. ``jobs``: the keys of those that it
    has leases of. ``embedding``: so many texts does it embed now.
    """

    id: str
    role: str
    state: Literal["running", "stale"]
    host: str
    pid: int
    version: str
    url: str
    home: str
    started_at: float
    silent_s: float
    indexes: Sequence[IndexPosition]
    jobs: Sequence[str]
    embedding: int


class Membership:
    """Tells the others of a shared catalogue every few seconds that this process runs; elsewhere it does nothing."""

    def __init__(self, app: App, role: Role, url: str = "") -> None:
        self._app = app
        self._ended = threading.Event()
        host, pid, name = socket.gethostname(), os.getpid(), app.process
        self._self = Heartbeat(name, app.catalog.home, host, pid, role, running_version(), url)
        self._thread = threading.Thread(target=self._run, name="pinakes-heartbeat", daemon=True)

    def start(self) -> None:
        """Begin, in a thread of its own."""
        if self._app.catalog.is_shared and not self._app.catalog.unwritable:
            self._thread.start()

    def end(self) -> None:
        """Ask it to end."""
        self._ended.set()

    def stop(self) -> bool:
        """End, and tell the others; say whether that was done."""
        self.end()
        if self._thread.is_alive():
            self._thread.join(_STOP_TIMEOUT_S)
        return not self._thread.is_alive()

    def _run(self) -> None:
        logged = ""
        while not self._ended.is_set():
            try:
                self.beat()
                logged = ""
            except PinakesError as error:
                if logged != (logged := str(error)):
                    _log.warning("the other servers are not told that this one runs: %s", error)
            self._ended.wait(EVERY_S)
        try:
            with self._app.catalog.write() as connection:
                heartbeats.forget(connection, self._self.id)
        except PinakesError as error:
            _log.warning("the other servers are not told that this one ends: %s", error)

    def beat(self) -> None:
        """Tell the others once.

        Raises:
            Busy, StorageFull: the catalogue cannot be written at present.
        """
        catalog = self._app.catalog
        catalog.look_at_schema()
        positions = {str(number): position for number, position in self._app.followers.positions().items()}
        with catalog.write(notify=False) as connection:
            heartbeats.beat(connection, replace(self._self, positions=positions))
            embedding_claims.forget_old(connection)


class Cluster:
    """How the servers and workers of a catalogue are."""

    def __init__(self, app: App) -> None:
        self._app = app

    @property
    def is_shared(self) -> bool:
        """Whether several homes may have the catalogue."""
        return self._app.catalog.is_shared

    def membership(self, role: Role, url: str = "") -> Membership:
        """Return what tells the others that this process runs."""
        return Membership(self._app, role, url)

    def members(self) -> list[MemberStatus]:
        """Return all servers and workers that were heard of within a day."""
        with self._app.catalog.read() as connection:
            found, held = heartbeats.list_all(connection), embedding_claims.held(connection)
            leases: dict[str, list[str]] = {}
            for job in jobs.list_all(connection):
                if job.owner is not None:
                    leases.setdefault(job.owner.partition("-")[0], []).append(job.key)
            names = {str(record.id): record.name for record in collections.list_all(connection)}
            return [
                MemberStatus(
                    one.id,
                    one.role,
                    "stale" if one.is_stale else "running",
                    *(one.host, one.pid, one.version, one.url, one.home, one.started_at, round(one.silent_s, 1)),
                    indexes=[
                        IndexPosition(names[number], position, heartbeats.behind(connection, int(number), position))
                        for number, position in _known(one.positions, names)
                    ],
                    jobs=leases.get(one.id, []),
                    embedding=held.get(one.id, 0),
                )
                for one in found
            ]


def _known(positions: Mapping[str, int], names: Mapping[str, str]) -> list[tuple[str, int]]:
    return sorted((number, position) for number, position in positions.items() if number in names)
