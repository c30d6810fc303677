"""A hundred real files of many formats: what must be read from them, and what must be refused and why."""

from __future__ import annotations

import os
import re
import tarfile
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from pinakes import parsing
from pinakes.core.errors import Unreadable
from pinakes.core.records import Document
from pinakes.text.page_numbers import pages_of

DATA = Path(os.environ.get("PINAKES_TEST_DATA", Path(__file__).parents[3].parent / "shared" / "data"))
ARCHIVE = DATA / "documents" / "documents.tar.gz"
EXPECTED: dict[str, dict[str, Any]] = {
    one["path"]: one for one in tomllib.loads(Path(__file__).with_name("expectations.toml").read_text())["file"]
}
READ = [name for name, one in EXPECTED.items() if "reason" not in one]
PASSWORDS = {"py-pdf/libreoffice-writer-password.pdf": "openpassword", "unstructured/password.pdf": "password"}

pytestmark = pytest.mark.skipif(not ARCHIVE.is_file(), reason=f"no sample documents at {ARCHIVE}")

Outcomes = Mapping[str, Document | Unreadable]


def files() -> Iterator[tuple[str, bytes]]:
    with tarfile.open(ARCHIVE) as archive:
        for member in archive:
            name = member.name.partition("/")[2]
            if member.isfile() and name != "manifest.tsv":
                content = archive.extractfile(member)
                assert content is not None
                yield name, content.read()


def outcome(name: str, data: bytes, **options: Any) -> Document | Unreadable:
    try:
        return parsing.read(data, name, max_chars=20_000_000, **options)
    except Unreadable as error:
        return error


@pytest.fixture(scope="module")
def outcomes() -> Outcomes:
    return {name: outcome(name, data) for name, data in files()}


def one_line(text: str) -> str:
    return " ".join(text.split())


def flat(text: str) -> str:
    """Return text without line breaks and the marks of headings, emphasis and links, as a reader sees it."""
    return one_line(re.sub(r"^#+ |\*\*|\[(?=[^\[\]]*\]\()|\]\([^()]*\)", "", text, flags=re.MULTILINE))


@pytest.mark.parametrize("name", READ)
def test_what_a_file_says_is_read(outcomes: Outcomes, name: str) -> None:
    document, expected = outcomes[name], EXPECTED[name]
    assert isinstance(document, Document), document
    as_written, as_seen = one_line(document.text), flat(document.text)
    missing = [part for part in expected.get("text", ()) if one_line(part) not in as_written and part not in as_seen]
    assert not missing
    headings = {flat(line) for line in document.text.split("\n") if re.match(r"#{1,6} ", line)}
    assert not set(expected.get("headings", ())) - headings
    lines = {line.strip().removeprefix("| ").removesuffix(" |") for line in document.text.split("\n")}
    assert not {" | ".join(row) for row in expected.get("rows", ())} - lines


@pytest.mark.parametrize("name", READ)
def test_nothing_else_is_read_from_a_file(outcomes: Outcomes, name: str) -> None:
    document = outcomes[name]
    assert isinstance(document, Document), document
    text = one_line(document.text)
    residue = ("\r", "\0", "\x02", "\ud800", "\ue0f0", "data:image", "<script", "\u00ad")
    assert not [part for part in (*residue, *EXPECTED[name].get("never", ())) if part in text or part in document.text]


@pytest.mark.parametrize("name", READ)
def test_a_file_gives_its_title_people_and_dates(outcomes: Outcomes, name: str) -> None:
    document, expected = outcomes[name], EXPECTED[name]
    assert isinstance(document, Document), document
    assert document.title.startswith(expected.get("title", ""))
    metadata = document.metadata
    assert set(expected.get("authors", ())) <= set(metadata.get("authors", ()))
    for field in ("created", "modified"):
        assert str(metadata.get(field, "")).startswith(expected.get(field, ""))


@pytest.mark.parametrize("name", [name for name in READ if "pages" in EXPECTED[name]])
def test_pages_slides_and_sheets_begin_where_they_begin(outcomes: Outcomes, name: str) -> None:
    document, expected = outcomes[name], EXPECTED[name]
    assert isinstance(document, Document), document
    assert len(document.pages) == expected["pages"] == document.metadata["page_count"]
    assert list(document.pages) == sorted(document.pages)
    found = {}
    for words, page in expected.get("on_page", {}).items():
        pattern = r"\s+".join(map(re.escape, words.split()))
        on = {pages_of(document.pages, *match.span()) for match in re.finditer(pattern, document.text)}
        found[words] = (page, page) in on
    assert all(found.values()), found


@pytest.mark.parametrize("name", [name for name in EXPECTED if name not in READ])
def test_an_unreadable_file_is_refused_with_its_reason(outcomes: Outcomes, name: str) -> None:
    error = outcomes[name]
    assert isinstance(error, Unreadable), error
    assert EXPECTED[name]["reason"] in f"{error.message} {error.hint}"


def test_every_file_is_expected_and_says_enough(outcomes: Outcomes) -> None:
    assert set(outcomes) == set(EXPECTED)
    assert len(outcomes) == 100
    said = {
        name: sum(len(value) if isinstance(value, list | dict) else 1 for value in EXPECTED[name].values()) - 1
        for name in READ
    }
    assert not {name for name, count in said.items() if count < 3}


def test_passwords_open_what_they_fit() -> None:
    texts = {
        name: outcome(name, data, passwords=("wrong", "password", "openpassword"))
        for name, data in files()
        if name in PASSWORDS
    }
    assert all(isinstance(one, Document) for one in texts.values()), texts
    opened = {name: one.text for name, one in texts.items() if isinstance(one, Document)}
    assert "Lorem ipsum dolor sit amet, consetetur sadipscing" in opened["py-pdf/libreoffice-writer-password.pdf"]
    assert opened["unstructured/password.pdf"].strip() == "File with password"


def test_a_wrong_password_leaves_the_reason() -> None:
    data = dict(files())["unstructured/password.pdf"]
    error = outcome("a.pdf", data, passwords=("wrong",))
    assert isinstance(error, Unreadable)
    assert "PDF is encrypted and cannot be decrypted" in error.message


@pytest.mark.parametrize(
    ("name", "wrong", "part"),
    [
        ("unstructured/fake-memo.pdf", "memo.docx", "To Whom it May Concern"),
        ("unstructured/fake-memo.pdf", "memo.txt", "To Whom it May Concern"),
        ("unstructured/simple.docx", "simple.pdf", "Parrots"),
        ("unstructured/stanley-cups.xlsx", "cups.docx", "| Maple Leafs | TOR | 13 |"),
        ("unstructured/fake-power-point-table.pptx", "slides", "| Red | Green | Blue |"),
        ("unstructured/fake.doc", "fake.docx", "Lorem ipsum"),
        ("unstructured/tests-example.xls", "tests.xlsx", "Bagpipes"),
        ("unstructured/fake-email.msg", "mail.doc", "Roses are red"),
        ("unstructured/fake.odt", "fake.docx", "| Color | Blue |"),
        ("markitdown/test.epub", "book.zip.txt", "Chapter 1: Test Content"),
        ("unstructured/fake-doc.rtf", "fake.doc", "# My First Heading"),
        ("unstructured/fake-html-cp1252.html", "page.doc", "# My First Heading"),
    ],
)
def test_a_wrong_name_does_not_keep_a_file_from_being_read(name: str, wrong: str, part: str) -> None:
    document = outcome(wrong, dict(files())[name])
    assert isinstance(document, Document), document
    assert part in document.text
