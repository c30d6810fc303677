"""Checks that every request passes first: Host, Origin, size.

Browsers let any page send requests to a local server. A page that made its own name resolve to this machine
(DNS rebinding) is recognised by the Host header, any other page by the Origin header.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Collection
from contextlib import suppress
from typing import Final, TypeAlias

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pinakes.core.loopback import address_of, is_loopback
from pinakes.settings import ServerSettings

METHODS = "GET, POST, PUT, DELETE, OPTIONS"
_PREFLIGHT_SECONDS = "600"
_MOST_DRAINED_BYTES = 64_000_000
_DRAINING_S = 5.0
_HOST: Final = re.compile(
    r"(?:\[(?P<v6>[0-9a-f:.]{2,45})\]|(?P<name>[a-z0-9_](?:[a-z0-9_.-]{0,251}[a-z0-9_])?\.?))(?::(?P<port>[0-9]{0,5}))?",
    re.ASCII,
)
_MOST_PORT: Final = 65_535
_Place: TypeAlias = tuple[str, str]
"""A host name or address, without brackets, and its port, "" where none is given."""

_CODES = {403: "FORBIDDEN", 413: "TOO_LARGE", 415: "INVALID_INPUT"}
_COMPRESSIONS = frozenset("br compress deflate gzip x-compress x-gzip zstd".split())


class Guard:
    """Refuses foreign hosts, foreign origins and large bodies; answers preflight requests."""

    def __init__(self, app: ASGIApp, settings: ServerSettings) -> None:
        self._app = app
        self._most = settings.max_body_bytes
        self._origins = {origin.rstrip("/").lower() for origin in settings.allowed_origins}
        self._hosts = {_name_of(host) for host in settings.allowed_hosts} | {_name_of(settings.host)}
        self._any_address = is_unspecified(settings.host)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, as ASGI has it."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        refusal = self._refusal(headers)
        if refusal is not None:
            await _refuse(scope, receive, send, *refusal)
            return
        origin = headers.get("origin")
        if scope["type"] == "http":
            if scope["method"] == "OPTIONS":
                await _answer_options(headers, send)
                return
            if _declared_length(headers) > self._most:
                await _refuse(scope, receive, send, 413, self._too_large())
                return
            if (encoding := _compression(headers)) and _has_body(headers):
                detail = f"A body in the encoding {encoding!r} is not read. Send it without Content-Encoding."
                await _refuse(scope, receive, send, 415, detail)
                return
            receive, send = self._limited(scope, receive, _with_cors(send, origin) if origin else send)
        await self._app(scope, receive, send)

    def _refusal(self, headers: Headers) -> tuple[int, str] | None:
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        host = _place(hosts[0]) if len(hosts) == 1 else None
        if host is None or not self._host_allowed(host[0]):
            shown = ", ".join(hosts)[:100]
            return 403, f"This server does not answer to the host {shown!r}. Allow it with server.allowed_hosts."
        if origins:
            if len(origins) > 1 or not self._origin_allowed(origins[0], host):
                shown = ", ".join(origins)[:100]
                return 403, f"Pages of {shown!r} may not use this server. Allow it with server.allowed_origins."
        elif headers.get("sec-fetch-site") == "cross-site" and headers.get("sec-fetch-mode") != "navigate":
            return 403, "Pages of other sites may not use this server. Allow them with server.allowed_origins."
        return None

    def _host_allowed(self, host: str) -> bool:
        if is_loopback(host) or host in self._hosts or "*" in self._hosts:
            return True
        return self._any_address and address_of(host) is not None

    def _origin_allowed(self, origin: str, host: _Place) -> bool:
        origin = origin.lower()
        if origin in self._origins or "*" in self._origins:
            return True
        scheme, _, rest = origin.partition("://")
        place = _place(rest) if scheme in ("http", "https") else None
        return place is not None and (is_loopback(place[0]) or place == host)

    def _limited(self, scope: Scope, receive: Receive, send: Send) -> tuple[Receive, Send]:
        """Count the body while it is read; when it grows too large the app sees the client leave, the client a 413."""
        read, started, over = 0, False, False

        async def limited_receive() -> Message:
            nonlocal read, over
            message = await receive()
            if message["type"] == "http.request":
                read += len(message.get("body", b""))
                if read > self._most and not started:
                    over = True
                    await _refuse(scope, receive if message.get("more_body") else None, send, 413, self._too_large())
                    return {"type": "http.disconnect"}
            return message

        async def limited_send(message: Message) -> None:
            nonlocal started
            if over:
                return
            started = True
            await send(message)

        return limited_receive, limited_send

    def _too_large(self) -> str:
        return f"The request is larger than {self._most} bytes. server.max_body_bytes raises the limit."


def is_unspecified(host: str) -> bool:
    """Say whether an address to bind means every interface."""
    address = address_of(host)
    return host == "" or (address is not None and address.is_unspecified)


def _place(text: str) -> _Place | None:
    """Return the name and port of a ``Host`` header, or of what follows ``://`` in an origin; None where it is neither.

    Nothing else may stand there: what another program would read as user, path or port decides whose page it is.
    """
    match = _HOST.fullmatch(text.lower())
    if match is None or int(match["port"] or 0) > _MOST_PORT:
        return None
    if match["v6"] is not None:
        return (match["v6"], match["port"] or "") if address_of(match["v6"]) else None
    return match["name"].removesuffix("."), match["port"] or ""


def _name_of(host: str) -> str:
    """Return the name in what a setting says of a host: it may be an address without brackets."""
    host = host.strip().lower()
    place = _place(host)
    return host if place is None else place[0]


def _declared_length(headers: Headers) -> int:
    length = headers.get("content-length", "0")
    return int(length) if length.isdecimal() else 0


def _compression(headers: Headers) -> str:
    """Return how the body is compressed, "" if it is not."""
    named = (one.strip().lower() for value in headers.getlist("content-encoding") for one in value.split(","))
    return next((one for one in named if one in _COMPRESSIONS), "")


def _has_body(headers: Headers) -> bool:
    return _declared_length(headers) > 0 or "transfer-encoding" in headers


async def _drain(receive: Receive) -> None:
    """Read what a client is still sending, up to a limit: many read no answer before they have sent all."""
    left = _MOST_DRAINED_BYTES
    with suppress(TimeoutError):
        async with asyncio.timeout(_DRAINING_S):
            while left > 0:
                message = await receive()
                left -= len(message.get("body", b""))
                if message["type"] != "http.request" or not message.get("more_body"):
                    return


async def _refuse(scope: Scope, receive: Receive | None, send: Send, status: int, detail: str) -> None:
    """Answer with ``status``, once the rest of the body is read by ``receive``."""
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008, "reason": detail[:120]})
        return
    from pinakes.schemas.envelope import of_this_interface, refused

    body = json.dumps({"detail": detail, "code": _CODES[status]}).encode()
    if of_this_interface(scope["path"]):
        body = bytes(refused(status, _CODES[status], detail).body)
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if receive is not None and b"expect" not in dict(scope["headers"]):  # such a client waits for the answer first
        await _drain(receive)
    await send({"type": "http.response.start", "status": status, "headers": [*headers, (b"connection", b"close")]})
    await send({"type": "http.response.body", "body": body})


async def _answer_options(headers: Headers, send: Send) -> None:
    origin = headers.get("origin")
    answer: Collection[tuple[str, str]] = [("allow", METHODS)]
    if origin:
        wanted = headers.get("access-control-request-headers", "content-type")
        answer = [
            *_cors(origin),
            ("access-control-allow-methods", METHODS),
            ("access-control-allow-headers", wanted),
            ("access-control-max-age", _PREFLIGHT_SECONDS),
            ("access-control-allow-private-network", "true"),
        ]
    encoded = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in answer]
    await send({"type": "http.response.start", "status": 204, "headers": encoded})
    await send({"type": "http.response.body", "body": b""})


def _with_cors(send: Send, origin: str) -> Send:
    async def send_with_cors(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _cors(origin):
                headers[name] = value
        await send(message)

    return send_with_cors


def _cors(origin: str) -> list[tuple[str, str]]:
    exposed = "mcp-session-id, mcp-protocol-version"
    return [("access-control-allow-origin", origin), ("vary", "Origin"), ("access-control-expose-headers", exposed)]
