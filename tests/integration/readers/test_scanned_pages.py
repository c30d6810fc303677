"""Pages that are pictures, read by OCR."""

from __future__ import annotations

import io
import os
import sys
import tarfile
from pathlib import Path

import pypdf
import pytest
from scanned_page import scanned
from small_pdf import pdf

from pinakes import parsing
from pinakes.core.errors import Unreadable

DATA = Path(os.environ.get("PINAKES_TEST_DATA", Path(__file__).parents[3].parent / "shared" / "data"))
ARCHIVE = DATA / "documents" / "documents.tar.gz"
REPORT = "markitdown/MEDRPT-2024-PAT-3847_medical_report_scan.pdf"
EXPECTED = {
    REPORT: (3, "Blood Pressure 142/88 mmHg 120/80 mmHg ELEVATED", "Hypertension (diagnosed 2019)"),
    "markitdown/pdf_scanned_invoice.pdf": (1, "Invoice Number: INV-2024-001", "TOTAL AMOUNT DUE: $5,000.00"),
    "unstructured/loremipsum-flat.pdf": (1, "consectetur adipiscing elit. Nunc sollicitudin molestie consequat."),
}

with_samples = pytest.mark.skipif(not ARCHIVE.is_file(), reason=f"no sample documents at {ARCHIVE}")


def sample(name: str) -> bytes:
    with tarfile.open(ARCHIVE) as archive:
        file = archive.extractfile(f"documents/{name}")
        assert file is not None
        return file.read()


@with_samples
@pytest.mark.parametrize("name", EXPECTED)
def test_scanned_pages_are_read(name: str) -> None:
    pages, *words = EXPECTED[name]
    document = parsing.read(sample(name), name, max_chars=100_000, timeout_s=300, ocr=True)
    assert len(document.pages) == pages
    assert [part for part in words if part not in document.text] == []


def test_only_the_pages_without_text_are_recognised() -> None:
    writer, written = pypdf.PdfWriter(), io.BytesIO()
    for part in (pdf("Words that are letters"), scanned("The boiler is serviced every October.")):
        writer.append(io.BytesIO(part))
    writer.write(written)
    document = parsing.read(written.getvalue(), "mixed.pdf", max_chars=100_000, ocr=True)
    first, second = document.text[: document.pages[1]], document.text[document.pages[1] :]
    assert (first.strip(), second.strip()) == ("Words that are letters", "The boiler is serviced every October.")


def test_where_the_extra_is_missing_the_reason_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rapidocr", None)
    with pytest.raises(Unreadable, match="pictures, which need OCR") as caught:
        parsing.read(scanned("Words"), "scan.pdf", max_chars=100_000, ocr=True)
    assert "-m pip install 'rapidocr>=" in caught.value.hint


@with_samples
def test_pages_with_text_need_no_ocr_even_where_it_is_on() -> None:
    document = parsing.read(sample("unstructured/fake-memo.pdf"), "a.pdf", max_chars=100_000, ocr=True)
    assert "To Whom it May Concern:" in document.text


@with_samples
def test_a_time_limit_holds_for_all_pages_together() -> None:
    with pytest.raises(Unreadable, match="took longer than 1 seconds"):
        parsing.read(sample(REPORT), REPORT, max_chars=100_000, timeout_s=1, ocr=True)
