"""What a query says besides its words, in both retrievers: operators, spelling, more words, mode."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
from late_embedder import LateEmbedder

from pinakes import settings as settings_module
from pinakes.core.records import Results
from pinakes.library import Library
from pinakes.models.embedders import EMBEDDERS
from pinakes.testing import write_files

OpenLibrary = Callable[..., Library]
MODES = ("hybrid", "vector", "keyword")


def note(body: str, **metadata: object) -> str:
    return "---\n" + "".join(f"{name}: {value}\n" for name, value in metadata.items()) + f"---\n{body}\n"


NOTES = {
    "guides/rotate.md": note("Rotate the signing keys once a year.", status="beta", year=2023, owner="Ada Lovelace"),
    "guides/revoke.md": note("Signing is refused when keys are lost.", status="alpha", year=2021),
    "guides/draft.md": note("A draft about signing keys.", status="draft", year=2020),
    "notes/keys.md": note("Keys of a piano, and keys of a map.", status="beta", year=2019, tags="[music, maps]"),
    "notes/sea.md": note("The sea is wide.", status="stable", year=2022),
}


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """A library that nothing writes to."""
    place = tmp_path_factory.mktemp("notes")
    with Library.open(place / "home", embedding__provider="deterministic", cache=str(place / "cache")) as library:
        library.add(str(write_files(place / "docs", NOTES)))
        yield library


def paths(results: Results) -> set[str]:
    return {hit.path for hit in results.hits}


def ranked(results: Results) -> list[tuple[str, float]]:
    return [(hit.path, hit.score) for hit in results.hits]


class TestPhrases:
    @pytest.mark.parametrize("mode", MODES)
    def test_only_chunks_with_the_words_together_are_found(self, notes: Library, mode: Any) -> None:
        found = notes.search('"signing keys"', mode=mode)
        assert paths(found) == {"guides/rotate.md", "guides/draft.md"}
        assert found.notes == ('only chunks with "signing keys"',)
        assert found.degraded is None

    @pytest.mark.parametrize("mode", MODES)
    def test_all_phrases_must_be_there(self, notes: Library, mode: Any) -> None:
        assert paths(notes.search('"signing keys" "once a year"', mode=mode)) == {"guides/rotate.md"}
        preferred = notes.search('"signing keys" "wide sea"', mode=mode)
        assert preferred.degraded is None
        assert paths(preferred), "no chunk has both, so chunks with one of them come first"
        assert any("wide sea" in note for note in preferred.notes)

    def test_words_are_compared_by_their_stems_and_without_case(self, notes: Library) -> None:
        assert paths(notes.search('"Signs KEY"')) == paths(notes.search('"signing keys"'))

    @pytest.mark.parametrize("mode", MODES)
    def test_a_phrase_of_one_word_must_be_there(self, notes: Library, mode: Any) -> None:
        assert paths(notes.search('"piano" keys', mode=mode)) == {"notes/keys.md"}

    def test_phrases_and_filters_both_hold(self, notes: Library) -> None:
        assert paths(notes.search('"signing keys" status:draft')) == {"guides/draft.md"}
        assert paths(notes.search('"signing keys"', filters={"status": "draft"})) == {"guides/draft.md"}


class TestExclusions:
    @pytest.mark.parametrize("mode", MODES)
    def test_a_chunk_with_an_excluded_word_comes_by_no_arm(self, notes: Library, mode: Any) -> None:
        """By meaning every chunk would be found."""
        without = notes.search("keys -signing", mode=mode)
        assert not paths(without) & {"guides/rotate.md", "guides/revoke.md", "guides/draft.md"}
        assert "notes/keys.md" in paths(without)
        assert without.notes == ('chunks with "signing" are left out',)

    @pytest.mark.parametrize("mode", MODES)
    def test_an_excluded_phrase_leaves_its_words_alone(self, notes: Library, mode: Any) -> None:
        found = paths(notes.search('keys -"signing keys"', mode=mode))
        assert not found & {"guides/rotate.md", "guides/draft.md"}
        assert found >= {"guides/revoke.md", "notes/keys.md"}

    @pytest.mark.parametrize("mode", MODES)
    def test_phrase_and_exclusion_together(self, notes: Library, mode: Any) -> None:
        assert paths(notes.search('"signing keys" -draft', mode=mode)) == {"guides/rotate.md"}

    @pytest.mark.parametrize("mode", MODES)
    def test_what_is_left_is_as_many_as_asked(self, open_library: OpenLibrary, docs: Path, mode: Any) -> None:
        """The excluded ones are the best by words, and would fill the places."""
        library = open_library(search__candidates=1)
        files = {f"bad{number}.md": f"Fox fox fox badger {number}.\n" for number in range(60)}
        files |= {f"good{number}.md": f"One fox of {number}00 words here.\n" for number in range(8)}
        library.add(str(write_files(docs, files)))
        found = library.search("fox -badger", mode=mode, top_k=8)
        assert paths(found) == {f"good{number}.md" for number in range(8)}

    @pytest.mark.parametrize("query", ["-signing", '-"signing keys"', "status:beta", "status:beta -piano"])
    @pytest.mark.parametrize("mode", MODES)
    def test_a_query_without_words_finds_nothing_and_says_so(self, notes: Library, mode: Any, query: str) -> None:
        found = notes.search(query, mode=mode)
        assert (found.hits, found.degraded) == ((), None)
        assert "the query does not say what to search for: add a word" in found.notes

    @pytest.mark.parametrize("mode", MODES)
    def test_leaving_out_everything_is_not_for_want_of_vectors(self, library: Library, docs: Path, mode: Any) -> None:
        library.add(str(write_files(docs, {"a.md": "Fox and badger.\n", "b.md": "Badger.\n"})))
        found = library.search("fox -badger", mode=mode)
        assert (found.hits, found.degraded) == ((), None)

    def test_a_chunk_that_defines_a_name_may_be_excluded_too(self, library: Library, docs: Path) -> None:
        files = {"a.py": "def rotate_keys():\n    return 'legacy'\n", "b.py": "def other():\n    rotate_keys()\n"}
        library.add(str(write_files(docs, files)))
        assert paths(library.search("rotate_keys")) == {"a.py", "b.py"}
        assert paths(library.search("rotate_keys -legacy")) == {"b.py"}


class TestFilters:
    SAME = (
        ("keys status:beta", {"status": "beta"}),
        ("keys status:alpha,draft", {"status": ["alpha", "draft"]}),
        ("keys -status:beta", {"status": {"ne": "beta"}}),
        ("keys year:2020..2022", {"year": {"gte": 2020, "lte": 2022}}),
        ("keys year:2021..", {"year": {"gte": 2021}}),
        ("keys year:>2021", {"year": {"gt": 2021}}),
        ("keys year:<=2020", {"year": {"lte": 2020}}),
        ("keys path:guides/**", {"path": {"glob": "guides/**"}}),
        ('keys owner:"ada lovelace"', {"owner": "Ada Lovelace"}),
        ("keys tags:music", {"tags": "music"}),
        ("keys status:beta year:>2020", {"status": "beta", "year": {"gt": 2020}}),
    )

    @pytest.mark.parametrize("mode", MODES)
    @pytest.mark.parametrize(("query", "filters"), SAME, ids=[query for query, _ in SAME])
    def test_in_the_query_they_are_those_of_the_call(
        self, notes: Library, query: str, filters: dict[str, Any], mode: Any
    ) -> None:
        within, beside = notes.search(query, mode=mode), notes.search("keys", mode=mode, filters=filters)
        assert ranked(within) == ranked(beside)
        assert within.total_candidates == beside.total_candidates
        assert 0 < beside.total_candidates < len(NOTES)
        assert any(note.startswith("only documents with") for note in within.notes)

    def test_they_come_to_those_of_the_call(self, notes: Library) -> None:
        assert paths(notes.search("keys status:beta", filters={"path": {"glob": "notes/**"}})) == {"notes/keys.md"}

    def test_a_name_that_no_document_has_is_text(self, notes: Library) -> None:
        for query in ("std::string keys", "https://example.org keys", "at 12:30 keys", "fixes: keys"):
            assert notes.search(query).total_candidates == len(NOTES)
        said = notes.search("keys statsu:beta")
        assert said.total_candidates == len(NOTES)
        assert any("did you mean 'status'" in note for note in said.notes)

    def test_a_value_that_no_document_has_is_told(self, notes: Library) -> None:
        found = notes.search("keys status:betta")
        assert (found.hits, found.total_candidates) == ((), 0)
        assert any("'beta'" in note for note in found.notes)

    def test_a_field_filters_from_the_moment_it_is_there(self, library: Library, docs: Path) -> None:
        library.add(str(write_files(docs, NOTES)))
        assert library.search("keys colour:red").total_candidates == len(NOTES)
        library.add(str(write_files(docs, {"red.md": note("Red keys.", colour="red")})))
        assert paths(library.search("keys colour:red")) == {"red.md"}


class TestSpelling:
    FILES: ClassVar = {f"part{number}.md": f"The scheduler of part {number} places work.\n" for number in range(5)}

    def test_a_word_that_nothing_has_brings_the_nearest(self, library: Library, docs: Path) -> None:
        library.add(str(write_files(docs, self.FILES)))
        for mode in ("hybrid", "keyword", "auto"):
            assert "no chunk has 'schedulr': did you mean 'scheduler'?" in library.search("schedulr", mode=mode).notes
        assert library.search("schedulr", mode="vector").notes == (), "meaning needs no spelling"
        assert library.search("schedulers", mode="keyword").notes == ()
        assert library.search("schedulr", mode="keyword").hits == ()

    def test_it_is_searched_for_only_where_that_is_wanted(self, open_library: OpenLibrary, docs: Path) -> None:
        library = open_library(spelling__correct=True)
        library.add(str(write_files(docs, self.FILES)))
        found = library.search("schedulr", mode="keyword")
        assert ranked(found) == ranked(library.search("scheduler", mode="keyword"))
        assert found.notes == ("searched for 'scheduler' instead of 'schedulr'",)
        assert found.query == "schedulr"
        both = library.search("schedulr")
        assert ranked(both) == ranked(library.search("scheduler"))

    def test_nothing_is_said_where_that_is_turned_off(self, open_library: OpenLibrary, docs: Path) -> None:
        library = open_library(spelling__suggest=False)
        library.add(str(write_files(docs, self.FILES)))
        assert library.search("schedulr").notes == ()

    HASHES: ClassVar = ("9fceb02d0ae598e95dc970b74767f19372d61af8", "1a2b3c4e50617283940a1b2c3d4e5f6071829304")

    @pytest.mark.parametrize("whole", HASHES)
    def test_the_beginning_of_a_hash_is_replaced_as_a_word_alone(
        self, library: Library, docs: Path, whole: str
    ) -> None:
        library.add(str(write_files(docs, {f"{one[:3]}.md": f"It came with commit {one}.\n" for one in self.HASHES})))
        for query, asked in (
            (f"commit {whole[:7]} {whole}", f"commit {whole} {whole}"),
            (f"{whole[:7]} x{whole[:7]}y {whole[:9]}", f"{whole} x{whole[:7]}y {whole}"),
        ):
            found, wanted = (library.search(one, mode="keyword") for one in (query, asked))
            assert ranked(found) == ranked(wanted)
            assert found.hits[0].path == f"{whole[:3]}.md"

    @pytest.mark.parametrize("whole", HASHES)
    def test_a_hash_that_is_searched_for_instead_is_told_always(
        self, open_library: OpenLibrary, docs: Path, whole: str
    ) -> None:
        library = open_library(spelling__suggest=False, spelling__correct=True)
        library.add(str(write_files(docs, {f"{one[:3]}.md": f"It came with commit {one}.\n" for one in self.HASHES})))
        found = library.search(f"{whole[:7]} nowhereatall", mode="keyword")
        assert [hit.path for hit in found.hits] == [f"{whole[:3]}.md"]
        assert found.notes == (f"no chunk has {whole[:7]!r}: searched for {whole!r}, instead",)

    def test_an_excluded_word_is_not_missed(self, library: Library, docs: Path) -> None:
        library.add(str(write_files(docs, self.FILES)))
        assert not any("no chunk has" in note for note in library.search("scheduler -schedulr").notes)

    def test_an_empty_collection_misses_no_words(self, library: Library, docs: Path) -> None:
        library.add(str(write_files(docs, {"a.md": "Alone.\n"})))
        (docs / "a.md").unlink()
        library.add(str(docs))
        assert library.search("schedulr").notes == ()


class TestExpansion:
    FILES: ClassVar = {
        "a.md": "The heap grows when pages are wanted.\n",
        "b.md": "How memory is shared between tasks.\n",
        "c.md": "Nothing of either.\n",
    }

    def opened(self, open_library: OpenLibrary, docs: Path) -> Library:
        kernel = settings_module.load(profile="kernel").expansion
        library = open_library(expansion=kernel.model_dump())
        library.add(str(write_files(docs, self.FILES)))
        return library

    def test_what_is_added_finds_and_is_told(self, open_library: OpenLibrary, docs: Path) -> None:
        found = self.opened(open_library, docs).search("memory", mode="keyword")
        assert [hit.path for hit in found.hits] == ["b.md", "a.md"]
        assert found.notes == ("also searched for: heap, stack (for memory)",)

    def test_a_chunk_that_has_only_added_words_is_found_by_them_in_both_modes(
        self, open_library: OpenLibrary, docs: Path
    ) -> None:
        hit = {hit.path: hit for hit in self.opened(open_library, docs).search("memory").hits}["a.md"]
        assert (hit.scores.bm25 or 0) > 0
        assert hit.matched_by == ("vector",), "the words of the query are not there"

    def test_added_words_weigh_a_fifth_of_those_asked_for(
        self, open_library: OpenLibrary, docs: Path, library: Library
    ) -> None:
        library.add(str(write_files(docs, self.FILES)))
        asked, added = (library.search(query, mode="keyword").hits[0] for query in ("memory", "heap stack"))
        first, second = self.opened(open_library, docs).search("memory", mode="keyword").hits
        assert first.scores.bm25 == pytest.approx(asked.scores.bm25)
        assert second.scores.bm25 == pytest.approx(0.2 * (added.scores.bm25 or 0), rel=1e-3)

    def test_meaning_is_not_expanded(self, open_library: OpenLibrary, docs: Path, library: Library) -> None:
        library.add(str(write_files(docs, self.FILES)))
        plain = ranked(library.search("memory", mode="vector"))
        assert ranked(self.opened(open_library, docs).search("memory", mode="vector")) == plain

    def test_added_words_bring_nothing_that_is_excluded_or_filtered(
        self, open_library: OpenLibrary, docs: Path
    ) -> None:
        library = self.opened(open_library, docs)
        assert paths(library.search("memory -pages", mode="keyword")) == {"b.md"}
        assert paths(library.search("memory", mode="keyword", filters={"path": "b.md"})) == {"b.md"}

    def test_without_the_setting_nothing_is_added(self, library: Library, docs: Path) -> None:
        library.add(str(write_files(docs, self.FILES)))
        assert paths(library.search("memory", mode="keyword")) == {"b.md"}


class TestAuto:
    @pytest.mark.parametrize(
        ("query", "mode", "said"),
        [
            ("kube_proxy", "keyword", "searched by words: "),
            ("how do we rotate the signing keys", "hybrid", "searched by words and meaning: "),
            ("what is it about", "vector", "searched by meaning: "),
        ],
    )
    def test_the_mode_is_chosen_and_told(self, notes: Library, query: str, mode: Any, said: str) -> None:
        found = notes.search(query, mode="auto")
        assert found.mode == "auto"
        assert [one for one in found.notes if one.startswith(said)]
        assert ranked(found) == ranked(notes.search(query, mode=mode))
        [stage] = [stage for stage in found.trace.stages if stage.name == "understand"]
        assert stage.detail == {"mode": mode}
        assert ("keyword" in {stage.name for stage in found.trace.stages}) == (mode != "vector")
        assert ("vector" in {stage.name for stage in found.trace.stages}) == (mode != "keyword")

    def test_a_collection_may_have_it_for_its_usual_mode(self, open_library: OpenLibrary, docs: Path) -> None:
        library = open_library(collections={"default": {"retrieval": "auto"}})
        library.add(str(write_files(docs, NOTES)))
        assert library.search("kube_proxy").mode == "auto"

    def test_without_a_model_words_do_what_meaning_was_chosen_for(
        self, open_library: OpenLibrary, docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(EMBEDDERS, "late", f"{LateEmbedder.__module__}:{LateEmbedder.__name__}")
        library = open_library(embedding__provider="late", embedding__path=str(tmp_path))
        library.add(str(write_files(docs, {"a.md": "What is it about? Keys.\n"})))
        found = library.search("what is it about", mode="auto")
        assert paths(found) == {"a.md"}
        assert found.degraded is not None
        assert found.degraded.startswith("keyword search only")


@pytest.mark.parametrize("query", ['"signing keys"', "keys -piano", "keys status:beta"])
def test_ranks_are_those_of_search(notes: Library, query: str) -> None:
    bare = notes.rank(query)
    assert [hit.path for hit in bare.hits] == [hit.path for hit in notes.search(query).hits]
    assert bare.notes == notes.search(query).notes


def test_a_query_that_is_pasted_is_text(notes: Library) -> None:
    found = notes.search('keys "signing keys" -draft\nstatus:beta')
    assert found.total_candidates == len(NOTES)
    assert not any("left out" in note or "only" in note for note in found.notes)
