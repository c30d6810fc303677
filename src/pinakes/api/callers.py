"""The caller of a request, known to all code that answers it, so that it can be recorded."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from pinakes.api.mcp import PATH
from pinakes.core.caller import SESSION_HEADER, Interface, calling, current

_MCP_SESSION: Final = "mcp-session-id"
_MOST_CHARS = 100


class Callers:
    """Lets the sender of a request be the caller of all that is done for it: by which interface, in which session."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, as ASGI has it."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        session = headers.get(_MCP_SESSION) or headers.get(SESSION_HEADER) or ""
        with calling(replace(current(), interface=_interface(scope), session=session[:_MOST_CHARS])):
            await self._app(scope, receive, send)


def _interface(scope: Scope) -> Interface:
    if scope["type"] == "websocket":
        return "websocket"
    return "mcp" if scope["path"].rstrip("/") == PATH else "http"
