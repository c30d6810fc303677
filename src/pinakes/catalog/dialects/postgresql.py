"""The catalogue in PostgreSQL 15 or newer: connections, transactions, the schema, news of other servers."""

from __future__ import annotations

import math
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
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
from pinakes.catalog.dialects.functions import HOME
from pinakes.catalog.dialects.listening import (
    ANSWER_S,
    CONNECT,
    CONNECT_S,
    EPOCH,
    News,
    connected,
    epoch,
)
from pinakes.catalog.dialects.pipelining import PipeliningConnection
from pinakes.catalog.dialects.sqlite import create_sqlite
from pinakes.catalog.dialects.translation import translated
from pinakes.catalog.schema import metadata
from pinakes.catalog.schema.types import shown_json, stored_json
from pinakes.core import interrupt
from pinakes.core.errors import Busy, InvalidSetting
from pinakes.platform.locks import Lock
from pinakes.settings import CatalogSettings

_OLDEST: Final = 150_000
_MIGRATING: Final = 0x70696E616B6574
"""The key of the advisory lock of whoever makes or migrates the tables."""

_LOCK_STEP_S: Final = 0.1
_TRY_LOCK: Final = "SELECT pg_try_advisory_lock(hashtextextended(%s, 0))"
_READ: Final = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_WRITE: Final = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
_IDLE: Final = "idle_in_transaction_session_timeout"
_OF_WAIT: Final = 0.5
"""Who writes and sends nothing for this share of the time for which others wait is ended: it sleeps, or its machine is
lost, and they get what it held."""
_LEAST_IDLE_MS: Final = 1000


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
        self._limits = {
            "statement_timeout": str(round(settings.statement_timeout_s * 1000)),
            "lock_timeout": str(round(settings.lock_timeout_s * 1000)),
            _IDLE: "0",
            HOME: home,
        }
        self._idle_ms = longest_silence_ms(settings)
        self._direct, self._news = direct, News(direct, self._notice)
        self._epoch, self._replaced = "", False
        self._on_replaced: list[Callable[[], object]] = []
        try:
            with translated():
                if not (moving and is_moving(self.engine)):
                    _prepare(self.engine, partial(_engine, direct, settings.model_copy(update=_NO_LIMIT)))
                    self.unwritable = self.look_at_schema()
                with self.engine.connect() as connection:
                    self._epoch = self.epoch(connection)
                event.listen(self.engine, "connect", self._look_at_epoch)
        except BaseException:
            self.close()
            raise

    @contextmanager
    def transaction(self, *, write: bool, notify: bool = True) -> Iterator[Connection]:
        is_told = write and notify
        limits = self._limits | ({_IDLE: str(self._idle_ms)} if write else {})
        with self._connected(_WRITE if write else _READ, _local(limits)) as connection:
            yield connection
            if is_told:
                driver = _driver(connection)
                if driver.has_begun:
                    driver.execute(_COMMIT_NUMBERED)
            connection.commit()
        if is_told:
            self._news.count()

    @contextmanager
    def statements(self) -> Iterator[Connection]:
        only_read = _local({"transaction_read_only": "on", **self._limits})
        with self._connected(only_read, each=True) as connection:
            yield connection

    @contextmanager
    def _connected(self, *before: str, each: bool = False) -> Iterator[Connection]:
        """Give a connection that sends ``before`` with its first statement, or with ``each`` of them."""
        with closing(self._checked()) as connection:
            driver = _driver(connection)
            driver.send_before(before, each=each)
            try:
                with interrupt.stopping(partial(cancel, driver)):
                    yield connection
            finally:
                driver.send_before((), each=False)

    def _checked(self) -> Connection:
        """Return a connection; one that broke while nobody used it is replaced."""
        connection = self.engine.connect()
        if not _driver(connection).is_quiet:
            connection.invalidate()
            connection.close()
            self.engine.dispose()  # the others have broken, too
            connection = self.engine.connect()
        if self._replaced:
            connection.close()
            raise Busy(
                "The catalogue was put back to another state, or another server took over.",
                hint="Servers begin anew by themselves: try again. Start any other program again. Indexes follow.",
            )
        return connection

    def on_replaced(self, tell: Callable[[], object]) -> None:
        self._on_replaced.append(tell)
        if self._replaced:  # before anybody asked to be told
            tell()

    def _look_at_epoch(self, connection: psycopg.Connection[Any], _record: object) -> None:
        try:
            row = connection.execute(f"SELECT {EPOCH}").fetchone()
        except psycopg.Error:  # as of a standby that is not the first yet; the pool would leave it open
            connection.close()
            raise
        assert row is not None
        self._notice(epoch(*row))

    def _notice(self, epoch: str) -> None:
        """Note which state of the catalogue the server has that answers."""
        if epoch != self._epoch and not self._replaced:
            self._replaced = True
            for tell in self._on_replaced:
                tell()

    def version(self) -> int:
        return self._news.version()

    def copy_to(self, file: Path) -> None:
        with closing(create_sqlite(file)) as target, self.transaction(write=False) as source:
            row_copies.copy_rows(source, target)

    def check(self, connection: Connection) -> None:
        for table in metadata.sorted_tables:
            connection.execute(select(func.count()).select_from(table))

    def epoch(self, connection: Connection) -> str:
        return epoch(*connection.execute(text(f"SELECT {EPOCH}")).one())

    def now(self) -> datetime:
        return datetime.now(UTC) + timedelta(seconds=self._news.skew_s)

    def lock(self, name: str, timeout_s: float) -> Lock:
        return _AdvisoryLock(self._direct, name, timeout_s)

    def look_at_schema(self) -> str:
        with self.engine.connect() as connection:
            return why_unwritable(connection)

    def erase_deleted(self) -> None:
        with connected(self._direct, answer_within_s=None) as connection:
            connection.execute("VACUUM FULL")

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
            connection = opened.enter_context(connected(self._url))
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


