"""``GET /api/v1/events``: what happens, as a stream of server-sent events. Who comes back is told what it missed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Annotated, Final

from fastapi import APIRouter, Query, Request, Response
from pydantic_core import to_json
from starlette.responses import StreamingResponse

from pinakes.api.service import Service
from pinakes.catalog import events
from pinakes.catalog.events import Event
from pinakes.core import caller
from pinakes.core.errors import InvalidInput
from pinakes.schemas.envelope import PREFIX, ErrorResponse
from pinakes.settings import EventKind

PATH: Final = f"{PREFIX}/events"

_LOOK_EVERY_S = 0.25
_HEARTBEAT_S = 15.0
_LONGEST_S = 300.0
"""Then a stream ends, so that whoever comes back shows a key that still is valid."""

_BATCH = 200
_RETRY_MS = 1000


@dataclass(frozen=True, slots=True)
class EventQuery:
    """What a stream tells of: ``kinds`` () = all, ``collections`` None = all that ``visible`` has, None = all."""

    kinds: tuple[EventKind, ...]
    collections: tuple[str, ...] | None
    visible: tuple[str, ...] | None


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
        kinds: Annotated[str, Query(description=f"Only these, with commas between: {', '.join(events.KINDS)}.")] = "",
        collections: Annotated[str, Query(description="Only of these collections, with commas between.")] = "",
        after: Annotated[
            str, Query(description="Begin after the event of this number; none = with the next one.")
        ] = "",
    ) -> Response:
        """Tell of documents that are indexed, updated or deleted, files that fail, and sources that were read.

        The header `Last-Event-ID`, which browsers send by themselves, wins over `after`. A stream ends after five
        minutes; ask again from the last number."""
        wanted = EventQuery(
            events.kinds_of(_parts(kinds)), tuple(_parts(collections)) or None, caller.current().collections
        )
        position = _number(request.headers.get("last-event-id") or after)
        if position is None:
            position = await asyncio.to_thread(_newest, service)
        return StreamingResponse(
            _told(service, wanted, position),
            media_type="text/event-stream",
            headers={"cache-control": "no-store", "x-accel-buffering": "no"},
        )

    return router


async def _told(service: Service, wanted: EventQuery, position: int) -> AsyncIterator[bytes]:
    """Yield events after ``position``, and a comment now and then, so that either side sees when the other is gone."""
    yield f"retry: {_RETRY_MS}\n\n".encode()
    begun = said = time.monotonic()
    while not service.ending.is_set() and time.monotonic() - begun < _LONGEST_S:
        position, found, lost = await asyncio.to_thread(_next, service, wanted, position)
        if lost:
            yield b"event: missed\ndata: %b\n\n" % to_json({"kind": "missed", "count": lost})
        for event in found:
            yield _line(event)
        if found:
            said = time.monotonic()
            continue
        if time.monotonic() - said >= _HEARTBEAT_S:
            said = time.monotonic()
            yield f"id: {position}\n: waiting\n\n".encode()
        await asyncio.sleep(_LOOK_EVERY_S)


def _next(service: Service, wanted: EventQuery, position: int) -> tuple[int, list[Event], int]:
    """Return the number from which to go on, what is wanted of the events after ``position``, and how many are lost.

    Those were dropped before anybody looked.
    """
    with service.library.app.catalog.read() as connection:
        newest = events.newest(connection)
        if newest <= position:
            return min(position, newest), [], 0
        lost = events.missed(connection, position)
        found = events.after(connection, position, _BATCH, wanted.kinds, wanted.collections, wanted.visible)
    return (found[-1].id if len(found) == _BATCH else newest), found, lost


def _newest(service: Service) -> int:
    with service.library.app.catalog.read() as connection:
        return events.newest(connection)


def _line(event: Event) -> bytes:
    return b"id: %d\nevent: %b\ndata: %b\n\n" % (event.id, event.kind.encode(), to_json(event.as_data()))


def _parts(words: str) -> list[str]:
    return [part.strip() for part in words.split(",") if part.strip()]


def _number(text: str) -> int | None:
    if not text.strip():
        return None
    if not text.strip().isdecimal() or len(text.strip()) > 18:
        raise InvalidInput(f"{text[:50]!r} is no number of an event.", hint="Give the id of the last event you had.")
    return int(text)
