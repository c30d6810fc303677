"""OpenDocument texts keep their notes and comments, and the spaces between words. The files are made here."""

from __future__ import annotations

import time

import pytest
from small_docx import zipped

from pinakes import readers
from pinakes.readers.opendocument import prepared

NAMES = " ".join(
    f'xmlns:{name}="{place}"'
    for name, place in {
        "office": "urn:oasis:names:tc:opendocument:xmlns:office:1.0",
        "text": "urn:oasis:names:tc:opendocument:xmlns:text:1.0",
        "dc": "http://purl.org/dc/elements/1.1/",
    }.items()
)


def odt(*paragraphs: str) -> bytes:
    body = "".join(f"<text:p>{one}</text:p>" for one in paragraphs)
    content = f"<office:document-content {NAMES}><office:body><office:text>{body}</office:text></office:body>"
    return zipped(
        {
            "mimetype": b"application/vnd.oasis.opendocument.text",
            "content.xml": f"{content}</office:document-content>".encode(),
            "Pictures/a.png": b"picture",
        }
    )


def note(number: int, words: str) -> str:
    head = (
        f'<text:note text:id="n{number}" text:note-class="footnote"><text:note-citation>{number}</text:note-citation>'
    )
    return f"{head}<text:note-body><text:p>{words}</text:p></text:note-body></text:note>"


def annotation(words: str, who: str = "") -> str:
    creator = f"<dc:creator>{who}</dc:creator>" if who else ""
    return f"<office:annotation>{creator}<dc:date>2024-03-05</dc:date><text:p>{words}</text:p></office:annotation>"


def read(*paragraphs: str) -> str:
    return readers.read(odt(*paragraphs), "a.odt", max_chars=1_000_000).text


def test_notes_have_their_number_where_they_belong() -> None:
    text = read("Before" + note(1, "R&amp;D, see") + " after.", "Next" + note(2, "two<text:tab/>words"))
    assert text == "Before[^1] after.\n\nNext[^2]\n\n## Notes\n\n- [^1] R&D, see\n- [^2] two words\n"


def test_comments_stand_at_the_end_with_who_made_them() -> None:
    text = read("Some" + annotation("Really?", "Jo") + " words" + annotation("Yes."), "" + annotation(""))
    assert text == "Some words\n\n## Comments\n\n- Jo: Really?\n- Yes.\n"


def test_spaces_and_tabs_that_are_elements_keep_words_apart() -> None:
    assert read('Name:<text:tab/>Jo<text:s text:c="3"/>Ann<text:s/>Lee') == "Name: Jo Ann Lee\n"


def test_a_text_without_any_of_them_stays_as_it_is() -> None:
    data = odt("Words.")
    assert prepared(data) == (data, "")


def test_notes_without_an_end_take_no_time() -> None:
    data = odt('<text:note text:id="1"><office:annotation>' * 30_000)
    begun = time.process_time()
    prepared(data)
    assert time.process_time() - begun < 5


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
    names = " ".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in ("office", "table", "text")
    )
    cell = f'<table:table-cell office:value-type="{kind}" {value}><text:p>{shown}</text:p></table:table-cell>'
    sheet = f'<table:table table:name="S"><table:table-row>{cell * 2}</table:table-row></table:table>'
    body = f"<office:body><office:spreadsheet>{sheet}</office:spreadsheet></office:body>"
    content = f"<office:document-content {names}>{body}</office:document-content>"
    mimetype = b"application/vnd.oasis.opendocument.spreadsheet"
    data = zipped({"mimetype": mimetype, "META-INF/manifest.xml": b"<m/>", "content.xml": content.encode()})
    assert f"| {shown} | {shown} |" in readers.read(data, "a.ods", max_chars=1000).text
