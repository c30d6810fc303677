"""Every call is in the audit log, whichever interface it came by."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from serve_support import STDIO, Running, settings_for, write_corpus
from websockets.sync.client import connect

from pinakes.api.http_app import create_app
from pinakes.catalog.audit import AuditEntry
from pinakes.library import Library

QUESTION = {"query": "CustomResourceDefinition versioning", "top_k": 2}
TOKEN = "Bearer pk-0123456789abcdefghij"


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    with Library(settings_for(tmp_path / "home", toolsets=("observe",), server__port=0)) as opened:
        opened.add(str(write_corpus(tmp_path / "corpus")), "keps")
        yield opened


@pytest.fixture
def server(library: Library) -> Iterator[Running]:
    running = Running(create_app(library), library.settings)
    yield running
    running.stop()


def last(library: Library, count: int = 1) -> list[AuditEntry]:
    return library.audit.entries(count)


def call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}


def test_a_search_over_http(library: Library, server: Running) -> None:
    headers = {"X-Session-Id": "monday", "Authorization": TOKEN}
    answer = server.client.post("/search", json={**QUESTION, "search_type": "keyword"}, headers=headers).json()
    [entry] = last(library)
    assert (entry.tool, entry.interface, entry.session, entry.collection) == ("search", "http", "monday", "keps")
    assert entry.parameters == {**QUESTION, "search_type": "keyword"}
    assert entry.result_count == answer["total_results"] >= 1
    assert len(entry.ids) == len({result["kep_id"] for result in answer["results"]}) >= 1
    assert entry.outcome == "ok"


def test_a_search_that_fails(library: Library, server: Running) -> None:
    assert server.client.post("/search", json={"query": "x", "top_k": 99}).status_code == 422
    [entry] = last(library)
    assert (entry.tool, entry.outcome, entry.message) == ("search", "INVALID_INPUT", "top_k cannot be 99.")


def test_a_tool_over_mcp(library: Library, server: Running) -> None:
    async def ask() -> None:
        transport = StreamableHttpTransport(f"{server.url}/mcp", headers={"X-Session-Id": "s1"})
        async with Client(transport) as client:
            await client.call_tool("search_keps", QUESTION)

    asyncio.run(ask())
    [entry] = last(library)
    assert (entry.tool, entry.interface, entry.collection) == ("search_keps", "mcp", "keps")
    assert entry.session == "s1"
    assert (entry.parameters, entry.result_count, len(entry.ids)) == (QUESTION, 2, 2)


def test_a_tool_over_rest_and_its_failure(library: Library, server: Running) -> None:
    headers = {"X-Session-Id": "s2", "Authorization": TOKEN}
    for arguments in ({"last_n": 1}, {"last_n": 0}):
        server.client.post("/api/v1/tools/retrieval_log", json=arguments, headers=headers)
    failed, went_well = last(library, 2)
    assert [(one.tool, one.interface, one.session) for one in (failed, went_well)] == [
        ("retrieval_log", "http", "s2")
    ] * 2
    assert (went_well.outcome, failed.outcome) == ("ok", "INVALID_INPUT")


def test_a_question_over_a_socket_is_recorded_once(library: Library, server: Running) -> None:
    with connect(server.url.replace("http://", "ws://") + "/ws/search") as socket:
        socket.send(json.dumps(QUESTION))
        while not json.loads(socket.recv(timeout=20))["done"]:
            pass
    entries = library.audit.entries(10)
    assert [(entry.tool, entry.interface, entry.result_count) for entry in entries] == [("search", "websocket", 2)]


def test_a_tool_over_stdio_with_a_session_of_its_own(library: Library) -> None:
    home = str(library.settings.home)

    async def ask() -> None:
        async with Client(StdioTransport(sys.executable, ["-c", STDIO, home])) as client:
            await client.call_tool("search_keps", QUESTION)
            await client.call_tool("search_keps", QUESTION)

    for _ in range(2):
        asyncio.run(ask())
    entries = library.audit.entries(10)
    assert [(entry.tool, entry.interface) for entry in entries] == [("search_keps", "mcp")] * 4
    sessions = [entry.session for entry in entries]
    assert all(session.startswith("stdio-") for session in sessions)
    assert sessions[0] == sessions[1] != sessions[2] == sessions[3]


def test_a_call_that_comes_too_early_is_recorded(library: Library) -> None:
    class Loading:
        failure = None
        running = reading = True
        model_loaded = False

        def ready(self, collection: str, wait_s: float = 0) -> bool:
            return False

        def words(self) -> str:
            return ""

        def progress(self) -> dict[str, Any]:
            return {}

    server = Running(create_app(library, startup=Loading()), library.settings)  # type: ignore[arg-type]
    try:
        server.client.post("/mcp", json=call("search_keps", QUESTION))
    finally:
        server.stop()
    [entry] = last(library)
    assert (entry.tool, entry.outcome, entry.interface) == ("search_keps", "BUSY", "mcp")


def test_no_key_is_ever_written_down(library: Library, server: Running) -> None:
    headers = {"Authorization": TOKEN, "X-Api-Key": TOKEN}
    server.client.post(
        "/search", json={"query": f"what is {TOKEN}", "filters": {"api_key": "0123456789"}}, headers=headers
    )
    server.client.post("/mcp", json=call("search_keps", {"query": TOKEN, "password": "0123456789"}), headers=headers)
    assert len(last(library, 5)) == 2
    with closing(sqlite3.connect(library.settings.home / "catalog.db")) as connection:
        rows = connection.execute("SELECT * FROM audit").fetchall()
    assert "0123456789" not in repr(rows)
    assert "***" in repr(rows)


def test_the_health_says_when_calls_cannot_be_recorded(library: Library, server: Running) -> None:
    assert "audit" not in server.client.get("/health").json()["components"]
    with closing(sqlite3.connect(library.settings.home / "catalog.db", isolation_level=None)) as connection:
        connection.execute("ALTER TABLE audit RENAME TO elsewhere")
        connection.execute("CREATE TABLE audit (id INTEGER)")
        assert server.client.post("/search", json=QUESTION).status_code == 200
        library.audit.flush()
        health = server.client.get("/health").json()
        connection.execute("DROP TABLE audit")
        connection.execute("ALTER TABLE elsewhere RENAME TO audit")
    assert health["components"]["audit"]["waiting"] == 1
    assert health["components"]["audit"]["problem"]
    assert len(last(library, 5)) == 1
