"""Arrays that grow at their end: what was there stays, and is seldom copied."""

from __future__ import annotations

import numpy as np

from pinakes.indexes.vector.vector_arrays import extended
from pinakes.indexes.vector.vector_view import DocumentSums


def rows(first: int, count: int, dtype: type = np.float32) -> np.ndarray:
    return np.arange(first, first + count, dtype=dtype).repeat(3).reshape(count, 3)


def test_rows_are_appended_and_older_arrays_stay_as_they_were() -> None:
    arrays = [rows(0, 5)]
    for _ in range(300):
        arrays.append(extended(arrays[-1], rows(len(arrays[-1]), 4)))
    for count, array in enumerate(arrays):
        assert np.array_equal(array, rows(0, 5 + 4 * count))
        assert array.dtype == np.float32


def test_rows_are_seldom_copied() -> None:
    array, copies = rows(0, 2000), 0
    for _ in range(2000):
        longer = extended(array, rows(len(array), 1))
        copies += not np.shares_memory(longer, array)
        array = longer
    assert np.array_equal(array, rows(0, 4000))
    assert copies <= 8


def test_a_part_of_an_array_is_not_taken_for_its_beginning() -> None:
    whole = rows(0, 10).copy()
    longer = extended(whole[4:6], rows(100, 1))
    assert np.array_equal(longer, np.concatenate([whole[4:6], rows(100, 1)]))
    assert np.array_equal(whole, rows(0, 10)), "nothing was written over"


def test_no_rows_can_be_extended() -> None:
    assert np.array_equal(extended(np.empty((0, 3), np.float16), rows(1, 2, np.float16)), rows(1, 2, np.float16))


def test_sums_of_new_documents_are_those_of_all_made_at_once() -> None:
    chance = np.random.default_rng(3)
    documents = np.repeat(np.arange(1, 21, dtype=np.int64), 3)
    ids = np.arange(len(documents), dtype=np.int64)
    matrix = chance.standard_normal((len(ids), 4)).astype(np.float16)
    alive = np.ones(len(ids), np.bool_)
    grown = DocumentSums.none(4)
    for document in range(1, 21):
        until = 3 * document
        touched = np.array([document], np.int64)
        grown = grown.updated(touched, ids[:until], documents[:until], matrix[:until], alive[:until])
    whole = DocumentSums.from_rows(ids, documents, matrix, np.arange(len(ids)))
    assert np.array_equal(grown.documents, whole.documents)
    assert np.array_equal(grown.matrix, whole.matrix)
