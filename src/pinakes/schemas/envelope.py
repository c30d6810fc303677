"""The envelope that ``/api/v1`` answers in: ``{success, data, meta}``, or ``{success, error, meta}``."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from fastapi import Request, Response
from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic_core import from_json, to_json
from starlette.requests import ClientDisconnect

from pinakes.core.errors import PinakesError, http_status
from pinakes.core.records import JSON

PREFIX = "/api/v1"
VERSION = "v1"
_NOT_AN_OBJECT = "Request body must be a JSON object"
_NUMBERS = itertools.count(1)


class Meta(BaseModel):
    """Of which call an answer is."""

    timestamp: Annotated[str, Field(description="When it was answered, UTC, ISO 8601.")]
    requestId: Annotated[str, Field(description="Unlike any other of this server.")]  # noqa: N815 - as clients read it
    version: Annotated[str, Field(description="Of this interface.")] = VERSION


class RestApiResponse(BaseModel):
    """The envelope of every answer that is no error."""

    model_config = ConfigDict(extra="allow")

    success: Literal[True]
    data: dict[str, Any]
    meta: Meta


def enveloped(name: str, description: str, data: type[BaseModel]) -> type[RestApiResponse]:
    """Return the envelope of answers whose ``data`` is of this model; OpenAPI has its name and description."""
    return create_model(name, __base__=RestApiResponse, __doc__=description, data=data)


class Failure(BaseModel):
    """Why a request was refused."""

    code: str
    message: str
    details: Any = None


class ErrorResponse(BaseModel):
    """The envelope of every error."""

    success: Literal[False]
    error: Failure
    meta: Meta


class Refusal(BaseModel):
    """Why a request outside of ``/api/v1`` was refused; of fields that cannot be used ``detail`` is a list."""

    detail: str | list[dict[str, Any]]
    code: str = ""
    hint: str = ""
    retryable: bool = False


def wrapped(data: Mapping[str, JSON], extra: Mapping[str, JSON] | None = None) -> Response:
    """Return 200 with ``data`` in the envelope; keys of ``extra`` stand beside it where no other is in the way."""
    body = {"success": True, "data": dict(data), "meta": _meta()}
    return as_response({**(extra or {}), **body})


def refused(
    status: int, code: str, message: str, details: JSON = None, headers: Mapping[str, str] | None = None
) -> Response:
    """Return an error as this interface tells it."""
    error: dict[str, JSON] = {"code": code, "message": message}
    if details is not None:
        error["details"] = details
    return as_response({"success": False, "error": error, "meta": _meta()}, status, headers)


def refusals(words: Mapping[int, str]) -> dict[int | str, dict[str, Any]]:
    """Return what OpenAPI says of the errors of a route: status → when it is answered."""
    return {status: {"model": ErrorResponse, "description": when} for status, when in words.items()}


def about(error: PinakesError) -> dict[str, JSON]:
    """Return what interfaces tell of an error beside its message."""
    return {"code": error.code, **error.details}


def failed(error: PinakesError) -> Response:
    """Return what went wrong in a route of this interface."""
    return refused(http_status(error), error.code, error.message, error.details)


def unhandled(status: int, path: str, headers: Mapping[str, str] | None, hint: str = "") -> Response:
    """Return the refusal of a request that no route takes, or that its route could not read."""
    if status == 404:
        return refused(404, "NOT_FOUND", "API endpoint not found", {"path": path, **({"hint": hint} if hint else {})})
    if status == 405:
        allowed = (headers or {}).get("Allow", "")
        return refused(405, "METHOD_NOT_ALLOWED", f"Only {allowed} method allowed", headers=headers)
    return refused(status, "INVALID_REQUEST" if status < 500 else "EXECUTION_ERROR", "The request cannot be answered.")


def of_this_interface(path: str) -> bool:
    """Return whether requests to ``path`` are answered in the envelope."""
    return path == PREFIX or path.startswith(f"{PREFIX}/")


async def json_object(request: Request) -> dict[str, JSON] | Response:
    """Return the JSON object that a request brings, or its refusal."""
    try:
        body = from_json(await request.body(), allow_inf_nan=False)
    except ClientDisconnect:  # nobody reads the answer
        return refused(400, "INVALID_REQUEST", "The request ended early")
    except ValueError as error:
        return refused(400, "INVALID_REQUEST", _NOT_AN_OBJECT, {"reason": f"It is not JSON: {error}"})
    if not isinstance(body, dict):
        return refused(400, "INVALID_REQUEST", _NOT_AN_OBJECT, {"reason": "It is JSON of another kind"})
    return body


def _meta() -> dict[str, JSON]:
    now = datetime.now(UTC)
    return {
        "timestamp": now.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "requestId": f"rest_{int(now.timestamp() * 1000)}_{next(_NUMBERS)}",
        "version": VERSION,
    }


def as_response(content: Mapping[str, JSON], status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return ``content`` as JSON."""
    return Response(to_json(content, inf_nan_mode="strings"), status, headers, "application/json")
