"""Reranking by an HTTP endpoint, against a real server on this machine."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from pinakes import testing
from pinakes.core.errors import InvalidSetting, ModelUnavailable
from pinakes.core.ports import Reranker
from pinakes.models.rerankers import open_reranker
from pinakes.models.rerankers.endpoint import EndpointReranker
from pinakes.settings import RerankSettings

CHUNKS = ["the lazy dog", "a quick brown fox", "foxes and other foxes"]


class _Endpoint(http.server.BaseHTTPRequestHandler):
    """Scores a chunk by the letters it shares with the question; what else it does depends on the path."""

    protocol_version = "HTTP/1.1"
    seen: ClassVar[list[tuple[dict[str, str], Any]]] = []
    released = threading.Event()

    def log_message(self, *args: object) -> None:
        pass

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.seen.append((dict(self.headers), request))
        name = "do_" + self.path.strip("/").replace("/", "_")
        getattr(self, name)(request)

    def do_v1_rerank(self, request: Any) -> None:
        rows = _scored(request["query"], request["documents"])
        rows = sorted(rows, key=lambda row: -row[1])[: request["top_n"]]
        self._answer({"id": "1", "results": [{"index": index, "relevance_score": score} for index, score in rows]})

    def do_rerank(self, request: Any) -> None:
        rows = _scored(request["query"], request["texts"])
        self._answer([{"index": index, "score": score} for index, score in sorted(rows, key=lambda row: -row[1])])

    def do_logits(self, request: Any) -> None:
        self._answer({"results": [{"index": index, "relevance_score": 4 - 3.0 * index} for index in range(3)]})

    def do_short(self, request: Any) -> None:
        self._answer({"results": [{"index": 0, "relevance_score": 0.5}]})

    def do_beyond(self, request: Any) -> None:
        self._answer({"results": [{"index": 7, "relevance_score": 0.5}]})

    def do_words(self, request: Any) -> None:
        self._answer({"results": [{"index": 0, "relevance_score": "high"}]})

    def do_nan(self, request: Any) -> None:
        self._answer({"results": [{"index": index, "relevance_score": float("nan")} for index in range(3)]})

    def do_text(self, request: Any) -> None:
        self._send(200, b"<html>Welcome</html>")

    def do_forbidden(self, request: Any) -> None:
        self._send(401, b'{"error": "invalid\\nkey"}')

    def do_busy(self, request: Any) -> None:
        self._send(429, b"")

    def do_wrong(self, request: Any) -> None:
        self._send(422, b'{"detail": "no such model"}')

    def do_moved(self, request: Any) -> None:
        self.send_response(307)
        self.send_header("location", "/v1/rerank")
        self.send_header("content-length", "0")
        self.end_headers()

    def do_silent(self, request: Any) -> None:
        self.released.wait(30)
        self.close_connection = True

    def do_dripping(self, request: Any) -> None:
        self.send_response(200)
        self.send_header("content-length", "1000")
        self.end_headers()
        while not self.released.wait(0.02):
            try:
                self.wfile.write(b" ")
            except OSError:
                break
        self.close_connection = True

    def _answer(self, document: Any) -> None:
        self._send(200, json.dumps(document).encode())

    def _send(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of clients that went away."""


def _scored(query: str, chunks: list[str]) -> list[tuple[int, float]]:
    asked = set(query.lower())
    return [(index, len(asked & set(text)) / (1 + len(asked | set(text)))) for index, text in enumerate(chunks)]


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    server = _Server(("127.0.0.1", 0), _Endpoint)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    _Endpoint.released.set()
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def endpoint(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., EndpointReranker]]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    opened: list[EndpointReranker] = []
    _Endpoint.seen.clear()

    def make(path: str, **more: object) -> EndpointReranker:
        settings = RerankSettings(provider="http", model="acme/rank", url=f"{address}/{path}", **more)
        reranker = open_reranker(settings, tmp_path)
        assert isinstance(reranker, EndpointReranker)
        opened.append(reranker)
        return reranker

    yield make
    for reranker in opened:
        reranker.close()


@pytest.mark.parametrize(("path", "protocol"), [("v1/rerank", "jina"), ("rerank", "tei")])
def test_scores_come_in_the_order_of_the_chunks(
    endpoint: Callable[..., EndpointReranker], path: str, protocol: str
) -> None:
    scores = endpoint(path, protocol=protocol).score("quick fox", CHUNKS)
    expected = [score for _, score in _scored("quick fox", CHUNKS)]
    assert scores.dtype == np.float32
    assert np.allclose(scores, expected)
    assert expected != sorted(expected, reverse=True)


