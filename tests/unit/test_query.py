"""What people write into queries, and what must not be taken for an operator."""

from __future__ import annotations

import time
from string import ascii_lowercase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinakes.core import filters
from pinakes.core.records import JSON
from pinakes.search.query.syntax import MOST_PHRASES, Query, parse_query
from pinakes.text.analysis import Analyzer

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


MARKS = ['""', "“”", "„“", "„”", "””", "«»", "»«", "»»", "‹›", "「」", "『』", "《》", "〝〟", "＂＂", "‘’", "‚‘"]


@pytest.mark.parametrize("marks", MARKS)
def test_a_phrase_beside_few_words_is_required_and_searched_for(marks: str) -> None:
    query = parsed(f"find {marks[0]}two words{marks[1]} soon")
    assert (query.text, query.phrases, query.preferred) == ("find two words soon", ("two words",), ())
    assert query.notes == ('only chunks with "two words"',)


@pytest.mark.parametrize("marks", MARKS)
@pytest.mark.parametrize(
    "sentence",
    [
        "which systems use {} today",
        "the {}",
        "What is {}?",
        "articles about text formatting, for instance {} systems",
        "one two three four {}",
        "({}) in brackets",
    ],
)
def test_a_phrase_in_a_sentence_is_preferred(marks: str, sentence: str) -> None:
    query = parsed(sentence.format(f"{marks[0]}two words{marks[1]}"))
    assert (query.text, query.phrases, query.preferred) == (sentence.format("two words"), (), ("two words",))
    assert query.notes == ('chunks with "two words" come first',)


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("qui a dit « l’état, c’est moi »", "l’état, c’est moi"),
        ("„doppelte Buchführung“ und Steuer", "doppelte Buchführung"),
        ("qué es «mano negra»", "mano negra"),
        ('git commit -m "fix bug" --amend', "fix bug"),
        ('ls -la | grep "two words"', "two words"),
    ],
)
def test_a_phrase_in_a_sentence_of_another_language_or_in_a_command_is_preferred(text: str, phrase: str) -> None:
    query = parsed(text)
    assert (query.phrases, query.preferred) == ((), (phrase,))


def test_what_quotation_marks_mean_can_be_asked_for() -> None:
    assert parse_query('"two words"', (), "preferred").preferred == ("two words",)
    assert parse_query('which of these has "two words"', (), "required").phrases == ("two words",)
    assert parse_query('one\n"two words"', (), "required").phrases == ("two words",)


@pytest.mark.parametrize("common", ["to be or not to be", "what is it", "the"])
def test_a_phrase_of_stop_words_puts_nothing_first_but_can_be_required(common: str) -> None:
    query = parsed(f'who was it that said "{common}"')
    assert (query.phrases, query.preferred) == ((), ())
    assert query.notes == (f'"{common}" puts nothing first: these words are in every text',)
    assert parsed(f'"{common}"').phrases == (common,)


def test_a_single_quoted_word_of_a_paragraph_puts_nothing_first_but_a_phrase_does() -> None:
    query = parsed(f'{"some words of a paragraph " * 10} the "threshold" and the "weighted sum" of it')
    assert (query.phrases, query.preferred) == ((), ("weighted sum",))
    assert '"threshold" puts nothing first: in a paragraph a single quoted word is text' in query.notes
    assert parsed('which values of a "threshold" are used').preferred == ("threshold",)


@pytest.mark.parametrize(
    ("text", "phrases"),
    [
        ("東京の「京都市」について教えてください", ("京都市",)),
        ("what is “new art” and «old art» and „no art“ in it", ("new art", "old art", "no art")),
        ("what do the users’ rights and ‘fair use’ mean", ("fair use",)),
        ("don’t the ’90s’ users’ rights matter to it", ()),
        ('is a 19" rack better than a 3.5" one for a disk', ()),
        ('is the "hot swap"/"cold swap" choice of a 19" rack important', ("hot swap", "cold swap")),
        ("why does the “foo bar don’t close", ()),
    ],
)
def test_which_marks_are_quotation_marks(text: str, phrases: tuple[str, ...]) -> None:
    assert parsed(text).preferred == phrases


