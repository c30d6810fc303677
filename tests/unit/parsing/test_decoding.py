"""Bytes become clean text, or are refused with a reason."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pinakes import parsing
from pinakes.core.errors import Binary, Empty, TooLarge, Unreadable
from pinakes.core.records import Document
from pinakes.parsing.decode import decode


def read(data: bytes, path: str = "notes.txt", max_chars: int = 1_000_000) -> Document:
    return parsing.read(data, path, max_chars=max_chars)


def read_or_reason(data: bytes, path: str) -> Document | Unreadable:
    try:
        return read(data, path)
    except Unreadable as error:
        return error


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "utf-16-le-bom", "utf-16-be-bom", "utf-32-be-bom"]
)
def test_every_unicode_encoding_gives_the_same_text(encoding: str) -> None:
    text = "Größe – 大きさ\nzweite Zeile\n"
    plain = encoding.removesuffix("-bom")
    data = ("\ufeff" + text).encode(plain) if encoding.endswith("-bom") else text.encode(plain)
    assert read(data).text == text


@pytest.mark.parametrize("newline", ["\r\n", "\r", "\n"])
def test_newlines_become_line_feeds(newline: str) -> None:
    assert read(f"one{newline}two{newline}{newline}four".encode()).text == "one\ntwo\n\nfour"


def test_bytes_that_are_not_utf8_are_read_as_windows_latin() -> None:
    assert read("Grüße, “quoted” – naïve".encode("cp1252")).text == "Grüße, “quoted” – naïve"


def test_one_damaged_byte_does_not_garble_the_rest_of_a_utf8_file() -> None:
    assert read("äöü äöü äöü".encode() + b"\xff" + " ß".encode()).text == "äöü äöü äöü\ufffd ß"


@pytest.mark.parametrize("words", ["grün schön", "naïve café", "Łódź żółw"])
def test_a_file_that_says_utf8_is_that_although_some_of_its_lines_are_not(words: str) -> None:
    head = b'<meta charset="UTF-8"><meta name="author" content="'
    page = decode(head + b"gr\xfcn" + f'"><p>{words}</p>'.encode(), charset="utf-8")
    assert words in page
    assert 'content="grün"' in page


@pytest.mark.parametrize(
    ("first", "second", "encoding"),
    [
        ("Привет мир, это меню сайта", "Комментарий пользователя", "cp1251"),
        (
            "“Menu” · «Home» · “Contact” · “About us” — © 2024 — “News” · “More” · “Less” · …",
            "这是一个段落，我们的图片",
            "gb18030",
        ),
        ("Größe, Höhe, Länge, Fläche", "schöne Grüße", "cp1252"),
    ],
)
@pytest.mark.parametrize("between", ["</p>\n<p>", "</p><p>"])
def test_parts_of_a_utf8_page_in_another_encoding_are_read_and_named(
    first: str, second: str, encoding: str, between: str
) -> None:
    data = f'<meta charset="utf-8"><p>{first}{between}'.encode() + second.encode(encoding) + b"</p>\n"
    document = read(data, "a.html")
    assert document.text.split("\n\n") == [first, f"{second}\n"]
    assert [note.code for note in document.notes] == ["doubtful-encoding"]
    assert encoding in document.notes[0].message


@pytest.mark.parametrize("damaged", [b"\xff", b"\xe4\xbd"])
def test_bytes_of_no_encoding_are_named(damaged: bytes) -> None:
    document = read("äöü äöü äöü ".encode() + damaged + "\nß".encode())
    assert document.text == "äöü äöü äöü \ufffd\nß"
    assert [(note.code, note.line) for note in document.notes] == [("doubtful-encoding", 1)]


def test_shift_jis_is_recognised() -> None:
    assert read("名前,年齢\n佐藤太郎,三十\n".encode("cp932")).text == "名前,年齢\n佐藤太郎,三十\n"


def test_a_text_with_a_few_nuls_is_text_without_them() -> None:
    assert read(b"some text\x00 with nul\x00s").text == "some text with nuls"


def test_control_characters_and_colours_vanish_but_tabs_stay() -> None:
    assert read(b"\x1b[31mred\x1b[0m\tbell\x07\x08 page\x0cbreak").text == "red\tbell page break"


@pytest.mark.parametrize(
    "data",
    [
        bytes(range(256)) * 8,
        b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR",
        b"\x7fELF\x02\x01\x01" + b"\x00" * 64,
        b"\xff\xfe" + bytes(range(256)) * 16,
    ],
    ids=["every byte", "picture", "program", "noise after a mark"],
)
@pytest.mark.parametrize("path", ["notes.txt", "README.md", "main.c", "data.unheard-of"])
def test_binary_data_is_refused_whatever_its_name(data: bytes, path: str) -> None:
    with pytest.raises(Binary, match="binary") as caught:
        read(data, path)
    assert caught.value.hint


@pytest.mark.parametrize("data", [b"", b" \n\t\r\n", b"\xef\xbb\xbf", b"\xff\xfe", b"\x00\x00"])
@pytest.mark.parametrize("path", ["a.txt", "a.md", "a.py", "a.yaml", "a.json", "a.csv", "a.html", "a.rst", "a"])
def test_a_file_with_nothing_in_it_is_refused_as_empty_or_binary(data: bytes, path: str) -> None:
    with pytest.raises((Empty, Binary)):
        read(data, path)


@pytest.mark.parametrize("path", ["a.pdf", "a.docx", "a.xls", "a.eml"])
def test_an_empty_office_file_is_refused_as_empty(path: str) -> None:
    with pytest.raises(Empty):
        read(b"", path)


@pytest.mark.parametrize("path", ["a.txt", "a.md", "a.py", "a.yaml", "a.json", "a.csv", "a.html", "a.rst"])
def test_text_beyond_the_limit_is_refused(path: str) -> None:
    data = json.dumps({f"key {n}": "word " * 20 for n in range(100)}).encode()
    with pytest.raises(TooLarge, match="1,000 characters") as caught:
        read(data, path, max_chars=1000)
    assert "max_text_chars" in caught.value.hint


@pytest.mark.parametrize("name", ["photo.JPG", "song.mp3", "site.zip", "tool.exe", "font.woff2", "drawing.svg"])
def test_what_is_never_text_is_refused_by_its_name_alone(name: str) -> None:
    assert parsing.refusal(f"folder/{name}")
    assert not parsing.supported(name)
    with pytest.raises(Binary, match="not read"):
        read(b"some text", name)


def test_a_name_nobody_knows_is_read_if_it_is_text() -> None:
    assert not parsing.supported("notes.unheard-of")
    assert parsing.refusal("notes.unheard-of") is None
    assert read(b"plain words", "notes.unheard-of") == Document(
        text="plain words", kind="text", reader=parsing.reader_of("notes.unheard-of")
    )


@given(
    data=st.binary(max_size=300), extension=st.sampled_from(["txt", "md", "py", "yaml", "json", "toml", "csv", "rst"])
)
@example(data=b"|", extension="csv")
def test_any_bytes_give_a_clean_document_or_a_reason(data: bytes, extension: str) -> None:
    outcome = read_or_reason(data, f"file.{extension}")
    if isinstance(outcome, Unreadable):
        assert outcome.message
        assert outcome.hint or isinstance(outcome, Empty)
    else:
        assert outcome.text.strip()
        assert not set(outcome.text) & {"\r", "\0", "\x1b"}
        outcome.text.encode("utf-8")
        assert "\n" not in outcome.title
        json.dumps(dict(outcome.metadata)).encode("utf-8")


@given(text=st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc"]), min_size=1).filter(str.strip))
def test_text_survives_unchanged(text: str) -> None:
    assert read(text.encode()).text == text.lstrip("\ufeff") or text.startswith("\ufeff")
