"""The local engine: the contract, BM25 against its definition, damage, sharing and size."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pytest
from filelock import FileLock

from pinakes import testing
from pinakes.core.errors import Busy, IndexCorrupt, InvalidSetting
from pinakes.core.filters import parse
from pinakes.core.ports import Index, KeywordQuery, VectorQuery
from pinakes.core.records import Filter, Float32, IndexEntry, Int64, VectorEntry
from pinakes.indexes import open_index
from pinakes.indexes.combined import CombinedIndex
from pinakes.indexes.keyword.tantivy_index import KeywordIndex
from pinakes.platform import locks
from pinakes.platform.disk import folder_bytes
from pinakes.settings import IndexSettings, SearchSettings, Settings
from pinakes.testing import Corpus

PLAIN = SearchSettings(title_boost=0, path_boost=0, phrase_boost=0)
Select = Callable[[Filter], Int64]


def make(
    folder: Path, dimension: int, select: Select, index: IndexSettings | None = None, search: SearchSettings = PLAIN
) -> CombinedIndex:
    opened = open_index(Settings(index=index or IndexSettings(), search=search), folder, dimension, select)
    assert isinstance(opened, CombinedIndex)
    return opened


def filled(folder: Path, corpus: Corpus, index: IndexSettings | None = None) -> CombinedIndex:
    local = make(folder, corpus.dimension, corpus.select, index)
    local.apply(list(corpus.metadata), corpus.entries, 1)
    return local


@pytest.mark.parametrize("check", testing.INDEX_CHECKS, ids=testing.name_of)
def test_the_contract(check: Callable[[testing.MakeIndex, Path], None], tmp_path: Path) -> None:
    check(make, tmp_path)


@pytest.mark.parametrize("check", testing.INDEX_CHECKS, ids=testing.name_of)
def test_the_contract_with_boosts_as_they_are_set(
    check: Callable[[testing.MakeIndex, Path], None], tmp_path: Path
) -> None:
    # Paths hold no word of the queries, so that boosts change no set of hits.
    settings = Settings(home=tmp_path, search=SearchSettings(path_boost=0))
    check(lambda folder, dimension, select: open_index(settings, folder, dimension, select), tmp_path)


def test_an_unknown_engine_is_refused_by_name(tmp_path: Path) -> None:
    settings = Settings(index=IndexSettings(engine="lucene"))
    with pytest.raises(InvalidSetting, match="lucene") as caught:
        open_index(settings, tmp_path, 4, lambda where: np.empty(0, np.int64))
    assert "tantivy" in caught.value.hint


@pytest.mark.parametrize("query", ["heron", "krill lotus", "amber birch cedar delta ember fjord", "maple maple grove"])
def test_bm25_is_that_of_its_definition(query: str, tmp_path: Path) -> None:
    corpus = Corpus(documents=60)
    expected = corpus.reference().keyword(KeywordQuery(query, 1000))[0]
    with closing(filled(tmp_path, corpus)) as local:
        found = local.keyword(KeywordQuery(query, 1000))[0]
    scores = dict(zip(expected.ids.tolist(), expected.scores.tolist(), strict=True))
    assert set(found.ids.tolist()) == set(scores)
    assert found.scores == pytest.approx([scores[key] for key in found.ids.tolist()], rel=1e-4)
    assert expected.scores == pytest.approx(found.scores, rel=1e-4)


def entry(chunk_id: int, text: str, *, title: str = "", path: str = "a.md", header: str = "") -> IndexEntry:
    return IndexEntry(chunk_id, chunk_id, title, path, header, text, (), None)


@pytest.fixture
def local(tmp_path: Path) -> Iterator[CombinedIndex]:
    with closing(make(tmp_path, 4, lambda where: np.empty(0, np.int64), search=SearchSettings())) as index:
        yield index


def test_titles_paths_and_headers_are_found(local: CombinedIndex) -> None:
    entries = [
        entry(1, "one", title="The Otter"),
        entry(2, "two", path="sig-auth/otters.md"),
        entry(3, "x", header="Otter"),
    ]
    local.apply([], [*entries, entry(4, "nothing")], 1)
    assert set(local.keyword(KeywordQuery("otter", 10))[0].ids.tolist()) == {1, 2, 3}
    assert local.keyword(KeywordQuery("sig-auth", 10))[0].ids.tolist() == [2]


def test_words_that_stand_together_rank_higher(local: CombinedIndex) -> None:
    local.apply([], [entry(1, "heron fish grey water"), entry(2, "fish water grey heron")], 1)
    assert local.keyword(KeywordQuery("grey heron", 10))[0].ids.tolist() == [2, 1]


def test_a_part_of_a_compound_finds_it_and_the_whole_ranks_first(local: CombinedIndex) -> None:
    local.apply(
        [], [entry(1, "machinery for the api of a sig"), entry(2, "sig-api-machinery owns it"), entry(3, "else")], 1
    )
    assert local.keyword(KeywordQuery("sig-api-machinery", 10))[0].ids.tolist() == [2, 1]
    assert set(local.keyword(KeywordQuery("api", 10))[0].ids.tolist()) == {1, 2}


def stands(file: bytes) -> tuple[int, int]:
    """Return what the file that tells where a keyword index stands says."""
    found = json.loads(file)
    return found["position"], found["committed"]


class TestVectorsAlone:
    def vectors(self, corpus: Corpus) -> list[VectorEntry]:
        return [VectorEntry(one.chunk_id, one.document_id, corpus.vector(), exact=False) for one in corpus.entries]

    def files(self, folder: Path) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in (folder / "keyword").iterdir() if path.name[0] != "."}

    def test_the_keyword_index_is_not_written_but_its_position_moves(self, tmp_path: Path) -> None:
        corpus = Corpus()
        with closing(filled(tmp_path, corpus)) as index:
            before = self.files(tmp_path)
            index.apply([], [], 2, self.vectors(corpus))
            index.apply([], [], 5)
            after = self.files(tmp_path)
            assert index.position() == 5
        assert stands(after.pop("position.json")) == (5, 1)
        assert stands(before.pop("position.json")) == (1, 1)
        assert after == before

    def test_another_handle_need_not_load_the_keyword_index_again(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        corpus = Corpus()
        loaded: list[bool] = []
        search = KeywordIndex._searcher

        def searcher(self: KeywordIndex) -> object:
            before = self._seen
            found = search(self)
            loaded.append(self._seen != before)
            return found

        with closing(filled(tmp_path, corpus)) as one, closing(make(tmp_path, corpus.dimension, corpus.select)) as two:
            assert len(two.keyword(KeywordQuery("heron", 1000))[0])
            monkeypatch.setattr(KeywordIndex, "_searcher", searcher)
            one.apply([], [], 2, self.vectors(corpus))
            assert len(two.keyword(KeywordQuery("heron", 1000))[0])
            one.apply([], [entry(900, "zyzzyva")], 3)
            assert two.keyword(KeywordQuery("zyzzyva", 5))[0].ids.tolist() == [900]
            assert loaded == [False, True]

    def test_documents_that_follow_vectors_are_found(self, tmp_path: Path) -> None:
        corpus = Corpus()
        with closing(filled(tmp_path, corpus)) as index:
            index.apply([], [], 2, self.vectors(corpus))
            index.apply([], [entry(900, "zyzzyva")], 3, self.vectors(corpus))
            assert index.keyword(KeywordQuery("zyzzyva", 5))[0].ids.tolist() == [900]
            index.apply([], [], 4, self.vectors(corpus))
            assert index.keyword(KeywordQuery("zyzzyva", 5))[0].ids.tolist() == [900]
            assert index.position() == 4
        assert (
            json.loads((tmp_path / "keyword" / "position.json").read_text()).items()
            >= {"position": 4, "committed": 3}.items()
        )

    def test_a_position_as_it_was_written_before_is_read(self, tmp_path: Path) -> None:
        corpus = Corpus()
        filled(tmp_path, corpus).close()
        (tmp_path / "keyword" / "position.json").write_text('{"position": 1}')
        with closing(make(tmp_path, corpus.dimension, corpus.select)) as index:
            assert index.position() == 1
            assert len(index.keyword(KeywordQuery("heron", 1000))[0])
            index.apply([], [], 2, self.vectors(corpus))
        assert (
            json.loads((tmp_path / "keyword" / "position.json").read_text()).items()
            >= {"position": 2, "committed": 1}.items()
        )

    def test_a_filter_is_resolved_once_while_only_vectors_change(self, tmp_path: Path) -> None:
        corpus = Corpus()
        asked: list[Filter] = []

        def select(where: Filter) -> Int64:
            asked.append(where)
            return corpus.select(where)

        where = parse({"status": "beta"})
        with closing(make(tmp_path, corpus.dimension, select)) as index:
            index.apply([], corpus.entries, 1)
            for position in range(2, 5):
                index.apply([], [], position, self.vectors(corpus))
                assert len(index.vector(VectorQuery(corpus.vector(), 9, where))[0])
                assert len(index.keyword(KeywordQuery("heron", 9, where))[0])
            assert asked == [where]
            corpus.metadata[2] = {**corpus.metadata[2], "status": "beta"}
            index.apply([2], [one for one in corpus.entries if one.document_id == 2], 5)
            assert 2 in {
                one.document_id
                for one in corpus.entries
                if one.chunk_id in index.vector(VectorQuery(corpus.vector(), 999, where))[0].ids
            }
            assert asked == [where, where]

    def test_it_says_how_many_vectors_are_exact_unless_all_are(self, tmp_path: Path) -> None:
        corpus = Corpus()
        with closing(filled(tmp_path, corpus)) as index:
            assert "exact_vectors" not in index.describe()
            index.apply([], [], 2, self.vectors(corpus)[:7])
            assert index.describe()["exact_vectors"] == len(corpus.entries) - 7
            assert len(index.contents()["exact"]) == len(corpus.entries) - 7


@pytest.mark.parametrize("searched", [True, False], ids=["searched before", "only opened"])
def test_what_is_open_when_its_folder_is_dropped_answers_to_its_end(searched: bool, tmp_path: Path) -> None:
    corpus = Corpus(documents=40)
    filled(tmp_path / "index", corpus).close()
    with closing(make(tmp_path / "index", corpus.dimension, corpus.select)) as local:
        if searched:
            local.keyword(KeywordQuery("heron", 5))[0]
        shutil.rmtree(tmp_path / "index")
        assert local.describe()["keyword_chunks"] == len(corpus.entries)
        assert len(local.keyword(KeywordQuery("heron", 5))[0].ids) == 5
        assert local.lexicon().has("heron")
        assert len(local.contents()["documents"]) == 40


def test_what_whole_documents_take_is_told_beside_what_chunks_do(tmp_path: Path) -> None:
    corpus = Corpus()
    with closing(filled(tmp_path, corpus)) as index:
        about = index.describe()
    assert (about["documents"], about["keyword_chunks"]) == (len(corpus.metadata), len(corpus.entries))
    for part, name in (("documents", "document_bytes"), ("keyword", "keyword_bytes")):
        assert about[name] == folder_bytes(tmp_path / part) > 0


class TestDamage:
    def test_a_lost_position_means_applying_again(self, tmp_path: Path) -> None:
        corpus = Corpus()
        filled(tmp_path, corpus).close()
        (tmp_path / "keyword" / "position.json").unlink()
        with closing(make(tmp_path, corpus.dimension, corpus.select)) as index:
            assert index.position() == 0
            index.apply(list(corpus.metadata), corpus.entries, 1)
            assert index.contents()["keyword"].tolist() == sorted(entry.chunk_id for entry in corpus.entries)
            assert index.contents()["vector"].tolist() == sorted(entry.chunk_id for entry in corpus.entries)

    def test_a_crash_between_the_commit_and_its_position_is_mended_by_applying_again(self, tmp_path: Path) -> None:
        corpus = Corpus()
        with closing(filled(tmp_path, corpus)) as index:
            before = (tmp_path / "keyword" / "position.json").read_bytes()
            index.apply([1, 2], [], 2)
            (tmp_path / "keyword" / "position.json").write_bytes(before)
            assert index.position() == 1
            index.apply([1, 2, 3], [], 3)
            expected = sorted(entry.chunk_id for entry in corpus.entries if entry.document_id > 3)
            assert index.contents()["keyword"].tolist() == expected
            assert index.contents()["vector"].tolist() == expected

    @pytest.mark.parametrize(
        "content",
        [b"", b"{", b"[]", b'{"position": "x"}', b'{"position": 1, "committed": "x"}', b"\xff", b"null"],
    )
    def test_a_position_that_makes_no_sense_is_reported(self, content: bytes, tmp_path: Path) -> None:
        corpus = Corpus()
        with closing(filled(tmp_path, corpus)) as index:
            (tmp_path / "keyword" / "position.json").write_bytes(content)
            with pytest.raises(IndexCorrupt, match="cannot be read"):
                index.position()

    def test_a_missing_keyword_folder_starts_at_zero(self, tmp_path: Path) -> None:
        corpus = Corpus()
        filled(tmp_path, corpus).close()
        shutil.rmtree(tmp_path / "keyword")
        with closing(make(tmp_path, corpus.dimension, corpus.select)) as index:
            assert index.position() == 0
            index.apply(list(corpus.metadata), corpus.entries, 1)
            assert len(index.keyword(KeywordQuery("heron", 1000))[0])

    def test_a_file_in_place_of_the_folder_is_replaced(self, tmp_path: Path) -> None:
        (tmp_path / "keyword").write_text("not a folder")
        with pytest.raises(Exception, match="keyword") as caught:
            make(tmp_path, 4, lambda where: np.empty(0, np.int64))
        assert type(caught.value).__module__ == "pinakes.core.errors"

    @pytest.mark.parametrize("kind", [".term", ".idx", ".pos", ".fast", ".fieldnorm", ".store", "meta.json"])
    @pytest.mark.parametrize("damage", ["garbage", "half", "empty"])
    def test_damaged_files_are_reported_as_damage(self, kind: str, damage: str, tmp_path: Path) -> None:
        corpus = Corpus()
        filled(tmp_path, corpus).close()
        for path in (tmp_path / "keyword").glob(f"*{kind}"):
            data = path.read_bytes()
            path.write_bytes({"garbage": b"\xa5" * len(data), "half": data[: len(data) // 2], "empty": b""}[damage])
        with pytest.raises(IndexCorrupt, match="keyword index") as caught:
            make(tmp_path, corpus.dimension, corpus.select)
        assert "reindex" in caught.value.hint

    def test_damage_inside_files_gives_an_answer_or_is_reported(self, tmp_path: Path) -> None:
        corpus = Corpus(documents=100)
        filled(tmp_path / "whole", corpus).close()
        chance = random.Random(3)
        reported = 0
        for attempt in range(40):
            place = tmp_path / str(attempt)
            shutil.copytree(tmp_path / "whole", place)
            path = chance.choice(
                sorted(p for p in (place / "keyword").iterdir() if p.suffix in (".idx", ".fast", ".term"))
            )
            data = bytearray(path.read_bytes())
            for _ in range(8):
                data[chance.randrange(max(1, len(data) - 120))] ^= chance.randrange(1, 256)
            path.write_bytes(data)
            try:
                with closing(make(place, corpus.dimension, corpus.select)) as index:
                    index.keyword(KeywordQuery("heron krill", 10))[0]
                    index.contents()
            except IndexCorrupt:
                reported += 1
        assert reported

    def test_a_snapshot_of_the_vectors_that_is_damaged_is_dropped(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        corpus = Corpus()
        for number, damage in enumerate(("matrix.npy", "ids.npy", "about.json", "missing", "truncated", "pickle")):
            place = tmp_path / str(number)
            filled(place, corpus).close()
            snapshot = place / "vectors" / "1"
            if damage == "missing":
                (snapshot / "documents.npy").unlink()
            elif damage == "truncated":
                matrix = snapshot / "matrix.npy"
                matrix.write_bytes(matrix.read_bytes()[:-7])
            elif damage == "pickle":
                np.save(snapshot / "ids.npy", np.array([{}]), allow_pickle=True)
            else:
                data = bytearray((snapshot / damage).read_bytes())
                data[-3] ^= 1
                (snapshot / damage).write_bytes(data)
            caplog.clear()
            with closing(make(place, corpus.dimension, corpus.select)) as index:
                assert "unusable" in caplog.text, damage
                assert index.position() == 0, damage
                index.apply(list(corpus.metadata), corpus.entries, 1)
                assert len(index.contents()["vector"]) == len(corpus.entries)
            caplog.clear()
            with closing(make(place, corpus.dimension, corpus.select)) as index:
                assert (index.position(), caplog.text) == (1, ""), "the snapshot was not written anew"

    def test_vectors_under_another_label_are_dropped(self, tmp_path: Path) -> None:
        corpus = Corpus()
        for label, before in (("", 0), ("one", 0), ("one", 1), ("two", 0)):
            opened = open_index(Settings(), tmp_path, corpus.dimension, corpus.select, label)
            with closing(opened) as index:
                assert index.position() == before, label
                index.apply(list(corpus.metadata), corpus.entries, 1)
                assert len(index.contents()["vector"]) == len(corpus.entries)

    def test_vectors_of_another_length_are_dropped(self, tmp_path: Path) -> None:
        corpus = Corpus()
        filled(tmp_path, corpus).close()
        with closing(make(tmp_path, 8, corpus.select)) as index:
            assert index.position() == 0

    def test_what_a_killed_process_left_of_a_snapshot_is_cleared_away(self, tmp_path: Path) -> None:
        corpus = Corpus()
        left = tmp_path / "vectors" / "unfinished"
        left.mkdir(parents=True)
        (left / "ids.npy").write_bytes(b"half")
        filled(tmp_path, corpus).close()
        assert [path.name for path in (tmp_path / "vectors").iterdir()] == ["1"]

    def test_a_snapshot_is_not_saved_into_a_folder_that_was_dropped(self, tmp_path: Path) -> None:
        place = tmp_path / "1-1"
        index = filled(place, Corpus())
        shutil.rmtree(place)
        index.close()
        assert not place.exists()


Filled: TypeAlias = Callable[[int, int], tuple[CombinedIndex, Float32, list[IndexEntry]]]


class TestManyVectors:
    """Sizes at which FAISS is used; the rows are clustered, as embeddings of real texts are."""

    DIMENSION = 32

    def entries(self, count: int) -> tuple[list[IndexEntry], Float32]:
        chance = np.random.default_rng(5)
        centres = chance.standard_normal((40, self.DIMENSION))
        rows = centres[chance.integers(0, 40, count)] + 0.5 * chance.standard_normal((count, self.DIMENSION))
        matrix = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float16).astype(np.float32)
        return [
            IndexEntry(i, i // 2, "", "", "", "heron" if i % 2 else "otter", (), matrix[i]) for i in range(count)
        ], matrix

    @pytest.fixture
    def index(self, tmp_path: Path) -> Iterator[Filled]:
        with ExitStack() as stack:
            yield lambda count, exact_max: self.filled(stack, tmp_path, count, exact_max)

    def filled(
        self, stack: ExitStack, folder: Path, count: int, exact_max: int
    ) -> tuple[CombinedIndex, Float32, list[IndexEntry]]:
        def select(where: Filter) -> Int64:
            low, high = where[0].low, where[0].high
            assert isinstance(low, float)
            assert isinstance(high, float)
            return np.arange(int(low), int(high) + 1, dtype=np.int64)

        entries, matrix = self.entries(count)
        index = make(folder, self.DIMENSION, select, IndexSettings(exact_max_vectors=exact_max))
        stack.enter_context(closing(index))
        index.apply([], entries, 1)
        return index, matrix, entries

    def recall(self, index: Index, matrix: Float32, where: Filter | None, documents: range) -> float:
        chance = np.random.default_rng(6)
        rows = np.arange(documents.start * 2, documents.stop * 2)
        shares = []
        for row in chance.integers(0, len(matrix), 40):
            query = matrix[row] + 0.1 * chance.standard_normal(self.DIMENSION)
            query = (query / np.linalg.norm(query)).astype(np.float32)
            best = rows[np.argsort(-(matrix[rows] @ query))[:20]]
            found = index.vector(VectorQuery(query, 20, where))[0]
            assert found.scores == pytest.approx(matrix[found.ids] @ query, abs=1e-3)
            shares.append(len(set(best.tolist()) & set(found.ids.tolist())) / 20)
        return float(np.mean(shares))

    def test_the_exact_scan_finds_all(self, index: Filled) -> None:
        large, matrix, _ = index(6000, 250_000)
        assert str(large.describe()["vector_search"]).startswith("exact")
        assert self.recall(large, matrix, None, range(3000)) > 0.995
        few, many = parse({"n": {"gte": 100, "lte": 199}}), parse({"n": {"gte": 100, "lte": 2500}})
        assert self.recall(large, matrix, few, range(100, 200)) == 1.0
        assert self.recall(large, matrix, many, range(100, 2501)) > 0.995

    def test_the_approximate_index_finds_nearly_all(self, index: Filled) -> None:
        large, matrix, _ = index(8000, 1000)
        assert str(large.describe()["vector_search"]).startswith("approximate")
        assert self.recall(large, matrix, None, range(4000)) >= 0.95
        few, many = parse({"n": {"gte": 100, "lte": 199}}), parse({"n": {"gte": 100, "lte": 1199}})
        assert self.recall(large, matrix, few, range(100, 200)) == 1.0
        assert self.recall(large, matrix, many, range(100, 1200)) >= 0.95

    def test_keyword_hits_are_the_same_for_many_documents_as_for_few(self, index: Filled) -> None:
        large, _, _ = index(6000, 250_000)
        for low, high in ((0, 999), (0, 1000), (500, 2500), (2900, 2999)):
            found = large.keyword(KeywordQuery("heron", 10_000, parse({"n": {"gte": low, "lte": high}})))[0]
            assert found.ids.tolist() == [i for i in range(2 * low, 2 * high + 2) if i % 2]
        assert len(large.keyword(KeywordQuery("heron", 7, parse({"n": {"gte": 1000, "lte": 2999}})))[0]) == 7

    def test_rows_of_removed_documents_are_cleared_away(self, index: Filled) -> None:
        large, matrix, entries = index(6000, 250_000)
        large.apply(range(1500), [], 2)
        assert large.describe()["vectors"] == 3000
        assert large.describe()["vector_bytes"] == 3000 * self.DIMENSION * 2
        assert large.contents()["vector"].tolist() == list(range(3000, 6000))
        assert self.recall(large, matrix, parse({"n": {"gte": 0, "lte": 2999}}), range(1500, 3000)) > 0.995
        large.apply([], entries[:3000], 3)
        assert self.recall(large, matrix, None, range(3000)) > 0.995

    def test_new_rows_are_found_before_and_after_they_reach_faiss(self, index: Filled) -> None:
        large, _, _ = index(6000, 250_000)
        for position, count in ((2, 10), (3, 2100)):
            chance = np.random.default_rng(position)
            rows = chance.standard_normal((count, self.DIMENSION))
            rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
            first = position * 100_000
            fresh = [IndexEntry(first + i, first + i, "", "", "", "", (), row) for i, row in enumerate(rows)]
            large.apply([], fresh, position)
            assert large.vector(VectorQuery(rows[3], 1))[0].ids.tolist() == [first + 3]


class TestSharing:
    def test_a_handle_sees_keyword_changes_that_another_wrote(self, tmp_path: Path) -> None:
        corpus = Corpus()
        with closing(filled(tmp_path, corpus)) as one, closing(make(tmp_path, corpus.dimension, corpus.select)) as two:
            assert two.position() == 0, "vectors live in the memory of each handle"
            added = corpus.entry(1, 900)
            two.apply(list(corpus.metadata), corpus.entries, 1)
            two.apply([1], [added], 2)
            assert one.position() == 1
            assert 900 in one.contents()["keyword"]
            one.apply([1], [added], 2)
            assert one.position() == 2
            assert one.contents()["vector"].tolist() == two.contents()["vector"].tolist()

    def test_a_search_does_not_wait_for_a_writer(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        corpus = Corpus()
        writing, go_on = threading.Event(), threading.Event()

        @contextmanager
        def held(lock: FileLock, what: str) -> Iterator[None]:
            writing.set()
            go_on.wait(5)
            with locks.locked(lock, what):
                yield

        with closing(filled(tmp_path, corpus)) as one, closing(make(tmp_path, corpus.dimension, corpus.select)) as two:
            two.apply(list(corpus.metadata), corpus.entries, 1)
            two.apply([], [IndexEntry(900, 900, "", "", "", "zyzzyva", (), None)], 2)
            monkeypatch.setattr("pinakes.indexes.keyword.tantivy_index.locked", held)
            writer = threading.Thread(target=one.apply, args=([900], [], 3))
            writer.start()
            try:
                assert writing.wait(5)
                assert one.keyword(KeywordQuery("zyzzyva", 9))[0].ids.tolist() == [900]
                assert two.position() == 2, "it was not written meanwhile"
            finally:
                go_on.set()
                writer.join()
            assert len(one.keyword(KeywordQuery("zyzzyva", 9))[0]) == 0

    def test_another_process_may_write_between(self, tmp_path: Path) -> None:
        corpus = Corpus()
        with closing(filled(tmp_path, corpus)) as index:
            script = (
                "import sys; from pathlib import Path; from pinakes.testing import Corpus;"
                "from pinakes.indexes import open_index; from pinakes.settings import *; corpus = Corpus();"
                "index = open_index(Settings(index=IndexSettings(lock_timeout_s=5)), Path(sys.argv[1]),"
                " corpus.dimension, corpus.select);"
                "index.apply(list(corpus.metadata), corpus.entries, 1); index.apply([1], [], 2); index.close()"
            )
            subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=True, timeout=60)
            left = sorted(entry.chunk_id for entry in corpus.entries if entry.document_id != 1)
            assert index.contents()["keyword"].tolist() == left
            assert index.position() == 1
            index.apply([1, 2], [], 3)
            left = sorted(entry.chunk_id for entry in corpus.entries if entry.document_id > 2)
            assert index.contents()["keyword"].tolist() == left
            assert index.contents()["vector"].tolist() == left

    def test_writers_that_take_turns_leave_no_damage_and_no_files_behind(self, tmp_path: Path) -> None:
        corpus = Corpus()
        with closing(filled(tmp_path, corpus)) as one, closing(make(tmp_path, corpus.dimension, corpus.select)) as two:
            for turn in range(2, 30):
                (one, two)[turn % 2].apply([900], [entry(900, f"zyzzyva{turn}")], turn)
            with closing(make(tmp_path, corpus.dimension, corpus.select)) as opened:
                assert not any(opened.damaged().values())
                assert opened.keyword(KeywordQuery("zyzzyva29", 9))[0].ids.tolist() == [900]
        for part in ("keyword", "documents"):
            described = json.loads((tmp_path / part / "meta.json").read_text("utf-8"))
            used = {segment["segment_id"].replace("-", "") for segment in described["segments"]}
            held = {path.name[:32] for path in (tmp_path / part).iterdir() if len(path.stem.partition(".")[0]) == 32}
            assert held == used

    def test_a_writer_that_does_not_finish_is_reported(self, tmp_path: Path) -> None:
        corpus = Corpus()
        impatient = make(tmp_path, corpus.dimension, corpus.select, IndexSettings(lock_timeout_s=0.1))
        script = (
            "import sys; from filelock import FileLock; lock = FileLock(sys.argv[1]); lock.acquire();"
            "print('held', flush=True); sys.stdin.read()"
        )
        with subprocess.Popen(
            [sys.executable, "-c", script, str(tmp_path / "keyword.lock")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as other:
            assert other.stdout is not None
            assert other.stdout.readline() == "held\n"
            with closing(impatient), pytest.raises(Busy, match="another process") as caught:
                impatient.apply([], corpus.entries, 1)
            assert "lock_timeout_s" in caught.value.hint
            other.communicate("")
        with closing(impatient):
            impatient.apply([], corpus.entries, 1)
            assert impatient.position() == 1

    def test_the_position_is_a_small_readable_file(self, tmp_path: Path) -> None:
        filled(tmp_path, Corpus()).close()
        assert (
            json.loads((tmp_path / "keyword" / "position.json").read_text()).items()
            >= {"position": 1, "committed": 1}.items()
        )
