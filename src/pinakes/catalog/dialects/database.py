"""What a catalogue needs of its database, and what both kinds share."""

from __future__ import annotations

from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from typing import Final, Protocol
from uuid import uuid4

from sqlalchemy import Column, Connection, Engine, MetaData, String, Table, insert, inspect, select, update

from pinakes.catalog.schema import installation
from pinakes.core.errors import Busy, CatalogueCorrupt, PinakesError
from pinakes.platform.locks import Lock

HEAD: Final = "0021"
"""The newest migration; a test compares it with the migrations folder."""

MOVING: Final = "moving:"
"""Stands in place of the version, with the epoch of the other one, while another catalogue is copied into this."""

VERSION: Final = Table("alembic_version", MetaData(), Column("version_num", String(32), primary_key=True))


class Database(Protocol):
    """The database of a catalogue. Thread-safe.

    ``unwritable``: why it can only be read, "" where it can be written. ``is_shared``: homes on several machines may
    have this catalogue; ``home`` is the name of this one, "" where there is one.
    """

    is_shared: bool
    home: str
    engine: Engine
    unwritable: str

    def transaction(self, *, write: bool) -> AbstractContextManager[Connection]:
        """Give a connection that sees one state; what it writes is committed at the end, or nothing of it."""

    def version(self) -> int:
        """Return a number that every commit changes, whichever process made it; it takes microseconds."""

    def copy_to(self, file: Path) -> None:
        """Write all tables, as they are at one moment, into the SQLite database ``file``, which is not there yet."""

    def check(self, connection: Connection) -> None:
        """Have the database look for damage. Raises CatalogueCorrupt."""

    def epoch(self, connection: Connection) -> str:
        """Return what tells this state of the catalogue from any other that its indexes could have been made of."""

    def now(self) -> datetime:
        """Return the time, UTC, by the clock of the database."""

    def lock(self, name: str, timeout_s: float) -> Lock:
        """Return a lock of all who use the database; it is free once its holder ends or loses its connection."""

    def erase_deleted(self) -> None:
        """Rewrite the database, so that nothing is left in it of what was overwritten or deleted."""

    def close(self) -> None:
        """Release every connection."""


def schema_of(connection: Connection) -> str:
    """Return which schema the database has; "" where the table of versions is empty.

    Raises:
        CatalogueCorrupt: it has no table of versions, which is in every catalogue.
        Busy: another catalogue is being moved into it.
        PinakesError: it is newer than ``HEAD``.
    """
    if not inspect(connection).has_table(VERSION.name):
        raise damaged("it has no tables")
    found: str = connection.execute(select(VERSION.c.version_num)).scalar() or ""
    if found.startswith(MOVING):
        raise Busy(
            "Another catalogue is being moved into this one, or was until that was stopped.",
            hint="Wait for it, or go on with it: pinakes migrate --to ADDRESS",
        )
    if found > HEAD:
        raise PinakesError(
            f"The catalogue was written by a newer Pinakes (schema {found}, this one knows {HEAD}).",
            hint="Update Pinakes.",
        )
    return found


def is_moving(engine: Engine) -> bool:
    """Say whether another catalogue is being moved into this one."""
    with engine.connect() as connection:
        there = inspect(connection).has_table(VERSION.name)
        found = connection.execute(select(VERSION.c.version_num)).scalar() if there else ""
        return (found or "").startswith(MOVING)


def mark(connection: Connection, version: str) -> str:
    """Put ``version`` in place of that of the schema; return what stood there."""
    before: str = connection.execute(select(VERSION.c.version_num)).scalar() or ""
    connection.execute(update(VERSION).values(version_num=version))
    return before


def begin(connection: Connection) -> None:
    """Write into new tables what tells this catalogue from any other."""
    connection.execute(insert(installation).values(id=1, epoch=str(uuid4())))


def upgrade(connection: Connection) -> None:
    """Run the migrations that the database lacks, in the transaction of ``connection``."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parents[1] / "migrations"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def damaged(what: str, backup: str = "Restore catalog.db from a backup.") -> CatalogueCorrupt:
    """Return the error of a damaged catalogue."""
    return CatalogueCorrupt(f"The catalogue is damaged: {what}.", hint=backup)
