"""What a client is told whose request was still being answered when the time of the server was up."""

from __future__ import annotations

import asyncio

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pinakes.core import interrupt
from pinakes.core.errors import Busy, http_status
from pinakes.schemas.envelope import about, as_response

_MESSAGE = "The server ended before this was done. What was to be written may have been written or not."


class Ending:
    """Answers for what the server gives up as it ends, which uvicorn would call an internal error."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, as ASGI has it."""
        started = False

        async def noted(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self._app(scope, receive, noted)
        except asyncio.CancelledError:  # uvicorn gives up a request only as it ends
            if scope["type"] != "http":
                raise
            if not started:
                error = Busy(_MESSAGE, hint=interrupt.LOOK)
                body = {"detail": error.message, **about(error)}
                await as_response(body, http_status(error), {"connection": "close"})(scope, receive, send)
