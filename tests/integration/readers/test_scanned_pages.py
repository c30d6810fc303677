"""Scanned files of the samples, read by OCR where the extra is installed."""

from __future__ import annotations

import os
import tarfile
from pathlib import Path

import pytest

from pinakes import readers
from pinakes.errors import Unreadable

DATA = Path(os.environ.get("PINAKES_TEST_DATA", Path(__file__).parents[3].parent / "shared" / "data"))
ARCHIVE = DATA / "documents" / "documents.tar.gz"
EXPECTED = {
    "markitdown/pdf_scanned_invoice.pdf": ("Invoice Number: INV-2024-001", "TOTAL AMOUNT DUE: $5,000.00"),
    "unstructured/loremipsum-flat.pdf": ("consectetur adipiscing elit. Nunc sollicitudin molestie consequat.",),
}

pytestmark = pytest.mark.skipif(not ARCHIVE.is_file(), reason=f"no sample documents at {ARCHIVE}")


def sample(name: str) -> bytes:
    with tarfile.open(ARCHIVE) as archive:
        file = archive.extractfile(f"documents/{name}")
        assert file is not None
        return file.read()


@pytest.mark.parametrize("name", EXPECTED)
def test_a_scanned_page_is_read_where_the_extra_is_installed(name: str) -> None:
    pytest.importorskip("rapidocr", reason="needs the extra ocr")
    document = readers.read(sample(name), name, max_chars=100_000, timeout_s=300, ocr=True)
    assert document.pages == (0,)
    assert [part for part in EXPECTED[name] if part not in document.text] == []


def test_pages_with_text_need_no_ocr_even_where_it_is_on() -> None:
    document = readers.read(sample("unstructured/fake-memo.pdf"), "a.pdf", max_chars=100_000, ocr=True)
    assert "To Whom it May Concern:" in document.text


def test_a_time_limit_holds_for_all_pages_together() -> None:
    pytest.importorskip("rapidocr", reason="needs the extra ocr")
    name = "markitdown/MEDRPT-2024-PAT-3847_medical_report_scan.pdf"
    with pytest.raises(Unreadable, match="took longer than 1 seconds"):
        readers.read(sample(name), name, max_chars=100_000, timeout_s=1, ocr=True)
