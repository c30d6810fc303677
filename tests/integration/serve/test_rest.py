"""The tools over plain HTTP, in the envelope of ``/api/v1``, asked over a real port."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from threading import Event
from typing import Any

import httpx
import pytest
from forking import Forked
from jsonschema import Draft202012Validator
from serve_support import Running, settings_for

from pinakes.api.http_app import create_app
from pinakes.api.rest import MODELS
from pinakes.library import Library
from pinakes.tools import tools_of
from pinakes.tools.declare import Reply, tool
from pinakes.tools.listing_limits import listing_for

SEARCH = "/api/v1/tools/search"
RELEASED = Event()


class Heard(Reply):
    """What was said."""

    words: str
    tool: str


@tool(toolset="search", read_only=False, tags=("ear", "echo"))
def listen(library: Library, words: str) -> Heard:
    """Hear what is said."""
    if words == "too loud":
        raise RuntimeError("secret words")
    if words == "wait":
        RELEASED.wait(30)
    return Heard(words=words, tool="an ear")


@pytest.fixture(scope="module")
def library(home: Path) -> Iterator[Library]:
    with Library(settings_for(home, server__port=0, toolsets=("search",), tools=())) as opened:
        yield opened


@pytest.fixture(scope="module")
def server(library: Library) -> Iterator[Running]:
    running = Running(create_app(library), library.settings)
    yield running
    running.stop()


@pytest.fixture
def ear(library: Library, monkeypatch: pytest.MonkeyPatch) -> Any:
    from pinakes.api import rest

    monkeypatch.setattr(rest, "tools_of", lambda settings: (*tools_of(settings), listen))
    server = Running(create_app(library), library.settings)
    yield server
    server.stop()


def post(server: Running, path: str, body: object) -> Any:
    answer = server.client.post(path, json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def error_of(answer: httpx.Response) -> dict[str, Any]:
    body = answer.json()
    assert body["success"] is False
    assert set(body) == {"success", "error", "meta"}
    check_meta(body["meta"])
    error: dict[str, Any] = body["error"]
    return error


def check_meta(meta: dict[str, Any]) -> None:
    assert set(meta) == {"timestamp", "requestId", "version"}
    assert meta["version"] == "v1"
    assert re.fullmatch(r"rest_\d{13}_\d+", meta["requestId"])
    assert datetime.fromisoformat(meta["timestamp"]).tzinfo is not None


def test_a_tool_answers_in_the_envelope_and_beside_it(server: Running) -> None:
    body = post(server, SEARCH, {"query": "CRD conversion", "top_k": 2})
    assert body["success"] is True
    check_meta(body["meta"])
    data = body["data"]
    assert set(data) == {"result", "tool", "executionTime"}
    assert data["tool"] == "search"
    assert isinstance(data["executionTime"], int)
    assert data["result"]["passages"]
    assert {key: body[key] for key in data["result"]} == data["result"]
    assert "error" not in body


def test_the_answer_is_that_of_mcp(server: Running) -> None:
    arguments = {"document": "keps/sig-auth/1205-bound-tokens/README.md", "start_line": 1, "end_line": 3}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "read", "arguments": arguments}}
    over_mcp = server.client.post("/mcp", json=call).json()["result"]["structuredContent"]
    assert post(server, "/api/v1/tools/read", arguments)["data"]["result"] == over_mcp


def test_two_answers_never_have_the_same_request_id(server: Running) -> None:
    with ThreadPoolExecutor(8) as threads:
        ids = list(threads.map(lambda _: post(server, "/api/v1/tools/status", {})["meta"]["requestId"], range(24)))
    assert len(set(ids)) == len(ids)


def test_what_goes_wrong_in_a_tool_is_told_in_its_answer_and_at_the_top(server: Running) -> None:
    body = post(server, "/api/v1/tools/read", {"document": "no-such-file.md"})
    assert body["success"] is True
    assert body["error"] == body["data"]["result"]["error"]
    assert body["error"]["code"] == body["data"]["errorCode"] == "NOT_FOUND"
    assert "no-such-file.md" in body["error"]["message"]


@pytest.mark.parametrize(
    ("arguments", "word"),
    [({}, "query is missing"), ({"query": 7}, "query"), ({"query": "a", "colour": "red"}, "colour")],
)
def test_wrong_arguments_are_told_in_the_answer(server: Running, arguments: dict[str, Any], word: str) -> None:
    error = post(server, SEARCH, arguments)["error"]
    assert error["code"] == "INVALID_INPUT"
    assert word in error["message"]


def test_keys_of_a_result_never_hide_those_of_the_envelope(ear: Running) -> None:
    body = post(ear, "/api/v1/tools/listen", {"words": "hello"})
    assert body["words"] == "hello"
    assert body["data"]["tool"] == "listen"
    assert body["tool"] == "an ear"


def test_an_unexpected_failure_is_told_as_such_without_internals(ear: Running) -> None:
    answer = ear.client.post("/api/v1/tools/listen", json={"words": "too loud"})
    assert answer.status_code == 500
    assert error_of(answer)["code"] == "EXECUTION_ERROR"
    assert "secret" not in answer.text
    assert post(ear, "/api/v1/tools/listen", {"words": "softer"})["words"] == "softer"


def test_an_unknown_tool_is_named(server: Running) -> None:
    answer = server.client.post("/api/v1/tools/no_such_tool", json={})
    assert answer.status_code == 404
    error = error_of(answer)
    assert (error["code"], error["message"]) == ("TOOL_NOT_FOUND", "Tool 'no_such_tool' not found")
    assert "search" in error["details"]["availableTools"]


@pytest.mark.parametrize(
    "content",
    [b"", b"[]", b'"text"', b"null", b"3", b"{", b'{"query": NaN}', b"\xff", b"[" * 100_000, b'{"query": "\\ud800"}'],
)
def test_a_body_that_is_no_json_object_is_refused(server: Running, content: bytes) -> None:
    answer = server.client.post(SEARCH, content=content, headers={"Content-Type": "application/json"})
    assert answer.status_code == 400
    error = error_of(answer)
    assert (error["code"], error["message"]) == ("INVALID_REQUEST", "Request body must be a JSON object")


def test_the_content_type_of_a_body_does_not_matter(server: Running) -> None:
    answer = server.client.post(SEARCH, content=b'{"query": "CRD"}', headers={"Content-Type": "text/plain"})
    assert answer.status_code == 200


@pytest.mark.parametrize("path", ["/api/v1", "/api/v1/", "/api/v1/nothing", "/api/v1/tools/a/b", "/api/v1/knowledge"])
def test_an_unknown_route_is_told_in_the_envelope(server: Running, path: str) -> None:
    answer = server.client.get(path)
    assert answer.status_code == 404
    error = error_of(answer)
    assert (error["code"], error["message"]) == ("NOT_FOUND", "API endpoint not found")


@pytest.mark.parametrize(
    ("method", "path", "allowed"), [("GET", SEARCH, "POST"), ("PUT", SEARCH, "POST"), ("POST", "/api/v1/tools", "GET")]
)
def test_another_method_is_refused_with_the_one_there_is(server: Running, method: str, path: str, allowed: str) -> None:
    answer = server.client.request(method, path)
    assert answer.status_code == 405
    assert answer.headers["allow"] == allowed
    error = error_of(answer)
    assert (error["code"], error["message"]) == ("METHOD_NOT_ALLOWED", f"Only {allowed} method allowed")


def test_pages_of_this_machine_may_call_tools(server: Running) -> None:
    origin = {"Origin": "http://localhost:3000"}
    preflight = server.client.options(SEARCH, headers=origin | {"Access-Control-Request-Method": "POST"})
    assert preflight.status_code == 204
    answer = server.client.post(SEARCH, json={"query": "CRD"}, headers=origin)
    assert answer.headers["access-control-allow-origin"] == origin["Origin"]


def test_what_the_guard_refuses_is_told_in_the_envelope(start: Callable[..., Running]) -> None:
    server = start(max_body_bytes=1000)
    foreign = server.client.post(SEARCH, json={"query": "CRD"}, headers={"Host": "evil.example"})
    assert (foreign.status_code, error_of(foreign)["code"]) == (403, "FORBIDDEN")
    large = httpx.post(server.url + SEARCH, json={"query": "a" * 2000})
    assert (large.status_code, error_of(large)["code"]) == (413, "TOO_LARGE")


@pytest.mark.parametrize("line", ["Ключи меняются раз в год. ", 'Line "with quotes"\tand tabs.\n'])
def test_a_document_of_a_megabyte_is_kept_in_one_call(tmp_path: Path, line: str) -> None:
    text = line * (1_000_000 // len(line.encode()))
    body = json.dumps({"title": "A long one", "text": text})  # letters and quotes are escaped, which makes more of it
    assert len(text.encode()) > 999_900
    assert len(body) > 1_100_000
    settings = settings_for(tmp_path, server__port=0, toolsets=("manage",), tools=(), collection="notes")
    with Library(settings) as library:
        server = Running(create_app(library), settings)
        try:
            answer = server.client.post("/api/v1/tools/ingest_document", content=body, timeout=120).json()
            assert answer["status"] == "indexed"
            assert library.read(answer["doc_id"], "notes").text == text
        finally:
            server.stop()


def test_nothing_is_lost_on_the_way(ear: Running) -> None:
    words = "".join(f'Line {n} has "quotes", a tab\t, a \\, an ü and a 🦡.\n' for n in range(2_700))
    assert post(ear, "/api/v1/tools/listen", {"words": words})["words"] == words


def test_a_client_that_leaves_in_the_middle_harms_nothing(server: Running) -> None:
    host, port = server.client.base_url.host, server.client.base_url.port
    assert port is not None
    head = f"POST {SEARCH} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
    whole = b'{"query": "CRD conversion", "top_k": 50}'
    for length, sent in ((len(whole), whole), (len(whole), whole[:9]), (10**6, whole)):
        with socket.create_connection((host, port)) as client:
            client.sendall(f"{head}Content-Length: {length}\r\n\r\n".encode() + sent)
    assert post(server, SEARCH, {"query": "CRD"})["data"]["result"]["passages"]


def test_calls_that_write_have_time_and_threads_of_their_own(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pinakes.api import mcp, rest

    for interface in (mcp, rest):
        monkeypatch.setattr(interface, "tools_of", lambda settings: (*tools_of(settings), listen))
    RELEASED.clear()
    chosen = settings_for(home, server__port=0, server__write_timeout_s=0.05, toolsets=("search",), tools=())
    with Library(chosen) as library:
        server = Running(create_app(library), chosen)
        try:
            write_past_the_time(server)
        finally:
            RELEASED.set()
            server.stop()


def write_past_the_time(server: Running) -> None:
    for _ in range((os.cpu_count() or 1) + 2):
        error = post(server, "/api/v1/tools/listen", {"words": "wait"})["error"]
        assert (error["code"], error["retryable"]) == ("BUSY", True)
        assert "server.write_timeout_s" in error["hint"]
    params = {"name": "listen", "arguments": {"words": "wait"}}
    over_mcp = server.client.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    assert over_mcp.json()["result"]["isError"] is True
    assert "server.write_timeout_s" in over_mcp.json()["result"]["content"][0]["text"]
    assert post(server, SEARCH, {"query": "CRD"})["data"]["result"]["passages"]


def test_the_tools_are_listed_with_their_schemas(server: Running, library: Library) -> None:
    body = server.client.get("/api/v1/tools").json()
    assert (body["success"], set(body["data"])) == (True, {"tools", "total", "categories", "tags"})
    listed = {one["name"]: one for one in body["data"]["tools"]}
    assert list(listed) == [one.name for one in tools_of(library.settings)]
    assert body["data"]["total"] == len(listed)
    assert body["data"]["categories"] == sorted({one["category"] for one in listed.values()})
    for one in listed.values():
        assert one["schema"] == one["inputSchema"]
        assert [about["name"] for about in one["parameters"]] == list(one["schema"]["properties"])
        required = {about["name"] for about in one["parameters"] if about["required"]}
        assert required == set(one["schema"].get("required", []))
    modes = next(about for about in listed["search"]["parameters"] if about["name"] == "mode")
    assert (modes["type"], modes["required"]) == ("string", False)
    assert "keyword" in modes["enum"]
    assert "keyword for exact" in modes["description"]


def test_the_list_can_be_narrowed(ear: Running) -> None:
    def names(**asked: str) -> list[str]:
        data = ear.client.get("/api/v1/tools", params=asked).json()["data"]
        assert data["total"] == len(data["tools"])
        assert {"ear", "echo"} <= set(data["tags"])
        return [one["name"] for one in data["tools"]]

    assert names(tag="echo") == names(tag="ECHO") == ["listen"]
    assert names(search="hear what") == ["listen"]
    of_search = {"search", "read", "status", "metadata_report", "list_sources"}
    assert of_search | {"listen"} == set(names(category="search"))
    assert names(category="Search", tag="ear") == ["listen"]
    assert names(category="Nothing") == names(search="zebra") == []


def test_the_openapi_document_has_a_path_for_every_tool(server: Running, library: Library) -> None:
    document = server.client.get("/api/v1/openapi").json()
    assert document["openapi"].startswith("3.1")
    for one in tools_of(library.settings):
        operation = document["paths"][f"/api/v1/tools/{one.name}"]["post"]
        assert operation["operationId"] == one.name
        schema = operation["requestBody"]["content"]["application/json"]["schema"]
        assert schema == listing_for(one, library.settings)["inputSchema"]
        Draft202012Validator.check_schema(schema)
    assert {"/api/v1/tools", "/api/v1/openapi"} <= set(document["paths"])
    assert not any("{name}" in path or not path.startswith("/api/v1/") for path in document["paths"])
    named = {"RestApiResponse", "ToolExecutionResponse", "ToolDiscoveryResponse", "ToolInfo", "ErrorResponse"}
    assert named == {model.__name__ for model in MODELS} <= set(document["components"]["schemas"])


def test_every_reference_of_the_openapi_document_leads_somewhere(server: Running) -> None:
    document = server.client.get("/api/v1/openapi").json()
    schemas = document["components"]["schemas"]
    found = set(re.findall(r'"\$ref": "([^"]+)"', json.dumps(document)))
    assert found
    assert {name.removeprefix("#/components/schemas/") for name in found} <= set(schemas)
    assert "$defs" not in json.dumps(document)


def test_the_answers_are_what_the_openapi_document_says(server: Running) -> None:
    document = server.client.get("/api/v1/openapi").json()

    def check(name: str, body: object) -> None:
        schema = {"$ref": f"#/components/schemas/{name}", "components": document["components"]}
        Draft202012Validator(schema).validate(body)

    check("ToolExecutionResponse", post(server, SEARCH, {"query": "CRD"}))
    check("ToolExecutionResponse", post(server, SEARCH, {}))
    check("ToolDiscoveryResponse", server.client.get("/api/v1/tools").json())
    check("ErrorResponse", server.client.post("/api/v1/tools/nothing", json={}).json())
    check("ErrorResponse", server.client.get("/api/v1/nothing").json())


def test_calls_are_counted_by_tool(start: Callable[..., Running]) -> None:
    server = start()
    post(server, SEARCH, {"query": "CRD"})
    server.client.post("/api/v1/tools/no_such_tool", json={})
    text = server.client.get("/metrics").text
    assert f'pinakes_requests_total{{path="{SEARCH}",status="200"}} 1.0' in text
    assert "no_such_tool" not in text


BUSY = """
import sys, threading
from pinakes.api import rest, serve
from pinakes.settings import load
from pinakes.tools.declare import Reply, tool

class Nothing(Reply):
    pass

@tool(toolset="search", read_only=False)
def never(library: object) -> Nothing:
    print("at work", flush=True)
    threading.Event().wait()

rest.tools_of = lambda settings: (never,)
chosen = {"embedding__provider": "deterministic", "mcp__structured_content": True}
settings = load(home=sys.argv[1], environment={}, server__port=0, **chosen)
serve(settings, on_ready=lambda url: print(url, flush=True))
"""


@pytest.mark.long
def test_a_server_ends_though_a_call_does_not(tmp_path: Path, process: Callable[..., Forked]) -> None:
    child = process(BUSY, tmp_path / "home")
    assert child.stdout is not None
    url = child.stdout.readline().decode().strip()
    with pytest.raises(httpx.ReadTimeout):
        httpx.post(f"{url}/api/v1/tools/never", json={}, timeout=0.5)
    assert child.stdout.readline() == b"at work\n"
    child.send_signal(signal.SIGTERM)
    assert child.wait(60) == 0
