"""Searches that go on by the relations of the knowledge graph."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pinakes.core.errors import InvalidInput
from pinakes.core.graph_paths import Expansion
from pinakes.core.records import Results
from pinakes.library import Library
from pinakes.schemas.hits import hit_data
from pinakes.services.graph_search import UNUSED

RELATIONS = [
    ("OFFERS", "VENDOR", "PRODUCT", "{source} sells {targets}"),
    ("WORKS_WITH", "VENDOR", "TEAM_MEMBER", "{source} works with {targets}"),
    ("LOCATED_IN", "VENDOR", "REGION", "{source} is based in {target}"),
]
GRAPH: dict[str, Any] = {
    "types": {
        "VENDOR": {"merge": True, "names": {"Acme": ["Acme Corporation"], "Globexa": [], "Initech": []}},
        "PRODUCT": {"merge": True, "names": {"Rocket Skates": [], "Anvil 2": [], "Anvil 3": []}},
        "TEAM_MEMBER": {"names": {"Wile Coyote": []}},
        "REGION": {"names": {"Arizona": ["AZ"], "Nevada": []}},
    },
    "candidates": False,
    "relations": [
        {"type": kind, "source": [source], "target": [target], "patterns": [pattern]}
        for kind, source, target, pattern in RELATIONS
    ],
}
PAGES = {
    "contracts.md": "# Contracts\n\nThe contract of Acme ends in spring; ask before it is prolonged.\n",
    "catalogue.md": "# Catalogue\n\nAcme Corporation sells Rocket Skates and Anvil 2.\n",
    "contacts.md": "# Contacts\n\nAcme works with Wile Coyote.\n",
    "skates.md": "# Wheels\n\nRocket Skates need fuel and a helmet.\n",
    "places.md": "# Places\n\nAcme is based in AZ.\n\n# More places\n\nGlobexa is based in Arizona.\n",
    "globexa.md": "# Bills\n\nGlobexa sends bills every month.\n",
    "lunch.md": "# Lunch\n\nThe canteen opens at noon, and the contract with the cook ends in spring.\n",
}


@pytest.fixture
def library(read_pages: Callable[..., Library]) -> Library:
    return read_pages(PAGES, collections={"default": {"graph": GRAPH}})


def added(results: Results) -> dict[str, list[str]]:
    """Return path → the relations that lead there, of the hits that the graph added."""
    return {
        hit.path: [f"{one.source} {one.relation} {one.target}" for one in hit.relationship_path]
        for hit in results.hits
        if hit.relationship_path
    }


def search(library: Library, query: str, expand: int | Expansion | None, **options: Any) -> Results:
    return library.search(query, mode="keyword", top_k=1, expand=expand, **options)


def test_from_a_vendor_a_search_goes_on_to_its_products_and_its_contact(library: Library) -> None:
    found = added(search(library, "contract of Acme ends spring", 1))
    assert found["catalogue.md"] in (["Acme OFFERS Rocket Skates"], ["Acme OFFERS Anvil 2"])
    assert found["contacts.md"] == ["Acme WORKS_WITH Wile Coyote"]
    assert found["skates.md"] == ["Acme OFFERS Rocket Skates"]


def test_from_a_region_a_search_goes_on_to_its_vendors_and_in_two_steps_to_their_products(library: Library) -> None:
    near = added(search(library, "Arizona based", 1))
    assert near["globexa.md"] == ["Globexa LOCATED_IN Arizona"]
    assert "skates.md" not in near
    far = added(search(library, "Arizona based", Expansion(2, hits=10)))
    assert far["skates.md"] == ["Acme LOCATED_IN Arizona", "Acme OFFERS Rocket Skates"]


def test_hits_of_the_graph_stand_behind_those_of_the_search_and_score_no_higher(library: Library) -> None:
    plain, more = (library.search("Acme contract", top_k=2, expand=hops) for hops in (0, 2))
    assert [hit.chunk_id for hit in more.hits[:2]] == [hit.chunk_id for hit in plain.hits]
    assert [hit.score for hit in more.hits[:2]] == [hit.score for hit in plain.hits]
    scores = [hit.score for hit in more.hits]
    assert scores == sorted(scores, reverse=True)
    assert len(more.hits) > 2
    assert all(hit.match == "graph" for hit in more.hits[2:])
    for hit in more.hits[2:]:
        assert sum(hit.score_parts.values()) == pytest.approx(hit.score, abs=1e-5)


def test_each_step_names_the_chunk_and_the_words_that_state_it(library: Library) -> None:
    hit = next(one for one in search(library, "contract of Acme", 1).hits if one.path == "skates.md")
    [step] = hit_data(hit)["relationship_path"]
    assert step["text"] == "Acme Corporation sells Rocket Skates and Anvil 2."
    assert step["path"] == "catalogue.md"
    stating = next(one for one in library.search("Rocket Skates Anvil", top_k=5).hits if one.path == "catalogue.md")
    assert step["chunk_id"] == stating.chunk_id


@pytest.mark.parametrize("name", ["acme corporation", "ACME's", "“Acme”", "Globexa", "Globexxa"])
def test_names_are_recognised_by_alias_in_any_case_and_slightly_misspelt(library: Library, name: str) -> None:
    assert added(search(library, f"bills of {name}", 1))


def test_nothing_is_added_without_a_name_without_hops_or_without_a_graph(library: Library, docs: Path) -> None:
    assert not added(search(library, "canteen lunch", 2))
    assert not added(search(library, "contract of Acme", None))
    library.add(str(docs), "other")
    assert not added(search(library, "contract of Acme", 2, collection="other"))


def test_filters_and_relation_types_hold_for_added_hits(library: Library) -> None:
    some = added(search(library, "contract of Acme", Expansion(1, relations=("WORKS_WITH",))))
    assert set(some) == {"contacts.md"}
    kept = added(search(library, "Acme", 1, filters={"path": {"glob": "c*.md"}}))
    assert kept
    assert set(kept) <= {"catalogue.md", "contacts.md", "contracts.md"}
    assert not added(search(library, "Arizona based", Expansion(1, direction="out")))


def test_what_is_out_of_range_or_unknown_is_refused_with_what_there_is(library: Library) -> None:
    with pytest.raises(InvalidInput, match="expand cannot be 3"):
        search(library, "Acme", 3)
    with pytest.raises(InvalidInput, match="There is no relation 'SELLS'"):
        search(library, "Acme", Expansion(1, relations=("SELLS",)))


def test_a_search_says_when_the_graph_adds_nothing_and_when_types_of_relations_are_of_no_use(library: Library) -> None:
    notes = search(library, "canteen lunch", Expansion(1, relations=("works_with",))).notes
    assert "no hit more by relations of type WORKS_WITH" in notes
    assert "no hit more by the graph" in search(library, "canteen lunch", 1).notes
    assert UNUSED in search(library, "contract of Acme", Expansion(relations=("WORKS_WITH",))).notes
    assert not search(library, "contract of Acme", None).notes
    assert library.search("zzzzz", mode="keyword", expand=Expansion(1, relations=("OFFERS",))).notes[-1] == (
        "no hit more by relations of type OFFERS"
    )
