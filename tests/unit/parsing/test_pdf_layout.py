"""What stands where on a PDF page: tables, superscripts, drop caps, right-to-left text, words that marks cut."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from printed_pdf import At, lines, printed, table

from pinakes import parsing
from pinakes.core.records import Document

PLAN = [["Item", "Q1", "Q2"], *([f"Item {at}", str(3 * at), str(4 * at)] for at in range(1, 6))]


def read(*pages: list[At]) -> Document:
    return parsing.read(printed(pages), "a.pdf", max_chars=10_000_000)


def rows(document: Document) -> list[list[str]]:
    lines_of_tables = [line for line in document.text.split("\n") if line.startswith("| ")]
    found = [[cell.strip() for cell in line[1:-1].split("|")] for line in lines_of_tables]
    return [row for row in found if set(row) != {"---"}]


def test_a_table_is_one_row_a_line_with_its_column_names() -> None:
    document = read([*lines("The plan of the coming year"), *table(PLAN)])
    assert rows(document) == PLAN
    assert document.text.startswith("The plan of the coming year\n\n| Item | Q1 | Q2 |\n| --- | --- | --- |\n")


def test_a_table_that_goes_on_has_its_column_names_on_the_next_page() -> None:
    more = [[f"Item {at}", str(3 * at), str(4 * at)] for at in range(6, 9)]
    document = read(table(PLAN), table(more, top=740))
    assert rows(document) == [*PLAN, PLAN[0], *more]


def test_cells_of_several_lines_stay_in_their_row() -> None:
    cells = [
        *table([PLAN[0]], top=720),
        At(72, 700, "A long"),
        At(72, 686, "item"),
        At(182, 700, "1"),
        At(292, 700, "2"),
    ]
    document = read([*cells, *table([["Short", "3", "4"], ["Other", "5", "6"]], top=664, pitch=30)])
    assert rows(document) == [PLAN[0], ["A long item", "1", "2"], ["Short", "3", "4"], ["Other", "5", "6"]]


def test_empty_cells_keep_the_columns_in_order() -> None:
    sparse = [["Part", "Stock", "Order"], ["Bolt", "", "7"], ["Nut", "9", ""], ["Nail", "4", "2"]]
    assert rows(read(table(sparse))) == sparse


def test_names_of_groups_stand_before_those_of_their_columns() -> None:
    names = [At(182, 718, "2023"), At(402, 718, "2024")]
    body = [["Item", "Q1", "Q2", "Q1", "Q2"], ["Bolt", "1", "2", "3", "4"], ["Nut", "5", "6", "7", "8"]]
    document = read([*names, *table(body)])
    assert rows(document)[0] == ["Item", "2023 Q1", "2023 Q2", "2024 Q1", "2024 Q2"]


@pytest.mark.parametrize(
    ("groups", "names"),
    [
        (["Site", "2023", "", "2024", ""], ["", "Q1", "Q2", "Q1", "Q2"]),
        (["", "Men", "", "Women", ""], ["Age", "Sum", "Share", "Sum", "Share"]),
        (["Bay", "North", "", "", "South", "", ""], ["", "Low", "Mid", "High", "Low", "Mid", "High"]),
    ],
)
def test_names_of_groups_that_stand_over_their_first_column_are_those_of_all(
    groups: list[str], names: list[str]
) -> None:
    body = [[f"S{at}", *(str(7 * at + column) for column in range(1, len(names)))] for at in range(6)]
    places = [72 + 60 * column for column in range(len(names))]
    first, *rest = rows(read(table([groups, names, *body], columns=places)))
    filled = [max(groups[: at + 1], key=lambda one: (one != "", groups.index(one))) for at in range(len(groups))]
    assert first == [" ".join(filter(None, pair)) for pair in zip(filled, names, strict=True)]
    assert rest == body


@pytest.mark.parametrize("row", ["Plank {} of oak|{}0 pcs", "Berth {}|{} m|Owner {}", "Mast|No. {}|{},5 kg"])
def test_a_first_row_like_the_others_has_no_names(row: str) -> None:
    cells = [row.replace("{}", str(at)).split("|") for at in range(3, 10)]
    document = read(table(cells))
    assert not rows(document)
    assert [line for line in document.text.split("\n") if line] == ["  ".join(one).replace("  ", " ") for one in cells]


def test_rows_without_names_stay_lines() -> None:
    document = read(table([["1", "2.5", "3"], ["2", "3.5", "4"], ["3", "4.5", "5"]]))
    assert document.text == "1 2.5 3\n2 3.5 4\n3 4.5 5\n"


@pytest.mark.parametrize(
    ("wide", "rest"),
    [("MARGARITA FERNANDO", "26"), ("LONG-NAMED ITEM 7", "2.5"), ("A Name Beyond Its Cell", "$ 10.00")],
)
def test_a_row_whose_cell_reaches_into_the_next_column_is_kept(wide: str, rest: str) -> None:
    body = [["1", "2.5", "3"], ["2", "3.5", "4"], ["3", "4.5", "5"]]
    document = read([At(72, 718, wide, 14), At(292, 718, rest), *table(body)])
    assert document.text == f"{wide} {rest}\n1 2.5 3\n2 3.5 4\n3 4.5 5\n"


@pytest.mark.parametrize("column", ["123", "AB", "xyz7"])
def test_single_letters_below_each_other_are_words_of_their_own(column: str) -> None:
    assert read([At(72, 700 - 90 * at, one) for at, one in enumerate(column)]).text.split() == list(column)


def test_two_columns_of_prose_are_no_table() -> None:
    left = [At(72, 700 - 14 * at, "some words of the left column go on") for at in range(8)]
    right = [At(330, 700 - 14 * at, "and those of the right one do so too") for at in range(8)]
    assert "|" not in read([*left, *right]).text


def test_a_bar_in_a_cell_does_not_part_it() -> None:
    marked = [["Name", "Sign", "Use"], ["or", "a|b", "logic"], ["pipe", "a|b", "shell"]]
    assert "| or | a\\|b | logic |" in read(table([*marked, ["abs", "|x|", "maths"]])).text


@pytest.mark.parametrize(
    ("items", "text"),
    [
        ([At(72, 700, "10"), At(85.4, 705, "-9", 8), At(100, 700, "metres")], "10^-9 metres"),
        ([At(72, 700, "of 2"), At(89, 705, "32", 8), At(102, 700, "addresses")], "of 2^32 addresses"),
        ([At(72, 700, "H"), At(80.7, 697, "2", 8), At(85.2, 700, "O boils")], "H2O boils"),
        ([At(72, 700, "the 21"), At(105, 705, "st", 8), At(114, 700, "century")], "the 21st century"),
        ([At(72, 700, "known"), At(106, 705, "3", 8), At(114, 700, "and so on")], "known^3 and so on"),
        ([At(72, 700, "x"), At(78, 705, "n", 8), At(86, 700, "grows")], "x^n grows"),
    ],
)
def test_superscripts_do_not_join_what_they_belong_to(items: list[At], text: str) -> None:
    assert read(items).text == f"{text}\n"


@pytest.mark.parametrize(
    ("cap", "wide", "rest", "word"),
    [("T", 22, "he quick fox runs", "The"), ("W", 33, "hen it was late", "When"), ("E", 24, "very day", "Every")],
)
def test_a_drop_cap_begins_its_word(cap: str, wide: int, rest: str, word: str) -> None:
    x = 74 + wide
    page = [At(72, 680, cap, 34), At(x, 698, rest), At(x, 684, "and goes on"), At(72, 668, "below the letter")]
    assert read(page).text.split()[0] == word


@pytest.mark.parametrize(
    ("drawn", "word"),
    [
        ("e\ufb03cient", "efficient"),
        ("\ufb01nd", "find"),
        ("con\u00adfig\u00aduration", "configuration"),
        ("zero\u200bwidth", "zerowidth"),
        ("word\u2060joiner", "wordjoiner"),
        ("bom\ufeffmark", "bommark"),
    ],
)
def test_marks_within_words_do_not_cut_them(drawn: str, word: str) -> None:
    assert read([At(72, 700, f"the {drawn} here")]).text == f"the {word} here\n"


def text_of_lines(*texts: str) -> str:
    return parsing.read(printed([lines(*texts)]), "a.pdf", max_chars=10_000).text


def test_numbered_references_are_paragraphs_however_many_numbers_they_have() -> None:
    works = [
        line
        for at in range(1, 12)
        for line in (
            f"[{at}] A. Quoll and B. Emu, The {at} ways of beasts, J. Beasts {at} (19{at + 60}) 34-{at + 40}, and what",
            f"{at} of them said in 19{at + 70}, pp. 12-{at + 14}.",
        )
    ]
    shown = parsing.read(printed([lines("References", *works)]), "a.pdf", max_chars=10_000).text.split("\n\n")
    assert [one.split("]")[0] for one in shown[1:]] == [f"[{at}" for at in range(1, 12)]
    assert all("and what" in one and "pp. 12" in one and "\n" not in one.strip() for one in shown[1:])


@pytest.mark.parametrize(("before", "number"), [("1.3", "1.4"), ("2.1.2", "2.1.3"), ("10.1.", "10.2.")])
def test_a_numbered_clause_begins_a_paragraph(before: str, number: str) -> None:
    above = "The supplier delivers the goods in good order to the place that the buyer has named."
    clause = f"{number} The buyer pays within thirty days of the day on which the goods have arrived."
    shown = parsing.read(printed([lines(f"{before} {above}", above, clause, above)]), "a.pdf", max_chars=10_000).text
    assert f"\n\n{clause}" in shown


def test_an_amount_at_the_beginning_of_a_line_is_no_clause() -> None:
    above = "The buyer pays for the goods that are named above in this contract a sum of ca."
    shown = text_of_lines(above, "3.50 EUR for each piece and month that has gone by since they came to him.")
    assert f"{above} 3.50 EUR for each" in shown


@pytest.mark.parametrize(
    "others", [(), ("[13] who says that no water is lost on the way from the pump to the tank, but that",)]
)
def test_a_citation_at_the_beginning_of_a_line_is_no_reference(others: tuple[str, ...]) -> None:
    above = "Many authors have looked at the question of how a pump is started, such as Smith with"
    cited = "[12] and later Jones, who both say that these steps are always needed, so that no water is lost:"
    steps = [
        "1. Check the pressure of the pump before you start the engine and note it in the log book",
        "2. Open the valve on the left side of the pump and wait until the pressure has fallen far",
        "- Close the valve again and write the time into the log book, with your name and the date",
    ]
    shown = text_of_lines(above, *others, cited, *steps)
    assert all(f"\n{step}" in shown for step in steps)


@pytest.mark.parametrize(("apart", "text"), [(400, "Marseille"), (1000, "M arseille")])
def test_letters_that_touch_each_other_are_one_word_whatever_their_font_says(apart: int, text: str) -> None:
    letters = "".join(f"{ord(char):04x}" for char in "arseille")
    kerned = f"BT /F2 12 Tf 72 700 Td [<{ord('M'):04x}> -{apart} <{letters}>] TJ ET"  # M is wider than its font says
    assert parsing.read(printed([[kerned]]), "a.pdf", max_chars=1000).text == f"{text}\n"


SENTENCE = "Thïs ïs ä räther räre séntence äbout nötes ïn ä fïeld"


def closely(text: str, gap: float, size: float, *, invisible: bool = False) -> list[At]:
    """Return each word by itself, ``gap`` of its size behind the last; each letter is half as wide as its size."""
    x, found = 72.0, []
    for word in text.split():
        found.append(At(round(x, 4), 700, word, size, invisible=invisible))
        x += (len(word) / 2 + gap) * size
    return found


@pytest.mark.parametrize("gap", [0.08, 0.1, 0.13, 0.16, 0.25])
@pytest.mark.parametrize("size", [4, 9, 12])
def test_words_that_stand_close_together_are_parted(gap: float, size: float) -> None:
    assert read(closely(SENTENCE, gap, size)).text == f"{SENTENCE}\n"


def test_words_of_an_invisible_layer_are_parted_too() -> None:
    assert SENTENCE in read([*lines("Seen"), *closely(SENTENCE, 0.12, 10, invisible=True)]).text


@pytest.mark.parametrize("apart", [20, 40, 90])
def test_letters_that_are_spaced_out_evenly_stay_one_word(apart: int) -> None:
    letters = f" -{apart} ".join(f"<{ord(char):04x}>" for char in "configuration")
    drawn = f"BT /F2 12 Tf 72 700 Td [{letters}] TJ ET"
    assert parsing.read(printed([[drawn]]), "a.pdf", max_chars=1000).text == "configuration\n"


@pytest.mark.parametrize("number", ["1234567890123", "192.168.100.200", "INV-2024-0113-A"])
def test_numbers_and_identifiers_are_not_parted(number: str) -> None:
    letters = " ".join(f"<{ord(char):04x}>{' -80' if at == 5 else ''}" for at, char in enumerate(number))
    drawn = f"BT /F2 12 Tf 72 700 Td [{letters}] TJ ET"
    assert parsing.read(printed([[drawn]]), "a.pdf", max_chars=1000).text == f"{number}\n"


@pytest.mark.parametrize("hyphen", ["-", "\u00ad", "\u2010"])
def test_a_word_that_a_hyphen_cuts_at_the_end_of_a_line_is_one(hyphen: str) -> None:
    page = lines(f"the configu{hyphen}", "ration of all the servers")
    assert "configuration" in read(page).text


@pytest.mark.parametrize("text", ["שלום עולם", "דוח שנתי לבעלי המניות", "שנה טובה"])
def test_right_to_left_text_reads_as_it_is_spoken_however_it_is_drawn(text: str) -> None:
    assert read([At(72, 700, text[::-1])]).text == f"{text}\n"
    assert read([At(400, 700, text, leftwards=True)]).text == f"{text}\n"


def test_numbers_in_right_to_left_text_keep_their_order() -> None:
    assert read([At(72, 700, "הבוט 2024 תנש")]).text == "שנת 2024 טובה\n"
    parts = [At(300, 700, "שנת ", leftwards=True), At(235, 700, "2024"), At(222, 700, "טובה", leftwards=True)]
    assert read(parts).text == "שנת 2024 טובה\n"


def test_words_outside_of_the_page_are_counted_and_left_out() -> None:
    document = read([*lines("On the page"), At(900, 700, "beside it")])
    assert document.text == "On the page\n"
    assert [(note.code, note.count) for note in document.notes] == [("hidden", 2)]


@pytest.mark.parametrize("place", [(72, 600), (300, 720), (72, 705)])
def test_words_that_are_drawn_invisibly_are_marked(place: tuple[float, float]) -> None:
    document = read([*lines("On the page", "", "", "and below"), At(*place, "Secret osprey", invisible=True)])
    assert "[hidden: Secret osprey]" in document.text
    assert "On the page" in document.text.replace("[hidden: Secret osprey]", "").replace("  ", " ")
    assert [(note.code, note.count) for note in document.notes] == [("hidden", 1)]


def test_more_invisible_words_than_others_are_marked_where_no_picture_shows_them() -> None:
    document = read([*lines("Seen"), *(At(72, 600 - 20 * at, f"Osprey {at}", invisible=True) for at in range(3))])
    assert document.text.count("[hidden: Osprey") == 3


def test_a_page_of_many_cells_is_read_in_good_time() -> None:
    cells = [At(20 + 14 * (at % 40), 780 - 2 * (at // 40), "x1", 2) for at in range(12_000)]
    begun = time.process_time()
    assert read(cells).text.count("x1") == 12_000
    assert time.process_time() - begun < 20


@pytest.mark.parametrize(
    "cells", [("many words that are prose and go on", "and on in another column"), ("a", "2", "c")]
)
def test_a_page_of_many_rows_is_read_in_good_time(cells: tuple[str, ...]) -> None:
    drawn = [At(20 + 180 * at, 785 - 0.15 * row, cell, 0.1) for row in range(5_000) for at, cell in enumerate(cells)]
    begun = time.process_time()
    assert read(drawn).text.count(cells[0]) >= 5_000
    assert time.process_time() - begun < 20


WORDS = st.text(alphabet="abcdefghijklmnopqrstuvwxyz0123456789", min_size=3, max_size=9)


@given(st.lists(st.lists(WORDS, min_size=1, max_size=5), min_size=1, max_size=14))
@settings(max_examples=60)
def test_no_word_of_a_page_is_lost(content: list[list[str]]) -> None:
    drawn = [
        At(72 + 100 * at, 740 - 20 * row, word) for row, words in enumerate(content) for at, word in enumerate(words)
    ]
    text = read(drawn).text
    assert [word for words in content for word in words if word not in text] == []


def test_codes_of_a_font_that_stand_for_no_character_are_counted() -> None:
    document = read([At(72, 700, "äh Pr\x04fung und \x05 Stern")])
    assert [(note.code, note.count) for note in document.notes] == [("unmapped-characters", 2)]
    assert "Stern" in document.text


@pytest.mark.parametrize(
    ("turn", "page"),
    [
        ("0 1 -1 0 780 0 cm", "/Rotate 90"),
        ("0 1 -1 0 780 0 cm", ""),
        ("-1 0 0 -1 612 792 cm", "/Rotate 180"),
        ("-1 0 0 -1 612 792 cm", ""),
        ("0 -1 1 0 -200 700 cm", ""),
        ("0 -1 1 0 -200 700 cm", "/Rotate 90"),
        ("1 0 0 1 0 0 cm", "/Rotate 180"),
        ("0 -1 1 0 -200 700 cm", "/Rotate 270"),
    ],
)
@pytest.mark.parametrize("shown", [PLAN, [["Cell", "Use", "No"], ["of A1", "f of 7", "1"], ["B2", "x 3", "2"]]])
def test_a_turned_page_is_read_like_an_upright_one(turn: str, page: str, shown: list[list[str]]) -> None:
    content = [*lines("The plan of cell A1 for x 2"), *table(shown), At(72, 300, "10"), At(85.5, 305, "9", 7)]
    turned = parsing.read(printed([[turn, *content]], page=page), "a.pdf", max_chars=10_000)
    assert turned.text == read(content).text
    assert rows(turned) == shown
    assert "10^9" in turned.text
