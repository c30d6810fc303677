"""Files that are meant to do harm, or look like it: each ends as one line in the report, within its limits."""

from __future__ import annotations

import os
import socket
import struct
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from small_docx import docx, paragraph, zipped

from pinakes.ingestion.report import Report
from pinakes.library import Library
from pinakes.parsing.workers import Process

MEMORY_MB = 512
TIMEOUT_S = 12
LONGEST_S = 240
"""For all files together, on a machine that does other things as well."""

pytestmark = [
    pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is looked up in /proc"),
    pytest.mark.long,
]


def laughs(root: str, body: str, levels: int = 12) -> str:
    """Return XML whose entities would be ten times as long each as the one before."""
    lines = ['<!ENTITY l0 "laughing out loud ">']
    lines += [f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, levels)]
    return f'<?xml version="1.0"?><!DOCTYPE {root} [{"".join(lines)}]>{body.replace("BOMB", f"&l{levels - 1};")}'


def laughing_docx() -> bytes:
    head = laughs("w:document", "").partition("?>")[2]
    return docx(paragraph("&l11;"), head=head)


def laughing_odt() -> bytes:
    office = "urn:oasis:names:tc:opendocument:xmlns"
    body = (
        f'<office:document-content xmlns:office="{office}:office:1.0" xmlns:text="{office}:text:1.0"><office:body>'
        "<office:text><text:p>BOMB</text:p></office:text></office:body></office:document-content>"
    )
    mime = b"application/vnd.oasis.opendocument.text"
    return zipped({"mimetype": mime, "content.xml": laughs("office:document-content", body).encode()})


def overlapping() -> bytes:
    """Return a container whose directory names one long entry again and again."""
    whole = docx(paragraph("Words"), filler=b"\0" * 20_000_000)
    end = whole.rindex(b"PK\5\6")
    count, size, start = struct.unpack_from("<HII", whole, end + 10)
    directory = whole[start : start + size]
    last = directory.rindex(b"PK\1\2")
    copies = b"".join(directory[last:].replace(b"filler", b"fill%02d" % n) for n in range(60))
    tail = struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, count + 60, count + 60, size + len(copies), start, 0)
    return whole[:start] + directory + copies + tail


