"""Answers are remembered until anything changes that has a part in them, and not a moment longer."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bert_reference import make_tiny_bert
from filelock import FileLock
from progressive_support import small_steps, stopped_at_searchable, write_folder

from pinakes.core.errors import Busy, InvalidInput, ModelUnavailable
from pinakes.core.records import Results
from pinakes.library import Library
from pinakes.models.embedders import EMBEDDERS
from pinakes.testing import FILES, write_files

OpenLibrary = Callable[..., Library]
QUERY = "earthworms of the badger"


@pytest.fixture
def filled(library: Library, docs: Path) -> Library:
    library.add(str(write_files(docs)))
    return library


def remembered(found: Results) -> bool:
    return "remembered" in [stage.name for stage in found.trace.stages]


def answer(found: Results) -> object:
    return found.hits, found.total_candidates, found.notes, found.mode, found.degraded, found.collection


def ask(library: Library, query: str = QUERY, **how: Any) -> Results:
    """Ask twice, so that the answer is kept; return the first."""
    first = library.search(query, **how)
    assert not remembered(first)
    again = library.search(query, **how)
    assert remembered(again)
    assert answer(again) == answer(first)
    return first


def paths(found: Results) -> list[str]:
    return [hit.path for hit in found.hits]


def new(library: Library, query: str = QUERY, **how: Any) -> Results:
    found = library.search(query, **how)
    assert not remembered(found)
    return found


class TestTheSameQuestion:
    @pytest.mark.parametrize("mode", ["hybrid", "vector", "keyword", "auto"])
    def test_is_answered_from_memory_and_the_trace_says_so(self, filled: Library, mode: Any) -> None:
        ask(filled, mode=mode)
        found = filled.search(QUERY, mode=mode)
        assert [stage.name for stage in found.trace.stages] == ["follow", "remembered"]
        assert found.trace.milliseconds >= sum(stage.milliseconds for stage in found.trace.stages)

    @pytest.mark.parametrize(
        "other",
        [
            {"mode": "keyword"},
            {"top_k": 2},
            {"filters": {"path": "animals/**"}},
            {"fusion": "rrf"},
            {"min_score": 0.3},
            {"neighbours": 1},
        ],
        ids=str,
    )
    def test_asked_otherwise_is_another(self, filled: Library, other: dict[str, Any]) -> None:
        ask(filled)
        ask(filled, **other)

    def test_of_another_collection_is_another(self, library: Library, tmp_path: Path) -> None:
        for name in ("one", "two"):
            library.add(str(write_files(tmp_path / name, {f"{name}.md": "Badgers dig.\n"})), name)
        for name in ("one", "two"):
            found = ask(library, "badgers", collection=name)
            assert (found.collection, paths(found)) == (name, [f"{name}.md"])

    def test_of_another_empty_collection_is_another(self, library: Library, docs: Path) -> None:
        """Neither has seen a change yet."""
        for name in ("one", "two"):
            library.add(str(docs), name)
        assert [ask(library, collection=name).collection for name in ("one", "two")] == ["one", "two"]

    def test_ranks_are_not_taken_for_hits(self, filled: Library) -> None:
        assert all(hit.text for hit in ask(filled, top_k=5).hits)
        bare = filled.rank(QUERY, depth=5)
        assert not remembered(bare)
        assert not any(hit.text for hit in bare.hits)
        assert all(hit.text for hit in filled.search(QUERY, top_k=5).hits)

    def test_what_cannot_be_asked_is_refused_every_time(self, filled: Library) -> None:
        for _ in range(2):
            with pytest.raises(InvalidInput):
                filled.search(QUERY, fusion="max")

    def test_threads_get_the_same(self, filled: Library) -> None:
        expected = answer(ask(filled))
        wrong: list[Results] = []

        def search() -> None:
            wrong.extend(found for _ in range(20) if answer(found := filled.search(QUERY)) != expected)

        threads = [threading.Thread(target=search) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert wrong == []


class TestNeverStale:
    def test_after_something_is_added(self, filled: Library, docs: Path) -> None:
        ask(filled)
        filled.add(str(write_files(docs, {"new.md": "Earthworms of the badger, earthworms.\n"})))
        assert "new.md" in paths(new(filled))
        ask(filled, "another question")

    def test_after_something_is_changed(self, filled: Library, docs: Path) -> None:
        assert "shiny" not in ask(filled).hits[0].text
        text = FILES["animals/badger.md"].replace("earthworms", "shiny earthworms")
        filled.add(str(write_files(docs, {"animals/badger.md": text})))
        assert any("shiny" in hit.text for hit in new(filled).hits)

    def test_after_something_is_deleted(self, filled: Library, docs: Path) -> None:
        assert "animals/badger.md" in paths(ask(filled))
        (docs / "animals/badger.md").unlink()
        filled.add(str(docs))
        assert "animals/badger.md" not in paths(new(filled))

    def test_after_another_process_wrote(self, filled: Library, docs: Path) -> None:
        ask(filled)
        with Library(filled.settings) as other:
            other.add(str(write_files(docs, {"new.md": "Earthworms of the badger.\n"})))
        assert "new.md" in paths(new(filled))

    def test_after_a_run_that_changed_nothing_it_is_still_remembered(self, filled: Library, docs: Path) -> None:
        ask(filled)
        filled.add(str(docs))
        assert remembered(filled.search(QUERY))

    def test_while_a_lock_keeps_the_index_behind(self, open_library: OpenLibrary, docs: Path, home: Path) -> None:
        library = open_library(index__lock_timeout_s=0.1)
        library.add(str(write_files(docs)))
        [folder] = [path for path in (home / "index").iterdir() if path.is_dir()]
        assert "animals/badger.md" in paths(ask(library))
        with FileLock(folder / "keyword.lock"):
            (docs / "animals/badger.md").unlink()
            with Library(library.settings) as other, pytest.raises(Busy):
                other.add(str(docs))
            assert library.collection().head > library.app.index("default", wait=False)[1].position()
            assert "animals/badger.md" not in paths(new(library)), "the catalogue knows that it is gone"
            ask(library, "something else")
        assert "animals/badger.md" not in paths(new(library))
        assert not remembered(library.search("something else")), "the index has moved since"

    def test_after_a_rebuild_of_the_index(self, filled: Library) -> None:
        before = answer(ask(filled))
        filled.reindex()
        assert answer(new(filled)) == before

    def test_after_what_waited_was_embedded(
        self, open_library: OpenLibrary, docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(EMBEDDERS, "late", "late_embedder:LateEmbedder")
        library = open_library(embedding__provider="late", embedding__path=tmp_path)
        library.add(str(write_files(docs)))
        by_words = ask(library, mode="keyword")
        (tmp_path / "arrived").write_text("")
        assert new(library).degraded == "none of these chunks has a vector yet: keyword search only"
        library.embed_pending()
        assert answer(new(library, mode="keyword")) == answer(by_words)
        found = ask(library)
        assert found.degraded is None
        assert any("vector" in hit.matched_by for hit in found.hits)

    def test_after_a_switch_and_after_going_back(
        self, open_library: OpenLibrary, docs: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(EMBEDDERS, "named", "named_embedder:NamedEmbedder")
        library = open_library(embedding__provider="named", embedding__model="old/32")
        library.add(str(write_files(docs)))
        old = ask(library)
        library.build_beside("new/48")
        beside = ask(library, generation="beside")
        scores = [hit.scores.cosine for hit in old.hits]
        assert scores != [hit.scores.cosine for hit in beside.hits]
        library.switch()
        assert answer(library.search(QUERY)) == answer(beside)
        assert answer(library.search(QUERY, generation="beside")) == answer(old)
        library.roll_back()
        assert answer(library.search(QUERY)) == answer(old)
        (docs / "animals/badger.md").unlink()
        library.add(str(docs))
        assert "animals/badger.md" not in paths(new(library))
        library.switch()
        assert "animals/badger.md" not in paths(new(library))


class TestNotKept:
    def test_an_answer_by_keywords_alone(
        self, open_library: OpenLibrary, docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(EMBEDDERS, "late", "late_embedder:LateEmbedder")
        library = open_library(embedding__provider="late", embedding__path=tmp_path)
        library.add(str(write_files(docs)))
        for _ in range(3):
            assert new(library).degraded
            with pytest.raises(ModelUnavailable):
                library.search(QUERY, mode="vector")

    def test_an_answer_with_approximate_vectors(self, open_library: OpenLibrary, docs: Path, tmp_path: Path) -> None:
        model = make_tiny_bert(tmp_path / "tiny")
        library = open_library(**small_steps(model) | {"search__refine_ms": 0})
        stopped_at_searchable(library, write_folder(docs, [f"file{number}" for number in range(20)]))
        for _ in range(3):
            assert any(hit.approximate for hit in new(library, "quick brown fox", mode="vector").hits)
        library.embed_pending()
        assert not any(hit.approximate for hit in ask(library, "quick brown fox", mode="vector").hits)

    def test_an_answer_that_a_model_was_missing_to_make_exact(
        self, open_library: OpenLibrary, docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Even where the hits that are shown happen to be exact."""
        monkeypatch.setitem(EMBEDDERS, "counting", "counting_bert:CountingBert")
        settings = small_steps(make_tiny_bert(tmp_path / "tiny")) | {"embedding__provider": "counting"}
        library = open_library(**settings)
        stopped_at_searchable(library, write_folder(docs, [f"file{number}" for number in range(20)]))

        def gone(texts: object) -> Any:
            raise ModelUnavailable("The model is gone.", hint="Wait.")

        monkeypatch.setattr(library.app.embedder, "embed", gone)
        every = library.search("quick brown fox", mode="vector", top_k=50).hits
        queries = [f"{hit.title}\n{hit.text}" for hit in every if not hit.approximate]
        firsts = {query: library.search(query, mode="vector", top_k=1) for query in queries}
        shown = [query for query, found in firsts.items() if not found.hits[0].approximate]
        assert shown
        assert any("approximate" in note for note in firsts[shown[0]].notes)
        new(library, shown[0], mode="vector", top_k=1)

    def test_anything_where_it_is_turned_off(self, open_library: OpenLibrary, docs: Path) -> None:
        library = open_library(search__remembered_answers=0)
        library.add(str(write_files(docs)))
        assert answer(new(library)) == answer(new(library))

    def test_more_than_the_settings_say(self, open_library: OpenLibrary, docs: Path) -> None:
        library = open_library(search__remembered_answers=2)
        library.add(str(write_files(docs)))
        for query in ("one", "two"):
            ask(library, query)
        assert remembered(library.search("one"))
        new(library, "three")
        assert remembered(library.search("one")), "the one asked longest ago makes room"
        assert remembered(library.search("three"))
        assert not remembered(library.search("two"))


def test_an_index_that_is_damaged_is_mended_all_the_same(filled: Library, home: Path) -> None:
    before = ask(filled)
    [folder] = [path for path in (home / "index").iterdir() if path.is_dir()]
    shutil.rmtree(folder / "keyword")
    assert answer(filled.search(QUERY)) == answer(before)
    assert filled.search("something else").hits


def test_what_is_measured_is_never_remembered(library: Library, docs: Path) -> None:
    (docs / "a.txt").write_text("the heron fishes at dawn\n")
    library.add(str(docs))
    for _ in range(2):
        assert "remembered" not in [stage.name for stage in library.rank("heron").trace.stages]
