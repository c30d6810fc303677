"""Arrays in a file without a name: they grow at their end, are written over, and outlast the file's being let go."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from small_disk import small_file_system

from pinakes.indexes.vector import mapped_rows
from pinakes.indexes.vector.mapped_rows import MappedRows, blocks

WIDTH = 3
ROOM_BYTES = 100_000


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
    kept = room.copy_rows(whole, np.arange(0, len(whole), 2))
    assert np.array_equal(kept, whole[::2])
    assert np.array_equal(room.extended(kept, rows(7, 1)), np.concatenate([whole[::2], rows(7, 1)]))


def test_arrays_outlast_the_file_and_nothing_of_it_is_seen(room: MappedRows, tmp_path: Path) -> None:
    array = room.extended(rows(0, 0), rows(0, 1000))
    assert list((tmp_path / "rows").iterdir()) == []
    room.close()
    assert np.array_equal(array, rows(0, 1000))
    assert np.array_equal(room.extended(array, rows(1000, 5)), rows(0, 1005))


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Let a disk be full when so many bytes were written since the list was emptied; record what is written."""
    written: list[int] = []
    write = os.pwrite

    def limited(file: int, data: memoryview, offset: int) -> int:
        written.append(len(data))
        if sum(written) > ROOM_BYTES:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(file, data, offset)

    monkeypatch.setattr(os, "pwrite", limited)
    return written


def test_on_a_full_disk_rows_are_held_in_memory(
    room: MappedRows, full: list[int], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    array = room.extended(rows(0, 0), rows(0, 1000))
    many = np.ones((100_000, WIDTH), np.float16)
    longer = room.extended(array, many)
    tried = len(full)
    longer = room.extended(longer, rows(5, 1))
    longer = room.overwritten(longer, np.array([3, 2000]), rows(100, 2))
    expected = np.concatenate([rows(0, 1000), many, rows(5, 1)])
    expected[[3, 2000]] = rows(100, 2)
    assert np.array_equal(longer, expected)
    assert np.array_equal(room.copy_rows(longer, np.arange(2, 90_000)), expected[2:90_000])
    assert np.array_equal(array, rows(0, 1000)), "what was there before stays"
    assert len(full) == tried, "it is not tried each time"
    assert caplog.text.count("held in memory") == 1
    full.clear()
    monkeypatch.setattr(mapped_rows, "_RETRY_S", 0.0)
    monkeypatch.setattr(room, "_retry_at", 0.0)
    again = room.extended(longer[:10], rows(1, 1))
    assert np.array_equal(again, np.concatenate([expected[:10], rows(1, 1)]))
    assert not again.flags.writeable, "it lies in a file once more"


def test_a_full_disk_gets_its_room_back(tmp_path: Path) -> None:
    with small_file_system(tmp_path / "small", 1) as small, closing(MappedRows(small / "rows", WIDTH)) as room:
        array = room.extended(rows(0, 0), rows(0, 1000))
        room.extended(array, np.ones((1_000_000, WIDTH), np.float16))
        del array
        assert shutil.disk_usage(small).free > 900_000


def test_what_fails_otherwise_is_not_taken_for_rows(room: MappedRows, monkeypatch: pytest.MonkeyPatch) -> None:
    array = room.extended(rows(0, 0), rows(0, 2000))

    def fails(place: int, more: np.ndarray) -> None:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(room, "_write", fails)
        with pytest.raises(MemoryError):
            room.copy_rows(array, np.arange(100))
    longer = room.extended(array, rows(7, 1))
    assert np.array_equal(longer, np.concatenate([rows(0, 2000), rows(7, 1)]))


def test_what_is_in_no_file_can_be_written_over_on_a_full_disk(tmp_path: Path) -> None:
    with closing(MappedRows(tmp_path / "gone" / "rows", WIDTH)) as room:
        before = rows(0, 10)
        before.flags.writeable = False
        changed = room.overwritten(before, np.array([2]), rows(50, 1))
        assert changed[:, 0].tolist() == [0, 1, 50, 3, 4, 5, 6, 7, 8, 9]
        assert np.array_equal(before, rows(0, 10))
        assert not (tmp_path / "gone").exists()


def test_blocks_are_all_rows_in_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mapped_rows, "_ROWS_AT_ONCE", 4)
    matrix = rows(0, 10)
    assert [len(block) for block in blocks(matrix)] == [4, 4, 2]
    assert np.array_equal(np.concatenate(list(blocks(matrix))), matrix)
    assert np.array_equal(np.concatenate(list(blocks(matrix, np.array([9, 1, 5, 0, 2])))), matrix[[9, 1, 5, 0, 2]])
    assert list(blocks(matrix[:0])) == []
