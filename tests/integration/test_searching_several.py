"""Several collections are asked at once, each with its own model and settings, and give one answer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pinakes.core.caller import Caller, calling
from pinakes.core.errors import InvalidInput, ModelUnavailable, NotFound
from pinakes.core.records import Results
from pinakes.library import Library
from pinakes.models.embedders import EMBEDDERS
from pinakes.testing import FILES, write_files

Open = Callable[..., Library]

OLD, NEW = "old/32", "new/48"
QUERY = "which animals eat fish in the river"
SEA = {
    "whale.md": "# Whale\n\nWhales eat krill, seals eat fish.\n",
    "ship.md": "# Ship\n\nA ship sails from the river to the sea.\n",
    "heron.md": FILES["animals/heron.md"],
}


@pytest.fixture
def named(open_library: Open, monkeypatch: pytest.MonkeyPatch) -> Open:
    monkeypatch.setitem(EMBEDDERS, "named", "named_embedder:NamedEmbedder")
    return lambda **more: open_library(**{"embedding__provider": "named", "embedding__model": OLD} | more)


@pytest.fixture
def library(named: Open, docs: Path) -> Library:
    opened = named()
    opened.add(str(write_files(docs / "zoo")), "zoo")
    opened.add(str(write_files(docs / "sea", SEA)), "sea")
    return opened


def keys(found: Results) -> list[tuple[str, str]]:
    return [(hit.collection, hit.path) for hit in found.hits]


@pytest.mark.parametrize("collection", ["*", "sea,zoo", ["sea", "zoo"], ("zoo", "sea")])
def test_all_that_each_finds_is_there_best_first(library: Library, collection: str | list[str]) -> None:
    found = library.search(QUERY, collection, top_k=20)
    alone = [library.search(QUERY, name, top_k=20) for name in ("sea", "zoo")]
    assert found.total_candidates == sum(one.total_candidates for one in alone)
    folded = [(one.collection, one.path) for hit in found.hits for one in hit.duplicates if one.collection]
    assert sorted([*keys(found), *folded]) == sorted(key for one in alone for key in keys(one))
    assert [hit.score for hit in found.hits] == sorted((hit.score for hit in found.hits), reverse=True)
    best = {name: max(hit.score for hit in found.hits if hit.collection == name) for name in ("sea", "zoo")}
    assert all(0 <= hit.score <= 1 for hit in found.hits)
    assert max(best.values()) <= max(hit.score for one in alone for hit in one.hits)


def test_what_both_have_word_for_word_is_told_once(library: Library) -> None:
    found = library.search("the grey heron waits for fish", "*")
    [heron] = [hit for hit in found.hits if "grey heron" in hit.text]
    [copy] = heron.duplicates
    assert {heron.collection, copy.collection} == {"sea", "zoo"}
    assert {heron.path, copy.path} == {"heron.md", "animals/heron.md"}


def test_top_k_min_score_and_filters_hold_for_all_together(library: Library) -> None:
    every = library.search(QUERY, "*", top_k=20)
    assert keys(library.search(QUERY, "*", top_k=2)) == keys(every)[:2]
    least = every.hits[2].score
    assert keys(library.search(QUERY, "*", top_k=20, min_score=least)) == keys(every)[:3]
    only = library.search(QUERY, "*", filters={"path": "animals/**"}, top_k=20)
    assert {name for name, _ in keys(only)} == {"zoo"}
    assert only.total_candidates == library.search(QUERY, "zoo", filters={"path": "animals/**"}).total_candidates
    assert "less than the least score asked for" in library.search(QUERY, "*", min_score=0.99).notes[-1]
    with pytest.raises(InvalidInput, match="top_k"):
        library.search(QUERY, "*", top_k=1000)
    with pytest.raises(InvalidInput, match="top_k"):
        library.search(QUERY, "*", top_k=0)


def test_a_limit_below_what_is_looked_at_is_kept(named: Open, library: Library) -> None:
    assert len(named(search__max_top_k=2).search(QUERY, "*").hits) == 2


@pytest.mark.parametrize("mode", ["hybrid", "vector", "keyword", "auto"])
@pytest.mark.parametrize("fusion", ["weighted", "rrf"])
def test_every_mode_and_fusion_answers(library: Library, mode: Any, fusion: str) -> None:
    found = library.search("fish", "*", mode=mode, fusion=fusion)
    assert {hit.collection for hit in found.hits} == {"sea", "zoo"}
    assert (found.mode, found.fusion, found.degraded) == (mode, fusion, None)
    assert [hit.score for hit in found.hits] == sorted((hit.score for hit in found.hits), reverse=True)


def test_the_trace_shows_the_steps_of_each(library: Library) -> None:
    trace = library.search(QUERY, "*").trace
    steps = [(stage.detail["collection"], stage.name) for stage in trace.stages[:-1]]
    for name in ("sea", "zoo"):
        assert {"follow", "embed", "keyword", "vector", "hydrate"} <= {step for one, step in steps if one == name}
    assert trace.stages[-1].name == "merge"
    assert trace.milliseconds >= sum(stage.milliseconds for stage in trace.stages)


def test_remembered_answers_are_merged_as_well(library: Library) -> None:
    first, again = (library.search(QUERY, "*") for _ in range(2))
    assert again.hits == first.hits
    assert "remembered" in [stage.name for stage in again.trace.stages]


def test_one_that_is_not_there_is_told_of(library: Library) -> None:
    found = library.search(QUERY, "zoo,nowhere")
    assert {name for name, _ in keys(found)} == {"zoo"}
    assert found.degraded == "'nowhere' did not answer"
    assert "There is no collection 'nowhere'" in found.notes[0]
    with pytest.raises(NotFound):
        library.search(QUERY, "nowhere,elsewhere")
    with pytest.raises(InvalidInput, match="No collection is named"):
        library.search(QUERY, ",")


def test_where_there_is_no_collection_all_of_them_are_not_found(named: Open) -> None:
    with pytest.raises(NotFound, match="'default'"):
        named().search(QUERY, "*")


def test_all_are_those_that_the_caller_may_use(library: Library) -> None:
    with calling(Caller(name="reader", collections=("sea",))):
        assert {name for name, _ in keys(library.search(QUERY, "*"))} == {"sea"}
        assert [held.name for held in library.collecting.list_all()] == ["sea"]


class TestAnotherModel:
    @pytest.fixture
    def switched(self, library: Library) -> Library:
        """The sea has a model of its own."""
        library.build_beside(NEW, "sea")
        library.switch("sea")
        return library

    def test_each_is_asked_by_its_own_and_ranks_decide(self, switched: Library) -> None:
        found = switched.search(QUERY, "*")
        alone = {name: [hit.score for hit in switched.search(QUERY, name).hits] for name in ("sea", "zoo")}
        assert any("their models are not the same" in note for note in found.notes)
        assert {name for name, _ in keys(found)} == {"sea", "zoo"}
        for name, scores in alone.items():
            mine = [hit.score for hit in found.hits if hit.collection == name]
            assert mine == [score for score in scores if score in mine]
        models = {stage.detail.get("model") for stage in found.trace.stages if stage.name == "embed"}
        assert models == {"named/old/32", "named/new/48"}

    def test_words_compare_whatever_the_models(self, switched: Library) -> None:
        assert switched.search("fish", "*", mode="keyword").notes == ()

    def test_one_whose_model_is_gone_answers_by_words_and_says_so(self, switched: Library, named: Open) -> None:
        library = named(embedding__model="gone/32")
        found = library.search(QUERY, "*")
        assert {name for name, _ in keys(found)} == {"sea", "zoo"}
        assert found.degraded is not None
        assert found.degraded.startswith("'zoo': keyword search only")
        assert any("'sea' by words and meaning, 'zoo' by words" in note for note in found.notes)
        by_meaning = library.search(QUERY, "*", mode="vector")
        assert {name for name, _ in keys(by_meaning)} == {"sea"}
        assert by_meaning.degraded == "'zoo' did not answer"
        with pytest.raises(ModelUnavailable):
            library.search(QUERY, "zoo", mode="vector")


def test_collections_go_by_their_own_modes(library: Library) -> None:
    library.collecting.configure("sea", retrieval="keyword")
    found = library.search(QUERY, "*")
    assert found.mode == "hybrid"
    assert all(hit.scores.cosine is None for hit in found.hits if hit.collection == "sea")
    assert any(hit.scores.cosine is not None for hit in found.hits if hit.collection == "zoo")
    assert any("merged by their ranks" in note for note in found.notes)
