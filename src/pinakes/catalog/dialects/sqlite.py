"""The catalogue in a SQLite file of the home: connections, transactions, migrations, errors."""

from __future__ import annotations

import os
import secrets
import sqlite3
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Connection, Engine, create_engine, event, select

from pinakes.catalog.dialects.database import (
    HEAD,
    VERSION,
    begin,
    damaged,
    is_moving,
    schema_of,
    upgrade,
    why_unwritable,
)
from pinakes.catalog.dialects.translation import driver_message, translated
from pinakes.catalog.schema import GRAPH_TABLES, installation, metadata
from pinakes.core import interrupt
from pinakes.core.errors import CatalogueCorrupt, StorageFull, storing
from pinakes.platform.locks import Lock
from pinakes.platform.permissions import PRIVATE_FILE, make_private

BUSY_TIMEOUT_S = 60

_READABLE: Final = frozenset({"0016", "0017", "0018", "0019", "0020", "0021"})
"""Schemas that can be read without a migration: they only lack tables that count as empty in a home that is read."""

_LATER: Final = ("jobs", "installation", "index_numbers", "servers", "embedding_claims", *GRAPH_TABLES)

_SWITCH_STEP_S = 0.02
_STEPS_BETWEEN_LOOKS = 500_000
"""So many steps of SQLite's machine take some ten milliseconds; then a statement sees whether its call is to end."""

FILE: Final = "catalog.db"
_RESTORE = "Restore catalog.db from a backup."
_CACHE = "cache_size=-8192"
"""In KiB, of each of many connections: the system caches the file once for all of them."""

_CONNECTING: dict[str, Any] = {"check_same_thread": False}
_SHARED = "mode=ro"
_ALONE = f"{_SHARED}&vfs=unix-none"


