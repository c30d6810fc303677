"""``manageKnowledge`` while several use it at a time, and with documents that come from files."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from pinakes.compat.platform.knowledge import COLLECTION, manage_knowledge
from pinakes.library import Library
from pinakes.settings import load

URI = "https://example.org/docs/guide.md"
SOURCES = 4


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    settings = load(home=tmp_path / "home", profile="platform", environment={}, embedding__provider="deterministic")
    with Library(settings) as opened:
        yield opened


def call(library: Library, operation: str, **arguments: Any) -> dict[str, Any]:
    data = manage_knowledge.answer(library, {"operation": operation, **arguments}).data
    assert data is not None
    return data


def text(version: int, paragraphs: int) -> str:
    return "\n\n".join(f"Version {version}, part {n}. " + "Much is said here of it. " * 34 for n in range(paragraphs))


def test_a_document_is_never_missing_or_mixed_while_it_is_replaced(library: Library) -> None:
    call(library, "ingest", content=text(0, 2), uri=URI)
    done = threading.Event()

    def write() -> None:
        for version in range(1, 25):
            made = call(library, "ingest", content=text(version, 2 + version % 2), uri=URI)
            assert made["chunksCreated"] == 2 + version % 2
        done.set()

    with ThreadPoolExecutor(1) as pool:
        writer = pool.submit(write)
        asked = 0
        while not (done.is_set() or writer.done()):
            chunks = call(library, "search", query="what is said", uriFilter=URI)["chunks"]
            [version] = {int(chunk["content"].split(",")[0].removeprefix("Version ")) for chunk in chunks}
            assert len(chunks) == 2 + version % 2
            asked += 1
        writer.result()
    assert asked


def test_many_documents_go_in_and_out_at_once(library: Library) -> None:
    """Every source is written by a thread of its own, which removes it again; one stays."""

    def keep(source: int) -> None:
        mine = f"s{source}"
        for number in range(6):
            made = call(library, "ingest", content=text(number, 2), uri=f"{URI}/{source}/{number}", sourceId=mine)
            assert made["chunksCreated"] == 2
        if source:
            assert call(library, "deleteBySource", sourceId=mine)["chunksDeleted"] == 12

    with ThreadPoolExecutor(SOURCES) as pool:
        list(pool.map(keep, range(SOURCES)))
    found = call(library, "search", query="what is said", limit=50)["chunks"]
    assert {chunk["uri"] for chunk in found} == {f"{URI}/0/{number}" for number in range(6)}
    assert len(found) == 12
    assert library.verify() == {COLLECTION: []}


def test_a_file_that_changed_makes_its_chunks_stale(library: Library, tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    file = folder / "guide.md"
    file.write_text("# Guide\n\nA merge to main is deployed.\n", "utf-8")
    library.add(str(folder), COLLECTION)
    [chunk] = call(library, "search", query="merge", uriFilter=file.as_uri())["chunks"]
    assert "stale" not in chunk
    assert chunk["id"] == str(uuid.uuid5(uuid.NAMESPACE_DNS, f"{file.as_uri()}#0"))
    assert call(library, "getChunk", chunkId=chunk["id"])["chunk"]["status"] == "processed"
    file.write_text("# Guide\n\nA merge to main is deployed twice.\n", "utf-8")
    [chunk] = call(library, "search", query="merge")["chunks"]
    assert chunk["stale"] is True
    assert call(library, "getChunk", chunkId=chunk["id"])["chunk"]["status"] == "stale"


def test_the_document_of_a_file_is_not_replaced_by_a_call(library: Library, tmp_path: Path) -> None:
    file = tmp_path / "guide.md"
    file.write_text("# Guide\n\nA merge to main is deployed.\n", "utf-8")
    library.add(str(file), COLLECTION)
    [chunk] = call(library, "search", query="merge")["chunks"]
    answer = call(library, "ingest", content="Other text.", uri=chunk["uri"])
    assert answer["success"] is False
    assert answer["error"]["operation"] == "ingest"
    assert "file" in answer["error"]["message"]
    assert answer["error"]["hint"]
    assert call(library, "search", query="merge")["chunks"] == [chunk]


def test_what_was_deleted_can_be_brought_back(library: Library) -> None:
    made = call(library, "ingest", content=text(1, 3), uri=URI, sourceId="docs")
    uid = library.read(URI, COLLECTION).document.uid
    call(library, "deleteBySource", sourceId="docs")
    assert call(library, "getChunk", chunkId=made["chunkIds"][0])["success"] is False
    library.documents.restore(uid, collection=COLLECTION)
    found = call(library, "search", query="what is said", sourceId="docs")["chunks"]
    assert {chunk["id"] for chunk in found} == set(made["chunkIds"])


def test_a_call_without_text_leaves_the_document_of_a_file(library: Library, tmp_path: Path) -> None:
    file = tmp_path / "guide.md"
    file.write_text("# Guide\n\nA merge to main is deployed.\n", "utf-8")
    library.add(str(file), COLLECTION)
    answer = call(library, "ingest", content=" \n", uri=file.as_uri())
    assert answer["success"] is False
    assert "file" in answer["error"]["message"]
    assert len(call(library, "search", query="merge")["chunks"]) == 1
    assert call(library, "deleteByUri", uri=file.as_uri())["chunksDeleted"] == 1


def test_what_is_meant_is_found_beside_more_that_differs_in_capitals(library: Library) -> None:
    for number in range(30):
        put = {"uri": f"https://x/Docs/{number}", "sourceId": "Team" if number % 2 else "team"}
        call(library, "ingest", content=f"How to deploy number {number}.", **put)
    for number in range(3):
        call(library, "ingest", content=f"Said elsewhere {number}.", uri=f"https://x/docs/{number}", sourceId="Team")
    query = {"query": "How to deploy number", "limit": 3}
    found = call(library, "search", uriFilter="https://x/docs/", **query)
    assert {chunk["uri"] for chunk in found["chunks"]} == {f"https://x/docs/{number}" for number in range(3)}
    for source in ("team", "Team"):
        found = call(library, "search", sourceId=source, **query)
        assert [chunk["sourceId"] for chunk in found["chunks"]] == [source] * 3
        assert found["totalMatches"] == 3
    assert call(library, "search", sourceId="TEAM", **query)["totalMatches"] == 0
