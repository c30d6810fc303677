"""Workbooks: what text boxes and comments say stands below their sheet."""

from __future__ import annotations

import contextlib
import io
import time
import zipfile
from collections.abc import Callable, Sequence

import pytest
from small_docx import docx, paragraph, zipped
from small_pptx import pptx, relations
from small_xlsx import comments, xlsx

from pinakes import parsing
from pinakes.core.errors import Unreadable
from pinakes.core.records import Document
from pinakes.parsing.regions import Sheet, tables_of
from pinakes.text.page_numbers import pages_of

NAMES = 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
DRAWN = 'xmlns:xdr="urn:drawing" xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
PERSON = '<person displayName="Ben Okoro" id="{B}" userId="b" providerId="None"/>'
THREAD = (
    '<x:ThreadedComments xmlns:x="http://schemas.microsoft.com/office/spreadsheetml/2018/threadedcomments">'
    '<x:threadedComment ref="A1" personId="{B}" id="{1}"><x:text>Is it so?</x:text></x:threadedComment>'
    '<x:threadedComment ref="A1" personId="{C}" id="{2}" parentId="{1}"><x:text>It is</x:text></x:threadedComment>'
    "</x:ThreadedComments>"
)


def read(data: bytes) -> Document:
    return parsing.read(data, "a.xlsx", max_chars=100_000)


def test_notes_stand_below_their_sheet_with_cell_and_author() -> None:
    made = comments(["Ada", ""], ("B1", 0, "Ada:\n R&amp;D"), ("A1", 1, "What &lt;for&gt;?"), ("A1", 0, " "))
    document = read(xlsx({"One": ["a", "b"], "Two": ["c", "d"]}, {"One": {"comments": made}}))
    assert document.text == (
        "## One\n\n| a | b |\n| --- | --- |\n\n### Comments\n\n- B1: Ada: R&D\n- A1: What <for>?\n\n"
        "## Two\n\n| c | d |\n| --- | --- |\n"
    )
    assert document.pages == (0, document.text.index("## Two"))


LINKED = """<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"
 xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheetData>
<row r="1"><c r="A1" t="inlineStr"><is><t>Name</t></is></c><c r="B1" t="inlineStr"><is><t>Where</t></is></c></row>
<row r="2"><c r="A2" t="inlineStr"><is><t>Guide</t></is></c><c r="B2" t="inlineStr"><is><t>Ada</t></is></c></row>
<row r="3"><c r="A3" t="inlineStr"><is><t>https://example.org/a</t></is></c><c r="B3"><v>7</v></c></row>
<row r="4"><c r="A4" t="str"><f>HYPERLINK("https://example.org/x|(y) z","Plan")</f><v>Plan</v></c>
<c r="B4" t="inlineStr"><is><t>Inside</t></is></c></row>
</sheetData><hyperlinks>
<hyperlink ref="A2" r:id="h1" location="top"/><hyperlink ref="B2:B3" r:id="h2"/><hyperlink ref="A3" r:id="h3"/>
<hyperlink ref="B4" location="Two!A1"/><hyperlink ref="C9" r:id="h1"/><hyperlink ref="A1:XFD1048576" r:id="no"/>
</hyperlinks></worksheet>"""
LINKS = """<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">
<Relationship Id="h1" Type="http://x/hyperlink" Target="https://example.org/guide" TargetMode="External"/>
<Relationship Id="h2" Type="http://x/hyperlink" Target="mailto:ada@example.org" TargetMode="External"/>
<Relationship Id="h3" Type="http://x/hyperlink" Target="https://example.org/a" TargetMode="External"/>
</Relationships>"""


def test_cells_keep_the_addresses_of_their_links() -> None:
    with zipfile.ZipFile(io.BytesIO(xlsx({"One": ["a"]}))) as made:
        entries = {name: made.read(name) for name in made.namelist()}
    entries["xl/worksheets/sheet1.xml"] = LINKED.encode()
    entries["xl/worksheets/_rels/sheet1.xml.rels"] = LINKS.encode()
    assert read(zipped(entries)).text == (
        "## One\n\n| Name | Where |\n| --- | --- |\n"
        "| [Guide](https://example.org/guide#top) | [Ada](mailto:ada@example.org) |\n"
        "| https://example.org/a | [7](mailto:ada@example.org) |\n"
        "| [Plan](https://example.org/x\\|%28y%29%20z) | Inside |\n"
    )


