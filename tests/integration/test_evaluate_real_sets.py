"""Real question sets: every line is read, and our figures of real rankings are those of trec_eval."""

from __future__ import annotations

import gzip
import json
import os
import warnings
from collections import Counter
from pathlib import Path

import pytest

from pinakes.evaluation import golden
from pinakes.evaluation.run import measure_run
from pinakes.evaluation.trec import read_run

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import ir_measures
    from ir_measures import AP, RR, P, R, Success, nDCG

ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("PINAKES_TEST_DATA") or ROOT.parent / "shared" / "data")
# Not RR@10: for that ir-measures asks another tool than trec_eval, which orders ties the other way round.
METRICS = {
    "ndcg@10": nDCG @ 10,
    "ndcg": nDCG,
    "mrr": RR,
    "map": AP,
    "map@100": AP @ 100,
    "precision@5": P @ 5,
    "recall@5": R @ 5,
    "recall@100": R @ 100,
    "hit@3": Success @ 3,
}


def folder(name: str) -> Path:
    if not (DATA / name).is_dir():
        pytest.skip(f"{DATA / name} is not there; set PINAKES_TEST_DATA")
    return DATA / name


@pytest.mark.parametrize(
    ("name", "questions", "judgements"),
    [("scifact", 300, 339), ("cranfield", 225, 1837), ("k8s-docs-qa", 438, 438), ("keps", 111, 115)],
)
def test_every_judged_question_of_a_beir_folder_is_read(name: str, questions: int, judgements: int) -> None:
    found = golden.read(folder(name)).questions
    assert (len(found), sum(len(question.relevant) for question in found)) == (questions, judgements)


@pytest.mark.parametrize(("name", "answerable"), [("keps", 60), ("handbook", 60), ("linux", 75)])
def test_every_line_of_a_golden_file_is_read(name: str, answerable: int) -> None:
    found = golden.read(folder(name) / "golden.jsonl")
    assert found.name == f"{name}-golden"
    assert sum(question.answerable for question in found.questions) == answerable
    assert len(found.questions) == answerable + 10


def test_real_rankings_full_of_ties_are_measured_as_trec_eval_does(tmp_path: Path) -> None:
    place = folder("cranfield")
    with gzip.open(place / "corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
        corpus = {row["_id"]: set(f"{row['title']} {row['text']}".lower().split()) for row in map(json.loads, lines)}
    questions = golden.read(place).questions
    run = tmp_path / "overlap.run"
    with run.open("w") as file:
        for number, question in enumerate(questions):
            words = set(question.text.lower().split())
            shared = Counter({document: len(words & known) for document, known in corpus.items()})
            for rank, (document, score) in enumerate(shared.most_common(number % 120), start=1):
                file.write(f"{question.id} Q0 {document} {rank} {score} overlap\n")
    ours = measure_run(read_run(run), questions, "overlap", tuple(METRICS)).overall.metrics
    qrels = {question.id: dict(question.relevant) for question in questions}
    theirs = ir_measures.calc_aggregate(METRICS.values(), qrels, ir_measures.read_trec_run(str(run)))
    assert ours == pytest.approx({name: theirs[measure] for name, measure in METRICS.items()})
