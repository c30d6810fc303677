"""The catalogue in PostgreSQL 15 or newer: connections, transactions, the schema, news of other servers."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final

import psycopg
from filelock import Timeout
from sqlalchemy import URL, Connection, Engine, create_engine, event, func, inspect, select, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from pinakes.catalog.dialects import numbers, row_copies
from pinakes.catalog.dialects.database import HEAD, VERSION, begin, is_moving, schema_of, upgrade, why_unwritable
from pinakes.catalog.dialects.expressions import HOME
from pinakes.catalog.dialects.sqlite import create_sqlite
from pinakes.catalog.dialects.translation import translated
from pinakes.catalog.schema import installation, metadata
from pinakes.catalog.schema.types import shown_json, stored_json
from pinakes.core import interrupt
from pinakes.core.errors import Busy, InvalidSetting
from pinakes.platform.locks import Lock
from pinakes.settings import CatalogSettings

_log = logging.getLogger(__name__)

_OLDEST: Final = 150_000
_MIGRATING: Final = 0x70696E616B6574
"""The key of the advisory lock of whoever makes or migrates the tables."""

_CONNECT_S: Final = 10
_AGAIN_S: Final = 1.0
_SHORT_S: Final = 2.0
_LOCK_STEP_S: Final = 0.1
_TRY_LOCK: Final = "SELECT pg_try_advisory_lock(hashtextextended(%s, 0))"
_READ: Final = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_WRITE: Final = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"


class PostgresDatabase:
    """A database that several servers share. See ``Database``.

    Transactions set what they need for themselves, and no statement is prepared, so that a pooler of transactions
    (pgbouncer) may stand between. Only listening and migrations need ``direct_url``, which goes around it.
    """

    unwritable = ""
    is_shared = True

    def __init__(self, settings: CatalogSettings, home: str, *, moving: bool = False) -> None:
        """Connect for the home of this name, and make or migrate the tables.

        ``moving``: also where another catalogue is being moved into them.

        Raises:
            InvalidSetting: the address is none, the server is too old, or it does not let us in.
            Busy: it cannot be reached.
            PinakesError: its tables are of a newer Pinakes.
        """
        self.home = home
        url = _address(settings.url)
        direct = _address(settings.direct_url) if settings.direct_url else url
        self.engine = _engine(url, settings)
        self._limits = (
            f"SET LOCAL statement_timeout = {round(settings.statement_timeout_s * 1000)}; "
            f"SET LOCAL lock_timeout = {round(settings.lock_timeout_s * 1000)}; "
            f"SET LOCAL idle_in_transaction_session_timeout = 0; "
            f"SET LOCAL {HOME} = '{home}'"
        )
        self._direct, self._news = direct, _News(direct)
        try:
            with translated():
                if not (moving and is_moving(self.engine)):
                    migrating = self.engine if direct == url else _engine(direct, settings)
                    try:
                        _prepare(migrating)
                    finally:
                        if migrating is not self.engine:
                            migrating.dispose()
                    self.unwritable = self.look_at_schema()
                with self.engine.connect() as connection:
                    self._epoch = self.epoch(connection)
        except BaseException:
            self.close()
            raise

    @contextmanager
    def transaction(self, *, write: bool) -> Iterator[Connection]:
        connection = self._begun(f"{_WRITE if write else _READ}; {self._limits}")
        with closing(connection):
            driver = _driver(connection)
            with interrupt.stopping(partial(_cancel, driver)):
                yield connection
            if write:
                driver.execute(_BEFORE_COMMIT)
            connection.commit()
        if write:
            self._news.count()

    def _begun(self, begin: str) -> Connection:
        """Return a connection in a transaction; one that broke while nobody used it is replaced."""
        try:
            return self._connected(begin)
        except psycopg.OperationalError:
            self.engine.dispose()  # the others have broken, too
        connection = self._connected(begin)
        if self.epoch(connection) != self._epoch:  # of the server that answers now
            connection.close()
            raise Busy(
                "The catalogue was put back to another state, or another server took over.",
                hint="Start this program again: its indexes are then built anew where they have to be.",
            )
        return connection

    def _connected(self, begin: str) -> Connection:
        connection = self.engine.connect()
        try:
            connection.begin()
            _driver(connection).execute(begin)  # several statements at once, which takes one round trip
        except BaseException as error:
            if isinstance(error, psycopg.OperationalError):
                connection.invalidate()
            connection.close()
            raise
        return connection

    def version(self) -> int:
        return self._news.version()

    def copy_to(self, file: Path) -> None:
        with closing(create_sqlite(file)) as target, self.transaction(write=False) as source:
            row_copies.copy_rows(source, target)

    def check(self, connection: Connection) -> None:
        for table in metadata.sorted_tables:
            connection.execute(select(func.count()).select_from(table))

    def epoch(self, connection: Connection) -> str:
        timeline = func.left(func.pg_walfile_name(func.pg_current_wal_lsn()), 8)
        made, of = connection.execute(select(installation.c.epoch, timeline)).one()
        return f"{made}.{int(of, 16)}"

    def now(self) -> datetime:
        return datetime.now(UTC) + timedelta(seconds=self._news.skew_s)

    def lock(self, name: str, timeout_s: float) -> Lock:
        return _AdvisoryLock(self._direct, name, timeout_s)

    def look_at_schema(self) -> str:
        with self.engine.connect() as connection:
            return why_unwritable(connection)

    def erase_deleted(self) -> None:
        with self.engine.connect() as connection:
            _driver(connection).execute("VACUUM FULL")

    def close(self) -> None:
        self._news.close()
        self.engine.dispose()


class _AdvisoryLock:
    """A lock that a connection of its own holds; see ``Lock``."""

    def __init__(self, url: URL, name: str, timeout_s: float) -> None:
        self.timeout = timeout_s
        self._url, self._name = url, name
        self._connection: psycopg.Connection[Any] | None = None

    @property
    def is_locked(self) -> bool:
        return self._connection is not None

    def acquire(self, timeout: float | None = None) -> None:
        timeout = self.timeout if timeout is None else timeout
        until = math.inf if timeout < 0 else time.monotonic() + timeout
        with translated(), ExitStack() as opened:
            connection = opened.enter_context(_connected(self._url))
            while connection.execute(_TRY_LOCK, [self._name]).fetchone() != (True,):
                if time.monotonic() >= until:
                    raise Timeout(self._name)
                interrupt.check()
                time.sleep(min(_LOCK_STEP_S, max(0.0, until - time.monotonic())))
            opened.pop_all()
        self._connection = connection

    def release(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


class _News:
    """Counts commits: those of this process at once, those of others as the database tells them. Thread-safe.

    ``skew_s``: so much the clock of the database is ahead of that of this machine, in seconds. While nothing listens,
    every second counts as one, so that whoever looks for news looks in the database.
    """

    def __init__(self, url: URL) -> None:
        self._url = url
        self._lock = threading.Lock()
        self._commits = 0
        self._listens = False
        self.skew_s = 0.0
        self._listens_from = time.monotonic() + _SHORT_S
        self._thread: threading.Thread | None = None
        self._closed = threading.Event()

    def count(self) -> None:
        with self._lock:
            self._commits += 1

    def version(self) -> int:
        with self._lock:
            if self._thread is None and time.monotonic() > self._listens_from:  # not in a command that ends at once
                self._thread = threading.Thread(target=self._listen, name="pinakes-news", daemon=True)
                self._thread.start()
            return self._commits if self._listens else self._commits + int(time.monotonic())

    def close(self) -> None:
        self._closed.set()
        if self._thread is not None:
            self._thread.join(timeout=_AGAIN_S)

    def _listen(self) -> None:
        told = ""
        while not self._closed.is_set():
            try:
                with _connected(self._url) as connection:
                    self._look_at_clock(connection)
                    connection.execute(f"LISTEN {numbers.CHANNEL}")
                    self._heard(listens=True)
                    told = ""
                    self._follow(connection)
            except psycopg.Error as error:
                if told != (told := str(error)):
                    _log.warning("PostgreSQL tells no news of other servers and is asked every second: %s", told)
            self._heard(listens=False)
            self._closed.wait(_AGAIN_S)

    def _follow(self, connection: psycopg.Connection[Any]) -> None:
        while not self._closed.is_set():
            quiet = True
            for _ in connection.notifies(timeout=_AGAIN_S, stop_after=1):
                self._heard(listens=True)
                quiet = False
            if quiet:
                self._look_at_clock(connection)

    def _look_at_clock(self, connection: psycopg.Connection[Any]) -> None:
        begin = datetime.now(UTC)
        row = connection.execute("SELECT clock_timestamp()").fetchone()
        assert row is not None
        self.skew_s = (row[0] - begin - (datetime.now(UTC) - begin) / 2).total_seconds()

    def _heard(self, *, listens: bool) -> None:
        with self._lock:
            self._listens = listens
            self._commits += 1


def _address(url: str) -> URL:
    """Return ``url`` as that of a database of PostgreSQL.

    Raises:
        InvalidSetting: it is none.
    """
    try:
        made = make_url(url)
    except (ArgumentError, ValueError) as error:
        raise InvalidSetting("catalog.url is no address of a database.", hint=_EXAMPLE) from error
    if made.get_backend_name() not in ("postgresql", "postgres"):
        raise InvalidSetting(f"catalog.url names a database of the kind {made.drivername!r}.", hint=_EXAMPLE)
    return made.set(drivername="postgresql+psycopg")


def _connected(url: URL) -> psycopg.Connection[Any]:
    conninfo = url.set(drivername="postgresql").render_as_string(hide_password=False)
    return psycopg.connect(conninfo, autocommit=True, connect_timeout=_CONNECT_S, application_name="pinakes")


def _engine(url: URL, settings: CatalogSettings) -> Engine:
    engine = create_engine(
        url,
        pool_size=settings.max_connections,
        max_overflow=0,
        connect_args={"connect_timeout": _CONNECT_S, "prepare_threshold": None, "application_name": "pinakes"},
        json_serializer=stored_json,
        json_deserializer=shown_json,
        use_native_hstore=False,
    )
    event.listen(engine, "connect", _configure)
    return engine


def _configure(connection: psycopg.Connection[Any], _record: object) -> None:
    connection.autocommit = True  # transactions begin with a statement of ours, which says what they may do


def _driver(connection: Connection) -> psycopg.Connection[Any]:
    driver = connection.connection.driver_connection
    assert isinstance(driver, psycopg.Connection)
    return driver


def _cancel(driver: psycopg.Connection[Any]) -> None:
    """Have the server end the statement under way, without waiting for it: who asks for that may be an event loop."""

    def cancel() -> None:
        with suppress(psycopg.Error):  # it has ended, or the connection has
            driver.cancel_safe(timeout=_CONNECT_S)

    threading.Thread(target=cancel, name="pinakes-cancel", daemon=True).start()


def _prepare(engine: Engine) -> None:
    """Make the tables, or bring older ones to ``HEAD``; of several servers one does it.

    Raises:
        InvalidSetting: the server is too old, or the database does not keep Unicode.
    """
    with engine.connect() as connection:
        if inspect(connection).has_table(VERSION.name) and schema_of(connection) >= HEAD:
            return
    with engine.connect() as connection, connection.begin():
        _driver(connection).execute(
            f"BEGIN; SET LOCAL statement_timeout = 0; SELECT pg_advisory_xact_lock({_MIGRATING})"
        )
        if not inspect(connection).has_table(VERSION.name):
            _check(connection)
            metadata.create_all(connection)
            VERSION.create(connection)
            connection.execute(VERSION.insert().values(version_num=HEAD))
            begin(connection)
            for statement in numbers.sequences():
                connection.execute(text(statement))
        elif schema_of(connection) < HEAD:
            upgrade(connection)


def _check(connection: Connection) -> None:
    found, encoding = connection.execute(
        select(func.current_setting("server_version_num"), func.current_setting("server_encoding"))
    ).one()
    if int(found) < _OLDEST:
        raise InvalidSetting(
            f"The server of catalog.url is PostgreSQL {int(found) // 10_000}.", hint="Version 15 or newer is needed."
        )
    if encoding != "UTF8":
        raise InvalidSetting(
            f"The database of catalog.url is encoded in {encoding}.", hint="Create one with ENCODING 'UTF8'."
        )


_EXAMPLE: Final = "Write, for example, postgresql://pinakes@db.example.com/pinakes."
_BEFORE_COMMIT: Final = numbers.before_commit()
