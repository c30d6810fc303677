"""One file with a problem does not keep the others from being read; sources that overlap lose nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import failing_reader
import pytest

from pinakes.catalog import documents
from pinakes.core.errors import SourceError
from pinakes.library import Library
from pinakes.models.embedders import EMBEDDERS
from pinakes.parsing import READERS
from pinakes.testing import write_files

OpenLibrary = Callable[..., Library]


@pytest.fixture
def buggy(open_library: OpenLibrary, monkeypatch: pytest.MonkeyPatch) -> Library:
    """A library with a reader that has bugs, for files called ``*.oops``; other processes would not know it."""
    monkeypatch.setitem(sys.modules, "pinakes.parsing.failing_reader", failing_reader)
    monkeypatch.setitem(READERS, ".oops", "failing_reader:FailingReader")
    return open_library(ingest__processes=0)


@pytest.fixture
def strict(open_library: OpenLibrary, monkeypatch: pytest.MonkeyPatch) -> Library:
    """A library whose model refuses chunks with the word "unreadable"."""
    monkeypatch.setitem(EMBEDDERS, "strict", "strict_embedder:StrictEmbedder")
    return open_library(embedding__provider="strict")


def paths(library: Library) -> list[str]:
    with library.app.catalog.read() as connection:
        return sorted(documents.paths(connection, library.collection().id))


def test_a_bug_in_a_reader_fails_the_file_and_not_the_run(
    buggy: Library, docs: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write_files(docs, {"a.md": "# A\n\nwords\n", "b.oops": "odd", "c.oops": "deep", "d.oops": "fine text\n"})
    report = buggy.add(str(docs))
    assert paths(buggy) == ["a.md", "d.oops"]
    assert [entry.path for entry in report.failed] == ["b.oops", "c.oops"]
    assert "ValueError: cannot parse b'odd'" in report.failed[0].reason
    assert "RecursionError" in report.failed[1].reason
    assert "Traceback" in caplog.text
    assert [(one["path"], one["status"]) for one in buggy.status()[0].problems] == [
        ("b.oops", "error"),
        ("c.oops", "error"),
    ]


def test_a_file_that_failed_is_read_when_it_can_be(buggy: Library, docs: Path) -> None:
    write_files(docs, {"a.oops": "fine before\n"})
    buggy.add(str(docs))
    (docs / "a.oops").write_text("broken")
    assert len(buggy.add(str(docs)).failed) == 1
    assert buggy.read("a.oops").text == "fine before\n", "what it gave before stays"
    assert len(buggy.add(str(docs)).failed) == 1, "it is tried each time"
    (docs / "a.oops").write_text("fine after\n")
    assert buggy.add(str(docs)).failed == []
    assert buggy.read("a.oops").text == "fine after\n"


def test_running_out_of_memory_is_no_fault_of_the_file(buggy: Library, docs: Path) -> None:
    write_files(docs, {"a.oops": "full"})
    with pytest.raises(MemoryError):
        buggy.add(str(docs))


def test_a_chunk_the_model_refuses_waits_alone_and_is_found_by_words(strict: Library, docs: Path) -> None:
    write_files(docs, {f"{number}.md": f"# {number}\n\nsome words {number}\n" for number in range(5)})
    (docs / "bad.md").write_text("# Bad\n\nan unreadable text\n")
    report = strict.add(str(docs))
    assert paths(strict) == [*(f"{number}.md" for number in range(5)), "bad.md"]
    assert "1 chunk has no vector (bad.md:1-3): A text is too long" in str(report.degraded)
    assert (report.added, report.embedded, report.pending, report.failed) == (6, 5, 1, [])
    assert strict.search("unreadable").hits[0].path == "bad.md"
    assert strict.search("some words 3", mode="vector").hits
    (docs / "bad.md").write_text("# Good\n\na readable text\n")
    report = strict.add(str(docs))
    assert (report.changed, report.pending, report.degraded) == (1, 0, None)
    assert not any(strict.verify().values())


def test_what_one_source_moved_and_another_has_is_kept(library: Library, docs: Path) -> None:
    write_files(docs, {"sub/x.md": "# X\n\nThe first text.\n"})
    library.add(str(docs))
    library.add(str(docs / "sub"), as_source=True)
    (docs / "sub/x.md").rename(docs / "sub/y.md")
    library.add(str(docs))
    (docs / "sub/y.md").write_text("# X\n\nThe second text.\n")
    library.add(str(docs / "sub"))
    assert paths(library) == ["sub/y.md"]
    library.sync()
    assert paths(library) == ["sub/y.md"]
    assert "second" in library.read("y.md").text
    assert not any(library.verify().values())


def test_what_one_source_moved_is_kept_though_another_misses_it(library: Library, docs: Path) -> None:
    write_files(docs, {"sub/x.md": "# X\n\nThe text.\n", "other/z.md": "# Z\n\nMore.\n"})
    library.add(str(docs))
    library.add(str(docs / "sub"), as_source=True)
    (docs / "sub/x.md").rename(docs / "other/x.md")
    (docs / "sub/left.md").write_text("# Left\n\nSomething else.\n")
    library.add(str(docs / "sub"))
    library.add(str(docs))
    assert paths(library) == ["left.md", "other/x.md", "other/z.md"]


@pytest.mark.parametrize("home", ["inside", "is the folder"])
def test_our_own_folders_are_not_documents(home: str, docs: Path) -> None:
    write_files(docs, {"a.md": "# A\n\nalpha\n"})
    place = docs / "kb" if home == "inside" else docs
    with Library.open(place, embedding__provider="deterministic", cache=str(docs / "models")) as library:
        write_files(docs / "models", {"readme.md": "# Model\n\nwords\n"})
        (docs / "link.txt").symlink_to(place / "index")
        for _ in range(3):
            library.add(str(docs))
            library.search("alpha")
        assert paths(library) == ["a.md"]


def test_a_source_that_could_never_be_read_is_not_remembered(library: Library, docs: Path) -> None:
    write_files(docs, {"a.md": "# One\n\nwords\n"})
    library.add(str(docs))
    with pytest.raises(SourceError):
        library.add((docs.parent / "no-such-repository").as_uri() + ".git", "slip")
    assert [status.name for status in library.status()] == ["default"]
    assert [report.error for report in library.sync()] == [None]
