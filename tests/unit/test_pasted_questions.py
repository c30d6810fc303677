"""Our own long, quoted and pasted questions: what they are like, and that their answers are in the documents."""

from __future__ import annotations

import re
import tarfile
from collections import Counter
from pathlib import Path

import pytest
from benchmarks.quality import sets
from benchmarks.quality.sets import DATA, PASTED, QuestionSet

from pinakes.evaluation import golden
from pinakes.evaluation.questions import Question

PLACES = {name: Path(sets.__file__).with_name(f"pasted-{name}.jsonl") for name in PASTED}


def questions(name: str) -> list[Question]:
    return list(golden.read(PLACES[name]).questions)


@pytest.mark.parametrize("name", PASTED)
def test_a_third_of_the_questions_is_of_each_kind_and_some_have_no_answer(name: str) -> None:
    found = questions(name)
    counts = Counter(question.kind for question in found)
    assert set(counts) == {"long", "quoted", "pasted", "no_answer"}
    assert sum(question.answerable for question in found) >= 40
    assert all(13 <= counts[kind] <= 16 for kind in ("long", "quoted", "pasted"))
    assert counts["no_answer"] >= 6
    assert {question.kind for question in found if not question.answerable} == {"no_answer"}


@pytest.mark.parametrize("name", PASTED)
def test_the_questions_are_what_their_kind_says(name: str) -> None:
    for question in questions(name):
        words, lines = len(question.text.split()), len(question.text.splitlines())
        if question.kind == "long":
            assert 60 <= words <= 150, question.id
            assert lines == 1, question.id
        elif question.kind == "quoted":
            assert question.text.count('"') >= 2, question.id
            assert lines == 1, question.id
        elif question.kind == "pasted":
            assert lines > 1, question.id
        assert len(question.relevant) <= 3, question.id


@pytest.mark.parametrize("name", PASTED)
def test_every_document_that_answers_is_in_the_corpus(name: str) -> None:
    archive = DATA / name / f"{name}.tar.gz"
    if not archive.is_file():
        pytest.skip(f"{archive} is not there; set PINAKES_TEST_DATA")
    with tarfile.open(archive) as tar:
        paths = tar.getnames()
    if name == "keps":
        keys = (re.match(r"keps/(sig-[^/]+)/(?:.*/)?(\d{4}|\d+)-[^/]+/README\.md$", path) for path in paths)
        there = {f"{key[1]}/{key[2]}" for key in keys if key}
    else:
        there = set(paths)
    named = {document for question in questions(name) for document in question.relevant}
    assert named <= there, named - there


def test_the_sets_have_the_documents_and_the_home_of_another() -> None:
    by_name = {one.name: one for one in sets.available()}
    for name in PASTED:
        if name in by_name:
            one, other = by_name[f"pasted-{name}"], by_name[name]
            assert (one.home, one.documents, one.profile) == (other.home, other.documents, other.profile)
            assert one.place == PLACES[name]


def test_a_set_whose_documents_are_missing_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def names() -> set[str]:
        return {one.name for one in sets.available()}

    monkeypatch.setattr(sets, "DATA", tmp_path)
    assert names() == {"pinakes"}
    (tmp_path / "handbook").mkdir()
    assert names() == {"pinakes", "handbook", "pasted-handbook"}


def test_a_set_of_its_own_has_a_home_of_its_own() -> None:
    assert QuestionSet("zoo", Path("zoo.jsonl"), lambda work: work).home == "zoo"
