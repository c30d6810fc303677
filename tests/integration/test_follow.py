"""The index follows the catalogue: late vectors, damage, rebuilding, several handles."""

from __future__ import annotations

import json
import shutil
import sqlite3
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import tantivy
from counting_embedder import CountingEmbedder
from filelock import FileLock

from pinakes.core.errors import Busy, ModelMismatch, ModelUnavailable
from pinakes.core.ports import Index
from pinakes.indexes.combined import CombinedIndex
from pinakes.indexes.keyword import tantivy_index
from pinakes.indexes.storage import checksums
from pinakes.indexes.updater import Superseded, catch_up
from pinakes.indexes.vector.faiss_index import VectorIndex
from pinakes.indexes.verification import compare
from pinakes.ingestion.report import Event
from pinakes.library import Library
from pinakes.models.embedders import EMBEDDERS
from pinakes.models.embedders.deterministic import DeterministicEmbedder
from pinakes.services import ingestion_runs
from pinakes.settings import SourceSettings
from pinakes.testing import FILES, write_files

OpenLibrary = Callable[..., Library]


@pytest.fixture
def filled(library: Library, docs: Path) -> Library:
    library.add(str(write_files(docs)))
    return library


def problems(library: Library) -> list[tuple[str, str]]:
    return [(found.part, found.problem) for found in library.verify()["default"]]


def folder(home: Path) -> Path:
    [only] = [path for path in (home / "index").iterdir() if path.is_dir()]
    return only


def status(library: Library) -> tuple[int, int, object]:
    [about] = library.status()
    return about.chunks, about.pending, about.index["vectors"]


def beforehand(monkeypatch: pytest.MonkeyPatch, owner: object, step: str, happens: Callable[[], object]) -> None:
    """Have something happen before the next call of ``step``, where this thread makes it."""
    as_usual, asking = getattr(owner, step), threading.get_ident()

    def called(*given: Any) -> Any:
        if threading.get_ident() == asking:
            monkeypatch.setattr(owner, step, as_usual)
            happens()
        return as_usual(*given)

    monkeypatch.setattr(owner, step, called)


