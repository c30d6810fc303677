"""A server embeds what waits behind its searches, and lets them go first."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bert_reference import make_tiny_bert
from counting_bert import CountingBert
from filelock import FileLock
from progressive_support import (
    StoppedError,
    assert_sound,
    directly,
    small_steps,
    stop_at,
    stopped_at_searchable,
    waiting,
    write_folder,
)
from sqlalchemy import func, select, update
from working import worker_of

from pinakes.catalog import document_queries
from pinakes.catalog.schema import documents
from pinakes.ingestion.report import Event
from pinakes.jobs.worker import Worker
from pinakes.library import Library
from pinakes.models.approximation import ApproximateMap
from pinakes.models.embedders import EMBEDDERS
from pinakes.services.collections import background as module

NAMES = [f"file{number}" for number in range(30)]
LONG_S = 30.0


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    model = make_tiny_bert(tmp_path_factory.mktemp("model") / "tiny")
    return {**small_steps(model), "cache": str(tmp_path_factory.mktemp("cache"))}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_folder(tmp_path / "docs", NAMES)


@pytest.fixture
def partly(
    tmp_path: Path, folder: Path, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Library]:
    """A library of which a sample is embedded."""
    monkeypatch.setitem(EMBEDDERS, "counting", "counting_bert:CountingBert")
    monkeypatch.setattr(module.Background, "look_every_s", 0.01)
    more = {"embedding__provider": "counting", "embedding__sample_chunks": 60}
    with Library.open(tmp_path / "home", **settings | more) as library:
        stopped_at_searchable(library, folder)
        yield library


@pytest.fixture
def background(partly: Library) -> Iterator[Worker]:
    one = worker_of(partly, partly.background())
    yield one
    assert one.stop()


def embedder(library: Library) -> CountingBert:
    found = library.app.embedder
    assert isinstance(found, CountingBert)
    return found


def wait_until_exact(library: Library) -> None:
    deadline = time.monotonic() + LONG_S
    while waiting(library):
        assert time.monotonic() < deadline, f"{waiting(library)} chunks still wait"
        threading.Event().wait(0.02)


def test_summaries_are_made_before_somebody_looks(partly: Library, background: Worker, tmp_path: Path) -> None:
    """A text that is changed behind the library's back has the summary of before, if that was made by then."""
    background.start()
    deadline = time.monotonic() + LONG_S
    wait_s = 0.05
    while True:
        partly.add(str(write_folder(tmp_path / f"waits {wait_s}", ["heron"])))
        threading.Event().wait(wait_s)
        with partly.app.catalog.write() as connection:
            newest = connection.scalar(select(func.max(documents.c.id)))
            changed = update(documents).where(documents.c.id == newest)
            connection.execute(changed.values(text="A cormorant dries its wings on a pole in the harbour."))
            record = document_queries.of_ids(connection, [newest])[newest]
        if "cormorant" not in partly.staged.summary(record).text:
            return
        assert time.monotonic() < deadline
        wait_s *= 2


def test_what_waits_is_embedded_one_chunk_at_a_time(
    partly: Library, background: Worker, folder: Path, tmp_path: Path, settings: dict[str, Any]
) -> None:
    calls: list[int] = []
    counted = embedder(partly)
    before = len(counted.texts)
    counted.before = lambda: calls.append(1)
    background.start()
    wait_until_exact(partly)
    assert len(calls) == len(counted.texts) - before > 0
    assert_sound(partly, directly(tmp_path / "direct", [folder], settings))


def test_while_a_search_runs_it_pauses_but_not_for_ever(
    partly: Library, background: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module.Background, "longest_pause_s", 0.4)
    first = threading.Event()
    embedder(partly).before = first.set
    with partly.app.traffic.search():
        start = time.monotonic()
        background.start()
        assert first.wait(LONG_S)
        assert time.monotonic() - start >= 0.4


def test_it_goes_on_when_the_search_ends(partly: Library, background: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.Background, "longest_pause_s", 2 * LONG_S)
    first = threading.Event()
    embedder(partly).before = first.set
    with partly.app.traffic.search():
        background.start()
        assert not first.wait(0.3)
    assert first.wait(LONG_S)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has priorities of threads")
def test_its_threads_have_less_of_the_processor(partly: Library, background: Worker) -> None:
    def priority() -> int:
        return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())

    seen: list[int] = []
    embedder(partly).before = lambda: seen.append(priority())
    background.start()
    wait_until_exact(partly)
    assert set(seen) == {min(19, priority() + 10)}


