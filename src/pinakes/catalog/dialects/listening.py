"""Notifications of a PostgreSQL server: commits of others, its clock, the catalogue's state."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Any, Final, TypeVar

import psycopg
from psycopg.abc import PQGen
from sqlalchemy import URL

from pinakes.catalog.dialects import numbers

_log = logging.getLogger(__name__)

CONNECT_S: Final = 10
CONNECT: Final[dict[str, Any]] = {
    "connect_timeout": CONNECT_S,
    "prepare_threshold": None,
    "application_name": "pinakes",
    "client_encoding": "utf8",
    "keepalives_idle": 15,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}
"""How to connect: through poolers of transactions, and so that a network that is parted shows within half a minute."""

ANSWER_S: Final = 10.0
_AGAIN_S: Final = 1.0
_SHORT_S: Final = 2.0
_SILENT_S: Final = 2.0
"""Who has heard nothing for so long, though it asked, cannot rely on being told."""

EPOCH: Final = "(SELECT epoch FROM installation), left(pg_walfile_name(pg_current_wal_lsn()), 8)"
"""Two columns: what moving the catalogue changes, and the timeline, which recovery and failover change."""

_LOOK: Final = f"SELECT clock_timestamp(), {EPOCH}"
_T = TypeVar("_T")


class LimitedConnection(psycopg.Connection[Any]):
    """A connection that breaks when the server sends nothing for ``answer_within_s`` seconds; None = it waits.

    The server ends what runs too long by itself, so that one that says nothing after that has gone, though no packet
    says so.
    """

    answer_within_s: float | None = None

    def wait(self, gen: PQGen[_T], interval: float = 0.1, timeout: float | None = None) -> _T:
        """Wait for the server, as psycopg has it.

        Raises:
            psycopg.OperationalError: it did not answer in time; the connection is closed.
        """
        if timeout is not None or self.answer_within_s is None:
            return super().wait(gen, interval, timeout)
        begin = time.monotonic()
        try:
            return super().wait(gen, interval, self.answer_within_s)
        except psycopg.OperationalError as error:
            if time.monotonic() - begin < self.answer_within_s:
                raise
            self.close()
            raise psycopg.OperationalError(f"no answer within {self.answer_within_s:.0f} s") from error


def connected(url: URL, answer_within_s: float | None = ANSWER_S) -> LimitedConnection:
    """Return a connection that commits each statement."""
    conninfo = url.set(drivername="postgresql").render_as_string(hide_password=False)
    found = LimitedConnection.connect(conninfo, autocommit=True, **CONNECT)
    found.answer_within_s = answer_within_s
    return found


def epoch(made: str, timeline: str) -> str:
    """Return what tells a state of the catalogue from others, of the columns ``EPOCH``."""
    return f"{made}.{int(timeline, 16)}"


class News:
    """Counts commits: those of this process at once, those of others as the database tells them. Thread-safe.

    ``skew_s``: so much the clock of the database is ahead of that of this machine, in seconds. While nothing listens,
    every second counts as one, so that whoever looks for news looks in the database.
    """

    def __init__(self, url: URL, on_epoch: Callable[[str], object]) -> None:
        """``on_epoch`` is told which state the catalogue has, again and again."""
        self._url, self._on_epoch = url, on_epoch
        self._lock = threading.Lock()
        self._commits = 0
        self._heard_until = 0.0
        self.skew_s = 0.0
        self._listens_from = time.monotonic() + _SHORT_S
        self._thread: threading.Thread | None = None
        self._closed = threading.Event()

    def count(self) -> None:
        """Count a commit of this process."""
        with self._lock:
            self._commits += 1

    def version(self) -> int:
        """Return a number that every commit changes."""
        with self._lock:
            now = time.monotonic()
            if self._thread is None and now > self._listens_from:  # not in a command that ends at once
                self._thread = threading.Thread(target=self._listen, name="pinakes-news", daemon=True)
                self._thread.start()
            return self._commits if now < self._heard_until else self._commits + int(now)

    def close(self) -> None:
        """Listen no longer."""
        self._closed.set()
        if self._thread is not None:
            self._thread.join(timeout=_AGAIN_S)

    def _listen(self) -> None:
        logged = ""
        while not self._closed.is_set():
            try:
                with connected(self._url) as connection:
                    self._look(connection)
                    connection.execute(f"LISTEN {numbers.CHANNEL}")
                    self._hear(_SILENT_S)
                    logged = ""
                    self._follow(connection)
            except psycopg.Error as error:
                if logged != (logged := str(error)):
                    _log.warning("PostgreSQL tells no news of other servers and is asked every second: %s", logged)
            self._hear(0)
            self._closed.wait(_AGAIN_S)

    def _follow(self, connection: psycopg.Connection[Any]) -> None:
        look_at = time.monotonic() + _AGAIN_S
        while not self._closed.is_set():
            for _ in connection.notifies(timeout=_AGAIN_S, stop_after=1):
                self.count()
            if time.monotonic() >= look_at:
                self._look(connection)
                self._extend()
                look_at = time.monotonic() + _AGAIN_S

    def _look(self, connection: psycopg.Connection[Any]) -> None:
        begin = time.time()
        row = connection.execute(_LOOK).fetchone()
        assert row is not None
        there, *state = row
        self.skew_s = there.timestamp() - (begin + time.time()) / 2
        self._on_epoch(epoch(*state))

    def _hear(self, for_s: float) -> None:
        """Count what may have been missed; rely for so long on being told."""
        with self._lock:
            self._heard_until = time.monotonic() + for_s
            self._commits += 1

    def _extend(self) -> None:
        with self._lock:
            self._heard_until = time.monotonic() + _SILENT_S
