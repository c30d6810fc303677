"""``serve`` itself: the first run, the port, the signals, and what it says."""

from __future__ import annotations

import json
import re
import signal
import socket
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from forking import Forked
from serve_support import SERVE, Running, configure_folder, settings_for
from working import working

from pinakes.api import serve
from pinakes.api.http_app import create_app
from pinakes.api.startup import Startup
from pinakes.catalog.home import Home
from pinakes.core.errors import Busy, ModelUnavailable, NotFound, Refused, SourceError
from pinakes.library import Library
from pinakes.models import weights
from pinakes.settings import load

Process = Callable[..., Forked]
QUESTION = {"query": "CRD versioning"}


def until_healthy(url: str) -> dict[str, object]:
    health: dict[str, object] = {"status": "starting"}
    deadline = time.monotonic() + 60
    with httpx.Client(base_url=url) as client:
        while health["status"] == "starting":
            assert time.monotonic() < deadline, health
            time.sleep(0.02)
            answer = client.get("/health")
            assert answer.status_code == 200, answer.text
            health = answer.json()
    return health


def url_of(child: Forked) -> str:
    assert child.stdout is not None
    return child.stdout.readline().decode().strip()


def never(url: str) -> None:
    raise AssertionError(url)


def test_the_first_run_answers_at_once_and_is_ready_when_all_is_read(
    tmp_path: Path, corpus: Path, process: Process
) -> None:
    home = tmp_path / "home"
    configure_folder(home, corpus)
    with Home(home).reading("keps", ("folder", str(corpus), "")):
        child = process(SERVE, home)
        url = url_of(child)
        refused = httpx.post(f"{url}/search", json=QUESTION)
        assert (refused.status_code, refused.json()["detail"]) == (503, "Server not ready. Index not loaded.")
        refused = httpx.get(f"{url}/stats")
        assert (refused.status_code, refused.json()["detail"]) == (503, "Server not ready")
        health = httpx.get(f"{url}/health").json()
        assert (health["status"], health["indexed_documents"]) == ("starting", 0)
        assert httpx.get(f"{url}/healthz").json() == {"status": "ok"}
    assert until_healthy(url)["indexed_documents"] == 4
    assert httpx.post(f"{url}/search", json=QUESTION).json()["total_results"] > 0
    child.send_signal(signal.SIGTERM)
    out, err = child.communicate(timeout=30)
    words = err.decode()
    assert (child.returncode, out) == (0, b"")
    assert "KEPs found." in words
    for figure in (
        "KEPs: 4",
        "Files: 9",
        "Skipped files: ",
        "Search modes: hybrid, vector, keyword",
        "Fusion: weighted",
    ):
        assert figure in words
    assert words.count("Endpoints:") == 1
    assert "Traceback" not in words
    assert not (home / "server.json").exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_server_and_the_next_start_reads_nothing_again(
    tmp_path: Path, corpus: Path, process: Process, number: signal.Signals
) -> None:
    home = tmp_path / "home"
    with Library(settings_for(home)) as library:
        library.add(str(corpus), "keps")
    child = process(SERVE, home)
    url = url_of(child)
    assert json.loads((home / "server.json").read_text())["url"] == url
    until_healthy(url)
    child.send_signal(number)
    _, err = child.communicate(timeout=30)
    assert child.returncode == 0
    ready, keps = err.decode().splitlines()
    assert ready == "Ready to be searched:"
    assert re.fullmatch(r"  keps  4 KEPs, \d+ chunks", keps)


def test_a_start_with_nothing_to_serve_says_how_to_add_something(tmp_path: Path) -> None:
    said: list[str] = []
    with Library(load(home=tmp_path, environment={}, embedding__provider="deterministic")) as library:
        _started(library, said)
    assert said == ["There is nothing to search yet. Add documents, also while the server runs: pinakes add PATH"]


