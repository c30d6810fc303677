"""A graph stays true: it is verified, exported with its decisions, masked, and tells which references lead nowhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from planted import Maker
from sqlalchemy import select, update

from pinakes.catalog import entities, schema
from pinakes.catalog.entities import Decision
from pinakes.library import Library

TOKEN = "glpat-" + Maker(11).of("abcdefABCDEF0123456789", 20)
VENDORS = {"types": {"VENDOR": {"names": {"Globex": [], "Initech": []}}}}
PROPOSALS = {
    "candidates": False,
    "types": {"KEP": {}},
    "documents": [{"type": "KEP", "name": "KEP-{number:int}"}],
    "metadata": [{"field": "see-also", "type": "KEP", "relation": "SEE_ALSO"}],
}


def graph_of(rules: Any) -> dict[str, Any]:
    return {"collections": {"default": {"graph": rules}}}


@pytest.fixture
def vendors(docs: Path, open_library: Any) -> Library:
    (docs / "a.md").write_text("# A\n\nGlobex and Initech are vendors.\n")
    library: Library = open_library(**graph_of(VENDORS))
    library.add(str(docs))
    return library


def test_the_graph_is_there_when_documents_are_added(vendors: Library, docs: Path) -> None:
    assert not vendors.graph.is_behind("default")
    assert [one.name for one in vendors.graph.similar("Globx")] == ["Globex"]
    (docs / "b.md").write_text("# B\n\nGlobex again.\n")
    stages = list[str]()
    vendors.add(str(docs), on_event=lambda event: stages.append(event.stage))
    assert stages.count("graph") == 1
    assert not vendors.graph.is_behind("default")
    stages.clear()
    vendors.add(str(docs), on_event=lambda event: stages.append(event.stage))
    assert "graph" not in stages, "nothing has changed"
    assert vendors.graph.one("Globex").documents == 2


def test_references_without_a_document_are_told_with_the_reason(docs: Path, open_library: Any) -> None:
    (docs / "one.md").write_text("---\nnumber: 1\nsee-also: [KEP-2, KEP-9, /keps/old/draft.md]\n---\n\nThe first.\n")
    (docs / "two.md").write_text("---\nnumber: 2\nsee-also: [KEP-9]\n---\n\nThe second proposal.\n")
    library: Library = open_library(**graph_of(PROPOSALS))
    library.add(str(docs))
    report = library.graph.report("default")
    assert [(one.name, one.references, one.reason) for one in report.missing] == [
        ("KEP-9", 2, "no document has this name"),
        ("/keps/old/draft.md", 1, "not written as KEP-{number:int}"),
    ]
    assert report.missing_by_reason == {"no document has this name": 1, "not written as KEP-{number:int}": 1}


def test_verify_tells_what_is_wrong_in_the_graph(vendors: Library) -> None:
    assert vendors.verify() == {"default": []}
    vendors.graph.decide("merge", vendors.graph.one("Globex"), "Initech")
    assert vendors.verify() == {"default": []}
    with vendors.app.catalog.write() as connection:
        connection.execute(update(schema.entity_mentions).values(end=1_000_000))
        connection.execute(update(schema.entities).where(schema.entities.c.name == "Initech").values(canonical_id=999))
    [outside, nothing] = vendors.verify()["default"]
    assert (outside.part, outside.problem, outside.count) == ("graph", "entity_mentions are outside of the text", 1)
    assert (nothing.part, nothing.problem, nothing.count) == ("graph", "entities are names of no entity", 1)


def test_decisions_on_names_go_with_an_exported_collection(vendors: Library, tmp_path: Path) -> None:
    vendors.graph.decide("merge", vendors.graph.one("Globex"), "Initech")
    vendors.exchange.export("default", tmp_path / "vendors.zip")
    vendors.exchange.take_in(tmp_path / "vendors.zip", "copy")
    with vendors.app.catalog.read() as connection:
        decided = entities.decisions(connection, vendors.app.record("copy").id)
    assert decided == [Decision("merge", "VENDOR", "globex", "initech", "VENDOR")]


def test_decisions_on_names_go_with_a_copy(vendors: Library) -> None:
    vendors.graph.decide("merge", vendors.graph.one("Globex"), "Initech")
    vendors.collecting.copy("default", "copy")
    with vendors.app.catalog.read() as connection:
        decided = entities.decisions(connection, vendors.app.record("copy").id)
    assert decided == [Decision("merge", "VENDOR", "globex", "initech", "VENDOR")]


def test_a_purge_masks_names_of_entities(docs: Path, open_library: Any) -> None:
    rules = {
        "types": {"SECRET": {}, "VENDOR": {"names": {"Globex": []}}},
        "patterns": [{"type": "SECRET", "pattern": "(?P<name>glpat-[A-Za-z0-9]+)"}],
    }
    (docs / "a.md").write_text(f"# A\n\nGlobex has {TOKEN}.\n")
    library: Library = open_library(ingest__secrets="off", **graph_of(rules))
    library.add(str(docs))
    library.graph.decide("merge", library.graph.one("Globex"), TOKEN, "SECRET")
    library = open_library(**graph_of(rules))
    assert {one.where for one in library.credentials.scan()} >= {"documents", "entities"}
    library.credentials.purge()
    assert library.credentials.scan() == []
    assert library.graph.one("Globex").documents == 1
    tables = (schema.entities, schema.entity_aliases, schema.entity_decisions)
    with library.app.catalog.read() as connection:
        held = str([connection.execute(select(table)).all() for table in tables])
    assert TOKEN.partition("-")[2].casefold() not in held.casefold()
    assert library.verify() == {"default": []}


def test_a_purge_masks_titles_that_find_entities(docs: Path, open_library: Any) -> None:
    rule = {**PROPOSALS["documents"][0], "titles": ["{title}", "Runbook of {password}"]}
    rules = {**PROPOSALS, "documents": [rule]}
    password = Maker(12).password()
    (docs / "one.md").write_text(
        f"---\nnumber: 1\ntitle: Rotate {TOKEN} each week\npassword: {password}\n---\n\nThe first.\n"
    )
    (docs / "two.md").write_text("---\nnumber: 2\ntitle: Sidecar Containers\nsee-also: [KEP-1]\n---\n\nThe second.\n")
    library: Library = open_library(ingest__secrets="off", **graph_of(rules))
    library.add(str(docs))
    assert library.graph.one(f"Runbook of {password}").name == "KEP-1"
    library = open_library(**graph_of(rules))
    library.credentials.purge()
    with library.app.catalog.read() as connection:
        held = str(connection.execute(select(schema.entity_aliases)).all())
    assert TOKEN.casefold() not in held.casefold()
    assert password.casefold() not in held.casefold()
    assert library.graph.update("default")
    assert library.graph.one("Sidecar Containers").name == "KEP-2"
    with library.app.catalog.read() as connection:
        held = str(connection.execute(select(schema.entity_aliases)).all())
    assert TOKEN.casefold() not in held.casefold()
    assert password.casefold() not in held.casefold()
    assert "each week" in held, "the masked title comes again"