class TestVectorsThatComeLate:
    @pytest.fixture
    def open_late(self, open_library: OpenLibrary, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OpenLibrary:
        monkeypatch.setitem(EMBEDDERS, "late", "late_embedder:LateEmbedder")
        (tmp_path / "model").mkdir()
        return lambda: open_library(embedding__provider="late", embedding__path=tmp_path / "model")

    def test_without_a_model_everything_waits_and_keywords_work(self, open_late: OpenLibrary, docs: Path) -> None:
        library = open_late()
        report = library.add(str(write_files(docs)))
        assert report.degraded is not None
        assert "not arrived" in report.degraded
        assert (report.embedded, report.pending) == (0, report.chunks)
        found = library.search("earthworms")
        assert found.hits[0].path == "animals/badger.md"
        assert found.degraded == "keyword search only: The model has not arrived."
        assert found.hits[0].scores.cosine is None
        assert library.search("earthworms", mode="keyword").degraded is None
        with pytest.raises(ModelUnavailable):
            library.search("earthworms", mode="vector")
        with pytest.raises(ModelUnavailable):
            library.embed_pending()
        assert status(library) == (report.chunks, report.chunks, 0)
        assert problems(library) == []

    def test_when_it_arrives_what_waits_is_embedded(self, open_late: OpenLibrary, docs: Path, tmp_path: Path) -> None:
        library = open_late()
        chunks = library.add(str(write_files(docs))).chunks
        (tmp_path / "model/arrived").touch()
        events: list[Event] = []
        library.embed_pending(on_event=events.append)
        assert status(library) == (chunks, 0, chunks)
        assert {"embed", "index"} == {event.stage for event in events}
        assert problems(library) == []
        assert library.search("earthworms").degraded is None
        assert len(library.search("anything", mode="vector").hits) == min(10, chunks)

    def test_when_it_arrives_adding_again_embeds_as_well(
        self, open_late: OpenLibrary, docs: Path, tmp_path: Path
    ) -> None:
        chunks = open_late().add(str(write_files(docs))).chunks
        (tmp_path / "model/arrived").touch()
        library = open_late()
        report = library.add(str(docs))
        assert (report.degraded, report.pending) == (None, 0)
        assert status(library) == (chunks, 0, chunks)
        assert problems(library) == []

    def test_text_that_waits_in_many_places_gets_its_vector_in_all(
        self, open_library: OpenLibrary, docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(EMBEDDERS, "late", "late_embedder:LateEmbedder")
        (tmp_path / "model").mkdir()
        library = open_library(embedding__provider="late", embedding__path=tmp_path / "model", ingest__batch_chunks=2)
        write_files(docs, {f"{number}.md": f"# Title\n\nText {number % 3}.\n" for number in range(12)})
        for collection in ("one", "two"):
            library.add(str(docs), collection)
        (tmp_path / "model/arrived").touch()
        library.embed_pending("one")
        assert [about.pending for about in library.status()] == [0, 12], "the second has no model yet"
        assert library.verify() == {"one": [], "two": []}
        library.embed_pending("two")
        assert [about.pending for about in library.status()] == [0, 0]
        assert library.verify() == {"one": [], "two": []}

    def test_a_model_that_arrives_while_the_index_is_built_anew(
        self, open_late: OpenLibrary, docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("pinakes.indexes.updater._DOCUMENTS_PER_STEP", 2)
        library = open_late()
        chunks = library.add(str(write_files(docs))).chunks

        def arrive(event: Event) -> None:
            if event.done and not (tmp_path / "model/arrived").exists():
                (tmp_path / "model/arrived").touch()
                with Library(library.settings) as other:
                    other.embed_pending()

        library.reindex(on_event=arrive)
        for _ in range(2):
            assert status(library) == (chunks, 0, chunks)
            assert problems(library) == []
            library = open_late()

    def test_an_index_opened_before_the_model_arrived_follows_no_further(
        self, open_late: OpenLibrary, docs: Path, tmp_path: Path
    ) -> None:
        library = open_late()
        chunks = library.add(str(write_files(docs))).chunks
        record, index = library.app.index("default")
        (tmp_path / "model/arrived").touch()
        with Library(library.settings) as other:
            other.embed_pending()
        with pytest.raises(Superseded):
            list(catch_up(library.app.catalog, record, index))
        after, index = library.app.followers.current(replace(record, head=0))
        assert after.fingerprint == "late/16"
        assert len(index.contents()["vector"]) == chunks
        assert status(open_late()) == (chunks, 0, chunks), "what was saved at the end has the vectors"

    def test_an_empty_model_folder_degrades_the_real_embedder(
        self, open_library: OpenLibrary, docs: Path, tmp_path: Path
    ) -> None:
        (tmp_path / "empty").mkdir()
        library = open_library(embedding__provider="onnx", embedding__path=tmp_path / "empty")
        report = library.add(str(write_files(docs)))
        assert report.degraded is not None
        assert report.added == len(FILES)
        found = library.search("earthworms")
        assert found.hits[0].path == "animals/badger.md"
        assert found.degraded is not None
        with pytest.raises(ModelUnavailable):
            library.search("earthworms", mode="vector")
        assert problems(library) == []
        library = open_library()
        assert library.add(str(docs)).pending == 0
        assert library.search("earthworms").degraded is None
        assert problems(library) == []


class TestVerify:
    def test_a_chunk_missing_from_the_keyword_index(self, filled: Library, home: Path) -> None:
        def remove(writer: tantivy.IndexWriter) -> None:
            schema = tantivy.Index.open(str(folder(home) / "keyword")).schema
            writer.delete_documents_by_query(tantivy.Query.term_set_query(schema, "chunk_id", [2]))

        self._change_keywords(home, filled, remove)
        assert problems(filled) == [("keyword", "missing from the index")]
        assert filled.verify()["default"][0].examples == (2,)

    def test_a_chunk_that_should_not_be_there_and_one_twice(self, filled: Library, home: Path) -> None:
        def add(writer: tantivy.IndexWriter) -> None:
            for chunk_id in (1, 777):
                document = tantivy.Document()
                document.add_unsigned("chunk_id", chunk_id)
                document.add_unsigned("document_id", 1)
                writer.add_document(document)

        self._change_keywords(home, filled, add)
        assert problems(filled) == [("keyword", "not in the catalogue"), ("keyword", "in the index more than once")]

    def test_an_index_of_whole_documents_that_was_emptied(self, filled: Library, home: Path) -> None:
        self._change_keywords(home, filled, tantivy.IndexWriter.delete_all_documents, "documents")
        [found] = filled.verify()["default"]
        assert (found.part, found.problem) == ("documents", "missing from the index")
        assert found.count == filled.status()[0].documents
        filled.reindex()
        assert problems(filled) == []

    def test_a_document_that_should_not_be_there_and_one_twice(self, filled: Library, home: Path) -> None:
        def add(writer: tantivy.IndexWriter) -> None:
            for number in (1, 777):
                document = tantivy.Document()
                document.add_unsigned("chunk_id", number)
                document.add_unsigned("document_id", number)
                writer.add_document(document)

        self._change_keywords(home, filled, add, "documents")
        assert problems(filled) == [("documents", "not in the catalogue"), ("documents", "in the index more than once")]
        assert [found.examples for found in filled.verify()["default"]] == [(777,), (1,)]

    def _change_keywords(
        self, home: Path, library: Library, change: Callable[[tantivy.IndexWriter], object], part: str = "keyword"
    ) -> None:
        library.close()
        index = tantivy.Index.open(str(folder(home) / part))
        writer = index.writer(heap_size=15_000_000, num_threads=1)
        change(writer)
        writer.commit()
        writer.wait_merging_threads()
        stands = folder(home) / part / "position.json"
        crc = checksums.crc_of(folder(home) / part / "meta.json")  # as if it had been written so
        stands.write_text(checksums.sealed(checksums.unsealed(stands.read_text()) | {"meta": crc}))
        library.__init__(library.settings)  # type: ignore[misc]

    def test_a_vector_that_is_not_the_catalogues(self, filled: Library, home: Path) -> None:
        filled.app.index("default")[1].vectors(np.array([1]))
        catalogue = sqlite3.connect(home / "catalog.db")
        other = np.zeros(384, np.float16)
        other[0] = 1
        catalogue.execute("UPDATE embeddings SET vector = ? WHERE id = 3", (other.tobytes(),))
        catalogue.commit()
        catalogue.close()
        assert problems(filled) == [("vector", "vector differs")]
        filled.reindex()
        assert problems(filled) == []

    def test_a_position_that_claims_too_much(self, filled: Library, home: Path, docs: Path) -> None:
        """A position ahead of the catalogue, as after restoring a backup, means building the index anew."""
        chunks = status(filled)[0]
        filled.close()
        for part in ("keyword", "documents"):
            (folder(home) / part / "position.json").write_text(json.dumps({"position": 99_999}))
        for about in (folder(home) / "vectors").rglob("about.json"):
            about.write_text(checksums.sealed(checksums.unsealed(about.read_text()) | {"position": 99_999}))
        (folder(home) / "vectors/7").rename(folder(home) / "vectors/99999")
        with Library(filled.settings) as library:
            assert library.search("earthworms").hits
            (docs / "new.md").write_text("Newts swim.\n")
            library.add(str(docs))
            assert library.search("newts", mode="keyword").hits[0].path == "new.md"
            assert problems(library) == []
            assert status(library)[2] == chunks + 1
            assert folder(home).name == "1-2"

    def test_a_position_that_claims_too_little_is_caught_up(self, filled: Library, home: Path) -> None:
        filled.close()
        (folder(home) / "keyword/position.json").write_text(json.dumps({"position": 1}))
        with Library(filled.settings) as library:
            assert problems(library) == []

    def test_the_catalogue_may_be_an_older_copy(self, filled: Library, home: Path, docs: Path, tmp_path: Path) -> None:
        filled.close()
        shutil.copy(home / "catalog.db", tmp_path / "backup.db")
        with Library(filled.settings) as library:
            write_files(docs, {f"more/{number}.md": f"# More {number}\n\nZebra.\n" for number in range(5)})
            library.add(str(docs))
        shutil.copy(tmp_path / "backup.db", home / "catalog.db")
        with Library(filled.settings) as library:
            assert library.search("zebra", mode="keyword").hits == ()
            assert problems(library) == []

    def test_the_catalogue_may_be_an_older_copy_to_which_more_is_added_at_once(
        self, filled: Library, home: Path, docs: Path, tmp_path: Path
    ) -> None:
        filled.close()
        shutil.copy(home / "catalog.db", tmp_path / "backup.db")
        with Library(filled.settings) as library:
            write_files(docs, {f"more/{number}.md": f"# More {number}\n\nZebra.\n" for number in range(5)})
            library.add(str(docs))
        shutil.copy(tmp_path / "backup.db", home / "catalog.db")
        write_files(tmp_path / "others", {f"{number}.md": f"# Other {number}\n\nLynx.\n" for number in range(8)})
        with Library(filled.settings) as library:
            library.add(str(tmp_path / "others"))
            assert library.search("zebra", mode="keyword").hits == ()
            assert len(library.search("lynx", mode="keyword").hits) == 8
            assert problems(library) == []

    def test_the_catalogue_may_be_an_older_copy_in_which_chunks_are_embedded_at_once(
        self, open_library: OpenLibrary, home: Path, docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(EMBEDDERS, "late", "late_embedder:LateEmbedder")
        (tmp_path / "model").mkdir()
        library = open_library(embedding__provider="late", embedding__path=tmp_path / "model")
        library.add(str(write_files(docs)))
        library.close()
        shutil.copy(home / "catalog.db", tmp_path / "backup.db")
        with Library(library.settings) as later:
            later.add(str(write_files(tmp_path / "more", {"new.md": "Newts swim.\n"})))
        shutil.copy(tmp_path / "backup.db", home / "catalog.db")
        (tmp_path / "model/arrived").touch()
        with Library(library.settings) as restored:
            restored.embed_pending()
            assert restored.search("newts", mode="keyword").hits == ()
            assert problems(restored) == []

    def test_a_change_beside_it_makes_it_look_again(self, filled: Library, docs: Path) -> None:
        changes = iter(["Badgers sleep by day.\n"])

        def change() -> None:
            for text in changes:
                write_files(docs, {"animals/badger.md": text, "new.md": "Newts swim.\n"})
                with Library(filled.settings) as other:
                    other.add(str(docs))

        record, index = filled.app.index("default")
        assert compare(filled.app.catalog, record, cast("Index", Interrupted(index, change))) == []
        assert filled.search("newts", mode="keyword").hits[0].path == "new.md"

    def test_changes_beside_it_that_never_end_are_no_difference(self, filled: Library, docs: Path) -> None:
        texts = (f"Badger number {number}.\n" for number in range(99))

        def change() -> None:
            write_files(docs, {"animals/badger.md": next(texts)})
            with Library(filled.settings) as other:
                other.add(str(docs))

        record, index = filled.app.index("default")
        with pytest.raises(Busy, match="changed each of the"):
            compare(filled.app.catalog, record, cast("Index", Interrupted(index, change)))
        assert problems(filled) == []


class Interrupted:
    """An index beside which something happens whenever its contents were read."""

    def __init__(self, index: Index, happen: Callable[[], None]) -> None:
        self._index = index
        self._happen = happen

    def contents(self) -> object:
        found = self._index.contents()
        self._happen()
        return found

    def __getattr__(self, name: str) -> Any:
        return getattr(self._index, name)


class TestDamage:
    @pytest.mark.parametrize(
        "damage", ["no folder", "no keywords", "garbage", "no vectors", "bad vectors", "bad position"]
    )
    def test_a_damaged_index_is_built_anew_without_embedding(
        self, damage: str, open_library: OpenLibrary, docs: Path, home: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(EMBEDDERS, "counting", "counting_embedder:CountingEmbedder")
        library = open_library(embedding__provider="counting")
        chunks = library.add(str(write_files(docs))).chunks
        library.close()
        place = folder(home)
        if damage == "no folder":
            shutil.rmtree(place)
        elif damage == "no keywords":
            shutil.rmtree(place / "keyword")
        elif damage == "garbage":
            for path in (place / "keyword").iterdir():
                path.write_bytes(b"\xa5" * 100)
        elif damage == "no vectors":
            shutil.rmtree(place / "vectors")
        elif damage == "bad vectors":
            for path in (place / "vectors").rglob("*.npy"):
                path.write_bytes(b"\xa5" * 100)
        else:
            (place / "keyword/position.json").write_text("{")
        library = open_library(embedding__provider="counting")
        assert library.search("earthworms").hits[0].path == "animals/badger.md"
        assert status(library) == (chunks, 0, chunks)
        assert problems(library) == []
        embedder = library.app.embedder
        assert isinstance(embedder, CountingEmbedder)
        assert embedder.texts == []

    def test_damage_that_shows_while_searching_is_mended(self, filled: Library, home: Path) -> None:
        assert filled.search("earthworms").hits
        for path in (folder(home) / "keyword").glob("*"):
            if path.suffix in (".idx", ".term", ".fast") or path.name == "meta.json":
                path.write_bytes(b"\xa5" * 50)
        (folder(home) / "keyword/position.json").write_text(json.dumps({"position": 6}))
        found = filled.search("earthworms")
        assert found.hits[0].path == "animals/badger.md"
        assert problems(filled) == []

    def test_verify_reports_damage_that_shows_while_comparing(self, filled: Library, home: Path) -> None:
        record, index = filled.app.index("default")
        assert compare(filled.app.catalog, record, index) == []
        for path in (folder(home) / "keyword").glob("*"):
            if path.suffix in (".idx", ".term", ".fast") or path.name == "meta.json":
                path.write_bytes(b"\xa5" * 50)
        (folder(home) / "keyword/position.json").write_text(json.dumps({"position": 6}))
        [found] = compare(filled.app.catalog, record, index)
        assert (found.part, found.count) == ("keyword", status(filled)[0])
        assert "cannot be read" in found.problem


class TestReindex:
    def test_it_embeds_nothing_and_changes_no_answer(
        self, open_library: OpenLibrary, docs: Path, home: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(EMBEDDERS, "counting", "counting_embedder:CountingEmbedder")
        library = open_library(embedding__provider="counting")
        library.add(str(write_files(docs)))
        embedder = library.app.embedder
        assert isinstance(embedder, CountingEmbedder)
        before = [(hit.chunk_id, hit.score) for hit in library.search("heron fish").hits]
        embedder.texts.clear()
        events: list[Event] = []
        library.reindex(on_event=events.append)
        assert embedder.texts == []
        assert [(hit.chunk_id, hit.score) for hit in library.search("heron fish").hits] == before
        assert [event.stage for event in events] == ["index", "index"]
        assert (events[-1].done, events[-1].total) == (len(FILES), len(FILES))
        assert folder(home).name == "1-2", "the old folder is gone"
        assert problems(library) == []

    def test_what_killed_processes_left_is_cleared_away(self, filled: Library, home: Path) -> None:
        (home / "index/1-2/keyword").mkdir(parents=True)
        (home / "index/1-2/keyword/junk").write_text("half")
        (home / "index/1-9").mkdir()
        (home / "index/1-1.dropped/keyword").mkdir(parents=True)
        (home / "index/10-1").mkdir()
        filled.reindex()
        assert sorted(path.name for path in (home / "index").iterdir() if path.is_dir()) == ["1-2", "10-1"]
        assert problems(filled) == []

    def test_the_old_index_goes_all_at_once(self, filled: Library, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        seen: list[bool] = []
        remove = shutil.rmtree

        def looked(path: Path, **how: Any) -> None:
            if path.name.startswith("1-1"):
                seen.append((home / "index/1-1").exists())
            remove(path, **how)

        monkeypatch.setattr(shutil, "rmtree", looked)
        filled.reindex()
        assert seen == [False]

    def test_a_step_is_bounded_by_its_text(self, library: Library, docs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        write_files(
            docs, {f"{name}.txt": "word " * count for name, count in zip("abcde", (8, 8, 8, 90, 8), strict=True)}
        )
        library.add(str(docs))
        monkeypatch.setattr("pinakes.indexes.updater._CHARS_PER_STEP", 100)
        events: list[Event] = []
        library.reindex(on_event=events.append)
        assert [event.done for event in events] == [0, 2, 3, 4, 5], "at least one each time"
        assert problems(library) == []

    def test_the_old_index_answers_until_the_new_one_is_there(self, filled: Library) -> None:
        seen: list[int] = []

        def search(_event: Event) -> None:
            seen.append(len(filled.search("heron", mode="keyword").hits))

        expected = len(filled.search("heron", mode="keyword").hits)
        filled.reindex(on_event=search)
        assert len(seen) >= 2
        assert set(seen) == {expected}

    def test_searches_in_threads_go_on_meanwhile(self, filled: Library) -> None:
        expected = [hit.chunk_id for hit in filled.search("heron fish").hits]
        wrong: list[object] = []
        done = threading.Event()

        def search() -> None:
            while not done.is_set():
                try:
                    found = filled.search("heron fish")
                    if [hit.chunk_id for hit in found.hits] != expected:
                        wrong.append(found)
                except Exception as error:  # noqa: BLE001 - reported below
                    wrong.append(error)

        threads = [threading.Thread(target=search) for _ in range(3)]
        for thread in threads:
            thread.start()
        try:
            for _ in range(5):
                filled.reindex()
        finally:
            done.set()
            for thread in threads:
                thread.join()
        assert wrong == []
        assert filled.collection().generation == 6

    def test_only_one_rebuilds_at_a_time(self, open_library: OpenLibrary, docs: Path) -> None:
        library = open_library(index__lock_timeout_s=0.1)
        library.add(str(write_files(docs)))

        def again(event: Event) -> None:
            if event.done == 0:
                with pytest.raises(Busy):
                    library.reindex()

        library.reindex(on_event=again)
        assert library.collection().generation == 2


class TestAnotherModel:
    @pytest.fixture
    def other(
        self, filled: Library, open_library: OpenLibrary, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> Library:
        monkeypatch.setitem(EMBEDDERS, "late", "late_embedder:LateEmbedder")
        (tmp_path / "model").mkdir()
        (tmp_path / "model/arrived").touch()
        return open_library(embedding__provider="late", embedding__path=tmp_path / "model")

    def test_a_mismatch_is_an_error_that_names_the_mending_command(self, other: Library, docs: Path) -> None:
        for action in (
            lambda: other.search("heron"),
            lambda: other.search("heron", mode="vector"),
            lambda: other.add(str(docs)),
            other.embed_pending,
        ):
            with pytest.raises(ModelMismatch, match="was embedded by deterministic") as caught:
                action()
            assert "reindex --embed" in caught.value.hint

    def test_nobody_waits_for_the_model_to_be_looked_up(self, other: Library, home: Path, docs: Path) -> None:
        class Looking(DeterministicEmbedder):
            @property
            def fingerprint(self) -> str:
                catalogue = sqlite3.connect(home / "catalog.db", timeout=0)
                catalogue.execute("BEGIN IMMEDIATE")
                catalogue.close()
                return "looking"

        other.app.embedder = Looking(16)
        with pytest.raises(ModelMismatch, match="the settings name looking"):
            ingestion_runs.remember(other.app, "default", SourceSettings(location=str(docs / "more")))
        [about] = other.status()
        assert len(about.sources) == 1, "nothing was remembered"

    def test_keywords_status_and_verify_still_work(self, other: Library) -> None:
        assert other.search("earthworms", mode="keyword").hits
        assert status(other)[1] == 0
        assert problems(other) == []

    def test_embedding_anew_switches_the_model(self, other: Library) -> None:
        chunks = status(other)[0]
        other.reindex(embed=True)
        assert other.collection().fingerprint == "late/16"
        assert status(other) == (chunks, 0, chunks)
        assert len(other.search("heron", mode="vector").hits) == min(10, chunks)
        assert problems(other) == []

    def test_switching_back_embeds_nothing(
        self, other: Library, open_library: OpenLibrary, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        other.reindex(embed=True)
        monkeypatch.setitem(EMBEDDERS, "counting", "counting_embedder:CountingEmbedder")
        library = open_library(embedding__provider="counting")
        library.reindex(embed=True)
        embedder = library.app.embedder
        assert isinstance(embedder, CountingEmbedder)
        assert embedder.texts == []
        assert problems(library) == []
        assert library.search("earthworms").degraded is None


class TestSharing:
    def test_what_one_handle_adds_another_finds(self, filled: Library, docs: Path) -> None:
        with Library(filled.settings) as other:
            assert other.search("earthworms").hits
            (docs / "new.md").write_text("Newts swim.\n")
            other.add(str(docs))
            assert filled.search("newts", mode="keyword").hits[0].path == "new.md"
            assert any(hit.path == "new.md" for hit in filled.search("Newts swim.", mode="vector").hits)
            other.reindex()
            assert filled.search("newts", mode="keyword").hits[0].path == "new.md"
            assert problems(filled) == problems(other) == []

    def test_a_search_does_without_what_another_keeps_from_being_written(
        self, open_library: OpenLibrary, docs: Path, home: Path
    ) -> None:
        library = open_library(index__lock_timeout_s=0.1)
        library.add(str(write_files(docs)))
        write_files(docs, {"new.md": "Newts swim.\n"})
        with FileLock(folder(home) / "keyword.lock"):
            with Library(library.settings) as other, pytest.raises(Busy):
                other.add(str(docs))
            assert library.search("earthworms").hits[0].path == "animals/badger.md"
            assert library.status()[0].documents == len(FILES) + 1
            assert library.search("newts", mode="keyword").hits == ()
            with pytest.raises(Busy):
                library.verify()
        assert library.search("newts", mode="keyword").hits[0].path == "new.md"
        assert problems(library) == []

    @pytest.mark.parametrize(
        ("owner", "step"),
        [
            (CombinedIndex, "apply"),
            (tantivy_index.KeywordIndex, "_write"),
            (tantivy_index, "_replace"),
            (VectorIndex, "apply"),
        ],
        ids=["all", "words", "position", "vectors"],
    )
    def test_an_index_that_another_replaces_while_it_is_written_to_gives_way(
        self, filled: Library, docs: Path, home: Path, monkeypatch: pytest.MonkeyPatch, owner: object, step: str
    ) -> None:
        as_usual = getattr(owner, step)
        assert filled.search("earthworms").hits
        with Library(filled.settings) as other:
            beforehand(monkeypatch, owner, step, other.reindex)
            report = filled.add(str(write_files(docs, {"new.md": "Newts swim.\n"})))
            assert getattr(owner, step) is as_usual, "it was replaced meanwhile"
            assert report.added == 1
            for library in (filled, other):
                assert library.search("newts", mode="keyword").hits[0].path == "new.md"
                assert problems(library) == []
        assert folder(home).name == "1-2"

    def test_an_index_that_another_replaced_is_not_made_again(self, filled: Library, home: Path) -> None:
        record = filled.collection("default")
        with Library(filled.settings) as other:
            other.reindex()
        with Library(filled.settings) as late:
            found, _ = late.app.followers.current(record)
            assert found.generation == 2
        assert folder(home).name == "1-2"

    def test_a_search_whose_index_is_replaced_finds_what_was_changed_since(
        self, filled: Library, docs: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        filled.add(str(write_files(docs, {"new.md": "Newts swim.\n"})))
        embedder = filled.app.embedder
        assert isinstance(embedder, DeterministicEmbedder)
        with Library(filled.settings) as other:

            def replaced() -> None:
                other.reindex()
                other.add(str(write_files(docs, {"new.md": "Newts swim and dive.\n"})))

            beforehand(monkeypatch, embedder, "embed_query", replaced)
            [first, *_] = filled.search("newts").hits
        assert first.text.strip() == "Newts swim and dive."

    def test_an_index_that_is_replaced_while_it_is_compared_is_compared_again(
        self, filled: Library, docs: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with Library(filled.settings) as other:

            def replaced() -> None:
                other.reindex()
                other.add(str(write_files(docs, {"new.md": "Newts swim.\n"})))

            beforehand(monkeypatch, CombinedIndex, "contents", replaced)
            assert problems(filled) == []
        assert filled.collection().generation == 2

    def test_collections_do_not_see_each_other(self, filled: Library, tmp_path: Path) -> None:
        write_files(tmp_path / "other", {"a.md": "Zebras graze.\n"})
        filled.add(str(tmp_path / "other"), "other")
        assert filled.search("zebras", "default", mode="keyword").hits == ()
        assert [hit.collection for hit in filled.search("zebras heron", "other").hits] == ["other"]
        assert filled.verify() == {"default": [], "other": []}
