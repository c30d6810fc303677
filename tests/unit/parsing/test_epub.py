"""Books (EPUB): chapters in their order, read as web pages are. The files are made here."""

from __future__ import annotations

import pytest
from small_docx import zipped
from small_epub import epub

from pinakes import parsing
from pinakes.core.errors import Empty, Locked, Unreadable
from pinakes.core.records import Document


def read(*chapters: str, about: str = "<dc:title>My book</dc:title>", **more: str) -> Document:
    return parsing.read(epub(*chapters, about=about, **more), "a.epub", max_chars=1_000_000)


def test_chapters_stand_in_the_order_in_which_they_are_read_without_the_menu() -> None:
    text = read("<h1>Second</h1><p>Later.</p>", "<h1>First</h1><p>Sooner.</p>").text
    assert text == "# First\n\nSooner.\n\n# Second\n\nLater.\n"


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("H<sub>2</sub>O and 10<sup>-9</sup> m", "H₂O and 10⁻⁹ m"),
        ("S<b>ome</b> in\u00adfo", "Some info"),
        ('<span class="dropcap">T</span>he fox', "The fox"),
        ("caf&eacute;&nbsp;&mdash; yes", "café — yes"),
        ('<a id="p7"/>After an anchor', "After an anchor"),
    ],
)
def test_words_and_values_are_those_that_people_see(source: str, shown: str) -> None:
    assert " ".join(read(f"<p>{source}</p>").text.split()) == shown


def test_merged_cells_fill_each_row_with_its_key() -> None:
    rows = "<tr><th>K</th><th>V</th></tr><tr><td rowspan='2'>North</td><td>1</td></tr><tr><td>2</td></tr>"
    assert "| North | 1 |\n| North | 2 |" in read(f"<table>{rows}</table>").text


def test_notes_are_read_and_hidden_parts_are_marked() -> None:
    note = '<aside epub:type="footnote" id="f1"><p>The small print.</p></aside>'
    found = read(f'<p>Words</p><p style="display:none">secret</p>{note}')
    assert "The small print." in found.text
    assert "[hidden] secret" in found.text
    assert [(one.code, one.count) for one in found.notes] == [("hidden", 1)]


def test_properties_are_metadata() -> None:
    about = (
        "<dc:title>My plan</dc:title><dc:creator>Ada</dc:creator><dc:creator>Bo</dc:creator>"
        "<dc:subject>bees</dc:subject>"
        '<dc:date>2024-01-02</dc:date><meta property="dcterms:modified">2024-02-03T04:05:06Z</meta>'
    )
    found = read("<p>Words</p>", about=about)
    assert found.title == "My plan"
    assert found.metadata == {
        "title": "My plan",
        "authors": ["Ada", "Bo"],
        "keywords": ["bees"],
        "created": "2024-01-02T00:00:00",
        "modified": "2024-02-03T04:05:06+00:00",
    }


def test_a_book_whose_chapters_are_encrypted_says_so() -> None:
    keys = '<encryption><EncryptedData><CipherReference URI="text/part%200.xhtml"/></EncryptedData></encryption>'
    with pytest.raises(Locked):
        read("garbage", **{"META-INF_encryption.xml": keys})


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"just words", Unreadable),
        (zipped({"mimetype": b"application/epub+zip"}), Unreadable),
        (epub("<p></p>"), Empty),
        (b"\n", Empty),
        (epub("<p>words</p>")[:400], Unreadable),
    ],
    ids=["words", "empty container", "no words", "blank", "cut"],
)
def test_what_is_no_book_gives_its_reason(data: bytes, error: type[Exception]) -> None:
    with pytest.raises(error):
        parsing.read(data, "a.epub", max_chars=1000)
