"""Pages and exports from end to end: added, searched, changed, gone, and never lost because a host is down."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import export_samples as samples
import pytest
from web_host import WebHost, sitemap, web_host

from pinakes.core.errors import SourceError
from pinakes.library import Library

OpenLibrary: TypeAlias = Callable[..., Library]
WEB: dict[str, Any] = {"fetch__allow_private": ["127.0.0.1"], "fetch__delay_s": 0}


@pytest.fixture
def host() -> Iterator[WebHost]:
    with web_host() as opened:
        yield opened


@pytest.fixture
def library(open_library: OpenLibrary) -> Library:
    return open_library(**WEB)


def article(title: str, text: str) -> str:
    body = f"<nav>Menu</nav><main><h1>{title}</h1><p>{text}</p></main>"
    return f"<html><head><title>{title}</title></head><body>{body}</body></html>"


def found(library: Library, query: str) -> list[str]:
    return [hit.uri for hit in library.search(query, mode="keyword").hits]


def counts(report: Any) -> tuple[int, ...]:
    return report.added, report.changed, report.moved, report.removed, report.unchanged


def test_the_pages_of_a_sitemap_are_found_and_followed(library: Library, host: WebHost) -> None:
    ferns = host.put("/guide/ferns", article("Ferns", "Ferns unroll their fronds in spring."))
    mosses = host.put("/guide/mosses", article("Mosses", "Mosses drink with their leaves."), etag=True)
    index = host.put("/sitemap.xml", sitemap(ferns, mosses), kind="application/xml")
    assert counts(library.add(index)) == (2, 0, 0, 0, 0)
    hit = library.search("fronds", mode="keyword").hits[0]
    assert (hit.uri, hit.path, hit.title) == (ferns, "guide/ferns.html", "Ferns")
    assert found(library, "menu") == []

    assert counts(library.sync()[0]) == (0, 0, 0, 0, 2)

    host.put("/guide/ferns", article("Ferns", "Ferns have sori under their leaves."))
    lichens = host.put("/guide/lichens", article("Lichens", "Lichens are two beings."))
    host.put("/sitemap.xml", sitemap(ferns, lichens), kind="application/xml")
    assert counts(library.sync()[0]) == (1, 1, 0, 1, 0)
    assert found(library, "sori") == [ferns]
    assert found(library, "fronds") == []
    assert found(library, "mosses drink") == []
    assert found(library, "two beings") == [lichens]


def test_a_page_that_fails_is_reported_kept_and_read_when_it_is_back(library: Library, host: WebHost) -> None:
    ferns = host.put("/ferns.html", article("Ferns", "Ferns unroll their fronds."))
    mosses = host.put("/mosses.html", article("Mosses", "Mosses drink."))
    index = host.put("/sitemap.xml", sitemap(ferns, mosses))
    library.add(index)
    host.put("/ferns.html", "oh", status=500)
    (report,) = library.sync()
    assert [(entry.path, "status 500" in entry.reason) for entry in report.failed] == [("ferns.html", True)]
    assert found(library, "fronds") == [ferns]
    host.put("/ferns.html", article("Ferns", "Ferns have sori."))
    (report,) = library.sync()
    assert report.failed == []
    assert found(library, "sori") == [ferns]


def test_a_page_that_is_gone_is_deleted(library: Library, host: WebHost) -> None:
    ferns = host.put("/ferns.html", article("Ferns", "Ferns unroll their fronds."))
    library.add(ferns)
    host.put("/ferns.html", "", status=404)
    (report,) = library.sync()
    assert counts(report) == (0, 0, 0, 1, 0)
    assert found(library, "fronds") == []


def test_a_host_that_is_down_loses_nothing(open_library: OpenLibrary) -> None:
    library = open_library(**WEB)
    with web_host() as host:
        ferns = host.put("/ferns.html", article("Ferns", "Ferns unroll their fronds."))
        library.add(host.put("/sitemap.xml", sitemap(ferns)))
    (report,) = library.sync()
    assert isinstance(report.error, SourceError)
    assert found(library, "fronds") == [ferns]


def test_a_first_add_that_fails_is_not_remembered(library: Library) -> None:
    with pytest.raises(SourceError):
        library.add("http://127.0.0.1:1/page.html")
    assert library.sync() == []


def test_other_patterns_read_from_what_was_fetched(library: Library, host: WebHost) -> None:
    ferns = host.put("/a/ferns", article("Ferns", "Ferns unroll."), etag=True)
    mosses = host.put("/b/mosses", article("Mosses", "Mosses drink."), etag=True)
    index = host.put("/sitemap.xml", sitemap(ferns, mosses))
    library.add(index)
    report = library.add(index, exclude=["/b/"], remove=True)
    assert report.removed == 1
    assert found(library, "ferns") == [ferns]


def test_a_page_that_a_source_has_read_is_read_by_that_source(library: Library, host: WebHost) -> None:
    ferns = host.put("/a/ferns.html", article("Ferns", "Ferns unroll."))
    mosses = host.put("/b/mosses.html", article("Mosses", "Mosses drink."))
    index = host.put("/sitemap.xml", sitemap(ferns))
    library.add(index)
    before = library.search("unroll", mode="keyword").hits[0].document_id
    host.put("/a/ferns.html", article("Ferns", "Ferns unfurl."))
    report = library.add(ferns)
    assert (report.source, report.changed) == (index, 1)
    assert library.search("unfurl", mode="keyword").hits[0].document_id == before
    assert library.add(mosses).source == mosses, "a page that no source has is one"
    host.put("/sitemap.xml", sitemap(ferns, mosses))
    first, second = library.sync()
    assert [entry.reason for entry in first.skipped] == ["Read by the source 'mosses.html'"]
    assert (first.removed, second.unchanged, library.status()[0].documents) == (0, 1, 2)


def test_pages_of_a_list_in_the_settings_are_read(open_library: OpenLibrary, host: WebHost) -> None:
    urls = [
        host.put("/ferns", article("Ferns", "Ferns unroll.")),
        host.put("/notes.md", "# Mosses\n\nThey drink.", kind="text/markdown"),
    ]
    library = open_library(collections={"plants": {"sources": [{"kind": "http", "urls": urls}]}}, **WEB)
    (report,) = library.sync()
    assert counts(report) == (2, 0, 0, 0, 0)
    assert [hit.uri for hit in library.search("unroll", collection="plants", mode="keyword").hits] == [urls[0]]


@pytest.mark.parametrize(
    ("make", "query", "path", "field", "value"),
    [
        (samples.slack, "walrus", "releases/2024-03-02.md", "channel", "releases"),
        (samples.notion, "capybara", "Handbook/Leave policy.md", "parents", ["Handbook"]),
        (samples.notion, "two coats", "Handbook/Tasks/Paint the fence.md", "status", "Done"),
        (samples.confluence_html, "egrets", "Herons_101.html", "space", "Field Guide"),
        (samples.confluence_backup, "pelican", "DESK/Welcome.html", "space", "Help Desk"),
    ],
)
def test_an_export_is_recognised_read_and_found(
    library: Library, tmp_path: Path, make: Callable[[Path], Path], query: str, path: str, field: str, value: object
) -> None:
    archive = samples.zipped(make(tmp_path / "export"), tmp_path / "export.zip", top="export/")
    report = library.add(str(archive))
    assert report.failed == []
    hit = library.search(query, mode="keyword").hits[0]
    assert hit.path == path
    assert hit.metadata[field] == value
    assert counts(library.sync()[0])[:4] == (0, 0, 0, 0)


def test_a_newer_export_in_the_place_of_the_old_one_changes_what_changed(library: Library, tmp_path: Path) -> None:
    folder = samples.slack(tmp_path / "export")
    archive = samples.zipped(folder, tmp_path / "export.zip")
    added = library.add(str(archive)).added
    (folder / "releases/2024-03-02.json").unlink()
    day = folder / "general/2024-03-04.json"
    day.write_text(day.read_text().replace("A late answer", "A walrus after all"))
    samples.zipped(folder, archive)
    assert counts(library.sync()[0]) == (0, 1, 0, 1, added - 2)
    assert [hit.path for hit in library.search("walrus", mode="keyword").hits] == ["general/2024-03-04.md"]


def test_participants_and_days_can_be_filtered_by(library: Library, tmp_path: Path) -> None:
    library.add(str(samples.slack(tmp_path / "export")))
    hits = library.search("answer", mode="keyword", filters={"participants": "Builder"}).hits
    assert [hit.path for hit in hits] == ["general/2024-03-04.md"]
