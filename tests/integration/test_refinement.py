"""The head of each ranking is embedded while the question waits, and once."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bert_reference import make_tiny_bert
from counting_bert import CountingBert
from forking import Forked
from progressive_support import (
    assert_same,
    assert_sound,
    directly,
    exact_places,
    places,
    small_steps,
    stopped_at_searchable,
    vectors,
    waiting,
    write_folder,
)

from pinakes.catalog import documents, sources
from pinakes.core.records import Float32, Hit, Results
from pinakes.library import Library
from pinakes.models.embedders import EMBEDDERS

NAMES = [f"file{number}" for number in range(20)]
QUERY = "quick brown fox"
PLENTY_MS = 60_000
MOST = 20
"""Chunks that one search embeds; the made-up model is so hard to approximate that it may take more for a head."""

Open = Callable[..., Library]


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    model = make_tiny_bert(tmp_path_factory.mktemp("model") / "tiny")
    cache = tmp_path_factory.mktemp("cache")
    return {**small_steps(model), "cache": str(cache), "search__refine_ms": PLENTY_MS}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_folder(tmp_path_factory.mktemp("docs"), NAMES)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory, settings: dict[str, Any], folder: Path) -> Path:
    home = tmp_path_factory.mktemp("filled") / "home"
    with Library.open(home, **settings) as library:
        stopped_at_searchable(library, folder)
    return home


@pytest.fixture(scope="module")
def expected(
    tmp_path_factory: pytest.TempPathFactory, settings: dict[str, Any], folder: Path
) -> dict[tuple[str, int], Float32]:
    return directly(tmp_path_factory.mktemp("direct") / "home", [folder], settings)


@pytest.fixture
def counting(open_library: Open, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> Open:
    monkeypatch.setitem(EMBEDDERS, "counting", "counting_bert:CountingBert")
    return lambda **more: open_library(**settings | {"embedding__provider": "counting"} | more)


@pytest.fixture
def partly(counting: Open, filled: Path, home: Path) -> Open:
    """Open a home of which a sample is embedded."""
    shutil.copytree(filled, home)
    return counting


def embedder(library: Library) -> CountingBert:
    found = library.app.embedder
    assert isinstance(found, CountingBert)
    return found


def refine(results: Results) -> dict[str, int]:
    [stage] = [stage for stage in results.trace.stages if stage.name == "refine"]
    return dict(stage.detail)


def place(hit: Hit) -> tuple[str, int]:
    return hit.path, hit.chunk_index


def order(hits: Sequence[Hit]) -> list[tuple[str, int]]:
    return [place(hit) for hit in hits]


class TestTheFirstSearch:
    @pytest.mark.parametrize("mode", ["vector", "hybrid"])
    @pytest.mark.parametrize("fusion", ["weighted", "rrf"])
    def test_the_head_is_embedded_and_the_trace_says_so(self, partly: Open, mode: Any, fusion: str) -> None:
        library = partly()
        found = library.search(QUERY, mode=mode, fusion=fusion)
        refined = refine(found)["refined"]
        assert 0 < refined == len(embedder(library).texts) <= MOST
        assert refined == MOST or not any(hit.approximate for hit in found.hits)

    def test_time_is_kept_to(self, partly: Open) -> None:
        library = partly(search__refine_ms=0.001)
        found = library.search(QUERY)
        assert refine(found)["refined"] == len(embedder(library).texts) == 4

    def test_no_time_embeds_nothing(self, partly: Open) -> None:
        library = partly(search__refine_ms=0)
        found = library.search(QUERY, mode="vector", top_k=50)
        assert embedder(library).texts == []
        assert refine(found)["refined"] == 0
        exact = exact_places(library)
        assert {place(hit) for hit in found.hits if not hit.approximate} <= exact
        assert {place(hit) for hit in found.hits if hit.approximate}.isdisjoint(exact)
        assert any(hit.approximate for hit in found.hits)

    @pytest.mark.parametrize("refine_ms", [0.001, PLENTY_MS])
    def test_what_was_not_embedded_is_marked_approximate(self, partly: Open, refine_ms: float) -> None:
        library = partly(search__refine_ms=refine_ms)
        exact = exact_places(library)
        found = library.search(QUERY, mode="vector", top_k=50)
        texts = embedder(library).texts
        for hit in found.hits:
            embedded = any(text.endswith(hit.text) for text in texts)
            assert hit.approximate is not (place(hit) in exact or embedded)
        assert any(hit.approximate for hit in found.hits)

    def test_by_keywords_nothing_is_refined(self, partly: Open) -> None:
        library = partly()
        found = library.search(QUERY, mode="keyword", top_k=50)
        assert "refine" not in [stage.name for stage in found.trace.stages]
        assert not any(hit.approximate for hit in found.hits)
        assert embedder(library).texts == []

    def test_the_refined_have_the_cosines_and_the_order_of_a_library_that_has_all_embedded(
        self, partly: Open, expected: dict[tuple[str, int], Float32]
    ) -> None:
        library = partly()
        query = embedder(library).embed_query(QUERY)
        found = [hit for hit in library.search(QUERY, mode="vector", top_k=50).hits if not hit.approximate]
        assert len(found) >= 10
        for hit in found:
            assert hit.scores.cosine == pytest.approx(float(expected[place(hit)] @ query), abs=2e-3)
        right = sorted(order(found), key=lambda key: -float(expected[key] @ query))
        assert order(found) == right

    def test_what_a_filter_leaves_is_refined_too(self, partly: Open) -> None:
        library = partly()
        found = library.search(QUERY, mode="vector", filters={"path": "file3.md"})
        assert {hit.path for hit in found.hits} == {"file3.md"}
        assert 0 < refine(found)["refined"] == len(embedder(library).texts)
        assert not any(hit.approximate for hit in found.hits)


class TestTheSecondSearch:
    @pytest.mark.parametrize("fusion", ["weighted", "rrf"])
    def test_it_embeds_nothing_and_answers_the_same_even_before_all_is_written(self, partly: Open, fusion: str) -> None:
        library = partly()
        waiting_before = waiting(library)
        with library.app.catalog.write():  # nobody else can write now
            first = library.search(QUERY, fusion=fusion)
            embedded = len(embedder(library).texts)
            second = library.search(QUERY, fusion=fusion)
            assert len(embedder(library).texts) == embedded > 0
        library.app.refiner.flush()
        third = library.search(QUERY, fusion=fusion)
        assert len(embedder(library).texts) == embedded
        assert order(first.hits) == order(second.hits) == order(third.hits)
        assert waiting(library) + embedded == waiting_before

    def test_sources_say_no_longer_why_chunks_wait_once_searches_embedded_the_last(self, partly: Open) -> None:
        library = partly()
        with library.app.catalog.write() as connection:  # as a run ends whose model fails
            [record] = sources.list_all(connection, library.collection().id)
            sources.finished(connection, record.id, None, "It does not answer.")
            sources.save_report(connection, record.id, {"degraded": "It does not answer."})
        for name in NAMES:
            assert [one.error for one in library.syncing.list_all()] == ["It does not answer."]
            library.search(QUERY, mode="vector", top_k=50, filters={"path": f"{name}.md"})
            library.app.refiner.flush()
        assert waiting(library) == 0
        assert [one.error for one in library.syncing.list_all()] == [None]

    def test_after_closing_another_process_finds_them(self, partly: Open) -> None:
        library = partly()
        before = waiting(library)
        first = library.search(QUERY)
        embedded = len(embedder(library).texts)
        library = partly()
        assert waiting(library) == before - embedded
        second = library.search(QUERY)
        assert embedder(library).texts == []
        assert order(first.hits) == order(second.hits)
        assert library.verify() == {"default": []}

    def test_they_survive_building_the_index_anew(self, partly: Open, expected: dict[tuple[str, int], Float32]) -> None:
        library = partly()
        first = library.search(QUERY)
        library.app.refiner.flush()
        exact, held = exact_places(library), vectors(library)
        library.reindex()
        assert exact_places(library) == exact
        assert_same(vectors(library), held)
        assert all(np.array_equal(held[key], expected[key]) for key in exact)
        embedded = len(embedder(library).texts)
        assert order(library.search(QUERY).hits) == order(first.hits)
        assert len(embedder(library).texts) == embedded

    def test_many_searches_end_with_what_embedding_everything_gives(
        self, partly: Open, folder: Path, expected: dict[tuple[str, int], Float32]
    ) -> None:
        library = partly()
        for query in ("lazy dog", "search engines index", "every word of it", "the quick fox jumps"):
            library.search(query)
        library.app.refiner.flush()
        assert len(set(embedder(library).texts)) == len(embedder(library).texts)
        assert library.verify() == {"default": []}
        library.add(str(folder))
        assert_sound(library, expected)


class TestSeveralAtOnce:
    def test_threads_that_refine_the_same_chunks_leave_one_vector_each(
        self, partly: Open, folder: Path, expected: dict[tuple[str, int], Float32]
    ) -> None:
        library = partly()
        begin = threading.Barrier(4)

        def search(_: int) -> Results:
            begin.wait(30)
            return library.search(QUERY)

        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(search, range(4)))
        assert len({tuple(order(one.hits)) for one in found}) == 1
        library.app.refiner.flush()
        assert library.verify() == {"default": []}
        assert len(set(embedder(library).texts)) <= 20
        library.add(str(folder))
        assert_sound(library, expected)

    def test_processes_that_refine_the_same_chunks_leave_one_vector_each(
        self, partly: Open, home: Path, settings: dict[str, Any]
    ) -> None:
        children = [Forked(SEARCH, str(home), json.dumps(settings), QUERY, text=True) for _ in range(2)]
        for child in children:
            assert child.stdout is not None
            assert child.stdout.readline() == "ready\n"
        for child in children:
            assert child.stdin is not None
            child.stdin.write("go\n")
            child.stdin.flush()
        said = [child.communicate(timeout=60) for child in children]
        assert [child.returncode for child in children] == [0, 0], said
        assert said[0][0] == said[1][0]
        library = partly()
        assert library.verify() == {"default": []}
        library.search(QUERY)
        assert embedder(library).texts == []

    def test_documents_that_go_while_their_chunks_are_embedded_are_no_error(self, partly: Open) -> None:
        library = partly()
        library.search("warm", mode="keyword")

        def remove_most() -> None:
            embedder(library).before = lambda: None
            with library.app.catalog.write() as connection:
                found = documents.paths(connection, library.collection().id)[:-2]
                for path in found:
                    [record] = documents.find(connection, library.collection().id, path)
                    documents.remove(connection, record.id)

        embedder(library).before = remove_most
        found = library.search(QUERY, mode="vector", top_k=50)
        left = set(NAMES[-2:])
        library.app.refiner.flush()
        assert {hit.path for hit in found.hits} <= {f"{name}.md" for name in NAMES}
        assert len({path for path, _ in places(library)[0]}) == len(left)
        assert library.verify() == {"default": []}
        again = library.search(QUERY, mode="vector", top_k=50)
        assert {hit.path for hit in again.hits} == {path for path, _ in places(library)[0]}

    def test_chunks_that_are_gone_have_no_vector_and_those_beside_them_have(self, partly: Open) -> None:
        library = partly()
        of, ids = places(library)
        exact = exact_places(library)
        some = [key for where, key in zip(of, ids.tolist(), strict=True) if where not in exact][:3]
        found = library.app.refiner.vectors(library.collection(), [10**9, *some, 10**9 + 1])
        assert sorted(found) == sorted(some)


SEARCH = """
import json, sys
from pinakes.library import Library

