"""Given summaries whose vectors could not be made when they were given get them later, like chunks do."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from working import worker_of

from pinakes.catalog import summaries
from pinakes.core.errors import ModelUnavailable
from pinakes.library import Library
from pinakes.models.embedders import EMBEDDERS
from pinakes.services.collections import background as module
from pinakes.testing import write_files

SUMMARY = "What the night shift of the lighthouse writes into its log book."
LONG_S = 30.0


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """The file whose presence makes the model answer."""
    return tmp_path / "arrived"


@pytest.fixture
def library(open_library: Callable[..., Library], model: Path, monkeypatch: pytest.MonkeyPatch) -> Library:
    """A library with a document whose chunks are embedded, and whose summary was given while there was no model."""
    monkeypatch.setitem(EMBEDDERS, "late", "late_embedder:LateEmbedder")
    library = open_library(embedding__provider="late", embedding__path=str(model.parent))
    model.touch()
    uid = library.documents.put("Straw, hay, lamps.", title="List").document.uid
    model.unlink()
    assert library.documents.update(uid, summary=SUMMARY).degraded
    assert library.status()[0].pending == 0, "no chunk waits"
    assert waiting(library)
    return library


def waiting(library: Library) -> list[tuple[int, bytes, str]]:
    record = library.collection()
    with library.app.catalog.read() as connection:
        return summaries.pending(connection, record.id, record.model_id)


def vectors(library: Library) -> int:
    record = library.collection()
    with library.app.catalog.read() as connection:
        return len(summaries.summary_vectors(connection, record.id, record.model_id)[0])


@pytest.mark.parametrize(
    "work",
    [
        lambda library, _: library.embed_pending(),
        lambda library, _: library.reindex(embed=True),
        lambda library, folder: library.add(str(folder)),
    ],
    ids=["embed_pending", "reindex", "add"],
)
def test_whatever_embeds_chunks_that_wait_takes_them_too(
    work: Callable[[Library, Path], object], library: Library, model: Path, docs: Path
) -> None:
    model.touch()
    work(library, write_files(docs, {"heron.md": "A heron.\n"}))
    assert waiting(library) == []
    assert vectors(library) == 1
    assert library.staged.summaries(SUMMARY).documents[0].document.title == "List"


def test_while_there_is_no_model_they_wait_and_that_is_said(library: Library) -> None:
    with pytest.raises(ModelUnavailable, match="has not arrived"):
        library.embed_pending()
    assert len(waiting(library)) == 1


def test_a_server_takes_them_behind_its_back(library: Library, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.Background, "look_every_s", 0.01)
    monkeypatch.setattr(module.Background, "pauses", (0.05, 0.05))
    background = worker_of(library, library.background())
    background.start()
    model.touch()
    deadline = time.monotonic() + LONG_S
    while waiting(library):
        assert time.monotonic() < deadline
        threading.Event().wait(0.02)
    assert background.stop()
    assert vectors(library) == 1
