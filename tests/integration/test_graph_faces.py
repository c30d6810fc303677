"""What a new user of the graph meets: directions, words of metadata, pages, types in any case, and empty answers."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

from pinakes.catalog import schema
from pinakes.core.errors import InvalidInput, InvalidSetting, NotFound
from pinakes.library import Library
from pinakes.testing import write_files
from pinakes.tools import TOOLS

RULES: dict[str, Any] = {
    "owner": "TEAM:Us",
    "candidates": False,
    "types": {
        "VENDOR": {"names": {"Acme": [], "Globex": [], "Initech": [], "Hooli": [], "Umbrella": []}},
        "TEAM": {"names": {"Sales": []}, "suffixes": ["team"]},
        "PERSON": {"forms": ["@{name}"]},
        "PAGE": {"forms": ["PAGE-{name:int}"]},
        "CONFIG_OPTION": {},
    },
    "documents": [{"type": "PAGE", "name": "PAGE-{number:int}", "titles": ["{title}"]}],
    "metadata": [
        {"field": "approvers", "type": "PERSON", "relation": "APPROVED_BY"},
        {"field": "see-also", "type": "PAGE", "relation": "SEE_ALSO", "pattern": ["(?P<name>PAGE-\\d+)"]},
    ],
    "patterns": [{"type": "PAGE", "pattern": "\\b(?P<name>PAGE-(?P<number>\\d+))\\b", "name": "PAGE-{number:int}"}],
    "relations": [
        {
            "type": "USES",
            "inverse": "USED_BY",
            "target": ["VENDOR"],
            "patterns": ["{source} uses {targets}", "{owner} use {targets}"],
        },
        {"type": "WORKS_WITH", "symmetric": True, "patterns": ["{source} works with {targets}"]},
        {"type": "APPROVED_BY", "inverse": "APPROVER_OF"},
    ],
}
PAGES = {
    "us.md": "# Us\n\nWe use Acme. We use Globex. We use Initech.\n",
    "sales.md": "# Sales\n\nSales uses Acme.\n\nSales uses Hooli.\n\nHooli works with Globex.\n",
    "one.md": "---\nnumber: 1\ntitle: The first page\n"
    "approvers: ['@ann', '@bob']\nsee-also: [PAGE-2]\n---\n\nAll of it.\n",
    "two.md": "---\nnumber: 2\ntitle: Twin\napprovers: '@ann'\n---\n\nThe second: PAGE-2.\n",
    "three.md": "---\nnumber: 3\ntitle: Twin\n---\n\nThe third.\n",
}
Tools = {one.name: one for one in TOOLS}


@pytest.fixture
def library(read_pages: Callable[..., Library]) -> Library:
    """For tests that write."""
    return read_pages(PAGES, collections={"default": {"graph": RULES}})


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """The same, for tests that ask only."""
    place = tmp_path_factory.mktemp("kept")
    given = {"embedding__provider": "deterministic", "cache": str(place / "cache")}
    with Library.open(place / "home", **given, collections={"default": {"graph": RULES}}) as library:
        library.add(str(write_files(place / "docs", PAGES)))
        yield library


def called(library: Library, tool: str, /, **arguments: Any) -> dict[str, Any]:
    return Tools[tool](library=library, **arguments)


def test_each_step_of_a_path_tells_its_direction_and_reads_that_way(kept: Library) -> None:
    graph = kept.graph
    [path] = graph.paths(graph.one("Acme"), graph.one("Globex")).paths
    assert [(one.start.name, one.direction, one.reads, one.end.name) for one in path] == [
        ("Acme", "in", "USED_BY", "Sales"),
        ("Sales", "out", "USES", "Hooli"),
        ("Hooli", "out", "WORKS_WITH", "Globex"),
    ]
    [back] = graph.paths(graph.one("Globex"), graph.one("Hooli")).paths
    assert [(one.direction, one.reads) for one in back] == [("in", "WORKS_WITH")]
    [first, *_] = called(kept, "entity_path", source="Acme", target="Globex")["paths"][0]
    assert (first["from"], first["to"], first["direction"], first["reads"]) == ("Acme", "Sales", "in", "USED_BY")
    assert (first["source"], first["relation_type"], first["target"]) == ("Sales", "USES", "Acme")


def test_a_path_may_be_asked_for_along_the_relations_only(kept: Library) -> None:
    graph = kept.graph
    sales, globex, acme = map(graph.one, ("Sales", "Globex", "Acme"))
    [path] = graph.paths(sales, globex, direction="out").paths
    assert [one.direction for one in path] == ["out", "out"]
    [back] = graph.paths(globex, sales, direction="in").paths
    assert [one.end.name for one in back] == ["Hooli", "Sales"]
    for way in ("out", "in"):
        assert graph.paths(acme, globex, direction=way, through_owner=False).paths == []
    assert graph.paths(globex, sales, direction="out").notes == (
        "no path of at most 4 relations in the direction 'out' joins VENDOR:Globex and TEAM:Sales",
    )


def test_paths_go_through_the_owner_only_where_there_is_no_other_and_say_so(kept: Library) -> None:
    graph = kept.graph
    acme, globex, initech = map(graph.one, ("Acme", "Globex", "Initech"))
    assert "Us" not in {one.end.name for one in graph.paths(acme, globex).paths[0]}
    found = graph.paths(acme, initech)
    assert [one.end.name for one in found.paths[0]] == ["Us", "Initech"]
    assert "goes through Us" in found.notes[0]
    assert len(graph.paths(acme, globex, through_owner=True).paths[0]) == 2
    none = graph.paths(acme, initech, through_owner=False)
    assert none.paths == []
    assert "does not go through the owner" in none.notes[0]
    assert graph.paths(graph.one("Us"), acme).notes == ()
    told = called(kept, "entity_path", source="Acme", target="Initech", through_owner="no")
    assert told == {"paths": [], "notes": list(none.notes)}


def test_what_metadata_states_has_the_field_and_the_value_as_its_words(kept: Library) -> None:
    graph = kept.graph
    [ann] = [one for one in graph.relations(graph.one("PAGE-1"), evidence=1).relations if one.target.name == "@ann"]
    [place] = ann.evidence
    assert (place.path, place.field, place.text, place.chunk_id) == ("one.md", "approvers", "approvers: @ann", None)
    found = called(kept, "related_entities", name="@ann", relation_types=["APPROVED_BY"])
    assert {one["evidence"][0]["text"] for one in found["relations"]} == {"approvers: @ann"}
    assert {one["evidence"][0]["field"] for one in found["relations"]} == {"approvers"}
    words = {one.text for one in graph.impact(graph.one("@bob")).documents}
    assert "approvers: @bob" in words
    then = graph.as_of(graph.one("PAGE-1"), "2999-01-01")
    assert "see-also: PAGE-2" in {one.evidence[0].text for one in then.relations}
    exported = json.loads("".join(graph.export("default", "jsonld")))["@graph"]
    told = {one["evidence"]["words"] for one in exported if one.get("@type") == "rdf:Statement"}
    assert {"approvers: @ann", "approvers: @bob", "see-also: PAGE-2", "Sales uses Hooli."} <= told
    assert "see-also: PAGE-2" in "".join(graph.export("default", "graphml"))
    info = called(kept, "find_vendor_info", vendor_name="PAGE-1", response_mode="full")["results"]["relationships"]
    assert "see-also: PAGE-2" in {one["metadata"]["text"] for one in info}


def test_what_a_path_states_has_the_path_as_its_words(docs: Path, open_library: Callable[..., Library]) -> None:
    (docs / "mm").mkdir()
    (docs / "mm" / "a.c").write_text("int f(void)\n{\n\treturn 0;\n}\n")
    library = open_library(profile="kernel")
    library.add(str(docs))
    file = library.graph.one("mm/a.c")
    [one] = library.graph.relations(file, types=["part_of"], direction="out", evidence=1).relations
    assert (one.target.name, one.evidence[0].text) == ("mm/", "path: mm/a.c")
    assert "path: mm/a.c" in "".join(library.graph.export("kernel"))


def test_a_path_of_a_search_has_the_words_of_metadata(kept: Library) -> None:
    found = kept.search("all of PAGE-1", top_k=1, expand=1).hits
    texts = {step.text for hit in found for step in hit.relationship_path}
    assert "see-also: PAGE-2" in texts


def test_every_relation_can_be_had_page_by_page(library: Library) -> None:
    library.documents.put("\n\n".join(f"Sales uses Umbrella {n}." for n in range(3)), title="x", collection="default")
    graph = library.graph
    wanted = [(one.source.name, one.type, one.target.name) for one in graph.relations(graph.one("Sales")).relations]
    assert len(wanted) == 3
    seen, cursor = [], ""
    while True:
        page = called(library, "related_entities", name="sales", limit=1, cursor=cursor)
        seen += [(one["source"], one["relation_type"], one["target"]) for one in page["relations"]]
        assert page["total"] == 3
        if "next_cursor" not in page:
            break
        assert page["next"] == f'related_entities(name="sales",limit=1,cursor="{page["next_cursor"]}")'
        cursor = page["next_cursor"]
    assert seen == wanted


def test_an_answer_that_is_cut_to_its_tokens_goes_on_where_it_was_cut(kept: Library) -> None:
    every = called(kept, "graph_overview", limit=500)["entities"]
    seen, cursor = [], ""
    for _ in range(len(every)):
        outcome = Tools["graph_overview"].answer(kept, {"limit": 500, "cursor": cursor}, 400)
        assert outcome.data is not None
        seen += outcome.data["entities"]
        if "next_cursor" not in outcome.data:
            break
        cursor = outcome.data["next_cursor"]
    assert seen == every
    vendor = called(kept, "find_vendor_info", vendor_name="Acme", response_mode="full", page_size=100)
    cut = Tools["find_vendor_info"].answer(kept, {"vendor_name": "Acme", "response_mode": "full"}, 300).data
    assert cut is not None
    shown = len(cut["results"]["entities"])
    assert shown < len(vendor["results"]["entities"])
    rest = called(
        kept,
        "find_vendor_info",
        vendor_name="Acme",
        response_mode="full",
        cursor=cut["pagination"]["next_cursor"],
    )
    assert rest["results"]["entities"] == vendor["results"]["entities"][shown:]


def test_a_cursor_holds_for_its_question_and_tells_that_the_graph_has_changed(library: Library) -> None:
    cursor = called(library, "related_entities", name="Sales", limit=1)["next_cursor"]
    for wrong in (
        called(library, "related_entities", name="Acme", limit=1, cursor=cursor),
        called(library, "graph_overview", cursor=cursor),
        called(library, "related_entities", name="Sales", cursor="x"),
    ):
        assert wrong["error"].startswith("cursor is none that an answer to this question gave")
    library.documents.put("Sales uses Initech.", title="x", collection="default")
    changed = called(library, "related_entities", name="Sales", limit=1, cursor=cursor)
    assert any("has changed since the page before" in note for note in changed["notes"])


@pytest.mark.parametrize(("tool", "asked"), [("find_entity", {"name": "Twin"}), ("graph_overview", {})])
def test_a_cursor_tells_of_changes_after_its_page_only(library: Library, tool: str, asked: dict[str, Any]) -> None:
    library.documents.put("Sales uses Umbrella.", title="x", collection="default")  # the first page has to follow this
    first = called(library, tool, limit=1, **asked)
    second = called(library, tool, limit=1, cursor=first["next_cursor"], **asked)
    assert not second.get("notes")
    library.documents.put("Sales uses Initech.", title="y", collection="default")
    changed = called(library, tool, limit=1, cursor=first["next_cursor"], **asked)
    assert "has changed since the page before" in changed["notes"][0]


def test_types_are_known_in_any_case_and_others_are_refused_with_those_there_are(kept: Library) -> None:
    graph = kept.graph
    assert {one.type for one in graph.top(types=["vendor"])} == {"VENDOR"}
    assert graph.one("vendor:acme") == graph.one("Acme", types=["Vendor"])
    assert (
        graph.relations(graph.one("Acme"), types=["used_by"]).relations
        == graph.relations(graph.one("Acme"), types=["USES"]).relations
    )
    assert graph.paths(graph.one("Acme"), graph.one("Hooli"), types=["Uses"]).paths
    assert called(kept, "graph_overview", entity_type="team")["total"] == 2
    assert called(kept, "graph_overview", entity_type=" team ")["total"] == 2
    assert kept.search("Acme", expand=1).hits
    assert called(kept, "search", query="Sales", expand=1, relation_types=["uses"]).get("error") is None
    for wrong in (
        lambda: graph.top(types=["PLANET"]),
        lambda: graph.find("Acme", types=["planet"]),
        lambda: graph.one("PLANET:Acme"),
        lambda: graph.similar("Acme", types=["planet"]),
    ):
        with pytest.raises(InvalidInput, match="no type of entities") as refused:
            wrong()
        assert "CONFIG_OPTION, PAGE, PERSON, TEAM, VENDOR" in refused.value.hint
    for refuse in (
        lambda: graph.relations(graph.one("Acme"), types=["EATS"]).relations,
        lambda: graph.paths(graph.one("Acme"), graph.one("Globex"), types=["EATS"]),
    ):
        with pytest.raises(InvalidInput, match="no relation 'EATS'") as refused:
            refuse()
        assert "USED_BY, USES, WORKS_WITH" in refused.value.hint


def test_entities_are_found_by_title_number_and_without_the_sign_of_people(kept: Library) -> None:
    graph = kept.graph
    assert graph.one("the FIRST page").name == "PAGE-1"
    assert graph.one("1", types=["page"]).name == graph.one("page:01").name == graph.one("page-001").name == "PAGE-1"
    assert graph.one("ann") == graph.one("@ann")
    assert graph.one("Sales team").name == "Sales"
    with pytest.raises(InvalidInput, match="Several entities are called 'twin'") as several:
        graph.one("twin")
    assert "PAGE:PAGE-2 (default), PAGE:PAGE-3 (default)" in several.value.message
    assert sorted(one.name for one in graph.top(types=["PAGE"])) == ["PAGE-1", "PAGE-2", "PAGE-3"]
    assert called(kept, "find_entity", name="twin")["total"] == 2
    with pytest.raises(NotFound) as near:
        graph.one("The frist page")
    assert "PAGE:PAGE-1" in near.value.hint


def test_a_title_goes_with_its_document(library: Library, docs: Path) -> None:
    (docs / "one.md").write_text(PAGES["one.md"].replace("The first page", "Another title"))
    library.sync()
    assert library.graph.one("Another title").name == "PAGE-1"
    with pytest.raises(NotFound):
        library.graph.one("The first page")


def test_a_name_that_means_others_too_says_so(open_library: Callable[..., Library]) -> None:
    rules = {"types": {"CITY": {"names": {"York": []}}, "TEAM": {"names": {"York": []}}}, "candidates": False}
    library = open_library(collections={"default": {"graph": rules}})
    library.documents.put("York is a city and a team.", title="x", collection="default")
    with pytest.raises(InvalidInput, match="Several entities are called 'York': CITY:York"):
        library.graph.one("York")
    assert library.graph.choose("CITY:York").notes == ()


def test_an_empty_answer_says_why_it_is_empty(library: Library, open_library: Callable[..., Library]) -> None:
    nothing = called(library, "find_entity", name="zzzzqqqq")
    assert (nothing["entities"], nothing["total"]) == ([], 0)
    assert nothing["notes"] == ["no entity is called 'zzzzqqqq', nor alike", "see what there is: Library.graph.top()"]
    alike = called(library, "find_entity", name="Acmee")
    assert alike["entities"][0]["name"] == "Acme"
    assert alike["notes"] == ["no entity is called 'Acmee'; these are called alike"]
    none = called(library, "related_entities", name="Acme", relation_types=["WORKS_WITH"])
    assert none["relations"] == []
    assert none["notes"] == ["VENDOR:Acme has no relations of type WORKS_WITH; it has USES 2"]
    assert (
        "no path of at most 1 relation"
        in called(library, "entity_path", source="Acme", target="Hooli", max_hops=1)["notes"][0]
    )
    library = open_library()
    library.collecting.create("plain")
    for tool, given in (("find_entity", {"name": "Acme"}), ("graph_overview", {})):
        told = called(library, tool, collection="plain", **given)
        assert any("collection 'plain' has no graph" in note for note in told["notes"]), told
    assert "has no graph" in called(library, "related_entities", name="Acme", collection="plain")["hint"]
    assert "has no graph" in called(library, "find_vendor_info", vendor_name="Acme", collection="plain")["hint"]


def test_an_export_means_the_only_collection_with_a_graph(library: Library) -> None:
    library.collecting.create("plain")
    assert library.graph.only() == "default"
    with pytest.raises(InvalidInput, match="'plain' has no graph"):
        library.graph.only("plain")


def test_a_graph_that_is_given_up_leaves_decisions_alone(
    docs: Path, tmp_path: Path, open_library: Callable[..., Library]
) -> None:
    profile = tmp_path / "notes.toml"
    profile.write_text(
        'collection = "notes"\n[collections.notes.graph.types.VENDOR]\nnames = { Acme = [], Globex = [] }\n'
    )
    (docs / "acme.md").write_text("Acme and Globex.\n")
    library = open_library(profile=str(profile))
    library.add(str(docs))
    library.graph.decide("merge", library.graph.one("Acme"), "Globex")
    library = open_library()
    library.collecting.configure("notes", graph=None)
    with library.app.catalog.read() as connection:
        left = {
            one: connection.scalar(select(func.count()).select_from(getattr(schema, one)))
            for one in schema.GRAPH_TABLES
        }
    assert left == {one: int(one == "entity_decisions") for one in left}
    assert open_library(profile=str(profile)).graph.one("Globex").name == "Acme"
    with pytest.raises(InvalidInput, match="it has a graph"):
        open_library(profile=str(profile)).graph.remove("notes")


@pytest.mark.parametrize("kind", ["device", "pipe", "folder", "large"])
def test_a_list_that_is_no_file_of_a_usual_size_is_refused_at_once(
    kind: str, tmp_path: Path, open_library: Callable[..., Library]
) -> None:
    path = tmp_path / "list.csv"
    if kind == "device":
        path = Path("/dev/zero")
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        with path.open("wb") as file:
            file.truncate(60_000_000)
    library = open_library(collections={"default": {"graph": {"types": {"VENDOR": {}}, "lists": [str(path)]}}})
    words = {"large": "more than 50,000,000 bytes"}.get(kind, f"it is a {kind}, not a file")
    with pytest.raises(InvalidSetting, match=words):
        library.documents.put("Acme.", title="x", collection="default")


def test_types_of_a_list_are_read_in_any_case(tmp_path: Path, open_library: Callable[..., Library]) -> None:
    path = tmp_path / "list.csv"
    path.write_text("name,type,aliases\nAcme,vendor,\n")
    library = open_library(collections={"default": {"graph": {"types": {"VENDOR": {}}, "lists": [str(path)]}}})
    library.documents.put("Acme is here.", title="x", collection="default")
    assert library.graph.one("Acme").type == "VENDOR"


def test_symbols_of_the_configuration_are_found_without_their_prefix(
    docs: Path, open_library: Callable[..., Library]
) -> None:
    (docs / "Kconfig").write_text("config NUMA\n\tbool\n\tdepends on SMP\n\nconfig SMP\n\tbool\n")
    (docs / "a.c").write_text("#define SMP(x) (x)\nint f(int x)\n{\n\treturn SMP(x);\n}\n")
    library = open_library(profile="kernel")
    library.add(str(docs))
    assert library.graph.one("NUMA") == library.graph.one("CONFIG_NUMA")
    assert library.graph.one("f()") == library.graph.one("f")
    assert library.graph.one("SMP", types=["config"]).name == "CONFIG_SMP"
    chosen = library.graph.choose("SMP")
    assert chosen.entity.type == "MACRO"
    assert "CONFIG:CONFIG_SMP" in chosen.notes[0]
    assert {one.name for one in library.graph.find("SMP")} == {"SMP@a.c", "CONFIG_SMP"}
    [one] = library.graph.relations(library.graph.one("SMP", types=["CONFIG"]), types=["needed_by"]).relations
    assert one.type == "DEPENDS_ON"
