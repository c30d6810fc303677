"""``GET /api/v1/events``: events as a stream of server-sent events. A client that returns gets what it missed."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Annotated, Final, TypeAlias

from fastapi import APIRouter, Query, Request, Response
from pydantic_core import to_json
from starlette.responses import StreamingResponse

from pinakes.api.service import Service
from pinakes.core import caller
from pinakes.core.errors import InvalidInput
from pinakes.core.wording import split_list
from pinakes.schemas.envelope import PREFIX, ErrorResponse
from pinakes.services.events import KINDS, Event, kinds_of

PATH: Final = f"{PREFIX}/events"

_LOOK_EVERY_S = 0.25
HEARTBEAT_S: Final = 15.0
LONGEST_S: Final = 300.0
"""Then a stream ends, so that a client that returns shows a key that is still valid."""

_BATCH = 200
_RETRY_MS = 1000

Look: TypeAlias = Callable[[int], tuple[int, list[Event], int]]


def routes(service: Service) -> APIRouter:
    """Return the route over ``service``."""
    router = APIRouter(tags=["monitoring"])

    @router.get(
        PATH,
        response_class=Response,
        responses={
            200: {"content": {"text/event-stream": {}}, "description": "Events as they happen, one JSON object each."},
            422: {"model": ErrorResponse, "description": "There is no such kind, or the number is none."},
        },
    )
    async def stream(
        request: Request,
        kinds: Annotated[str, Query(description=f"Only these, with commas between: {', '.join(KINDS)}.")] = "",
        collections: Annotated[str, Query(description="Only of these collections, with commas between.")] = "",
        after: Annotated[
            str, Query(description="Begin after the event of this number; none = with the next one.")
        ] = "",
    ) -> Response:
        """Tell of documents that are indexed, updated or deleted, files that fail, and sources that were read.

        The header `Last-Event-ID`, which browsers send by themselves, wins over `after`. A stream ends after five
        minutes; ask again from the last number."""
        visible, within = caller.current().collections, tuple(split_list(collections)) or None
        look = partial(
            service.library.events.after, most=_BATCH, kinds=kinds_of(split_list(kinds)), within=within, visible=visible
        )
        position = _number(request.headers.get("last-event-id") or after)
        if position is None:
            position = await asyncio.to_thread(service.library.events.newest)
        return StreamingResponse(
            event_stream(look, position, service.ending),
            media_type="text/event-stream",
            headers={"cache-control": "no-store", "x-accel-buffering": "no"},
        )

    return router


async def event_stream(
    look: Look,
    position: int,
    ending: threading.Event,
    *,
    heartbeat_s: float = HEARTBEAT_S,
    longest_s: float = LONGEST_S,
) -> AsyncIterator[bytes]:
    """Yield events after ``position`` for at most ``longest_s``, or until ``ending`` is set.

    After ``heartbeat_s`` without an event a comment is sent, so that each side notices when the other is gone.
    """
    yield f"retry: {_RETRY_MS}\n\n".encode()
    begun = sent = time.monotonic()
    while not ending.is_set() and time.monotonic() - begun < longest_s:
        position, found, lost = await asyncio.to_thread(look, position)
        if lost:
            yield b"event: missed\ndata: %b\n\n" % to_json({"kind": "missed", "count": lost})
        for event in found:
            yield _line(event)
        if found:
            sent = time.monotonic()
            continue
        if time.monotonic() - sent >= heartbeat_s:
            sent = time.monotonic()
            yield f"id: {position}\n: waiting\n\n".encode()
        await asyncio.sleep(_LOOK_EVERY_S)


def _line(event: Event) -> bytes:
    return b"id: %d\nevent: %b\ndata: %b\n\n" % (event.id, event.kind.encode(), to_json(event.as_data()))


def _number(text: str) -> int | None:
    if not text.strip():
        return None
    if not text.strip().isdecimal() or len(text.strip()) > 18:
        raise InvalidInput(f"{text[:50]!r} is no number of an event.", hint="Give the id of the last event you had.")
    return int(text)
