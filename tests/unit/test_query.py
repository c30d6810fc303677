"""What people write into queries, and what must not be taken for an operator."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinakes import filters
from pinakes.analysis import Analyzer
from pinakes.query import Query, admits, parse_query
from pinakes.types import JSON

FIELDS = ("status", "title", "path", "year", "created", "owning_sig", "milestone.stable", "kind")
ANALYZER = Analyzer()


def parsed(text: str) -> Query:
    return parse_query(text, FIELDS)


@pytest.mark.parametrize(
    "text",
    [
        "how do we rotate the signing keys?",
        "std::string path::join kind::of",
        "https://example.org/status:beta",
        "http://localhost:8000/path and file://x",
        "meeting at 12:30",
        "Foo::bar",
        "error: something went wrong",
        "status: beta",
        "a - b – c",
        "well-known sig-api-machinery",
        "gcc -O2 -g -j4 -1 -lm",
        "git log --oneline --no-index",
        "ptr->next x-- --x -> <-",
        '5" disk and 3.5"',
        'printf("%s", name)',
        'x = "" and "***"',
        "it's the users' choice",
        "-std=c++11 -march=native",
        "status:",
        "path://x",
        "* - [x]",
        "",
        '-""',
    ],
)
def test_text_that_looks_like_operators_stays_text(text: str) -> None:
    assert parsed(text) == Query(text)


def test_a_compiler_flag_stays_text_and_the_note_says_how_to_leave_it_out() -> None:
    query = parsed("what does -Wall do")
    assert (query.text, query.excluded) == ("what does -Wall do", ())
    assert query.notes == ("'-Wall' is searched for as text: to leave the word out, write -wall",)


def test_a_pasted_text_of_several_lines_has_no_operators() -> None:
    text = '-static int x;\n+static long x;\n"one two" status:beta'
    assert parsed(text) == Query(text)


@pytest.mark.parametrize("text", ['find "two words" here', "find “two words” here", "find «two words» here"])
def test_a_phrase_is_required_and_searched_for(text: str) -> None:
    query = parsed(text)
    assert (query.text, query.phrases) == ("find two words here", ("two words",))
    assert query.notes == ('only passages with "two words"',)


def test_several_phrases_and_exclusions() -> None:
    query = parsed('"one two", then -draft three "four" -"five six".')
    assert query.text == "one two, then three four ."
    assert query.phrases == ("one two", "four")
    assert query.excluded == ("draft", "five six")
    assert query.notes == (
        'only passages with "one two", "four"',
        'passages with "draft", "five six" are left out',
    )


@pytest.mark.parametrize("word", ["draft", "sig-auth", "snake_case", "élan", "東京", "don't"])
def test_a_minus_before_a_word_leaves_it_out(word: str) -> None:
    query = parsed(f"keys -{word}")
    assert (query.text, query.excluded) == ("keys", (word,))


@pytest.mark.parametrize(
    ("written", "stated"),
    [
        ("status:beta", {"status": "beta"}),
        ("Status:Beta", {"status": "beta"}),
        ("status:alpha,beta", {"status": ["alpha", "beta"]}),
        ("status:alpha status:beta", {"status": ["alpha", "beta"]}),
        ("-status:draft", {"status": {"ne": ["draft"]}}),
        ("-status:draft,old status:beta", {"status": {"in": ["beta"], "ne": ["draft", "old"]}}),
        ('title:"two words"', {"title": "two words"}),
        ("title:“two words”", {"title": "two words"}),
        ('title:"a, b",c', {"title": ["a, b", "c"]}),
        ("year:>2020", {"year": {"gt": "2020"}}),
        ("year:>=2020 year:<2024", {"year": {"gte": "2020", "lt": "2024"}}),
        ("year:2020..2022", {"year": {"gte": "2020", "lte": "2022"}}),
        ("year:2020..", {"year": {"gte": "2020"}}),
        ("year:..2022", {"year": {"lte": "2022"}}),
        ("created:2024-01-01..2024-06-30", {"created": {"gte": "2024-01-01", "lte": "2024-06-30"}}),
        ("path:mm/**/*.c", {"path": {"glob": ["mm/**/*.c"]}}),
        ("path:../a..b", {"path": "../a..b"}),
        ("owning-sig:sig-auth", {"owning_sig": "sig-auth"}),
        ("milestone.stable:v1.22", {"milestone.stable": "v1.22"}),
        ("status:beta, year:2020;", {"status": "beta", "year": "2020"}),
        ("status:beta?", {"status": "beta"}),
    ],
)
def test_filters_of_a_query_are_those_of_the_filter_language(written: str, stated: dict[str, JSON]) -> None:
    query = parsed(f"keys {written}")
    assert query.text == "keys"
    assert query.where == filters.parse(stated)
    assert query.notes[0].startswith("only documents with ")


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("-year:>2020", "A range cannot be left out."),
        ("path:[z-a].c", "path"),
        ("-path:mm/*.c", "cannot leave out a pattern"),
        ("year:>1,year:>2 year:>3", "two bounds of one kind"),
        ("statsu:beta", "did you mean 'status'?"),
        ("status:,", "has no value"),
    ],
)
def test_a_filter_that_cannot_be_used_is_text_and_says_why(written: str, said: str) -> None:
    query = parsed(f"keys {written}")
    assert written.split()[-1] in query.text
    assert any(said in note and "taken as text" in note for note in query.notes)


def test_only_fields_that_documents_have_are_filters() -> None:
    assert parse_query("keys status:beta", ()).text == "keys status:beta"


@pytest.mark.parametrize("text", ['find "two words', 'find -"two', 'title:"two words', '"one two" and "three'])
def test_an_unbalanced_quotation_mark_is_text_and_noted(text: str) -> None:
    query = parsed(text)
    assert '"' in query.text
    assert "a quotation mark has no partner: it is taken as text" in query.notes


@pytest.mark.parametrize("text", ["-draft", '-"one two" -draft', "status:beta", "-status:draft -old"])
def test_a_query_without_anything_to_search_for_says_so(text: str) -> None:
    query = parsed(text)
    assert query.text == ""
    assert query.notes[-1] == "the query does not say what to search for: add a word"


@pytest.mark.parametrize(
    ("query", "passage", "admitted"),
    [
        ("keys", "anything", True),
        ('"rotate the keys"', "how to Rotate\nthe keys", True),
        ('"rotate the keys"', "rotating the key", True),
        ('"rotate the keys"', "rotate all the keys", False),
        ('"rotate the keys"', "the keys rotate", False),
        ('"api machinery"', "the sig-api-machinery group", True),
        ('"tcp_rcv_established"', "calls tcp_rcv_established()", True),
        ('"東京"', "東京都庁", True),
        ("keys -draft", "drafts of keys", False),
        ("keys -draft", "keys of the aircraft", True),
        ('keys -"old draft"', "an old key in draft", True),
        ('keys -"old draft"', "an old draft", False),
        ('"a"', "b", True),
    ],
)
def test_which_passages_a_query_admits(query: str, passage: str, admitted: bool) -> None:
    assert admits(parsed(query), passage, ANALYZER) is admitted


PIECES = st.sampled_from([*'-":“”><=,*[]1 \t', "..", "--", "status", "year", "word", "Wall"])


@given(st.one_of(st.text(max_size=80), st.lists(PIECES, max_size=30).map("".join)))
def test_nothing_raises_and_the_text_never_grows(text: str) -> None:
    query = parsed(text)
    assert len(query.text) <= len(text)
    assert query.is_plain or query.notes
    admits(query, text, ANALYZER)


@given(st.from_regex(r"[\w.,;?!'()/ -]*", fullmatch=True).filter(lambda text: " -" not in f" {text}"))
def test_plain_text_stays_as_it_is(text: str) -> None:
    assert parsed(text) == Query(text.strip())


@given(st.lists(st.from_regex(r"[a-z]{3,8}", fullmatch=True), min_size=1, max_size=4))
def test_what_is_written_as_an_operator_is_read_as_one(words: list[str]) -> None:
    together = " ".join(words)
    query = parsed(f'-{words[0]} "{together}" -"{together}" status:"{together}"')
    assert query.text == together
    assert (query.phrases, query.excluded) == ((together,), (words[0], together))
    assert query.where == filters.parse({"status": together})
