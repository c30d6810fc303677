"""Fetching keeps to its limits, whatever the other side does."""

from __future__ import annotations

import gzip
import socket
import time
import tracemalloc
import zlib
from collections.abc import Iterator
from typing import Any

import pytest
from web_host import Page, WebHost, web_host

from pinakes.core.errors import InvalidInput, InvalidSetting, Refused, SourceError, TooLarge
from pinakes.fetching import open_client
from pinakes.fetching.client import Client
from pinakes.settings import FetchSettings

HERE = FetchSettings(allow_private=("127.0.0.1",), timeout_s=5)


@pytest.fixture
def host() -> Iterator[WebHost]:
    with web_host() as opened:
        yield opened


@pytest.fixture
def client() -> Iterator[Client]:
    with open_client(HERE) as opened:
        yield opened


def raw(*parts: bytes, pause_s: float = 0, host: WebHost | None = None) -> Any:
    def answer(connection: socket.socket) -> None:
        for part in parts:
            connection.sendall(part)
            if host is not None:
                host.closing.wait(pause_s)
        connection.shutdown(socket.SHUT_RDWR)

    return answer


def test_a_page_is_fetched_with_its_headers(host: WebHost, client: Client) -> None:
    url = host.put("/page", "<p>hello</p>", headers={"X-Kind": "test"})
    answer = client.get(url, max_bytes=1000, headers={"Accept": "text/html"})
    assert (answer.status, answer.body, answer.content_type, answer.url) == (200, b"<p>hello</p>", "text/html", url)
    assert answer.headers["x-kind"] == "test"
    asked = host.asked[0].headers
    assert asked["accept"] == "text/html"
    assert asked["user-agent"].startswith("Pinakes/")
    assert asked["host"] == f"127.0.0.1:{host.port}"


def test_any_status_is_an_answer(host: WebHost, client: Client) -> None:
    host.put("/broken", "oh", status=500)
    assert client.get(f"{host.address}/broken", max_bytes=10).status == 500
    assert not client.get(f"{host.address}/none", max_bytes=10).is_success


def test_without_leave_nothing_here_is_fetched(host: WebHost) -> None:
    with open_client(FetchSettings()) as client:
        for url in (f"{host.address}/x", f"http://localhost:{host.port}/x", f"http://[::ffff:127.0.0.1]:{host.port}/x"):
            with pytest.raises(Refused):
                client.get(url, max_bytes=10)
    assert host.asked == []


def test_a_redirect_is_followed_and_looked_at_anew(host: WebHost, client: Client) -> None:
    host.put("/new/page", "there")
    host.put("/old", "", status=301, headers={"Location": "new/page"})
    assert client.get(f"{host.address}/old", max_bytes=100).url == f"{host.address}/new/page"


@pytest.mark.parametrize(
    "target",
    ["http://10.0.0.1/", "http://169.254.169.254/latest/meta-data/", "http://[::1]:1/", "//10.0.0.1/x"],
)
def test_a_redirect_to_a_private_address_is_refused(host: WebHost, client: Client, target: str) -> None:
    host.put("/out", "", status=302, headers={"Location": target})
    with pytest.raises(Refused):
        client.get(f"{host.address}/out", max_bytes=100)


@pytest.mark.parametrize("target", ["file:///etc/passwd", "ftp://x/y", "http://a:b@127.0.0.1/", "http://[bad/"])
def test_a_redirect_to_what_is_no_page_is_an_error(host: WebHost, client: Client, target: str) -> None:
    host.put("/out", "", status=302, headers={"Location": target})
    with pytest.raises(SourceError, match="leads to an address"):
        client.get(f"{host.address}/out", max_bytes=100)


def test_a_circle_of_redirects_ends(host: WebHost, client: Client) -> None:
    host.put("/a", "", status=307, headers={"Location": "/b"})
    host.put("/b", "", status=307, headers={"Location": "/a"})
    with pytest.raises(SourceError, match="more than 5 times"):
        client.get(f"{host.address}/a", max_bytes=100)
    assert len(host.asked) == 6


def test_a_secret_is_not_taken_along_to_another_host(host: WebHost) -> None:
    with web_host() as other, open_client(HERE) as client:
        other.put("/end", "x")
        host.put("/start", "", status=302, headers={"Location": f"{other.address}/end"})
        host.put("/first", "", status=302, headers={"Location": "/start"})
        client.get(f"{host.address}/first", max_bytes=100, headers={"Authorization": "Bearer abc", "X-Other": "1"})
        assert [one.headers.get("authorization") for one in host.asked] == ["Bearer abc", "Bearer abc"]
        assert "authorization" not in other.asked[0].headers
        assert other.asked[0].headers["x-other"] == "1"


def test_sending_follows_no_redirect(host: WebHost, client: Client) -> None:
    host.put("/hook", "", status=307, headers={"Location": "/elsewhere"})
    answer = client.post(f"{host.address}/hook", content=b'{"a": 1}', headers={"content-type": "application/json"})
    assert answer.status == 307
    assert [(one.method, one.path, one.body) for one in host.asked] == [("POST", "/hook", b'{"a": 1}')]


