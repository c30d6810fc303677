"""Text to terms."""

from __future__ import annotations

import re
import threading

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from pinakes.text.analysis import STOP_WORDS, Analyzer, estimated_token_starts, segmentation
from pinakes.text.analysis.spellings import other_groups

analyzer = Analyzer()

PRINTED = st.text(st.characters(exclude_characters="\x1c\x1d\x1e\x1f"), max_size=200)
"""Texts without the separators of records, which are spaces only beside letters that are not of ASCII."""


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("sig-api-machinery", ["sig-api-machineri", "sig", "api", "machineri"]),
        ("CustomResourceDefinition", ["customresourcedefinit", "custom", "resourc", "definit"]),
        ("getHTTPResponse", ["gethttprespons", "get", "http", "respons"]),
        ("snake_case_name", ["snake_case_nam", "snake", "case", "name"]),
        ("kube.proxy", ["kube.proxi", "kube", "proxi"]),
        ("v1.24.3", ["v1.24.3", "v1", "24"]),
        ("__init__", ["init"]),
        ("Badgers BADGERS badger's", ["badger", "badger", "badger"]),
        ("don't don’t", ["don't", "don't"]),
        ("ﬁsh ＦＩＳＨ", ["fish", "fish"]),
        ("café cafe\u0301", ["café", "café"]),
        ("", []),
        ("a fish that I ate", ["fish", "that", "ate"]),
        ("7 x", ["7", "x"]),
        ("?!... --- ''", []),
        ("🦡 🐟", []),
        ("鳥は魚", ["鳥は", "は魚"]),
        ("魚", ["魚"]),
        ("漢字abc-def", ["漢字", "abc-def", "abc", "def"]),
        ("漢字-abc", ["漢字", "abc"]),
        ("барсук ест", ["барсук", "ест"]),
        ("मछली खाता है", ["मछली", "खाता", "है"]),
        ("ปลา", ["ปล", "ลา"]),
        ("السَّمَك", ["السَّمَك"]),
        ("straße", ["straße"]),
    ],
)
def test_the_terms_of(text: str, terms: list[str]) -> None:
    assert analyzer.terms(text) == terms


def test_a_query_finds_an_identifier_by_the_whole_and_by_each_part() -> None:
    indexed = set(analyzer.terms("The SIG-API-Machinery owns CustomResourceDefinition."))
    for query in ("sig-api-machinery", "api", "machinery", "customresourcedefinition", "Custom", "resources"):
        assert set(analyzer.query_terms(query)) <= indexed, query


def test_stop_words_are_left_out_of_queries() -> None:
    assert analyzer.query_terms("What is the home of The badger?") == ["home", "badger"]


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("2^32", "2³² addresses"),
        ("2³²", "of 2^32 or more"),
        ("10^-9", "10⁻⁹ m"),
        ("10⁻⁹", "$10^{-9}$ m"),
        ("m2", "60 m² of it"),
        ("x^2", "x² + y²"),
        ("½", "1/2 litre"),
        ("don't", "I don´t know"),
        ("l'eau", "de l´eau"),
    ],
)
def test_powers_fractions_and_apostrophes_are_found_however_they_are_typed(query: str, text: str) -> None:
    assert analyzer.query_terms(query)[0] in analyzer.terms(text)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("email", "e-mail"),
        ("cooperation", "Co-operation"),
        ("UTF8", "utf-8"),
        ("sha256", "SHA-256"),
        ("covid19", "COVID-19"),
        ("Emailadresse", "E-Mail-Adresse"),
        ("9783161484100", "978-3-16-148410-0"),
    ],
)
def test_words_are_found_with_and_without_their_hyphens(one: str, other: str) -> None:
    assert analyzer.query(one)[0].text in analyzer.all_terms(f"an {other} of it")
    assert set(analyzer.query(other)[0].others) & set(analyzer.terms(f"an {one} of it"))


@pytest.mark.parametrize("text", ["10-9", "1-2-3", "state-of-the-art", "a--b", "-x-", "7-Zip"])
def test_other_hyphens_make_no_words(text: str) -> None:
    assert not any(term.others for term in analyzer.query(text))


