"""Who may ask: the Host and Origin of a request, and how large it may be."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path

import httpx
import pytest
from serve_support import Running, settings_for

from pinakes.api.stdio_upstream import RemoteServer
from pinakes.core.errors import TooLarge

LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
ROUTES = ["/", "/health", "/stats", "/docs", "/openapi.json", "/metrics", "/mcp"]


def ask(server: Running, path: str, headers: dict[str, str]) -> httpx.Response:
    if path == "/mcp":
        return server.client.post(path, json=LIST, headers=headers)
    return server.client.get(path, headers=headers)


@pytest.mark.parametrize("path", ROUTES)
@pytest.mark.parametrize("host", ["evil.example", "evil.example:8000", "localhost.evil.example", "10.0.0.7", "::2"])
def test_a_foreign_host_is_refused(server: Running, path: str, host: str) -> None:
    answer = ask(server, path, {"Host": host})
    assert answer.status_code == 403
    assert "server.allowed_hosts" in answer.json()["detail"]


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8000", "127.0.0.1:1", "[::1]:8000", "kep.localhost"])
def test_names_of_this_machine_are_answered(server: Running, host: str) -> None:
    assert ask(server, "/healthz", {"Host": host}).status_code == 200


@pytest.mark.parametrize("path", ROUTES)
@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://localhost.evil.example", "file://"])
def test_pages_of_other_sites_are_refused(server: Running, path: str, origin: str) -> None:
    answer = ask(server, path, {"Origin": origin})
    assert answer.status_code == 403
    assert "access-control-allow-origin" not in answer.headers


def test_a_script_tag_on_another_site_is_refused_but_a_link_works(server: Running) -> None:
    cross = {"Sec-Fetch-Site": "cross-site"}
    assert ask(server, "/stats", cross | {"Sec-Fetch-Mode": "no-cors"}).status_code == 403
    assert ask(server, "/docs", cross | {"Sec-Fetch-Mode": "navigate"}).status_code == 200


def test_pages_of_this_machine_may_read_the_answers(server: Running) -> None:
    origin = "http://localhost:3000"
    answer = server.client.post("/search", json={"query": "CRD"}, headers={"Origin": origin})
    assert answer.status_code == 200
    assert answer.headers["access-control-allow-origin"] == origin
    preflight = server.client.options("/search", headers={"Origin": origin, "Access-Control-Request-Method": "POST"})
    assert preflight.status_code == 204
    assert "POST" in preflight.headers["access-control-allow-methods"]


def test_hosts_and_origins_can_be_allowed(start: Callable[..., Running]) -> None:
    server = start(allowed_hosts=("kb.example",), allowed_origins=("https://app.example",))
    assert ask(server, "/healthz", {"Host": "kb.example"}).status_code == 200
    assert ask(server, "/healthz", {"Origin": "https://app.example"}).status_code == 200
    assert ask(server, "/healthz", {"Origin": "https://kb.example", "Host": "kb.example"}).status_code == 200
    assert ask(server, "/healthz", {"Origin": "https://other.example"}).status_code == 403


def test_every_origin_can_be_allowed(start: Callable[..., Running]) -> None:
    assert ask(start(allowed_origins=("*",)), "/stats", {"Origin": "https://any.example"}).status_code == 200


def test_a_server_on_all_addresses_answers_to_addresses_not_to_names(start: Callable[..., Running]) -> None:
    server = start(host="0.0.0.0", no_auth=True)
    assert ask(server, "/healthz", {"Host": "192.168.7.7:8000"}).status_code == 200
    assert ask(server, "/healthz", {"Host": "rebound.example"}).status_code == 403


@pytest.mark.parametrize("path", ["/search", "/mcp"])
def test_a_body_over_the_limit_is_refused_declared_or_streamed(start: Callable[..., Running], path: str) -> None:
    server = start(max_body_bytes=1000)
    headers = {"Content-Type": "application/json"}
    body = json.dumps({"query": "a" * 2000}).encode()

    def stream() -> Iterator[bytes]:
        for i in range(0, len(body), 500):
            yield body[i : i + 500]

    for content in (body, stream()):
        answer = httpx.post(server.url + path, content=content, headers=headers)
        assert answer.status_code == 413
        assert "server.max_body_bytes" in answer.json()["detail"]


@pytest.mark.parametrize("path", ["/search", "/mcp"])
def test_a_client_that_sends_far_too_much_gets_the_refusal_and_not_a_broken_connection(
    start: Callable[..., Running], path: str
) -> None:
    server = start(max_body_bytes=100_000)
    piece = b"x" * 1_000_000
    for content in (piece * 20, (piece for _ in range(20))):
        with closing(HTTPConnection(server.url.removeprefix("http://"), timeout=30)) as connection:
            connection.request("POST", path, content)  # which sends all of it before it reads the answer
            assert connection.getresponse().status == 413


def test_a_server_over_stdio_says_that_a_message_was_too_large_for_the_server_it_asks(
    start: Callable[..., Running], tmp_path: Path
) -> None:
    server = start(max_body_bytes=100_000)
    remote = RemoteServer(settings_for(tmp_path), server.url)
    arguments = {"title": "Long", "text": "x" * 5_000_000}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "x", "arguments": arguments}}
    with closing(remote), pytest.raises(TooLarge, match="larger than 100000 bytes") as refused:
        remote.answer(message, "2025-06-18")
    assert "server.max_body_bytes" in str(refused.value)


def test_a_body_under_the_limit_passes_in_pieces(start: Callable[..., Running]) -> None:
    server = start(max_body_bytes=1000)
    pieces = iter([b'{"query": ', b'"CRD versioning"}'])
    answer = httpx.post(server.url + "/search", content=pieces, headers={"Content-Type": "application/json"})
    assert answer.status_code == 200
