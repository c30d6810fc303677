"""MCP over HTTP and over stdio, spoken by the clients that agents use."""

from __future__ import annotations

import asyncio
import json
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mcp
import pytest
from fastmcp import Client
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from forking import Forked
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from serve_support import STDIO, Running, configure_folder, free_port

from pinakes.api.greeting import PROTOCOL_VERSIONS
from pinakes.api.http_app import create_app
from pinakes.api.instance import announced
from pinakes.api.stdio_upstream import RemoteServer
from pinakes.catalog.home import Home
from pinakes.library import Library

HIT = re.compile(r"KEP: (\S*)\nTitle: ([^\n]+)\nScore: (\d\.\d\d)\n\n(.+?)\n\n---\n", re.DOTALL)
QUESTION = {"query": "CustomResourceDefinition versioning", "top_k": 2}
Process = Callable[..., Forked]


def initialize(version: str = "2025-06-18") -> dict[str, Any]:
    client = {"name": "test", "version": "1"}
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": client}
    return {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}


def call(name: str, arguments: dict[str, Any], number: int = 1) -> dict[str, Any]:
    params = {"name": name, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


def send(child: Forked, message: dict[str, Any]) -> None:
    assert child.stdin is not None
    child.stdin.write(json.dumps(message).encode() + b"\n")
    child.stdin.flush()


def receive(child: Forked) -> dict[str, Any]:
    assert child.stdout is not None
    answer: dict[str, Any] = json.loads(child.stdout.readline())
    return answer


def talk(child: Forked, *messages: dict[str, Any]) -> tuple[list[dict[str, Any]], str]:
    """Send everything at once, end stdin, and return all that came on stdout, line by line, and stderr."""
    out, err = child.communicate(b"".join(json.dumps(message).encode() + b"\n" for message in messages), timeout=60)
    return [json.loads(line) for line in out.splitlines()], err.decode()


def text_of(response: dict[str, Any]) -> str:
    return str(response["result"]["content"][0]["text"])


def post(server: Running, message: dict[str, Any]) -> dict[str, Any]:
    answer: dict[str, Any] = server.client.post("/mcp", json=message).json()
    return answer


def test_a_bare_post_lists_the_tools(server: Running) -> None:
    [tool] = post(server, {"jsonrpc": "2.0", "id": 1, "method": "tools/list"})["result"]["tools"]
    assert tool["name"] == "search_keps"
    assert tool["inputSchema"]["required"] == ["query"]
    assert tool["inputSchema"]["properties"]["query"]["type"] == "string"
    top_k = tool["inputSchema"]["properties"]["top_k"]
    assert (top_k["type"], top_k["default"]) == ("number", 5)
    assert tool["annotations"]["readOnlyHint"] is True


def test_a_get_of_the_endpoint_says_what_it_is(server: Running) -> None:
    answer = server.client.get("/mcp")
    assert answer.status_code == 405
    assert answer.headers["allow"] == "POST, DELETE"
    assert "MCP endpoint" in answer.json()["detail"]


def test_search_keps_answers_in_its_own_words(server: Running) -> None:
    result = post(server, call("search_keps", QUESTION))["result"]
    assert result["isError"] is False
    hits = HIT.findall(result["content"][0]["text"])
    assert len(hits) == 2
    assert hits[0][:2] == ("sig-api-machinery/598", "CRD Conversion Webhook")
    assert "\n".join(f"KEP: {k}\nTitle: {t}\nScore: {s}\n\n{x}\n\n---\n" for k, t, s, x in hits) == text_of(
        {"result": result}
    )


@pytest.mark.parametrize(
    ("name", "arguments", "text"),
    [
        ("search_keps", {"query": "zzz", "top_k": 99}, "Error searching KEPs: top_k cannot be 99. At most 50."),
        ("search_keps", {}, "Error searching KEPs: Invalid arguments for search_keps: query is missing."),
        ("no_such_tool", {}, "Unknown tool: 'no_such_tool'"),
    ],
)
def test_a_failed_call_is_an_error_that_says_why(
    server: Running, name: str, arguments: dict[str, Any], text: str
) -> None:
    answer = server.client.post(
        "/mcp", content=json.dumps(call(name, arguments)), headers={"Content-Type": "application/json"}
    ).json()
    assert answer["result"]["isError"] is True
    assert text_of(answer).startswith(text)
    assert "Traceback" not in text_of(answer)


def test_nothing_relevant_is_an_answer(start: Callable[..., Running]) -> None:
    server = start()
    library: Library = server.other  # type: ignore[attr-defined]
    keps = library.settings.collections["keps"].model_copy(update={"retrieval": "keyword"})
    settings = library.settings.model_copy(update={"collections": {"keps": keps}})
    with Library(settings) as other:
        result = post(start(create_app(other)), call("search_keps", {"query": "zyzzyva"}))["result"]
    assert (result["isError"], result["content"][0]["text"]) == (False, "No relevant KEPs found.")


def test_the_clients_of_both_kits_work_over_http(server: Running) -> None:
    async def with_fastmcp() -> str:
        async with Client(StreamableHttpTransport(f"{server.url}/mcp")) as client:
            assert [tool.name for tool in await client.list_tools()] == ["search_keps"]
            result = await client.call_tool("search_keps", QUESTION)
            return str(result.content[0].text)

    async def with_sdk() -> str:
        connected = streamable_http_client(f"{server.url}/mcp")
        async with connected as (reading, writing, *_), mcp.ClientSession(reading, writing) as session:
            greeting = await session.initialize()
            assert (greeting.server_info.name, greeting.server_info.version) == ("kep-knowledge", "1.0.0")
            return str((await session.call_tool("search_keps", QUESTION)).content[0].text)

    expected = text_of(post(server, call("search_keps", QUESTION)))
    assert (asyncio.run(with_fastmcp()), asyncio.run(with_sdk())) == (expected, expected)


def test_the_clients_of_both_kits_work_over_stdio(home: Path) -> None:
    async def with_fastmcp() -> str:
        async with Client(StdioTransport(sys.executable, ["-c", STDIO, str(home)])) as client:
            assert [tool.name for tool in await client.list_tools()] == ["search_keps"]
            return str((await client.call_tool("search_keps", QUESTION)).content[0].text)

    async def with_sdk() -> str:
        parameters = StdioServerParameters(command=sys.executable, args=["-c", STDIO, str(home)])
        async with stdio_client(parameters) as (reading, writing), mcp.ClientSession(reading, writing) as session:
            greeting = await session.initialize()
            assert (greeting.server_info.name, greeting.server_info.version) == ("kep-knowledge", "1.0.0")
            return str((await session.call_tool("search_keps", QUESTION)).content[0].text)

    text = asyncio.run(with_fastmcp())
    assert HIT.findall(text)
    assert text == asyncio.run(with_sdk())


def test_the_greeting_is_the_same_over_stdio_and_http(server: Running, home: Path, process: Process) -> None:
    assert sorted(PROTOCOL_VERSIONS) == sorted(HANDSHAKE_PROTOCOL_VERSIONS)
    child = process(STDIO, home)
    for version in [*PROTOCOL_VERSIONS, "1999-01-01"]:
        send(child, initialize(version))
        here, there = receive(child)["result"], post(server, initialize(version))["result"]
        for name in ("protocolVersion", "serverInfo", "instructions"):
            assert here[name] == there[name]
        assert set(here["capabilities"]) <= set(there["capabilities"])


def test_stdout_holds_nothing_but_the_protocol(home: Path, process: Process) -> None:
    loud = "import os\nos.write(2, b'')\n" + STDIO.replace(
        "serve_stdio(", "from pinakes.api import stdio_upstream\n_open = stdio_upstream.open_upstream\n"
        "def loud(*a):\n    print('a print'); os.write(1, b'a native print\\n'); os.system('echo a child; cat')\n"
        "    return _open(*a)\nstdio_upstream.open_upstream = loud\nserve_stdio(",
    )  # fmt: skip
    messages = [initialize(), {"jsonrpc": "2.0", "method": "notifications/initialized"}]
    messages += [{"jsonrpc": "2.0", "id": "a", "method": "ping"}, call("search_keps", QUESTION, 7)]
    child = process(loud, home)
    answers, words = talk(child, *messages)
    assert {str(answer["id"]) for answer in answers} == {"0", "a", "7"}
    assert HIT.findall(text_of(next(answer for answer in answers if answer["id"] == 7)))
    assert child.returncode == 0
    for printed in ("a print", "a native print", "a child", "kep-knowledge 1.0.0"):
        assert printed in words


def test_what_is_no_message_is_answered_with_an_error(home: Path, process: Process) -> None:
    child = process(STDIO, home)
    out, _ = child.communicate(b'nonsense\n\n[1]\n{"id": 1, "method": 2}\n' + b"[" * 50_000 + b"\n", timeout=60)
    assert [json.loads(line)["error"]["code"] for line in out.splitlines()] == [-32700, -32600, -32600, -32700]


def test_the_end_of_stdin_ends_the_process(home: Path, process: Process) -> None:
    child = process(STDIO, home)
    send(child, initialize())
    receive(child)
    assert child.stdin is not None
    child.stdin.close()
    assert child.wait(30) == 0


def test_initialize_is_answered_while_the_first_index_is_built(tmp_path: Path, corpus: Path, process: Process) -> None:
    home = tmp_path / "home"
    configure_folder(home, corpus)
    with Home(home).reading("keps", ("folder", str(corpus), "")):
        child = process(STDIO, home)
        send(child, initialize())
        assert receive(child)["result"]["serverInfo"]["name"] == "kep-knowledge"
        send(child, call("search_keps", QUESTION))
        assert text_of(receive(child)).startswith("Error searching KEPs: Server not ready. Index not loaded.")
    answer, deadline = None, time.monotonic() + 60
    while answer is None or answer["result"]["isError"]:
        assert time.monotonic() < deadline, answer
        send(child, call("search_keps", QUESTION))
        answer = receive(child)
    assert HIT.findall(text_of(answer))


def test_a_running_server_of_the_home_answers_for_stdio(library: Library, home: Path, process: Process) -> None:
    running = Running(create_app(library, instance_id="the-server"), library.settings)
    asked = 'pinakes_requests_total{path="/mcp",status="200"}'
    try:
        with announced(library.settings, running.url, "the-server"):
            answers, _ = talk(process(STDIO, home), initialize(), call("search_keps", QUESTION))
            assert HIT.findall(text_of(answers[1]))
            assert asked in running.client.get("/metrics").text
    finally:
        running.stop()
    assert not (home / "server.json").exists()


@pytest.mark.parametrize("who", ["nobody", "somebody else"])
def test_a_stale_server_file_is_ignored(
    library: Library, server: Running, home: Path, process: Process, who: str
) -> None:
    url = server.url if who == "somebody else" else f"http://127.0.0.1:{free_port()}"
    with announced(library.settings, url, "an-instance-that-is-gone"):
        answers, _ = talk(process(STDIO, home), initialize(), call("search_keps", QUESTION))
    assert HIT.findall(text_of(answers[1]))


def test_what_is_on_this_machine_is_never_asked_through_a_proxy(
    library: Library, server: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(variable, f"http://127.0.0.1:{free_port()}")
    for variable in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(variable, raising=False)
    remote = RemoteServer(library.settings, server.url)
    try:
        assert HIT.findall(text_of(remote.answer(call("search_keps", QUESTION), PROTOCOL_VERSIONS[-1])))
    finally:
        remote.close()


def test_the_wrapper_serves_a_remote_pinakes(tmp_path: Path, server: Running, process: Process) -> None:
    answers, banner = talk(process(STDIO, tmp_path, server.url), initialize(), call("search_keps", QUESTION))
    assert text_of(answers[1]) == text_of(post(server, call("search_keps", QUESTION)))
    assert banner.startswith(f"kep-knowledge 1.0.0: MCP over stdio, for {server.url}")


def test_the_wrapper_lists_its_tool_and_says_so_when_the_server_is_down(tmp_path: Path, process: Process) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    listed = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    answers, _ = talk(process(STDIO, tmp_path, url), initialize(), listed, call("search_keps", QUESTION, 3))
    by_id = {answer["id"]: answer for answer in answers}
    assert [tool["name"] for tool in by_id[2]["result"]["tools"]] == ["search_keps"]
    assert by_id[3]["result"]["isError"] is True
    assert text_of(by_id[3]).startswith(f"Error searching KEPs: No Pinakes answers at {url}")


def test_the_wrapper_tells_of_a_failure_in_any_template(tmp_path: Path, process: Process) -> None:
    tool = ["[[tools]]", 'name = "ask"', 'description = "d"', 'collection = "keps"', 'hit = "{title}"']
    (tmp_path / "config.toml").write_text("\n".join([*tool, """error = '{"error": "{message}"}'"""]), "utf-8")
    url = f"http://127.0.0.1:{free_port()}"
    answers, _ = talk(process(STDIO, tmp_path, url), initialize(), call("ask", QUESTION))
    assert text_of(answers[1]).startswith(f'{{"error": "No Pinakes answers at {url}')


def test_the_wrapper_tells_of_an_http_error(server: Running, tmp_path: Path, process: Process) -> None:
    answers, _ = talk(process(STDIO, tmp_path, f"{server.url}/wrong"), initialize(), call("search_keps", QUESTION))
    assert answers[1]["result"]["isError"] is True
    assert "HTTP 404" in text_of(answers[1])
