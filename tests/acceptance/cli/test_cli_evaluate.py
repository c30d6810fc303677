from __future__ import annotations

import json
from pathlib import Path

import pytest


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    file = tmp_path / "orchard.jsonl"
    rows = [
        {"id": "plant", "kind": "how", "query": "when to plant apple trees", "relevant": {"guide.md": 2}},
        {"id": "pollen", "kind": "how", "query": "who carries pollen", "relevant": {"bees": 1}},
        {"id": "press", "kind": "identifier", "query": "press_apples", "relevant": {"code/press.py": 2, "notes": 1}},
        {"id": "none", "kind": "how", "query": "zeppelin", "relevant": {}},
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


@pytest.fixture
def filled(pinakes, corpus, questions):
    pinakes("add", corpus, "-q")
    return pinakes


def test_the_figures_are_shown_within_80_columns(filled, questions):
    shown = filled("evaluate", questions, "--mode", "keyword", "--mode", "hybrid", "--mode", "vector")
    assert shown.code == 0, shown.err
    assert shown.out.startswith("orchard on default: 4 questions, 3 with an answer; 4 documents")
    assert [line for line in shown.out.splitlines() if len(line) > 80] == []
    [figures] = [line for line in shown.out.splitlines() if line.startswith("ndcg@10  ")]
    assert figures.count(" to ") == 3
    for words in (
        "p95 ms",
        "ndcg@10 by kind",
        "identifier (1)",
        "keyword: 1 of 1 without an answer recognised",
    ):
        assert words in shown.out
    assert "kept as " in shown.err


def test_the_mode_that_lets_each_question_decide_is_measured_as_any_other(filled, questions):
    run = filled("evaluate", questions, "--mode", "auto", "--mode", "keyword", "--json").document["run"]
    assert list(run["modes"]) == ["auto", "keyword"]
    rows = {mode: {row["id"]: row["ranking"] for row in found["rows"]} for mode, found in run["modes"].items()}
    assert rows["auto"]["press"] == rows["keyword"]["press"], "a name is searched for by words"
    assert rows["auto"] != rows["keyword"]


def test_json_is_one_document_with_every_question(filled, questions, home):
    found = filled("evaluate", questions, "--mode", "keyword", "--metric", "mrr", "--metric", "ndcg@3", "--json")
    run = found.document["run"]
    assert run["metrics"] == ["mrr", "ndcg@3"]
    rows = run["modes"]["keyword"]["rows"]
    assert [row["id"] for row in rows] == ["plant", "pollen", "press", "none"]
    assert rows[0]["scores"] == {"mrr": 1.0, "ndcg@3": 1.0}
    stored = json.loads((home / "evaluations" / f"{run['name']}.json").read_text("utf-8"))
    assert stored == run


def test_more_chunks_than_users_may_ask_for_are_not_asked_for(filled, questions):
    found = filled("evaluate", questions, "--mode", "keyword", "--set", "search.top_k=100", "--json")
    assert found.code == 0, found.err
    assert found.document["run"]["modes"]["keyword"]["overall"]["metrics"]["ndcg@10"] > 0.5


def test_stored_runs_are_listed_and_compared(filled, questions, home):
    assert filled("evaluate", "--list").out == ""
    first = filled("evaluate", questions, "--mode", "keyword", "--json").document["run"]["name"]
    compared = filled("evaluate", questions, "--mode", "keyword", "--against", "last")
    assert compared.code == 0
    assert f"against {first}" in compared.out
    assert "+0.000" in compared.out
    listed = filled("evaluate", "--list", "--json").document["runs"]
    assert listed[0]["name"] == first
    assert listed[0]["figures"]["keyword"]["ndcg@10"] > 0.5
    (home / "evaluations" / "zzz.json").write_text("{")
    listing = filled("evaluate", "--list")
    assert first in listing.out
    assert "zzz.json is no run" in listing.err
    by_name = filled("evaluate", questions, "--mode", "keyword", "--against", first, "--json")
    assert by_name.document["comparison"]["modes"]["keyword"]["changes"]["ndcg@10"]["p"] == 1


def test_the_last_run_is_the_newest_that_has_a_mode_in_common(filled, questions):
    words = ("evaluate", questions, "--against", "last", "--json")
    first = filled(*words, "--mode", "keyword")
    assert (first.code, first.document["comparison"]) == (0, None)
    assert "warning: no run of 'orchard' on 'default' by keyword was stored yet: there is nothing to comp" in first.err
    other = filled(*words, "--mode", "vector")
    assert (other.code, other.document["comparison"]) == (0, None)
    both = filled(*words, "--mode", "keyword", "--mode", "hybrid").document
    assert both["comparison"]["against"] == first.document["run"]["name"]
    assert list(both["comparison"]["modes"]) == ["keyword"]
    usual = filled(*words).document
    assert usual["comparison"]["against"] == both["run"]["name"], "hybrid is the mode of the collection"
    assert len(filled("evaluate", "--list", "--json").document["runs"]) == 4


def test_a_run_of_another_configuration_is_compared_only_when_asked(filled, questions):
    filled("evaluate", questions, "--mode", "keyword")
    words = ("evaluate", questions, "--mode", "keyword", "--set", "search.title_boost=0", "--against", "last")
    refused = filled(*words)
    assert refused.code == 2
    assert "search.title_boost: " in refused.err
    assert " then, 0.0 now" in refused.err
    assert "--anyway" in refused.err
    assert filled(*words[:-2], "--set", "search.title_boost=1", "--against", "last", "--anyway").code == 0
    listed = filled("evaluate", "--list").out
    assert "\n    search.title_boost: 0.05 then, 0.0 now\n" in listed
    assert filled("evaluate", "--list", "--json").document["runs"][-1]["changes"] == [
        "search.title_boost: 0.0 then, 1.0 now"
    ]


def test_answers_that_should_have_been_ranked_again_and_were_not_are_told(filled, questions, tmp_path):
    words = ("evaluate", questions, "--mode", "keyword", "--set", "rerank.enabled=true", "--json")
    found = filled(*words, "--set", f"rerank.path={tmp_path / 'nowhere'}")
    assert found.code == 0
    rows = [row for row in found.document["run"]["modes"]["keyword"]["rows"] if row["answer_exists"]]
    assert all(row["degraded"].startswith("not reranked: ") for row in rows)
    shown = filled(*words[:-1], "--set", f"rerank.path={tmp_path / 'nowhere'}")
    assert f"warning: keyword: {len(rows)} answers were degraded: not reranked: " in shown.err


def test_the_gate_fails_with_exit_code_1_when_answers_become_worse(filled, questions, corpus, tmp_path):
    file = tmp_path / "baseline.json"
    words = ("evaluate", questions, "--mode", "keyword")
    assert filled(*words, "--save-baseline", file).code == 0
    passed = filled(*words, "--baseline", file)
    assert passed.code == 0
    assert "gate passed: 10 metrics" in passed.out
    (corpus / "bees.md").write_text("# Wasps\n\nThey build nests.\n")
    filled("sync")
    failed = filled(*words, "--baseline", file)
    assert failed.code == 1
    assert "gate FAILED" in failed.out
    assert "keyword ndcg@10: 0.6667, was 1.0000 (-33.3%)" in failed.out
    as_json = filled(*words, "--baseline", file, "--json")
    assert as_json.code == 1
    assert as_json.document["error"]["code"] == "BELOW_BASELINE"
    assert as_json.document["verdict"]["fallen"]
    assert filled(*words, "--baseline", file, "--tolerance", "0.9").code == 0


def test_a_fall_is_not_accepted_by_the_call_that_found_it(filled, questions, corpus, tmp_path):
    file = tmp_path / "baseline.json"
    words = ("evaluate", questions, "--mode", "keyword")
    filled(*words, "--save-baseline", file)
    before = file.read_bytes()
    (corpus / "bees.md").write_text("# Wasps\n\nThey build nests.\n")
    filled("sync")
    both = filled(*words, "--baseline", file, "--save-baseline", file)
    assert both.code == 1
    assert f"baseline not written: {file}" in both.err
    assert file.read_bytes() == before
    passed = filled(*words, "--baseline", file, "--save-baseline", file, "--tolerance", "0.9")
    assert passed.code == 0
    assert "baseline written" in passed.err
    assert file.read_bytes() != before


def test_the_gate_names_what_it_did_not_look_at(filled, questions, tmp_path):
    file = tmp_path / "baseline.json"
    filled("evaluate", questions, "--mode", "keyword", "--mode", "vector", "--metric", "mrr", "--metric", "ndcg@3",
           "--metric", "hit@1", "--save-baseline", file)  # fmt: skip
    less = filled("evaluate", questions, "--mode", "keyword", "--metric", "mrr", "--baseline", file)
    assert less.code == 0
    assert "gate passed: 1 metrics" in less.out
    assert "warning: of the modes of the baseline these were not measured: vector\n" in less.err
    assert "warning: of the metrics of the baseline these were not measured: ndcg@3, hit@1\n" in less.err


def test_the_gate_refuses_other_questions(filled, questions, tmp_path):
    file = tmp_path / "baseline.json"
    filled("evaluate", questions, "--save-baseline", file)
    questions.write_text('{"query": "bees", "relevant": {"bees.md": 1}}\n')
    refused = filled("evaluate", questions, "--baseline", file)
    assert refused.code == 2
    assert "other questions" in refused.err


def test_a_run_is_written_and_measured_again_with_the_same_figures(filled, questions, tmp_path):
    file = tmp_path / "ours.run"
    wrote = filled("evaluate", questions, "--mode", "keyword", "--write-run", file, "--json").document["run"]
    read = filled("evaluate", questions, "--run", file, "--json").document["run"]
    assert read["modes"]["ours"]["overall"] == wrote["modes"]["keyword"]["overall"]
    two = filled("evaluate", questions, "--mode", "keyword", "--mode", "hybrid", "--write-run", file)
    assert two.code == 2
    assert "one --mode" in two.err


def test_a_run_of_another_system_is_measured_without_a_home(pinakes, tmp_path):
    (tmp_path / "qrels.txt").write_text("1 0 a 1\n2 0 b 1\n")
    (tmp_path / "bm25.run").write_text("1 Q0 a 1 0.5 bm25\n2 Q0 a 1 0.5 bm25\n")
    shown = pinakes("evaluate", "--qrels", tmp_path / "qrels.txt", "--run", tmp_path / "bm25.run")
    assert shown.code == 0, shown.err
    assert "hit@1           0.500" in shown.out
    assert "not retrieved" in shown.out


def test_a_beir_folder_is_read_and_measured_by_one_command(pinakes, tmp_path):
    folder = tmp_path / "tiny"
    folder.mkdir()
    (folder / "corpus.jsonl").write_text('{"_id": "a/1", "title": "Otter", "text": "Otters eat fish."}\n')
    (folder / "queries.jsonl").write_text('{"_id": "q", "text": "what do otters eat"}\n')
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq\ta/1\t1\n")
    shown = pinakes("evaluate", folder, "--ingest")
    assert shown.code == 0, shown.err
    assert "tiny on tiny: 1 questions, 1 with an answer; 1 documents" in shown.out
    assert "hit@1           1.000" in shown.out
    again = pinakes("evaluate", folder, "--json").document["run"]
    assert again["corpus"]["collection"] == "tiny"


def test_the_page_is_written(filled, questions, tmp_path):
    file = tmp_path / "page.html"
    assert filled("evaluate", questions, "--html", file).code == 0
    assert "<svg" in file.read_text("utf-8")


def test_a_page_that_cannot_be_written_does_not_cost_the_figures(filled, questions, tmp_path):
    shown = filled("evaluate", questions, "--html", tmp_path / "no" / "page.html")
    assert shown.code == 10
    assert "ndcg@10" in shown.out
    assert "page.html" in shown.err
    assert filled("evaluate", "--list").out


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        ((), 2, "No questions were given"),
        (("no-such.jsonl",), 3, "no file"),
        (("{questions}", "--metric", "f1@3"), 2, "no metric 'f1@3'"),
        (("{questions}", "-c", "nowhere"), 3, "no collection 'nowhere'"),
        (("{questions}", "--ingest"), 2, "needs a BEIR folder"),
        (("{questions}", "--beside"), 3, "beside"),
        (("{questions}", "--by", "colour"), 2, "No document has a field 'colour'"),
        (("{questions}", "--against", "first"), 3, "There is no run 'first'"),
        (("{questions}", "--tolerance", "5"), 2, "--tolerance cannot be 5"),
        (("{questions}", "--baseline", "no-such.json"), 3, "no baseline"),
        (("{questions}", "--depth", "0"), 2, "--depth"),
    ],
)
def test_what_cannot_be_done_is_said_before_anything_is_asked(filled, questions, words, code, says):
    shown = filled("evaluate", *(word.format(questions=questions) for word in words))
    assert shown.code == code
    assert says in shown.err
    assert shown.out == ""


def test_questions_about_other_documents_are_refused_and_some_unknown_ones_are_told(filled, questions):
    questions.write_text('{"query": "x", "relevant": {"nowhere.md": 1}}\n')
    assert "none of the 1 documents" in filled("evaluate", questions).err
    with questions.open("a") as file:
        file.write('{"query": "bees", "relevant": {"bees.md": 1}}\n')
    shown = filled("evaluate", questions, "--mode", "keyword")
    assert shown.code == 0
    assert "1 documents of the questions are not in the collection: nowhere.md" in shown.err
    assert "1 of 2 missed: 1 not in the collection" in shown.out


def test_a_home_that_is_not_there_is_not_made(pinakes, questions, home):
    assert pinakes("evaluate", questions).code == 3
    assert not home.exists()