def test_a_start_says_in_one_block_what_each_collection_holds(tmp_path: Path) -> None:
    said: list[str] = []
    (tmp_path / "note.md").write_text("# Heron\n\nHerons wait.\n")
    with Library(load(home=tmp_path / "home", environment={}, embedding__provider="deterministic")) as library:
        for name in ("birds", "a-much-longer-name"):
            library.add(str(tmp_path / "note.md"), name)
        _started(library, said)
    assert said == [
        "Ready to be searched:\n  a-much-longer-name  1 document, 1 chunk\n  birds               1 document, 1 chunk"
    ]


def test_a_source_that_is_gone_and_many_collections_are_told_in_few_lines(tmp_path: Path) -> None:
    said: list[str] = []
    note = tmp_path / "note.md"
    note.write_text("# Heron\n\nHerons wait.\n")
    with Library(load(home=tmp_path / "home", environment={}, embedding__provider="deterministic")) as library:
        for number in range(22):
            library.add(str(note), f"c{number:02}")
        note.unlink()
        library.sync("c00")
        _started(library, said)
    lines = said[0].splitlines()
    assert lines[1] == "  c00  1 document, 1 chunk; 1 of its sources could not be read: pinakes status"
    assert (len(lines), lines[-1]) == (22, "  and 2 more: pinakes status")


def test_a_start_calls_no_source_unread_whose_chunks_only_wait_for_their_vectors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    monkeypatch.delenv("NO_KEY", raising=False)
    (tmp_path / "note.md").write_text("# Heron\n\nHerons wait.\n")
    embedding = {"provider": "endpoint", "url": "http://127.0.0.1:9/v1", "model": "m", "key_variable": "NO_KEY"}
    given = {f"embedding__{name}": value for name, value in embedding.items()}
    with Library(load(home=tmp_path / "home", environment={}, **given)) as library:
        assert library.add(str(tmp_path / "note.md"), "birds").degraded
        _started(library, said)
    assert said[-1].splitlines()[1] == "  birds  1 document, 1 chunk, 1 of them found by words only"


def _started(library: Library, said: list[str]) -> None:
    startup = Startup(library, say=said.append)
    startup.start()
    assert startup.ready("any", wait_s=30)
    assert startup.stop()


def test_a_taken_port_names_the_pinakes_that_has_it(server: Running, home: Path) -> None:
    port = int(server.url.rpartition(":")[2])
    with pytest.raises(Busy, match=f"Port {port} is taken. Another Pinakes answers at {server.url}"):
        serve(settings_for(home, server__port=port), on_ready=never)


def test_a_port_taken_by_another_program_is_said_to_be(home: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        other.close()
    with socket.socket() as held:
        held.bind(("127.0.0.1", port))
        held.listen()
        with pytest.raises(Busy, match="Another program uses it"):
            serve(settings_for(home, server__port=port), on_ready=never)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "kb.example"])
def test_an_address_that_others_reach_needs_no_auth_to_be_said(home: Path, host: str) -> None:
    with pytest.raises(Refused, match="--no-auth"):
        serve(settings_for(home, server__host=host), on_ready=never)


def test_an_address_of_another_machine_is_refused(home: Path) -> None:
    with pytest.raises(Refused, match="cannot be opened"):
        serve(settings_for(home, server__host="192.0.2.1", server__no_auth=True, server__port=0), on_ready=never)


def test_a_repository_that_cannot_be_cloned_ends_the_server(tmp_path: Path) -> None:
    home = tmp_path / "home"
    configure_folder(home, (tmp_path / "nowhere.git").as_uri(), "git")
    urls: list[str] = []
    for _ in range(2):
        with pytest.raises(SourceError):
            serve(settings_for(home, server__port=0), on_ready=urls.append)
    assert len(urls) == 2


def test_a_source_without_documents_ends_the_server(tmp_path: Path) -> None:
    home, empty = tmp_path / "home", tmp_path / "empty"
    empty.mkdir()
    configure_folder(home, empty)
    with pytest.raises(NotFound, match="Nothing to read was found"):
        serve(settings_for(home, server__port=0), on_ready=lambda url: None)


