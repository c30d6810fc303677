"""A server on this machine that speaks as OpenAI's embeddings do, in the place of a provider, and fails as told."""

from __future__ import annotations

import hashlib
import http.server
import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

_WORD = re.compile(r"\w+")

Answer: TypeAlias = "Raw | dict[str, Any] | list[Any] | None"
Reply: TypeAlias = Callable[[list[str], int], Answer]
"""Takes the texts of a request and how many requests came before it; None = the vectors, as they should be."""


@dataclass(frozen=True)
class Raw:
    """An answer as it is sent; with ``half``, only half of the body is. Status 0 = nothing is answered at all."""

    status: int
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    half: bool = False


SILENT = Raw(0)
BUSY = Raw(429, b'{"error": {"message": "too many requests"}}', {"retry-after": "0"})
DOWN = Raw(503, b"overloaded")


class EmbeddingServer:
    """Gives each text the mean of the vectors of its words. ``paid`` are the texts that it answered.

    ``seen`` are (path, headers, request) of all requests.
    """

    def __init__(self, dimension: int = 48) -> None:
        self.dimension = dimension
        self.seen: list[tuple[str, dict[str, str], Any]] = []
        self.paid: list[str] = []
        self.reply: Reply = lambda texts, before: None
        self.before: Callable[[list[str]], object] = lambda texts: None
        self._lock = threading.Lock()
        self._released = threading.Event()
        self._port = 0
        self._server: http.server.ThreadingHTTPServer | None = None
        self._thread: threading.Thread | None = None
        self.most_at_once = self._at_once = 0

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    @property
    def url(self) -> str:
        return f"{self.address}/v1"

    @property
    def requests(self) -> int:
        return len(self.seen)

    def start(self) -> None:
        """Serve, at the same address as before."""
        self._released.clear()
        self._server = _Server(("127.0.0.1", self._port), _handler(self))
        self._port = self._server.server_port
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def stop(self) -> None:
        """End, also what is under way; safe from a thread that answers a request."""
        self._released.set()
        server, self._server = self._server, None
        thread, self._thread = self._thread, None
        if server is not None and thread is not None:
            server.shutdown()
            server.server_close()
            thread.join()

    def vector(self, text: str) -> list[float]:
        """Return what a text gets: of unit length only by chance."""
        words = [self._word(word) for word in _WORD.findall(text.lower())] or [self._word("")]
        return [float(number) for number in np.mean(words, axis=0) * 3]

    def rows(self, texts: list[str]) -> list[dict[str, Any]]:
        return [{"object": "embedding", "index": at, "embedding": self.vector(one)} for at, one in enumerate(texts)]

    def answer(self, path: str, headers: dict[str, str], request: Any) -> Answer:
        texts = request.get("input", request.get("inputs"))
        with self._lock:
            before = len(self.seen)
            self.seen.append((path, headers, request))
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            self.before(texts)
            found = SILENT if self._server is None else self.reply(texts, before)
            if found == SILENT:
                self._released.wait(30)
            if found is not None:
                return found
        finally:
            with self._lock:
                self._at_once -= 1
        if "inputs" in request:
            return [row["embedding"] for row in self.rows(texts)]
        rows = self.rows(texts)
        if "dimensions" in request:
            rows = [{**row, "embedding": row["embedding"][: request["dimensions"]]} for row in rows]
        return {"object": "list", "data": rows, "usage": {"total_tokens": sum(len(_WORD.findall(t)) for t in texts)}}

    def sent(self, request: Any) -> None:
        """Note that an answer was sent."""
        with self._lock:
            self.paid += request.get("input", request.get("inputs"))

    def _word(self, word: str) -> Any:
        seed = np.frombuffer(hashlib.sha256(word.encode()).digest(), "<u4")
        return np.random.RandomState(seed).standard_normal(self.dimension)


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of clients that went away."""


def _handler(served: EmbeddingServer) -> type[http.server.BaseHTTPRequestHandler]:
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *args: object) -> None:
            pass

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["content-length"])))
            headers = {name.lower(): value for name, value in self.headers.items()}
            answer = served.answer(self.path, headers, request)
            if served._server is None or answer == SILENT:  # killed meanwhile: nobody hears of it
                self.close_connection = True
                return
            raw = answer if isinstance(answer, Raw) else Raw(200, json.dumps(answer).encode())
            self.send_response(raw.status)
            for name, value in raw.headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(raw.body)))
            self.end_headers()
            if not isinstance(answer, Raw):
                served.sent(request)
            self.wfile.write(raw.body[: len(raw.body) // 2] if raw.half else raw.body)
            self.close_connection |= raw.half

    return Handler


@contextmanager
def serving(dimension: int = 48) -> Iterator[EmbeddingServer]:
    """Serve embeddings for as long as the block takes."""
    server = EmbeddingServer(dimension)
    server.start()
    try:
        yield server
    finally:
        server.stop()
