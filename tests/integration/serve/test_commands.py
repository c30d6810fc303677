"""``pinakes search`` where a server of the home runs: the server answers, and nobody can tell but by the time."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import httpx
import pytest
from forking import PINAKES, Forked, run_pinakes

from pinakes.library import Library
from pinakes.settings import load

HEAVY = {"faiss", "numpy", "onnxruntime", "sqlalchemy", "tantivy"}
SETTINGS = ("--set", "embedding.provider=deterministic")
PROBE = """
import io, json, sys
from contextlib import redirect_stderr, redirect_stdout
from pinakes.cli.entry import run
told = []
for words in json.load(sys.stdin):
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        code = run(words)
    loaded = {name.partition(".")[0] for name in sys.modules}
    told.append((code, out.getvalue(), err.getvalue(), sorted(loaded)))
json.dump(told, sys.stdout)
"""
GUIDE = "# Signing keys\n\nEvery service signs with a key of its own.\n\n## Rotation\n\nKeys are rotated daily.\n"
TEXTS = {
    "guide.md": GUIDE,
    "leave.md": "# Leave\n\nUnused days of leave are carried over until March.\n",
    "copy.md": GUIDE,
}
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("PINAKES")} | {"COLUMNS": "100"}


@dataclass(frozen=True)
class Said:
    """What a command did: its exit code, what it wrote, and whether it answered by itself."""

    code: int
    out: str
    err: str
    alone: bool


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home, corpus = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("corpus")
    for name, text in TEXTS.items():
        (corpus / name).write_text(text, "utf-8")
    with Library(load(home=home, environment={}, embedding__provider="deterministic")) as library:
        library.add(str(corpus), "notes")
        library.add(str(corpus / "leave.md"), "more")
    return home


@pytest.fixture(scope="module")
def served(home: Path) -> Iterator[Mapping[str, Any]]:
    """A server of the home in a process of its own, as its file tells of it."""
    words = ("serve", "--home", str(home), "--port", "0", *SETTINGS)
    with Forked(PINAKES, *words, environment=ENVIRONMENT, log=home.with_suffix(".log")) as process:
        try:
            yield announced(home)
        finally:
            process.terminate()


def announced(home: Path) -> Mapping[str, Any]:
    """Return what the server writes of itself, once it is ready."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            told: Mapping[str, Any] = json.loads((home / "server.json").read_text("utf-8"))
            if httpx.get(f"{told['url']}/health").json()["status"] == "healthy":
                return told
        except (OSError, ValueError, httpx.HTTPError):
            pass
        time.sleep(0.05)
    raise AssertionError("the server does not start")


def said(home: Path, *words: str, settings: tuple[str, ...] = SETTINGS) -> Said:
    """Run a command in a process of its own."""
    return said_each(home, [words], settings)[0]


