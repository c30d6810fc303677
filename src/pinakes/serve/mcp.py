"""MCP: one server, made from the tool declarations, for every transport."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Iterable
from importlib.metadata import version
from typing import Any, cast

from fastmcp import FastMCP
from fastmcp.tools import Tool as McpTool
from fastmcp.tools.base import ToolResult
from mcp_types import TextContent, ToolAnnotations
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from pinakes.errors import Busy, NotFound, PinakesError
from pinakes.serve.service import NOT_READY, Service
from pinakes.settings import Settings
from pinakes.tools import Answer, Tool, tools_of
from pinakes.types import JSON

PATH = "/mcp"
_log = logging.getLogger(__name__)


def create_mcp(service: Service) -> FastMCP[Any]:
    """Return the MCP server with the tools that the settings offer."""
    settings = service.settings
    offered = tools_of(settings)
    known = [(record.name, record.description) for record in service.library.collections()]
    server: FastMCP[Any] = FastMCP(
        settings.server_name,
        instructions=instructions(settings, known),
        version=version_of(settings),
        tools=[_Declared.of(declared, service) for declared in offered],
        mask_error_details=True,
    )
    return server


class _Declared(McpTool):
    """A declared tool as FastMCP wants it."""

    declared: Any
    service: Any

    @classmethod
    def of(cls, declared: Tool, service: Service) -> _Declared:
        return cls(
            name=declared.name,
            description=declared.description,
            parameters=declared.schema(),
            annotations=ToolAnnotations(
                read_only_hint=declared.read_only,
                destructive_hint=not declared.read_only,
                idempotent_hint=declared.read_only,
                open_world_hint=False,
            ),
            declared=declared,
            service=service,
        )
