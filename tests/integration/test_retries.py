"""A file that failed is tried again, later and later, until it can be read or is another one."""

from __future__ import annotations

import io
import random
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import flaky_reader
import msoffcrypto
import pypdf
import pytest
from flaky_reader import FlakyReader
from scanned_page import scanned
from small_docx import docx, paragraph
from small_pdf import pdf
from sqlalchemy import update

from pinakes.catalog.schema import files
from pinakes.catalog.sources import FileRecord, failing
from pinakes.ingestion.report import Event
from pinakes.library import Library
from pinakes.parsing import READERS
from pinakes.services.sync.forecasting import Forecasts
from pinakes.settings import SourceSettings

OpenLibrary = Callable[..., Library]


@pytest.fixture
def flaky(open_library: OpenLibrary, docs: Path, monkeypatch: pytest.MonkeyPatch) -> Library:
    """A library that was given a folder with a file that cannot be read for now."""
    monkeypatch.setitem(sys.modules, "pinakes.parsing.flaky_reader", flaky_reader)
    monkeypatch.setitem(READERS, ".flaky", "flaky_reader:FlakyReader")
    monkeypatch.setattr(FlakyReader, "broken", True)
    monkeypatch.setattr(FlakyReader, "asked", 0)
    (docs / "a.flaky").write_text("otters juggle stones", "utf-8")
    (docs / "b.md").write_text("# B\n\nbadgers dig\n", "utf-8")
    library = open_library(ingest__processes=0)
    assert [entry.path for entry in library.add(str(docs)).failed] == ["a.flaky"]
    return library


def record(library: Library) -> FileRecord:
    """Return what is known of the file that failed."""
    with library.app.catalog.read() as connection:
        [one] = failing(connection, 1)
    return one


def make_due(library: Library) -> None:
    """Let the time come at which the file is tried again."""
    with library.app.catalog.write() as connection:
        connection.execute(update(files).where(files.c.status == "error").values(retry_at="2020-01-01T00:00:00+00:00"))


def pause_s(library: Library) -> float:
    at = record(library).retry_at
    assert at is not None
    return (datetime.fromisoformat(at) - datetime.now(UTC)).total_seconds()


def locked_pdf(text: str, password: str) -> bytes:
    writer, written = pypdf.PdfWriter(clone_from=io.BytesIO(pdf(text))), io.BytesIO()
    writer.encrypt(password, algorithm="RC4-128")
    writer.write(written)
    return written.getvalue()


def locked_docx(text: str, password: str) -> bytes:
    plain = docx(paragraph(text), picture=random.Random(0).randbytes(5000))  # the library locks no smaller ones right
    written = io.BytesIO()
    msoffcrypto.OfficeFile(io.BytesIO(plain)).encrypt(password, written)
    return written.getvalue()


