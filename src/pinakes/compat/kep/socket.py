"""``/ws/search``: results as a user types. Each question is answered in stages, the quickest first.

A socket has one search running at most. A newer question takes the place of an older one that waits, and ends the
older one that runs after the stage it is in; whoever asked is told that it was superseded.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from fastapi import APIRouter, WebSocket, WebSocketDisconnect
from pydantic import ValidationError
from pydantic_core import from_json, to_json

from pinakes.compat.kep.routes import SearchRequest, answered, recorded, rendered
from pinakes.compat.server_parts import Server
from pinakes.core.errors import Busy, InvalidInput, PinakesError, TooLarge
from pinakes.core.records import JSON, SearchMode
from pinakes.settings import Settings
from pinakes.tools.declare import described

PATH = "/ws/search"
_log = logging.getLogger(__name__)

_MOST_CHARS = 20_000
_MOST_ID_CHARS = 200
_PER_SECOND = 20
_AT_ONCE = 40
"""Messages that a socket may send at once; then so many a second, which is more than anybody types."""

Id: TypeAlias = str | int | None


@dataclass(frozen=True, slots=True)
class StreamedQuestion:
    """What a client wants to know, and the id it gave to it."""

    id: Id
    request: SearchRequest


@dataclass(frozen=True, slots=True)
class SearchStage:
    """One answer to a question: its name, and how it is searched for."""

    name: str
    mode: SearchMode
    rerank: bool


class MessageRefusal(Exception):
    """A message that is no question; ``id`` is the one it has, where it has one."""

    def __init__(self, error: PinakesError, id_: Id = None) -> None:
        super().__init__(error.message)
        self.error, self.id = error, id_


def routes(server: Server) -> APIRouter:
    """Return the route over ``server``."""
    router = APIRouter()

    @router.websocket(PATH)
    async def search(socket: WebSocket) -> None:
        """Answer questions in stages until the client leaves."""
        await socket.accept()
        conversation = Conversation(server, socket)
        answering = asyncio.create_task(conversation.answer())
        try:
            await conversation.listen()
        finally:
            answering.cancel()
            with suppress(asyncio.CancelledError):
                await answering

    return router


class Conversation:
    """One socket: what came last, and what is being answered."""

    def __init__(self, server: Server, socket: WebSocket) -> None:
        self._server = server
        self._socket = socket
        self._waiting: StreamedQuestion | None = None
        self._arrived = asyncio.Event()
        self._allowed, self._since = float(_AT_ONCE), time.monotonic()

    async def listen(self) -> None:
        """Take messages until the client leaves; one that cannot be used is answered with an error."""
        with suppress(WebSocketDisconnect):
            while True:
                message = await self._socket.receive()
                if message["type"] == "websocket.disconnect":
                    return
                try:
                    await self._take(message.get("text") or message.get("bytes") or "")
                except MessageRefusal as refusal:
                    await self._fail(refusal.id, refusal.error)

    async def answer(self) -> None:
        """Answer what came last, stage by stage, for as long as nothing newer comes."""
        with suppress(WebSocketDisconnect):
            while True:
                await self._arrived.wait()
                self._arrived.clear()
                question, self._waiting = self._waiting, None
                if question is not None:
                    await self._answer(question)

    async def _take(self, text: str | bytes) -> None:
        await self._check_rate()
        question = read_question(text)
        older, self._waiting = self._waiting, question
        self._arrived.set()
        if older is not None:
            await self._supersede(older)

    async def _check_rate(self) -> None:
        now = time.monotonic()
        self._allowed = min(_AT_ONCE, self._allowed + (now - self._since) * _PER_SECOND)
        self._since = now
        if self._allowed < 1:
            await asyncio.sleep(1 / _PER_SECOND)  # nothing more is read meanwhile
            raise MessageRefusal(Busy("Too many messages.", hint=f"At most {_PER_SECOND} a second are read."))
        self._allowed -= 1

    async def _answer(self, question: StreamedQuestion) -> None:
        plan = list(stages(self._server.settings, question.request.search_type))
        for stage in plan:
            try:
                ask = recorded if stage is plan[-1] else answered
                search = partial(ask, self._server, question.request, mode=stage.mode, rerank=stage.rerank)
                results = await self._server.run(search)
                found = rendered(self._server.settings, question.request, results)
            except PinakesError as error:
                await self._fail(question.id, error)
                return
            except Exception:  # noqa: BLE001 - the last door before a client
                _log.exception("searching for a socket failed")
                hidden = PinakesError("An internal error.", hint="The server's log has the details.")
                await self._fail(question.id, hidden)
                return
            if self._waiting is not None:
                await self._supersede(question)
                return
            await self._send({"id": question.id, "stage": stage.name, "done": stage is plan[-1], **found})

    async def _supersede(self, question: StreamedQuestion) -> None:
        await self._send({"id": question.id, "superseded": True, "done": True})

    async def _fail(self, id_: Id, error: PinakesError) -> None:
        await self._send({"id": id_, "error": described(error), "done": True})

    async def _send(self, message: dict[str, JSON]) -> None:
        await self._socket.send_text(to_json(message, inf_nan_mode="strings").decode())


def stages(settings: Settings, mode: SearchMode) -> Iterator[SearchStage]:
    """Yield how a question is answered: by words at once, then as it was asked, then by the reranker if one is used."""
    if mode in ("hybrid", "auto"):
        yield SearchStage("keyword", "keyword", rerank=False)
    yield SearchStage("keyword" if mode == "keyword" else "fused", mode, rerank=False)
    if settings.rerank.enabled:
        yield SearchStage("reranked", mode, rerank=True)


def read_question(text: str | bytes) -> StreamedQuestion:
    """Return the question in a message: the fields of ``POST /search``, an ``id``, and ``mode`` for ``search_type``.

    Raises:
        Refusal: there is none in it.
    """
    if len(text) > _MOST_CHARS:
        raise MessageRefusal(
            TooLarge(f"The message has {len(text)} characters.", hint=f"At most {_MOST_CHARS} are read.")
        )
    try:
        body = from_json(text, allow_inf_nan=False)
    except ValueError as error:
        raise MessageRefusal(InvalidInput(f"The message is not JSON: {error}.")) from error
    if not isinstance(body, dict):
        raise MessageRefusal(InvalidInput("The message is no JSON object.", hint='Send {"id": 1, "query": "…"}.'))
    id_ = body.pop("id", None)
    if isinstance(id_, bool) or not isinstance(id_, str | int | None) or len(str(id_)) > _MOST_ID_CHARS:
        raise MessageRefusal(InvalidInput("The id of a message is a number or a text.", hint="It may be left out."))
    if "mode" in body:
        body.setdefault("search_type", body.pop("mode"))
    given = {name: value for name, value in body.items() if value is not None}
    try:
        return StreamedQuestion(id_, SearchRequest.model_validate(given))
    except ValidationError as error:
        problems = (_problem(entry["loc"], entry["msg"]) for entry in error.errors(include_url=False))
        raise MessageRefusal(InvalidInput("; ".join(problems) + "."), id_) from error


def _problem(place: tuple[int | str, ...], words: str) -> str:
    name = ".".join(map(str, place))
    return f"{name}: {words}" if name else words