def test_scores_outside_of_0_to_1_show_that_they_are_logits(endpoint: Callable[..., EndpointReranker]) -> None:
    usual, other = endpoint("v1/rerank"), endpoint("logits")
    for reranker in (usual, other):
        reranker.score("quick fox", CHUNKS)
    assert (usual.logits, other.logits) == (False, True)


def test_the_request_is_as_the_protocol_says(
    endpoint: Callable[..., EndpointReranker], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACME_KEY", " s3cret\n")
    endpoint("v1/rerank", key_variable="ACME_KEY").score("fox", CHUNKS)
    endpoint("rerank", protocol="tei").score("fox", CHUNKS)
    (first, jina), (second, tei) = _Endpoint.seen
    assert jina == {"model": "acme/rank", "query": "fox", "documents": CHUNKS, "top_n": 3}
    assert tei == {"query": "fox", "texts": CHUNKS, "truncate": True}
    assert first["authorization"] == "Bearer s3cret"
    assert "authorization" not in second


@pytest.mark.parametrize(
    ("path", "said", "advice"),
    [
        ("forbidden", 'answers 401: {"error": "invalid\\nkey"}', "rerank.key_variable"),
        ("busy", "answers 429.", "Try again later"),
        ("wrong", 'answers 422: {"detail": "no such model"}', "rerank.protocol"),
        ("moved", "answers 307.", "rerank.url"),
        ("text", "does not answer in JSON", "rerank.url"),
        ("short", "gives no score for 2 of 3 chunks", "rerank.protocol"),
        ("nan", "gives no score for 3 of 3 chunks", "rerank.protocol"),
        ("beyond", "there is no chunk 7", "rerank.protocol"),
        ("words", "answers in another form", "rerank.protocol"),
    ],
)
def test_an_answer_that_is_none_is_reported_with_what_to_do(
    endpoint: Callable[..., EndpointReranker], path: str, said: str, advice: str
) -> None:
    with pytest.raises(ModelUnavailable) as caught:
        endpoint(path).score("fox", CHUNKS)
    assert said in caught.value.message
    assert advice in caught.value.hint


def test_an_answer_of_the_other_protocol_is_told_as_such(endpoint: Callable[..., EndpointReranker]) -> None:
    with pytest.raises(ModelUnavailable, match="answers in another form") as caught:
        endpoint("short", protocol="tei").score("fox", CHUNKS)
    assert "rerank.protocol" in caught.value.hint


@pytest.mark.parametrize("path", ["silent", "dripping"])
def test_an_endpoint_that_does_not_answer_is_given_up_in_time(
    endpoint: Callable[..., EndpointReranker], path: str
) -> None:
    with pytest.raises(TimeoutError):
        endpoint(path).score("fox", CHUNKS, within_s=0.2)
    with pytest.raises(ModelUnavailable, match=r"does not answer within 0\.2 s"):
        endpoint(path, timeout_s=0.2).score("fox", CHUNKS)


def test_no_time_left_is_given_up_at_once(endpoint: Callable[..., EndpointReranker]) -> None:
    with pytest.raises(TimeoutError):
        endpoint("silent").score("fox", CHUNKS, within_s=-1.0)


def test_a_place_where_nobody_listens_is_unavailable(tmp_path: Path) -> None:
    reranker = open_reranker(RerankSettings(provider="http", url="http://user:pa55@127.0.0.1:9/rerank?key=x"), tmp_path)
    with pytest.raises(ModelUnavailable, match="cannot be reached") as caught:
        reranker.score("fox", CHUNKS)
    for text in (str(caught.value), reranker.fingerprint):
        assert "pa55" not in text
        assert "key=x" not in text
    reranker.close()


@pytest.mark.parametrize("key", ["", "two\nlines", "schlüssel"])
def test_a_key_that_is_none_is_asked_for_by_its_name_and_never_shown(
    endpoint: Callable[..., EndpointReranker], key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACME_KEY", key)
    with pytest.raises(ModelUnavailable, match="ACME_KEY") as caught:
        endpoint("v1/rerank", key_variable="ACME_KEY").load()
    assert not key or key not in str(caught.value)
    assert _Endpoint.seen == []


@pytest.mark.parametrize("url", ["", "localhost/rerank", "ftp://host/rerank", "https://"])
def test_an_address_that_is_none_is_refused(url: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidSetting, match=r"rerank\.url"):
        open_reranker(RerankSettings(provider="http", url=url), tmp_path)


@pytest.mark.parametrize("check", testing.RERANKER_CHECKS, ids=testing.name_of)
def test_it_keeps_the_contract(check: Callable[[Reranker], None], endpoint: Callable[..., EndpointReranker]) -> None:
    check(endpoint("v1/rerank"))
