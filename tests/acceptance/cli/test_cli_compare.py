from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from bert_reference import make_tiny_bert
from forking import Forked
from progressive_support import small_steps, write_folder

SERVE = """
import sys
from pinakes.api import serve
from pinakes.settings import load
settings = load(home=sys.argv[1], embedding__provider="deterministic", server__port=0)
serve(settings, on_ready=lambda url: print(url, flush=True))
"""


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    file = tmp_path / "orchard.jsonl"
    rows = [
        {"id": "plant", "query": "when to plant apple trees", "relevant": {"guide.md": 2}},
        {"id": "pollen", "query": "who carries pollen", "relevant": {"bees": 1}},
        {"id": "press", "query": "press_apples", "relevant": {"code/press.py": 2, "notes": 1}},
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    file = tmp_path / "nightly.txt"
    file.write_text("when to plant apple trees\nwho carries pollen\nwhat does the cider press need\n")
    return file


@pytest.fixture
def filled(pinakes, corpus):
    assert pinakes("add", corpus, "-q").code == 0
    return pinakes


@pytest.fixture
def server(filled, home) -> Iterator[tuple[str, Forked]]:
    with Forked(SERVE, str(home), text=True) as child:
        assert child.stdout is not None
        yield child.stdout.readline().strip(), child
        child.kill()


def test_the_report_fits_80_columns_and_says_how_far_they_agree(filled, questions, tmp_path):
    settings = tmp_path / "meaning.toml"
    settings.write_text("[search]\nsemantic_weight = 1.0\nkeyword_weight = 0.0\n")
    shown = filled("compare", "default", settings, questions)
    assert shown.code == 0, shown.err
    assert shown.out.startswith("orchard: 3 questions compared\nA default: collection, hybrid, 4 documents")
    assert [line for line in shown.out.splitlines() if len(line) > 80] == []
    for words in (
        "search.semantic_weight: 0.7 in A, 1.0 in B",
        "overlap@5               1.000",
        "Kendall's tau",
        "rank-biased overlap",
        "p95 ",
        "metric, 3 judged",
        "of 3 questions have less than 80 %",
    ):
        assert words in shown.out


def test_a_warning_that_several_settings_cause_is_told_once(filled, plain, home, tmp_path):
    for name in ("one.toml", "other.toml"):
        (tmp_path / name).write_text("[search]\nshown = 3\n")
    (home / "sources.d").mkdir()
    (home / "sources.d" / "bad.yaml").write_text("a: [")
    done = filled("compare", tmp_path / "one.toml", tmp_path / "other.toml", plain)
    assert done.code == 0
    assert done.err.count("bad.yaml") == 1


def test_json_is_one_document_with_every_question(filled, plain):
    found = filled("compare", "default", "default", plain, "--limit", "2", "--json").document["comparison"]
    assert [pair["query"] for pair in found["pairs"]] == ["when to plant apple trees", "who carries pollen"]
    assert found["agreement"]["overlap_5"] == {"mean": 1.0, "low": 1.0, "high": 1.0, "questions": 2}
    assert found["linked_by"] == "path"
    assert found["metrics"] == {}
    assert found["a"]["latency"]["p50_ms"] > 0
    assert found["differences"] == []


def test_questions_with_little_in_common_are_listed_and_fail_the_night(filled, plain, tmp_path):
    run_file = tmp_path / "other.run"
    lines = [
        f"{number} Q0 {name} {rank} {9 - rank} x\n" for number in (1, 2, 3) for rank, name in enumerate(("bees", "x"))
    ]
    run_file.write_text("".join(lines))
    shown = filled("compare", "default", run_file, plain, "--fail-under", "0.8")
    assert shown.code == 1
    assert "3 of 3 questions have less than 80 % of the first 5 in common" in shown.out
    assert "only A: " in shown.out
    assert "only B: x" in shown.out
    assert "The mean overlap@5 is" in shown.err
    as_json = filled("compare", "default", run_file, plain, "--fail-under", "0.8", "--json")
    assert as_json.code == 1
    assert as_json.document["error"]["code"] == "BELOW_BASELINE"
    assert as_json.document["comparison"]["flagged"] == 3
    assert filled("compare", "default", run_file, plain, "--fail-under", "0.1").code == 0


def test_another_home_and_a_collection_in_it_are_compared(filled, plain, corpus, tmp_path):
    other = tmp_path / "other"
    filled("add", corpus, "-q", "--home", other, "-c", "fruit")
    filled("add", corpus / "bees.md", "-q", "--home", other, "-c", "bees")
    assert "overlap@20              1.000" in filled("compare", "default", f"{other}:fruit", plain).out
    refused = filled("compare", "default", f"{other}:bees", plain)
    assert refused.code == 2
    assert "hold different documents: 4 documents in A, 1 in B" in refused.err
    assert refused.out == ""
    anyway = filled("compare", "default", f"{other}:bees", plain, "--anyway")
    assert anyway.code == 0
    assert "warning: A and B hold different documents" in anyway.err


def test_the_generation_beside_is_compared_with_the_one_that_answers(pinakes, tmp_path):
    first, second = make_tiny_bert(tmp_path / "first"), make_tiny_bert(tmp_path / "second", seed=8)
    settings = small_steps(first) | {"cache": tmp_path / "cache", "embedding__mode": "full"}
    words = [word for name, value in settings.items() for word in ("--set", f"{name.replace('__', '.')}={value}")]
    folder = write_folder(tmp_path / "folder", [f"file{number}" for number in range(6)])
    plain = tmp_path / "questions.txt"
    plain.write_text("quick brown fox\nlazy dog\n")
    assert pinakes("add", folder, "-q", *words).code == 0
    assert pinakes("compare", "default", "default@beside", plain, *words).code == 3
    assert pinakes("reindex", "--beside", "--model", second, "-q", *words).code == 0
    shown = pinakes("compare", "default", "default@beside", plain, "--mode", "vector", *words)
    assert shown.code == 0, shown.err
    found = pinakes("compare", "default", "default@beside", plain, "--mode", "vector", "--json", *words)
    document = found.document["comparison"]
    assert document["a"]["model"] != document["b"]["model"]
    for side in ("a", "b"):
        assert f"\n   {document[side]['model']}\n" in shown.out
    assert document["agreement"]["tau"]["mean"] < 1


def test_a_server_is_compared_and_its_outage_does_not_stop_the_report(server, filled, plain, tmp_path):
    url, child = server
    kept = tmp_path / "kept.jsonl"
    live = filled("compare", "default", url, plain, "--cache", kept, "--header", "X-Key: s3cret")
    assert live.code == 0, live.err
    assert "overlap@5               1.000" in live.out
    assert "s3cret" not in kept.read_text("utf-8") + live.out + live.err
    chosen = filled("compare", "default", url, plain, "--mode", "auto", "--json").document["comparison"]
    assert (chosen["a"]["mode"], chosen["b"]["mode"]) == ("auto", "auto")
    assert chosen["agreement"]["overlap_5"]["mean"] == 1.0
    child.kill()
    child.wait()
    away = filled("compare", "default", url, plain, "--cache", kept)
    assert away.code == 0
    assert "B: kept answers, " in away.err
    assert "for 3 of 3 questions" in away.err
    assert "overlap@5               1.000" in away.out
    with plain.open("a") as file:
        file.write("who prunes the pear trees\n")
    partly = filled("compare", "default", url, plain, "--cache", kept)
    assert partly.code == 11
    assert "nightly: 3 of 4 questions compared" in partly.out
    assert "has no answer to 1 of 4 questions" in partly.err
    as_json = filled("compare", "default", url, plain, "--cache", kept, "--json")
    assert as_json.code == 11
    assert as_json.document["error"]["code"] == "SERVER_UNREACHABLE"
    assert as_json.document["comparison"]["b"]["kept"] == 3
    without = filled("compare", "default", url, plain)
    assert without.code == 11
    assert without.out == ""


def test_another_home_that_is_gone_is_replaced_by_what_was_kept(filled, plain, corpus, tmp_path):
    other, kept = tmp_path / "other", tmp_path / "kept.jsonl"
    filled("add", corpus, "-q", "--home", other)
    assert filled("compare", "default", other, plain, "--cache", kept).code == 0
    other.rename(tmp_path / "elsewhere")
    shown = filled("compare", "default", other, plain, "--cache", kept)
    assert shown.code == 0, shown.err
    assert "B: kept answers" in shown.err
    assert filled("compare", "default", other, plain).code == 3


def test_the_page_is_written_and_costs_nothing_when_it_cannot_be(filled, plain, tmp_path):
    file = tmp_path / "page.html"
    assert filled("compare", "default", "default", plain, "--html", file).code == 0
    assert "<svg" in file.read_text("utf-8")
    failed = filled("compare", "default", "default", plain, "--html", tmp_path / "no" / "page.html")
    assert failed.code == 10
    assert "overlap@5" in failed.out


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("default", "default", "no-such.txt"), 3, "no file"),
        (("default", "nowhere", "{plain}"), 3, "Collections here: default."),
        (("default", "nowhere.toml", "{plain}"), 3, "no settings file"),
        (("default", "{corpus}", "{plain}"), 3, "no Pinakes home"),
        (("default", "{corpus}/notes.txt", "{plain}"), 2, "not the 6 of a TREC run"),
        (("default", "http://x:port", "{plain}"), 2, "no address"),
        (("default", "default", "{plain}", "--map", "results=hits"), 2, "neither side is one"),
        (("default", "default", "{plain}", "--header", "X-Key: s3cret"), 2, "neither side is one"),
        (("default", "http://127.0.0.1:9", "{plain}", "--map", "results"), 2, "NAME=THEIRS"),
        (("default", "http://127.0.0.1:9", "{plain}", "--header", "s3cret"), 2, "NAME: VALUE"),
        (("default", "http://127.0.0.1:9", "{plain}", "--depth", "60"), 2, "--depth cannot be 60"),
        (("default", "default", "{plain}", "--fail-under", "80"), 2, "--fail-under cannot be 80"),
        (("default", "default", "{plain}", "--metric", "f1@3"), 2, "no metric"),
        (("default", "default", "{plain}", "--by", "colour"), 2, "No document has a field 'colour'"),
        (("default", "default", "{plain}", "--limit", "0"), 2, "--limit"),
        (("default", "default", "{plain}", "--cache", "{plain}"), 2, "kept answer"),
        (("default",), 2, "Missing argument"),
    ],
)  # fmt: skip
def test_what_cannot_be_compared_is_said(filled, plain, corpus, words, code, says):
    shown = filled("compare", *(word.format(plain=plain, corpus=corpus) for word in words))
    assert shown.code == code
    assert says in shown.err
    assert shown.out == ""


def test_a_settings_file_cannot_name_another_home(filled, plain, tmp_path):
    file = tmp_path / "other.toml"
    file.write_text('home = "elsewhere"\n')
    refused = filled("compare", "default", file, plain)
    assert refused.code == 2
    assert "sets 'home'" in refused.err
    file.write_text("[search]\nsemantic_wait = 1\n")
    assert f"Unknown setting 'search.semantic_wait' ({file})." in filled("compare", "default", file, plain).err
