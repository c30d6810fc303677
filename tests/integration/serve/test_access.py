"""Keys at the door of a real server: who is let in, for what, and how a refusal is told by each interface."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from access_support import OPEN, QUESTION, fill, json_of, key_for, settings_for_keys
from fastmcp import Client
from fastmcp.client.transports import StreamableHttpTransport
from serve_support import Running
from waiting import until
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from pinakes.api.access import NEEDED
from pinakes.api.http_app import create_app
from pinakes.api.instance import announced
from pinakes.api.server import check_exposure, run
from pinakes.api.stdio_upstream import RemoteServer, RunningOrLocal
from pinakes.catalog import keys
from pinakes.core.errors import RateLimited, Refused, Unauthorized
from pinakes.library import Library
from pinakes.tools import TOOLS

NOTHING: dict[str, str] = {}
WRONG = {"Authorization": f"Bearer pnk_aaaaaaaa_{'x' * 43}"}
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
MCP = {"Accept": "application/json, text/event-stream"}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    folder = tmp_path_factory.mktemp("access")
    with Library(settings_for_keys(folder / "home")) as opened:
        fill(opened, folder / "docs")
        yield opened


@pytest.fixture(scope="module")
def server(library: Library) -> Iterator[Running]:
    running = Running(create_app(library, instance_id="this-one", local_key="of-this-run"), library.settings)
    yield running
    running.stop()


@pytest.fixture(scope="module")
def reader(library: Library) -> dict[str, str]:
    return key_for(library, "reader")


@pytest.fixture(scope="module")
def writer(library: Library) -> dict[str, str]:
    return key_for(library, "writer", "write")


@pytest.fixture
def serve(library: Library) -> Iterator[Callable[..., Running]]:
    """Start servers over the same home with other settings."""
    started: list[tuple[Running, Library]] = []

    def start(**settings: Any) -> Running:
        other = Library(settings_for_keys(library.settings.home, **settings))
        started.append((Running(create_app(other), other.settings), other))
        return started[-1][0]

    yield start
    for running, other in started:
        running.stop()
        other.close()


def routes_of(routes: Any) -> Iterator[tuple[str, str]]:
    for route in routes:
        if hasattr(route, "path"):
            yield from ((method, route.path) for method in getattr(route, "methods", {"WEBSOCKET"}) - {"HEAD"})
        else:
            yield from routes_of(route.original_router.routes)


def test_every_route_says_what_a_key_has_to_be_for(library: Library) -> None:
    routes = {f"{method} {path}" for method, path in routes_of(create_app(library).routes)}
    assert len(routes) > 10
    assert set(NEEDED) == routes | {"POST /mcp", "DELETE /mcp"}


@pytest.mark.parametrize("headers", [NOTHING, WRONG, {"Authorization": "Basic eDp5"}], ids=["none", "wrong", "basic"])
@pytest.mark.parametrize("route", NEEDED)
def test_no_route_but_two_answers_without_a_key(server: Running, route: str, headers: dict[str, str]) -> None:
    method, _, path = route.partition(" ")
    path = path.replace("{name}", "list_collections").replace("{source_id:path}", "x")
    if method == "WEBSOCKET":
        with pytest.raises(InvalidStatus) as refused:
            connect(server.url.replace("http", "ws") + path, additional_headers=headers, proxy=None).close()
        assert refused.value.response.status_code == 401
        return
    response = server.client.request(
        method, path, headers=headers, json={"query": QUESTION} if method == "POST" else None
    )
    if NEEDED[route] is None:
        assert response.status_code == 200
    else:
        assert response.status_code == 401
        assert response.headers["www-authenticate"] == 'Bearer realm="pinakes"'
        assert "reasure" not in response.text


def test_preflight_requests_need_no_key(server: Running) -> None:
    assert server.client.options("/search").status_code == 204


def test_each_interface_tells_of_it_in_its_own_way(server: Running) -> None:
    plain = json_of(server.client.get("/stats"))
    assert (plain["code"], plain["detail"]) == ("UNAUTHORIZED", "A key is needed here.")
    rest = json_of(server.client.get("/api/v1/tools", headers=WRONG))
    assert (rest["success"], rest["error"]["code"]) == (False, "UNAUTHORIZED")
    assert rest["meta"]["version"] == "v1"
    rpc = json_of(server.client.post("/mcp", json=LIST, headers=MCP))
    assert (rpc["jsonrpc"], rpc["error"]["data"]["code"]) == ("2.0", "UNAUTHORIZED")


@pytest.mark.parametrize("headers", [NOTHING, WRONG], ids=["none", "wrong"])
@pytest.mark.parametrize("path", ["/", "/docs", "/stats", "/nothing"])
def test_people_are_told_on_a_page_what_to_do(server: Running, path: str, headers: dict[str, str]) -> None:
    accepted = "text/html,application/xhtml+xml,*/*;q=0.8"
    page = server.client.get(path, headers={**headers, "Accept": accepted})
    assert (page.status_code, page.headers["content-type"]) == (401, "text/html; charset=utf-8")
    assert page.headers["www-authenticate"] == 'Bearer realm="pinakes"'
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert "pinakes keys create" in page.text
    assert f"curl -s {server.url}/docs -H" in page.text
    assert "reasure" not in page.text
    for program in ("application/json", "*/*"):
        told = server.client.get(path, headers={**headers, "Accept": program})
        assert (told.status_code, json_of(told)["code"]) == (401, "UNAUTHORIZED")
    rest = server.client.get("/api/v1/tools", headers={**headers, "Accept": accepted})
    assert json_of(rest)["error"]["code"] == "UNAUTHORIZED", "the platform's clients get its envelope always"


def test_with_a_key_the_pages_show_how_to_use_it(server: Running, reader: dict[str, str]) -> None:
    page = server.client.get("/docs", headers={**reader, "Accept": "text/html"})
    assert page.status_code == 200
    assert "Authorization: Bearer $PINAKES_KEY" in page.text
    document = json_of(server.client.get("/openapi.json", headers=reader))
    assert document["security"] == [{"key": []}]
    assert document["components"]["securitySchemes"]["key"]["scheme"] == "bearer"
    assert "SearchRequest" in document["components"]["schemas"]
    assert document["paths"]["/healthz"]["get"]["security"] == []
    assert "security" not in document["paths"]["/search"]["post"]


def test_where_no_key_is_needed_none_is_spoken_of(serve: Callable[..., Running]) -> None:
    client = serve(server__require_keys=False).client
    assert "PINAKES_KEY" not in client.get("/docs").text
    assert "security" not in json_of(client.get("/openapi.json"))


def test_what_no_route_takes_is_said_to_those_alone_who_have_a_key(server: Running, reader: dict[str, str]) -> None:
    assert server.client.get("/api/v1/nothing").status_code == 401
    assert server.client.get("/api/v1/nothing", headers=reader).status_code == 404
    assert server.client.get("/search", headers=reader).status_code == 405


def test_a_key_lets_in_over_every_interface(server: Running, reader: dict[str, str]) -> None:
    found = server.client.post("/search", json={"query": QUESTION, "collection": OPEN}, headers=reader)
    assert found.json()["total_results"] > 0
    tool = server.client.post("/api/v1/tools/list_collections", json={}, headers=reader)
    assert OPEN in tool.text

    async def over_mcp() -> str:
        async with Client(StreamableHttpTransport(f"{server.url}/mcp", headers=reader)) as client:
            answer = await client.call_tool("hybrid_search", {"query": QUESTION, "collection": OPEN})
            return str(answer.content)

    assert "Lisbon" in asyncio.run(over_mcp())
    with connect(server.url.replace("http", "ws") + "/ws/search", additional_headers=reader, proxy=None) as socket:
        socket.send(json.dumps({"id": 1, "query": QUESTION, "collection": OPEN}))
        assert "Lisbon" in str(socket.recv(timeout=30))


def test_calls_are_recorded_under_the_name_of_the_key_and_without_it(
    library: Library, server: Running, reader: dict[str, str]
) -> None:
    secret = reader["Authorization"].removeprefix("Bearer ")
    asked = {"query": f"what is {secret}", "collection": OPEN}
    server.client.post("/search", json=asked, headers={**reader, "X-Session-Id": "noon"})
    [entry] = library.audit.entries(1)
    assert (entry.caller, entry.interface, entry.session) == ("reader", "http", "noon")
    assert secret[13:] not in str(entry)


@pytest.mark.parametrize("tool", [tool for tool in TOOLS if not tool.read_only], ids=lambda tool: tool.name)
def test_tools_that_write_refuse_a_key_for_reading_in_their_own_words(
    library: Library, server: Running, reader: dict[str, str], tool: Any
) -> None:
    before = library.status(OPEN)[0].documents
    answer = server.client.post(f"/api/v1/tools/{tool.name}", json={"operation": "ingest"}, headers=reader)
    result = answer.json()["data"]["result"]
    assert answer.status_code == 200
    assert "its key is for 'read'" in str(result)
    assert library.status(OPEN)[0].documents == before
    if tool.name == "manageKnowledge":
        assert result == {
            "error": "FORBIDDEN",
            "message": "'reader' may not write: its key is for 'read'. Use another key.",
            "tool": "manageKnowledge",
            "operation": "ingest",
            "user": "reader",
        }


def test_a_key_is_shown_the_tools_alone_that_it_is_for(
    server: Running, reader: dict[str, str], writer: dict[str, str]
) -> None:
    def listed(headers: dict[str, str]) -> set[str]:
        over_mcp = server.client.post("/mcp", json=LIST, headers={**MCP, **headers}).json()["result"]["tools"]
        over_rest = server.client.get("/api/v1/tools", headers=headers).json()["data"]["tools"]
        names = {tool["name"] for tool in over_mcp}
        assert names == {tool["name"] for tool in over_rest}
        return names

    assert listed(writer) == {tool.name for tool in TOOLS}
    assert listed(writer) - listed(reader) == {tool.name for tool in TOOLS if not tool.reads_sometimes}


def test_a_key_for_writing_writes_and_its_name_is_in_the_history(
    library: Library, server: Running, writer: dict[str, str]
) -> None:
    note = {"title": "A note", "text": "By a writer.", "collection": OPEN}
    answer = server.client.post("/api/v1/tools/ingest_document", json=note, headers=writer).json()
    uid = answer["data"]["result"]["doc_id"]
    assert library.documents.history(uid, collection=OPEN)[0].by == "writer (http)"


def test_a_route_that_writes_refuses_a_key_for_reading(server: Running, reader: dict[str, str]) -> None:
    answer = server.client.delete("/api/v1/knowledge/source/x", headers=reader)
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "FORBIDDEN")
    assert 'error="insufficient_scope", scope="write"' in answer.headers["www-authenticate"]


def test_a_key_is_valid_no_more_from_the_moment_it_is_revoked(library: Library, server: Running) -> None:
    key = key_for(library, "short-lived")
    url = server.url.replace("http", "ws") + "/ws/search"
    with connect(url, additional_headers=key, proxy=None) as socket:
        assert server.client.get("/stats", headers=key).status_code == 200
        with library.app.catalog.write() as connection:
            keys.revoke(connection, "short-lived")
        assert server.client.get("/stats", headers=key).status_code == 401
        socket.send(json.dumps({"id": 1, "query": QUESTION, "collection": OPEN}))
        with pytest.raises(ConnectionClosed) as ended:
            socket.recv(timeout=30)
        assert ended.value.rcvd is not None
        assert ended.value.rcvd.code == 1008


def test_the_use_of_a_key_is_noted(library: Library, server: Running) -> None:
    key = key_for(library, "noted")

    def last_used() -> str | None:
        with library.app.catalog.read() as connection:
            return keys.get(connection, "noted").last_used_at

    assert last_used() is None
    server.client.get("/api/v1/tools", headers=key)
    first = until(last_used)
    assert first is not None
    server.client.get("/api/v1/tools", headers=key)
    assert last_used() == first


def test_a_key_that_asks_too_much_has_to_wait(library: Library, server: Running, reader: dict[str, str]) -> None:
    key = key_for(library, "hasty", per_minute=3)
    assert [server.client.get("/stats", headers=key).status_code for _ in range(4)] == [200, 200, 200, 429]
    assert server.client.get("/stats", headers=reader).status_code == 200
    plain = server.client.get("/stats", headers=key)
    assert 1 <= int(plain.headers["retry-after"]) <= 20
    assert (plain.json()["code"], plain.json()["retryable"]) == ("RATE_LIMITED", True)
    rest = server.client.get("/api/v1/tools", headers=key)
    assert (rest.status_code, rest.json()["error"]["code"]) == (429, "RATE_LIMITED")
    rpc = server.client.post("/mcp", json=LIST, headers={**MCP, **key})
    assert (rpc.status_code, rpc.json()["error"]["data"]["code"]) == (429, "RATE_LIMITED")


def test_messages_on_a_socket_count_as_requests(library: Library, server: Running) -> None:
    key = key_for(library, "talkative", per_minute=2)
    url = server.url.replace("http", "ws") + "/ws/search"
    with connect(url, additional_headers=key, proxy=None) as socket:
        message = {"id": "a", "query": QUESTION, "collection": OPEN, "search_type": "keyword"}
        socket.send(json.dumps(message))
        assert json.loads(socket.recv(timeout=30))["total_results"] > 0
        socket.send(json.dumps({**message, "id": "b"}))
        refused = json.loads(socket.recv(timeout=30))
    assert (refused["id"], refused["error"]["code"], refused["done"]) == ("b", "RATE_LIMITED", True)


def test_without_keys_each_address_is_limited(serve: Callable[..., Running]) -> None:
    running = serve(server__require_keys=False, server__per_minute=2)
    assert [running.client.get("/stats").status_code for _ in range(3)] == [200, 200, 429]
    assert running.client.get("/healthz").status_code == 200


def test_on_this_machine_no_key_is_needed_but_one_that_is_shown_holds(
    serve: Callable[..., Running], reader: dict[str, str]
) -> None:
    running = serve(server__require_keys=False)
    call = "/api/v1/tools/delete_document", {"doc_id": "nothing", "collection": OPEN}

    def told(headers: dict[str, str]) -> str:
        return running.client.post(call[0], json=call[1], headers=headers).text

    assert "its key is for" not in told(NOTHING)
    assert "its key is for" not in told({"Authorization": "Bearer of-another-system"})
    assert "its key is for 'read'" in told(reader)
    assert running.client.get("/stats", headers=WRONG).status_code == 401


def test_nobody_is_let_in_elsewhere_without_a_key(library: Library, tmp_path: Path) -> None:
    with pytest.raises(Refused, match="no authentication"):
        run(settings_for_keys(tmp_path, server__host="0.0.0.0"), reindex=False, on_ready=lambda _: None)
    assert not (tmp_path / "catalog.db").exists()
    elsewhere = library.settings.server.model_copy(update={"host": "0.0.0.0"})
    with pytest.raises(Refused, match="keys create"):
        check_exposure(elsewhere)
    check_exposure(elsewhere, lambda: True)
    check_exposure(elsewhere.model_copy(update={"no_auth": True}))


def test_a_server_that_others_reach_wants_keys_by_itself(serve: Callable[..., Running], reader: dict[str, str]) -> None:
    running = serve(server__require_keys=False, server__host="0.0.0.0")
    assert running.client.get("/stats").status_code == 401
    assert running.client.get("/stats", headers=reader).status_code == 200
    open_to_all = serve(server__require_keys=False, server__host="0.0.0.0", server__no_auth=True)
    assert open_to_all.client.get("/stats").status_code == 200


def test_programs_of_the_same_home_are_let_in(library: Library, server: Running) -> None:
    with announced(library.settings, server.url, "this-one", "of-this-run"):
        written = library.settings.home / "server.json"
        assert written.stat().st_mode & 0o077 == 0
        upstream = RunningOrLocal(library.settings)
        try:
            answer = upstream.answer(LIST, "2025-06-18")
        finally:
            upstream.close()
    assert {tool["name"] for tool in answer["result"]["tools"]} == {tool.name for tool in TOOLS}


def test_a_server_elsewhere_is_shown_the_key_of_the_environment(
    library: Library, server: Running, reader: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def asked() -> dict[str, Any]:
        remote = RemoteServer(library.settings, server.url)
        try:
            return remote.answer(LIST, "2025-06-18")
        finally:
            remote.close()

    monkeypatch.delenv("PINAKES_KEY", raising=False)
    with pytest.raises(Unauthorized, match="PINAKES_KEY"):
        asked()
    monkeypatch.setenv("PINAKES_KEY", reader["Authorization"].removeprefix("Bearer "))
    assert asked()["result"]["tools"]
    monkeypatch.setenv("PINAKES_KEY", key_for(library, "once", per_minute=1)["Authorization"].removeprefix("Bearer "))
    assert asked()["result"]["tools"]
    with pytest.raises(RateLimited, match="Ask again in"):
        asked()


def test_health_can_be_watched_without_a_key(server: Running) -> None:
    with httpx.Client(base_url=server.url) as client:
        assert client.get("/healthz").json() == {"status": "ok"}
