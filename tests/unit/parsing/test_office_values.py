"""Office files: values, numbers, boxes, charts and hidden parts as people see them. The files are made here."""

from __future__ import annotations

import contextlib
import io
import zipfile
from collections.abc import Callable

import pytest
from linear import assert_linear
from small_docx import docx, paragraph, zipped
from small_pptx import chart, line, pptx, relations
from small_xlsx import xlsx

from pinakes import parsing
from pinakes.core.errors import Unreadable
from pinakes.core.records import Document

WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
SHEET = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'


def read(data: bytes, name: str, max_chars: int = 5_000_000) -> Document:
    return parsing.read(data, name, max_chars=max_chars)


def changed(data: bytes, **parts: str) -> bytes:
    """Return a file with other parts; ``/`` and ``.`` in their names are ``__`` and ``_`` at the end."""
    with zipfile.ZipFile(io.BytesIO(data)) as container:
        entries = {name: container.read(name) for name in container.namelist()}
    return zipped(entries | {name.replace("__", "/"): part.encode() for name, part in parts.items()})


def workbook(rows: str, styles: str = "", after: str = "", before: str = "") -> bytes:
    """Return a workbook with one sheet of these rows."""
    data = xlsx({"S": ["x"]})
    return changed(
        data,
        **{
            "xl/worksheets/sheet1.xml": f"<worksheet {SHEET}>{before}<sheetData>{rows}</sheetData>{after}</worksheet>",
            "xl/styles.xml": f"<styleSheet {SHEET}>{styles}</styleSheet>",
            "xl/_rels/workbook.xml.rels": relations(
                {"r1": ("worksheet", "worksheets/sheet1.xml"), "r2": ("styles", "styles.xml")}
            ),
        },
    )


def cells(grid: list[str], hidden: frozenset[int] = frozenset()) -> str:
    """Return rows from lines whose cells are parted by ``|``; a blank one is left out."""
    rows = []
    for at, text in enumerate(grid, 1):
        found = ""
        for column, cell in zip("ABCDEFGHIJ", text.split("|"), strict=False):
            value = cell.strip()
            kind = "n" if value.replace(".", "").isdigit() else "inlineStr"
            inner = f"<v>{value}</v>" if kind == "n" else f"<is><t>{value}</t></is>"
            found += f'<c r="{column}{at}" t="{kind}">{inner}</c>' if value else ""
        rows.append(f'<row r="{at}"{" hidden=" + chr(34) + "1" + chr(34) if at in hidden else ""}>{found}</row>')
    return "".join(rows)


def test_values_of_a_sheet_are_as_displayed() -> None:
    codes = ("[h]:mm", "0.0%", "00000", "#,##0.00\\ &quot;€&quot;", "d\\ mmm\\ yyyy", "@")
    formats = "".join(f'<numFmt numFmtId="{200 + at}" formatCode="{code}"/>' for at, code in enumerate(codes))
    styles = "".join(f'<xf numFmtId="{200 + at}"/>' for at in range(len(codes)))
    values = (1.5, 0.125, 42, 1234.5, 45356, 7)
    row = "".join(f'<c r="{"ABCDEF"[at]}1" s="{at}"><v>{value}</v></c>' for at, value in enumerate(values))
    text = read(
        workbook(f"<row r='1'>{row}</row>", f"<numFmts>{formats}</numFmts><cellXfs>{styles}</cellXfs>"), "a.xlsx"
    ).text
    assert "| 36:00 | 12.5% | 00042 | 1,234.50 € | 5 Mar 2024 | 7 |" in text


def test_a_formula_that_was_never_calculated_is_shown_itself() -> None:
    assert (
        "| =SUM(A1:A3) | TRUE | #DIV/0! |"
        in read(
            workbook('<row><c><f>SUM(A1:A3)</f></c><c t="b"><v>1</v></c><c t="e"><v>#DIV/0!</v></c></row>'), "a.xlsx"
        ).text
    )


