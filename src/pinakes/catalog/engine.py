"""Opening the catalogue: connections, transactions, migrations, and foreign errors made ours."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Column, Connection, Engine, MetaData, String, Table, create_engine, event, inspect, select
from sqlalchemy.exc import DBAPIError

from pinakes.calls import interrupt
from pinakes.catalog.schema import metadata
from pinakes.errors import (
    NO_DESCRIPTORS,
    Busy,
    CatalogueCorrupt,
    NotFound,
    PinakesError,
    StorageFull,
    no_descriptors,
    storing,
)

HEAD = "0016"
"""The newest migration; a test compares it with the migrations folder."""

_version = Table("alembic_version", MetaData(), Column("version_num", String(32), primary_key=True))
BUSY_TIMEOUT_S = 60
_SWITCH_STEP_S = 0.02
_STEPS_BETWEEN_LOOKS = 500_000
"""So many steps of SQLite's machine take some ten milliseconds; then a statement sees whether its call is to end."""


class Catalog:
    """A handle on the catalogue's database. Thread-safe; several processes may hold one each."""

    def __init__(self, url: str) -> None:
        """Open the SQLite database at ``url`` (SQLAlchemy form), creating or migrating it where needed.

        Raises:
            Busy, StorageFull, CatalogueCorrupt: see ``translated``.
        """
        self.url = url
        self.engine = _engine(url)
        with translated():
            _migrate(self.engine)

    @classmethod
    def at(cls, home: Path) -> Catalog:
        """Open the SQLite catalogue of the folder ``home``."""
        with storing(f"The home folder {str(home)!r}"):
            home.mkdir(parents=True, exist_ok=True)
        return cls(f"sqlite:///{home / 'catalog.db'}")

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Give a connection that sees one consistent state."""
        with translated(), self.engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Give a connection in a transaction: all of it happens, or nothing does.

        Raises:
            Busy: the call under way is to end; nothing happens.
        """
        interrupt.check()
        with translated(), self.engine.connect() as connection:
            connection = connection.execution_options(pinakes_write=True)
            with connection.begin():
                yield connection
                interrupt.check()
            interrupt.wrote()

    def copy_to(self, place: Path) -> None:
        """Write the database as it stands at one moment to ``place``, where nothing is; others go on writing.

        Raises:
            Busy, StorageFull, CatalogueCorrupt: see ``translated``.
        """
        with translated(), closing(self.engine.raw_connection()) as connection:
            assert isinstance(connection.driver_connection, sqlite3.Connection)
            connection.driver_connection.execute("VACUUM INTO ?", (str(place),))

    def close(self) -> None:
        """Release every connection."""
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
    text = str(getattr(error, "orig", None) or error)
    if "interrupted" in text:
        interrupt.check()
    if "disk is full" in text or "disk I/O error" in text or "No space left" in text:
        return StorageFull(f"{what} cannot be written: {text}.", hint="Free disk space; nothing was lost.")
    if "FOREIGN KEY" in text:
        return NotFound("What was to be written belongs to a collection or source that was deleted meanwhile.")
    if "locked" in text or "busy" in text:
        return Busy("Another process is writing to the catalogue.", hint="Try again in a moment.")
    if "malformed" in text or "not a database" in text:
        return CatalogueCorrupt(f"The catalogue is damaged: {text}.", hint="Restore catalog.db from a backup.")
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


def _engine(url: str) -> Engine:
    engine = create_engine(url, connect_args={"timeout": BUSY_TIMEOUT_S, "check_same_thread": False}, pool_size=16)
    event.listen(engine, "connect", _configure)
    event.listen(engine, "begin", _begin)
    return engine


def _configure(connection: sqlite3.Connection, _record: Any) -> None:
    connection.isolation_level = None
    connection.set_progress_handler(interrupt.is_set, _STEPS_BETWEEN_LOOKS)
    _use_wal(connection)
    for pragma in (
        "synchronous=FULL",
        "foreign_keys=ON",
        "cache_size=-8192",  # of each of many connections; the system caches the file once for all of them
    ):
        connection.execute(f"PRAGMA {pragma}")


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


def _migrate(engine: Engine) -> None:
    """Bring the database to ``HEAD``; Alembic is only loaded where there are tables of an older schema."""
    with engine.connect() as connection:
        if _schema(connection) == HEAD:
            return
    with _unchecked(engine) as connection, connection.begin():
        found = _schema(connection)
        if found is None:
            metadata.create_all(connection, checkfirst=False)
            _version.create(connection)
            connection.execute(_version.insert().values(version_num=HEAD))
        elif found != HEAD:
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


def _schema(connection: Connection) -> str | None:
    """Return which schema the database has; "" where the table of versions is empty, None where it has none yet.

    Raises:
        PinakesError: it is newer than ``HEAD``.
    """
    if not inspect(connection).has_table(_version.name):
        return None
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
