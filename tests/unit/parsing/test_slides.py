"""Presentations: slides in the order in which they are shown, with what is said to them and what their charts say."""

from __future__ import annotations

import io
import zipfile

from small_docx import zipped
from small_pptx import chart, line, notes, pptx

from pinakes import parsing
from pinakes.core.records import Document


def read(data: bytes) -> Document:
    return parsing.read(data, "a.pptx", max_chars=1_000_000)


def test_slides_come_as_they_are_shown_whatever_their_files_are_called() -> None:
    titles = [f"Title {at}" for at in range(12)]
    document = read(pptx(titles, [11, *range(10)]))
    lines = [line for line in document.text.splitlines() if line]
    assert lines == ["## Title 11", *(f"## Title {at}" for at in range(10))]
    assert [document.text[at:].partition("\n")[0] for at in document.pages] == lines
    assert document.metadata["page_count"] == 11


def test_a_slide_that_was_taken_out_is_not_read() -> None:
    assert "Taken out" not in read(pptx(["First", "Taken out", "Last"], [0, 2])).text


def test_what_is_said_to_a_slide_stands_below_it() -> None:
    said = {1: {"notesSlide": notes("Say R&amp;D first.", "Then wait.")}}
    assert read(pptx(["One", "Two", "Three"], [1, 0, 2], said)).text == (
        "## Two\n\n### Notes\n\nSay R&D first.\n\nThen wait.\n\n## One\n\n## Three\n"
    )


def test_a_chart_becomes_a_table_of_its_numbers() -> None:
    drawn = chart("Sales &amp; more", ["East|West", "North"], Spring=[19.2, 21], Autumn=[3])
    assert read(pptx(["Chart"], [0], {0: {"chart": drawn}})).text == (
        "## Chart\n\nChart: Sales & more\n\n|  | Spring | Autumn |\n| --- | --- | --- |\n"
        "| East\\|West | 19.2 | 3 |\n| North | 21 |  |\n"
    )


def test_bubbles_of_a_chart_have_their_sizes() -> None:
    drawn = chart("", ["1.5", "2.5"], Risk=[10, 20]).replace(
        "</c:ser>",
        "<c:bubbleSize><c:numRef><c:pt idx='0'><c:v>30</c:v>"
        "</c:pt><c:pt idx='1'><c:v>40</c:v></c:pt></c:numRef></c:bubbleSize></c:ser>",
    )
    assert read(pptx(["Chart"], [0], {0: {"chart": drawn}})).text.endswith(
        "|  | Risk | Risk, size |\n| --- | --- | --- |\n| 1.5 | 10 | 30 |\n| 2.5 | 20 | 40 |\n"
    )


def test_a_chart_without_title_and_numbers_says_nothing() -> None:
    assert read(pptx(["Chart"], [0], {0: {"chart": chart("", [])}})).text == "## Chart\n"


def test_where_files_are_missing_slides_come_as_their_files_are_numbered() -> None:
    assert read(pptx(["One", "Two"], [1, 0, 7])).text == "## One\n\n## Two\n"


def test_a_bar_in_a_cell_does_not_end_the_cell() -> None:
    cells = "".join(f"<a:tc><a:txBody>{line(words)}</a:txBody></a:tc>" for words in ("a | b", "c&#124;d"))
    frame = f"<a:tbl><a:tr>{cells}</a:tr><a:tr>{cells}</a:tr></a:tbl>"
    row = "| a \\| b | c\\|d |\n"
    assert read(pptx(["A | B"], [0], tables={0: frame})).text == f"## A | B\n\n{row}| --- | --- |\n{row}"


def test_notes_that_slides_share_and_slides_that_are_shown_again_are_read_once() -> None:
    data = pptx(["One", "Two"], [0, 1, 0, 1], {0: {"notesSlide": notes("Wait.")}})
    with zipfile.ZipFile(io.BytesIO(data)) as container:
        entries = {name: container.read(name) for name in container.namelist()}
    entries["ppt/slides/_rels/slide2.xml.rels"] = entries["ppt/slides/_rels/slide1.xml.rels"]
    assert read(zipped(entries)).text == "## One\n\n### Notes\n\nWait.\n\n## Two\n"


def test_a_chart_of_more_cells_than_one_can_show_has_no_table() -> None:
    drawn = chart("Sales", list(map(str, range(500))), **{f"s{at}": [1.0] for at in range(500)})
    assert read(pptx(["Chart"], [0], {0: {"chart": drawn}})).text == "## Chart\n\nChart: Sales\n"
