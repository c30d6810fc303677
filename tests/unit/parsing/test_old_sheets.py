"""Workbooks of the old format (XLS) show what people see. The files are made here."""

from __future__ import annotations

import datetime
import io
import struct
from collections.abc import Callable
from typing import Any

import pytest
import xlwt
from small_doc import compound

from pinakes import parsing
from pinakes.core.errors import Unreadable
from pinakes.core.records import Document

Filler = Callable[[Any], None]


def read(**sheets: Filler) -> Document:
    book, data = xlwt.Workbook(), io.BytesIO()
    for name, fill in sheets.items():
        fill(book.add_sheet(name))
    book.save(data)
    return parsing.read(data.getvalue(), "a.xls", max_chars=1_000_000)


def shown(value: Any, code: str) -> str:
    def fill(sheet: Any) -> None:
        sheet.write(0, 0, "Name")
        sheet.write(0, 1, "Value")
        sheet.write(1, 0, "x")
        sheet.write(1, 1, value, xlwt.easyxf(num_format_str=code))

    return read(S=fill).text.splitlines()[-1].split(" | ")[1].removesuffix(" |")


@pytest.mark.parametrize(
    ("value", "code", "text"),
    [
        (0.125, "0.0%", "12.5%"),
        (42, "00000", "00042"),
        (1234.5, '#,##0.00 "EUR"', "1,234.50 EUR"),
        (1.5, "[h]:mm", "36:00"),
        (datetime.date(2024, 3, 5), "D-MMM-YY", "5-Mar-24"),
        (datetime.date(2024, 3, 5), "M/D/YY", "2024-03-05"),
        (3.0, "General", "3"),
        (True, "General", "TRUE"),
    ],
)
def test_values_are_shown_as_their_cells_show_them(value: Any, code: str, text: str) -> None:
    assert shown(value, code) == text