def test_it_stops_promptly_and_leaves_a_sound_library(partly: Library, background: Worker) -> None:
    first = threading.Event()

    def slowly() -> None:
        first.set()
        time.sleep(0.05)

    embedder(partly).before = slowly
    before = waiting(partly)
    background.start()
    assert first.wait(LONG_S)
    assert background.stop()
    assert 0 < waiting(partly) <= before
    assert partly.verify() == {"default": []}


def test_it_stops_promptly_while_a_sample_is_embedded(
    tmp_path: Path, folder: Path, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(EMBEDDERS, "counting", "counting_bert:CountingBert")
    monkeypatch.setattr(module.Background, "look_every_s", 0.01)
    more = {"embedding__provider": "counting", "embedding__sample_chunks": 150}
    with Library.open(tmp_path / "home", **settings | more) as library:
        with pytest.raises(StoppedError):
            library.add(str(folder), on_event=stop_at("embed"))
        first = threading.Event()
        embedder(library).before = first.set
        begun = len(embedder(library).texts)
        background = worker_of(library, library.background())
        background.start()
        assert first.wait(LONG_S)
        assert background.stop()
        assert len(embedder(library).texts) - begun < 150
        assert library.verify() == {"default": []}
        stopped_at_searchable(library, folder)
        assert library.verify() == {"default": []}


def test_what_another_process_embeds_is_left_to_it_and_taken_over_when_it_ends(
    partly: Library, background: Worker, tmp_path: Path
) -> None:
    first = threading.Event()
    embedder(partly).before = first.set
    with FileLock(tmp_path / "home" / "index" / f"{partly.collection().id}.embedding.lock"):
        background.start()
        assert not first.wait(0.3)
    assert first.wait(LONG_S)
    wait_until_exact(partly)


def test_what_another_process_leaves_waiting_is_embedded(
    partly: Library, background: Worker, tmp_path: Path, settings: dict[str, Any]
) -> None:
    background.start()
    wait_until_exact(partly)
    with Library.open(tmp_path / "home", **settings) as other:
        other.app.embeds_later = True
        report = other.add(str(write_folder(tmp_path / "more", [f"more{number}" for number in range(35)])))
        assert report.pending > 0
    wait_until_exact(partly)
    assert partly.verify() == {"default": []}


def test_a_large_run_of_the_same_server_ends_when_all_is_searchable(
    partly: Library, background: Worker, tmp_path: Path
) -> None:
    counted = embedder(partly)
    background.start()
    stages: list[str] = []
    with partly.app.traffic.search():
        folder = write_folder(tmp_path / "more", [f"more{number}" for number in range(35)])
        report = partly.add(str(folder), on_event=lambda event: stages.append(event.stage))
    assert report.pending > 0
    assert {"searchable", "elsewhere"} & set(stages)
    wait_until_exact(partly)
    assert len(set(counted.texts)) == len(counted.texts), "a chunk was embedded twice"


def test_chunks_that_searches_met_come_first(partly: Library, background: Worker) -> None:
    answer = partly.search("quick brown fox", mode="vector", top_k=50)
    partly.app.refiner.flush()
    met = [hit.text for hit in answer.hits if hit.approximate]
    assert met
    counted = embedder(partly)
    before = len(counted.texts)
    background.start()
    wait_until_exact(partly)
    first = counted.texts[before : before + len(met)]
    assert all(any(text.endswith(one) for text in first) for one in met)


def test_a_collection_that_is_just_being_read_is_left_alone_until_that_is_done(
    tmp_path: Path, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the map would be fitted to the first files, or nothing be approximate before all is embedded."""
    monkeypatch.setattr(module.Background, "look_every_s", 0.2)
    folder = write_folder(tmp_path / "docs", NAMES)
    stages: list[str] = []

    def slowly(event: Event) -> None:
        stages.append(event.stage)
        if event.stage == "read":
            time.sleep(0.02)

    home = tmp_path / "home"
    with Library.open(home, **settings) as library, Library.open(home, **settings) as adding:
        background = worker_of(library, library.background())
        background.start()
        try:
            adding.add(str(folder), on_event=slowly)
            assert "searchable" in stages
            [path] = home.glob("index/map-*.npz")
            assert ApproximateMap.load(path, library.collection().fingerprint).of_texts == library.status()[0].chunks
            wait_until_exact(library)
        finally:
            assert background.stop()
        assert_sound(library, directly(tmp_path / "direct", [folder], settings))
