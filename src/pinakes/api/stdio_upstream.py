"""The upstream of MCP over stdio: a server in another process, or this process itself."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import secrets
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from urllib.parse import urlsplit

import httpx

from pinakes.api.instance import of_other_version, running
from pinakes.core.caller import KEY_VARIABLE, SESSION_HEADER, shown_key
from pinakes.core.errors import Busy, RateLimited, Refused, ServerUnreachable, TooLarge, Unauthorized
from pinakes.core.loopback import is_loopback
from pinakes.core.records import JSON
from pinakes.settings import Settings

_log = logging.getLogger(__name__)

_HEADERS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
_CONNECT_TIMEOUT_S = 5.0
_GRACE_S = 30.0
_REFUSALS = {401: Unauthorized, 403: Refused, 429: RateLimited}


class RemoteServer:
    """A Pinakes that is reached over HTTP; on this machine never through a proxy, which would see the questions.

    ``key`` is what a server of the same home wants to see; any other is shown the one of the environment.
    """

    def __init__(self, settings: Settings, url: str, *, on_this_machine: bool = False, key: str = "") -> None:
        self._settings = settings
        self._url = url.rstrip("/").removesuffix("/mcp")
        server = settings.server
        timeout = httpx.Timeout(server.search_timeout_s + _GRACE_S, connect=_CONNECT_TIMEOUT_S)
        self._of_calls = httpx.Timeout(
            max(server.search_timeout_s, server.write_timeout_s) + _GRACE_S, connect=_CONNECT_TIMEOUT_S
        )
        direct = on_this_machine or _is_loopback(self._url)
        shown = {"Authorization": f"Bearer {key}"} if key else {} if on_this_machine else shown_key()
        self._client = httpx.Client(timeout=timeout, headers=_headers() | shown, trust_env=not direct)

    def answer(self, message: dict[str, JSON], protocol_version: str) -> dict[str, JSON]:
        """Return the server's response.

        Raises:
            ServerUnreachable: it does not answer, or not as a Pinakes does. What needs no documents is listed all the
                same.
        """
        try:
            headers = {"MCP-Protocol-Version": protocol_version}
            timeout = self._of_calls if message["method"] == "tools/call" else self._client.timeout
            response = self._client.post(
                f"{self._url}/mcp", content=json.dumps(message), headers=headers, timeout=timeout
            )
            return _checked(response, self._url)
        except (httpx.HTTPError, httpx.InvalidURL, ServerUnreachable) as error:
            listed = _listed(self._settings, message["method"])
            if listed is not None:
                return {"jsonrpc": "2.0", "id": message["id"], "result": listed}
            if isinstance(error, ServerUnreachable):
                raise
            raise ServerUnreachable(
                f"No Pinakes answers at {self._url} ({type(error).__name__}).", hint="Start it: pinakes serve"
            ) from error

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


class LocalServer:
    """This process: the same MCP application that serves HTTP, called without a network."""

    def __init__(self, settings: Settings) -> None:
        from pinakes.api.callers import Callers
        from pinakes.api.folder_watching import Watching
        from pinakes.api.mcp import create_mcp, create_mcp_app
        from pinakes.api.service import Service
        from pinakes.api.startup import Startup
        from pinakes.api.threads import RequestThreads
        from pinakes.jobs.worker import Worker
        from pinakes.library import Library

        self._library, self._replaced = Library(settings), threading.Event()
        self._library.loading.on_replaced(self._replaced.set)
        self._startup = Startup(self._library)
        tasks = [self._startup, Watching(self._library), self._library.background(), self._library.graph_job()]
        self._worker = Worker(self._library.jobs, tasks)
        self._longest_s = max(settings.server.search_timeout_s, settings.server.write_timeout_s) + _GRACE_S
        self._workers = RequestThreads(settings.server.search_timeout_s, settings.server.write_timeout_s)
        self._app = create_mcp_app(create_mcp(Service(self._library, self._workers, self._startup)))
        self._asked = Callers(self._app)
        self._loop = asyncio.new_event_loop()
        self._ending = asyncio.Event()
        self._calls, self._under_way = threading.Condition(), 0
        self._client: Future[httpx.AsyncClient] = Future()
        self._thread = threading.Thread(target=self._live, daemon=True)
        self._thread.start()
        self._client.result()
        self._startup.start()
        self._worker.start()

    def answer(self, message: dict[str, JSON], protocol_version: str) -> dict[str, JSON]:
        """Return the response of the server in this process."""
        return asyncio.run_coroutine_threadsafe(self._post(message, protocol_version), self._loop).result()

    @property
    def is_replaced(self) -> bool:
        """Whether the catalogue is another one now, as after a failover: open another ``LocalServer`` then."""
        return self._replaced.is_set()

    @contextmanager
    def call(self) -> Iterator[None]:
        """Keep this server until the block ends, though ``retire`` was asked for."""
        with self._calls:
            self._under_way += 1
        try:
            yield
        finally:
            with self._calls:
                self._under_way -= 1
                self._calls.notify_all()

    def retire(self) -> None:
        """End when what is under way is answered; what goes wrong with that is logged."""
        with self._calls:
            self._calls.wait_for(lambda: not self._under_way, self._longest_s)
        try:
            if not self.end():
                _log.warning("part of the server before could not be ended and runs on")
        except Exception:  # noqa: BLE001 - its catalogue is gone, and there is another server by now
            _log.exception("the server before could not be ended in order")

    def end(self) -> bool:
        """End the background work and the server, save and release everything; False if part of it cannot be ended."""
        self._worker.end()
        ended = self._startup.stop(), self._worker.stop()
        self._loop.call_soon_threadsafe(self._ending.set)
        self._thread.join(_CONNECT_TIMEOUT_S)
        if all(ended):
            self._library.close()
        else:
            self._library.audit.close()
        return all(ended)

    def close(self) -> None:
        """As ``end``; ends the process if part of it cannot be ended."""
        if not self.end():
            os._exit(0)  # a thread is inside a library that cannot be interrupted; all is committed

    def _live(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:  # at its end who still waits is told
            runner.run(self._serve())

    async def _serve(self) -> None:
        async with self._app.lifespan(self._app):
            transport = httpx.ASGITransport(app=self._asked)
            client = httpx.AsyncClient(transport=transport, base_url="http://localhost", headers=_headers())
            async with client:
                self._client.set_result(client)
                await self._ending.wait()
        self._workers.close()

    async def _post(self, message: dict[str, JSON], protocol_version: str) -> dict[str, JSON]:
        headers = {"MCP-Protocol-Version": protocol_version}
        response = await self._client.result().post("/mcp", content=json.dumps(message), headers=headers, timeout=None)
        return _checked(response, "the server in this process")


class RunningOrLocal:
    """The running server of the home for as long as it runs, else this process."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._opening = threading.Lock()
        instance = running(settings)
        if words := of_other_version(settings):
            _log.warning("%s", words)
        self._remote = (
            RemoteServer(settings, instance.url, on_this_machine=True, key=instance.key) if instance else None
        )
        self._local: LocalServer | None = None
        if self._remote is None:
            with suppress(Busy), self._opened():  # a database that cannot be reached yet: who asks is told, or answered
                pass

    def answer(self, message: dict[str, JSON], protocol_version: str) -> dict[str, JSON]:
        """Return the response of whoever serves the home now.

        Raises:
            Busy: the database of the catalogue cannot be reached.
        """
        remote = self._remote
        if remote is not None:
            try:
                return remote.answer(message, protocol_version)
            except (ServerUnreachable, Unauthorized):
                self._remote = None
        with self._opened() as local:
            return local.answer(message, protocol_version)

    def close(self) -> None:
        """Release everything."""
        for upstream in (self._remote, self._local):
            if upstream is not None:
                upstream.close()

    @contextmanager
    def _opened(self) -> Iterator[LocalServer]:
        with ExitStack() as stack:
            with self._opening:
                if self._local is not None and self._local.is_replaced:
                    threading.Thread(target=self._local.retire, name="pinakes-retire", daemon=True).start()
                    self._local = None
                if self._local is None:
                    self._local = LocalServer(self._settings)
                stack.enter_context(self._local.call())
                local = self._local
            yield local


