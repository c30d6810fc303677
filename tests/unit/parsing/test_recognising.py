"""What a file is by its content, and what its tables are for."""

from __future__ import annotations

import io
import sys
import time
import zipfile

import msoffcrypto
import pytest

from pinakes import parsing
from pinakes.core.errors import Locked, Unreadable
from pinakes.parsing.encrypted import decrypted, is_encrypted
from pinakes.parsing.limits import Limits, passwords_in
from pinakes.parsing.ocr import Word, laid_out
from pinakes.parsing.page_tables import without_layout
from pinakes.parsing.recognise import OLE, other_extension
from pinakes.parsing.tidying import tidy


def packed(**parts: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as container:
        for name, text in parts.items():
            container.writestr(name.replace("__", "/"), text)
    return buffer.getvalue()


TYPES = {"[Content_Types].xml": "<Types/>"}


@pytest.mark.parametrize(
    ("data", "extension", "other"),
    [
        (b"%PDF-1.7 ...", ".txt", ".pdf"),
        (b"%PDF-1.7 ...", ".pdf", ""),
        (b"About %PDF-1.7", ".txt", ""),
        (rb"{\rtf1 words}", ".doc", ".rtf"),
        (b"<!DOCTYPE html><p>words", ".xls", ".html"),
        (b"\xef\xbb\xbf <html><p>words", ".doc", ".html"),
        (b"<html><p>words", ".txt", ""),
        (packed(**TYPES, word__document="x"), ".pdf", ".docx"),
        (packed(**TYPES, word__document="x"), ".docm", ""),
        (packed(**TYPES, xl__workbook="x"), ".docx", ".xlsx"),
        (packed(**TYPES, ppt__presentation="x"), "", ".pptx"),
        (packed(mimetype="application/epub+zip"), ".docx", ".epub"),
        (packed(mimetype="application/vnd.oasis.opendocument.spreadsheet"), ".xlsx", ".ods"),
        (packed(mimetype="application/vnd.oasis.opendocument.text-template"), ".ott", ".odt"),
        (packed(notes="words"), ".docx", ""),
        (b"PK\x03\x04 damaged", ".txt", ""),
        (OLE + "WordDocument".encode("utf-16-le"), ".xls", ".doc"),
        (OLE + "Workbook WordDocument".encode("utf-16-le"), ".xls", ""),
        (OLE + "__properties_version1.0".encode("utf-16-le"), ".eml", ".msg"),
        (OLE, ".docx", ""),
        (b"", ".pdf", ""),
    ],
)
def test_the_content_tells_what_the_name_does_not(data: bytes, extension: str, other: str) -> None:
    assert other_extension(data, extension) == other


def test_tables_that_lay_out_become_blocks_and_others_stay() -> None:
    inner = "<table><tr><td>1</td><td>2</td></tr></table>"
    page = f"<table><tr><td>menu</td><td>{inner}</td></tr></table><TABLE><TR><TD>all</TD></TR></TABLE>{inner}"
    laid = without_layout(page)
    assert laid.lower().count("<table") == 2
    assert inner in laid
    assert "<div>all</div>" in laid.replace("<div><div>", "<div>")


INNER = "<table><tr><th>Part</th><th>Pieces</th></tr>{0}<tr>{0}<td>bolt</td>{0}<td>4{0}</td>{0}</tr></table>"
LINE = "Part, Pieces; bolt, 4"


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        (INNER.format(""), LINE),
        (INNER.format("\n  "), LINE),
        (f"see {INNER.format('')} below", f"see {LINE} below"),
        (
            f"<table><caption>All</caption><thead><tr><td>{INNER.format('')}</td><td>end</td></table>",
            f"All; {LINE}, end",
        ),
        ("<table><tbody><tr><td>Part: bolt</td></tr></tbody></table>", "Part: bolt"),
        ("<table><tr><td></td><td> 4</td></tr></table>", ", 4"),
    ],
)
def test_a_table_in_a_cell_of_rows_with_names_is_written_in_a_line(cell: str, said: str) -> None:
    page = "<table><tr><th>Kit</th><th>Contents</th></tr><tr><td>K1</td><td>{}</td></tr></table>"
    laid = " ".join(without_layout(page.format(cell)).split())
    assert laid.replace("<td> ", "<td>").replace(" </td>", "</td>") == page.format(said)


def test_a_large_table_in_a_cell_stays_a_table() -> None:
    inner = f"<table>{'<tr><td>bolt</td><td>4</td></tr>' * 200}</table>"
    page = f"<table><tr><th>Kit</th><th>Contents</th></tr><tr><td>K1</td><td>{inner}</td></tr></table>"
    assert inner in without_layout(page)


def test_many_empty_cells_in_a_cell_take_linear_time() -> None:
    inner = f"<table>{'<tr><td> </td></tr>' * 200}</table>"
    page = f"<table><tr><th>Kit</th><th>Contents</th></tr>{f'<tr><td>{inner}</td><td>K</td></tr>' * 200}</table>"
    started = time.process_time()
    without_layout(page)
    assert time.process_time() - started < 5


