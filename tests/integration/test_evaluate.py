"""Evaluation on real libraries: names of documents, rankings, misses with their reasons, stored runs, the gate."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pinakes.core.errors import InvalidInput, NotFound, StorageFull
from pinakes.core.records import Condition, Results, SearchMode
from pinakes.evaluation import baseline, beir, golden, html_report, names, run_comparison, runs
from pinakes.evaluation.figures import Miss, Row
from pinakes.evaluation.messages import cautions, miss_words
from pinakes.evaluation.names import DocumentNames
from pinakes.evaluation.questions import GoldenSet, Question
from pinakes.evaluation.run import Subject, measure, measure_run
from pinakes.evaluation.runs import Run
from pinakes.library import Library
from pinakes.settings import QdrantSettings
from pinakes.testing import write_files

OpenLibrary = Callable[..., Library]
ZOO = {
    "animals/badger.md": "---\nkep_id: sig-Zoo/1\nstatus: beta\n---\n# Badger\n\nBadgers eat earthworms at night.\n",
    "animals/heron.md": "---\nkep_id: sig-zoo/2\n---\n# Heron\n\nThe grey heron waits for fish in shallow water.\n",
    "animals/otter.md": "# Otter\n\nOtters eat fish and play in the river.\n",
    "plants/heron.md": "# Heron's bill\n\nA plant of dry meadows.\n",
    "notes/fence.txt": "A storm broke the fence in May.\n",
}


@pytest.fixture
def zoo(open_library: OpenLibrary, docs: Path) -> Library:
    library = open_library()
    library.add(str(write_files(docs, ZOO)))
    return library


def resolve(library: Library, *wanted: str, by: str | None = None) -> DocumentNames:
    with library.app.catalog.read() as connection:
        return names.resolve(connection, library.collection().id, wanted, by)


def subject(library: Library, questions: Sequence[Question], **options: Any) -> Subject:
    called = resolve(library, *(document for question in questions for document in question.relevant))
    return Subject(library.app.catalog, library.search, library.rank, library.collection(), called, **options)


def rows(library: Library, *questions: Question, mode: SearchMode = "hybrid", **options: Any) -> dict[str, Row]:
    measured, _ = measure(subject(library, questions, **options), questions, mode)
    return {row.id: row for row in measured.rows}


def run_of(library: Library, questions: Sequence[Question], *modes: SearchMode, name: str = "zoo") -> Run:
    about = subject(library, questions)
    measured = {mode: measure(about, questions, mode)[0] for mode in modes or ("keyword",)}
    corpus = runs.corpus_of(library.app.catalog, library.collection())
    configuration = runs.configuration_of(library.settings, library.collection())
    golden_set = GoldenSet(name, Path("zoo.jsonl"), tuple(questions))
    return runs.new_run(golden_set, about.names, corpus, configuration, ("ndcg@10", "hit@5"), measured)


QUESTIONS = (
    Question("fish", "who waits for fish in shallow water", {"animals/heron.md": 2, "animals/otter.md": 1}, "how"),
    Question("night", "who eats earthworms", {"animals/badger.md": 1}, "identifier"),
    Question("fence", "what broke the fence", {"notes/fence.txt": 1}, "how"),
)


class TestNames:
    @pytest.mark.parametrize(
        "name",
        ["animals/otter.md", "otter.md", "/animals/otter.md", "./animals/otter.md", "animals/otter", "otter"],
    )
    def test_a_document_may_be_named_by_its_path_or_an_end_of_it_also_without_extension(
        self, zoo: Library, name: str
    ) -> None:
        found = resolve(zoo, name)
        assert [one.path for one in found.members[name]] == ["animals/otter.md"]
        assert not found.unknown
        assert not found.ambiguous

    def test_a_name_may_begin_above_the_folder_that_was_added(self, zoo: Library, docs: Path) -> None:
        name = f"{docs.name}/animals/otter.md"
        assert [one.path for one in resolve(zoo, name).members[name]] == ["animals/otter.md"]
        assert resolve(zoo, f"{docs.name}/animals/yeti.md", "otter").unknown == (f"{docs.name}/animals/yeti.md",)

    def test_a_document_may_be_named_by_its_id_or_uri(self, zoo: Library) -> None:
        [hit] = zoo.search("otters river", mode="keyword", top_k=1).hits
        found = resolve(zoo, hit.document_id, hit.uri)
        assert found.called[hit.document_id] == [hit.document_id, hit.uri]

    def test_a_document_may_be_named_by_a_field_without_regard_to_case(self, zoo: Library) -> None:
        found = resolve(zoo, "SIG-zoo/1", "sig-zoo/3", by="KEP-ID")
        assert [one.path for one in found.members["SIG-zoo/1"]] == ["animals/badger.md"]
        assert found.unknown == ("sig-zoo/3",)

    def test_a_field_that_no_document_has_is_an_error_that_names_those_there_are(self, zoo: Library) -> None:
        with pytest.raises(InvalidInput, match=r"field 'kepid'.*kep_id"):
            resolve(zoo, "sig-zoo/1", by="kepid")

    def test_a_whole_path_wins_over_the_ends_of_others(self, zoo: Library, docs: Path) -> None:
        write_files(docs, {"otter.md": "# Another\n\nOtter.\n"})
        zoo.sync()
        assert [one.path for one in resolve(zoo, "otter.md").members["otter.md"]] == ["otter.md"]

    def test_an_end_of_several_paths_is_ambiguous_and_stands_for_all(self, zoo: Library) -> None:
        found = resolve(zoo, "heron.md")
        assert found.ambiguous == {"heron.md": ("animals/heron.md", "plants/heron.md")}
        assert len(found.members["heron.md"]) == 2

    def test_unknown_names_are_listed_and_an_error_only_when_none_is_known(self, zoo: Library) -> None:
        assert resolve(zoo, "otter.md", "yeti.md").unknown == ("yeti.md",)
        with pytest.raises(InvalidInput, match=r"none of the 2 documents.*'yeti\.md'.*--by FIELD.*Here one is '\w+"):
            resolve(zoo, "yeti.md", "griffin.md")

    def test_documents_of_a_group_rank_once_and_so_do_those_of_groups_that_no_question_names(
        self, open_library: OpenLibrary, docs: Path
    ) -> None:
        for sig, number, word in (("sig-a", 1, "tokens"), ("sig-b", 2, "volumes")):
            folder = f"keps/{sig}/{number}-{word}"
            text = {"README.md": f"# About {word}\n\n{word} expire.\n", "notes.md": f"# More {word}\n\n{word}.\n"}
            write_files(docs / folder, text)
        rules = {"path_templates": ["keps/{sig}/{number}-{slug}/{file}"], "document_key": "{sig}/{number}"}
        library = open_library(
            collections={"default": rules},
        )
        library.add(str(docs))
        found = rows(library, Question("q", "tokens and volumes expire", {"sig-a/1": 1}), mode="keyword")
        assert sorted(found["q"].ranking) == ["sig-a/1", "sig-b/2"]

    def test_documents_that_no_question_names_are_called_by_their_path(self, zoo: Library) -> None:
        found = rows(zoo, Question("q", "heron", {"animals/heron.md": 1}), mode="keyword")
        assert set(found["q"].ranking) == {"animals/heron.md", "plants/heron.md"}

    def test_a_document_with_two_names_counts_under_the_one_that_its_question_uses(self, zoo: Library) -> None:
        questions = (Question("a", "otters", {"otter.md": 1}), Question("b", "otters", {"animals/otter.md": 1}))
        assert {row.rank for row in rows(zoo, *questions, mode="keyword").values()} == {1}


class TestMisses:
    def test_a_question_that_is_answered_is_no_miss(self, zoo: Library) -> None:
        found = rows(zoo, *QUESTIONS, mode="keyword")
        assert [row.miss for row in found.values()] == [None, None, None]
        assert found["night"].scores["ndcg@10"] == 1
        assert all(row.milliseconds > 0 for row in found.values())

    def test_what_the_collection_does_not_have_is_said_to_be_missing_from_it(self, zoo: Library) -> None:
        missing = Question("gone", "yeti", {"yeti.md": 1})
        assert rows(zoo, *QUESTIONS, missing)["gone"].miss == Miss("not in the collection", "yeti.md")

    def test_what_a_filter_keeps_out_is_lost_by_it(self, zoo: Library) -> None:
        where = (Condition("status", any_of=("beta",)),)
        found = rows(zoo, Question("q", "otters play", {"animals/otter.md": 1}, where=where))
        assert found["q"].miss == Miss("lost by filter", "animals/otter.md")
        assert miss_words(found["q"].miss) == "lost by filter"

    def test_a_filter_that_lets_the_answer_pass_does_no_harm(self, zoo: Library) -> None:
        where = (Condition("status", any_of=("beta",)),)
        found = rows(zoo, Question("q", "who eats earthworms", {"animals/badger.md": 1}, where=where))
        assert found["q"].ranking == ("animals/badger.md",)
        assert found["q"].miss is None

    def test_what_no_arm_finds_is_not_retrieved(self, zoo: Library) -> None:
        found = rows(zoo, Question("q", "zeppelin", {"animals/otter.md": 1}), mode="keyword")
        miss = found["q"].miss
        assert miss is not None
        assert (miss.reason, miss.rank, miss.keyword) == ("not retrieved", None, None)
        assert isinstance(miss.vector, int)
        assert miss_words(miss) == f"not retrieved (by meaning {miss.vector})"
        assert miss_words(replace(miss, vector=None)) == "found by neither retriever"

    def test_what_is_found_too_far_down_says_where_in_the_ranking_and_in_each_arm(
        self, open_library: OpenLibrary, docs: Path
    ) -> None:
        for number in range(15):
            (docs / f"{number:02}.md").write_text(f"# Note {number}\n\nThe tide turns. The tide turns.\n")
        (docs / "far.md").write_text("# Far\n\n" + "Other words stand here first. " * 30 + "The tide.\n")
        library = open_library()
        library.add(str(docs))
        miss = rows(library, Question("q", "tide turns", {"far.md": 1}), mode="hybrid")["q"].miss
        assert miss is not None
        assert miss.reason == "ranked low"
        assert miss.rank is not None
        assert miss.rank > 10
        assert miss.keyword == 16
        assert miss_words(miss).startswith(f"ranked {miss.rank}")

    def test_an_answer_where_none_exists_is_a_miss_and_an_empty_one_is_not(self, zoo: Library) -> None:
        nothing, something = Question("none", "zeppelin", {}), Question("some", "fish", {})
        measured, _ = measure(subject(zoo, QUESTIONS), (*QUESTIONS, nothing, something), "keyword")
        found = {row.id: row for row in measured.rows}
        assert found["none"].miss is None
        assert found["none"].refused
        assert found["some"].miss is not None
        assert miss_words(found["some"].miss) == "answered although no answer exists"
        told = measured.refusals
        assert (told.no_answer, told.recognised, told.answerable, told.false_alarms) == (2, 1, 3, 0)
        assert measured.overall.questions == 3
        assert found["none"].scores == {}

    def test_results_that_say_how_probable_an_answer_is_decide_by_that(self, zoo: Library) -> None:
        def search(query: str, collection: str | None = None, **options: Any) -> Results:
            results = zoo.search(query, collection, **options)
            return replace(results, answerable=0.2 if "fence" in query or "fish" in query else 0.9)

        about = replace(subject(zoo, QUESTIONS), search=search)
        measured, _ = measure(about, (*QUESTIONS, Question("none", "any fish", {})), "keyword")
        assert {row.id: row.answerable for row in measured.rows}["night"] == 0.9
        assert (measured.refusals.recognised, measured.refusals.false_alarms) == (1, 2)

    def test_rankings_that_exist_are_measured_without_searching(self) -> None:
        rankings = {"fish": ["animals/otter.md"], "night": [f"other-{number}" for number in range(11)]}
        rankings["night"].append("animals/badger.md")
        measured = measure_run(rankings, QUESTIONS, "theirs")
        found = {row.id: row for row in measured.rows}
        assert measured.overall.metrics["hit@1"] == pytest.approx(1 / 3)
        assert found["night"].miss == Miss("ranked low", "animals/badger.md", 12)
        assert found["fence"].miss == Miss("not retrieved", "notes/fence.txt")
        assert measured.latency.p99_ms == 0


class TestDepth:
    def test_the_ranking_is_as_deep_as_was_asked_for_and_the_time_is_that_of_a_usual_question(
        self, open_library: OpenLibrary, docs: Path
    ) -> None:
        for number in range(30):
            (docs / f"{number}.md").write_text(f"# Note {number}\n\nThe tide turns, it is {number}.\n")
        library = open_library()
        library.add(str(docs))
        asked: list[int] = []

        def search(query: str, collection: str | None = None, **options: Any) -> Results:
            asked.append(options["top_k"])
            return library.search(query, collection, **options)

        question = Question("q", "tide", {"29.md": 1})
        about = replace(subject(library, [question]), search=search, top_k=5, depth=25)
        _, [answer] = measure(about, [question], "keyword")
        assert len(answer.ranking) == len(answer.scores) == 25
        assert asked == [1, 5]

    def test_a_ranking_begins_as_the_answer_that_users_get_does(self, zoo: Library) -> None:
        for mode in ("keyword", "vector", "hybrid"):
            hits = zoo.search("heron in the river", mode=mode, top_k=5).hits
            deep = zoo.rank("heron in the river", mode=mode, depth=500).hits
            assert [(hit.document_id, hit.path, hit.score) for hit in deep[: len(hits)]] == [
                (hit.document_id, hit.path, hit.score) for hit in hits
            ]


class TestRuns:
    def test_a_run_is_read_as_it_was_stored(self, zoo: Library, home: Path) -> None:
        run = runs.save(run_of(zoo, QUESTIONS, "keyword", "hybrid"), home)
        assert runs.find(run.name, home) == run
        assert runs.find(str(home / "evaluations" / f"{run.name}.json"), home) == run
        assert runs.last(home, "zoo", "default", ["vector", "hybrid"]) == run
        assert runs.last(home, "zoo", "default", ["vector"]) is None
        assert runs.last(home, "zoo", "other", ["hybrid"]) is None
        assert (run.corpus.documents, run.corpus.pending, run.golden.answerable) == (5, 0, 3)
        assert run.configuration["search.semantic_weight"] == 0.7
        assert run.configuration["chunking.unit"] == "tokens"
        assert not [name for name in run.configuration if name.startswith(("server", "home", "cache"))]

    def test_runs_of_one_second_get_names_of_their_own(self, zoo: Library, home: Path) -> None:
        run = run_of(zoo, QUESTIONS, name="zoo & more/../golden")
        stored = [runs.save(run, home).name for _ in range(3)]
        assert len(set(stored)) == 3
        assert runs.names_of_runs(home) == sorted(stored)
        assert all("/" not in name and " " not in name for name in stored)

    def test_a_run_that_is_not_there_or_is_none_is_refused(self, zoo: Library, home: Path) -> None:
        assert runs.last(home, "zoo", "default", ["keyword", "vector", "hybrid"]) is None
        with pytest.raises(NotFound, match=r"no run '\.\./catalog'.*None was stored yet"):
            runs.find("../catalog", home)
        (home / "evaluations").mkdir()
        (home / "evaluations" / "mine.json").write_text('{"name": 1}')
        with pytest.raises(InvalidInput, match=r"mine\.json is no run"):
            runs.find("mine", home)
        run = runs.save(run_of(zoo, QUESTIONS), home)
        assert runs.last(home, "zoo", "default", list(run.modes)) == run

    def test_a_run_that_cannot_be_written_is_an_error(self, zoo: Library, home: Path) -> None:
        (home / "evaluations").write_text("in the way")
        with pytest.raises(StorageFull, match="evaluations"):
            runs.save(run_of(zoo, QUESTIONS), home)

    def test_the_fingerprint_of_a_corpus_changes_with_its_contents_only(self, zoo: Library, docs: Path) -> None:
        def fingerprint() -> str:
            return runs.corpus_of(zoo.app.catalog, zoo.collection()).fingerprint

        before = fingerprint()
        (docs / "notes" / "fence.txt").rename(docs / "notes" / "storm.txt")
        zoo.sync()
        assert fingerprint() == before
        (docs / "notes" / "storm.txt").write_text("A storm broke the gate in May.\n")
        zoo.sync()
        assert fingerprint() != before

    def test_readers_of_the_figures_are_told_what_to_beware_of(self, zoo: Library) -> None:
        questions = (*QUESTIONS, Question("a", "heron", {"heron.md": 1}), Question("b", "yeti", {"yeti.md": 1}))
        run = run_of(zoo, questions)
        waiting = replace(run, corpus=replace(run.corpus, pending=2))
        words = "\n".join(cautions(waiting))
        assert "1 documents of the questions are not in the collection: yeti.md" in words
        assert "heron.md (2)" in words
        assert "2 of 5 chunks had no exact vector yet" in words


class TestComparing:
    def test_two_runs_of_the_same_thing_are_compared_question_by_question(self, zoo: Library) -> None:
        before = run_of(zoo, QUESTIONS)
        row = before.modes["keyword"].rows[0]
        better = replace(row, scores={name: value + 0.25 for name, value in row.scores.items()}, rank=1)
        measured = replace(before.modes["keyword"], rows=(better, *before.modes["keyword"].rows[1:]))
        found = run_comparison.compare(before, replace(before, modes={"keyword": measured})).modes["keyword"]
        assert found.questions == 3
        assert found.changes["ndcg@10"].difference == pytest.approx(0.25 / 3)
        assert 0.2 < found.changes["ndcg@10"].p <= 1
        assert [moved.id for moved in found.moved] == ["fish"]

    def test_what_differs_is_named_and_refused_unless_asked_for(
        self, zoo: Library, open_library: OpenLibrary, docs: Path
    ) -> None:
        before = run_of(zoo, QUESTIONS)
        (docs / "new.md").write_text("# New\n\nA new one.\n")
        other = open_library(search__title_boost=0.9)
        other.sync()
        after = run_of(other, QUESTIONS[:2])
        with pytest.raises(InvalidInput) as raised:
            run_comparison.compare(before, after)
        for words in (
            "zoo with 3 then, zoo with 2 now",
            "documents 5 then, 6 now",
            "search.title_boost: ",
            " then, 0.9 now",
        ):
            assert words in raised.value.message
        assert "--anyway" in raised.value.hint
        found = run_comparison.compare(before, after, anyway=True)
        assert len(found.differences) >= 4
        assert found.modes["keyword"].questions == 2

    def test_a_changed_text_is_a_difference(self, zoo: Library, docs: Path) -> None:
        before = run_of(zoo, QUESTIONS)
        (docs / "notes" / "fence.txt").write_text("A storm broke the gate in May.\n")
        zoo.sync()
        assert run_comparison.differences(before, run_of(zoo, QUESTIONS)) == [
            "corpus: the text of some of the 5 documents"
        ]

    def test_runs_without_a_common_mode_or_question_cannot_be_compared(self, zoo: Library) -> None:
        before = run_of(zoo, QUESTIONS)
        with pytest.raises(InvalidInput, match="none of the modes vector"):
            run_comparison.compare(before, run_of(zoo, QUESTIONS, "vector"))
        with pytest.raises(InvalidInput, match="share no question"):
            run_comparison.compare(before, run_of(zoo, [replace(QUESTIONS[0], id="other")]), anyway=True)


class TestGate:
    def test_a_planted_regression_fails_the_gate_and_names_each_metric(
        self, zoo: Library, docs: Path, tmp_path: Path
    ) -> None:
        file = tmp_path / "baseline.json"
        baseline.save(file, run_of(zoo, QUESTIONS))
        assert baseline.check(file, run_of(zoo, QUESTIONS)).passed
        (docs / "animals" / "badger.md").write_text("# Badger\n\nNothing is known of its food.\n")
        zoo.sync()
        found = baseline.check(file, run_of(zoo, QUESTIONS))
        assert not found.passed
        assert any(words.startswith("keyword ndcg@10: 0.66") for words in found.fallen)
        assert "the documents are not those of the baseline" in found.warnings
        assert baseline.check(file, run_of(zoo, QUESTIONS), tolerance=0.5).passed

    def test_a_fall_within_the_tolerance_passes(self, zoo: Library) -> None:
        run = run_of(zoo, QUESTIONS)
        kept = baseline.of_run(run)
        higher = {"keyword": {name: value * 1.04 for name, value in kept.figures["keyword"].items()}}
        assert baseline.verdict(replace(kept, figures=higher), run, 0.05).passed
        assert not baseline.verdict(replace(kept, figures=higher), run, 0.03).passed

    def test_slower_answers_and_unmeasured_modes_are_told_and_do_not_fail(self, zoo: Library) -> None:
        run = run_of(zoo, QUESTIONS)
        kept = baseline.of_run(run)
        slow = replace(kept, p95_ms={"keyword": run.modes["keyword"].latency.p95_ms / 2})
        found = baseline.verdict(replace(slow, figures={**kept.figures, "hybrid": {"ndcg@10": 1}}), run, 0.05)
        assert found.passed
        assert "keyword is slower: p95" in " ".join(found.warnings)
        assert "not measured: hybrid" in " ".join(found.warnings)

    def test_a_baseline_of_other_questions_is_refused(self, zoo: Library, tmp_path: Path) -> None:
        file = tmp_path / "baseline.json"
        with pytest.raises(NotFound, match="--save-baseline"):
            baseline.check(file, run_of(zoo, QUESTIONS))
        baseline.save(file, run_of(zoo, QUESTIONS[:2]))
        with pytest.raises(InvalidInput, match="other questions: 2 with an answer, now 3"):
            baseline.check(file, run_of(zoo, QUESTIONS))
        with pytest.raises(InvalidInput, match="no baseline of 'farm', only of zoo"):
            baseline.check(file, run_of(zoo, QUESTIONS, name="farm"))
        assert baseline.check(file, run_of(zoo, QUESTIONS[:2], name="the same, elsewhere")).passed
        baseline.save(file, run_of(zoo, QUESTIONS, name="farm"))
        assert list(baseline.read(file)) == ["farm", "zoo"]
        with pytest.raises(InvalidInput, match="modes or metrics"):
            baseline.check(file, run_of(zoo, QUESTIONS[:2], "vector"))
        with pytest.raises(InvalidInput, match="tolerance cannot be 5"):
            baseline.check(file, run_of(zoo, QUESTIONS[:2]), 5)
        file.write_text("[]")
        with pytest.raises(InvalidInput, match="is no baseline"):
            baseline.save(file, run_of(zoo, QUESTIONS))


class TestPage:
    def test_the_page_holds_everything_by_itself_and_lets_no_markup_through(self, zoo: Library, tmp_path: Path) -> None:
        questions = (
            *QUESTIONS,
            Question("<b>", "<script>alert(1)</script> fish", {}, "<i>"),
            Question("yeti", "where is the yeti", {"yeti.md": 1}, "<i>kind"),
        )
        run = run_of(zoo, questions, "keyword", "hybrid")
        file = tmp_path / "page.html"
        verdict = baseline.verdict(baseline.of_run(run), run, 0.05)
        html_report.write(file, html_report.evaluation_page(run, run_comparison.compare(run, run), verdict))
        text = file.read_text("utf-8")
        assert "<script" not in text
        assert "&lt;script&gt;alert(1)" in text
        of_settings = QdrantSettings().url
        assert "http" not in text.replace(run.machine["platform"] or "", "").replace(of_settings, "")
        assert text.count("<svg") == 4
        assert text.count("<circle") == 2 * 4
        assert "not in the collection" in text
        assert "answered although no answer exists" in text
        assert "Passed" in text

    def test_a_page_of_a_run_file_has_no_latency(self, tmp_path: Path) -> None:
        measured = measure_run({"fish": ["animals/otter.md"]}, QUESTIONS, "theirs")
        about = GoldenSet("zoo", Path("zoo.jsonl"), QUESTIONS)
        run = runs.new_run(about, None, runs.CorpusInfo("theirs.run", "0"), {}, ("ndcg@10",), {"theirs": measured})
        assert "Latency" not in html_report.evaluation_page(run)


class TestBeir:
    def test_a_corpus_becomes_documents_that_are_found_by_their_ids(
        self, open_library: OpenLibrary, tmp_path: Path
    ) -> None:
        folder = tmp_path / "tiny"
        (folder / "qrels").mkdir(parents=True)
        documents = [
            {"_id": "concepts/_index.md", "title": "Concepts", "text": "All about pods."},
            {"_id": "_index.md", "title": "", "text": "The start page."},
            {"_id": "MED-10", "title": "Statins", "text": "Statins and cancer."},
        ]
        (folder / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in documents))
        (folder / "queries.jsonl").write_text('{"_id": "1", "text": "pods"}\n{"_id": "2", "text": "statins"}\n')
        (folder / "qrels" / "test.tsv").write_text(
            "query-id\tcorpus-id\tscore\n1\tconcepts/_index.md\t1\n1\t_index.md\t0\n2\tMED-10\t1\n"
        )
        place = tmp_path / "corpus"
        assert beir.write_corpus(folder, place) == 3
        before = {path: path.stat().st_mtime_ns for path in place.iterdir()}
        (place / "stale.md").write_text("gone")
        beir.write_corpus(folder, place)
        assert {path: path.stat().st_mtime_ns for path in place.iterdir()} == before
        library = open_library()
        library.add(str(place))
        questions = golden.read(folder).questions
        found = rows(library, *questions, mode="keyword")
        assert [row.rank for row in found.values()] == [1, 1]
        assert not resolve(library, "concepts/_index.md", "_index.md", "MED-10").ambiguous

    @pytest.mark.parametrize(
        ("line", "why"),
        [
            ("{", "no JSON object"),
            ('{"_id": "2"}', "no JSON object with `_id` and `text`"),
            ('{"_id": "1", "text": "b"}', "line 1 has the _id '1', too"),
            ('{"_id": "", "text": "b"}', "empty or too long"),
        ],
    )
    def test_a_wrong_line_of_a_corpus_is_named(self, tmp_path: Path, line: str, why: str) -> None:
        (tmp_path / "corpus.jsonl").write_text(f'{{"_id": "1", "text": "a"}}\n{line}\n')
        with pytest.raises(InvalidInput, match=rf"corpus\.jsonl line 2 .*{why}"):
            beir.write_corpus(tmp_path, tmp_path / "corpus")
