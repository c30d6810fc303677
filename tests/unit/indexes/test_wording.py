"""Chunks and documents as the keyword index stores them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from pinakes.core.records import IndexEntry
from pinakes.indexes.keyword.stored_terms import TermWriter
from pinakes.text.analysis import Analyzer


@pytest.fixture
def wording() -> TermWriter:
    return TermWriter(Analyzer())


def entry(
    number: int,
    text: str,
    *,
    document: int = 1,
    title: str = "Signing keys",
    header: str = "",
    path: str = "guides/keys.md",
    symbols: Sequence[str] = (),
) -> IndexEntry:
    return IndexEntry(number, document, title, path, header, text, tuple(symbols), None)


def test_a_chunk_has_the_terms_of_each_of_its_parts(wording: TermWriter) -> None:
    [words] = wording.chunks([entry(7, "Rotate all keys.", header="Signing keys > Rotation")])
    terms = Analyzer().terms
    assert (words.chunk_id, words.document_id) == (7, 1)
    assert words.body.split() == terms("Rotate all keys.")
    assert words.header.split() == terms("Signing keys > Rotation")
    assert words.title.split() == terms("Signing keys")
    assert words.path.split() == terms("guides keys.md")


def test_symbols_stay_as_they_are_written(wording: TermWriter) -> None:
    [words] = wording.chunks([entry(1, "x", symbols=["Crypto.rotateKeys", "RCU_INIT", "__main__"])])
    assert words.symbols == "Crypto.rotateKeys RCU_INIT __main__"


def spelled(wording: TermWriter, *texts: str) -> frozenset[str]:
    [document] = wording.documents(wording.chunks(entry(number, text) for number, text in enumerate(texts)))
    return document.spelled


def test_the_words_for_proposals_are_whole_lower_cased_and_once_each(wording: TermWriter) -> None:
    words = spelled(wording, "Rotating KEYS, rotating CustomResourceDefinition", "keys of api-machinery.")
    assert {"rotating", "keys", "customresourcedefinition", "custom", "resource", "definition"} <= words
    assert {"api-machinery", "api", "machinery"} <= words
    assert not {"rotat", "Rotating", "KEYS"} & words


def test_numbers_and_encoded_data_are_never_proposed(wording: TermWriter) -> None:
    long, longest = "a" * 40, "b" * 41
    assert spelled(wording, f"kept 2024 90210 {long} {longest}") == {"kept", long}
    [chunk] = wording.chunks([entry(1, longest)])
    assert chunk.body == longest, "they can be searched for all the same"


def test_a_document_has_the_words_of_all_its_chunks_under_its_own_number(wording: TermWriter) -> None:
    chunks = wording.chunks(
        [entry(11, "Rotate keys.", document=5), entry(12, "Revoke them.", document=5), entry(21, "Apples.", document=9)]
    )
    first, second = wording.documents(chunks)
    assert [(one.chunk_id, one.document_id) for one in (first, second)] == [(5, 5), (9, 9)]
    assert first.body == f"{chunks[0].body} {chunks[1].body}"
    assert first.spelled == {"rotate", "keys", "revoke", "them"}
    assert second.body == chunks[2].body
    assert second.spelled == {"apples"}


def test_a_document_counts_its_title_once_and_no_headings(wording: TermWriter) -> None:
    """Headers repeat the title before every chunk; with all of them it would drown the text."""
    chunks = wording.chunks([entry(number, "Text.", header="Signing keys > Deep") for number in range(5)])
    [document] = wording.documents(chunks)
    assert (document.header, document.title, document.path) == (chunks[0].title, chunks[0].title, chunks[0].path)
    assert document.symbols == ""


def test_chunks_of_a_document_may_come_between_those_of_others(wording: TermWriter) -> None:
    chunks = wording.chunks([entry(1, "one", document=4), entry(2, "two", document=3), entry(3, "three", document=4)])
    assert {one.document_id: one.body for one in wording.documents(chunks)} == {
        4: f"{chunks[0].body} {chunks[2].body}",
        3: chunks[1].body,
    }


def test_nothing_gives_nothing(wording: TermWriter) -> None:
    assert wording.chunks([]) == wording.documents([]) == []
    [words] = wording.chunks([entry(1, "", title="", path="")])
    assert (words.body, words.title, words.path, words.spelled) == ("", "", "", frozenset())


def test_names_that_are_not_at_hand_any_more_are_analysed_again(wording: TermWriter) -> None:
    every = [entry(number, "x", title=f"Title {number}") for number in range(100, 300)]
    titles = [words.title for words in wording.chunks(every)]
    assert titles == [words.title for words in wording.chunks(every)]
    assert len(set(titles)) == 200
