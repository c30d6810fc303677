"""Oversized filters, lists of ids, bombs, odd names and odd times, through every tool and route of a real server."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from forking import PINAKES, Forked
from hostile_home import (
    OPEN,
    PLANTED,
    HostileCaller,
    HostileHome,
    good_arguments,
    hostile_calls,
    hostile_requests,
    make_home,
    message,
    waiting,
)
from hostile_values import QUESTION, nested, texts
from real_server import RealServer, real_server

from pinakes.tools import TOOLS

MOST_S = 20
"""Far more than any answer takes, so that a busy machine does not fail the test; what is not linear takes minutes."""
MOST_WAIT_S = 10.0
"""So long may ``/healthz`` wait: 0.1 on a quiet machine, 1 on a busy one; what holds others up takes its time limit."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> HostileHome:
    return make_home(tmp_path_factory.mktemp("hostile") / "made")


@pytest.fixture(scope="module")
def server(made: HostileHome, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    home = tmp_path_factory.mktemp("hostile") / "home"
    shutil.copytree(made.home, home)
    with real_server(home, server__require_keys=True) as running:
        yield running


@contextmanager
def caller_with(server: RealServer, made: HostileHome, key: str) -> Iterator[HostileCaller]:
    """Give a caller; at the end nothing may have been wrong with any answer, and no other caller may have waited."""
    readable = {"nobody": (), "reader": (OPEN,), "writer": (OPEN,), "admin": tuple(PLANTED)}[key]
    foreign = tuple(word for name, word in PLANTED.items() if name not in readable)
    with httpx.Client(base_url=server.url, headers=made.keys[key], timeout=120) as client:
        caller = HostileCaller(server, client, foreign, MOST_S)
        with waiting(caller) as waits:
            yield caller
    assert not caller.faults, "\n".join(caller.faults[:20])
    assert len(caller.answers) > 5
    assert max(waited for waited, _ in waits) < MOST_WAIT_S
    assert server.process.poll() is None


@pytest.mark.parametrize(("key", "way", "seed"), [("reader", "mcp", 1), ("writer", "rest", 2)])
def test_every_tool_answers_or_refuses(server: RealServer, made: HostileHome, key: str, way: str, seed: int) -> None:
    with caller_with(server, made, key) as caller:
        tools = caller.tools()
        assert set(tools) >= {
            tool.name for tool in TOOLS if tool.read_only and tool.name not in ("kb_status", "version")
        }
        for tool, what, body in hostile_calls(tools, made.ids, seed, each=1):
            caller.call(way, tool, what, body)


def test_every_route_answers_or_refuses(server: RealServer, made: HostileHome) -> None:
    with caller_with(server, made, "writer") as caller:
        spec = caller.client.get("/openapi.json").json()
        for what, method, path, body in hostile_requests(spec, seed=4, each=2):
            caller.send(what, method, path, body)


def test_without_a_key_nothing_is_told(server: RealServer, made: HostileHome) -> None:
    with caller_with(server, made, "nobody") as caller:
        spec = httpx.get(f"{server.url}/openapi.json", headers=made.keys["admin"]).json()
        for what, method, path, body in hostile_requests(spec, seed=5, each=1):
            status = caller.send(what, method, path, body).status_code
            assert status in (401, 200) if path == "/healthz" else status == 401, path


def test_a_refusal_names_the_value_in_short_and_what_to_do(server: RealServer, made: HostileHome) -> None:
    with caller_with(server, made, "admin") as caller:
        for tool, schema in caller.tools().items():
            good = good_arguments(tool, schema, made.ids[0])
            body = json.dumps({**good, "x" * 1_000_000: 1})
            for way in ("rest", "mcp"):
                answer = caller.call(way, tool, "a name of a megabyte", body)
                assert len(answer.text) < 10_000
                assert "there is no parameter 'xxx" in answer.text
                assert "Parameters: " in answer.text or tool == "search_keps"
        wide = json.dumps({"queries": [{}] * 1000, "collection": OPEN})
        assert "and 990 more like these" in caller.call("rest", "multi_query_search", "many wrong values", wide).text
        for number in ("9" * 30, "1e300"):
            body = f'{{"doc_id": "{made.ids[0]}", "version": {number}}}'
            assert "smaller number" in caller.call("mcp", "document_history", "a large number", body).text
        for deep in ("[" * 50_000, nested(50_000), f"[{'9' * 5000}]", '{"a":' * 50_000):
            asked = json.dumps({"query": QUESTION, "doc_ids": deep, "tags_filter": deep, "filters": deep})
            for tool in ("explain_retrieval", "search"):
                assert "INVALID" in caller.call("rest", tool, "deep text", asked).text
        many = json.dumps({"fields": [f"f{number}" for number in range(10_000)]})
        assert "10000 fields, more than 200" in caller.call("rest", "metadata_report", "many fields", many).text
        long = json.dumps({"text": "a" * 60_000})
        assert "60000 characters, more than 1000" in caller.call("rest", "retrieval_log", "long text", long).text
        for way in ("rest", "mcp"):  # an id that is looked for among ends of paths
            for tool in ("read", "get_documents", "explain_retrieval", "get_document_metadata", "document_history"):
                schema = caller.tools()[tool]
                given = {**good_arguments(tool, schema, "x" * 60_000), "collection": OPEN}
                answer = caller.call(way, tool, "a long id", json.dumps(given))
                assert "not" in answer.text.lower()
        odd = caller.send("long name", "POST", "/mcp", message(1, "n" * 100_000, "{}"))
        assert "name has 100000 characters" in odd.text


def test_a_long_answer_over_mcp_is_measured_while_others_are_answered(server: RealServer, made: HostileHome) -> None:
    with caller_with(server, made, "writer") as caller:
        for text in ("\U0001f600" * 200_000, "".join(chr(0x4E00 + number % 20_000) for number in range(200_000))):
            put = json.dumps({"title": "Long", "text": text, "collection": OPEN})
            document = caller.call("rest", "ingest_document", "long text", put).json()["doc_id"]
            for _ in range(6):
                caller.call("mcp", "get_documents", "long", json.dumps({"doc_ids": [document], "collection": OPEN}))


def test_a_document_of_one_line_again_and_again_slows_no_search(server: RealServer, made: HostileHome) -> None:
    with caller_with(server, made, "writer") as caller:
        for line in ("treasure ", "\n- captain"):
            put = json.dumps({"title": "Again", "text": (line * 100_000)[:200_000], "collection": OPEN})
            caller.call("rest", "ingest_document", "one line", put)
        for number in range(9):
            asked = json.dumps({"query": f"treasure {number}", "collection": OPEN, "top_k": 20})
            assert caller.send("after them", "POST", "/search", asked).status_code == 200


def test_all_texts_are_taken_in_or_refused(server: RealServer, made: HostileHome) -> None:
    with caller_with(server, made, "writer") as caller:
        for number, text in enumerate(texts(8_000)[::3]):
            put = json.dumps({"title": f"Text {number}", "text": text, "collection": OPEN})
            caller.call("rest", "ingest_document", repr(text[:12]), put)


def test_every_tool_answers_over_stdio(made: HostileHome, tmp_path: Path) -> None:
    home = tmp_path / "home"
    shutil.copytree(made.home, home)
    schemas = {tool.name: tool.schema() for tool in TOOLS if tool.read_only and not tool.asks_elsewhere}
    asked = [body for body in hostile_calls(schemas, made.ids, seed=6, each=1) if len(body[2]) < 500_000]
    lines = [message(number, tool, body) for number, (tool, _, body) in enumerate(asked)]
    with Forked(PINAKES, "--home", str(home), "mcp") as process:
        out, err = process.communicate("\n".join(lines).encode() + b"\n", timeout=120)
    assert process.returncode == 0
    assert b"Traceback" not in err
    answers = [json.loads(line) for line in out.splitlines()]
    assert len(answers) == len(lines) > 100
    failed = [one for one in answers if "INTERNAL_ERROR" in json.dumps(one.get("result", {}).get("_meta"))]
    assert not failed
    codes = {one["error"]["code"] for one in answers if "error" in one}
    assert codes <= {-32600, -32700}
