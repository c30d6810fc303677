"""A home that an older version made: it answers at once, is brought to this version, and what is left is told."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from counting_embedder import CountingEmbedder
from old_home import unpacked
from sqlalchemy import select
from working import worker_of

from pinakes import chunking, parsing
from pinakes.catalog import embeddings, sources
from pinakes.catalog.schema import chunks, documents
from pinakes.core.errors import IndexTooNew
from pinakes.core.records import Results
from pinakes.indexes.storage import checksums, versions
from pinakes.library import Library
from pinakes.services.collections.status import CollectionStatus
from pinakes.text import analysis

LONG_S = 60


@pytest.fixture
def old(tmp_path: Path) -> tuple[Path, Path]:
    return unpacked(tmp_path)


@pytest.fixture
def home(old: tuple[Path, Path]) -> Path:
    return old[0]


@pytest.fixture
def docs(old: tuple[Path, Path]) -> Path:
    return old[1]


@pytest.fixture
def library(home: Path, docs: Path) -> Iterator[Library]:
    with Library.open(home, ingest__processes=0) as library:  # what tests change of this process holds for all it reads
        yield library


def paths(answer: Results) -> list[str]:
    return [hit.path for hit in answer.hits]


def by_words(library: Library, query: str) -> list[str]:
    return paths(library.search(query, mode="keyword"))


def status(library: Library) -> CollectionStatus:
    return library.status()[0]


def written(folder: Path) -> dict[Path, int]:
    files = (path for path in folder.rglob("*") if path.is_file() and path.suffix != ".lock")
    return {path: path.stat().st_mtime_ns for path in files}


def index_folders(home: Path) -> set[str]:
    return {path.name for path in (home / "index").iterdir() if path.is_dir()}


def counted(library: Library, monkeypatch: pytest.MonkeyPatch) -> CountingEmbedder:
    """Have an embedder count what is embedded, in place of the library's own, which is the same model."""
    counting = CountingEmbedder()
    assert counting.fingerprint == library.app.embedder.fingerprint
    monkeypatch.setattr(library.app, "embedder", counting)
    return counting


class TestAtOnce:
    def test_words_are_found_by_the_stems_that_the_index_has(self, library: Library, home: Path) -> None:
        assert by_words(library, "Funktion") == ["hafen.md"]  # English stems make "funktional" the same
        assert index_folders(home) == {"1-1"}

    @pytest.mark.parametrize(
        ("query", "path"),
        [
            ("keepers", "keeping.md"),
            ('"cardinal buoy"', "notice.pdf"),
            ("Ada Quill", "vessels.csv"),
            ("dredging", "minutes.docx"),
            ("haul", "winch.py"),
            ("kedge", "note:anchor"),
            ("paid", "dues.xlsx"),
        ],
    )
    def test_every_kind_of_file_is_found(self, library: Library, query: str, path: str) -> None:
        assert library.search(query, mode="keyword").hits[0].path == path or path in library.search(query).hits[0].uri

    def test_no_search_builds_an_index(self, library: Library, home: Path) -> None:
        before = written(home / "index" / "1-1")
        for query in ("lighthouse", '"cardinal buoy"', "lighthose", "kind:code rope"):
            library.search(query)
        library.status()
        after = written(home / "index" / "1-1")
        assert after == before
        assert index_folders(home) == {"1-1"}

    def test_what_is_put_meanwhile_is_found_in_the_old_index(self, library: Library, home: Path) -> None:
        library.documents.put("The dinghy leaks at the transom.", title="Dinghy", uri="note:dinghy")
        assert library.search("leaking dinghies").hits[0].uri == "note:dinghy"
        assert index_folders(home) == {"1-1"}
        assert library.verify() == {"default": []}

    def test_status_tells_what_is_left(self, library: Library) -> None:
        told = status(library).upgrade
        assert told is not None
        assert (told.index, told.version) == ("older", "format 1, analyser 1 (english)")
        assert told.present == str(versions.current_version())
        assert not told.is_done
        assert status(library).index["analyser"] == 1


