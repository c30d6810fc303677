"""A server follows the folders that its settings name, and ends promptly."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from forking import Forked
from serve_support import Running
from waiting import until

from pinakes.api.http_app import create_app
from pinakes.api.startup import Startup
from pinakes.api.stdio_upstream import LocalServer
from pinakes.library import Library
from pinakes.services.sync.watched import watched_in
from pinakes.settings import load
from pinakes.testing import write_files

LONG_S = 60.0
SETTINGS: dict[str, Any] = {
    "mcp__structured_content": True,
    "embedding__provider": "deterministic",
    "knowledge_base__enabled": True,
    "watch__settle_ms": 100,
    "toolsets": ["search", "observe"],
    "server__port": 0,
}
SERVE = f"""
import sys
from pinakes.api import serve
from pinakes.settings import load
settings = load(home=sys.argv[1], environment={{}}, **{SETTINGS!r})
serve(settings, on_ready=lambda url: print(url, flush=True))
"""


@pytest.fixture
def url(tmp_path: Path, process: Callable[..., Forked]) -> Iterator[str]:
    child = process(SERVE, tmp_path / "home")
    assert child.stdout is not None
    yield child.stdout.readline().decode().strip()
    start = time.monotonic()
    child.send_signal(signal.SIGTERM)
    assert child.wait(20) == 0
    assert time.monotonic() - start < 8


def test_a_server_finds_what_is_put_into_its_knowledge_base_and_says_that_it_follows_it(
    url: str, tmp_path: Path
) -> None:
    folder = tmp_path / "home" / "knowledge_base"

    def following() -> dict[str, Any]:
        (one,) = httpx.get(f"{url}/health").json()["components"]["following"]
        return dict(one)

    until(lambda: following()["doing"] == "watching")
    assert {name: following()[name] for name in ("collection", "folder", "message")} == {
        "collection": "default",
        "folder": str(folder),
        "message": "",
    }
    write_files(folder, {"a.md": "# Alpha\n\nzebras\n"})

    def found() -> list[dict[str, Any]]:
        return list(httpx.post(f"{url}/search", json={"query": "zebras"}).json().get("results", ()))

    until(found)
    assert "changed" not in found()[0]


def test_results_over_http_and_mcp_say_that_a_file_has_changed(tmp_path: Path, docs: Path) -> None:
    settings = load(home=tmp_path / "home", environment={}, **SETTINGS | {"knowledge_base__enabled": False})
    write_files(docs, {"a.md": "# Alpha\n\nzebras\n"})
    with Library(settings) as library:
        library.add(str(docs))
        running = Running(create_app(library), settings)
        try:
            (result,) = running.client.post("/search", json={"query": "zebras"}).json()["results"]
            assert "changed" not in result
            (docs / "a.md").write_text("# Alpha\n\nno more\n")
            (result,) = running.client.post("/search", json={"query": "zebras"}).json()["results"]
            assert result["changed"] is True
            message = {
                "jsonrpc": "2.0",
                "id": 1,
                "method": "tools/call",
                "params": {"name": "search", "arguments": {"query": "zebras"}},
            }
            headers = {"Accept": "application/json, text/event-stream"}
            answer = running.client.post("/mcp", json=message, headers=headers).json()["result"]
            assert answer["structuredContent"]["passages"][0]["changed"] is True
            assert "its file has changed since" in answer["content"][0]["text"]
        finally:
            running.stop()


def test_a_server_is_starting_and_says_so_until_the_knowledge_base_was_read_once(tmp_path: Path, docs: Path) -> None:
    settings = load(home=tmp_path / "home", environment={}, **SETTINGS | {"toolsets": ["search", "retrieve"]})
    write_files(docs, {"a.md": "# Alpha\n\nzebras\n"})
    write_files(tmp_path / "home" / "knowledge_base", {"b.md": "# Beta\n\nzebras\n"})
    with Library(settings) as library:
        library.add(str(docs))
        startup = Startup(library, say=lambda _: None)
        running = Running(create_app(library, startup=startup), settings)

        def heard() -> tuple[str, list[str], list[str]]:
            status = running.client.get("/health").json()["status"]
            found = running.client.post("/search", json={"query": "zebras"}).json()
            summaries = running.client.post("/api/v1/tools/search_summaries", json={"query": "zebras"}).json()
            return status, found.get("notes", []), summaries["data"]["result"].get("notes", [])

        try:
            startup.start()
            until(lambda: not startup.running)
            status, *notes = heard()
            assert status == "starting"
            assert ["still being read" in note for (note,) in notes] == [True, True]
            (watched,) = watched_in(settings)
            library.watched.read_again(watched)
            assert heard() == ("healthy", [], [])
        finally:
            assert startup.stop()
            running.stop()


def test_a_server_over_stdio_follows_too(tmp_path: Path) -> None:
    settings = load(home=tmp_path / "home", environment={}, **SETTINGS)
    local = LocalServer(settings)
    try:
        write_files(tmp_path / "home" / "knowledge_base", {"a.md": "# Alpha\n\nzebras\n"})

        def status() -> dict[str, Any]:
            message = {
                "jsonrpc": "2.0",
                "id": 1,
                "method": "tools/call",
                "params": {"name": "kb_status", "arguments": {}},
            }
            return dict(local.answer(message, "2025-06-18")["result"]["structuredContent"])

        until(lambda: status()["manifest"]["total_indexed"] == 1)
        assert status()["watcher_running"] is True
    finally:
        local.close()


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    return folder
