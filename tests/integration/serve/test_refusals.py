"""What is refused at the edge is refused in our words, and the log has nothing that looks like a mistake of ours."""

from __future__ import annotations

import logging
from pathlib import Path

import httpx
import pytest
import uvicorn
from serve_support import Running, settings_for

from pinakes.api.http_app import create_app
from pinakes.api.server import Server
from pinakes.compat.code import index_content
from pinakes.core.caller import Caller, calling
from pinakes.library import Library


@pytest.mark.parametrize("body", [b"[]", b"{}", b"7", b'{"jsonrpc": "2.0", "id": 1}'])
def test_what_is_no_message_is_refused_without_the_words_of_a_library(server: Running, body: bytes) -> None:
    answer = httpx.post(server.url + "/mcp", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == -32600
    assert "pydantic" not in answer.text


@pytest.mark.parametrize("read_only", [False, True])
def test_a_server_that_only_reads_describes_nothing_that_writes(tmp_path: Path, read_only: bool) -> None:
    settings = settings_for(tmp_path, toolsets=["knowledge"], server__read_only=read_only)
    with Library(settings) as library:
        paths = create_app(library).openapi()["paths"]
    assert ("/api/v1/knowledge/source/{source_id}" in paths) is not read_only
    assert "/api/v1/knowledge/ask" in paths


def test_a_socket_that_was_refused_is_no_news(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with Library(settings_for(tmp_path)) as library:
        Server(uvicorn.Config(create_app(library), log_config=None), lambda: None)
        log = logging.getLogger("uvicorn.error")
        with caplog.at_level(logging.ERROR, "uvicorn.error"):
            log.error("ASGI callable returned without completing handshake.")
            log.error("Something else.")
    assert [record.getMessage() for record in caplog.records] == ["Something else."]


def test_a_caller_who_may_only_read_is_told_so_by_the_tools_of_code(tmp_path: Path) -> None:
    with Library(settings_for(tmp_path)) as library, calling(Caller("agent", scope="read")):
        given = {"content_type": "config", "source_path": "a.yaml", "content": "a: 1\n"}
        data = index_content.answer(library, given).data
    assert data is not None
    assert data["error"]["code"] == "INVALID_INPUT"  # their list of codes has none for it
    assert "may not write" in data["error"]["message"]
