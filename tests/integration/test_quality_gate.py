"""``make eval`` ends with what was to be reached and with the verdict of the gate."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from benchmarks.quality import __main__ as quality
from benchmarks.quality import targets
from benchmarks.quality.sets import QuestionSet

from pinakes.evaluation.figures import ModeFigures
from pinakes.evaluation.questions import Question
from pinakes.evaluation.run import measure_run
from pinakes.testing import FILES, write_files

ASKED = (
    {"id": "night", "kind": "how", "query": "who eats earthworms", "relevant": {"animals/badger.md": 1}},
    {"id": "fish", "kind": "how", "query": "who waits for fish", "relevant": {"animals/heron.md": 1}},
    {"id": "none", "kind": "none", "query": "zeppelin", "relevant": {}},
)
RunEval = Callable[..., int]


def measured(right: int, of: int = 10, no_answer: int = 0) -> ModeFigures:
    """Return what a ranking with ``right`` perfect answers measures, none of ``no_answer`` recognised."""
    questions = [Question(str(number), "q", {"d": 1}) for number in range(of)]
    questions += [Question(f"none-{number}", "q", {}) for number in range(no_answer)]
    rankings = {one.id: ["d"] if place < right else ["x"] for place, one in enumerate(questions)}
    return measure_run(rankings, questions, "hybrid")


def modes(hybrid: int, keyword: int = 0, vector: int = 0, no_answer: int = 0) -> dict[str, ModeFigures]:
    return {"hybrid": measured(hybrid, no_answer=no_answer), "keyword": measured(keyword), "vector": measured(vector)}


def test_the_table_says_what_was_reached_and_what_was_not() -> None:
    table = targets.table({"scifact": modes(8), "linux": modes(7), "keps": modes(9, vector=9, no_answer=2)})
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]
    assert [(row[0], row[-1]) for row in rows] == [
        ("scifact", "reached"),
        ("keps", "reached"),
        ("linux", "NOT reached"),
        ("keps hybrid", "NOT reached"),
        ("no-answer questions", "NOT reached"),
    ]
    assert rows[0][:3] == ["scifact", "0.736", "≥ 0.745"]
    assert rows[0][3].startswith("0.800 (")
    assert rows[-1][3] == "0%, 0%"


@pytest.fixture
def run_eval(tmp_path: Path, docs: Path, monkeypatch: pytest.MonkeyPatch) -> RunEval:
    golden = tmp_path / "zoo.jsonl"
    golden.write_text("".join(json.dumps(row) + "\n" for row in ASKED))
    zoo = QuestionSet("zoo", golden, lambda _: write_files(docs))
    monkeypatch.setattr(quality, "available", lambda: [zoo])
    monkeypatch.setenv("PINAKES_EMBEDDING__PROVIDER", "deterministic")
    monkeypatch.setenv("PINAKES_CACHE", str(tmp_path / "cache"))

    def run(*words: str) -> int:
        places = ["--work", str(tmp_path / "work"), "--baseline", str(tmp_path / "baseline.json")]
        monkeypatch.setattr("sys.argv", ["quality", *places, *words])
        return quality.main()

    return run


def test_the_gate_passes_until_answers_become_worse(
    run_eval: RunEval, tmp_path: Path, docs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_eval("--save-baseline", "--kinds") == 0
    printed = capsys.readouterr().out
    assert "zoo              hybrid" in printed
    assert " how " in printed
    assert "zoo: gate passed, 30 metrics" in printed
    assert "| no-answer questions |" in printed
    write_files(docs, {**FILES, "animals/badger.md": "# Owl\n\nNothing.\n"})
    worse = QuestionSet("zoo", tmp_path / "zoo.jsonl", lambda _: docs)
    quality.available = lambda: [worse]  # type: ignore[assignment]
    assert run_eval() == 1
    printed = capsys.readouterr().out
    assert "zoo: gate FAILED" in printed
    assert "keyword hit@1: 0.5000, was 1.0000 (-50.0%)" in printed
    assert run_eval("--as-is") == 1
    report = json.loads((tmp_path / "work" / "quality.json").read_text("utf-8"))
    assert report["sets"]["zoo"]["golden"]["answerable"] == 2
    assert len(list((tmp_path / "work" / "evaluations").glob("*-zoo*.json"))) == 3


def test_a_set_without_a_baseline_is_said_to_have_none(run_eval: RunEval, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_eval() == 0
    assert "zoo: not held to a baseline: There is no baseline" in capsys.readouterr().out
