"""Qdrant beside the local engines and the plain truth: filters, ids, scores; what is written twice or halfway."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from qdrant_client import QdrantClient
from qdrant_server import QdrantServer

from pinakes.core.errors import IndexCorrupt, IndexUnavailable
from pinakes.core.ports import Index, KeywordQuery, VectorQuery
from pinakes.core.records import Evidence, Ranking
from pinakes.indexes import open_index
from pinakes.indexes.qdrant import points, qdrant_engine
from pinakes.settings import IndexSettings, QdrantSettings, SearchSettings, Settings
from pinakes.testing import FILTERS, Corpus

PLAIN = SearchSettings(title_boost=0, path_boost=0, phrase_boost=0)
QUERIES = ("heron", "krill lotus", "Ember, fjord; GROVE?", "amber amber birch cedar delta islet maple")
Opened = Callable[..., Index]


@pytest.fixture
def server(request: pytest.FixtureRequest) -> Any:
    client = None
    if getattr(request, "param", "memory") == "edge":
        client = pytest.importorskip("qdrant_edge_client", reason="qdrant-edge-py is not installed").EdgeClient()
    with QdrantServer(client) as running:
        yield running


by_either = pytest.mark.parametrize("server", ["memory", "edge"], indirect=True)
"""By the client's memory and by Qdrant's engine in process."""


@pytest.fixture
def opened(server: QdrantServer, tmp_path: Path) -> Any:
    """Open an index of the corpus by an engine, in a folder of its own unless one is named."""
    with ExitStack() as stack:

        def open_(corpus: Corpus, engine: str = "qdrant", name: str = "index", place: str = "", **qdrant: Any) -> Index:
            settings = Settings(
                index=IndexSettings(engine=engine),
                search=PLAIN,
                qdrant=QdrantSettings(url=server.url, retry_after_s=0.05, **qdrant),
            )
            folder = tmp_path / (place or engine) / name
            return stack.enter_context(
                closing(open_index(settings, folder, corpus.dimension, corpus.select, key=f"key-{name}"))
            )

        yield open_


def filled(index: Index, corpus: Corpus) -> Index:
    index.position()
    index.apply(list(corpus.metadata), corpus.entries, 1)
    return index


def same(found: Ranking, expected: Ranking, tolerance: float) -> None:
    assert set(found.ids.tolist()) == set(expected.ids.tolist())
    scores = dict(zip(expected.ids.tolist(), expected.scores.tolist(), strict=True))
    assert np.allclose(found.scores, [scores[one] for one in found.ids.tolist()], rtol=0, atol=tolerance)
    owners = dict(zip(expected.ids.tolist(), expected.documents.tolist(), strict=True))
    assert found.documents.tolist() == [owners[one] for one in found.ids.tolist()]


@by_either
@pytest.mark.parametrize("evidence", ["chunks", "documents"])
def test_bm25_is_that_of_its_definition_under_every_filter(opened: Opened, evidence: Evidence) -> None:
    corpus = Corpus(documents=60)
    index, truth = filled(opened(corpus), corpus), corpus.reference()
    for where in (None, *FILTERS):
        asked = [KeywordQuery(query, 1000, where, evidence=evidence) for query in QUERIES]
        for found, expected in zip(index.keyword(*asked), truth.keyword(*asked), strict=True):
            same(found, expected, 2e-4)


@by_either
@pytest.mark.parametrize("engine", ["qdrant", "tantivy+qdrant"])
def test_vectors_rank_as_those_of_the_local_engine(opened: Opened, engine: str) -> None:
    corpus = Corpus(documents=60)
    index, local = (filled(opened(corpus, one), corpus) for one in (engine, "local"))
    for where in (None, *FILTERS):
        for limit in (1, 7, 1000):
            asked = VectorQuery(corpus.vector(), limit, where)
            same(index.vector(asked)[0], local.vector(asked)[0], 2e-3)
    every, owners = np.array([one.chunk_id for one in corpus.entries]), np.array([*corpus.metadata])
    assert np.allclose(index.vectors(every, owners).own, local.vectors(every, owners).own, atol=2e-3)
    assert np.allclose(index.vectors(every, owners).sums, local.vectors(every, owners).sums, atol=8e-3)
    for part, ids in local.contents().items():
        assert index.contents()[part].tolist() == ids.tolist()


@by_either
def test_of_chunks_that_score_alike_the_lowest_numbers_come_first(opened: Opened) -> None:
    corpus = Corpus()
    alike = [replace(one, text="heron krill") for one in corpus.entries]
    index = opened(corpus)
    index.apply([], alike[::-1], 1)
    [found] = index.keyword(KeywordQuery("heron", 5))
    assert found.ids.tolist() == sorted(one.chunk_id for one in alike)[:5]


@by_either
def test_scores_are_those_of_the_average_length_as_it_has_become(opened: Opened, server: QdrantServer) -> None:
    corpus, batches = Corpus(documents=60), 12
    whole, grown = filled(opened(corpus, name="whole"), corpus), opened(corpus, name="grown")
    entries = [
        replace(one, text=f"{one.text} {one.text}" if one.document_id > 30 else one.text) for one in corpus.entries
    ]
    for number in range(batches):  # documents come in their order, so the later batches are the longer ones
        ids = list(corpus.metadata)[number * 5 : number * 5 + 5]
        grown.apply(ids, [one for one in entries if one.document_id in ids], number + 1)
    whole.apply(list(corpus.metadata), entries, 2)
    head = _head(server.client, "pinakes-key-grown")
    assert head.scale > 1, "the average moved and nothing was weighted anew"
    drift = max(abs(now / was - 1) for now, was in zip(head.now(), head.averages, strict=True))
    assert drift <= 0.1
    scales = {point.payload[points.SCALE] for point in _points(server.client, "pinakes-key-grown")}
    assert scales == {head.scale}
    found, expected = (one.keyword(KeywordQuery("heron krill", 1000))[0] for one in (grown, whole))
    assert set(found.ids.tolist()) == set(expected.ids.tolist())
    assert np.corrcoef(_by_id(found), _by_id(expected))[0, 1] > 0.999


def test_weighting_anew_goes_on_after_a_crash(opened: Opened, server: QdrantServer) -> None:
    corpus = Corpus(documents=40)
    index = opened(corpus, batch_points=5, retries=0)
    short = [replace(one, text="heron") for one in corpus.entries if one.document_id <= 20]
    index.apply([], short, 1)
    long = [one for one in corpus.entries if one.document_id > 20]
    writes = server.client.batch_update_points
    left = [18]

    def failing(*given: Any, **named: Any) -> Any:
        left[0] -= 1
        if left[0] < 0:
            raise ConnectionError
        return writes(*given, **named)

    for budget in range(1, 60):  # broken off after each number of writes in turn, then gone on with
        left[0] = budget
        server.client.batch_update_points = failing  # type: ignore[method-assign]
        try:
            index.position()
            index.apply([], long, 2)
        except IndexUnavailable:
            server.client.batch_update_points = writes  # type: ignore[method-assign]
            _wait_until_it_answers(index)
            continue
        finally:
            server.client.batch_update_points = writes  # type: ignore[method-assign]
        break
    assert index.position() == 2
    head = _head(server.client, "pinakes-key-index")
    assert head.before is None
    assert {point.payload[points.SCALE] for point in _points(server.client, "pinakes-key-index")} == {head.scale}
    fresh = opened(corpus, name="fresh")
    fresh.apply([], [*short, *long], 1)
    same(index.keyword(KeywordQuery("heron krill", 1000))[0], fresh.keyword(KeywordQuery("heron krill", 1000))[0], 0.05)


@by_either
def test_machines_that_write_at_once_apply_both_changes_again(opened: Opened, server: QdrantServer) -> None:
    corpus = Corpus(documents=10)
    one, two = opened(corpus, place="one"), opened(corpus, place="two")
    filled(one, corpus)
    assert two.position() == 1
    before = _head(server.client, "pinakes-key-index")
    old, new = (replace(corpus.entries[0], text=text) for text in ("zyzzyva old", "zyzzyva new"))
    assert isinstance(one, qdrant_engine.QdrantEngine)
    two.apply([], [new], 3)
    stood = one._writer.apply(before, [], [old], 2, [])  # it had read how the index stood before the other wrote
    assert stood.position == 1, "what the other wrote may be lost"
    one._head = None
    two._head = None
    for index in (one, two):
        assert index.position() == 1
    one.apply([], [new], 3)
    assert [len(found) for found in one.keyword(KeywordQuery("old", 5), KeywordQuery("new", 5))] == [0, 1]


def test_a_position_that_was_put_back_is_not_leapt_over(opened: Opened, server: QdrantServer) -> None:
    corpus = Corpus(documents=10)
    index = opened(corpus)
    filled(index, corpus)
    assert index.position() == 1
    index.apply([], [replace(corpus.entries[0], text="zyzzyva")], 5)
    assert index.position() == 5
    head = replace(_head(server.client, "pinakes-key-index"), position=2)
    server.client.upsert("pinakes-key-index", [head.point()])
    index.apply([], [replace(corpus.entries[1], text="zyzzyva")], 6)  # there may be changes between 2 and 5
    assert index.position() == 2


def test_changes_read_while_the_server_was_away_are_not_applied(opened: Opened, server: QdrantServer) -> None:
    corpus = Corpus(documents=10)
    index = filled(opened(corpus, retries=0), corpus)
    server.stop()
    with pytest.raises(IndexUnavailable):
        index.keyword(KeywordQuery("heron", 5))
    with pytest.raises(IndexUnavailable):
        index.position()
    server.start()
    with pytest.raises(IndexUnavailable):
        index.apply([], [replace(corpus.entries[0], text="zyzzyva")], 9)
    _wait_until_it_answers(index)
    index.apply([], [replace(corpus.entries[0], text="zyzzyva")], 9)
    assert index.position() == 9


@pytest.mark.parametrize("engine", ["qdrant", "tantivy+qdrant", "qdrant+faiss"])
def test_a_half_keeps_only_what_it_needs(opened: Opened, server: QdrantServer, engine: str) -> None:
    corpus = Corpus(documents=10)
    index: Any = opened(corpus, engine)
    index.position()
    index.apply([], corpus.entries, 1)
    every = _points(server.client, "pinakes-key-index", vectors=True)
    names = {name for point in every for name in point.vector}
    assert ("dense" in names) == (engine != "qdrant+faiss")
    assert ("words" in names) == (engine != "tantivy+qdrant")


def test_a_collection_of_other_vectors_is_built_anew(
    opened: Opened, server: QdrantServer, caplog: pytest.LogCaptureFixture
) -> None:
    filled(opened(Corpus(documents=5)), Corpus(documents=5))
    other = Corpus(documents=5, dimension=8)
    index = opened(other)
    assert index.position() == 0
    assert "is built anew: it is made of" in caplog.text
    assert len(filled(index, other).vector(VectorQuery(other.vector(), 50))[0]) == len(other.entries)


def test_a_collection_that_somebody_else_made_of_other_vectors_is_damage(opened: Opened, server: QdrantServer) -> None:
    corpus = Corpus(documents=5)
    index = filled(opened(corpus), corpus)
    config, sparse = points.vectors_config(8, QdrantSettings()), points.sparse_config()
    head = _head(server.client, "pinakes-key-index").point()
    server.client.delete_collection("pinakes-key-index")
    server.client.create_collection("pinakes-key-index", config, sparse)
    server.client.upsert("pinakes-key-index", [head])
    for ask in (
        lambda: index.vector(VectorQuery(corpus.vector(), 5)),
        lambda: index.apply([], [corpus.entry(1, 999)], 2),
    ):
        with pytest.raises(IndexCorrupt, match="is of other vectors"):
            ask()


def test_a_request_that_failed_is_sent_again_and_then_the_server_is_left_alone(
    opened: Opened, server: QdrantServer
) -> None:
    corpus = Corpus(documents=5)
    index = filled(opened(corpus, retries=2), corpus)
    asked = KeywordQuery("heron", 5)
    server.failing = [503, 429]
    assert len(index.keyword(asked)[0])
    server.failing, before = [500] * 3, len(server.requests)
    with pytest.raises(IndexUnavailable, match="answers 500"):
        index.keyword(asked)
    assert len(server.requests) - before == 3
    with pytest.raises(IndexUnavailable, match="answers 500"):
        index.keyword(asked)
    assert len(server.requests) - before == 3, "a server that is away was asked at once"
    _wait_until_it_answers(index)
    assert len(index.keyword(asked)[0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"key": "secret"}, "refuses the key \\(401\\)"),
        ({"version": "1.9.2"}, "is version 1.9.2"),
        ({"delay_s": 1.5}, "does not answer"),
    ],
    ids=["wrong key", "too old", "too slow"],
)
def test_a_server_that_does_not_serve_is_no_empty_index(
    opened: Opened, server: QdrantServer, change: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QDRANT_API_KEY", "wrong")
    vars(server).update(change)
    index = opened(Corpus(documents=5), retries=0, timeout_s=1)
    with pytest.raises(IndexUnavailable, match=message) as raised:
        index.vector(VectorQuery(Corpus().vector(), 5))
    assert "wrong" not in str(raised.value)


def test_the_right_key_is_taken_from_the_environment(
    opened: Opened, server: QdrantServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_QDRANT_KEY", "secret")
    server.key = "secret"
    corpus = Corpus(documents=5)
    index = filled(opened(corpus, key_variable="MY_QDRANT_KEY"), corpus)
    assert len(index.keyword(KeywordQuery("heron", 5))[0])


def _wait_until_it_answers(index: Index) -> None:
    import time

    until = time.monotonic() + 20
    while time.monotonic() < until:
        try:
            index.position()
            index.contents()
            return
        except IndexUnavailable:
            time.sleep(0.02)
    pytest.fail("the server was never asked again")


def _head(client: QdrantClient, name: str) -> points.Head:
    [found] = client.retrieve(name, [points.HEAD_ID], with_payload=True)
    return points.Head.from_payload(found.payload or {})


def _points(client: QdrantClient, name: str, *, vectors: bool = False) -> list[Any]:
    found, _ = client.scroll(name, limit=10_000, with_payload=True, with_vectors=vectors)
    return [one for one in found if one.id != points.HEAD_ID]


def _by_id(found: Ranking) -> list[float]:
    return [score for _, score in sorted(zip(found.ids.tolist(), found.scores.tolist(), strict=True))]
