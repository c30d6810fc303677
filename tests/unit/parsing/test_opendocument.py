"""OpenDocument files (ODT, ODS, ODP) are read as people see them. The files are made here."""

from __future__ import annotations

import time

import pytest
from small_docx import zipped
from small_odf import NAMES, annotation, opendocument, style

from pinakes import parsing
from pinakes.core.errors import Locked, Unreadable
from pinakes.core.records import Document

RAISED = (
    style("T1", "text", '<style:text-properties style:text-position="super 58%"/>')
    + style("T2", "text", '<style:text-properties style:text-position="-33% 58%"/>')
    + style("T3", "text", '<style:text-properties text:display="none"/>')
    + style("T4", "text", '<style:text-properties fo:font-weight="bold"/>')
)
NUMBERED = (
    '<text:list-style style:name="L1"><text:list-level-style-number text:level="1" style:num-format="1" '
    'style:num-suffix="."/><text:list-level-style-number text:level="2" style:num-format="a" style:num-suffix=")"/>'
    '</text:list-style><text:list-style style:name="L2"><text:list-level-style-bullet '
    'text:level="1"/></text:list-style>'
)


def document(data: bytes, name: str = "a.odt") -> Document:
    return parsing.read(data, name, max_chars=1_000_000)


def read(*paragraphs: str, styles: str = RAISED + NUMBERED, common: str = "", **more: str) -> str:
    body = "".join(one if one.startswith("<") else f"<text:p>{one}</text:p>" for one in paragraphs)
    return document(opendocument("text", body, styles, common, **more)).text


def note(number: int, words: str) -> str:
    head = (
        f'<text:note text:id="n{number}" text:note-class="footnote"><text:note-citation>{number}</text:note-citation>'
    )
    return f"{head}<text:note-body><text:p>{words}</text:p></text:note-body></text:note>"


def sheet(rows: str, name: str = "S", before: str = "", kind: str = "") -> str:
    return f'<table:table table:name="{name}" {kind}>{before}{rows}</table:table>'


def row(*cells: str, attributes: str = "") -> str:
    inner = "".join(
        one if one.startswith("<") else f"<table:table-cell><text:p>{one}</text:p></table:table-cell>" for one in cells
    )
    return f"<table:table-row {attributes}>{inner}</table:table-row>"


def cell(words: str, attributes: str) -> str:
    return f"<table:table-cell {attributes}><text:p>{words}</text:p></table:table-cell>"


def cells(*sheets: str, styles: str = "", **more: str) -> str:
    return document(opendocument("sheet", "".join(sheets), styles, **more), "a.ods").text


COVERED = "<table:covered-table-cell/>"


def test_notes_have_their_number_where_they_belong() -> None:
    text = read("Before" + note(1, "R&amp;D, see") + " after.", "Next" + note(2, "two<text:tab/>words"))
    assert text == "Before[^1] after.\n\nNext[^2]\n\n## Notes\n\n- [^1] R&D, see\n- [^2] two words\n"


def test_comments_stand_at_the_end_with_who_made_them_and_when() -> None:
    text = read("Some" + annotation("Really?", "Jo") + " words" + annotation("Yes.", made="") + annotation(""))
    assert text == "Some words\n\n## Comments\n\n- Jo (2024-03-05 06:07): Really?\n- Yes.\n"


def test_spaces_and_tabs_that_are_elements_keep_words_apart() -> None:
    assert read('Name:<text:tab/>Jo<text:s text:c="3"/>Ann<text:s/>Lee') == "Name: Jo Ann Lee\n"


