"""Who knows most of an entity, and which documents to look at when it changes."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from pinakes.library import Library
from pinakes.services.knowledge_graph import KnowledgeGraph

GRAPH = {
    "types": {
        "VENDOR": {"names": {"Acme": ["Acme Corporation"], "Globex": [], "Initech": []}},
        "PERSON": {"names": {"Ann Lee": ["annlee"]}},
        "PAGE": {},
    },
    "documents": [{"type": "PAGE", "name": "{page}"}],
    "metadata": [
        {"field": "uses", "type": "VENDOR", "relation": "USES"},
        {"field": "see_also", "type": "PAGE", "relation": "SEE_ALSO"},
    ],
    "relations": [
        {
            "type": "WORKS_WITH",
            "source": ["VENDOR"],
            "target": ["VENDOR"],
            "patterns": ["{source} works with {targets}"],
        }
    ],
}
PAGES = {
    "one.md": "---\nauthors: ['@annlee', Bob, TBD]\n---\n# One\n\nAcme here. Acme there. Acme Corporation, too.\n",
    "two.md": "---\nauthor: Ann Lee <ann@example.com>\n---\n# Two\n\nAcme works with Globex.\n",
    "three.md": "---\nowner: Bob\n---\n# Three\n\nAcme may come.\n",
    "four.md": "---\nauthors: [Cid]\npage: Cooking\nuses: [Initech]\n---\n# Four\n\nNothing of it.\n",
    "five.md": "---\npage: Baking\nsee_also: [Cooking]\nuses: [Acme]\n---\n# Five\n\nBread.\n",
}


@pytest.fixture
def library(read_pages: Callable[..., Library]) -> Library:
    return read_pages(PAGES, collections={"default": {"graph": GRAPH}})


def test_who_wrote_most_comes_first_with_the_documents_that_show_it(library: Library) -> None:
    found = library.graph.experts(library.graph.one("Acme")).experts
    assert [(one.name, one.wrote, one.answers, one.mentions) for one in found] == [
        ("Ann Lee", 2, 0, 4),
        ("Bob", 1, 1, 4),
    ]
    assert [(one.path, one.mentions, list(one.fields)) for one in found[0].documents] == [
        ("one.md", 3, ["authors"]),
        ("two.md", 1, ["author"]),
    ]


def test_documents_to_look_at_are_told_the_most_direct_first(library: Library) -> None:
    found = library.graph.impact(library.graph.one("Acme")).documents
    assert [(one.path, one.link) for one in found] == [
        ("five.md", "states"),
        ("two.md", "states"),
        ("one.md", "mentions"),
        ("three.md", "mentions"),
    ]
    assert found[0].relations == ("Baking USES Acme",)
    assert found[1].relations == ("Acme WORKS_WITH Globex",)
    assert found[1].text == "Acme works with Globex."
    assert "Acme may come" in found[3].text


def test_documents_about_an_entity_come_first_and_those_about_related_ones_last(library: Library) -> None:
    graph: KnowledgeGraph = library.graph
    assert [(one.path, one.link) for one in graph.impact(graph.one("Baking")).documents] == [
        ("five.md", "about"),
        ("four.md", "related"),
    ]
    [last] = [one for one in graph.impact(graph.one("Baking")).documents if one.link == "related"]
    assert last.relations == ("Baking SEE_ALSO Cooking",)
    assert [(one.path, one.link) for one in graph.impact(graph.one("Cooking")).documents] == [
        ("four.md", "about"),
        ("five.md", "states"),
    ]


def test_pages_of_documents_and_people_are_parts_of_the_whole_list(library: Library) -> None:
    graph: KnowledgeGraph = library.graph
    acme = graph.one("Acme")
    documents, people = graph.impact(acme), graph.experts(acme)
    pages = [graph.impact(acme, 1, start) for start in range(5)]
    assert [one for page in pages for one in page.documents] == documents.documents
    assert {page.total for page in pages} == {len(documents.documents)}
    assert [graph.experts(acme, 1, start).experts for start in range(3)] == [[one] for one in people.experts] + [[]]
    assert people.total == 2


def test_a_list_that_looks_at_a_part_only_says_so(read_pages: Callable[..., Library]) -> None:
    named = {part: ", ".join(f"Page {part}{number}" for number in range(70)) for part in "abc"}
    pages = {f"{part}.md": f"---\npage: Hub\nsee_also: [{named[part]}]\n---\n# {part}\n\nAll.\n" for part in "abc"}
    graph = read_pages(pages, collections={"default": {"graph": GRAPH}}).graph
    found = graph.impact(graph.one("Hub"))
    assert found.total == 3
    [note] = found.notes
    assert note == "of documents about related entities only 2,000 are listed, by the 200 surest relations"
    assert not graph.impact(graph.one("Page a7")).notes


def test_authors_of_a_repository_are_experts(tmp_path: Path, open_library: Callable[..., Library]) -> None:
    folder = tmp_path / "repository"
    folder.mkdir()

    def git(*arguments: str) -> None:
        name = ["-c", "user.name=Dora", "-c", "user.email=d@example.com"]
        subprocess.run(["git", *name, *arguments], cwd=folder, check=True, capture_output=True)

    git("init", "-b", "main")
    (folder / "acme.md").write_text("# Acme\n\nAcme is a vendor.\n")
    git("add", ".")
    git("commit", "-m", "first")
    source = {"kind": "git", "location": str(folder), "depth": 0}
    library = open_library(collections={"default": {"graph": GRAPH, "sources": [source]}})
    library.sync()
    [one] = library.graph.experts(library.graph.one("Acme")).experts
    assert (one.name, one.wrote, one.documents[0].path) == ("Dora", 1, "acme.md")
