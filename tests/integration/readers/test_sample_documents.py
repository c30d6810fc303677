"""A hundred real files of many formats: what must be read from them, and what must be refused and why."""

from __future__ import annotations

import collections
import os
import tarfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from pinakes import readers
from pinakes.errors import Unreadable
from pinakes.types import Document

DATA = Path(os.environ.get("PINAKES_TEST_DATA", Path(__file__).parents[3].parent / "shared" / "data"))
ARCHIVE = DATA / "documents" / "documents.tar.gz"

pytestmark = pytest.mark.skipif(not ARCHIVE.is_file(), reason=f"no sample documents at {ARCHIVE}")

Outcomes = Mapping[str, Document | Unreadable]


@pytest.fixture(scope="module")
def outcomes() -> Outcomes:
    found: dict[str, Document | Unreadable] = {}
    with tarfile.open(ARCHIVE) as archive:
        for member in archive:
            name = member.name.partition("/")[2]
            if not member.isfile() or name == "manifest.tsv":
                continue
            content = archive.extractfile(member)
            assert content is not None
            try:
                found[name] = readers.read(content.read(), name, max_chars=20_000_000)
            except Unreadable as error:
                found[name] = error
    return found


READ = [
    # file, title, what the text must hold
    ("py-pdf/GeoTopo-komprimiert.pdf", "Geometrie und Topologie", ["Martin Thoma", "Homöomorphismus"]),
    ("py-pdf/google-doc-document.pdf", "PDF Example Document", ["Beautiful is better than ugly"]),
    ("py-pdf/crazyones-pdfa.pdf", "The Crazy Ones", ["crazy ones. The misfits"]),
    ("py-pdf/imagemagick-images.pdf", "imagemagick images", ["Background"]),
    ("unstructured/copy-protected.pdf", "LayoutParser: A Unified Toolkit for Deep Learning Based", ["LayoutParser"]),
    ("unstructured/failure-after-repair.pdf", "Understanding", ["Breast", "cancer"]),
    ("unstructured/fr_olap.pdf", "Résumés et interrogations de logs de requêtes OLAP", ["requêtes"]),
    ("unstructured/korean-text-with-tables.pdf", "적립 제외 대상", ["무이자할부"]),
    ("markitdown/movie-theater-booking-2024.pdf", "BOOKING ORDER", ["STARLIGHT CINEMAS"]),
    ("markitdown/test.docx", "AutoGen: Enabling Next-Gen LLM", ["Qingyun Wu", "# Abstract"]),
    ("markitdown/docx_complex_layout.docx", "Complex Document", ["| Authentication | Active |"]),
    ("unstructured/simple.docx", "These are a few of my favorite things:", ["Parrots"]),
    ("unstructured/handbook-872p.docx", "", ["Handbook for Chapter 13 Standing Trustees"]),
    ("unstructured/teams_chat.docx", "", ["James Bond"]),
    ("markitdown/test.pptx", "AutoGen: Enabling Next-Gen LLM", ["Multi-Agent Conversation"]),
    ("unstructured/fake-power-point-table.pptx", "A Slide with a Table", ["| Red | Green | Blue"]),
    ("unstructured/fake-power-point-malformed.pptx", "Test Slide", ["Problem Date Placeholder"]),
    ("markitdown/test.xlsx", "", ["| Alpha | Beta | Gamma | Delta |", "| 89 | 82 | 100 | 12 |"]),
    ("unstructured/stanley-cups.xlsx", "", ["| Blues | STL | 1 |"]),
    ("markitdown/test.xls", "", ["| Alpha | Beta | Gamma | Delta |"]),
    ("unstructured/fake.odt", "", ["Lorem ipsum dolor sit amet.", "| Header row | Mon |"]),
    ("unstructured/fake.doc", "", ["Lorem ipsum dolor sit amet."]),
    ("unstructured/fake-doc.rtf", "My First Heading", ["My first paragraph.", "| Column 1 |"]),
    ("markitdown/test.epub", "Test EPUB Document", ["Chapter 1: Test Content"]),
    ("markitdown/test_outlook_msg.msg", "Test Email Message", ["M. C. Kurtuluş", "<test.sender@example.com>"]),
    ("unstructured/fake-email.eml", "Test Email", ["Matthew Robinson"]),
    ("unstructured/fake-email-utf-16.eml", "Test Email", ["Matthew Robinson"]),
    ("markitdown/test_wikipedia.html", "Microsoft - Wikipedia", ["# Microsoft", "Bill Gates"]),
    ("markitdown/test_blog.html", "Does Model and Inference Parameter Matter", ["level 2 algebra"]),
    ("unstructured/example-steelJIS-datasheet-utf-16.html", "SNB22-3 - SteelJIS", ["SNB22-3"]),
    ("unstructured/fake-html-cp1252.html", "My First Heading", ["Die schöne"]),
    ("unstructured/fake-html-with-base64-image.html", "", ["Unstructured Logo"]),
    ("markitdown/test_mskanji.csv", "", ["| 佐藤太郎 | 30 | 東京 |"]),
    ("unstructured/stanley-cups-utf-16.csv", "", ["| Blues | STL | 1 |"]),
    ("unstructured/csv-with-escaped-commas.csv", "", ["| A,A |"]),
    ("unstructured/fake-text-utf-16.txt", "This is a test document to use for unit tests.", ["Doylestown, PA 18901"]),
    ("unstructured/norwich-city.txt", "Iwan Roberts", ["Norwich City"]),
    ("unstructured/umlauts-non-utf8.md", "können", ["äöüß"]),
    ("unstructured/README.rst", "Example Docs", ["sample docs directory"]),
    ("unstructured/README.org", "Example Docs", ["sample docs directory"]),
    ("unstructured/factbook.xml", "", ["<name>United States</name>"]),
]

