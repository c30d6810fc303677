"""Tables of PDFs whose cells are framed: words of one cell stand together, however they are aligned in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from linear import assert_linear
from printed_pdf import At, lines, printed

from pinakes import parsing

Edges = Sequence[float]
WIDTH, PITCH, TOP = 130.0, 44.0, 700.0


def stroked(left: float, bottom: float, right: float, top: float) -> str:
    return f"{left} {bottom} m {right} {top} l S"


def thin(left: float, bottom: float, right: float, top: float) -> str:
    return f"{left} {bottom} {max(right - left, 0.5)} {max(top - bottom, 0.5)} re f"


def ruled(columns: Edges, rows: Edges, draw: Callable[[float, float, float, float], str] = stroked) -> list[str]:
    """Return the lines of a grid."""
    across = [draw(columns[0], y, columns[-1], y) for y in rows]
    return [*across, *(draw(x, rows[-1], x, rows[0]) for x in columns)]


def boxed(columns: Edges, rows: Edges) -> list[str]:
    """Return a grid as a rectangle around each cell."""
    return [
        f"{left} {bottom} {right - left} {top - bottom} re S"
        for left, right in pairwise(columns)
        for top, bottom in pairwise(rows)
    ]


def edges(rows: int, columns: int) -> tuple[list[float], list[float]]:
    return [72 + WIDTH * at for at in range(columns + 1)], [TOP - PITCH * at for at in range(rows + 1)]


def filled(cells: Sequence[Sequence[str]], align: str = "bottom") -> list[At]:
    """Return the words of cells; ``/`` parts the lines of a cell."""
    found = []
    for row, texts in enumerate(cells):
        for column, text in enumerate(texts):
            parts = text.split("/") if text else []
            free = PITCH - 12 * len(parts)
            first = TOP - PITCH * row - 10 - {"top": 0, "middle": free / 2, "bottom": free}[align]
            found += [At(76 + WIDTH * column, first - 12 * at, part, 10) for at, part in enumerate(parts)]
    return found


def text_of(*items: At | str) -> str:
    return parsing.read(printed([items]), "a.pdf", max_chars=100_000).text


PRICES = [
    ["Article", "Description", "Price EUR"],
    ["A-17", "Hex bolt with washer/and nut of steel", "1.25"],
    ["A-18", "Wood screw", "0.35"],
    ["A-19", "Anchor for heavy/loads in concrete/and brick", "4.80"],
]


@pytest.mark.parametrize("align", ["top", "middle", "bottom"])
@pytest.mark.parametrize(
    "frame",
    [ruled(*edges(4, 3)), ruled(*edges(4, 3), thin), boxed(*edges(4, 3))],
    ids=["lines", "thin rectangles", "boxes"],
)
def test_a_row_holds_the_lines_of_its_cells(frame: list[str], align: str) -> None:
    assert text_of(*frame, *filled(PRICES, align)).strip().split("\n") == [
        "| Article | Description | Price EUR |",
        "| --- | --- | --- |",
        "| A-17 | Hex bolt with washer and nut of steel | 1.25 |",
        "| A-18 | Wood screw | 0.35 |",
        "| A-19 | Anchor for heavy loads in concrete and brick | 4.80 |",
    ]


def test_merged_cells_fill_what_they_span() -> None:
    columns, rows = edges(4, 3)
    frame = [
        *(stroked(columns[0], y, columns[-1], y) for y in (rows[0], rows[1], rows[2], rows[4])),
        stroked(columns[1], rows[3], columns[-1], rows[3]),
        *(stroked(x, rows[-1], x, rows[0]) for x in (columns[0], columns[1], columns[3])),
        stroked(columns[2], rows[-1], columns[2], rows[1]),
    ]
    words = filled([["Depot", "Pieces", ""], ["", "new", "used"], ["Leeds", "12", "7"], ["", "13", "8"]])
    assert text_of(*frame, *words).strip().split("\n") == [
        "| Depot | Pieces new | Pieces used |",
        "| --- | --- | --- |",
        "| Leeds | 12 | 7 |",
        "| Leeds | 13 | 8 |",
    ]


def test_a_title_over_all_columns_is_a_line_above_the_table() -> None:
    columns, rows = edges(4, 3)
    inner = [stroked(x, rows[-1], x, rows[1]) for x in columns[1:-1]]
    outer = [stroked(x, rows[-1], x, rows[0]) for x in (columns[0], columns[-1])]
    frame = [*(stroked(columns[0], y, columns[-1], y) for y in rows), *inner, *outer]
    words = filled([["Sales of the year", "", ""], ["Kind", "Spring", "Autumn"], ["Cat", "1", "2"], ["Dog", "3", "4"]])
    shown = text_of(*frame, *words)
    assert shown.startswith("Sales of the year\n\n| Kind | Spring | Autumn |\n")
    assert "| Dog | 3 | 4 |" in shown


def test_columns_whose_rows_no_line_parts_stay_rows() -> None:
    columns, _ = edges(2, 3)
    frame = ruled(columns, [710, 690, 560])
    names = [At(76 + WIDTH * at, 696, name, 10) for at, name in enumerate(("Name", "Mass", "Age"))]
    body = [
        At(76 + WIDTH * at, 676 - 18 * row, cell, 10)
        for row, cells in enumerate((("cat", "4.0", "7"), ("dog", "20.5", "9"), ("emu", "40.1", "11")))
        for at, cell in enumerate(cells)
    ]
    shown = text_of(*frame, *names, *body)
    assert all(row in shown for row in ("| Name | Mass | Age |", "| cat | 4.0 | 7 |", "| emu | 40.1 | 11 |"))


def spanned(cells: Sequence[Sequence[str | None]]) -> list[At | str]:
    """Return a framed table; None: the cell on the left reaches to here, ``^``: the one above."""
    columns, rows = edges(len(cells), len(cells[0]))
    frame = [stroked(x, rows[-1], x, rows[0]) for x in (columns[0], columns[-1])]
    for row, texts in enumerate(cells):
        for column, text in enumerate(texts):
            left, right, top, bottom = columns[column], columns[column + 1], rows[row], rows[row + 1]
            frame += [] if text == "^" else [stroked(left, top, right, top)]
            frame += [] if text is None else [stroked(left, bottom, left, top)]
    words = filled([[("" if text in (None, "^") else text or "") for text in row] for row in cells])
    return [*frame, stroked(columns[0], rows[-1], columns[-1], rows[-1]), *words]


@pytest.mark.parametrize(
    ("cells", "shown"),
    [
        (
            [
                ["Name", "Anna Smith", None, None],
                ["Street", "High Road", "City", "Paris"],
                ["Employer", "Acme Tools", None, None],
                ["Phone", "555 12", "Mobile", "555 98"],
            ],
            [
                "| Name | Anna Smith | | |",
                "| --- | --- | --- | --- |",
                "| Street | High Road | City | Paris |",
                "| Employer | Acme Tools | | |",
                "| Phone | 555 12 | Mobile | 555 98 |",
            ],
        ),
        (
            [["Invoice", "4711", "Date", "2024"], ["Customer", "Acme", None, None], ["Total", "10", "VAT", "2"]],
            ["Invoice 4711 Date 2024", "Customer Acme", "Total 10 VAT 2"],
        ),
        (
            [["Name:", "Anna", None, None], ["Street:", "Road", "City:", "Paris"], ["Phone:", "5 12", "Fax:", "5 98"]],
            ["Name: Anna", "Street: Road City: Paris", "Phone: 5 12 Fax: 5 98"],
        ),
        (
            [
                ["Monday", "Meeting", None, None],
                ["^", "Maths", "Art", "Music"],
                ["Tuesday", "English", "Sport", "Latin"],
                ["Friday", "Dance", "Games", "Physics"],
            ],
            [
                "| Monday | Meeting | | |",
                "| --- | --- | --- | --- |",
                "| Monday | Maths | Art | Music |",
                "| Tuesday | English | Sport | Latin |",
                "| Friday | Dance | Games | Physics |",
            ],
        ),
        (
            [["Article", "Pieces", "Price"], ["Pump", "2", "9.00"], ["Tap", "1", "3.50"], ["Total", None, "12.50"]],
            [
                "| Article | Pieces | Price |",
                "| --- | --- | --- |",
                "| Pump | 2 | 9.00 |",
                "| Tap | 1 | 3.50 |",
                "| Total | | 12.50 |",
            ],
        ),
        (
            [["Model", "Size", None], ["A1", "10", "20"], ["B1", "11", "21"], ["C1", "12", "22"]],
            ["| Model | Size | |", "| --- | --- | --- |", "| A1 | 10 | 20 |", "| B1 | 11 | 21 |", "| C1 | 12 | 22 |"],
        ),
        (
            [
                ["Region", "Spring", None, "Autumn", None],
                ["^", "Cats", "Dogs", "Cats", "Dogs"],
                ["North", "few", "many", "none", "many"],
                ["South", "many", "none", "few", "none"],
            ],
            [
                "| Region | Spring Cats | Spring Dogs | Autumn Cats | Autumn Dogs |",
                "| --- | --- | --- | --- | --- |",
                "| North | few | many | none | many |",
                "| South | many | none | few | none |",
            ],
        ),
    ],
    ids=["form", "without names", "labels", "timetable", "totals", "first row of fewer cells", "groups"],
)
def test_cells_over_several_columns_are_names_of_groups_only_above_names(
    cells: list[list[str | None]], shown: list[str]
) -> None:
    assert text_of(*spanned(cells)).strip().split("\n") == shown


def test_a_table_in_a_cell_and_tables_side_by_side_are_tables_of_their_own() -> None:
    inner = ruled([220, 300, 380], [650, 630, 610])
    words = [At(x, y, text, 10) for x, y, text in ((224, 636, "Item"), (304, 636, "Count"), (224, 616, "Pump"))]
    outer = ruled([72, 200, 400], [700, 660, 600, 560])
    labels = [
        At(76, 676, "Order"),
        At(204, 676, "4711"),
        At(76, 636, "Items"),
        At(76, 576, "Total"),
        At(204, 576, "30"),
    ]
    shown = text_of(*outer, *inner, *labels[:3], *words, At(304, 616, "2", 10), *labels[3:])
    assert "Items\n\n| Item | Count |\n| --- | --- |\n| Pump | 2 |\n\n" in shown
    cells = [["Name", "Age", "City", "Land"], ["Anna", "7", "Paris", "FR"], ["Ben", "8", "Rome", "IT"]]
    beside = [*ruled([72, 202, 330], edges(3, 1)[1]), *ruled([334, 462, 590], edges(3, 1)[1])]
    shown = text_of(*beside, *filled(cells))
    assert shown.split("\n\n")[0] == "| Name | Age |\n| --- | --- |\n| Anna | 7 |\n| Ben | 8 |"
    assert shown.strip().split("\n\n")[1] == "| City | Land |\n| --- | --- |\n| Paris | FR |\n| Rome | IT |"


def test_text_beside_a_frame_and_in_a_box_stays_text() -> None:
    box = ruled([60, 560], [740, 560])
    shown = text_of(*box, *lines("Words within a box that is drawn", "around a paragraph of text.", top=720))
    assert shown == "Words within a box that is drawn around a paragraph of text.\n"
    frame = ruled(*edges(4, 3))
    shown = text_of(At(72, 730, "Before the table"), *frame, *filled(PRICES), At(72, 480, "After it"))
    assert shown.startswith("Before the table\n\n| Article |")
    assert shown.endswith("\n\nAfter it\n")


def test_a_drawing_of_thousands_of_lines_is_no_table() -> None:
    drawing = [stroked(72 + at % 97, 100 + at % 89, 72 + at % 97, 190 + at % 89) for at in range(3500)]
    assert "Words beside" in text_of(*drawing, At(72, 720, "Words beside"))


def test_graph_paper_is_left_in_linear_time() -> None:
    def made(count: int) -> bytes:
        across = [f"0 {at * 790 / count:.3f} m 600 {at * 790 / count:.3f} l" for at in range(count)]
        upright = [f"{at * 600 / count:.3f} 0 m {at * 600 / count:.3f} 790 l" for at in range(count)]
        paths = [" ".join((*across[at : at + 90], *upright[at : at + 90], "S")) for at in range(0, count, 90)]
        return printed([[*paths, At(72, 720, "Words on it")]])

    assert_linear(lambda data: parsing.read(data, "a.pdf", max_chars=1000), made, 1400)


CELLS = st.lists(st.sampled_from(["", "1", "7.5", "word", "long words", "two/lines", "of/three/lines"]), min_size=6)


@settings(max_examples=40, deadline=None)
@given(CELLS, st.integers(1, 3), st.sampled_from(["top", "middle", "bottom"]), st.integers(0, 9))
def test_no_word_of_a_frame_is_lost(cells: list[str], width: int, align: str, without: int) -> None:
    numbered = ["/".join(f"{part}q{at}" for part in cell.split("/")) if cell else "" for at, cell in enumerate(cells)]
    rows = [row for at in range(0, len(numbered), width) if len(row := numbered[at : at + width]) == width][:12]
    frame = ruled(*edges(len(rows), width))
    shown = text_of(*frame[:without], *frame[without + 1 :], *filled(rows, align), At(72, 750, "head"))
    written = {word for row in rows for cell in row for word in cell.replace("/", " ").split()}
    assert written <= set(shown.replace("|", " ").split())
