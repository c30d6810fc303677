"""The ablation leaves out one thing at a time, and says what that is worth."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from benchmarks.quality import ablation
from benchmarks.quality.ablation import ROWS, each_once, longer_words
from benchmarks.quality.sets import QuestionSet

from pinakes.library import Library
from pinakes.testing import write_files

POOLS = "The depth of the pool is measured in the morning. Swimmers like it.\n"
DOCUMENTS = {
    "languages/cpp.md": "# Templates\n\nC++ has templates and classes.\n",
    "languages/java.md": "# Templates of classes\n\nTemplates and classes, classes and templates of another kind.\n",
    "plans/RFC-0011.md": "# Plan\n\nRFC-0011 moves the fence to the river.\n",
    "plans/RFC-0012.md": "# RFC plan\n\nRFC 12 and the 0011th fence: RFC, plan, RFC.\n",
    "animals/otter.md": "# River\n\nOtters and one heron: otters, fish, otters.\n",
    "animals/heron.md": "# River\n\nThe heron, one otter, fish; a heron.\n",
    "pool-1.0.md": f"# Pool\n\n{POOLS}",
    "pool-1.1.md": f"# Pool\n\n{POOLS}",
}
ASKED = (
    {"id": "signs", "query": "C++", "relevant": {"languages/cpp.md": 1}},
    {"id": "twice", "query": "is a heron, that grey heron, an otter", "relevant": {"animals/heron.md": 1}},
    {"id": "identifier", "query": "RFC-0011", "relevant": {"plans/RFC-0011.md": 1}},
    {"id": "versions", "query": "depth of the pool", "relevant": {"pool-1.0.md": 1, "pool-1.1.md": 1}},
    {"id": "none", "query": "zeppelin", "relevant": {}},
)


@pytest.mark.parametrize(
    ("asked", "left"),
    [
        ("the heron and the otter", "the heron and the otter"),
        ("a heron and the Herons of heron-land, heron!", "a heron and the of heron-land,"),
        ("timeout: timeout", "timeout:"),
        ("", ""),
    ],
)
def test_repeated_words_are_taken_out_and_stop_words_stay(asked: str, left: str) -> None:
    assert each_once(asked) == left


@pytest.mark.parametrize(
    ("asked", "left"),
    [
        ("what has vitamin C", "vitamin"),
        ("C++ or C#", ""),
        ("the R&D budget of IT", "budget"),
        ("AT&T, .NET and R", "net"),
        ("plain words: as they are", "plain words: as they are"),
    ],
)
def test_single_characters_signs_and_names_are_taken_out(asked: str, left: str) -> None:
    assert longer_words(asked) == left


Run = Callable[..., str]


@pytest.fixture
def run(tmp_path: Path, docs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Return a function that runs the command and returns what it prints."""
    golden = tmp_path / "zoo.jsonl"
    golden.write_text("".join(json.dumps(row) + "\n" for row in ASKED))
    zoo = QuestionSet("zoo", golden, lambda _: write_files(docs, DOCUMENTS))
    monkeypatch.setattr(ablation, "available", lambda: [zoo])
    monkeypatch.setenv("PINAKES_EMBEDDING__PROVIDER", "deterministic")
    monkeypatch.setenv("PINAKES_CACHE", str(tmp_path / "cache"))
    with Library.open(tmp_path / "work" / "homes" / "zoo") as library:
        library.add(str(zoo.documents(docs)))

    def printed(*words: str) -> str:
        monkeypatch.setattr("sys.argv", ["ablation", "--work", str(tmp_path / "work"), *words])
        ablation.main()
        return capsys.readouterr().out

    return printed


def figures(printed: str) -> dict[str, list[float]]:
    """Return row → with, without, difference, low, high, how many are concerned (but of the last row), and differ."""
    rows = ((name, line.partition(name)[2]) for line in printed.splitlines() for name in ROWS if name in line)
    return {name: [float(one) for one in re.findall(r"[+-]?\d[\d.]*", rest)] for name, rest in rows}


def test_what_is_left_out_is_missed_by_the_questions_that_need_it(run: Run) -> None:
    found = figures(run("zoo", "--mode", "keyword"))
    assert set(found) == set(ROWS)
    for with_, without, difference, low, high, *_ in found.values():
        assert difference == pytest.approx(with_ - without, abs=2e-4)
        assert low <= difference <= high
    concerned = {name: row[5] for name, row in found.items() if len(row) == 7}
    assert concerned == {"query term frequency": 1, "single characters, signs, IT": 1, "identifier as a whole": 1}
    *_, difference = found["single characters, signs, IT"][:3]
    assert (difference, found["single characters, signs, IT"][6]) == (0.25, 1)


def test_versions_that_a_hit_names_count_as_found(run: Run) -> None:
    with_, without, *_ = figures(run("--mode", "hybrid"))["near-equal versions folded"]
    assert with_ == without > 0.75


def test_both_modes_are_shown_unless_one_is_asked_for(run: Run) -> None:
    assert re.findall(r"zoo, (\w+): 4 questions", run()) == ["keyword", "hybrid"]
    assert re.findall(r"zoo, (\w+): 4 questions", run("--mode", "hybrid")) == ["hybrid"]


def test_without_a_home_it_says_how_to_make_one(run: Run, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"run python -m benchmarks\.quality first"):
        run("--work", str(tmp_path / "elsewhere"))
