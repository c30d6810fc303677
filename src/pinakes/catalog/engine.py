"""The catalogue's handle: reading, writing and the fence of jobs, whatever the database."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

from sqlalchemy import Connection, Engine

from pinakes.catalog.dialects.database import NEWER, Database
from pinakes.catalog.dialects.sqlite import FILE, make_home, open_sqlite
from pinakes.catalog.dialects.translation import translated
from pinakes.core import interrupt
from pinakes.core.errors import InvalidSetting, MissingExtra, StorageFull, storing
from pinakes.settings import Settings

fence: ContextVar[Callable[[Connection], object] | None] = ContextVar("fence", default=None)
"""Looks, within a transaction and before it is committed, whether this context may still write; else it raises."""

_NAME_FILE = "home.id"
_NAME = re.compile(r"[0-9a-f]{32}")
_MAKE_WRITABLE = "Free disk space, or make the home writable."


class Catalog:
    """A handle on the catalogue's database. Thread-safe; several processes may hold one each.

    ``unwritable``: why it can only be read, "" where it can be written. ``is_shared``: homes on several machines may
    have it; then ``shared_lock`` makes locks, by name and timeout in seconds, that they have in common, and ``home``
    tells this home from the others.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self.unwritable, self.is_shared = database.unwritable, database.is_shared
        self.shared_lock = database.lock if database.is_shared else None
        self.home = database.home

    @classmethod
    def at(cls, home: Path) -> Catalog:
        """Open the SQLite catalogue of the folder ``home``, and make both where there are none.

        Where the home cannot be written to, or its disk is full, the catalogue is opened to be read.

        Raises:
            CatalogueCorrupt: it is damaged, or gone while its indexes are there.
            StorageFull: it cannot be made, or not even be read.
            Busy: see ``translated``.
        """
        return cls(open_sqlite(home))

    @classmethod
    def of(cls, settings: Settings) -> Catalog:
        """Open the catalogue that the settings name, in PostgreSQL or in the home; see ``at``.

        Raises:
            MissingExtra: PostgreSQL is named, and its driver is not installed.
            InvalidSetting: it does not let us in, or ``catalog.url`` is no address of it.
            StorageFull: the home cannot be made.
        """
        if not settings.catalog.url:
            return cls.at(settings.home)
        return cls(postgres_database(settings))

    @staticmethod
    def is_there(settings: Settings) -> bool:
        """Say whether opening the catalogue that the settings name makes none."""
        return bool(settings.catalog.url) or (settings.home / FILE).exists()

    @property
    def engine(self) -> Engine:
        """The engine of SQLAlchemy, for what looks at the tables themselves."""
        return self._database.engine

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Give a connection that sees one consistent state."""
        with translated(), self._database.transaction(write=False) as connection:
            yield connection

    @contextmanager
    def read_each(self) -> Iterator[Connection]:
        """Give a connection each of whose statements sees one consistent state, maybe a later one than that before.

        In PostgreSQL each takes one round trip; ``read`` takes one more.
        """
        with translated(), self._database.statements() as connection:
            yield connection

    def version(self) -> int:
        """Return a number that all commits with ``notify`` change, whoever made them; it takes microseconds."""
        with translated():
            return self._database.version()

    @contextmanager
    def write(self, *, notify: bool = True) -> Iterator[Connection]:
        """Give a connection in a transaction: all of it happens, or nothing does.

        ``notify``: other servers are told of the commit. Leave it out only for what makes no changes or events, and
        what no cache depends on.

        Raises:
            Busy: the call under way is to end; nothing happens.
            StorageFull: the catalogue can only be read.
        """
        interrupt.check()
        if self.unwritable:
            hint = "Update Pinakes." if self.unwritable.startswith(NEWER) else _MAKE_WRITABLE
            raise StorageFull(f"The catalogue can only be read: {self.unwritable}.", hint=hint)
        with translated():
            with self._database.transaction(write=True, notify=notify) as connection:
                yield connection
                interrupt.check()
                if (may_write := fence.get()) is not None:
                    may_write(connection)
            interrupt.wrote()

    def copy_to(self, place: Path, what: str = "The catalogue") -> None:
        """Write the database as it stands at one moment to ``place``, a SQLite database; others go on writing.

        Errors say that ``what`` cannot be written.

        Raises:
            Busy, StorageFull, CatalogueCorrupt: see ``translated``.
        """
        with translated(what):
            self._database.copy_to(place)

    def check(self, connection: Connection) -> None:
        """Have the database look for damage.

        Raises:
            CatalogueCorrupt: it is damaged.
        """
        self._database.check(connection)

    def look_at_schema(self) -> None:
        """Only read from now on, where another program migrated the tables to ones that this one may not write.

        Raises:
            PinakesError: it cannot even read them.
        """
        with translated():
            self.unwritable = self.unwritable or self._database.look_at_schema()

    def now(self) -> datetime:
        """Return the time, UTC, by a clock that all who share the catalogue have in common."""
        return self._database.now()

    def epoch(self) -> str:
        """Return what tells this state of the catalogue from any other that its indexes could have been made of."""
        with self.read() as connection:
            return self._database.epoch(connection)

    def on_replaced(self, tell: Callable[[], object]) -> None:
        """Call ``tell`` once the database has another state, as after a restore; then reopen the catalogue."""
        self._database.on_replaced(tell)

    def erase_deleted(self) -> None:
        """Rewrite the database, so that nothing is left in it of what was overwritten or deleted."""
        with translated():
            self._database.erase_deleted()

    def close(self) -> None:
        """Release every connection."""
        self._database.close()


def postgres_database(settings: Settings, *, moving: bool = False) -> Database:
    """Open the database in PostgreSQL that the settings name; ``moving``: also while a catalogue is moved into it.

    Raises:
        MissingExtra, InvalidSetting, StorageFull: see ``Catalog.of``.
    """
    try:
        from pinakes.catalog.dialects.postgresql import PostgresDatabase
    except ImportError as error:
        raise MissingExtra("A catalogue in PostgreSQL", "postgres") from error
    make_home(settings.home)
    return PostgresDatabase(settings.catalog, home_name(settings.home), moving=moving)


def home_name(home: Path) -> str:
    """Return what tells a home from others that share its catalogue; it is drawn once and kept in the home.

    Raises:
        StorageFull: it cannot be kept.
    """
    file = home / _NAME_FILE
    with storing(f"The file {str(file)!r}"):
        if not file.exists():
            fresh = file.with_suffix(f".{uuid4().hex}")
            fresh.write_text(uuid4().hex, "utf-8")
            with suppress(FileExistsError):
                os.link(fresh, file)  # whole, or as another process made it meanwhile
            fresh.unlink()
        name = file.read_text("utf-8").strip()
    if not _NAME.fullmatch(name):
        raise InvalidSetting(f"{str(file)!r} does not hold the name of a home.", hint="Remove that file.")
    return name


def now() -> str:
    """Return the current time, ISO 8601 in UTC."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
