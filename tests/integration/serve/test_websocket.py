"""``/ws/search``: answers while somebody types, over a real socket."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from cross_encoder_reference import make_tiny_cross_encoder
from serve_support import Running, settings_for
from websockets.exceptions import InvalidStatus
from websockets.sync.client import ClientConnection, connect

from pinakes.api.http_app import create_app
from pinakes.api.service import Service
from pinakes.compat.kep.routes import SearchResponse
from pinakes.compat.kep.socket import MessageRefusal, read_question, stages
from pinakes.core.records import SearchMode
from pinakes.library import Library

Ask = Callable[..., list[dict[str, Any]]]


def address(server: Running) -> str:
    return server.url.replace("http://", "ws://") + "/ws/search"


@pytest.fixture
def socket(server: Running) -> Iterator[ClientConnection]:
    with connect(address(server), proxy=None, close_timeout=1) as opened:
        yield opened


def answers(socket: ClientConnection, id_: object) -> list[dict[str, Any]]:
    """Return the messages up to the last one about a question."""
    found = []
    while True:
        message = json.loads(socket.recv(timeout=30))
        found.append(message)
        if message["id"] == id_ and message["done"]:
            return found


def ask(socket: ClientConnection, **message: object) -> list[dict[str, Any]]:
    socket.send(json.dumps(message))
    return answers(socket, message.get("id"))


def test_words_answer_first_then_words_and_meaning(socket: ClientConnection, server: Running) -> None:
    first, last = ask(socket, id="a", query="CRD conversion webhook", top_k=3)
    assert [(one["stage"], one["done"]) for one in (first, last)] == [("keyword", False), ("fused", True)]
    for one, mode in ((first, "keyword"), (last, "hybrid")):
        same = server.client.post("/search", json={"query": one["query"], "top_k": 3, "search_type": mode}).json()
        assert one["results"] == same["results"]
        assert one["total_results"] == len(one["results"]) > 0
        told = {name: value for name, value in one.items() if name not in ("id", "stage", "done")}
        SearchResponse.model_validate(told, extra="forbid")


@pytest.mark.parametrize(("mode", "expected"), [("keyword", ["keyword"]), ("vector", ["fused"])])
def test_what_asks_one_arm_has_one_stage(socket: ClientConnection, mode: str, expected: list[str]) -> None:
    found = ask(socket, id=1, query="CRD", mode=mode)
    assert [one["stage"] for one in found] == expected
    assert found[-1]["search_type"] == mode


def test_filters_collection_and_the_other_fields_of_a_search_hold(socket: ClientConnection) -> None:
    filters = {"sig_name": "sig-auth"}
    *_, last = ask(socket, id=1, query="authentication", collection="keps", filters=filters, explain=True, top_k=2)
    assert {result["metadata"]["sig_name"] for result in last["results"]} == {"sig-auth"}
    assert all("why" in result for result in last["results"])


@pytest.mark.parametrize("mode", ["hybrid", "auto", "vector", "keyword"])
def test_a_reranker_that_is_in_use_comes_last(library: Library, mode: SearchMode) -> None:
    plain = library.settings
    used = plain.model_copy(update={"rerank": plain.rerank.model_copy(update={"enabled": True})})
    without = list(stages(plain, mode))
    assert not any(stage.rerank for stage in without)
    assert [stage.name for stage in stages(used, mode)] == [*(stage.name for stage in without), "reranked"]
    last = list(stages(used, mode))[-1]
    assert (last.mode, last.rerank) == (mode, True)


def test_the_reranked_results_follow_those_without(home: Path, tmp_path: Path) -> None:
    model = make_tiny_cross_encoder(tmp_path / "tiny")
    rerank: dict[str, Any] = {"model": "acme/tiny", "path": str(model), "precision": "fp32", "budget_ms": 60_000}
    chosen = {f"rerank__{name}": value for name, value in rerank.items()} | {"rerank__enabled": True}
    with Library(settings_for(home, server__port=0, **chosen)) as library:
        server = Running(create_app(library), library.settings)
        try:
            with connect(address(server), proxy=None) as socket:
                found = ask(socket, id=1, query="quick fox", explain=True)
        finally:
            server.stop()
    assert [(one["stage"], one["done"]) for one in found] == [
        ("keyword", False),
        ("fused", False),
        ("reranked", True),
    ]
    for one in found:
        reranked = ["rerank" in result["why"]["scores"] for result in one["results"]]
        assert reranked == [one["stage"] == "reranked"] * len(reranked)
    assert found[-1]["results"]


def test_a_newer_question_takes_the_place_of_an_older_one(server: Running) -> None:
    typed = "custom resource definition conversion webhooks"
    with connect(address(server), proxy=None) as socket:
        for end in range(1, len(typed) + 1):
            if end % 3 == 0 or end == len(typed):
                socket.send(json.dumps({"id": end, "query": typed[:end]}))
        found = answers(socket, len(typed))
    assert [one["stage"] for one in found[-2:]] == ["keyword", "fused"]
    assert {one["id"] for one in found[-2:]} == {len(typed)}
    ended = [one["id"] for one in found if one["done"]]
    assert sorted(ended) == [end for end in range(1, len(typed) + 1) if end % 3 == 0 or end == len(typed)]
    superseded = [one for one in found if "superseded" in one]
    assert all(set(one) == {"id", "superseded", "done"} for one in superseded)


def test_of_questions_that_come_while_one_is_answered_only_the_newest_is(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from threading import Event

    from pinakes.compat.kep import socket as websocket

    begun, go_on, asked = Event(), Event(), []

    def slowly(service: Service, request: Any, **how: Any) -> Any:
        asked.append(request.query)
        begun.set()
        assert go_on.wait(30)
        return answered(service, request, **how)

    answered = websocket.answered
    monkeypatch.setattr(websocket, "answered", slowly)
    with Library(settings_for(home, server__port=0)) as library:
        server = Running(create_app(library), library.settings)
        try:
            with connect(address(server), proxy=None) as socket:
                socket.send(json.dumps({"id": 1, "query": "first"}))
                assert begun.wait(30)
                socket.send(json.dumps({"id": 2, "query": "second"}))
                socket.send(json.dumps({"id": 3, "query": "authentication"}))
                assert json.loads(socket.recv(timeout=30)) == {"id": 2, "superseded": True, "done": True}
                go_on.set()
                assert json.loads(socket.recv(timeout=30)) == {"id": 1, "superseded": True, "done": True}
                assert [one["id"] for one in answers(socket, 3)] == [3, 3]
        finally:
            server.stop()
    assert asked == ["first", "authentication"]


@pytest.mark.parametrize(
    ("message", "id_", "code", "words"),
    [
        ("{", None, "INVALID_INPUT", "not JSON"),
        ("[]", None, "INVALID_INPUT", "no JSON object"),
        (b"\xff", None, "INVALID_INPUT", "not JSON"),
        ("", None, "INVALID_INPUT", "not JSON"),
        ('{"id": {}, "query": "a"}', None, "INVALID_INPUT", "id of a message"),
        ('{"id": true, "query": "a"}', None, "INVALID_INPUT", "id of a message"),
        ('{"id": 4}', 4, "INVALID_INPUT", "query"),
        ('{"id": 5, "query": "a", "top_k": 0}', 5, "INVALID_INPUT", "top_k"),
        ('{"id": 6, "query": "a", "topk": 3}', 6, "INVALID_INPUT", "did you mean 'top_k'"),
        ('{"id": 7, "query": "a", "mode": "loud"}', 7, "INVALID_INPUT", "search_type"),
        ('{"id": 8, "query": "a", "collection": "nowhere"}', 8, "NOT_FOUND", "nowhere"),
        ('{"id": 9, "query": "a", "filters": {"year": {"above": 3}}}', 9, "INVALID_FILTER", "above"),
        (json.dumps({"id": 10, "query": "a" * 30_000}), None, "TOO_LARGE", "30"),
    ],
)
def test_an_error_is_a_message_and_the_socket_stays_open(
    socket: ClientConnection, message: str | bytes, id_: object, code: str, words: str
) -> None:
    socket.send(message)
    told = json.loads(socket.recv(timeout=30))
    assert set(told) == {"id", "error", "done"}
    assert (told["id"], told["done"], told["error"]["code"]) == (id_, True, code)
    assert words in told["error"]["message"]
    assert ask(socket, id="after", query="CRD")[-1]["stage"] == "fused"


def test_an_unexpected_failure_shows_no_internals(socket: ClientConnection, monkeypatch: pytest.MonkeyPatch) -> None:
    from pinakes.compat.kep import socket as websocket

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("secret words")

    with monkeypatch.context() as patch:
        patch.setattr(websocket, "answered", broken)
        [told] = ask(socket, id=1, query="CRD")
    assert told["error"]["code"] == "INTERNAL_ERROR"
    assert "secret" not in json.dumps(told)
    assert ask(socket, id=2, query="CRD")[-1]["results"]


def test_who_sends_too_much_is_told_and_slowed_down(socket: ClientConnection) -> None:
    for number in range(60):
        socket.send(json.dumps({"id": number, "query": "CRD"}))
    refused = 0
    while not refused:
        message = json.loads(socket.recv(timeout=30))
        refused += message.get("error", {}).get("code") == "BUSY"
    assert "a second" in message["error"]["hint"]


@pytest.mark.parametrize("headers", [{"Origin": "https://evil.example"}, {"Origin": "null"}])
def test_pages_of_other_sites_are_refused(server: Running, headers: dict[str, str]) -> None:
    with pytest.raises(InvalidStatus) as refused, connect(address(server), additional_headers=headers, proxy=None):
        pass
    assert refused.value.response.status_code == 403


def test_a_foreign_host_is_refused(server: Running) -> None:
    upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"}
    key = {"Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==", "Host": "evil.example"}
    assert httpx.get(server.url + "/ws/search", headers=upgrade | key).status_code == 403


def test_a_page_of_this_machine_may_search(server: Running) -> None:
    with connect(address(server), additional_headers={"Origin": "http://localhost:3000"}, proxy=None) as socket:
        assert ask(socket, id=1, query="CRD")[-1]["results"]


def test_a_client_that_leaves_in_the_middle_harms_nothing(server: Running) -> None:
    for _ in range(5):
        with connect(address(server), proxy=None) as socket:
            socket.send(json.dumps({"id": 1, "query": "custom resources", "top_k": 50}))
    with connect(address(server), proxy=None) as socket:
        assert ask(socket, id=1, query="CRD")[-1]["results"]


def test_several_sockets_are_answered_each_for_itself(server: Running) -> None:
    with connect(address(server), proxy=None) as one, connect(address(server), proxy=None) as other:
        one.send(json.dumps({"id": 1, "query": "authentication tokens"}))
        other.send(json.dumps({"id": 1, "query": "kubeadm join"}))
        assert answers(one, 1)[-1]["query"] == "authentication tokens"
        assert answers(other, 1)[-1]["query"] == "kubeadm join"


def test_an_id_may_be_left_out(socket: ClientConnection) -> None:
    assert {one["id"] for one in ask(socket, query="CRD", collection=None)} == {None}


def test_a_message_that_is_no_question_is_told_with_its_id() -> None:
    with pytest.raises(MessageRefusal) as refused:
        read_question('{"id": "x", "query": 7}')
    assert refused.value.id == "x"
    assert "query" in refused.value.error.message
