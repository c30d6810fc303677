"""Golden files and BEIR folders."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pinakes.errors import InvalidInput
from pinakes.evaluation.questions import Question, read_beir, read_golden
from pinakes.evaluation.run import evaluate


def test_a_golden_file_is_read_line_by_line(tmp_path: Path) -> None:
    path = tmp_path / "golden.jsonl"
    path.write_text(
        '{"id": "a", "kind": "how", "query": "why?", "relevant": {"d": 2}}\n\n{"query": "x", "relevant": {}}\n'
    )
    assert read_golden(path) == [Question("a", "why?", {"d": 2}, "how"), Question("3", "x", {}, "")]


@pytest.mark.parametrize(
    "line", ["{", '{"query": "x"}', '{"query": "x", "relevant": {"d": "much"}}', '{"relevant": {}}']
)
def test_a_wrong_line_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "golden.jsonl"
    path.write_text(f'{{"query": "x", "relevant": {{}}}}\n{line}\n')
    with pytest.raises(InvalidInput, match=r"golden\.jsonl line 2"):
        read_golden(path)


def test_a_beir_folder_gives_the_judged_questions(tmp_path: Path) -> None:
    rows = [{"_id": "1", "text": "first"}, {"_id": "2", "text": "not judged"}]
    (tmp_path / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n1\tdoc\t1\n")
    assert read_beir(tmp_path) == [Question("1", "first", {"doc": 1})]


def test_figures_are_means_over_the_questions_that_have_an_answer() -> None:
    answers = {"one": ["a"], "two": ["b"], "none": ["a"]}
    questions = [
        Question("1", "one", {"a": 1}, "easy"),
        Question("2", "two", {"a": 1}, "hard"),
        Question("3", "none", {}, "hard"),
    ]
    figures = evaluate(answers.__getitem__, questions)
    assert figures.questions == 2
    assert figures.metrics["hit@1"] == 0.5
    assert (figures.by_kind["easy"]["ndcg@10"], figures.by_kind["hard"]["ndcg@10"]) == (1, 0)
