"""Parameters as they are written down."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pinakes.settings import load
from pinakes.text.parameter_cleaning import ParameterCleaner

KEY = "sk-abcdefghij0123456789klmnop"


def clean(**parameters: Any) -> dict[str, Any]:
    return ParameterCleaner().parameters(parameters)


def test_short_parameters_stay_as_they_are() -> None:
    given = {"query": "Wie geht das?", "top_k": 5, "filters": {"tags": ["a", "b"], "year": {"gte": 2.5}}, "none": None}
    assert clean(**given) == given


def test_a_long_text_is_cut_and_its_length_said() -> None:
    assert clean(text="x" * 200)["text"] == "x" * 200
    assert clean(text="x" * 1_000_000)["text"] == "x" * 200 + "… (1000000 characters)"


def test_a_long_list_is_cut_and_what_is_left_out_counted() -> None:
    assert clean(ids=list(range(30)))["ids"] == [*range(20), "… (10 more)"]
    assert clean(**{f"field{number}": 1 for number in range(25)})["…"] == "5 more"


def test_many_long_texts_are_cut_shorter() -> None:
    documents = [{"title": f"Title {number}", "text": "word " * 1000} for number in range(50)]
    kept = clean(documents=documents)
    assert len(json.dumps(kept)) < 4500
    assert kept["documents"][0]["title"] == "Title 0"
    assert kept["documents"][-1] == "… (45 more)"


def test_what_is_nested_without_end_is_cut() -> None:
    deep: dict[str, Any] = {}
    for _ in range(100):
        deep = {"in": deep}
    assert json.dumps(clean(**deep)).count("in") < 10


def test_whatever_has_no_form_in_json_becomes_text() -> None:
    kept = clean(path=Path("a"), number=float("nan"), kind={3}, key={1: 2})
    assert kept == {"path": "a", "number": "nan", "kind": [3], "key": {"1": 2}}
    assert json.loads(json.dumps(kept, allow_nan=False)) == kept


@pytest.mark.parametrize(
    "name",
    [
        *("password", "api_key", "apiKey", "API-KEY", "Authorization", "access_token", "client_secret", "cookie"),
        *("tokens", "accessTokens", "secrets", "passwords", "db_pwd", "api_keys"),
    ],
)
def test_the_value_of_a_parameter_that_is_called_so_is_hidden(name: str) -> None:
    assert clean(**{name: "hush", "headers": {name: "hush"}}) == {name: "***", "headers": {name: "***"}}


def test_what_is_written_as_json_is_cleaned_as_what_it_is() -> None:
    kept = clean(
        metadata='{"api_key": "hush", "password": "hush", "year": 2026}',
        documents=' [{"metadata": {"password": "hush"}, "more": "{\\"token\\": \\"hush\\"}"}]',
        text="{no json} but words",
        deep="[" * 100_000,
    )
    assert kept["metadata"] == {"api_key": "***", "password": "***", "year": 2026}
    assert kept["documents"] == [{"metadata": {"password": "***"}, "more": {"token": "***"}}]
    assert kept["text"] == "{no json} but words"
    assert kept["deep"].endswith("(100000 characters)")


@pytest.mark.parametrize(
    "name", ["max_tokens", "total_tokens", "document_key", "keywords", "author", "tokenizer", "secretary"]
)
def test_other_names_are_no_secrets(name: str) -> None:
    assert clean(**{name: "shown"}) == {name: "shown"}


@pytest.mark.parametrize(
    "text",
    [
        f"use {KEY}, please",
        f"Authorization: Bearer {KEY}",
        "curl -H 'Authorization: Basic dXNlcjpwYXNzd29yZDEyMw=='",
        "ghp_0123456789abcdefghijABCDEFGHIJ012345",
        "AIzaSyA0123456789abcdefghijklmnopqrstuv",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N",
        "https://someone:hunter2@example.org/repository",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIE",
        "https://example.org/file?access_token=hunter2",
        "https://example.org/file?a=b&X-Amz-Signature=hunter2&c=d",
        "see https://example.org/file?sig=hunter2, or ?api_key=hunter2#top",
    ],
)
def test_what_looks_like_a_key_is_hidden(text: str) -> None:
    kept = clean(query=text)["query"]
    assert "***" in kept
    for secret in (KEY, "dXNlcj", "0123456789", "hunter2", "dozjgN", "MIIE"):
        assert secret not in kept


@pytest.mark.parametrize(
    "text",
    [
        "how does bearer token authentication work?",
        "Basic authentication and authorization",
        "disk-encryption-with-sk-keys",
        "https://example.org/a?b=c#d@e",
        "https://example.org/a?owning-sig=sig-auth&tokenize=yes",
        "task_struct and risk-assessment-of-something-long",
        "what does the token v1beta1 of KEP-1205 mean",
        "the secret TokenRequestProjection, and a token limit of 4096",
        "what does a password reset do? the password is not accepted",
        "path:docs token:abc api_key: rotate",
    ],
)
def test_words_about_keys_are_no_keys(text: str) -> None:
    assert clean(query=text)["query"] == text


@pytest.mark.parametrize(
    "question",
    [
        "why does password=@@ fail",
        "my password is @@",
        "login fails with the password @@!",
        "PASSWORD @@ rejected",
        "pwd @@ denied",
        "password: @@",
        "passwort: @@",
        "export DB_PASSWORD='correct @@' does not work",
        "SERVICE_TOKEN=@@",
        "AWS_SECRET_ACCESS_KEY=@@",
        "curl -u admin:@@ https://example.org",
        "postgres://admin:@@@db/x refused",
    ],
)
def test_a_secret_in_a_question_is_hidden_and_its_words_stay(question: str) -> None:
    for secret in ("Tr0ub4dor&3x", "hunter2hunter2"):
        asked = question.replace("@@", secret)
        for kept in (
            clean(query=asked)["query"],
            clean(queries=[asked])["queries"][0],
            ParameterCleaner().text(asked, 200),
        ):
            assert secret[:6] not in kept
            assert "***" in kept
            assert kept.split("***")[0] == asked[: kept.index("***")]


def test_a_key_that_is_cut_off_leaves_no_part_behind() -> None:
    for before in range(150, 200):
        kept = clean(text="x" * before + " Bearer " + "a1b2c3d4" * 60)["text"]
        assert "a1b2" not in kept


def test_the_keys_in_use_are_hidden_wherever_they_stand(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MY_KEY", "plain words")
    settings = load(home=tmp_path, environment={}, chat__key_variable="MY_KEY")
    kept = ParameterCleaner.from_settings(settings).parameters({"query": "is it plain words or not"})
    assert kept == {"query": "is it *** or not"}
