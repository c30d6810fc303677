"""Questions for a comparison come in many files; names decide what they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from pinakes.core.errors import InvalidInput, NotFound
from pinakes.evaluation.golden import read_any


def test_plain_text_has_a_question_a_line_numbered_by_lines(tmp_path: Path) -> None:
    file = tmp_path / "nightly.txt"
    file.write_text("who carries pollen\n\n  when to prune\n")
    found = read_any(file)
    assert [(one.id, one.text) for one in found.questions] == [("1", "who carries pollen"), ("3", "when to prune")]
    assert found.name == "nightly"
    assert not any(one.answerable for one in found.questions)


def test_queries_have_ids_and_need_no_judgements(tmp_path: Path) -> None:
    (tmp_path / "q.tsv").write_text("q1\twho carries pollen\n")
    (tmp_path / "q.jsonl").write_text('{"_id": "q1", "text": "who carries pollen"}\n')
    for name in ("q.tsv", "q.jsonl"):
        [question] = read_any(tmp_path / name).questions
        assert (question.id, question.text) == ("q1", "who carries pollen")


def test_a_golden_file_and_a_beir_folder_keep_their_judgements(tmp_path: Path) -> None:
    (tmp_path / "gold.jsonl").write_text('{"query": "bees", "relevant": {"bees.md": 2}}\n')
    assert read_any(tmp_path / "gold.jsonl").questions[0].relevant == {"bees.md": 2}
    (tmp_path / "queries.jsonl").write_text('{"_id": "q1", "text": "bees"}\n')
    (tmp_path / "qrels.tsv").write_text("q1\tbees.md\t1\n")
    assert read_any(tmp_path).questions[0].answerable


def test_what_is_missing_or_holds_no_question_is_said(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        read_any(tmp_path / "nowhere.txt")
    (tmp_path / "empty.txt").write_text("\n \n")
    with pytest.raises(InvalidInput, match="empty"):
        read_any(tmp_path / "empty.txt")
