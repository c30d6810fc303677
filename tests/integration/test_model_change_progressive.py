"""A switched collection, too, is searchable before all of it is embedded: map, head and rest are its own model's."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bert_reference import make_tiny_bert
from counting_bert import CountingBert
from progressive_support import StoppedError, small_steps, stop_at, stopped_at_searchable, write_folder
from working import worker_of

from pinakes.library import Library
from pinakes.models.approximation import ApproximateMap
from pinakes.models.embedders import EMBEDDERS
from pinakes.services import ingestion_runs

SOME = [f"file{number}" for number in range(12)]
MORE = [f"other{number}" for number in range(20)]
QUERY = "quick brown fox"
LONG_S = 60.0

Open = Callable[..., Library]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    place = tmp_path_factory.mktemp("models")
    return make_tiny_bert(place / "first"), make_tiny_bert(place / "second", seed=8)


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def opened(open_library: Open, models: tuple[Path, Path], cache: Path, monkeypatch: pytest.MonkeyPatch) -> Open:
    monkeypatch.setitem(EMBEDDERS, "counting", "counting_bert:CountingBert")
    settings = small_steps(models[0]) | {"embedding__provider": "counting", "cache": str(cache)}
    return lambda **more: open_library(**settings | {"search__refine_ms": 60_000} | more)


@pytest.fixture
def switched(opened: Open, models: tuple[Path, Path], docs: Path) -> Library:
    """A library whose collection is answered by the second model, the settings naming the first."""
    library = opened()
    library.add(str(write_folder(docs, SOME)))
    second = opened(embedding__model="acme/second", embedding__path=str(models[1]))
    second.build_beside()
    library = opened()
    library.switch()
    return library


@pytest.fixture
def partly(switched: Library, docs: Path) -> Library:
    """The same after so much was added that it is approximate at first."""
    stopped_at_searchable(switched, write_folder(docs, MORE))
    return switched


def texts(library: Library, name: str = "default") -> list[str]:
    found = library.app.embedder_of(library.collection(name))
    assert isinstance(found, CountingBert)
    return found.texts


def usual_texts(library: Library) -> list[str]:
    assert isinstance(library.app.embedder, CountingBert)
    return library.app.embedder.texts


def test_the_map_is_that_of_its_own_model(partly: Library, home: Path) -> None:
    record = partly.collection()
    assert "acme/second" in record.fingerprint
    ApproximateMap.load(home / "index" / f"map-{record.id}-{record.model_id}.npz", record.fingerprint)
    [about] = partly.status()
    assert 0 < about.approximate == about.pending
    assert partly.verify() == {"default": []}
    assert usual_texts(partly) == []


def test_the_head_of_an_answer_is_embedded_by_its_own_model(partly: Library) -> None:
    before = len(texts(partly))
    found = partly.search(QUERY)
    assert any(stage.name == "refine" and stage.detail["refined"] for stage in found.trace.stages)
    assert len(texts(partly)) > before
    partly.app.refiner_of(partly.collection()).flush()
    assert usual_texts(partly) == []
    assert partly.verify() == {"default": []}


def test_a_server_embeds_the_rest_by_its_own_model(partly: Library, tmp_path: Path) -> None:
    partly.add(str(write_folder(tmp_path / "usual", ["one"])), "usual")
    usual = len(usual_texts(partly))
    background = worker_of(partly, partly.background())
    background.start()
    wait_until_exact(partly)
    assert background.stop()
    assert len(usual_texts(partly)) == usual
    assert partly.verify() == {"default": [], "usual": []}


def test_after_going_back_the_rest_is_embedded_by_the_first_model(partly: Library) -> None:
    background = worker_of(partly, partly.background())
    background.start()
    wait_until_exact(partly)
    assert usual_texts(partly) == []
    partly.roll_back()
    assert partly.status()[0].pending
    wait_until_exact(partly)
    assert background.stop()
    assert "acme/tiny" in partly.collection().fingerprint
    assert len(usual_texts(partly)) > 0
    assert partly.verify() == {"default": []}


def test_a_run_that_embeds_the_rest_goes_on_with_the_model_it_is_switched_to(partly: Library) -> None:
    rest = ingestion_runs.embed_waiting(partly.app, "default")
    while next(rest).stage != "index":
        pass
    with Library(partly.settings) as beside:
        beside.roll_back()
    for _ in rest:
        pass
    [about] = partly.status()
    assert "acme/tiny" in about.model
    assert about.pending == 0
    assert partly.verify() == {"default": []}


def test_beside_everything_is_embedded_in_every_mode(opened: Open, models: tuple[Path, Path], docs: Path) -> None:
    library = opened(embedding__mode="lazy")
    with pytest.raises(StoppedError):
        library.add(str(write_folder(docs, SOME + MORE)), on_event=stop_at("searchable"))
    assert library.status()[0].pending
    second: dict[str, Any] = {"embedding__model": "acme/second", "embedding__path": str(models[1])}
    library = opened(embedding__mode="lazy", **second)
    state = library.build_beside()
    assert state.beside is not None
    assert (state.beside.state, state.beside.waiting) == ("ready", 0)
    library = opened(embedding__mode="lazy")
    library.switch()
    assert library.status()[0].pending == 0
    library.roll_back()
    assert library.status()[0].approximate == library.status()[0].pending > 0
    assert library.verify() == {"default": []}


def wait_until_exact(library: Library) -> None:
    deadline = time.monotonic() + LONG_S
    while any(state.pending for state in library.status()):
        assert time.monotonic() < deadline
        threading.Event().wait(0.02)