@pytest.mark.parametrize("name", ["a", "z"])
@pytest.mark.parametrize("bad", [{"location": "nowhere"}, {"location": "empty"}, {"location": "file:///no.git"}])
def test_a_source_that_cannot_be_read_does_not_keep_another_from_being_served(
    tmp_path: Path, name: str, bad: dict[str, str]
) -> None:
    for folder in ("good", "home/empty"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "good" / "note.md").write_text("# Heron\n\nHerons wait.\n")
    good = {"location": str(tmp_path / "good"), "collection": "good"}
    sources = [{"kind": "git" if "git" in bad["location"] else "folder", "collection": name, **bad}, good]
    said: list[str] = []
    settings = load(home=tmp_path / "home", environment={}, embedding__provider="deterministic", sources=sources)
    with Library(settings) as library:
        startup = Startup(library, say=said.append)
        _read(library, startup)
        assert startup.failure is None
        assert startup.ready("good")
        assert library.search("herons", "good").hits
    assert bad["location"].removeprefix("file://") in said[-1]


def test_a_folder_that_is_followed_may_be_empty_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "inbox").mkdir()
    sources = [{"location": str(tmp_path / "inbox"), "watch": True}]
    settings = load(home=tmp_path / "home", environment={}, embedding__provider="deterministic", sources=sources)
    with Library(settings) as library:
        startup = Startup(library, say=lambda _: None)
        _read(library, startup)
        assert startup.failure is None


def _read(library: Library, startup: Startup) -> None:
    deadline = time.monotonic() + 30
    startup.start()
    with working(library, startup):
        while startup.running:
            assert time.monotonic() < deadline
            time.sleep(0.01)
    assert startup.stop()


def test_a_reindex_reads_the_sources_again_and_builds_the_index_anew(
    tmp_path: Path, corpus: Path, process: Process
) -> None:
    home = tmp_path / "home"
    with Library(settings_for(home)) as library:
        library.add(str(corpus), "keps")
    before = {path.name for path in (home / "index").iterdir()}
    child = process(SERVE.replace("on_ready=", "reindex=True, on_ready="), home)
    assert until_healthy(url_of(child))["indexed_documents"] == 4
    assert {path.name for path in (home / "index").iterdir()} != before
    child.send_signal(signal.SIGTERM)
    assert child.wait(30) == 0


def test_a_search_that_takes_too_long_is_answered_with_503(library: Library, start: Callable[..., Running]) -> None:
    server = start(search_timeout_s=1e-6)
    answer = server.client.post("/search", json=QUESTION)
    assert (answer.status_code, answer.json()["retryable"]) == (503, True)
    assert "server.search_timeout_s" in answer.json()["hint"]


def test_an_unexpected_failure_shows_no_internals(home: Path) -> None:
    library = Library(settings_for(home, server__port=0))
    running = Running(create_app(library), library.settings)
    library.app.catalog._database = None  # type: ignore[assignment]
    try:
        answer = running.client.post("/search", json=QUESTION)
    finally:
        running.stop()
    assert answer.status_code == 500
    detail = "Search failed: an internal error. The server's log has the details."
    assert answer.json() == {"detail": detail, "code": "INTERNAL_ERROR"}


def test_the_default_model_answers_over_http(request: pytest.FixtureRequest, tmp_path: Path, corpus: Path) -> None:
    assert request.config.cache is not None
    settings = load(home=tmp_path, cache=request.config.cache.mkdir("models"), profile="kep", environment={})
    settings = settings.model_copy(update={"server": settings.server.model_copy(update={"port": 0})})
    try:
        weights.install(settings.embedding, settings.cache)
    except ModelUnavailable as error:
        pytest.skip(str(error))
    with Library(settings) as library:
        library.add(str(corpus), "keps")
        running = Running(create_app(library), settings)
        try:
            body = {"query": "tokens that cannot be stolen and used again", "search_type": "vector", "top_k": 1}
            [best] = running.client.post("/search", json=body).json()["results"]
            assert best["kep_id"] == "sig-auth/1205"
            assert running.client.get("/stats").json()["embedding_model"] == "sentence-transformers/all-MiniLM-L6-v2"
        finally:
            running.stop()
