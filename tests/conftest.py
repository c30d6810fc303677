"""For all tests: the longest begin first, so that no process waits for one of them; statements are compiled once.

What is collected stays to the end: the garbage collector does not run meanwhile, and does not look at it again.
Memory that is freed stays with the process: thousands of indexes are opened, and each would ask the system anew.
Hypothesis sets no time limits: the load of the machine would decide.
"""

from __future__ import annotations

import gc
import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from kept_memory import keep_memory
from sqlalchemy import Connection, Dialect, Engine, create_engine, event

from pinakes.catalog.dialects import sqlite as catalogue

HERE = Path(__file__).resolve().parent

hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")


def pytest_configure(config: pytest.Config) -> None:
    """Let each of several workers that collect all tests begin with others of them.

    What one has compiled, with the words that failed assertions say, the others load: that is most of the work.
    """
    gc.disable()
    keep_memory()
    if (worker := os.environ.get("PYTEST_XDIST_WORKER")) and [Path(one).resolve() for one in config.args] == [HERE]:
        folders = sorted({file.parent for file in HERE.rglob("test_*.py")})
        first = len(folders) * int(worker.removeprefix("gw")) // int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
        config.args[:] = [
            str(file) for one in folders[first:] + folders[:first] for file in sorted(one.glob("test_*.py"))
        ]


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: (item.get_closest_marker("long") is None, item.path))


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
        patched.setattr(catalogue, "metadata", _TablesCompiledOnce())
        yield


class _TablesCompiledOnce:
    """Makes the tables of a new catalogue as ``MetaData`` does; thousands are made, and to compile takes longer."""

    def __init__(self) -> None:
        self._statements: list[str] = []
        engine = create_engine("sqlite://")
        event.listen(engine, "before_cursor_execute", self._note)
        with engine.begin() as connection:
            catalogue.metadata.create_all(connection, checkfirst=False)
        engine.dispose()

    def _note(self, _connection: Connection, _cursor: object, statement: str, *_: object) -> None:
        self._statements.append(statement)

    def create_all(self, connection: Connection, *, checkfirst: bool) -> None:
        assert not checkfirst
        for statement in self._statements:
            connection.exec_driver_sql(statement)


@pytest.fixture
def logging_is_put_back() -> Iterator[None]:
    """A command sets up logging for its process, which is here that of all tests."""
    root, ours = logging.getLogger(), logging.getLogger("pinakes")
    before = root.level, ours.level, root.handlers[:]
    yield
    root.handlers[:] = before[2]
    root.setLevel(before[0])
    ours.setLevel(before[1])
