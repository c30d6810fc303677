"""A library whose index is in Qdrant: the same answers, few requests, and what happens when the server is gone."""

from __future__ import annotations

import logging
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from qdrant_server import QdrantServer

from pinakes.core.errors import IndexUnavailable, InvalidInput, InvalidSetting
from pinakes.core.records import Results, SearchMode
from pinakes.library import Library
from pinakes.services.backup.backups import restore
from pinakes.testing import write_files

OpenLibrary = Callable[..., Library]
ENGINES = ("qdrant", "tantivy+qdrant", "qdrant+faiss")
QUESTIONS = (
    "heron",
    "where is watch_heron defined",
    "what does RFC-0011 say of the heron",
    '"grey heron" krill',
    "zyzzyva",
)


@pytest.fixture
def server() -> Iterator[QdrantServer]:
    with QdrantServer() as running:
        yield running


@pytest.fixture
def opened(server: QdrantServer, open_library: OpenLibrary) -> Callable[..., Library]:
    def open_(engine: str = "tantivy+qdrant", **more: Any) -> Library:
        settings = {"qdrant__url": server.url, "qdrant__retries": 0, "qdrant__retry_after_s": 0.05}
        return open_library(index__engine=engine, search__remembered_answers=0, **settings, **more)

    return open_


@pytest.fixture
def files(docs: Path) -> str:
    of_each = "# {0}\n\nThe grey heron of {0} saw RFC-0011 and krill {0}.\n"
    texts = {f"{name}.md": of_each.format(name) for name in "abcdefgh"}
    texts["tracer.py"] = "def watch_heron(place):\n    # amber birch, cedar\n    return place\n"
    return str(write_files(docs, texts))


def places(found: Results) -> set[str]:
    return {hit.path for hit in found.hits}


def patiently(ask: Callable[[], Results]) -> Results:
    """Ask until every retriever contributes: a server that was away is asked again only after a while."""
    until = time.monotonic() + 20
    while time.monotonic() < until:
        try:
            found = ask()
            if found.degraded is None:
                return found
        except IndexUnavailable:
            pass
        time.sleep(0.02)
    pytest.fail("the server was never asked again")


@pytest.mark.parametrize("engine", ENGINES)
def test_answers_are_those_of_the_local_engine(
    opened: Callable[..., Library], open_library: OpenLibrary, files: str, engine: str
) -> None:
    library = opened(engine)
    library.add(files)
    modes: tuple[SearchMode, ...] = ("hybrid", "keyword", "vector")
    asked = [(question, mode) for question in QUESTIONS for mode in modes]
    found = [places(library.search(question, mode=mode)) for question, mode in asked]
    [status] = library.status()
    assert status.index["engine"] == engine
    assert not any(library.verify().values())
    local = open_library()
    assert found == [places(local.search(question, mode=mode)) for question, mode in asked]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_question_is_at_most_two_requests_for_each_retriever_in_qdrant(
    opened: Callable[..., Library], server: QdrantServer, files: str, engine: str
) -> None:
    library = opened(engine)
    library.add(files)
    library.search("warm up")
    for question in QUESTIONS:
        before = len(server.requests)
        library.search(question)
        quoted = 1 if '"' in question and engine != "tantivy+qdrant" else 0  # phrases are looked up first
        assert len(server.requests) - before <= (4 if engine == "qdrant" else 2) + quoted, server.requests[before:]


def test_without_the_server_words_still_answer_and_say_so(
    opened: Callable[..., Library], server: QdrantServer, files: str, docs: Path
) -> None:
    library = opened()
    library.add(files)
    whole = library.search("heron")
    server.stop()
    found = library.search("heron")
    assert places(found) == places(whole)
    assert (found.degraded or "").startswith(f"keyword search only: Qdrant at {server.url} does not answer: ")
    with pytest.raises(IndexUnavailable):
        library.search("heron", mode="vector")
    assert library.search("heron", mode="keyword").hits
    assert "problem" in library.status()[0].index
    write_files(docs, {"new.md": "# New\n\nA zyzzyva came by.\n"})
    library.add(str(docs))  # what is written meanwhile is found by its words, and waits for the server
    assert places(library.search("zyzzyva")) == {"new.md"}
    server.start()
    assert "new.md" in places(patiently(lambda: library.search("zyzzyva", mode="vector")))
    assert patiently(lambda: library.search("zyzzyva")).degraded is None
    assert not any(library.verify().values())


