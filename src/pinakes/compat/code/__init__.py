"""Search over code, its documentation and configuration: the three tools of the toolset "code"."""

from __future__ import annotations

from pinakes.compat.code.tools import get_index_status, index_content, semantic_search

TOOLS = (semantic_search, index_content, get_index_status)
