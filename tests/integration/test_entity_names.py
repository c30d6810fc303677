"""Entities by the names that people write for them, and by those that people give them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pinakes.catalog import entities, graph_lookups
from pinakes.core.errors import InvalidInput, NotFound
from pinakes.core.graph_records import EntityName
from pinakes.library import Library

PROPOSAL = """
title: Sidecar Containers
kep-number: 753
authors: ["@thockin"]
owning-sig: sig-node
"""
RULES = {
    "types": {
        "VENDOR": {"names": {"Acme": ["Acme Corporation"], "Globex": []}},
        "TEAM": {"names": {"Sales": []}, "suffixes": ["team"]},
        "PAGE": {},
    },
    "documents": [{"type": "PAGE", "name": "PAGE-{number:int}", "aliases": ["{short}"], "titles": ["{title}"]}],
    "links": True,
    "link_roots": {"https://pages.example.org/": ""},
    "candidates": False,
}
PAGES = {
    "a.md": "# A\n\nSales and Acme and Globex.\n",
    "guides/one.md": "---\nnumber: 1\ntitle: The first page\nshort: onepage\n---\n\nAll of the sales team.\n",
}


@pytest.fixture
def library(read_pages: Callable[..., Library]) -> Library:
    return read_pages(PAGES, collections={"default": {"graph": RULES}})


@pytest.mark.parametrize(
    "written",
    [
        "KEP-753: Sidecar Containers",
        "kep 753: anything",
        "#753",
        "753-sidecar-containers",
        "sidecar_containers",
        "https://github.com/kubernetes/enhancements/tree/master/keps/sig-node/753-sidecar-containers",
        "https://github.com/kubernetes/enhancements/issues/753",
    ],
)
def test_a_proposal_is_found_by_title_number_folder_and_address(
    docs: Path, open_library: Callable[..., Library], written: str
) -> None:
    folder = docs / "sig-node" / "753-sidecar-containers"
    folder.mkdir(parents=True)
    (folder / "kep.yaml").write_text(PROPOSAL)
    library = open_library(profile="kep", ingest__min_text_chars=1)
    library.add(str(docs))
    assert library.graph.one(written).name == "KEP-753"
    assert library.graph.one("sig node").name == "sig-node"


def test_signs_between_words_are_as_good_as_spaces_and_an_address_means_its_page(library: Library) -> None:
    graph = library.graph
    for written in ("sales-team", "Sales team", "sales_team"):
        assert graph.one(written).name == "Sales", written
    assert graph.one("the-first-page").name == "PAGE-1"
    assert graph.one("https://pages.example.org/guides/one#part").name == "PAGE-1"
    assert graph.one("https://pages.example.org/a.md").name == "a"
    with pytest.raises(NotFound):
        graph.one("https://elsewhere.example.org/a.md")


def test_a_name_that_somebody_gives_is_found_although_no_document_has_it(library: Library) -> None:
    graph = library.graph
    graph.decide("merge", graph.one("Acme"), "Road Runner Supplies")
    assert graph.one("road runner supplies").name == "Acme"
    assert "road runner supplies" in graph.one("Acme").aliases
    assert graph.update("default", again=True)
    assert graph.one("Road Runner Supplies").name == "Acme"
    graph.decide("split", graph.one("Acme"), "Road Runner Supplies")
    with pytest.raises(NotFound):
        graph.one("Road Runner Supplies")


def test_a_name_of_a_document_can_be_split_and_one_of_a_list_says_where_it_is(library: Library) -> None:
    graph = library.graph
    for name in ("The first page", "onepage"):
        page = graph.one(name)
        assert page.name == "PAGE-1"
        graph.decide("split", page, name)
        assert all(one.name != "PAGE-1" for one in graph.find(name)), name
    with pytest.raises(InvalidInput, match="'acme corporation' is an alias of Acme in a list") as caught:
        graph.decide("split", graph.one("Acme"), "acme corporation")
    assert "VENDOR in graph.types" in str(caught.value.hint)
    assert graph.one("Acme Corporation").name == "Acme"


def test_suggestions_for_code_are_by_likeness_in_any_case_and_an_unknown_type_says_so(
    docs: Path, open_library: Callable[..., Library]
) -> None:
    (docs / "Kconfig").write_text('config MEMCG\n\tbool "one"\nconfig MEMCG_KMEM\n\tbool "two"\n')
    (docs / "a.c").write_text("int config_memcg_on(int a)\n{\n\treturn a;\n}\n")
    library = open_library(profile="kernel")
    library.add(str(docs))
    assert library.graph.similar("CONFIG_memcg")[0].name == "CONFIG_MEMCG"
    with pytest.raises(InvalidInput, match="'KONFIG', before the colon of 'KONFIG:MEMCG', is no type of entities"):
        library.graph.one("KONFIG:MEMCG")


def test_a_misspelt_name_is_compared_with_a_bounded_number_of_names(library: Library) -> None:
    record = library.collection("default")
    with library.app.catalog.write() as connection:
        entities.ensure(connection, record.id, [EntityName("VENDOR", f"Zeta {number}") for number in range(50)])
        known = graph_lookups.similar_names(connection, record.id, ["VENDOR", "TEAM"], "globx", most=3)
    assert len(known) <= 9
    assert "globex" in dict(known)
    assert library.graph.similar("Globx")[0].name == "Globex"


def test_a_document_may_be_about_a_symbol_of_code(read_pages: Callable[..., Library]) -> None:
    pages = {
        "numa.md": "---\nsymbol: CONFIG_NUMA\nonce: CONFIG_NODES\n---\n\nNodes of memory.\n",
        "a.c": "#ifdef CONFIG_NUMA\nint nodes(void) { return 1; }\n#endif\n",
    }
    document = {"type": "CONFIG", "name": "{symbol}", "aliases": ["{once}"]}
    rules = {"code": True, "types": {"CONFIG": {}}, "documents": [document]}
    library = read_pages(pages, collections={"default": {"graph": rules}})
    for name in ("CONFIG_NUMA", "CONFIG_NODES"):
        assert library.graph.one(name).type == "CONFIG"
