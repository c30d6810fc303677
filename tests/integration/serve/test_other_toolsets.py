"""The tools that are offered on request: the same answers over both transports of MCP and over plain HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import AsyncExitStack
from typing import Any

import jsonschema
import pytest
from agents_support import Asked, Call, Place, steady
from serve_support import Running

from pinakes.api.http_app import create_app
from pinakes.library import Library
from pinakes.settings import load
from pinakes.tools import tools_of

TOOLSETS = ("search", "history", "code", "knowledge")
KEYS = "Every service signs with a key of its own.\n\nKeys are rotated every ninety days."
URI = "https://example.org/keys.md"


@pytest.fixture
def place(tmp_path: Any) -> Iterator[Place]:
    settings = load(
        home=tmp_path,
        environment={},
        embedding__provider="deterministic",
        mcp__structured_content=True,
        server__port=0,
        toolsets=TOOLSETS,
    )
    with Library(settings) as library:
        put = library.documents.put
        ids = {"keys": put("An older text.", title="Keys", uri="keys.md", kind="markdown").document.uid}
        put(KEYS, title="Keys", uri="keys.md", kind="markdown")
        running = Running(create_app(library), settings)
        yield Place(settings, running, ids)
        running.stop()


def calls(uid: str) -> list[Call]:
    """Return calls of every tool; together they leave everything as it was."""
    content = {"content_type": "code", "source_path": "src/keys.py", "content": "def rotate():\n    return 90\n"}
    knowledge: list[dict[str, Any]] = [
        {"operation": "ingest", "content": KEYS, "uri": URI, "sourceId": "guides"},
        {"operation": "search", "query": "rotated keys", "limit": 2, "uriFilter": URI},
        {"operation": "getChunk", "chunkId": "none-such"},
        {"operation": "deleteByUri", "uri": URI},
        {"operation": "deleteBySource", "sourceId": "guides"},
        {"operation": "ingest"},
        {"operation": "explode"},
    ]
    return [
        ("search", {"query": "rotated keys"}),
        ("search", {"query": "keys", "top_k": 0}),
        ("read", {"document": "keys.md", "start_line": 3}),
        ("read", {"document": "nothing.md"}),
        ("status", {}),
        ("status", {"collection": "nowhere"}),
        ("metadata_report", {"missing": 1}),
        ("metadata_report", {"collection": "nowhere"}),
        ("list_sources", {}),
        ("list_sources", {"collection": "nowhere"}),
        ("document_history", {"doc_id": uid}),
        ("document_history", {"doc_id": uid, "version": 1}),
        ("document_history", {"doc_id": "nothing"}),
        ("restore_document", {"doc_id": "nothing"}),
        ("restore_document", {"doc_id": uid, "version": 99}),
        ("index_content", {**content, "collection": "code"}),
        ("index_content", {**content, "content_type": "poem"}),
        ("semantic_search", {"query": "rotate", "collection": "code", "similarity_threshold": 0.0}),
        ("semantic_search", {"query": ""}),
        ("get_index_status", {"include_stats": True}),
        ("get_index_status", {"content_id": 987654}),
        *(("manageKnowledge", arguments) for arguments in knowledge),
        ("version", {}),
    ]


async def heard(client: Asked, tool: Any, arguments: dict[str, Any]) -> Any:
    """Return the data of an answer, which fits the schema of the tool if that promises one."""
    result = await client.call(tool.name, arguments)
    if tool.output_schema and not result.is_error:
        jsonschema.validate(result.structured_content, tool.output_schema)
    return steady(result.structured_content)


def test_every_tool_is_called(place: Place) -> None:
    assert {name for name, _ in calls("x")} == {tool.name for tool in tools_of(place.settings)}


def test_every_way_to_a_tool_leads_to_the_same_answer(place: Place) -> None:
    asked = calls(place.ids["keys"])
    for call in asked:  # from now on all that they make is there already
        place.over_http(*call)
    first = [place.over_http(*call) for call in asked]

    async def told(kit: str, transport: str) -> list[Any]:
        async with AsyncExitStack() as stack:
            client = await place.connected(kit, transport, stack)
            listed = await client.tools()
            return [await heard(client, listed[name], given) for name, given in asked]

    for kit, transport in (("sdk", "http"), ("fastmcp", "http"), ("sdk", "stdio"), ("fastmcp", "stdio")):
        for call, expected, answer in zip(asked, first, asyncio.run(told(kit, transport)), strict=True):
            assert answer == expected, f"{call}: {kit} over {transport} hears something else"
