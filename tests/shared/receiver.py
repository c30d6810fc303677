"""A server on this machine that is told of events, as good or as bad as a test wants it."""

from __future__ import annotations

import http.server
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Receiver:
    """``seen`` are (headers, body) of every post, also of those that it refused. ``silent``: it does not answer.

    ``thanks`` is what it says where it takes something. ``missing``: so many bytes more are announced than it says;
    it ends the connection then, or where it ``hangs`` does not.
    """

    url: str
    status: int = 200
    silent: bool = False
    location: str = ""
    delay_s: float = 0
    thanks: bytes = b""
    missing: int = 0
    hangs: bool = False
    seen: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    taken: list[dict[str, Any]] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)

    def wait_for(self, fits: Callable[[], bool], most_s: float = 20) -> None:
        """Wait until something is so."""
        until = time.monotonic() + most_s
        while not fits():
            assert time.monotonic() < until, f"{len(self.seen)} posts, {len(self.taken)} events taken"
            self.released.wait(0.01)

    @property
    def ids(self) -> list[int]:
        """The numbers of the events that were taken, in order."""
        return [event["id"] for event in self.taken]


@contextmanager
def receiving(status: int = 200, port: int = 0) -> Iterator[Receiver]:
    """Serve for as long as the block takes, at ``port`` where it is given."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def log_message(self, *args: object) -> None:
            pass

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            receiver.seen.append(({name.lower(): value for name, value in self.headers.items()}, body))
            if receiver.silent:
                receiver.released.wait(30)
                self.close_connection = True
                return
            if receiver.delay_s:
                receiver.released.wait(receiver.delay_s)
            status, said = receiver.status, receiver.thanks if receiver.status < 300 else b"broken"
            if status < 300:
                receiver.taken += json.loads(body)["events"]
            self.send_response(status)
            self.send_header("content-length", str(len(said) + receiver.missing))
            if receiver.location:
                self.send_header("location", receiver.location)
            self.end_headers()
            with suppress(OSError):  # whoever asks may have heard enough
                self.wfile.write(said)
            if receiver.hangs:
                receiver.released.wait(30)

    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
    receiver = Receiver(f"http://127.0.0.1:{server.server_port}/hooks/secret-part", status)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield receiver
    finally:
        receiver.released.set()
        server.shutdown()
        server.server_close()
        thread.join()
