"""``GET /api/v1/events`` over a real port: what happens, as it happens, to whom it is allowed."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from access_support import key_for
from forking import Forked
from serve_support import Running

from pinakes.api.events import event_stream
from pinakes.api.http_app import create_app
from pinakes.library import Library
from pinakes.services.events import kinds_of
from pinakes.settings import load

PATH = "/api/v1/events"

SERVE = """
import sys
from pinakes.api import serve
from pinakes.settings import load
settings = load(home=sys.argv[1], embedding__provider="deterministic", server__port=0)
serve(settings, on_ready=lambda url: print(url, flush=True))
"""


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Callable[..., tuple[Library, httpx.Client]]]:
    started: list[tuple[Running, Library]] = []

    def start(**chosen: Any) -> tuple[Library, httpx.Client]:
        given = {"embedding__provider": "deterministic", "server__port": 0, **chosen}
        library = Library(load(home=tmp_path / "home", environment={}, **given))
        running = Running(create_app(library), library.settings)
        started.append((running, library))
        return library, running.client

    yield start
    for running, library in started:
        running.stop()
        library.close()


class Listener:
    """A client that follows a stream in a thread of its own."""

    def __init__(self, client: httpx.Client, query: str, headers: dict[str, str]) -> None:
        self.events: list[dict[str, Any]] = []
        self.ids: list[int] = []
        self.status = 0
        self._client, self._query, self._headers = client, query, headers
        self._thread = threading.Thread(target=self._follow)
        self._response: httpx.Response | None = None
        self.connected = threading.Event()
        self._thread.start()

    def _follow(self) -> None:
        try:
            with self._client.stream("GET", PATH + self._query, headers=self._headers) as response:
                self._response, self.status = response, response.status_code
                for line in response.iter_lines():
                    self.connected.set()
                    self._take(line)
        except httpx.HTTPError:
            pass
        finally:
            self.connected.set()

    def _take(self, line: str) -> None:
        name, _, value = line.partition(": ")
        if name == "data":
            self.events.append(json.loads(value))
        elif name == "id":
            self.ids.append(int(value))

    def wait_for(self, fits: Callable[[], bool]) -> None:
        until = time.monotonic() + 20
        while not fits():
            assert time.monotonic() < until, self.events
            threading.Event().wait(0.01)

    @property
    def titles(self) -> list[str]:
        return [event.get("title", "") for event in self.events]

    @property
    def ended(self) -> bool:
        return not self._thread.is_alive()

    def hang_up(self) -> None:
        """Leave, as a client does that is killed."""
        if self._response is not None and not self.ended:
            with suppress(OSError):
                self._response.extensions["network_stream"].get_extra_info("socket").shutdown(socket.SHUT_RDWR)
        self.join()

    def join(self) -> None:
        self._thread.join(20)
        assert self.ended


@contextmanager
def listening(base: httpx.Client, query: str = "", **headers: str) -> Iterator[Listener]:
    client = httpx.Client(base_url=base.base_url, timeout=30)
    listener = Listener(client, query, {name.replace("_", "-"): value for name, value in headers.items()})
    assert listener.connected.wait(20)
    try:
        yield listener
    finally:
        listener.hang_up()
        client.close()


def put(library: Library, *titles: str, collection: str = "default") -> None:
    for title in titles:
        library.documents.put(f"# {title}\n\nAbout {title}.\n", title=title, collection=collection)


Served = Callable[..., tuple[Library, httpx.Client]]


def test_who_listens_is_told_of_what_happens_from_now_on(served: Served) -> None:
    library, client = served()
    put(library, "before")
    with listening(client) as listener:
        put(library, "a", "b")
        listener.wait_for(lambda: len(listener.events) == 2)
    assert listener.titles == ["a", "b"]
    assert listener.events[0]["kind"] == "indexed"
    assert [event["id"] for event in listener.events] == listener.ids == [2, 3]


@pytest.mark.parametrize("how", ["header", "query"])
def test_who_comes_back_is_told_what_it_missed(served: Served, how: str) -> None:
    library, client = served()
    put(library, "a", "b", "c")
    given = {"Last_Event_ID": "1"} if how == "header" else {}
    with listening(client, "?after=2" if how == "header" else "?after=1", **given) as listener:
        listener.wait_for(lambda: listener.titles == ["b", "c"])
        put(library, "d")
        listener.wait_for(lambda: listener.titles == ["b", "c", "d"])


def test_who_was_away_for_too_long_is_told_how_much_is_gone(served: Served) -> None:
    library, client = served()
    put(library, "a", "b", "c")
    with library.app.catalog.write() as connection:
        connection.exec_driver_sql("DELETE FROM events WHERE id < 3")
    with listening(client, "?after=0") as listener:
        listener.wait_for(lambda: len(listener.events) == 2)
    assert listener.events[0] == {"kind": "missed", "count": 2}
    assert listener.events[1]["title"] == "c"


def test_who_is_too_slow_is_told_how_much_is_gone(served: Served) -> None:
    library, client = served()
    with listening(client) as listener:
        put(library, "a")
        listener.wait_for(lambda: len(listener.events) == 1)
        with library.app.catalog.write() as connection:
            values = "('', 'deleted', 'deleted', 'a', '')"
            many = ", ".join([values] * 3)
            connection.exec_driver_sql(f"INSERT INTO events (at, kind, operation, collection, by) VALUES {many}")
            connection.exec_driver_sql("DELETE FROM events WHERE id < 4")
        listener.wait_for(lambda: len(listener.events) == 3)
    assert listener.events[1] == {"kind": "missed", "count": 2}
    assert listener.ids == [1, 4]


def test_only_what_is_wanted_is_told(served: Served) -> None:
    library, client = served()
    put(library, "a", collection="one")
    put(library, "b", collection="two")
    put(library, "c", collection="three")
    with listening(client, "?after=0&collections=one,three&kinds=indexed,deleted") as listener:
        listener.wait_for(lambda: listener.titles == ["a", "c"])
    with listening(client, "?after=0&kinds=deleted") as listener:
        library.collecting.delete("two")
        listener.wait_for(lambda: len(listener.events) == 1)
    assert listener.events[0]["operation"] == "collection deleted"


def test_a_key_is_told_of_its_collections_only(served: Served) -> None:
    library, client = served(server__require_keys=True)
    put(library, "a", collection="closed")
    put(library, "b", collection="open")
    with listening(client, "?after=0") as listener:
        listener.join()
    assert listener.status == 401
    header = key_for(library, "reader", "read", ["open"])
    for query in ("?after=0", "?after=0&collections=open,closed"):
        with listening(client, query, **header) as listener:
            put(library, "c", collection="closed")
            put(library, "d", collection="open")
            listener.wait_for(lambda: "d" in listener.titles)
        assert set(listener.titles) <= {"b", "d"}
    with listening(client, "?after=0&collections=closed", **header) as listener:
        put(library, "e", collection="closed")
        assert listener.events == []


def test_a_stream_without_events_sends_comments_and_ends(served: Served) -> None:
    library, _ = served()
    put(library, "a")
    look = partial(library.events.after, most=10, kinds=kinds_of(["deleted"]), within=None, visible=None)

    async def sent() -> list[bytes]:
        return [part async for part in event_stream(look, 0, threading.Event(), heartbeat_s=0.01, longest_s=1.5)]

    first, *others = asyncio.run(sent())
    assert first.startswith(b"retry: ")
    assert set(others) == {b"id: 1\n: waiting\n\n"}


@pytest.mark.parametrize("query", ["?kinds=eaten", "?after=soon", "?after=-1", "?after=99999999999999999999"])
def test_what_cannot_be_meant_is_refused(served: Served, query: str) -> None:
    _, client = served()
    answer = client.get(PATH + query)
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "INVALID_INPUT")


def test_searches_are_answered_while_many_listen(served: Served) -> None:
    library, client = served()
    put(library, "heron")
    clients = [httpx.Client(base_url=client.base_url, timeout=30) for _ in range(20)]
    listeners = [Listener(one, "", {}) for one in clients]
    assert all(one.connected.wait(20) for one in listeners)
    began = time.monotonic()
    assert client.post("/search", json={"query": "heron"}).json()["total_results"] == 1
    assert time.monotonic() - began < 10
    put(library, "otter")
    for one in listeners:
        one.wait_for(lambda one=one: one.titles == ["otter"])
    for one, connection in zip(listeners, clients, strict=True):
        one.hang_up()
        connection.close()


def test_a_server_ends_while_somebody_listens(tmp_path: Path, process: Callable[..., Forked]) -> None:
    home = tmp_path / "home"
    server = process(SERVE, home)
    assert server.stdout is not None
    url = server.stdout.readline().decode().strip()
    with httpx.Client(base_url=url, timeout=30) as client:
        listener = Listener(client, "", {})
        assert listener.connected.wait(20)
        with Library.open(home, embedding__provider="deterministic") as library:
            put(library, "a")
        listener.wait_for(lambda: listener.titles == ["a"])
        began = time.monotonic()
        server.send_signal(signal.SIGTERM)
        assert server.wait(30) == 0
        assert time.monotonic() - began < 15
        listener.join()
