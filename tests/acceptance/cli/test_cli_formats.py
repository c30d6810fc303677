"""The hundred sample files as a user adds and searches them: what is reported, what is found, and on which page."""

from __future__ import annotations

import os
import tarfile
import tomllib
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[2]
DATA = Path(os.environ.get("PINAKES_TEST_DATA", TESTS.parent.parent / "shared" / "data"))
ARCHIVE = DATA / "documents" / "documents.tar.gz"
EXPECTED = tomllib.loads((TESTS / "integration" / "readers" / "expectations.toml").read_text())["file"]

SENTENCES = [
    # words, file, page
    ("Die Umkehrabbildung ist nicht stetig", "py-pdf/GeoTopo-komprimiert.pdf", 14),
    ("Aromatase inhibitors help prevent the growth of oestrogen", "unstructured/failure-after-repair.pdf", 50),
    ("Query recommendations for interactive database exploration", "unstructured/fr_olap.pdf", 12),
    ("A chart to test parsing", "markitdown/test.pptx", 4),
    ("Underlying trading operating profit as per Note 3.1", "2023-half-year-analyses-by-segment.xlsx", 5),
    ("Bagpipes are awesome", "unstructured/tests-example.xls", 1),
    ("review of termination of case assignments", "unstructured/handbook-872p.docx", None),
    ("notice anomalies: what seems strange, or missing, or broken", "unstructured/ideas-page.html", None),
    ("Ignite 2024: Fortune 500 Copilot", "markitdown/test_rss.xml", None),
    ("Trinidad & Tobado Keith Rowley", "unstructured/factbook.xml", None),
    ("blockquote for testing second chapter", "markitdown/test.epub", None),
    ("Violets are blue NotMatthew", "unstructured/fake-email.eml", None),
    ("body of the test email message", "markitdown/test_outlook_msg.msg", None),
    ("Nationality Gender Example for a Form", "py-pdf/libreoffice-form.odt", None),
    ("My first paragraph Row 1, Cell 1", "unstructured/fake-doc.rtf", None),
    ("XBRL 10-K filing curl user agent", "unstructured/README.org", None),
    ("佐藤太郎", "markitdown/test_mskanji.csv", None),
    ("Iwan Roberts place of birth Bangor", "unstructured/norwich-city.txt", None),
]


@pytest.mark.skipif(not ARCHIVE.is_file(), reason=f"no sample documents at {ARCHIVE}")
def test_every_sample_is_reported_as_expected_and_found_on_its_page(pinakes, tmp_path):
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(tmp_path, filter="data")
    (report,) = pinakes("add", tmp_path / "documents", "--exclude", "manifest.tsv", "--json").document["reports"]
    refused = {entry["path"]: entry["reason"] for entry in report["skipped"]}
    reasons = {one["path"]: one["reason"] for one in EXPECTED if "reason" in one}
    assert report["added"] == len(EXPECTED) - len(reasons) == 90
    assert not report["failed"]
    assert set(refused) == set(reasons)
    short = {"unstructured/empty.txt": "Empty file"}
    assert not {path for path, reason in reasons.items() if short.get(path, reason) not in refused[path]}

    wrong = {}
    for words, path, page in SENTENCES:
        hits = pinakes("search", words, "--mode", "keyword", "-k", "5", "--json").document["hits"]
        found = [(hit["path"], hit["page"], hit["page_end"]) for hit in hits]
        if not any(at.endswith(path) and (page is None or first <= page <= last) for at, first, last in found):
            wrong[words] = found
    assert not wrong
    shown = pinakes("search", SENTENCES[0][0], "--mode", "keyword", "-k", "1").out
    assert "py-pdf/GeoTopo-komprimiert.pdf:" in shown
    assert "  p. 1" in shown
    asked = ("-a", f"query={SENTENCES[1][0]}", "-a", "mode=keyword", "-a", "top_k=1")
    called = pinakes("call", "search", *asked).out
    assert ", p. 50 " in called
