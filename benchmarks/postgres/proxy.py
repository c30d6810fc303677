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
_LENGTH = 4
_ANSWERED = frozenset([b"Q", b"S", b"c", b"f", b"p"])
"""Query, Sync, the end of a copy, and what logs in."""

_MAY_WE_ENCRYPT = ((80877103).to_bytes(4), (80877104).to_bytes(4))


class Proxy:
    """Forwards connections to the server of ``url``, ``delay_s`` later each way; closed at the end of its block.

    ``url`` is then its own address for the same database. ``round_trips``: how often clients asked for an answer, over
    all connections. Statements of a pipeline are answered together, at its end.
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
                for words in ((client, server, _Messages()), (server, client)):
                    threading.Thread(target=self.forward, args=words, daemon=True).start()

    def count(self, asked: int) -> None:
        """Note that a client asked for so many answers."""
        with self._lock:
            self.round_trips += asked

    def forward(self, source: socket.socket, target: socket.socket, messages: _Messages | None = None) -> None:
        """Forward what comes from ``source`` until it ends; ``messages`` are those of a client."""
        waiting: SimpleQueue[tuple[float, bytes]] = SimpleQueue()
        if self._delay_s:
            threading.Thread(target=_send_when_due, args=(waiting, target), daemon=True).start()
        data = b"-"
        while data:
            try:
                data = source.recv(_AT_ONCE)
            except OSError:
                data = b""
            if messages is not None:
                self.count(messages.asked(data))
            if self._delay_s:
                waiting.put((time.monotonic() + self._delay_s, data))
            else:
                _send(target, data)


class _Messages:
    """What a client sends: a type, a length, the rest; the first ones have no type.

    https://www.postgresql.org/docs/current/protocol-message-formats.html
    """

    def __init__(self) -> None:
        self._data = b""
        self._starts = True

    def asked(self, data: bytes) -> int:
        """Return how many messages end with ``data`` that the server answers."""
        self._data += data
        asked = 0
        while len(self._data) > _LENGTH:
            head = 0 if self._starts else 1
            length = head + int.from_bytes(self._data[head : head + _LENGTH])
            if len(self._data) < length:
                break
            message, self._data = self._data[:length], self._data[length:]
            asked += self._starts or message[:1] in _ANSWERED
            self._starts = self._starts and message[_LENGTH : 2 * _LENGTH] in _MAY_WE_ENCRYPT
        return asked


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
