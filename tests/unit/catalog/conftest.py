"""A fresh catalogue with one collection, in each kind of database."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from databases import databases, postgres

from pinakes.catalog import Catalog, collections
from pinakes.catalog.collections import CollectionRecord
from pinakes.settings import CatalogSettings, Settings


@pytest.fixture(scope="session")
def new_database() -> Iterator[Callable[[], str]]:
    """Makes databases of PostgreSQL."""
    with postgres() as server, databases(server) as make:
        yield make


@pytest.fixture(params=["sqlite", "postgresql"])
def catalog(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Catalog]:
    url = request.getfixturevalue("new_database")() if request.param == "postgresql" else ""
    opened = Catalog.of(Settings(home=tmp_path / "home", catalog=CatalogSettings(url=url)))
    yield opened
    opened.close()


@pytest.fixture
def in_file(tmp_path: Path) -> Iterator[Catalog]:
    """A fresh catalogue in a file."""
    opened = Catalog.at(tmp_path / "home")
    yield opened
    opened.close()


@pytest.fixture
def collection(catalog: Catalog) -> CollectionRecord:
    with catalog.write() as connection:
        return collections.ensure(connection, "c")
