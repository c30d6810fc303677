"""What the form of a collection says: links between documents, entities that stand together, topics."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pinakes.core.errors import InvalidSetting
from pinakes.library import Library

RULES: dict[str, Any] = {
    "links": True,
    "link_roots": {"https://handbook.example.org/": "", "/": ""},
    "co_occurs": 3,
    "topics": True,
    "candidates": False,
    "types": {"VENDOR": {"names": {"Acme": [], "Globex": [], "Initech": [], "Hooli": []}}, "POLICY": {}},
    "documents": [{"type": "POLICY", "name": "Policy {number}", "aliases": ["{nickname}"]}],
}


@pytest.fixture
def library(docs: Path, open_library: Callable[..., Library]) -> Library:
    (docs / "sales").mkdir()
    for number in range(4):
        filler = "Much was said about it, and all of it is long forgotten by now. " * 40
        text = (
            f"# Deal {number}\n\n## Contract terms\n\nAcme and Globex met. {filler}\n\n## Other\n\nInitech was there.\n"
        )
        (docs / "sales" / f"deal{number}.md").write_text(text)
    (docs / "index.md").write_text(
        "# Start\n\nSee [deals](sales/deal0.md#terms), [travel](https://handbook.example.org/travel/) and "
        "[the web](https://example.com/x), [nothing](sales/gone.md), [itself](./index.md), ![picture](a.png).\n"
    )
    (docs / "travel.md").write_text("---\nnumber: 7\nnickname: travelling\n---\n\n# Travel\n\nAs [here](/rest.md).\n")
    (docs / "rest.md").write_text("---\nnumber: 8\n---\n\n# Rest\n\nAs [there](travel.md).\n")
    opened = open_library(collections={"default": {"graph": RULES}})
    opened.add(str(docs))
    return opened


def edges(library: Library, name: str, kind: str, types: tuple[str, ...] = ()) -> set[tuple[str, str]]:
    found = library.graph.relations(library.graph.one(name, types=types), types=[kind], evidence=1).relations
    return {(one.source.name, one.target.name) for one in found}


def test_a_link_is_a_relation_of_the_documents_or_of_what_they_are_about(library: Library) -> None:
    assert edges(library, "Policy 7", "LINKS_TO") == {
        ("Policy 7", "Policy 8"),
        ("Policy 8", "Policy 7"),
        ("index.md", "Policy 7"),
    }
    start = library.graph.one("index.md", types=["DOCUMENT"])
    found = library.graph.relations(start, types=["LINKS_TO"], direction="out", evidence=1).relations
    assert {one.target.name: one.evidence[0].text for one in found} == {
        "sales/deal0": "deals",
        "Policy 7": "travel",
        "sales/gone": "nothing",
    }
    assert (
        library.graph.show(library.graph.one("sales/gone", types=["DOCUMENT"])).missing == "no document has this path"
    )
    assert library.graph.show(library.graph.one("sales/deal1", types=["DOCUMENT"])).missing == ""
    assert library.graph.report("default").missing_by_reason == {"no document has this path": 1}


@pytest.mark.parametrize(
    ("types", "found"),
    [
        ([], ["POLICY"]),
        (["DOCUMENT"], []),
        (["DOCUMENT", "VENDOR"], []),
        (["DOCUMENT", "POLICY"], ["POLICY"]),
    ],
)
def test_only_entities_of_the_types_that_are_asked_for_are_found(
    library: Library, types: list[str], found: list[str]
) -> None:
    page = "https://handbook.example.org/travel/"
    assert [one.type for one in library.graph.find(page, types=types)] == found
    assert [one.type for one in library.graph.called(page, types=types)] == found
    start = library.graph.find("https://handbook.example.org/index.md", types=types)
    assert [one.type for one in start] == (["DOCUMENT"] if not types or "DOCUMENT" in types else [])


def test_what_a_document_is_about_has_its_other_names(library: Library) -> None:
    policy = library.graph.one("travelling")
    assert (policy.name, policy.type, policy.aliases) == ("Policy 7", "POLICY", ("travelling",))


def test_those_that_stand_together_are_weakly_related_where_that_is_asked_for(library: Library) -> None:
    [found] = library.graph.relations(library.graph.one("Acme"), types=["CO_OCCURS"], evidence=5).relations
    assert {found.source.name, found.target.name} == {"Acme", "Globex"}
    assert found.confidence <= 0.4
    assert found.statements == 3
    assert {one.text for one in found.evidence} == {"Acme and Globex"}
    assert all(one.chunk_id for one in found.evidence)
    assert library.graph.relations(library.graph.one("Acme")).relations == []
    ends = library.graph.one("Acme"), library.graph.one("Globex")
    assert library.graph.paths(*ends).paths == []
    assert len(library.graph.paths(*ends, types=["CO_OCCURS"]).paths) == 1


def test_topics_lie_below_each_other_and_are_shown_where_they_are_asked_for(library: Library) -> None:
    topics = {one.name: one.documents for one in library.graph.top(types=["TOPIC"])}
    assert topics == {"sales": 4}
    assert {one.type for one in library.graph.top()} == {"VENDOR", "POLICY"}
    assert library.graph.find("sales") == []


def test_changed_and_deleted_documents_take_links_pairs_and_topics_along(library: Library, docs: Path) -> None:
    for number in (2, 3):
        (docs / "sales" / f"deal{number}.md").unlink()
    (docs / "rest.md").rename(docs / "pause.md")
    library.add(str(docs))
    assert library.graph.relations(library.graph.one("Acme"), types=["CO_OCCURS"]).relations == []
    assert library.graph.top(types=["TOPIC"]) == []
    assert edges(library, "Policy 7", "LINKS_TO") >= {("Policy 8", "Policy 7"), ("index.md", "Policy 7")}
    assert library.graph.show(library.graph.one("rest", types=["DOCUMENT"])).missing == "no document has this path"
    assert library.verify() == {"default": []}


def test_nothing_is_written_where_nothing_changed(library: Library) -> None:
    def ids() -> list[Any]:
        with library.app.catalog.read() as connection:
            tables = ("entity_mentions", "entity_relations")
            return [connection.exec_driver_sql(f"SELECT id FROM {one} ORDER BY id").all() for one in tables]

    library.graph.top()
    before = ids()
    library.graph.decide("merge", library.graph.one("Initech"), "Hooli", "VENDOR")
    assert ids() == before


def test_what_two_writers_wrote_twice_is_there_once_after_the_next_change(library: Library, docs: Path) -> None:
    library.graph.top()
    with library.app.catalog.write() as connection:
        for table in ("entity_mentions", "entity_relations"):
            columns = [row[1] for row in connection.exec_driver_sql(f"PRAGMA table_info({table})") if row[1] != "id"]
            names = ", ".join(f'"{one}"' for one in columns)
            of_graph = "extractor IN ('topics', 'co-occurrence')"
            connection.exec_driver_sql(f"INSERT INTO {table} ({names}) SELECT {names} FROM {table} WHERE {of_graph}")
    (docs / "new.md").write_text("# New\n\nNothing.\n")
    library.add(str(docs))
    [found] = library.graph.relations(library.graph.one("Acme"), types=["CO_OCCURS"]).relations
    assert found.statements == 3
    with library.app.catalog.read() as connection:
        count = connection.exec_driver_sql("SELECT count(*) FROM entity_mentions WHERE extractor = 'topics'").scalar()
    assert count == 4


def test_a_graph_that_no_longer_wants_them_loses_them(library: Library, open_library: Callable[..., Library]) -> None:
    library.close()
    plain = RULES | {"links": False, "co_occurs": 0, "topics": False}
    again = open_library(collections={"default": {"graph": plain}})
    again.graph.top()
    with again.app.catalog.read() as connection:
        kinds = connection.exec_driver_sql("SELECT DISTINCT type FROM entity_relations ORDER BY type").all()
    assert kinds == []


def test_types_of_the_structure_and_hostile_patterns_are_refused(open_library: Callable[..., Library]) -> None:
    for rules in (
        {"types": {"TOPIC": {}}},
        {"types": {"A": {}}, "patterns": [{"type": "A", "pattern": r"(?P<name>(a+)+\1)"}]},
        {"types": {"A": {}}, "patterns": [{"type": "A", "pattern": "(?P<name>" + "(a{1000}){1000}" + ")"}]},
        {"types": {"A": {}}, "relations": [{"type": "R", "patterns": ["{source} (?=x){target}"]}]},
    ):
        with pytest.raises(InvalidSetting):
            open_library(collections={"default": {"graph": rules}})


def test_the_report_names_the_documents_of_which_something_was_left_out(library: Library, docs: Path) -> None:
    (docs / "many.md").write_text("# Many\n\n" + "Acme met Globex. " * 100)
    library.add(str(docs))
    report = library.graph.report("default")
    assert report.left_out_of == [("many.md", report.left_out)]
    assert report.left_out > 150
