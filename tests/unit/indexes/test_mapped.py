"""Arrays in a file without a name: they grow at their end, are written over, and outlast the file's being let go."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from small_disk import small_file_system

from pinakes.indexes import mapped
from pinakes.indexes.mapped import MappedRows, blocks

WIDTH = 3


def rows(first: int, count: int) -> np.ndarray:
    return np.arange(first, first + count).repeat(WIDTH).reshape(count, WIDTH).astype(np.float16)


@pytest.fixture
def room(tmp_path: Path) -> Iterator[MappedRows]:
    with closing(MappedRows(tmp_path / "rows", WIDTH)) as one:
        yield one


def test_rows_are_appended_and_older_arrays_stay_as_they_were(room: MappedRows) -> None:
    arrays = [room.extended(rows(0, 0), rows(0, 5))]
    for _ in range(300):
        arrays.append(room.extended(arrays[-1], rows(len(arrays[-1]), 4)))
    for count, array in enumerate(arrays):
        assert np.array_equal(array, rows(0, 5 + 4 * count))
        assert array.dtype == np.float16


def test_what_comes_from_elsewhere_is_copied_and_not_written_over(room: MappedRows) -> None:
    before = rows(0, 10)
    longer = room.extended(before, rows(10, 2))
    changed = room.overwritten(longer, np.array([1, 11]), rows(100, 2))
    other = room.overwritten(before, np.array([3]), rows(200, 1))
    assert np.array_equal(before, rows(0, 10))
    assert changed[:, 0].tolist() == [0, 100, 2, 3, 4, 5, 6, 7, 8, 9, 10, 101]
    assert other[:, 0].tolist() == [0, 1, 2, 200, 4, 5, 6, 7, 8, 9]
    assert np.array_equal(changed, longer), "the same rows of the same file"


def test_a_part_of_an_array_is_not_taken_for_its_beginning(room: MappedRows) -> None:
    whole = room.extended(rows(0, 0), rows(0, 10))
    longer = room.extended(whole[4:6], rows(100, 1))
    assert np.array_equal(longer, np.concatenate([rows(4, 2), rows(100, 1)]))
    assert np.array_equal(whole, rows(0, 10))


def test_rows_may_be_made_of_those_they_take_the_place_of(room: MappedRows) -> None:
    whole = room.extended(rows(0, 0), rows(0, 2000))
    kept = room.of(whole, np.arange(0, len(whole), 2))
    assert np.array_equal(kept, whole[::2])
    assert np.array_equal(room.extended(kept, rows(7, 1)), np.concatenate([whole[::2], rows(7, 1)]))


def test_arrays_outlast_the_file_and_nothing_of_it_is_seen(room: MappedRows, tmp_path: Path) -> None:
    array = room.extended(rows(0, 0), rows(0, 1000))
    assert list((tmp_path / "rows").iterdir()) == []
    room.close()
    assert np.array_equal(array, rows(0, 1000))
    assert np.array_equal(room.extended(array, rows(1000, 5)), rows(0, 1005))


def test_on_a_full_disk_rows_are_held_in_memory(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with small_file_system(tmp_path / "small", 1) as small, closing(MappedRows(small / "rows", WIDTH)) as room:
        array = room.extended(rows(0, 0), rows(0, 1000))
        many = np.ones((1_000_000, WIDTH), np.float16)
        longer = room.extended(array, many)
        assert "held in memory" in caplog.text
        longer = room.extended(longer, rows(5, 1))
        longer = room.overwritten(longer, np.array([3, 2000]), rows(100, 2))
        expected = np.concatenate([rows(0, 1000), many, rows(5, 1)])
        expected[[3, 2000]] = rows(100, 2)
        assert np.array_equal(longer, expected)
        assert np.array_equal(room.of(longer, np.arange(2, 900_000)), expected[2:900_000])
        assert np.array_equal(array, rows(0, 1000)), "what was there before stays"
        caplog.clear()
        assert np.array_equal(room.extended(longer[:10], rows(1, 1)), np.concatenate([expected[:10], rows(1, 1)]))
        assert caplog.text == "", "the file of what did not fit is gone"


def test_what_is_in_no_file_can_be_written_over_on_a_full_disk(tmp_path: Path) -> None:
    with closing(MappedRows(tmp_path / "gone" / "rows", WIDTH)) as room:
        before = rows(0, 10)
        before.flags.writeable = False
        changed = room.overwritten(before, np.array([2]), rows(50, 1))
        assert changed[:, 0].tolist() == [0, 1, 50, 3, 4, 5, 6, 7, 8, 9]
        assert np.array_equal(before, rows(0, 10))
        assert not (tmp_path / "gone").exists()


def test_blocks_are_all_rows_in_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mapped, "_ROWS_AT_ONCE", 4)
    matrix = rows(0, 10)
    assert [len(block) for block in blocks(matrix)] == [4, 4, 2]
    assert np.array_equal(np.concatenate(list(blocks(matrix))), matrix)
    assert np.array_equal(np.concatenate(list(blocks(matrix, np.array([9, 1, 5, 0, 2])))), matrix[[9, 1, 5, 0, 2]])
    assert list(blocks(matrix[:0])) == []
