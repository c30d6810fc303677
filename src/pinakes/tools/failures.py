"""Errors of tools in the words of their contracts, and how to turn on a toolset."""

from __future__ import annotations

from collections.abc import Mapping

from pinakes.core.errors import PinakesError, worded
from pinakes.core.records import JSON
from pinakes.tools.declare import Tool


def as_word(_tool: Tool, _arguments: Mapping[str, JSON], error: PinakesError) -> dict[str, JSON]:
    """Tell of ``error`` as ``{"error": message}``, with a ``hint`` and unknown ids (``not_found``) where there are any.

    What nobody foresaw is told by its type: ``{"error": "KeyError: 'x'"}``.
    """
    if type(error) is PinakesError and error.__cause__ is not None:
        return {"error": worded(error.__cause__)}
    data: dict[str, JSON] = {"error": error.message, **({"hint": error.hint} if error.hint else {})}
    return data | error.not_found


def as_status(tool: Tool, arguments: Mapping[str, JSON], error: PinakesError) -> dict[str, JSON]:
    """Tell of ``error`` as tools do whose answers have a status: ``{"status": "error", "error": message}``."""
    return {"status": "error", **as_word(tool, arguments, error)}


def how_on(toolset: str) -> str:
    """Return how ``toolset`` is turned on."""
    where = "config.toml in the server's home, or --toolsets where it is started"
    return f"Add {toolset!r} to the setting toolsets ({where}) and restart the server."