@pytest.mark.parametrize(
    ("inner", "shown"),
    [
        ('10<text:span text:style-name="T1">-9</text:span> m', "10⁻⁹ m"),
        ('H<text:span text:style-name="T2">2</text:span>O', "H₂O"),
        ('S<text:span text:style-name="T4">ome</text:span> info', "Some info"),
        ("soft\u00adhy\u200bphen", "softhyphen"),
        ('See <text:a xlink:href="https://a.b/c">this</text:a>', "See [this](https://a.b/c)"),
        ('Open <text:span text:style-name="T3">secret words</text:span>', "Open [hidden: secret words]"),
        ('A <text:hidden-text text:is-hidden="true" text:string-value="concealed"/>', "A [hidden: concealed]"),
        ("<text:ruby><text:ruby-base>漢</text:ruby-base><text:ruby-text>kan</text:ruby-text></text:ruby>", "漢(kan)"),
    ],
)
def test_words_and_values_of_a_text_are_those_that_people_see(inner: str, shown: str) -> None:
    assert read(f"<text:p>{inner}</text:p>") == f"{shown}\n"


def test_hidden_text_is_counted() -> None:
    body = '<text:p>Open <text:span text:style-name="T3">secret</text:span></text:p>'
    body += '<text:section text:display="none"><text:p>Not shown.</text:p></text:section>'
    found = document(opendocument("text", body, RAISED))
    assert "[hidden] Not shown." in found.text
    assert [(one.code, one.count) for one in found.notes] == [("hidden", 2)]


def test_merged_cells_of_a_text_fill_each_row_with_its_key() -> None:
    north = cell("North", 'table:number-rows-spanned="2"')
    table = f"<table:table><table:table-header-rows>{row('Region', 'Month', 'Sales')}</table:table-header-rows>"
    table += row(north, "May", "5") + row(COVERED, "June", "7") + "</table:table>"
    lines = read(table).splitlines()
    assert lines[2:] == ["| North | May | 5 |", "| North | June | 7 |"]


def test_a_list_counts_as_it_is_numbered_and_goes_on_behind_a_paragraph() -> None:
    inner = "<text:list><text:list-item><text:p>Deep</text:p></text:list-item></text:list>"
    first = f'<text:list text:style-name="L1"><text:list-item><text:p>One</text:p>{inner}</text:list-item></text:list>'
    second = (
        '<text:list text:style-name="L1" text:continue-numbering="true"><text:list-item>'
        "<text:p>Two</text:p></text:list-item>"
    )
    second += '<text:list-item text:start-value="9"><text:p>Nine</text:p></text:list-item></text:list>'
    bullets = '<text:list text:style-name="L2"><text:list-item><text:p>Dot</text:p></text:list-item></text:list>'
    text = read(first, "Between", second, bullets)
    assert text == "1. One\n    - a) Deep\n\nBetween\n\n2. Two\n9. Nine\n- Dot\n"


def test_headings_have_their_numbers_as_their_outline_counts_them() -> None:
    outline = (
        '<office:styles><text:outline-style style:name="O"><text:outline-level-style text:level="1" '
        'style:num-format="1"/>'
        '<text:outline-level-style text:level="2" style:num-format="1" text:display-levels="2"/></text:outline-style>'
        "</office:styles>"
    )
    heads = [
        f'<text:h text:outline-level="{at}">{name}</text:h>' for at, name in ((1, "A"), (2, "B"), (2, "C"), (1, "D"))
    ]
    assert read(*heads, common=outline) == "# 1 A\n\n## 1.1 B\n\n## 1.2 C\n\n# 2 D\n"


def test_headers_and_footers_of_a_text_stand_once_without_page_numbers() -> None:
    common = (
        '<office:master-styles><style:master-page style:name="M"><style:header><text:p>Secret '
        "draft</text:p></style:header>"
        "<style:footer><text:p>Page <text:page-number>3</text:page-number> of "
        "<text:page-count>9</text:page-count></text:p>"
        '</style:footer></style:master-page><style:master-page style:name="N"><style:header>'
        "<text:p>Secret draft</text:p>"
        "</style:header></style:master-page></office:master-styles>"
    )
    assert read("Words", common=common) == "Words\n\n## Headers and footers\n\n- Secret draft\n"


