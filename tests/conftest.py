"""For all tests: the longest begin first, so that no process waits for one of them; statements are compiled once."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import Dialect, Engine

from pinakes.catalog.dialects import sqlite as catalogue


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


@pytest.fixture(scope="session", autouse=True)
def _statements_compiled_once() -> Iterator[None]:
    """Have catalogues share the SQL that statements become: each makes its own, a sixth of the time tests took."""
    make = catalogue.create_engine
    compiled: dict[Any, Any] = {}
    shared: dict[str, Dialect] = {}

    def sharing(url: str, **options: Any) -> Engine:
        engine = make(url, execution_options={"compiled_cache": compiled}, **options)
        known = shared.get("dialect")
        if known is not None and getattr(known, "server_version_info", None):  # it has been connected to
            engine.dialect = known
        else:
            shared["dialect"] = engine.dialect
        return engine

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(catalogue, "create_engine", sharing)
        yield


@pytest.fixture
def logging_is_put_back() -> Iterator[None]:
    """A command sets up logging for its process, which is here that of all tests."""
    root, ours = logging.getLogger(), logging.getLogger("pinakes")
    before = root.level, ours.level, root.handlers[:]
    yield
    root.handlers[:] = before[2]
    root.setLevel(before[0])
    ours.setLevel(before[1])
