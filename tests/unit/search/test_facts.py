"""What a path says of a document, and when a text has a name."""

from __future__ import annotations

import pytest

from pinakes.search.statistics.document_features import DocumentFeatures
from pinakes.search.statistics.name_terms import name_terms, query_terms_in_order, terms_in_order


@pytest.mark.parametrize(
    "path",
    [
        "tests/run.py",
        "a/Tests/deep/run.py",
        "test_run.py",
        "run_test.go",
        "run.test.ts",
        "RunTest.java",
        "TestRun.java",
        "testdata/x.json",
    ],
)
def test_a_test_is_known_by_its_path(path: str) -> None:
    assert DocumentFeatures(path, True, {}).is_test


@pytest.mark.parametrize("path", ["latest/run.py", "attest.py", "test.c", "contest_run.py", "run.py", "greatest.go"])
def test_what_only_looks_like_a_test_is_none(path: str) -> None:
    assert not DocumentFeatures(path, True, {}).is_test


def test_only_code_is_a_test() -> None:
    assert not DocumentFeatures("handbook/tests/how.md", False, {}).is_test


def test_names_are_cut_at_signs_and_humps() -> None:
    assert name_terms("tcp_rcvEstablished of the-HTTPServer") == {"tcp", "rcv", "establish", "http", "server"}


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("What does Acme Corp. charge?", "acme corp"),
        ("how fast is GPT-4?", "gpt-4"),
        ("OpenAI Compass prices", "openai compass"),
        ("prices of open-ai", "open ai"),
        ("contracts of last year", "contract"),
        ("東京の会社は", "東京"),
    ],
)
def test_a_query_has_a_name_word_for_word(query: str, name: str) -> None:
    assert terms_in_order(name) in query_terms_in_order(query)


@pytest.mark.parametrize(
    ("query", "name"), [("acme and its corp", "acme corp"), ("how fast is GPT-3?", "gpt-4"), ("mockery", "mock")]
)
def test_parts_and_scattered_words_are_not_the_name(query: str, name: str) -> None:
    assert terms_in_order(name) not in query_terms_in_order(query)