def test_boxes_pictures_and_deleted_text() -> None:
    changes = (
        "<text:tracked-changes><text:changed-region><text:deletion><text:p>gone</text:p>"
        "</text:deletion></text:changed-region></text:tracked-changes>"
    )
    box = "<draw:frame><draw:text-box><text:p>In a box</text:p></draw:text-box></draw:frame>"
    picture = '<draw:frame><draw:image xlink:href="a.png"/><svg:desc>A badger</svg:desc></draw:frame>'
    assert (
        read(changes, f"<text:p>Words{box}</text:p>", f"<text:p>{picture}</text:p>")
        == "Words\n\nIn a box\n\nA badger\n"
    )


def test_fields_of_a_form_show_what_they_hold() -> None:
    forms = (
        '<office:forms><form:form><form:checkbox form:id="c1" form:label="Agree" form:current-state="checked"/>'
        '<form:radio form:id="c2" form:label="Other"/><form:text form:id="c3" form:current-value="Zelda"/>'
        '<form:password form:id="c4" form:current-value="secret"/></form:form></office:forms>'
    )
    shown = "".join(f'<draw:control draw:control="c{at}"/>' for at in range(1, 5))
    assert read(forms, f"<text:p>{shown}</text:p>") == "☒ Agree ☐ Other Zelda\n"


@pytest.mark.parametrize(
    ("kind", "value", "shown"),
    [
        ("percentage", 'office:value="0.125"', "12.5%"),
        ("currency", 'office:value="1234.5" office:currency="EUR"', "1.234,50 €"),
        ("time", 'office:time-value="PT36H00M00S"', "36:00"),
        ("date", 'office:date-value="2024-03-05"', "5. März 2024"),
        ("float", 'office:value="42"', "00042"),
        ("string", "", "words"),
    ],
)
def test_cells_of_a_sheet_show_what_people_see(kind: str, value: str, shown: str) -> None:
    one = cell(shown, f'office:value-type="{kind}" {value}')
    assert f"| {shown} | {shown} |" in cells(sheet(row(one, one)))


@pytest.mark.parametrize(
    ("kind", "value", "shown"),
    [
        ("percentage", 'office:value="0.125"', "12.5%"),
        ("currency", 'office:value="1234.5" office:currency="EUR"', "1234.5 EUR"),
        ("time", 'office:time-value="PT36H00M07S"', "36:00:07"),
        ("date", 'office:date-value="2024-03-05"', "2024-03-05"),
        ("string", 'office:string-value="words"', "words"),
    ],
)
def test_cells_that_only_have_a_value_show_it(kind: str, value: str, shown: str) -> None:
    one = f'<table:table-cell office:value-type="{kind}" {value}/>'
    assert f"| {shown} | {shown} |" in cells(sheet(row(one, one)))


def test_merged_cells_of_a_sheet_fill_each_row_with_its_key() -> None:
    north = cell("North", 'table:number-rows-spanned="2"')
    year = cell("2023", 'table:number-columns-spanned="2"')
    text = cells(
        sheet(row("Region", year, COVERED) + row("", "Q1", "Q2") + row(north, "1", "2") + row(COVERED, "3", "4"))
    )
    assert text.splitlines()[2:] == [
        "| Region | 2023 / Q1 | 2023 / Q2 |",
        "| --- | --- | --- |",
        "| North | 1 | 2 |",
        "| North | 3 | 4 |",
    ]


def test_several_tables_of_one_sheet_keep_their_own_names() -> None:
    empty = '<table:table-cell table:number-columns-repeated="2"/>'
    text = cells(sheet(row("Name", "Age", empty, "City", "Land") + row("Ann", "4", empty, "Rome", "Italy")))
    assert "| Name | Age |\n| --- | --- |\n| Ann | 4 |" in text
    assert "| City | Land |\n| --- | --- |\n| Rome | Italy |" in text


