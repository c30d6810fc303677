"""Copies, excluded words and odd operators leave a page as full as it can be, and measuring ranks as searching does."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pinakes.library import Library

PLACES = [f"place{number}" for number in range(30)]


@pytest.fixture
def filled(library: Library, docs: Path) -> Library:
    for place in PLACES:
        (docs / f"{place}.txt").write_text(f"the heron of {place} fishes at dawn near {place}, says {place}\n")
    library.add(str(docs))
    return library


def test_copies_leave_their_places_to_others_however_many_there_are(library: Library, docs: Path) -> None:
    for number in range(12):
        (docs / f"copy{number}.txt").write_text("A heron fishes at dawn by the old mill, every single morning.\n")
    for number, word in enumerate(["bridge", "harbour", "meadow", "church", "tower", "island"]):
        (docs / f"other{number}.txt").write_text(f"Near the {word} nobody has seen the heron since {word} days.\n")
    library.add(str(docs))
    hits = library.search("heron fishes at dawn", top_k=5).hits
    assert len(hits) == 5
    assert len(hits[0].duplicates) == 11


@pytest.mark.parametrize("query", ["heron -place3", "heron -dawn -place3", 'heron "fishes at dawn"', '"place7" heron'])
def test_an_operator_finds_just_what_it_allows(filled: Library, query: str) -> None:
    allowed = [place for place in PLACES if place != "place3"]
    if "-dawn" in query:
        allowed = []
    if '"fishes' in query:
        allowed = PLACES
    if '"place7"' in query:
        allowed = ["place7"]
    for most in (5, 30):
        hits = filled.search(query, top_k=most).hits
        assert len(hits) == min(most, len(allowed))
        assert {hit.path for hit in hits} <= {f"{place}.txt" for place in allowed}


def test_a_phrase_that_most_chunks_have_does_not_shorten_the_page(
    open_library: Callable[..., Library], docs: Path
) -> None:
    text = "\n\n".join(f"## Part {number}\n\nthe same words and word{number} here\n" for number in range(2500))
    (docs / "long.md").write_text(text)
    library = open_library(chunking__size=12, chunking__overlap=0, boosts__saturation=0.0)
    library.add(str(docs))
    hits = library.search('word77 "the same words"', top_k=20).hits
    assert len(hits) == 20
    assert "word77 " in hits[0].text


def test_a_letter_in_quotation_marks_is_a_word(library: Library, docs: Path) -> None:
    (docs / "c.txt").write_text("The C programming language\n")
    library.add(str(docs))
    found = library.search('"C" programming')
    assert [hit.path for hit in found.hits] == ["c.txt"]


def test_the_first_ranked_are_those_of_a_search(filled: Library) -> None:
    for query in ("heron", "place4 place9 dawn", "says"):
        searched = [hit.chunk_id for hit in filled.search(query, top_k=10).hits]
        deep = filled.rank(query, depth=200).hits
        assert [hit.chunk_id for hit in deep][: len(searched)] == searched
        scores = [hit.score for hit in deep]
        assert scores == sorted(scores, reverse=True)


def test_many_diverse_answers_at_once_do_not_wait_for_each_other(
    open_library: Callable[..., Library], docs: Path
) -> None:
    for number in range(60):
        (docs / f"{number}.md").write_text(f"---\nauthor: a{number % 7}\n---\n# Heron {number}\n\nfishes at dawn\n")
    library = open_library(search__diversity_field="author", search__remembered_answers=0)
    library.add(str(docs))
    with ThreadPoolExecutor(40) as pool:
        answers = list(pool.map(lambda number: library.search(f"heron {number}"), range(80), timeout=25))
    assert all(answer.hits for answer in answers)
