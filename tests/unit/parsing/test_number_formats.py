"""Numbers are shown as the format of their cell shows them."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinakes.parsing.numberformats import BUILT_IN, displayed


@pytest.mark.parametrize(
    ("value", "code", "shown"),
    [
        (0.1234, "0.00%", "12.34%"),
        (0.25, "0%", "25%"),
        (42, "00000", "00042"),
        (123456789, "000-00-0000", "123-45-6789"),
        (5551234, "000-0000", "555-1234"),
        (1234567.891, "#,##0.00", "1,234,567.89"),
        (1500000, '0.0,,"M"', "1.5M"),
        (1234.5, '"$"#,##0.00', "$1,234.50"),
        (1234, "[$€-407] #,##0.00", "€ 1,234.00"),
        (1234.5, '_-* #,##0.00\\ "€"_-', "1,234.50 €"),
        (-5.5, "0.00;[Red](0.00)", "(5.50)"),
        (-1234, "#,##0", "-1,234"),
        (0, '0;-0;"none"', "none"),
        (5, '[>=100]"big";"small"', "small"),
        (150, '[>=100]"big";"small"', "big"),
        (99.995, "0.00", "100.00"),
        (-0.001, "0.00", "0.00"),
        (12345, "0.00E+00", "1.23E+04"),
        (1.25, "# ?/?", "1 1/4"),
        (0.1, "# ?/8", "1/8"),
        (1.5, "[h]:mm", "36:00"),
        (1.0423611, "[h]:mm:ss", "25:01:00"),
        (-1.5, "[h]:mm", "-36:00"),
        (0.0423611, "[mm]:ss", "61:00"),
        (61.5 / 86400, "mm:ss.0", "01:01.5"),
        (45356, "d-mmm-yy", "5-Mar-24"),
        (45356, "[$-409]mmmm d, yyyy;@", "March 5, 2024"),
        (45356.25, "dd.mm.yyyy hh:mm", "05.03.2024 06:00"),
        (45356, 'yyyy"年"m"月"d"日"', "2024年3月5日"),
        (45356, "dddd", "Tuesday"),
        (0.5, "h:mm AM/PM", "12:00 PM"),
        (1, "yyyy-mm-dd", "1900-01-01"),
        (0.1 + 0.2, "General", "0.3"),
        (123456789012, "General", "123456789012"),
        ("abc", '"ID "@', "ID abc"),
        ("abc", "0.00", "abc"),
    ],
)
def test_a_value_is_shown_as_its_format_says(value: float | str, code: str, shown: str) -> None:
    assert displayed(value, code) == shown


def test_dates_of_the_other_calendar_begin_four_years_later() -> None:
    assert displayed(43894, "yyyy-mm-dd", since_1904=True) == displayed(45356, "yyyy-mm-dd") == "2024-03-05"


@given(st.floats() | st.integers(-(10**15), 10**15), st.text('0#?.,%/Ee+-;@[]hmsdy"\\_* $<>=1(9)', max_size=30))
def test_no_format_is_an_error(value: float, code: str) -> None:
    displayed(float(value), code)


@given(st.integers(-(10**14), 10**14), st.sampled_from(["0", "#,##0", "General", "0.00", BUILT_IN[37], BUILT_IN[44]]))
def test_no_digit_of_a_whole_number_is_lost(value: int, code: str) -> None:
    digits = "".join(char for char in displayed(value, code).partition(".")[0] if char.isdigit())
    assert digits == (str(abs(value)) if value or code != BUILT_IN[44] else "")


@pytest.mark.parametrize(
    "code", ["0" * 100_000, "[" * 100_000, '"' * 99_999, "0/" * 50_000, "#,##0." + "0" * 100_000, "h:" * 50_000]
)
def test_formats_that_are_made_to_be_slow_are_not(code: str) -> None:
    begun = time.process_time()
    for value in (1e300, -1e-300, 12.5):
        displayed(value, code)
    assert time.process_time() - begun < 2
