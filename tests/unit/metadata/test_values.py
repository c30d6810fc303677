"""Texts become dates, numbers, booleans and lists, or are told to be none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinakes.core.errors import InvalidFilter
from pinakes.core.filters import match, parse
from pinakes.metadata import typed, typed_filter, value_of
from pinakes.metadata.values import date_in
from pinakes.settings import FieldType


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("2024-03-05", "2024-03-05"),
        ("2024/3/5", "2024-03-05"),
        ("2024.03.05", "2024-03-05"),
        ("20240305", "2024-03-05"),
        ("2024-03", "2024-03"),
        ("2024", "2024"),
        (2024, "2024"),
        ("5 March 2024", "2024-03-05"),
        ("5th of March, 2024", "2024-03-05"),
        ("March 5, 2024", "2024-03-05"),
        ("Mar 5th 2024", "2024-03-05"),
        ("Tuesday, March 5, 2024", "2024-03-05"),
        ("05-Mar-2024", "2024-03-05"),
        ("Sept. 2023", "2023-09"),
        ("5.3.2024", "2024-03-05"),
        ("25/12/2024", "2024-12-25"),
        ("12/25/2024", "2024-12-25"),
        ("03/03/2024", "2024-03-03"),
        ("[2020-09-17 Thu 16:21]", None),
        ("[2020-09-17 Thu]", "2020-09-17"),
        ("2024-03-05T10:00:00+02:00", "2024-03-05T08:00:00Z"),
        ("2024-03-05 10:00", "2024-03-05T10:00:00"),
        ("2024-05-01 12:30:43.488421 +0000 UTC", "2024-05-01T12:30:43Z"),
        ("Tue, 05 Mar 2024 10:00:00 +0000", "2024-03-05T10:00:00Z"),
        ("03/05/2024", None),
        ("2023-14-05", None),
        ("2024-02-30", None),
        ("soon", None),
        ("", None),
        (True, None),
        ("1" * 5000, None),
    ],
)
def test_dates_of_usual_forms_are_written_one_way(text: object, made: str | None) -> None:
    assert value_of("date", text) == made


def test_the_order_of_day_and_month_may_be_said() -> None:
    assert (value_of("date_dmy", "03/05/2024"), value_of("date_mdy", "03/05/2024")) == ("2024-05-03", "2024-03-05")


@given(st.dates())
def test_a_written_date_stays_as_it_is(day: object) -> None:
    assert value_of("date", str(day)) == str(day)


@given(st.text(max_size=60), st.sampled_from(["date", "number", "boolean", "list", "text"]))
def test_no_text_is_too_strange(text: str, kind: FieldType) -> None:
    made = value_of(kind, text)
    again = value_of(kind, made) if isinstance(made, str) else made
    assert again == made


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("1,234.50", 1234.5),
        ("$1,234", 1234),
        ("€ 99.90", 99.9),
        ("12 %", 12),
        ("1 234 567", 1234567),
        ("-3", -3),
        ("2.5e3", 2500),
        (7, 7),
        ("1,5", None),
        ("1.234,56", None),
        ("12 apples", None),
        ("nan", None),
        ("1e999", None),
        (True, None),
    ],
)
def test_numbers_are_read_where_they_are_plain(text: object, made: float | None) -> None:
    assert value_of("number", text) == made


def test_truths_and_lists() -> None:
    assert [value_of("boolean", one) for one in ("Yes", "off", True, "perhaps")] == [True, False, True, None]
    assert value_of("list", "a, b;c\nd") == ["a", "b", "c", "d"]


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("talks/2024-03-05-badgers.md", "2024-03-05"),
        ("blog/2024/03/x.md", "2024-03"),
        ("blog/2024/03/05/x.md", "2024-03-05"),
        ("x/20240305.md", "2024-03-05"),
        ("kep/202403-x.md", None),
        ("2024-13-05.md", None),
        ("v1.2024.md", None),
        ("9920240305.md", None),
    ],
)
def test_dates_are_found_in_paths(path: str, found: str | None) -> None:
    assert date_in(path) == found


def test_values_that_are_none_of_their_type_are_left_out_and_named() -> None:
    made = typed(
        {"Date-Published": "next week", "price": ["10", "cheap"], "tags": "a, b", "other": "x", "draft": "no"},
        {"date_published": "date", "price": "number", "tags": "list", "draft": "boolean"},
    )
    assert made == {
        "price": [10],
        "tags": ["a", "b"],
        "other": "x",
        "draft": False,
        "metadata_errors": ["Date-Published: 'next week' is not a date", "price: 'cheap' is not a number"],
    }
    assert typed({"price": {"net": 3}}, {"price": "number"})["metadata_errors"] == [
        "price: \"{'net': 3}\" is not a number"
    ]
    assert typed({"price": "", "date": None}, {"price": "number", "date": "date"}) == {"price": "", "date": None}


def test_a_range_of_a_typed_field_compares_dates_with_dates() -> None:
    types: dict[str, FieldType] = {"day": "date", "price": "number"}
    documents = [typed({"day": day}, types) for day in ("5 March 2024", "2023", "whenever", "2024-07")]
    where = typed_filter(parse({"day": {"gte": "March 2024", "lt": "1 June 2024"}}), types)
    assert [match(where, one) for one in documents] == [True, False, False, False]
    since = typed_filter(parse({"day": {"gte": 2024}}), types)
    assert [match(since, one) for one in documents] == [True, False, False, True]
    assert match(typed_filter(parse({"price": {"gt": "$1,000"}}), types), typed({"price": "1,234"}, types))
    assert match(typed_filter(parse({"day": "5 March 2024"}), types), documents[0])


def test_a_filter_that_is_none_of_its_fields_type_is_refused() -> None:
    with pytest.raises(InvalidFilter, match="'day' cannot be 'soon': the field holds a date"):
        typed_filter(parse({"day": {"gte": "soon"}}), {"day": "date"})