def longest_silence_ms(settings: CatalogSettings) -> int:
    """Return for how long who writes may send nothing until the server ends it."""
    return max(_LEAST_IDLE_MS, round(settings.lock_timeout_s * _OF_WAIT * 1000))


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


def _engine(url: URL, settings: CatalogSettings) -> Engine:
    engine = create_engine(
        url,
        pool_size=settings.max_connections,
        max_overflow=0,
        connect_args=CONNECT,
        json_serializer=stored_json,
        json_deserializer=shown_json,
        use_native_hstore=False,
    )
    within_s = settings.statement_timeout_s + ANSWER_S if settings.statement_timeout_s else None
    event.listen(engine, "do_connect", partial(_connect, within_s))
    event.listen(engine, "connect", _configure)
    return engine


@contextmanager
def _disposed(engine: Engine) -> Iterator[Engine]:
    """Give an engine that is closed at the end."""
    try:
        yield engine
    finally:
        engine.dispose()


def _connect(
    within_s: float | None, _dialect: object, _record: object, words: Sequence[Any], named: Mapping[str, Any]
) -> PipeliningConnection:
    made = PipeliningConnection.connect(*words, **named)
    made.answer_within_s = within_s
    return made


def _configure(connection: psycopg.Connection[Any], _record: object) -> None:
    connection.autocommit = True  # transactions begin with a statement of ours, which says what they may do


def _driver(connection: Connection) -> PipeliningConnection:
    driver = connection.connection.driver_connection
    assert isinstance(driver, PipeliningConnection)
    return driver


def _local(settings: Mapping[str, str]) -> str:
    """Return what sets these until the transaction ends; one statement, since each costs time."""
    each = (f"set_config('{name}', '{value}', true)" for name, value in settings.items())
    return f"SELECT {', '.join(each)}"


def cancel(driver: psycopg.Connection[Any]) -> None:
    """Have the server end the statement under way, without waiting for it: who asks for that may be an event loop."""

    def ask() -> None:
        try:
            driver.cancel_safe(timeout=CONNECT_S)
        except psycopg.Error:  # it has ended, or the server cannot be reached
            with suppress(OSError, psycopg.Error), socket.socket(fileno=os.dup(driver.fileno())) as broken:
                broken.shutdown(socket.SHUT_RDWR)

    threading.Thread(target=ask, name="pinakes-cancel", daemon=True).start()


def _prepare(engine: Engine, migrating: Callable[[], Engine]) -> None:
    """Make the tables, or bring older ones to ``HEAD``; of several servers one does it.

    Raises:
        InvalidSetting: the server is too old, or the database does not keep Unicode.
    """
    with engine.connect() as connection:
        if inspect(connection).has_table(VERSION.name) and schema_of(connection) >= HEAD:
            return
    with _disposed(migrating()) as engine, engine.connect() as connection, connection.begin():
        _driver(connection).execute(
            f"BEGIN; SET LOCAL statement_timeout = 0; SELECT pg_advisory_xact_lock({_MIGRATING})"
        )
        if not inspect(connection).has_table(VERSION.name):
            _check(connection)
            _condition_indexes()
            metadata.create_all(connection)
            VERSION.create(connection)
            connection.execute(VERSION.insert().values(version_num=HEAD))
            begin(connection)
            for statement in (*numbers.sequences(), *_UNCOMPRESSED):
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


_UNCOMPRESSED: Final = (
    "ALTER TABLE documents ALTER COLUMN text SET STORAGE EXTERNAL",
    "ALTER TABLE versions ALTER COLUMN text SET STORAGE EXTERNAL",
)
"""A chunk is cut from the text of its document, which would be decompressed for each; old versions are compressed."""

_NO_LIMIT: Final = {"statement_timeout_s": 0}
_EXAMPLE: Final = "Write, for example, postgresql://pinakes@db.example.com/pinakes."
_COMMIT_NUMBERED: Final = f"{numbers.before_commit()}; COMMIT"


def _condition_indexes() -> None:
    """Give indexes the conditions that they have in SQLite: the tables name only these, which need no PostgreSQL."""
    for index in (index for table in metadata.tables.values() for index in table.indexes):
        if (condition := index.dialect_options["sqlite"]["where"]) is not None:
            index.dialect_options["postgresql"]["where"] = condition