@pytest.mark.parametrize("engine", ENGINES)
def test_what_came_while_the_server_was_away_is_all_there_when_it_answers_again(
    opened: Callable[..., Library], server: QdrantServer, files: str, docs: Path, engine: str
) -> None:
    library = opened(engine)
    library.add(files)
    library.search("heron")
    server.stop()
    write_files(docs, {f"more/{number}.md": f"# {number}\n\nA zyzzyva number {number}.\n" for number in range(120)})
    library.add(str(docs))  # more than a search applies in passing
    server.start()
    patiently(lambda: library.search("zyzzyva"))
    contents = library.app.index("default", wait=False)[1].contents()
    assert {part: len(ids) for part, ids in contents.items()} == dict.fromkeys(contents, 129)


def test_a_process_that_starts_while_the_server_is_away_misses_no_change(
    opened: Callable[..., Library], server: QdrantServer, files: str, docs: Path
) -> None:
    opened().add(files)
    server.stop()
    library = opened()
    write_files(docs, {"new.md": "# New\n\nA zyzzyva came by.\n"})
    library.add(str(docs))
    assert places(library.search("zyzzyva")) == {"new.md"}
    server.start()
    assert patiently(lambda: library.search("zyzzyva")).degraded is None
    assert not any(library.verify().values())


def test_where_the_words_are_away_meaning_answers_and_says_so(
    opened: Callable[..., Library], server: QdrantServer, files: str
) -> None:
    library = opened("qdrant+faiss")
    library.add(files)
    server.stop()
    found = library.search("heron")
    assert found.hits
    assert (found.degraded or "").startswith("vector search only: Qdrant at")
    for ask in (lambda: library.search("heron", mode="keyword"), lambda: library.search('"grey heron"')):
        with pytest.raises(IndexUnavailable):
            ask()


def test_an_index_that_is_away_as_a_whole_is_an_error_and_no_empty_answer(
    opened: Callable[..., Library], server: QdrantServer, files: str
) -> None:
    library = opened("qdrant")
    library.add(files)
    server.stop()
    for mode in ("hybrid", "keyword", "vector"):
        with pytest.raises(IndexUnavailable, match="does not answer"):
            library.search("heron", mode=mode)
    server.start()
    assert patiently(lambda: library.search("heron")).hits


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("reopened", [False, True])
def test_a_collection_that_was_deleted_by_hand_is_built_anew_and_that_is_said(
    opened: Callable[..., Library],
    server: QdrantServer,
    files: str,
    engine: str,
    reopened: bool,
    caplog: pytest.LogCaptureFixture,
) -> None:
    library = opened(engine)
    library.add(files)
    expected = places(library.search("heron"))
    for one in server.client.get_collections().collections:
        server.client.delete_collection(one.name)
    library = opened(engine) if reopened else library
    with caplog.at_level(logging.WARNING):
        found = library.search("heron")
    assert (places(found), found.degraded) == (expected, None)
    assert "is built anew" in caplog.text
    assert not any(library.verify().values())


def test_an_index_ahead_of_the_catalogue_is_built_anew(
    opened: Callable[..., Library], server: QdrantServer, files: str, caplog: pytest.LogCaptureFixture
) -> None:
    opened().add(files)
    [name] = [one.name for one in server.client.get_collections().collections]
    server.client.set_payload(name, {"position": 1_000_000}, points=[0], key="index")
    found = opened().search("heron")
    assert (found.hits != (), found.degraded) == (True, None)
    assert "stands at change 1000000" in caplog.text


def test_what_is_dropped_is_dropped_on_the_server(
    opened: Callable[..., Library], server: QdrantServer, files: str
) -> None:
    library = opened()
    library.add(files)
    library.add(files, collection="other")
    names = {one.name for one in server.client.get_collections().collections}
    assert len(names) == 2
    library.reindex("default")
    again = {one.name for one in server.client.get_collections().collections}
    assert (len(again), len(again & names)) == (2, 1)
    library.collecting.delete("other")
    assert len(server.client.get_collections().collections) == 1


