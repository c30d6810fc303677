"""What was asked before, and why documents rank where they do, on the command line."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def orchard(pinakes: Any, corpus: Path) -> Any:
    assert pinakes("add", corpus).code == 0
    return pinakes


def test_every_command_about_the_library_is_a_call(orchard: Any) -> None:
    assert orchard("search", "apple", "-k", "2").code == 0
    assert orchard("read", "bees.md").code == 0
    assert orchard("read", "nothing.md").code == 3
    assert orchard("call", "retrieval_log").code == 0
    entries = orchard("audit", "--json").document["entries"]
    assert [entry["tool"] for entry in entries] == ["retrieval_log", "read", "read", "search", "add"]
    assert {entry["interface"] for entry in entries} == {"cli"}
    _, failed, read, search, add = entries
    assert add["result_count"] == 4
    assert (search["params"], search["result_count"]) == ({"query": "apple", "top_k": 2}, 2)
    assert (read["result_count"], len(read["doc_ids"])) == (1, 1)
    assert (failed["outcome"], failed["message"]) == ("NOT_FOUND", "There is no document 'nothing.md'.")


def test_calls_are_shown_a_line_each(orchard: Any) -> None:
    orchard("search", "apple", "-k", "1")
    out = orchard("audit", "-n", "1").out
    assert re.fullmatch(
        r'\d{4}-\d\d-\d\dT[\d:]{8}Z  search +cli +[\d.]+ ms  1 result  {"query": "apple", "top_k": 1}\n', out
    )
    orchard("search", "apple", "-k", "99")
    assert "INVALID_INPUT: top_k cannot be 99." in orchard("audit", "--outcome", "failed").out


def test_a_password_in_a_question_is_nowhere_in_the_home(orchard: Any, home: Path) -> None:
    orchard("search", "why is the password Tr0ub4dor3 rejected")
    orchard("call", "search", "-a", "query=DB_PASSWORD=Tr0ub4dor3 fails")
    orchard("read", "password=Tr0ub4dor3.md")
    entries = orchard("audit", "--json").document["entries"]
    assert [entry["params"].get("query") for entry in entries[1:3]] == [
        "DB_PASSWORD=*** fails",
        "why is the password *** rejected",
    ]
    kept = [path for path in home.rglob("*") if path.is_file()]
    assert kept
    assert not [path for path in kept if b"Tr0ub4dor3" in path.read_bytes()]


def test_options_narrow_what_is_shown(orchard: Any) -> None:
    orchard("search", "apple")
    orchard("search", "pears and plums", "-c", "default")
    count = {
        words: orchard("audit", *words, "--json").document["total_entries"]
        for words in [
            ("--tool", "search"),
            ("--text", "PLUMS", "--tool", "search"),
            ("-c", "default", "--tool", "search"),
            ("--interface", "mcp"),
            ("--caller", "local", "--tool", "add"),
            ("--session", "x"),
            ("--until", "2020-01-01"),
            ("--since", "2020-01-01", "--tool", "search"),
            ("--since", "1h", "--tool", "search"),
            ("--until", "1d"),
        ]
    }
    assert list(count.values()) == [2, 1, 1, 0, 1, 0, 0, 2, 2, 0]
    done = orchard("audit", "--tool", "nothing")
    assert (done.code, done.out) == (0, "")
    assert "no call is like that" in done.err


def test_what_is_no_time_is_an_error(orchard: Any) -> None:
    done = orchard("audit", "--since", "soon")
    assert done.code == 2
    assert "'soon' is no time." in done.err


def test_a_file_that_cannot_be_written_is_named_as_it_was_given(orchard: Any, tmp_path: Path) -> None:
    file = tmp_path / "nowhere" / "calls.jsonl"
    done = orchard("audit", "export", file)
    assert done.code != 0
    assert f"error: The file {str(file)!r} cannot be written: No such file or directory." in done.err
    assert ".tmp" not in done.err


def test_calls_are_exported_as_json_lines(orchard: Any, tmp_path: Path) -> None:
    orchard("search", "apple")
    file = tmp_path / "calls.jsonl"
    done = orchard("audit", "export", file)
    assert (done.code, done.out) == (0, f"2 calls written to {file}\n")
    lines = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    assert [line["tool"] for line in lines] == ["add", "search"]
    printed = orchard("audit", "export", "-", "--tool", "search").out
    assert [json.loads(line) for line in printed.splitlines()] == lines[1:]
    assert orchard("audit", "export", file, "--json").document == {"file": str(file), "entries": 4}
    assert orchard("audit", "export", tmp_path / "no" / "calls.jsonl").code == 10


def test_without_a_home_there_is_nothing_to_show_and_none_is_made(pinakes: Any, home: Path) -> None:
    assert pinakes("audit").code == 3
    assert pinakes("explain", "a", "b.md").code == 3
    assert not home.exists()


def test_the_program_leaves_its_entry_behind(orchard: Any, program: Any) -> None:
    assert program("search", "apple").code == 0
    assert orchard("audit", "--tool", "search", "--json").document["total_entries"] == 1


def test_a_document_is_explained_with_scores_ranks_and_words(orchard: Any) -> None:
    done = orchard("explain", "prune pear trees in spring", "guide.md", "bees.md")
    assert done.code == 0
    first, second = done.out.strip().split("\n\n")
    assert first.startswith("guide.md  Orchard guide\n    1st of 4 documents, score 0.")
    assert re.search(r"^    by words +1st of \d+, BM25 [\d.]+ \(best [\d.]+\)$", first, re.MULTILINE)
    assert re.search(r"^    score from +meaning \d\.\d{4}, .*words \d\.\d{4}, .*likeness ", first, re.MULTILINE)
    assert re.search(r"^    has +prune: text, lines 9, 11, \d+% of the weight$", first, re.MULTILINE)
    assert re.search(r"^    lacks +spring$", first, re.MULTILINE)
    assert second.startswith("bees.md  Bees\n    2nd of 4 documents")
    assert "chunks of 4 documents were ranked for 'prune pear trees in spring'" in done.err


def test_an_explanation_in_json_has_all_numbers(orchard: Any) -> None:
    hit = orchard("search", "prune pears", "--json").document["hits"][0]
    [one] = orchard("explain", "prune pears", "guide.md", "--json").document["documents"]
    assert (one["score"], one["shown"], one["passage"]["scores"]) == (hit["score"], 1, hit["scores"])
    assert {match["word"] for match in one["matches"]} == {"prune", "pears"}


def test_what_filters_leave_out_is_told(orchard: Any) -> None:
    out = orchard("explain", "trees", "guide.md", "-f", "status=beta").out
    assert "Left out: it does not pass status = 'beta'. It would score 0." in out
    out = orchard("explain", "trees", "guide.md", "--path", "code/**").out
    assert "it does not pass path = 'code/**'" in out


def test_a_document_there_is_not_is_an_error_and_the_others_are_explained(orchard: Any) -> None:
    done = orchard("explain", "trees", "nothing.md", "guide.md")
    assert done.code == 3
    assert done.out.startswith("guide.md")
    assert "There is no document 'nothing.md' in 'default'." in done.err
    document = orchard("explain", "trees", "nothing.md", "guide.md", "--json").document
    assert document["error"]["code"] == "NOT_FOUND"
    assert [one["path"] for one in document["documents"]] == ["guide.md"]
