"""What a client hears first, and how quickly."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pinakes.api.greeting import instructions, version_of
from pinakes.core.caller import Caller, calling
from pinakes.library import Library
from pinakes.settings import load
from pinakes.tools import TOOLS, tools_of

LIGHT = """
import json, sys
import pinakes.api.stdio, pinakes.api.greeting, pinakes.api
print(json.dumps(sorted(name.partition(".")[0] for name in sys.modules)))
"""
HEAVY = {"fastapi", "fastmcp", "faiss", "httpx", "mcp", "numpy", "onnx", "onnxruntime", "sqlalchemy", "starlette",
         "tantivy", "tokenizers", "tree_sitter", "kreuzberg", "uvicorn"}  # fmt: skip


def test_the_greeting_loads_nothing_heavy() -> None:
    run = subprocess.run([sys.executable, "-c", LIGHT], capture_output=True, check=True, text=True)
    assert not HEAVY & set(json.loads(run.stdout))


def test_the_instructions_name_the_collections_there_are(tmp_path: Path) -> None:
    settings = load(home=tmp_path / "home", environment={}, embedding__provider="deterministic")
    assert "Collections" not in instructions(settings)
    (tmp_path / "a.md").write_text("# A\n\nSome text.\n")
    with Library(settings) as library:
        library.add(str(tmp_path / "a.md"), "papers")
        assert "- papers" in instructions(settings)
    assert "Search first with search_summaries," in instructions(settings)
    assert "expand only what matters" in instructions(settings)


@pytest.mark.parametrize(
    ("toolsets", "first"),
    [
        (["search"], " Search first with search,"),
        (["code", "history"], " Search first with semantic_search,"),
        (["knowledge"], " Search first with manageKnowledge,"),
        (["history"], ""),
        ([], ""),
    ],
)
def test_a_client_is_told_to_begin_with_a_tool_that_it_sees(tmp_path: Path, toolsets: list[str], first: str) -> None:
    told = instructions(load(home=tmp_path, environment={}, toolsets=toolsets))
    assert told.startswith(f"Answers come from indexed documents.{first}")
    assert ("Search first" in told, "expand" in told) == (bool(first), False)


def test_of_many_collections_the_rest_is_listed_by_a_tool(tmp_path: Path) -> None:
    many = {"collections": {f"papers{number}": {} for number in range(25)}}
    assert "- and 5 more; `list_collections` lists them" in instructions(load(home=tmp_path, environment={}, **many))
    listed = instructions(load(home=tmp_path, environment={}, toolsets=["search"], **many))
    assert "- and 5 more; `status` lists them" in listed
    assert instructions(load(home=tmp_path, environment={}, toolsets=[], **many)).endswith("- and 5 more")


def test_a_profile_names_its_collection_tool_and_version(tmp_path: Path) -> None:
    settings = load(home=tmp_path, environment={}, profile="kep")
    assert "- keps: Kubernetes Enhancement Proposals" in instructions(settings)
    assert "Search first with search_keps," in instructions(settings)
    assert version_of(settings) == "1.0.0"


def test_a_damaged_catalogue_does_not_keep_a_client_from_being_greeted(tmp_path: Path) -> None:
    (tmp_path / "catalog.db").write_bytes(b"not a database at all, but long enough to be read as one" * 50)
    assert "data" in instructions(load(home=tmp_path, environment={}))


def test_only_tools_that_are_offered_are_named(tmp_path: Path) -> None:
    def told(**settings: object) -> str:
        return instructions(load(home=tmp_path, environment={}, **settings))  # type: ignore[arg-type]

    assert "ingest_document" in told()
    assert "explain_retrieval" in told()
    for settings in ({"server__read_only": True}, {"toolsets": ["retrieve", "observe"]}):
        assert "ingest_document" not in told(**settings)
    with calling(Caller("guest", scope="read")):
        assert "ingest_document" not in told()
    assert "explain_retrieval" not in told(toolsets=["retrieve", "manage"])
    for toolsets in (["retrieve"], ["manage"], ["observe"], ["search"], ["code", "observe"], ["knowledge", "history"]):
        settings = load(home=tmp_path, environment={}, toolsets=toolsets)
        named = {
            tool.name for tool in TOOLS if re.search(rf"\b{tool.name}\b", instructions(settings)) and "_" in tool.name
        }
        assert named <= {tool.name for tool in tools_of(settings)}
