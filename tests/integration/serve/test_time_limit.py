"""A search that takes longer than its callers wait is answered with an error that they can read."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest
from serve_support import Running

from pinakes.api.http_app import create_app
from pinakes.core.records import Float32
from pinakes.library import Library
from pinakes.models.embedders.deterministic import DeterministicEmbedder
from pinakes.settings import load


@pytest.mark.parametrize("route", ["/api/v1/tools/semantic_search", "/mcp"])
def test_in_the_kernel_profile_that_is_search_timeout_to_be_tried_again(
    route: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = threading.Event()

    def slow(embedder: DeterministicEmbedder, text: str) -> Float32:
        assert go_on.wait(30)
        return embedder.embed([text])[0]

    settings = load(
        home=tmp_path,
        environment={},
        profile="kernel",
        embedding__provider="deterministic",
        mcp__structured_content=True,
        server__port=0,
    )
    with Library(settings) as library:
        library.documents.put("int kmalloc(void);", title="slab.c", kind="code")
        monkeypatch.setattr(DeterministicEmbedder, "embed_query", slow)
        running = Running(create_app(library), settings)
        try:
            began = time.monotonic()
            refused = asked(running, route)
            assert 0.6 <= time.monotonic() - began < 20
            assert (refused["error"]["code"], refused["error"]["retryable"]) == ("SEARCH_TIMEOUT", True)
            assert "server.search_timeout_s" in refused["error"]["message"]
            go_on.set()
            assert until_answered(running, route)["results"]
        finally:
            go_on.set()
            running.stop()


def asked(running: Running, route: str) -> dict[str, Any]:
    """Return what `semantic_search` says."""
    question = {"query": "kmalloc"}
    if route == "/mcp":
        call = {"name": "semantic_search", "arguments": question}
        answer = running.client.post(route, json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call})
        found: dict[str, Any] = answer.json()["result"]["structuredContent"]
    else:
        found = running.client.post(route, json=question).json()["data"]["result"]
    return found


def until_answered(running: Running, route: str) -> dict[str, Any]:
    """Try again, as the error says, until there is an answer."""
    deadline = time.monotonic() + 30
    while "error" in (found := asked(running, route)):
        assert time.monotonic() < deadline, found
    return found
