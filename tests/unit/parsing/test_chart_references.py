"""Charts of workbooks that store references to cells and no values."""

from __future__ import annotations

import io
import zipfile

import pytest
from linear import assert_linear
from small_docx import zipped
from small_pptx import chart, relations
from small_xlsx import xlsx

from pinakes import parsing
from pinakes.core.records import Document

SHEET = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
CREW = ("Crew", "13", "6", "19")


def series(values: str, name: str = "") -> str:
    """Return a series that refers to cells."""
    named = f"<c:tx><c:strRef><c:f>{name}</c:f></c:strRef></c:tx>" if name else ""
    return f"<c:ser>{named}<c:val><c:numRef><c:f>{values}</c:f></c:numRef></c:val></c:ser>"


def workbook(all_series: str, rows: str) -> bytes:
    """Return a workbook with one sheet ``My, Data`` and a chart on it."""
    parts = {
        "xl/worksheets/sheet1.xml": f"<worksheet {SHEET}><sheetData>{rows}</sheetData></worksheet>",
        "xl/worksheets/_rels/sheet1.xml.rels": relations({"r1": ("drawing", "../drawings/drawing1.xml")}),
        "xl/drawings/drawing1.xml": "<wsDr/>",
        "xl/drawings/_rels/drawing1.xml.rels": relations({"r1": ("chart", "../charts/chart1.xml")}),
        "xl/charts/chart1.xml": chart("Sales", []).replace("</c:plotArea>", f"{all_series}</c:plotArea>"),
    }
    with zipfile.ZipFile(io.BytesIO(xlsx({"My, Data": ["x"]}))) as container:
        entries = {name: container.read(name) for name in container.namelist()}
    return zipped(entries | {name: part.encode() for name, part in parts.items()})


def read(all_series: str) -> Document:
    rows = "".join(
        f'<row r="{at}"><c r="A{at}" t="str"><v>k{at}</v></c><c r="B{at}" t="str"><v>{text}</v></c></row>'
        for at, text in enumerate(CREW, 1)
    )
    return parsing.read(workbook(all_series, rows), "a.xlsx", max_chars=5_000_000)


def values(document: Document) -> list[str]:
    """Return the values of the only series of the chart."""
    return document.text.partition("Chart: Sales\n\nSeries 1\n")[2].split()


@pytest.mark.parametrize(
    ("reference", "found"),
    [
        ("'My, Data'!$B$2:$B$4", ["13", "6", "19"]),
        ("'MY, data'!$B$2:$B$4", ["13", "6", "19"]),
        ("'My, Data'!B4:B2", ["13", "6", "19"]),
        ("('My, Data'!$B$2,'My, Data'!$B$4)", ["13", "19"]),
        ("('My, Data'!$B$2:$B$3, 'My, Data'!$B$4)", ["13", "6", "19"]),
        ("'My, Data'!$B:$B", ["Crew", "13", "6", "19"]),
        ("'My, Data'!$3:$3", ["k3", "6"]),
        ("'My, Data'!$B$3:$B$1048576", ["6", "19"]),
    ],
)
def test_references_of_all_kinds_have_the_values_of_their_cells(reference: str, found: list[str]) -> None:
    document = read(series(reference))
    assert values(document) == found
    assert not document.notes


@pytest.mark.parametrize(
    "reference",
    [
        "Sales",
        "'My, Data'!Sales",
        "'My, Data':'My, Data'!$B$1",
        "[1]Other!$B$2",
        "Gone!$B$2",
        "#REF!",
        "'My, Data'!$B",
        "'My, Data'!$B$0",
        "'My, Data'!$B:$B$3",
        "('My, Data'!$B$2,Gone!$B$2)",
        "'My, Data'!$B$2:",
        "'My, Data'!:",
    ],
)
def test_references_that_are_not_found_are_named_in_a_note_and_are_no_names_of_columns(reference: str) -> None:
    document = read(series(reference, reference))
    assert document.text.endswith("Chart: Sales\n")
    [note] = document.notes
    assert note.message == f"Values of charts were not found: {reference}."
    known = read(series("'My, Data'!$B$2", reference))
    assert values(known) == ["13"]
    assert [one.code for one in known.notes] == ["chart-values"]


def test_many_references_that_are_not_found_are_counted() -> None:
    [note] = read("".join(series(f"Gone!$B${at}") for at in range(1, 9))).notes
    assert note.message.endswith("Gone!$B$4, Gone!$B$5 and 3 more.")
    assert note.count == 8


def test_many_series_of_one_cell_take_linear_time() -> None:
    def made(count: int) -> bytes:
        rows = "".join(f'<row r="{at}"><c r="A{at}"><v>{at}</v></c></row>' for at in range(1, count + 1))
        places = [f"'My, Data'!$A${at}" for at in range(1, count + 1)]
        return workbook("".join(series(at, at) for at in places), rows)

    def parsed(data: bytes) -> None:
        assert not parsing.read(data, "a.xlsx", max_chars=5_000_000).notes

    assert_linear(parsed, made, 12_000)