@pytest.mark.parametrize(
    "text",
    [
        'Exception in thread "main" java.lang.NullPointerException at com.foo.Bar.run(Bar.java:12)',
        'Traceback (most recent call last): File "app/main.py", line 3, in <module> TypeError: x is not "callable"',
        '  File "app/main.py", line 3, in run',
        '{"status": "beta", "title": "two words"}',
        '["one two", "three"]',
        'log.info("done"); print( "one two" );',
        '2024-05-01T12:00:03.123Z ERROR [main] pool - request "one two" failed path:/api/v1 status:beta -after 3s',
        '[2024-05-01 12:00:03,123] WARN status:beta "one two"',
        'May  1 12:00:03 host1 app[12]: said "one two" -again status:beta',
        'E0501 12:00:03.123456   12 server.go:12] "Failed to sync pod" pod="a/b" path:/x',
        '10.0.0.1 - - [10/Oct/2023:13:55:36 -0700] "GET /index.html HTTP/1.1" 200 status:beta',
        "12:00:03.5 DEBUG status:beta -again",
        'level=error msg="one two" status:beta -after',
        '<a href="x y" title="one two">',
        '"name": "one two", -draft',
    ],
)
def test_a_line_of_code_of_data_or_of_a_stack_trace_is_text(text: str) -> None:
    query = parsed(text)
    assert (query.text, query.is_plain) == (text.strip(), True)


@pytest.mark.parametrize(
    "text",
    [
        "what does the -verbose flag do",
        "-install the package and restart the server",
        "the option -name and the option -type are for what",
        "find . -name foo -type file",
        "git log --oneline -stat",
        "java -jar app.jar -verbose",
        "tar -xzf archive.tar.gz",
        "docker run -it -detach image",
        "ps -ef | grep -invert word",
        "the plan -draft or not- was late",
    ],
)
def test_a_hyphen_in_running_text_or_in_a_command_leaves_nothing_out(text: str) -> None:
    query = parsed(text)
    assert (query.text, query.excluded) == (text, ())
    assert all("is searched for as text" in note for note in query.notes)


@pytest.mark.parametrize(
    "text", ["how do we rotate the keys -draft", 'what is "a key" for? -draft', 'the -"draft" of it']
)
def test_an_exclusion_behind_a_sentence_or_in_quotation_marks_is_meant(text: str) -> None:
    assert parsed(text).excluded == ("draft",)


def test_no_more_phrases_and_exclusions_count_than_can_be_looked_up() -> None:
    phrases = parsed(" ".join(f'"two words{i}"' for i in range(40)))
    assert len(phrases.phrases) == MOST_PHRASES
    assert "only the first 20 of 40 phrases count: the others are text" in phrases.notes
    assert "two words39" in phrases.text
    excluding = parsed(" ".join(f'-"not this{i}"' for i in range(40)))
    assert len(excluding.excluded) == MOST_PHRASES
    assert "no more than 20 words can be left out: the others are text" in excluding.notes
    assert "not this39" in excluding.text


@pytest.mark.parametrize(
    "sign", ['"', "“", "„", "«", "»", "「", "‘", "'", '"a ', ' "', "“a", '("', 'a:"', "-a ", "at a.", "$", "“„"]
)
def test_a_many_thousand_signs_take_linear_time(sign: str) -> None:
    start = time.process_time()
    query = parsed(sign * (30_000 // len(sign)))
    assert time.process_time() - start < 3
    assert len(query.phrases) + len(query.preferred) <= MOST_PHRASES


def test_several_phrases_and_exclusions() -> None:
    query = parsed('"one two", next -draft three "four" -"five six".')
    assert query.text == "one two, next three four ."
    assert query.phrases == ("one two", "four")
    assert query.excluded == ("draft", "five six")
    assert query.notes == (
        'only chunks with "one two", "four"',
        'chunks with "draft", "five six" are left out',
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


def test_a_time_in_a_question_makes_no_line_of_a_log_of_it() -> None:
    query = parsed('what was "one two" at 12:00:03 status:beta')
    assert query.preferred == ("one two",)
    assert query.where == filters.parse({"status": {"in": ["beta"]}})
    assert parsed("12:00:03? status:beta").where
    assert parsed("2024-05-01 status:beta").where
    assert parsed('level=error "one two"').phrases == ("one two",)


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


PIECES = st.sampled_from([*'-":“”„«»「」‘’><=,*[]1 \t', "..", "--", "status", "year", "word", "Wall"])


@given(st.one_of(st.text(max_size=80), st.lists(PIECES, max_size=30).map("".join)))
def test_nothing_raises_and_the_text_never_grows(text: str) -> None:
    query = parsed(text)
    assert len(query.text) <= len(text)
    assert query.is_plain or query.notes


@given(st.from_regex(r"[\w.,;?!'()/ -]*", fullmatch=True).filter(lambda text: " -" not in f" {text}"))
def test_plain_text_stays_as_it_is(text: str) -> None:
    assert parsed(text) == Query(text.strip())


@given(st.lists(st.text(ascii_lowercase, min_size=3, max_size=8), min_size=1, max_size=4))
def test_what_is_written_as_an_operator_is_read_as_one(words: list[str]) -> None:
    together = " ".join(words)
    query = parsed(f'"{together}" -"{together}" status:"{together}" -{words[0]}')
    assert query.text == together
    assert (query.phrases, query.excluded) == ((together,), (together, words[0]))
    assert query.where == filters.parse({"status": together})
