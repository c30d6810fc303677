"""A fresh catalogue with one collection."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pinakes.catalog import Catalog, collections
from pinakes.catalog.collections import CollectionRecord


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    opened = Catalog.at(tmp_path / "home")
    yield opened
    opened.close()


@pytest.fixture
def collection(catalog: Catalog) -> CollectionRecord:
    with catalog.write() as connection:
        return collections.ensure(connection, "c")
