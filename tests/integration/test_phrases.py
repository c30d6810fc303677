"""Quotation marks in questions: what must be there, and what only comes first."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pinakes import InvalidInput, Library

SENTENCE = 'Which systems for articles let you format text so that "what you see is what you get" while you write?'
FILES = {
    "wysiwyg.md": "# Editors\n\nBlue herons know: what you see is what you get, on paper, too.\n",
    "other.md": "# Systems\n\nSystems for articles let you format text while you write. Systems format text.\n",
    "more.md": "# Writing\n\nWhich systems format articles? Text, text and articles: what is what you write.\n",
    "draft.md": "# Draft\n\nA draft that says what you see is what you get, of systems for articles.\n",
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    home = tmp_path_factory.mktemp("home")
    for name, text in FILES.items():
        folder = home / ("second" if name == "draft.md" else "first")
        folder.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    with Library.open(home / "library", embedding__provider="deterministic", embedding__mode="full") as opened:
        opened.add(str(home / "first"), "first")
        opened.add(str(home / "second"), "second")
        yield opened


def paths(library: Library, query: str, collection: str = "first", **more: object) -> list[str]:
    return [Path(hit.path).name for hit in library.search(query, collection, **more).hits]  # type: ignore[arg-type]


@pytest.mark.parametrize("mode", ["keyword", "vector", "hybrid", "auto"])
@pytest.mark.parametrize("fusion", ["weighted", "rrf"])
def test_a_phrase_of_a_sentence_comes_first_in_every_mode(library: Library, mode: str, fusion: str) -> None:
    found = library.search(SENTENCE, "first", mode=mode, fusion=fusion)  # type: ignore[arg-type]
    assert found.hits[0].path == "wysiwyg.md"
    assert {hit.path for hit in found.hits} >= {"wysiwyg.md", "other.md"}
    assert 'chunks with "what you see is what you get" come first' in found.notes
    first = found.hits[0]
    assert first.phrases == ("what you see is what you get",)
    assert "has the phrase 'what you see is what you get'" in first.explanation
    scores = [hit.score for hit in found.hits]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)


def test_over_all_collections_chunks_with_the_phrase_come_first(library: Library) -> None:
    assert set(paths(library, SENTENCE, "*")[:2]) == {"wysiwyg.md", "draft.md"}
    documents = library.staged.summaries(SENTENCE, "first,second").documents
    assert {Path(one.document.path).name for one in documents[:2]} == {"wysiwyg.md", "draft.md"}


def test_an_exclusion_stays_strict(library: Library) -> None:
    assert paths(library, f"{SENTENCE} -draft", "*")[0] == "wysiwyg.md"
    assert "draft.md" not in paths(library, f"{SENTENCE} -draft", "*")
    assert "wysiwyg.md" not in paths(library, f'{SENTENCE} -"blue herons"', "first")


def test_a_required_phrase_that_is_in_one_collection_alone_is_required_of_all(library: Library) -> None:
    found = library.search('"blue herons"', "first,second")
    assert [hit.path for hit in found.hits] == ["wysiwyg.md"]
    assert found.required == ("blue herons",)
    assert not any("no chunk" in note for note in found.notes)
    documents = library.staged.summaries('"blue herons"', "first,second")
    assert [one.document.path for one in documents.documents] == ["wysiwyg.md"]


def test_a_required_phrase_that_is_nowhere_is_answered_without_it_and_noted(library: Library) -> None:
    found = library.search('systems "red herons"', "first", mode="keyword")
    assert found.hits
    assert found.notes[0] == 'no chunk has "red herons": the answer is that of the words without quotation marks'
    plain = library.search("systems red herons", "first", mode="keyword")
    assert [hit.path for hit in found.hits] == [hit.path for hit in plain.hits]


def test_of_required_phrases_that_are_not_together_those_with_more_come_first(library: Library) -> None:
    found = library.search('"blue herons" "format text"', "first", mode="keyword")
    assert {hit.path for hit in found.hits[:2]} == {"wysiwyg.md", "other.md"}
    assert found.notes[0].startswith("no chunk has all of ")


def test_what_marks_mean_can_be_asked_for(library: Library) -> None:
    assert paths(library, SENTENCE, phrases="required") == ["wysiwyg.md"]
    assert len(paths(library, '"blue herons"', phrases="preferred")) > 1
    assert paths(library, '"blue herons"', phrases="preferred")[0] == "wysiwyg.md"
    with pytest.raises(InvalidInput, match="Phrases cannot be"):
        paths(library, "x", phrases="never")


def test_filters_and_phrases_that_do_not_meet_are_told(library: Library) -> None:
    found = library.search(f"{SENTENCE} path:other.md", "first")
    assert [hit.path for hit in found.hits] == ["other.md"]
    assert any(note.startswith("no chunk that passes the filters has") for note in found.notes)


@pytest.mark.parametrize("query", ['"', "“", "\x00\x01\x02", "\x1b[31m", '"" ""', "?!", "‘", '"' * 1999, "「" * 1999])
@pytest.mark.parametrize("mode", ["keyword", "hybrid"])
def test_signs_alone_are_no_error_and_the_answer_says_what_was_not_used(
    library: Library, query: str, mode: str
) -> None:
    found = library.search(query, "first", mode=mode)  # type: ignore[arg-type]
    assert found.notes


def test_the_order_of_documents_of_several_questions_has_the_phrase_first(library: Library) -> None:
    found = library.staged.several([SENTENCE, "systems that format"], "first", merge="max")
    assert found.documents[0].document.path == "wysiwyg.md"


def test_an_explanation_has_the_part_of_the_phrase(library: Library) -> None:
    found = library.explain(SENTENCE, ["wysiwyg.md", "other.md"], "first")
    one, other = found.documents
    assert one.rank == 1
    assert one.parts["phrases"] > 0
    for document in (one, other):
        assert document.score == pytest.approx(sum(document.parts.values()), abs=1e-3)
    assert "phrases" not in other.parts
