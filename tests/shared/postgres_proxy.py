"""Stands between a client and PostgreSQL, and counts round trips."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from selectors import EVENT_READ, DefaultSelector

from sqlalchemy.engine import make_url


class PostgresProxy:
    """Passes everything on. ``round_trips``: how often a client sent something after it had got an answer."""

    def __init__(self, url: str) -> None:
        made = make_url(url)
        self._place = f"{made.query['host']}/.s.PGSQL.{made.port or 5432}"
        self._listening = socket.create_server(("127.0.0.1", 0))
        port = self._listening.getsockname()[1]
        self.url = f"postgresql://{made.username}@127.0.0.1:{port}/{made.database}?sslmode=disable&gssencmode=disable"
        self.round_trips = 0
        self._counting = threading.Lock()
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        for one in (self._listening, *self._open):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                threading.Thread(target=self._pass_on, args=(client,), daemon=True).start()

    def _pass_on(self, client: socket.socket) -> None:
        server = socket.socket(socket.AF_UNIX)
        server.connect(self._place)
        self._open += [client, server]
        answered = True
        with suppress(OSError, ValueError), DefaultSelector() as ready, closing(client), closing(server):
            ready.register(client, EVENT_READ, server)
            ready.register(server, EVENT_READ, client)
            while True:
                for key, _ in ready.select():
                    sender, receiver = key.fileobj, key.data
                    assert isinstance(sender, socket.socket)
                    data = sender.recv(1 << 16)
                    if not data:
                        return
                    if sender is client and answered:
                        with self._counting:
                            self.round_trips += 1
                    answered = sender is server
                    receiver.sendall(data)


@contextmanager
def counted(proxy: PostgresProxy) -> Iterator[list[int]]:
    """Give a list that has the number of round trips of the block after it."""
    before, found = proxy.round_trips, list[int]()
    yield found
    found.append(proxy.round_trips - before)
