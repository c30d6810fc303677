"""A graph in PostgreSQL that followed each change is the one that is computed anew."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

from graph_history import play

from pinakes.catalog import Catalog
from pinakes.settings import CatalogSettings, Settings


def test_a_graph_that_followed_random_changes_is_that_of_a_rebuild(new_database: Callable[[], str]) -> None:
    with closing(Catalog.of(Settings(catalog=CatalogSettings(url=new_database())))) as catalog:
        play(catalog, seed=11, steps=16, compared_each=8)