def test_a_body_over_the_limit_is_not_fetched(host: WebHost, client: Client) -> None:
    host.pages["/told"] = Page(b"x" * 2000)
    with pytest.raises(TooLarge, match="1,999 bytes"):
        client.get(f"{host.address}/told", max_bytes=1999)
    assert len(client.get(f"{host.address}/told", max_bytes=2000).body) == 2000
    chunk = b"1000\r\n" + b"x" * 4096 + b"\r\n"
    host.pages["/untold"] = raw(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", *[chunk] * 50)
    with pytest.raises(TooLarge):
        client.get(f"{host.address}/untold", max_bytes=10_000)


@pytest.mark.parametrize("coding", ["gzip", "deflate", "bare deflate"])
def test_packed_bodies_are_unpacked(host: WebHost, client: Client, coding: str) -> None:
    text = b"a page of some length " * 10_000
    bare = zlib.compressobj(wbits=-15)
    packed = {
        "gzip": gzip.compress(text),
        "deflate": zlib.compress(text),
        "bare deflate": bare.compress(text) + bare.flush(),
    }[coding]
    host.pages["/packed"] = Page(packed, headers={"Content-Encoding": coding.removeprefix("bare ")})
    assert client.get(f"{host.address}/packed", max_bytes=len(text)).body == text


def test_a_bomb_is_not_unpacked(host: WebHost, client: Client) -> None:
    bomb = gzip.compress(bytes(50_000_000), 9)
    host.pages["/bomb"] = Page(bomb, headers={"Content-Encoding": "gzip"})
    tracemalloc.start()
    with pytest.raises(TooLarge):
        client.get(f"{host.address}/bomb", max_bytes=1_000_000)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 20_000_000


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        ({"Content-Encoding": "gzip"}, gzip.compress(b"x" * 1000)[:-10]),
        ({"Content-Encoding": "gzip"}, b"no gzip at all"),
        ({"Content-Encoding": "br"}, b"abc"),
    ],
    ids=["cut short", "not packed", "unknown"],  # what gzip makes has the time in it, and each worker makes its own
)
def test_damaged_packing_is_an_error(host: WebHost, client: Client, headers: dict[str, str], body: bytes) -> None:
    host.pages["/x"] = Page(body, headers=headers)
    with pytest.raises(SourceError, match="packed"):
        client.get(f"{host.address}/x", max_bytes=10_000)


def test_an_answer_without_a_body_may_say_how_it_would_be_packed(host: WebHost, client: Client) -> None:
    host.pages["/same"] = raw(b"HTTP/1.1 304 Not Modified\r\ncontent-encoding: gzip\r\n\r\n")
    answer = client.get(f"{host.address}/same", max_bytes=1000)
    assert (answer.status, answer.body) == (304, b"")


def test_half_a_body_is_an_error(host: WebHost, client: Client) -> None:
    host.pages["/half"] = raw(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n", b"only this")
    with pytest.raises(SourceError, match="cannot be fetched"):
        client.get(f"{host.address}/half", max_bytes=1000)


def test_a_length_that_lies_high_is_an_error_before_it_is_fetched(host: WebHost, client: Client) -> None:
    host.pages["/lie"] = raw(b"HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n", b"x")
    with pytest.raises(TooLarge):
        client.get(f"{host.address}/lie", max_bytes=1000)


@pytest.mark.parametrize(
    "answer", [b"", b"hello, this is no http\r\n\r\n", b"HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n"]
)
def test_what_is_no_http_is_an_error(host: WebHost, client: Client, answer: bytes) -> None:
    host.pages["/x"] = raw(answer)
    with pytest.raises(SourceError):
        client.get(f"{host.address}/x", max_bytes=1000)


@pytest.mark.parametrize(
    "parts",
    [
        [b""],
        [b"HTTP/1.1 200 OK\r\n", *[b"x-header: 1\r\n"] * 100],
        [b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n", *[b"x"] * 100],
    ],
    ids=["nothing", "headers without end", "a byte at a time"],
)
def test_a_slow_host_does_not_hold_anybody_up(host: WebHost, parts: list[bytes]) -> None:
    host.pages["/slow"] = raw(*parts, pause_s=0.1, host=host)
    if len(parts) == 1:
        host.pages["/slow"] = raw(b"", pause_s=120, host=host)
    start = time.monotonic()
    with open_client(HERE) as client, pytest.raises(SourceError, match=r"within 0\.5 s"):
        client.get(f"{host.address}/slow", max_bytes=10_000, timeout_s=0.5)
    assert time.monotonic() - start < 30


def test_a_host_is_looked_up_once_and_that_address_is_connected_to(
    host: WebHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    host.put("/page", "x")
    looked_up = []

    def first_here_then_elsewhere(name: str, port: int, *_: object, **__: object) -> list[Any]:
        looked_up.append(name)
        address = "10.0.0.1" if looked_up.count("rebinding.example") > 1 else "127.0.0.1"
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    with open_client(HERE) as client:
        monkeypatch.setattr(socket, "getaddrinfo", first_here_then_elsewhere)
        answer = client.get(f"http://rebinding.example:{host.port}/page", max_bytes=100)
    assert answer.status == 200
    assert host.asked[0].headers["host"] == f"rebinding.example:{host.port}"
    assert looked_up.count("rebinding.example") == 1


def test_nobody_at_the_port_is_an_error() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    with open_client(HERE) as client, pytest.raises(SourceError, match="cannot be fetched"):
        client.get(f"http://127.0.0.1:{port}/", max_bytes=10)


def test_bad_settings_are_refused_at_once() -> None:
    with pytest.raises(InvalidSetting):
        open_client(FetchSettings(allow_private=("*",)))


def test_a_url_that_is_none_is_refused(client: Client) -> None:
    with pytest.raises(InvalidInput):
        client.get("file:///etc/passwd", max_bytes=10)


def test_proxies_of_the_environment_are_not_asked(host: WebHost, monkeypatch: pytest.MonkeyPatch) -> None:
    host.put("/page", "x")
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    with open_client(HERE) as client:
        assert client.get(f"{host.address}/page", max_bytes=10).status == 200
