"""Entities that tie documents together in a search: as a retriever, as boosts, and from the hits that it found."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pinakes.core.errors import InvalidSetting
from pinakes.core.graph_paths import Expansion
from pinakes.core.records import Hit, Results
from pinakes.library import Library
from pinakes.testing import write_files

OpenLibrary = Callable[..., Library]
RELATIONS = [("OFFERS", "VENDOR", "PRODUCT", "{source} sells {targets}")]
GRAPH: dict[str, Any] = {
    "types": {
        "VENDOR": {"merge": True, "names": {"Acme": ["Acme Corporation"], "Globexa": []}},
        "PRODUCT": {"names": {"Rocket Skates": []}},
        "TEAM_MEMBER": {"names": {"Wile Coyote": []}},
    },
    "candidates": False,
    "relations": [
        {"type": kind, "source": [source], "target": [target], "patterns": [pattern]}
        for kind, source, target, pattern in RELATIONS
    ],
}
PAGES = {
    "wages.md": "# Wages\n\nThe tool for wages is looked after by Wile Coyote, who answers questions.\n",
    "people.md": "# Staff\n\nWile Coyote reports to the head of finance.\n",
    "skates.md": "# Wheels\n\nRocket Skates need fuel and a helmet.\n",
    "catalogue.md": "# Catalogue\n\nAcme Corporation sells Rocket Skates.\n",
    **{f"page{n}.md": f"# Page {n}\n\nThe canteen number {n} opens at noon with soup of day {n}.\n" for n in range(20)},
}


def opened(open_library: OpenLibrary, docs: Path, pages: dict[str, str] | None = None, **graph: Any) -> Library:
    library = open_library(collections={"default": {"graph": {**GRAPH, **graph}}})
    library.add(str(write_files(docs, pages or PAGES)))
    return library


def by_path(results: Results) -> dict[str, Hit]:
    return {hit.path: hit for hit in results.hits}


def added(results: Results) -> dict[str, list[str]]:
    return {
        hit.path: [f"{one.source} {one.relation} {one.target}" for one in hit.relationship_path]
        for hit in results.hits
        if hit.relationship_path
    }


STAFF = {f"people{n}.md": f"# Staff {n}\n\nWile Coyote sits in room {n} of house {n * 7}.\n" for n in range(6)}
"""Several, since vectors of the tests mean nothing: half of them point away from the question."""


def graph_parts(results: Results, prefix: str) -> list[float]:
    """Return what the graph adds to the hits whose paths begin so."""
    return [
        hit.score_parts["graph"] for hit in results.hits if hit.path.startswith(prefix) and "graph" in hit.score_parts
    ]


def test_with_a_weight_the_graph_raises_what_shares_an_entity_with_the_best_chunk(
    open_library: OpenLibrary, docs: Path
) -> None:
    question = "who looks after the tool for wages"
    plain = opened(open_library, docs, {**PAGES, **STAFF}).search(question, top_k=30)
    library = opened(open_library, docs, {**PAGES, **STAFF}, weight=0.8)
    raised = library.search(question, top_k=30)
    assert not graph_parts(plain, "")
    assert graph_parts(raised, "people")
    assert min(graph_parts(raised, "")) > 0
    assert not graph_parts(raised, "page")
    for hit in raised.hits:
        assert sum(hit.score_parts.values()) == pytest.approx(hit.score, abs=1e-5)
    stages = {stage.name: stage.detail for stage in library.search(question + "?", top_k=5).trace.stages}
    assert stages["graph"]["chunks"]


def test_with_a_weight_the_graph_goes_one_relation_on_from_an_entity_of_the_question(
    open_library: OpenLibrary, docs: Path
) -> None:
    hits = by_path(opened(open_library, docs, weight=2).search("what does Acme need", top_k=24))
    assert hits["skates.md"].score_parts["graph"] > 0


def test_a_kept_answer_is_forgotten_when_names_are_decided_on(open_library: OpenLibrary, docs: Path) -> None:
    bills = {f"bills{n}.md": f"# Bills {n}\n\nGlobexa sends bill {n} on day {n * 3}.\n" for n in range(6)}
    library = opened(open_library, docs, {**PAGES, **bills}, weight=0.8)
    assert max(graph_parts(library.search("what does Acme need", top_k=30), "bills"), default=0) < 0.001
    library.graph.decide("merge", library.graph.one("Acme"), "Globexa", "VENDOR")
    library.graph.update("default")
    assert max(graph_parts(library.search("what does Acme need", top_k=30), "bills")) > 0.01


BOOSTS = ({"when": "entity", "types": ["VENDOR"], "weight": 0.1}, {"when": "entity", "name": "topic", "weight": 0.08})


def test_a_chunk_that_names_an_entity_of_the_question_by_another_name_is_boosted(
    open_library: OpenLibrary, docs: Path
) -> None:
    library = open_library(collections={"default": {"graph": GRAPH, "boosts": BOOSTS}})
    library.add(str(write_files(docs, PAGES)))
    hits = by_path(library.search("ACME's wheels and Wile Coyote", top_k=24))
    assert hits["catalogue.md"].boosts == pytest.approx({"entity": 0.1, "topic": 0.08})
    assert hits["people.md"].boosts == pytest.approx({"topic": 0.08})
    assert not hits["skates.md"].boosts
    assert "boosted by entity +10.0%" in hits["catalogue.md"].explanation


def test_boosts_of_entities_count_towards_the_most_that_boosts_give(open_library: OpenLibrary, docs: Path) -> None:
    rules = [{"when": "entity", "weight": 0.4}, {"field": "vendor", "weight": 0.4}]
    library = open_library(collections={"default": {"graph": GRAPH, "boosts": rules}})
    library.add(str(write_files(docs, {"a.md": "---\nvendor: Acme\n---\nAcme sells Rocket Skates.\n"})))
    assert by_path(library.search("Acme"))["a.md"].boosts == pytest.approx({"entity": 0.24, "vendor": 0.24})


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ({"weight": 0.1}, "needs a field"),
        ({"when": "entity", "field": "vendor", "weight": 0.1}, "compares no field"),
        ({"field": "vendor", "types": ["VENDOR"], "weight": 0.1}, "has types"),
    ],
)
def test_a_boost_without_what_it_compares_is_refused(
    open_library: OpenLibrary, rule: dict[str, Any], words: str
) -> None:
    with pytest.raises(InvalidSetting, match=words):
        open_library(collections={"default": {"boosts": [rule]}})


def expanded(library: Library, query: str, expand: int | Expansion, **options: Any) -> Results:
    return library.search(query, mode="keyword", top_k=1, expand=expand, **options)


def test_a_search_goes_on_from_an_entity_of_a_hit_that_the_question_does_not_name(
    open_library: OpenLibrary, docs: Path
) -> None:
    library = opened(open_library, docs)
    answer = expanded(library, "tool for wages", 1)
    assert added(answer) == {"people.md": ["wages.md MENTIONS Wile Coyote"]}
    [step] = answer.hits[1].relationship_path
    assert (step.chunk_id, step.path, step.text) == (answer.hits[0].chunk_id, "wages.md", "Wile Coyote")
    assert answer.notes == ("1 hit more by entities of these hits",)
    assert answer.hits[0] == expanded(library, "tool for wages", 0).hits[0]


def test_with_two_hops_it_follows_the_relations_of_that_entity(open_library: OpenLibrary, docs: Path) -> None:
    pages = {**PAGES, "fuel.md": "# Fuel\n\nThe pump is paid for by Acme.\n"}
    library = opened(open_library, docs, pages)
    assert "skates.md" not in added(expanded(library, "pump paid", 1))
    found = added(expanded(library, "pump paid", 2))
    assert found["skates.md"] == ["fuel.md MENTIONS Acme", "Acme OFFERS Rocket Skates"]


def test_shared_entities_are_left_out_where_relations_or_a_direction_are_asked_for_or_by_a_setting(
    open_library: OpenLibrary, docs: Path
) -> None:
    library = opened(open_library, docs)
    assert not added(expanded(library, "tool for wages", Expansion(1, relations=("OFFERS",))))
    assert not added(expanded(library, "tool for wages", Expansion(1, direction="out")))
    assert not added(expanded(opened(open_library, docs, expand_shared=False), "tool for wages", 1))


def test_an_entity_that_nearly_all_documents_name_leads_nowhere(open_library: OpenLibrary, docs: Path) -> None:
    pages = {f"page{n}.md": f"# Page {n}\n\nAcme has a canteen {n}, soup{n}.\n" for n in range(12)}
    assert not added(expanded(opened(open_library, docs, pages), "soup3", 1))


def test_out_of_time_a_search_follows_one_relation_and_says_so(open_library: OpenLibrary, docs: Path) -> None:
    pages = {**PAGES, "helmets.md": "# Shops\n\nThe Wile Coyote page: Globexa sells Rocket Skates.\n"}
    slow = opened(open_library, docs, pages, expand_ms=1)
    answer = expanded(slow, "Acme", Expansion(2, hits=20))
    assert all(len(path) == 1 for path in added(answer).values())
    assert answer.notes[-1].startswith("only one relation was followed in default: the time for more was over")
    enough = expanded(opened(open_library, docs, pages, expand_ms=500), "Acme", Expansion(2, hits=20))
    assert not any("only one relation" in note for note in enough.notes)
    assert max(len(path) for path in added(enough).values()) == 2


def test_the_same_expansion_is_kept_until_documents_change(open_library: OpenLibrary, docs: Path) -> None:
    library = opened(open_library, docs)
    first, again = (expanded(library, "what Acme has", 1) for _ in range(2))
    assert [hit.chunk_id for hit in first.hits] == [hit.chunk_id for hit in again.hits]
    (docs / "contract.md").write_text("# Papers\n\nSigned in spring with Rocket Skates in mind.\n")
    library.add(str(docs))
    assert "contract.md" in {hit.path for hit in expanded(library, "what Acme has", 1).hits}
    (docs / "skates.md").unlink()
    library.add(str(docs))
    assert "skates.md" not in {hit.path for hit in expanded(library, "what Acme has", 1).hits}


def test_relations_of_metadata_alone_are_followed(open_library: OpenLibrary, docs: Path) -> None:
    graph = {
        "types": {"PROPOSAL": {}},
        "candidates": False,
        "documents": [{"type": "PROPOSAL", "name": "P-{number}"}],
        "metadata": [
            {"field": "replaces", "type": "PROPOSAL", "relation": "REPLACES", "pattern": ["(?P<name>P-[0-9]+)"]}
        ],
        "patterns": [{"type": "PROPOSAL", "pattern": ["(?P<name>P-[0-9]+)"]}],
    }
    pages = {
        "new.md": "---\nnumber: 2\nreplaces: P-1\n---\n# Pumps\n\nP-2 makes pumps quiet.\n",
        "old.md": "---\nnumber: 1\n---\n# Engines\n\nIn P-1 noise was no aim.\n",
        "lunch.md": "# Lunch\n\nThe canteen opens at noon.\n",
    }
    library = open_library(collections={"default": {"graph": graph}})
    library.add(str(write_files(docs, pages)))
    answer = expanded(library, "what did P-2 want", 1)
    assert added(answer)["old.md"] == ["P-2 REPLACES P-1"]


def test_of_several_collections_only_those_that_are_asked_add_hits(open_library: OpenLibrary, docs: Path) -> None:
    rules = {"graph": GRAPH}
    texts = {
        "one": {page: PAGES[page] for page in ("wages.md", "people.md")},
        "two": {
            "wages.md": "# Abroad\n\nA second tool computes wages in other countries; its keeper is Wile Coyote.\n",
            "people.md": "# Rooms\n\nBeside the window sits Wile Coyote.\n",
        },
    }
    library = open_library(collections={"one": rules, "two": rules})
    for name in ("one", "two"):
        folder = docs / name
        folder.mkdir()
        pages = {f"{name}-{page}": text for page, text in texts[name].items()}
        library.add(str(write_files(folder, pages | {f"{name}-{n}.md": f"soup {n}" for n in range(9)})), name)
    alone = expanded(library, "tool for wages", 1, collection="one")
    assert {hit.collection for hit in alone.hits} == {"one"}
    both = library.search("tool for wages", ["one", "two"], mode="keyword", top_k=2, expand=1)
    assert {hit.path for hit in both.hits if hit.relationship_path} == {"one-people.md", "two-people.md"}
