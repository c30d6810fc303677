"""The clients that agents use, connected to a server over HTTP, or to one of their own over stdio."""

from __future__ import annotations

import json
import sys
from contextlib import AsyncExitStack
from typing import Any, Protocol

import jsonschema
import mcp
from fastmcp import Client
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from serve_support import Running

from pinakes.settings import Settings

STDIO = """
import sys
from pinakes.api import serve_stdio
from pinakes.settings import load
chosen = {"embedding__provider": "deterministic", "mcp__structured_content": True}
serve_stdio(load(home=sys.argv[1], toolsets=sys.argv[2:], **chosen))
"""
VOLATILE = {
    "search_time_ms",
    "index_size_bytes",
    "timestamp",
    "latency_ms",
    "query_id",
    "session",
    "interface",
    "caller",
    "id",
    "updated_at",
    "index",
}
"""What differs from call to call, or from process to process."""

Call = tuple[str, dict[str, Any]]


class Asked(Protocol):
    """A connected client, whichever kit it is of."""

    async def instructions(self) -> str: ...
    async def tools(self) -> dict[str, Any]: ...
    async def call(self, name: str, arguments: dict[str, Any]) -> Any: ...
    async def prompts(self) -> dict[str, Any]: ...
    async def prompt(self, name: str, arguments: dict[str, str]) -> str: ...
    async def resources(self) -> list[str]: ...
    async def templates(self) -> list[str]: ...
    async def read(self, uri: str) -> Any: ...


class FastMcp:
    def __init__(self, client: Client[Any]) -> None:
        self._client = client

    async def instructions(self) -> str:
        return str(self._client.instructions)

    async def tools(self) -> dict[str, Any]:
        return {one.name: one for one in await self._client.list_tools()}

    async def call(self, name: str, arguments: dict[str, Any]) -> Any:
        return await self._client.call_tool_mcp(name, arguments)

    async def prompts(self) -> dict[str, Any]:
        return {one.name: one for one in await self._client.list_prompts()}

    async def prompt(self, name: str, arguments: dict[str, str]) -> str:
        [message] = (await self._client.get_prompt(name, arguments)).messages
        return str(message.content.text)  # type: ignore[union-attr]

    async def resources(self) -> list[str]:
        return [str(one.uri) for one in await self._client.list_resources()]

    async def templates(self) -> list[str]:
        return [one.uri_template for one in await self._client.list_resource_templates()]

    async def read(self, uri: str) -> Any:
        [content] = await self._client.read_resource(uri)
        return content


class Sdk:
    def __init__(self, session: mcp.ClientSession) -> None:
        self._session = session

    async def instructions(self) -> str:
        return self._greeted

    async def greet(self) -> None:
        greeting = await self._session.initialize()
        assert greeting.capabilities.prompts is not None
        assert greeting.capabilities.resources is not None
        self._greeted = str(greeting.instructions)

    async def tools(self) -> dict[str, Any]:
        return {one.name: one for one in (await self._session.list_tools()).tools}

    async def call(self, name: str, arguments: dict[str, Any]) -> Any:
        return await self._session.call_tool(name, arguments)

    async def prompts(self) -> dict[str, Any]:
        return {one.name: one for one in (await self._session.list_prompts()).prompts}

    async def prompt(self, name: str, arguments: dict[str, str]) -> str:
        [message] = (await self._session.get_prompt(name, arguments)).messages
        return str(message.content.text)  # type: ignore[union-attr]

    async def resources(self) -> list[str]:
        return [str(one.uri) for one in (await self._session.list_resources()).resources]

    async def templates(self) -> list[str]:
        return [one.uri_template for one in (await self._session.list_resource_templates()).resource_templates]

    async def read(self, uri: str) -> Any:
        [content] = (await self._session.read_resource(uri)).contents
        return content


class Place:
    """A home, its server, and the ways to reach it."""

    def __init__(self, settings: Settings, server: Running, ids: dict[str, str]) -> None:
        self.settings, self.home, self.server, self.ids = settings, settings.home, server, ids

    def over_http(self, name: str, arguments: dict[str, Any]) -> Any:
        """Return what a tool answers to a plain POST."""
        body = self.server.client.post(f"/api/v1/tools/{name}", json=arguments).json()
        return steady(body["data"]["result"])

    async def connected(self, kit: str, transport: str, stack: AsyncExitStack) -> Asked:
        command = ["-c", STDIO, str(self.home), *self.settings.toolsets]
        url = f"{self.server.url}/mcp"
        if kit == "fastmcp":
            over = StreamableHttpTransport(url) if transport == "http" else StdioTransport(sys.executable, command)
            return FastMcp(await stack.enter_async_context(Client(over)))
        parameters = StdioServerParameters(command=sys.executable, args=command)
        connected = streamable_http_client(url) if transport == "http" else stdio_client(parameters)
        reading, writing, *_ = await stack.enter_async_context(connected)
        sdk = Sdk(await stack.enter_async_context(mcp.ClientSession(reading, writing)))
        await sdk.greet()
        return sdk


def steady(value: Any) -> Any:
    """Return ``value`` without what differs from call to call."""
    if isinstance(value, dict):
        return {key: steady(one) for key, one in value.items() if key not in VOLATILE}
    return [steady(one) for one in value] if isinstance(value, list) else value


async def answered(client: Asked, tool: Any, arguments: dict[str, Any]) -> Any:
    """Return the answer to a call, which fits its schema and is the same as text; a failure is marked as one."""
    result = await client.call(tool.name, arguments)
    failed = "error" in result.structured_content or result.structured_content.get("status") == "error"
    assert result.is_error == failed, (tool.name, arguments, result.content)
    jsonschema.validate(result.structured_content, tool.output_schema)
    [content] = result.content
    assert json.loads(content.text) == result.structured_content
    return steady(result.structured_content)
