"""What happens to a collection while part of its vectors is approximate: it grows, changes, is rebuilt, is damaged."""

from __future__ import annotations

import shutil
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bert_reference import WORDS, make_tiny_bert
from filelock import FileLock
from progressive_support import (
    StoppedError,
    assert_same,
    assert_sound,
    directly,
    exact_places,
    places,
    small_steps,
    stop_at,
    stopped_at_searchable,
    vectors,
    waiting,
    write_folder,
)

from pinakes.catalog import changes
from pinakes.core.records import Float32, IndexEntry, VectorEntry
from pinakes.indexes import updater
from pinakes.indexes.storage import checksums
from pinakes.ingestion.embedding import bind_model
from pinakes.ingestion.report import Event
from pinakes.library import Library
from pinakes.models.approximation import ApproximateMap, TokenRows
from pinakes.services import ingestion_runs
from pinakes.testing import ReferenceIndex

NAMES = [f"file{number}" for number in range(20)]
OTHER_NAMES = [f"other{number}" for number in range(30)]
SOME_WORDS, OTHER_WORDS = WORDS[:8], [*WORDS[12:], *"bcdefghjklm"]

Open = Callable[..., Library]


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    model = make_tiny_bert(tmp_path_factory.mktemp("model") / "tiny")
    return {**small_steps(model), "cache": str(tmp_path_factory.mktemp("cache"))}


@pytest.fixture
def progressive(open_library: Open, settings: dict[str, Any]) -> Open:
    return lambda **more: open_library(**settings | more)


@pytest.fixture
def folder(docs: Path) -> Path:
    return write_folder(docs, NAMES)


@pytest.fixture
def partly(progressive: Open, folder: Path) -> Library:
    library = progressive()
    stopped_at_searchable(library, folder)
    return library


def map_file(home: Path) -> Path:
    [found] = (home / "index").glob("map-*.npz")
    return found


def approximate_is_all_that_waits(library: Library) -> bool:
    [about] = library.status()
    return 0 < about.approximate == about.pending


def cosine(found: dict[tuple[str, int], Float32], expected: dict[tuple[str, int], Float32]) -> float:
    return float(np.mean([found[place] @ expected[place] for place in found]))


def test_what_is_searchable_is_written_down_for_other_processes(partly: Library, home: Path) -> None:
    """Else each of them would make all approximate vectors again before its first answer."""
    record = partly.collection()
    [snapshot] = (home / "index" / f"{record.id}-{record.generation}" / "vectors").iterdir()
    assert int(snapshot.name) == record.head


