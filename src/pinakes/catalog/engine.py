"""Opening the catalogue: connections, transactions, migrations, and foreign errors made ours."""

from __future__ import annotations

import os
import secrets
import sqlite3
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import closing, contextmanager, suppress
from contextvars import ContextVar
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Column, Connection, Engine, MetaData, String, Table, create_engine, event, inspect, select
from sqlalchemy.exc import DBAPIError

from pinakes.catalog.schema import metadata
from pinakes.core import interrupt
from pinakes.core.errors import (
    NO_DESCRIPTORS,
    Busy,
    CatalogueCorrupt,
    NotFound,
    PinakesError,
    StorageFull,
    no_descriptors,
    storing,
)
from pinakes.platform.permissions import PRIVATE_FILE, make_private

_READABLE: Final = frozenset({"0016"})
"""Schemas that can be read without a migration: they only lack the jobs, of which a home that is read has none."""

HEAD = "0017"
"""The newest migration; a test compares it with the migrations folder."""

_version = Table("alembic_version", MetaData(), Column("version_num", String(32), primary_key=True))
BUSY_TIMEOUT_S = 60

fence: ContextVar[Callable[[Connection], object] | None] = ContextVar("fence", default=None)
"""Looks, within a transaction and before it is committed, whether this context may still write; else it raises."""

_SWITCH_STEP_S = 0.02
_STEPS_BETWEEN_LOOKS = 500_000
"""So many steps of SQLite's machine take some ten milliseconds; then a statement sees whether its call is to end."""
_FILE = "catalog.db"
_RESTORE = "Restore catalog.db from a backup."
_CACHE = "cache_size=-8192"
"""In KiB, of each of many connections: the system caches the file once for all of them."""

_CONNECTING: dict[str, Any] = {"check_same_thread": False}
_SHARED = "mode=ro"
_ALONE = f"{_SHARED}&vfs=unix-none"
_DAMAGE = (
    *("malformed", "not a database", "unsupported file format"),
    *(f"no such table: {name}" for name in metadata.tables),
)
"""What SQLite says of a damaged file. A table that is not there was in a part that is lost."""

_MAKE_WRITABLE = "Free disk space, or make the home writable."


class Catalog:
    """A handle on the catalogue's database. Thread-safe; several processes may hold one each.

    ``unwritable``: why it can only be read, "" where it can be written.
    """

    def __init__(self, file: Path, unwritable: str = "") -> None:
        """Open the SQLite database ``file``, which is there; an older one is migrated. With ``unwritable``: to read.

        Raises:
            Busy, StorageFull, CatalogueCorrupt: see ``translated``.
        """
        self.unwritable = unwritable
        self._watching = threading.Lock()
        self._watcher: sqlite3.Connection | None = None
        self.engine = _reading_engine(file) if unwritable else _engine(_url(file))
        try:
            with translated():
                _migrate(self.engine, readable=_READABLE if unwritable else frozenset())
        except BaseException:
            self.close()
            raise

    @classmethod
    def at(cls, home: Path) -> Catalog:
        """Open the SQLite catalogue of the folder ``home``, and make both where there are none.

        Where the home cannot be written to, or its disk is full, the catalogue is opened to be read.

        Raises:
            CatalogueCorrupt: it is damaged, or gone while its indexes are there.
            StorageFull: it cannot be made, or not even be read.
            Busy: see ``translated``.
        """
        with storing(f"The home folder {str(home)!r}"):
            make_private(home)
        file = home / _FILE
        if not file.exists():
            _create(file)
        elif file.is_file() and not file.stat().st_size:
            raise _damaged("its file is empty")
        if why := _unwritable(file):
            return cls(file, why)
        try:
            return cls(file)
        except StorageFull as error:
            try:
                return cls(file, f"{str(file)!r} cannot be written ({error.__cause__ and _said(error.__cause__)})")
            except StorageFull:
                raise error from None

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Give a connection that sees one consistent state."""
        with translated(), self.engine.connect() as connection, connection.begin():
            yield connection

    def version(self) -> int:
        """Return a number that every commit changes, whichever process made it; it takes microseconds."""
        with translated(), self._watching:
            if self._watcher is None:
                connection = self.engine.raw_connection()
                assert isinstance(connection.driver_connection, sqlite3.Connection)
                self._watcher = connection.driver_connection
                connection.detach()
            return int(self._watcher.execute("PRAGMA data_version").fetchone()[0])

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Give a connection in a transaction: all of it happens, or nothing does.

        Raises:
            Busy: the call under way is to end; nothing happens.
            StorageFull: the catalogue can only be read.
        """
        interrupt.check()
        if self.unwritable:
            raise StorageFull(f"The catalogue can only be read: {self.unwritable}.", hint=_MAKE_WRITABLE)
        with translated(), self.engine.connect() as connection:
            connection = connection.execution_options(pinakes_write=True)
            with connection.begin():
                yield connection
                interrupt.check()
                if (may_write := fence.get()) is not None:
                    may_write(connection)
            interrupt.wrote()

    def copy_to(self, place: Path, what: str = "The catalogue") -> None:
        """Write the database as it stands at one moment to ``place``, where nothing is; others go on writing.

        Errors say that ``what`` cannot be written.

        Raises:
            Busy, StorageFull, CatalogueCorrupt: see ``translated``.
        """
        with translated(what), closing(self.engine.raw_connection()) as connection:
            assert isinstance(connection.driver_connection, sqlite3.Connection)
            connection.driver_connection.execute("VACUUM INTO ?", (str(place),))

    def close(self) -> None:
        """Release every connection."""
        with self._watching:
            if self._watcher is not None:
                self._watcher.close()
            self._watcher = None
        self.engine.dispose()


