"""``ask``, ``events`` and ``webhooks`` as users type them."""

from __future__ import annotations

import json
import os
import subprocess

import pytest
from chat_server import serving
from cli_program import DETERMINISTIC, Call, executable
from receiver import receiving

QUESTION = "When are pear trees pruned?"


@pytest.fixture
def orchard(pinakes: Call, corpus) -> Call:
    assert pinakes("add", corpus).code == 0
    return pinakes


def test_an_answer_is_printed_with_the_places_it_cites(orchard):
    with serving(lambda _: "In winter [1], says [8].") as server:
        model = ("--set", f"chat.url={server.url}", "--set", "chat.model=tiny")
        done = orchard("ask", QUESTION, "--passages", "2", *model)
        assert done.code == 0
        assert done.out.startswith("In winter [1], says.\n")
        assert "[1] " in done.out.split("\n", 1)[1]
        assert "cited [8]" in done.err
        document = orchard("ask", QUESTION, "--json", *model).document
    assert (document["answered"], document["model"]) == (True, "tiny")
    assert document["citations"][0]["number"] == 1


def test_a_refusal_is_no_answer_on_stdout(orchard):
    with serving(lambda _: "NO_ANSWER") as server:
        done = orchard("ask", QUESTION, "--set", f"chat.url={server.url}")
    assert (done.code, done.out) == (0, "")
    assert "do not hold an answer" in done.err


def test_without_a_model_the_setting_is_named(orchard):
    done = orchard("ask", QUESTION)
    assert done.code == 7
    assert "chat.url" in done.err
    assert orchard("ask", QUESTION, "--json").document["error"]["code"] == "NOT_CONFIGURED"


def test_a_summary_that_costs_something_says_so(orchard):
    from chat_server import completion

    told = completion("It is about trees and what grows on them.", usage={"prompt_tokens": 10, "completion_tokens": 2})
    with serving(lambda _: (200, told)) as server:
        model = ("--set", f"chat.url={server.url}", "--set", "chat.model=m", "--set", "chat.price_in=100")
        usage = orchard("summarize", "--json", *model).document["usage"]
    assert usage["tokens_in"] == 10 * usage["calls"]
    assert usage["cost"] == pytest.approx(usage["tokens_in"] / 10_000)


def test_events_are_listed(orchard, corpus):
    lines = orchard("events").out.splitlines()
    assert sum(" indexed " in line for line in lines) == 4
    assert " sync_finished " in lines[-1]
    (corpus / "bees.md").unlink()
    orchard("add", corpus)
    after = orchard("events", "--kind", "deleted", "--json").out.splitlines()
    assert [json.loads(line)["title"] for line in after] == ["Bees"]
    assert orchard("events", "--after", "3", "-n", "0").out.splitlines()[0].split()[0] == "4"
    assert orchard("events", "-c", "nowhere").out == ""
    assert orchard("events", "--kind", "eaten").code == 2


def test_events_are_followed_as_they_happen(orchard, corpus, home):
    command = [executable(), *DETERMINISTIC, "events", "--follow", "-n", "0", "--json"]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ))
    try:
        assert child.stderr is not None
        assert "following" in child.stderr.readline()
        (corpus / "bees.md").write_text("# Bees\n\nThey also dance.\n")
        assert orchard("add", corpus).code == 0
        assert child.stdout is not None
        assert json.loads(child.stdout.readline())["kind"] == "updated"
    finally:
        child.kill()
        child.wait()
        for pipe in (child.stdout, child.stderr):
            pipe.close()


def test_webhooks_are_tried_out_listed_and_retried(orchard, home):
    assert "No webhooks are configured" in orchard("webhooks").err
    with receiving() as receiver:
        (home / "config.toml").write_text(
            f'[fetch]\nallow_private = ["127.0.0.1"]\n[[webhooks]]\nname = "wiki"\nurl = "{receiver.url}"\n'
        )
        done = orchard("webhooks", "test", "wiki")
        assert (done.code, done.out) == (0, "wiki: answers 200\n")
        assert receiver.taken[0]["kind"] == "test"
        receiver.status = 500
        done = orchard("webhooks", "test", "wiki")
        assert done.code == 6
        assert done.err == "error: The webhook 'wiki' failed: answers 500: broken.\nhint: Check its receiver.\n"
        secret = home / "config.toml"
        secret.write_text(f'{secret.read_text()}secret_variable = "NOT_THERE"\n')
        done = orchard("webhooks", "test", "wiki")
        assert "The environment variable NOT_THERE does not hold the secret of the webhook 'wiki'.\n" in done.err
        assert "Check its address and secret here: nothing was posted." in done.err
    listed = orchard("webhooks")
    assert "wiki" in listed.out
    assert "secret-part" not in listed.out
    [row] = orchard("webhooks", "list", "--json").document["webhooks"]
    assert (row["name"], row["begun"], row["laid_aside"]) == ("wiki", False, [])
    done = orchard("webhooks", "retry", "wiki")
    assert (done.code, "sends what waits, and once more what was laid aside: 0 posts" in done.out) == (0, True)
    missing = orchard("webhooks", "retry", "nobody")
    assert missing.code == 3
    assert "There are: wiki" in missing.err
