"""The HTTP application: routes, MCP, the guard before them, and errors as JSON."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pinakes.api import (
    access,
    cli_search,
    events,
    html_pages,
    mcp,
    monitoring,
    openapi,
    rest,
    tool_routes,
)
from pinakes.api.callers import Callers
from pinakes.api.connections import READING, Connections
from pinakes.api.greeting import version_of
from pinakes.api.guard import Guard
from pinakes.api.instance import COMMANDS
from pinakes.api.prometheus import Meter
from pinakes.api.service import Service
from pinakes.api.startup import Startup
from pinakes.api.threads import RequestThreads
from pinakes.core import interrupt
from pinakes.core.errors import NO_DESCRIPTORS, Busy, InvalidInput, PinakesError, http_status, no_descriptors
from pinakes.library import Library
from pinakes.schemas import envelope
from pinakes.schemas.envelope import as_response
from pinakes.tools.failures import how_on

_DESCRIPTION = "Hybrid search (keyword and meaning) over indexed documents, for people, programs and AI agents."
_TAGS = [
    {"name": "root", "description": "What this server is."},
    {"name": "search", "description": "Finding chunks."},
    {"name": "tools", "description": "What agents can do, over plain HTTP."},
    {"name": tool_routes.GRAPH_TAG, "description": "Entities, their relations, and who knows of them."},
    {"name": "monitoring", "description": "Whether it is ready, and how much it holds."},
    {"name": "knowledge", "description": "The knowledge base of a platform team."},
]
_PATHS = frozenset(
    {"/", "/search", "/stats", "/health", "/healthz", "/readyz", "/metrics", "/docs", "/openapi.json", mcp.PATH}
)
_API_PATHS = frozenset({COMMANDS, events.PATH, *tool_routes.PATHS})

_ENDED = "The server ended before this was done. What was to be written may have been written or not."


def create_app(
    library: Library,
    *,
    startup: Startup | None = None,
    instance_id: str = "",
    local_key: str = "",
    connections: Connections | None = None,
) -> FastAPI:
    """Return the application that serves ``library``; closing the library is the caller's business."""
    settings = library.settings
    workers = RequestThreads(settings.server.search_timeout_s, settings.server.write_timeout_s, settings.server.workers)
    service = Service(library, workers, startup, instance_id, local_key, connections)
    keeps_knowledge = "knowledge" in settings.toolsets
    compat = ["kep.routes", "kep.socket", *(["platform.routes"] if keeps_knowledge else [])]
    of_graph = tool_routes.graph(service)
    described = {"knowledge": keeps_knowledge, tool_routes.GRAPH_TAG: of_graph.include_in_schema}
    mcp_app = mcp.create_mcp_app(mcp.create_mcp(service))

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with mcp_app.lifespan(mcp_app):
            yield
        service.workers.close()

    api = FastAPI(
        title=settings.server_title,
        description=_DESCRIPTION,
        version=version_of(settings),
        openapi_tags=[one for one in _TAGS if described.get(one["name"], True)],
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
    )
    api.state.workers, api.state.ending = service.workers, service.ending
    api.state.off = {} if keeps_knowledge else {f"{envelope.PREFIX}/knowledge/": "knowledge"}
    api.include_router(html_pages.routes(service, api))
    parts = [import_module(f"pinakes.compat.{name}") for name in compat]
    routers = [part.routes(service) for part in (*parts, monitoring)]
    routers += [tool_routes.asking(service), cli_search.routes(service), events.routes(service)]
    for router in (*routers, tool_routes.sources(service), of_graph):
        api.include_router(router)
    api.include_router(rest.routes(service, api))
    openapi.follow_settings(api, settings)
    if access.needs_keys(settings.server):
        openapi.want_key(api, (route for route, need in access.NEEDED.items() if need is None))
    api.add_exception_handler(PinakesError, _our_error)
    api.add_exception_handler(RequestValidationError, _invalid_request)
    api.add_exception_handler(HTTPException, _http_error)
    api.add_exception_handler(UnicodeEncodeError, _broken_text)
    api.add_exception_handler(Exception, _internal_error)
    api.add_middleware(mcp.McpRoute, mcp=mcp_app)
    api.add_middleware(Callers)
    api.add_middleware(access.Access, service=service)
    api.add_middleware(Guard, settings=settings.server)
    api.add_middleware(Ending)
    api.add_middleware(Meter, metrics=service.metrics, paths=_PATHS | _API_PATHS | rest.paths(settings))
    return api


async def _our_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, PinakesError)
    if envelope.of_this_interface(request.url.path):
        return envelope.failed(error)
    status = http_status(error)
    failed = "Search failed: " if status == 500 and request.url.path == "/search" else ""
    return as_response({"detail": failed + error.message, **envelope.about(error)}, status)


async def _invalid_request(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    problems = [{name: entry[name] for name in ("type", "loc", "msg")} for entry in error.errors()]
    if envelope.of_this_interface(request.url.path):
        return envelope.refused(400, "INVALID_REQUEST", "The request cannot be used", problems)
    return as_response({"detail": problems, "code": InvalidInput.code}, 422)


async def _http_error(request: Request, error: Exception) -> Response:
    """A body that is not even text comes here as a 400."""
    assert isinstance(error, HTTPException)
    if envelope.of_this_interface(request.url.path):
        off: dict[str, str] = request.scope["app"].state.off
        hint = next((how_on(toolset) for path, toolset in off.items() if request.url.path.startswith(path)), "")
        return envelope.unhandled(error.status_code, request.url.path, error.headers, hint)
    if error.status_code == 400:
        return as_response({"detail": "The body is not JSON in UTF-8.", "code": InvalidInput.code}, 422, error.headers)
    return as_response({"detail": error.detail}, error.status_code, error.headers)


async def _broken_text(request: Request, _error: Exception) -> Response:
    """Half of a surrogate pair is a string in JSON and in Python, but no text."""
    what = "The request holds half a character (a lone surrogate)."
    if envelope.of_this_interface(request.url.path):
        return envelope.refused(400, "INVALID_REQUEST", what)
    return as_response({"detail": what, "code": InvalidInput.code}, 422)


async def _internal_error(request: Request, error: Exception) -> Response:
    if isinstance(error, OSError) and error.errno in NO_DESCRIPTORS:
        return await _our_error(request, no_descriptors())
    if envelope.of_this_interface(request.url.path):
        return envelope.refused(500, "EXECUTION_ERROR", "An internal error. The server's log has the details.")
    what = "Search failed: an internal error" if request.url.path == "/search" else "An internal error"
    return as_response({"detail": f"{what}. The server's log has the details.", "code": PinakesError.code}, 500)


class Ending:
    """Answers for what the server gives up as it ends, which uvicorn would call an internal error.

    The connection is told whether the application waits for the body: then nothing has been done.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, as ASGI has it."""
        started = False

        async def noted(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        async def reading() -> Message:
            scope[READING] = True
            try:
                return await receive()
            finally:
                scope[READING] = False

        try:
            await self._app(scope, reading, noted)
        except asyncio.CancelledError:  # uvicorn gives up a request only as it ends
            if scope["type"] != "http":
                raise
            if not started:
                error = Busy(_ENDED, hint=interrupt.LOOK)
                body = {"detail": error.message, **envelope.about(error)}
                await as_response(body, http_status(error), {"connection": "close"})(scope, receive, send)
