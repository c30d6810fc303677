"""The sums of documents' vectors: kept up to date, they are what making them anew gives, to the bit."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pinakes.core.records import Float32, IndexEntry, Int64, VectorEntry
from pinakes.indexes.vector import vector_view as module
from pinakes.indexes.vector.faiss_index import VectorIndex
from pinakes.indexes.vector.vector_view import DocumentSums

DIMENSION = 6


class Rows:
    """Rows as an index has them: appended to, marked dead, written over; document 7's chunks are 70, 71 …"""

    def __init__(self, seed: int = 1) -> None:
        self.random = np.random.default_rng(seed)
        self.ids = self.documents = np.empty(0, np.int64)
        self.matrix = np.empty((0, DIMENSION), np.float16)
        self.alive = np.empty(0, np.bool_)

    def draw(self, count: int) -> np.ndarray[tuple[int, int], np.dtype[np.float16]]:
        return self.random.standard_normal((count, DIMENSION)).astype(np.float16)

    def put(self, document: int, count: int) -> None:
        self.alive &= self.documents != document
        added = document * 10 + self.random.permutation(count)
        self.ids = np.concatenate([self.ids, added])
        self.documents = np.concatenate([self.documents, np.full(count, document)])
        self.matrix = np.concatenate([self.matrix, self.draw(count)])
        self.alive = np.concatenate([self.alive, np.ones(count, np.bool_)])

    def write_over(self, document: int) -> None:
        rows = np.flatnonzero(self.alive & (self.documents == document))
        chosen = rows[self.random.random(len(rows)) < 0.5]
        self.matrix[chosen] = self.draw(len(chosen))

    def anew(self) -> DocumentSums:
        return DocumentSums.from_rows(self.ids, self.documents, self.matrix, np.flatnonzero(self.alive))

    def updated(self, before: DocumentSums, touched: Int64) -> DocumentSums:
        return before.updated(touched, self.ids, self.documents, self.matrix, self.alive)


def assert_same(found: DocumentSums, expected: DocumentSums) -> None:
    assert found.documents.tolist() == expected.documents.tolist()
    assert found.matrix.dtype == np.float32
    assert found.matrix.tobytes() == expected.matrix.tobytes()


CHANGES = st.lists(
    st.lists(st.tuples(st.integers(0, 8), st.sampled_from(["put", "drop", "over"]), st.integers(0, 9)), max_size=5),
    max_size=8,
)


@given(CHANGES, st.integers(0, 2**32 - 1))
@settings(max_examples=60)
def test_updated_after_any_changes_they_are_those_made_anew(steps: list[list[tuple[int, str, int]]], seed: int) -> None:
    rows, kept = Rows(seed), DocumentSums.none(DIMENSION)
    for step in steps:
        for document, change, count in step:
            if change == "over":
                rows.write_over(document)
            else:
                rows.put(document, 0 if change == "drop" else count)
        kept = rows.updated(kept, np.array([document for document, _, _ in step], np.int64))
        assert_same(kept, rows.anew())


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=30)
def test_they_do_not_depend_on_the_order_of_the_rows(seed: int) -> None:
    rows = Rows(seed)
    for document in rows.random.permutation(12).tolist():
        rows.put(document, int(rows.random.integers(0, 10)))
    expected, order = rows.anew(), rows.random.permutation(len(rows.ids))
    rows.ids, rows.documents, rows.matrix = rows.ids[order], rows.documents[order], rows.matrix[order]
    rows.alive = rows.alive[order]
    assert_same(rows.anew(), expected)


def test_they_do_not_depend_on_how_many_rows_are_added_up_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = Rows()
    for document in range(20):
        rows.put(document, 1 + document % 9)
    expected = rows.anew()
    for at_once in (1, 7, 50):
        monkeypatch.setattr(module, "_ROWS_AT_ONCE", at_once)
        assert_same(rows.anew(), expected)


