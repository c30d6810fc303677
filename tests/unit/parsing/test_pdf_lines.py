"""Headers, footers and page numbers of PDF go; lines that differ in numbers are values, and stay."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from printed_pdf import lines, printed

from pinakes import parsing
from pinakes.core.records import Document
from pinakes.parsing.pdf_headers import cleaned

BODY = [
    "The members of the board came together in the large hall",
    "and heard the report of the treasurer on the past year",
    "which was read and talked about for an hour",
    "before the chair thanked all who had come",
]


def read(pages: list[list[str]]) -> Document:
    return parsing.read(printed([lines(*page) for page in pages]), "a.pdf", max_chars=1_000_000)


def lost(pages: list[list[str]], document: Document) -> list[str]:
    said = " ".join(document.text.split())
    return [line for page in pages for line in page if line not in said]


def invoices() -> list[list[str]]:
    return [
        [
            "Timber Ltd",
            f"Invoice 2024-{at:03}",
            f"Customer {1007 + 10 * at}",
            *BODY,
            f"Total due: {at}12.50 EUR",
            f"Payable until {10 + at}.03.2024",
        ]
        for at in range(1, 7)
    ]


def certificates() -> list[list[str]]:
    names = ["Ada", "Ben", "Cleo", "Dan", "Eve"]
    return [
        ["Certificate of attendance", f"Certificate {at}", names[at - 1], *BODY, f"Hours: {at}"] for at in range(1, 6)
    ]


def results() -> list[list[str]]:
    return [
        [
            f"Sample {400 + at}",
            f"Glucose {80 + at} mg/dl",
            "Reference 70 to 99",
            *BODY,
            f"Sodium {130 + at}",
            f"Age {40 + at}",
        ]
        for at in range(1, 8)
    ]


def minutes() -> list[list[str]]:
    return [
        [f"Meeting No. {at}", f"Present: {9 + at}", *BODY, f"In favour {at}", f"Against {at + 2}"] for at in range(1, 6)
    ]


def numbered_in_turn() -> list[list[str]]:
    return [[f"Invoice {at}", *BODY, f"Lot {at} of 6"] for at in range(1, 7)]


SERIES = [
    ("{}", 2015, "Members: 30"),
    ("Annual report | {}", 1998, "Closed"),
    ("Invoice | {}", 4711, "Paid"),
    ("Room | {}", 101, "Beds"),
    ("{} March", 1, "Rain"),
    ("{} mars", 1, "Pluie"),
    ("{} hours of work", 30, "Week"),
    ("Total · {}", 7, "Paid"),
    ("{} · Mai", 3, "Regen"),
]


@pytest.mark.parametrize(("line", "first", "last"), SERIES)
def test_years_days_and_numbers_of_a_series_stay_though_they_count_up(line: str, first: int, last: str) -> None:
    pages = [[line.format(first + at), "abcdef"[at] * 4, *BODY, f"{last} {at}"] for at in range(6)]
    document = read(pages)
    said = document.text.replace("\u2022", "·")
    assert [page[0] for page in pages if page[0] not in said] == []


@pytest.mark.parametrize("pages", [invoices(), certificates(), results(), minutes(), numbered_in_turn()])
def test_lines_that_differ_in_numbers_are_kept(pages: list[list[str]]) -> None:
    assert lost(pages, read(pages)) == []


def test_values_stay_where_page_numbers_count_up_beside_them() -> None:
    pages = [[f"Invoice {at}", *BODY, f"Ticket {at}", str(at)] for at in range(1, 7)]
    document = read(pages)
    assert lost([page[:-1] for page in pages], document) == []
    assert not re.search(r"^\d$", document.text, re.MULTILINE)


def test_what_is_left_out_is_counted_with_an_example() -> None:
    (note,) = read(invoices()).notes
    assert (note.code, note.count) == ("running-lines", 5)
    assert note.message == "5 lines of 5 pages left out: headers, footers and page numbers, such as 'Timber Ltd'"


def test_a_document_without_headers_has_no_note() -> None:
    assert read([["Only one page", *BODY]]).notes == ()


@pytest.mark.parametrize(
    "foot",
    [
        "{}",
        "- {} -",
        "Page {}",
        "Page {} of 12",
        "{} / 12",
        "{} | The annual report",
        "The annual report | {}",
        "p. {}",
    ],
)
@pytest.mark.parametrize("first", [1, 7])
def test_page_numbers_go_where_they_count_up(foot: str, first: int) -> None:
    pages = [["abcdef"[at] * 4, *BODY, foot.format(first + at)] for at in range(6)]
    text = read(pages).text
    assert not re.search(r"\d", text)
    assert text.count("The annual report") == ("annual" in foot)


def test_roman_numbers_go_before_arabic_ones() -> None:
    numbers = ["ii", "iii", "iv", "1", "2", "3", "4", "5"]
    pages = [["abcdefgh"[at] * 4, *BODY, number] for at, number in enumerate(numbers)]
    assert [page.strip().split("\n")[-1] for page in cleaned(["\n".join(page) for page in pages]).pages] == [
        BODY[-1]
    ] * 8


def test_a_number_that_does_not_count_up_stays() -> None:
    pages = [["abcdef"[at] * 4, *BODY, str(number)] for at, number in enumerate([4, 18, 3, 77, 12, 5])]
    assert lost(pages, read(pages)) == []


def test_column_names_that_stand_on_every_page_stay() -> None:
    page = "\n| Item | Price |\n| --- | --- |\n| Bolts | 3 |\n| Nuts | 4 |\n| Nails | 5 |\n| Screws | 6 |\n"
    assert cleaned([page] * 5).pages == [page] * 5


def test_ten_thousand_pages_are_cleaned_in_linear_time() -> None:
    pages = ["\n".join(["Head", f"Chapter {at // 9}   {at}", *BODY, f"{at} | Title", str(at)]) for at in range(10_000)]
    begun = time.process_time()
    assert cleaned(pages).lines > 10_000
    assert time.process_time() - begun < 10


@given(st.lists(st.lists(st.sampled_from("abcdefghijklm"), min_size=0, max_size=9), min_size=1, max_size=8))
@settings(max_examples=60)
def test_no_word_is_lost_from_all_pages(pages: list[list[str]]) -> None:
    printed_pages = ["\n".join(f"{word * 3} stands here" for word in page) for page in pages]
    before, after = " ".join(printed_pages).split(), " ".join(cleaned(printed_pages).pages).split()
    assert set(before) == set(after)
