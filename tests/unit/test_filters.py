"""The filter language."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinakes.core import filters
from pinakes.core.errors import InvalidFilter
from pinakes.core.records import Condition

METADATA = {
    "Status": "Beta",
    "owning-sig": "sig-auth",
    "number": 2086,
    "ratio": 0.5,
    "draft": False,
    "created": "2021-03-04",
    "tags": ["Draft", "howto", 7],
    "path": "keps/sig-auth/2086-name/README.md",
    "stages": {"alpha": {"milestone": "v1.20"}, "beta": None},
    "empty": "",
    "file_type": "md",
    "file_extension": ".yaml",
}


@pytest.mark.parametrize(
    ("written", "passes"),
    [
        ({}, True),
        (None, True),
        ({"status": "beta"}, True),
        ({"STATUS": " BETA "}, True),
        ({"status": "alpha"}, False),
        ({"status": ["alpha", "beta"]}, True),
        ({"status": {"in": ["alpha", "beta"]}}, True),
        ({"status": {"any": ["alpha"]}}, False),
        ({"owning_sig": "SIG-Auth"}, True),
        ({"Owning SIG": "sig-auth"}, True),
        ({"number": 2086}, True),
        ({"number": "2086"}, True),
        ({"number": 2086.0}, True),
        ({"number": 2087}, False),
        ({"number": {"gte": 2000}}, True),
        ({"number": {"gte": "2000", "lte": "2086"}}, True),
        ({"number": {"gte": 2087}}, False),
        ({"ratio": {"lte": 0.5}}, True),
        ({"number": {"gt": 2085, "lt": 2087}}, True),
        ({"number": {"gt": 2086}}, False),
        ({"number": {"lt": "2086"}}, False),
        ({"number": {"gte": 2086, "lt": 2086.5}}, True),
        ({"created": {"gt": 2020}}, True),
        ({"created": {"gt": 2021}}, False),
        ({"created": {"gt": "2021-03"}}, False),
        ({"created": {"lt": "2021-03-05"}}, True),
        ({"created": {"lt": 2021}}, False),
        ({"status": {"gt": 1}}, False),
        ({"status": {"lt": 1}}, False),
        ({"status": {"ne": "alpha"}}, True),
        ({"status": {"ne": "BETA"}}, False),
        ({"status": {"ne": ["alpha", "beta"]}}, False),
        ({"tags": {"ne": "draft"}}, False),
        ({"tags": {"ne": "other"}}, True),
        ({"tags": {"in": ["howto"], "ne": "other"}}, True),
        ({"number": {"gte": 2000, "ne": 2086}}, False),
        ({"number": {"gte": 2000, "glob": "20*"}}, True),
        ({"nothing": {"ne": "here"}}, True),
        ({"draft": False}, True),
        ({"draft": "false"}, True),
        ({"draft": True}, False),
        ({"created": {"gte": "2021-03-04", "lte": "2021-03-04"}}, True),
        ({"created": {"gte": "2021-04-01"}}, False),
        ({"created": {"gte": 2021}}, True),
        ({"created": {"lte": "2021"}}, True),
        ({"created": {"lte": 2020}}, False),
        ({"created": {"gte": 2022}}, False),
        ({"status": {"gte": 1}}, False),
        ({"tags": "draft"}, True),
        ({"tags": ["other", "HOWTO"]}, True),
        ({"tags": 7}, True),
        ({"tags": {"gte": 5}}, True),
        ({"tags": "gone"}, False),
        ({"path": "keps/**/readme.MD"}, True),
        ({"path": "*.md"}, True),
        ({"path": ["*.yaml", "*.md"]}, True),
        ({"path": {"glob": "sig-auth/"}}, True),
        ({"path": {"glob": ["/README.md"]}}, False),
        ({"path": "keps/sig-auth/2086-name/readme.md"}, True),
        ({"status": {"glob": "b*"}}, True),
        ({"status": {"glob": "[[b]*"}}, True),
        ({"stages.alpha.milestone": "v1.20"}, True),
        ({"stages.beta": "none"}, False),
        ({"empty": ""}, True),
        ({"status": "beta", "number": 1}, False),
        ({"nothing": "here"}, False),
        ({"file_type": ".MD"}, True),
        ({"file_type": ["py", "md"]}, True),
        ({"file_extension": "yaml"}, True),
        ({"file_extension": ".yaml"}, True),
        ({"file_type": {"ne": ".md"}}, False),
        ({"file_type": ""}, False),
        ({"file_type": "."}, False),
        ({"file_type": "m"}, False),
    ],
)
def test_a_filter(written: dict[str, Any] | None, passes: bool) -> None:
    assert filters.match(filters.parse(written), METADATA) is passes


@pytest.mark.parametrize(
    "written",
    [
        {"": "x"},
        {"  ": "x"},
        {5: "x"},
        {"a": None},
        {"a": []},
        {"a": [None]},
        {"a": [["x"]]},
        {"a": {}},
        {"a": {"near": 1}},
        {"a": {"gt": [1]}},
        {"a": {"gt": 1, "gte": 1}},
        {"a": {"lt": 1, "lte": 1}},
        {"a": {"in": ["x"], "any": ["x"]}},
        {"a": {"ne": []}},
        {"a": {"ne": None}},
        {"a": {5: 1}},
        {"a": {"gte": None}},
        {"a": {"gte": [1]}},
        {"a": {"glob": ""}},
        {"a": {"glob": []}},
        {"a": {"glob": [1]}},
        {"a": {"glob": "!"}},
        {"a": {"glob": ["*.c"] * (filters.MAX_PATTERNS + 1)}},
        {"a": {"glob": "a[z-a]"}},
        {"path": {"glob": "*a" * 33}},
        {"path": "*" + "a" * 1000},
        {"path": "a[z-a]*"},
        {"a": {"in": []}},
        {"a": list(range(filters.MAX_VALUES + 1))},
        {f"field{number}": 1 for number in range(filters.MAX_CONDITIONS + 1)},
    ],
)
def test_a_filter_that_makes_no_sense_is_refused_with_an_example(written: Any) -> None:
    with pytest.raises(InvalidFilter) as caught:
        filters.parse(written)
    assert caught.value.hint
    assert len(caught.value.message) < 300


@pytest.mark.parametrize(("operator", "meant"), [("gte_", "gte"), ("$gte", "gte"), ("$ne", "ne"), ("globs", "glob")])
def test_a_misspelt_operator_is_refused_with_the_one_that_was_meant_and_all_there_are(
    operator: str, meant: str
) -> None:
    with pytest.raises(InvalidFilter, match=f"'year' has no operator {re.escape(repr(operator))}") as caught:
        filters.parse({"year": {operator: 3}})
    assert f"{meant!r}" in caught.value.hint
    assert all(known in caught.value.hint for known in filters.OPERATORS)


def test_conditions_are_told_as_they_would_be_written_with_long_values_cut() -> None:
    where = filters.parse({"a": {"gt": 1, "lte": "x", "ne": ["y", "z"]}, "b": ["1", "2"], "c": {"glob": "q" * 99}})
    told = sorted(filters.in_words(condition) for condition in where)
    assert told[:3] == ["a != 'y', 'z'", "a > '1' and a <= 'x'", "b = '1', '2'"]
    assert len(told[3]) < 60


def test_values_are_listed_as_they_are_written() -> None:
    assert filters.listed(["LICENSE", "README.md", True, 2.0]) == "'LICENSE', 'README.md', 'true', '2'"
    assert filters.listed(["x" * 99, *"abcdef"], 2) == f"'{'x' * 39}…', 'a', …"


@pytest.mark.parametrize(
    ("words", "written"),
    [
        ([], {}),
        (["status=beta"], {"status": "beta"}),
        (["status = beta , alpha"], {"status": ["beta", "alpha"]}),
        (["status=beta", "status=alpha"], {"status": ["beta", "alpha"]}),
        (["number>=100", "number<=200"], {"number": {"gte": 100, "lte": 200}}),
        (["path=mm/**/*.c"], {"path": {"glob": "mm/**/*.c"}}),
        (["title=a>=b"], {"title": "a>=b"}),
        (["query=x=y"], {"query": "x=y"}),
        (["status="], {"status": ""}),
        (["status==beta"], {"status": "beta"}),
        (["status!=draft", "status != old"], {"status": {"ne": ["draft", "old"]}}),
        (["number>100", "number<200"], {"number": {"gt": 100, "lt": 200}}),
        (["number>=100", "number!=150"], {"number": {"gte": 100, "ne": 150}}),
    ],
)
def test_words_of_a_command_line(words: list[str], written: dict[str, Any]) -> None:
    assert filters.parse_words(words) == filters.parse(written)


@pytest.mark.parametrize(
    "words", [["status"], ["=x"], [" >=1"], ["a>1", "a>=1"], ["a<1", "a<=1"], ["<=5"], ["!=5"], [""]]
)
def test_words_that_make_no_sense_are_refused(words: list[str]) -> None:
    with pytest.raises(InvalidFilter) as caught:
        filters.parse_words(words)
    assert caught.value.hint


def test_conditions_do_not_depend_on_the_order_of_writing() -> None:
    assert filters.parse({"a": 1, "b": 2}) == filters.parse({"b": 2, "a": 1})


def test_a_filter_is_hashable_so_that_results_can_be_remembered() -> None:
    assert hash(filters.parse({"a": ["x", "y"], "path": "*.md", "n": {"gte": 1}}))


def test_what_is_no_finite_number_is_not_compared_as_one() -> None:
    values: tuple[Any, ...] = ("nan", "inf", "-inf", 10**400, True, None, [], "v2")
    for value in values:
        assert filters.number(value) is None
    assert [filters.number(value) for value in (" 12 ", "1e3", -0.5)] == [12, 1000, -0.5]


def test_very_long_values_are_not_there_for_filters() -> None:
    long = "x" * (filters.MAX_VALUE_CHARS + 1)
    assert list(filters.flatten({"a": long, "b": "short"})) == [("b", "short")]


plain = st.one_of(st.text(max_size=12), st.integers(), st.floats(allow_nan=False), st.booleans())
names = st.text("abcXYZ_- ", min_size=1, max_size=6).filter(str.strip)
records = st.dictionaries(names, st.one_of(plain, st.none(), st.lists(plain, max_size=3)), max_size=5)


@given(records)
def test_a_document_passes_a_filter_made_of_any_of_its_own_values(metadata: dict[str, Any]) -> None:
    for name, value in filters.flatten(metadata):
        assert filters.match(filters.parse({name: value}), metadata)
        as_number = filters.number(value)
        if as_number is not None:
            assert filters.match(filters.parse({name: {"gte": as_number, "lte": as_number}}), metadata)


@given(records, names, plain)
def test_equality_is_equality_of_the_normal_texts(metadata: dict[str, Any], name: str, value: Any) -> None:
    held = {filters.normal_text(v) for n, v in filters.flatten(metadata) if n == filters.normal_name(name)}
    assert filters.match(filters.parse({name: [value]}), metadata) == (
        filters.normal_text(value) in held or _is_glob_match(name, value, held)
    )


def _is_glob_match(name: str, value: Any, held: set[str]) -> bool:
    written = filters.parse({name: [value]})[0]
    return bool(written.glob) and any(filters.glob_matches(written.glob, text) for text in held)


@given(names, plain)
def test_normal_forms_are_stable(name: str, value: Any) -> None:
    assert filters.normal_name(filters.normal_name(name)) == filters.normal_name(name)
    assert filters.normal_text(filters.normal_text(value)) == filters.normal_text(value)


@given(st.dictionaries(names, st.lists(st.text("abc*", min_size=1, max_size=4), min_size=1, max_size=3), max_size=4))
def test_parsing_gives_one_condition_per_field_with_exactly_one_kind_of_test(written: dict[str, Any]) -> None:
    found = filters.parse(written)
    assert len(found) == len(written)
    for condition in found:
        between = condition.low is not None or condition.high is not None
        kinds = [bool(condition.any_of), bool(condition.none_of), bool(condition.glob), between]
        assert sum(kinds) == 1


def test_a_condition_is_read_back_from_its_parts() -> None:
    assert filters.parse({"n": {"gte": "5"}}) == (Condition("n", low=5.0),)
    assert filters.parse({"n": {"lte": "B"}}) == (Condition("n", high="b"),)
    assert filters.parse({"n": {"gt": "5", "lt": "b"}}) == (
        Condition("n", low=5.0, high="b", low_open=True, high_open=True),
    )
    assert filters.parse({"n": {"ne": ["B", 1]}}) == (Condition("n", none_of=("b", "1")),)
    assert filters.parse({"Path": "a/*"}) == (Condition("path", glob=("a/*",)),)


@pytest.mark.parametrize("words", [["rank>4", "rank>1"], ["rank<>3"], ["rank=>3"], ["rank>>3"], ["path!=docs/*"]])
def test_what_could_be_misunderstood_is_refused(words: list[str]) -> None:
    with pytest.raises(InvalidFilter):
        filters.parse_words(words)
