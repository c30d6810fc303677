"""Moving a whole catalogue into another database: from the home to PostgreSQL, between servers of it, and back."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Final

from filelock import FileLock

from pinakes.catalog.dialects import row_copies
from pinakes.catalog.dialects.database import HEAD, MOVING, Database, mark
from pinakes.catalog.dialects.sqlite import FILE, SqliteDatabase, create_sqlite, make_home
from pinakes.catalog.dialects.translation import translated
from pinakes.catalog.engine import Catalog, postgres_database
from pinakes.core.errors import Conflict
from pinakes.core.step_reports import OnStep
from pinakes.platform.locks import locked
from pinakes.settings import Settings

_ATTEMPTS: Final = 2
_MOST_CHARS: Final = 32
_ANOTHER: Final = "Name an empty database, or another home."


def move(source: Catalog, settings: Settings, to: str, on_step: OnStep) -> tuple[str, Mapping[str, int]]:
    """Copy all that ``source`` holds to ``to``, an address of PostgreSQL or a home, and compare every row.

    Returns the epoch of the new catalogue and table → rows. A call that was stopped is gone on with by the next one;
    until it has ended, nobody else can open the new catalogue. The old one stays as it is.

    Raises:
        Conflict: there is something in the new catalogue already, or the old one changes all the time.
        InvalidSetting, Busy, StorageFull, MissingExtra: the new one cannot be opened or written.
    """
    ours = (MOVING + source.epoch())[:_MOST_CHARS]
    lock = FileLock(settings.home / "migrate.lock", timeout=0)
    with locked(lock, "The new catalogue"), translated("The new catalogue"), closing(_opened(settings, to)) as target:
        with target.transaction(write=True) as connection:
            before = mark(connection, ours)
            if before != ours and (before != HEAD or not row_copies.is_empty(connection)):
                raise Conflict("The new catalogue holds something already.", hint=_ANOTHER)
        for _ in range(_ATTEMPTS):
            with source.read() as connection:
                row_copies.copy_rows(connection, target, on_step)
            with source.read() as connection:  # as it is by now
                old = row_copies.digests(connection, on_step)
            with target.transaction(write=False) as connection:
                new = row_copies.digests(connection, on_step)
            if old == new:
                with target.transaction(write=True) as connection:
                    mark(connection, HEAD)
                    return target.epoch(connection), {name: one.rows for name, one in new.items()}
            row_copies.empty(target)
    differing = ", ".join(name for name in old if old[name] != new[name])
    raise Conflict(
        f"The catalogue changed while it was copied ({differing}).",
        hint="Stop the servers and commands that write to it, and run this again.",
    )


def _opened(settings: Settings, to: str) -> Database:
    if "://" in to:
        named = settings.catalog.model_copy(update={"url": to, "direct_url": ""})
        return postgres_database(settings.model_copy(update={"catalog": named}), moving=True)
    home = Path(to).expanduser()
    make_home(home)
    file = home / FILE
    return SqliteDatabase(file, moving=True) if file.exists() else create_sqlite(file)
