"""Other spellings of the words of a query."""

from __future__ import annotations

import pytest
from linear import assert_linear

from pinakes.text.analysis import Analyzer

ANALYZER = Analyzer()


def searched(query: str) -> set[str]:
    """Return all terms that a query is looked up by."""
    return {form for term in ANALYZER.query(query) for form in (term.text, *term.others)}


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("O'Brien", "obrien"),
        ("O’Connor", "oconnor"),
        ("OBrien", "o'brien"),
        ("obrien", "O’Brien"),
        ("O Brien", "O'Brien"),
        ("dangelo", "D'Angelo"),
        ("12,5 %", "12.5%"),
        ("1,249.00", "1249.00"),
        ("1.249,00", "1249"),
        ("2'500", "2500"),
        ("10 um", "10 µm"),
        ("10 μm", "10 um"),
        ("10 um", "10µm"),
        ("10um", "10µm"),
        ("10µm", "10 um"),
        ("16 GB", "16GB"),
        ("16GB", "16 GB"),
        ("1.9.0", "v1.9.0"),
        ("v1.9.0", "1.9.0"),
        ("1.10.0-rc.2", "v1.10.0-rc.2"),
        ("ISO27001", "ISO 27001"),
        ("RFC0011", "RFC-0011"),
        ("KB 5034441", "KB5034441"),
        ("80070643", "0x80070643"),
        ("12.5m", "12.5 m"),
        ("230V", "230 V"),
        ("24 V", "24V"),
        ("3 l", "3l"),
        ("9fceb02d0ae598e95dc970b74767f19372d61af8", "9fceb02d"),
        ("3f2b8c1e7d444b0a9c551a2b3c4d5e6f", "3f2b8c1e-7d44-4b0a-9c55-1a2b3c4d5e6f"),
        ("001A2B3C4D5E", "00:1A:2B:3C:4D:5E"),
        ("Q & A", "Q&A"),
        ("AT and T", "AT&T"),
        ("csharp", "C#"),
        ("dotnet", ".NET"),
        ("call +49 30 901820", "4930901820"),
        ("kb 5034441", "KB5034441"),
        ("vitamin B 12", "B12"),
        ("o brien", "O'Brien"),
        ("2500", "2.500"),
        ("2 500 EUR", "2500"),
        ("3,750.00", "3.750"),
        ("1850 CHF", "1'850"),
        ("07.09.2021", "2021-09-07"),
        ("2021-09-07", "7.9.2021"),
        ("7 September 2021", "2021-09-07"),
        ("Sept. 7th, 2021", "07.09.2021"),
        ("7. Oktober 2021", "2021-10-07"),
        ("2021/09/07", "2021-09-07"),
        ("25/12/2021", "2021-12-25"),
    ],
)
def test_is_looked_up_in_the_spelling_of_the_text(query: str, text: str) -> None:
    terms = ANALYZER.terms(text)
    assert terms[0] in searched(query)
    assert len(text.split()) == 1 or set(terms) <= searched(query)


@pytest.mark.parametrize(
    "query",
    [
        "how do we rotate the signing keys",
        "options 2, 3 and 4",
        "chapter 7 of book 12",
        "salt and pepper",
        "facade of the deadbeef",
        "int64 utf8 h264",
        "the year 2024",
        "may 45 2021",
        "on 05/11/2023",
        "go 120 miles",
        "die 100 besten",
        "plan b 12 months",
        "host 192.168.100.200",
    ],
)
def test_other_words_add_nothing_but_names_that_no_text_has(query: str) -> None:
    added = {term.text for term in ANALYZER.query(query)} - set(ANALYZER.terms(query))
    assert not added, added


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("2.500 EUR", "2,500"),
        ("12'500", "12 500"),
        ("2023-11-05", "5 November 2023"),
        ("05.11.2023", "November 5, 2023"),
        ("Nov 5 2023", "5 November 2023"),
        ("2023-10-05", "5 Oktober 2023"),
        ("KB 5034441", "KB 5034441"),
        ("5th November 2023", "5th November 2023"),
        ("2500 and 2.500", "2,500"),
    ],
)
def test_is_looked_up_in_the_words_of_the_text_in_a_row(query: str, text: str) -> None:
    assert tuple(ANALYZER.terms(text)) in {phrase for term in ANALYZER.query(query) for phrase in term.phrases}


@pytest.mark.parametrize(
    "query",
    [
        *("2024", "v1.9.0", "12", "RFC-0011", "99999999999999", "31.02.2021"),
        *("ticket 12345", "port 8080", "ubuntu 22.04", "python 3.12", "9.99", "2500.50", "192.168.100.200"),
        *("05/11/2023", "go 120 miles", "get 404", "may 2023", "plan b 12 months"),
    ],
)
def test_no_neighbouring_numbers_stand_for_a_number(query: str) -> None:
    phrases = [phrase for term in ANALYZER.query(query) for phrase in term.phrases]
    assert not [one for one in phrases if all(map(str.isdecimal, one))]


def test_numbers_alone_in_a_row_are_no_date() -> None:
    phrases = {phrase for term in ANALYZER.query("2023-11-05") for phrase in term.phrases}
    assert phrases
    assert not [one for one in phrases if all(map(str.isdecimal, one))]


@pytest.mark.parametrize("unit", ["1,", "+1 ", "9", "a & ", "O ", "1.1", "1 234 ", "5 May "])
def test_other_spellings_of_long_texts_take_linear_time(unit: str) -> None:
    assert_linear(ANALYZER.query, lambda count: unit * count, 4_000)