def test_a_query_of_stop_words_alone_keeps_them() -> None:
    assert analyzer.query_terms("to be or not to be") == ["to", "be", "or", "not"]


def test_query_terms_are_distinct_and_keep_their_order() -> None:
    assert analyzer.query_terms("fish eat fish, Fishes eat") == ["fish", "eat"]


def test_stop_words_are_plain_lower_case_words() -> None:
    assert {"the", "of", "and"} < STOP_WORDS
    assert all(word.isascii() and word.islower() for word in STOP_WORDS)


@given(st.text(max_size=300))
def test_any_text_gives_terms_that_hold_no_space_and_are_found_again(text: str) -> None:
    terms = Analyzer().terms(text)
    assert all(term and not any(mark.isspace() for mark in term) for term in terms)
    groups = other_groups(segmentation.of_query(text), segmentation.normal(text))
    others = {term for group in groups for other in group.others for term in Analyzer().all_terms(other)}
    assert {term for term in Analyzer().query_terms(text) if len(term) > 1} <= Analyzer().all_terms(text) | others
    assert analyzer.terms(text) == terms, "what was seen before must not matter"


@pytest.mark.parametrize("text", ["Chapter 7\n=========", "vitamin C\n> said", "step 3\n<p>next</p>"])
def test_a_character_at_the_end_of_a_line_is_a_word_whatever_begins_the_next(text: str) -> None:
    assert text.partition("\n")[0].split()[-1] in analyzer.words(text)


@example("0", "<")
@example("3.", "")
@given(PRINTED, PRINTED)
def test_texts_side_by_side_have_the_terms_of_both(left: str, right: str) -> None:
    assume(not re.search(r"(?<!\w)[AI](?!\w)", right))  # what stands before these tells whether they are names
    assert analyzer.terms(f"{left}\n{right}") == analyzer.terms(left) + analyzer.terms(right)


def test_threads_may_share_an_analyzer() -> None:
    shared, found = Analyzer(), []
    text = " ".join(f"SomeName{number} sig-part-{number}" for number in range(500))

    def work() -> None:
        found.append(shared.terms(text))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [Analyzer().terms(text)] * 8


@pytest.mark.parametrize(
    ("text", "starts"),
    [
        ("", []),
        ("  \n", []),
        ("Badgers eat!", [0, 4, 8, 11]),
        ("a1b2", [0, 1, 2, 3]),
        ("鳥は魚", [0, 1, 2]),
        ("🦡", [0]),
    ],
)
def test_tokens_are_estimated_to_start_at(text: str, starts: list[int]) -> None:
    found = estimated_token_starts(text)
    assert found.dtype == np.int64
    assert found.tolist() == starts


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("DE12 5001 0517 0648 4898 90", "de12500105170648489890"),
        ("transfer to de12 5001 0517 0648 4898 90", "de12500105170648489890"),
        ("IBAN FR76 3000 6000 0112 3456 7890 189", "fr7630006000011234567890189"),
        ("GB82WEST12345698765432", "west"),
        ("GB82WEST12345698765432", "5698"),
    ],
)
def test_a_number_of_an_account_is_looked_for_in_groups_and_joined(query: str, wanted: str) -> None:
    weights = {term.text: term.weight for term in analyzer.query(query)}
    whole = weights.get(wanted, 0)
    assert whole > 4 if len(wanted) > 4 else 0 < whole < 1


@pytest.mark.parametrize(
    "query",
    ["rooms 1234 5678", "IT12 rooms 1234 for 5001", "KB12 1234", "ab12 " + "1234 " * 9, "SHA256 1234 5678 9012"],
)
def test_other_numbers_stay_as_they_are(query: str) -> None:
    assert not [term for term in analyzer.query_terms(query) if len(term) > 10]


@pytest.mark.parametrize(
    ("query", "terms"),
    [
        ("apples AND NOT pears", ["appl", "pear"]),
        ("apples OR pears AND NOT plums", ["appl", "pear", "plum"]),
        ("apples NOT", ["appl", "NOT"]),
        ("NOT null", ["NOT", "null"]),
    ],
)
def test_operators_of_other_engines_between_two_words_are_ignored(query: str, terms: list[str]) -> None:
    assert analyzer.query_terms(query) == terms
