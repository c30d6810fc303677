"""MCP over stdin and stdout: a relay to a server, in another process or in this one.

Clients give a server little time to greet, and the libraries behind it take longer than that to load. So the
relay answers ``initialize`` and ``ping`` itself, needs little more than the standard library for it, and
hands every other message to an upstream, which is found or opened meanwhile.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import IO, Protocol

from pinakes.api import jsonrpc
from pinakes.api.greeting import CAPABILITIES, PROTOCOL_VERSIONS, instructions, version_of
from pinakes.core.errors import PinakesError
from pinakes.core.records import JSON
from pinakes.settings import Settings

_CONCURRENT_CALLS = 8


class Upstream(Protocol):
    """Where messages are answered."""

    def answer(self, message: dict[str, JSON], protocol_version: str) -> dict[str, JSON]:
        """Return the JSON-RPC response to a request."""
        ...

    def close(self) -> None:
        """Release everything."""
        ...


def run(settings: Settings, url: str | None) -> None:
    """See ``pinakes.api.serve_stdio``."""
    incoming, outgoing = take_streams()
    _say(f"{settings.server_name} {version_of(settings)}: MCP over stdio" + (f", for {url}" if url else ""))
    upstream = _Opening(lambda: _open(settings, url))
    relay = Relay(settings, upstream, outgoing)
    try:
        for line in incoming:
            relay.take(line)
    except KeyboardInterrupt:
        pass
    finally:
        relay.finish()
        upstream.close()


def take_streams() -> tuple[IO[bytes], IO[bytes]]:
    """Return stdin and stdout for the protocol alone: anything else that prints, prints to stderr.

    That holds for native code and child processes too, and children find stdin empty.
    """
    sys.stdout.flush()
    incoming, outgoing = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return incoming, outgoing


class Relay:
    """Takes messages line by line; requests are answered concurrently, each when it is done."""

    def __init__(self, settings: Settings, upstream: Upstream, outgoing: IO[bytes]) -> None:
        self._settings = settings
        self._upstream = upstream
        self._outgoing = outgoing
        self._writing = threading.Lock()
        self._calls = ThreadPoolExecutor(_CONCURRENT_CALLS, thread_name_prefix="pinakes-call")
        self._cancelled: set[str] = set()
        self._version = PROTOCOL_VERSIONS[-1]

    def take(self, line: bytes) -> None:
        """Handle one line."""
        if not line.strip():
            return
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            self._send(jsonrpc.error(None, jsonrpc.PARSE_ERROR, "This is not JSON."))
            return
        wrong = jsonrpc.refusal(message)
        if wrong is not None:
            self._send(wrong)
        elif "method" in message and "id" in message:
            self._request(message)
        elif message.get("method") == "notifications/cancelled":
            self._cancelled.add(json.dumps((message.get("params") or {}).get("requestId")))

    def finish(self) -> None:
        """Let the calls under way end."""
        self._calls.shutdown(wait=True)

    def _request(self, message: dict[str, JSON]) -> None:
        method, params = message["method"], message.get("params")
        if method == "initialize":
            self._send(jsonrpc.result(message["id"], self._greeting(params if isinstance(params, dict) else {})))
        elif method == "ping":
            self._send(jsonrpc.result(message["id"], {}))
        elif method == "server/discover":
            self._send(jsonrpc.error(message["id"], jsonrpc.NO_SUCH_METHOD, "Begin with initialize."))
        else:
            self._calls.submit(self._answer, message)

    def _greeting(self, params: dict[str, JSON]) -> dict[str, JSON]:
        asked = params.get("protocolVersion")
        self._version = asked if asked in PROTOCOL_VERSIONS else PROTOCOL_VERSIONS[-1]
        return {
            "protocolVersion": self._version,
            "capabilities": CAPABILITIES,
            "serverInfo": {"name": self._settings.server_name, "version": version_of(self._settings)},
            "instructions": instructions(self._settings),
        }

    def _answer(self, message: dict[str, JSON]) -> None:
        try:
            response = self._upstream.answer(message, self._version)
        except PinakesError as error:
            response = failure(self._settings, message, error)
        except Exception as error:  # noqa: BLE001 - the client must get an answer
            _say(f"{message['method']} failed: {error!r}")
            response = jsonrpc.error(message["id"], jsonrpc.INTERNAL_ERROR, "An internal error.")
        if json.dumps(message["id"]) not in self._cancelled:
            self._send(response)

    def _send(self, message: dict[str, JSON]) -> None:
        line = json.dumps(message, separators=(",", ":")).encode() + b"\n"
        with self._writing:
            try:
                self._outgoing.write(line)
                self._outgoing.flush()
            except (BrokenPipeError, ValueError):
                return


def failure(settings: Settings, message: dict[str, JSON], error: PinakesError) -> dict[str, JSON]:
    """Return the response to a request that no upstream answered: a failed tool call, or an error."""
    if message["method"] != "tools/call":
        return jsonrpc.error(message["id"], jsonrpc.INTERNAL_ERROR, str(error))
    from pinakes.tools.declare import error_text

    name = str((message.get("params") or {}).get("name"))
    template = {declared.name: declared.error for declared in settings.tools}.get(name, "{message}")
    content = [{"type": "text", "text": error_text(template, error)}]
    return jsonrpc.result(message["id"], {"content": content, "isError": True})


class _Opening:
    """An upstream that is opened in the background, and waited for when it is first needed."""

    def __init__(self, open_it: Callable[[], Upstream]) -> None:
        self._opened: Future[Upstream] = Future()
        self._open_it = open_it
        threading.Thread(target=self._run, name="pinakes-open", daemon=True).start()

    def answer(self, message: dict[str, JSON], protocol_version: str) -> dict[str, JSON]:
        return self._opened.result().answer(message, protocol_version)

    def close(self) -> None:
        if not self._opened.done():
            sys.stderr.flush()
            os._exit(0)  # a thread is still loading libraries; nothing is open yet that must be closed
        if self._opened.exception() is None:
            self._opened.result().close()

    def _run(self) -> None:
        try:
            self._opened.set_result(self._open_it())
        except Exception as error:  # noqa: BLE001 - whoever waits gets it
            _say(f"{error}")
            self._opened.set_exception(error)


def _open(settings: Settings, url: str | None) -> Upstream:
    from pinakes.api import stdio_upstream as upstream

    return upstream.open_upstream(settings, url)


def _say(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()
