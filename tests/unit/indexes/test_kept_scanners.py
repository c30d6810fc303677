"""The approximate index on disk: opened as it was, followed, and built again where it is lost, damaged or older."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from pinakes.core.records import Float32, IndexEntry, Int64, VectorEntry
from pinakes.indexes.opening import Opening
from pinakes.indexes.storage import checksums
from pinakes.indexes.vector import scanners
from pinakes.indexes.vector.faiss_engine import FaissEngine
from pinakes.indexes.vector.faiss_index import VectorIndex
from pinakes.indexes.vector.mapped_rows import MappedRows, VectorRows
from pinakes.settings import IndexSettings, Settings

DIMENSION = 16
ROWS = 3000
"""More than are compared without FAISS."""


def vectors(count: int, seed: int) -> Float32:
    drawn = np.random.default_rng(seed).standard_normal((count, DIMENSION))
    rounded = (drawn / np.linalg.norm(drawn, axis=1, keepdims=True)).astype(np.float16)
    return rounded.astype(np.float32)


def entries(first: int, count: int, seed: int = 1) -> list[IndexEntry]:
    rows = vectors(count, seed)
    return [IndexEntry(first + n, (first + n) // 2, "", "", "", "", (), rows[n]) for n in range(count)]


def opened(folder: Path, share: float = 1.0) -> VectorIndex:
    return VectorIndex(folder / "vectors", DIMENSION, "label", 0, share)


def found(index: VectorIndex, count: int = 20) -> list[tuple[list[int], list[float]]]:
    rankings = [index.search(query, 10, None, None) for query in vectors(count, 99)]
    return [(one.ids.tolist(), [round(score, 5) for score in one.scores.tolist()]) for one in rankings]


def scanner_folder(folder: Path) -> Path:
    [about] = (folder / "vectors").glob(f"*/{scanners.ABOUT}")
    return about.parent


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kept")
    with closing(opened(folder)) as index:
        index.apply([], entries(0, ROWS), 1)
    return folder


@pytest.fixture
def kept(pristine: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(pristine, tmp_path / "copy"))


class TestFollowing:
    def test_it_is_opened_as_it_was_closed_and_answers_as_an_exact_scan(self, kept: Path) -> None:
        with closing(opened(kept)) as index:
            assert index._view.scanner is not None
            assert index._view.scanner.is_kept
            matrix = vectors(ROWS, 1)
            right = [np.argsort(-(matrix @ query), kind="stable")[:10] for query in vectors(20, 99)]
            shared = [np.intersect1d(ids, best) for (ids, _), best in zip(found(index), right, strict=True)]
            assert sum(map(len, shared)) >= 0.97 * 200

    def test_changes_after_it_are_found_and_what_went_is_not(self, kept: Path) -> None:
        with closing(opened(kept)) as index:
            added, given = entries(ROWS, 20, seed=2), VectorEntry(40, 20, vectors(1, 3)[0])
            index.apply([5, 6], added, 2, [given])
            for entry in added:
                assert entry.vector is not None
                assert index.search(entry.vector, 1, None, None).ids.tolist() == [entry.chunk_id]
            assert index.search(given.vector, 1, None, None).ids.tolist() == [40]
            everything = index.search(given.vector, 2 * ROWS, None, None).ids.tolist()
            assert sorted(everything) == [n for n in range(ROWS + 20) if n not in (10, 11, 12, 13)]
            assert index.damaged() == []
        with closing(opened(kept)) as index:
            assert index.position() == 1, "so few changes are read again"

    def test_many_changes_are_taken_into_it_and_the_file_takes_the_place_of_the_old_one(self, kept: Path) -> None:
        with closing(opened(kept)) as index:
            index.apply(range(100), entries(ROWS, 700, seed=2), 2)
            assert index._view.scanned == ROWS + 700 - 200
            before = found(index)
            assert scanner_folder(kept).name == "2"
        with closing(opened(kept)) as index:
            assert found(index) == before
            assert index._view.scanner is not None

    @pytest.mark.parametrize("seed", range(3))
    def test_any_sequence_of_changes_and_openings_gives_what_an_index_made_anew_gives(
        self, seed: int, tmp_path: Path
    ) -> None:
        chance = random.Random(seed)
        index, count = opened(tmp_path / "one"), 2500
        current = {entry.chunk_id: entry for entry in entries(0, count, seed)}
        index.apply([], list(current.values()), 1)
        for position in range(2, 14):
            added = entries(count, chance.choice((2, 50, 600)), seed * 100 + position)
            count += len(added)
            gone = chance.sample(range(count // 2 - 400), chance.choice((0, 5, 200)))
            current |= {entry.chunk_id: entry for entry in added}
            for document in gone:
                for chunk in (2 * document, 2 * document + 1):
                    current.pop(chunk, None)
            changed = chance.sample(sorted(current), 30)
            given = [VectorEntry(key, key // 2, row) for key, row in zip(changed, vectors(30, position), strict=True)]
            index.apply(gone, added, position, given)
            ignored = {entry.document_id for entry in added}
            for one in given:
                if one.document_id not in ignored:
                    current[one.chunk_id] = IndexEntry(one.chunk_id, one.document_id, "", "", "", "", (), one.vector)
            if chance.random() < 0.4:
                index.close()
                index = opened(tmp_path / "one")
                if index.position() < position:
                    index.apply(gone, added, position, given)
        matrix = np.stack([current[key].vector for key in sorted(current)])  # type: ignore[misc]
        ids = np.array(sorted(current))
        assert index.chunk_ids().tolist() == ids.tolist()
        for query in vectors(10, 7):
            best = index.search(query, 1, None, None)
            assert best.scores[0] == pytest.approx(float((matrix @ query).max()), abs=1e-3)
        assert np.array_equal(index.get(ids)[0], matrix)
        index.close()

    def test_sums_of_documents_are_those_of_their_rows(self, kept: Path) -> None:
        with closing(opened(kept)) as index:
            index.apply([5], entries(ROWS, 4, seed=2), 2)
            sums = index.sums(np.array([5, 7, ROWS // 2, 10**6]))
            assert np.isnan(sums[[0, 3]]).all()
            rows = vectors(ROWS, 1)
            np.testing.assert_allclose(sums[1], rows[14] + rows[15], atol=1e-6)
            np.testing.assert_allclose(sums[2], vectors(4, 2)[:2].sum(axis=0), atol=1e-6)

    def test_searches_go_on_while_a_large_one_is_built_and_changes_meanwhile_are_kept(self, tmp_path: Path) -> None:
        count = 51_000
        with closing(opened(tmp_path)) as index:
            index.apply([], entries(0, count), 1)
            query = vectors(1, 99)[0]
            right = np.argsort(-(vectors(count, 1) @ query), kind="stable")[:10]
            assert index.search(query, 10, None, None).ids.tolist() == right.tolist(), "exact until it is there"
            given = VectorEntry(int(right[3]), int(right[3]) // 2, query)
            index.apply([int(right[0]) // 2], entries(count, 2, seed=5), 2, [given])
            deadline = time.monotonic() + 60
            while index._view.scanner is None and time.monotonic() < deadline:
                time.sleep(0.05)
            ids = index.search(query, 10, None, None).ids.tolist()
            assert ids[0] == right[3]
            assert right[0] not in ids
            assert index.position() == 2
            assert set(range(count, count + 2)) <= set(index.chunk_ids().tolist())
        assert scanner_folder(tmp_path)


class TestDamage:
    def damaged_bit(self, folder: Path) -> None:
        for name in (scanners.CODES, scanners.ABOUT):
            file = scanner_folder(folder) / name
            data = bytearray(file.read_bytes())
            data[random.Random(len(name)).randrange(len(data))] ^= 4
            file.write_bytes(data)

    def cut_short(self, folder: Path) -> None:
        file = scanner_folder(folder) / scanners.CODES
        os.truncate(file, file.stat().st_size // 2)

    def lost_codes(self, folder: Path) -> None:
        (scanner_folder(folder) / scanners.CODES).unlink()

    def of_other_rows(self, folder: Path) -> None:
        with closing(opened(folder / "other")) as index:
            index.apply([], entries(0, ROWS, seed=4), 1)
        for name in (scanners.CODES, scanners.ABOUT):
            shutil.copy(scanner_folder(folder / "other") / name, scanner_folder(folder) / name)
        shutil.rmtree(folder / "other")

    def of_an_older_version(self, folder: Path) -> None:
        file = scanner_folder(folder) / scanners.ABOUT
        file.write_text(checksums.sealed({**checksums.unsealed(file.read_text("utf-8")), "format": 0}), "utf-8")

    def no_inverted_file(self, folder: Path) -> None:
        """Its checksums are right, its content is not."""
        file = scanner_folder(folder) / scanners.CODES
        file.write_bytes(b"IxXX" + file.read_bytes()[4:])
        about = checksums.unsealed((scanner_folder(folder) / scanners.ABOUT).read_text("utf-8"))
        about["crc"] = checksums.crc_of(file)
        (scanner_folder(folder) / scanners.ABOUT).write_text(checksums.sealed(about), "utf-8")

    @pytest.mark.parametrize(
        "damage", [damaged_bit, cut_short, lost_codes, of_other_rows, of_an_older_version, no_inverted_file]
    )
    def test_what_is_damaged_or_of_something_else_is_told_and_built_again(
        self, damage: Callable[[TestDamage, Path], None], kept: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        with closing(opened(kept)) as index:
            right = found(index)
        damage(self, kept)
        with closing(opened(kept)) as index:
            assert "the scanner of vectors" in caplog.text
            assert found(index) == right
            assert index._view.scanner is not None
        assert scanners.problem(scanner_folder(kept)) == ""

    def test_a_snapshot_of_before_there_were_scanners_gets_one(self, kept: Path) -> None:
        with closing(opened(kept)) as index:
            right = found(index)
        scanners.remove(scanner_folder(kept))
        with closing(opened(kept)) as index:
            assert found(index) == right
        assert scanner_folder(kept).name == "1"

    def test_verify_tells_what_was_damaged_since_it_was_opened(self, kept: Path) -> None:
        settings = Settings(index=IndexSettings(exact_max_vectors=0))
        nothing = np.empty(0, np.int64)
        with closing(FaissEngine(Opening(kept, DIMENSION, lambda _: nothing, settings, "label"))) as engine:
            assert engine.damaged() == {"vector": []}
            self.damaged_bit(kept)
            [(name, problem)] = engine.damaged()["vector"]
            assert name == scanners.CODES
            assert problem

    @pytest.mark.parametrize("delay_ms", [0, 5])
    def test_a_process_that_is_killed_while_it_writes_leaves_what_can_be_used(self, delay_ms: int, kept: Path) -> None:
        with closing(opened(kept)) as index:
            right = found(index)
        scanners.remove(scanner_folder(kept))
        script = (
            "import sys; from pathlib import Path; from test_kept_scanners import *\n"
            "folder = Path(sys.argv[1])\n"
            "while True:\n"
            "    index = opened(folder); found(index); index.close(); print('kept', flush=True)\n"
            "    scanners.remove(scanner_folder(folder))\n"
        )
        child = subprocess.Popen(
            [sys.executable, "-c", script, str(kept)],
            env={**os.environ, "PYTHONPATH": f"{Path(__file__).parent}"},
            stdout=subprocess.PIPE,
        )
        with child:
            assert child.stdout is not None
            child.stdout.readline()
            deadline = time.monotonic() + 30
            while not list((kept / "vectors").glob("*/*.tmp")) and time.monotonic() < deadline:
                pass
            time.sleep(delay_ms / 1000)
            child.send_signal(signal.SIGKILL)
        with closing(opened(kept)) as index:
            assert found(index) == right
        assert scanners.problem(scanner_folder(kept)) == ""
        assert json.loads((scanner_folder(kept) / scanners.ABOUT).read_text("utf-8"))["rows"] == ROWS


class TestVectorRows:
    @pytest.fixture
    def file(self, tmp_path: Path) -> Iterator[MappedRows]:
        with closing(MappedRows(tmp_path / "rows", DIMENSION)) as one:
            yield one

    @pytest.mark.parametrize("begun", [0, 1, 40])
    def test_any_changes_give_what_an_array_gives(self, begun: int, file: MappedRows) -> None:
        chance = np.random.default_rng(begun)
        expected = vectors(begun, 1).astype(np.float16)
        expected.flags.writeable = False
        rows = VectorRows.of(expected)
        for step in range(30):
            if step % 3 == 0 and len(rows):
                places: Int64 = np.sort(chance.choice(len(rows), min(5, len(rows)), replace=False))
                others = vectors(len(places), step).astype(np.float16)
                rows, expected = rows.overwritten(file, places, others), expected.copy()
                expected[places] = others
            else:
                more = vectors(int(chance.integers(0, 6)), step).astype(np.float16)
                rows, expected = rows.appended(file, more), np.concatenate([expected, more])
            assert rows.shape == expected.shape
            assert rows.nbytes == expected.nbytes
            drawn = chance.integers(0, max(1, len(rows)), min(9, len(rows)))
            assert np.array_equal(rows[drawn], expected[drawn])
            assert np.array_equal(rows[3:17], expected[3:17])
            assert np.array_equal(rows[:], expected)
