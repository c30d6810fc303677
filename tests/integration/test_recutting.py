"""Documents that were put one by one are cut anew by ``reindex`` when the chunking has changed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pinakes.ingestion.report import Event
from pinakes.library import Library
from pinakes.models.embedders import EMBEDDERS
from pinakes.services.documents.editing import Draft
from pinakes.testing import write_files

TEXT = "# Long\n\n" + "".join(f"Line {number} of the heron is here.\n\n" for number in range(60))
SMALL = {"size": 30}

Open = Callable[..., Library]


def put(library: Library, title: str = "Long") -> str:
    return library.documents.put(TEXT, title=title).document.uid


def test_it_has_other_chunks_then_and_is_the_same_document_otherwise(library: Library) -> None:
    uid = put(library)
    before, chunks = library.documents.get(uid), library.documents.chunks(uid)
    library.collecting.configure("default", chunking=SMALL)
    library.reindex()
    after = library.documents.get(uid)
    assert after.chunk_count > before.chunk_count
    assert len(library.documents.chunks(uid)) == after.chunk_count
    assert library.status()[0].chunks == after.chunk_count
    assert all(chunk.token_count <= 30 for chunk in library.documents.chunks(uid))
    same = ("uid", "text", "title", "version", "created_at", "updated_at", "summary")
    assert [getattr(after, name) for name in same] == [getattr(before, name) for name in same]
    assert [one.op for one in library.documents.history(uid)] == ["created"]
    assert library.status()[0].pending == 0
    assert library.verify() == {"default": []}
    assert library.search("line 17", mode="keyword").hits[0].document_id == uid
    library.collecting.configure("default", chunking=None)
    library.reindex()
    assert library.documents.chunks(uid) == chunks


def test_what_is_cut_as_it_would_be_now_stays(library: Library) -> None:
    put(library)
    library.collecting.configure("default", chunking=SMALL)
    library.reindex()
    head = library.collection().head
    library.reindex()
    assert library.collection().head == head


def test_all_of_many_are_cut_and_it_is_told_how_far_that_is(library: Library) -> None:
    library.documents.put_many([Draft(f"{TEXT}\n\nOf {number}.", f"Long {number}") for number in range(70)])
    library.collecting.configure("default", chunking=SMALL)
    before, events = library.status()[0].chunks, list[Event]()
    library.reindex(on_event=events.append)
    assert library.status()[0].chunks > 2 * before
    assert library.verify() == {"default": []}
    assert [(event.done, event.total) for event in events if event.total == 70][-2:] == [(64, 70), (70, 70)]


def test_files_are_left_to_the_next_sync(library: Library, docs: Path) -> None:
    library.add(str(write_files(docs, {"long.md": TEXT})))
    before = library.status()[0].chunks
    library.collecting.configure("default", chunking=SMALL)
    library.reindex()
    assert library.status()[0].chunks == before
    library.sync()
    assert library.status()[0].chunks > before


def test_without_the_model_that_counts_tokens_nothing_is_cut(
    open_library: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(EMBEDDERS, "late", "late_embedder:LateEmbedder")
    (tmp_path / "arrived").touch()
    settings = {"embedding__provider": "late", "embedding__path": str(tmp_path)}
    before = open_library(**settings).documents.get(put(open_library(**settings)))
    library = open_library(**settings, chunking__size=30)
    (tmp_path / "arrived").unlink()
    library.reindex()
    assert library.documents.get(before.uid).chunk_count == before.chunk_count
    (tmp_path / "arrived").touch()
    library.reindex()
    assert library.documents.get(before.uid).chunk_count > before.chunk_count
    assert library.status()[0].pending == 0


def test_another_model_in_the_settings_cuts_nothing_and_the_index_is_built(
    open_library: Open, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    before = open_library().documents.get(put(open_library()))
    monkeypatch.setitem(EMBEDDERS, "named", "named_embedder:NamedEmbedder")
    library = open_library(embedding__provider="named", embedding__model="other/16", chunking__size=30)
    library.reindex()
    assert "are not cut anew" in caplog.text
    assert library.documents.get(before.uid).chunk_count == before.chunk_count
    assert library.search("heron", mode="keyword").hits
    library.reindex(embed=True)
    assert library.documents.get(before.uid).chunk_count > before.chunk_count
    assert library.status()[0].pending == 0
