"""``find_vendor_info`` and the other tools of the graph over MCP (stdio) and HTTP, with pages of the real handbook."""

from __future__ import annotations

import json
import os
import sys
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import mcp
import pytest
from anyio.from_thread import start_blocking_portal
from mcp.client.stdio import StdioServerParameters, stdio_client
from serve_support import Running

from pinakes.api.http_app import create_app
from pinakes.library import Library
from pinakes.settings import load

ROOT = Path(__file__).parents[3]
DATA = Path(os.environ.get("PINAKES_TEST_DATA") or ROOT.parent / "shared" / "data")
PART = ("handbook/content/departments/data-analytics/", "handbook/content/departments/sales/")
SERVER = """
import sys
from pinakes.api import serve_stdio
from pinakes.settings import load
serve_stdio(load(home=sys.argv[1], profile="handbook", embedding__provider="deterministic"))
"""
ENVELOPE = {"vendor_name", "results", "pagination", "execution_time_ms"}
ENTITY = {"entity_id", "name", "entity_type", "confidence", "snippet"}
RELATIONSHIP = {"source_id", "target_id", "relationship_type", "metadata"}
Ask = Callable[..., list[dict[str, Any]]]
"""Takes calls: the name of a tool and its arguments."""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    packed = DATA / "handbook" / "handbook.tar.gz"
    if not packed.is_file():
        pytest.skip(f"{packed} is not there; set PINAKES_TEST_DATA")
    folder = tmp_path_factory.mktemp("pages")
    with tarfile.open(packed) as archive:
        archive.extractall(folder, [one for one in archive if one.name.startswith(PART)], filter="data")
    made = tmp_path_factory.mktemp("home")
    with Library(load(home=made, environment={}, profile="handbook", embedding__provider="deterministic")) as library:
        library.add(str(folder / "handbook"))
    return made


