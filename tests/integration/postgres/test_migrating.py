"""A catalogue is moved to PostgreSQL and back with all it holds; what was stopped is gone on with."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from catalog_making import bind, new, put, vector
from forking import Forked

from pinakes.catalog import Catalog, audit, collections, documents, embeddings, events, keys, sources
from pinakes.catalog.dialects import row_copies
from pinakes.core.errors import Busy, Conflict, InvalidSetting, NotFound
from pinakes.services.backup.migrating import migrate
from pinakes.settings import CatalogSettings, Settings


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """A home with something in every part of its catalogue."""
    settings = Settings(home=tmp_path / "home")
    with closing(Catalog.of(settings)) as catalog:
        with catalog.write() as connection:
            record = collections.ensure(connection, "c", "of birds")
            source = sources.remember(connection, record.id, ("folder", "/x", ""), {"include": ["*.md"]})
        model = bind(catalog, record)
        odd = new("odd.md", "a\0b\ufdd0", "é ß 漢字", metadata={"z": 1, "a": ["x", {"n\0": None}]}, source_id=source.id)
        ids = put(catalog, record, odd, *(new(f"{number}.md", f"text {number}") for number in range(20)))
        with catalog.write() as connection:
            documents.remove(connection, ids[-1])
            waiting = embeddings.pending(connection, record.id, model, 100)
            embeddings.store(connection, model, {key: vector(number) for number, key, _ in waiting})
            keys.create(connection, "guest", scope="read")
            audit.add(connection, [audit.AuditEntry("2026-01-01T00:00:00.000+00:00", "cli", "search")])
            gone = collections.create(connection, "gone")
            collections.remove(connection, gone)
    return settings


def _held(catalog: Catalog) -> dict[str, row_copies.TableDigest]:
    with catalog.read() as connection:
        return row_copies.digests(connection, lambda *_: None)


def _in_postgres(settings: Settings, url: str) -> Settings:
    return settings.model_copy(update={"catalog": CatalogSettings(url=url)})


def test_there_and_back_nothing_is_lost(settings: Settings, new_database: Callable[[], str], tmp_path: Path) -> None:
    url, seen = new_database(), list[tuple[str, int, int]]()
    with closing(Catalog.of(settings)) as catalog:
        before = _held(catalog)
    done = migrate(settings, url, lambda *step: seen.append(step))
    assert done.rows == {name: one.rows for name, one in before.items()}
    assert {name for name, done_, total in seen if done_ == total} == set(before)
    with closing(Catalog.of(_in_postgres(settings, url))) as moved:
        assert _held(moved) == before
    migrate(_in_postgres(settings, url), str(tmp_path / "back"))
    with closing(Catalog.at(tmp_path / "back")) as back:
        assert _held(back) == before


def test_no_number_is_given_twice_afterwards(
    settings: Settings, new_database: Callable[[], str], tmp_path: Path
) -> None:
    url = new_database()
    migrate(settings, url)
    migrate(_in_postgres(settings, url), str(tmp_path / "back"))
    made = []
    for place in (settings, _in_postgres(settings, url), Settings(home=tmp_path / "back")):
        with closing(Catalog.of(place)) as catalog:
            with catalog.read() as connection:
                last = collections.get(connection, "c").head, events.newest(connection)
            with catalog.write() as connection:
                record = collections.create(connection, "later")
            [document_id] = put(catalog, record, new("later.md", "later"))
            with catalog.read() as connection:
                assert collections.get(connection, "later").head > last[0]
                assert events.newest(connection) > last[1]
            made.append((record.id, document_id))
    assert made == [made[0]] * 3, "as the home itself would have gone on"


def test_the_indexes_of_the_home_answer_as_before(new_database: Callable[[], str], tmp_path: Path) -> None:
    from pinakes.library import Library

    settings = Settings.model_validate({"home": tmp_path / "home", "embedding": {"provider": "deterministic"}})
    with Library(settings) as library:
        library.documents.put("The cardinal buoy marks the wreck.", title="Buoy")
        before = [hit.chunk_id for hit in library.search("cardinal").hits]
        folders = sorted(path.name for path in (tmp_path / "home/index").iterdir() if path.is_dir())
    url = new_database()
    assert migrate(settings, url).keeps_indexes
    with Library(_in_postgres(settings, url)) as library:
        assert [hit.chunk_id for hit in library.search("cardinal").hits] == before
        assert sorted(path.name for path in (tmp_path / "home/index").iterdir() if path.is_dir()) == folders
    with Library(settings.model_copy(update={"catalog": CatalogSettings(url=new_database())})) as library:
        with pytest.raises(NotFound):
            library.search("cardinal")
        assert not list((tmp_path / "home/index").glob("[0-9]*-*")), "they were of another catalogue"


def test_what_a_kill_left_is_gone_on_with(settings: Settings, new_database: Callable[[], str]) -> None:
    url = new_database()
    script = (
        "import sys, time, pathlib\n"
        "from pinakes.services.backup.migrating import migrate\n"
        "from pinakes.settings import Settings\n"
        "def stop(table, done, total):\n"
        "    if table == 'chunks':\n"
        "        print('copying', flush=True); time.sleep(60)\n"
        "migrate(Settings(home=pathlib.Path(sys.argv[1])), sys.argv[2], stop)"
    )
    with Forked(script, str(settings.home), url, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "copying\n"
        with pytest.raises(Busy, match="being moved"):
            Catalog.of(_in_postgres(settings, url))
        process.kill()
    with pytest.raises(Busy, match="being moved"):
        Catalog.of(_in_postgres(settings, url))
    first = dict[str, int]()
    migrate(settings, url, lambda table, done, _: first.setdefault(table, done))
    assert first["documents"] > 0, "it was there already"
    with closing(Catalog.of(settings)) as catalog, closing(Catalog.of(_in_postgres(settings, url))) as moved:
        assert _held(moved) == _held(catalog)


def test_what_changes_meanwhile_is_copied_too(settings: Settings, new_database: Callable[[], str]) -> None:
    url, changed = new_database(), list[int]()
    with closing(Catalog.of(settings)) as catalog:
        with catalog.read() as connection:
            record = collections.get(connection, "c")

        def write(table: str, _done: int, _total: int) -> None:
            if table == "chunks" and not changed:
                changed.extend(put(catalog, record, new("meanwhile.md", "words")))

        migrate(settings, url, write)
        with closing(Catalog.of(_in_postgres(settings, url))) as moved:
            assert _held(moved) == _held(catalog)


def test_a_catalogue_that_never_rests_is_refused(settings: Settings, new_database: Callable[[], str]) -> None:
    with closing(Catalog.of(settings)) as catalog:
        with catalog.read() as connection:
            record = collections.get(connection, "c")

        def write(table: str, _done: int, _total: int) -> None:
            if table == "chunks":
                put(catalog, record, new(f"{time.monotonic_ns()}.md", "words"))

        with pytest.raises(Conflict, match="documents"):
            migrate(settings, new_database(), write)


def test_what_cannot_be_is_refused_in_words(
    settings: Settings, new_database: Callable[[], str], tmp_path: Path
) -> None:
    url = new_database()
    with closing(Catalog.of(_in_postgres(settings, url))) as catalog, catalog.write() as connection:
        collections.create(connection, "theirs")
    with pytest.raises(Conflict, match="holds something"):
        migrate(settings, url)
    with closing(Catalog.of(_in_postgres(settings, url))) as catalog:
        assert collections.CollectionCache(catalog).names() == ["theirs"]
    with pytest.raises(Conflict, match="holds something"):
        migrate(settings, str(settings.home))
    with pytest.raises(NotFound, match="no catalogue"):
        migrate(Settings(home=tmp_path / "nowhere"), url)
    with pytest.raises(InvalidSetting, match="mysql"):
        migrate(settings, "mysql://here/there")
