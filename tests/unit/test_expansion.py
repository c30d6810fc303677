"""Abbreviations and synonyms beside the words of a query, identifiers as they are."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinakes.core.errors import InvalidSetting
from pinakes.search.query.expansion import Synonym, expand
from pinakes.settings import ExpansionSettings, load

TABLES = ExpansionSettings(
    enabled=True,
    abbreviations={"alloc": ("allocation", "allocate"), "mem": ("memory",), "tlb": ("translation lookaside buffer",)},
    synonyms={"lock": ("mutex", "semaphore"), "memory": ("heap", "stack")},
)


@pytest.fixture
def kernel(tmp_path: Path) -> ExpansionSettings:
    return load(home=tmp_path, environment={}, profile="kernel").expansion


def test_the_first_example_of_s2_11(kernel: ExpansionSettings) -> None:
    expansion = expand("memory allocation ERROR in CONFIG_NUMA", kernel)
    assert expansion.abbreviations == "memory allocation allocation allocate ERROR bug fault in CONFIG_NUMA"
    assert expansion.text == "memory heap stack allocation allocation allocate error bug fault in CONFIG_NUMA"
    assert expansion.preserved
    assert expansion.preserved == ("CONFIG_NUMA",)


def test_the_second_example_of_s2_11(kernel: ExpansionSettings) -> None:
    expansion = expand("buffer overflow security issue", kernel)
    assert expansion.text == "buffer overflow security vulnerability exploit cve issue"
    assert not expansion.preserved
    assert expansion.preserved == ()


@pytest.mark.parametrize(
    ("text", "tidy"),
    [
        ("", ""),
        ("  \t\n ", ""),
        ("!!!", "!"),
        (".....", "..."),
        ("...", "..."),
        ("what??  now!!", "what? now!"),
        ("if !!x", "if !!x"),
        ("a::b", "a::b"),
    ],
)
@pytest.mark.parametrize("enabled", [True, False])
def test_blanks_and_repeated_punctuation(text: str, tidy: str, enabled: bool) -> None:
    expansion = expand(text, ExpansionSettings(enabled=enabled))
    assert (expansion.original, expansion.text) == (tidy, tidy)


@pytest.mark.parametrize(
    "name",
    ["snake_case", "CamelCase", "CONSTANT_CASE", "kfree()", "0x1F", "5.4.0", "CONFIG_MEM", "mm/mem.c", "mem_lock()"],
)
def test_identifiers_are_kept_as_written_and_nothing_is_added_for_their_parts(name: str) -> None:
    expansion = expand(f"Fix {name} Now", TABLES)
    assert expansion.text == f"fix {name} now"
    assert (expansion.preserved, expansion.added) == ((name,), ())


def test_the_original_stays_and_what_was_added_says_because_of_what() -> None:
    expansion = expand("Mem ALLOC, lock!", TABLES)
    assert expansion.abbreviations == "Mem memory ALLOC allocation allocate, lock!"
    assert expansion.text == "mem memory heap stack alloc allocation allocate, lock mutex semaphore!"
    assert expansion.added == (
        Synonym("memory", "Mem", "abbreviations"),
        Synonym("allocation", "ALLOC", "abbreviations"),
        Synonym("allocate", "ALLOC", "abbreviations"),
        Synonym("heap", "memory", "synonyms"),
        Synonym("stack", "memory", "synonyms"),
        Synonym("mutex", "lock", "synonyms"),
        Synonym("semaphore", "lock", "synonyms"),
    )
    assert expansion.terms == ("memory", "allocation", "allocate", "heap", "stack", "mutex", "semaphore")
    assert expansion.notes == (
        "also searched for: memory (for Mem); allocation, allocate (for ALLOC); heap, stack (for memory); "
        "mutex, semaphore (for lock)",
    )


def test_an_abbreviation_may_stand_for_several_words() -> None:
    assert expand("tlb", TABLES).terms == ("translation lookaside buffer",)


def test_what_was_asked_for_is_not_among_the_terms_to_weigh_less() -> None:
    expansion = expand("mem memory stack", TABLES)
    assert expansion.text == "mem memory heap memory stack"
    assert expansion.terms == ("heap",)


def test_a_shouted_word_is_a_word_and_a_constant_is_a_name() -> None:
    expansion = expand("LOCK or LOCK_MAX", TABLES)
    assert expansion.text == "lock mutex semaphore or LOCK_MAX"


def test_expansion_is_off_unless_it_is_switched_on(tmp_path: Path) -> None:
    settings = load(home=tmp_path, environment={}, expansion__synonyms={"lock": ["mutex"]}).expansion
    expansion = expand("Where is the LOCK of CONFIG_NUMA", settings)
    assert expansion.text == expansion.abbreviations == expansion.original == "Where is the LOCK of CONFIG_NUMA"
    assert (expansion.added, expansion.terms, expansion.notes) == ((), (), ())
    assert expansion.preserved


def test_rows_of_a_home_come_to_those_of_its_profile(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text('[expansion.synonyms]\nlock = ["latch"]\nfrob = ["twiddle"]\n')
    synonyms = load(home=tmp_path, environment={}, profile="kernel").expansion.synonyms
    assert synonyms["lock"] == ("latch",)
    assert synonyms["frob"] == ("twiddle",)
    assert "vulnerability" in synonyms["security"]


def test_a_table_is_written_as_json_where_only_texts_can_be(tmp_path: Path) -> None:
    environment = {"PINAKES_EXPANSION__SYNONYMS": '{"lock": ["latch"]}'}
    assert load(home=tmp_path, environment=environment, profile="kernel").expansion.synonyms == {"lock": ("latch",)}
    with pytest.raises(InvalidSetting, match="a table of names and values"):
        load(home=tmp_path, environment={"PINAKES_EXPANSION__SYNONYMS": "lock=latch"})


def test_capitals_in_a_table_make_no_difference() -> None:
    tables = ExpansionSettings(enabled=True, abbreviations={"API": ("interface",)}, synonyms={"Straße": ("road",)})
    assert expand("the Api of a STRASSE", tables).terms == ("interface", "road")


@pytest.mark.parametrize(
    ("synonyms", "said"),
    [
        ({"out of memory": ["oom"]}, "has a row for 'out of memory', which is no single word"),
        ({"c++": ["cpp"]}, "has a row for 'c++', which is no single word"),
        ({"": ["nothing"]}, "has a row for '', which is no single word"),
        ({"API": ["interface"], "api": ["contract"]}, "has two rows for 'api'"),
    ],
)
def test_a_row_that_would_do_nothing_is_refused(tmp_path: Path, synonyms: dict[str, list[str]], said: str) -> None:
    with pytest.raises(InvalidSetting) as raised:
        load(home=tmp_path, environment={}, expansion__synonyms=synonyms)
    assert raised.value.message.startswith(f"Setting 'expansion.synonyms' {said}")


def test_a_table_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidSetting, match=r"expansion\.synonyms"):
        load(home=tmp_path, environment={}, expansion__synonyms=["lock"])


def test_the_tables_of_the_kernel_profile_can_all_be_met(kernel: ExpansionSettings) -> None:
    for table in (kernel.abbreviations, kernel.synonyms):
        for word, row in table.items():
            assert word == word.casefold()
            assert row
            assert all(term.strip() and term == term.casefold() for term in row)
            assert word in expand(word, kernel).text.split()


@given(st.text(max_size=100))
def test_nothing_that_was_asked_for_is_lost(text: str) -> None:
    expansion = expand(text, TABLES)
    found = iter(expansion.text.casefold())
    assert all(char in found for char in "".join(expansion.original.casefold().split()))
    assert bool(expansion.added) == (expansion.text != expand(text, ExpansionSettings(enabled=True)).text)
