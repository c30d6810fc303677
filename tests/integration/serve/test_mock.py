"""The mock server: a real one over samples, which keeps what it is sent and knows nothing else."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from jsonschema import Draft202012Validator
from serve_support import Running

from pinakes.api.mock import PUSHED, create_mock_app, sampled
from pinakes.settings import load
from pinakes.settings.layers import profiles
from pinakes.tools import TOOLS

KNOWLEDGE = "/api/v1/tools/manageKnowledge"
SENT = {"uri": "https://git.example.net/team/notes.md", "content": "Quorums need three voters.", "sourceId": "team/a"}


@contextmanager
def serving(home: Path, **chosen: Any) -> Iterator[Running]:
    settings = load(home=home, environment={}, server__port=0, mcp__structured_content=True, **chosen)
    with sampled(settings) as library:
        running = Running(create_mock_app(library), settings)
        try:
            yield running
        finally:
            running.stop()


@pytest.fixture(scope="module")
def mock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with serving(tmp_path_factory.mktemp("nowhere")) as running:
        yield running


def called(mock: Running, tool: str, /, **arguments: Any) -> dict[str, Any]:
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
    answer = mock.client.post("/mcp", json=call).json()["result"]
    found: dict[str, Any] = answer["structuredContent"]
    return found


def managed(mock: Running, operation: str, **arguments: Any) -> dict[str, Any]:
    answer = mock.client.post(KNOWLEDGE, json={"operation": operation, **arguments})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()["data"]["result"]
    return found


def arguments_for(mock: Running, name: str) -> dict[str, Any]:
    """Return what ``name`` can be called with, about the samples."""
    document = called(mock, "search_summaries", query="rotate the signing keys")["results"][0]["doc_id"]
    values: dict[str, Any] = {
        "query": "rotate the signing keys",
        "queries": ["rotate the signing keys", "backup"],
        "question": "How do we rotate the signing keys?",
        "doc_id": document,
        "doc_ids": [document],
        "chunk_index": 0,
        "document": "guides/keys.md",
        "title": "Voting",
        "text": "Quorums need three voters.",
        "documents": [{"title": "Voting", "text": "Quorums need three voters, or five."}],
        "content_type": "source_file",
        "source_path": "votes.py",
        "content": "def votes() -> int:\n    return 3\n",
        "operation": "search",
        "vendor_name": "Acme",
        "name": "Acme",
        "source": "Acme",
        "target": "Coldstore",
    }
    schema = next(tool for tool in TOOLS if tool.name == name).schema()
    others = {"manageKnowledge": ("operation", "query"), "get_document_chunk": ("doc_id", "chunk_index")}
    wanted = others.get(name, schema.get("required", ()))
    return {argument: values[argument] for argument in wanted}


@pytest.mark.parametrize("name", [tool.name for tool in TOOLS])
def test_every_tool_answers_what_its_schema_says(mock: Running, name: str) -> None:
    arguments = arguments_for(mock, name)
    if name in ("delete_document", "restore_document"):
        arguments["doc_id"] = called(mock, "ingest_document", title="Old", text=f"{name}: what is old.")["doc_id"]
    if name == "restore_document":
        called(mock, "delete_document", **arguments)
    found = called(mock, name, **arguments)
    assert found.get("success", True), found
    assert not found.get("error")
    schema = next(tool for tool in TOOLS if tool.name == name).output_schema()
    if schema is not None:
        Draft202012Validator(schema).validate(found)
    over_http = mock.client.post(f"/api/v1/tools/{name}", json=arguments)
    assert over_http.status_code == 200, over_http.text


def test_every_route_is_listed_and_answered(mock: Running) -> None:
    listed = {(one["method"], one["path"].replace(":path", "")) for one in mock.client.get("/routes").json()["routes"]}
    document = mock.client.get("/openapi.json").json()
    assert {(method.upper(), path) for path, methods in document["paths"].items() for method in methods} <= listed
    for method, path in sorted(listed):
        if method != "WEBSOCKET" and path not in ("/api/v1/tools/{name}", "/api/v1/events", "/mcp"):
            body = {"query": "rotate keys"} if path != "/api/v1/ask" else {"question": "rotate keys?"}
            parameters = document["paths"].get(path, {}).get(method.lower(), {}).get("parameters", [])
            entities = {"name": "Acme", "source": "Acme", "target": "Coldstore"} if "/graph" in path else {}
            asked = {one["name"]: entities[one["name"]] for one in parameters if one["name"] in entities}
            answer = mock.client.request(method, path.format(source_id="a%2Fb"), json=body, params=asked)
            assert answer.status_code == 200, (method, path, answer.text)


def test_what_is_sent_is_echoed_kept_and_found_until_it_is_deleted(mock: Running) -> None:
    ingested = managed(mock, "ingest", **SENT)
    assert (ingested["uri"], ingested["chunksCreated"]) == (SENT["uri"], 1)
    found = managed(mock, "search", query="how many voters need quorums")["chunks"][0]
    assert (found["id"], found["uri"], found["sourceId"]) == (ingested["chunkIds"][0], SENT["uri"], SENT["sourceId"])
    assert managed(mock, "getChunk", chunkId=found["id"])["chunk"]["content"] == SENT["content"]
    assert managed(mock, "deleteBySource", sourceId=SENT["sourceId"])["chunksDeleted"] == 1
    assert managed(mock, "getChunk", chunkId=found["id"])["error"]["chunkId"] == found["id"]


def test_what_was_never_there_is_not_found(mock: Running) -> None:
    assert managed(mock, "deleteByUri", uri="https://git.example.net/never.md")["chunksDeleted"] == 0
    assert managed(mock, "deleteBySource", sourceId="never/there")["chunksDeleted"] == 0
    assert managed(mock, "getChunk", chunkId="never")["error"]["message"] == "Chunk not found"
    assert called(mock, "get_document_metadata", doc_id="never")["error"] == "Document not found"
    assert mock.client.post("/api/v1/tools/never", json={}).status_code == 404
    assert mock.client.get("/api/v1/never").json()["error"]["code"] == "NOT_FOUND"


IDS = {"doc_id": "never", "doc_ids": ["never"], "document": "never", "content_id": "never"}


@pytest.mark.parametrize("name", [tool.name for tool in TOOLS if set(IDS) & set(tool.parameters.model_fields)])
def test_ids_that_are_not_known_are_named_in_a_field_of_their_own(mock: Running, name: str) -> None:
    known = next(tool for tool in TOOLS if tool.name == name).parameters.model_fields
    given = {**arguments_for(mock, name), **{one: value for one, value in IDS.items() if one in known}}
    told = called(mock, name, **given)
    where = told["error"] if isinstance(told.get("error"), dict) else told
    assert where["not_found"] == ["never"], told


def test_questions_are_answered_from_the_first_chunk(mock: Running) -> None:
    asked = mock.client.post("/api/v1/knowledge/ask", json={"query": "What is deployed by the pipeline?"}).json()
    assert asked["data"]["answer"] == f"{PUSHED['content'].splitlines()[-1]} [1]"
    assert asked["data"]["sources"][0]["uri"] == PUSHED["uri"]


@pytest.mark.parametrize("profile", profiles())
def test_every_profile_has_its_tools_and_they_find_the_samples(tmp_path: Path, profile: str) -> None:
    with serving(tmp_path, profile=profile) as mock:
        tools = mock.client.get("/api/v1/tools").json()["data"]["tools"]
        searches = [
            tool["name"] for tool in tools if set(tool["inputSchema"].get("required", ())) in ({"query"}, {"operation"})
        ]
        assert searches
        for name in searches:
            given = {"operation": "search"} if name == "manageKnowledge" else {}
            answer = mock.client.post(f"/api/v1/tools/{name}", json={"query": "deploy rotate signing keys", **given})
            assert answer.status_code == 200
            assert any(word in answer.text for word in ("Deploying", "Signing keys", "rotate_keys")), answer.text


def test_the_command_needs_no_home_and_leaves_nothing(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PINAKES_")}
    environment |= {"HOME": str(tmp_path), "TMPDIR": str(tmp_path)}
    command = [str(Path(sys.executable).parent / "pinakes"), "serve", "--mock", "--port", "0"]
    child = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    with child:
        try:
            assert child.stderr is not None
            line = child.stderr.readline()
            url = next(word for word in line.split() if word.startswith("http"))
            assert httpx.get(f"{url}/health").json()["indexed_documents"] > 0
            child.send_signal(signal.SIGTERM)
            assert child.wait(30) == 0
        finally:
            child.kill()
    assert list(tmp_path.iterdir()) == []
