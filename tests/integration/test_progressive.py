"""A large collection is searchable before all of it is embedded, and in the end as if it had been at once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bert_reference import WORDS, make_tiny_bert

from pinakes.ingestion.report import Event
from pinakes.library import Library

FILES = 60
Open = Callable[..., Library]


class StoppedError(Exception):
    """The user stops a run."""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_bert(tmp_path_factory.mktemp("model") / "tiny")


@pytest.fixture
def progressive(open_library: Open, model: Path) -> Open:
    def open_(**settings: Any) -> Library:
        chosen = {
            "embedding__provider": "onnx",
            "embedding__model": "acme/tiny",
            "embedding__path": str(model),
            "embedding__mode": "progressive",
            "embedding__sample_chunks": 20,
            "embedding__progressive_chunks": 50,
            "ingest__batch_chunks": 16,
        }
        return open_library(**chosen | settings)

    return open_


@pytest.fixture
def folder(docs: Path) -> Path:
    """Files of some 700 bytes, each with words of its own."""
    for number in range(FILES):
        random = np.random.default_rng(number)
        lines = [" ".join(random.choice(WORDS, 12)) for _ in range(14)]
        (docs / f"{number}.md").write_text(f"# File {number}\n\n" + "\n".join(lines) + "\n")
    return docs


def stop_at(stage: str, times: int = 1) -> Callable[[Event], None]:
    seen = 0

    def on_event(event: Event) -> None:
        nonlocal seen
        seen += event.stage == stage
        if seen == times:
            raise StoppedError

    return on_event


def everything(library: Library) -> tuple[list[int], np.ndarray]:
    """Return the chunks of the index that have a vector, and the vectors."""
    _, index = library.app.index(library.chosen())
    ids = index.contents()["vector"]
    return ids.tolist(), index.vectors(ids).own


def waiting(library: Library) -> int:
    return library.status()[0].pending


def exact(library: Library, home: Path, folder: Path) -> None:
    """Assert that the library holds what reading ``folder`` and embedding all of it would give."""
    assert waiting(library) == 0
    assert not any(library.verify().values())
    ids, vectors = everything(library)
    settings = {name: getattr(library.settings.embedding, name) for name in ("provider", "model", "path")}
    others = {f"embedding__{name}": value for name, value in settings.items()}
    with Library.open(home.with_name("direct"), cache=library.settings.cache, **others) as direct:
        direct.add(str(folder))
        expected_ids, expected = everything(direct)
        assert len(ids) == len(expected_ids) > FILES
        assert np.array_equal(np.sort(vectors, axis=0), np.sort(expected, axis=0))


def test_when_all_is_done_the_vectors_are_those_of_the_model(progressive: Open, home: Path, folder: Path) -> None:
    library = progressive()
    stages = []
    report = library.add(str(folder), on_event=lambda event: stages.append(event.stage))
    assert stages.index("searchable") < len(stages) - 1 - stages[::-1].index("embed")
    assert (report.pending, report.embedded) == (0, report.chunks)
    exact(library, home, folder)


def test_stopped_once_it_is_searchable_every_chunk_is_found_by_meaning(
    progressive: Open, home: Path, folder: Path
) -> None:
    library = progressive()
    with pytest.raises(StoppedError):
        library.add(str(folder), on_event=stop_at("searchable"))
    total = library.status()[0].chunks
    assert 0 < waiting(library) < total
    ids, vectors = everything(library)
    assert len(ids) == total
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-2)
    assert not any(library.verify().values())
    answer = library.search("quick brown fox", mode="vector", top_k=10)
    assert len(answer.hits) == 10
    assert answer.degraded is None
    library.add(str(folder))
    exact(library, home, folder)


@pytest.mark.parametrize(("stage", "times"), [("read", 30), ("embed", 1), ("embed", 3)])
def test_stopped_anywhere_the_next_run_goes_on(
    progressive: Open, home: Path, folder: Path, stage: str, times: int
) -> None:
    library = progressive()
    with pytest.raises(StoppedError):
        library.add(str(folder), on_event=stop_at(stage, times))
    library = progressive()
    assert not any(library.verify().values())
    library.add(str(folder))
    exact(library, home, folder)


def test_an_index_built_anew_keeps_its_approximate_vectors(progressive: Open, folder: Path) -> None:
    library = progressive()
    with pytest.raises(StoppedError):
        library.add(str(folder), on_event=stop_at("searchable"))
    before = everything(library)
    library.reindex()
    after = everything(library)
    assert before[0] == after[0]
    assert np.array_equal(before[1], after[1])
    assert not any(library.verify().values())


def test_a_file_that_changes_meanwhile_gets_vectors_of_its_own(progressive: Open, home: Path, folder: Path) -> None:
    library = progressive()
    with pytest.raises(StoppedError):
        library.add(str(folder), on_event=stop_at("searchable"))
    (folder / "3.md").write_text("# Anew\n\nthe lazy dog jumps over a search index\n")
    (folder / "4.md").unlink()
    with pytest.raises(StoppedError):
        library.add(str(folder), on_event=stop_at("searchable"))
    assert library.search("lazy dog jumps", mode="vector", top_k=50, filters={"path": "3.md"}).hits
    assert not any(library.verify().values())
    library.add(str(folder))
    exact(library, home, folder)


def test_a_damaged_map_is_told_by_verify_and_mended_by_reading_again(
    progressive: Open, home: Path, folder: Path
) -> None:
    library = progressive()
    with pytest.raises(StoppedError):
        library.add(str(folder), on_event=stop_at("searchable"))
    [kept] = (home / "index").glob("map-*.npz")
    kept.write_bytes(kept.read_bytes()[:-100])
    library = progressive()
    [difference] = library.verify()["default"]
    assert difference.problem == "vector differs"
    assert difference.count == waiting(library)
    with pytest.raises(StoppedError):
        library.add(str(folder), on_event=stop_at("searchable"))
    assert not any(library.verify().values())


def test_little_is_embedded_at_once(progressive: Open, home: Path, folder: Path) -> None:
    library = progressive(embedding__progressive_chunks=10_000)
    stages = []
    library.add(str(folder), on_event=lambda event: stages.append(event.stage))
    assert "searchable" not in stages
    assert not list((home / "index").glob("map-*.npz"))
    exact(library, home, folder)


def test_each_token_has_a_vector_of_its_own_kept_on_disk(progressive: Open) -> None:
    embedder = progressive().app.embedder
    [quick], _ = embedder.token_ids(["quick"])
    prior = embedder.prior()
    assert np.allclose(np.linalg.norm(prior, axis=1), 1, atol=1e-2)
    assert prior[quick] @ embedder.embed(["quick"])[0] == pytest.approx(1, abs=0.02)
    again = progressive().app.embedder.prior()
    assert np.array_equal(prior, again)


def test_with_another_model_nothing_is_approximated_and_words_still_find(
    progressive: Open, folder: Path, tmp_path: Path
) -> None:
    library = progressive()
    with pytest.raises(StoppedError):
        library.add(str(folder), on_event=stop_at("searchable"))
    other = make_tiny_bert(tmp_path / "other", seed=8)
    library = progressive(embedding__model="acme/other", embedding__path=str(other))
    library.reindex()
    assert library.search("quick brown fox", mode="keyword").hits
    library = progressive()
    assert not any(library.verify().values())
    assert library.search("quick brown fox").hits
