"""Collections are made, described, renamed, copied and deleted, also while others use them."""

from __future__ import annotations

import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from forking import Forked
from sqlalchemy import func, select
from waiting import until
from working import worker_of, working

from pinakes.api.folder_watching import Watching
from pinakes.catalog.schema import embeddings
from pinakes.core.errors import Busy, InvalidInput, InvalidName, InvalidSetting, NotFound, PinakesError
from pinakes.core.records import Results
from pinakes.library import Library
from pinakes.services.collections import background
from pinakes.services.sync.watched import WatchedFolder
from pinakes.settings import SourceSettings
from pinakes.testing import FILES, write_files

Open = Callable[..., Library]
QUERY = "earthworms of the badger"

TRAVERSALS = [
    "../../evil",
    "..",
    "a/../../evil",
    "/evil",
    "..\\evil",
    "C:\\evil",
    "evil\0",
    "~/evil",
    "%2e%2e%2fevil",
    "\ud800",
]


@pytest.fixture
def filled(library: Library, docs: Path) -> Library:
    """The corpus of the zoo as "zoo"; beside it "sea", with a file that the zoo has as well."""
    library.add(str(write_files(docs / "zoo")), "zoo")
    other = {"fish.md": "# Fish\n\nFish live in the sea.\n", "heron.md": FILES["animals/heron.md"]}
    library.add(str(write_files(docs / "sea", other)), "sea")
    return library


@pytest.fixture
def other(filled: Library) -> Iterator[Library]:
    """Another handle on the same home, as another process has."""
    with Library(filled.settings) as opened:
        yield opened


def answer(found: Results) -> list[tuple[str, int, float]]:
    return [(hit.path, hit.chunk_index, hit.score) for hit in found.hits]


def left(home: Path, number: int) -> list[str]:
    """Return what lies in the home's index folder of the collection with this id."""
    mine = (f"{number}-", f"{number}.", f"map-{number}-")
    return sorted(path.name for path in (home / "index").iterdir() if path.name.startswith(mine))


def held(library: Library) -> set[int]:
    """Return the ids of the collections whose indexes a library has in memory."""
    return {number for number, _ in library.app.followers._open}


def vectors(library: Library) -> int:
    with library.app.catalog.read() as connection:
        return int(connection.execute(select(func.count()).select_from(embeddings)).scalar_one())


class TestNames:
    @pytest.mark.parametrize("name", TRAVERSALS)
    def test_none_leads_out_of_the_home_whatever_it_is_given_to(
        self, filled: Library, docs: Path, home: Path, tmp_path: Path, name: str
    ) -> None:
        before = sorted(path for path in tmp_path.rglob("*") if home not in path.parents)
        collecting = filled.collecting
        making: list[Callable[[], object]] = [
            lambda: collecting.create(name),
            lambda: collecting.rename("zoo", name),
            lambda: collecting.copy("zoo", name),
            lambda: filled.add(str(docs / "sea"), name),
        ]
        for call in making:
            with pytest.raises(InvalidName):
                call()
        asking: list[Callable[[], object]] = [
            lambda: collecting.describe(name, "words"),
            lambda: collecting.configure(name, retrieval="vector"),
            lambda: collecting.rename(name, "new"),
            lambda: collecting.copy(name, "new"),
            lambda: collecting.delete(name),
            lambda: collecting.stats(name),
            lambda: collecting.remove_source(name, str(docs)),
            lambda: filled.search(QUERY, name),
            lambda: filled.search(QUERY, [name, name + "2"]),
            lambda: filled.read("fish.md", name),
            lambda: filled.status(name),
            lambda: filled.verify(name),
            lambda: filled.reindex(name),
            lambda: filled.sync(name),
        ]
        for call in asking:
            with pytest.raises(NotFound):
                call()
        assert [record.name for record in filled.collections()] == ["sea", "zoo"]
        assert sorted(path for path in tmp_path.rglob("*") if home not in path.parents) == before
        assert {path.name for path in (home / "index").iterdir()} <= {
            entry for record in filled.collections() for entry in left(home, record.id)
        }

    @pytest.mark.parametrize("name", ["*", "a,b", "zoo@beside", ""])
    def test_what_stands_for_something_else_is_no_name(self, filled: Library, name: str) -> None:
        with pytest.raises(InvalidName, match="cannot be called"):
            filled.collecting.create(name)
        with pytest.raises(InvalidName, match="cannot be called"):
            filled.collecting.rename("zoo", name)

    def test_a_name_that_is_taken_is_refused_everywhere(self, filled: Library) -> None:
        collecting = filled.collecting
        making: list[Callable[[], object]] = [
            lambda: collecting.create("zoo"),
            lambda: collecting.rename("sea", "zoo"),
            lambda: collecting.copy("sea", "zoo"),
            lambda: collecting.copy("zoo", "zoo"),
        ]
        for call in making:
            with pytest.raises(InvalidName, match="'zoo' already"):
                call()


