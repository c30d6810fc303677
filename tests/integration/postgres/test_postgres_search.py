"""Libraries whose indexes are in the catalogue's PostgreSQL: the same answers, shared by homes, mended when damaged."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from benchmarks.postgres.proxy import Proxy
from sqlalchemy.engine import make_url

from pinakes.core.errors import InvalidSetting
from pinakes.core.records import Results, SearchMode
from pinakes.library import Library
from pinakes.settings import Settings
from pinakes.testing import write_files

ENGINES = ("postgres", "tantivy+postgres", "postgres+faiss")
QUESTIONS = (
    "heron",
    "where is watch_heron defined",
    "what does RFC-0011 say of the heron",
    '"grey heron" krill',
    "zyzzyva",
    "hieron",
)


@pytest.fixture
def opened(new_database: Callable[[], str], tmp_path: Path) -> Iterator[Callable[..., Library]]:
    """Opens libraries of one catalogue, each in a home of its own unless the name is the same."""
    url, libraries = new_database(), list[Library]()

    def open_(engine: str = "postgres", home: str = "one", at: str = "", **more: Any) -> Library:
        settings = {
            "home": tmp_path / home,
            "catalog": {"url": at or url},
            "embedding": {"provider": "deterministic"},
            "index": {"engine": engine},
            "search": {"remembered_answers": 0},
            **more,
        }
        libraries.append(Library(Settings.model_validate(settings)))
        return libraries[-1]

    open_.url = url  # type: ignore[attr-defined]
    yield open_
    for library in libraries:
        library.close()


@pytest.fixture
def files(tmp_path: Path) -> str:
    of_each = "# {0}\n\nThe grey heron of {0} saw RFC-0011 and krill {0}.\n"
    texts = {f"{name}.md": of_each.format(name) for name in "abcdefgh"}
    texts["tracer.py"] = "def watch_heron(place):\n    # amber birch, cedar\n    return place\n"
    texts["vogel.md"] = "Der Graureiher wartet im Schilf auf die Fische, und die Häuser stehen am Wasser.\n"
    return str(write_files(tmp_path / "docs", texts))


def places(found: Results) -> set[str]:
    return {hit.path for hit in found.hits}


def tables(opened: Any) -> set[str]:
    """Return the tables that the engine has."""
    with psycopg.connect(opened.url) as connection:
        rows = connection.execute("SELECT relname FROM pg_class WHERE relname ~ '^engine_[0-9]+_(vectors|terms)$'")
        return {name for (name,) in rows}


def number_of(library: Library) -> int:
    return int(library.status()[0].index["postgres_index"])


def execute(opened: Any, statement: str) -> None:
    with psycopg.connect(opened.url, autocommit=True) as connection:
        connection.execute(statement)


@pytest.mark.parametrize("engine", ENGINES)
def test_answers_are_those_of_the_local_engine(opened: Callable[..., Library], files: str, engine: str) -> None:
    library = opened(engine)
    library.add(files)
    modes: tuple[SearchMode, ...] = ("hybrid", "keyword", "vector")
    asked = [(question, mode) for question in (*QUESTIONS, "Haus Fisch") for mode in modes]
    found = [library.search(question, mode=mode) for question, mode in asked]
    [status] = library.status()
    assert status.index["engine"] == engine
    assert not any(library.verify().values())
    local = opened("local", home="two")
    expected = [local.search(question, mode=mode) for question, mode in asked]
    assert [places(one) for one in found] == [places(one) for one in expected]
    assert [one.notes for one in found] == [one.notes for one in expected]
    for one, other in zip(found, expected, strict=True):
        scores = {hit.chunk_id: hit.score for hit in one.hits}
        assert scores == pytest.approx({hit.chunk_id: hit.score for hit in other.hits}, abs=0.02)


def test_a_question_takes_at_most_four_round_trips_of_the_engine(opened: Any, files: str) -> None:
    Path(files, "vogel.md").unlink()  # German compounds take more
    with Proxy(opened.url) as proxy:
        spent: dict[tuple[str, str], int] = {}
        for engine in ("postgres", "local"):
            library = opened(engine, home=engine, at=proxy.url)
            library.add(files)
            for word in ("amber", "birch", "cedar", "place"):  # the first questions open connections
                for question in QUESTIONS[:4]:
                    before = proxy.round_trips
                    library.search(f"{question} {word}")
                    trips = proxy.round_trips - before
                    spent[engine, question] = min(trips, spent.get((engine, question), trips))
            library.close()
    for question in QUESTIONS[:4]:
        assert spent["postgres", question] - spent["local", question] <= 4, spent


def test_a_collection_moves_to_postgresql_and_back_without_embedding_again(
    opened: Callable[..., Library], files: str
) -> None:
    library = opened("local")
    library.add(files)
    expected = [places(library.search(question)) for question in QUESTIONS]
    embedded: list[int] = []
    embed = library.app.embedder.embed
    library.app.embedder.embed = lambda texts: embedded.append(len(texts)) or embed(texts)  # type: ignore[method-assign, func-returns-value]
    for engine in (*ENGINES, "local"):
        for _ in library.collecting.move("default", engine):
            assert library.search("heron").hits
        assert library.status()[0].index["engine"] == engine
        assert [places(library.search(question)) for question in QUESTIONS] == expected
        assert not any(library.verify().values())
    assert embedded == []
    assert tables(opened) == set()


def test_homes_of_one_catalogue_share_an_index(opened: Callable[..., Library], files: str) -> None:
    one, two = opened(home="one"), opened(home="two")
    one.add(files)
    assert places(one.search("heron")) == places(two.search("heron")) != set()
    shared = tables(opened)
    assert len(shared) == 2
    one.documents.put("A zyzzyva came by.", title="Zyzzyva")
    two.documents.put("A quagga came by.", title="Quagga")
    for library in (one, two):
        assert library.search("zyzzyva", mode="keyword").hits
        assert library.search("quagga", mode="keyword").hits
        assert not any(library.verify().values())
    one.reindex()  # the other goes on with the one that both had
    assert len(tables(opened)) == 4
    assert shared < tables(opened)
    assert two.search("quagga", mode="keyword").hits
    two.reindex()
    assert len(tables(opened)) == 4
    assert not shared & tables(opened)
    one.collecting.delete("default")
    one.app.drop_gone()
    two.app.drop_gone()
    assert tables(opened) == set()


@pytest.mark.parametrize("table", ["vectors", "terms", "segments"])
def test_a_table_that_was_dropped_by_hand_is_made_anew(
    opened: Any, files: str, table: str, caplog: pytest.LogCaptureFixture
) -> None:
    library = opened()
    library.add(files)
    expected = places(library.search("heron"))
    execute(opened, f"DROP TABLE engine_{number_of(library)}_{table}")
    [found] = library.verify(content=True).values()
    assert "is gone" in found[0].problem
    with caplog.at_level(logging.WARNING):
        assert places(library.search("heron krill of a")) == expected
    assert "is built anew" in caplog.text
    assert not any(library.verify().values())
    execute(opened, f"DROP TABLE engine_{number_of(library)}_{table}")
    library.close()
    again = opened()
    assert places(again.search("heron")) == expected
    assert not any(again.verify().values())


@pytest.mark.parametrize("is_open", [True, False])
def test_an_index_that_was_taken_out_of_the_registry_is_made_anew(opened: Any, files: str, is_open: bool) -> None:
    """As where the registry was dropped, and counts from the beginning: the tables of the index are still there."""
    library = opened()
    library.add(files)
    number = number_of(library)
    execute(opened, "DELETE FROM engine_indexes")
    execute(opened, f"ALTER TABLE engine_indexes ALTER COLUMN id RESTART WITH {number}")
    if not is_open:
        library.close()
        library = opened()
    library.documents.put("A stork is no crane.", title="Stork")
    assert "a.md" in places(library.search("heron a"))
    assert library.search("stork").hits
    assert not any(library.verify().values())


def test_an_index_whose_extension_was_dropped_is_made_anew(opened: Any, files: str) -> None:
    library = opened()
    library.add(files)
    expected = places(library.search("heron"))
    execute(opened, "DROP EXTENSION vector CASCADE")
    library.close()
    library = opened()
    assert places(library.search("heron")) == expected
    assert not any(library.verify().values())


def test_a_database_that_can_only_be_read_by_default_is_written(opened: Any, files: str) -> None:
    library = opened()
    library.add(files)
    library.close()
    execute(opened, f"ALTER DATABASE {make_url(opened.url).database} SET default_transaction_read_only = on")
    library = opened()
    library.documents.put("A stork is no crane.", title="Stork")
    assert library.search("stork").hits


def test_rows_that_were_deleted_by_hand_are_found_by_verify(opened: Any, files: str) -> None:
    library = opened()
    library.add(files)
    library.search("heron")
    one = f"engine_{number_of(library)}"
    execute(opened, f"DELETE FROM {one}_vectors WHERE chunk_id = (SELECT min(chunk_id) FROM {one}_vectors)")
    execute(opened, f"DELETE FROM {one}_terms WHERE position('krill'::bytea IN names) > 0")
    library.close()
    library = opened()
    [found] = library.verify(content=True).values()
    assert {difference.part for difference in found} >= {"vector", "keyword"}
    library.reindex()
    assert not any(library.verify().values())


def test_a_graph_that_was_dropped_is_found_and_built_again(opened: Any, files: str) -> None:
    library = opened(postgres={"exact_max_vectors": 0})
    library.add(files)
    _, index = library.app.index("default")
    assert index.build_graph()
    expected = places(library.search("heron", mode="vector"))
    assert "HNSW" in str(library.status()[0].index["vector_search"])
    execute(opened, f"DROP INDEX engine_{number_of(library)}_graph")
    [found] = library.verify().values()
    assert ["HNSW" in difference.problem for difference in found] == [True]
    assert places(library.search("heron", mode="vector")) == expected
    assert index.build_graph()
    assert not any(library.verify().values())


def test_a_filtered_search_beside_a_graph_that_is_hardly_searched_finds_all_that_pass(opened: Any, files: str) -> None:
    write_files(Path(files), {f"more/{one}.md": f"# N{one}\n\nThe krill {one} swims.\n" for one in range(80)})
    scarce = {"exact_max_vectors": 0, "exact_max_filtered": 0, "ef_search": 1, "max_scan_tuples": 1}
    library = opened(postgres=scarce)
    library.add(files)
    _, index = library.app.index("default")
    assert index.build_graph()
    named = [f"{name}.md" for name in "abcdefgh"]
    found = library.search("The krill 7 swims.", mode="vector", filters={"path": {"in": named}}, top_k=8)
    assert "HNSW" in str(library.status()[0].index["vector_search"])
    assert places(found) == set(named)


@pytest.mark.parametrize("engine", ENGINES)
def test_without_a_catalogue_in_postgresql_the_engine_says_so(tmp_path: Path, engine: str) -> None:
    settings = Settings.model_validate({"home": tmp_path, "index": {"engine": engine}})
    with Library(settings) as library, pytest.raises(InvalidSetting, match=r"needs a catalogue in PostgreSQL"):
        library.documents.put("The heron.", title="Heron")


def test_without_pgvector_words_work_and_vectors_say_what_is_missing(opened: Any, files: str) -> None:
    execute(opened, "DROP EXTENSION IF EXISTS vector; CREATE ROLE plain LOGIN; GRANT ALL ON SCHEMA public TO plain")
    execute(opened, "DO $$ BEGIN EXECUTE 'ALTER DATABASE ' || current_database() || ' OWNER TO postgres'; END $$")
    execute(
        opened,
        "GRANT ALL ON ALL TABLES IN SCHEMA public TO plain; GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO plain",
    )
    plain = opened.url.replace("postgres:@", "plain:@").replace("//postgres@", "//plain@")
    words = opened("postgres+faiss", at=plain)
    words.add(files)
    assert words.search("heron").degraded is None
    with pytest.raises(InvalidSetting, match="pgvector"):
        opened("postgres", home="two", at=plain).search("heron")
