"""In the mode "lazy" a model that runs elsewhere and is paid for embeds a sample, and then only what searches meet."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from progressive_support import vectors, waiting, write_folder
from remote_embedder import RemoteEmbedder

from pinakes.catalog import summaries
from pinakes.core.errors import ModelUnavailable
from pinakes.library import Library
from pinakes.models import weights
from pinakes.models.embedders import EMBEDDERS
from pinakes.settings import EmbeddingSettings

NAMES = [f"file{number}" for number in range(40)]
WORDS = ["amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heron", "islet", "krill", "lotus", "maple"]
WORDS += ["north", "ocean", "pearl", "quartz"]
SAMPLE = 30
HEAD = 20
QUERY = "heron krill lotus"

Open = Callable[..., Library]


@pytest.fixture(scope="module")
def cache(request: pytest.FixtureRequest) -> Path:
    """A cache with the default model, whose tokenizer tells the words."""
    assert request.config.cache is not None
    folder = request.config.cache.mkdir("models")
    try:
        weights.install(EmbeddingSettings(), folder)
    except ModelUnavailable as error:
        pytest.skip(str(error))
    return folder


@pytest.fixture
def service(tmp_path: Path) -> Path:
    folder = tmp_path / "service"
    folder.mkdir()
    return folder


@pytest.fixture
def lazy(open_library: Open, cache: Path, service: Path, monkeypatch: pytest.MonkeyPatch) -> Open:
    monkeypatch.setitem(EMBEDDERS, "remote", "remote_embedder:RemoteEmbedder")

    def open_(**more: Any) -> Library:
        chosen = {
            "cache": str(cache),
            "embedding__provider": "remote",
            "embedding__path": str(service),
            "embedding__mode": "lazy",
            "embedding__sample_chunks": SAMPLE,
            "embedding__progressive_chunks": 50,
            "chunking__size": 40,
            "search__refine_ms": 60_000,
        }
        return open_library(**chosen | more)

    return open_


@pytest.fixture
def folder(docs: Path) -> Path:
    return write_folder(docs, NAMES, WORDS)


def paid(library: Library) -> list[str]:
    assert isinstance(library.app.embedder, RemoteEmbedder)
    return library.app.embedder.texts


def test_a_sample_is_paid_for_and_everything_is_found_by_meaning(lazy: Open, folder: Path) -> None:
    library = lazy()
    report = library.add(str(folder))
    assert len(paid(library)) == report.embedded == SAMPLE
    assert report.pending == waiting(library) == report.chunks - SAMPLE > 100
    assert report.degraded is None
    assert not any(library.verify().values())
    [status] = library.status()
    assert (status.approximate, status.waiting) == (report.pending, 0)
    library.add(str(folder))
    assert len(paid(library)) == SAMPLE, "nothing more is paid for by looking again"


def test_approximate_vectors_are_near_those_of_the_model_without_a_prior(lazy: Open, folder: Path) -> None:
    library = lazy(embedding__sample_chunks=100)
    library.add(str(folder))
    approximate = vectors(library)
    library = lazy(embedding__mode="full")
    library.add(str(folder))
    exact = vectors(library)
    assert waiting(library) == 0
    cosines = [float(approximate[place] @ exact[place]) for place in exact]
    assert len(cosines) == len(approximate)
    assert np.mean(cosines) > 0.85


def test_what_a_search_meets_is_paid_for_once(lazy: Open, folder: Path) -> None:
    library = lazy()
    library.add(str(folder))
    first = library.search(QUERY)
    assert 0 < len(paid(library)) - SAMPLE <= HEAD
    assert not any(hit.approximate for hit in first.hits)
    before = len(paid(library))
    library.app.refiner.flush()  # until all of them are kept, an answer is ranked among slightly other candidates
    assert [hit.chunk_id for hit in library.search(QUERY).hits] == [hit.chunk_id for hit in first.hits]
    assert len(paid(library)) == before
    library = lazy()
    assert [hit.chunk_id for hit in library.search(QUERY).hits] == [hit.chunk_id for hit in first.hits]
    assert paid(library) == []


def test_new_files_of_a_lazy_collection_are_not_paid_for(lazy: Open, folder: Path) -> None:
    library = lazy()
    library.add(str(folder))
    write_folder(folder, ["new"], WORDS)
    report = library.add(str(folder))
    assert (report.added, report.embedded) == (1, 0)
    assert len(paid(library)) == SAMPLE
    assert library.search(QUERY, filters={"path": "new.md"}).hits
    assert not any(library.verify().values())


def test_a_small_collection_is_embedded_at_once(lazy: Open, docs: Path) -> None:
    library = lazy()
    report = library.add(str(write_folder(docs, ["only"], WORDS)))
    assert (report.embedded, report.pending) == (report.chunks, 0)


def test_while_the_service_is_down_answers_are_by_what_there_is(lazy: Open, folder: Path, service: Path) -> None:
    library = lazy()
    library.add(str(folder))
    library.app.query_vectors.vector_of(QUERY)
    (service / "down").touch()
    known = library.search(QUERY)
    assert any(hit.approximate for hit in known.hits)
    assert known.notes == ("the best chunks are ranked by approximate vectors: The service does not answer.",)
    unknown = library.search("maple north")
    assert unknown.hits
    assert unknown.degraded == "keyword search only: The service does not answer."
    (service / "down").unlink()
    assert not any(hit.approximate for hit in library.search(QUERY).hits)


def test_a_run_that_the_service_fails_goes_on_when_it_is_back(lazy: Open, folder: Path, service: Path) -> None:
    (service / "down").touch()
    library = lazy()
    report = library.add(str(folder))
    assert report.degraded is not None
    assert "does not answer" in report.degraded
    assert report.pending == report.chunks
    assert library.search(QUERY, mode="keyword").hits
    (service / "down").unlink()
    report = library.add(str(folder))
    assert (report.degraded, report.embedded) == (None, SAMPLE)
    assert library.status()[0].waiting == 0
    assert not any(library.verify().values())


def test_all_of_it_is_embedded_where_that_is_asked_for(lazy: Open, folder: Path) -> None:
    lazy().add(str(folder))
    library = lazy(embedding__mode="full")
    library.reindex(embed=True)
    assert waiting(library) == 0
    assert not any(library.verify().values())


def test_a_given_summary_gets_its_vector_though_no_search_met_it(lazy: Open, folder: Path) -> None:
    library = lazy()
    library.add(str(folder))
    before = waiting(library)
    library.documents.put("heron krill", title="List", summary="ember fjord grove islet lotus maple")
    record = library.collection()
    with library.app.catalog.read() as connection:
        assert summaries.pending(connection, record.id, record.model_id) == []
        assert len(summaries.summary_vectors(connection, record.id, record.model_id)[0]) == 1
    assert waiting(library) == before + 1, "its chunk waits like the others"
