"""Kept answers: found again, cut short, damaged, outdated."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pinakes.core.errors import InvalidInput
from pinakes.core.filters import parse
from pinakes.evaluation.querying import Replies
from pinakes.evaluation.questions import Question
from pinakes.evaluation.systems import Named, SystemReply

WAY = {"mode": "", "passages": 50}
BEES = Question("1", "bees", {})
REPLY = SystemReply((Named("7", "file:///b", "b.md", "k"), Named(path="ü.md")), (2.0, 1.0), 12.5, "keyword search only")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "kept.jsonl"


def keep(file: Path, *replies: SystemReply, question: Question = BEES) -> None:
    with Replies(file) as kept:
        for reply in replies:
            kept.keep("b", WAY, question, reply)


def test_a_kept_answer_is_found_again_as_it_was(file: Path) -> None:
    keep(file, SystemReply(()), REPLY)
    with Replies(file) as kept:
        found = kept.find("b", WAY, Question("another id", "bees", {}))
        assert found is not None
        assert found.reply == REPLY
        assert kept.knows("b")
        assert not kept.knows("a")


def test_it_is_one_of_that_side_way_question_and_filter_only(file: Path) -> None:
    keep(file, REPLY)
    with Replies(file) as kept:
        assert kept.find("a", WAY, BEES) is None
        assert kept.find("b", {**WAY, "passages": 20}, BEES) is None
        assert kept.find("b", WAY, Question("1", "bee", {})) is None
        assert kept.find("b", WAY, Question("1", "bees", {}, where=parse({"status": "beta"}))) is None
        assert kept.find("b", dict(reversed(WAY.items())), BEES) is not None


def test_a_line_that_a_crash_cut_short_costs_only_itself(file: Path) -> None:
    keep(file, REPLY)
    whole = file.read_bytes()
    keep(file, REPLY, question=Question("2", "wasps", {}))
    file.write_bytes(file.read_bytes()[:-30])
    with Replies(file) as kept:
        assert kept.find("b", WAY, BEES) is not None
        assert kept.find("b", WAY, Question("2", "wasps", {})) is None
    assert file.read_bytes() == whole
    file.write_bytes(whole[:40])
    with Replies(file) as kept:
        assert not kept.knows("b")


def test_outdated_lines_are_dropped_when_they_are_the_most(file: Path) -> None:
    keep(file, *[REPLY] * 5)
    assert file.read_bytes().count(b"\n") == 5
    keep(file, REPLY)
    assert file.read_bytes().count(b"\n") == 2


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "[]",
        '{"query": "x", "relevant": {}}',
        json.dumps(
            {"asked": ["b"], "at": "yesterday", "documents": [], "scores": [], "milliseconds": 1, "degraded": None}
        ),
        json.dumps({"asked": ["b"], "at": "2026-01-01", "documents": [{"x": 1}], "scores": [], "milliseconds": 1}),
    ],
)
def test_a_file_of_something_else_is_refused_and_left_alone(file: Path, line: str) -> None:
    keep(file, REPLY)
    with file.open("a") as out:
        out.write(line + "\n")
    before = file.read_bytes()
    with pytest.raises(InvalidInput, match=r"kept\.jsonl line 2 cannot be used"):
        Replies(file)
    assert file.read_bytes() == before


def test_a_file_without_a_whole_line_is_refused_unless_it_is_an_answer_cut_short(file: Path) -> None:
    file.write_text("My precious notes")
    with pytest.raises(InvalidInput, match="something else"):
        Replies(file)
    assert file.read_text() == "My precious notes"
