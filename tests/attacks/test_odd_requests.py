"""Requests as other clients send them: with offers of other protocols, compressed, or cut off."""

from __future__ import annotations

import asyncio
import gzip
import json
import shutil
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from real_server import RealServer, real_server
from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from pinakes.api.http_app import Ending
from pinakes.api.server import Server, bind, configured, url_of
from pinakes.settings import ServerSettings

ASKED = json.dumps({"query": "pond 7"}).encode()
MESSAGE = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).encode()
JAVA = "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABk\r\n"
OFFERS = {
    "as Java sends it": JAVA,
    "two headers": "Connection: keep-alive\r\nConnection: upgrade\r\nUpgrade: TLS/1.0\r\n",
    "several protocols": "Connection: Upgrade\r\nUpgrade: h2c, HTTP/2.0\r\n",
}
FORMS = {
    "search": ("/search", b"results"),
    "tool": ("/api/v1/tools/search_summaries", b"success"),
    "mcp": ("/mcp", b'"result"'),
}


@pytest.fixture(scope="module")
def server(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    home = tmp_path_factory.mktemp("odd") / "home"
    shutil.copytree(made, home)
    with real_server(home) as running:
        yield running


def request(path: str, body: bytes, more: str = "", *, chunked: bool = False, method: str = "POST") -> bytes:
    accept = "Accept: application/json, text/event-stream\r\nContent-Type: application/json\r\n"
    size = "Transfer-Encoding: chunked\r\n" if chunked else f"Content-Length: {len(body)}\r\n"
    sent = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body) if chunked else body
    return f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n{accept}{size}{more}\r\n".encode() + sent


def answers(connection: socket.socket, count: int) -> list[tuple[int, bytes]]:
    """Return the status and body of so many answers on one connection."""
    found = []
    with connection.makefile("rb") as stream:
        for _ in range(count):
            status, length = int(stream.readline().split()[1]), 0
            while line := stream.readline().strip():
                name, _, value = line.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
            found.append((status, stream.read(length)))
    return found


@pytest.mark.parametrize("chunked", [False, True], ids=["length", "chunks"])
@pytest.mark.parametrize("offer", OFFERS.values(), ids=OFFERS)
@pytest.mark.parametrize("form", FORMS)
def test_an_offer_of_another_protocol_loses_no_body(server: RealServer, form: str, offer: str, chunked: bool) -> None:
    path, expected = FORMS[form]
    once = request(path, MESSAGE if form == "mcp" else ASKED, offer, chunked=chunked)
    for pieces in ([once + once], [once[:150], once[150:-5], once[-5:] + once]):
        with server.connect() as connection:
            for piece in pieces:
                connection.sendall(piece)
                time.sleep(0.02)
            found = answers(connection, 2)  # the connection goes on as any other
        assert [status for status, _ in found] == [200, 200], found
        assert all(expected in body for _, body in found)


def test_an_offer_without_a_body_is_answered_and_one_of_a_web_socket_is_refused_where_there_is_none(
    server: RealServer,
) -> None:
    with server.connect(request("/healthz", b"", JAVA, method="GET") + request("/search", ASKED)) as connection:
        assert [status for status, _ in answers(connection, 2)] == [200, 200]
    socket_offer = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    socket_offer += "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    with server.connect(request("/search", b"", socket_offer, method="GET")) as connection:
        assert answers(connection, 1)[0][0] in (403, 404)
    with server.connect(b"CONNECT localhost:1 HTTP/1.1\r\nHost: localhost\r\n\r\n") as connection:
        assert answers(connection, 1)[0][0] in (400, 404, 405)
    assert server.health()["status"] == "healthy"


def test_many_offers_behind_each_other_are_answered(server: RealServer) -> None:
    offer = request("/healthz", b"", "Connection: upgrade\r\nUpgrade: a\r\n", method="GET")
    with server.connect() as connection:
        sending = threading.Thread(target=connection.sendall, args=(offer * 2000,))
        sending.start()
        assert [status for status, _ in answers(connection, 2000)] == [200] * 2000
        sending.join()


@pytest.mark.parametrize("encoding", ["gzip", "GZIP", "deflate", "br", "zstd", "gzip, identity"])
@pytest.mark.parametrize("form", FORMS)
def test_a_compressed_body_is_refused_with_what_to_do(server: RealServer, form: str, encoding: str) -> None:
    headers = {"Content-Encoding": encoding, "Content-Type": "application/json"}
    answer = httpx.post(server.url + FORMS[form][0], content=gzip.compress(ASKED), headers=headers, timeout=60)
    told = answer.json()["error"] if form == "tool" else answer.json()
    assert (answer.status_code, told["code"]) == (415, "INVALID_INPUT")
    assert "without Content-Encoding" in told["message" if form == "tool" else "detail"]


def test_a_body_that_is_no_text_is_an_error_with_a_code(server: RealServer) -> None:
    for body in (gzip.compress(ASKED), b"\xff\xfe\x00", ASKED.decode().encode("utf-16-le") + b"\xd8"):
        answer = httpx.post(
            f"{server.url}/search", content=body, headers={"Content-Type": "application/json"}, timeout=60
        )
        assert (answer.status_code, answer.json()["code"]) == (422, "INVALID_INPUT"), answer.text
    for encoding in ("identity", "utf-8"):
        headers = {"Content-Encoding": encoding, "Content-Type": "application/json"}
        assert httpx.post(f"{server.url}/search", content=ASKED, headers=headers, timeout=60).status_code == 200
    assert httpx.get(f"{server.url}/healthz", headers={"Content-Encoding": "gzip"}, timeout=60).status_code == 200


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("chunked", [False, True], ids=["length", "chunks"])
def test_a_body_that_is_cut_off_leaves_no_traceback(server: RealServer, form: str, chunked: bool) -> None:
    before = len(server.log.read_text())
    whole = request(FORMS[form][0], MESSAGE if form == "mcp" else ASKED, chunked=chunked)
    for cut in (8, len(MESSAGE) - 1):
        server.connect(whole[:-cut]).close()
    assert server.health()["status"] == "healthy"
    time.sleep(0.3)
    told = server.log.read_text()[before:]
    assert "Traceback" not in told, told
    assert told.count("\n") == (2 if form == "mcp" else 0), told


def test_what_needs_no_body_and_is_under_way_is_not_told_that_nothing_was_done() -> None:
    done, begun = threading.Event(), threading.Event()

    async def deleting(scope: Scope, receive: Receive, send: Send) -> None:
        """As a route that deletes: it reads no body."""
        if scope["type"] == "lifespan":
            return
        begun.set()
        await asyncio.sleep(0.5)
        done.set()
        await JSONResponse({"deleted": True})(scope, receive, send)

    settings = ServerSettings(port=0, shutdown_s=5)
    with bind(settings) as listener:
        ending = Ending(deleting)
        started = threading.Event()
        server = Server(configured(ending, settings), started.set)  # type: ignore[arg-type]
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener.dup()]})
        thread.start()
        assert started.wait(30)
        port = int(url_of(listener).rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
            connection.sendall(request("/x", b"{" * 90, "Expect: 100-continue\r\n", method="DELETE")[:-90])
            assert begun.wait(30)
            server.stop()
            status, body = answers(connection, 1)[0]
        thread.join(30)
    assert done.is_set()
    assert (status, json.loads(body)) == (200, {"deleted": True})
