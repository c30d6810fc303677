"""Starting that fails: it ends, and everyone who asks is told why."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from serve_support import Running, configure_folder, settings_for
from working import worker_of

from pinakes.api.http_app import create_app
from pinakes.api.startup import Startup
from pinakes.core.errors import PinakesError, SourceError
from pinakes.core.records import Float32
from pinakes.library import Library
from pinakes.models.embedders.deterministic import DeterministicEmbedder


class _OnBrokenDisk(DeterministicEmbedder):
    """An embedder whose files cannot be read any more."""

    def embed_query(self, text: str) -> Float32:
        raise OSError(5, "Input/output error", text)


def silent(line: str) -> None:
    assert line


def test_whatever_breaks_while_starting_ends_it(home: Path, caplog: pytest.LogCaptureFixture) -> None:
    ended = threading.Event()
    with Library(settings_for(home)) as library:
        library.app.embedder = _OnBrokenDisk()
        startup = Startup(library, say=silent, on_failure=ended.set)
        startup.start()
        assert ended.wait(10)
        assert not startup.running
        assert not startup.ready("keps", wait_s=60)
        assert isinstance(startup.failure, PinakesError)
        assert isinstance(startup.failure.__cause__, OSError)
        assert "Input/output error" in str(startup.failure)
        assert "Input/output error" in caplog.text
        assert startup.stop()


def test_who_asks_after_a_failed_start_is_told_why(tmp_path: Path) -> None:
    home, ended = tmp_path / "home", threading.Event()
    configure_folder(home, (tmp_path / "nowhere.git").as_uri(), "git")
    with Library(settings_for(home, server__port=0, toolsets=["search"])) as library:
        startup = Startup(library, say=silent, on_failure=ended.set)
        running = Running(create_app(library, startup=startup), library.settings)
        worker = worker_of(library, startup)
        try:
            startup.start()
            worker.start()
            assert ended.wait(60)
            assert isinstance(startup.failure, SourceError)
            told = _called(running, "search_keps", {"query": "tokens"})
            assert told.startswith("Error searching KEPs: Server not ready. Index not loaded. ")
            assert "nowhere.git" in told
            assert "nowhere.git" in _called(running, "status", {})
            answer = running.client.post("/search", json={"query": "tokens"})
            assert (answer.status_code, answer.json()["detail"]) == (503, "Server not ready. Index not loaded.")
            assert "nowhere.git" in answer.json()["hint"]
            health = running.client.get("/health").json()
            assert health["status"] == "failed"
            assert "nowhere.git" in health["components"]["failure"]
        finally:
            running.stop()
            startup.stop()
            worker.stop()


def _called(running: Running, name: str, arguments: dict[str, object]) -> str:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
    return str(running.client.post("/mcp", json=message).json()["result"]["content"][0]["text"])


class _Slow(DeterministicEmbedder):
    """An embedder that waits after two batches until the test lets it go on."""

    def __init__(self) -> None:
        super().__init__()
        self.batches, self.go_on = 0, threading.Event()

    def embed(self, texts: Sequence[str]) -> Float32:
        if len(texts) > 1:
            self.batches += 1
            if self.batches > 2:
                assert self.go_on.wait(60)
        return super().embed(texts)


def test_while_a_first_ingest_embeds_words_are_answered_and_it_is_said(tmp_path: Path) -> None:
    home, notes = tmp_path / "home", tmp_path / "notes"
    notes.mkdir()
    for number in range(40):
        body = "\n\n".join(f"Apples {number} {part} ripen in autumn, pears before. " * 6 for part in range(9))
        (notes / f"n{number}.md").write_text(f"# Note {number}\n\n{body}\n")
    configure_folder(home, str(notes), "folder")
    with Library(settings_for(home, server__port=0, toolsets=["search"], ingest__batch_chunks=16)) as library:
        library.app.embedder = slow = _Slow()
        startup = Startup(library, say=silent)
        running = Running(create_app(library, startup=startup), library.settings)
        worker = worker_of(library, startup)
        try:
            startup.start()
            worker.start()
            deadline = time.monotonic() + 30
            while (answer := running.client.post("/search", json={"query": "apples"})).status_code == 503:
                assert time.monotonic() < deadline
            told = answer.json()
            assert startup.reading
            assert told["results"]
            assert any("still being read" in note and "found by words" in note for note in told["notes"])
            assert "Apples" in _called(running, "search_keps", {"query": "apples"})
            assert running.client.get("/health").json()["status"] == "starting"
        finally:
            slow.go_on.set()
            running.stop()
            startup.stop()
            worker.stop()
