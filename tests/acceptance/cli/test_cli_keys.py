"""``pinakes keys``: made, listed and revoked; and what the command line shows to a server that wants one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from forking import PINAKES, Forked

DETERMINISTIC = ("--set", "embedding.provider=deterministic")


@pytest.fixture
def strict_server(pinakes, corpus) -> Iterator[str]:
    """Serve a folder to those who have a key."""
    pinakes("add", corpus)
    with Forked(PINAKES, *DETERMINISTIC, "serve", "--port", "0", "--set", "server.require_keys=true") as child:
        assert child.stderr is not None
        said = ""
        while not (found := re.search(r"http://127\.0\.0\.1:\d+", said)):
            said = child.stderr.readline().decode()
            assert said, "the server ended"
        yield found[0]
        child.terminate()
        child.communicate(timeout=60)


def test_a_key_is_shown_when_it_is_made_and_never_again(pinakes, home):
    done = pinakes("keys", "create", "agent", "--scope", "write", "-c", "notes", "-c", "docs", "--per-minute", "30")
    assert done.code == 0
    assert re.fullmatch(r"pnk_[a-z0-9]{8}_[\w-]{43}\n", done.out)
    assert "agent: made, may write, docs, notes" in done.err
    secret = done.out.strip()
    listed = pinakes("keys")
    assert "agent" in listed.out
    assert secret[:12] in listed.out
    for file in home.rglob("*"):
        if file.is_file():
            assert secret[13:].encode() not in file.read_bytes()


def test_keys_as_json(pinakes):
    made = pinakes("keys", "create", "agent", "--expires", "2d", "--json").document
    assert made["key"].startswith(f"pnk_{made['prefix']}_")
    assert (made["name"], made["scope"], made["collections"], made["state"]) == ("agent", "read", None, "valid")
    assert datetime.fromisoformat(made["expires_at"]) - datetime.now(UTC) == pytest.approx(
        timedelta(days=2), abs=timedelta(minutes=5)
    )
    (listed,) = pinakes("keys", "list", "--json").document["keys"]
    assert listed == {name: value for name, value in made.items() if name != "key"}
    assert pinakes("keys", "revoke", "agent", "--json").document["state"] == "revoked"
    assert pinakes("keys", "--json").document["keys"][0]["revoked_at"] is not None


def test_a_day_is_meant_to_its_end(pinakes):
    made = pinakes("keys", "create", "agent", "--expires", "2100-01-31", "--json").document
    assert made["expires_at"] == "2100-02-01T00:00:00.000+00:00"


@pytest.mark.parametrize("when", ["soon", "30", "2020-01-31", "1y", "2100-13-01"])
def test_a_time_that_cannot_be_is_refused(pinakes, when):
    pinakes("keys", "create", "other")
    done = pinakes("keys", "create", "agent", "--expires", when)
    assert (done.code, done.out) == (2, "")
    assert [key["name"] for key in pinakes("keys", "--json").document["keys"]] == ["other"]


def test_names_are_told_apart(pinakes):
    pinakes("keys", "create", "agent")
    assert pinakes("keys", "create", "agent").code == 2
    assert pinakes("keys", "revoke", "nobody").code == 3
    assert "There is no key 'nobody'" in pinakes("keys", "revoke", "nobody").err


def test_without_keys_it_is_said_how_one_is_made(pinakes, corpus):
    pinakes("add", corpus)
    done = pinakes("keys")
    assert (done.code, done.out) == (0, "")
    assert "pinakes keys create NAME" in done.err


def test_a_server_that_wants_a_key_is_shown_that_of_the_environment(pinakes, strict_server, monkeypatch):
    refused = pinakes("call", "status", "--url", strict_server)
    assert refused.code == 4
    assert "PINAKES_KEY" in refused.err
    secret = pinakes("keys", "create", "agent").out.strip()
    monkeypatch.setenv("PINAKES_KEY", secret)
    listed = pinakes("call", "list_collections", "--url", strict_server, "--json")
    assert listed.code == 0
    assert [one["name"] for one in listed.document["collections"]] == ["default"]
    monkeypatch.setenv("PINAKES_KEY", "no key at all")
    assert pinakes("tools", "--url", strict_server).code == 2


def test_commands_here_need_no_key(pinakes, strict_server):
    assert pinakes("search", "cider press").code == 0
    assert pinakes("call", "list_collections").code == 0


def test_a_key_may_never_expire_and_a_collection_that_is_not_there_yet_is_named(pinakes) -> None:
    done = pinakes("keys", "create", "agent", "--expires", "never", "-c", "nowhere", "--json")
    assert (done.code, done.document["expires_at"], done.document["collections"]) == (0, None, ["nowhere"])
    assert "there is no collection 'nowhere' yet" in done.err