def test_threads_are_read_and_what_stands_for_them_in_old_programs_is_not() -> None:
    made = comments(["tc={1}", "Ada"], ("A1", 0, "[Threaded comment] Your version"), ("B1", 1, "A note"))
    there = {"comments": made, "threadedComment": THREAD}
    text = read(xlsx({"One": ["a", "b"]}, {"One": there}, PERSON)).text
    assert text.endswith("### Comments\n\n- B1: Ada: A note\n- A1: Ben Okoro: Is it so?\n- A1: It is\n")
    text = read(xlsx({"One": ["a", "b"]}, {"One": {"comments": made}})).text
    assert "- A1: [Threaded comment] Your version\n" in text


def test_text_boxes_stand_below_the_cells_of_their_sheet() -> None:
    runs = "<a:p><a:r><a:t>Not </a:t></a:r><a:r><a:t>audited: R&amp;D</a:t></a:r></a:p><a:p/><a:p><a:t>See</a:t></a:p>"
    boxes = f"<xdr:wsDr {DRAWN}><xdr:pic/><xdr:sp><xdr:txBody>{runs}</xdr:txBody></xdr:sp></xdr:wsDr>"
    made = comments(["Ada"], ("A1", 0, "Why?"))
    document = read(
        xlsx({"One": ["a", "b"], "Two": []}, {"One": {"drawing": boxes, "comments": made}, "Two": {"drawing": boxes}})
    )
    assert document.text == (
        "## One\n\n| a | b |\n| --- | --- |\n\nNot audited: R&D\n\nSee\n\n### Comments\n\n- A1: Ada: Why?\n\n"
        "## Two\n\nNot audited: R&D\n\nSee\n"
    )


def test_a_sheet_with_comments_only_is_there() -> None:
    made = comments(["Ada"], ("A1", 0, "Fill this in"))
    document = read(xlsx({"One": ["a", "b"], "R&amp;D": [], "Two": ["c", "d"]}, {"R&amp;D": {"comments": made}}))
    starts = [document.text[at:].partition("\n")[0] for at in document.pages]
    assert starts == ["## One", "## R&D", "## Two"]


def test_what_stands_in_a_sheet_before_an_empty_one_is_said_to_be_there() -> None:
    document = read(xlsx({"One": ["a", "b"], "Empty": [], "Two": ["c", "d"]}))
    second = document.text.index("## Two")
    assert pages_of(document.pages, 0, 5) == (1, 1)
    assert pages_of(document.pages, second, second + 5) == (3, 3)


def test_a_workbook_that_is_made_to_be_slow_is_looked_through_at_once() -> None:
    start = time.process_time()
    with contextlib.suppress(Unreadable):
        read(zipped({"xl/workbook.xml": b"<sheet " + b"a" * 300_000}))
    assert time.process_time() - start < 5


def test_comments_that_sheets_share_are_read_once() -> None:
    names = range(500)
    of_book = relations({f"r{at}": ("worksheet", f"worksheets/sheet{at}.xml") for at in names})
    of_sheet = relations({"r": ("comments", "../comments1.xml")})
    listed = "".join(f'<sheet name="S" r:id="r{at}"/>' * 2 for at in names)
    parts = {
        "xl/workbook.xml": f"<workbook {NAMES}>{listed}</workbook>",
        "xl/_rels/workbook.xml.rels": of_book,
        **{f"xl/worksheets/_rels/sheet{at}.xml.rels": of_sheet for at in names},
        "xl/comments1.xml": comments(["Ada"], *[("A1", 0, "Fill this in")] * 5_000),
    }
    start = time.process_time()
    text = parsing.read(
        zipped({name: part.encode() for name, part in parts.items()}), "a.xlsx", max_chars=1_000_000
    ).text
    assert text.count("Fill this in") == 5_000
    assert time.process_time() - start < 5


