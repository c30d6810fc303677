"""What MCP tells a client of: only what its key is for, and why a tool that there is, is not offered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mcp_types as mt
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools import Tool as McpTool
from fastmcp.tools.base import ToolResult

from pinakes.api.greeting import instructions
from pinakes.core import caller
from pinakes.settings import Settings
from pinakes.tools import Tool, why_off


class ToolVisibility(Middleware):
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