REFUSED = [
    ("py-pdf/libreoffice-writer-password.pdf", "PDF is encrypted and cannot be decrypted"),
    ("unstructured/password.pdf", "PDF is encrypted and cannot be decrypted"),
    ("unstructured/password_protected.xlsx", "encrypted and cannot be decrypted"),
    ("markitdown/pdf_scanned_invoice.pdf", "No extractable text found in PDF"),
    ("markitdown/MEDRPT-2024-PAT-3847_medical_report_scan.pdf", "No extractable text found in PDF"),
    ("unstructured/loremipsum-flat.pdf", "No extractable text found in PDF"),
    ("derived-corrupt/truncated-GeoTopo-komprimiert.pdf", "damaged"),
    ("derived-corrupt/truncated-simple.docx", "damaged"),
    ("unstructured/empty.txt", "empty"),
    ("unstructured/empty.xlsx", "no text"),
]


@pytest.mark.parametrize(("name", "title", "parts"), READ, ids=[row[0] for row in READ])
def test_a_readable_file_gives_its_title_and_words(outcomes: Outcomes, name: str, title: str, parts: list[str]) -> None:
    document = outcomes[name]
    assert isinstance(document, Document), document
    assert document.title.startswith(title)
    assert bool(document.title) == bool(title)
    for part in parts:
        assert part in document.text


@pytest.mark.parametrize(("name", "reason"), REFUSED, ids=[row[0] for row in REFUSED])
def test_an_unreadable_file_is_refused_with_its_reason(outcomes: Outcomes, name: str, reason: str) -> None:
    error = outcomes[name]
    assert isinstance(error, Unreadable), error
    assert reason in error.message


def test_nothing_else_is_refused(outcomes: Outcomes) -> None:
    refused = {name for name, outcome in outcomes.items() if isinstance(outcome, Unreadable)}
    assert refused == {name for name, _ in REFUSED}
    assert len(outcomes) == 100


def test_no_text_holds_what_no_text_should(outcomes: Outcomes) -> None:
    flaws = collections.Counter(
        flaw
        for outcome in outcomes.values()
        if isinstance(outcome, Document)
        for flaw in ("\r", "\0", "data:image", "<script", "\ud800")
        if flaw in outcome.text
    )
    assert not flaws
