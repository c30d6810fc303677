"""Collections embedded by a provider: a real server on this machine, which may be down, refuse, or cost money."""

from __future__ import annotations

import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import failing_reader
import pytest
from chat_server import serving as serving_chat
from embedding_server import EmbeddingServer, Raw, serving
from progressive_support import StoppedError, stop_at, write_folder
from working import worker_of

from pinakes.core.errors import InvalidInput, ModelMismatch, ModelUnavailable, TooCostly
from pinakes.library import Library
from pinakes.parsing import READERS
from pinakes.services import ingestion_runs
from pinakes.services.collections import background as module
from pinakes.services.documents.editing import WrittenDocument
from pinakes.services.documents.planned_changes import Draft

Open = Callable[..., Library]

NAMES = [f"file{number}" for number in range(12)]
LONG_S = 30.0


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[EmbeddingServer]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with serving() as served:
        yield served


@pytest.fixture
def provided(open_library: Open, server: EmbeddingServer) -> Open:
    usual = {
        "embedding__provider": "endpoint",
        "embedding__model": "acme/words",
        "embedding__url": server.url,
        "embedding__retries": 0,
        "embedding__batch": 4,
        "embedding__connections": 2,
        "chunking__size": 60,
    }
    return lambda **more: open_library(**usual | more)


@pytest.fixture
def folder(docs: Path) -> Path:
    return write_folder(docs, NAMES)


def pending(library: Library) -> int:
    return library.status()[0].pending


def chunks(server: EmbeddingServer) -> Counter[str]:
    """Return how often each chunk was paid for; the words that only ask whether the model is there left out."""
    return Counter(text for text in server.paid if "\n" in text)


def paid_once(server: EmbeddingServer, library: Library) -> bool:
    return set(chunks(server).values()) == {1} and len(chunks(server)) == library.status()[0].chunks


def test_documents_are_found_by_the_vectors_of_a_provider(
    provided: Open, server: EmbeddingServer, folder: Path
) -> None:
    library = provided(embedding__price_per_million=1000.0, embedding__ask_above=100.0)
    report = library.add(str(folder))
    assert (report.pending, report.embedded, report.degraded) == (0, report.chunks, None)
    assert paid_once(server, library)
    assert report.requests == server.requests
    assert report.tokens > report.chunks
    assert report.dollars == pytest.approx(report.tokens / 1000)
    answer = library.search("lazy dog", mode="vector")
    assert (answer.degraded, bool(answer.hits)) == (None, True)
    assert library.status()[0].model == "endpoint/acme/words/48"


def test_a_provider_that_is_killed_in_the_middle_is_gone_on_with_and_nothing_is_paid_for_twice(
    provided: Open, server: EmbeddingServer, folder: Path
) -> None:
    library = provided(embedding__connections=1)
    killed = threading.Event()

    def kill(texts: list[str]) -> None:
        if len(server.paid) >= 16 and not killed.is_set():
            killed.set()
            server.stop()

    server.before = kill
    report = library.add(str(folder))
    assert killed.is_set()
    assert report.degraded is not None
    assert 0 < report.pending < report.chunks
    before = len(chunks(server))
    assert before >= 16
    assert report.chunks - report.pending == before
    answer = library.search("lazy dog")
    assert answer.degraded is not None
    assert answer.hits

    server.start()
    library = provided()
    [again] = library.sync()
    assert (again.degraded, pending(library)) == (None, 0)
    assert paid_once(server, library)
    assert library.search("lazy dog").degraded is None


def test_the_same_where_all_is_in_the_catalogue_before_it_is_embedded(
    provided: Open, server: EmbeddingServer, docs: Path
) -> None:
    folder = write_folder(docs, [f"file{number}" for number in range(100)])
    library = provided(ingest__batch_chunks=40, embedding__connections=1)
    server.before = lambda texts: server.stop() if len(server.paid) >= 60 else None
    report = library.add(str(folder))
    kept = len(chunks(server))
    assert library.status()[0].exact == kept
    assert 57 <= kept <= 60
    assert (report.embedded, report.reused, report.pending) == (kept, 0, report.chunks - kept)
    server.before = lambda texts: None
    server.start()
    library = provided()
    library.sync()
    assert pending(library) == 0
    assert paid_once(server, library)


def test_a_server_embeds_what_waits_once_the_provider_is_back(
    provided: Open, server: EmbeddingServer, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module.Background, "look_every_s", 0.02)
    monkeypatch.setattr(module.Background, "pauses", (0.05, 0.05))
    library = provided()
    server.stop()
    report = library.add(str(folder))
    assert (report.pending, report.embedded) == (report.chunks, 0)
    background = worker_of(library, library.background())
    background.start()
    try:
        server.start()
        deadline = time.monotonic() + LONG_S
        while pending(library) and time.monotonic() < deadline:
            time.sleep(0.02)
    finally:
        assert background.stop()
    assert pending(library) == 0
    assert paid_once(server, library)


