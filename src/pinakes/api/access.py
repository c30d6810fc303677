"""Access control of requests: the key that each shows, its scope, and its rate.

Keys are needed where other machines reach the server, and where ``server.require_keys`` says so. A key that is shown
holds where none is needed, too. Programs that can read the home need none: they find a secret of this run of the server
there.
"""

from __future__ import annotations

import asyncio
import hmac
import math
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Final

from pydantic_core import from_json, to_json
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import compile_path
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pinakes.api.html_pages import refused_page
from pinakes.api.instance import COMMANDS
from pinakes.api.mcp import PATH as MCP
from pinakes.api.service import Service
from pinakes.core import caller
from pinakes.core.caller import Caller, calling
from pinakes.core.errors import PinakesError, RateLimited, Refused, Unauthorized, http_status
from pinakes.core.loopback import is_loopback
from pinakes.schemas.envelope import PREFIX, about, as_response, of_this_interface, refused
from pinakes.services.keys import BEGINNING, Key, to_be_noted
from pinakes.settings import ServerSettings
from pinakes.tools.declare import described

NEEDED: Final[Mapping[str, caller.Scope | None]] = {
    "GET /": "read",
    "GET /docs": "read",
    "GET /openapi.json": "read",
    "GET /health": "read",
    "GET /healthz": None,
    "GET /readyz": None,
    "GET /metrics": "read",
    "GET /stats": "read",
    "POST /search": "read",
    "WEBSOCKET /ws/search": "read",
    f"POST {MCP}": "read",
    f"DELETE {MCP}": "read",
    f"GET {PREFIX}/openapi": None,
    f"GET {PREFIX}/sources": "read",
    f"GET {PREFIX}/graph": "read",
    **{f"GET {PREFIX}/graph/{name}": "read" for name in ("entity", "path", "experts", "impact", "export")},
    f"GET {PREFIX}/tools": "read",
    f"POST {PREFIX}/tools/{{name}}": "read",
    f"POST {PREFIX}/ask": "read",
    f"POST {COMMANDS}": "read",
    f"GET {PREFIX}/events": "read",
    f"POST {PREFIX}/knowledge/ask": "read",
    f"DELETE {PREFIX}/knowledge/source/{{source_id:path}}": "write",
}
"""Route → what a key has to be for; None: no key is needed. Tools check themselves whether a key may write."""

_PATTERNS = {route: compile_path(route.partition(" ")[2])[0] for route in NEEDED}
_SCHEME = "bearer "
_MOST_KNOWN = 10_000
_RPC_REFUSED = -32001
_POLICY_VIOLATION = 1008


