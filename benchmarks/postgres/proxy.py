"""A proxy before PostgreSQL that counts round trips, and can be as far away as another machine.

``python -m benchmarks.postgres.proxy URL --delay-ms 1`` runs one in a process of its own, which prints its address.
"""

from __future__ import annotations

import argparse
import socket
import sys
import threading
import time
from contextlib import suppress
from queue import SimpleQueue
from types import TracebackType

from sqlalchemy.engine import URL, make_url

_AT_ONCE = 1 << 16
_PORT = 5432


class Proxy:
    """Forwards connections to the server of ``url``, ``delay_s`` later each way; closed at the end of its block.

    ``url`` is then its own address for the same database. ``round_trips``: how often a client sent something after the
    server had answered, over all connections, beginning with the first thing that each sends.
    """

    def __init__(self, url: str, delay_s: float = 0.0) -> None:
        self._target, self._delay_s = make_url(url), delay_s
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self._lock = threading.Lock()
        self.round_trips = 0
        port = self._listener.getsockname()[1]
        own = self._target.set(host="127.0.0.1", port=port).difference_update_query(["host", "port"])
        self.url = own.render_as_string(hide_password=False)
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Proxy:
        return self

    def __exit__(self, _type: type[BaseException] | None, _: BaseException | None, __: TracebackType | None) -> None:
        self._listener.close()
        for one in self._open:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _accept(self) -> None:
        with suppress(OSError):  # the listener was closed
            while True:
                client, _ = self._listener.accept()
                server = _connected(self._target)
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._open += [client, server]
                _Connection(self, client, server)

    def count(self) -> None:
        """Note that a round trip begins."""
        with self._lock:
            self.round_trips += 1

    def later(self, source: socket.socket, target: socket.socket, on_data: threading.Event, *, asks: bool) -> None:
        """Forward what comes from ``source`` until it ends; ``on_data`` is set while the server spoke last."""
        waiting: SimpleQueue[tuple[float, bytes]] = SimpleQueue()
        if self._delay_s:
            threading.Thread(target=_send_when_due, args=(waiting, target), daemon=True).start()
        data = b"-"
        while data:
            try:
                data = source.recv(_AT_ONCE)
            except OSError:
                data = b""
            if data and asks and on_data.is_set():
                on_data.clear()
                self.count()
            elif data and not asks:
                on_data.set()
            if self._delay_s:
                waiting.put((time.monotonic() + self._delay_s, data))
            else:
                _send(target, data)


class _Connection:
    """Two threads that forward, one for each way."""

    def __init__(self, proxy: Proxy, client: socket.socket, server: socket.socket) -> None:
        answered = threading.Event()
        answered.set()
        for source, target, asks in ((client, server, True), (server, client, False)):
            ways = {"target": proxy.later, "args": (source, target, answered), "kwargs": {"asks": asks}}
            threading.Thread(**ways, daemon=True).start()


def _send_when_due(waiting: SimpleQueue[tuple[float, bytes]], target: socket.socket) -> None:
    data = b"-"
    while data:
        due, data = waiting.get()
        time.sleep(max(0.0, due - time.monotonic()))
        _send(target, data)


def _send(target: socket.socket, data: bytes) -> None:
    """Send on; nothing, where the other side has ended, ends this side, too."""
    with suppress(OSError):
        if data:
            target.sendall(data)
        else:
            target.shutdown(socket.SHUT_WR)


def _connected(url: URL) -> socket.socket:
    folder = url.query.get("host", "")
    if isinstance(folder, str) and folder.startswith("/"):
        server = socket.socket(socket.AF_UNIX)
        server.connect(f"{folder}/.s.PGSQL.{url.query.get('port', _PORT)}")
        return server
    server = socket.create_connection((url.host or "127.0.0.1", url.port or _PORT))
    server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return server


def main() -> None:
    """Forward until standard input ends."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url", help="the address of the database")
    parser.add_argument("--delay-ms", type=float, default=0.0, help="so much later, each way")
    given = parser.parse_args()
    with Proxy(given.url, given.delay_ms / 1000) as proxy:
        print(proxy.url, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
