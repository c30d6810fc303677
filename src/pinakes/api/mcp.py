"""MCP: one server, made from the tool declarations, for every transport."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any

import mcp_types as mt
from fastmcp import FastMCP
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools import Tool as McpTool
from fastmcp.tools.base import ToolResult
from fastmcp.utilities.json_schema import dereference_refs
from pydantic import PrivateAttr
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pinakes.api import jsonrpc
from pinakes.api.greeting import instructions, version_of
from pinakes.api.mcp_resources import offer_material
from pinakes.api.service import Service
from pinakes.core import caller
from pinakes.core.records import JSON
from pinakes.models.token_counts import token_counter
from pinakes.settings import Settings
from pinakes.tools import Tool, tools_of, why_off
from pinakes.tools.budgets import with_short_query, within_budget
from pinakes.tools.listing_limits import listing_for

_log = logging.getLogger(__name__)

PATH = "/mcp"

_NEEDED_BY_CALLS = ("fastmcp.server.context", "key_value.aio.adapters.pydantic", "key_value.aio.stores.memory")
"""What the first call would load otherwise, some 450 modules, and nobody would be answered meanwhile."""

_HINT = "This is an MCP endpoint (streamable HTTP, no sessions): POST JSON-RPC messages here."


def create_mcp(service: Service) -> FastMCP[Any]:
    """Return the MCP server with the tools and prompts that the settings offer, and the resources there are."""
    settings = service.settings
    logging.getLogger("fastmcp").setLevel(logging.WARNING)
    tools = tools_of(settings)
    server: FastMCP[Any] = FastMCP(
        settings.server_name,
        instructions=instructions(settings),
        version=version_of(settings),
        tools=[_declared(tool, service) for tool in tools],
        middleware=[_ToolVisibility(settings, tools)],
        mask_error_details=True,
    )
    offer_material(server, service)
    return server


def create_mcp_app(server: FastMCP[Any]) -> Any:
    """Return the ASGI app that serves ``server`` at ``/mcp``, without sessions, answering in JSON.

    Host and Origin are checked by ``Guard``.
    """
    for name in _NEEDED_BY_CALLS:
        with suppress(ImportError):  # another version of the library does not need it
            import_module(name)
    return server.http_app(path=PATH, json_response=True, stateless_http=True, host_origin_protection=False)


class McpRoute:
    """Hands requests for ``/mcp`` to the MCP app, all others on."""

    def __init__(self, app: ASGIApp, mcp: ASGIApp) -> None:
        self._app, self._mcp = app, mcp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, as ASGI has it."""
        if scope["type"] != "http" or scope["path"].rstrip("/") != PATH:
            await self._app(scope, receive, send)
        elif scope["method"] not in ("POST", "DELETE"):
            await _answer(send, 405, {"detail": _HINT}, allow=b"POST, DELETE")
        else:
            body, again = await _read(receive)
            wrong = jsonrpc.refused(body) if body is not None else None
            if body is None:
                _log.warning("a request to %s was cut off before all of its body was there", PATH)
            elif wrong is not None:
                await _answer(send, 400, wrong)
            else:
                await self._mcp({**scope, "path": PATH, "raw_path": PATH.encode()}, again, _with_own_message(send))


async def _read(receive: Receive) -> tuple[bytes | None, Receive]:
    """Return the body of a request, None where it was cut off, and what gives its messages once more."""
    messages = [await receive()]
    while messages[-1].get("more_body"):
        messages.append(await receive())
    left = iter(messages)

    async def again() -> Message:
        return next(left, None) or await receive()

    if messages[-1]["type"] == "http.disconnect":
        return None, again
    return b"".join(one.get("body", b"") for one in messages), again


def _with_own_message(send: Send) -> Send:
    """Say in our words that a body is no message, instead of how a library found that out."""
    held: list[Message] = []

    async def send_reworded(message: Message) -> None:
        if message["type"] == "http.response.start" and message["status"] == 400:
            held.append(message)
        elif not held:
            await send(message)
        else:
            held.append(message)
            if not message.get("more_body"):
                for one in _reworded(held[0], b"".join(part.get("body", b"") for part in held[1:])):
                    await send(one)
                held.clear()

    return send_reworded


def _reworded(start: Message, body: bytes) -> tuple[Message, Message]:
    if b"validation error" in body:
        body = json.dumps(jsonrpc.error(None, jsonrpc.INVALID_REQUEST, jsonrpc.NO_MESSAGE)).encode()
        kept = [(name, value) for name, value in start["headers"] if name.lower() != b"content-length"]
        start = {**start, "headers": [*kept, (b"content-length", str(len(body)).encode())]}
    return start, {"type": "http.response.body", "body": body}


