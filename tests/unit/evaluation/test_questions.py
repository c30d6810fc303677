"""Golden files, BEIR folders, TREC files, and everything that may be wrong with them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from pinakes.core.errors import InvalidInput, NotFound, PinakesError
from pinakes.core.records import Condition
from pinakes.evaluation import golden
from pinakes.evaluation.beir import write_corpus
from pinakes.evaluation.questions import Question, read_beir, read_golden, read_qrels
from pinakes.evaluation.trec import read_queries, read_run, write_run


def beir(folder: Path, queries: Sequence[Mapping[str, str | None]], qrels: str, place: str = "qrels.tsv") -> Path:
    (folder / place).parent.mkdir(parents=True, exist_ok=True)
    (folder / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in queries))
    (folder / place).write_text(f"query-id\tcorpus-id\tscore\n{qrels}")
    return folder


def test_a_golden_file_is_read_line_by_line(tmp_path: Path) -> None:
    path = tmp_path / "golden.jsonl"
    path.write_text(
        '\ufeff{"id": "a", "kind": "how", "query": "why?", "relevant": {"d": 2, "e": "1"}, "evidence": "…"}\r\n\r\n'
        '{"query": "x", "relevant": {}, "filters": {"status": "beta"}}\n'
    )
    assert read_golden(path) == [
        Question("a", "why?", {"d": 2, "e": 1}, "how"),
        Question("3", "x", {}, "", (Condition("status", any_of=("beta",)),)),
    ]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("{", "it is not JSON (Expecting property name enclosed in double quotes, column 2)."),
        ('{"query": "x"} {}', "it is not JSON (Extra data, column 16)."),
        (f'{{"query": {5000 * "1"}}}', "it is not JSON (Exceeds the limit "),
        ("[1]", "no JSON object"),
        ('{"query": "x"}', "lacks `relevant`"),
        ('{"query": "x", "relevant": ["d"]}', "its `relevant` is ['d'], which has to be an object of document and "),
        ('{"query": "x", "relevant": {"d": "much"}}', "grade of 'd' is 'much', not a number"),
        ('{"query": "x", "relevant": {"d": null}}', "not a number"),
        ('{"query": "x", "relevant": {"d": true}}', "not a number"),
        ('{"query": "x", "relevant": {"d": NaN}}', "not a number"),
        pytest.param(f'{{"query": "x", "relevant": {{"d": 1{400 * "0"}}}}}', "…, not a number", id="400 digits"),
        pytest.param("[" * 200_000, "not JSON", id="deeply nested"),
        ('{"query": "x", "relevant": null}', "lacks `relevant`"),
        ('{"relevant": {}}', "lacks `query`"),
        ('{"query": "  ", "relevant": {}}', "its `query` is '  ', which has to be the question as text"),
        ('{"query": 7, "relevant": {}}', "its `query` is 7, which has to be the question as text"),
        ('{"query": "x", "relevant": {}, "filters": {"a": {"like": 1}}}', "`filters`"),
        ('{"query": "x", "relevant": {}, "filters": ["a"]}', "`filters`"),
        ('{"id": 1, "query": "x", "relevant": {}}', "line 1 has the id '1', too"),
    ],
)
def test_a_wrong_line_is_named_with_what_is_wrong_and_what_to_do(tmp_path: Path, line: str, why: str) -> None:
    path = tmp_path / "golden.jsonl"
    path.write_text(f'{{"query": "x", "relevant": {{}}}}\n{line}\n')
    with pytest.raises(InvalidInput) as raised:
        read_golden(path)
    assert raised.value.message.startswith("golden.jsonl line 2 cannot be used: ")
    assert why in raised.value.message
    assert raised.value.hint


def test_a_field_that_is_null_is_as_good_as_absent(tmp_path: Path) -> None:
    path = tmp_path / "golden.jsonl"
    path.write_text('{"id": null, "kind": null, "filters": null, "query": "x", "relevant": {"d": 1}}\n')
    assert read_golden(path) == [Question("1", "x", {"d": 1})]
    rows: list[dict[str, str | None]] = [{"_id": "1", "text": "first", "kind": None}]
    assert read_beir(beir(tmp_path, rows, "1\td\t1\n"))[0].kind == ""
    with pytest.raises(InvalidInput, match="lacks `_id`"):
        read_beir(beir(tmp_path, [{"_id": None, "text": "first"}], "None\td\t1\n"))


def test_documents_of_a_corpus_without_an_id_or_a_text_are_refused(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text('{"_id": "d", "title": null, "text": "first"}\n')
    assert write_corpus(tmp_path, tmp_path / "out") == 1
    assert (tmp_path / "out" / "d.md").read_text("utf-8") == "first\n"
    for line in ('{"_id": null, "text": "x"}', '{"_id": "d", "text": null}', "[" * 200_000):
        corpus.write_text(line)
        with pytest.raises(InvalidInput, match="no JSON object with `_id` and `text`"):
            write_corpus(tmp_path, tmp_path / "out")


@pytest.mark.parametrize(("data", "why"), [(b"", "is empty"), (b" \n\n", "is empty"), (b"\xff\xfe", "cannot be read")])
def test_a_file_without_text_is_refused(tmp_path: Path, data: bytes, why: str) -> None:
    path = tmp_path / "golden.jsonl"
    path.write_bytes(data)
    with pytest.raises(InvalidInput, match=why):
        golden.read(path)


def test_a_file_that_is_not_there_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"no file .*golden\.jsonl"):
        golden.read(tmp_path / "golden.jsonl")


def test_questions_without_any_relevant_document_cannot_be_measured(tmp_path: Path) -> None:
    path = tmp_path / "golden.jsonl"
    path.write_text('{"query": "x", "relevant": {}}\n{"query": "y", "relevant": {"d": 0}}\n')
    with pytest.raises(InvalidInput, match="no judged question"):
        golden.read(path)


def test_a_beir_folder_gives_the_judged_questions(tmp_path: Path) -> None:
    rows = [{"_id": "1", "text": "first", "kind": "easy"}, {"_id": "2", "text": "not judged"}]
    assert read_beir(beir(tmp_path, rows, "1\tdoc\t1\n1\tother\t0\n")) == [
        Question("1", "first", {"doc": 1, "other": 0}, "easy")
    ]


def test_a_beir_folder_may_be_packed_and_have_several_splits(tmp_path: Path) -> None:
    beir(tmp_path, [{"_id": "1", "text": "first"}], "1\tdoc\t1\n", "qrels/dev.tsv")
    packed = (tmp_path / "queries.jsonl").read_bytes()
    (tmp_path / "queries.jsonl").unlink()
    (tmp_path / "queries.jsonl.gz").write_bytes(gzip.compress(packed))
    assert read_beir(tmp_path)[0].relevant == {"doc": 1}
    (tmp_path / "qrels" / "train.tsv").write_text("query-id\tcorpus-id\tscore\n1\tother\t1\n")
    with pytest.raises(InvalidInput, match=r"dev\.tsv, train\.tsv"):
        read_beir(tmp_path)
    assert golden.read(tmp_path, qrels=tmp_path / "qrels" / "train.tsv").questions[0].relevant == {"other": 1}
    (tmp_path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n1\tthird\t1\n")
    assert read_beir(tmp_path)[0].relevant == {"third": 1}


@pytest.mark.parametrize(
    ("queries", "qrels", "why"),
    [
        ([{"_id": "1"}], "1\td\t1\n", r"queries\.jsonl line 1 .* lacks `_id` or `text`"),
        ([{"_id": "1", "text": "a"}, {"_id": "1", "text": "b"}], "1\td\t1\n", r"queries\.jsonl line 2 .* line 1 has"),
        ([{"_id": "1", "text": "a"}], "1\td\n", r"qrels\.tsv line 2 .* 2 columns"),
        ([{"_id": "1", "text": "a"}], "1\td\thigh\n", r"qrels\.tsv line 2 .* 'high', not a number"),
        ([{"_id": "1", "text": "a"}], "1\td\t1\n1\td\t2\n", r"qrels\.tsv line 3 .* another grade"),
    ],
)
def test_a_wrong_line_of_a_beir_folder_is_named(
    tmp_path: Path, queries: list[dict[str, str]], qrels: str, why: str
) -> None:
    with pytest.raises(InvalidInput, match=why):
        golden.read(beir(tmp_path, queries, qrels))


def test_a_folder_that_is_no_beir_folder_says_what_one_holds(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"no qrels\.tsv.*corpus\.jsonl"):
        golden.read(tmp_path)


def test_damaged_packed_files_are_refused(tmp_path: Path) -> None:
    beir(tmp_path, [], "1\td\t1\n")
    (tmp_path / "queries.jsonl").rename(tmp_path / "queries.jsonl.gz")
    (tmp_path / "queries.jsonl.gz").write_bytes(gzip.compress(b"text" * 100)[:20])
    with pytest.raises(InvalidInput, match=r"queries\.jsonl\.gz cannot be read"):
        golden.read(tmp_path)


def test_queries_and_judgements_of_trec_make_a_golden_set(tmp_path: Path) -> None:
    qrels, queries = tmp_path / "covid.txt", tmp_path / "topics.tsv"
    qrels.write_text("1 0 d1 2\n1 0 d2 -1\n2 0 d1 0\n3 0 d9 1\n")
    queries.write_text("1\tfirst question\n2\tsecond\n9\tnot judged\n")
    found = golden.read(None, queries=queries, qrels=qrels)
    assert found.name == "covid"
    assert found.questions == (Question("1", "first question", {"d1": 2, "d2": -1}), Question("2", "second", {"d1": 0}))
    assert found.notes == ("1 judged queries have no text in topics.tsv and are left out: 3",)
    as_json = tmp_path / "topics.jsonl"
    as_json.write_text('{"_id": 1, "text": "first question"}\n{"id": "2", "query": "second"}\n')
    assert golden.read(None, queries=as_json, qrels=qrels).questions == found.questions


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("q.tsv", "1 no tab\n", r"q\.tsv line 1"),
        ("q.tsv", "1\ta\n1\tb\n", "was there before"),
        ("q.jsonl", '{"_id": "1"}\n', "lacks `_id`"),
        ("q.jsonl", '{"_id": "1", "text": "a"}\n{"_id": "1", "text": "b"}\n', r"q\.jsonl line 2"),
    ],
)
def test_queries_that_cannot_be_used_are_named(tmp_path: Path, name: str, text: str, why: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InvalidInput, match=why):
        read_queries(tmp_path / name)


@pytest.mark.parametrize(
    "given",
    [
        {"golden": None},
        {"golden": None, "queries": "q.tsv"},
        {"golden": None, "qrels": "r.txt"},
        {"golden": "golden.jsonl", "qrels": "r.txt"},
        {"golden": ".", "queries": "q.tsv"},
    ],
)
def test_what_does_not_make_a_golden_set_is_refused(tmp_path: Path, given: dict[str, str | None]) -> None:
    (tmp_path / "golden.jsonl").write_text('{"query": "x", "relevant": {"d": 1}}\n')
    places = {name: tmp_path / value if value else None for name, value in given.items()}
    with pytest.raises(PinakesError) as raised:
        golden.read(places.pop("golden"), **places)
    assert raised.value.hint


def test_a_set_keeps_its_digest_whatever_holds_it(tmp_path: Path) -> None:
    folder = beir(tmp_path / "set", [{"_id": "1", "text": "first"}], "1\tdoc\t1\n")
    other = tmp_path / "golden.jsonl"
    other.write_text('{"id": "1", "query": "first", "relevant": {"doc": 1}}\n')
    assert golden.digest(golden.read(folder).questions) == golden.digest(golden.read(other).questions)
    other.write_text('{"id": "1", "query": "first", "relevant": {"doc": 2}}\n')
    assert golden.digest(golden.read(folder).questions) != golden.digest(golden.read(other).questions)


def test_a_file_called_golden_is_named_after_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "keps"
    folder.mkdir()
    for name in ("golden.jsonl", "mine.v2.jsonl"):
        (folder / name).write_text('{"query": "x", "relevant": {"d": 1}}\n')
    assert golden.read(folder / "golden.jsonl").name == "keps-golden"
    assert golden.read(folder / "mine.v2.jsonl").name == "mine"


def test_a_run_is_read_in_the_order_of_its_scores(tmp_path: Path) -> None:
    path = tmp_path / "bm25.run"
    path.write_text("1 Q0 a 1 0.5 x\n1 Q0 b 2 0.9 x\n\n2 Q0 a 1 3 x\n2 Q0 b 2 3 x\n")
    assert read_run(path) == {"1": ["b", "a"], "2": ["b", "a"]}


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("1 Q0 a 1 0.5", "5 columns"),
        ("1 Q0 a 1 high x", "'high' is not a number"),
        ("1 Q0 d 2 0.5 x", "'d' was ranked for '1' before"),
    ],
)
def test_a_wrong_line_of_a_run_is_named(tmp_path: Path, line: str, why: str) -> None:
    path = tmp_path / "bm25.run"
    path.write_text(f"1 Q0 d 1 0.7 x\n{line}\n")
    with pytest.raises(InvalidInput, match=f"bm25.run line 2 .*{why}"):
        read_run(path)


def test_a_run_that_was_written_is_read_in_the_same_order_by_us_and_by_others(tmp_path: Path) -> None:
    import ir_measures

    path = tmp_path / "ours.run"
    answers = [("q 1", ["b", "a file.md", "c"], [0.5, 0.5, 0.5]), ("q2", ["z", "y"], [0.9, 0.1]), ("q3", [], [])]
    write_run(path, answers, "pinakes-hybrid")
    assert read_run(path) == {"q 1": ["b", "a file.md", "c"], "q2": ["z", "y"]}
    plain = tmp_path / "plain.run"
    write_run(plain, answers[1:], "pinakes-hybrid")
    scored = list(ir_measures.read_trec_run(str(plain)))
    assert [(row.query_id, row.doc_id) for row in sorted(scored, key=lambda row: -row.score)] == [
        ("q2", "z"),
        ("q2", "y"),
    ]


def test_judgements_may_have_three_or_four_columns(tmp_path: Path) -> None:
    path = tmp_path / "qrels.tsv"
    path.write_text("query-id\tcorpus-id\tscore\n1\ta file.md\t2\n")
    assert read_qrels(path) == {"1": {"a file.md": 2}}
    path.write_text("1 0 a 1\n1 0 a 1\n")
    assert read_qrels(path) == {"1": {"a": 1}}