class TestSettingsOfItsOwn:
    def test_they_decide_how_it_is_cut_and_searched(self, library: Library, docs: Path) -> None:
        folder = str(
            write_files(docs, {"long.md": "# Long\n\n" + "".join(f"Line {i} is here.\n\n" for i in range(60))})
        )
        library.collecting.create("small", "Cut small.", chunking={"size": 30}, retrieval="keyword", label="notes")
        library.add(folder, "small")
        library.add(folder, "usual")
        small, usual = library.status("small")[0], library.status("usual")[0]
        assert small.chunks > usual.chunks
        assert small.description == "Cut small."
        assert library.search("line", "small").mode == "keyword"
        assert library.search("line", "usual").mode == "hybrid"
        assert library.search("line", "small", mode="vector").mode == "vector"

    def test_a_boost_is_taken_from_them_at_the_next_search(self, filled: Library) -> None:
        plain = filled.search("fish", "zoo").hits
        rule = {"field": "path", "weight": 0.3, "aliases": {"animals/otter.md": ["fish"]}}
        filled.collecting.configure("zoo", boosts=[rule])
        lifted = {hit.path: hit.boosts for hit in filled.search("fish", "zoo").hits}
        assert all("path" not in hit.boosts for hit in plain)
        assert lifted["animals/otter.md"] == {"path": 0.3}

    def test_another_process_goes_by_them_at_once(self, filled: Library, other: Library) -> None:
        assert other.search(QUERY, "zoo").mode == "hybrid"
        filled.collecting.configure("zoo", retrieval="keyword")
        assert other.search(QUERY, "zoo").mode == "keyword"

    def test_files_are_read_again_when_the_chunking_changes(self, library: Library, docs: Path) -> None:
        folder = write_files(docs, {"long.md": "# Long\n\n" + "".join(f"Line {i} is here.\n\n" for i in range(60))})
        library.add(str(folder), "a")
        before = library.status("a")[0].chunks
        library.collecting.configure("a", chunking={"size": 30})
        library.sync("a")
        assert library.status("a")[0].chunks > before
        library.collecting.configure("a", chunking=None)
        library.sync("a")
        assert library.status("a")[0].chunks == before
        assert library.collection("a").kept is None

    def test_those_of_files_win_one_by_one(self, open_library: Open) -> None:
        with open_library() as library:
            library.collecting.create("a", chunking={"size": 30}, retrieval="keyword")
        library = open_library(collections={"a": {"retrieval": "vector"}})
        rules = library.app.rules(library.collection("a"))
        assert (rules.retrieval, rules.chunking and rules.chunking.size) == ("vector", 30)

    @pytest.mark.parametrize(
        ("settings", "words"),
        [
            ({"colour": "red"}, "colour"),
            ({"sources": []}, "sources"),
            ({"chunking": {"size": -1}}, "chunking.size"),
            ({"chunking": {"colour": 1}}, "chunking.colour"),
            ({"retrieval": "guess"}, "retrieval"),
            ({"boosts": [{"weight": 0.1}]}, "boosts.0"),
        ],
    )
    def test_what_cannot_be_kept_is_refused_and_nothing_is_made(
        self, library: Library, settings: dict[str, Any], words: str
    ) -> None:
        library.collecting.create("there", retrieval="vector")
        with pytest.raises(InvalidSetting, match=words):
            library.collecting.create("a", **settings)
        with pytest.raises(InvalidSetting, match=words):
            library.collecting.configure("there", **settings)
        assert [(record.name, record.kept) for record in library.collections()] == [("there", {"retrieval": "vector"})]

    def test_a_description_is_kept_unless_the_settings_have_one(self, open_library: Open) -> None:
        library = open_library(collections={"b": {"description": "From the file."}})
        for name in "ab":
            library.collecting.create(name)
        library.collecting.describe("a", "Words.")
        with pytest.raises(InvalidInput, match="described by the settings"):
            library.collecting.describe("b", "Words.")
        assert [record.description for record in library.collections()] == ["Words.", ""]
        assert [held.description for held in library.collecting.list_all()] == ["Words.", "From the file."]