def test_a_total_below_a_blank_row_belongs_to_the_table_above() -> None:
    sheet = Sheet()
    for row, cells in {0: ("Month", "Sales"), 1: ("Jan", "1000"), 2: ("Feb", "1200"), 4: ("Total", "2200")}.items():
        sheet.rows[row] = dict(enumerate(cells))
        sheet.numbers |= {(row, 1)} if row else set()
    assert [*tables_of(sheet)] == ["| Month | Sales |\n| --- | --- |\n| Jan | 1000 |\n| Feb | 1200 |\n| Total | 2200 |"]


def renamed(data: bytes, rename: Callable[[str], str]) -> bytes:
    with zipfile.ZipFile(io.BytesIO(data)) as package:
        return zipped({rename(name): package.read(name) for name in package.namelist()})


@pytest.mark.parametrize(
    "rename",
    [
        str.lower,
        str.upper,
        lambda name: name.replace("/", "\\"),
        lambda name: name.replace("/", "\\").lower(),
        lambda name: name.replace("sheet1.xml", "Sheet1.XML"),
    ],
)
@pytest.mark.parametrize("called", ["a.xlsx", "a.docx"])
def test_parts_are_found_whatever_the_case_and_the_slashes_of_their_names(
    rename: Callable[[str], str], called: str
) -> None:
    made = comments(["Ada"], ("A1", 0, "Why?"))
    data = xlsx({"One": ["walrus", "b"]}, {"One": {"comments": made}})
    assert parsing.read(renamed(data, rename), called, max_chars=1000).text == read(data).text


@pytest.mark.parametrize("rename", [str.lower, str.upper, lambda name: name.replace("/", "\\")])
def test_documents_and_slides_have_parts_of_any_case(rename: Callable[[str], str]) -> None:
    for made, called in ((docx(paragraph("Walrus")), "a.docx"), (pptx(["Walrus"], [0]), "a.pptx")):
        assert "Walrus" in parsing.read(renamed(made, rename), called, max_chars=1000).text


def test_cells_whose_text_is_missing_are_counted() -> None:
    data = xlsx({"One": ["walrus", "b"]})
    with zipfile.ZipFile(io.BytesIO(data)) as package:
        entries = {name: package.read(name) for name in package.namelist()}
    sheet = "xl/worksheets/sheet1.xml"
    cell = b'</c><c r="C1" t="s"><v>7</v></c><c r="D1" t="s"><v>9</v></c></row>'
    entries[sheet] = entries[sheet].replace(b"</c></row>", cell)
    document = read(zipped(entries))
    assert "walrus" in document.text
    assert [str(note) for note in document.notes] == ["The file is damaged: the text of 2 cells is missing in it."]


@pytest.mark.parametrize("length", [100, 101])
def test_a_long_text_of_merged_cells_is_a_note_and_stands_once(length: int) -> None:
    sheet = Sheet()
    for row in range(5):
        sheet.rows[row] = {0: f"name {row}", 1: "b"}
    sheet.rows[1][2] = "x" * length
    sheet.rows[0][2] = "note"
    sheet.columns |= {0, 1, 2}
    sheet.merged.append(((1, 2), (4, 2)))
    (text,) = tables_of(sheet)
    assert text.count("x" * length) == (4 if length == 100 else 1)


def sheet_of(rows: Sequence[str], *merged: tuple[tuple[int, int], tuple[int, int]]) -> Sheet:
    """Return a sheet with a cell for each word; ``.`` is a blank cell."""
    sheet = Sheet(merged=[*merged])
    for at, row in enumerate(rows):
        cells = {column: text for column, text in enumerate(row.split()) if text != "."}
        sheet.rows |= {at: cells} if cells else {}
        sheet.columns |= cells.keys()
        sheet.numbers |= {(at, column) for column, text in cells.items() if text.isdecimal()}
    return sheet


