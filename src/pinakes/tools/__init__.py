"""What agents can do: each tool is declared once, and every interface reads the declaration."""

from __future__ import annotations

from pinakes.settings import Settings
from pinakes.tools.declare import Answer, Outcome, Reply, Tool, tool
from pinakes.tools.named import named_tool
from pinakes.tools.retrieve import read, search, status

TOOLS: tuple[Tool, ...] = (search, read, status)

__all__ = ["TOOLS", "Answer", "Outcome", "Reply", "Tool", "tool", "tools_of"]


def tools_of(settings: Settings) -> tuple[Tool, ...]:
    """Return the tools that ``settings`` offer to agents: the named searches, then the toolsets."""
    named = tuple(named_tool(declared) for declared in settings.tools)
    taken = {declared.name for declared in named}
    chosen = (declared for declared in TOOLS if declared.toolset in settings.toolsets and declared.name not in taken)
    return named + tuple(chosen)