def test_unbalanced_tables_do_no_harm() -> None:
    assert without_layout("</table><td>a<table><tr><td>b") == "</table><td>a<table><tr><td>b"


@pytest.mark.parametrize(
    ("markdown", "clean"),
    [
        ("| a   | b |\n| ----- | --- |\n|  |  |\n| 1 | 2 |\n", "| a | b |\n| --- | --- |\n| 1 | 2 |\n"),
        ("|  |  |\n| --- | --- |\n\nwords", "words\n"),
        ("| All of it. |\n| --- |\n", "All of it.\n"),
        ("• one\n●  two\n- \n\\-\nend", "- one\n- two\nend\n"),
        ("[Skip to content](#main)\n\n# Title", "# Title\n"),
        ("# A.PURPOSE\n## 1.NEXT\n", "# A. PURPOSE\n## 1. NEXT\n"),
        ("a\u200bb\n\u00a0\u00a0 \u00a0c", "ab\nc\n"),
        ("Name:&#9;Jo", "Name: Jo\n"),
        ("| a |b|\n| --- | --- |\nafter", "| a | b |\n| --- | --- |\n\nafter\n"),
        ("```\n|  |  |\n- \n```", "```\n|  |  |\n- \n```\n"),
    ],
)
def test_markdown_of_converters_is_tidied(markdown: str, clean: str) -> None:
    assert tidy(markdown) == clean


def test_recognised_words_become_lines() -> None:
    words = [Word("Total", 10, 60, 104, 20), Word("$5", 400, 430, 100, 22), Word("Invoice", 10, 80, 20, 30)]
    assert laid_out(words) == "Invoice\nTotal  $5"


def test_passwords_come_from_the_environment_one_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRETS_OF_FILES", "first one\n\nsecond\n")
    assert passwords_in("SECRETS_OF_FILES") == ("first one", "second")
    assert passwords_in("NOT_SET_AT_ALL") == passwords_in("") == ()


def test_an_encrypted_office_file_is_told_by_its_container() -> None:
    assert is_encrypted(OLE + "EncryptedPackage".encode("utf-16-le"), ".docx")
    assert not is_encrypted(b"EncryptedPackage", ".docx")


@pytest.mark.parametrize(
    ("name", "stream", "mark", "plain"),
    [
        ("a.doc", "WordDocument", b"\xec\xa5\xc1\0" + bytes(6) + b"\0\x13", b"\xec\xa5\xc1\0" + bytes(6) + b"\0\x12"),
        (
            "a.xls",
            "Workbook",
            b"\x09\x08\x10\0\0\x06\x05\0" + bytes(12) + b"\x2f\0",
            b"\x09\x08\x10\0\0\x06\x05\0" + bytes(14),
        ),
        ("a.ppt", "PowerPoint Document", b"\x14\0\0\0\xdf\xc4\xd1\xf3", b"\x14\0\0\0\x5f\xc0\x91\xe3"),
    ],
)
def test_an_old_office_file_says_that_it_is_encrypted_rather_than_damaged(
    name: str, stream: str, mark: bytes, plain: bytes
) -> None:
    head = OLE + bytes(504) + stream.encode("utf-16-le")
    for passwords in ((), ("one",)):
        with pytest.raises(Locked, match="File is encrypted"):
            parsing.read(head + mark, name, max_chars=1000, passwords=passwords)
    assert not is_encrypted(head + plain, name[1:])
    for own, kind in (("WordDocument", ".doc"), ("Workbook", ".xls"), ("PowerPoint Document", ".ppt")):
        assert is_encrypted(head + own.encode("utf-16-le") + mark, kind) == (own == stream), "only what it embeds is"
    with pytest.raises(Unreadable, match="damaged"):  # what is attached to a message is not the message
        parsing.read(OLE + bytes(504) + mark, "a.msg", max_chars=1000)


NAMESPACE = "http://schemas.openxmlformats.org/package/2006/content-types"
WORKBOOK = packed(**{"[Content_Types].xml": f'<Types xmlns="{NAMESPACE}"/>', "xl/workbook.xml": "x" * 5000})


def locked(plain: bytes, password: str) -> bytes:
    written = io.BytesIO()
    msoffcrypto.OfficeFile(io.BytesIO(plain)).encrypt(password, written)
    return written.getvalue()


def test_an_encrypted_workbook_is_opened_by_the_password_that_fits() -> None:
    data = locked(WORKBOOK, "second")
    assert is_encrypted(data, ".xlsx")
    assert decrypted(data, Limits(1000, passwords=("first", "second"))) == WORKBOOK
    for passwords in ((), ("first",)):
        with pytest.raises(Unreadable, match="File is encrypted and cannot be decrypted") as caught:
            decrypted(data, Limits(1000, passwords=passwords))
        assert "ingest.passwords_variable" in caught.value.hint


def test_where_the_extra_is_missing_the_reason_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    data = locked(WORKBOOK, "first")
    monkeypatch.setitem(sys.modules, "msoffcrypto", None)
    with pytest.raises(Unreadable, match="File is encrypted and cannot be decrypted") as caught:
        decrypted(data, Limits(1000, passwords=("first",)))
    assert "-m pip install 'msoffcrypto-tool>=" in caught.value.hint
