"""What a hit says of itself: lines, marks, match, confidence, explanation, neighbours, duplicates."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pinakes import Library
from pinakes.core.errors import InvalidInput
from pinakes.core.records import Hit
from pinakes.search.ranking.fusion import confidence
from pinakes.testing import write_files

OpenLibrary = Callable[..., Library]
LICENCE = "".join(f"Section {n}: whoever waters tree {n} may keep the fruit of branch {n}.\n" for n in range(12))
GUIDE = "# Orchard guide\n\n" + "\n".join(
    f"## Part {n}\n\nHere part {n} speaks of topic{n}.\n" + "It goes on and on about nothing.\n" * 30 for n in range(6)
)
FILES = {
    "guide.md": GUIDE,
    "keys.md": "# Signing keys\n\nNothing of note.\n\nRotate the signing keys each year.\nThen tell everybody.\n",
    "a/LICENCE.txt": LICENCE,
    "b/LICENCE.txt": LICENCE,
    "c/LICENCE.txt": LICENCE,
    "press.py": 'def press_apples(box):\n    """Press apples."""\n    return box\n',
}


@pytest.fixture
def filled(library: Library, docs: Path) -> Library:
    library.add(str(write_files(docs, FILES)))
    return library


def find(library: Library, query: str, path: str, **how: object) -> Hit:
    return next(hit for hit in library.search(query, top_k=20, **how).hits if hit.path == path)  # type: ignore[arg-type]


def test_lines_are_those_of_the_document(filled: Library) -> None:
    for hit in filled.search("rotating keys of part 3", top_k=20).hits:
        rows = FILES[hit.path].split("\n")
        assert 1 <= len(hit.context) <= 5
        assert [line.number for line in hit.context] == sorted({line.number for line in hit.context})
        for line in hit.context:
            assert hit.start_line <= line.number <= hit.end_line
            assert line.text.strip("…") in rows[line.number - 1]


def test_the_words_of_the_query_are_marked_in_text_and_lines(filled: Library) -> None:
    hit = find(filled, "rotating a signed key", "keys.md")
    assert [hit.text[start:end] for start, end in hit.highlights] == ["Signing", "keys", "Rotate", "signing", "keys"]
    line = next(line for line in hit.context if line.number == 5)
    assert [line.text[start:end] for start, end in line.marks] == ["Rotate", "signing", "keys"]


def test_the_match_is_that_of_the_arms(filled: Library) -> None:
    kinds = {("vector",): "semantic", ("keyword",): "keyword", ("vector", "keyword"): "hybrid"}
    for hit in filled.search("signing keys", top_k=20).hits:
        assert hit.match == kinds[hit.matched_by]
    assert {hit.match for hit in filled.search("keys", mode="keyword").hits} == {"keyword"}
    assert {hit.match for hit in filled.search("keys", mode="vector").hits} == {"semantic"}


@pytest.mark.parametrize("mode", ["hybrid", "vector", "keyword"])
def test_confidence_comes_from_the_scores_that_are_shown(filled: Library, mode: str) -> None:
    for hit in filled.search("signing keys", top_k=20, mode=mode).hits:  # type: ignore[arg-type]
        assert hit.confidence == pytest.approx(confidence(hit.scores.cosine, hit.scores.bm25), abs=1e-4)
        assert hit.explanation.startswith(f"{hit.confidence_word.capitalize()} match: ")


def test_an_explanation_names_the_words_that_are_there_and_those_that_are_not(filled: Library) -> None:
    said = find(filled, "press apples tomorrow", "press.py", mode="keyword").explanation
    assert 'has "press" (title, path, symbol, text), "apples" (symbol, text), lacks "tomorrow"' in said
    assert "1st of 1 by words (BM25 " in said
    assert "by meaning" not in said


def test_neighbours_come_on_request_each_once(filled: Library) -> None:
    assert find(filled, "topic3", "guide.md").neighbours == ()
    [hit] = filled.search("topic3", mode="keyword", neighbours=1).hits
    first, second = hit.neighbours
    assert (first.chunk_index, second.chunk_index) == (hit.chunk_index - 1, hit.chunk_index + 1)
    rows = GUIDE.split("\n")
    for one in (first, second):
        assert one.text.split("\n") == rows[one.start_line - 1 : one.end_line]
    assert first.end_line < hit.start_line <= hit.end_line < second.start_line


def test_no_neighbour_is_repeated_or_is_a_hit(filled: Library) -> None:
    hits = [h for h in filled.search("topic2 topic4 topic5", mode="keyword", neighbours=3).hits if h.path == "guide.md"]
    shown = [hit.chunk_index for hit in hits] + [one.chunk_index for hit in hits for one in hit.neighbours]
    assert len(hits) == 3
    assert sorted(shown) == sorted(set(shown))
    first = min(hit.chunk_index for hit in hits)
    assert set(range(first - 3, first)) <= set(shown)


@pytest.mark.parametrize("number", [-1, 4])
def test_more_neighbours_than_three_are_refused(filled: Library, number: int) -> None:
    with pytest.raises(InvalidInput, match=f"neighbours cannot be {number}. Use 0 to 3."):
        filled.search("keys", neighbours=number)


@pytest.mark.parametrize("mode", ["hybrid", "vector", "keyword"])
def test_chunks_that_say_the_same_are_shown_once(filled: Library, mode: str) -> None:
    hits = filled.search("who may keep the fruit of branch 5", top_k=20, mode=mode).hits  # type: ignore[arg-type]
    licences = [hit for hit in hits if hit.path.endswith("LICENCE.txt")]
    assert len({hit.path for hit in licences}) == 1
    for hit in licences:
        assert {one.path for one in hit.duplicates} == {name for name in FILES if "LICENCE" in name} - {hit.path}
        for one in hit.duplicates:
            assert (one.start_line, one.end_line) == (hit.start_line, hit.end_line)
            assert filled.read(one.document_id).document.path == one.path
            assert one.score <= hit.score


def test_places_of_repeated_chunks_go_to_the_next(filled: Library) -> None:
    hits = filled.search("fruit of branch 5", top_k=3, mode="vector").hits
    assert len(hits) == 3
    assert len({hit.text for hit in hits}) == 3


@pytest.mark.usefixtures("filled")
def test_folding_can_be_switched_off(open_library: OpenLibrary) -> None:
    library = open_library(search__fold_duplicates=False)
    hits = library.search("fruit of branch 5", top_k=20, mode="keyword").hits
    assert {hit.path for hit in hits} >= {"a/LICENCE.txt", "b/LICENCE.txt", "c/LICENCE.txt"}
    assert all(hit.duplicates == () for hit in hits)