@pytest.mark.parametrize(
    ("grid", "tables"),
    [
        (
            ["Name|Age||City|Land", "Ada|36||Rome|IT", "Ben|41||Oslo|NO"],
            ["| Name | Age |", "| City | Land |", "| Oslo | NO |"],
        ),
        (["Name|Age", "Ada|36", "", "City|Land", "Rome|IT"], ["| Name | Age |", "| City | Land |", "| Rome | IT |"]),
        (["Rates", "Name|Age", "Ada|36", "", "Ben|41"], ["Rates", "| Name | Age |", "| Ada | 36 |\n| Ben | 41 |"]),
        (["Key||2023||2024", "a||1||2", "b||3||4"], ["| Key | 2023 | 2024 |", "| b | 3 | 4 |"]),
        (
            ["Plan||||", "Name|Age||City|Land", "Ada|36||Rome|IT", "||||", "Note"],
            ["Plan\n\n", "| City | Land |", "\n\nNote"],
        ),
    ],
)
def test_tables_of_a_sheet_stay_apart_with_their_own_names(grid: list[str], tables: list[str]) -> None:
    text = read(workbook(cells(grid)), "a.xlsx").text
    assert not [table for table in tables if table not in text], text
    assert text.count("| --- ") >= 1


def test_merged_cells_of_a_sheet_give_each_row_its_key_and_each_column_its_name() -> None:
    grid = ["Land|2023 a||", "|Q1|Q2", "North|1|2", "|3|4"]
    merged = '<mergeCells><mergeCell ref="A1:A2"/><mergeCell ref="B1:C1"/><mergeCell ref="A3:A4"/></mergeCells>'
    text = read(workbook(cells(grid), after=merged), "a.xlsx").text
    assert "| Land | 2023 a / Q1 | 2023 a / Q2 |" in text
    assert "| North | 1 | 2 |\n| North | 3 | 4 |" in text


def test_hidden_rows_columns_and_sheets_are_marked() -> None:
    data = workbook(
        cells(["Name|Age", "Ada|36", "Ben|41"], frozenset((3,))),
        before='<cols><col min="2" max="2" hidden="1"/></cols>',
    )
    document = read(data, "a.xlsx")
    assert "| Name | Age [hidden] |" in document.text
    assert "| [hidden] Ben | 41 |" in document.text
    assert {note.message for note in document.notes} == {
        "Read and marked: 1 hidden row.",
        "Read and marked: 1 hidden column.",
    }
    with zipfile.ZipFile(io.BytesIO(xlsx({"S": ["x", "y"]}))) as container:
        book = container.read("xl/workbook.xml").decode()
    hidden = changed(
        xlsx({"S": ["x", "y"]}), **{"xl/workbook.xml": book.replace("<sheet ", '<sheet state="veryHidden" ')}
    )
    assert "## S (hidden sheet)" in read(hidden, "a.xlsx").text


def test_runs_of_a_cell_may_be_raised() -> None:
    runs = "<is><r><t>10</t></r><r><rPr><vertAlign val='superscript'/></rPr><t>-9</t></r><r><t> m</t></r></is>"
    assert "10⁻⁹ m" in read(workbook(f'<row><c t="inlineStr">{runs}</c></row>'), "a.xlsx").text


def test_a_sheet_that_is_a_chart_is_a_table() -> None:
    drawn = chart("Sales", ["East", "West"], Spring=[1.5, 2])
    data = changed(
        xlsx({"C": []}),
        **{
            "xl/_rels/workbook.xml.rels": relations({"r1": ("chartsheet", "chartsheets/sheet1.xml")}),
            "xl/chartsheets/sheet1.xml": f"<chartsheet {SHEET}/>",
            "xl/chartsheets/_rels/sheet1.xml.rels": relations({"r1": ("drawing", "../drawings/drawing1.xml")}),
            "xl/drawings/drawing1.xml": "<wsDr/>",
            "xl/drawings/_rels/drawing1.xml.rels": relations({"r1": ("chart", "../charts/chart1.xml")}),
            "xl/charts/chart1.xml": drawn,
        },
    )
    assert read(data, "a.xlsx").text == (
        "## C\n\nChart: Sales\n\n|  | Spring |\n| --- | --- |\n| East | 1.5 |\n| West | 2 |\n"
    )


