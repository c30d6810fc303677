"""Staged retrieval: search summaries, then expand. The seventeen tools of its contract, and its prompts."""

from __future__ import annotations

from pinakes.compat.staged.manage import (
    collection_stats,
    delete_document,
    get_document_metadata,
    ingest_batch,
    ingest_document,
    list_collections,
    update_document,
)
from pinakes.compat.staged.observe import explain_retrieval, retrieval_log
from pinakes.compat.staged.prompts import (
    PROMPTS,
    deep_analysis_prompt,
    evaluate_summaries_prompt,
    staged_rag_system_prompt,
)
from pinakes.compat.staged.tools import (
    find_similar,
    get_document_chunk,
    get_documents,
    hybrid_search,
    multi_query_search,
    search_summaries,
)
from pinakes.compat.staged.watching import kb_resync, kb_status

__all__ = [
    "PROMPTS",
    "TOOLS",
    "deep_analysis_prompt",
    "evaluate_summaries_prompt",
    "get_documents",
    "search_summaries",
    "staged_rag_system_prompt",
]

TOOLS = (
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
    explain_retrieval,
    retrieval_log,
    kb_status,
    kb_resync,
)