class TestRenaming:
    def test_answers_stay_the_same_under_the_new_name(self, filled: Library, other: Library) -> None:
        before = filled.search(QUERY, "zoo")
        assert answer(filled.search(QUERY, "zoo")) == answer(before)
        other.search(QUERY, "zoo")
        filled.collecting.rename("zoo", "garden")
        for library in (filled, other):
            found = library.search(QUERY, "garden")
            assert answer(found) == answer(before)
            assert {found.collection, *(hit.collection for hit in found.hits)} == {"garden"}
            with pytest.raises(NotFound, match="'zoo'"):
                library.search(QUERY, "zoo")
        assert filled.verify("garden") == {"garden": []}

    def test_its_sources_are_read_again_under_the_new_name(self, filled: Library, docs: Path) -> None:
        filled.collecting.rename("zoo", "garden")
        write_files(docs / "zoo", {"new.md": "# New\n\nA new aviary.\n"})
        [report] = filled.sync("garden")
        assert (report.added, report.unchanged) == (1, len(FILES))
        assert [record.name for record in filled.collections()] == ["garden", "sea"]

    def test_a_collection_of_the_settings_is_renamed_there(self, open_library: Open, docs: Path) -> None:
        library = open_library(collections={"a": {"description": "Mine."}})
        library.add(str(write_files(docs)), "a")
        with pytest.raises(InvalidInput, match="The settings name collection 'a'") as caught:
            library.collecting.rename("a", "b")
        assert "there" in caught.value.hint

    def test_not_while_a_source_is_read_into_it(self, filled: Library, docs: Path) -> None:
        lock = filled.app.home.reading("zoo", ("folder", str(docs / "zoo"), ""))
        with lock, pytest.raises(Busy, match="'zoo'"):
            filled.collecting.rename("zoo", "garden")
        filled.collecting.rename("zoo", "garden")

    def test_not_while_another_index_is_built_beside_it(self, filled: Library) -> None:
        with filled.app.home.changing(filled.collection("zoo")), pytest.raises(Busy):
            filled.collecting.rename("zoo", "garden")


class TestCopying:
    def test_it_answers_alike_and_nothing_is_embedded(self, filled: Library) -> None:
        before, kept = filled.search(QUERY, "zoo"), vectors(filled)
        made = filled.collecting.copy("zoo", "garden")
        assert answer(filled.search(QUERY, "garden")) == answer(before)
        assert filled.status("garden")[0].pending == 0
        assert vectors(filled) == kept
        assert filled.verify("garden") == {"garden": []}
        assert made.id != filled.collection("zoo").id

    def test_what_happens_to_one_does_not_happen_to_the_other(self, filled: Library, docs: Path) -> None:
        filled.collecting.copy("zoo", "garden")
        (docs / "zoo" / "animals" / "badger.md").write_text("# Badger\n\nBadgers moved to the mountains.\n")
        filled.sync("zoo")
        before = filled.read("badger.md", "garden").text
        assert "earthworms" in before
        assert "mountains" in filled.read("badger.md", "zoo").text
        filled.collecting.delete("zoo")
        assert filled.read("badger.md", "garden").text == before
        assert filled.search("mountains", "garden", mode="keyword").hits == ()
        assert filled.verify("garden") == {"garden": []}
        [report] = filled.sync("garden")
        assert (report.changed, report.unchanged) == (1, len(FILES) - 1)

    def test_ids_of_the_one_are_not_found_in_the_other(self, filled: Library) -> None:
        filled.collecting.copy("zoo", "garden")
        uid = filled.read("badger.md", "zoo").document.uid
        with pytest.raises(NotFound):
            filled.read(uid, "garden")

    def test_chunks_that_wait_for_their_vectors_wait_there_too(self, open_library: Open, docs: Path) -> None:
        library = open_library(embedding__provider="onnx", embedding__path=str(docs / "no-model"))
        library.add(str(write_files(docs / "zoo")), "zoo")
        library.collecting.copy("zoo", "garden")
        zoo, garden = library.status("zoo")[0], library.status("garden")[0]
        assert (garden.pending, garden.chunks) == (zoo.pending, zoo.chunks)
        assert zoo.pending > 0


