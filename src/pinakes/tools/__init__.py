"""What agents can do: each tool is declared once, and every interface reads the declaration.

The tools of ``pinakes.compat`` build on what is here. They are loaded when they are asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from pinakes.settings import Settings
from pinakes.tools.ask import ask
from pinakes.tools.declare import Answer, Outcome, Reply, Tool, tool
from pinakes.tools.describe import list_sources, metadata_report
from pinakes.tools.failures import how_on
from pinakes.tools.graph_tools import (
    entity_path,
    find_entity,
    find_experts,
    graph_overview,
    impact_of,
    related_entities,
)
from pinakes.tools.history import document_history, restore_document
from pinakes.tools.profile_tools import named_tool
from pinakes.tools.prompts import prompts_of
from pinakes.tools.resources import list_resources, read_resource
from pinakes.tools.retrieve import read, search, status
from pinakes.tools.vendor_info import find_vendor_info

_GRAPH = (find_vendor_info, find_entity, related_entities, entity_path, graph_overview, find_experts, impact_of)
_OWN = (document_history, restore_document, search, read, status, metadata_report, list_sources, *_GRAPH)
__all__ = [
    "PROMPTS",
    "TOOLS",
    "Answer",
    "Outcome",
    "Reply",
    "Tool",
    "deep_analysis_prompt",
    "evaluate_summaries_prompt",
    "get_documents",
    "list_resources",
    "prompts_of",
    "read_resource",
    "search_summaries",
    "staged_rag_system_prompt",
    "tool",
    "tools_of",
    "why_off",
]


def __getattr__(name: str) -> Any:
    if name == "TOOLS":
        staged, code, platform = (
            import_module(f"pinakes.compat.{one}").TOOLS for one in ("staged", "code", "platform")
        )
        return (*staged, *_OWN, *code, *platform, ask)
    if name in __all__:  # what clients in Python import from here, although staged retrieval has it
        return getattr(import_module("pinakes.compat.staged"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def tools_of(settings: Settings) -> tuple[Tool, ...]:
    """Return the tools that ``settings`` offer to agents: the named searches, then the toolsets.

    Those that only write are left out where nothing may be changed.
    """
    named = tuple(named_tool(declared) for declared in settings.tools)
    taken = {declared.name for declared in named}
    every: tuple[Tool, ...] = __getattr__("TOOLS")
    chosen = (one for one in every if one.toolset in settings.toolsets and one.name not in taken)
    return named + tuple(one for one in chosen if one.reads_sometimes or not settings.server.read_only)


def why_off(name: str, settings: Settings) -> tuple[str, str]:
    """Return the toolset of the tool ``name``, and why ``settings`` do not offer it; both "" where there is none."""
    every: tuple[Tool, ...] = __getattr__("TOOLS")
    toolset = next((one.toolset for one in every if one.name == name), "")
    if not toolset:
        return "", ""
    if toolset in settings.toolsets:
        return toolset, "It writes, and nothing may be changed here: server.read_only is set."
    return toolset, f"Its toolset is off. {how_on(toolset)}"
