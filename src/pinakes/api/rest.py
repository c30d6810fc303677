"""The tools over plain HTTP: ``/api/v1/tools``, in an envelope ``{success, data, meta}``.

A client may read what a tool answered in ``data.result`` or, where no other key is in the way, beside the envelope.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

from fastapi import APIRouter, FastAPI, Path, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from pinakes.api import openapi
from pinakes.api.service import Service
from pinakes.core import caller
from pinakes.core.errors import http_status
from pinakes.core.records import JSON
from pinakes.schemas.envelope import (
    PREFIX,
    ErrorResponse,
    RestApiResponse,
    as_response,
    enveloped,
    json_object,
    refusals,
    refused,
    wrapped,
)
from pinakes.schemas.hits import QUESTION
from pinakes.settings import Settings
from pinakes.tools import Outcome, Tool, tools_of, why_off
from pinakes.tools.listing_limits import listing_for


class Execution(BaseModel):
    """What a tool answered."""

    result: Annotated[dict[str, Any], Field(description="As the tool answers it over MCP, too.")]
    tool: str
    executionTime: Annotated[int, Field(description="In milliseconds.")]  # noqa: N815
    errorCode: Annotated[  # noqa: N815
        str | None, Field(description="Which error it was, whatever its answer calls it; absent where there was none.")
    ] = None


class ToolExecutionResponse(RestApiResponse):
    """The answer of a tool. Keys of ``data.result`` stand at the top level, too, where none else is in the way.

    Where the tool failed, ``error`` at the top level says so.
    """

    data: Execution  # type: ignore[assignment]
    error: Annotated[Any, Field(description="What went wrong; absent where nothing did.")] = None


class Parameter(BaseModel):
    """A parameter of a tool."""

    name: str
    type: str
    description: str
    required: bool
    enum: Annotated[list[Any] | None, Field(description="The values there are; absent where any will do.")] = None


class ToolInfo(BaseModel):
    """A tool. ``schema`` and ``inputSchema`` are the same JSON Schema, ``parameters`` what it says in short."""

    model_config = ConfigDict(populate_by_name=True)

    name: str
    description: str
    input: Annotated[dict[str, Any], Field(alias="schema")]
    inputSchema: dict[str, Any]  # noqa: N815
    outputSchema: Annotated[  # noqa: N815
        dict[str, Any] | None, Field(description="Absent where the answer has no fixed form.")
    ] = None
    parameters: list[Parameter]
    category: str
    tags: list[str]
    annotations: Annotated[dict[str, bool], Field(description="Whether it only reads, can destroy, may be repeated.")]


class Discovery(BaseModel):
    """The tools that were asked for; ``categories`` and ``tags`` are those of all."""

    tools: list[ToolInfo]
    total: int
    categories: list[str]
    tags: list[str]


ToolDiscoveryResponse = enveloped("ToolDiscoveryResponse", "The list of tools.", Discovery)


MODELS: tuple[type[BaseModel], ...] = (
    RestApiResponse,
    ToolExecutionResponse,
    ToolDiscoveryResponse,
    ToolInfo,
    ErrorResponse,
)
"""What the OpenAPI document names, whatever routes there are."""


def routes(service: Service, api: FastAPI) -> APIRouter:
    """Return the routes over ``service``; ``api`` is what ``/api/v1/openapi`` describes."""
    router = APIRouter(prefix=PREFIX, tags=["tools"])
    tools = {tool.name: tool for tool in tools_of(service.settings)}
    example, arguments = example_call(tools.values())
    at = Path(examples=[example])

    @router.get("/tools", response_model=ToolDiscoveryResponse, response_model_exclude_none=True)
    async def list_tools(category: str = "", tag: str = "", search: str = "") -> Response:
        """List the tools with their schemas: all, or those of a category, with a tag, or with some text in them."""
        who = caller.current()
        visible = [tool for tool in tools.values() if tool.is_for(who)]
        return wrapped(discovered(visible, service.settings, category, tag, search))

    @router.post(
        "/tools/{name}",
        response_model=ToolExecutionResponse,
        responses=refusals(
            {
                400: "The body is no JSON object.",
                404: "There is no such tool.",
                500: "The tool failed unexpectedly.",
            }
        ),
        openapi_extra={
            "requestBody": {"content": {"application/json": {"schema": {"type": "object", "example": arguments}}}}
        },
    )
    async def call_tool(request: Request, name: str = at) -> Response:
        """Call a tool; the body has its arguments. What goes wrong in the tool is in its answer, with status 200."""
        tool = tools.get(name)
        if tool is None:
            toolset, why = why_off(name, service.settings)
            details = {"availableTools": sorted(tools), **({"toolset": toolset, "hint": why} if why else {})}
            return refused(404, "TOOL_NOT_FOUND", f"Tool '{name}' not found", details)
        arguments = await json_object(request)
        if isinstance(arguments, Response):
            return arguments
        start = time.perf_counter()
        outcome = await service.answer(tool, arguments)
        return executed(tool, outcome, time.perf_counter() - start)

    @router.get("/openapi", response_model=dict[str, Any])
    async def describe() -> Response:
        """Describe this interface as an OpenAPI document: every tool is a path of its own."""
        return as_response(openapi.document(api, list(tools.values()), MODELS, service.settings))

    return router


def example_call(tools: Iterable[Tool]) -> tuple[str, dict[str, JSON]]:
    """Return a tool that only reads, and the least it takes; the first that nothing but a question is needed for."""
    for tool in tools:
        required = tool.schema().get("required", ())
        if tool.read_only and set(required) <= {"query"}:
            return tool.name, dict.fromkeys(required, QUESTION)
    return "NAME", {}


def paths(settings: Settings) -> frozenset[str]:
    """Return the paths that requests are counted by."""
    tools = (f"{PREFIX}/tools/{tool.name}" for tool in tools_of(settings))
    return frozenset({f"{PREFIX}/tools", f"{PREFIX}/openapi", *tools})


def executed(tool: Tool, outcome: Outcome, seconds: float) -> Response:
    """Return what ``tool`` answered, in the envelope and beside it."""
    error = outcome.error
    if error is not None and tool.error_data is None and http_status(error) == 500:
        details = {"hint": error.hint, "tool": tool.name, "errorCode": error.code}
        return refused(500, "EXECUTION_ERROR", error.message, details)
    result = outcome.data
    if result is None:
        result = {"error" if outcome.failed else "text": outcome.text}
    data = {"result": result, "tool": tool.name, "executionTime": round(seconds * 1000)}
    if error is not None:
        data["errorCode"] = error.code
    return wrapped(data, result)


def discovered(
    tools: Iterable[Tool], settings: Settings, category: str = "", tag: str = "", search: str = ""
) -> dict[str, JSON]:
    """Return what ``GET /api/v1/tools`` tells of ``tools``; capitals make no difference."""
    every = [described(tool, settings) for tool in tools]
    wanted = search.casefold()
    chosen = [
        tool
        for tool in every
        if category.casefold() in ("", tool["category"].casefold())
        and (not tag or tag.casefold() in tool["tags"])
        and any(wanted in text.casefold() for text in (tool["name"], tool["description"], *tool["tags"]))
    ]
    return {
        "tools": chosen,
        "total": len(chosen),
        "categories": sorted({tool["category"] for tool in every}),
        "tags": sorted({tag for tool in every for tag in tool["tags"]}),
    }


def described(tool: Tool, settings: Settings) -> dict[str, JSON]:
    """Return a tool as ``ToolInfo`` has it; its category is named after its toolset."""
    listed = listing_for(tool, settings)
    schema = listed["inputSchema"]
    return {
        **listed,
        "schema": schema,
        "parameters": list(_parameters(schema)),
        "category": tool.toolset.capitalize(),
        "tags": list(tool.tags or (tool.toolset,)),
    }


def _parameters(schema: Mapping[str, JSON]) -> Iterable[dict[str, JSON]]:
    required: Sequence[str] = schema.get("required", ())
    for name, about in schema.get("properties", {}).items():
        enum = {"enum": about["enum"]} if "enum" in about else {}
        yield {
            "name": name,
            "type": about.get("type", "object"),
            "description": about.get("description", ""),
            "required": name in required,
            **enum,
        }