@pytest.mark.parametrize(
    ("rows", "merged", "shown"),
    [
        # columns that only continue merged cells, as in forms
        (
            ["Part . . Name .", "A . . Hose .", "B . . Clamp ."],
            [((row, first), (row, last)) for row in range(3) for first, last in ((0, 2), (3, 4))],
            "| Part | Name |\n| --- | --- |\n| A | Hose |\n| B | Clamp |",
        ),
        # rows that only continue merged cells
        (
            ["Key Word", "a b", ". .", ". .", "c d"],
            [((1, 0), (3, 0)), ((1, 1), (3, 1))],
            "| Key | Word |\n| --- | --- |\n| a | b |\n| c | d |",
        ),
        # a value of two columns stands in both, and so does a name of two columns
        (
            ["Day Open .", ". from to", "Mon 9 17", "Sun closed ."],
            [((0, 1), (0, 2)), ((3, 1), (3, 2)), ((0, 0), (1, 0))],
            "| Day | Open / from | Open / to |\n| --- | --- | --- |\n| Mon | 9 | 17 |\n| Sun | closed | closed |",
        ),
        # a text over many columns is not the value of each
        (
            ["K A B C D", "a 1 2 3 4", "Remarks . . . z", "b 1 2 3 4"],
            [((2, 0), (2, 3))],
            "| K | A | B | C | D |\n| --- | --- | --- | --- | --- |\n| a | 1 | 2 | 3 | 4 |\n| Remarks |  |  |  | z |\n"
            "| b | 1 | 2 | 3 | 4 |",
        ),
        # a header whose rows are all merged is one row
        (
            ["Key Word", ". .", "a b"],
            [((0, 0), (1, 0)), ((0, 1), (1, 1))],
            "| Key | Word |\n| --- | --- |\n| a | b |",
        ),
    ],
)
def test_merged_cells_do_not_repeat_what_they_say(
    rows: list[str], merged: list[tuple[tuple[int, int], tuple[int, int]]], shown: str
) -> None:
    assert [*tables_of(sheet_of(rows, *merged))] == [shown]


@pytest.mark.parametrize(
    ("rows", "heads"),
    [
        (["Store City State Zip Phone Name Mail", ". . . . . Ann ann@x", ". . . . . Bo bo@x"], "Name | Mail"),
        (["Store City State Zip Phone Name Mail", "s . . . . Ann ann@x", ". . . . . Bo bo@x"], "Name | Mail"),
        (["Name Length Weight", ". (m) (kg)", "a 3 4"], "Length / (m) | Weight / (kg)"),
        (["Region y2020 . y2021 .", ". Q1 Q2 Q1 Q2", "North 1 2 3 4"], "y2020 / Q1 | Q2 | y2021 / Q1 | Q2"),
    ],
)
def test_rows_without_a_key_are_names_where_they_name_columns(rows: list[str], heads: str) -> None:
    (text,) = tables_of(sheet_of(rows))
    assert f"{heads} |" in text.split("\n")[0]


def sheet_with(cells: dict[int, dict[int, str]], merged: list[tuple[tuple[int, int], tuple[int, int]]]) -> Sheet:
    return Sheet(cells, {column for row in cells.values() for column in row}, set(), merged)


@pytest.mark.parametrize(
    "sheet",
    [
        sheet_with(
            {0: {0: "Key", 1: "one", 3: "two"}, **{row: {1: "a word", 3: "another"} for row in range(1, 6000)}},
            [((row, column), (row, column + 1)) for row in range(6000) for column in (1, 3)],
        ),
        sheet_with({row: {row: "x", row + 1: "y"} for row in range(6000)}, []),
        sheet_with(
            {row: dict.fromkeys(range(0, 16_000, 2), "word") for row in range(3)},
            [((0, column), (0, column + 1)) for column in range(0, 16_000, 2)],
        ),
        sheet_with({row: {column: "w" for column in range(12_000) if column % 3} for row in range(15)}, []),
    ],
    ids=["merged cells in every row", "a staircase of cells", "a wide header of merged cells", "tables side by side"],
)
def test_sheets_of_any_shape_take_little_time(sheet: Sheet) -> None:
    began = time.process_time()
    assert "".join(tables_of(sheet))
    assert time.process_time() - began < 4
