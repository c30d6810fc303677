"""Who answers the messages that come over stdio: a server elsewhere, or this process itself."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx

from pinakes.errors import ServerUnreachable
from pinakes.serve.guard import is_loopback
from pinakes.serve.instance import running
from pinakes.settings import Settings
from pinakes.types import JSON

_HEADERS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
_CONNECT_TIMEOUT_S = 5.0
_GRACE_S = 30.0
Result = TypeVar("Result")


class Remote:
    """A Pinakes that is reached over HTTP; on this machine never through a proxy, which would see the questions."""

    def __init__(self, settings: Settings, url: str, *, on_this_machine: bool = False) -> None:
        self._settings = settings
        self._url = url.rstrip("/").removesuffix("/mcp")
        timeout = httpx.Timeout(settings.server.search_timeout_s + _GRACE_S, connect=_CONNECT_TIMEOUT_S)
        direct = on_this_machine or _is_loopback(self._url)
        self._client = httpx.Client(timeout=timeout, headers=_HEADERS, trust_env=not direct)

    def answer(self, message: dict[str, JSON], protocol_version: str) -> dict[str, JSON]:
        """Return the server's response.

        Raises:
            ServerUnreachable: it does not answer, or not as a Pinakes does. The tools are listed all the same.
        """
        try:
            headers = {"MCP-Protocol-Version": protocol_version}
            response = self._client.post(f"{self._url}/mcp", content=json.dumps(message), headers=headers)
            return _checked(response, self._url)
        except (httpx.HTTPError, httpx.InvalidURL, ServerUnreachable) as error:
            if message["method"] == "tools/list":
                return {"jsonrpc": "2.0", "id": message["id"], "result": {"tools": _tools(self._settings)}}
            if isinstance(error, ServerUnreachable):
                raise
            raise ServerUnreachable(
                f"No Pinakes answers at {self._url} ({type(error).__name__}).", hint="Start it: pinakes serve"
            ) from error

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


class Local:
    """This process: the same MCP application that serves HTTP, called without a network."""

    def __init__(self, settings: Settings) -> None:
        from pinakes.library import Library
        from pinakes.serve.background import Background
        from pinakes.serve.mcp import create_mcp, create_mcp_app
        from pinakes.serve.service import Service
        from pinakes.serve.startup import Startup
        from pinakes.serve.work import Workers

        self._library = Library(settings)
        self._startup = Startup(self._library)
        self._background = Background(self._library)
        self._workers = Workers(settings.server.search_timeout_s)
        self._app = create_mcp_app(create_mcp(Service(self._library, self._workers, self._startup)))
        self._loop = asyncio.new_event_loop()
        self._ending = asyncio.Event()
        self._client: Future[httpx.AsyncClient] = Future()
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._serve(),), daemon=True)
        self._thread.start()
        self._client.result()
        self._startup.start()
        self._background.start()

    def answer(self, message: dict[str, JSON], protocol_version: str) -> dict[str, JSON]:
        """Return the response of the server in this process."""
        return self._run(self._post(message, protocol_version))

    def close(self) -> None:
        """End the background work and the server, save and release everything."""
        self._background.end()
        ended = all([self._startup.stop(), self._background.stop()])
        self._loop.call_soon_threadsafe(self._ending.set)
        self._thread.join(_CONNECT_TIMEOUT_S)
        if not ended:
            os._exit(0)  # a thread is inside a library that cannot be interrupted; all is committed
        self._library.close()

    async def _serve(self) -> None:
        async with self._app.lifespan(self._app):
            transport = httpx.ASGITransport(app=self._app)
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost", headers=_HEADERS) as client:
                self._client.set_result(client)
                await self._ending.wait()
        self._workers.close()

    async def _post(self, message: dict[str, JSON], protocol_version: str) -> dict[str, JSON]:
        headers = {"MCP-Protocol-Version": protocol_version}
        response = await self._client.result().post("/mcp", content=json.dumps(message), headers=headers, timeout=None)
        return _checked(response, "the server in this process")

    def _run(self, work: Coroutine[Any, Any, Result]) -> Result:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


class RunningOrLocal:
    """The running server of the home for as long as it runs, else this process."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._opening = threading.Lock()
        instance = running(settings)
        self._remote = Remote(settings, instance.url, on_this_machine=True) if instance is not None else None
        self._local = None if self._remote is not None else Local(settings)

    def answer(self, message: dict[str, JSON], protocol_version: str) -> dict[str, JSON]:
        """Return the response of whoever serves the home now."""
        remote = self._remote
        if remote is not None:
            try:
                return remote.answer(message, protocol_version)
            except ServerUnreachable:
                self._switch()
        local = self._local
        assert local is not None
        return local.answer(message, protocol_version)

    def close(self) -> None:
        """Release everything."""
        for upstream in (self._remote, self._local):
            if upstream is not None:
                upstream.close()

    def _switch(self) -> None:
        with self._opening:
            if self._local is None:
                self._local = Local(self._settings)
            self._remote = None


def open_upstream(settings: Settings, url: str | None) -> Remote | RunningOrLocal:
    """Return who answers for ``url``, or for the home of ``settings``."""
    return Remote(settings, url) if url else RunningOrLocal(settings)


def _is_loopback(url: str) -> bool:
    try:
        return is_loopback(urlsplit(url).hostname or "")
    except ValueError:
        return False


def _checked(response: httpx.Response, where: str) -> dict[str, JSON]:
    """Return the JSON-RPC message in ``response``.

    Raises:
        ServerUnreachable: it holds none.
    """
    try:
        content = response.json()
    except ValueError:
        content = None
    if isinstance(content, dict) and content.get("jsonrpc") == "2.0":
        return content
    detail = content.get("detail", "") if isinstance(content, dict) else ""
    hint = str(detail) or "Is it a Pinakes?"
    raise ServerUnreachable(f"{where} answers with HTTP {response.status_code}.", hint=hint)


def _tools(settings: Settings) -> list[dict[str, JSON]]:
    from pinakes.tools import tools_of
    from pinakes.tools.declare import listing

    return [listing(tool) for tool in tools_of(settings)]