def test_a_source_says_no_longer_why_chunks_wait_once_none_does(
    provided: Open, server: EmbeddingServer, folder: Path, tmp_path: Path
) -> None:
    library = provided()
    other = write_folder(tmp_path / "other", ["heron"])

    server.reply = lambda texts, before: Raw(500, b"oops")
    library.add(str(folder))
    library.add(str(other))
    with pytest.raises(ModelUnavailable):
        library.reindex(embed=True)
    assert all("answers 500" in (one.error or "") for one in library.syncing.list_all())
    server.reply = lambda texts, before: None
    library = provided()  # which did not see the provider fail a moment ago
    library.reindex(embed=True)
    assert [one.error for one in library.syncing.list_all()] == [None, None]


def test_what_else_is_wrong_with_a_source_is_told_after_chunks_waited(
    provided: Open, server: EmbeddingServer, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(READERS, ".oops", "failing_reader:FailingReader")
    monkeypatch.setitem(sys.modules, "pinakes.parsing.failing_reader", failing_reader)
    library = provided(ingest__processes=0)
    (folder / "broken.oops").write_bytes(b"wrong")
    server.reply = lambda texts, before: Raw(500, b"oops")
    library.add(str(folder))
    assert "answers 500" in (library.syncing.list_all()[0].error or "")
    server.reply = lambda texts, before: None
    library = provided()
    library.embed_pending()
    assert library.syncing.list_all()[0].error == "1 file failed"


def test_who_stops_a_run_does_not_pay_twice(provided: Open, server: EmbeddingServer, folder: Path) -> None:
    with pytest.raises(StoppedError):
        provided().add(str(folder), on_event=stop_at("embed", 3))
    assert len(chunks(server)) > 0
    library = provided()
    library.sync()
    twice = [text for text, times in chunks(server).items() if times > 1]
    assert len(twice) <= 2 * 4, "more than the requests that were under way"
    assert pending(library) == 0


def test_a_refused_text_concerns_its_own_document_only(provided: Open, server: EmbeddingServer, docs: Path) -> None:
    for name in ("badger", "heron", "otter"):
        (docs / f"{name}.md").write_text(f"# {name}\n\nThe {name} lives near the river.\n")
    refused = Raw(400, b"input is too long")
    server.reply = lambda texts, before: refused if any("badger" in text for text in texts) else None
    library = provided(embedding__ask_above=0.0, embedding__price_per_million=0.0)
    report = library.add(str(docs))
    assert "1 chunk has no vector (badger.md:1-3)" in str(report.degraded)
    assert "answers 400: input is too long" in str(report.degraded)
    assert (report.added, report.embedded, report.pending, report.failed) == (3, 2, 1, [])
    assert (pending(library), len(library.search("heron", mode="vector").hits)) == (1, 2)
    assert library.search("badger").hits[0].path == "badger.md"
    assert not any(library.verify().values())
    server.reply = lambda texts, before: None
    [report] = library.sync()
    assert (report.degraded, pending(library)) == (None, 0)


def test_a_refused_text_is_named_though_a_server_embeds_what_waits(
    provided: Open, server: EmbeddingServer, docs: Path
) -> None:
    (docs / "badger.md").write_text("# badger\n\nThe badger lives near the river.\n")
    server.reply = lambda texts, before: Raw(400, b"no") if any("badger" in text for text in texts) else None
    library = provided()
    library.app.embeds_later = True
    assert "(badger.md:1-3)" in str(library.add(str(docs)).degraded)


def test_a_refused_text_of_a_large_run_is_found_by_words(provided: Open, server: EmbeddingServer, folder: Path) -> None:
    (folder / "badger.md").write_text("# badger\n\nThe badger lives near the river.\n")
    refused = Raw(400, b"input is too long")
    server.reply = lambda texts, before: refused if any("badger" in text for text in texts) else None
    library = provided(embedding__price_per_million=1.0, embedding__ask_above=0.02)
    library.app.agreed = True
    report = library.add(str(folder))
    assert "1 chunk has no vector (badger.md:1-3)" in str(report.degraded)
    assert pending(library) == 1
    assert library.search("badger").hits[0].path == "badger.md"


def test_a_server_does_not_ask_for_a_refused_text_again_and_again(
    provided: Open, server: EmbeddingServer, folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    monkeypatch.setattr(module.Background, "look_every_s", 0.02)
    monkeypatch.setattr(module.Background, "pauses", (0.02, 0.02))
    library = provided()
    library.add(str(folder))
    server.stop()
    (folder / "badger.md").write_text("# badger\n\nThe badger lives near the river.\n")
    library.add(str(folder))
    refused = Raw(400, b"input is too long")
    server.reply = lambda texts, before: refused if any("badger" in text for text in texts) else None
    server.start()
    background = worker_of(library, library.background())
    background.start()
    deadline = time.monotonic() + LONG_S
    while "1 chunk has no vector" not in caplog.text and time.monotonic() < deadline:
        time.sleep(0.02)
    asked, deadline = server.requests, time.monotonic() + 0.5
    while server.requests == asked and time.monotonic() < deadline:
        time.sleep(0.02)
    assert background.stop()
    assert pending(library) == 1
    assert server.requests == asked


def test_much_is_not_spent_unasked(provided: Open, server: EmbeddingServer, folder: Path) -> None:
    library = provided(embedding__price_per_million=1.0, embedding__ask_above=0.0)
    report = library.add(str(folder))
    assert "more than is spent unasked" in str(report.degraded)
    assert chunks(server) == {}
    assert report.pending == report.chunks
    assert library.search("lazy dog", mode="keyword").hits
    with pytest.raises(TooCostly) as caught:
        library.embed_pending()
    assert "--yes" in caught.value.hint
    bill = ingestion_runs.cost_estimate(library.app, library.collection())
    assert bill is not None
    assert (bill.texts, bill.asks) == (report.chunks, True)

    library.app.agreed = True
    library.embed_pending()
    assert pending(library) == 0
    words = sum(len(text.split()) for text in chunks(server))
    assert words <= bill.tokens <= 3 * words
    assert bill.dollars == pytest.approx(bill.tokens / 1_000_000)
    assert ingestion_runs.cost_estimate(library.app, library.collection()) is None


def test_what_costs_little_is_not_asked_for(provided: Open, server: EmbeddingServer, folder: Path) -> None:
    library = provided(embedding__price_per_million=1.0, embedding__ask_above=0.5)
    assert library.add(str(folder)).pending == 0


def test_where_the_price_is_not_known_tokens_decide_and_only_where_a_key_is_wanted(
    provided: Open, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACME_KEY", "k")
    library = provided(embedding__key_variable="ACME_KEY", embedding__ask_above_tokens=10)
    assert "price not known" in str(library.add(str(folder)).degraded)
    library = provided(embedding__ask_above_tokens=10)
    [report] = library.sync()
    assert (report.degraded, pending(library)) == (None, 0)


def test_a_server_does_not_spend_unasked_either(
    provided: Open, server: EmbeddingServer, folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    monkeypatch.setattr(module.Background, "look_every_s", 0.02)
    library = provided(embedding__price_per_million=1.0, embedding__ask_above=0.0)
    library.add(str(folder))
    background = worker_of(library, library.background())
    background.start()
    deadline = time.monotonic() + LONG_S
    while "spent unasked" not in caplog.text and time.monotonic() < deadline:
        time.sleep(0.02)
    assert background.stop()
    assert "spent unasked" in caplog.text
    assert chunks(server) == {}


def test_a_collection_is_built_by_a_provider_beside_a_local_model_and_goes_back(
    open_library: Open, provided: Open, server: EmbeddingServer, folder: Path
) -> None:
    library = open_library(chunking__size=60)
    library.add(str(folder))
    local = library.status()[0].model
    library = provided(embedding__max_tokens=400)
    library.build_beside()
    assert paid_once(server, library)
    assert library.switch().model == "endpoint/acme/words/48"
    assert library.search("lazy dog", mode="vector").hits

    library = open_library(chunking__size=60)
    assert library.search("lazy dog", mode="vector").hits
    assert library.roll_back().model == local
    library.switch()
    assert paid_once(server, library)


def test_building_beside_asks_too_and_goes_on_afterwards(
    open_library: Open, provided: Open, server: EmbeddingServer, folder: Path
) -> None:
    open_library(chunking__size=60).add(str(folder))
    library = provided(embedding__max_tokens=400, embedding__price_per_million=1.0, embedding__ask_above=0.0)
    with pytest.raises(TooCostly):
        library.build_beside()
    assert chunks(server) == {}
    library.app.agreed = True
    state = library.build_beside()
    assert state.beside is not None
    assert state.beside.state == "ready"


def test_another_provider_is_a_mismatch_that_says_how_it_is_mended(provided: Open, folder: Path) -> None:
    provided().add(str(folder))
    library = provided(embedding__model="acme/other")
    with pytest.raises(ModelMismatch) as caught:
        library.search("lazy dog")
    assert "pinakes reindex --embed" in caught.value.hint
    library.reindex(embed=True)
    assert library.status()[0].model == "endpoint/acme/other/48"
    assert library.search("lazy dog").degraded is None


def test_how_much_is_asked_at_once_is_not_part_of_what_a_vector_is(
    provided: Open, server: EmbeddingServer, folder: Path
) -> None:
    provided().add(str(folder))
    before = server.requests
    library = provided(embedding__batch=7, embedding__timeout_s=5, embedding__price_per_million=3)
    assert library.sync()[0].unchanged == len(NAMES)
    assert server.requests == before


def test_single_documents_are_embedded_with_the_answer(provided: Open, server: EmbeddingServer) -> None:
    library = provided()
    written = library.documents.put("The heron waits for fish.", title="Heron")
    assert written.degraded is None
    assert library.search("heron", mode="vector").hits
    server.stop()
    written = library.documents.put("The otter eats fish.", title="Otter")
    assert written.degraded is not None
    assert pending(library) == 1


def test_the_deterministic_fallback_is_used_only_where_it_is_asked_for_and_says_so(
    provided: Open, server: EmbeddingServer, folder: Path
) -> None:
    server.stop()
    library = provided(embedding__fallback="deterministic", embedding__dimension=48)
    report = library.add(str(folder))
    assert (report.pending, report.degraded) == (0, None)
    assert library.status()[0].model == "endpoint/acme/words/48+deterministic"
    assert library.search("lazy dog").degraded is None
    server.start()
    with pytest.raises(ModelMismatch):
        provided(embedding__dimension=48).search("lazy dog")


def test_without_its_key_nothing_is_lost(provided: Open, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ACME_KEY", raising=False)
    library = provided(embedding__key_variable="ACME_KEY")
    report = library.add(str(folder))
    assert "ACME_KEY" in str(report.degraded)
    assert report.pending == report.chunks
    answer = library.search("lazy dog")
    assert answer.hits
    assert "ACME_KEY" in str(answer.degraded)
    with pytest.raises(ModelUnavailable):
        library.search("lazy dog", mode="vector")
    monkeypatch.setenv("ACME_KEY", "k")
    library = provided(embedding__key_variable="ACME_KEY")
    library.embed_pending()
    assert pending(library) == 0


def with_summaries(provided: Open, server: EmbeddingServer) -> Library:
    """Return a library with four documents whose chunks are embedded and whose summaries wait."""
    library = provided(embedding__dimension=48, embedding__batch=1, embedding__connections=1)
    uids = [
        library.documents.put(f"Straw and hay {number}.", title=f"List {number}").document.uid for number in range(4)
    ]
    server.reply = lambda texts, before: Raw(503)
    for number, uid in enumerate(uids):
        library.documents.update(uid, summary=f"What keeper {number} of the lighthouse writes into the log book.")
    server.paid.clear()
    return library


def test_a_refused_summary_keeps_no_other_from_its_vector(provided: Open, server: EmbeddingServer) -> None:
    library = with_summaries(provided, server)
    server.reply = lambda texts, before: Raw(400, b"too long") if any("keeper 2" in text for text in texts) else None
    for _ in range(2):
        with pytest.raises(InvalidInput, match=r"\(the summary of .*\): .* too long"):
            library.embed_pending()
    assert Counter(text for text in server.paid if "keeper" in text) == {
        f"What keeper {number} of the lighthouse writes into the log book.": 1 for number in (0, 1, 3)
    }


def test_summaries_that_a_provider_answered_before_it_went_down_are_paid_once(
    provided: Open, server: EmbeddingServer
) -> None:
    library = with_summaries(provided, server)
    server.reply = lambda texts, before: Raw(503) if len(server.paid) == 2 else None
    with pytest.raises(ModelUnavailable):
        library.embed_pending()
    server.reply = lambda texts, before: None
    library.embed_pending()
    assert sorted(Counter(text for text in server.paid if "keeper" in text).values()) == [1, 1, 1, 1]


def test_a_summary_that_the_embedder_refuses_is_kept_without_a_vector(
    provided: Open, server: EmbeddingServer, folder: Path
) -> None:
    with serving_chat(lambda _: "A keeper writes into the log book of the lighthouse.") as chat:
        library = provided(chat__url=chat.url, chat__model="tiny")
        library.add(str(folder))
        server.reply = lambda texts, before: Raw(400, b"too long") if any("keeper" in text for text in texts) else None
        assert [event.written for event in library.staged.texts.write("default")] == [True] * len(NAMES)


def test_what_a_provider_answered_for_documents_before_it_went_down_is_paid_once(
    provided: Open, server: EmbeddingServer
) -> None:
    library = provided(embedding__dimension=48, embedding__batch=1, embedding__connections=1)
    server.reply = lambda texts, before: Raw(503) if len(server.paid) == 2 else None
    drafts = [Draft(f"Straw and hay {number}.", title=f"List {number}") for number in range(4)]
    assert all(isinstance(one, WrittenDocument) and one.degraded for one in library.documents.put_many(drafts))
    assert pending(library) == 2
    server.reply = lambda texts, before: None
    library.embed_pending()
    assert pending(library) == 0
    assert sorted(Counter(server.paid).values()) == [1, 1, 1, 1]