def test_hidden_sheets_rows_and_columns_are_marked_and_counted() -> None:
    hidden = style("ta1", "table", '<style:table-properties table:display="false"/>')
    columns = '<table:table-column/><table:table-column table:visibility="collapse"/>'
    open_ = sheet(
        row("Name", "Pay") + row("Ann", "4") + row("Bob", "5", attributes='table:visibility="collapse"'),
        "Open",
        columns,
    )
    found = document(
        opendocument("sheet", open_ + sheet(row("A", "B"), "Past", kind='table:style-name="ta1"'), hidden), "a.ods"
    )
    assert "| Name | Pay [hidden] |" in found.text
    assert "| [hidden] Bob | 5 |" in found.text
    assert "## Past (hidden sheet)" in found.text
    assert {one.message for one in found.notes} == {
        "Read and marked: 1 hidden row.",
        "Read and marked: 1 hidden column.",
        "Read and marked: 1 hidden sheet.",
    }


def test_comments_of_a_sheet_name_their_cell() -> None:
    commented = f"<table:table-cell>{annotation('Check this', 'Ada')}<text:p>5</text:p></table:table-cell>"
    text = cells(sheet(row("Name", "Pay") + row("Ann", commented)))
    assert text.endswith("### Comments\n\n- B2: Ada (2024-03-05 06:07): Check this\n")


def test_values_that_fill_a_sheet_to_its_end_are_bounded() -> None:
    filler = cell("x", 'table:number-columns-repeated="16384"')
    begun = time.process_time()
    text = cells(
        sheet(
            row(filler, attributes='table:number-rows-repeated="1"')
            + row("end", attributes='table:number-rows-repeated="1048576"')
        )
    )
    assert time.process_time() - begun < 20
    assert "end" in text


CHART = (
    "<office:chart><chart:chart><chart:title><text:p>Sales by year</text:p></chart:title><chart:plot-area><chart:axis>"
    "<chart:title><text:p>EUR</text:p></chart:title></chart:axis></chart:plot-area><table:table "
    "table:name='local-table'>"
    "<table:table-header-rows>{head}</table:table-header-rows><table:table-rows>{body}</table:table-rows></table:table>"
    "</chart:chart></office:chart>"
)


@pytest.mark.parametrize("kind", ["text", "sheet", "show"])
def test_charts_are_small_tables(kind: str) -> None:
    chart = CHART.format(head=row("<table:table-cell/>", "North"), body=row("2023", "5") + row("2024", "7"))
    frame = '<draw:frame><draw:object xlink:href="./Object 1"/></draw:frame>'
    body = {
        "text": f"<text:p>{frame}</text:p>",
        "sheet": sheet(row("Name", f"<table:table-cell>{frame}</table:table-cell>")),
        "show": f"<draw:page>{frame}</draw:page>",
    }[kind]
    data = opendocument(kind, body, **{"Object 1_content": chart})
    text = document(data, {"text": "a.odt", "sheet": "a.ods", "show": "a.odp"}[kind]).text
    assert "Chart: Sales by year (EUR)\n\n|  | North |\n| --- | --- |\n| 2023 | 5 |\n| 2024 | 7 |" in text


