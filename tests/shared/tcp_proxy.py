"""A proxy in front of a server, which a test may point elsewhere, cut, or make hold what it gets."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeAlias

from sqlalchemy.engine import make_url

Target: TypeAlias = str | tuple[str, int]
"""A socket in the file system, or host and port."""


class Proxy:
    """Forwards connections to ``target``; while ``holds``, nothing is forwarded, and nobody is told."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.holds = False
        self._moves = threading.Condition()
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._serving: list[threading.Thread] = []
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()

    def hold(self) -> None:
        """Forward nothing any more, as a network does that is parted."""
        self.holds = True

    def forward(self) -> None:
        """Forward again what was held, and what comes."""
        with self._moves:
            self.holds = False
            self._moves.notify_all()

    def cut(self) -> None:
        """Close all connections."""
        for pair in self._pairs:
            for one in pair:
                with suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)
        self._pairs.clear()

    def close(self) -> None:
        """End."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._accepting.join()
        self._listener.close()
        self.forward()
        self.cut()
        for thread in self._serving:
            thread.join()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            try:
                far = connected(self.target)
            except OSError:
                near.close()
                continue
            self._pairs.append((near, far))
            self._serving.append(threading.Thread(target=self._serve, args=(near, far), daemon=True))
            self._serving[-1].start()

    def _serve(self, near: socket.socket, far: socket.socket) -> None:
        back = threading.Thread(target=self._move, args=(far, near), daemon=True)
        with near, far:
            back.start()
            self._move(near, far)
            back.join()

    def _move(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65_536):
                with self._moves:
                    self._moves.wait_for(lambda: not self.holds)
                sink.sendall(data)
        with suppress(OSError):
            sink.shutdown(socket.SHUT_RDWR)


def connected(target: Target) -> socket.socket:
    """Return a connection to a target."""
    if isinstance(target, tuple):
        return socket.create_connection(target)
    found = socket.socket(socket.AF_UNIX)
    found.connect(target)
    return found


def target_of(url: str) -> Target:
    """Return where the server of a database listens, by the database's address."""
    parsed = make_url(url)
    host = parsed.query.get("host", parsed.host) or "127.0.0.1"
    port = parsed.port or int(str(parsed.query.get("port", 5432)))
    assert isinstance(host, str)
    return str(Path(host, f".s.PGSQL.{port}")) if host.startswith("/") else (host, port)


def by_way_of(port: int, url: str) -> str:
    """Return the address of a database by way of a proxy at a port of this machine."""
    parsed = make_url(url).set(host="127.0.0.1", port=port, query={})
    return parsed.render_as_string(hide_password=False)


@contextmanager
def proxy(url: str) -> Iterator[Proxy]:
    """Run a proxy in front of the server of a database."""
    running = Proxy(target_of(url))
    try:
        yield running
    finally:
        running.close()