def test_a_chart_without_stored_values_has_those_of_the_cells() -> None:
    named = "<c:tx><c:strRef><c:f>'My C'!$B$1</c:f></c:strRef></c:tx>"
    labels = "<c:cat><c:numRef><c:f>'My C'!$A$2:$A$3</c:f></c:numRef></c:cat>"
    values = "<c:val><c:numRef><c:f>'My C'!$B$2:$B$3</c:f></c:numRef></c:val>"
    lost = "<c:ser><c:val><c:numRef><c:f>Gone!$B$2:$B$3</c:f></c:numRef></c:val></c:ser>"
    empty = chart("Sales", []).replace("</c:plotArea>", f"<c:ser>{named}{labels}{values}</c:ser>{lost}</c:plotArea>")
    data = changed(
        xlsx({"My C": ["Ship", "Crew"]}),
        **{
            "xl/worksheets/sheet1.xml": f"<worksheet {SHEET}><sheetData>"
            '<row r="1"><c r="B1" t="str"><v>Crew</v></c></row>'
            '<row r="2"><c r="A2" t="str"><v>Fram</v></c><c r="B2"><v>13</v></c></row>'
            '<row r="3"><c r="A3" t="str"><v>Gjøa</v></c><c r="B3"><v>6</v></c></row></sheetData></worksheet>',
            "xl/worksheets/_rels/sheet1.xml.rels": relations({"r1": ("drawing", "../drawings/drawing1.xml")}),
            "xl/drawings/drawing1.xml": "<wsDr/>",
            "xl/drawings/_rels/drawing1.xml.rels": relations({"r1": ("chart", "../charts/chart1.xml")}),
            "xl/charts/chart1.xml": empty,
        },
    )
    text = read(data, "a.xlsx").text
    assert text.partition("Chart: ")[2] == (
        "Sales\n\n|  | Crew | Series 2 |\n| --- | --- | --- |\n| Fram | 13 |  |\n| Gjøa | 6 |  |\n"
    )