def looping_pdf() -> bytes:
    """Return a PDF whose tree of pages leads back to its root."""
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R 2 0 R] /Count 1000000 >>",
        b"<< /Type /Pages /Kids [2 0 R 3 0 R] /Count 1000000 /Parent 2 0 R >>",
    ]
    out, places = b"%PDF-1.7\n", []
    for number, content in enumerate(objects, start=1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    end = b"xref\n0 4\n0000000000 65535 f \n%strailer\n<< /Size 4 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n"
    return out + end % (table, len(out))


def yaml_aliases() -> bytes:
    lines = ["a0: &a0 [words, words]"] + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    return "\n".join(lines).encode()


HARMLESS = {
    "fine.md": b"# Herons\n\nThey stand in the reeds.\n",
    "fine.html": b"<h1>Storks</h1><p>They stand on the roof.</p>",
    "zz-last.docx": docx(paragraph("Egrets stand in the field.")),
}

REFUSED: dict[str, Callable[[], bytes]] = {
    "bomb.docx": lambda: docx(paragraph("Words"), filler=b"\0" * 60_000_000),
    "overlapping.docx": overlapping,
    "nested.docx": lambda: docx(paragraph("Words"), inner=zipped({"x": b"\0" * 60_000_000}, zipfile.ZIP_STORED)),
    "endless.csv": lambda: b"\n" * 49_000_000,
    "long.csv": lambda: b"a,b\n" * 12_000_000,
    "loop.pdf": looping_pdf,
    "cut.docx": lambda: docx(paragraph("Words"))[:-40],
    "cut.pdf": lambda: looping_pdf()[:100],
    "empty.pdf": lambda: b"\n\n",
    "picture.pdf": lambda: b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 8,
    "program.md": lambda: b"\x7fELF" + bytes(range(256)) * 40,
    "packed.txt": lambda: zipped({"a": os.urandom(5000)}, zipfile.ZIP_STORED),
}
"""Files that must end as a line with a reason."""

BOUNDED: dict[str, Callable[[], bytes]] = {
    "page.docx": lambda: b"<html><body><p>A page.</p></body></html>",
    "laughs.docx": laughing_docx,
    "laughs.odt": laughing_odt,
    "laughs.opml": lambda: laughs("opml", "<opml><body><outline text='BOMB'/></body></opml>").encode(),
    "laughs.fb2": lambda: laughs("FictionBook", "<FictionBook><body><p>BOMB</p></body></FictionBook>").encode(),
    "laughs.xml": lambda: laughs("a", "<a>BOMB</a>").encode(),
    "laughs.html": lambda: laughs("html", "<html><p>BOMB</p></html>").encode(),
    "traversal.docx": lambda: docx(paragraph("Words"), **{"../../escaped.txt": b"out", "/escaped.txt": b"out"}),
    "traversal.epub": lambda: zipped({"mimetype": b"application/epub+zip", "../../escaped.txt": b"out"}),
    "deep.json": lambda: b"[" * 400_000 + b"]" * 400_000,
    "deep.yaml": lambda: b"[" * 400_000,
    "deep.html": lambda: b"<div>" * 150_000 + b"words",
    "deep.xhtml": lambda: b"<html><body>" + b"<b><i>" * 60_000 + b"words",
    "deep.docx": lambda: docx("<w:p>" * 50_000 + "words" + "</w:p>" * 50_000),
    "deep.ipynb": lambda: b'{"cells": ' + b"[" * 200_000,
    "deep.toml": lambda: b"a = " + b"[" * 200_000,
    "aliases.yaml": yaml_aliases,
    "quotes.csv": lambda: b'"' * 400_001,
    "colons.rst": lambda: b":" * 300_000 + b"\n====\n",
    "brackets.md": lambda: b"[" * 200_000 + b"](" * 100_000,
    "stars.md": lambda: b"*a_ " * 100_000,
    "quoted.md": lambda: b"> " * 200_000,
    "bars.py": lambda: b"|-|\n" * 20_000,
    "comments.html": lambda: b"<!--" * 200_000,
    "tags.html": lambda: b"<title " * 100_000 + b"<script " * 100_000,
}
"""Files that may be read or refused, but must stay within the limits."""


@dataclass(frozen=True)
class Outcome:
    """How adding all of them went. ``peaks_mb`` is the memory that the processes had asked for at most."""

    report: Report
    indexed: set[str]
    seconds: float
    folder: Path
    peaks_mb: list[float]

    def reason(self, path: str) -> str | None:
        left_out = [*self.report.skipped, *self.report.failed]
        [reason] = [one.reason for one in left_out if one.path == path] or [None]
        return reason


def peak_mb(process: Process) -> float:
    text = Path(f"/proc/{process.pid}/status").read_text()
    lines = dict(line.split(":", 1) for line in text.splitlines())
    return int(lines["VmHWM"].split()[0]) / 1024


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    base = tmp_path_factory.mktemp("hostile")
    folder = base / "in" / "docs"
    folder.mkdir(parents=True)
    for path, data in HARMLESS.items():
        (folder / path).write_bytes(data)
    for path, made in (REFUSED | BOUNDED).items():
        (folder / path).write_bytes(made())
    os.mkfifo(folder / "pipe.md")
    (folder / "device.md").symlink_to("/dev/zero")
    with socket.socket(socket.AF_UNIX) as there:
        there.bind(str(folder / "socket.md"))
        settings = {"embedding__provider": "deterministic", "cache": str(base / "cache")}
        settings |= {"ingest__memory_mb": MEMORY_MB, "ingest__read_timeout_s": TIMEOUT_S, "ingest__processes": 2}
        settings |= {"ingest__nice": 0}  # so that what is harmless is read within the limit on a busy machine
        with Library.open(base / "home", **settings) as library:
            start = time.monotonic()
            report = library.add(str(folder))
            seconds = time.monotonic() - start
            free = library.app.workers.take()
            peaks = [peak_mb(free)]
            library.app.workers.give(free)
            paths = {hit.path for hit in library.search("stand words", top_k=50).hits}
            indexed = paths | {
                path for path in (*HARMLESS, *BOUNDED) if not _left_out(report, path) and library.read(path).document
            }
    return Outcome(report, indexed, seconds, base, peaks)


def _left_out(report: Report, path: str) -> bool:
    return any(one.path == path for one in (*report.skipped, *report.failed))


def test_everything_else_is_indexed_all_the_same(outcome: Outcome) -> None:
    assert set(HARMLESS) <= outcome.indexed


@pytest.mark.parametrize("path", REFUSED)
def test_a_file_that_cannot_be_read_is_one_line_with_its_reason(outcome: Outcome, path: str) -> None:
    reason = outcome.reason(path)
    assert reason
    assert "\n" not in reason
    assert "unexpectedly" not in reason


@pytest.mark.parametrize("path", BOUNDED)
def test_a_file_that_would_do_harm_is_read_or_named_once(outcome: Outcome, path: str) -> None:
    reason = outcome.reason(path)
    assert (reason is None) == (path in outcome.indexed)
    assert reason is None or "unexpectedly" not in reason


@pytest.mark.parametrize(("path", "words"), [("pipe.md", "a named pipe"), ("socket.md", "a socket")])
def test_what_is_no_file_is_not_opened(outcome: Outcome, path: str, words: str) -> None:
    assert outcome.reason(path) == f"Not a regular file but {words}"


def test_a_link_to_a_device_is_not_followed(outcome: Outcome) -> None:
    assert outcome.reason("device.md") == "Link leads outside the folder"


def test_nothing_is_unpacked_to_where_an_archive_says(outcome: Outcome) -> None:
    assert not list(outcome.folder.rglob("escaped.txt"))
    assert not Path("/escaped.txt").exists()


def test_all_of_it_takes_its_limits_and_no_more(outcome: Outcome) -> None:
    assert outcome.seconds < LONGEST_S
    assert max(outcome.peaks_mb) < MEMORY_MB


@pytest.mark.parametrize(
    ("path", "head"), [("endless.py", ""), ("script", "\ufeff#!/usr/bin/env python\n")], ids=["named", "script"]
)
def test_code_whose_tree_would_take_gigabytes_is_cut_between_lines(tmp_path: Path, path: str, head: str) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / path).write_text(head + "\\\n" * 80_000, "utf-8")
    (folder / "fine.md").write_bytes(HARMLESS["fine.md"])
    settings = {"embedding__provider": "deterministic", "ingest__memory_mb": MEMORY_MB}
    with Library.open(tmp_path / "home", **settings) as library:
        report = library.add(str(folder))
    assert (report.added, report.failed) == (2, [])


def test_code_that_needs_more_memory_than_it_may_have_is_named_also_where_it_comes_alone(tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "wide.py").write_text("x = [1, 2]\n" * 700_000, "utf-8")
    (folder / "fine.md").write_bytes(HARMLESS["fine.md"])
    with Library.open(tmp_path / "home", embedding__provider="deterministic", ingest__memory_mb=MEMORY_MB) as library:
        report = library.add(str(folder))
    assert (report.added, [one.path for one in report.failed]) == (1, ["wide.py"])
    assert "ingest.memory_mb" in report.failed[0].reason
