"""A graph as GraphML and JSON-LD, read back by other parsers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from pinakes.core.errors import InvalidInput
from pinakes.library import Library

GRAPH = {
    "types": {
        "VENDOR": {"names": {"Acme & <Söhne>": ["Acme"], "Globex": [], "O\"Reilly's": []}},
        "REGION": {"names": {"Arizona": []}},
    },
    "relations": [
        {
            "type": "LOCATED_IN",
            "source": ["VENDOR"],
            "target": ["REGION"],
            "patterns": ["{source} is based in {target}"],
        },
        {
            "type": "WORKS_WITH",
            "source": ["VENDOR"],
            "target": ["VENDOR"],
            "patterns": ["{source} works with {targets}"],
        },
    ],
}
PAGES = {
    "a & b.md": "# Acme\n\nAcme is based in Arizona.\n\nAcme works with Globex\x0c and <more>.\n",
    "b.md": "# More\n\nAcme is based in Arizona, too. O\"Reilly's works with Globex.\n",
}
NS = {"g": "http://graphml.graphdrawing.org/xmlns"}


@pytest.fixture
def vendors(read_pages: Callable[..., Library]) -> Library:
    return read_pages(PAGES, collections={"default": {"graph": GRAPH}})


def stated(library: Library) -> set[tuple[str, str, str, float, int]]:
    graph = library.graph
    return {
        (one.source.name, one.type, one.target.name, round(one.confidence, 4), one.statements)
        for entity in graph.top(limit=500)
        for one in graph.relations(entity).relations
    }


def read_graphml(text: str) -> tuple[dict[str, dict[str, Any]], list[dict[str, Any]]]:
    root = ElementTree.fromstring(text)
    keys = {one.attrib["id"]: one.attrib for one in root.findall("g:key", NS)}
    kinds = {"string": str, "double": float, "int": int}

    def data(element: ElementTree.Element) -> dict[str, Any]:
        found = {}
        for one in element.findall("g:data", NS):
            key = keys[one.attrib["key"]]
            assert key["for"] in element.tag
            found[key["attr.name"]] = kinds[key["attr.type"]](one.text or "")
        return found

    nodes = {one.attrib["id"]: data(one) for one in root.iterfind(".//g:node", NS)}
    edges = [one.attrib | data(one) for one in root.iterfind(".//g:edge", NS)]
    return nodes, edges


def test_graphml_is_read_back_as_the_same_graph(vendors: Library) -> None:
    nodes, edges = read_graphml("".join(vendors.graph.export("default", "graphml")))
    assert {one["name"] for one in nodes.values()} == {one.name for one in vendors.graph.top(limit=500)}
    names = {key: one["name"] for key, one in nodes.items()}
    found = {
        (names[one["source"]], one["relation"], names[one["target"]], one["confidence"], one["statements"])
        for one in edges
    }
    assert found == stated(vendors)
    [acme] = [one for one in nodes.values() if one["name"] == "Acme & <Söhne>"]
    assert acme["aliases"] == "Acme"
    assert acme["documents"] == 2


def test_an_owner_that_no_text_names_is_in_the_file(docs: Path, open_library: Callable[..., Library]) -> None:
    uses = {"type": "USES", "target": ["VENDOR"], "patterns": ["{owner} use {targets}"]}
    graph = GRAPH | {"owner": "VENDOR:Us Ltd", "relations": [uses]}
    library = open_library(collections={"default": {"graph": graph}})
    library.documents.put("We use Globex.", title="Note", collection="default")
    nodes, edges = read_graphml("".join(library.graph.export("default")))
    assert {nodes[one["source"]]["name"] for one in edges} == {"Us Ltd"}


def test_relations_of_graphml_have_the_place_that_states_them(vendors: Library) -> None:
    _, edges = read_graphml("".join(vendors.graph.export("default", "graphml")))
    [one] = [one for one in edges if one["relation"] == "WORKS_WITH" and "Acme" in one["words"]]
    assert one["path"] == "a & b.md"
    [place] = vendors.graph.relations(vendors.graph.one("Acme"), types=["WORKS_WITH"], evidence=1).relations[0].evidence
    assert (one["document"], one["chunk"]) == (place.uid, str(place.chunk_id))
    assert one["words"] == place.text.replace("\x0c", "\ufffd")


def test_json_ld_is_read_back_as_the_same_graph(vendors: Library) -> None:
    held = json.loads("".join(vendors.graph.export("default", "jsonld")))
    assert held["@context"]["schema"] == "https://schema.org/"
    entities = {one["@id"]: one for one in held["@graph"] if "name" in one}
    said = [one for one in held["@graph"] if one.get("@type") == "rdf:Statement"]
    found = {
        (
            entities[one["subject"]]["name"],
            one["predicate"].removeprefix("relation:"),
            entities[one["object"]]["name"],
            one["confidence"],
            one["statements"],
        )
        for one in said
    }
    assert found == stated(vendors)
    triples = {
        (one["@id"], key, value["@id"])
        for one in held["@graph"]
        for key, value in one.items()
        if key[:9] == "relation:"
    }
    assert triples == {(one["subject"], one["predicate"], one["object"]) for one in said}
    [arizona] = [one for one in entities.values() if one["name"] == "Arizona"]
    assert arizona["@type"] == ["schema:Place", "type:REGION"]
    words = {one["evidence"]["words"] for one in said}
    assert "Acme is based in Arizona." in words
    assert all(key.partition(":")[0] in held["@context"] for one in held["@graph"] for key in one if key[0] != "@")


def test_what_has_no_graph_or_format_is_refused(vendors: Library, tmp_path: Path) -> None:
    vendors.collecting.create("plain")
    with pytest.raises(InvalidInput, match="has no graph"):
        vendors.graph.export("plain")
    with pytest.raises(InvalidInput, match="no graph format 'dot'"):
        vendors.graph.export("default", "dot")  # type: ignore[arg-type]
