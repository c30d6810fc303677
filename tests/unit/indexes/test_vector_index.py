"""Vectors in memory: which are exact, vectors written over in place, and FAISS kept right meanwhile."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pinakes.core.filters import parse
from pinakes.core.ports import VectorQuery
from pinakes.core.records import Filter, Float32, IndexEntry, Int64, VectorEntry
from pinakes.indexes.vector import faiss_index as module
from pinakes.indexes.vector import scanners
from pinakes.indexes.vector.faiss_index import VectorIndex
from pinakes.testing import ReferenceIndex

DIMENSION = 16
MANY = 250_000


class World:
    """Makes chunks with random vectors, two a document: chunk 7 belongs to document 3."""

    def __init__(self, seed: int = 1) -> None:
        self.random = np.random.default_rng(seed)

    def vector(self) -> Float32:
        drawn = self.random.standard_normal(DIMENSION)
        return (drawn / np.linalg.norm(drawn)).astype(np.float16).astype(np.float32)

    def entries(self, chunk_ids: Iterable[int], exact: bool = True, pending: bool = False) -> list[IndexEntry]:
        return [
            IndexEntry(key, key // 2, "", "", "", "", (), None if pending else self.vector(), exact)
            for key in chunk_ids
        ]

    def vectors(self, chunk_ids: Iterable[int], exact: bool = True) -> list[VectorEntry]:
        return [VectorEntry(key, key // 2, self.vector(), exact) for key in chunk_ids]


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def index(tmp_path: Path) -> Iterator[VectorIndex]:
    with closing(opened(tmp_path)) as one:
        yield one


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let FAISS be used, and rebuilt, at sizes of a few dozen."""
    monkeypatch.setattr(module, "_DIRECT_ROWS", 10)
    monkeypatch.setattr(module, "_TAIL_ROWS", 10)


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Record the size of each scanner that is built."""
    sizes: list[int] = []
    build = VectorIndex._scanner

    def scanner(self: VectorIndex, matrix: Any, *more: Any) -> Any:
        sizes.append(len(matrix))
        return build(self, matrix, *more)

    follow = scanners.followed

    def followed(old: Any, places: Int64, matrix: Any, *more: Any) -> Any:
        sizes.append(len(matrix))
        return follow(old, places, matrix, *more)

    monkeypatch.setattr(VectorIndex, "_scanner", scanner)
    monkeypatch.setattr(scanners, "followed", followed)
    return sizes


def opened(folder: Path, exact_max: int = MANY, dimension: int = DIMENSION) -> VectorIndex:
    return VectorIndex(folder / "vectors", dimension, "", exact_max, 1.0)


def held(index: VectorIndex, chunk_id: int) -> Float32:
    found: Float32 = index.get(np.array([chunk_id]))[0][0]
    return found


def exact(index: VectorIndex, world: World) -> dict[int, bool] | None:
    index.search(world.vector(), 1000, None, None)  # the second search is by FAISS
    found = index.search(world.vector(), 1000, None, None)
    return None if found.exact is None else dict(zip(found.ids.tolist(), found.exact.tolist(), strict=True))


class TestExact:
    def test_a_ranking_of_exact_vectors_only_says_nothing_of_them(self, index: VectorIndex, world: World) -> None:
        index.apply([], world.entries(range(10)), 1)
        assert exact(index, world) is None
        assert "exact_vectors" not in index.describe()

    def test_one_approximate_vector_makes_every_ranking_say_which_are_exact(
        self, index: VectorIndex, world: World
    ) -> None:
        index.apply([], world.entries(range(4)) + world.entries([4], exact=False), 1)
        assert exact(index, world) == {0: True, 1: True, 2: True, 3: True, 4: False}
        few = index.search(world.vector(), 9, np.array([0]), None)
        assert few.exact is not None
        assert few.exact.all()
        nothing = index.search(world.vector(), 9, np.array([77]), None)
        assert nothing.exact is not None
        assert nothing.exact.shape == (0,)
        assert index.describe()["exact_vectors"] == 4
        assert index.exact_ids().tolist() == [0, 1, 2, 3]

    def test_the_last_approximate_vector_to_go_takes_the_flags_with_it(self, index: VectorIndex, world: World) -> None:
        index.apply([], world.entries(range(4)) + world.entries([4, 6], exact=False), 1)
        index.apply([2], [], 2)
        assert exact(index, world) is not None
        index.apply([], [], 3, world.vectors([6]))
        assert exact(index, world) is None

    def test_an_exact_vector_may_become_approximate_again(self, index: VectorIndex, world: World) -> None:
        index.apply([], world.entries(range(3)), 1)
        index.apply([], [], 2, world.vectors([1], exact=False))
        assert exact(index, world) == {0: True, 1: False, 2: True}


class TestVectorsAlone:
    def test_a_vector_is_written_over_the_old_one(self, index: VectorIndex, world: World) -> None:
        index.apply([], world.entries(range(10)), 1)
        size = index.describe()["vector_bytes"]
        given = world.vectors([3, 8])
        index.apply([], [], 2, given)
        assert (held(index, 3) == given[0].vector).all()
        assert (held(index, 8) == given[1].vector).all()
        assert index.describe()["vector_bytes"] == size
        assert index.chunk_ids().tolist() == list(range(10))

    def test_a_chunk_without_a_vector_gets_a_row(self, index: VectorIndex, world: World) -> None:
        index.apply([], world.entries(range(5)) + world.entries([5, 6], pending=True), 1)
        given = world.vectors([6, 2])
        index.apply([], [], 2, given)
        assert index.chunk_ids().tolist() == [0, 1, 2, 3, 4, 6]
        assert (held(index, 6) == given[0].vector).all()
        assert index.search(given[0].vector, 1, np.array([3]), None).ids.tolist() == [6]

    def test_a_chunk_whose_row_is_dead_gets_a_new_one(self, index: VectorIndex, world: World) -> None:
        index.apply([], world.entries(range(6)), 1)
        index.apply([], world.entries([4], pending=True), 2)
        assert np.isnan(held(index, 4)).all()
        given = world.vectors([4], exact=False)
        index.apply([], [], 3, given)
        assert (held(index, 4) == given[0].vector).all()
        assert index.chunk_ids().tolist() == [0, 1, 2, 3, 4]
        assert index.exact_ids().tolist() == [0, 1, 2, 3]

    def test_of_two_vectors_for_one_chunk_the_later_counts(self, index: VectorIndex, world: World) -> None:
        index.apply([], world.entries([0]), 1)
        given = world.vectors([0, 1, 0, 1])
        index.apply([], [], 2, given)
        assert (index.get(np.array([0, 1]))[0] == np.array([given[2].vector, given[3].vector])).all()
        assert index.chunk_ids().tolist() == [0, 1]

    def test_a_document_that_is_replaced_in_the_same_call_keeps_its_new_vectors(
        self, index: VectorIndex, world: World
    ) -> None:
        index.apply([], world.entries(range(6)), 1)
        added = world.entries([2])
        index.apply([2], added, 2, world.vectors([2, 3, 4, 5]))
        assert index.chunk_ids().tolist() == [0, 1, 2]
        assert added[0].vector is not None
        assert (held(index, 2) == added[0].vector).all()

    def test_a_document_that_is_removed_in_the_same_call_gets_no_vectors(
        self, index: VectorIndex, world: World
    ) -> None:
        index.apply([], world.entries([0, 1]) + world.entries([2, 3], pending=True), 1)
        index.apply([1], [], 2, world.vectors([2, 3]))
        assert index.chunk_ids().tolist() == [0, 1]

    def test_a_change_that_was_seen_is_not_applied_again(self, index: VectorIndex, world: World) -> None:
        index.apply([], world.entries([0]), 5)
        before = held(index, 0)
        index.apply([], [], 5, world.vectors([0]))
        assert (held(index, 0) == before).all()

    def test_the_position_moves_without_any_rows(self, index: VectorIndex) -> None:
        index.apply([], [], 7)
        assert index.position() == 7

    def test_vectors_of_another_length_are_refused_and_change_nothing(self, index: VectorIndex, world: World) -> None:
        index.apply([], world.entries([0, 1], exact=False), 1)
        before = index.get(np.array([0, 1]))[0]
        wrong = VectorEntry(0, 0, np.ones(DIMENSION + 1, np.float32))
        with pytest.raises(ValueError, match=r"reshape|inhomogeneous"):
            index.apply([], [], 2, [*world.vectors([1]), wrong])
        assert index.position() == 1
        assert (index.get(np.array([0, 1]))[0] == before).all()
        assert index.exact_ids().tolist() == []


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("exact_max", [MANY, 0], ids=["flat", "inverted file"])
class TestFaiss:
    def test_a_written_over_row_is_found_by_its_new_vector_only(
        self, exact_max: int, tmp_path: Path, world: World, built: list[int]
    ) -> None:
        with closing(opened(tmp_path, exact_max)) as index:
            entries = world.entries(range(100))
            index.apply([], entries, 1)
            assert built == [], "who only writes needs none"
            exact(index, world)
            given = world.vectors([3, 40, 99])
            index.apply([], [], 2, given)
            assert built == [100]
            for entry in given:
                old = entries[entry.chunk_id].vector
                assert old is not None
                new = index.search(entry.vector, 100, None, None)
                assert new.ids[0] == entry.chunk_id
                assert new.scores[0] == pytest.approx(1, abs=2e-3)
                assert np.count_nonzero(new.ids == entry.chunk_id) == 1
                found = index.search(old, 100, None, None)
                score = found.scores[found.ids == entry.chunk_id]
                assert score == pytest.approx([old @ entry.vector], abs=2e-3)

    def test_faiss_is_built_anew_only_when_many_rows_have_changed(
        self, exact_max: int, tmp_path: Path, world: World, built: list[int]
    ) -> None:
        with closing(opened(tmp_path, exact_max)) as index:
            index.apply([], world.entries(range(100), exact=False), 1)
            exact(index, world)
            for position in range(2, 30):
                index.apply([], [], position, world.vectors([position % 10]))
            assert built == [100], "ten rows, however often written, are ten rows"
            index.apply([], [], 30, world.vectors([50]))
            assert built == [100, 100]
            index.apply([], [], 31, world.vectors(range(60, 66)))
            index.apply([], world.entries(range(200, 204)), 32)
            assert built == [100, 100]
            index.apply([], [], 33, world.vectors([70]))
            assert built == [100, 100, 104], "written over and new rows count together"

    def test_what_was_written_over_before_a_failure_is_found_by_its_new_vector(
        self, exact_max: int, tmp_path: Path, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with closing(opened(tmp_path, exact_max)) as index:
            index.apply([], world.entries(range(100)), 1)
            exact(index, world)
            added, given = world.entries([200]), world.vectors([3])

            def fails(*_: object) -> None:
                raise MemoryError

            with monkeypatch.context() as patch:
                patch.setattr(index, "_appended", fails)
                with pytest.raises(MemoryError):
                    index.apply([], added, 2, given)
            assert index.position() == 1
            index.apply([], added, 2, given)
            assert index.search(given[0].vector, 1, None, None).ids.tolist() == [3]

    def test_where_all_is_removed_while_a_search_waits_for_faiss_it_finds_nothing(
        self, exact_max: int, tmp_path: Path, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        build = VectorIndex._build

        def late(index: VectorIndex) -> None:
            index.apply(range(50), [], 2)
            build(index)

        monkeypatch.setattr(VectorIndex, "_build", late)
        with closing(opened(tmp_path, exact_max)) as index:
            index.apply([], world.entries(range(100)), 1)
            if exact_max:  # the first is not by FAISS
                index.search(world.vector(), 5, None, None)
            assert index.search(world.vector(), 5, None, None).ids.tolist() == []

    def test_the_first_search_and_sums_make_nothing_that_others_need_and_find_the_same(
        self, exact_max: int, tmp_path: Path, world: World, built: list[int]
    ) -> None:
        with closing(opened(tmp_path, exact_max)) as index:
            index.apply([], world.entries(range(100)), 1)
            index.apply([7], [], 2)
            query, some = world.vector(), np.array([3, 7, 20])
            first, sums = index.search(query, 20, None, None), index.sums(some)
            assert built == ([] if exact_max else [98]), "dead rows are left out"
            second = index.search(query, 20, None, None)
            assert built
            assert first.ids.tolist() == second.ids.tolist()
            assert first.scores.tolist() == second.scores.tolist()
            np.testing.assert_array_equal(sums, index.sums(some))

    def test_dead_rows_and_written_over_rows_together(
        self, exact_max: int, tmp_path: Path, world: World, built: list[int]
    ) -> None:
        with closing(opened(tmp_path, exact_max)) as index:
            index.apply([], world.entries(range(100)), 1)
            exact(index, world)
            given = world.vectors([0, 1, 2, 3])
            index.apply([], [], 2, given)
            index.apply([0, 30], [], 3)
            assert built == [100]
            for entry in given:
                ranking = index.search(entry.vector, 200, None, None)
                assert set(ranking.ids.tolist()) == set(range(100)) - {0, 1, 60, 61}
                assert (ranking.ids[0] == entry.chunk_id) == (entry.chunk_id > 1)
            index.apply(range(10, 25), [], 4, world.vectors([99], exact=False))
            assert index.describe()["vector_bytes"] == 66 * DIMENSION * 2
            assert built == [100, 66]
            assert exact(index, world) == {
                key: key != 99 for key in [2, 3, *range(4, 20), *range(50, 60), *range(62, 100)]
            }

    @pytest.mark.parametrize("seed", range(3))
    def test_any_sequence_of_changes_gives_what_the_reference_gives(
        self, exact_max: int, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, built: list[int]
    ) -> None:
        monkeypatch.setattr(scanners, "_RESCORED", 8)
        monkeypatch.setattr(module, "_SAVE_AFTER_ROWS", 40)
        monkeypatch.setattr(module, "_LEFT_SHARE", 0.0)
        world = World(seed)
        chosen: list[Int64] = [np.empty(0, np.int64)]

        def select(where: Filter) -> Int64:
            return chosen[0]

        reference = ReferenceIndex(DIMENSION, select)
        index = opened(tmp_path, exact_max)
        for position in range(1, 80):
            change = self.change(world, position)
            index.apply(change[0], change[1], position, change[2])
            reference.apply(change[0], change[1], position, change[2])
            if world.random.random() < 0.1:
                index.close()
                index = opened(tmp_path, exact_max)
                if index.position() < position:
                    assert not change[0]
                    index.apply([], [], position)
            chosen[0] = np.sort(world.random.choice(60, 40, replace=False))
            self.compare(index, reference, world, chosen[0])
        assert len(built) > 3
        index.close()

    def change(self, world: World, position: int) -> tuple[Sequence[int], Sequence[IndexEntry], Sequence[VectorEntry]]:
        """Draw a change of documents, of vectors, of both or of neither; chunks that are given vectors exist."""
        random = world.random
        if position == 1:
            return [], world.entries(range(120)), []
        kind = random.integers(5)
        documents = random.choice(60, random.integers(1, 6), replace=False)
        others = np.setdiff1d(np.arange(60), documents)
        given = world.vectors((random.choice(others, random.integers(1, 8)) * 2).tolist(), bool(random.integers(2)))
        if kind == 0:
            return [], [], []
        if kind in (1, 2):
            return [], [], given
        ids = np.sort(np.concatenate([documents * 2, documents * 2 + 1])).tolist()
        added = world.entries(ids, bool(random.integers(2)), pending=bool(random.integers(3) == 0))
        return documents.tolist(), added if kind == 3 else added[:-1], given if kind == 4 else []

    def compare(self, index: VectorIndex, reference: ReferenceIndex, world: World, documents: Int64) -> None:
        contents = reference.contents()
        assert index.chunk_ids().tolist() == contents["vector"].tolist()
        assert index.exact_ids().tolist() == contents["exact"].tolist()
        assert np.array_equal(index.get(np.arange(130))[0], reference.vectors(np.arange(130)).own, equal_nan=True)
        query = world.vector()
        anything: Filter = parse({"any": "thing"})
        among = np.arange(0, 120, 7)
        for found, expected in (
            (index.search(query, 10, None, None), reference.vector(VectorQuery(query, 10))[0]),
            (index.search(query, 10, documents, None), reference.vector(VectorQuery(query, 10, anything))[0]),
            (index.search(query, 10, None, among), reference.vector(VectorQuery(query, 10, among=among))[0]),
            (index.search(query, 500, None, None), reference.vector(VectorQuery(query, 500))[0]),
        ):
            assert found.ids.tolist() == expected.ids.tolist()
            assert found.scores == pytest.approx(expected.scores, abs=1e-5)
            assert (found.exact is None) == (expected.exact is None)
            if found.exact is not None and expected.exact is not None:
                assert found.exact.tolist() == expected.exact.tolist()


class TestSnapshots:
    def test_vectors_given_alone_and_what_is_exact_are_saved(self, tmp_path: Path, world: World) -> None:
        given = world.vectors([1, 5])
        with closing(opened(tmp_path)) as index:
            index.apply([], world.entries(range(6), exact=False), 1)
        with closing(opened(tmp_path)) as index:
            index.apply([], [], 2, given)
        with closing(opened(tmp_path)) as index:
            assert index.position() == 2
            assert (held(index, 5) == given[1].vector).all()
            assert index.exact_ids().tolist() == [1, 5]

    def test_who_still_reads_the_snapshot_is_not_told_of_vectors_that_are_not_in_it(
        self, tmp_path: Path, world: World
    ) -> None:
        with closing(opened(tmp_path)) as index:
            index.apply([], world.entries(range(6), exact=False), 1)
        with closing(opened(tmp_path)) as index:
            before, old = index._view, held(index, 2)
            index.apply([], [], 2, world.vectors([2]))
            assert not before.exact.any()
            assert np.array_equal(before.matrix[np.array([2])][0], old.astype(np.float16))
            assert index.exact_ids().tolist() == [2]

    def test_a_snapshot_of_the_older_format_is_dropped_quietly(
        self, tmp_path: Path, world: World, caplog: pytest.LogCaptureFixture
    ) -> None:
        with closing(opened(tmp_path)) as index:
            index.apply([], world.entries(range(6)), 1)
        snapshot = tmp_path / "vectors" / "1"
        (snapshot / "exact.npy").unlink()
        about = json.loads((snapshot / "about.json").read_text())
        del about["format"], about["crc32"]
        (snapshot / "about.json").write_text(json.dumps(about))
        with caplog.at_level(logging.INFO), closing(opened(tmp_path)) as index:
            assert index.position() == 0
        assert [record.levelname for record in caplog.records] == ["INFO"]
        assert "format 1" in caplog.text
        assert not snapshot.exists()

    def test_a_small_change_is_not_worth_writing_everything_again(self, tmp_path: Path, world: World) -> None:
        def saved() -> list[str]:
            return [path.name for path in (tmp_path / "vectors").iterdir()]

        with closing(opened(tmp_path)) as index:
            index.apply([], world.entries(range(200)), 1)
        assert saved() == ["1"]
        with closing(opened(tmp_path)) as index:
            index.apply([], [], 2, world.vectors(range(2)))
        assert saved() == ["1"]
        with closing(opened(tmp_path)) as index:
            assert index.position() == 1, "it is read from the catalogue again"
            index.apply([], [], 3, world.vectors(range(3)))
        assert saved() == ["3"]

    def test_many_vectors_given_alone_are_saved_before_closing(
        self, tmp_path: Path, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(module, "_SAVE_AFTER_ROWS", 10)
        with closing(opened(tmp_path)) as index:
            index.apply([], world.entries(range(10)), 1)
            for position in range(2, 5):
                index.apply([], [], position, world.vectors(range(4)))
            assert [path.name for path in (tmp_path / "vectors").iterdir()] == ["4"]


def test_every_half_precision_number_comes_back_as_it_is(tmp_path: Path) -> None:
    numbers = np.arange(2**16, dtype=np.uint16).view(np.float16)
    rows = numbers[np.isfinite(numbers)].reshape(-1, 1024).astype(np.float32)
    with closing(opened(tmp_path, dimension=1024)) as index:
        index.apply([], [IndexEntry(i, i, "", "", "", "", (), row) for i, row in enumerate(rows)], 1)
        assert (index.get(np.arange(len(rows)))[0] == rows).all()


def test_other_settings_are_tried_on_the_same_vectors_and_leave_the_index_as_it_is(
    small: None, tmp_path: Path, built: list[int]
) -> None:
    chance = np.random.default_rng(3)
    matrix = chance.standard_normal((400, DIMENSION)).astype(np.float32)
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    entries = [IndexEntry(i, i, "", "", "", "", (), matrix[i]) for i in range(len(matrix))]
    with closing(opened(tmp_path)) as index:
        index.apply([], entries, 1)
        index.search(matrix[0], 1, None, None)
        some, most = index.with_settings(0, 0.05), index.with_settings(0, 1.0)
        narrow = most.with_settings(0, 0.05)
        assert built == [400] * 3, "once for the index, once for each that is approximate; not for another share"
        assert index.describe()["vector_search"] == "exact (8 bit, re-scored)"
        assert some.describe()["vector_search"] == "approximate (IVF of 1 bit, 5.0% read, re-scored)"
        shares: dict[str, list[float]] = {"some": [], "narrow": [], "most": []}
        for query in matrix[:40]:
            best = set(index.search(query, 20, None, None).ids.tolist())
            for name, one in (("some", some), ("narrow", narrow), ("most", most)):
                shares[name].append(len(best & set(one.search(query, 20, None, None).ids.tolist())) / 20)
    found = {name: float(np.mean(values)) for name, values in shares.items()}
    assert found["most"] > 0.99
    assert found["some"] == found["narrow"] < 0.8
