"""The graph of a small handbook: asked, changed with its documents, corrected by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pinakes.core.errors import NotFound
from pinakes.library import Library
from pinakes.testing import write_files
from pinakes.tools import TOOLS

SETTINGS = {
    "collections": {
        "default": {
            "graph": {
                "owner": "TEAM:We Ltd",
                "types": {
                    "VENDOR": {
                        "merge": True,
                        "names": {"Acme": ["Acme Corporation"], "Globex": [], "Initech": []},
                    },
                    "PRODUCT": {"merge": True, "names": {"Rocket Skates": [], "Anvil 2": [], "Anvil 3": []}},
                    "TEAM_MEMBER": {"given_names": True, "names": {"Wile Coyote": []}},
                    "REGION": {"names": {"Arizona": ["AZ"], "Nevada": []}},
                    "TEAM": {},
                },
                "relations": [
                    {
                        "type": "OFFERS",
                        "source": ["VENDOR"],
                        "target": ["PRODUCT"],
                        "patterns": ["{source} sells {targets}"],
                    },
                    {
                        "type": "WORKS_WITH",
                        "source": ["VENDOR"],
                        "target": ["TEAM_MEMBER", "VENDOR"],
                        "patterns": ["{source} works with {targets}"],
                    },
                    {
                        "type": "LOCATED_IN",
                        "source": ["VENDOR"],
                        "target": ["REGION"],
                        "patterns": ["{source} is based in {target}"],
                    },
                ],
            }
        }
    }
}
PAGES = {
    "acme.md": "# Acme\n\nAcme Corporation sells Rocket Skates and Anvil 2. Acme works with Wile Coyote.\n",
    "places.md": "# Places\n\nAcme is based in AZ. Globex is based in Arizona. Initech is based in Nevada.\n",
    "globex.md": "# Globex\n\nGlobex works with Acme. Globex sells Anvil 3.\n",
}
Tools = {one.name: one for one in TOOLS}


@pytest.fixture
def handbook(read_pages: Callable[..., Library]) -> Library:
    """For tests that write."""
    return read_pages(PAGES, **SETTINGS)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """The same, for tests that ask only."""
    place = tmp_path_factory.mktemp("kept")
    given = {"embedding__provider": "deterministic", "cache": str(place / "cache")}
    with Library.open(place / "home", **given, **SETTINGS) as library:
        library.add(str(write_files(place / "docs", PAGES)))
        yield library


def related(library: Library, name: str, kind: str, direction: Any = "out") -> set[str]:
    entity = library.graph.one(name)
    found = library.graph.relations(entity, types=[kind], direction=direction).relations
    return {(one.target if direction == "out" else one.source).name for one in found}


def test_a_vendor_has_products_a_contact_and_a_place(kept: Library) -> None:
    assert related(kept, "acme corporation", "OFFERS") == {"Rocket Skates", "Anvil 2"}
    assert related(kept, "Acme", "WORKS_WITH") == {"Wile Coyote"}
    assert related(kept, "Arizona", "LOCATED_IN", "in") == {"Acme", "Globex"}


def test_relations_are_found_from_both_ends(kept: Library) -> None:
    graph = kept.graph
    for one in graph.relations(graph.one("Acme")).relations:
        for end in (one.source, one.target):
            back = {(each.source.id, each.type, each.target.id) for each in graph.relations(end).relations}
            assert (one.source.id, one.type, one.target.id) in back


def test_a_path_has_the_words_of_each_step(kept: Library) -> None:
    graph = kept.graph
    path = graph.paths(graph.one("Globex"), graph.one("Rocket Skates")).paths[0]
    assert [one.evidence[0].text for one in path] == [
        "Globex works with Acme.",
        "Acme Corporation sells Rocket Skates and Anvil 2.",
    ]


def test_a_changed_deleted_or_renamed_document_takes_its_relations_along(handbook: Library, docs: Path) -> None:
    (docs / "acme.md").write_text("# Acme\n\nAcme sells Anvil 2.\n")
    (docs / "globex.md").rename(docs / "renamed.md")
    (docs / "places.md").unlink()
    handbook.sync()
    assert related(handbook, "Acme", "OFFERS") == {"Anvil 2"}
    graph = handbook.graph
    path = graph.relations(graph.one("Globex"), types=["OFFERS"], evidence=1).relations[0].evidence[0].path
    assert path == "renamed.md"
    with pytest.raises(NotFound):
        graph.one("Nevada")


def test_names_with_other_digits_stay_apart(kept: Library) -> None:
    assert {one.name for one in kept.graph.top(types=["PRODUCT"])} == {"Rocket Skates", "Anvil 2", "Anvil 3"}


def test_what_people_decide_holds_when_documents_are_read_again(handbook: Library, docs: Path) -> None:
    graph = handbook.graph
    graph.decide("merge", graph.one("Globex"), "Initech")
    assert graph.one("Initech").name == "Globex"
    assert related(handbook, "Globex", "LOCATED_IN") == {"Arizona", "Nevada"}
    (docs / "places.md").write_text(PAGES["places.md"] + "\nMore.\n")
    handbook.sync()
    graph.update("default", again=True)
    assert graph.one("Initech").name == "Globex"
    graph.decide("split", graph.one("Globex"), "Initech")
    assert graph.one("Initech").name == "Initech"
    assert related(handbook, "Globex", "LOCATED_IN") == {"Arizona"}


def test_pushed_documents_are_in_the_graph_too(handbook: Library) -> None:
    handbook.documents.put("Initech sells Rocket Skates.", title="Note", collection="default")
    assert related(handbook, "Initech", "OFFERS") == {"Rocket Skates"}


def test_the_graph_can_be_built_anew(handbook: Library) -> None:
    graph = handbook.graph
    before = {(one.type, one.name, one.documents, one.mentions) for one in graph.top(limit=100)}
    assert graph.update("default", again=True)
    assert {(one.type, one.name, one.documents, one.mentions) for one in graph.top(limit=100)} == before
    assert not graph.update("default")


def test_the_views_have_the_promised_columns(kept: Library) -> None:
    kept.graph.update("default")
    with kept.app.catalog.read() as connection:
        found = connection.exec_driver_sql(
            "SELECT entity_name, entity_type, metadata FROM knowledge_entities WHERE entity_name = 'Acme'"
        ).one()
        assert found[:2] == ("Acme", "VENDOR")
        assert all(f'"{key}"' in str(found[2]) for key in ("aliases", "confidence", "context", "canonical"))
        rows = connection.exec_driver_sql(
            "SELECT source, target, relation_type, confidence, source_chunk_id FROM entity_relationships"
        ).all()
    assert ("Acme", "Wile Coyote", "WORKS_WITH") in {tuple(row[:3]) for row in rows}
    assert all(row[4] is not None for row in rows)


def vendor_info(library: Library, **arguments: Any) -> dict[str, Any]:
    return Tools["find_vendor_info"](library=library, **arguments)


@pytest.mark.parametrize("mode", ["ids_only", "metadata", "preview", "full"])
def test_vendor_info_has_the_contracted_form_in_each_mode(handbook: Library, mode: str) -> None:
    found = vendor_info(handbook, vendor_name="  aCME ", response_mode=mode)
    assert found.keys() >= {"vendor_name", "results", "pagination", "execution_time_ms"}
    results = found["results"]
    assert found["vendor_name"] == results["vendor_name"] == "Acme"
    if mode == "ids_only":
        assert results.keys() == {"vendor_name", "entity_ids", "relationship_ids"}
    elif mode == "metadata":
        assert results["statistics"]["relationship_count"] == 5
        assert results["statistics"]["entity_type_distribution"] == {
            "VENDOR": 2, "PRODUCT": 2, "TEAM_MEMBER": 1, "REGION": 1
        }  # fmt: skip
        assert results["last_updated"]
    else:
        assert results["entities"][0].keys() == {"entity_id", "name", "entity_type", "confidence", "snippet"}
        assert all(
            one.keys() >= {"source_id", "target_id", "relationship_type", "metadata"}
            for one in results["relationships"]
        )
        assert len(results["entities"]) <= (5 if mode == "preview" else 100)


def test_vendor_info_goes_on_where_a_cursor_says(kept: Library) -> None:
    seen: list[int] = []
    cursor = ""
    while True:
        found = vendor_info(kept, vendor_name="Acme", response_mode="ids_only", page_size=2, cursor=cursor)
        seen += found["results"]["entity_ids"]
        if not found["pagination"]["has_more"]:
            break
        cursor = found["pagination"]["next_cursor"]
    assert len(seen) == len(set(seen)) == 6


def test_vendor_info_tells_errors_in_the_contracted_words(kept: Library) -> None:
    assert vendor_info(kept, vendor_name="Nobody")["error"].startswith(
        "Vendor 'Nobody' not found. Try using semantic_search first"
    )
    assert vendor_info(kept, vendor_name=" ")["error"].startswith("Invalid request parameters: ")
    wrong = vendor_info(kept, vendor_name="Acme", cursor="x")
    assert wrong["error"].startswith("Invalid request parameters: ")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"response_mode": "everything"}, "response_mode"),
        ({"page_size": 0}, "page_size"),
        ({"page_size": 101}, "page_size"),
        ({"vendor_name": "x" * 201}, "1 to 200 characters"),
        ({"entity_type": "PLANET"}, "there is no 'PLANET'; there are PRODUCT, REGION"),
        ({"fields": ["colour"]}, "fields: there is no 'colour'; there are"),
        ({"fields": ["colour"], "response_mode": "ids_only"}, "fields: there is no 'colour'"),
    ],
)
def test_vendor_info_refuses_what_it_cannot_do(handbook: Library, arguments: dict[str, Any], words: str) -> None:
    error = vendor_info(handbook, **{"vendor_name": "Acme", **arguments})["error"]
    assert error.startswith("Invalid request parameters: ")
    assert words in error


def test_vendor_info_gives_the_fields_that_are_asked_for(kept: Library) -> None:
    found = vendor_info(kept, vendor_name="Acme", response_mode="full", fields=["name", "relationship_type"])
    assert {tuple(one) for one in found["results"]["entities"]} == {("name",)}
    assert {tuple(one) for one in found["results"]["relationships"]} == {("relationship_type",)}
    found = vendor_info(kept, vendor_name="Acme", fields=["statistics"])
    assert found["results"].keys() == {"vendor_name", "statistics"}
    found = vendor_info(kept, vendor_name="Acme", response_mode="full", include_relationships=False)
    assert found["results"]["relationships"] == []


def test_vendor_info_answers_for_any_type_in_any_case(kept: Library) -> None:
    assert vendor_info(kept, vendor_name="arizona", entity_type="region")["vendor_name"] == "Arizona"
    assert vendor_info(kept, vendor_name="Wile Coyote")["vendor_name"] == "Wile Coyote"


def test_vendor_info_lists_the_matches_of_an_ambiguous_name(open_library: Callable[..., Library]) -> None:
    rules = SETTINGS["collections"]["default"]
    library = open_library(collections={"east": rules, "west": rules})
    for name in ("east", "west"):
        library.documents.put("Acme works with Globex.", title="Note", collection=name)
    error = vendor_info(library, vendor_name="Acme")["error"]
    assert error.startswith("Ambiguous vendor name. Multiple matches found: [")
    assert "Acme (VENDOR, east)" in error
    assert vendor_info(library, vendor_name="Acme", collection="west")["vendor_name"] == "Acme"


def test_a_misspelt_name_finds_what_is_like_it(kept: Library) -> None:
    found = Tools["find_entity"](library=kept, name="Globx")
    assert found["entities"][0]["name"] == "Globex"
