"""Files inserted into a Word document are read as by themselves, and never make the document unreadable."""

from __future__ import annotations

import io
import zipfile

import pytest
from small_docx import docx, paragraph, zipped
from small_pptx import relations

from pinakes import parsing
from pinakes.core.records import Document

CHUNK = '<w:altChunk xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" r:id="r{}"/>'
PAGE = "<html><head><title>Letter</title></head><body>{}</body></html>"
LEFT_OUT = "Left out: 1 inserted file that cannot be read: "


def with_files(body: str, *files: tuple[str, bytes | str]) -> bytes:
    """Return a document in which ``{1}``, ``{2}``, … of ``body`` are the files."""
    named = {f"r{at}": ("aFChunk", name) for at, (name, _) in enumerate(files, 1)}
    parts = {f"word/{name}": one if isinstance(one, bytes) else one.encode() for name, one in files}
    chunks = [CHUNK.format(at) for at in range(len(files) + 1)]
    return docx(body.format(*chunks), **{"word/_rels/document.xml.rels": relations(named).encode()}, **parts)


def read(data: bytes, max_chars: int = 1_000_000) -> Document:
    return parsing.read(data, "a.docx", max_chars=max_chars)


def messages(document: Document) -> list[str]:
    return [note.message for note in document.notes]


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("x.docx", b"PK\x03\x04broken", "The file is damaged: File is not a zip file."),
        ("x.docx", zipped({"a.txt": b"x"}), "The file is damaged or not what its name says: it has no word/document"),
        ("x.docx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "The file is damaged: its header makes no sense."),
        ("x.txt", b"\0\1\2\xff" * 50, "The file is binary, not text."),
        ("x.html", b"\0\1\2\xff" * 50, "The file is binary, not text."),
    ],
)
def test_a_damaged_file_is_named_and_the_document_is_read(name: str, content: bytes, reason: str) -> None:
    document = read(with_files(f"{paragraph('Before')}{{1}}{{1}}{paragraph('After')}", (name, content)))
    assert document.text == "Before\n\nAfter\n"
    (message,) = messages(document)
    assert message.startswith(LEFT_OUT + reason)


def test_a_damaged_entry_of_the_container_is_named() -> None:
    content = b"<p>Words of HTML</p>"
    whole = with_files(f"{paragraph('Before')}{{1}}", ("x.html", content))
    with zipfile.ZipFile(io.BytesIO(whole)) as container:
        stored = io.BytesIO()
        with zipfile.ZipFile(stored, "w", zipfile.ZIP_STORED) as other:
            for one in container.namelist():
                other.writestr(one, container.read(one))
    document = read(stored.getvalue().replace(content, content.upper()))
    assert document.text == "Before\n"
    assert messages(document)[0].startswith(LEFT_OUT)


def test_a_file_that_is_missing_or_empty_leaves_the_document() -> None:
    document = read(with_files(f"{paragraph('Before')}{{0}}{{1}}", ("x.txt", "")))
    assert document.text == "Before\n"
    assert messages(document) == ["Left out: 1 inserted file missing from the document."]


def test_a_page_is_read_as_pages_are() -> None:
    source = PAGE.format(
        '<nav>Home</nav><h2>Terms</h2><p>Press <a href="javascript:x()">here</a></p><p hidden>Say nothing</p>'
    )
    document = read(with_files(f"{paragraph('Before')}{{1}}{paragraph('After')}", ("x.html", source)))
    alone = parsing.read(source.encode(), "x.html", max_chars=1000)
    assert document.text == f"Before\n\n{alone.text}\nAfter\n"
    assert document.text == "Before\n\n## Terms\n\nPress here\n\n[hidden] Say nothing\n\nAfter\n"
    assert messages(document) == ["In the inserted file word/x.html: Read and marked: 1 hidden part."]


def test_lines_of_plain_text_stay_lines_and_are_no_headings() -> None:
    document = read(with_files("{1}", ("x.txt", "# of parts: 3\nname: bolt\n\n# of nuts: 4")))
    assert document.text == "\\# of parts: 3\nname: bolt\n\n\\# of nuts: 4\n"


def test_files_in_cells_headers_and_notes_are_those_that_these_refer_to() -> None:
    table = f"<w:tbl><w:tr><w:tc>{paragraph('Left')}</w:tc><w:tc>{CHUNK.format(1)}</w:tc></w:tr></w:tbl>"
    header = '<w:sectPr><w:headerReference xmlns:r="{}" r:id="r2"/></w:sectPr>'.format(
        "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    )
    main = {"r1": ("aFChunk", "body.html"), "r2": ("header", "header1.xml")}
    names = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    data = docx(
        table + header,
        **{
            "word/_rels/document.xml.rels": relations(main).encode(),
            "word/_rels/header1.xml.rels": relations({"r1": ("aFChunk", "head.html")}).encode(),
            "word/header1.xml": f"<w:hdr {names}>{CHUNK.format(1)}</w:hdr>".encode(),
            "word/body.html": b"<h3>In the</h3><p>cell</p>",
            "word/head.html": b"<p>In the header</p>",
        },
    )
    text = read(data).text
    assert "| Left | In the cell |" in text
    assert text.endswith("## Headers and footers\n\n- In the header\n")


def test_files_inside_of_files_are_read_to_a_depth_and_their_notes_are_told() -> None:
    hidden = "<w:p><w:r><w:rPr><w:vanish/></w:rPr><w:t>unseen</w:t></w:r></w:p>"
    data = with_files(paragraph("Level 5"))
    for level in (4, 3, 2, 1):
        data = with_files(f"{paragraph(f'Level {level}')}{hidden if level == 3 else ''}{{1}}", ("x.docx", data))
    document = read(data)
    assert document.text == "Level 1\n\nLevel 2\n\nLevel 3\n\n[hidden: unseen]\n\nLevel 4\n"
    assert [note.code for note in document.notes] == ["hidden", "damaged-part"]
    assert messages(document)[1].endswith("Left out: 1 inserted file inside of others, deeper than 3 levels.")


def test_a_file_that_is_referred_to_often_counts_each_time() -> None:
    body = paragraph("Before") + "{1}" * 5
    assert read(with_files(body, ("x.txt", "word " * 100))).text.count("word") == 500
    document = read(with_files(body, ("x.txt", "word " * 100)), max_chars=1200)
    assert document.text.count("word") == 200
    (message,) = messages(document)
    assert message == (
        "Left out: 1 inserted file with which the text would exceed 1,200 characters, or that is too large."
    )
