"""Clients that only hold connections open, and a process that runs out of file descriptors."""

from __future__ import annotations

import resource
import shutil
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest
from real_server import RealServer, real_server

HEAD = b"POST /search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 900\r\n\r\n"
CLOSED = 0
"""In place of a status: the connection was closed without an answer."""
HALF = {"nothing": b"", "half a head": HEAD[:40], "no body": HEAD, "half a body": HEAD + b'{"query": "'}


@pytest.fixture(scope="module")
def server(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    home = tmp_path_factory.mktemp("slow") / "home"
    shutil.copytree(made, home)
    limits = {"server__header_timeout_s": 1, "server__body_timeout_s": 1.5, "server__max_connections_per_address": 40}
    with real_server(home, **limits) as running:
        yield running


def until_room(server: RealServer) -> None:
    """Wait until connections that were closed are no longer counted."""
    deadline = time.monotonic() + 20
    while httpx.get(f"{server.url}/healthz", timeout=30).status_code != 200:
        assert time.monotonic() < deadline
        time.sleep(0.1)


def rest_of(connection: socket.socket) -> bytes:
    """Return what comes until the server closes."""
    connection.settimeout(20)
    found = b""
    try:
        while part := connection.recv(4096):
            found += part
    except ConnectionResetError:
        pass
    return found


@pytest.mark.parametrize("sent", HALF.values(), ids=HALF)
def test_a_request_that_does_not_come_in_time_is_given_up(server: RealServer, sent: bytes) -> None:
    with server.connect(sent) as connection:
        began = time.monotonic()
        answer = rest_of(connection)
    assert time.monotonic() - began > 0.9
    assert answer.startswith(b"HTTP/1.1 408 ") if sent else answer == b""


def test_a_head_that_comes_byte_by_byte_is_given_up(server: RealServer) -> None:
    with server.connect() as connection, pytest.raises(OSError, match=r"pipe|reset|abort"):  # noqa: PT012
        deadline = time.monotonic() + 15
        while time.monotonic() < deadline:
            connection.sendall(b"X")
            time.sleep(0.1)


def test_a_client_that_reads_nothing_of_a_long_answer_is_given_up(server: RealServer) -> None:
    before = server.health()["components"]["connections"]["closed_slow"]
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(("127.0.0.1", server.port))
        ask = b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n"
        try:
            for _ in range(400):
                connection.settimeout(0.2)
                connection.sendall(ask)
        except OSError:
            pass
        deadline = time.monotonic() + 15
        while server.health()["components"]["connections"]["closed_slow"] == before:
            assert time.monotonic() < deadline
            time.sleep(0.1)


def test_a_head_that_is_too_large_is_refused(server: RealServer) -> None:
    with server.connect(b"GET / HTTP/1.1\r\nX-Long: " + b"x" * 66_000) as connection:
        assert rest_of(connection).startswith(b"HTTP/1.1 431 ")  # at the time limit it were 408


@pytest.mark.parametrize("sent", HALF.values(), ids=HALF)
def test_a_thousand_half_open_connections_hold_nobody_up(server: RealServer, sent: bytes) -> None:
    with ExitStack() as stack:
        for _ in range(1000):
            stack.enter_context(server.connect()).sendall(sent)
        with httpx.Client(base_url=server.url, timeout=30) as client:
            for number in range(10):
                answer = client.post("/search", json={"query": f"herons at pond {number}", "search_type": "keyword"})
                assert answer.status_code == 200
        told = server.health()["components"]["connections"]
    assert told["open"] <= 40
    assert told["closed_for_room"] > 900


def test_connections_that_are_answered_are_kept_and_those_beyond_are_refused(server: RealServer) -> None:
    ask = b"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with ExitStack() as stack:
        connections = [stack.enter_context(server.connect(ask)) for _ in range(60)]
        seen = [connection.recv(100)[9:12] for connection in connections]
        assert server.search("pond").status_code == 503
    assert (seen.count(b"200"), seen.count(b"503")) == (40, 20)
    until_room(server)
    assert server.search("pond").status_code == 200


def test_running_out_of_descriptors_is_survived_and_told(home: Path) -> None:
    with real_server(home, descriptors=56, server__max_connections_per_address=0) as server:
        with ExitStack() as stack:
            for _ in range(200):
                stack.enter_context(server.connect()).sendall(HEAD)
            for number in range(10):
                assert server.search(f"pond {number}").status_code == 200
            told = server.health()["components"]["connections"]
            assert told["closed_for_room"] > 100
            assert told["descriptors"]["most"] == 56
        with ThreadPoolExecutor(40) as threads:  # these have requests, so that there is no room for all
            seen = list(threads.map(lambda number: _written(server, number), range(60)))
        assert {status for status, _ in seen} <= {200, 503, CLOSED}
        assert any(status == 200 for status, _ in seen)
        with httpx.Client(base_url=server.url, timeout=30) as client:
            for number, (status, text) in enumerate(seen):
                found = client.post("/search", json={"query": f"unlike{number}x", "search_type": "keyword"}).json()
                done = status == 200 and '"status":"indexed"' in text
                assert (found["total_results"] > 0) == done, (status, text)
        log = server.log.read_text()
        assert "to make room" in log
        assert "built anew" not in log
        server.end()
        assert server.process.returncode == 0


def _written(server: RealServer, number: int) -> tuple[int, str]:
    try:
        answer = server.call("ingest_document", title=f"t{number}", text=f"This is unlike{number}x.")
    except httpx.TransportError:  # closed to make room before its request was read
        return CLOSED, ""
    return answer.status_code, answer.text


def test_a_server_takes_as_many_descriptors_as_it_may(server: RealServer) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    enough = 65_536 if hard == resource.RLIM_INFINITY else min(hard, 65_536)
    assert server.health()["components"]["connections"]["descriptors"]["most"] >= enough
