"""Posts to addresses that want to be told: their form, their signature, and what is said of failures."""

from __future__ import annotations

import hashlib
import hmac
import json
from typing import Any

import pytest
from pydantic import ValidationError
from receiver import Receiver, receiving

from pinakes.core.errors import InvalidSetting
from pinakes.fetching import open_client
from pinakes.fetching.webhook_requests import Outcome, address, check, post, signature
from pinakes.settings import FetchSettings, WebhookSettings

EVENT = {"id": 7, "kind": "indexed", "title": "Größe \ud83d"}
OPEN = FetchSettings(allow_private=("127.0.0.1",))


def hook(url: str, **more: Any) -> WebhookSettings:
    return WebhookSettings.model_validate({"name": "wiki", "url": url, **more})


def posted(receiver: Receiver, **more: Any) -> Outcome:
    with open_client(OPEN) as client:
        return post(client, hook(receiver.url, **more), [EVENT], "wiki-7-7")


def test_a_post_has_the_events_and_a_number_of_its_own() -> None:
    with receiving() as receiver:
        assert posted(receiver) == Outcome(200)
    [(headers, body)] = receiver.seen
    assert headers["content-type"] == "application/json"
    assert headers["x-pinakes-delivery"] == "wiki-7-7"
    assert "x-pinakes-signature" not in headers
    document = json.loads(body)
    assert (document["webhook"], document["delivery"]) == ("wiki", "wiki-7-7")
    assert document["events"] == [{"id": 7, "kind": "indexed", "title": "Größe ?"}]


def test_a_post_is_signed_by_the_secret_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WIKI_SECRET", "the secret")
    with receiving() as receiver:
        assert posted(receiver, secret_variable="WIKI_SECRET").status == 200
    [(headers, body)] = receiver.seen
    stamp = headers["x-pinakes-timestamp"]
    expected = hmac.new(b"the secret", f"{stamp}.".encode() + body, hashlib.sha256).hexdigest()
    assert headers["x-pinakes-signature"] == f"v1={expected}"
    assert signature("another", stamp, body) != expected
    assert b"the secret" not in body


def test_without_its_secret_nothing_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WIKI_SECRET", raising=False)
    with receiving() as receiver:
        outcome = posted(receiver, secret_variable="WIKI_SECRET")
        assert not receiver.seen
    assert "WIKI_SECRET does not hold the secret" in outcome.error
    assert not outcome.counts


@pytest.mark.parametrize(
    ("status", "error"),
    [(500, "answers 500: broken"), (404, "answers 404: broken"), (302, "answers 302: redirects are not followed")],
)
def test_a_refusal_is_told(status: int, error: str) -> None:
    with receiving(status) as receiver, receiving() as other:
        receiver.location = other.url
        outcome = posted(receiver)
        assert not other.seen
    assert (outcome.status, outcome.error, outcome.counts) == (status, error, True)


def test_what_was_taken_was_taken_however_much_is_said_about_it() -> None:
    with receiving() as receiver:
        receiver.thanks = b"thank you " * 100_000
        assert posted(receiver) == Outcome(200)


@pytest.mark.parametrize("hangs", [True, False])
def test_what_was_taken_was_taken_though_the_rest_of_the_answer_is_missing(hangs: bool) -> None:
    with receiving() as receiver:
        receiver.thanks, receiver.missing, receiver.hangs = b"thank", 4, hangs
        assert posted(receiver, timeout_s=0.5) == Outcome(200)
        receiver.status = 500
        assert posted(receiver, timeout_s=0.5).error == "answers 500: broken"
    assert len(receiver.taken) == 1


def test_a_name_that_no_header_can_have_is_refused() -> None:
    with pytest.raises(ValidationError, match="name"):
        WebhookSettings(name="büro", url="https://hooks.example/a")


def test_a_receiver_that_is_not_there_or_slow_is_told_without_its_path() -> None:
    with receiving() as receiver:
        receiver.silent = True
        slow = posted(receiver, timeout_s=0.2)
    gone = posted(receiver)
    for outcome in (slow, gone):
        assert outcome.error
        assert outcome.counts
        assert "secret-part" not in outcome.error


def test_an_address_of_this_machine_is_refused_unless_it_is_allowed() -> None:
    with receiving() as receiver, open_client(FetchSettings()) as client:
        outcome = post(client, hook(receiver.url), [EVENT], "d")
        assert not receiver.seen
    assert outcome.error
    assert not outcome.counts
    assert "secret-part" not in outcome.error


def test_only_the_host_of_an_address_is_shown() -> None:
    assert address(hook("https://user@hooks.example:8443/T0/secret?token=x")) == "https://hooks.example:8443/…"


def test_webhooks_that_cannot_be_used_are_told_at_the_start() -> None:
    check([hook("https://hooks.example/a"), hook("https://hooks.example/a", name="other")])
    with pytest.raises(InvalidSetting, match="Two webhooks are called 'wiki'"):
        check([hook("https://a.example"), hook("https://b.example")])
    with pytest.raises(InvalidSetting, match="'wiki' has no address that can be used"):
        check([hook("ftp://a.example")])
