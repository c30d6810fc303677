"""How often a catalogue in PostgreSQL is asked and waited for, counted by a proxy before it."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from benchmarks.postgres.proxy import Proxy
from sqlalchemy import func, insert, select, text
from sqlalchemy.exc import DBAPIError
from waiting import until

from pinakes.catalog import Catalog
from pinakes.catalog.schema import collections, leaps
from pinakes.core.errors import StorageFull
from pinakes.library import Library
from pinakes.settings import CatalogSettings, Settings

_QUESTIONS = ("how are pods restarted?", "storage of volumes", "secrets and keys", "what is a node?", "pods of a node")
_COUNT = select(func.count()).select_from(collections)


@pytest.fixture
def proxy(new_database: Callable[[], str]) -> Iterator[Proxy]:
    with Proxy(new_database()) as proxy:
        yield proxy


@pytest.fixture
def catalog(proxy: Proxy, tmp_path: Path) -> Iterator[Catalog]:
    opened = Catalog.of(Settings(home=tmp_path / "home", catalog=CatalogSettings(url=proxy.url)))
    with opened.read() as connection:  # the pool connects, and asks for the version
        connection.execute(_COUNT)
    yield opened
    opened.close()


@contextmanager
def library_at(home: Path, url: str, direct_url: str, engine: str = "local") -> Iterator[Library]:
    """Give a library that remembers no answers."""
    catalog = {"url": url, "direct_url": direct_url}
    settings = {"search__remembered_queries": 0, "search__remembered_answers": 0, "index__engine": engine}
    with Library.open(home, catalog=catalog, embedding__provider="deterministic", **settings) as library:
        yield library


def write(folder: Path, files: int) -> Path:
    folder.mkdir()
    for number in range(files):
        text = f"# Pods {number}\n\nPods of node {number} keep volumes, storage and {number * 31} secrets or keys.\n"
        (folder / f"{number}.md").write_text(text, "utf-8")
    return folder


class TestTransactions:
    def test_one_that_reads_begins_with_its_first_statement(self, catalog: Catalog, proxy: Proxy) -> None:
        before = proxy.round_trips
        with catalog.read() as connection:
            connection.execute(_COUNT)
        assert proxy.round_trips == before + 2

    def test_statements_that_each_see_a_state_take_one_each(self, catalog: Catalog, proxy: Proxy) -> None:
        before = proxy.round_trips
        with catalog.read_each() as connection:
            for _ in range(3):
                connection.execute(_COUNT)
        assert proxy.round_trips == before + 3

    def test_one_that_writes_takes_one_more_than_statements(self, catalog: Catalog, proxy: Proxy) -> None:
        before = proxy.round_trips
        with catalog.write() as connection:
            connection.execute(insert(leaps).values(upto=2, after=1))
        assert proxy.round_trips == before + 2
        with catalog.read() as connection:
            assert connection.execute(select(leaps.c.upto)).scalar() == 2

    def test_one_without_a_statement_takes_none(self, catalog: Catalog, proxy: Proxy) -> None:
        before = proxy.round_trips
        for beginning in (catalog.read, catalog.write, catalog.read_each):
            with beginning():
                pass
        assert proxy.round_trips == before

    def test_nothing_follows_what_ends_one(self, catalog: Catalog, tmp_path: Path) -> None:
        """A pooler would reserve a connection for it, and never take that back."""
        trace = tmp_path / "messages"
        with trace.open("wb") as file, catalog.engine.connect() as traced:
            driver = traced.connection.driver_connection
            assert isinstance(driver, psycopg.Connection)
            driver.pgconn.trace(file.fileno())
            traced.close()  # it is the only one of the pool, which gives it to the next
            for beginning in (catalog.read, catalog.read_each, catalog.write):
                with beginning() as connection:
                    for _ in range(2):
                        connection.execute(_COUNT)
            driver.pgconn.untrace()
        sent = re.findall(r"^[^\t\n]+\tF\t\d+\t(\w+)", trace.read_text("utf-8"), re.M)
        assert sum(kind in ("Query", "Sync") for kind in sent) >= 6
        assert "Flush" not in sent

    def test_one_whose_first_statement_cannot_be_sent_begins_with_the_next(self, catalog: Catalog) -> None:
        with catalog.read() as connection:
            with pytest.raises(DBAPIError):
                connection.execute(select(func.length("\0")))
            assert connection.scalar(select(func.current_setting("transaction_isolation"))) == "repeatable read"

    def test_parameters_of_the_first_statement_are_those_of_others(self, catalog: Catalog) -> None:
        given = ["%", "{}", "'\\", "é 文", "; --", None, [1, 2], b"\x00'\xff", -(2**31), 2**63 - 1, -(2**63), -1, True]
        for reading in (catalog.read, catalog.read_each):
            for one in given:
                with reading() as connection:
                    first, second = (connection.execute(text("SELECT :one"), {"one": one}).scalar() for _ in range(2))
                assert first == second == one

    def test_what_only_reads_cannot_write(self, catalog: Catalog) -> None:
        for reading in (catalog.read, catalog.read_each):
            with pytest.raises(StorageFull, match="read-only transaction"), reading() as connection:
                connection.execute(insert(leaps).values(upto=2, after=1))
        with catalog.write() as connection:  # on the same connection
            connection.execute(insert(leaps).values(upto=2, after=1))

    def test_each_has_the_limits_of_the_settings(self, catalog: Catalog) -> None:
        for reading in (catalog.read, catalog.write, catalog.read_each):
            with reading() as connection:
                for _ in range(2):
                    assert connection.scalar(select(func.current_setting("statement_timeout"))) == "10min"

    def test_one_that_reads_sees_one_state(self, catalog: Catalog) -> None:
        with catalog.read() as reading, catalog.read_each() as latest:
            assert reading.scalar(select(func.count()).select_from(leaps)) == 0
            with catalog.write() as connection:
                connection.execute(insert(leaps).values(upto=2, after=1))
            assert reading.scalar(select(func.count()).select_from(leaps)) == 0
            assert latest.scalar(select(func.count()).select_from(leaps)) == 1


def test_a_hybrid_question_takes_at_most_four(proxy: Proxy, new_database: Callable[[], str], tmp_path: Path) -> None:
    direct = new_database()
    with Proxy(direct) as counted, library_at(tmp_path / "home", counted.url, direct) as library:
        library.add(str(write(tmp_path / "files", 40)))
        library.search("what is there?")
        for question in _QUESTIONS:
            before = counted.round_trips
            assert library.search(question, mode="hybrid", top_k=5).hits
            assert counted.round_trips - before <= 4


def test_a_new_question_to_the_engine_postgres_takes_at_most_four(
    new_database: Callable[[], str], tmp_path: Path
) -> None:
    direct = new_database()
    with Proxy(direct) as counted, library_at(tmp_path / "home", counted.url, direct, "postgres") as library:
        library.add(str(write(tmp_path / "files", 40)))
        until(lambda: _is_told(library.app.catalog))
        library.search("what is there of that?")
        longer = [one for one in _QUESTIONS if len(one.split()) > 3]  # shorter ones are compared with values of fields
        for question in (*longer, "which keys of a node are there?"):
            before = counted.round_trips
            assert library.search(question, mode="hybrid", top_k=5).hits
            assert counted.round_trips - before <= 4, (question, counted.round_trips - before)


def _is_told(catalog: Catalog) -> bool:
    """Say whether the database tells of commits; before that, each second counts as one."""
    before = catalog.version()
    time.sleep(1.1)
    return catalog.version() == before


def test_what_is_written_quietly_wakes_nobody(catalog: Catalog) -> None:
    address = catalog.engine.url.set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(address, autocommit=True) as other:
        other.execute("LISTEN pinakes")
        for upto, notify in ((2, False), (3, True)):
            with catalog.write(notify=notify) as connection:
                connection.execute(insert(leaps).values(upto=upto, after=1))
            told = list(other.notifies(timeout=10 if notify else 0.5, stop_after=1))
            assert len(told) == notify
    with catalog.read() as connection:
        assert connection.scalar(select(func.count()).select_from(leaps)) == 2


def test_a_batch_takes_as_many_however_many_documents_it_has(new_database: Callable[[], str], tmp_path: Path) -> None:
    taken = []
    for files in (5, 50):
        direct = new_database()
        with Proxy(direct) as counted, library_at(tmp_path / f"home{files}", counted.url, direct) as library:
            folder, before = write(tmp_path / f"files{files}", files), counted.round_trips
            assert library.add(str(folder)).added == files
            taken.append(counted.round_trips - before)
    assert taken[1] <= taken[0] + 2
