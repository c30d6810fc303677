"""Documents of the old format (DOC) are read with all of their parts. The files are made here."""

from __future__ import annotations

import struct
import time
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_doc import HEADING, ITEM, ROW, TABLE, doc

from pinakes import parsing
from pinakes.core.errors import TooLarge, Unreadable
from pinakes.parsing.limits import Limits
from pinakes.parsing.old_documents import read_old_document


def read(data: bytes, most: int = 1_000_000) -> str:
    return parsing.read(data, "a.doc", max_chars=most).text


@pytest.mark.parametrize("narrow", [True, False])
def test_headings_paragraphs_and_items_are_apart(narrow: bool) -> None:
    styles = [(1, HEADING), (0, b""), (3, HEADING), (0, ITEM), (0, ITEM)]
    text = read(doc("The press\rIt\x0bcosts 5 €.\rParts\rbolt\rnut\r", styles=styles, narrow=narrow))
    assert text == "# The press\n\nIt\ncosts 5 €.\n\n### Parts\n\n- bolt\n- nut\n"


def test_cells_are_those_of_their_row() -> None:
    cells = [(0, TABLE), (0, TABLE), (0, ROW)]
    text = read(doc("Item\x07Pieces\x07\x07nut\x073\x07\x07After\r", styles=[*cells, *cells, (0, b"")]))
    assert text == "| Item | Pieces |\n| --- | --- |\n| nut | 3 |\n\nAfter\n"


@pytest.mark.parametrize("place", [b"\x46\x66", b"\x45\x66"])
def test_a_row_whose_properties_are_too_large_for_their_page_ends(place: bytes) -> None:
    cells = [(0, TABLE), (0, TABLE), (0, place + struct.pack("<I", 4))]
    data = b"????" + struct.pack("<H", 3000) + ROW + bytes(3000)
    text = read(doc("Item\x07Pieces\x07\x07nut\x07\x07\x07After\r", styles=[*cells, *cells, (0, b"")], data=data))
    assert text == "| Item | Pieces |\n| --- | --- |\n| nut |  |\n\nAfter\n"


def test_notes_comments_headers_and_boxes_are_read() -> None:
    text = read(
        doc(
            "One\2 two\2 three\5.\r",
            footnotes=["\2 At the foot\r"],
            endnotes=["\2 At the end\r"],
            comments=["\5Check this\r"],
            headers="Yearly report\rYearly report\r",
            boxes="In a box\r",
        )
    )
    assert text.startswith("One[^1] two[^2] three.\n\nIn a box\n")
    for part in ("- [^1] At the foot\n- [^2] At the end\n", "## Comments\n\n- Check this\n", "- Yearly report\n"):
        assert text.count(part) == 1


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ('see \x13 HYPERLINK "http://a.example/" \\h \x14the page\x15 now', "see [the page](http://a.example/) now"),
        ("on \x13 PAGEREF a \\h \x147\x15.", "on 7."),
        ("by \x13 AUTHOR \x13 MERGEFORMAT \x14x\x15 \x14Ada\x15!", "by Ada!"),
        ("name: \x13 FORMTEXT \x01\x14Bo\x15", "name: Bo"),
        ("\x13 TOC \\o \x14Intro \x13 PAGEREF b \x143\x15\x15 end", "Intro 3 end"),
        ("a\x1fb\x1ec\td", "ab-c d"),
        ("to \x13 MACROBUTTON NoMacro [Click here] \\* MERGEFORMAT \x15.", "to [Click here]."),
        ("go \x13 GOTOBUTTON mark there\x15, \x13 IF \x13 MACROBUTTON a b\x15 \x14now\x15", "go there, now"),
        ("half \x13 EQ \\f(1,2)\x15 done", "half done"),
    ],
)
def test_fields_show_their_result(source: str, shown: str) -> None:
    assert read(doc(f"{source}\r")) == f"{shown}\n"


WORDS = st.lists(st.from_regex(r"[^\W_]{1,9}", fullmatch=True), min_size=1, max_size=6)


@settings(max_examples=30)
@given(st.lists(WORDS, min_size=1, max_size=20))
def test_no_word_of_a_document_is_lost(paragraphs: list[list[str]]) -> None:
    data = doc("".join(f"{' '.join(words)}\r" for words in paragraphs))
    assert read(data).split() == [word for words in paragraphs for word in words]


@pytest.mark.parametrize("fib", [(0x9A + 8 * 33, 10**9), (0x9A + 8 * 13, 10**9), (0x4C, 2**31 - 1), (0x9A + 8 * 3, 7)])
def test_a_damaged_document_gives_a_reason_or_its_text(fib: tuple[int, int]) -> None:
    with suppress(Unreadable):
        assert "words" in read(doc("Some words\r", fib=[fib]))


def test_hostile_documents_take_linear_time_and_respect_the_limit() -> None:
    start = time.process_time()
    assert read(doc("\x13" * 9_000 + "\x14" * 5_000 + "\rwords" + "\x15" * 9_000 + "\r", narrow=True)) == "words\n"
    with pytest.raises(TooLarge):
        read(doc("words " * 3_000 + "\r", narrow=True), 1_000)
    assert time.process_time() - start < 5


@pytest.mark.parametrize("edges", [(0, 18, 0), (0, 9, 19), (9, 18, 2**32 - 1)])
def test_notes_that_overlap_or_leave_their_part_are_refused(edges: tuple[int, int, int]) -> None:
    data = doc("One\2 two\2.\r", footnotes=[" At foot\r", " Further\r"])
    sound = struct.pack("<3I", 0, 9, 18)
    assert read_old_document(data, Limits(100)).endswith("- [^1] At foot\n- [^2] Further\n")
    with pytest.raises(ValueError, match="overlap"):
        read_old_document(data.replace(sound, struct.pack("<3I", *edges)), Limits(100))


def test_a_page_of_paragraphs_that_is_named_often_is_read_once() -> None:
    data = doc("words\r" * 20, narrow=True, pages=600_000)
    start = time.process_time()
    assert read_old_document(data, Limits(1000)).split() == ["words"] * 20
    assert time.process_time() - start < 3


def test_a_field_without_an_end_takes_linear_time() -> None:
    start = time.process_time()
    assert read_old_document(doc("words\r\x13" + "ab\t" * 400_000, narrow=True), Limits(2_000_000)) == "words\n"
    assert time.process_time() - start < 5
