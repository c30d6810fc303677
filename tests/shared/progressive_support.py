"""Collections that are searchable before all of them is embedded, for tests: the folders, the settings, the truth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from bert_reference import WORDS
from sqlalchemy import select

from pinakes.catalog.schema import chunks, documents
from pinakes.core.records import Float32, Int64
from pinakes.ingestion.report import Event
from pinakes.library import Library


class StoppedError(Exception):
    """The user stops a run."""


def small_steps(model: Path) -> dict[str, Any]:
    """Return settings by which a few dozen files are a large collection."""
    return {
        "embedding__provider": "onnx",
        "embedding__model": "acme/tiny",
        "embedding__path": str(model),
        "embedding__mode": "progressive",
        "embedding__sample_chunks": 20,
        "embedding__progressive_chunks": 20,
        "ingest__batch_chunks": 16,
    }


def write_folder(folder: Path, names: Sequence[str], words: Sequence[str] = WORDS, lines: int = 14) -> Path:
    """Write files of some 700 bytes and six chunks, each with words of its own and its name; return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        random = np.random.default_rng(list(name.encode()))
        text = "\n".join(" ".join(random.choice(list(words), 12)) for _ in range(lines))
        (folder / f"{name}.md").write_text(f"# {name}\n\n{text}\n")
    return folder


def stop_at(stage: str, times: int = 1) -> Callable[[Event], None]:
    """Return what stops a run at an event."""
    seen = 0

    def on_event(event: Event) -> None:
        nonlocal seen
        seen += event.stage == stage
        if seen == times:
            raise StoppedError

    return on_event


def stopped_at_searchable(library: Library, folder: Path, collection: str | None = None) -> None:
    """Add ``folder`` up to the moment when it is searchable."""
    try:
        library.add(str(folder), collection, on_event=stop_at("searchable"))
    except StoppedError:
        return
    raise AssertionError("the run was not progressive")


def waiting(library: Library) -> int:
    """Return how many chunks have no vector by the model."""
    return library.status()[0].pending


def places(library: Library) -> tuple[list[tuple[str, int]], Int64]:
    """Return (path, ordinal) and id of every chunk of the collection."""
    with library.app.catalog.read() as connection:
        query = select(documents.c.path, chunks.c.ordinal, chunks.c.id).select_from(chunks.join(documents))
        query = query.where(documents.c.collection_id == library.collection().id)
        rows = connection.execute(query.order_by(documents.c.path, chunks.c.ordinal)).all()
    return [(path, ordinal) for path, ordinal, _ in rows], np.array([row.id for row in rows], np.int64)


def vectors(library: Library) -> dict[tuple[str, int], Float32]:
    """Return the vector that the index has of each chunk; NaN where it has none."""
    of, ids = places(library)
    _, index = library.app.index(library.chosen())
    return dict(zip(of, index.vectors(ids).own, strict=True))


def exact_places(library: Library) -> set[tuple[str, int]]:
    """Return the chunks whose vector is the model's own, as the index has it."""
    of, ids = places(library)
    _, index = library.app.index(library.chosen())
    exact = set(index.contents()["exact"].tolist())
    return {place for place, key in zip(of, ids.tolist(), strict=True) if key in exact}


def directly(home: Path, folders: Sequence[Path], settings: dict[str, Any]) -> dict[tuple[str, int], Float32]:
    """Return the vectors of a fresh library that embeds everything at once."""
    with Library.open(home, **settings | {"embedding__mode": "full"}) as library:
        for folder in folders:
            library.add(str(folder))
        return vectors(library)


def assert_same(found: dict[tuple[str, int], Float32], expected: dict[tuple[str, int], Float32]) -> None:
    """Assert that two libraries have the same chunks with the same vectors, to the bit."""
    assert found.keys() == expected.keys()
    assert found
    assert [place for place in found if not np.array_equal(found[place], expected[place])] == []


def assert_sound(library: Library, expected: dict[tuple[str, int], Float32]) -> None:
    """Assert that all is embedded, that the index is right, and that it has the vectors ``expected``."""
    assert waiting(library) == 0
    assert library.verify() == {library.chosen(): []}
    assert_same(vectors(library), expected)