async def _answer(send: Send, status: int, data: JSON, **headers: bytes) -> None:
    """Answer in JSON, by ourselves."""
    named = [(name.encode(), value) for name, value in headers.items()]
    start = [(b"content-type", b"application/json"), *named]
    await send({"type": "http.response.start", "status": status, "headers": start})
    await send({"type": "http.response.body", "body": json.dumps(data).encode()})


class _DeclaredTool(McpTool):
    """A declared tool as FastMCP wants it."""

    _tool: Tool = PrivateAttr()
    _service: Service = PrivateAttr()

    def to_mcp_tool(self, **overrides: Any) -> mt.Tool:
        """Return the tool as it is listed, without what FastMCP adds: it would cost every client tokens."""
        return super().to_mcp_tool(**{"_meta": None, **overrides})

    async def run(self, arguments: dict[str, Any]) -> ToolResult:
        """Run the tool in a thread; a failure becomes a result that says so."""
        tool, settings = self._tool, self._service.settings
        budget = tool.budget(arguments, settings.mcp.max_tokens)
        outcome = with_short_query(tool, await self._service.answer(tool, arguments, budget))
        may_be_long = len(outcome.text.encode("utf-8", "replace")) > budget > 0
        if may_be_long:  # measuring it takes time, in which others are answered
            counter = token_counter(settings.cache)
            outcome = await asyncio.to_thread(within_budget, tool, arguments, outcome, counter, budget)
        return ToolResult(
            content=[mt.TextContent(type="text", text=outcome.text)],
            structured_content=outcome.data if settings.mcp.structured_content else None,
            meta=None if outcome.error is None else {"errorCode": outcome.error.code},
            is_error=outcome.failed,
        )


def _declared(tool: Tool, service: Service) -> McpTool:
    listed = listing_for(tool, service.settings)
    output = listed.get("outputSchema") if service.settings.mcp.structured_content else None
    declared = _DeclaredTool(
        name=tool.name,
        description=tool.description,
        parameters=listed["inputSchema"],
        output_schema=dereference_refs(output) if output else None,  # else it is done anew for each list
        annotations=mt.ToolAnnotations.model_validate(listed["annotations"]),
    )
    declared._tool, declared._service = tool, service  # noqa: SLF001 - our own class
    return declared


class _ToolVisibility(Middleware):
    """Greets each client with the collections that it may use, and lists the tools that are for it."""

    def __init__(self, settings: Settings, tools: Sequence[Tool]) -> None:
        self._settings = settings
        self._tools = {tool.name: tool for tool in tools}

    async def on_initialize(
        self,
        context: MiddlewareContext[mt.InitializeRequest],
        call_next: CallNext[mt.InitializeRequest, mt.InitializeResult | None],
    ) -> mt.InitializeResult | None:
        """Answer the handshake."""
        result = await call_next(context)
        return None if result is None else result.model_copy(update=self._greeting())

    async def on_discover(
        self,
        context: MiddlewareContext[mt.DiscoverRequest],
        call_next: CallNext[mt.DiscoverRequest, mt.DiscoverResult | dict[str, Any]],
    ) -> mt.DiscoverResult | dict[str, Any]:
        """Answer what stands in for the handshake in newer versions."""
        result = await call_next(context)
        if isinstance(result, dict):
            return {**result, **self._greeting()}
        return result.model_copy(update=self._greeting())

    async def on_list_tools(
        self,
        context: MiddlewareContext[mt.ListToolsRequest],
        call_next: CallNext[mt.ListToolsRequest, Sequence[McpTool]],
    ) -> Sequence[McpTool]:
        """List the tools."""
        who = caller.current()
        listed = await call_next(context)
        return [one for one in listed if one.name not in self._tools or self._tools[one.name].is_for(who)]

    async def on_call_tool(
        self,
        context: MiddlewareContext[mt.CallToolRequestParams],
        call_next: CallNext[mt.CallToolRequestParams, ToolResult],
    ) -> ToolResult:
        """Call a tool; of one that there is and that is not offered, say why."""
        name = context.message.name
        toolset, why = ("", "") if name in self._tools else why_off(name, self._settings)
        if not why:
            return await call_next(context)
        text = f"The tool {name!r} of the toolset {toolset!r} is not offered here. {why}"
        return ToolResult(content=[mt.TextContent(type="text", text=text)], is_error=True)

    def _greeting(self) -> dict[str, str]:
        return {"instructions": instructions(self._settings)}
