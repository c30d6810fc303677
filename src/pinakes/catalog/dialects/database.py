"""The interface of a catalogue to its database, and what both kinds share."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from typing import Final, Protocol
from uuid import uuid4

from sqlalchemy import Column, Connection, Engine, MetaData, String, Table, insert, inspect, select, update

from pinakes.catalog.schema import installation
from pinakes.catalog.schema.views import create_views, drop_views
from pinakes.core.errors import Busy, CatalogueCorrupt, PinakesError
from pinakes.platform.locks import Lock

HEAD: Final = "0022"
"""The newest migration; a test compares it with the migrations folder."""

MIN_READER: Final = "0020"
MIN_WRITER: Final = "0022"
"""The oldest ``HEAD`` of programs that may read, and write, a catalogue with the tables of this one. A migration that
only adds what older programs need not know leaves them; they are raised a release after nobody needs the old form."""

NEWER: Final = "its tables are of a newer Pinakes"

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

    def transaction(self, *, write: bool, notify: bool = True) -> AbstractContextManager[Connection]:
        """Give a connection that sees one state; what it writes is committed at the end, or nothing of it.

        ``notify``: other servers are told, and ``version`` changes; without it both may be left out.
        """

    def statements(self) -> AbstractContextManager[Connection]:
        """Give a connection to read with, each of whose statements sees one state, and may see a later one."""

    def version(self) -> int:
        """Return a number that all commits with ``notify`` change, whoever made them; it takes microseconds."""

    def copy_to(self, file: Path) -> None:
        """Write all tables, as they are at one moment, into the SQLite database ``file``, which is not there yet."""

    def check(self, connection: Connection) -> None:
        """Have the database look for damage. Raises CatalogueCorrupt."""

    def epoch(self, connection: Connection) -> str:
        """Return what tells this state of the catalogue from any other that its indexes could have been made of."""

    def on_replaced(self, tell: Callable[[], object]) -> None:
        """Call ``tell`` once the server has another state of the catalogue; from then on transactions are refused."""

    def now(self) -> datetime:
        """Return the time, UTC, by the clock of the database."""

    def lock(self, name: str, timeout_s: float) -> Lock:
        """Return a lock of all who use the database; it is free once its holder ends or loses its connection."""

    def look_at_schema(self) -> str:
        """Return why the tables can only be read since another program migrated them, "" where they can be written.

        Raises:
            PinakesError: they cannot even be read.
        """

    def erase_deleted(self) -> None:
        """Rewrite the database, so that nothing is left in it of what was overwritten or deleted."""

    def close(self) -> None:
        """Release every connection."""


def schema_of(connection: Connection) -> str:
    """Return which schema the database has; "" where the table of versions is empty.

    Raises:
        CatalogueCorrupt: it has no table of versions, which is in every catalogue.
        Busy: another catalogue is being moved into it.
        PinakesError: it is newer than ``HEAD``, and cannot be read by this program.
    """
    if not inspect(connection).has_table(VERSION.name):
        raise damaged("it has no tables")
    found: str = connection.execute(select(VERSION.c.version_num)).scalar() or ""
    if found.startswith(MOVING):
        raise Busy(
            "Another catalogue is being moved into this one, or was until that was stopped.",
            hint="Wait for it, or go on with it: pinakes migrate --to ADDRESS",
        )
    if found > HEAD and _least(connection)[0] > HEAD:
        raise PinakesError(
            f"The catalogue was written by a newer Pinakes (schema {found}, this one knows {HEAD}).",
            hint="Update Pinakes.",
        )
    return found


def why_unwritable(connection: Connection) -> str:
    """Return why this program may only read a catalogue whose schema is newer than ``HEAD``; "" where it may write."""
    found = schema_of(connection)
    if found <= HEAD or _least(connection)[1] <= HEAD:
        return ""
    return f"{NEWER} (schema {found}), which this one ({HEAD}) can read, not write"


def _least(connection: Connection) -> tuple[str, str]:
    """Return the oldest ``HEAD`` of programs that may read, and write, the tables."""
    if "min_reader" not in {column["name"] for column in inspect(connection).get_columns(installation.name)}:
        return "9", "9"
    reader, writer = connection.execute(select(installation.c.min_reader, installation.c.min_writer)).one()
    return reader, writer


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
    least = {"min_reader": MIN_READER, "min_writer": MIN_WRITER}
    connection.execute(insert(installation).values(id=1, epoch=str(uuid4()), **least))


def upgrade(connection: Connection) -> None:
    """Run the migrations that the database lacks, in the transaction of ``connection``."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parents[1] / "migrations"))
    config.attributes["connection"] = connection
    drop_views(connection)
    command.upgrade(config, "head")
    connection.execute(update(installation).values(min_reader=MIN_READER, min_writer=MIN_WRITER))
    create_views(connection)


def damaged(what: str, backup: str = "Restore catalog.db from a backup.") -> CatalogueCorrupt:
    """Return the error of a damaged catalogue."""
    return CatalogueCorrupt(f"The catalogue is damaged: {what}.", hint=backup)
