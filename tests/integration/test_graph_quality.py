"""What the report of a graph tells of its coverage, its duplicates and its conflicts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pinakes.catalog.entities import Decision, EntityRecord
from pinakes.library import Library
from pinakes.services.graph_defects import duplicates, repeats

GRAPH: dict[str, Any] = {
    "types": {
        "VENDOR": {"merge": True, "names": {"Acme": [], "Globex": [], "Stark Net": [], "StarkNet": []}},
        "PRODUCT": {"names": {"Skates": [], "Globex": []}},
        "TEAM": {
            "merge": True,
            "names": {"Sales": [], "Field": [], "North": [], "Site Reliability Team": [], "SRT": []},
        },
    },
    "relations": [
        {"type": "OFFERS", "source": ["VENDOR"], "target": ["PRODUCT"], "patterns": ["{source} sells {targets}"]},
        {"type": "PART_OF", "single": True, "patterns": ["{source} is part of {target}"]},
        {"type": "REPLACES", "patterns": ["{source} replaces {target}"]},
    ],
}
PAGES = {
    "one.md": "# One\n\nAcme sells Skates. Stark Net is here. StarkNet is there. Globex, too.\n",
    "two.md": "# Two\n\nSales is part of Field. Sales is part of North. Acme replaces Globex. Globex replaces Acme.\n",
    "three.md": "# Three\n\nSales, again.\n",
    "four.md": "# four\n\nnothing at all.\n",
}


@pytest.fixture
def library(read_pages: Callable[..., Library]) -> Library:
    return read_pages(PAGES, collections={"default": {"graph": GRAPH}})


def test_coverage_and_orphans_are_counted(library: Library) -> None:
    found = library.graph.report("default")
    assert (found.documents, found.documents_with_entity) == (4, 3)
    assert (found.vendors, found.vendors_with_product) == (4, 2)  # a list that has both keeps StarkNet apart
    graph = library.graph
    assert found.orphans == sum(not graph.relations(one).relations for one in graph.top(limit=100))
    assert found.orphans > 0


def test_entities_that_may_be_one_are_told_until_somebody_decides() -> None:
    names = {
        "VENDOR": ["StarkNet", "Stark Net", "Acme Robotics", "Acme Robotic", "Anvil 2 Works", "Anvil 3 Works", "Hooli"],
        "TEAM": ["Site Reliability Team", "SRT", "Sales"],
        "KEP": ["Acme Robotics", "Acme Robotic"],
    }
    known = [
        EntityRecord(number, kind, name, name.lower())
        for number, (kind, name) in enumerate((kind, name) for kind, each in names.items() for name in each)
    ]
    found = duplicates(known, {"VENDOR", "TEAM"})
    assert {(frozenset((one.name, one.other)), one.reason) for one in found.pairs} == {
        (frozenset(("StarkNet", "Stark Net")), "the same letters"),
        (frozenset(("Acme Robotics", "Acme Robotic")), "similarity 0.92"),
        (frozenset(("Site Reliability Team", "SRT")), "initials"),
    }
    assert (found.judged, found.share) == (10, 6 / 10)
    apart = Decision("split", "TEAM", "srt", "site reliability team")
    assert "initials" not in {one.reason for one in duplicates(known, {"VENDOR", "TEAM"}, [apart]).pairs}


def test_conflicting_relations_are_told(library: Library) -> None:
    found = library.graph.report("default")
    assert ("Sales", "PART_OF", ("Field", "North")) in found.several_targets
    told = [set(one) for one in found.conflicts if one[1] == "REPLACES"]
    assert told
    assert all(one == {"Acme", "REPLACES", "Globex"} for one in told)


def test_names_of_several_types_are_told(library: Library) -> None:
    assert ("Globex", ("PRODUCT", "VENDOR")) in library.graph.report("default").several_types


def test_hits_that_repeat_a_vendor_are_counted() -> None:
    hits = [{"vendor": ["A", "B"]}, {"vendor": "a"}, {}, {"vendor": ["b", "C"]}, {"vendor": "c"}]
    assert repeats([hits, [{"vendor": "C"}]], "vendor") == 2 / 5
    assert repeats([[{}], []], "vendor") is None