class TestGrowth:
    def test_other_words_get_a_map_of_their_own(
        self, progressive: Open, tmp_path: Path, home: Path, settings: dict[str, Any]
    ) -> None:
        some = write_folder(tmp_path / "some", NAMES, SOME_WORDS)
        other = write_folder(tmp_path / "other", OTHER_NAMES, OTHER_WORDS)
        library = progressive(embedding__sample_chunks=60)
        stopped_at_searchable(library, some)
        before = map_file(home).read_bytes()
        old = ApproximateMap.load(map_file(home), library.collection().fingerprint)
        stopped_at_searchable(library, other)
        assert map_file(home).read_bytes() != before
        assert approximate_is_all_that_waits(library)
        assert library.verify() == {"default": []}

        direct = directly(tmp_path / "direct", [some, other], settings)
        guessed = {key: vector for key, vector in vectors(library).items() if key not in exact_places(library)}
        of_other = {key: vector for key, vector in guessed.items() if key[0].startswith("other")}
        assert len(of_other) > 50
        assert cosine(of_other, direct) > cosine(by_map(library, old, of_other), direct) + 0.02
        library.add(str(some))
        library.add(str(other))
        assert_sound(library, direct)

    def test_much_that_comes_while_the_rest_is_embedded_is_searchable_before_that_ends(
        self, partly: Library, folder: Path, tmp_path: Path, home: Path, settings: dict[str, Any], monkeypatch: Any
    ) -> None:
        """Another process adds it, and leaves embedding to the one that is at it."""
        monkeypatch.setattr(ingestion_runs, "_BATCHES_IN_A_ROUND", 1)
        other = write_folder(tmp_path / "other", OTHER_NAMES, OTHER_WORDS)
        stages: list[str] = []
        rest = ingestion_runs.embed_waiting(partly.app, "default")
        while next(rest).stage != "index":
            pass
        with Library.open(home, **settings) as beside:
            beside.add(str(other), on_event=lambda event: stages.append(event.stage))
        assert "elsewhere" in stages
        seen = [event.stage for event in takewhile(lambda event: event.stage != "searchable", rest)]
        assert seen.count("index") <= 2
        [about] = partly.status()
        assert (about.waiting, about.approximate) == (0, about.pending)
        fitted = ApproximateMap.load(map_file(home), partly.collection().fingerprint)
        assert fitted.of_texts == about.chunks
        for _ in rest:
            pass
        assert_sound(partly, directly(tmp_path / "direct", [folder, other], settings))

    def test_a_run_ends_when_the_collection_gets_another_model(
        self, partly: Library, home: Path, settings: dict[str, Any], tmp_path: Path
    ) -> None:
        other = {**settings, "embedding__model": "acme/other"}
        other["embedding__path"] = str(make_tiny_bert(tmp_path / "other-model", seed=8))
        rest = ingestion_runs.embed_waiting(partly.app, "default")
        while next(rest).stage != "index":
            pass
        with Library.open(home, **other) as beside:
            bind_model(beside.app.catalog, beside.collection(), beside.app.embedder)
            assert waiting(beside) == beside.status()[0].chunks
            for _ in rest:
                pass
            beside.reindex(embed=True)
            assert waiting(beside) == 0
            assert beside.verify() == {"default": []}

    def test_a_few_new_files_keep_the_map_and_are_exact_at_once(
        self, partly: Library, tmp_path: Path, home: Path
    ) -> None:
        before = map_file(home).read_bytes()
        stopped_at_searchable(partly, write_folder(tmp_path / "new", ["new"], lines=4))
        new = {key for key in places(partly)[0] if key[0] == "new.md"}
        assert new
        assert new <= exact_places(partly)
        assert approximate_is_all_that_waits(partly)
        assert map_file(home).read_bytes() == before
        assert partly.verify() == {"default": []}

    def test_what_another_process_embeds_is_left_to_it(self, partly: Library, folder: Path, home: Path) -> None:
        before = waiting(partly)
        stages: list[str] = []
        with FileLock(home / "index" / f"{partly.collection().id}.embedding.lock"):
            report = partly.add(str(folder), on_event=lambda event: stages.append(event.stage))
            assert "elsewhere" in stages
            assert "searchable" not in stages
            assert (report.degraded, report.embedded) == (None, 0)
            assert waiting(partly) == before
            more = partly.add(str(write_folder(folder.with_name("more"), ["more"])))
            assert (more.embedded, more.degraded) == (more.chunks, None)
        partly.add(str(folder))
        assert waiting(partly) == 0

    def test_sources_of_several_collections_do_not_mix_their_maps(
        self, progressive: Open, folder: Path, tmp_path: Path
    ) -> None:
        library = progressive()
        stopped_at_searchable(library, folder, "one")
        stopped_at_searchable(library, write_folder(tmp_path / "other", OTHER_NAMES, OTHER_WORDS), "two")
        assert library.verify() == {"one": [], "two": []}
        first, second = (library.app.fill_of(library.collection(name)) for name in ("one", "two"))
        assert first is not None
        assert second is not None
        entry = IndexEntry(1, 1, "", "", "", "quick brown fox", (), None)
        assert not np.allclose(first([entry])[0].vector, second([entry])[0].vector)

    def test_a_text_of_another_collection_that_is_embedded_there_is_exact_here(
        self, partly: Library, folder: Path
    ) -> None:
        before = exact_places(partly)
        partly.add(str(write_folder(folder.with_name("copies"), NAMES[:3], lines=14)), "copies")
        partly.app.refiner.flush()
        assert {key for key in places(partly)[0] if key[0] in ("file0.md", "file1.md")} <= exact_places(partly)
        assert before < exact_places(partly)
        assert partly.verify() == {"copies": [], "default": []}


def by_map(
    library: Library, fitted: ApproximateMap, wanted: dict[tuple[str, int], Float32]
) -> dict[tuple[str, int], Float32]:
    """Return the vectors that a map gives to chunks."""
    of, ids = places(library)
    place_of = dict(zip(ids.tolist(), of, strict=True))
    with library.app.catalog.read() as connection:
        entries = changes.entries_of(connection, [key for key in place_of if place_of[key] in wanted])
    embedder: Any = library.app.embedder
    found = fitted.apply(TokenRows.from_ids(*embedder.token_ids([entry.embedded_text for entry in entries])))
    return {place_of[entry.chunk_id]: vector for entry, vector in zip(entries, found, strict=True)}


