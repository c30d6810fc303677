"""The mock server: fixed answers, which are those of the real server and say what the schemas say."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import mock_fixtures
import pytest
from jsonschema import Draft202012Validator
from serve_support import Running
from websockets.sync.client import connect

from pinakes.library import Library
from pinakes.serve.app import create_app
from pinakes.serve.mock import Fixtures, create_mock_app, empty
from pinakes.settings import load
from pinakes.tools import TOOLS, tools_of

KNOWN = Fixtures.load()
CASES = [(name, case) for name, cases in KNOWN.tools.items() for case in cases]
TOOL = "/api/v1/tools/manageKnowledge"
URI = mock_fixtures.URI
BY_HIT = {"answerable", "changed", "duplicates"}
"""Keys that depend on which passages an embedding model puts first."""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    settings = load(
        home=tmp_path_factory.mktemp("nowhere"), environment={}, server__port=0, mcp__structured_content=True
    )
    with Library(empty(settings, tmp_path_factory.mktemp("empty"))) as opened:
        yield opened


@pytest.fixture(scope="module")
def mock(library: Library) -> Iterator[Running]:
    running = Running(create_mock_app(library), library.settings)
    yield running
    running.stop()


def places(value: Any, at: str = "") -> set[str]:
    """Return where what kind of value stands, such as ``results[].title: str``.

    The metadata of a document may be anything; ``BY_HIT`` is left out.
    """
    if isinstance(value, dict):
        known = {name: {} if name == "metadata" else one for name, one in value.items() if name not in BY_HIT}
        return {f"{at}: dict"}.union(*(places(one, f"{at}.{name}") for name, one in known.items()))
    if isinstance(value, list):
        return {f"{at}: list"}.union(*(places(one, f"{at}[]") for one in value if isinstance(one, dict)))
    return {f"{at}: {'number' if type(value) in (int, float) else type(value).__name__}"}


def answered(server: Running, **arguments: Any) -> Any:
    answer = server.client.post(TOOL, json=arguments)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_every_fixture_is_what_the_real_server_answers(tmp_path: Path) -> None:
    real = mock_fixtures.record(tmp_path)
    kept = json.loads(mock_fixtures.FILE.read_text("utf-8"))
    again = "write them anew: python tests/integration/serve/mock_fixtures.py onnx"
    assert (set(kept["tools"]), set(kept["routes"])) == (set(real["tools"]), set(real["routes"])), again
    for name, cases in real["tools"].items():
        assert [case["when"] for case in kept["tools"][name]] == [case["when"] for case in cases], again
        for one, other in zip(kept["tools"][name], cases, strict=True):
            assert places(one["data"], name) == places(other["data"], name), again
    for route, answer in real["routes"].items():
        assert places(kept["routes"][route], route) == places(answer, route), again
    assert places(kept["socket"]) == places(real["socket"]), again


def test_every_tool_has_a_fixture() -> None:
    assert set(KNOWN.tools) == {tool.name for tool in TOOLS}


@pytest.mark.parametrize(("name", "case"), CASES, ids=lambda value: value if isinstance(value, str) else "")
def test_every_fixture_of_a_tool_fits_its_schema(name: str, case: dict[str, Any]) -> None:
    tool = next(tool for tool in TOOLS if tool.name == name)
    assert set(case["when"]) <= set(tool.parameters.model_fields)
    if tool.returns is not None and case["data"].get("success") is not False:
        tool.returns.model_validate(case["data"])
    schema = tool.output_schema()
    if schema is not None:
        Draft202012Validator(schema).validate(case["data"])


def test_every_fixture_of_a_route_fits_what_the_api_says(mock: Running) -> None:
    document = mock.client.get("/openapi.json").json()
    for route, answer in KNOWN.routes.items():
        method, path = route.lower().split()
        responses = document["paths"][path][method]["responses"]
        schema = responses["200"]["content"]["application/json"]["schema"]
        Draft202012Validator({**schema, "components": document["components"]}).validate(answer["body"])


def test_every_route_is_listed_and_answered(mock: Running) -> None:
    listed = mock.client.get("/routes").json()["routes"]
    assert {one["answer"] for one in listed} == {"fixture", "real"}
    known = {(one["method"], one["path"]) for one in listed}
    document = mock.client.get("/openapi.json").json()
    assert {(method.upper(), path) for path, methods in document["paths"].items() for method in methods} <= known
    for one in listed:
        if one["method"] != "WEBSOCKET" and one["path"] not in ("/api/v1/tools/{name}", "/api/v1/events", "/mcp"):
            answer = mock.client.request(one["method"], one["path"].format(source_id="a%2Fb"), json={"query": "a"})
            assert answer.status_code == 200, one


def test_the_stream_of_events_is_open_and_nothing_happens(mock: Running) -> None:
    with mock.client.stream("GET", "/api/v1/events") as answer:
        assert answer.status_code == 200
        assert next(answer.iter_lines()) == "retry: 1000"


@pytest.mark.parametrize("name", [tool.name for tool in TOOLS])
def test_every_tool_answers_over_http_and_mcp_alike(mock: Running, name: str) -> None:
    tool = next(tool for tool in TOOLS if tool.name == name)
    given = {"string": "example", "integer": 1, "array": ["one", "two"], "object": {}, "number": 1, "boolean": True}
    schema = tool.schema()
    arguments = {one: given[schema["properties"][one]["type"]] for one in schema.get("required", ())}
    if name == "manageKnowledge":
        arguments = {"operation": "search", "query": "how to deploy"}
    if name == "index_content":
        arguments["content_type"] = "source_file"
    if name == "ingest_batch":
        arguments = {"documents": [{"title": "Deploying", "text": "A text."}]}
    answer = mock.client.post(f"/api/v1/tools/{name}", json=arguments)
    assert answer.status_code == 200, answer.text
    body = answer.json()
    assert "error" not in body, body["error"]
    result = body["data"]["result"]
    assert result in [case["data"] for case in KNOWN.tools[name]]
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
    assert mock.client.post("/mcp", json=call).json()["result"]["structuredContent"] == result


def test_each_operation_is_answered_wrapped_and_flat(mock: Running) -> None:
    ingested = answered(mock, operation="ingest", content="A text.", uri=URI)
    assert ingested["data"]["result"]["operation"] == ingested["operation"] == "ingest"
    assert ingested["chunksCreated"] == len(ingested["chunkIds"]) > 0
    found = answered(mock, operation="search", query="how to deploy")
    assert found["chunks"][0]["id"] == ingested["chunkIds"][0]
    assert answered(mock, operation="getChunk", chunkId=ingested["chunkIds"][0])["chunk"]["uri"] == URI
    assert answered(mock, operation="deleteByUri", uri=URI)["chunksDeleted"] > 0
    assert answered(mock, operation="deleteBySource", sourceId="docs")["chunksDeleted"] > 0
    assert answered(mock, operation="ingest", content="A text.", uri=URI)["chunkIds"] == ingested["chunkIds"]


def test_what_is_missing_is_told_as_the_real_server_does(mock: Running) -> None:
    lacking = answered(mock, operation="ingest", uri=URI)
    assert lacking["error"]["message"] == "Missing required parameter: content"
    assert lacking["error"] == lacking["data"]["result"]["error"]
    unknown = answered(mock, operation="dance")["error"]
    assert (unknown["message"], unknown["operation"]) == ("Unsupported operation: dance", "dance")
    assert "supportedOperations" in unknown
    refused = mock.client.post("/api/v1/tools/search_summaries", json={"colour": "red"}).json()
    assert "colour" in refused["error"]
    assert mock.client.post("/api/v1/tools/nothing", json={}).status_code == 404
    assert mock.client.post(TOOL, content=b"[]").status_code == 400
    assert mock.client.get("/api/v1/nothing").json()["error"]["code"] == "NOT_FOUND"
    assert mock.client.get(TOOL).status_code == 405


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/search", b'{"query": "x", "bad": 1}', 422),
        ("/search", b"{}", 422),
        ("/search", b"[", 422),
        ("/api/v1/knowledge/ask", b"{}", 400),
        ("/api/v1/knowledge/ask", b'{"query": "x", "limit": 0}', 400),
        ("/api/v1/knowledge/ask", b"[]", 400),
    ],
)
def test_a_body_that_the_real_server_refuses_is_refused_in_its_words(
    mock: Running, library: Library, path: str, body: bytes, status: int
) -> None:
    real = Running(create_app(library), library.settings)
    try:
        answers = [
            server.client.post(path, content=body, headers={"Content-Type": "application/json"})
            for server in (mock, real)
        ]
    finally:
        real.stop()
    assert [answer.status_code for answer in answers] == [status, status]
    one, other = ({**answer.json(), "meta": None} for answer in answers)
    assert one == other


def test_what_has_no_fixture_is_answered_with_501_and_words(library: Library) -> None:
    server = Running(create_mock_app(library, Fixtures({}, {}, ())), library.settings)
    try:
        for method, path in (("GET", "/stats"), ("POST", "/api/v1/knowledge/ask"), ("POST", TOOL)):
            answer = server.client.request(method, path, json={"operation": "search", "query": "a"})
            assert answer.status_code == 501
            body = answer.json()
            assert "mock server has no answer" in (body["error"]["message"] if "error" in body else body["detail"])
        listed = server.client.get("/routes").json()["routes"]
        assert {"method": "GET", "path": "/stats", "answer": "none"} in listed
        assert server.client.get("/healthz").json() == {"status": "ok"}
    finally:
        server.stop()


def test_a_socket_gets_the_stages_with_its_own_ids(mock: Running) -> None:
    with connect(mock.url.replace("http", "ws", 1) + "/ws/search", proxy=None) as socket:
        for broken in ("{", b"\xff"):
            socket.send(broken)
            assert json.loads(socket.recv(timeout=30))["error"]["code"] == "INVALID_INPUT"
        for id_ in ("a", 2):
            socket.send(json.dumps({"id": id_, "query": "keys"}))
            stages = [json.loads(socket.recv(timeout=30)) for _ in KNOWN.socket]
            assert [one["id"] for one in stages] == [id_, id_]
            assert [one["stage"] for one in stages] == ["keyword", "fused"]
            assert stages[-1]["done"]


def test_pages_of_other_sites_are_refused(mock: Running) -> None:
    assert mock.client.get("/health", headers={"Origin": "https://evil.example"}).status_code == 403


def test_a_profile_decides_which_tools_there_are(tmp_path: Path) -> None:
    settings = empty(load(home=tmp_path, profile="platform", environment={}), tmp_path / "empty")
    assert {tool.toolset for tool in tools_of(settings)} == {"knowledge"}


def test_searches_of_a_profile_are_answered_by_their_template(tmp_path: Path) -> None:
    settings = empty(load(home=tmp_path, profile="kep", environment={}, server__port=0), tmp_path / "empty")
    with Library(settings) as library:
        server = Running(create_mock_app(library), settings)
        try:
            name = settings.tools[0].name
            answer = server.client.post(f"/api/v1/tools/{name}", json={"query": "tokens"}).json()
            assert "Signing keys" in answer["text"]
        finally:
            server.stop()


def test_the_command_needs_no_home_and_makes_none(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PINAKES_")}
    environment |= {"HOME": str(tmp_path), "TMPDIR": str(tmp_path)}
    command = [str(Path(sys.executable).parent / "pinakes"), "serve", "--mock", "--port", "0"]
    child = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    with child:
        try:
            assert child.stderr is not None
            line = child.stderr.readline()
            url = next(word for word in line.split() if word.startswith("http"))
            assert httpx.get(f"{url}/health").json()["status"] == "healthy"
            child.send_signal(signal.SIGTERM)
            assert child.wait(30) == 0
        finally:
            child.kill()
    assert list(tmp_path.iterdir()) == []