def test_merged_cells_fill_each_row_with_its_key_and_each_column_with_its_name() -> None:
    def fill(sheet: Any) -> None:
        sheet.write(0, 0, "Region")
        sheet.write_merge(0, 0, 1, 2, "2023")
        sheet.write(1, 1, "Q1")
        sheet.write(1, 2, "Q2")
        sheet.write_merge(2, 3, 0, 0, "North")
        for at, value in enumerate((1, 2, 3, 4)):
            sheet.write(2 + at // 2, 1 + at % 2, value)

    assert read(S=fill).text.splitlines()[2:] == [
        "| Region | 2023 / Q1 | 2023 / Q2 |",
        "| --- | --- | --- |",
        "| North | 1 | 2 |",
        "| North | 3 | 4 |",
    ]


def test_a_title_over_whole_rows_stands_once() -> None:
    def fill(sheet: Any) -> None:
        sheet.write_merge(0, 1, 0, 1, "All the badgers")
        for at, value in enumerate(("Name", "Age", "Ann", "4")):
            sheet.write(2 + at // 2, at % 2, value)

    assert read(S=fill).text.count("All the badgers") == 1


def test_raised_and_lowered_characters_are_those() -> None:
    def fill(sheet: Any) -> None:
        plain, up, down = (xlwt.easyfont(one) for one in ("", "escapement superscript", "escapement subscript"))
        sheet.write_rich_text(0, 0, (("H", plain), ("2", down), ("O", plain)))
        sheet.write_rich_text(0, 1, (("10", plain), ("-9", up), (" m", plain)))
        sheet.write_rich_text(1, 0, (("S", up), ("ome", plain)))

    text = read(S=fill).text
    assert "| H₂O | 10⁻⁹ m |" in text
    assert "Some" in text


def test_hidden_sheets_rows_and_columns_are_marked_and_counted() -> None:
    def fill(sheet: Any) -> None:
        for at, value in enumerate(("Name", "Pay", "Ann", 4, "Bob", 5)):
            sheet.write(at // 2, at % 2, value)
        sheet.row(2).hidden = True
        sheet.col(1).hidden = True

    def conceal(sheet: Any) -> None:
        sheet.visibility = 2
        sheet.write(0, 0, "old")

    found = read(Open=fill, Past=conceal)
    assert "| Name | Pay [hidden] |" in found.text
    assert "| [hidden] Bob | 5 |" in found.text
    assert "## Past (hidden sheet)\n\nold" in found.text
    assert sorted(one.message for one in found.notes) == [
        "Read and marked: 1 hidden column.",
        "Read and marked: 1 hidden row.",
        "Read and marked: 1 hidden sheet.",
    ]


def test_several_tables_of_one_sheet_keep_their_own_names() -> None:
    def fill(sheet: Any) -> None:
        for column, name, value in ((0, "Name", "Ann"), (1, "Age", 4), (4, "City", "Rome"), (5, "Land", "Italy")):
            sheet.write(0, column, name)
            sheet.write(1, column, value)

    text = read(S=fill).text
    assert "| Name | Age |\n| --- | --- |\n| Ann | 4 |" in text
    assert "| City | Land |\n| --- | --- |\n| Rome | Italy |" in text


def test_sheets_are_pages() -> None:
    found = read(One=lambda sheet: sheet.write(0, 0, "first"), Two=lambda sheet: sheet.write(0, 0, "second"))
    assert found.text[found.pages[1] :].startswith("## Two")


@pytest.mark.parametrize("cut", [600, 2000, 4000])
def test_a_damaged_file_gives_its_reason(cut: int) -> None:
    book, data = xlwt.Workbook(), io.BytesIO()
    book.add_sheet("S").write(0, 0, "words")
    book.save(data)
    with pytest.raises(Unreadable):
        parsing.read(data.getvalue()[:cut], "a.xls", max_chars=1000)


@pytest.mark.parametrize("counted", [1, 2, 3])
def test_a_file_that_counts_sectors_it_does_not_have_is_read(counted: int) -> None:
    book, data = xlwt.Workbook(), io.BytesIO()
    book.add_sheet("S").write(0, 0, "words")
    book.save(data)
    content = bytearray(data.getvalue())
    struct.pack_into("<I", content, 64, counted)  # of the short-sector allocation table, whose start stays "none"
    assert "words" in parsing.read(bytes(content), "a.xls", max_chars=1000).text


def link(address: str, *, rows: tuple[int, int], column: int) -> bytes:
    """Return the record of a link of cells to an address."""
    guid, of_address = (
        bytes.fromhex(one) for one in ("d0c9ea79f9bace118c8200aa004ba90b", "e0c9ea79f9bace118c8200aa004ba90b")
    )
    target = f"{address}\0".encode("utf-16-le")
    content = struct.pack("<4H16sII", *rows, column, column, guid, 2, 3) + of_address
    content += struct.pack("<I", len(target)) + target
    return struct.pack("<HH", 0x01B8, len(content)) + content


def test_the_link_of_a_cell_comes_before_that_of_an_area_and_scripts_are_no_addresses() -> None:
    book = xlwt.Workbook()
    sheet = book.add_sheet("S")
    for row, texts in enumerate(
        (("Name", "Page"), ("Ada", "home"), ("Bo", "home"), ("Cy", "home"), ("Di", "https://d.example/"))
    ):
        for column, text in enumerate(texts):
            sheet.write(row, column, text)
    links = (
        link("https://all.example/", rows=(1, 4), column=1),
        link("https://d.example/", rows=(4, 4), column=1),
        link("https://bo.example/", rows=(2, 2), column=1),
        link("JavaScript:go()", rows=(3, 3), column=1),
    )
    stream = book.get_biff_data()
    data = compound({"Workbook": stream[:-4] + b"".join((*links, stream[-4:]))})
    lines = parsing.read(data, "a.xls", max_chars=1_000_000).text.splitlines()
    assert lines[-4:] == [
        "| Ada | [home](https://all.example/) |",
        "| Bo | [home](https://bo.example/) |",
        "| Cy | home |",
        "| Di | https://d.example/ |",
    ]


def test_links_of_cells_keep_their_addresses() -> None:
    book = xlwt.Workbook()
    sheet = book.add_sheet("S")
    for row, texts in enumerate((("Name", "Page"), ("Ada", "home"), ("Bo", "home"), ("Cy", "https://c.example/"))):
        for column, text in enumerate(texts):
            sheet.write(row, column, text)
    links = link("https://a.example/x (1)", rows=(1, 2), column=1), link("https://c.example/", rows=(3, 3), column=1)
    stream = book.get_biff_data()
    data = compound(
        {"Workbook": stream[:-4] + b"".join((*links, link("https://no.example/", rows=(9, 9), column=0), stream[-4:]))}
    )
    lines = parsing.read(data, "a.xls", max_chars=1_000_000).text.splitlines()
    address = "https://a.example/x%20%281%29"
    assert lines[-3:] == [
        f"| Ada | [home]({address}) |",
        f"| Bo | [home]({address}) |",
        "| Cy | https://c.example/ |",
    ]
