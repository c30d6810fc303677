"""A provider of embeddings on the command line: what it costs is asked for and told."""

from __future__ import annotations

import os
import pty
from contextlib import suppress
from pathlib import Path

import pytest
from embedding_server import serving
from forking import PINAKES, Forked
from progressive_support import write_folder


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with serving() as served:
        yield served


@pytest.fixture
def folder(tmp_path):
    return write_folder(tmp_path / "folder", [f"file{number}" for number in range(8)])


@pytest.fixture
def words(server, tmp_path):
    settings = {
        "provider": "endpoint",
        "model": "acme/words",
        "url": server.url,
        "price_per_million": "2",
        "ask_above": "0",
        "retries": "0",
    }
    words = [word for name, value in settings.items() for word in ("--set", f"embedding.{name}={value}")]
    return [*words, "--set", f"cache={tmp_path / 'cache'}"]


@pytest.fixture
def call(pinakes, words):
    return lambda *more: pinakes(*more, *words)


def paid(server):
    return [text for text in server.paid if "\n" in text]


def test_without_a_terminal_nothing_is_spent_unasked(call, server, folder):
    done = call("add", folder)
    assert done.code == 7
    assert "8 added" in done.out
    assert "more than is spent unasked" in done.err
    assert "reindex --embed --yes -c default" in done.err
    assert paid(server) == []
    assert call("search", "lazy dog", "--mode", "keyword").code == 0

    done = call("reindex", "--embed")
    assert done.code == 7
    assert paid(server) == []
    done = call("reindex", "--embed", "--yes")
    assert done.code == 0, done.err
    assert "spent: " in done.out
    assert len(paid(server)) == len(set(paid(server))) > 0
    assert call("search", "lazy dog", "--mode", "vector").code == 0


def test_json_has_the_reason_and_what_was_spent(call, server, folder):
    done = call("add", folder, "--json")
    assert done.code == 7
    [report] = done.document["reports"]
    assert report["pending"] == report["chunks"]
    assert "spent unasked" in report["degraded"]

    done = call("sync", "--yes", "--json")
    assert done.code == 0, done.err
    [report] = done.document["reports"]
    assert report["requests"] > 0
    assert report["dollars"] == pytest.approx(report["tokens"] * 2 / 1_000_000)
    assert done.document["spent"]["tokens"] == report["tokens"]


def test_yes_agrees_beforehand(call, server, folder):
    done = call("add", folder, "--yes")
    assert done.code == 0, done.err
    assert "0 pending" in done.out
    assert "spent: " in done.out


def at_a_terminal(words, answer) -> tuple[int, str]:
    """Call the program at a terminal, and type ``answer`` when it asks; return its exit code and what it showed."""
    ours, theirs = pty.openpty()
    with Path(os.devnull).open("w") as nowhere:
        child = Forked(PINAKES, *map(str, words), streams=[theirs, nowhere.fileno(), theirs])
    os.close(theirs)
    shown, answered = b"", False
    with suppress(OSError):  # Linux says so when nobody has the other end open any more
        while part := os.read(ours, 4096):
            shown += part
            if b"Go on?" in shown and not answered:
                os.write(ours, f"{answer}\n".encode())
                answered = True
    os.close(ours)
    return child.wait(60), shown.decode()


def test_who_sits_at_a_terminal_is_asked(words, server, folder):
    code, shown = at_a_terminal(["add", folder, *words], "n")
    assert code == 7
    assert "Go on?" in shown
    assert paid(server) == []
    code, shown = at_a_terminal(["sync", *words], "y")
    assert code == 0, shown
    assert len(paid(server)) == len(set(paid(server))) > 0


def test_building_beside_is_asked_for_too(pinakes, call, server, folder):
    assert pinakes("add", folder).code == 0
    done = call("reindex", "--beside", "--set", "embedding.max_tokens=1000")
    assert done.code == 7
    assert "--beside --yes" in done.err
    assert paid(server) == []
    done = call("reindex", "--beside", "--yes", "--set", "embedding.max_tokens=1000")
    assert done.code == 0, done.err
    assert "built beside what answers: endpoint/acme/words/48" in done.out
    assert "spent: " in done.out
    assert call("reindex", "--switch", "--set", "embedding.max_tokens=1000").code == 0


def test_a_provider_that_is_down_is_told_and_gone_on_with(call, server, folder):
    server.stop()
    done = call("add", folder, "--yes")
    assert done.code == 0
    assert "chunks wait for a vector" in done.err
    assert "cannot be reached" in done.err
    assert "keyword search only" in call("search", "lazy dog").err
    server.start()
    assert call("sync", "--yes").code == 0
    assert "all exact" in call("status").out


def test_a_provider_that_is_down_from_the_start_leaves_a_whole_report(pinakes, call, server, folder):
    server.stop()
    done = call("add", folder, "--json")
    assert done.code == 0, done.err
    [report] = done.document["reports"]
    assert (report["added"], report["pending"]) == (8, report["chunks"])
    assert "cannot be reached" in report["degraded"]
    assert "chunks of earlier runs wait for a vector" in call("sync").err
    assert "; read 2" in call("status").out, "the source was read, whatever became of its vectors"


def test_status_names_the_model_and_a_key_that_is_missing(pinakes, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    done = pinakes("model", "status", "--set", "embedding.provider=openai")
    assert "text-embedding-3-small: not installed" in done.out
    assert "OPENAI_API_KEY" in done.err
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    assert pinakes("model", "status", "--set", "embedding.provider=openai").out.startswith("text-embedding-3-small")
