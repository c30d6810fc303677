"""Of many collections those that are about something else are only looked at, and that is said."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from named_embedder import NamedEmbedder

from pinakes.core.records import Results
from pinakes.library import Library
from pinakes.models.embedders import EMBEDDERS
from pinakes.testing import write_files

QUESTION = "how is the database restored from a backup"
TEXTS = {
    "databases": "The database is restored from a backup of day {}, after which replicas of the database are made.",
    "kitchen": "Soup number {} is cooked slowly with onions, carrots and a spoon of quince vinegar until evening.",
    "stars": "Telescope {} shows galaxies, planets and a nebula whose light travelled very long before us.",
}
NOTE = "far from the question, so only their nearest chunks were looked at: "


@pytest.fixture
def library(open_library: Callable[..., Library], docs: Path, monkeypatch: pytest.MonkeyPatch) -> Library:
    monkeypatch.setitem(EMBEDDERS, "named", "named_embedder:NamedEmbedder")
    opened = open_library(embedding__provider="named", embedding__model="words/64")
    for name, text in TEXTS.items():
        files = {f"{number}.md": f"---\nyear: 202{number}\n---\n{text.format(number)}\n" for number in range(6)}
        opened.add(str(write_files(docs / name, files)), name)
    return opened


def far(found: Results) -> set[str]:
    """Return the collections that were only looked at."""
    [told] = [note.removeprefix(NOTE) for note in found.notes if note.startswith(NOTE)] or [""]
    return {name.strip("'") for name in told.split(", ") if name}


def test_collections_about_something_else_are_named_and_give_nothing(library: Library) -> None:
    found = library.search(QUESTION, top_k=3)
    assert far(found) == {"kitchen", "stars"}
    assert {hit.collection for hit in found.hits} == {"databases"}
    alone = library.search(QUESTION, "databases", top_k=3)
    assert [hit.chunk_id for hit in found.hits] == [hit.chunk_id for hit in alone.hits]
    staged = library.staged.summaries(QUESTION, top_k=3)
    assert f"{NOTE}'kitchen', 'stars'" in staged.notes
    assert {one.document.collection_id for one in staged.documents} == {library.collection("databases").id}


def test_where_the_near_ones_give_too_few_the_others_are_asked(library: Library) -> None:
    found = library.search(QUESTION, top_k=12)
    assert far(found) == set()
    assert len({hit.collection for hit in found.hits}) > 1
    staged = library.staged.summaries(QUESTION, top_k=12)
    assert not [note for note in staged.notes if note.startswith(NOTE)]


@pytest.mark.parametrize(
    ("query", "more", "asked"),
    [
        ("is the database restored from a backup with quince", {}, {"databases", "kitchen"}),  # which has that word
        ("telescope", {}, {"stars"}),  # alone, it may be a name
        ('how is "the database" restored from a backup', {}, set(TEXTS)),
        (QUESTION, {"filters": {"year": 2021}}, set(TEXTS)),
        (QUESTION, {"mode": "keyword"}, set(TEXTS)),
        (QUESTION, {"min_similarity": 0.01}, set(TEXTS)),
        (f"{QUESTION} year:2021", {}, set(TEXTS)),
    ],
)
def test_what_may_stand_in_a_far_collection_is_looked_for_there(
    library: Library, query: str, more: dict[str, Any], asked: set[str]
) -> None:
    found = library.search(query, top_k=1, **more)
    searched = {stage.detail["collection"] for stage in found.trace.stages if stage.name == "hydrate"}
    assert searched | far(found) == set(TEXTS)
    assert searched >= asked


def test_two_collections_are_always_asked(library: Library) -> None:
    found = library.search(QUESTION, ["databases", "kitchen"], top_k=3)
    assert far(found) == set()


def test_one_chunk_that_answers_makes_a_mixed_collection_near(library: Library, docs: Path) -> None:
    notes = {f"{number}.md": f"Note {number} about gardens, birds and trains of long ago.\n" for number in range(6)}
    notes["restore.md"] = "How the archive is restored from a backup of the database.\n"
    library.add(str(write_files(docs / "notes", notes)), "notes")
    found = library.search("how the archive is restored from a backup", top_k=3)
    assert far(found) == {"kitchen", "stars"}
    assert "notes" in {stage.detail["collection"] for stage in found.trace.stages if stage.name == "hydrate"}


def test_where_the_near_ones_have_the_same_documents_the_others_are_asked(library: Library, docs: Path) -> None:
    library.add(str(docs / "databases"), "copy")
    found = library.search(QUESTION, top_k=8)
    assert len(found.hits) == 8
    assert {hit.collection for hit in found.hits} - {"databases", "copy"}


def test_a_collection_that_is_near_is_asked_whatever_words_it_lacks(library: Library, docs: Path) -> None:
    films = {f"{number}.md": f"The film {number} is restored from a backup, after which.\n" for number in range(6)}
    library.add(str(write_files(docs / "films", films)), "films")
    assert far(library.search(QUESTION, top_k=3)) == {"kitchen", "stars"}


def test_by_meaning_alone_words_do_not_decide_which_collections_are_asked(library: Library) -> None:
    query = "is the database restored from a backup with quince"
    assert far(library.search(query, top_k=1)) == {"stars"}
    assert far(library.search(query, top_k=1, mode="vector")) == {"kitchen", "stars"}


@pytest.mark.parametrize("query", [f"  {QUESTION}\x07 ", QUESTION + " again" * 2000], ids=["odd signs", "cut"])
def test_a_question_is_embedded_once(library: Library, query: str) -> None:
    embedder = library.app.embedder
    assert isinstance(embedder, NamedEmbedder)
    library.search(query, top_k=3)
    assert len(embedder.queries) == 1