@pytest.mark.parametrize(("name", "locked"), [("a.pdf", locked_pdf), ("a.docx", locked_docx)])
def test_a_locked_file_is_read_when_it_is_added_again_and_its_password_known(
    name: str,
    locked: Callable[[str, str], bytes],
    open_library: OpenLibrary,
    docs: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (docs / name).write_bytes(locked("otters juggle stones", "second"))
    monkeypatch.setenv("PASSWORDS_OF_FILES", "first")
    library = open_library(ingest__processes=0, ingest__passwords_variable="PASSWORDS_OF_FILES")
    [skipped] = library.add(str(docs)).skipped
    assert (skipped.path, skipped.code) == (name, "LOCKED")
    assert "Set ingest.passwords_variable" in skipped.reason
    monkeypatch.setenv("PASSWORDS_OF_FILES", "first\nsecond")
    assert [one.path for one in library.sync()[0].skipped] == [name]
    forecast = Forecasts(library.app).forecast("default", SourceSettings(location=str(docs)))
    assert (forecast.new, forecast.skipped) == (1, {})
    report = library.add(str(docs))
    assert (report.added, report.skipped) == (1, [])
    assert library.search("otters").hits[0].path == name


def test_a_scanned_file_is_read_when_it_is_added_again_once_ocr_is_installed(
    open_library: OpenLibrary, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (docs / "scan.pdf").write_bytes(scanned("Otters juggle stones beside the river."))
    library = open_library(ingest__ocr="auto", ingest__processes=0)
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "rapidocr", None)
        [skipped] = library.add(str(docs)).skipped
        assert (skipped.code, "It needs OCR" in skipped.reason) == ("NEEDS_OCR", True)
        assert library.add(str(docs)).skipped == [skipped]
    report = library.add(str(docs))
    assert (report.added, report.skipped) == (1, [])
    [hit] = library.search("otters juggle").hits
    assert (hit.path, hit.page) == ("scan.pdf", 1)


def test_it_is_not_tried_before_its_time(flaky: Library) -> None:
    assert (record(flaky).tries, FlakyReader.asked) == (1, 1)
    assert 40 < pause_s(flaky) < 76
    [report] = flaky.sync()
    assert FlakyReader.asked == 1
    assert [entry.path for entry in report.failed] == ["a.flaky"], "it is told of all the same"


def test_each_failure_doubles_the_pause_up_to_a_day(flaky: Library) -> None:
    for tries in range(2, 14):
        make_due(flaky)
        flaky.sync()
        middle = min(60 * 2 ** (tries - 1), 86_400)
        assert (record(flaky).tries, FlakyReader.asked) == (tries, tries)
        assert 0.74 * middle < pause_s(flaky) < 1.26 * middle


def test_it_is_read_at_its_time_once_it_can_be(flaky: Library) -> None:
    make_due(flaky)
    FlakyReader.broken = False
    [report] = flaky.sync()
    assert (report.added, report.failed) == (1, [])
    assert flaky.search("otters juggle", mode="keyword").hits[0].path == "a.flaky"
    with flaky.app.catalog.read() as connection:
        assert failing(connection, 1) == []
    flaky.sync(retry=True)
    assert FlakyReader.asked == 2, "what was read is not read again"


def test_a_file_that_changes_is_read_at_once_and_counted_anew(flaky: Library, docs: Path) -> None:
    make_due(flaky)
    flaky.sync()
    assert record(flaky).tries == 2
    (docs / "a.flaky").write_text("otters juggle two stones", "utf-8")
    flaky.sync()
    assert (record(flaky).tries, FlakyReader.asked) == (1, 3)


def test_by_hand_it_is_tried_at_once(flaky: Library, docs: Path) -> None:
    flaky.sync(retry=True)
    assert FlakyReader.asked == 2
    flaky.add(str(docs))
    assert (record(flaky).tries, FlakyReader.asked) == (3, 3)


def test_a_file_that_is_gone_is_tried_no_more(flaky: Library, docs: Path) -> None:
    (docs / "a.flaky").unlink()
    [report] = flaky.sync()
    assert report.failed == []


def test_what_it_gave_before_stays_while_it_fails(flaky: Library, docs: Path) -> None:
    FlakyReader.broken = False
    flaky.sync(retry=True)
    FlakyReader.broken = True
    (docs / "a.flaky").write_text("otters sleep", "utf-8")
    flaky.sync()
    assert flaky.read("a.flaky").text == "otters juggle stones"
    assert record(flaky).document_id is None, "which the list of failures need not know"


def test_how_it_stands_is_told(flaky: Library, docs: Path) -> None:
    [one] = flaky.syncing.list_all()
    [file] = one.failing
    assert (one.name, one.state, one.documents, dict(one.files)) == ("docs", "read", 1, {"error": 1, "indexed": 1})
    assert (file.path, file.tries, file.retry_at) == ("a.flaky", 1, record(flaky).retry_at)
    assert "the disk is asleep" in file.reason
    assert one.last_run is not None
    assert (one.last_run["failed"], one.last_run["added"]) == (1, 1)


def test_settings_say_how_long_pauses_are(open_library: OpenLibrary, flaky: Library) -> None:
    del flaky
    settings: dict[str, Any] = {"sync__retry_first_s": 10, "sync__retry_longest_s": 15}
    library = open_library(ingest__processes=0, **settings)
    for _ in range(3):
        library.sync(retry=True)
        assert 11 < pause_s(library) < 19


def test_a_page_without_words_is_recognised_once(open_library: OpenLibrary, docs: Path) -> None:
    (docs / "blank.pdf").write_bytes(scanned(""))
    library = open_library(ingest__ocr="auto")
    first: list[Event] = []
    again: list[Event] = []
    [skipped] = library.add(str(docs), on_event=first.append).skipped
    assert (skipped.code, "not by OCR either" in skipped.reason) == ("NO_TEXT", True)
    assert library.add(str(docs), on_event=again.append).skipped == [skipped]
    read = [{(event.stage, event.detail) for event in every} for every in (first, again)]
    assert ("read", "blank.pdf") in read[0] - read[1]
