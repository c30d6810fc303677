"""Hints at what to do next, in the words of the interface: a command, a tool, a route, a method."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from pinakes.core import caller

Step: TypeAlias = Literal["collections", "entities"]

_STEPS: Final[dict[Step, dict[str, str]]] = {
    "collections": {
        "cli": "pinakes status",
        "mcp": "the resource pinakes://collections",
        "http": "POST /api/v1/tools/status",
        "python": "Library.collections()",
    },
    "entities": {
        "cli": "pinakes graph top",
        "mcp": "graph_overview(entity_type, collection)",
        "http": "GET /api/v1/graph?entity_type=TYPE&collection=NAME",
        "python": "Library.graph.top()",
    },
}


def step(name: Step) -> str:
    """Return how the caller of this moment does that: over MCP by a tool, over HTTP by a route."""
    words = _STEPS[name]
    return words.get(caller.current().interface, words["python"])
