"""Databases of PostgreSQL for tests that are about them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from databases import databases, postgres


@pytest.fixture(scope="session")
def new_database() -> Iterator[Callable[[], str]]:
    """Makes databases, each for one test."""
    with postgres() as server, databases(server) as make:
        yield make