class TestRebuilding:
    @pytest.mark.parametrize(
        ("stage", "times"), [("read", 10), ("read", 20), ("embed", 1), ("searchable", 1), ("index", 1), ("index", 4)]
    )
    def test_in_each_state_it_gives_what_was_there(
        self, progressive: Open, folder: Path, home: Path, settings: dict[str, Any], stage: str, times: int
    ) -> None:
        library = progressive()
        with pytest.raises(StoppedError):
            library.add(str(folder), on_event=stop_at(stage, times))
        assert library.verify() == {"default": []}
        exact, before = exact_places(library), vectors(library)
        library.reindex()
        assert library.verify() == {"default": []}
        assert exact_places(library) == exact
        after = vectors(library)
        assert after.keys() == before.keys()
        assert all(np.array_equal(after[key], before[key], equal_nan=True) for key in after)
        library = progressive()
        assert library.verify() == {"default": []}
        library.add(str(folder))
        assert_sound(library, directly(home.with_name("direct"), [folder], settings))

    def test_another_model_starts_anew(
        self, partly: Library, progressive: Open, folder: Path, home: Path, tmp_path: Path, settings: dict[str, Any]
    ) -> None:
        model = {"embedding__model": "acme/other", "embedding__path": str(make_tiny_bert(tmp_path / "other", seed=8))}
        library = progressive(**model)
        with pytest.raises(StoppedError):
            library.reindex(embed=True, on_event=stop_at("searchable"))
        assert approximate_is_all_that_waits(library)
        assert library.verify() == {"default": []}
        assert library.search("quick brown fox", mode="vector").hits
        library.reindex(embed=True)
        assert_sound(library, directly(home.with_name("direct"), [folder], {**settings, **model}))

    def test_a_model_that_comes_back_finds_what_it_had_embedded(
        self, partly: Library, progressive: Open, folder: Path, home: Path, tmp_path: Path, settings: dict[str, Any]
    ) -> None:
        exact = exact_places(partly)
        model = {"embedding__model": "acme/other", "embedding__path": str(make_tiny_bert(tmp_path / "other", seed=8))}
        with pytest.raises(StoppedError):
            progressive(**model).reindex(embed=True, on_event=stop_at("searchable"))
        library = progressive()
        with pytest.raises(StoppedError):
            library.reindex(embed=True, on_event=stop_at("searchable"))
        assert exact <= exact_places(library)
        assert approximate_is_all_that_waits(library)
        assert library.verify() == {"default": []}
        library.add(str(folder))
        assert_sound(library, directly(home.with_name("direct"), [folder], settings))


class TestVerify:
    def wrong(self, library: Library, exact: bool, *, told: bool, other: bool) -> list[tuple[str, str, int]]:
        """Give one chunk another vector, or call it what it is not; return what verify says."""
        of, ids = places(library)
        known = exact_places(library)
        key = next(key for place, key in zip(of, ids.tolist(), strict=True) if (place in known) is exact)
        record, index = library.app.index("default")
        with library.app.catalog.write() as connection:
            [entry] = changes.entries_of(connection, [key])
            changes.record(connection, record.id, entry.document_id, "put")  # which the vectors have seen, as it seems
        with library.app.catalog.read() as connection:
            head = changes.head(connection, record.id)
        vector = index.vectors(np.array([key])).own[0]
        part: Any = index
        given = VectorEntry(key, entry.document_id, -vector if other else vector, told)
        part._meaning.apply([], [], head, [given])
        found = [(one.part, one.problem, one.count) for one in library.verify()["default"]]
        library.reindex()
        assert library.verify() == {"default": []}
        return found

    @pytest.mark.parametrize("exact", [True, False])
    def test_a_wrong_vector_is_found(self, partly: Library, exact: bool) -> None:
        assert self.wrong(partly, exact, told=exact, other=True) == [("vector", "vector differs", 1)]

    @pytest.mark.parametrize("exact", [True, False])
    def test_a_vector_that_is_called_what_it_is_not_is_found(self, partly: Library, exact: bool) -> None:
        found = self.wrong(partly, exact, told=not exact, other=False)
        assert found == [("vector", "exact and approximate are confused", 1)]

    def test_a_snapshot_that_lies_is_found_after_opening_again(
        self, partly: Library, progressive: Open, home: Path
    ) -> None:
        partly.close()
        [folder] = (home / "index").glob("*-*/vectors/[0-9]*")
        parts = {name: np.load(folder / f"{name}.npy") for name in ("ids", "documents", "matrix", "exact")}
        parts["exact"][:3] = ~parts["exact"][:3]
        parts["matrix"][5] = -parts["matrix"][5]
        for name in ("exact", "matrix"):
            np.save(folder / f"{name}.npy", parts[name])
        about = checksums.unsealed((folder / "about.json").read_text())
        about["checksum"] = reduce(lambda sum_, part: zlib.crc32(part.tobytes(), sum_), parts.values(), 0)
        (folder / "about.json").write_text(checksums.sealed(about))
        found = progressive().verify()["default"]
        assert [(one.problem, one.count) for one in found] == [
            ("vector differs", 1),
            ("exact and approximate are confused", 3),
        ]

    def test_without_the_map_what_waits_is_said_to_differ_until_it_is_fitted_anew(
        self, partly: Library, folder: Path, home: Path
    ) -> None:
        map_file(home).unlink()
        [found] = partly.verify()["default"]
        assert (found.problem, found.count) == ("vector differs", waiting(partly))
        stopped_at_searchable(partly, folder)
        assert partly.verify() == {"default": []}
        assert approximate_is_all_that_waits(partly)


