"""Removal of the remains of deleted collections and sources whose deletion was interrupted."""

from __future__ import annotations

from pathlib import Path

from pinakes.app import App
from pinakes.catalog import sources


def drop_leftovers(app: App) -> None:
    """Drop from the home what was made for collections and sources that are gone."""

    def used() -> set[Path]:
        from pinakes.app.source_settings import settings_of  # only where something was fetched

        with app.catalog.read() as connection:
            every = sources.list_all(connection)
        return {app.home.source(kept.kind, kept.location, settings_of(kept).ref) for kept in every}

    app.drop_gone()
    app.home.keep_fetched(used)
