"""Prompts and resources over MCP."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from fastmcp import FastMCP
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    PaginatedRequestParams,
    Prompt,
    PromptMessage,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextContent,
    TextResourceContents,
)

from pinakes.api.greeting import PROTOCOL_VERSIONS
from pinakes.api.service import Service
from pinakes.core.errors import InvalidInput, NotFound, PinakesError
from pinakes.models.token_counts import token_counter
from pinakes.tools.declare import described
from pinakes.tools.prompts import prompt_listing, prompted, prompts_of
from pinakes.tools.resources import TEMPLATES, list_resources, read_resource

_RESOURCE_NOT_FOUND = -32002
"""As the protocol had it until 2025-11-25; later ones say that a parameter is invalid."""

_PREFIX = "pinakes/"
_log = logging.getLogger(__name__)

Context = ServerRequestContext[Any, Any]


def offer_material(server: FastMCP[Any], service: Service) -> None:
    """Let ``server`` offer prompts and resources, in the place of those that FastMCP itself would list all at once."""
    material = _Material(service)
    below = server._mcp_server  # noqa: SLF001 - FastMCP pages only what is all in memory
    handlers: dict[str, tuple[Any, Callable[..., Any]]] = {
        "prompts/list": (PaginatedRequestParams, material.prompts),
        "prompts/get": (GetPromptRequestParams, material.prompt),
        "resources/list": (PaginatedRequestParams, material.resources),
        "resources/templates/list": (PaginatedRequestParams, material.templates),
        "resources/read": (ReadResourceRequestParams, material.read),
    }
    for method, (parameters, handler) in handlers.items():
        below.add_request_handler(method, parameters, handler)


class _Material:
    """Answers requests for prompts and resources."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def prompts(self, _context: Context, _params: PaginatedRequestParams | None) -> ListPromptsResult:
        offered = prompts_of(self._service.settings)
        return ListPromptsResult(prompts=[Prompt.model_validate(prompt_listing(one)) for one in offered])

    async def prompt(self, _context: Context, params: GetPromptRequestParams) -> GetPromptResult:
        settings = self._service.settings
        with _protocol_errors():
            counter = token_counter(settings.cache)
            text = prompted(settings, params.name, params.arguments or {}, counter)
        message = PromptMessage(role="user", content=TextContent(type="text", text=text))
        return GetPromptResult(messages=[message])

    async def resources(self, _context: Context, params: PaginatedRequestParams | None) -> ListResourcesResult:
        cursor = (params.cursor if params else None) or ""
        with _protocol_errors():
            found = await self._service.run(lambda: list_resources(self._service.library, cursor))
        listed = [
            Resource(uri=one.uri, name=one.name, description=one.description, mime_type=one.mime_type)
            for one in found.resources
        ]
        return ListResourcesResult(resources=listed, next_cursor=found.cursor or None)

    async def templates(self, _context: Context, _params: PaginatedRequestParams | None) -> ListResourceTemplatesResult:
        return ListResourceTemplatesResult(
            resource_templates=[ResourceTemplate.model_validate(one) for one in TEMPLATES]
        )

    async def read(self, context: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
        legacy = context.protocol_version in PROTOCOL_VERSIONS
        with _protocol_errors(_RESOURCE_NOT_FOUND if legacy else INVALID_PARAMS, uri=params.uri):
            library, most = self._service.library, self._service.settings.mcp.max_tokens
            found = await self._service.run(lambda: read_resource(library, params.uri, most))
        content = TextResourceContents(
            uri=found.uri,
            mime_type=found.mime_type,
            text=found.text,
            _meta={f"{_PREFIX}{name}": value for name, value in found.meta.items()} or None,
        )
        return ReadResourceResult(contents=[content])


@contextmanager
def _protocol_errors(missing: int = INVALID_PARAMS, **data: str) -> Iterator[None]:
    """Make what goes wrong an error of the protocol, without internals; ``missing`` is the code for what is not there.

    Raises:
        MCPError: something did.
    """
    try:
        yield
    except PinakesError as error:
        code = missing if isinstance(error, NotFound) else INTERNAL_ERROR
        code = INVALID_PARAMS if isinstance(error, InvalidInput) else code
        raise MCPError(code=code, message=error.message, data={**described(error), **data}) from error
    except Exception as error:
        _log.exception("a prompt or resource failed")
        raise MCPError(code=INTERNAL_ERROR, message="An internal error.") from error
