"""A server on this machine that speaks as OpenAI's chat completions do, in the place of a language model."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

Reply = Callable[[dict[str, Any]], Any]
"""Takes a request and returns what is answered: text is the model's, (status, bytes) is sent as it is, with headers
where it is (status, bytes, headers). Status 0 is no answer at all, -1 half of one."""


@dataclass
class ChatServer:
    """``url`` is the address of its API; ``seen`` are (path, headers, request) of what it was asked."""

    url: str
    reply: Reply
    seen: list[tuple[str, dict[str, str], dict[str, Any]]] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)


@contextmanager
def serving(reply: Reply) -> Iterator[ChatServer]:
    """Serve answers that ``reply`` makes, for as long as the block takes."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *args: object) -> None:
            pass

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["content-length"])))
            headers = {name.lower(): value for name, value in self.headers.items()}
            served.seen.append((self.path, headers, request))
            answer = served.reply(request)
            status, body, *more = answer if isinstance(answer, tuple) else (200, completion(answer))
            if status == 0:
                served.released.wait(30)
                self.close_connection = True
                return
            half = status < 0
            self.send_response(200 if half else status)
            self.send_header("content-length", str(len(body) + half))
            for name, value in more[0].items() if more else ():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)
            self.close_connection |= half

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    served = ChatServer(f"http://127.0.0.1:{server.server_port}/v1", reply)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield served
    finally:
        served.released.set()
        server.shutdown()
        server.server_close()
        thread.join()


def completion(content: Any, *, finish: str = "stop", refusal: str | None = None, **more: Any) -> bytes:
    """Return an answer as the protocol has it; ``more`` stands beside the text, such as ``usage``."""
    message = {"role": "assistant", "content": content, "refusal": refusal}
    return json.dumps({"choices": [{"index": 0, "message": message, "finish_reason": finish}], **more}).encode()