@pytest.mark.parametrize(
    "rows",
    [
        lambda n: "".join(f'<row><c r="ZZZ{at}"><v>1</v></c></row>' for at in range(1, n)),
        lambda n: "".join(
            f'<row r="{at}"><c r="{"ABCDEFGHIJ"[at % 10]}{"K" if at % 2 else ""}{at}"><v>{at}</v></c></row>'
            for at in range(1, n)
        ),
        lambda n: "<row>" + "<c><v>1</v></c>" * (5 * n) + "</row>",
        lambda n: f'<row><c t="inlineStr"><is><t>{"x" * (200 * n)}</t></is></c></row>',
        lambda n: '<row r="1048577"><c r="A999999999"><v>1</v></c></row>' * n,
        lambda n: "<row><c>" * (5 * n // 2),
    ],
    ids=["far columns", "diagonal", "many columns", "one large cell", "rows out of bounds", "never closed"],
)
def test_sheets_that_are_made_to_be_large_take_linear_time(rows: Callable[[int], str]) -> None:
    def made(count: int) -> bytes:
        merged = '<mergeCell ref="A1:XFD1048576"/>' * (count // 20)
        return workbook(rows(count), after=f"<mergeCells>{merged}</mergeCells>")

    def parsed(data: bytes) -> None:
        with contextlib.suppress(Unreadable):
            assert len(read(data, "a.xlsx").text) < 25_000_000

    assert_linear(parsed, made, 5_000)


def test_words_of_a_slide_are_whole_and_raised_where_they_are() -> None:
    runs = "".join(
        f"<a:r><a:rPr{look}/><a:t>{text}</a:t></a:r>"
        for text, look in (("S", ' b="1"'), ("ome info, H", ""), ("2", ' baseline="-25000"'), ("O", ""))
    )
    data = pptx(["x"], [0])
    with zipfile.ZipFile(io.BytesIO(data)) as container:
        slide = container.read("ppt/slides/slide1.xml").decode()
    text = read(
        changed(data, **{"ppt/slides/slide1.xml": slide.replace("<a:r><a:t>x</a:t></a:r>", runs)}), "a.pptx"
    ).text
    assert text == "## Some info, H₂O\n"


def test_merged_cells_of_a_slide_are_filled() -> None:
    def cell(text: str, more: str = "") -> str:
        return f"<a:tc{more}><a:txBody>{line(text)}</a:txBody></a:tc>"

    top = cell("Land", ' rowSpan="2"') + cell("2023", ' gridSpan="2"') + cell("", ' hMerge="1"')
    below = cell("", ' vMerge="1"') + cell("Q1") + cell("Q2")
    rows = "".join(f"<a:tr>{row}</a:tr>" for row in (top, below, cell("North") + cell("1") + cell("2")))
    text = read(pptx(["T"], [0], tables={0: f"<a:tbl>{rows}</a:tbl>"}), "a.pptx").text
    assert "| Land | 2023 / Q1 | 2023 / Q2 |\n| --- | --- | --- |\n| North | 1 | 2 |" in text


def test_hidden_slides_and_comments_with_author_and_time_are_there() -> None:
    names = 'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"'
    made = f'<p:cmLst {names}><p:cm authorId="0" dt="2024-05-06T07:08:09"><p:text>Why so?</p:text></p:cm></p:cmLst>'
    data = pptx(["One"], [0], {0: {"comments": made}})
    with zipfile.ZipFile(io.BytesIO(data)) as container:
        slide = container.read("ppt/slides/slide1.xml").decode()
        links = container.read("ppt/_rels/presentation.xml.rels").decode()
    kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/commentAuthors"
    authors = f'<Relationship Id="a" Type="{kind}" Target="commentAuthors.xml"/></Relationships>'
    document = read(
        changed(
            data,
            **{
                "ppt/slides/slide1.xml": slide.replace("<p:sld ", '<p:sld show="0" '),
                "ppt/_rels/presentation.xml.rels": links.replace("</Relationships>", authors),
                "ppt/commentAuthors.xml": f'<p:cmAuthorLst {names}><p:cmAuthor id="0" name="Ada"/></p:cmAuthorLst>',
            },
        ),
        "a.pptx",
    )
    assert document.text == "## One (hidden slide)\n\n### Comments\n\n- Ada (2024-05-06 07:08): Why so?\n"
    assert [note.code for note in document.notes] == ["hidden"]


def run(text: str, look: str = "") -> str:
    return f'<w:r><w:rPr>{look}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'


RAISED, LOWERED = '<w:vertAlign w:val="superscript"/>', '<w:vertAlign w:val="subscript"/>'


@pytest.mark.parametrize(
    ("runs", "text"),
    [
        (run("10") + run("-", RAISED) + run("9", RAISED) + run(" m"), "10⁻⁹ m"),
        (run("H") + run("2", LOWERED) + run("O"), "H₂O"),
        (run("S", "<w:b/>") + run("ome info"), "Some info"),
        (run("Some ") + run("bold", "<w:b/>") + run(" words"), "Some **bold** words"),
        ("<w:r><w:t>hy</w:t><w:softHyphen/><w:t>phen\u00adated ze\u200bro</w:t></w:r>", "hyphenated zero"),
        (run("Seen ") + run("and unseen", "<w:vanish/>"), "Seen [hidden: and unseen]"),
        ('<w:r><w:sym w:font="Wingdings" w:char="F0FE"/></w:r>' + run(" done"), "☒ done"),
        (run("\uf0fc", '<w:rFonts w:ascii="Wingdings"/>') + run(" done"), "✓ done"),
        (run("\uf061 = 5", '<w:rFonts w:ascii="Symbol" w:hAnsi="Symbol"/>'), "α = 5"),
        (run("Before \uf0b7", '<w:rFonts w:ascii="Symbol" w:hAnsi="Symbol"/>'), "Before •"),
        (run("wing \uf0fc", '<w:rFonts w:ascii="Wingdings"/>'), "wing ✓"),
        ('<w:sdt><w:sdtPr/><w:sdtContent><w:r><w:t>☐</w:t></w:r></w:sdtContent></w:sdt>' + run(" open"), "☐ open"),
        (
            '<w:r><w:fldChar w:fldCharType="begin"><w:ffData><w:checkBox><w:default w:val="0"/><w:checked/></w:checkBox>'  # noqa: E501
            '</w:ffData></w:fldChar></w:r><w:r><w:instrText> FORMCHECKBOX </w:instrText></w:r><w:r><w:fldChar w:fldCharType="end"/></w:r>'  # noqa: E501
            + run(" old"),
            "☒ old",
        ),
    ],
)  # fmt: skip
def test_words_of_a_document_are_whole_and_as_they_are_seen(runs: str, text: str) -> None:
    assert read(docx(f"<w:p>{runs}</w:p>"), "a.docx").text.strip() == text


def test_a_drop_cap_is_a_letter_of_its_word() -> None:
    initial = f'<w:p><w:pPr><w:framePr w:dropCap="drop" w:lines="3"/></w:pPr>{run("O")}</w:p>'
    assert read(docx(initial + paragraph("nce upon a time")), "a.docx").text == "Once upon a time\n"


def test_headings_and_lists_have_the_numbers_that_word_gives_them() -> None:
    levels = "".join(
        f'<w:lvl w:ilvl="{at}"><w:start w:val="1"/><w:numFmt w:val="{kind}"/><w:lvlText w:val="{text}"/></w:lvl>'
        for at, (kind, text) in enumerate((("decimal", "%1"), ("decimal", "%1.%2"), ("lowerRoman", "(%3)")))
    )
    part = (
        f'<w:numbering {WORD}><w:abstractNum w:abstractNumId="0">{levels}</w:abstractNum>'
        '<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>'
        '<w:num w:numId="2"><w:abstractNumId w:val="0"/><w:lvlOverride w:ilvl="0"><w:startOverride w:val="7"/>'
        "</w:lvlOverride></w:num></w:numbering>"
    )

    def numbered(text: str, level: int, style: str = "", number: int = 1) -> str:
        named = f'<w:pStyle w:val="{style}"/>' if style else ""
        numbering = f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{number}"/></w:numPr>'
        return f"<w:p><w:pPr>{named}{numbering}</w:pPr>{run(text)}</w:p>"

    body = (
        numbered("Aim", 0, "Heading1") + numbered("Plan", 0, "Heading1") + numbered("Why", 1, "Heading2")
        + numbered("Scope", 1, "Heading2") + numbered("first", 2) + paragraph("Between.") + numbered("second", 2)
        + numbered("Again", 0, "Heading1", 2)
    )  # fmt: skip
    text = read(docx(body, **{"word/numbering.xml": part.encode()}), "a.docx").text
    assert [one for one in text.split("\n") if one] == [
        *("# 1 Aim", "# 2 Plan", "## 2.1 Why", "## 2.2 Scope", "- (i) first", "Between.", "- (ii) second", "# 7 Again")
    ]


def test_merged_cells_of_a_document_are_filled() -> None:
    def cell(text: str, more: str = "") -> str:
        return f"<w:tc><w:tcPr>{more}</w:tcPr><w:p>{run(text)}</w:p></w:tc>"

    wide, begin, on = '<w:gridSpan w:val="2"/>', '<w:vMerge w:val="restart"/>', "<w:vMerge/>"
    head = "<w:trPr><w:tblHeader/></w:trPr>"
    rows = (
        head + cell("Land", begin) + cell("2023", wide),
        head + cell("", on) + cell("Q1") + cell("Q2"),
        cell("North", begin) + cell("1") + cell("2"),
        cell("", on) + cell("3") + cell("4"),
    )
    table = f"<w:tbl>{''.join(f'<w:tr>{row}</w:tr>' for row in rows)}</w:tbl>"
    assert read(docx(table), "a.docx").text == (
        "| Land | 2023 / Q1 | 2023 / Q2 |\n| --- | --- | --- |\n| North | 1 | 2 |\n| North | 3 | 4 |\n"
    )


def test_headers_and_footers_stand_once_without_page_numbers() -> None:
    links = relations({"h": ("header", "header1.xml"), "g": ("header", "header2.xml"), "f": ("footer", "footer1.xml")})
    field = '<w:fldSimple w:instr=" PAGE "><w:r><w:t>3</w:t></w:r></w:fldSimple>'
    names = f'{WORD} xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
    section = "".join(
        f'<w:sectPr xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships">'
        f'<w:headerReference r:id="{header}"/><w:footerReference r:id="f"/></w:sectPr>'
        for header in "hg"
    )
    parts = {
        "word/_rels/document.xml.rels": links,
        "word/header1.xml": f"<w:hdr {names}>{paragraph('Acme confidential')}</w:hdr>",
        "word/header2.xml": f"<w:hdr {names}>{paragraph('Acme confidential')}</w:hdr>",
        "word/footer1.xml": f"<w:ftr {names}><w:p>{run('Page ')}{field}</w:p>{paragraph('Form 7-B')}</w:ftr>",
    }
    data = docx(paragraph("Body.") + section, **{name: part.encode() for name, part in parts.items()})
    assert read(data, "a.docx").text == "Body.\n\n## Headers and footers\n\n- Acme confidential\n- Form 7-B\n"


def test_a_chart_in_a_document_stands_below_its_paragraph() -> None:
    drawing = (
        '<w:r><w:drawing><c:chart xmlns:c="urn:c" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/'
        'relationships" r:id="c1"/></w:drawing></w:r>'
    )
    parts = {
        "word/_rels/document.xml.rels": relations({"c1": ("chart", "charts/chart1.xml")}),
        "word/charts/chart1.xml": chart("Sales", ["East"], Spring=[2]),
    }
    data = docx(f"<w:p>{run('See:')}{drawing}</w:p>", **{name: part.encode() for name, part in parts.items()})
    assert read(data, "a.docx").text == "See:\n\nChart: Sales\n\n|  | Spring |\n| --- | --- |\n| East | 2 |\n"


def test_what_precedes_a_flaw_is_read_and_the_flaw_is_named() -> None:
    document = read(docx(paragraph("Kept words.") + "<w:p><w:r></w:p>"), "a.docx")
    assert "Kept words." in document.text
    assert [note.code for note in document.notes] == ["damaged-part"]


@pytest.mark.parametrize(
    "body",
    [
        lambda n: "<w:ins>" * n + run("deep") + "</w:ins>" * n,
        lambda n: "<w:tbl><w:tr><w:tc>" * (n // 20) + paragraph("deep") + "</w:tc></w:tr></w:tbl>" * (n // 20),
        lambda n: "<w:p>" + '<w:r><w:fldChar w:fldCharType="begin"/></w:r>' * (n // 2) + "</w:p>" + paragraph("after"),
        lambda n: (
            "<w:tbl>"
            + '<w:tr><w:tc><w:tcPr><w:gridSpan w:val="999999999"/></w:tcPr></w:tc></w:tr>' * (n // 5)
            + "</w:tbl>"
            + paragraph("x")
        ),
        lambda n: f"<w:p>{run('a', RAISED) * n}</w:p>",
    ],
    ids=["wrappers", "tables", "fields", "spans", "runs"],
)
def test_documents_that_are_made_to_be_slow_take_linear_time(body: Callable[[int], str]) -> None:
    def parsed(data: bytes) -> None:
        assert len(read(data, "a.docx").text) < 5_000_000

    assert_linear(parsed, lambda count: docx(body(count)), 25_000)
