"""PostgreSQL is away, refuses, or is restarted in the middle: one clear message, and nothing is lost."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any

import psycopg
import pytest
from catalog_making import new, put
from forking import Forked, run_pinakes
from sqlalchemy import text
from sqlalchemy.engine import make_url

from pinakes.catalog import Catalog, collections, documents
from pinakes.core.errors import Busy, InvalidSetting, PinakesError, StorageFull
from pinakes.core.interrupt import Interrupt
from pinakes.settings import CatalogSettings, Settings


def _catalog(home: Path, url: str, **settings: Any) -> Catalog:
    return Catalog.of(Settings(home=home, catalog=CatalogSettings(url=url, **settings)))


def test_a_restart_between_two_calls_is_not_noticed_and_one_in_a_call_is_told(own_server: Any, tmp_path: Path) -> None:
    def restart() -> None:
        own_server.stop()
        own_server.ensure_postgres_running()

    with closing(_catalog(tmp_path, own_server.get_uri())) as catalog:
        with catalog.write() as connection:
            record = collections.ensure(connection, "c")
        put(catalog, record, new("a.md", "one"))
        restart()
        with catalog.read() as connection:
            assert documents.paths(connection, record.id) == ["a.md"]
        restart()
        put(catalog, record, new("b.md", "two"))

        def interrupted() -> None:
            with catalog.write() as connection:
                documents.put(connection, record.id, new("c.md", "three"))
                restart()
                documents.put(connection, record.id, new("d.md", "four"))

        with pytest.raises(Busy, match="cannot be reached"):
            interrupted()
        with catalog.read() as connection:
            assert documents.paths(connection, record.id) == ["a.md", "b.md"]
        own_server.stop()
        with pytest.raises(Busy, match="cannot be reached") as caught, catalog.read():
            pass
        assert caught.value.retryable
        own_server.ensure_postgres_running()
        with catalog.read() as connection:
            assert documents.paths(connection, record.id) == ["a.md", "b.md"]


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"username": "nobody"}, InvalidSetting, "nobody"),
        ({"database": "nothing"}, InvalidSetting, "nothing"),
        ({"host": "127.0.0.1", "port": 1, "query": {}}, Busy, "cannot be reached"),
        ({"drivername": "mysql"}, InvalidSetting, "mysql"),
    ],
)
def test_who_is_not_let_in_is_told_why(
    change: dict[str, Any], error: type[PinakesError], words: str, new_database: Callable[[], str], tmp_path: Path
) -> None:
    url = make_url(new_database()).set(**change)
    with pytest.raises(error, match=words) as caught:
        _catalog(tmp_path, url.render_as_string(hide_password=False))
    assert caught.value.hint


def test_who_may_make_no_tables_is_told_so(new_database: Callable[[], str], tmp_path: Path) -> None:
    url = make_url(new_database())
    with psycopg.connect(url.render_as_string(hide_password=False), autocommit=True) as admin:
        admin.execute("CREATE ROLE guest LOGIN")
        admin.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
        try:
            with pytest.raises(InvalidSetting, match="schema"):
                _catalog(tmp_path, url.set(username="guest").render_as_string(hide_password=False))
        finally:
            admin.execute("DROP OWNED BY guest; DROP ROLE guest")


def test_a_newer_catalogue_is_left_alone(new_database: Callable[[], str], tmp_path: Path) -> None:
    url = new_database()
    with closing(_catalog(tmp_path, url)) as catalog, catalog.write() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
        connection.execute(text("UPDATE installation SET min_reader = '9998', min_writer = '9999'"))
    with pytest.raises(PinakesError, match="newer Pinakes"):
        _catalog(tmp_path, url)


@pytest.mark.parametrize("writes", [True, False])
def test_a_server_goes_on_while_a_newer_one_has_migrated_as_far_as_it_may(
    writes: bool, new_database: Callable[[], str], tmp_path: Path
) -> None:
    url = new_database()
    with closing(_catalog(tmp_path, url)) as running:
        with running.write() as connection:
            least = "0000" if writes else "9999"
            connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
            connection.execute(text(f"UPDATE installation SET min_reader = '0000', min_writer = '{least}'"))
        running.look_at_schema()
        with closing(_catalog(tmp_path, url)) as started:
            for catalog in (running, started):
                assert bool(catalog.unwritable) is not writes
                with nullcontext() if writes else pytest.raises(StorageFull, match="schema 9999"), catalog.write():
                    pass


def test_a_database_that_does_not_keep_unicode_is_refused(new_database: Callable[[], str], tmp_path: Path) -> None:
    url = make_url(new_database())
    with psycopg.connect(url.render_as_string(hide_password=False), autocommit=True) as admin:
        admin.execute("CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
        try:
            with pytest.raises(InvalidSetting, match="LATIN1"):
                _catalog(tmp_path, url.set(database="latin").render_as_string(hide_password=False))
        finally:
            admin.execute("DROP DATABASE latin WITH (FORCE)")


def test_several_may_open_an_empty_database_at_once(own_server: Any, tmp_path: Path) -> None:
    script = (
        "import sys, pathlib\n"
        "from pinakes.catalog import Catalog\n"
        "from pinakes.settings import CatalogSettings, Settings\n"
        "Catalog.of(Settings(home=pathlib.Path(sys.argv[1]), catalog=CatalogSettings(url=sys.argv[2]))).close()"
    )
    url = own_server.get_uri()
    running = [Forked(script, str(tmp_path / str(number)), url, text=True) for number in range(4)]
    assert [process.communicate(timeout=60)[1] for process in running] == [""] * 4
    with closing(_catalog(tmp_path / "5", url)) as catalog, catalog.read() as connection:
        assert collections.list_all(connection) == []


def test_a_statement_that_takes_too_long_is_ended(new_database: Callable[[], str], tmp_path: Path) -> None:
    with closing(_catalog(tmp_path, new_database(), statement_timeout_s=0.2)) as catalog:
        with pytest.raises(Busy, match="in time"), catalog.read() as connection:
            connection.execute(text("SELECT pg_sleep(30)"))
        with catalog.read() as connection:
            assert collections.list_all(connection) == []


def test_a_call_that_is_to_end_does_not_wait_for_its_statement(new_database: Callable[[], str], tmp_path: Path) -> None:
    with closing(_catalog(tmp_path, new_database())) as catalog:
        call, begin = Interrupt(), time.monotonic()

        def sleep() -> None:
            with catalog.read() as connection:
                connection.execute(text("SELECT pg_sleep(30)"))

        ending = threading.Timer(0.5, call.end, [Busy("Its time is up.")])
        ending.start()
        with pytest.raises(Busy, match="time is up"):
            call.run(sleep)
        assert time.monotonic() < begin + 10
        with catalog.read() as connection:
            assert collections.list_all(connection) == []


def test_more_calls_than_connections_wait_for_one_another(new_database: Callable[[], str], tmp_path: Path) -> None:
    with closing(_catalog(tmp_path, new_database(), max_connections=1)) as catalog:
        with catalog.write() as connection:
            record = collections.ensure(connection, "c")
        put(catalog, record, *(new(f"{number}.md", "words") for number in range(3)))
        with catalog.read() as connection:
            assert len(documents.paths(connection, record.id)) == 3


def test_no_password_is_shown(tmp_path: Path) -> None:
    url = "postgresql://me:hush-hush@db.example.com/x?password=quiet&sslmode=require"
    words = ["config", "--home", str(tmp_path), "--json", "--set", f"catalog.url={url}"]
    done = run_pinakes(words, os.environ)
    assert done.returncode == 0, done.stderr
    assert "db.example.com" in done.stdout
    assert "hush" not in done.stdout + done.stderr
    assert "quiet" not in done.stdout + done.stderr