@contextmanager
def translated(what: str = "The catalogue") -> Iterator[None]:
    """Turn errors of a database, which is ``what``, into ours, keeping the cause."""
    try:
        yield
    except (DBAPIError, sqlite3.Error) as error:
        raise _translate(error, what) from error


def now() -> str:
    """Return the current time, ISO 8601 in UTC."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _translate(error: Exception, what: str) -> PinakesError:
    text = _said(error)
    if "interrupted" in text:
        interrupt.check()
    if "disk is full" in text or "disk I/O error" in text or "No space left" in text:
        return StorageFull(f"{what} cannot be written: {text}.", hint="Free disk space; nothing was lost.")
    if "FOREIGN KEY" in text:
        return NotFound("What was to be written belongs to a collection or source that was deleted meanwhile.")
    if "locked" in text or "busy" in text:
        return Busy("Another process is writing to the catalogue.", hint="Try again in a moment.")
    if any(words in text for words in _DAMAGE):
        return _damaged(text)
    if "unable to open" in text and _none_can_be_opened():
        return no_descriptors()
    if "readonly" in text or "unable to open" in text:
        return StorageFull(f"{what} cannot be opened: {text}.", hint="Check the permissions of its folder.")
    return PinakesError(f"The catalogue failed: {text}.", hint="This is a bug; please report it.")


def _none_can_be_opened() -> bool:
    """Say whether this process can open no file at all; SQLite does not say why it cannot."""
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        return error.errno in NO_DESCRIPTORS
    return False


def _said(error: BaseException) -> str:
    """Return what the database's driver says of an error."""
    return str(getattr(error, "orig", None) or error)


def _damaged(what: str) -> CatalogueCorrupt:
    return CatalogueCorrupt(f"The catalogue is damaged: {what}.", hint=_RESTORE)


def _create(file: Path) -> None:
    """Make a catalogue, whole or not at all, for its owner alone; one that another process makes meanwhile is kept.

    Raises:
        CatalogueCorrupt: there are indexes of a catalogue, or its write-ahead log, and it has gone.
        StorageFull: it cannot be written.
    """
    left = [*file.parent.glob(f"{file.name}-wal"), *file.parent.glob("index/[0-9]*-[0-9]*/versions.json")]
    if left:
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
                _version.create(connection)
                connection.execute(_version.insert().values(version_num=HEAD))
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
    way = _way_to_read(file)
    address = _address(file, way)
    engine = create_engine(_url(file), creator=lambda: sqlite3.connect(address, uri=True, **_CONNECTING), pool_size=16)
    event.listen(engine, "connect", partial(_configure_to_read, alone=way == _ALONE))
    event.listen(engine, "begin", _begin)
    return engine


def _url(file: Path) -> str:
    return f"sqlite:///{file}"


def _way_to_read(file: Path) -> str:
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


def _address(file: Path, way: str) -> str:
    return f"{file.absolute().as_uri()}?{way}"


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
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'jobs'").fetchone():  # see _READABLE
        connection.execute("PRAGMA temp_store=MEMORY")
        connection.execute(f"CREATE TEMP TABLE jobs ({', '.join(metadata.tables['jobs'].columns.keys())})")
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
    """Bring the database to ``HEAD``; Alembic is only loaded where there are tables of an older schema."""
    with engine.connect() as connection:
        if _schema(connection) in {HEAD, *readable}:
            return
    with _unchecked(engine) as connection, connection.begin():
        if _schema(connection) != HEAD:
            _upgrade(connection)


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


def _schema(connection: Connection) -> str:
    """Return which schema the database has; "" where the table of versions is empty.

    Raises:
        CatalogueCorrupt: it has no table of versions, which is in every catalogue.
        PinakesError: it is newer than ``HEAD``.
    """
    if not inspect(connection).has_table(_version.name):
        raise _damaged("it has no tables")
    found: str = connection.execute(select(_version.c.version_num)).scalar() or ""
    if found > HEAD:
        raise PinakesError(
            f"The catalogue was written by a newer Pinakes (schema {found}, this one knows {HEAD}).",
            hint="Update Pinakes.",
        )
    return found


def _upgrade(connection: Connection) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