class TestSyncing:
    def test_the_index_is_built_beside_and_the_old_one_is_gone(self, library: Library, home: Path) -> None:
        assert by_words(library, "Funktion") == ["hafen.md"]
        library.sync()
        assert index_folders(home) == {"1-2"}
        told = status(library).upgrade
        assert told is not None
        assert (told.index, told.is_done) == ("present", True)
        assert library.verify() == {"default": []}
        assert library.search("lighthouse keeper").hits[0].path == "keeping.md"

    def test_nothing_that_is_as_it_was_is_embedded_again(
        self, library: Library, docs: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        counting = counted(library, monkeypatch)
        before = texts(library)
        library.sync()
        assert len(before) == 14
        assert set(counting.texts) == texts(library) - before

    def test_a_folder_that_is_gone_does_not_keep_the_index_old(self, library: Library, docs: Path, home: Path) -> None:
        docs.rename(docs.with_name("elsewhere"))
        (report,) = library.sync()
        assert report.error is not None
        assert index_folders(home) == {"1-2"}
        assert library.search("lighthouse keeper").hits[0].path == "keeping.md"

    def test_adding_to_another_collection_leaves_this_one(self, library: Library, docs: Path, home: Path) -> None:
        library.add(str(docs / "log.txt"), "other")
        assert "1-1" in index_folders(home)

    def test_a_begun_index_is_gone_on_with(self, library: Library, home: Path) -> None:
        upgrade = library.app.rebuilder.upgrade(library.collection())
        next(upgrade)
        next(upgrade)  # its documents are in it, and nothing was switched
        upgrade.close()
        assert index_folders(home) == {"1-1", "1-2"}
        told = status(library).upgrade
        assert told is not None
        assert (told.index, told.indexed, told.documents) == ("older", 14, 14)
        made = (home / "index" / "1-2" / "versions.json").stat().st_mtime_ns
        assert library.search("lighthouse").hits
        library.sync()
        assert index_folders(home) == {"1-2"}
        assert (home / "index" / "1-2" / "versions.json").stat().st_mtime_ns == made

    def test_two_at_once_build_one_index(self, library: Library, home: Path) -> None:
        record = library.collection()
        first = library.app.rebuilder.upgrade(record)
        next(first)
        assert [event.stage for event in library.app.rebuilder.upgrade(record)] == ["elsewhere"]
        assert status(library).upgrade.index == "building"  # type: ignore[union-attr]
        for _ in first:
            pass
        assert list(library.app.rebuilder.upgrade(record)) == []
        assert index_folders(home) == {"1-2"}

    def test_a_damaged_beginning_is_begun_anew(self, library: Library, home: Path) -> None:
        upgrade = library.app.rebuilder.upgrade(library.collection())
        next(upgrade)
        next(upgrade)
        upgrade.close()
        (home / "index" / "1-2" / "keyword" / "meta.json").write_text("{", "utf-8")
        library.sync()
        assert library.verify() == {"default": []}
        assert index_folders(home) == {"1-2"}


class TestInTheBackground:
    def test_a_server_builds_the_index_while_the_old_one_answers(self, library: Library, home: Path) -> None:
        background = worker_of(library, library.background())
        background.start()
        deadline = time.monotonic() + LONG_S
        while index_folders(home) != {"1-2"}:
            assert library.search("lighthouse keeper", mode="keyword").hits[0].path == "keeping.md"
            assert time.monotonic() < deadline
            threading.Event().wait(0.02)
        assert background.stop()
        assert library.verify() == {"default": []}


class TestReadingAgain:
    """Readers and chunkers of other versions than there are: only what they made is made again."""

    @pytest.fixture(autouse=True)
    def _present(self, library: Library) -> None:
        library.sync()

    def test_a_sync_reads_what_an_older_reader_read(self, library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(parsing.VERSIONS, "tables", parsing.VERSIONS["tables"] + 1)
        told = status(library).upgrade
        assert told is not None
        assert (told.to_read, told.to_cut) == (1, 0)
        counting = counted(library, monkeypatch)
        (report,) = library.sync()
        assert (report.reread, report.changed, report.unchanged) == (1, 1, 11)
        assert counting.texts == []
        assert status(library).upgrade.is_done  # type: ignore[union-attr]
        assert library.sync()[0].reread == 0

    def test_a_sync_reads_what_an_older_chunker_cut(self, library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(chunking.VERSIONS, "code", chunking.VERSIONS["code"] + 1)
        assert status(library).upgrade.to_read == 1  # type: ignore[union-attr]
        assert library.sync()[0].reread == 1
        assert library.sync()[0].reread == 0

    def test_documents_without_files_are_cut_again(self, library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(chunking.VERSIONS, "markdown", chunking.VERSIONS["markdown"] + 1)
        told = status(library).upgrade
        assert told is not None
        assert told.to_cut == 2
        uid = library.read("note:anchor").document.uid
        before = library.documents.history(uid)
        counting = counted(library, monkeypatch)
        library.sync()
        assert counting.texts == []
        assert status(library).upgrade.is_done  # type: ignore[union-attr]
        assert library.documents.history(uid) == before

    def test_what_an_older_reader_could_not_read_is_tried(
        self, library: Library, docs: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (docs / "broken.pdf").write_bytes(b"%PDF-1.4 broken")
        library.sync()
        problem = {one["path"]: one["status"] for one in status(library).problems}
        assert "broken.pdf" in problem
        (docs / "broken.pdf").touch()
        monkeypatch.setitem(parsing.VERSIONS, "pdf", parsing.VERSIONS["pdf"] + 1)
        (report,) = library.sync()
        assert report.reread == 1
        with library.app.catalog.read() as connection:
            (kept,) = sources.list_all(connection, library.collection().id)
        assert kept.read_by is not None
        assert kept.read_by["readers"]["pdf"] == parsing.VERSIONS["pdf"]

    def test_unchanged_files_are_not_opened(self, library: Library, docs: Path) -> None:
        for path in docs.iterdir():
            stamp = path.stat()
            assert stamp.st_size
        assert library.sync()[0].seconds.get("read", 0.0) == 0.0

    def test_versions_that_older_programs_recorded_do_not_read_all(self, library: Library) -> None:
        with library.app.catalog.write() as connection:
            (kept,) = sources.list_all(connection, library.collection().id)
            options = {**kept.options, "reading": 7}
            options["chunking"] = dict(list(kept.options["chunking"].items())[:-1])  # a setting that came later
            sources.remember(connection, kept.collection_id, kept.place, options, same=lambda *_: True)
        (report,) = library.sync()
        assert report.unchanged == 12
        assert report.seconds.get("read", 0.0) == 0.0


class TestNewer:
    """An index of a newer version is neither used, nor built again, nor removed."""

    @pytest.fixture(params=["format", "analyser"])
    def newer(self, library: Library, home: Path, request: pytest.FixtureRequest) -> Path:
        library.sync()
        library.app.followers.close()
        place = home / "index" / "1-2" / "versions.json"
        found = checksums.unsealed(place.read_text("utf-8"))
        place.write_text(checksums.sealed(found | {request.param: found[request.param] + 1}), "utf-8")
        return place

    def test_it_is_refused_and_left_alone(self, library: Library, newer: Path, home: Path) -> None:
        before = newer.read_bytes()
        for call in (lambda: library.search("heron"), library.verify, library.reindex):
            with pytest.raises(IndexTooNew, match="built by a newer Pinakes") as caught:
                call()
            assert "Update Pinakes" in caught.value.hint
        (report,) = library.sync()
        assert isinstance(report.error, IndexTooNew)
        assert newer.read_bytes() == before
        assert index_folders(home) == {"1-2"}

    def test_status_tells_of_it(self, library: Library, newer: Path) -> None:
        told = status(library)
        assert told.upgrade is not None
        assert told.upgrade.index == "newer"
        assert "newer Pinakes" in str(told.index["problem"])
        assert told.documents == 14


def test_other_languages_of_the_settings_make_an_index_an_older_one(home: Path) -> None:
    with Library.open(home) as library:
        library.sync()
        assert by_words(library, "Behörden") == ["hafen.md"]
    with Library.open(home, text__languages=["french"]) as library:
        told = status(library).upgrade
        assert told is not None
        assert (told.index, told.version) == ("older", str(versions.current_version()))
        assert by_words(library, "Behörden") == ["hafen.md"]  # as long as the index is what it was
        library.sync()
        assert status(library).upgrade.version == str(versions.current_version(["french"]))  # type: ignore[union-attr]
        assert index_folders(home) == {"1-3"}
        assert library.sync()[0].changed == 0


@pytest.mark.parametrize("analyser", range(2, analysis.VERSION))
def test_an_index_of_an_analyser_before_answers_until_it_is_built_anew(home: Path, analyser: int) -> None:
    with Library.open(home) as library:
        library.sync()
        [place] = (home / "index").glob("*/versions.json")
    record = asdict(replace(versions.current_version(), analyser=analyser))
    place.write_text(checksums.sealed(record), "utf-8")
    with Library.open(home) as library:
        told = status(library).upgrade
        assert told is not None
        assert told.index == "older"
        assert library.search("lighthouse", mode="keyword").hits[0].path == "keeping.md"
        library.sync()
        assert status(library).upgrade.index == "present"  # type: ignore[union-attr]
        assert index_folders(home) == {"1-3"}


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": "2"}', '{"format": 0, "analyser": 1, "languages": []}'])
def test_a_version_that_cannot_be_read_is_damage(library: Library, home: Path, text: str) -> None:
    (home / "index" / "1-1" / "versions.json").write_text(text, "utf-8")
    assert status(library).upgrade.index == "present"  # type: ignore[union-attr]
    assert library.search("lighthouse").hits[0].path == "keeping.md"
    assert index_folders(home) == {"1-2"}


def test_the_first_analyser_gives_the_terms_it_always_gave() -> None:
    terms = versions.analyzer_of(versions.FIRST).terms
    assert terms("The CustomResourceDefinition of sig-api-machinery") == [
        *("the", "customresourcedefinit", "custom", "resourc", "definit", "of"),
        *("sig-api-machineri", "sig", "api", "machineri"),
    ]
    assert terms("O'Brien’s Häuser 東京都 C 7") == ["o'brien", "häuser", "東京", "京都"]
    assert versions.analyzer_of(versions.FIRST).query_terms("what is the running tide") == ["run", "tide"]


def test_the_present_version_is_no_newer_one() -> None:
    assert versions.current_version().is_present(())
    assert not versions.current_version().is_newer
    assert versions.current_version().analyser == analysis.VERSION


def texts(library: Library) -> set[str]:
    """Return all that is embedded of the collection."""
    with library.app.catalog.read() as connection:
        ids = select(chunks.c.id).join(documents).where(documents.c.collection_id == library.collection().id)
        return {text for _, _, text in embeddings.embedded(connection, list(connection.scalars(ids)))}
