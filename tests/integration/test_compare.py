"""Comparison of real libraries: every figure of small rankings by hand, corpora, metrics, groups, fields."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from scipy import stats

from pinakes.core.errors import InvalidInput, NotFound, ServerUnreachable
from pinakes.evaluation import html_report, runs
from pinakes.evaluation.pairs import ComparisonReport
from pinakes.evaluation.querying import Replies, SystemQuerier
from pinakes.evaluation.questions import GoldenSet, Question
from pinakes.evaluation.resampling import paired_p
from pinakes.evaluation.system_comparison import check_corpora, compare, unanswered
from pinakes.evaluation.systems import CollectionSystem, QueryMode, RunSystem, System, UnreachableSystem
from pinakes.library import Library
from pinakes.testing import write_files

ORCHARD = {
    "bees.md": "---\nvendor: Acme\n---\n# Bees\n\nBees carry pollen between apple trees.\n",
    "guide/apples.md": "---\nvendor: Pomona\n---\n# Apples\n\nPlant apple trees in autumn.\n",
    "guide/pears.md": "---\nvendor: Acme\n---\n# Pears\n\nPrune pear trees in winter.\n",
    "press.txt": "The cider press needs a new screw for the apple mash.\n",
}
QUESTIONS = (
    Question("pollen", "who carries pollen", {"bees.md": 1}),
    Question("plant", "when to plant apple trees", {"apples": 2, "bees": 1}),
    Question("screw", "which screw does the press need", {"press.txt": 1}),
    Question("none", "zeppelin", {}),
)
GOLDEN = GoldenSet("orchard", Path("orchard.jsonl"), QUESTIONS)

OpenHome: TypeAlias = Callable[..., Library]


@pytest.fixture
def open_home(tmp_path: Path) -> Iterator[OpenHome]:
    """Open libraries beside each other, each in a home of its own unless one is named."""
    with ExitStack() as stack:

        def open_(home: str, files: dict[str, str] | None = None, **settings: Any) -> Library:
            chosen: dict[str, Any] = {
                "embedding__provider": "deterministic",
                "cache": str(tmp_path / "cache"),
            } | settings
            library = stack.enter_context(Library.open(tmp_path / home, **chosen))
            if files:
                library.add(str(write_files(tmp_path / f"docs-{home}", files)))
            return library

        yield open_


def side(
    library: Library, label: str, *, by: str | None = None, deep: bool = True, collection: str = "default"
) -> System:
    record = library.collection(collection)
    way = QueryMode("hybrid", 10, 300 if deep else None, by)
    configuration = runs.configuration_of(library.settings, record)
    return CollectionSystem(
        library.app.catalog, label, library.search, library.rank, record, way, configuration
    )  # fmt: skip


def run_side(path: Path, text: str) -> System:
    path.write_text(text)
    return RunSystem(path.name, path)


def compared(
    a: System, b: System, golden: GoldenSet = GOLDEN, *, anyway: bool = False, by_field: bool = False
) -> ComparisonReport:
    return compare(SystemQuerier(a, {}), SystemQuerier(b, {}), golden, anyway=anyway, by_field=by_field)


class TestTwoLibraries:
    def test_the_same_documents_in_two_homes_agree_wholly_though_their_ids_differ(self, open_home: OpenHome) -> None:
        a, b = side(open_home("one", ORCHARD), "one"), side(open_home("two", ORCHARD), "two")
        assert {one.id for one in a.about.documents or ()}.isdisjoint(one.id for one in b.about.documents or ())
        check_corpora(a.about, b.about, anyway=False)
        report = compared(a, b)
        assert (report.questions, report.compared, report.flagged, report.linked_by) == (4, 4, 0, "path")
        assert {name: mean.mean for name, mean in report.agreement.items()} == {
            "overlap_5": 1.0,
            "overlap_20": 1.0,
            "tau": 1.0,
            "rbo": pytest.approx(1.0),
        }
        assert (report.a.unique, report.b.unique, report.cautions) == (0, 0, ())
        assert report.a.latency is not None
        assert report.a.latency.p50_ms > 0
        assert report.metrics["ndcg@10"].p == 1
        assert report.metrics["hit@5"].a == report.metrics["hit@5"].b == 1.0

    def test_other_settings_are_named_and_change_the_order(self, open_home: OpenHome) -> None:
        a = side(open_home("one", ORCHARD), "one")
        b = side(open_home("one", search__semantic_weight=1.0, search__keyword_weight=0.0), "meaning.toml")
        report = compared(a, b)
        assert "search.keyword_weight: 0.3 in A, 0.0 in B" in report.differences
        assert report.agreement["tau"].mean < 1
        assert report.agreement["overlap_5"].mean == 1

    def test_judgements_give_the_metrics_of_both_and_the_paired_test(self, open_home: OpenHome) -> None:
        a = side(open_home("one", ORCHARD), "one")
        b = side(open_home("one", search__semantic_weight=1.0, search__keyword_weight=0.0), "meaning")
        report = compared(a, b)
        judged = [pair for pair in report.pairs if pair.scores_a]
        assert [pair.id for pair in judged] == ["pollen", "plant", "screw"]
        assert report.judged == 3
        change = report.metrics["mrr@10"]
        assert change.a == pytest.approx(sum(pair.scores_a["mrr@10"] for pair in judged) / 3)
        assert change.b == pytest.approx(sum(pair.scores_b["mrr@10"] for pair in judged) / 3)
        assert change.difference == pytest.approx(change.b - change.a)
        assert change.p == paired_p([pair.scores_b["mrr@10"] - pair.scores_a["mrr@10"] for pair in judged])

    def test_other_documents_are_refused_with_what_differs_unless_asked_for(self, open_home: OpenHome) -> None:
        changed = {**ORCHARD, "WASPS.md": "# Wasps\n\nWasps eat apples.\n"}
        a, b = side(open_home("one", ORCHARD), "one"), side(open_home("two", changed), "two")
        with pytest.raises(
            InvalidInput, match=r"4 documents in A, 5 in B; 1 paths are only in B: 'WASPS\.md'.*--anyway"
        ):
            check_corpora(a.about, b.about, anyway=False)
        check_corpora(a.about, b.about, anyway=True)
        report = compared(a, b, anyway=True)
        assert any("hold different documents" in words for words in report.cautions)
        assert any("1 documents that B answers with are not known to one: 'WASPS.md'" in one for one in report.cautions)

    def test_another_text_under_the_same_paths_is_told(self, open_home: OpenHome) -> None:
        a = side(open_home("one", ORCHARD), "one")
        b = side(open_home("two", {**ORCHARD, "press.txt": "The press is mended.\n"}), "two")
        with pytest.raises(InvalidInput, match="the text of some documents"):
            check_corpora(a.about, b.about, anyway=False)

    def test_answers_without_a_common_document_are_refused_unless_asked_for(
        self, open_home: OpenHome, tmp_path: Path
    ) -> None:
        a = side(open_home("one", ORCHARD), "one")
        b = run_side(tmp_path / "other.run", "pollen Q0 yeti 1 1 x\n")
        with pytest.raises(InvalidInput, match=r"No document that one \(A\) answers with.*'yeti'.*--by FIELD"):
            compared(a, b)
        assert compared(a, b, anyway=True).agreement["overlap_5"].mean == 0

    def test_documents_with_one_value_of_a_field_count_as_one(self, open_home: OpenHome, tmp_path: Path) -> None:
        a = side(open_home("one", ORCHARD), "one", by="vendor")
        path = tmp_path / "vendors.run"
        path.write_text("pollen Q0 ACME 1 2 x\npollen Q0 Pomona 2 1 x\n")
        report = compared(a, RunSystem("vendors", path, by="vendor"), by_field=True)
        [pair] = [pair for pair in report.pairs if pair.id == "pollen"]
        assert pair.a[0] == pair.b[0] == "acme"
        assert set(pair.b) <= set(pair.a)
        assert pair.a.count("acme") == 1
        with pytest.raises(InvalidInput, match=r"field 'vendr'.*vendor"):
            side(open_home("one"), "one", by="vendr")

    def test_groups_that_questions_name_are_what_is_ranked(self, open_home: OpenHome) -> None:
        files = {
            f"keps/sig-a/{number}-{word}/{name}": f"# {word}\n\n" + f"All about {word} in {name}. " * 9
            for number, word in ((1, "tokens"), (2, "volumes"))
            for name in ("README.md", "notes.md")
        }
        golden = GoldenSet("keps", Path("keps.jsonl"), (Question("1", "tokens", {"sig-a/1": 1}),))
        a, b = (side(open_home(home, files, profile="kep"), home, collection="keps") for home in ("one", "two"))
        report = compared(a, b, golden)
        assert report.linked_by == "key"
        assert set(report.pairs[0].a) == {"sig-a/1", "sig-a/2"}
        assert report.metrics["hit@5"].a == 1


class TestFiguresByHand:
    @pytest.fixture
    def report(self, tmp_path: Path) -> ComparisonReport:
        lines_a = [f"q Q0 d{number} {number} {20 - number} a\n" for number in range(1, 11)]
        order_b = ["d2", "d1", "d3", "x1", "x2", "d4", "d10"]
        lines_b = [f"q Q0 {name} {number} {20 - number} b\n" for number, name in enumerate(order_b, start=1)]
        golden = GoldenSet("hand", Path("hand"), (Question("q", "a question", {"d1": 1}),))
        return compared(
            run_side(tmp_path / "a.run", "".join(lines_a)), run_side(tmp_path / "b.run", "".join(lines_b)), golden
        )

    def test_overlaps_and_what_only_one_side_has(self, report: ComparisonReport) -> None:
        [pair] = report.pairs
        assert pair.overlap_5 == pytest.approx(3 / 5)  # d1, d2, d3
        assert pair.overlap_20 == pytest.approx(5 / 10)
        assert pair.only_a == ("d5", "d6", "d7", "d8", "d9")
        assert pair.only_b == ("x1", "x2")
        assert pair.flagged
        assert (report.flagged, report.a.unique, report.b.unique) == (1, 5, 2)

    def test_tau_over_the_common_documents(self, report: ComparisonReport) -> None:
        # d1 d2 d3 d4 d10 in A; d2 d1 d3 d4 d10 in B: one of ten pairs is turned round.
        assert report.pairs[0].tau == pytest.approx(0.8)
        assert report.pairs[0].tau == pytest.approx(stats.kendalltau([1, 2, 3, 4, 5], [2, 1, 3, 4, 5]).statistic)

    def test_rank_biased_overlap(self, report: ComparisonReport) -> None:
        # Common documents at depths 1 to 7; then B is taken to go on with 5 of 7.
        shares = [0 / 1, 2 / 2, 3 / 3, 3 / 4, 3 / 5, 4 / 6, 4 / 7]
        shares += [(4 + 4 / 7) / 8, (4 + 8 / 7) / 9, (5 + 12 / 7) / 10]
        by_hand = 0.1 * sum(share * 0.9**depth for depth, share in enumerate(shares)) + 0.9**10 * shares[-1]
        assert report.pairs[0].rbo == pytest.approx(by_hand)

    def test_judged_documents_count_by_their_places(self, report: ComparisonReport) -> None:
        assert (report.metrics["mrr@10"].a, report.metrics["mrr@10"].b) == (1.0, 0.5)

    def test_the_page_has_every_question_and_escapes_it(self, report: ComparisonReport, tmp_path: Path) -> None:
        text = html_report.comparison_page(report)
        assert "<svg" in text
        assert "a question" in text
        assert text.count('class="dot marked"') == report.flagged > 0
        assert ".dot.marked {" in text
        golden = GoldenSet("x", Path("x"), (Question("q", "<script>alert(1)</script>", {}),))
        same = run_side(tmp_path / "same.run", "q Q0 <b>d</b> 1 1 a\n")
        page = html_report.comparison_page(compared(same, same, golden))
        assert "<script>" not in page
        assert "<b>d" not in page


class TestWithoutAnswers:
    def test_questions_that_a_run_lacks_are_left_out_and_told(self, open_home: OpenHome, tmp_path: Path) -> None:
        a = side(open_home("one", ORCHARD), "one")
        b = SystemQuerier(run_side(tmp_path / "b.run", "pollen Q0 bees 1 1 x\n"), {})
        report = compare(SystemQuerier(a, {}), b, GOLDEN)
        assert (report.compared, report.b.asked, report.b.unanswered) == (1, 1, 3)
        assert [pair.overlap_5 is None for pair in report.pairs] == [False, True, True, True]
        error = unanswered(b, report.b)
        assert isinstance(error, NotFound)
        assert "b.run has no answer to 3 of 4 questions" in error.message
        assert any(words.startswith("B: no answer to 3 of 4 questions") for words in report.cautions)
        assert report.b.latency is None

    def test_a_side_that_is_away_is_replaced_by_what_was_kept_of_it(self, open_home: OpenHome, tmp_path: Path) -> None:
        a, b = side(open_home("one", ORCHARD), "one"), side(open_home("two", ORCHARD), "two")
        error = ServerUnreachable("The disk is gone.", hint="Mount it.")
        with Replies(tmp_path / "kept.jsonl") as replies:
            compare(SystemQuerier(a, {}), SystemQuerier(b, {}, replies), GoldenSet("some", Path("x"), QUESTIONS[:3]))
        with Replies(tmp_path / "kept.jsonl") as replies:
            away = SystemQuerier(UnreachableSystem("two", "away", error), {}, replies)
            report = compare(SystemQuerier(a, {}), away, GOLDEN)
            assert (report.b.asked, report.b.kept, report.b.unanswered) == (0, 3, 1)
            assert report.agreement["overlap_20"].mean == 1
            assert report.b.latency is None
            assert report.pairs[0].milliseconds_b is None
            assert report.pairs[0].why == "B: The disk is gone."
            assert any("B: kept answers, " in words and "for 3 of 4" in words for words in report.cautions)
            assert unanswered(away, report.b) is not None
            fresh = SystemQuerier(UnreachableSystem("three", "away", error), {}, replies)
            with pytest.raises(ServerUnreachable, match=r"The disk is gone\. Mount it\."):
                compare(SystemQuerier(a, {}), fresh, GOLDEN)

    def test_a_side_is_given_up_after_three_failures_in_a_row(self) -> None:
        away = SystemQuerier(UnreachableSystem("two", "away", ServerUnreachable("gone")), {})
        whys = [away.ask(question).why for question in (*QUESTIONS, *QUESTIONS)]
        assert whys[:3] == ["gone"] * 3
        assert set(whys[3:]) == {"not asked: 3 questions before had no answer"}

    def test_two_sides_that_both_find_nothing_agree(self, open_home: OpenHome) -> None:
        golden = GoldenSet("x", Path("x"), (Question("1", "pollen", {}), Question("2", "", {})))
        report = compared(side(open_home("one", ORCHARD), "one"), side(open_home("two", ORCHARD), "two"), golden)
        assert report.pairs[1].a == ()
        assert report.pairs[1].overlap_5 == 1
        assert not report.pairs[1].flagged
        assert report.pairs[1].tau is None
        assert report.metrics == {}