class SqliteDatabase:
    """A database in a file; one process writes at a time. See ``Database``."""

    is_shared, home = False, ""

    def __init__(self, file: Path, unwritable: str = "", *, moving: bool = False) -> None:
        """Open ``file``, which is there; an older one is migrated. With ``unwritable``: to read.

        ``moving``: also one that another catalogue is being moved into.

        Raises:
            Busy, StorageFull, CatalogueCorrupt: see ``translated``.
        """
        self.unwritable = unwritable
        self._watching = threading.Lock()
        self._watcher: sqlite3.Connection | None = None
        self.engine = _reading_engine(file) if unwritable else _engine(_url(file))
        try:
            with translated():
                if not (moving and is_moving(self.engine)):
                    _migrate(self.engine, readable=_READABLE if unwritable else frozenset())
                    self.unwritable = self.unwritable or self.look_at_schema()
        except BaseException:
            self.close()
            raise

    @contextmanager
    def transaction(self, *, write: bool, notify: bool = True) -> Iterator[Connection]:  # noqa: ARG002
        with self.engine.connect() as connection:
            if write:
                connection = connection.execution_options(pinakes_write=True)
            with connection.begin():
                yield connection

    def statements(self) -> AbstractContextManager[Connection]:
        return self.transaction(write=False)  # which costs nothing

    def version(self) -> int:
        with self._watching:
            if self._watcher is None:
                connection = self.engine.raw_connection()
                assert isinstance(connection.driver_connection, sqlite3.Connection)
                self._watcher = connection.driver_connection
                connection.detach()
            return int(self._watcher.execute("PRAGMA data_version").fetchone()[0])

    def copy_to(self, file: Path) -> None:
        with closing(self.engine.raw_connection()) as connection:
            assert isinstance(connection.driver_connection, sqlite3.Connection)
            connection.driver_connection.execute("VACUUM INTO ?", (str(file),))

    def check(self, connection: Connection) -> None:
        problem = connection.exec_driver_sql("PRAGMA quick_check(1)").scalar()
        if problem != "ok":
            raise damaged(str(problem))

    def epoch(self, connection: Connection) -> str:
        return connection.execute(select(installation.c.epoch)).scalar() or ""

    def on_replaced(self, tell: Callable[[], object]) -> None:
        """Do nothing: a file that is replaced belongs to a home that nobody uses then."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def lock(self, name: str, timeout_s: float) -> Lock:
        raise NotImplementedError  # the folders of its only home have files for that

    def look_at_schema(self) -> str:
        with self.engine.connect() as connection:
            return why_unwritable(connection)

    def erase_deleted(self) -> None:
        with closing(self.engine.raw_connection()) as connection:
            driver = connection.driver_connection
            assert isinstance(driver, sqlite3.Connection)
            driver.execute("PRAGMA secure_delete = ON")
            driver.execute("VACUUM")
            driver.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        with self._watching:
            if self._watcher is not None:
                self._watcher.close()
            self._watcher = None
        self.engine.dispose()


def make_home(home: Path) -> None:
    """Make the folder ``home`` where it is not there, for its owner alone.

    Raises:
        StorageFull: it cannot be made.
    """
    with storing(f"The home folder {str(home)!r}"):
        make_private(home)


def create_sqlite(file: Path) -> SqliteDatabase:
    """Make the database ``file``, which is not there, and open it. Raises as ``open_sqlite`` does."""
    _create(file)
    return SqliteDatabase(file)


def open_sqlite(home: Path) -> SqliteDatabase:
    """Open the catalogue of the folder ``home``, and make both where there are none.

    Where the home cannot be written to, or its disk is full, the catalogue is opened to be read.

    Raises:
        CatalogueCorrupt: it is damaged, or gone while its indexes are there.
        StorageFull: it cannot be made, or not even be read.
        Busy: see ``translated``.
    """
    make_home(home)
    file = home / FILE
    if not file.exists():
        _create(file)
    elif file.is_file() and not file.stat().st_size:
        raise damaged("its file is empty")
    if why := _unwritable(file):
        return SqliteDatabase(file, why)
    try:
        return SqliteDatabase(file)
    except StorageFull as error:
        reason = driver_message(error.__cause__) if error.__cause__ else ""
        try:
            return SqliteDatabase(file, f"{str(file)!r} cannot be written ({reason})")
        except StorageFull:
            raise error from None


def _create(file: Path) -> None:
    """Make a catalogue, whole or not at all, for its owner alone; one that another process makes meanwhile is kept.

    Raises:
        CatalogueCorrupt: there are indexes of a catalogue, or its write-ahead log, and it has gone.
        StorageFull: it cannot be written.
    """
    left = [*file.parent.glob(f"{file.name}-wal"), *file.parent.glob("index/[0-9]*-[0-9]*/versions.json")]
    if left and not file.exists():  # else another process has made it since
        raise CatalogueCorrupt(
            f"The catalogue is gone: there is no {str(file)!r}, but {str(left[0])!r}.",
            hint=f"{_RESTORE} To begin anew, remove that, too.",
        )
    fresh = file.with_name(f"{file.name}.{secrets.token_hex(4)}.new")
    try:
        with storing("The catalogue"):
            fresh.touch(mode=PRIVATE_FILE)
        engine = _engine(_url(fresh))
        try:
            with translated(), _unchecked(engine) as connection, connection.begin():
                metadata.create_all(connection, checkfirst=False)
                VERSION.create(connection)
                connection.execute(VERSION.insert().values(version_num=HEAD))
                begin(connection)
            with translated(), closing(engine.raw_connection()) as raw:  # what is only in its log would not be linked
                raw.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)")
        finally:
            engine.dispose()
        with storing("The catalogue"), suppress(FileExistsError):
            os.link(fresh, file)
    finally:
        for path in (fresh, *(fresh.with_name(f"{fresh.name}-{part}") for part in ("wal", "shm"))):
            path.unlink(missing_ok=True)


def _unwritable(file: Path) -> str:
    """Return why a catalogue cannot be written, as far as its permissions and those of its folder tell; "" if it can.

    SQLite makes files beside it, and without them it would not even read.
    """
    shut = [path for path in (file.parent, file) if not os.access(path, os.W_OK)]
    return f"{str(shut[0])!r} is read-only" if shut else ""


def _engine(url: str) -> Engine:
    engine = create_engine(url, connect_args=_CONNECTING | {"timeout": BUSY_TIMEOUT_S}, pool_size=16)
    event.listen(engine, "connect", _configure)
    event.listen(engine, "begin", _begin)
    return engine


def _reading_engine(file: Path) -> Engine:
    mode = _access_mode(file)
    address = _address(file, mode)
    engine = create_engine(_url(file), creator=lambda: sqlite3.connect(address, uri=True, **_CONNECTING), pool_size=16)
    event.listen(engine, "connect", partial(_configure_to_read, alone=mode == _ALONE))
    event.listen(engine, "begin", _begin)
    return engine


def _url(file: Path) -> str:
    return f"sqlite:///{file}"


def _access_mode(file: Path) -> str:
    """Return how SQLite reads a catalogue in whose folder it cannot make a file.

    Where nobody has it open, there is no write-ahead log, and it counts as immutable. A log that somebody left is read
    with the shared index of it, or, where that is not there or not whole, with one in memory, which needs no locks.
    """
    log = file.with_name(f"{file.name}-wal")
    if not log.exists() or not log.stat().st_size:
        return "immutable=1"
    try:
        with closing(sqlite3.connect(_address(file, _SHARED), uri=True)) as connection:
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.Error:
        return _ALONE
    return _SHARED


def _address(file: Path, mode: str) -> str:
    return f"{file.absolute().as_uri()}?{mode}"


def _configure(connection: sqlite3.Connection, _record: Any) -> None:
    connection.isolation_level = None
    connection.set_progress_handler(interrupt.is_set, _STEPS_BETWEEN_LOOKS)
    _use_wal(connection)
    for pragma in ("synchronous=FULL", "foreign_keys=ON", _CACHE):
        connection.execute(f"PRAGMA {pragma}")


def _configure_to_read(connection: sqlite3.Connection, _record: Any, *, alone: bool) -> None:
    connection.isolation_level = None
    if alone:
        connection.execute("PRAGMA locking_mode=EXCLUSIVE")
    there = {row[0] for row in connection.execute("SELECT name FROM sqlite_master")}
    connection.execute("PRAGMA temp_store=MEMORY")
    for table in (metadata.tables[name] for name in _LATER if name not in there):
        connection.execute(f"CREATE TEMP TABLE {table.name} ({', '.join(table.columns.keys())})")
    connection.execute(f"PRAGMA {_CACHE}")


def _use_wal(connection: sqlite3.Connection) -> None:
    """Switch to write-ahead logging. SQLite does not wait for others that are switching, it fails at once."""
    deadline = time.monotonic() + BUSY_TIMEOUT_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
        time.sleep(_SWITCH_STEP_S)


def _begin(connection: Connection) -> None:
    write = connection.get_execution_options().get("pinakes_write", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")


def _migrate(engine: Engine, readable: Collection[str] = frozenset()) -> None:
    """Bring an older database to ``HEAD``; Alembic is only loaded where there are tables of an older schema."""
    with engine.connect() as connection:
        found = schema_of(connection)
        if found >= HEAD or found in readable:
            return
    with _unchecked(engine) as connection, connection.begin():
        if schema_of(connection) < HEAD:
            upgrade(connection)


@contextmanager
def _unchecked(engine: Engine) -> Iterator[Connection]:
    """Give a connection that drops a table without what refers to it, since a migration makes it anew."""
    with engine.connect().execution_options(pinakes_write=True) as connection:
        driver = connection.connection.driver_connection
        assert isinstance(driver, sqlite3.Connection)
        driver.execute("PRAGMA foreign_keys=OFF")
        try:
            yield connection
        finally:
            driver.execute("PRAGMA foreign_keys=ON")
