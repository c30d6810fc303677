"""One refusal has one code, whichever way it is asked: on the command line, over HTTP, by its tools and over MCP."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from serve_support import Running, settings_for

from pinakes.api.http_app import create_app
from pinakes.cli.entry import run
from pinakes.library import Library

Asked = dict[str, Any]
REFUSALS: dict[str, tuple[str, list[str], Asked | None, tuple[str, Asked]]] = {
    # what is refused: its code, the command, the body of POST /search, the tool and its arguments
    "collection": (
        "NOT_FOUND",
        ["search", "herons", "-c", "nowhere"],
        {"query": "herons", "collection": "nowhere"},
        ("search", {"query": "herons", "collection": "nowhere"}),
    ),
    "too many": (
        "INVALID_INPUT",
        ["search", "herons", "-k", "9999"],
        {"query": "herons", "top_k": 9999},
        ("search", {"query": "herons", "top_k": 9999}),
    ),
    "no number": (
        "INVALID_INPUT",
        ["search", "herons", "-k", "many"],
        {"query": "herons", "top_k": "many"},
        ("search", {"query": "herons", "top_k": "many"}),
    ),
    "no query": ("INVALID_INPUT", ["search"], {}, ("search", {})),
    "filter": (
        "INVALID_FILTER",
        ["search", "herons", "-f", "a>=="],
        {"query": "herons", "filters": {"a": {"zz": 1}}},
        ("search", {"query": "herons", "filters": {"a": {"zz": 1}}}),
    ),
    "text": ("NOT_FOUND", ["read", "no.md"], None, ("read", {"document": "no.md"})),
    "document": ("NOT_FOUND", ["document", "show", "none"], None, ("get_document_metadata", {"doc_id": "none"})),
    "deletion": ("NOT_FOUND", ["document", "delete", "none"], None, ("delete_document", {"doc_id": "none"})),
    "version": (
        "CONFLICT",
        ["document", "delete", "ID", "--if-version", "7"],
        None,
        ("delete_document", {"doc_id": "ID", "if_version": 7}),
    ),
}


@pytest.fixture
def place(tmp_path: Path) -> Iterator[tuple[Path, Running, str]]:
    settings = settings_for(tmp_path / "home", toolsets=["search", "manage"])
    with Library(settings) as library:
        uid = library.documents.put("Herons wait.", title="Herons").document.uid
        running = Running(create_app(library), settings)
        yield settings.home, running, uid
        running.stop()


@pytest.mark.parametrize("refused", REFUSALS)
def test_a_refusal_has_one_code(
    refused: str, place: tuple[Path, Running, str], capsys: pytest.CaptureFixture[str]
) -> None:
    home, server, uid = place
    code, command, body, (tool, arguments) = REFUSALS[refused]
    arguments = {name: uid if value == "ID" else value for name, value in arguments.items()}
    words = [uid if word == "ID" else word for word in command]
    common = ["--home", str(home), "--set", "embedding.provider=deterministic"]
    assert run([*common, *words, "--json"]) != 0
    codes = {"command line": json.loads(capsys.readouterr().out)["error"]["code"]}
    if body is not None:
        answer = httpx.post(f"{server.url}/search", json=body)
        assert answer.status_code >= 400
        codes["HTTP"] = answer.json()["code"]
    codes["tool"] = httpx.post(f"{server.url}/api/v1/tools/{tool}", json=arguments).json()["data"]["errorCode"]
    params = {"name": tool, "arguments": arguments}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    headers = {"Accept": "application/json, text/event-stream"}
    told = httpx.post(f"{server.url}/mcp", json=message, headers=headers).json()["result"]
    codes["MCP"] = told["_meta"]["errorCode"]
    assert codes == dict.fromkeys(codes, code)


def test_what_is_answered_has_no_code(place: tuple[Path, Running, str]) -> None:
    _, server, _ = place
    params = {"name": "search", "arguments": {"query": "herons"}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    headers = {"Accept": "application/json, text/event-stream"}
    assert "_meta" not in httpx.post(f"{server.url}/mcp", json=message, headers=headers).json()["result"]
