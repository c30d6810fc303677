"""JSON-RPC 2.0 as MCP uses it: which messages can be answered, and the errors for others."""

from __future__ import annotations

import json
from typing import Any

from pinakes.core.records import JSON

PARSE_ERROR, INVALID_REQUEST, NO_SUCH_METHOD, INTERNAL_ERROR = -32700, -32600, -32601, -32603

NO_MESSAGE = "Invalid request: send one JSON-RPC 2.0 message, an object with jsonrpc, method and, for an answer, id."
WRONG_ID = "Invalid request: id has to be a text or a whole number."
WRONG_PARAMS = "Invalid request: params has to be an object."
_MOST_CHARS = 2000
_NAMES = ("name", "uri", "cursor")
"""Texts of parameters that name something there is: longer ones do not, and would only be repeated in an error."""


def result(request_id: Any, value: dict[str, JSON]) -> dict[str, JSON]:
    """Return the response to a request that was answered."""
    return {"jsonrpc": "2.0", "id": request_id, "result": value}


def error(request_id: Any, code: int, text: str) -> dict[str, JSON]:
    """Return the response to a request that was not; ``request_id``: None where it has no id that can be said."""
    return {"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": text}}


def refusal(message: JSON) -> dict[str, JSON] | None:
    """Return the response to a message that cannot be handled, None where it can.

    The id of a response has to be readable to every client, which NaN, Infinity (also written 1e400), fractions, true,
    null, lists and objects are not.
    """
    if not isinstance(message, dict) or not isinstance(message.get("method", ""), str):
        return error(None, INVALID_REQUEST, NO_MESSAGE)
    if "method" not in message:
        is_answer = "result" in message or "error" in message
        return None if is_answer else error(None, INVALID_REQUEST, NO_MESSAGE)
    given = message.get("id", 0)
    if isinstance(given, bool) or not isinstance(given, str | int):
        return error(None, INVALID_REQUEST, WRONG_ID)
    params = message.get("params") or {}
    if not isinstance(params, dict):
        return error(message.get("id"), INVALID_REQUEST, WRONG_PARAMS)
    for name in _NAMES:
        value = params.get(name)
        if isinstance(value, str) and len(value) > _MOST_CHARS:
            size = f"{name} has {len(value)} characters, more than {_MOST_CHARS}"
            return error(message.get("id"), INVALID_REQUEST, f"Invalid request: {size}. Nothing is called so.")
    return None


def refused(body: bytes) -> dict[str, JSON] | None:
    """Return ``refusal`` of a message as it came; None also where it is no object, which others tell of."""
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return refusal(message) if isinstance(message, dict) else None
