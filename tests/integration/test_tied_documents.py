"""Searches that go on to documents that are tied to their hits: by links, by fields, by entities that both name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from pinakes.core.graph_paths import Expansion
from pinakes.core.records import Results
from pinakes.library import Library
from pinakes.testing import write_files

OpenLibrary = Callable[..., Library]
GRAPH: dict[str, Any] = {
    "types": {"TEAM_MEMBER": {"names": {"Wile Coyote": [], "Road Runner": []}}},
    "candidates": False,
    "links": True,
}
FILLER = "\n\n".join(f"In room {n} the canteen serves soup {n} and bread to all who sit there." for n in range(40))
PAGES = {
    "wages.md": "# Wages\n\nThe tool for wages is explained [here](payroll.md).\n",
    "payroll.md": "# Payroll\n\nOvertime is entered by Friday. See also [what brokers do](brokers.md).\n",
    "brokers.md": "# Brokers\n\nThey insure everybody.\n",
    "start.md": "# Start\n\nBegin with [the pay page](wages.md).\n",
    **{f"page{n}.md": f"# Page {n}\n\nThe canteen number {n} opens at noon with soup of day {n}.\n" for n in range(20)},
}


def opened(open_library: OpenLibrary, docs: Path, pages: dict[str, str], **graph: Any) -> Library:
    library = open_library(collections={"default": {"graph": {**GRAPH, **graph}}})
    library.add(str(write_files(docs, pages)))
    return library


def added(results: Results) -> dict[str, list[str]]:
    return {
        hit.path: [f"{one.source} {one.relation} {one.target}" for one in hit.relationship_path]
        for hit in results.hits
        if hit.relationship_path
    }


def expanded(library: Library, query: str, expand: int | Expansion, top_k: int = 1) -> Results:
    return library.search(query, mode="keyword", top_k=top_k, expand=expand)


def test_a_hit_leads_to_the_pages_that_it_links_to_and_that_link_to_it(open_library: OpenLibrary, docs: Path) -> None:
    answer = expanded(opened(open_library, docs, PAGES), "tool for wages", 1)
    assert added(answer) == {"payroll.md": ["wages LINKS_TO payroll"], "start.md": ["start LINKS_TO wages"]}
    steps = {step.source: (step.path, step.text) for hit in answer.hits for step in hit.relationship_path}
    assert steps == {"wages": ("wages.md", "here"), "start": ("start.md", "the pay page")}
    assert answer.notes == ("2 hits more by relations of these hits",)


def test_two_links_in_a_row_are_followed_where_two_steps_are_asked_for(open_library: OpenLibrary, docs: Path) -> None:
    found = added(expanded(opened(open_library, docs, PAGES), "tool for wages", 2))
    assert found["brokers.md"] == ["wages LINKS_TO payroll", "payroll LINKS_TO brokers"]


def test_what_replaced_a_proposal_is_added_to_the_hit_that_the_question_describes(
    open_library: OpenLibrary, docs: Path
) -> None:
    graph = {
        "types": {"PROPOSAL": {}},
        "documents": [{"type": "PROPOSAL", "name": "P-{number}"}],
        "metadata": [
            {"field": "replaces", "type": "PROPOSAL", "relation": "REPLACES", "pattern": ["(?P<name>P-[0-9]+)"]}
        ],
        "links": False,
    }
    pages = {
        "new.md": "---\nnumber: 2\nreplaces: P-1\n---\n# Pumps\n\nPumps become quiet.\n",
        "old.md": "---\nnumber: 1\n---\n# Engines\n\nNoise was no aim.\n",
        "lunch.md": "# Lunch\n\nThe canteen opens at noon.\n",
    }
    found = added(expanded(opened(open_library, docs, pages, **graph), "quiet pumps", 1))
    assert found == {"old.md": ["P-2 REPLACES P-1"]}


def test_of_a_tied_document_comes_the_chunk_that_answers_best_not_the_one_that_names_the_entity(
    open_library: OpenLibrary, docs: Path
) -> None:
    pages = {
        "wages.md": "# Wages\n\nThe tool for wages is looked after by Wile Coyote.\n",
        "people.md": f"# Staff\n\nWile Coyote runs it.\n\n{FILLER}\n\n# Holidays\n\nWages are paid early.\n",
        **{name: text for name, text in PAGES.items() if name.startswith("page")},
    }
    library = opened(open_library, docs, pages)
    hit = expanded(library, "tool for wages", 1).hits[1]
    assert (hit.path, added(expanded(library, "tool for wages", 1))["people.md"]) == (
        "people.md",
        ["wages.md MENTIONS Wile Coyote"],
    )
    assert "Wages are paid early" in hit.text
    assert "Wile Coyote" not in hit.text


def test_no_second_chunk_of_a_document_that_the_answer_has_is_added(open_library: OpenLibrary, docs: Path) -> None:
    pages = {
        "wages.md": f"# Wages\n\nA tool for wages: Wile Coyote.\n\n{FILLER}\n\n# Rooms\n\nWile Coyote is up.\n",
        "people.md": "# Staff\n\nWile Coyote reports to the board.\n",
        **{name: text for name, text in PAGES.items() if name.startswith("page")},
    }
    library = opened(open_library, docs, pages)
    assert set(added(expanded(library, "tool for wages", 1))) == {"people.md"}
    assert set(added(expanded(library, "Wile Coyote", Expansion(2, hits=20)))).isdisjoint({"wages.md"})


def test_the_hits_of_the_search_stay_and_added_ones_are_of_different_documents(
    open_library: OpenLibrary, docs: Path
) -> None:
    pages = PAGES | {f"link{n}.md": f"# Way {n}\n\n[Pay](wages.md) and soup {n}.\n\n{FILLER}\n" for n in range(9)}
    library = opened(open_library, docs, pages)
    plain = expanded(library, "tool for wages", 0, top_k=3)
    answer = expanded(library, "tool for wages", Expansion(1, hits=6), top_k=3)
    assert answer.hits[:3] == plain.hits
    paths = [hit.path for hit in answer.hits[3:]]
    assert len(set(paths)) == len(paths) == 6
    assert not set(paths) & {hit.path for hit in plain.hits}
    scores = [hit.score for hit in answer.hits]
    assert scores == sorted(scores, reverse=True)


def test_where_many_pages_link_to_a_hit_those_that_are_linked_least_come_before_hubs(
    open_library: OpenLibrary, docs: Path
) -> None:
    pages = PAGES | {
        "wages.md": "# Wages\n\nThe tool for wages: [contents](all.md), [forms](forms.md).\n",
        "all.md": "# All\n\nEverything.\n",
        "forms.md": "# Paper\n\nEverything.\n",
        **{f"link{n}.md": f"# Way {n}\n\n[All](all.md) and soup {n}.\n" for n in range(15)},
    }
    library = opened(open_library, docs, pages)
    found = list(added(expanded(library, "tool for wages", Expansion(1, hits=9))))
    assert found.index("forms.md") < found.index("all.md")