class Rates:
    """How much each caller may still ask: what is used up comes back evenly, all of it within a minute."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, who: str, per_minute: int) -> None:
        """Count one request; ``per_minute`` 0 = any number of them.

        Raises:
            RateLimited: there were too many.
        """
        if not per_minute:
            return
        at = self._clock()
        left, since = self._left.pop(who, (float(per_minute), at))
        left = min(per_minute, left + (at - since) * per_minute / 60)
        self._left[who] = (left - 1 if left >= 1 else left, at)
        if len(self._left) > _MOST_KNOWN:
            self._left.popitem(last=False)
        if left < 1:
            wait_s = (1 - left) * 60 / per_minute
            hint = f"Ask again in {math.ceil(wait_s)} s."
            raise RateLimited(f"More than {per_minute} requests in a minute.", hint=hint, wait_s=wait_s)


class Access:
    """Lets those in who show a valid key, and makes them the caller of all that their request does."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app = app
        self._keys = service.library.keys
        self._workers = service.workers
        self._local_key = service.local_key.encode()
        self._required = needs_keys(service.settings.server)
        self._per_minute = service.settings.server.per_minute
        self._rates = Rates()
        self._noting: dict[int, asyncio.Task[None]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, as ASGI has it."""
        need = scope_for(scope) if scope["type"] in ("http", "websocket") else None
        if need is None:
            await self._app(scope, receive, send)
            return
        try:
            who = await self._admitted(scope, need)
        except PinakesError as error:
            await _refuse(scope, receive, send, error, need)
            return
        with calling(who):
            if scope["type"] == "http":
                await self._app(scope, receive, send)
            else:
                await self._converse(scope, receive, send, need)

    async def _converse(self, scope: Scope, receive: Receive, send: Send, need: caller.Scope) -> None:
        """Serve a socket; every message on it counts, and has to be allowed, as a request."""
        ended = ""

        async def receive_allowed() -> Message:
            nonlocal ended
            while True:
                message = await receive()
                if message["type"] != "websocket.receive":
                    return message
                try:
                    await self._admitted(scope, need)
                    return message
                except RateLimited as error:
                    await send({"type": "websocket.send", "text": _socket_error(message, error)})
                except PinakesError as error:
                    ended = error.message
                    return {"type": "websocket.disconnect", "code": _POLICY_VIOLATION}

        await self._app(scope, receive_allowed, send)
        if ended:
            await send({"type": "websocket.close", "code": _POLICY_VIOLATION, "reason": ended})

    async def _admitted(self, scope: Scope, need: caller.Scope) -> Caller:
        """Return who sends a request.

        Raises:
            Unauthorized: no valid key was shown, but one has to be.
            Refused: the key is not for such requests.
            RateLimited: there were too many of them.
            Busy: the catalogue cannot be read now.
        """
        token = bearer_token(Headers(scope=scope))
        if self._local_key and hmac.compare_digest(token.encode(), self._local_key):
            return Caller()
        address = (scope.get("client") or ("",))[0]
        if not self._required and not token.startswith(BEGINNING):
            self._rates.take(f"at {address}", self._per_minute)
            return Caller()
        key = await asyncio.to_thread(self._keys.of_secret, token) if token else None
        if key is None:
            self._rates.take(f"at {address}", self._per_minute)
            raise _unauthorized(token)
        self._rates.take(f"key {key.id}", key.per_minute or self._per_minute)
        self._note(key)
        who = Caller(name=key.name, scope=key.scope, collections=key.collections)
        who.check(need)
        return who

    def _note(self, key: Key) -> None:
        """Note that a key is used; nobody waits for that."""
        if to_be_noted(key) and key.id not in self._noting:
            task = asyncio.create_task(self._written(key))
            self._noting[key.id] = task
            task.add_done_callback(lambda _: self._noting.pop(key.id))

    async def _written(self, key: Key) -> None:
        with suppress(PinakesError):  # the catalogue is busy: the next request tries again
            await self._workers.run(partial(self._keys.used, key), writes=True)


def needs_keys(server: ServerSettings) -> bool:
    """Say whether requests are answered only with a key."""
    return server.require_keys or not (is_loopback(server.host) or server.no_auth)


def scope_for(scope: Scope) -> caller.Scope | None:
    """Return what the key of a request has to be for, None where none is needed.

    What no route takes needs a key, too: only then is it said that there is nothing.
    """
    method = "WEBSOCKET" if scope["type"] == "websocket" else scope["method"]
    method = "GET" if method == "HEAD" else method
    for route, pattern in _PATTERNS.items():
        if route.startswith(f"{method} ") and pattern.match(scope["path"]):
            return NEEDED[route]
    return "read"


def refusal(path: str, error: PinakesError, need: caller.Scope) -> Response:
    """Return ``error`` as clients of the interface at ``path`` expect it."""
    status, headers = http_status(error), _headers(error, need)
    if of_this_interface(path):
        code = "FORBIDDEN" if status == 403 else error.code
        return refused(status, code, error.message, error.details, headers)
    if path.rstrip("/") == MCP:
        refusal_of_rpc = {"code": _RPC_REFUSED, "message": error.message, "data": about(error)}
        return as_response({"jsonrpc": "2.0", "id": None, "error": refusal_of_rpc}, status, headers)
    return as_response({"detail": error.message, **about(error)}, status, headers)


def _headers(error: PinakesError, need: caller.Scope) -> dict[str, str]:
    if isinstance(error, Unauthorized):
        return {"WWW-Authenticate": 'Bearer realm="pinakes"'}
    if isinstance(error, Refused):
        return {"WWW-Authenticate": f'Bearer realm="pinakes", error="insufficient_scope", scope="{need}"'}
    return {"Retry-After": str(math.ceil(error.wait_s))} if isinstance(error, RateLimited) else {}


async def _refuse(scope: Scope, receive: Receive, send: Send, error: PinakesError, need: caller.Scope) -> None:
    if scope["type"] == "websocket" and "websocket.http.response" not in scope.get("extensions", {}):
        await send({"type": "websocket.close", "code": _POLICY_VIOLATION, "reason": error.message})
        return
    if scope["type"] == "http" and _is_for_people(scope):
        page = refused_page(Request(scope), http_status(error), error.message, error.hint, _headers(error, need))
        await page(scope, receive, send)
        return
    await refusal(scope["path"], error, need)(scope, receive, send)


def _is_for_people(scope: Scope) -> bool:
    """Say whether a browser opens a page, which is to be read."""
    path, accepted = scope["path"], Headers(scope=scope).get("accept", "")
    program = of_this_interface(path) or path.rstrip("/") == MCP
    return scope["method"] in ("GET", "HEAD") and "text/html" in accepted and not program


def _socket_error(message: Message, error: PinakesError) -> str:
    """Return ``error`` as a socket tells of it, to the question that ``message`` is."""
    try:
        asked = from_json(message.get("text") or message.get("bytes") or "", allow_inf_nan=False)
    except ValueError:
        asked = None
    id_ = asked.get("id") if isinstance(asked, dict) else None
    known = id_ if isinstance(id_, str | int) else None
    return to_json({"id": known, "error": described(error), "done": True}).decode()


def bearer_token(headers: Headers) -> str:
    """Return what is shown as a key, "" where there is none."""
    shown = headers.get("authorization", "")
    return shown[len(_SCHEME) :].strip() if shown.lower().startswith(_SCHEME) else ""


def _unauthorized(token: str) -> Unauthorized:
    if not token:
        hint = "Send it as a header: Authorization: Bearer KEY. `pinakes keys create` makes one."
        return Unauthorized("A key is needed here.", hint=hint)
    return Unauthorized("That key is not valid.", hint="It was revoked, has expired, or never was one.")
