"""Least scores that no score can have, by every interface: refused, or nothing is found and that is said."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from forking import run_pinakes
from real_server import RealServer, real_server

from pinakes.core.errors import InvalidInput
from pinakes.library import Library
from pinakes.settings import load

NUMBERS = ("1e300", "1e39", "3.5e38", "-1e300", "-1", "1.0001", "1e-320")
NO_NUMBERS = ("NaN", "Infinity", "-Infinity", "1e400", '"text"', '"NaN"', "[]", "{}", "1" + "0" * 400)
TOOLS = (("search_summaries", "min_score"), ("semantic_search", "similarity_threshold"))


@pytest.fixture
def server(home: Path) -> Iterator[RealServer]:
    with real_server(home, toolsets='["retrieve", "code"]') as running:
        yield running


def post(server: RealServer, path: str, body: str) -> httpx.Response:
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    return httpx.post(server.url + path, content=body, headers=headers, timeout=60)


def test_no_least_score_makes_a_server_fail(server: RealServer) -> None:
    for value in (*NUMBERS, *NO_NUMBERS):
        answer = post(server, "/search", f'{{"query": "herons", "min_score": {value}}}')
        assert answer.status_code == (200 if value == "1e-320" else 422), value
        for tool, name in TOOLS:
            arguments = f'{{"query": "herons", "{name}": {value}}}'
            params = f'{{"name": "{tool}", "arguments": {arguments}}}'
            message = f'{{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {params}}}'
            for answer in (post(server, f"/api/v1/tools/{tool}", arguments), post(server, "/mcp", message)):
                assert answer.status_code in (200, 400), (tool, value)
                told = answer.text.replace("\\", "")
                assert ('"error":' in told) or value in NUMBERS, (tool, value, told)
                assert '"INTERNAL_ERROR"' not in told
    assert server.search("herons").json()["results"]
    log = server.log.read_text()
    assert "Traceback" not in log
    assert "Warning" not in log


@pytest.mark.parametrize("command", [("search",), ("search", "--summaries"), ("query",)])
def test_no_least_score_makes_a_command_fail(home: Path, command: tuple[str, ...]) -> None:
    name = "--min-similarity" if command == ("query",) else "--min-score"
    environment = {**os.environ, "PINAKES_EMBEDDING__PROVIDER": "deterministic"}
    for value in ("1e300", "-1", "nan", "inf", "1e400", "text"):
        done = run_pinakes(["--home", str(home), *command, "herons", f"{name}={value}", "--json"], environment)
        document: dict[str, Any] = json.loads(done.stdout)
        if value in ("1e300", "-1"):
            assert done.returncode == 0
            found = document.get("hits", document.get("documents"))
            assert bool(found) is (value == "-1")
            assert found or any("less than the least" in note for note in document["notes"])
        else:
            assert (done.returncode, document["error"]["code"]) == (2, "INVALID_INPUT"), value
        assert "Warning" not in done.stderr


@pytest.mark.parametrize("collection", ["default", "default,other"])
def test_python_refuses_what_is_no_number(home: Path, collection: str) -> None:
    with Library(load(home=home, environment={}, embedding__provider="deterministic")) as library:
        library.documents.put("Owls hunt at night.", title="Owls", collection="other")
        assert library.search("herons", collection, min_score=1e300).hits == ()
        assert library.search("herons", collection, min_score=-1e300).hits
        for odd in (math.nan, math.inf, -math.inf):
            for name in ("min_score", "min_similarity"):
                with pytest.raises(InvalidInput, match=name):
                    library.search("herons", collection, **{name: odd})  # type: ignore[arg-type]
            with pytest.raises(InvalidInput, match="min_score"):
                library.staged.summaries("herons", collection, min_score=odd)
