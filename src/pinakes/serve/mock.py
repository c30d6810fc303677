"""``pinakes serve --mock``: fixed answers for teams that build a client. Needs no documents, no model and no home.

It is the application of the real server. What describes it (the tools, their schemas, the API) is real, and so is how
answers are wrapped and how wrong arguments are refused; what would need documents is answered from ``fixtures.json``,
which ``tests/integration/serve/mock_fixtures.py`` writes by asking a real server.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import cached_property
from importlib import resources
from pathlib import Path
from tempfile import TemporaryDirectory

from fastapi import FastAPI, Response
from pydantic_core import from_json, to_json
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect

from pinakes.errors import InvalidInput, MissingExtra, PinakesError
from pinakes.library import Library
from pinakes.serve import websocket
from pinakes.serve.app import assembled
from pinakes.serve.connections import Connections
from pinakes.serve.envelope import PREFIX, about, failed, of_this_interface, wrapped
from pinakes.serve.knowledge import SearchRequest
from pinakes.serve.mcp import PATH as MCP
from pinakes.serve.openapi import ANY_TOOL
from pinakes.serve.platform import wrong_question
from pinakes.serve.run import Server, bind, check_exposure, configured, url_of
from pinakes.serve.service import Service
from pinakes.serve.work import Workers
from pinakes.settings import EmbeddingSettings, NamedSearch, Settings
from pinakes.tools import TOOLS, Outcome, Tool
from pinakes.tools.declare import described
from pinakes.tools.knowledge import OPERATIONS, manage_knowledge
from pinakes.tools.named import rendered
from pinakes.types import JSON, Hit, Scores

FILE = "fixtures.json"
_ROUTES = "/routes"
_REAL = frozenset(
    {
        "GET /",
        "GET /docs",
        "GET /openapi.json",
        "GET /healthz",
        "GET /metrics",
        f"GET {PREFIX}/events",
        f"GET {PREFIX}/tools",
        f"GET {PREFIX}/openapi",
        f"POST {ANY_TOOL}",
        f"POST {MCP}",
    }
)
"""What the application itself answers: it is about the server, not about documents."""


class NoFixture(MissingExtra):
    """The mock server has no answer for this."""

    code = "NOT_IMPLEMENTED"

    def __init__(self, what: str) -> None:
        PinakesError.__init__(self, f"The mock server has no answer for {what}.", hint="The real server has.")


@dataclass(frozen=True)
class Fixtures:
    """The answers of a real server. ``tools``: name → cases, each for the arguments in ``when``.

    ``routes``: such as ``POST /search`` → the answer. ``socket``: what ``/ws/search`` sends for one question.
    """

    tools: Mapping[str, Sequence[Mapping[str, JSON]]]
    routes: Mapping[str, Mapping[str, JSON]]
    socket: Sequence[Mapping[str, JSON]]

    @classmethod
    def load(cls) -> Fixtures:
        """Return those that come with Pinakes."""
        return cls(**json.loads(resources.files("pinakes.serve").joinpath(FILE).read_text("utf-8")))

    def of_tool(self, name: str, arguments: Mapping[str, JSON]) -> Mapping[str, JSON] | None:
        """Return the case that fits ``arguments``, None where there is none."""
        fitting = (case for case in self.tools.get(name, ()) if case["when"].items() <= dict(arguments).items())
        return next(fitting, None)


@dataclass(slots=True)
class MockService(Service):
    """A service whose tools answer from fixtures."""

    fixtures: Fixtures = field(default_factory=Fixtures.load)

    async def answer(self, tool: Tool, arguments: Mapping[str, JSON], most_tokens: int = 0) -> Outcome:  # noqa: ARG002
        """Return the fixed answer, or the real refusal where the arguments are wrong."""
        try:
            checked = tool.checked(arguments)
        except PinakesError as error:
            return tool.failure(arguments, error)
        if tool is manage_knowledge and checked["operation"] not in OPERATIONS:
            return tool.failure(arguments, InvalidInput(f"Unsupported operation: {checked['operation']}"))
        named = next((one for one in self.settings.tools if one.name == tool.name), None)
        if named is not None:
            return Outcome(rendered(named.hit, _hit(named)))
        case = self.fixtures.of_tool(tool.name, checked)
        if case is None:
            raise NoFixture(f"these arguments of the tool {tool.name!r}")
        return Outcome(case.get("text") or tool.json(case["data"]), dict(case["data"]))


class Answers:
    """Answers what the fixtures have, hands on what describes the server, and says of all else that it cannot."""

    def __init__(self, app: ASGIApp, fixtures: Fixtures, describe: Callable[[], FastAPI]) -> None:
        self._app, self._fixtures, self._describe = app, fixtures, describe

    @cached_property
    def routes(self) -> dict[str, str]:
        """Return every route of the application, and whether a fixture answers it, the application does, or neither."""
        paths = self._describe().openapi()["paths"]
        every = {f"{method.upper()} {path}" for path, methods in paths.items() for method in methods}
        return {route: self._who(route) for route in sorted(every | _REAL, key=lambda route: route.split()[::-1])}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, as ASGI has it."""
        if scope["type"] == "websocket" and scope["path"] == websocket.PATH:
            await self._converse(WebSocket(scope, receive, send))
        elif scope["type"] != "http" or (answer := self._answer(scope["method"], scope["path"])) is None:
            await self._app(scope, receive, send)
        elif (fits := _ASKED.get(f"{scope['method']} {scope['path']}")) is None:
            await answer(scope, receive, send)
        else:
            body = await Request(scope, receive).body()
            if fits(body):
                await answer(scope, receive, send)
            else:  # which the application refuses in its own words
                await self._app(scope, _again(body), send)

    def _answer(self, method: str, path: str) -> Response | None:
        """Return the answer to a request, None where the application gives it."""
        if (method, path) == ("GET", _ROUTES):
            every = {**self.routes, f"WEBSOCKET {websocket.PATH}": "fixture"}
            listed = [(*route.split(), who) for route, who in every.items()]
            return _json({"routes": [{"method": method, "path": at, "answer": who} for method, at, who in listed]})
        route = next((route for route in self.routes if _fits(route, method, path)), None)
        who = self.routes.get(route or "", "real")
        if who == "fixture":
            return _fixed(self._fixtures.routes[str(route)])
        if who == "real":
            return None
        missing = NoFixture(f"{method} {path}")
        if of_this_interface(path):
            return failed(missing)
        return _json({"detail": missing.message, **about(missing)}, 501)

    def _who(self, route: str) -> str:
        if route in self._fixtures.routes:
            return "fixture"
        return "real" if route in _REAL else "none"

    async def _converse(self, socket: WebSocket) -> None:
        await socket.accept()
        with suppress(WebSocketDisconnect):
            while (message := await socket.receive())["type"] != "websocket.disconnect":
                for reply in _replies(message.get("text") or message.get("bytes") or "", self._fixtures.socket):
                    await socket.send_text(to_json(reply).decode())