class TestCatchingUp:
    @pytest.mark.parametrize("at_once", [500, 7, 1])
    def test_a_chunk_is_approximated_once_where_it_is_new_and_the_map_is_too(
        self, partly: Library, monkeypatch: pytest.MonkeyPatch, at_once: int
    ) -> None:
        monkeypatch.setattr(updater, "_DOCUMENTS_PER_STEP", at_once)
        record = partly.collection()
        fill = partly.app.fill_of(record)
        assert fill is not None
        filled: Counter[int] = Counter()

        def counted(entries: Sequence[IndexEntry]) -> list[IndexEntry]:
            filled.update(entry.chunk_id for entry in entries if entry.vector is None)
            return fill(entries)

        index = ReferenceIndex(record.dimension, lambda where: np.empty(0, np.int64))
        with partly.app.catalog.read() as connection:
            ops = Counter(change.op for change in changes.since(connection, record.id, 0, 10_000))
        assert ops["put"] == len(NAMES)
        assert 0 < ops["approximate"] <= len(NAMES)
        for _ in updater.catch_up(partly.app.catalog, record, index, counted):
            pass
        assert set(filled.values()) == {1}
        assert len(filled) == waiting(partly)
        _, held = partly.app.index("default")
        for part, ids in held.contents().items():
            assert np.array_equal(index.contents()[part], ids)
        ids = held.contents()["vector"]
        assert np.allclose(index.vectors(ids).own, held.vectors(ids).own, atol=2e-3)

    def test_an_index_that_saw_the_documents_takes_only_vectors(self, partly: Library, folder: Path) -> None:
        record = partly.collection()
        index = ReferenceIndex(record.dimension, lambda where: np.empty(0, np.int64))
        for _ in updater.catch_up(partly.app.catalog, record, index, partly.app.fill_of(record)):
            pass
        applied: list[tuple[int, int]] = []

        class Watched:
            position = staticmethod(index.position)

            def apply(self, removed: Any, added: Any, position: int, vectors: Any = ()) -> None:
                applied.append((len(list(removed)), len(list(added))))
                index.apply(removed, added, position, vectors)

        partly.add(str(folder))
        for _ in updater.catch_up(partly.app.catalog, record, Watched(), partly.app.fill_of(record)):  # type: ignore[arg-type]
            pass
        assert set(applied) == {(0, 0)}
        ids = index.contents()["exact"]
        _, held = partly.app.index("default")
        assert np.array_equal(ids, held.contents()["exact"])
        assert np.array_equal(index.vectors(ids).own, held.vectors(ids).own)


def test_a_home_that_is_copied_while_part_is_approximate_goes_on(
    partly: Library, folder: Path, home: Path, settings: dict[str, Any]
) -> None:
    partly.close()
    copy = home.with_name("copy")
    shutil.copytree(home, copy)
    with Library.open(copy, **settings) as library:
        assert library.verify() == {"default": []}
        assert approximate_is_all_that_waits(library)
        before = vectors(library)
        with Library.open(home, **settings) as original:
            assert_same(before, vectors(original))
        library.add(str(folder))
        assert_sound(library, directly(home.with_name("direct"), [folder], settings))


def test_events_tell_how_much_is_exact_once_all_is_searchable(progressive: Open, folder: Path) -> None:
    library = progressive()
    events: list[Event] = []
    library.add(str(folder), on_event=events.append)
    [searchable] = [event for event in events if event.stage == "searchable"]
    assert searchable == replace(searchable, done=20, total=len(places(library)[0]))
    rest = [event for event in events[events.index(searchable) :] if event.stage == "index" and event.total > 1]
    assert rest[-1].done == rest[-1].total == searchable.total - searchable.done
