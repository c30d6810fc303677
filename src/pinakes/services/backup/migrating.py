"""Moving a home's catalogue to PostgreSQL, or to another home."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from pinakes.catalog import Catalog
from pinakes.catalog.home import Home
from pinakes.catalog.moves import move
from pinakes.core.errors import InvalidInput, NotFound
from pinakes.core.step_reports import OnStep, ignore_step
from pinakes.settings import Settings
from pinakes.settings.outside import without_password


@dataclass(frozen=True, slots=True)
class Migrated:
    """A catalogue that was moved: from where to where, its rows by table, and how long it took.

    ``keeps_indexes``: the indexes of the home are those of the new catalogue, too.
    """

    source: str
    target: str
    rows: Mapping[str, int]
    seconds: float
    keeps_indexes: bool


def migrate(settings: Settings, to: str, on_step: OnStep = ignore_step) -> Migrated:
    """Copy the catalogue that the settings name to ``to``, an address of PostgreSQL or the folder of a home.

    Where ``to`` is what the settings name already, the file in the home is copied there. See ``catalog.moves.move``,
    also for the errors.

    Raises:
        NotFound: there is no catalogue to copy.
        InvalidInput: ``to`` is a single word, which may be a database as well as a folder.
    """
    if "://" not in to and Path(to).name == to and not Path(to).is_dir():
        raise InvalidInput(
            f"{to!r} may be a database or a folder.",
            hint=f"Write ./{to} for a folder, or postgresql://USER@HOST/{to} for a database.",
        )
    begin = time.monotonic()
    if settings.catalog.url == to:
        settings = settings.model_copy(update={"catalog": settings.catalog.model_copy(update={"url": ""})})
    if not Catalog.is_there(settings):
        raise NotFound(f"There is no catalogue in {str(settings.home)!r}.", hint="Name its home: --home FOLDER")
    with closing(Catalog.of(settings)) as source:
        epoch, rows = move(source, settings, to, on_step)
        keeps_indexes = "://" in to and not source.is_shared
    if keeps_indexes:
        Home(settings.home).note_epoch(epoch)
    came_from = without_password(settings.catalog.url) or str(settings.home)
    return Migrated(came_from, without_password(to), rows, time.monotonic() - begin, keeps_indexes)
