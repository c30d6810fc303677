"""Formats that kreuzberg reads, and the defences in front of it. The files are made here."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
import time
import zipfile

import pytest
from small_docx import docx, paragraph, zipped
from small_pdf import pdf
from small_pptx import relations

from pinakes import parsing
from pinakes.core.errors import TooLarge, Unreadable
from pinakes.core.records import Document
from pinakes.parsing.limits import Limits
from pinakes.parsing.office import translate
from pinakes.parsing.tidying import tidy

WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
TYPES = "http://schemas.openxmlformats.org/package/2006/content-types"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
ENCRYPTED_NAME = "EncryptedPackage".encode("utf-16-le")


def read(data: bytes, path: str, max_chars: int = 1_000_000) -> Document:
    return parsing.read(data, path, max_chars=max_chars, timeout_s=20)


def test_a_word_document_is_read_with_its_properties() -> None:
    body = paragraph("The heading", "Heading1") + paragraph("Some words about snake_case names.")
    document = read(docx(body, title="Own title"), "a.docx")
    assert "# The heading" in document.text
    assert "snake_case names." in document.text
    assert (document.title, document.kind) == ("Own title", "markdown")
    assert document.metadata["authors"] == ["Jo Writer"]
    assert document.metadata["created"] == "2024-01-02T03:04:05+00:00"
    json.dumps(dict(document.metadata))


@pytest.mark.parametrize("title", ["", "untitled", "Document1"])
def test_the_first_heading_is_the_title_when_the_properties_have_none(title: str) -> None:
    assert read(docx(paragraph("The heading", "Heading1"), title=title), "a.docx").title == "The heading"


@pytest.mark.parametrize(
    ("own", "title"),
    [
        ("Annual Report", "Annual Report"),
        ("annual-report_2024.docx", "annual report 2024"),
        ("Microsoft Word - Plan.doc", "Plan"),
        ("untitled", "Words on the page"),
        ("", "Words on the page"),
        ("1234", "Words on the page"),
    ],
)
def test_a_pdf_is_named_by_its_title_else_by_its_first_line(own: str, title: str) -> None:
    document = read(pdf("Words on the page", own), "a.pdf")
    assert "Words on the page" in document.text
    assert document.title == title
    assert document.metadata["page_count"] == 1


def test_a_pdf_without_text_says_so_and_hints_at_ocr(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(Unreadable, match="No extractable text found in PDF") as caught:
        read(pdf(""), "scan.pdf")
    assert "OCR" in caught.value.hint
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("data", "path"),
    [
        (pdf("Words")[:200], "a.pdf"),
        (b"just words", "a.pdf"),
        (docx(paragraph("Words"))[:300], "a.docx"),
        (b"just words", "a.docx"),
        (b"just words", "a.xls"),
        (b"just words", "a.epub"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\xff" * 600, "a.xls"),
    ],
)
def test_a_damaged_file_is_refused_with_a_reason(data: bytes, path: str) -> None:
    with pytest.raises(Unreadable, match="damaged") as caught:
        read(data, path)
    assert caught.value.hint


def ole(content: bytes) -> bytes:
    header = bytearray(512)
    header[:8] = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
    struct.pack_into("<4H", header, 26, 3, 0xFFFE, 9, 6)
    struct.pack_into("<9I", header, 40, 0, 1, 1, 0, 4096, 0xFFFFFFFE, 0, 0xFFFFFFFE, 0)
    return bytes(header) + content.ljust(1024, b"\0")


def test_an_encrypted_office_file_is_refused_as_such() -> None:
    with pytest.raises(Unreadable, match="encrypted and cannot be decrypted"):
        read(ole(ENCRYPTED_NAME), "a.xlsx")


def test_an_old_office_file_under_a_new_name_is_refused() -> None:
    with pytest.raises(Unreadable, match="not DOCX"):
        read(ole(b"words"), "a.docx")


def test_an_old_office_file_that_claims_more_than_it_has_is_refused() -> None:
    data = bytearray(ole(b"words"))
    struct.pack_into("<I", data, 44, 0xFFFFFFF0)
    with pytest.raises(Unreadable, match="shorter than its header says"):
        read(bytes(data), "a.xls")


def test_an_old_office_file_whose_sectors_form_a_loop_is_refused() -> None:
    with pytest.raises(Unreadable, match="loop"):
        read(ole(struct.pack("<2I", 1, 0)), "a.xls")


@pytest.mark.parametrize("path", ["a.docx", "a.xlsx", "a.pptx", "a.odt", "a.epub"])
def test_a_zip_bomb_is_refused_before_it_is_unpacked(path: str) -> None:
    bomb = docx(paragraph("Words"), filler=b"\0" * 60_000_000)
    assert len(bomb) < 100_000
    with pytest.raises(TooLarge, match="unpack to more than 50 MB"):
        read(bomb, path)


@pytest.mark.parametrize(
    ("path", "name"), [("a.docx", "word/document.xml"), ("a.pptx", "ppt/presentation.xml"), ("a.odt", "content.xml")]
)
def test_a_part_that_is_not_what_its_sum_says_is_damaged(path: str, name: str) -> None:
    whole = zipped({name: b"<words/> that are stored as they are"}, zipfile.ZIP_STORED)
    damaged = whole.replace(b"are stored", b"XXX stored")
    with pytest.raises(Unreadable, match="damaged: Bad CRC-32"):
        read(damaged, path)


def test_a_zip_bomb_that_lies_about_its_size_is_refused() -> None:
    bomb = docx(paragraph("Words"), filler=b"\0" * 60_000_000)
    liar = bomb.replace(struct.pack("<I", 60_000_000), struct.pack("<I", 1000))
    assert liar != bomb
    with pytest.raises(TooLarge, match="unpack"):
        read(liar, "a.docx")


def test_a_conversion_beyond_the_limit_of_characters_is_refused() -> None:
    with pytest.raises(TooLarge):
        read(docx(paragraph("words " * 1000)), "a.docx", max_chars=1000)


def test_cells_with_a_date_or_a_time_say_no_more_than_that() -> None:
    main = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    cells = "".join(
        f'<c r="{column}1" s="{style}"><v>{value}</v></c>'
        for column, style, value in (("A", 1, 45356), ("B", 2, 0.5), ("C", 3, 45356.25), ("D", 0, 7))
    )
    formats = "".join(f'<xf numFmtId="{number}" applyNumberFormat="1"/>' for number in (0, 14, 21, 22))
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{TYPES}"/>',
        "_rels/.rels": relations({"r1": ("officeDocument", "xl/workbook.xml")}),
        "xl/workbook.xml": f'<workbook {main} xmlns:r="{OFFICE}"><sheets><sheet name="S" sheetId="1" r:id="r1"/>'
        "</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": relations(
            {"r1": ("worksheet", "worksheets/sheet1.xml"), "r2": ("styles", "styles.xml")}
        ),
        "xl/styles.xml": f"<styleSheet {main}><cellXfs>{formats}</cellXfs></styleSheet>",
        "xl/worksheets/sheet1.xml": f'<worksheet {main}><sheetData><row r="1">{cells}</row></sheetData></worksheet>',
    }
    text = read(zipped({name: part.encode() for name, part in parts.items()}), "a.xlsx").text
    assert "| 2024-03-05 | 12:00:00 | 2024-03-05 06:00:00 | 7 |" in text


def test_rich_text_is_read() -> None:
    assert "Some words" in read(rb"{\rtf1\ansi Some words\par}", "a.rtf").text


def test_a_panic_of_the_library_becomes_a_reason() -> None:
    panic = type("PanicException", (BaseException,), {"__module__": "pyo3_runtime"})
    error = translate(panic("index out of range"), "application/msword", Limits(1000))
    assert isinstance(error, Unreadable)
    assert "index out of range" in error.message
    assert error.hint


def test_a_document_of_word_95_is_named_as_such() -> None:
    error = translate(ValueError("Invalid DOC magic number: 0xA5DC, expected 0xA5EC"), "application/msword", Limits(9))
    assert "Word 95" in error.message
    assert "DOCX" in error.hint


def test_a_conversion_that_takes_too_long_becomes_a_reason() -> None:
    late = type("ExtractionTimeoutError", (Exception,), {})
    error = translate(late("timed out"), "application/pdf", Limits(1000, 2))
    assert error.message == "Reading took longer than 2 seconds."
    assert "read_timeout_s" in error.hint


@pytest.mark.parametrize(
    ("markdown", "clean"),
    [
        (r"a\_name and 3\. b \# c", "a_name and 3. b # c\n"),
        ("\\# no heading\n1\\. no list", "\\# no heading\n1\\. no list\n"),
        ("`a\\_b` $$x\\_1$$\n```\na\\_b\n```", "`a\\_b` $$x\\_1$$\n```\na\\_b\n```\n"),
        (r"| a\|b | c |", "| a\\|b | c |\n"),
        ("![chart](data:image/png;base64,AAAA) ![](x.png)[](#top)", "chart \n"),
        ("\n\na\n\n\n\n\n\nb\n\n", "a\n\n\nb\n"),
    ],
)
def test_escapes_and_pictures_that_hide_words_go(markdown: str, clean: str) -> None:
    assert tidy(markdown) == clean


def test_reading_text_loads_no_heavy_library() -> None:
    script = (
        "import sys; from pinakes import parsing;"
        "parsing.read(b'# T', 'a.md', max_chars=9); parsing.read(b'x', 'a.py', max_chars=9);"
        "print([name for name in ('kreuzberg', 'yaml') if name in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


@pytest.mark.parametrize("text", ["![a](b", "![a](<", "![", "[a]("])
@pytest.mark.parametrize("end", ["", ")"])
def test_pictures_without_end_take_linear_time(text: str, end: str) -> None:
    started = time.process_time()
    assert tidy(text + "b" * 100_000 + end)
    assert time.process_time() - started < 3