def test_slides_have_titles_items_tables_notes_and_comments() -> None:
    hidden = style("dp1", "drawing-page", '<style:drawing-page-properties presentation:visibility="hidden"/>')
    title = '<draw:frame presentation:class="title"><draw:text-box><text:p>Plan</text:p></draw:text-box></draw:frame>'
    items = "".join(
        f"<text:list-item><text:p>{one}</text:p></text:list-item>"
        for one in ("I<text:span>tem</text:span> A", "Item B")
    )
    outline = (
        f'<draw:frame presentation:class="outline"><draw:text-box><text:list>{items}</text:list>'
        "</draw:text-box></draw:frame>"
    )
    wide = cell("Both", 'table:number-columns-spanned="2"')
    table = f"<draw:frame><table:table>{row('K', 'A', 'B') + row('x', wide, COVERED)}</table:table></draw:frame>"
    notes = (
        '<presentation:notes><draw:frame presentation:class="notes"><draw:text-box><text:p>Say '
        "hello</text:p></draw:text-box></draw:frame></presentation:notes>"
    )
    page = f'<draw:page draw:name="p">{outline}{title}{table}{notes}{annotation("Why?", "Ada")}</draw:page>'
    last = (
        '<draw:page draw:style-name="dp1"><draw:g><draw:custom-shape><text:p>Backup</text:p>'
        "</draw:custom-shape></draw:g></draw:page>"
    )
    found = document(opendocument("show", page + last, hidden), "a.odp")
    assert found.text == (
        "## Plan\n\n- Item A\n- Item B\n\n| K | A | B |\n| --- | --- | --- |\n| x | Both | Both "
        "|\n\n### Notes\n\nSay hello\n\n"
        "### Comments\n\n- Ada (2024-03-05 06:07): Why?\n\n## (hidden slide)\n\nBackup\n"
    )
    assert len(found.pages) == 2
    assert [one.message for one in found.notes] == ["Read and marked: 1 hidden slide."]


def test_properties_are_metadata() -> None:
    meta = (
        f"<office:document-meta {NAMES}><office:meta><dc:title>My plan</dc:title>"
        "<meta:initial-creator>Ada</meta:initial-creator>"
    )
    meta += (
        "<meta:keyword>one, two</meta:keyword>"
        "<meta:creation-date>2024-01-02T03:04:05.678</meta:creation-date></office:meta>"
    )
    data = opendocument("text", "<text:p>Words</text:p>", meta=f"{meta}</office:document-meta>")
    found = document(data)
    assert found.title == "My plan"
    assert found.metadata == {
        "title": "My plan",
        "authors": ["Ada"],
        "keywords": ["one", "two"],
        "created": "2024-01-02T03:04:05",
    }


def test_an_encrypted_file_says_so() -> None:
    manifest = "<manifest><file-entry><encryption-data/></file-entry></manifest>"
    with pytest.raises(Locked):
        document(opendocument("text", "garbage", **{"META-INF_manifest": manifest}))


def test_a_file_without_content_says_so() -> None:
    with pytest.raises(Unreadable, match=r"content\.xml"):
        document(zipped({"mimetype": b"application/vnd.oasis.opendocument.text"}))


def test_what_stands_before_a_flaw_is_read() -> None:
    content = f"<office:document-content {NAMES}><office:body><office:text><text:p>Begin</text:p><text:p>& broken"
    data = zipped({"mimetype": b"application/vnd.oasis.opendocument.text", "content.xml": content.encode()})
    found = document(data)
    assert "Begin" in found.text
    assert [one.code for one in found.notes] == ["damaged-part"]


@pytest.mark.parametrize(
    "body",
    [
        '<text:note text:id="1"><office:annotation>' * 3_000,
        "<text:list><text:list-item>" * 5_000 + "<text:p>deep</text:p>" + "</text:list-item></text:list>" * 5_000,
        "<text:section>" * 10_000 + "<text:p>deep</text:p>" + "</text:section>" * 10_000,
        "<text:p>" + "<text:span>" * 10_000 + "deep" + "</text:span>" * 10_000 + "</text:p>",
        "<table:table><table:table-row><table:table-cell>" * 3_000 + "<text:p>deep</text:p>",
        "<text:p>" + "<text:span>deep</text:span>" * 200_000 + "</text:p>",
    ],
    ids=["notes", "lists", "sections", "spans", "tables", "runs"],
)
def test_unusual_structures_lose_no_words_and_take_no_time(body: str) -> None:
    begun = time.process_time()
    assert "deep" in document(opendocument("text", f"{body}<text:p>deep</text:p>")).text
    assert time.process_time() - begun < 10
