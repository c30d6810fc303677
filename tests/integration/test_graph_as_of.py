"""An entity as of a time: what documents said then, that say something else by now or are gone."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pinakes.core.errors import InvalidInput, NotFound
from pinakes.library import Library
from pinakes.services.graph_as_of import NAMES_OF_NOW
from pinakes.services.graph_search import ONLY_UNCHANGED

GRAPH = {
    "types": {"VENDOR": {"names": {"Acme": [], "Globex": [], "Initech": [], "Hooli": []}}},
    "relations": [
        {
            "type": "WORKS_WITH",
            "source": ["VENDOR"],
            "target": ["VENDOR"],
            "patterns": ["{source} works with {targets}"],
        }
    ],
}


@pytest.fixture
def library(open_library: Callable[..., Library]) -> Library:
    return open_library(collections={"default": {"graph": GRAPH}})


@pytest.fixture
def times(library: Library) -> list[str]:
    """Put three documents, change one, delete one; return the times after each step."""
    put = library.documents.put
    changing = put("Acme works with Globex.", title="Changing").document
    gone = put("Hooli works with Acme.", title="Gone").document
    stays = put("Acme works with Initech.", title="Stays").document
    library.graph.update("default")
    changed = library.documents.update(changing.uid, text="Globex works with Initech.").document
    library.documents.delete(gone.uid)
    return [changing.created_at, gone.created_at, stays.created_at, changed.updated_at]


def stated(library: Library, name: str, as_of: str) -> set[str]:
    entity = library.graph.one(name, unmentioned=True)
    report = library.graph.as_of(entity, as_of)
    assert NAMES_OF_NOW in report.notes
    return {f"{one.source.name} {one.target.name}: {one.evidence[0].text}" for one in report.relations}


def test_relations_are_those_that_were_stated_then(library: Library, times: list[str]) -> None:
    assert stated(library, "Acme", times[0]) == {"Acme Globex: Acme works with Globex."}
    assert stated(library, "Acme", times[2]) == {
        "Acme Globex: Acme works with Globex.",
        "Hooli Acme: Hooli works with Acme.",
        "Acme Initech: Acme works with Initech.",
    }
    assert stated(library, "Acme", "2999-01-01") == {"Acme Initech: Acme works with Initech."}
    assert stated(library, "Globex", times[2]) == {"Acme Globex: Acme works with Globex."}
    assert stated(library, "Globex", times[3]) == {"Globex Initech: Globex works with Initech."}


def test_an_entity_that_nothing_mentions_any_more_has_its_past(library: Library, times: list[str]) -> None:
    with pytest.raises(NotFound):
        library.graph.one("Hooli")
    report = library.graph.as_of(library.graph.one("Hooli", unmentioned=True), times[2])
    assert (report.entity.documents, report.entity.mentions) == (1, 1)
    assert [one.title for one in report.mentions] == ["Gone"]


def test_types_directions_and_wrong_times_are_minded(library: Library, times: list[str]) -> None:
    acme = library.graph.one("Acme")
    assert {one.target.name for one in library.graph.as_of(acme, times[2], direction="out").relations} == {
        "Globex",
        "Initech",
    }
    assert len(library.graph.as_of(acme, times[2], types=["works_with"]).relations) == 3
    with pytest.raises(InvalidInput, match="no relation 'OFFERS'"):
        library.graph.as_of(acme, times[2], types=["OFFERS"])
    with pytest.raises(InvalidInput, match="no day or time"):
        library.graph.as_of(acme, "yesterday or so")


def test_what_is_not_kept_is_told(open_library: Callable[..., Library]) -> None:
    library = open_library(collections={"default": {"graph": GRAPH}}, history__days=0)
    put = library.documents.put("Acme works with Globex.", title="Changing").document
    library.documents.update(put.uid, text="Acme works with Initech.")
    report = library.graph.as_of(library.graph.one("Acme"), put.created_at)
    assert report.relations == []
    assert any("1 document it is not kept" in note for note in report.notes)


def test_a_search_as_of_a_time_goes_on_over_what_did_not_change_since(library: Library) -> None:
    put = library.documents.put
    put("Acme works with Initech.", title="First")
    then = put("Initech has a long history.", title="Second").document.created_at
    put("Initech is in town.", title="Third")

    def added(as_of: str | None) -> set[str]:
        found = library.search("Acme", top_k=1, expand=1, as_of=as_of)
        assert (ONLY_UNCHANGED in found.notes) == bool(as_of)
        return {hit.title for hit in found.hits if hit.match == "graph"}

    assert added(None) == {"Second", "Third"}
    assert added(then) == {"Second"}
    assert added("1999-01-01") == set()


def test_what_no_document_mentions_any_more_is_as_sure_as_it_was(library: Library, times: list[str]) -> None:
    entity = library.graph.one("Hooli", unmentioned=True)
    assert entity.confidence == 0
    assert library.graph.as_of(entity, times[2]).entity.confidence == library.graph.one("Acme").confidence > 0
    assert library.graph.as_of(entity, "2999-01-01").entity.confidence == 0
