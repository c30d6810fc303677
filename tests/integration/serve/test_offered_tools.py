"""Which tools a server offers, and that it does nothing beside them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from forking import PINAKES, Forked
from serve_support import Running

from pinakes.api.http_app import create_app
from pinakes.library import Library
from pinakes.settings import load

WRITING = {"ingest_document", "ingest_batch", "update_document", "delete_document", "kb_resync"}
NOTE = {"title": "Leave", "text": "Unused days are carried over until March."}
Serve = Callable[..., Running]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Start servers over one home."""
    started: list[tuple[Running, Library]] = []

    def start(**settings: Any) -> Running:
        chosen = load(
            home=tmp_path / "home",
            environment={},
            embedding__provider="deterministic",
            mcp__structured_content=True,
            server__port=0,
            **settings,
        )
        library = Library(chosen)
        started.append((Running(create_app(library), chosen), library))
        return started[-1][0]

    yield start
    for running, library in started:
        running.stop()
        library.close()


def mcp(server: Running, method: str, **params: Any) -> dict[str, Any]:
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    result: dict[str, Any] = server.client.post("/mcp", json=message).json()["result"]
    return result


def listed(server: Running) -> set[str]:
    return {tool["name"] for tool in mcp(server, "tools/list")["tools"]}


def called(server: Running, tool: str, **arguments: Any) -> Any:
    result = mcp(server, "tools/call", name=tool, arguments=arguments)
    assert result["isError"] is False
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
    return result["structuredContent"]


def failed(server: Running, tool: str, **arguments: Any) -> Any:
    result = mcp(server, "tools/call", name=tool, arguments=arguments)
    assert result["isError"] is True
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
    return result["structuredContent"]


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("search_summaries", {}),
        ("get_document_chunk", {"doc_id": "none", "chunk_index": 0}),
        ("find_similar", {"doc_id": "none"}),
        ("ingest_document", {"title": "", "text": "x"}),
        ("delete_document", {"doc_id": 3}),
        ("kb_resync", {"no": "such parameter"}),
        ("document_history", {"doc_id": "none"}),
        ("semantic_search", {"query": ""}),
        ("find_vendor_info", {"vendor_name": "Nobody"}),
        ("entity_path", {"source": "Nobody", "target": "None"}),
    ],
)
def test_a_call_that_fails_is_an_error_to_the_protocol(serve: Serve, tool: str, arguments: dict[str, Any]) -> None:
    server = serve(toolsets=["retrieve", "manage", "observe", "history", "graph", "code"])
    assert failed(server, tool, **arguments)["error"]


def test_an_agent_keeps_documents_over_mcp_and_http_alike(serve: Serve) -> None:
    server = serve()
    assert len(listed(server)) == 17
    over_mcp = called(server, "ingest_document", **NOTE)
    over_http = server.client.post("/api/v1/tools/ingest_document", json=NOTE).json()["data"]["result"]
    assert over_http == over_mcp | {"outcome": "unchanged"}
    [found] = called(server, "search_summaries", query="unused days")["results"]
    assert found["doc_id"] == over_mcp["doc_id"]
    assert called(server, "delete_document", doc_id=found["doc_id"]) == {"doc_id": found["doc_id"], "deleted": True}
    assert failed(server, "update_document", doc_id=found["doc_id"], title="X") == {
        "error": "Document not found",
        "not_found": [found["doc_id"]],
    }
    told = server.client.post("/api/v1/tools/ingest_document", json={"title": "", "text": "x"})
    assert told.status_code == 200
    assert told.json()["data"]["result"] == {"status": "error", "error": "Title must not be empty"}


