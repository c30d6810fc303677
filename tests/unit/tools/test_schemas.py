"""What clients are told of tools, prompts and resources changes only on purpose."""

from __future__ import annotations

import json

import pytest
from jsonschema import Draft202012Validator
from schemas_snapshot import FILE, schemas

from pinakes.tools import TOOLS, declare
from pinakes.tools.declare import Tool, listing

SAVED = json.loads(FILE.read_text("utf-8"))


@pytest.mark.parametrize("part", ["default_toolsets", "prompts", "resource_templates"])
def test_what_clients_are_told_is_as_it_was_saved(part: str) -> None:
    assert schemas()[part] == SAVED[part], "on purpose? python tests/unit/tools/schemas_snapshot.py"


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_the_schema_of_a_tool_is_as_it_was_saved(tool: Tool) -> None:
    assert schemas()["tools"][tool.name] == SAVED["tools"].get(tool.name), (
        "on purpose? python tests/unit/tools/schemas_snapshot.py"
    )


def test_no_tool_is_gone() -> None:
    assert set(SAVED["tools"]) == {tool.name for tool in TOOLS}


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_every_schema_is_one(tool: Tool) -> None:
    Draft202012Validator.check_schema(tool.schema())
    Draft202012Validator.check_schema(tool.output_schema() or {})


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_whoever_gets_a_schema_may_change_it(tool: Tool) -> None:
    for schema in (tool.schema, tool.output_schema):
        before, spoilt = schema(), schema()
        if spoilt:
            spoilt["properties"].clear()
            spoilt["required"] = ["spoilt"]
        assert schema() == before


def test_schemas_are_made_once() -> None:
    for tool in TOOLS:
        listing(tool)
    made = declare._schema_text.cache_info().misses
    for tool in TOOLS:
        listing(tool)
    assert declare._schema_text.cache_info().misses == made
