"""The list of tools as the settings have it: their defaults and limits, in place of those that are usual."""

from __future__ import annotations

import re
from typing import Final

from pinakes.settings import Settings
from pinakes.tools.declare import Tool, listing
from pinakes.types import JSON

TOP_K: Final = 5
"""Documents that the tools of staged retrieval find where nobody says how many."""

_CLAMPED: Final = frozenset({"search_summaries", "hybrid_search", "multi_query_search", "find_similar"})


def listing_for(tool: Tool, settings: Settings) -> dict[str, JSON]:
    """Return ``tool`` as ``tools/list`` shows it under ``settings``."""
    listed = listing(tool)
    properties: dict[str, JSON] = listed["inputSchema"].get("properties", {})
    search = settings.search
    if tool.name in _CLAMPED:
        properties["top_k"] |= {"default": usual_top_k(settings), "minimum": 1}
    if "top_k" in properties and tool.toolset in ("retrieve", "search"):
        properties["top_k"]["maximum"] = search.max_top_k
    if tool.name == "hybrid_search":
        properties["semantic_weight"]["default"] = search.semantic_weight
        properties["keyword_weight"]["default"] = search.keyword_weight
    if tool.name == "ingest_batch":
        most, documents = settings.documents.max_batch, properties["documents"]
        documents["maxItems"] = most
        documents["description"] = re.sub(r"at most \d+", f"at most {most}", documents["description"])
    if tool.name == "get_documents" and settings.mcp.max_tokens:
        properties["max_tokens"]["description"] += f" ({settings.mcp.max_tokens})"
    return listed


def usual_top_k(settings: Settings) -> int:
    """Return how many documents are found where the caller does not say."""
    search = settings.search
    return min(search.top_k if "top_k" in search.model_fields_set else TOP_K, search.max_top_k)