def test_a_sum_is_that_of_the_vectors() -> None:
    rows = Rows()
    rows.put(3, 4)
    rows.put(1, 1)
    found = rows.anew().get(np.array([1, 3]))
    assert np.array_equal(found[0], rows.matrix[rows.documents == 1][0].astype(np.float32))
    assert found[1] == pytest.approx(rows.matrix[rows.documents == 3].astype(np.float64).sum(axis=0), abs=1e-5)


def test_a_document_without_vectors_has_none() -> None:
    rows = Rows()
    rows.put(3, 2)
    for asked in ([0], [2], [4], [99]):
        assert np.isnan(rows.anew().get(np.array(asked))).all()
    rows.put(3, 0)
    assert np.isnan(rows.anew().get(np.array([3]))).all()
    assert DocumentSums.none(DIMENSION).get(np.array([1, 2])).shape == (2, DIMENSION)
    assert DocumentSums.none(DIMENSION).get(np.empty(0, np.int64)).shape == (0, DIMENSION)


def test_where_no_document_comes_or_goes_all_sums_are_copied_once() -> None:
    count, dimension = 4000, 256
    ids, every = np.arange(count), np.ones(count, np.bool_)
    matrix = np.random.default_rng(1).standard_normal((count, dimension)).astype(np.float16)
    before = DocumentSums.from_rows(ids, ids, matrix, ids)
    touched = np.array([3999, 7, 80])
    expected = before.matrix.copy()
    matrix[touched] = expected[touched] = 1
    tracemalloc.start()
    try:
        found = before.updated(touched, ids, ids, matrix, every)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert_same(found, DocumentSums(ids, expected))
    assert before.matrix[7, 0] != 1, "who reads the old ones is not disturbed"
    assert peak < 1.2 * expected.nbytes


class TestOfAnIndex:
    @pytest.fixture
    def index(self, tmp_path: Path) -> Iterator[VectorIndex]:
        with closing(VectorIndex(tmp_path / "vectors", DIMENSION, "", 1000, 1.0)) as one:
            yield one

    @staticmethod
    def entries(document: int, vectors: list[Float32 | None]) -> list[IndexEntry]:
        return [
            IndexEntry(document * 10 + number, document, "", "", "", "", (), vector)
            for number, vector in enumerate(vectors)
        ]

    def test_they_follow_every_change(self, index: VectorIndex) -> None:
        one, two, three = np.eye(3, DIMENSION, dtype=np.float32)
        index.apply([], self.entries(1, [one, two]) + self.entries(2, [three, None]), 1)
        assert index.sums(np.array([1, 2])).tolist() == [(one + two).tolist(), three.tolist()]
        index.apply([], [], 2, [VectorEntry(21, 2, one), VectorEntry(11, 1, three)])
        assert index.sums(np.array([1, 2])).tolist() == [(one + three).tolist(), (three + one).tolist()]
        index.apply([], self.entries(1, [two]), 3)
        assert index.sums(np.array([1])).tolist() == [two.tolist()]
        index.apply([1], [], 4)
        assert np.isnan(index.sums(np.array([1]))).all()
        assert index.sums(np.array([2])).tolist() == [(three + one).tolist()]

    def test_an_index_that_is_opened_again_has_the_same(self, index: VectorIndex, tmp_path: Path) -> None:
        random = np.random.default_rng(1)
        vectors = list(random.standard_normal((9, DIMENSION)).astype(np.float16).astype(np.float32))
        index.apply([], self.entries(4, vectors[:4]) + self.entries(2, vectors[4:]), 1)
        index.apply([], self.entries(4, vectors[2:6]), 2)
        expected = index.sums(np.array([2, 3, 4]))
        index.close()
        with closing(VectorIndex(tmp_path / "vectors", DIMENSION, "", 1000, 1.0)) as again:
            assert again.position() == 2
            assert again.sums(np.array([2, 3, 4])).tobytes() == expected.tobytes()
