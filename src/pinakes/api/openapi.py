"""The OpenAPI document of ``/api/v1``, in which every tool is a path of its own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from fastapi import FastAPI
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema
from pydantic_core import to_json

from pinakes.core.records import JSON
from pinakes.schemas.envelope import PREFIX
from pinakes.settings import Settings
from pinakes.tools import Tool
from pinakes.tools.listing_limits import limit_counts, listing_for, usual_top_k

ANY_TOOL = f"{PREFIX}/tools/{{name}}"
_SCHEMAS = "#/components/schemas/"
_KEY: dict[str, JSON] = {
    "key": {"type": "http", "scheme": "bearer", "description": "Only where the server wants one: see `pinakes keys`."}
}
_REFUSED = {
    "400": "The body is no JSON object.",
    "401": "No valid key was shown.",
    "429": "Too many requests.",
    "500": "The tool failed unexpectedly.",
}
_BEFORE = ("401", "429")
"""What a request may be answered before its route has it, where keys are needed."""


def document(
    api: FastAPI, tools: Sequence[Tool], models: Sequence[type[BaseModel]], settings: Settings
) -> dict[str, JSON]:
    """Return what ``api`` answers below ``/api/v1``; components are ``models`` and whatever the paths refer to."""
    whole = api.openapi()
    _, own = models_json_schema([(model, "serialization") for model in models], ref_template=_SCHEMAS + "{model}")
    schemas = {**own["$defs"], **whole.get("components", {}).get("schemas", {})}
    paths = {path: about for path, about in whole["paths"].items() if path.startswith(PREFIX) and path != ANY_TOOL}
    for tool in tools:
        paths[f"{PREFIX}/tools/{tool.name}"] = {"post": _operation(tool, schemas, settings)}
    used = _used([paths, *({"$ref": _SCHEMAS + model.__name__} for model in models)], schemas)
    return {
        "openapi": whole["openapi"],
        "info": whole["info"],
        "paths": dict(sorted(paths.items())),
        "components": {"schemas": {name: schemas[name] for name in sorted(used)}, "securitySchemes": _KEY},
        "security": [{"key": []}, {}],
    }


def follow_settings(api: FastAPI, settings: Settings) -> None:
    """Have the document of ``api`` show how many results there are by default, and at most, as ``settings`` have it."""
    describe = api.openapi

    def described() -> dict[str, JSON]:
        whole = describe()
        asked: dict[str, JSON] = whole["components"]["schemas"]["SearchRequest"]["properties"]
        asked["top_k"]["default"] = usual_top_k(settings)
        limit_counts(asked, settings)
        return whole

    api.openapi = described  # type: ignore[method-assign]


def want_key(api: FastAPI, free: Iterable[str]) -> None:
    """Have the document of ``api`` say that its routes want a key, but those that are ``free`` ("GET /path").

    So it says what they answer without.
    """
    describe, exempt = api.openapi, tuple(free)

    def described() -> dict[str, JSON]:
        whole = describe()
        whole["components"] = {**whole.get("components", {}), "securitySchemes": _KEY}
        for route in exempt:
            method, _, path = route.partition(" ")
            if path in whole["paths"]:
                whole["paths"][path][method.lower()]["security"] = []
        for operation in (one for methods in whole["paths"].values() for one in methods.values()):
            for status in _BEFORE if operation.get("security") != [] else ():
                operation["responses"].setdefault(status, {"description": _REFUSED[status]})
        return {**whole, "security": [{"key": []}]}

    api.openapi = described  # type: ignore[method-assign]


def _operation(tool: Tool, schemas: dict[str, JSON], settings: Settings) -> dict[str, JSON]:
    """Return how ``tool`` is called; what it answers goes to ``schemas``."""
    summary, _, more = tool.description.partition("\n")
    answer: dict[str, JSON] = {"$ref": f"{_SCHEMAS}ToolExecutionResponse"}
    output = tool.output_schema()
    if output is not None:
        output.pop("required", None)  # where the tool fails, ``error`` is all there is
        name = f"{tool.name}.result"
        schemas[name] = _hoisted(output, tool.name, schemas)
        result = {"properties": {"result": {"$ref": _SCHEMAS + name}}}
        answer = {"allOf": [answer, {"properties": {"data": result}}]}
    asked = listing_for(tool, settings)["inputSchema"]
    refusal = {"content": {"application/json": {"schema": {"$ref": f"{_SCHEMAS}ErrorResponse"}}}}
    return {
        "operationId": tool.name,
        "summary": summary.strip(),
        **({"description": more.strip()} if more.strip() else {}),
        "tags": [tool.toolset.capitalize()],
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": asked}},
        },
        "responses": {
            "200": {"description": "What the tool answers.", "content": {"application/json": {"schema": answer}}},
            "413": {"description": "The body is too large."},
            **{status: {"description": why, **refusal} for status, why in _REFUSED.items()},
        },
    }


def _hoisted(schema: JSON, prefix: str, schemas: dict[str, JSON]) -> JSON:
    """Return ``schema`` with its own definitions moved to ``schemas``, under names that begin with ``prefix``."""
    if isinstance(schema, list):
        return [_hoisted(one, prefix, schemas) for one in schema]
    if not isinstance(schema, dict):
        return schema
    for name, definition in schema.get("$defs", {}).items():
        schemas[f"{prefix}.{name}"] = _hoisted(definition, prefix, schemas)
    moved = {key: _hoisted(value, prefix, schemas) for key, value in schema.items() if key != "$defs"}
    reference = moved.get("$ref")
    if isinstance(reference, str) and reference.startswith("#/$defs/"):
        moved["$ref"] = f"{_SCHEMAS}{prefix}.{reference.removeprefix('#/$defs/')}"
    return moved


def _used(roots: JSON, schemas: dict[str, JSON]) -> set[str]:
    """Return the names of the schemas that ``roots`` refer to, and those that these refer to."""
    used: set[str] = set()
    waiting = _referred(roots)
    while waiting:
        used |= waiting
        waiting = _referred([schemas[name] for name in waiting]) - used
    return used


def _referred(value: JSON) -> set[str]:
    return set(re.findall(rf'"{_SCHEMAS}([^"]+)"', to_json(value).decode()))
