"""A knowledge graph as users of the public API have it: names, merges, one and two hops, views, and little to go on."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pinakes import Library

TYPES: dict[str, Any] = {
    "VENDOR": {"merge": True, "names": {"Acme": ["Acme Corporation"], "Globex": []}},
    "PRODUCT": {"names": {"Skates": []}},
    "TEAM_MEMBER": {"names": {"Wile Coyote": []}},
    "REGION": {"names": {"Arizona": []}},
}
RELATIONS = [
    {"type": "OFFERS", "source": ["VENDOR"], "target": ["PRODUCT"], "patterns": ["{source} sells {targets}"]},
    {"type": "WORKS_WITH", "source": ["VENDOR"], "patterns": ["{source} works with {targets}"]},
    {"type": "LOCATED_IN", "source": ["VENDOR"], "target": ["REGION"], "patterns": ["{source} is based in {target}"]},
]
PAGES = {
    "acme.md": "# Acme\n\nAcme Corporation sells Skates. ACME works with Wile Coyote.\n",
    "places.md": "# Places\n\nAcme is based in Arizona. Globex is based in Arizona.\n",
}


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    for name, text in PAGES.items():
        (folder / name).write_text(text)
    return folder


def opened(tmp_path: Path, graph: dict[str, Any], **settings: Any) -> Library:
    place = {"home": tmp_path / "home", "cache": str(tmp_path / "cache"), "embedding__provider": "deterministic"}
    return Library.open(**place, collections={"default": {"graph": graph}}, **settings)


@pytest.fixture
def library(tmp_path: Path, docs: Path) -> Iterator[Library]:
    with opened(tmp_path, {"types": TYPES, "relations": RELATIONS}) as library:
        library.add(str(docs))
        yield library


def test_names_are_recognised_and_the_spellings_of_one_are_one_entity(library: Library) -> None:
    acme = library.graph.one("acme corporation")
    assert (acme.name, acme.type, acme.documents, acme.mentions) == ("Acme", "VENDOR", 2, 4)
    assert library.graph.counts() == {"VENDOR": 2, "PRODUCT": 1, "REGION": 1, "TEAM_MEMBER": 1}


def test_vendors_have_products_and_contacts_and_regions_have_vendors(library: Library) -> None:
    graph = library.graph
    assert [one.target.name for one in graph.relations(graph.one("Acme"), types=["OFFERS"]).relations] == ["Skates"]
    assert [one.target.name for one in graph.relations(graph.one("Acme"), types=["WORKS_WITH"]).relations] == [
        "Wile Coyote"
    ]
    of_region = graph.relations(graph.one("Arizona"), types=["LOCATED_IN"], direction="in").relations
    assert {one.source.name for one in of_region} == {"Acme", "Globex"}


def test_two_hops_lead_from_a_vendor_to_one_of_the_same_region(library: Library) -> None:
    graph = library.graph
    [path] = graph.paths(graph.one("Acme"), graph.one("Globex"), most_hops=2).paths
    assert [one.type for one in path] == ["LOCATED_IN", "LOCATED_IN"]
    assert graph.paths(graph.one("Acme"), graph.one("Globex"), most_hops=1).paths == []


def test_every_relation_is_seen_from_both_of_its_ends(library: Library) -> None:
    graph = library.graph
    seen: dict[tuple[str, str, str], set[str]] = {}
    for one in graph.top(limit=100):
        for relation in graph.relations(one).relations:
            seen.setdefault((relation.source.name, relation.type, relation.target.name), set()).add(one.name)
    assert len(seen) == 4
    assert all(ends == {source, target} for (source, _, target), ends in seen.items())


def test_the_views_are_unique_by_name_and_type_and_indexed_both_ways(library: Library, tmp_path: Path) -> None:
    library.graph.update("default")
    connection = sqlite3.connect(tmp_path / "home" / "catalog.db")
    try:
        query = "SELECT lower(entity_name), entity_type, count(*) FROM knowledge_entities GROUP BY 1, 2"
        assert {row[2] for row in connection.execute(query)} == {1}
        with pytest.raises(sqlite3.IntegrityError):
            connection.execute(
                "INSERT INTO entities (collection_id, type, name, folded) "
                "SELECT collection_id, type, upper(name), folded FROM entities LIMIT 1"
            )
        for end in ("source_id", "target_id"):
            plan = f"EXPLAIN QUERY PLAN SELECT * FROM entity_relations WHERE {end} = 1 AND type = 'OFFERS'"
            assert "USING INDEX" in str(connection.execute(plan).fetchall())
        rows = connection.execute("SELECT source, relation_type, target, source_chunk_id FROM entity_relationships")
        assert all(row[3] is not None for row in rows.fetchall())
    finally:
        connection.close()


def test_a_search_answers_without_a_reranker(library: Library) -> None:
    assert not library.settings.rerank.enabled
    assert library.search("who sells Skates").hits[0].path == "acme.md"


def test_metadata_alone_makes_a_graph_where_names_are_hard_to_recognise(tmp_path: Path, docs: Path) -> None:
    (docs / "page.md").write_text("---\npage: Page\nvendor: [Acme, Hooli]\n---\nNothing is said of it.\n")
    graph = {
        "types": {"VENDOR": {}, "PAGE": {}},
        "candidates": False,
        "documents": [{"type": "PAGE", "name": "{page}"}],
        "metadata": [{"field": "vendor", "type": "VENDOR", "relation": "USES"}],
    }
    with opened(tmp_path, graph) as library:
        library.add(str(docs))
        found = library.graph.relations(library.graph.one("Page"), evidence=1).relations
        assert {one.target.name for one in found} == {"Acme", "Hooli"}
        assert {one.evidence[0].extractor for one in found} == {"metadata:vendor"}


def test_a_changed_document_changes_its_own_part_of_the_graph_only(library: Library, docs: Path) -> None:
    before = {one.name: one.id for one in library.graph.top(limit=100)}
    (docs / "acme.md").write_text("# Acme\n\nAcme sells nothing.\n")
    [report] = library.sync()
    assert (report.changed, report.unchanged) == (1, 1)
    after = {one.name: one.id for one in library.graph.top(limit=100)}
    assert after == {name: before[name] for name in ("Acme", "Globex", "Arizona")}
    assert library.graph.relations(library.graph.one("Arizona")).relations


def test_a_search_follows_one_relation_where_two_would_take_too_long(library: Library) -> None:
    near = {hit.path for hit in library.search("Skates", top_k=1, expand=1).hits}
    far = library.search("Skates", top_k=1, expand=2).hits
    assert all(len(hit.relationship_path) <= 2 for hit in far)
    assert near <= {hit.path for hit in far}