def said_each(home: Path, commands: Sequence[tuple[str, ...]], settings: tuple[str, ...] = SETTINGS) -> list[Said]:
    """Run commands one after the other in one process; a command after one that answered by itself seems to do so."""
    done = subprocess.run(
        [sys.executable, "-c", PROBE],
        input=json.dumps([[*words, "--home", str(home), *settings] for words in commands]),
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return [Said(code, out, err, bool(HEAVY & set(loaded))) for code, out, err, loaded in json.loads(done.stdout)]


def steady(out: str) -> str:
    """Return what was written without times and the id of the call, as JSON also without the steps taken."""
    if out.startswith("{"):
        document = json.loads(out)
        for name in ("trace", "query_id"):
            document.pop(name, None)
        return json.dumps(document, indent=2)
    return re.sub(r" +[\d.]+ ms", "", out)


ASKED = (
    ("search", "when are keys rotated"),
    ("search", "when are keys rotated", "--json"),
    ("search", "keys", "-c", "notes", "--explain", "--neighbours", "1", "--top-k", "1"),
    ("search", '"signs with" -leave', "--phrases", "required"),
    ("search", "leave", "--filter", "path!=guide.md", "--path", "*.md", "--mode", "keyword"),
    ("search", "keys", "--filter", "nothing=1", "--json"),
    ("query", "keys", "--min-similarity", "0.1"),
    ("search", "nothing at all of zebras", "--mode", "keyword"),
    ("search", "keys", "-c", "nowhere"),
    ("search", "keys", "-c", "nowhere", "--json"),
    ("search", "keys", "--top-k", "0", "--json"),
    ("search", "keys", "--as-of", "2026-13-45"),
)


def test_the_server_answers_as_the_command_does(home: Path, served: Mapping[str, Any]) -> None:
    there = said_each(home, ASKED)
    (home / "server.json").rename(home / "aside")
    try:
        here = said_each(home, ASKED)
    finally:
        (home / "aside").rename(home / "server.json")
    for words, by_server, by_itself in zip(ASKED, there, here, strict=True):
        assert (by_server.alone, by_itself.alone) == (False, True), words
        assert by_server.code == by_itself.code, words
        assert steady(by_server.out) == steady(by_itself.out), words
        assert steady(by_server.err) == steady(by_itself.err), words
    assert {one.code for one in here} == {0, 2, 3}


def test_the_audit_log_has_a_question_as_one_of_the_command_line(home: Path, served: Mapping[str, Any]) -> None:
    asked = said(home, "search", "who signs", "-c", "notes", "--json")
    assert not asked.alone
    answer = json.loads(asked.out)
    with Library(load(home=home, environment={}, embedding__provider="deterministic")) as library:
        until = time.monotonic() + 10
        while not (entries := [one for one in library.audit.entries(50) if one.query_id == answer["query_id"]]):
            assert time.monotonic() < until
    [entry] = entries
    assert (entry.interface, entry.tool, entry.caller, entry.session) == ("cli", "search", "local", "")
    assert dict(entry.parameters) == {"query": "who signs", "collection": ["notes"]}
    assert list(entry.ids) == list(dict.fromkeys(hit["document_id"] for hit in answer["hits"]))


@pytest.mark.parametrize(
    "settings",
    [
        (*SETTINGS, "--set", "search.top_k=1"),
        (*SETTINGS, "--set", "collection=default"),
        (*SETTINGS, "-v"),
    ],
    ids=["another setting", "the default collection named", "to say what is done"],
)
def test_a_command_that_would_answer_otherwise_answers_itself(
    home: Path, served: Mapping[str, Any], settings: tuple[str, ...]
) -> None:
    assert said(home, "search", "keys", settings=settings).alone


def test_a_server_of_another_version_is_not_asked(home: Path, served: Mapping[str, Any]) -> None:
    file = home / "server.json"
    before = file.read_text("utf-8")
    try:
        for other in (served | {"answers": "0123456789abcdef"}, {**served, "unheard of": 1}):
            file.write_text(json.dumps(other), "utf-8")
            found = said(home, "search", "keys")
            assert (found.code, found.alone) == (0, True)
    finally:
        file.write_text(before, "utf-8")


def test_a_running_server_of_another_version_is_told(home: Path, served: Mapping[str, Any]) -> None:
    file, own = home / "server.json", version("pinakes")
    assert served["version"] == own
    components = httpx.get(f"{served['url']}/health").json()["components"]
    assert (components["version"], "outdated" in components) == (own, False)
    before = file.read_text("utf-8")

    def warned(*words: str) -> str:
        found = run_pinakes((*words, "--home", str(home), *SETTINGS), ENVIRONMENT)
        assert found.returncode == 0
        return found.stderr

    told = f"the server runs 0.0.1, this program is {own}: restart the server"
    try:
        assert told not in warned("status")
        file.write_text(json.dumps({**served, "answers": "of another", "version": "0.0.1", "unheard of": 1}), "utf-8")
        for words in (("status",), ("search", "keys")):
            assert warned(*words).count(told) == 1
        earlier = {name: value for name, value in served.items() if name != "version"}
        file.write_text(json.dumps({**earlier, "answers": "of another"}), "utf-8")
        assert f"the server runs an earlier version, this program is {own}" in warned("status")
        file.write_text(json.dumps({**served, "id": "another program is there", "version": "0.0.1"}), "utf-8")
        assert told not in warned("status")
    finally:
        file.write_text(before, "utf-8")


def test_only_commands_that_can_read_the_home_may_ask(served: Mapping[str, Any]) -> None:
    body = {"command": "search", "given": {}, "question": {"query": "keys"}}
    place = f"{served['url']}/api/v1/command/search"
    for headers in ({}, {"Authorization": "Bearer wrong"}):
        assert httpx.post(place, json=body, headers=headers).status_code == 403
    mine = {"Authorization": f"Bearer {served['key']}"}
    assert httpx.post(place, json=body, headers=mine).json()["query"] == "keys"
    assert httpx.post(place, json={"query": "keys"}, headers=mine).status_code == 400


@pytest.mark.parametrize(
    "answer", [None, b"", b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"], ids=["silent", "ends", "other"]
)
def test_where_the_server_is_gone_another_program_is_shown_nothing(
    home: Path, served: Mapping[str, Any], answer: bytes | None
) -> None:
    file, heard = home / "server.json", list[bytes]()
    before = file.read_text("utf-8")
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:

        def listen() -> None:
            connection, _ = listener.accept()
            with closing(connection):
                heard.append(connection.recv(65_536))
                if answer is not None:
                    connection.sendall(answer)
                    return
                connection.settimeout(10)
                heard.append(connection.recv(65_536))

        thread = threading.Thread(target=listen, daemon=True)
        thread.start()
        try:
            file.write_text(json.dumps({**served, "url": f"http://127.0.0.1:{listener.getsockname()[1]}"}), "utf-8")
            began = time.monotonic()
            found = said(home, "search", "secret question")
            assert time.monotonic() - began < 20
            thread.join(10)
        finally:
            file.write_text(before, "utf-8")
    assert (found.code, found.alone, found.err.count("error")) == (0, True, 0)
    told = b"".join(heard)
    assert told.startswith(b"GET /healthz")
    assert b"secret" not in told
    assert served["key"].encode() not in told


def test_where_nothing_listens_any_more_the_command_answers(home: Path, served: Mapping[str, Any]) -> None:
    file = home / "server.json"
    before = file.read_text("utf-8")
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        port = listener.getsockname()[1]
    try:
        file.write_text(json.dumps({**served, "url": f"http://127.0.0.1:{port}"}), "utf-8")
        found = said(home, "search", "keys")
    finally:
        file.write_text(before, "utf-8")
    assert (found.code, found.alone) == (0, True)
