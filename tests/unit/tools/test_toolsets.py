"""Which tools agents see: toolsets, what only reads, what it costs to be told of them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import get_args

import pytest

from pinakes.api.greeting import LISTS, SEARCHES
from pinakes.core.errors import InvalidSetting
from pinakes.library import Library
from pinakes.settings import Toolset, load
from pinakes.tools import TOOLS, tools_of
from pinakes.tools.declare import Tool

THE_17 = {
    *("search_summaries", "get_documents", "get_document_chunk", "hybrid_search", "multi_query_search"),
    *("find_similar", "ingest_document", "ingest_batch", "update_document", "delete_document"),
    *("get_document_metadata", "collection_stats", "list_collections", "explain_retrieval", "retrieval_log"),
    *("kb_status", "kb_resync"),
}
PLAIN = {"string", "integer", "number", "boolean", "object", "array"}


def names(home: Path, **settings: object) -> list[str]:
    return [tool.name for tool in tools_of(load(home=home, environment={}, **settings))]


def test_agents_see_seventeen_tools_unless_others_are_chosen(tmp_path: Path) -> None:
    assert set(names(tmp_path)) == THE_17
    assert len(names(tmp_path)) == 17


SEARCH = ["search", "read", "status", "metadata_report", "list_sources"]


def test_every_tool_has_a_name_of_its_own_and_a_toolset_that_can_be_chosen(tmp_path: Path) -> None:
    assert len({tool.name for tool in TOOLS}) == len(TOOLS)
    assert {tool.toolset for tool in TOOLS} == set(get_args(Toolset))
    assert names(tmp_path, toolsets=["search"]) == SEARCH
    assert names(tmp_path, toolsets=["code"]) == ["semantic_search", "index_content", "get_index_status"]
    assert names(tmp_path, toolsets=["history"]) == ["document_history", "restore_document"]


def test_a_profile_chooses_its_tools(tmp_path: Path) -> None:
    assert names(tmp_path, profile="kep") == ["search_keps"]
    assert names(tmp_path, profile="kep", toolsets=["search"]) == ["search_keps", *SEARCH]
    assert {"semantic_search", "index_content", "get_index_status", "read"} <= set(names(tmp_path, profile="kernel"))


def test_an_unknown_toolset_is_refused_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(InvalidSetting, match=r"'toolsets\.1' cannot be 'serach'.*'retrieve' or 'search'"):
        load(home=tmp_path, environment={}, toolsets=["code", "serach"])


def test_what_writes_is_not_offered_where_only_reading_is(tmp_path: Path) -> None:
    every = list(get_args(Toolset))
    offered = tools_of(load(home=tmp_path, environment={}, toolsets=every, server__read_only=True))
    assert {"get_document_metadata", "document_history", "semantic_search"} <= {tool.name for tool in offered}
    assert all(tool.reads_sometimes for tool in offered)
    left_out = {tool.name for tool in TOOLS} - {tool.name for tool in offered}
    writing = {"ingest_document", "ingest_batch", "update_document", "delete_document"}
    assert left_out == writing | {"restore_document", "index_content", "kb_resync"}


@pytest.mark.parametrize("tool", [tool for tool in TOOLS if not tool.read_only], ids=lambda tool: tool.name)
def test_a_call_that_writes_is_refused_where_only_reading_is_offered(tool: Tool, tmp_path: Path) -> None:
    settings = {"embedding__provider": "deterministic", "server__read_only": True}
    with Library.open(tmp_path, **settings) as library:
        outcome = tool.answer(library, {"operation": "ingest"} if tool.reads_when else {})
        assert outcome.error is not None
        assert outcome.error.code == "REFUSED"
        assert "only reading is offered" in outcome.text
        assert library.collections() == []


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_parameters_have_one_plain_type_each_and_a_description(tool: Tool) -> None:
    schema = tool.schema()
    assert not re.search(r'"(anyOf|oneOf|allOf|\$ref|\$defs|null)"', json.dumps(schema))
    assert schema["additionalProperties"] is False
    for parameter in schema["properties"].values():
        assert parameter["type"] in PLAIN
        assert parameter["description"]


def test_what_takes_away_says_so() -> None:
    by_name = {tool.name: tool for tool in TOOLS}
    assert by_name["delete_document"].destructive
    assert not by_name["ingest_document"].destructive
    assert not any(tool.destructive for tool in TOOLS if tool.read_only)


def test_clients_are_told_of_tools_that_there_are() -> None:
    toolsets = {tool.name: tool.toolset for tool in TOOLS}
    for told in (SEARCHES, LISTS):
        assert {name: toolsets[name] for name in told.values()} == {name: toolset for toolset, name in told.items()}