def test_without_its_extra_the_engine_says_what_to_install(tmp_path: Path) -> None:
    code = f"""
import sys
from pathlib import Path
sys.modules["qdrant_client"] = None
from pinakes.core.errors import MissingExtra
from pinakes.indexes import open_index
from pinakes.settings import IndexSettings, Settings
settings = Settings(index=IndexSettings(engine="tantivy+qdrant"))
try:
    open_index(settings, Path({str(tmp_path)!r}), 4, lambda _: None)
except MissingExtra as error:
    print(error)
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "The index engine 'qdrant' needs an optional dependency." in said
    assert "qdrant-client>=" in said


@pytest.mark.parametrize("engine", ["qdrant", "tantivy+qdrant"])
def test_a_collection_moves_to_qdrant_and_back_while_it_answers(
    open_library: OpenLibrary, server: QdrantServer, files: str, engine: str
) -> None:
    library = open_library(qdrant__url=server.url, search__remembered_answers=0)
    library.add(files)
    embedded = library.app.embedder_of(library.collection())
    expected = places(library.search("heron"))
    calls: list[int] = []
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(embedded, "embed", lambda texts: calls.append(len(texts)))
        for target, there in ((engine, 1), ("local", 0)):
            for _ in library.collecting.move("default", target):
                assert places(library.search("heron")) == expected
            assert places(library.search("heron")) == expected
            assert library.status()[0].index["engine"] == target
            assert len(server.client.get_collections().collections) == there
            assert not any(library.verify().values())
    assert calls == [], "chunks were embedded again"
    again = open_library(qdrant__url=server.url)
    assert again.status()[0].index["engine"] == "local"


def test_the_engine_of_a_collection_is_kept_with_it(
    open_library: OpenLibrary, server: QdrantServer, files: str, docs: Path
) -> None:
    library = open_library(qdrant__url=server.url)
    library.add(files)
    for _ in library.collecting.move("default", "tantivy+qdrant"):
        pass
    library = open_library(qdrant__url=server.url)
    write_files(docs, {"new.md": "# New\n\nA zyzzyva came by.\n"})
    library.add(str(docs))
    assert places(library.search("zyzzyva", mode="keyword")) == {"new.md"}
    assert library.status()[0].index["engine"] == "tantivy+qdrant"
    library.reindex("default")
    assert library.status()[0].index["engine"] == "tantivy+qdrant"


def test_a_move_that_cannot_be_leaves_everything_as_it_was(
    open_library: OpenLibrary, server: QdrantServer, files: str
) -> None:
    library = open_library(qdrant__url=server.url, qdrant__retries=0, qdrant__retry_after_s=0.05)
    library.add(files)
    expected = places(library.search("heron"))
    server.stop()
    for engine, error in (
        ("tantivy+qdrant", IndexUnavailable),
        ("qdrant", IndexUnavailable),
        ("nonesuch", InvalidSetting),
        ("local", InvalidInput),
    ):
        with pytest.raises(error):
            list(library.collecting.move("default", engine))
        assert places(library.search("heron")) == expected
        assert library.status()[0].index["engine"] == "local"
    server.start()


def test_other_programs_find_text_source_uri_and_metadata_in_the_collection(
    opened: Callable[..., Library], server: QdrantServer
) -> None:
    library = opened("qdrant", qdrant__content=True)
    metadata = {"sourceIdentifier": "team/docs", "status": "draft"}
    library.documents.put("The grey heron.", title="Heron", uri="https://example.org/heron.md", metadata=metadata)
    library.search("heron")
    [name] = [one.name for one in server.client.get_collections().collections]
    points, _ = server.client.scroll(name, limit=10, with_payload=True, with_vectors=True)
    [payload] = [point.payload for point in points if point.payload["kind"] == "chunk"]
    assert payload["content"] == "The grey heron."
    assert (payload["sourceId"], payload["uri"]) == ("team/docs", "https://example.org/heron.md")
    assert payload["metadata"].items() >= metadata.items()
    assert {"dense", "words"} <= {key for point in points for key in point.vector}


def test_a_word_that_is_nowhere_is_said_to_be_looked_for_in_no_other_spelling(
    opened: Callable[..., Library], files: str
) -> None:
    library = opened("qdrant")
    library.add(files)
    notes = library.search("zyzzyva", mode="keyword").notes
    assert any("the index engine keeps no words" in note for note in notes), notes
    assert not any("the index engine keeps no words" in note for note in library.search("heron").notes)


def test_a_home_that_was_restored_leaves_the_index_of_the_original_alone(
    opened: Callable[..., Library], server: QdrantServer, files: str, docs: Path, tmp_path: Path
) -> None:
    library = opened()
    library.add(files)
    library.exchange.back_up(tmp_path / "backup.zip", with_index=True)
    write_files(docs, {"new.md": "# New\n\nA zyzzyva came by.\n"})
    library.add(str(docs))
    restore(tmp_path / "backup.zip", tmp_path / "restored")
    write_files(docs, {f"more/{number}.md": f"# {number}\n\nOf krill {number}.\n" for number in range(9)})
    settings = {"qdrant__url": server.url, "index__engine": "tantivy+qdrant", "embedding__provider": "deterministic"}
    (docs / "new.md").unlink()
    with Library.open(tmp_path / "restored", cache=str(tmp_path / "cache"), **settings) as restored:
        restored.add(str(docs))  # its changes have the numbers that others had in the original
        assert not any(restored.verify().values())
        assert restored.search("krill").degraded is None
    assert not any(library.verify().values())
    assert "new.md" in places(library.search("zyzzyva"))
