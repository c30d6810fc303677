"""Tuning on real libraries: a planted optimum, what a settings file promises, approximate indexes, other cuts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_disk import small_file_system

from pinakes.cli import rechunking
from pinakes.core.errors import InvalidInput, SourceError, StorageFull
from pinakes.evaluation import names
from pinakes.evaluation.metrics import metric
from pinakes.evaluation.questions import Question
from pinakes.evaluation.tuning import approximate, chunk_sizes, knobs
from pinakes.evaluation.tuning.ascent import Budget
from pinakes.evaluation.tuning.findings import TuningResult, fragment
from pinakes.evaluation.tuning.trials import Trials, TuningSubject
from pinakes.evaluation.tuning.tune import TuningPlan, tune
from pinakes.indexes.vector.faiss_index import VectorIndex
from pinakes.library import Library
from pinakes.testing import write_files

OpenLibrary = Callable[..., Library]
PLACES = [f"town{letter}{other}" for letter in "abcdef" for other in "wxyz"]
QUESTIONS = [Question(place, f"{place} railway", {f"{place}.md": 1}, "place") for place in PLACES]
NDCG = metric("ndcg@10")


def railways(docs: Path) -> Path:
    """For each place a document that only its path names, and two that tell more of it beside."""
    files: dict[str, str] = {}
    for place in PLACES:
        files[f"{place}.md"] = f"# Timetable\n\nThe railway opens at {len(files)} and closes late.\n"
        for number in (1, 2):
            files[f"diary/{place[-2:]}-{number}.md"] = (
                f"# Diary\n\nWe saw {place}, then {place} again, and left {place} by railway number {number}.\n"
            )
    return write_files(docs, files)


def subject(library: Library, questions: Sequence[Question] = QUESTIONS, mode: Any = "keyword") -> TuningSubject:
    parts = library.parts()
    wanted = [document for question in questions for document in question.relevant]
    with library.app.catalog.read() as connection:
        called = names.resolve(connection, parts.collection.id, wanted)
    return TuningSubject.from_context(parts, called, mode)


def tuned(library: Library, *families: str, mode: Any = "keyword", budget: Budget | None = None) -> TuningResult:
    every = knobs.knobs(families, library.settings)
    current = knobs.current_values(library.settings, every)
    plan = TuningPlan(every, current, NDCG.name, budget=budget or Budget())
    return tune(Trials(subject(library, mode=mode), QUESTIONS, NDCG), QUESTIONS, plan)


@pytest.fixture
def filled(open_library: OpenLibrary, docs: Path) -> Library:
    library = open_library()
    library.add(str(railways(docs)))
    return library


class TestFields:
    def test_the_field_that_tells_is_found_and_its_file_gives_the_ranking_that_was_promised(
        self, filled: Library, open_library: OpenLibrary, tmp_path: Path
    ) -> None:
        found = tuned(filled, "fields")
        assert found.better or found.why.startswith("better, but slower"), found.why  # as a busy machine may make it
        assert found.best["search.path_boost"] > filled.settings.search.path_boost
        assert found.held_out.current < 0.8 < found.held_out.tuned
        file = tmp_path / "tuned.toml"
        file.write_text(fragment(found.best, ["found"]), "utf-8")
        [promised] = [one for one in found.tries if one.settings == found.best]
        loaded = open_library(profile=str(file))
        assert loaded.settings.search.path_boost == found.best["search.path_boost"]
        assert Trials(subject(loaded), QUESTIONS, NDCG).score(()).mean() == pytest.approx(promised.score.mean)
        hits = [loaded.search(question.text, mode="keyword").hits[0].path for question in QUESTIONS]
        assert hits == [f"{question.id}.md" for question in QUESTIONS]

    def test_trying_leaves_the_library_as_it_is(self, filled: Library, open_library: OpenLibrary) -> None:
        library = open_library(search__remembered_answers=0)
        before = [library.search(question.text, mode="keyword").hits for question in QUESTIONS[:3]]
        tuned(library, "fields", budget=Budget(tries=3))
        assert [library.search(question.text, mode="keyword").hits for question in QUESTIONS[:3]] == before


class TestRanking:
    @pytest.mark.parametrize(
        "point",
        [
            (("search.keyword_weight", 0.9), ("search.semantic_weight", 0.1)),
            (("search.fusion", "rrf"), ("search.rrf_k", 10)),
            (("search.feedback_weight", 0.0),),
            (("search.definition_boost", 0.0),),
            (("search.identifier_boost", 1.0),),
            (("boosts.test_penalty", 0.4),),
            (("search.candidates", 10), ("search.title_boost", 1.6)),
        ],
    )
    def test_what_is_ranked_anew_ranks_as_a_search_by_those_settings_does(
        self, filled: Library, open_library: OpenLibrary, point: knobs.Point
    ) -> None:
        trials = Trials(subject(filled, mode="hybrid"), QUESTIONS, metric("mrr@10"))
        trials.score(())
        anew = trials.score(point)
        settings = {name.replace(".", "__"): value for name, value in point}
        there = open_library(**settings)
        again = Trials(subject(there, mode="hybrid"), QUESTIONS, metric("mrr@10")).score(())
        assert anew.tolist() == again.tolist()
        for question, value in zip(QUESTIONS[:6], anew.tolist(), strict=False):
            paths = list(dict.fromkeys(hit.path for hit in there.search(question.text, mode="hybrid").hits))
            if f"{question.id}.md" in paths:
                assert value == pytest.approx(1 / (paths.index(f"{question.id}.md") + 1))

    def test_weights_are_tried_without_asking_the_index_again(self, filled: Library) -> None:
        parts = subject(filled, mode="hybrid")
        asked: list[str] = []
        index = parts.parts.index
        keyword = index.keyword
        index.keyword = lambda *words, **options: asked.append(words[0]) or keyword(*words, **options)  # type: ignore
        trials = Trials(parts, QUESTIONS, NDCG)
        trials.score(())
        before = len(asked)
        assert before >= len(QUESTIONS)
        for weight in (0.1, 0.5, 0.9):
            trials.score((("search.keyword_weight", weight), ("search.semantic_weight", 1 - weight)))
        assert len(asked) == before

    def test_every_try_has_its_time_and_the_winner_is_timed_beside_what_is_set_now(self, filled: Library) -> None:
        trials = Trials(subject(filled), QUESTIONS, NDCG)
        point = (("search.path_boost", 0.8),)
        trials.score(())
        trials.score(point)
        assert min(trials.milliseconds.values()) > 0
        speed = trials.speed(point)
        assert speed.current_ms > 0
        assert speed.tuned_ms > 0


class TestApproximateIndexes:
    @pytest.fixture
    def large(self, open_library: OpenLibrary, docs: Path) -> Library:
        library = open_library(embedding__mode="full")
        lines = [f"chunk {number} tells of item{number}" for number in range(2600)]
        write_files(docs, {f"{number}.txt": line for number, line in enumerate(lines)})
        library.add(str(docs))
        return library

    def test_more_effort_finds_more_and_the_table_says_how_long_it_takes(self, large: Library) -> None:
        questions = [Question(str(n), f"item{n} tells", {f"{n}.txt": 1}) for n in range(0, 2600, 130)]
        trials = Trials(subject(large, questions, "hybrid"), questions, NDCG)
        found = approximate.sweep(trials, NDCG.name, Budget())
        now, *others = found.ways
        assert (now.tried.settings, now.recall) == ({}, 1.0)
        recalls = [way.recall for way in others]
        assert recalls == sorted(recalls)
        assert recalls[0] < 0.5 < recalls[-1]
        assert len(others) == len(approximate.SHARES)
        assert all(0 < way.latency.p50_ms <= way.latency.p95_ms for way in found.ways)
        assert {settings["index.exact_max_vectors"] for settings in (way.tried.settings for way in others)} == {1300}
        assert str(large.parts().index.describe()["vector_search"]).startswith("exact")

    def test_the_exact_scan_is_built_once_where_the_index_is_approximate(
        self, large: Library, open_library: OpenLibrary, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        built: list[str] = []
        build = VectorIndex._scanner

        def scanner(self: VectorIndex, matrix: Any, exact_max: int, *more: Any) -> Any:
            built.append("exact" if len(matrix) <= exact_max else "approximate")
            return build(self, matrix, exact_max, *more)

        library = open_library(embedding__mode="full", index__exact_max_vectors=1300)
        questions = [Question(str(n), f"item{n} tells", {f"{n}.txt": 1}) for n in range(0, 2600, 520)]
        trials = Trials(subject(library, questions, "hybrid"), questions, NDCG)
        library.search("item0 tells")
        monkeypatch.setattr(VectorIndex, "_scanner", scanner)
        found = approximate.sweep(trials, NDCG.name, Budget())
        assert [way.recall for way in found.ways if way.tried.settings == {"index.exact_max_vectors": 2600}] == [1.0]
        assert built == ["exact"]

    def test_few_vectors_have_nothing_to_tune(self, filled: Library) -> None:
        with pytest.raises(InvalidInput, match="72 vectors are too few"):
            approximate.sweep(Trials(subject(filled, mode="hybrid"), QUESTIONS, NDCG), NDCG.name, Budget())


class TestOtherCuts:
    def test_a_full_disk_is_told_as_one(self, filled: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        with small_file_system(tmp_path / "small", 1) as place:
            monkeypatch.setattr("tempfile.tempdir", str(place))
            (place / "ballast").write_bytes(bytes(950_000))
            with pytest.raises(StorageFull, match="A copy of the catalogue cannot be written"):
                rechunking.copied(filled).__enter__()
            assert [path.name for path in place.iterdir()] == ["ballast"]

    @pytest.fixture
    def long(self, open_library: OpenLibrary, docs: Path) -> Library:
        """Documents of several paragraphs each, so that smaller chunks are more."""
        library = open_library()
        filler = " ".join(f"word{number}" for number in range(90))
        text = "# Timetable\n\n" + "\n\n".join([f"Of {{place}} it is said that {filler}."] * 4)
        write_files(docs, {f"{place}.md": text.format(place=place) for place in PLACES})
        library.add(str(docs))
        return library

    def test_a_collection_is_cut_anew_in_a_copy_and_stays_as_it_is(
        self, long: Library, open_library: OpenLibrary
    ) -> None:
        before = long.status()[0].chunks
        knob = chunk_sizes.knob(long.settings.chunking, 254)
        small = (("chunking.overlap", 0.2), ("chunking.size", 128))
        assert rechunking.seconds(long, "default", knob) > 0
        with rechunking.copied(long) as home:
            recut = rechunking.Recut(home, long.settings, "default", None, "keyword", QUESTIONS, NDCG, lambda _: None)
            recut.score(())
            recut.score(small)
            with Library(long.settings.model_copy(update={"home": home})) as copy:
                assert copy.status()[0].chunks > before
            assert set(recut.milliseconds) == {(), small}
            assert recut.speed(small).tuned_ms > 0
        assert not home.exists()
        assert long.status()[0].chunks == before
        assert long.settings.chunking.size == 0

    def test_a_source_that_is_gone_is_an_error_that_names_it(self, long: Library, docs: Path) -> None:
        docs.rename(docs.with_name("elsewhere"))
        with rechunking.copied(long) as home:
            recut = rechunking.Recut(home, long.settings, "default", None, "keyword", QUESTIONS, NDCG, lambda _: None)
            with pytest.raises(SourceError, match="docs"):
                recut.score(())


def test_memory_for_candidates_is_bounded_by_forgetting_those_used_longest_ago(
    filled: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pinakes.evaluation.tuning import trials as module

    monkeypatch.setattr(module, "_MOST_KEPT_BYTES", 1)
    trials = Trials(subject(filled, mode="hybrid"), QUESTIONS, NDCG)
    first = trials.score(())
    trials.score((("search.candidates", 20),))
    assert len(trials._kept) == 1
    assert np.array_equal(trials.score(()), first)
