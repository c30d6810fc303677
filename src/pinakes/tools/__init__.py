"""What agents can do: each tool is declared once, and every interface reads the declaration."""

from __future__ import annotations

from pinakes.settings import Settings
from pinakes.tools.ask import ask
from pinakes.tools.code import get_index_status, index_content, semantic_search
from pinakes.tools.declare import Answer, Outcome, Reply, Tool, tool
from pinakes.tools.describe import metadata_report
from pinakes.tools.history import document_history, restore_document
from pinakes.tools.knowledge import manage_knowledge, version
from pinakes.tools.manage import (
    collection_stats,
    delete_document,
    get_document_metadata,
    ingest_batch,
    ingest_document,
    list_collections,
    update_document,
)
from pinakes.tools.named import named_tool
from pinakes.tools.observe import explain_retrieval, retrieval_log
from pinakes.tools.prompts import (
    PROMPTS,
    deep_analysis_prompt,
    evaluate_summaries_prompt,
    prompts_of,
    staged_rag_system_prompt,
)
from pinakes.tools.resources import list_resources, read_resource
from pinakes.tools.retrieve import read, search, status
from pinakes.tools.sources import list_sources
from pinakes.tools.staged import (
    find_similar,
    get_document_chunk,
    get_documents,
    hybrid_search,
    multi_query_search,
    search_summaries,
)
from pinakes.tools.watching import kb_resync, kb_status

TOOLS: tuple[Tool, ...] = (
    search_summaries,
    get_documents,
    get_document_chunk,
    hybrid_search,
    multi_query_search,
    find_similar,
    ingest_document,
    ingest_batch,
    update_document,
    delete_document,
    get_document_metadata,
    collection_stats,
    list_collections,
    document_history,
    restore_document,
    explain_retrieval,
    retrieval_log,
    kb_status,
    kb_resync,
    search,
    read,
    status,
    metadata_report,
    list_sources,
    semantic_search,
    index_content,
    get_index_status,
    manage_knowledge,
    version,
    ask,
)

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
]


def tools_of(settings: Settings) -> tuple[Tool, ...]:
    """Return the tools that ``settings`` offer to agents: the named searches, then the toolsets.

    Those that only write are left out where nothing may be changed.
    """
    named = tuple(named_tool(declared) for declared in settings.tools)
    taken = {declared.name for declared in named}
    chosen = (declared for declared in TOOLS if declared.toolset in settings.toolsets and declared.name not in taken)
    return named + tuple(one for one in chosen if one.reads_sometimes or not settings.server.read_only)
