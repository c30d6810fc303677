"""Opening, migrating and guarding the catalogue."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from catalog_making import MIGRATIONS, first_schema, new, put
from sqlalchemy import inspect, text

from pinakes.catalog import Catalog, collections, documents, schema
from pinakes.catalog.collections import CollectionRecord
from pinakes.catalog.dialects import database
from pinakes.catalog.dialects import sqlite as of_sqlite
from pinakes.core.errors import Busy, CatalogueCorrupt, NotFound, PinakesError, StorageFull


@pytest.fixture
def migrated(tmp_path: Path) -> Iterator[Catalog]:
    """A catalogue that began with the first schema and went through every migration."""
    first_schema(tmp_path)
    opened = Catalog.at(tmp_path)
    yield opened
    opened.close()


def test_the_migrated_schema_is_that_of_the_tables(migrated: Catalog) -> None:
    with migrated.read() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True, "compare_server_default": True})
        assert compare_metadata(context, schema.metadata) == []


def test_the_schema_is_that_of_the_tables(catalog: Catalog) -> None:
    with catalog.read() as connection:
        assert compare_metadata(MigrationContext.configure(connection), schema.metadata) == []


def test_an_index_with_a_condition_has_it_in_every_database(catalog: Catalog) -> None:
    [found] = [one for one in inspect(catalog.engine).get_indexes("versions") if "until" in one["column_names"]]
    condition = str(found["dialect_options"][f"{catalog.engine.dialect.name}_where"])
    assert condition.strip("()").lower() == "title is not null"


def test_the_migrated_schema_has_every_constraint_of_a_new_one(migrated: Catalog, in_file: Catalog) -> None:
    by_migration, by_tables = inspect(migrated.engine), inspect(in_file.engine)
    assert set(by_migration.get_table_names()) == set(by_tables.get_table_names())
    for table in schema.metadata.tables:
        for what in ("get_foreign_keys", "get_unique_constraints", "get_indexes", "get_pk_constraint"):
            found, expected = getattr(by_migration, what)(table), getattr(by_tables, what)(table)
            assert _in_words(found) == _in_words(expected)
        assert _columns(migrated, table) == _columns(in_file, table)


def _columns(catalog: Catalog, table: str) -> tuple[bool, list[tuple[Any, ...]]]:
    """Return whether ids of ``table`` are never given twice, and its columns: name, type, bound, default, key."""
    with catalog.read() as connection:
        made = str(connection.exec_driver_sql(f"SELECT sql FROM sqlite_master WHERE name = '{table}'").scalar_one())
        columns = connection.exec_driver_sql(f"PRAGMA table_info({table})").all()
    return "AUTOINCREMENT" in made, sorted(tuple(column[1:]) for column in columns)


def _in_words(found: Any) -> Any:
    """Return what an inspector found with conditions of partial indexes as their words, which can be compared."""
    if isinstance(found, list):
        return sorted((_in_words(one) for one in found), key=str)
    return {name: _in_words(value) if isinstance(value, dict) else str(value) for name, value in found.items()}


def test_head_is_the_newest_migration() -> None:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    assert ScriptDirectory.from_config(config).get_current_head() == database.HEAD


def test_opening_again_keeps_everything(tmp_path: Path) -> None:
    for _ in range(2):
        catalog = Catalog.at(tmp_path)
        with catalog.write() as connection:
            collections.ensure(connection, "kept")
        catalog.close()
    with Catalog.at(tmp_path).read() as connection:
        assert [record.name for record in collections.list_all(connection)] == ["kept"]


def test_a_catalogue_of_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    catalog = Catalog.at(tmp_path)
    with catalog.write() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
        connection.exec_driver_sql("UPDATE installation SET min_reader = '9998', min_writer = '9999'")
    catalog.close()
    with pytest.raises(PinakesError, match="newer Pinakes") as caught:
        Catalog.at(tmp_path)
    assert "Update" in caught.value.hint


def test_a_catalogue_of_a_newer_version_is_only_read_where_that_is_all_this_one_may(tmp_path: Path) -> None:
    catalog = Catalog.at(tmp_path)
    with catalog.write() as connection:
        collections.create(connection, "kept")
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
        connection.exec_driver_sql("UPDATE installation SET min_writer = '9999'")
    catalog.look_at_schema()
    for program in (catalog, Catalog.at(tmp_path)):  # one that ran when the tables were migrated, and one that starts
        with program.read() as connection:
            assert [record.name for record in collections.list_all(connection)] == ["kept"]
        with pytest.raises(StorageFull, match="schema 9999") as caught, program.write():
            pass
        assert caught.value.hint == "Update Pinakes."
        program.close()


def test_a_newer_catalogue_that_older_programs_may_write_is_written(tmp_path: Path) -> None:
    catalog = Catalog.at(tmp_path)
    with catalog.write() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    catalog.look_at_schema()
    for program in (catalog, Catalog.at(tmp_path)):
        with program.write() as connection:
            collections.ensure(connection, "new")
            assert connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar() == "9999"
        program.close()


def test_a_migration_that_was_cut_short_is_run_again(tmp_path: Path) -> None:
    sqlite3.connect(tmp_path / "catalog.db").execute("CREATE TABLE alembic_version (version_num VARCHAR(32))").close()
    with Catalog.at(tmp_path).read() as connection:
        assert collections.list_all(connection) == []


def test_what_fails_half_way_leaves_nothing(catalog: Catalog, collection: CollectionRecord) -> None:
    def half() -> None:
        with catalog.write() as connection:
            documents.put(connection, collection.id, new("a.md", "one"))
            raise KeyError("stop")

    with pytest.raises(KeyError):
        half()
    with catalog.read() as connection:
        assert documents.paths(connection, collection.id) == []


def test_a_reader_sees_one_state_while_another_writes(catalog: Catalog, collection: CollectionRecord) -> None:
    with catalog.read() as reading:
        assert documents.paths(reading, collection.id) == []
        put(catalog, collection, new("a.md", "one"))
        assert documents.paths(reading, collection.id) == []
    with catalog.read() as reading:
        assert documents.paths(reading, collection.id) == ["a.md"]


def test_durability_and_foreign_keys_are_on(in_file: Catalog) -> None:
    with in_file.read() as connection:
        values = [connection.execute(text(f"PRAGMA {name}")).scalar() for name in ("journal_mode", "synchronous")]
        assert values == ["wal", 2]
        assert connection.execute(text("PRAGMA foreign_keys")).scalar() == 1


@pytest.mark.parametrize("damage", ["garbage", "header", "truncated", "page"])
def test_a_damaged_file_is_reported_with_what_to_do(damage: str, tmp_path: Path) -> None:
    catalog = Catalog.at(tmp_path)
    with catalog.write() as connection:
        record = collections.ensure(connection, "c")
    put(catalog, record, *[new(f"{number}.md", "text " * 500) for number in range(50)])
    catalog.close()
    path = tmp_path / "catalog.db"
    data = bytearray(path.read_bytes())
    if damage == "garbage":
        data = bytearray(b"not a database " * 1000)
    elif damage == "header":
        data[:16] = b"x" * 16
    elif damage == "truncated":
        data = data[: len(data) // 2 // 4096 * 4096]
    else:
        data[4096:] = b"\xff" * (len(data) - 4096)
    path.write_bytes(data)
    with pytest.raises(CatalogueCorrupt, match="damaged") as caught:
        _read_all(tmp_path)
    assert "backup" in caught.value.hint


def _read_all(home: Path) -> None:
    catalog = Catalog.at(home)
    try:
        with catalog.read() as connection:
            for table in schema.metadata.sorted_tables:
                connection.execute(table.select()).all()
    finally:
        catalog.close()


def test_a_home_that_cannot_be_made_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageFull, match="file"):
        Catalog.at(tmp_path / "file" / "home")


def test_a_folder_in_place_of_the_database_is_reported(tmp_path: Path) -> None:
    (tmp_path / "catalog.db").mkdir()
    with pytest.raises(StorageFull, match="cannot be opened"):
        Catalog.at(tmp_path)


def test_waiting_too_long_for_another_writer_is_busy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(of_sqlite, "BUSY_TIMEOUT_S", 0.05)
    one, two = Catalog.at(tmp_path), Catalog.at(tmp_path)
    with one.write(), pytest.raises(Busy), two.write():
        pass
    one.close()
    two.close()


@pytest.mark.parametrize("old", [False, True], ids=["new", "old"])
def test_processes_may_open_a_new_or_an_old_home_at_once(old: bool, tmp_path: Path) -> None:
    if old:
        first_schema(tmp_path)
    script = "import sys, pathlib, pinakes.catalog as c; c.Catalog.at(pathlib.Path(sys.argv[1])).close()"
    running = [
        subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    assert [process.communicate(timeout=60)[1] for process in running] == [""] * 2


def test_an_error_nobody_foresaw_is_called_a_bug(catalog: Catalog) -> None:
    with pytest.raises(PinakesError, match="nowhere") as caught, catalog.read() as connection:
        connection.execute(text("SELECT * FROM nowhere"))
    assert "report" in caught.value.hint
    assert caught.value.__cause__ is not None


def test_our_own_errors_pass_through(catalog: Catalog) -> None:
    with pytest.raises(NotFound), catalog.read() as connection:
        collections.get(connection, "nothing")


def test_many_may_open_a_new_or_an_old_home_at_once(tmp_path: Path) -> None:
    for number in range(6):
        begin = threading.Barrier(6)
        (tmp_path / str(number)).mkdir()
        if number % 2:
            first_schema(tmp_path / str(number))

        def opened(_: int, home: Path = tmp_path / str(number), begin: threading.Barrier = begin) -> None:
            begin.wait(30)
            catalog = Catalog.at(home)
            with catalog.write():
                pass
            catalog.close()

        with ThreadPoolExecutor(6) as pool:
            list(pool.map(opened, range(6)))
