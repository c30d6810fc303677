"""Messages of MCP with ids that no client can read again: each is answered with an error, over stdio and HTTP alike."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import httpx
import pytest
from forking import PINAKES, Forked
from real_server import RealServer, real_server

ODD_IDS = ("NaN", "Infinity", "-Infinity", "1e400", "-1e400", "1.5", "true", "null", "[1]", '{"a": 1}')
GOOD_IDS = ("1", "0", '"a"', "12345678901234567890123")
METHODS = ("ping", "tools/list", "tools/call")


@pytest.fixture
def server(home: Path) -> Iterator[RealServer]:
    with real_server(home) as running:
        yield running


def message(id_: str, method: str) -> str:
    return f'{{"jsonrpc": "2.0", "id": {id_}, "method": "{method}", "params": {{"name": "search", "arguments": {{}}}}}}'


def strict(line: bytes | str) -> Any:
    """Read JSON as other languages do: without NaN."""

    def refuse(name: str) -> NoReturn:
        raise ValueError(f"{name} in {line!r}")

    return json.loads(line, parse_constant=refuse)


def over_stdio(home: Path, lines: list[str]) -> list[Any]:
    """Return the responses to all lines, an end of input after them."""
    with Forked(PINAKES, "--home", str(home), "mcp") as process:
        out, err = process.communicate("\n".join(lines).encode() + b"\n", timeout=120)
    assert process.returncode == 0
    assert b"Traceback" not in err
    return [strict(line) for line in out.splitlines()]


def test_an_odd_id_is_an_error_over_http(server: RealServer) -> None:
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}

    def post(body: str) -> httpx.Response:
        return httpx.post(f"{server.url}/mcp", content=body, headers=headers, timeout=60)

    for id_ in ODD_IDS:
        for method in METHODS:
            answer = post(message(id_, method))
            assert (answer.status_code, strict(answer.text)["error"]["code"]) == (400, -32600), (id_, method)
            assert strict(answer.text)["id"] is None
    for id_ in GOOD_IDS:
        answer = post(message(id_, "tools/list"))
        assert (answer.status_code, strict(answer.text)["id"]) == (200, json.loads(id_))
    notice = post('{"jsonrpc": "2.0", "method": "notifications/initialized"}')
    assert (notice.status_code, notice.text) == (202, "")


def test_an_odd_id_is_an_error_over_stdio(server: RealServer) -> None:
    asked = [message(id_, method) for id_ in ODD_IDS for method in METHODS]
    answers = over_stdio(server.home, [*asked, *(message(id_, "tools/list") for id_ in GOOD_IDS)])
    odd = [one for one in answers if "error" in one]
    assert len(odd) == len(asked)
    assert {(one["id"], one["error"]["code"]) for one in odd} == {(None, -32600)}
    good = {json.dumps(one["id"]) for one in answers if "result" in one}
    assert good == set(GOOD_IDS)


def test_odd_parameters_are_an_error_and_the_next_message_is_answered(server: RealServer) -> None:
    cancelled = ("[1]", '"a"', "7", "null")
    lines = [f'{{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {one}}}' for one in cancelled]
    lines += ['{"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": [1]}', '{"jsonrpc": "2.0", "id": 6}']
    answers = over_stdio(server.home, [*lines, message("9", "ping")])
    assert answers[-1] == {"jsonrpc": "2.0", "id": 9, "result": {}}
    assert [one["error"]["code"] for one in answers if one["id"] == 5] == [-32600]
    assert all(one["error"]["code"] == -32600 for one in answers[:-1])
