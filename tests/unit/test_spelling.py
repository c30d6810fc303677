"""Words that no chunk has, and what was probably meant; over a real keyword index."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from string import ascii_lowercase

import pytest
from benchmarks.quality.spelling import edited
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import OSA

from pinakes.core.ports import Lexicon
from pinakes.core.records import IndexEntry
from pinakes.indexes.keyword.stored_terms import TermWriter
from pinakes.indexes.keyword.tantivy_index import KeywordIndex
from pinakes.search.query.spelling import absent, corrected, missing, other_words
from pinakes.settings import SearchSettings
from pinakes.text.analysis import Analyzer

CHUNKS = [
    *["The scheduler schedules every scheduling cycle."] * 4,
    *["Rotation of the signing keys is automatic."] * 3,
    "A schema was scheduled with kube-scheduler by kthread_create_on_node.",
    "A CustomResourceDefinition, rotating.",
    "Reboot the host, reroot the tree, robots everywhere.",
    "Réveil: 東京都庁前 планировщик",
]


def index_of(folder: Path, chunks: Sequence[str]) -> KeywordIndex:
    analyzer = Analyzer()
    index = KeywordIndex(folder / "documents", "documents", analyzer, search=SearchSettings(), lock_timeout_s=5)
    entries = [
        IndexEntry(number, number, "Handbuch", "", "", chunk, (), None) for number, chunk in enumerate(chunks, 1)
    ]
    wording = TermWriter(analyzer)
    index.apply([], wording.documents(wording.chunks(entries)), 1)
    return index


@pytest.fixture(scope="module")
def lexicon(tmp_path_factory: pytest.TempPathFactory) -> Lexicon:
    return index_of(tmp_path_factory.mktemp("index"), CHUNKS).lexicon()


@pytest.mark.parametrize(
    "query",
    [
        "",
        "signing keys rotation",
        "Schedules SCHEDULED schedule's",
        "what would herself themselves between",
        "rotates rotate",
        "kube-scheduler custom resources definitions",
        "the cat ox 12345 0xabcdef 5.17.3 https://example.orgg/schedulr",
        "pod api",
    ],
)
def test_nothing_is_said_of_words_that_stand_somewhere(query: str, lexicon: Lexicon) -> None:
    assert missing(query, lexicon) == ()


@pytest.mark.parametrize(
    ("query", "notes"),
    [
        ("signing keys of the host is a", []),
        ("rotation Z", ["'Z' as a word by itself"]),
        ("7 keys", ["'7' as a word by itself"]),
        ("a", ["'a' as a word by itself"]),
        ("C++ and R&D", ["'C++'", "'R&D'"]),
        ("ask IT", ["'ask'", "'IT' in capitals"]),
        ("RFC-0011 v1.10 2031", ["'RFC-0011'", "'v1.10'", "'2031'"]),
        ("a b c d e f g h", [f"{letter!r} as a word by itself" for letter in "bcdef"]),
        ("see https://example.org/a 0xabcdef", ["'see'"]),
        ("what is it", []),
        ("東京 札幌", []),
        ("keys " * 20 + "Z", []),
        ("", []),
    ],
)
def test_short_words_that_stand_nowhere_are_named(query: str, notes: list[str], lexicon: Lexicon) -> None:
    assert [one.note for one in absent(query, lexicon)] == [f"no chunk has {note}" for note in notes]


def test_a_short_word_that_is_one_word_with_that_beside_it_is_not_named(tmp_path: Path) -> None:
    words = index_of(tmp_path, ["Files are read as utf-8 text, not as utf-16 or cp437."]).lexicon()
    for query in ("utf 8", "utf 16 text", "cp 437"):
        assert absent(query, words) == (), query
    assert [one.word for one in absent("utf 9", words)] == ["9"]


def test_of_words_that_are_nowhere_the_parts_or_the_whole_hash_are_searched_for(tmp_path: Path) -> None:
    whole = "9fceb02d0ae598e95dc970b74767f19372d61af8"
    words = index_of(tmp_path, ["The data center is cooled.", f"It came with commit {whole}."]).lexicon()
    assert other_words(["datacenter"], words) == {"datacenter": "data center"}
    assert other_words(["9fceb02", "9FCEB02D0AE5"], words) == {"9fceb02": whole, "9FCEB02D0AE5": whole}
    assert other_words(["scheduler", "deadbee", "datacentre", "1234567", "a" * 50_000], words) == {}


def test_a_number_of_an_account_that_stands_in_other_groups_is_not_named(tmp_path: Path) -> None:
    words = index_of(tmp_path, ["Pay to DE12500105170648489890 or GB82 WEST 1234 5698 7654 32."]).lexicon()
    for query in ("DE12 5001 0517 0648 4898 90", "GB82WEST12345698765432"):
        assert absent(query, words) == (), query
    assert absent("DE12 5001 0517 0648 4898 91", words)


def test_beside_a_number_of_an_account_other_words_with_digits_are_named(tmp_path: Path) -> None:
    words = index_of(tmp_path, ["Pay to DE12500105170648489890 or GB82 WEST 1234 5698 7654 32."]).lexicon()
    for number in ("DE12 5001 0517 0648 4898 90", "GB82WEST12345698765432"):
        assert [one.word for one in absent(f"{number} rfc Z9 X7", words)] == ["rfc", "Z9", "X7"], number
    found = absent("DE12 5001 0517 0648 4898 90 or DE12 7001 0517 0648 4898 91", words)
    assert [one.word for one in found] == ["7001", "91"]


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("schedulr", "scheduler"),
        ("shceduler", "scheduler"),
        ("cheduler", "scheduler"),
        ("xscheduler", "scheduler"),
        ("acheduler", "scheduler"),
        ("csheduler", "scheduler"),
        ("sceduler", "scheduler"),
        ("rotatoin", "rotation"),
        ("Rotaton", "rotation"),
        ("automatc", "automatic"),
        ("планировшик", "планировщик"),
        ("kthread_creat_on_node", "kthread_create_on_node"),
        ("kube-schedulr", "kube-scheduler"),
        ("CustomResourceDefintion", "customresourcedefinition"),
    ],
)
def test_the_nearest_word_is_found_wherever_the_mistake_is(wrong: str, right: str, lexicon: Lexicon) -> None:
    [found] = missing(f"the {wrong} of keys", lexicon)
    assert (found.word, found.near[0].word) == (wrong, right)
    assert found.note.startswith(f"no chunk has {wrong!r}: did you mean {right!r}")


def test_a_word_that_nothing_resembles_is_named_all_the_same(lexicon: Lexicon) -> None:
    [found] = missing("zyzzyva keys zyzzyva", lexicon)
    assert (found.near, found.sure, found.note) == ((), False, "no chunk has 'zyzzyva'")


def test_the_nearer_word_comes_first_and_of_equals_the_more_frequent(lexicon: Lexicon) -> None:
    [found] = missing("schedulee", lexicon)
    assert [(near.word, near.distance, near.documents) for near in found.near] == [
        ("scheduler", 1, 5),
        ("schedules", 1, 4),
        ("scheduled", 1, 1),
    ]


def test_a_word_is_replaced_only_where_there_is_no_doubt(lexicon: Lexicon) -> None:
    query = "Schedulr rotatoin, reboots rebot kthread_create_on_nod tokio"
    found = missing(query, lexicon)
    sure = {one.word: one.near[0].word for one in found if one.sure}
    assert sure == {"Schedulr": "scheduler", "rotatoin": "rotation"}
    assert corrected(query, found) == "Scheduler rotation, reboots rebot kthread_create_on_nod tokio"


@pytest.mark.parametrize("wrong", ["robts", "keyz"])
def test_rare_and_short_words_are_never_replaced(wrong: str, lexicon: Lexicon) -> None:
    [found] = missing(wrong, lexicon)
    assert found.near
    assert not found.sure
    assert corrected(wrong, [found]) == wrong


def test_a_query_in_another_language_is_given_up_at_the_second_word_that_nothing_resembles(lexicon: Lexicon) -> None:
    found = missing("niemand versteht diese lange schedulr Anfrage", lexicon)
    assert [one.word for one in found] == ["niemand", "versteht"]
    found = missing("niemand schedulr versteht diese lange Anfrage", lexicon)
    assert [one.word for one in found] == ["niemand", "schedulr", "versteht"]


def test_at_most_five_misspelt_words_are_looked_into(lexicon: Lexicon) -> None:
    found = missing("schedulr rotatoin automatc reboott robotss schemaa everywher", lexicon)
    assert [one.word for one in found] == ["schedulr", "rotatoin", "automatc", "reboott", "robotss"]


def test_words_are_kept_as_written_whole_and_in_parts_without_numbers_and_hashes() -> None:
    text = "Rotating tcp_rcv_established 12345 v1.24 " + "0123456789abcdef" * 3
    entry = IndexEntry(1, 1, "", "", "", text, (), None)
    wording = TermWriter(Analyzer())
    assert wording.documents(wording.chunks([entry]))[0].spelled == {
        *("rotating", "tcp_rcv_established", "tcp", "rcv", "established", "v1.24", "v1")
    }


def test_a_word_of_removed_chunks_is_not_proposed(tmp_path: Path) -> None:
    index = index_of(tmp_path, ["rotation of keys", "keys"])
    index.apply([1], [], 2)
    found = missing("rotaton", index.lexicon())
    assert [one.near for one in found] == [()]


@given(st.text(ascii_lowercase, min_size=6, max_size=12), st.integers(0, 1000))
def test_the_benchmark_misspells_a_word_by_exactly_one_edit(word: str, seed: int) -> None:
    assert OSA.distance(edited(word, random.Random(seed)), word) == 1