@pytest.fixture(scope="module")
def ask(home: Path) -> Iterator[Ask]:
    """Return what calls tools of a server over stdio, by the client of the MCP SDK, and returns its answers."""
    server = StdioServerParameters(command=sys.executable, args=["-c", SERVER, str(home)])
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(stdio_client(server)) as (read, write),
        portal.wrap_async_context_manager(mcp.ClientSession(read, write)) as session,
    ):
        portal.call(session.initialize)

        def answer(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
            [content] = portal.call(session.call_tool, name, arguments).content
            found: dict[str, Any] = json.loads(content.text)  # type: ignore[union-attr]
            return found

        yield lambda *calls: [answer(*call) for call in calls]


@pytest.mark.long
def test_vendor_info_is_as_contracted_over_stdio(ask: Ask) -> None:
    modes = ("ids_only", "metadata", "preview", "full")
    ids, counts, preview, full = ask(
        *(("find_vendor_info", {"vendor_name": "  LOOKER ", "response_mode": mode}) for mode in modes)
    )
    assert {frozenset(one) for one in (ids, counts, preview, full)} == {frozenset(ENVELOPE)}
    assert {one["vendor_name"] for one in (ids, counts, preview, full)} == {"Looker"}
    assert ids["results"].keys() == {"vendor_name", "entity_ids", "relationship_ids"}
    assert counts["results"].keys() == {"vendor_name", "statistics", "top_entities", "last_updated"}
    assert counts["results"]["statistics"].keys() == {
        "entity_count",
        "relationship_count",
        "entity_type_distribution",
        "relationship_type_distribution",
    }
    for one, most in ((preview, 5), (full, 100)):
        results = one["results"]
        assert results.keys() == {"vendor_name", "entities", "relationships"}
        assert 0 < len(results["entities"]) <= most
        assert 0 < len(results["relationships"]) <= most * 5
        assert all(each.keys() == ENTITY for each in results["entities"])
        assert all(each.keys() == RELATIONSHIP for each in results["relationships"])
        assert all(0 <= each["confidence"] <= 1 and len(each["snippet"]) <= 200 for each in results["entities"])
    assert len(preview["results"]["relationships"]) <= 5
    shown = {each["metadata"]["relationship_id"] for each in full["results"]["relationships"]}
    assert shown == set(ids["results"]["relationship_ids"])
    assert all(isinstance(one["execution_time_ms"], float) for one in (ids, counts, preview, full))


@pytest.mark.long
def test_vendor_info_tells_of_failures_in_the_contracted_words_over_stdio(ask: Ask) -> None:
    given: tuple[dict[str, Any], ...] = (
        {"vendor_name": "Nobody Ltd"},
        {"vendor_name": " "},
        {"vendor_name": "x" * 201},
        {"vendor_name": "Looker", "response_mode": "all"},
        {"vendor_name": "Looker", "page_size": 0},
        {},
    )
    unknown, *invalid = (one["error"] for one in ask(*(("find_vendor_info", one) for one in given)))
    assert unknown.startswith("Vendor 'Nobody Ltd' not found. Try using semantic_search first")
    assert all(one.startswith("Invalid request parameters: ") for one in invalid)
    assert not any("Invalid arguments" in one for one in invalid)


@pytest.mark.long
def test_every_entity_and_relation_comes_page_by_page_over_stdio(ask: Ask) -> None:
    def pages(tool: str, listed: str, /, **given: Any) -> list[Any]:
        seen, cursor = [], ""
        while True:
            [page] = ask((tool, {**given, "cursor": cursor}))
            seen += page[listed]
            cursor = page.get("next_cursor", "")
            if not cursor:
                assert len(seen) == page["total"]
                return seen
            assert page["next"].startswith(f"{tool}(")

    relations = pages("related_entities", "relations", name="sourcegraph", limit=8)
    assert len({(one["source"], one["relation_type"], one["target"]) for one in relations}) == len(relations) > 8
    entities = pages("graph_overview", "entities", limit=50)
    assert len({one["entity_id"] for one in entities}) == len(entities) > 50


@pytest.mark.long
def test_hints_over_mcp_name_tools_and_no_commands(ask: Ask) -> None:
    told = ask(
        ("find_entity", {"name": "zzzzqqqq"}),
        ("related_entities", {"name": "zzzzqqqq"}),
        ("entity_path", {"source": "zzzzqqqq", "target": "Looker"}),
        ("graph_overview", {"entity_type": "planet"}),
        ("related_entities", {"name": "Looker", "relation_types": ["eats"]}),
    )
    assert "graph_overview(" in json.dumps(told[:3])
    assert "pinakes " not in json.dumps(told)


@pytest.fixture(scope="module")
def server(home: Path) -> Iterator[Running]:
    settings = load(home=home, environment={}, profile="handbook", embedding__provider="deterministic", server__port=0)
    with Library(settings) as library:
        running = Running(create_app(library), settings)
        yield running
        running.stop()


@pytest.mark.long
def test_the_routes_go_on_at_a_cursor_and_their_hints_name_routes(server: Running) -> None:
    def got(path: str, **params: Any) -> dict[str, Any]:
        answer: dict[str, Any] = server.client.get(path, params=params or None).json()
        return answer["data"] if answer["success"] else answer["error"]

    seen, page = [], got("/api/v1/graph/entity", name="looker", limit=2)
    while True:
        seen += page["relations"]
        if "next_cursor" not in page:
            break
        way, _, path = page["next"].partition(" ")
        assert way == "GET"
        page = got(path)
    assert len(seen) == page["total"]
    missing = got("/api/v1/graph/entity", name="zzzzqqqq")
    assert "GET /api/v1/graph" in json.dumps(missing)
    assert "pinakes " not in json.dumps(missing)
    steps = got("/api/v1/graph/path", source="looker", target="slack")["paths"][0]
    assert {one["direction"] for one in steps} <= {"in", "out"}
    assert "no type of entities" in json.dumps(got("/api/v1/graph", entity_type="planet"))