def test_a_server_that_only_reads_neither_lists_nor_does_what_writes(serve: Serve) -> None:
    kept = called(serve(), "ingest_document", **NOTE)
    server = serve(server__read_only=True, toolsets=["retrieve", "manage", "observe", "code", "history", "knowledge"])
    names = listed(server)
    assert not names & (WRITING | {"index_content", "restore_document"})
    assert {"search_summaries", "get_document_metadata", "semantic_search", "manageKnowledge"} <= names
    refused = mcp(server, "tools/call", name="delete_document", arguments={"doc_id": kept["doc_id"]})
    assert refused["isError"] is True
    assert server.client.post("/api/v1/tools/ingest_document", json=NOTE).status_code == 404
    knowledge = {"operation": "ingest", "content": "x", "uri": "https://a.b/c"}
    assert called(server, "manageKnowledge", **knowledge)["error"] == "FORBIDDEN"
    assert called(server, "manageKnowledge", operation="search", query="days")["success"] is True
    assert server.client.delete("/api/v1/knowledge/source/docs").status_code == 403
    about = called(server, "get_document_metadata", doc_id=kept["doc_id"])
    assert (about["title"], about["version"]) == ("Leave", 1)
    assert [one["name"] for one in called(server, "list_collections")["collections"]] == ["default"]


def test_what_is_of_a_toolset_that_is_off_says_how_to_turn_it_on(serve: Serve) -> None:
    server = serve(toolsets=["search", "code"], server__read_only=True)
    refused = mcp(server, "tools/call", name="graph_overview", arguments={})
    assert refused["isError"] is True
    [told] = refused["content"]
    on = "to the setting toolsets (config.toml in the server's home, or --toolsets where it is started)"
    assert told["text"].startswith("The tool 'graph_overview' of the toolset 'graph' is not offered here.")
    assert f"Add 'graph' {on}" in told["text"]
    writes = mcp(server, "tools/call", name="index_content", arguments={})
    assert "It writes, and nothing may be changed here: server.read_only is set." in writes["content"][0]["text"]
    unknown = mcp(server, "tools/call", name="no_such_tool", arguments={})
    assert unknown["content"][0]["text"] == "Unknown tool: 'no_such_tool'"
    route = server.client.post("/api/v1/knowledge/ask", json={"query": "x"})
    assert route.status_code == 404
    assert f"Add 'knowledge' {on}" in route.json()["error"]["details"]["hint"]
    message = {"jsonrpc": "2.0", "id": 1, "method": "prompts/get", "params": {"name": "x", "arguments": {}}}
    assert f"Add 'retrieve' {on}" in server.client.post("/mcp", json=message).json()["error"]["data"]["hint"]


def stdio(home: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Ask ``pinakes mcp`` for its tools."""
    message = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    words = ["mcp", "--home", str(home), *options, "--set", "embedding.provider=deterministic"]
    with Forked(PINAKES, *words) as process:
        out, err = process.communicate(f"{message}\n".encode(), timeout=120)
        return subprocess.CompletedProcess(words, process.wait(), out.decode(), err.decode())


def names_of(done: subprocess.CompletedProcess[str]) -> list[str]:
    assert done.returncode == 0, done.stderr
    return [tool["name"] for tool in json.loads(done.stdout)["result"]["tools"]]


def test_the_command_line_chooses_toolsets_and_reading_only(tmp_path: Path) -> None:
    assert names_of(stdio(tmp_path, "--toolsets", "search, code")) == [
        *("search", "read", "status", "metadata_report", "list_sources"),
        *("semantic_search", "index_content", "get_index_status"),
    ]
    assert names_of(stdio(tmp_path, "--toolsets", "code,history", "--read-only")) == [
        *("document_history", "semantic_search", "get_index_status"),
    ]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--toolsets", "retrieve,serach"], "cannot be 'serach': it has to be 'ask', 'code', 'graph', 'history'"),
        (["--toolsets", "search", "--url", "http://127.0.0.1:1"], "The server at --url decides on its tools."),
        (["--read-only", "--url", "http://127.0.0.1:1"], "Leave out --toolsets and --read-only."),
    ],
)
def test_what_cannot_be_offered_is_refused_at_once(tmp_path: Path, options: list[str], words: str) -> None:
    done = stdio(tmp_path, *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in " ".join(done.stderr.split())


def test_servers_that_differ_in_what_they_allow_do_not_answer_for_each_other(tmp_path: Path) -> None:
    from pinakes.api.instance import serves

    every = [
        load(home=tmp_path, environment={}, **one) for one in ({}, {"server__read_only": True}, {"server__port": 1})
    ]
    assert serves(every[0]) == serves(every[2]) != serves(every[1])
