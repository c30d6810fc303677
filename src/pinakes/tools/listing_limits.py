"""The list of tools with the defaults and limits of the settings."""

from __future__ import annotations

import re
from typing import Any, Final

from pinakes.core.records import JSON
from pinakes.settings import Settings
from pinakes.tools.declare import Tool, listing

TOP_K: Final = 5
"""Results that are given where nobody says how many, neither the caller nor the settings."""

_CLAMPED: Final = frozenset({"search_summaries", "hybrid_search", "multi_query_search", "find_similar"})
_COUNTS: Final = ("top_k", "max_results", "limit")
"""What tools call the number of results."""


def listing_for(tool: Tool, settings: Settings) -> dict[str, JSON]:
    """Return ``tool`` as ``tools/list`` shows it under ``settings``."""
    listed = listing(tool)
    properties: dict[str, JSON] = listed["inputSchema"].get("properties", {})
    search = settings.search
    if tool.name in _CLAMPED:
        properties["top_k"] |= {"default": usual_top_k(settings), "minimum": 1}
    limit_counts(properties, settings)
    if tool.name == "semantic_search":
        properties["query"]["maxLength"] = search.max_query_chars
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


def limit_counts(properties: dict[str, JSON], settings: Settings) -> None:
    """Have the schemas of parameters say how many results may be asked for; a default is no more than that."""
    most = settings.search.max_top_k
    for about in (properties[name] for name in _COUNTS if name in properties):
        about["maximum"] = most
        if isinstance(about.get("default"), int | float):
            about["default"] = min(about["default"], most)


def most_items(number: int) -> Any:
    """Return what has the schema of a list say how many it may hold."""
    return lambda schema: schema.update(maxItems=number)


def usual_top_k(settings: Settings) -> int:
    """Return how many results are given where the caller does not say."""
    search = settings.search
    return min(search.top_k if "top_k" in search.model_fields_set else TOP_K, search.max_top_k)
