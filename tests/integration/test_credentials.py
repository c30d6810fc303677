"""Credentials in files and pushes: masked before anything is stored, whichever way they come, and named."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import pytest
from planted import Maker, planted
from sqlalchemy import select, update

from pinakes.catalog import schema
from pinakes.library import Library

TOKEN = "glpat-" + Maker(11).of("abcdefABCDEF0123456789", 20)
OTHER = "npm_" + Maker(12).of("abcdefABCDEF0123456789", 36)


def in_files(folder: Path, secret: str) -> list[str]:
    """Return the files below ``folder`` whose bytes hold ``secret``."""
    needle = secret.encode()
    return [str(path) for path in folder.rglob("*") if path.is_file() and needle in path.read_bytes()]


def in_versions(library: Library, secret: str) -> bool:
    with library.app.catalog.read() as connection:
        texts = connection.scalars(select(schema.versions.c.text).where(schema.versions.c.text.is_not(None)))
        return any(secret in zlib.decompress(text).decode() for text in texts)


def test_no_planted_credential_is_found_in_the_bytes_of_a_home(library: Library, home: Path, docs: Path) -> None:
    files = planted(21)
    for file in files:
        (docs / file.name).write_text(file.text, "utf-8")
    report = library.add(str(docs))
    library.search("service")
    library.close()
    stored = b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())
    left = {file.name for file in files if any(secret.encode() in stored for secret in file.secrets)}
    read = {file.name for file in files} - {entry.path for entry in report.skipped}
    assert len(read) >= 100
    assert len(left) <= len(files) // 20, left
    assert {path for path, note in report.notes if note.code == "secret"} >= read - left


def test_a_pushed_document_is_masked_in_all_its_parts_and_is_not_another_when_pushed_again(
    library: Library, home: Path
) -> None:
    given: dict[str, Any] = {
        "title": f"About {TOKEN}",
        "tags": [f"t-{OTHER}"],
        "metadata": {"note": TOKEN, "inner": {"password": "Xk29!vbQ77zLm"}},
        "summary": f"It has {OTHER}.",
        "source": f"https://bot:{OTHER}@r.io/x",
    }
    text = f"One.\n\nThe key is {TOKEN}.\n"
    first = library.documents.put(text, **given)
    again = library.documents.put(text, **given)
    assert (first.outcome, again.outcome) == ("created", "unchanged")
    assert len(first.document.text) == len(text)
    library.documents.update(first.document.uid, text=text + f"And {OTHER}.\n")
    library.close()
    assert in_files(home, TOKEN) == in_files(home, OTHER) == in_files(home, "Xk29!vbQ77zLm") == []


def test_history_holds_masked_texts_only(library: Library, docs: Path) -> None:
    (docs / "a.md").write_text(f"# A\n\nfirst {TOKEN}\n")
    library.add(str(docs))
    (docs / "a.md").write_text("# A\n\nsecond\n")
    library.add(str(docs))
    assert not in_versions(library, TOKEN)


def test_a_secret_that_lies_across_the_border_of_two_chunks_is_masked(library: Library, home: Path, docs: Path) -> None:
    words = "word " * 3000
    for size in range(20):
        (docs / f"{size}.txt").write_text(words[: 2000 + size * 3] + f" {TOKEN} " + words)
    library.add(str(docs))
    library.close()
    assert in_files(home, TOKEN) == []


def test_an_archive_with_credentials_is_taken_in_masked(
    open_library: Any, home: Path, docs: Path, tmp_path: Path
) -> None:
    (docs / "a.md").write_text(f"# A\n\nfirst {TOKEN}\n")
    unmasked = open_library(ingest__secrets="off")
    unmasked.add(str(docs), "zoo")
    (docs / "a.md").write_text(f"# A\n\nsecond {OTHER}\n")
    unmasked.add(str(docs), "zoo")
    unmasked.exchange.export("zoo", tmp_path / "zoo.zip", history=True)
    settings: dict[str, Any] = {"embedding__provider": "deterministic", "cache": str(tmp_path / "cache")}
    with Library.open(tmp_path / "other", **settings) as other:
        done = other.exchange.take_in(tmp_path / "zoo.zip")
        assert done.documents == 1
        assert not in_versions(other, TOKEN)
        assert other.search("second", collection="zoo").hits
    assert in_files(tmp_path / "other", OTHER) == []
    masked = open_library()
    masked.exchange.export("zoo", tmp_path / "clean.zip", history=True)
    with Library.open(tmp_path / "third", ingest__secrets="off", **settings) as third:
        third.exchange.take_in(tmp_path / "clean.zip")
        assert not in_versions(third, TOKEN)
    assert in_files(tmp_path / "third", OTHER) == []


def test_reads_of_what_was_stored_before_are_masked(open_library: Any, docs: Path) -> None:
    (docs / "a.md").write_text(f"# A\n\nfirst {TOKEN}\n")
    open_library(ingest__secrets="off").add(str(docs))
    library = open_library()
    assert TOKEN not in library.read("a.md").text
    [document] = library.documents.get_many([library.read("a.md").document.uid])
    assert TOKEN not in library.documents.version(document.uid, 1)


def test_what_is_only_reported_stays_and_is_named(open_library: Any, docs: Path) -> None:
    (docs / "a.md").write_text(f"# A\n\nfirst {TOKEN}\n")
    report = open_library(ingest__secrets="report").add(str(docs))
    assert [(path, note.code, note.line) for path, note in report.notes] == [("a.md", "secret", 3)]


@pytest.fixture
def old_home(open_library: Any, docs: Path) -> Library:
    """A home that holds credentials: of a file, in its old version, of a push, and in a log."""
    library: Library = open_library(ingest__secrets="off")
    (docs / "a.md").write_text(f"# Alpha\n\nfirst {TOKEN}\n")
    library.add(str(docs), "zoo")
    (docs / "a.md").write_text(f"# Alpha\n\nsecond {OTHER}\n")
    (docs / "b.md").write_text("# Beta\n\nnothing to hide\n")
    library.add(str(docs), "zoo")
    library.documents.put(
        f"Pushed {TOKEN}", title=f"About {TOKEN}", tags=[OTHER], summary=f"Of {TOKEN}", collection="zoo"
    )
    with library.app.catalog.write() as connection:
        connection.execute(update(schema.sources).values(report={"degraded": f"refused {TOKEN}"}))
    return library


def test_a_scan_names_what_an_old_home_holds_and_changes_nothing(old_home: Library, open_library: Any) -> None:
    found = open_library().credentials.scan()
    assert {one.where for one in found} >= {"documents", "versions", "sources", "events"}
    assert ("zoo", "a.md", 3) in {(one.collection, one.path, one.line) for one in found}
    assert TOKEN not in str(found)
    assert found == open_library().credentials.scan()


def test_a_purge_leaves_nothing_in_the_bytes_of_a_home_and_all_can_be_searched(
    old_home: Library, open_library: Any, home: Path
) -> None:
    library = open_library()
    done = library.credentials.purge()
    assert (done.rebuilt, done.degraded) == (("zoo",), None)
    assert library.credentials.scan() == []
    assert not in_versions(library, TOKEN)
    assert [hit.path for hit in library.search("second", collection="zoo").hits][:1] == ["a.md"]
    assert library.search("glpat", mode="keyword", collection="zoo").hits == ()
    assert library.verify("zoo") == {"zoo": []}
    library.close()
    assert in_files(home, TOKEN) == in_files(home, OTHER) == []


def test_a_purge_that_was_killed_is_done_by_the_next_one(old_home: Library, open_library: Any, home: Path) -> None:
    library = open_library()
    (home / "purging.json").write_text('["zoo", "gone"]')
    assert library.credentials.purge().rebuilt == ("gone", "zoo")
    assert library.credentials.purge().found == ()
    assert not (home / "purging.json").exists()