def open_upstream(settings: Settings, url: str | None) -> RemoteServer | RunningOrLocal:
    """Return who answers for ``url``, or for the home of ``settings``."""
    return RemoteServer(settings, url) if url else RunningOrLocal(settings)


@cache
def _session() -> str:
    """Return what this process is called in the audit log: it serves one client."""
    return f"stdio-{secrets.token_hex(4)}"


def _headers() -> dict[str, str]:
    return {**_HEADERS, SESSION_HEADER: _session()}


def _is_loopback(url: str) -> bool:
    try:
        return is_loopback(urlsplit(url).hostname or "")
    except ValueError:
        return False


def _checked(response: httpx.Response, where: str) -> dict[str, JSON]:
    """Return the JSON-RPC message in ``response``.

    Raises:
        ServerUnreachable: it holds none.
        Unauthorized, Refused, RateLimited, TooLarge: the server wants another key, or fewer or smaller questions.
    """
    try:
        content = response.json()
    except ValueError:
        content = None
    if isinstance(content, dict) and content.get("jsonrpc") == "2.0" and response.status_code not in _REFUSALS:
        return content
    error = content.get("error") if isinstance(content, dict) else None
    if response.status_code in _REFUSALS and isinstance(error, dict):
        about = error.get("data") or {}
        hint = f"Put a key into {KEY_VARIABLE}." if response.status_code == 401 else str(about.get("hint", ""))
        raise _REFUSALS[response.status_code](str(error.get("message", "")), hint=hint)
    detail = content.get("detail", "") if isinstance(content, dict) else ""
    if response.status_code == 413:
        raise TooLarge(str(detail) or "The request is too large.", hint="See server.max_body_bytes of that server.")
    hint = str(detail) or "Is it a Pinakes?"
    raise ServerUnreachable(f"{where} answers with HTTP {response.status_code}.", hint=hint)


def _tool_entry(listed: dict[str, JSON], settings: Settings) -> dict[str, JSON]:
    """Return a tool as a server lists it: the schema of its answers only where these are sent as data."""
    kept = settings.mcp.structured_content
    return {name: value for name, value in listed.items() if kept or name != "outputSchema"}


def _listed(settings: Settings, method: str) -> dict[str, JSON] | None:
    """Return what is listed where no server answers, None where that is nothing to list."""
    from pinakes.tools import prompts_of, tools_of
    from pinakes.tools.listing_limits import listing_for
    from pinakes.tools.prompts import prompt_listing
    from pinakes.tools.resources import TEMPLATES

    lists: dict[str, Callable[[], dict[str, JSON]]] = {
        "tools/list": lambda: {
            "tools": [_tool_entry(listing_for(tool, settings), settings) for tool in tools_of(settings)]
        },
        "prompts/list": lambda: {"prompts": [prompt_listing(prompt) for prompt in prompts_of(settings)]},
        "resources/list": lambda: {"resources": []},
        "resources/templates/list": lambda: {"resourceTemplates": [dict(one) for one in TEMPLATES]},
    }
    return lists[method]() if method in lists else None
