"""Vectors from a provider: a real server on this machine that speaks the protocol, and the ways in which it fails."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from embedding_server import BUSY, DOWN, SILENT, EmbeddingServer, Raw, serving

from pinakes import testing
from pinakes.core.errors import InvalidInput, InvalidSetting, ModelUnavailable, NotConfigured
from pinakes.core.records import Float32
from pinakes.models.embedders import open_embedder
from pinakes.models.embedders.endpoint import REST_S, EndpointEmbedder
from pinakes.settings import EmbeddingSettings

TEXTS = ["the heron waits", "otters eat fish", "a badger digs", "the river is wide", "fish swim"]


class Time:
    """A clock that moves when somebody waits; ``waits`` has how long."""

    def __init__(self) -> None:
        self.now = 0.0
        self.waits: list[float] = []

    def __call__(self) -> float:
        return self.now

    def pause(self, stop: threading.Event, seconds: float) -> bool:
        self.waits.append(seconds)
        self.now += seconds
        return stop.is_set()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[EmbeddingServer]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with serving() as served:
        yield served


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def embedder(server: EmbeddingServer, time: Time, tmp_path: Path) -> Iterator[Callable[..., EndpointEmbedder]]:
    opened: list[EndpointEmbedder] = []

    def make(**more: Any) -> EndpointEmbedder:
        given = {"provider": "endpoint", "model": "acme/words", "url": server.url} | more
        opened.append(EndpointEmbedder(EmbeddingSettings(**given), tmp_path, clock=time, pause=time.pause))
        return opened[-1]

    yield make
    for one in opened:
        one.close()


Make = Callable[..., EndpointEmbedder]


def expected(server: EmbeddingServer, texts: list[str]) -> Float32:
    rows = np.array([server.vector(text) for text in texts], np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def told(answers: Any) -> dict[int, Any]:
    """Return what became of each text: its vector, or an error."""
    found: dict[int, Any] = {}
    for positions, result in answers:
        rows = [result] * len(positions) if isinstance(result, InvalidInput) else list(result)
        found |= dict(zip(positions, rows, strict=True))
    return found


@pytest.mark.parametrize("check", testing.EMBEDDER_CHECKS, ids=lambda check: check.__name__)
def test_it_does_what_every_embedder_does(embedder: Make, check: Callable[[EndpointEmbedder], None]) -> None:
    check(embedder(batch=2, max_tokens=100))


def test_vectors_come_in_the_order_of_the_texts_and_have_unit_length(server: EmbeddingServer, embedder: Make) -> None:
    vectors = embedder(batch=2, connections=3).embed(TEXTS)
    assert np.allclose(vectors, expected(server, TEXTS), atol=1e-6)
    assert sorted(server.paid) == sorted(TEXTS)


def test_answers_are_placed_by_their_index_and_not_by_where_they_stand(server: EmbeddingServer, embedder: Make) -> None:
    server.reply = lambda texts, before: {"data": server.rows(texts)[::-1]}
    assert np.allclose(embedder().embed(TEXTS), expected(server, TEXTS), atol=1e-6)


def test_the_request_is_as_the_protocol_says(
    server: EmbeddingServer, embedder: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACME_KEY", " s3cret\n")
    embedder(key_variable="ACME_KEY").embed(["fox"])
    embedder().embed(["fox"])
    (path, first, request), (_, second, _) = server.seen
    assert (path, request) == ("/v1/embeddings", {"model": "acme/words", "input": ["fox"]})
    assert first["authorization"] == "Bearer s3cret"
    assert "authorization" not in second


def test_a_key_that_is_not_there_is_told_before_anything_is_sent(
    server: EmbeddingServer, embedder: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ACME_KEY", raising=False)
    with pytest.raises(NotConfigured, match="ACME_KEY") as caught:
        embedder(key_variable="ACME_KEY").embed(["fox"])
    assert "embedding.key_variable" in caught.value.hint
    assert server.requests == 0


def test_an_address_that_is_none_is_an_error_of_the_settings(tmp_path: Path) -> None:
    with pytest.raises(InvalidSetting, match=r"embedding\.url"):
        open_embedder(EmbeddingSettings(provider="endpoint", url="ftp://somewhere"), tmp_path)


def test_without_an_address_nothing_is_asked(tmp_path: Path) -> None:
    embedder = open_embedder(EmbeddingSettings(provider="endpoint"), tmp_path)
    with pytest.raises(NotConfigured, match="no address"):
        embedder.embed_query("fox")
    assert embedder.max_tokens > 0


def test_batches_keep_to_the_number_of_texts_and_of_tokens(server: EmbeddingServer, embedder: Make) -> None:
    embedder(batch=2, connections=1).embed(TEXTS)
    assert [len(request["input"]) for _, _, request in server.seen] == [2, 2, 1]
    server.seen.clear()
    long = ["x" * 36_000, "y" * 36_000, "fox"]
    embedder(connections=1).embed(long)
    assert [len(request["input"]) for _, _, request in server.seen] == [1, 2]


def test_several_requests_are_under_way_at_once_but_no_more_than_set(server: EmbeddingServer, embedder: Make) -> None:
    together = threading.Barrier(3)
    server.before = lambda texts: together.wait(20)
    embedder(batch=1, connections=3, dimension=48).embed([f"fox {number}" for number in range(9)])
    assert server.most_at_once == 3


@pytest.mark.parametrize("trouble", [BUSY, DOWN, Raw(500), Raw(408), Raw(200, b'{"data": [', half=True)])
def test_a_provider_that_is_in_trouble_for_a_moment_is_asked_again(
    server: EmbeddingServer, embedder: Make, time: Time, trouble: Raw
) -> None:
    server.reply = lambda texts, before: trouble if before < 2 else None
    assert np.allclose(embedder().embed(TEXTS), expected(server, TEXTS), atol=1e-6)
    assert server.requests == 3
    assert len(time.waits) == 2


def test_waits_grow_and_differ_by_chance(server: EmbeddingServer, embedder: Make, time: Time) -> None:
    server.reply = lambda texts, before: DOWN
    with pytest.raises(ModelUnavailable):
        embedder(retries=5).embed(["fox"])
    assert server.requests == 6
    for number, wait_s in enumerate(time.waits):
        assert 0.25 * 2**number <= wait_s <= 0.5 * 2**number


def test_it_waits_as_long_as_the_provider_asks(server: EmbeddingServer, embedder: Make, time: Time) -> None:
    server.reply = lambda texts, before: Raw(429, b"", {"retry-after": "7"}) if before == 0 else None
    embedder().embed(["fox"])
    assert time.waits == [7.0]


@pytest.mark.parametrize(
    ("answer", "asked", "said", "advice"),
    [
        (Raw(401, b"bad key"), 1, "answers 401: bad key", "embedding.key_variable"),
        (Raw(403, b"no"), 1, "answers 403", "embedding.key_variable"),
        (Raw(404, b"no such model"), 1, "answers 404: no such model", "embedding.model"),
        (Raw(307, b"", {"location": "http://elsewhere.invalid/"}), 1, "answers 307", "embedding.url"),
        (BUSY, 3, "answers 429", "later"),
        (DOWN, 3, "answers 503", "later"),
        (Raw(200, b"<html>Welcome</html>"), 1, "does not answer in JSON", "embedding.url"),
        (Raw(200, b'{"data": [{"index": 0, "embedd'), 1, "does not answer in JSON", "embedding.url"),
        ({"error": {"message": "quota\nexceeded"}}, 1, "answers with an error: quota exceeded.", "your account"),
        ({"error": "quota exceeded"}, 1, "answers with an error: quota exceeded.", "your account"),
        ({"error": {"code": 7}}, 1, 'answers with an error: {"code": 7}.', "your account"),
        ({"error": {"message": "slow down", "code": 429}}, 3, "answers with an error: slow down.", "later"),
        ({"error": {"message": "slow down", "code": "429"}}, 3, "answers with an error: slow down.", "later"),
        ({"error": {"message": "no", "code": None, "type": "rate_limit_error"}}, 3, "an error: no.", "later"),
        ({"error": {"message": "no", "status": "RESOURCE_EXHAUSTED"}}, 3, "an error: no.", "later"),
        ({"error": {"message": "overloaded", "code": 503}}, 3, "answers with an error: overloaded.", "later"),
        ({"error": {"message": "no", "code": 4290, "type": ["rate_limit"]}}, 1, "an error: no.", "your account"),
        ({"error": None}, 1, "answers in another form", "protocol of OpenAI"),
        ({"data": []}, 1, "gives 0 vectors for 2 texts", "protocol of OpenAI"),
        ({"data": [{"index": 0, "embedding": [1.0]}]}, 1, "gives 1 vectors for 2 texts", "protocol of OpenAI"),
        ({"data": [{"index": 0, "embedding": [1.0]}] * 2}, 1, "has a vector already", "protocol of OpenAI"),
        ({"data": [{"index": at, "embedding": [1.0]} for at in (0, 7)]}, 1, "no text 7", "protocol of OpenAI"),
        ({"data": [{"index": at, "embedding": [1.0] * (at + 1)} for at in (0, 1)]}, 1, "form", "protocol of OpenAI"),
        ({"data": [{"index": at, "embedding": ["high"]} for at in (0, 1)]}, 1, "form", "protocol of OpenAI"),
        ({"data": [{"index": at, "embedding": [[1.0]]} for at in (0, 1)]}, 1, "shape", "protocol of OpenAI"),
        ({"data": [{"index": at, "embedding": []} for at in (0, 1)]}, 1, "shape", "protocol of OpenAI"),
        ({"data": [{"index": at, "embedding": [0.0] * 48} for at in (0, 1)]}, 1, "zeros or no numbers", "model"),
        ({"data": [{"index": at, "embedding": [float("nan")] * 48} for at in (0, 1)]}, 1, "no numbers", "model"),
        ({"data": [{"index": at, "embedding": [None] * 48} for at in (0, 1)]}, 1, "no numbers", "model"),
        ({"data": [{"index": at, "embedding": [1e999] * 48} for at in (0, 1)]}, 1, "no numbers", "model"),
        ("words", 1, "form", "protocol of OpenAI"),
        (Raw(200, b"[" * 200_000), 1, "does not answer in JSON", "embedding.url"),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_an_answer_that_is_none_is_told_with_what_to_do(
    server: EmbeddingServer, embedder: Make, answer: Any, asked: int, said: str, advice: str
) -> None:
    server.reply = lambda texts, before: answer
    with pytest.raises(ModelUnavailable) as caught:
        embedder(retries=2, dimension=48 if "48" in repr(answer) or "0.0" in repr(answer) else 0).embed(["fox", "hen"])
    assert said in caught.value.message
    assert advice in caught.value.hint
    assert server.requests == asked


def test_a_server_that_is_not_there_is_told_as_such(server: EmbeddingServer, embedder: Make) -> None:
    server.stop()
    with pytest.raises(ModelUnavailable, match="cannot be reached") as caught:
        embedder(retries=1).embed(["fox"])
    assert "embedding.url" in caught.value.hint


def test_a_silent_server_is_given_up(server: EmbeddingServer, embedder: Make) -> None:
    server.reply = lambda texts, before: SILENT
    with pytest.raises(ModelUnavailable, match=r"does not answer within 0\.1 s"):
        embedder(retries=0, timeout_s=0.1).embed(["fox"])


def test_the_error_shows_neither_key_nor_query(
    server: EmbeddingServer, embedder: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACME_KEY", "s3cret")
    server.reply = lambda texts, before: Raw(401)
    with pytest.raises(ModelUnavailable) as caught:
        embedder(key_variable="ACME_KEY", url=server.url + "?token=t0ken").embed(["fox"])
    assert not any(secret in str(caught.value) for secret in ("s3cret", "t0ken"))


def test_an_address_with_a_login_is_refused_since_the_catalogue_would_keep_it(tmp_path: Path) -> None:
    with pytest.raises(InvalidSetting, match=r"embedding\.url has a login") as caught:
        open_embedder(EmbeddingSettings(provider="endpoint", url="https://user:pass@acme.example/v1"), tmp_path)
    assert "pass" not in str(caught.value)


@pytest.mark.parametrize("start", [b"HTTP/1.1 200 OK\r\nx-slow: ", b"HTTP/1.1 200 OK\r\ncontent-length: 9000\r\n\r\n["])
def test_a_server_that_answers_a_byte_at_a_time_is_given_up(embedder: Make, start: bytes) -> None:
    done = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def drip() -> None:
            connection, _ = listening.accept()
            with connection, suppress(OSError):
                connection.sendall(start)
                while not done.wait(0.05):
                    connection.sendall(b" ")

        thread = threading.Thread(target=drip)
        thread.start()
        try:
            with pytest.raises(ModelUnavailable, match=r"does not answer within 0\.3 s"):
                embedder(url=f"http://127.0.0.1:{listening.getsockname()[1]}/v1", timeout_s=0.3, retries=0).embed(
                    ["fox"]
                )
            assert not done.is_set()
        finally:
            done.set()
            thread.join()


def test_a_key_in_the_place_of_its_name_is_not_shown(embedder: Make) -> None:
    with pytest.raises(NotConfigured, match=r"that embedding\.key_variable names does not hold a key") as caught:
        embedder(key_variable="sk-proj-s3cret").embed(["fox"])
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    "answer",
    [
        Raw(401, b"Incorrect key: Bearer s3cret-of-acme"),
        Raw(401, b"x" * 195 + b"s3cret-of-acme"),
        {"data": [{"index": "s3cret-of-acme", "embedding": [1.0]}]},
        {"data": [{"index": 0, "embedding": ["s3cret-of-acme"]}]},
    ],
    ids=("refused", "cut", "place", "number"),
)
def test_a_key_that_is_sent_back_is_not_shown(
    server: EmbeddingServer, embedder: Make, monkeypatch: pytest.MonkeyPatch, answer: Any
) -> None:
    monkeypatch.setenv("ACME_KEY", "s3cret-of-acme")
    server.reply = lambda texts, before: answer
    with pytest.raises(ModelUnavailable) as caught:
        embedder(key_variable="ACME_KEY").embed(["fox"])
    assert "s3c" not in str(caught.value)


def test_what_a_provider_says_is_not_repeated_at_length(server: EmbeddingServer, embedder: Make) -> None:
    server.reply = lambda texts, before: {"data": [{"index": "x" * 100_000, "embedding": [1.0]}]}
    with pytest.raises(ModelUnavailable, match="there is no text 'xx") as caught:
        embedder().embed(["fox"])
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize("told", [10**400, -1, True, "many", None])
def test_tokens_that_cannot_be_are_estimated(server: EmbeddingServer, embedder: Make, told: Any) -> None:
    server.reply = lambda texts, before: {"data": server.rows(texts), "usage": {"total_tokens": told}}
    provider = embedder()
    provider.embed(["fox"])
    assert provider.spent().tokens == 1


def test_what_was_answered_before_a_failure_is_given_all_the_same(server: EmbeddingServer, embedder: Make) -> None:
    server.reply = lambda texts, before: None if before < 2 else Raw(401)
    answers = embedder(batch=1, connections=1).batches(TEXTS)
    assert [list(next(answers)[0]) for _ in range(2)] == [[0], [1]]
    with pytest.raises(ModelUnavailable):
        next(answers)
    assert server.requests == 3


def refusing(server: EmbeddingServer, word: str, status: int = 400) -> None:
    refused = Raw(status, b'{"error": "input is too long"}')
    server.reply = lambda texts, before: refused if any(word in text for text in texts) else None


@pytest.mark.parametrize("status", [400, 413, 422])
def test_a_text_that_is_refused_is_found_by_halves_and_the_others_are_embedded(
    server: EmbeddingServer, embedder: Make, status: int
) -> None:
    refusing(server, "badger", status)
    found = told(embedder().batches(TEXTS))
    assert sorted(found) == [0, 1, 2, 3, 4]
    assert isinstance(found.pop(2), InvalidInput)
    assert np.allclose(np.stack([found[at] for at in (0, 1, 3, 4)]), expected(server, [*TEXTS[:2], *TEXTS[3:]]))
    assert sorted(text for text in server.paid if text != "text") == sorted([*TEXTS[:2], *TEXTS[3:]])


def test_a_single_text_that_is_refused_is_told_from_a_model_that_refuses_everything(
    server: EmbeddingServer, embedder: Make
) -> None:
    refusing(server, "badger")
    with pytest.raises(InvalidInput, match="answers 400"):
        embedder().embed(["a badger"])
    server.reply = lambda texts, before: Raw(400, b"no such model")
    with pytest.raises(ModelUnavailable, match="no such model"):
        embedder().embed(TEXTS)


def test_a_text_without_a_vector_does_not_keep_the_others_from_theirs(server: EmbeddingServer, embedder: Make) -> None:
    def reply(texts: list[str], before: int) -> Any:
        rows = server.rows(texts)
        for row, text in zip(rows, texts, strict=True):
            row["embedding"] = [float("nan")] * 48 if "badger" in text else row["embedding"]
        return {"data": rows}

    server.reply = reply
    found = told(embedder().batches(TEXTS))
    assert isinstance(found.pop(2), InvalidInput)
    assert sorted(found) == [0, 1, 3, 4]


def test_the_dimension_is_asked_for_once_and_remembered(server: EmbeddingServer, embedder: Make) -> None:
    first = embedder()
    assert first.fingerprint == "endpoint/acme/words/48"
    assert first.dimension == 48
    assert server.requests == 1
    server.stop()
    assert embedder().fingerprint == "endpoint/acme/words/48"


def test_the_dimension_of_the_settings_is_taken_at_its_word_and_checked(
    server: EmbeddingServer, embedder: Make
) -> None:
    one = embedder(dimension=64)
    assert one.fingerprint == "endpoint/acme/words/64"
    assert server.requests == 0
    with pytest.raises(ModelUnavailable, match="vectors of 48 numbers, not 64") as caught:
        one.embed(["fox"])
    assert "embedding.dimension to 48" in caught.value.hint


def test_another_model_at_the_same_address_is_noticed(server: EmbeddingServer, embedder: Make) -> None:
    one = embedder()
    one.embed(["fox"])
    server.dimension = 32
    with pytest.raises(ModelUnavailable, match="vectors of 32 numbers, not 48"):
        one.embed(["fox"])
    with pytest.raises(ModelUnavailable, match="vectors of 32 numbers, not 48"):
        embedder().embed_query("fox")


def test_a_model_that_can_gives_shorter_vectors(
    server: EmbeddingServer, embedder: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    one = embedder(provider="openai", model="text-embedding-3-small", dimension=16)
    assert one.embed(["fox"]).shape == (1, 16)
    assert one.fingerprint == "openai/text-embedding-3-small/16"
    assert server.seen[-1][2]["dimensions"] == 16


def test_a_question_is_not_waited_for_long(server: EmbeddingServer, embedder: Make, time: Time) -> None:
    server.reply = lambda texts, before: Raw(503, b"", {"retry-after": "60"})
    with pytest.raises(ModelUnavailable, match="503"):
        embedder(question_timeout_s=5, dimension=48).embed_query("fox")
    assert (server.requests, time.waits) == (1, [])


def test_after_a_question_failed_others_fail_at_once_for_a_while(
    server: EmbeddingServer, embedder: Make, time: Time
) -> None:
    one = embedder(dimension=48)
    server.reply = lambda texts, before: Raw(401)
    for _ in range(3):
        with pytest.raises(ModelUnavailable, match="401"):
            one.embed_query("fox")
    assert server.requests == 1
    server.reply = lambda texts, before: None
    time.now += REST_S
    assert one.embed_query("fox").shape == (48,)


def test_chunks_that_are_embedded_show_that_questions_can_be(server: EmbeddingServer, embedder: Make) -> None:
    one = embedder(dimension=48)
    server.reply = lambda texts, before: Raw(401) if before == 0 else None
    with pytest.raises(ModelUnavailable):
        one.embed_query("fox")
    one.embed(["hen"])
    assert one.embed_query("fox").shape == (48,)


def test_a_question_that_is_refused_as_too_long_is_cut(server: EmbeddingServer, embedder: Make) -> None:
    server.reply = lambda texts, before: Raw(400, b"too long") if len(texts[0]) > 700 else None
    assert embedder(dimension=48).embed_query("heron " * 400).shape == (48,)


def test_requests_keep_the_pace_and_leave_room_for_questions(
    server: EmbeddingServer, embedder: Make, time: Time
) -> None:
    one = embedder(batch=1, connections=1, requests_per_minute=10, dimension=48)
    one.embed([f"fox {number}" for number in range(20)])
    assert time.waits == [60.0, 60.0]
    assert one.embed_query("a question").shape == (48,)


def test_a_question_for_which_no_request_is_left_says_so_at_once(
    server: EmbeddingServer, embedder: Make, time: Time
) -> None:
    one = embedder(requests_per_minute=1, dimension=48)
    one.embed_query("fox")
    with pytest.raises(ModelUnavailable, match="may be asked again in 60 s"):
        one.embed_query("hen")
    assert time.waits == []


def test_tokens_are_counted_as_the_provider_does_for_each_thread_by_itself(
    server: EmbeddingServer, embedder: Make
) -> None:
    one = embedder(batch=2)
    one.embed(TEXTS)
    other = threading.Thread(target=one.embed, args=(["one two three"],))
    other.start()
    other.join()
    spent = one.spent()
    assert (spent.requests, spent.tokens) == (3, sum(len(text.split()) for text in TEXTS))


def test_a_wanderer_with_odd_texts_gets_vectors(server: EmbeddingServer, embedder: Make) -> None:
    vectors = embedder().embed(["", " \n", "\ud800 half", "a\0b"])
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1)
    assert all(text.strip() for _, _, request in server.seen for text in request["input"])


def test_who_stops_in_the_middle_leaves_nothing_running(server: EmbeddingServer, embedder: Make) -> None:
    answers = embedder(batch=1, connections=2).batches([f"fox {number}" for number in range(50)])
    next(answers)
    answers.close()
    assert server.requests < 50


def test_large_answers_are_read_whole(server: EmbeddingServer, embedder: Make) -> None:
    server.dimension = 4000
    vectors = embedder(batch=100).embed([f"fox {number}" for number in range(100)])
    assert vectors.shape == (100, 4000)
    assert len(json.dumps(server.vector("fox"))) * 100 > 4_000_000
