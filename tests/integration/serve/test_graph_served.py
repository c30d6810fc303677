"""The graph over HTTP and as resources of MCP."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from access_support import GRAPH, OPEN
from serve_support import Running

from pinakes.api.http_app import create_app
from pinakes.core.errors import NotFound
from pinakes.library import Library
from pinakes.settings import load
from pinakes.tools import TOOLS, list_resources, read_resource
from pinakes.tools.resources import TEMPLATES

TEXT = "---\nauthors: [Ann]\n---\n# Treasure\n\nThe treasure of the captain.\n\nThe treasure lies in Lisbon.\n"
BOUNDS = ("minimum", "maximum", "minLength", "maxLength")
LONG = f"Port{'o' * 196}"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    folder = tmp_path_factory.mktemp("graph")
    docs: Path = folder / "docs"
    docs.mkdir()
    (docs / "map.md").write_text(TEXT)
    graph = {OPEN: {"graph": GRAPH}}
    options: dict[str, Any] = {"embedding__provider": "deterministic", "server__port": 0}
    options["toolsets"] = ("search", "graph")
    settings = load(home=folder / "home", environment={}, collections=graph, **options)
    with Library(settings) as opened:
        opened.add(str(docs), OPEN)
        yield opened


@pytest.fixture(scope="module")
def server(library: Library) -> Iterator[Running]:
    running = Running(create_app(library), library.settings)
    yield running
    running.stop()


def test_the_routes_of_the_graph_answer_in_the_envelope(server: Running) -> None:
    def got(path: str, **params: str | int) -> dict[str, object]:
        answer = server.client.get(f"/api/v1/graph{path}", params=params).json()
        assert answer["success"], answer
        data = answer["data"]
        assert isinstance(data, dict)
        return data

    assert got("")["types"] == {"PRODUCT": 1, "REGION": 1, "VENDOR": 1}
    found = json.dumps(got("/entity", name="treasure"))
    assert "The treasure lies in Lisbon" in found
    assert len(json.loads(json.dumps(got("/path", source="captain", target="Lisbon")))["paths"][0]) == 2
    assert '"wrote": 1' in json.dumps(got("/experts", name="captain"))
    assert '"link": "states"' in json.dumps(got("/impact", name="VENDOR:captain"))
    assert json.loads(json.dumps(got("/entity", name="treasure", as_of="1999-01-01")))["relations"] == []


def test_refusals_of_the_routes_are_told_in_the_envelope(server: Running) -> None:
    for path, params, status in (
        ("/entity", {"name": "nobody"}, 404),
        ("/entity", {}, 400),
        ("/entity", {"name": "captain", "collection": "nowhere"}, 404),
        ("/entity", {"name": "captain", "as_of": "soon"}, 422),
        ("/entity", {"name": "captain", "relation": "OFFERS"}, 400),
        ("", {"type": "VENDOR"}, 400),
        ("/export", {"format": "dot"}, 400),
    ):
        answer = server.client.get(f"/api/v1/graph{path}", params=params)
        assert (answer.status_code, answer.json()["success"]) == (status, False), answer.text
    [problem] = server.client.get("/api/v1/graph", params={"type": "VENDOR"}).json()["error"]["details"]
    assert problem["loc"] == ["query", "type"]
    assert problem["msg"] == "there is no such parameter; there are collection, entity_type, limit, cursor"


def test_a_tool_of_a_toolset_that_is_off_names_the_toolset(server: Running, library: Library) -> None:
    answer = server.client.post("/api/v1/tools/semantic_search", json={})
    assert answer.status_code == 404
    error = answer.json()["error"]
    assert (error["code"], error["message"]) == ("TOOL_NOT_FOUND", "Tool 'semantic_search' not found")
    assert error["details"]["hint"] == (
        "Its toolset is off. Add 'code' to the setting toolsets (config.toml in the server's home, or --toolsets where "
        "it is started) and restart the server."
    )
    assert "hint" not in server.client.post("/api/v1/tools/nothing", json={}).json()["error"]["details"]
    nameless = server.client.post("/api/v1/tools/find_vendor_info", json={}).json()
    assert "vendor_name" not in nameless["data"]["result"]
    told = server.client.post("/api/v1/tools/find_vendor_info", json={"vendor_name": "Nobody"}).json()
    assert told["error"].startswith("Vendor 'Nobody' not found. Try using semantic_search first")
    assert "semantic_search is a tool of the toolset 'code', which is off here; use search." in told["hint"]


def test_the_graph_is_served_as_a_file(server: Running, library: Library) -> None:
    answer = server.client.get("/api/v1/graph/export", params={"collection": OPEN})
    assert answer.headers["content-type"].startswith("application/graphml+xml")
    assert len(ElementTree.fromstring(answer.text).findall(".//{*}edge")) == 2
    answer = server.client.get("/api/v1/graph/export", params={"collection": OPEN, "format": "jsonld"})
    assert answer.headers["content-type"].startswith("application/ld+json")
    assert answer.json()["@context"]["schema"] == "https://schema.org/"
    assert [(one.tool, one.collection) for one in library.audit.entries(2)] == [("graph_export", OPEN)] * 2


def test_an_entity_is_a_resource_of_its_own(library: Library) -> None:
    assert "pinakes://entity/{collection}/{entity_type}/{name}" in [one["uriTemplate"] for one in TEMPLATES]
    uri = f"pinakes://entity/{OPEN.replace(' ', '%20')}/VENDOR/CAPTAIN"
    content = read_resource(library, uri)
    told = json.loads(content.text)
    assert content.meta["untrusted"] is True
    assert content.uri == uri.replace("CAPTAIN", "captain")
    assert [one["relation_type"] for one in told["relations"]] == ["OFFERS"]
    assert read_resource(library, told["mentioned_in"][0]).text
    assert told["mentioned_in"][0] in [one.uri for one in list_resources(library).resources]
    with pytest.raises(NotFound, match="no entity 'nobody'"):
        read_resource(library, uri.replace("CAPTAIN", "nobody"))


def test_a_resource_of_an_entity_is_cut_to_the_tokens_there_are(library: Library) -> None:
    content = read_resource(library, f"pinakes://entity/{OPEN.replace(' ', '%20')}/VENDOR/captain", 501)
    told = json.loads(content.text)
    assert (told["relations"], told["truncated"]) == ([], True)
    assert told["next"].startswith("related_entities(")


def test_what_a_cut_resource_names_answers_also_for_the_longest_name(tmp_path: Path) -> None:
    types: dict[str, Any] = {"VENDOR": {"names": {LONG: []}}, "TEAM": {"names": {"Sales": []}}}
    graph = {"types": types, "relations": [{"type": "USES", "patterns": ["{source} uses {targets}"]}]}
    collections = {"default": {"graph": graph}}
    settings = load(home=tmp_path, environment={}, embedding__provider="deterministic", collections=collections)
    with Library(settings) as opened:
        opened.documents.put(f"Sales uses {LONG}.", title="x", collection="default")
        told = json.loads(read_resource(opened, f"pinakes://entity/default/VENDOR/{LONG}", 501).text)
        given = {key: json.loads(value) for key, value in re.findall(r'(\w+)=("[^"]*"|\d+)', told["next"])}
        assert given["name"] == f"VENDOR:{LONG}"
        [tool] = [one for one in TOOLS if one.name == "related_entities"]
        assert tool(library=opened, **given)["total"] == 1


def test_the_next_page_of_a_tool_is_one_that_its_route_gives(server: Running) -> None:
    asked = {"name": "treasure", "limit": 1, "min_confidence": 0.1, "relation_types": ["lies_in", "offers"]}
    told = server.client.post("/api/v1/tools/related_entities", json=asked).json()["data"]["result"]
    way, _, address = told["next"].partition(" ")
    assert (way, "min_confidence=0.1" in address) == ("GET", True)
    answer = server.client.get(address).json()
    assert len(answer["data"]["relations"]) == 1
    assert "next" not in answer["data"]


def test_the_routes_take_what_the_tools_take(server: Running) -> None:
    paths = server.client.get("/openapi.json").json()["paths"]
    for route, name in (
        ("", "graph_overview"),
        ("/entity", "related_entities"),
        ("/path", "entity_path"),
        ("/experts", "find_experts"),
        ("/impact", "impact_of"),
    ):
        [tool] = [one for one in TOOLS if one.name == name]
        asked: Any = tool.schema()["properties"]
        given = {one["name"]: one["schema"] for one in paths[f"/api/v1/graph{route}"]["get"]["parameters"]}
        assert set(given) == set(asked)
        for key in ("name", "limit", "cursor", "min_confidence"):
            bounds = [{kind: one[key].get(kind) for kind in BOUNDS} for one in (given, asked) if key in one]
            assert bounds[:1] == bounds[1:], (name, key)


def test_the_graph_has_more_time_than_a_search_with_a_short_limit(library: Library) -> None:
    server = library.settings.server.model_copy(update={"search_timeout_s": 0.001})
    settings = library.settings.model_copy(update={"server": server, "toolsets": ("search", "graph")})
    with Library(settings) as opened:
        running = Running(create_app(opened), settings)
        try:
            answer = running.client.get("/api/v1/graph/entity", params={"name": "treasure"})
            assert (answer.status_code, answer.json()["data"]["total"]) == (200, 2)
            told = running.client.post("/api/v1/tools/find_entity", json={"name": "treasure"}).json()
            assert told["data"]["result"]["total"] == 1
            late = running.client.post("/api/v1/tools/search", json={"query": "treasure of the captain"}).json()
            assert "took longer than 0.001 seconds" in json.dumps(late)
        finally:
            running.stop()