def create_mock_app(library: Library, fixtures: Fixtures | None = None) -> FastAPI:
    """Return the mock application; ``library`` is empty, and only there for its settings."""
    server = library.settings.server
    fixtures = fixtures or Fixtures.load()
    service = MockService(library, Workers(server.search_timeout_s, server.write_timeout_s), fixtures=fixtures)
    app: FastAPI = assembled(service, [Middleware(Answers, fixtures=fixtures, describe=lambda: app)])
    return app


def run(settings: Settings, *, on_ready: Callable[[str], None]) -> None:
    """Serve fixed answers until SIGINT or SIGTERM.

    Raises:
        Busy: the port is taken.
        Refused: an address that other machines reach, without authentication.
    """
    check_exposure(settings.server)
    listener = bind(settings.server)
    with ExitStack() as stack:
        stack.enter_context(listener)
        home = Path(stack.enter_context(TemporaryDirectory(prefix="pinakes-mock-")))
        library = stack.enter_context(Library(empty(settings, home)))
        config = configured(create_mock_app(library), settings.server)
        connections = Connections(settings.server)
        Server(config, lambda: on_ready(url_of(listener)), connections=connections).run(sockets=[listener])


def empty(settings: Settings, home: Path) -> Settings:
    """Return ``settings`` for an empty ``home`` of their own that needs no model; with every tool if none are named."""
    own: dict[str, object] = {"home": home, "cache": home / "cache"}
    own["embedding"] = EmbeddingSettings(provider="deterministic")
    own["server"] = settings.server.model_copy(update={"no_auth": True, "require_keys": False})
    if "toolsets" not in settings.model_fields_set:
        own["toolsets"] = tuple(sorted({tool.toolset for tool in TOOLS}))
    return settings.model_copy(update=own)


def _replies(text: str | bytes, stages: Sequence[Mapping[str, JSON]]) -> Iterator[dict[str, JSON]]:
    try:
        question = websocket.read_question(text)
    except websocket.Refusal as refusal:
        yield {"id": refusal.id, "error": described(refusal.error), "done": True}
        return
    for stage in stages:
        yield {**stage, "id": question.id, "query": question.request.query}


def _is_search(body: bytes) -> bool:
    try:
        SearchRequest.model_validate_json(body)
    except ValueError:
        return False
    return True


def _is_question(body: bytes) -> bool:
    try:
        asked = from_json(body)
    except ValueError:
        return False
    return isinstance(asked, dict) and wrong_question(asked) is None


_ASKED: Mapping[str, Callable[[bytes], bool]] = {
    "POST /search": _is_search,
    f"POST {PREFIX}/knowledge/ask": _is_question,
}
"""Route → whether a body can be answered there."""


def _again(body: bytes) -> Receive:
    """Return what gives ``body`` to an application once more."""
    messages: Iterator[Message] = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def receive() -> Message:
        return next(messages, {"type": "http.disconnect"})

    return receive


def _fits(route: str, method: str, path: str) -> bool:
    wanted, _, template = route.partition(" ")
    pattern = re.sub(r"\\\{\w+\\\}", ".+", re.escape(template))
    return wanted == method and re.fullmatch(pattern, path) is not None


def _fixed(answer: Mapping[str, JSON]) -> Response:
    """Return a fixture as it was answered; of an envelope all but what names the call."""
    body = answer["body"]
    if isinstance(body, str):
        return Response(body, media_type=answer["type"])
    if "meta" in body:
        return wrapped(body["data"])
    return _json(body)


def _json(content: JSON, status: int = 200) -> Response:
    return Response(to_json(content), status, media_type="application/json")


def _hit(named: NamedSearch) -> Hit:
    """Return a passage for the searches that a profile declares."""
    return Hit(
        chunk_id="example_0",
        document_id="example",
        collection=named.collection,
        uri="https://example.org/docs/guides/keys.md",
        path="guides/keys.md",
        title="Signing keys",
        text="Every service signs with a key of its own.",
        chunk_index=0,
        start_line=1,
        end_line=3,
        heading_path=("Signing keys",),
        symbols=(),
        score=0.87,
        scores=Scores(cosine=0.81, bm25=4.2, fused=0.87),
        matched_by=("vector", "keyword"),
        metadata={},
    )