with Library.open(sys.argv[1], **json.loads(sys.argv[2])) as library:
    library.search(sys.argv[3], mode="keyword")
    print("ready", flush=True)
    sys.stdin.readline()
    print([hit.chunk_id for hit in library.search(sys.argv[3]).hits], flush=True)
"""


class TestOddCollections:
    def test_all_embedded_there_is_nothing_to_refine(self, partly: Open, folder: Path) -> None:
        library = partly()
        library.add(str(folder))
        found = library.search(QUERY)
        assert "refine" not in [stage.name for stage in found.trace.stages]
        assert not any(hit.approximate for hit in found.hits)

    def test_a_few_chunks_are_embedded_at_once(self, counting: Open, docs: Path) -> None:
        library = counting()
        library.add(str(write_folder(docs, NAMES[:2], lines=8)))
        assert 0 < len(places(library)[0]) <= 10
        assert waiting(library) == 0
        assert "refine" not in [stage.name for stage in library.search(QUERY).trace.stages]

    def test_chunks_that_are_all_the_same_are_embedded_once(self, counting: Open, docs: Path) -> None:
        write_folder(docs, ["same"])
        for number in range(30):
            shutil.copy(docs / "same.md", docs / f"copy{number}.md")
        library = counting()
        library.add(str(docs))
        texts = embedder(library).texts
        assert len(set(texts)) == len(texts)
        assert waiting(library) == 0
        assert len(places(library)[0]) == 31 * len(texts)
        assert library.verify() == {"default": []}
        found = library.rank(QUERY, mode="vector", depth=50)
        assert len({hit.chunk_id for hit in found.hits}) == 50

    def test_a_language_the_model_does_not_know_is_found_and_embedded_in_the_end(
        self, counting: Open, docs: Path, home: Path, settings: dict[str, Any]
    ) -> None:
        write_folder(docs, NAMES[:12], words=["漢字", "鳥", "魚", "川", "山", "барсук", "червь"])
        write_folder(docs, ["latin"])
        library = counting()
        stopped_at_searchable(library, docs)
        assert library.verify() == {"default": []}
        assert library.search("鳥", top_k=5).hits
        assert not all(hit.approximate for hit in library.search("鳥", mode="vector").hits)
        library.add(str(docs))
        assert_sound(library, directly(home.with_name("direct"), [docs], settings))

    def test_chunks_without_a_single_token_do_no_harm(
        self, counting: Open, docs: Path, home: Path, settings: dict[str, Any]
    ) -> None:
        write_folder(docs, NAMES[:8])
        for number in range(30):
            (docs / f"\u200b{number}.txt").write_text("\u200b\u200c\u200d " * 400 + "\n\n" + "\ufeff\u2060 " * 400)
        library = counting()
        stopped_at_searchable(library, docs)
        assert library.verify() == {"default": []}
        found = library.search(QUERY, mode="vector", top_k=50)
        assert np.isfinite([hit.score for hit in found.hits]).all()
        library.add(str(docs))
        assert_sound(library, directly(home.with_name("direct"), [docs], settings))
