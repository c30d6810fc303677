"""SIGTERM while something runs: the process is gone in time, and callers know what became of what they sent."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
from real_server import RealServer, real_server
from stuck_embedder import SAID, STUCK

from pinakes.library import Library
from pinakes.settings import load

SLACK_S = 25
"""For a machine that does other things as well; what it waits for without the limit takes minutes."""

STUCK_MODEL = {"embedding__provider": "stuck"}
ENDS = "The server ends. Nothing was done"
DONE, NOT_WRITTEN, UNKNOWN = "done", "Nothing was written.", "It may have been written or not."
LONG = "\n\n".join(
    f"# Part {part}\n\n" + " ".join(f"word{part * 7 + place * 31 % 4999}" for place in range(700))
    for part in range(700)
)  # fmt: skip


class Sent:
    """A request that is under way."""

    def __init__(self, server: RealServer, path: str, body: dict[str, Any]) -> None:
        self.status, self.text = 0, ""
        self._asked = server.url + path, body
        self._thread = threading.Thread(target=self._send)
        self._thread.start()

    def answer(self) -> str:
        self._thread.join(60)
        assert self.status, self.text
        return self.text

    def _send(self) -> None:
        url, body = self._asked
        headers = {"accept": "application/json, text/event-stream"}
        try:
            answer = httpx.post(url, json=body, headers=headers, timeout=60)
            self.status, self.text = answer.status_code, answer.text
        except httpx.HTTPError as error:
            self.text = repr(error)


def became(answer: str) -> str:
    """Say what an answer tells of what was to be written."""
    told = [words for words in (NOT_WRITTEN, UNKNOWN) if words in answer]
    return told[0] if told else DONE


def until_stuck(server: RealServer, calls: int) -> None:
    """Wait until so many calls are inside of the model."""
    deadline = time.monotonic() + 30
    while server.log.read_text().count(SAID) < calls:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def titles(home: Path, **settings: Any) -> set[str]:
    """Return the titles of all documents, as the next process finds them."""
    with Library(load(home=home, environment={}, **settings)) as library:
        with library.app.catalog.read() as connection:
            found = {row[0] for row in connection.exec_driver_sql("SELECT title FROM documents")}
        assert not any(library.verify().values())
    return found


def mcp(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


@pytest.mark.parametrize("after_s", [0.3, 1.5])
def test_a_long_document_is_written_or_not_and_its_caller_knows(home: Path, after_s: float) -> None:
    with real_server(home, server__max_body_bytes=20_000_000) as server:
        one = Sent(server, "/api/v1/tools/ingest_document", {"title": "long", "text": LONG})
        time.sleep(after_s)
        took = server.end()
        answer = one.answer()
    assert took < 5 + SLACK_S
    assert server.process.returncode == 0, answer
    if one.status == 503:  # the body was still on its way
        assert ENDS in answer, answer
        assert "long" not in titles(home, embedding__provider="deterministic")
        return
    assert one.status == 200, answer
    there = "long" in titles(home, embedding__provider="deterministic")
    assert became(answer) == UNKNOWN or there == (became(answer) == DONE), answer


def test_of_many_documents_all_that_are_answered_are_there(home: Path) -> None:
    documents = [{"title": f"part {part}", "text": LONG[part * 60_000 : (part + 1) * 60_000]} for part in range(40)]
    with real_server(home, server__max_body_bytes=20_000_000) as server:
        one = Sent(server, "/mcp", mcp("ingest_batch", {"documents": documents}))
        time.sleep(1)
        assert server.end() < 5 + SLACK_S
        answer = one.answer()
    assert one.status == 200, answer
    there = {title for title in titles(home, embedding__provider="deterministic") if title.startswith("part")}
    if became(answer) != UNKNOWN:
        assert len(there) == (40 if became(answer) == DONE else 0), answer


HEAD = b"POST /search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 900\r\n\r\n{"


def test_what_cannot_be_interrupted_holds_neither_others_nor_the_end(home: Path) -> None:
    shutdown_s = 2
    with real_server(home, **STUCK_MODEL, server__search_timeout_s=2, server__shutdown_s=shutdown_s) as server:
        overdue = [Sent(server, "/search", {"query": f"{STUCK} {number}"}) for number in range(4)]
        assert {"took longer than 2 seconds" in one.answer() for one in overdue} == {True}
        assert {one.status for one in overdue} == {503}
        found = server.search("pond 7", search_type="keyword")
        assert (found.status_code, found.json()["total_results"] > 0) == (200, True)
        before = server.log.read_text().count(SAID)
        write = Sent(server, "/api/v1/tools/ingest_document", {"title": "stuck", "text": f"This {STUCK}."})
        until_stuck(server, before + 1)
        took = server.end()
        answer = write.answer()
    assert took < shutdown_s + SLACK_S
    assert (became(answer), write.status) == (UNKNOWN, 200), answer
    assert "stuck" not in titles(home, embedding__provider="deterministic")


def test_searches_that_run_and_requests_that_are_not_there_yet_are_told_that_the_server_ends(home: Path) -> None:
    with real_server(home, **STUCK_MODEL, server__shutdown_s=2) as server:
        search = Sent(server, "/search", {"query": f"What {STUCK}?"})
        with server.connect(HEAD) as half, server.connect(b"POST /se") as less, server.connect():
            until_stuck(server, 1)
            assert server.end() < 2 + SLACK_S
            told = half.recv(1000)
            assert told.startswith(b"HTTP/1.1 503 ")
            assert ENDS.encode() in told
            assert less.recv(100) == b""
        assert "The server ended" in json.loads(search.answer())["detail"]
        assert search.status == 503
        assert "Traceback" not in server.log.read_text()


def test_an_answer_that_began_before_the_body_was_there_is_not_cut_when_the_server_ends(home: Path) -> None:
    head = b"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900\r\n\r\n{"
    with real_server(home, server__shutdown_s=2) as server:
        with server.connect(head) as stream, server.connect(HEAD) as half:
            assert stream.recv(4096).startswith(b"HTTP/1.1 200 ")
            assert server.end() < 2 + SLACK_S
            told = b"".join(iter(lambda: stream.recv(4096), b""))
            assert ENDS.encode() in half.recv(4096)
        log = server.log.read_text()
    assert told.endswith(b"0\r\n\r\n")
    assert ENDS.encode() not in told
    assert "Traceback" not in log, log