class TestDeleting:
    def test_nothing_of_it_is_left_and_the_others_are_as_they_were(self, filled: Library, home: Path) -> None:
        number, before = filled.collection("zoo").id, filled.search("fish", "sea")
        assert left(home, number)
        removed = filled.collecting.delete("zoo")
        assert (removed.collection, removed.documents) == ("zoo", len(FILES))
        assert left(home, number) == []
        assert not list((home / "sources").glob("*"))[1:]
        assert [record.name for record in filled.collections()] == ["sea"]
        assert answer(filled.search("fish", "sea")) == answer(before)
        assert filled.verify() == {"sea": []}
        with sqlite3.connect(home / "catalog.db") as connection:
            for table in ("documents", "versions", "fields", "changes", "sources"):
                assert connection.execute(
                    f"SELECT count(*) FROM {table} WHERE collection_id = {number}"
                ).fetchone() == (0,)

    def test_vectors_go_with_it_but_those_that_others_need(self, filled: Library) -> None:
        before = filled.status("sea")[0]
        filled.collecting.delete("zoo")
        assert vectors(filled) == before.chunks
        assert filled.status("sea")[0].pending == 0
        filled.collecting.delete("sea")
        assert vectors(filled) == 0

    def test_one_made_anew_under_its_name_is_empty(self, filled: Library, other: Library, docs: Path) -> None:
        assert other.search(QUERY, "zoo").hits
        filled.collecting.delete("zoo")
        filled.collecting.create("zoo")
        for library in (filled, other):
            found = library.search(QUERY, "zoo")
            assert (found.hits, found.total_candidates) == ((), 0)
        filled.add(str(write_files(docs / "new", {"n.md": "# New\n\nA new badger.\n"})), "zoo")
        for library in (filled, other):
            assert [hit.path for hit in library.search(QUERY, "zoo").hits] == ["n.md"]
        assert other.verify("zoo") == {"zoo": []}

    def test_another_process_drops_what_it_held_of_it_when_it_finds_it_gone(
        self, filled: Library, other: Library, home: Path
    ) -> None:
        number, kept = filled.collection("zoo").id, filled.collection("sea").id
        other.search(QUERY, "zoo")
        other.search("fish", "sea")
        assert held(other) == {number, kept}
        filled.collecting.delete("zoo")
        with pytest.raises(NotFound, match="'zoo'"):
            other.search(QUERY, "zoo")
        assert held(other) == {kept}
        assert left(home, number) == [], "closing its index left nothing on the disk"
        assert other.search("fish", "sea").hits

    def test_a_server_drops_it_though_nobody_asks_for_it(
        self, filled: Library, other: Library, home: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(background.Background, "look_every_s", 0.01)
        number, kept = filled.collection("zoo").id, filled.collection("sea").id
        thread = worker_of(other, other.background())
        thread.start()
        until(lambda: held(other) == {number, kept})
        filled.collecting.delete("zoo")
        until(lambda: held(other) == {kept} and not left(home, number))
        assert thread.stop()

    def test_a_search_that_runs_ends_as_any_or_finds_no_collection(self, filled: Library, docs: Path) -> None:
        troubles: list[Exception] = []
        searched = [threading.Event() for _ in range(4)]

        def search_on(number: int) -> None:
            try:
                for one in range(100_000):
                    filled.search(f"{QUERY} {number} {one}", "zoo")
                    searched[number].set()
            except Exception as error:  # noqa: BLE001 - what it is, is the question
                troubles.append(error)

        threads = [threading.Thread(target=search_on, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for event in searched:
            assert event.wait(30)
        filled.collecting.delete("zoo")
        for thread in threads:
            thread.join(30)
        assert [type(error) for error in troubles] == [NotFound] * 4

    def test_a_run_that_reads_into_it_ends_with_not_found(self, home: Path, filled: Library, docs: Path) -> None:
        many = write_files(docs / "many", {f"{n}.md": f"# Field {n}\n\nIt yields {n * 7} tons.\n" for n in range(40)})
        child = Forked(PAUSED, str(home), str(many), text=True)
        assert child.stdout is not None
        assert child.stdout.readline() == "half\n"
        number = filled.collection("many").id
        filled.collecting.delete("many")
        out, err = child.communicate("go on\n", timeout=120)
        assert (child.returncode, out, err) == (0, "NOT_FOUND\n", "")
        with Library(filled.settings) as library:
            assert [record.name for record in library.collections()] == ["sea", "zoo"]
        assert left(home, number) == []

    def test_what_a_killed_deletion_leaves_is_dropped_at_the_next_opening(
        self, filled: Library, home: Path, tmp_path: Path
    ) -> None:
        number, kept = filled.collection("zoo").id, filled.collection("sea").id
        (home / "index" / f"map-{number}-1.npz").write_bytes(b"x")
        shutil.copytree(home / "index", tmp_path / "before")
        filled.collecting.delete("zoo")
        shutil.copytree(tmp_path / "before", home / "index", dirs_exist_ok=True)
        assert left(home, number)
        mine = left(home, kept)
        with Library(filled.settings) as library:
            assert left(home, number) == []
            assert left(home, kept) == mine
            assert library.search("fish", "sea").hits

    def test_what_lies_there_and_belongs_to_nobody_stays(self, filled: Library, home: Path) -> None:
        for name in ("notes.txt", "12", "x-1", "map-x.npz"):
            (home / "index" / name).touch()
        with Library(filled.settings):
            assert {"notes.txt", "12", "x-1", "map-x.npz"} <= {path.name for path in (home / "index").iterdir()}

    def test_what_does_not_exist_cannot_be_deleted(self, filled: Library) -> None:
        with pytest.raises(NotFound, match="'zoos'"):
            filled.collecting.delete("zoos")


PAUSED = """
import sys
from pinakes.core.errors import PinakesError
from pinakes.library import Library

def on_event(event):
    if event.stage == "read" and event.done == 20:
        print("half", flush=True)
        sys.stdin.readline()

settings = {"embedding__provider": "deterministic", "ingest__batch_chunks": 5}
with Library.open(sys.argv[1], **settings) as library:
    try:
        library.add(sys.argv[2], "many", on_event=on_event)
    except PinakesError as error:
        print(error.code, flush=True)
"""
"""Adds a folder, waits in the middle of it until a line arrives, and says what became of it."""


def test_a_collection_whose_folder_is_followed_stays_as_it_is(filled: Library, docs: Path) -> None:
    watched = WatchedFolder("zoo", SourceSettings(location=str(docs / "zoo")))
    with working(filled, Watching(filled, [watched], say=lambda _: None)):
        while watched.key not in filled.watched.statuses():
            time.sleep(0.01)
        changes: list[Callable[[], object]] = [
            lambda: filled.collecting.delete("zoo"),
            lambda: filled.collecting.rename("zoo", "garden"),
            lambda: filled.collecting.remove_source("zoo", str(docs / "zoo")),
        ]
        for change in changes:
            with pytest.raises(Busy, match="followed"):
                change()
    assert filled.status("zoo")[0].documents == len(FILES)


class TestSources:
    def test_its_documents_go_with_it_and_the_others_stay(self, filled: Library, docs: Path) -> None:
        filled.add(str(docs / "sea"), "zoo")
        removed = filled.collecting.remove_source("zoo", str(docs / "zoo"))
        assert (removed.location, removed.documents) == (str(docs / "zoo"), len(FILES))
        [status] = filled.status("zoo")
        assert (status.documents, [source["location"] for source in status.sources]) == (2, [str(docs / "sea")])
        assert filled.search("earthworms", "zoo", mode="keyword").hits == ()
        assert filled.verify("zoo") == {"zoo": []}
        assert len(filled.sync("zoo")) == 1

    def test_it_is_named_as_a_path_from_here_too_also_when_it_is_gone(
        self, filled: Library, docs: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        shutil.rmtree(docs / "zoo")
        monkeypatch.chdir(docs)
        assert filled.collecting.remove_source("zoo", "zoo").documents == len(FILES)

    def test_one_that_is_not_there_is_told_with_those_there_are(self, filled: Library, docs: Path) -> None:
        with pytest.raises(NotFound, match="has no source 'elsewhere'") as caught:
            filled.collecting.remove_source("zoo", "elsewhere")
        assert str(docs / "zoo") in caught.value.hint

    def test_one_of_the_settings_is_taken_out_there(self, open_library: Open, docs: Path) -> None:
        folder = str(write_files(docs))
        library = open_library(collections={"a": {"sources": [{"location": folder}]}})
        library.sync("a")
        with pytest.raises(InvalidInput, match="The settings name the source"):
            library.collecting.remove_source("a", folder)

    def test_not_while_it_is_read(self, filled: Library, docs: Path) -> None:
        with filled.app.home.reading("zoo", ("folder", str(docs / "zoo"), "")), pytest.raises(Busy):
            filled.collecting.remove_source("zoo", str(docs / "zoo"))
        assert filled.status("zoo")[0].documents == len(FILES)

    def test_a_run_that_is_killed_goes_on_with_the_next(
        self, filled: Library, docs: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from pinakes.catalog import documents
        from pinakes.services.collections import management as collecting

        removed = 0

        def stopped(*arguments: Any) -> str:
            nonlocal removed
            removed += 1
            if removed == 6:
                raise KeyboardInterrupt
            return remove(*arguments)

        remove = documents.remove
        monkeypatch.setattr(collecting, "_REMOVED_AT_ONCE", 2)
        monkeypatch.setattr(documents, "remove", stopped)
        with pytest.raises(KeyboardInterrupt):
            filled.collecting.remove_source("zoo", str(docs / "zoo"))
        assert filled.status("zoo")[0].documents == len(FILES) - 4
        assert filled.collecting.remove_source("zoo", str(docs / "zoo")).documents == len(FILES) - 4
        assert filled.status("zoo")[0].sources == ()

    def test_a_group_that_loses_the_file_of_its_metadata_loses_that(self, open_library: Open, docs: Path) -> None:
        rules = {"path_templates": ["{group}/{file}"], "document_key": "{group}", "group_metadata": "meta.yaml"}
        library = open_library(collections={"a": rules}, ingest__min_text_chars=1)
        library.add(str(write_files(docs / "one", {"g/a.md": "# A\n\nText.\n"})), "a")
        library.add(str(write_files(docs / "two", {"g/meta.yaml": "status: beta\n"})), "a")
        assert library.search("text", "a", filters={"status": "beta", "path": "g/a.md"}).total_candidates == 1
        library.collecting.remove_source("a", str(docs / "two"))
        assert library.search("text", "a", filters={"path": "g/a.md"}).total_candidates == 1
        assert library.search("text", "a", filters={"status": "beta"}).total_candidates == 0


class TestFigures:
    def test_what_a_collection_holds(self, library: Library, docs: Path) -> None:
        tagged = "---\ntags: [{}]\n---\n# T\n\nText of {}.\n"
        files = {"a.md": tagged.format("x, Y", "a"), "b.md": tagged.format("x", "b"), "c.md": "# C\n\nText.\n"}
        library.add(str(write_files(docs, files)), "a")
        found, [status] = library.collecting.stats("a"), library.status("a")
        assert (found.collection, found.document_count, found.total_chunks) == ("a", 3, status.chunks)
        assert found.total_tokens == status.tokens
        assert found.avg_tokens_per_doc == round(status.tokens / 3, 1)
        assert dict(found.tag_distribution) == {"x": 2, "Y": 1}
        assert dict(found.source_distribution) == {str(docs): 3}
        assert found.oldest_document <= found.newest_document
        assert found.index_size_bytes == sum(
            int(size) for name, size in status.index.items() if name.endswith("_bytes")
        )
        assert found.index_size_bytes > 0

    def test_of_an_empty_one(self, library: Library) -> None:
        library.collecting.create("a")
        found = library.collecting.stats("a")
        assert (found.document_count, found.avg_tokens_per_doc, found.oldest_document) == (0, 0.0, "")
        assert (dict(found.tag_distribution), dict(found.source_distribution)) == ({}, {})

    def test_all_collections_at_a_glance(self, filled: Library) -> None:
        assert [(held.name, held.documents) for held in filled.collecting.list_all()] == [
            ("sea", 2),
            ("zoo", len(FILES)),
        ]


def test_ten_at_once_make_and_delete_and_nothing_is_mixed(filled: Library, home: Path) -> None:
    troubles: list[PinakesError] = []

    def work(number: int) -> None:
        try:
            for _ in range(3):
                filled.collecting.copy("zoo", f"copy {number}")
                assert len(filled.search(QUERY, f"copy {number}").hits) == len(filled.search(QUERY, "zoo").hits)
                filled.collecting.delete(f"copy {number}")
        except PinakesError as error:
            troubles.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert troubles == []
    assert [record.name for record in filled.collections()] == ["sea", "zoo"]
    assert filled.verify() == {"sea": [], "zoo": []}
    kept = {entry for record in filled.collections() for entry in left(home, record.id)}
    assert {path.name for path in (home / "index").iterdir()} == kept


def test_a_lock_that_somebody_holds_stays(filled: Library, docs: Path) -> None:
    lock = filled.app.home.reading("zoo", ("folder", str(docs / "zoo"), ""))
    with lock:
        filled.collecting.delete("zoo")
        assert Path(lock.lock_file).exists()
        assert isinstance(lock, FileLock)
