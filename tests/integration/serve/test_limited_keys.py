"""A key for one collection, tried at every tool and every route: nothing of another comes back, and nothing changes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from access_support import CLOSED, MARK, OPEN, QUESTION, calls, fill, ids_of, key_for, settings_for_keys, state_of
from serve_support import Running
from websockets.sync.client import connect

from pinakes.api.access import NEEDED
from pinakes.api.http_app import create_app
from pinakes.library import Library
from pinakes.tools import TOOLS
from pinakes.tools.resources import INDEX

WHERE = (None, "*", *CLOSED, f"{OPEN},closed", "nowhere")


@pytest.fixture(scope="module", params=[OPEN, "closed"], ids=["open-by-default", "closed-by-default"])
def library(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    folder = tmp_path_factory.mktemp("limited")
    with Library(settings_for_keys(folder / "home", collection=request.param)) as opened:
        fill(opened, folder / "docs")
        yield opened


@pytest.fixture(scope="module")
def server(library: Library) -> Iterator[Running]:
    running = Running(create_app(library), library.settings)
    yield running
    running.stop()


@pytest.fixture(scope="module")
def guest(library: Library) -> dict[str, str]:
    return key_for(library, "guest", "admin", [OPEN])


@pytest.fixture(scope="module")
def everywhere(library: Library) -> dict[str, str]:
    return key_for(library, "everywhere", "read")


def answers(
    library: Library, server: Running, tool: str, names: dict[str, list[str]], headers: dict[str, str]
) -> Iterator[tuple[Any, str]]:
    """Call a tool in all ways, each once; yield arguments and answers. ``names``: collection → ids of its documents.

    An id is looked for where it is, and where several are looked through; which collection is the default matters
    only where none is named.
    """
    asked = WHERE if library.settings.collection == OPEN else (None,)
    places = {held: [where for where in asked if where not in CLOSED or where == held] for held in names}
    ways = [
        way
        for held, some in names.items()
        for where in places[held]
        for name in some
        for way in calls(tool, where, name)
    ]
    for arguments in {json.dumps(way, sort_keys=True): way for way in ways}.values():
        response = server.client.post(f"/api/v1/tools/{tool}", json=arguments, headers=headers)
        yield arguments, response.text


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_no_tool_tells_or_changes_anything_of_another_collection(
    library: Library, server: Running, guest: dict[str, str], tool: Any
) -> None:
    held = {closed: ids_of(library, closed) for closed in CLOSED}
    names = [name for some in held.values() for name in some]
    assert len(names) >= 9
    before = state_of(library)
    for arguments, answer in answers(library, server, tool.name, held, guest):
        told = without(answer, [*map(str, arguments.values()), *(arguments.get("doc_ids") or [])])
        assert MARK not in told, arguments
        if tool.name != "retrieval_log":  # which shows what the key itself asked for
            assert [name for name in names if name in told] == [], arguments
    assert state_of(library) == before


@pytest.mark.parametrize("tool", [tool for tool in TOOLS if tool.read_only], ids=lambda tool: tool.name)
def test_the_same_calls_tell_of_it_to_a_key_for_all_collections(
    library: Library, server: Running, everywhere: dict[str, str], tool: Any
) -> None:
    told = [
        answer
        for _, answer in answers(library, server, tool.name, {"closed": ids_of(library, "closed")[:3]}, everywhere)
    ]
    assert tool.name in ("ask", "version", "get_index_status") or any(
        word in answer for word in (MARK, '"closed"') for answer in told
    )


def without(answer: str, given: Any) -> str:
    """Return ``answer`` without what was asked: refusals repeat that."""
    for value in sorted(given, key=len, reverse=True):
        for form in (value, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]):
            answer = answer.replace(form, "") if len(form) > 1 else answer
    return answer


def test_no_list_names_another_collection(server: Running, guest: dict[str, str]) -> None:
    for tool in ("list_collections", "status", "collection_stats", "kb_status", "version", "get_index_status"):
        answer = server.client.post(f"/api/v1/tools/{tool}", json={}, headers=guest).json()
        told = json.dumps(answer["data"]["result"]).replace("There is no collection 'closed'", "")
        assert '"closed"' not in told, tool
        assert "open house" not in told, tool


@pytest.mark.parametrize("route", [route for route in NEEDED if "/tools/" not in route])
def test_no_route_tells_or_changes_anything_of_another_collection(
    library: Library, server: Running, guest: dict[str, str], route: str
) -> None:
    before = state_of(library)
    method, _, path = route.partition(" ")
    if method == "WEBSOCKET":
        told = list(over_socket(server, guest))
    elif path == "/mcp":
        told = list(over_mcp(server, guest, addresses(library)))
    elif path == "/api/v1/events":
        told = [over_stream(server, path, guest)]
    else:
        told = list(over_http(library, server, method, path, guest))
    for answer in told:
        answer = answer.replace("There is no collection 'open house'", "")
        assert [word for word in (MARK, "open house") if word in answer] == []
    assert state_of(library) == before


def over_http(library: Library, server: Running, method: str, path: str, headers: dict[str, str]) -> Iterator[str]:
    bodies = [{"query": QUESTION, "collection": name} for name in WHERE] if method == "POST" else [None]
    if path.startswith("/api/v1/graph"):
        asked = {"name": "captain", "source": "captain", "target": "treasure"}
        for name in WHERE:
            where = {} if name is None else {"collection": name}
            yield server.client.get(path, params={**asked, **where}, headers=headers).text
        return
    for source in ("user-provided", *ids_of(library, "knowledge-base")):
        for accepted in ("application/json", "text/html"):
            for body in bodies:
                place = path.replace("{source_id:path}", source)
                sent = {**headers, "Accept": accepted}
                yield server.client.request(method, place, headers=sent, json=body).text


def over_stream(server: Running, path: str, headers: dict[str, str]) -> str:
    """Return what a stream tells from the first event on, until it has nothing more to tell."""
    told = ""
    asked = server.client.stream("GET", path, params={"after": "0"}, headers=headers, timeout=1.0)
    with suppress(httpx.ReadTimeout), asked as response:
        for text in response.iter_text():
            told += text
    assert "event: indexed" in told
    return told


def over_socket(server: Running, headers: dict[str, str]) -> Iterator[str]:
    url = server.url.replace("http", "ws") + "/ws/search"
    with connect(url, additional_headers=headers, proxy=None) as socket:
        for number, name in enumerate(WHERE):
            where = {} if name is None else {"collection": name}
            socket.send(json.dumps({"id": number, "query": QUESTION, **where}))
            done = False
            while not done:
                answer = str(socket.recv(timeout=30))
                yield answer
                done = json.loads(answer)["done"]


def addresses(library: Library) -> list[str]:
    """Return the addresses of closed collections, and of their documents."""
    each = [(quote(name, safe=""), quote(known, safe="")) for name in CLOSED for known in ids_of(library, name)]
    documents = [f"{INDEX}/{name}/documents/{known}" for name, known in each]
    return [
        *documents,
        *(f"{INDEX}/{OPEN}/documents/{known}" for _, known in each),
        *(f"{INDEX}/{name}" for name, _ in each),
        *(f"pinakes://entity/{quote(name, safe='')}/VENDOR/captain" for name in CLOSED),
    ]


def over_mcp(server: Running, headers: dict[str, str], uris: list[str]) -> Iterator[str]:
    about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    lists = ("tools/list", "resources/list", "resources/templates/list", "prompts/list")
    asked: list[tuple[str, dict[str, Any]]] = [("initialize", about), *((method, {}) for method in lists)]
    asked += [("resources/read", {"uri": uri}) for uri in (INDEX, *uris)]
    for method, params in asked:
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        accepted = {"Accept": "application/json, text/event-stream", **headers}
        answer = server.client.post("/mcp", json=message, headers=accepted).text
        yield answer.replace(params.get("uri", method), "")


def test_the_greeting_names_the_collections_of_the_key(
    server: Running, guest: dict[str, str], everywhere: dict[str, str]
) -> None:
    greetings = [json.loads(next(over_mcp(server, key, [])))["result"]["instructions"] for key in (guest, everywhere)]
    assert [f"- {OPEN}: " in greeting for greeting in greetings] == [True, True]
    assert ["- closed" in greeting for greeting in greetings] == [False, True]


def test_a_search_of_all_collections_is_one_of_those_it_may_use(server: Running, guest: dict[str, str]) -> None:
    answer = server.client.post("/search", json={"query": QUESTION, "collection": "*"}, headers=guest).json()
    assert answer["total_results"] > 0
    assert "Lisbon" in json.dumps(answer)


def test_without_a_name_the_only_one_it_may_use_is_meant(server: Running, guest: dict[str, str]) -> None:
    answer = server.client.post("/search", json={"query": QUESTION}, headers=guest).json()
    assert "Lisbon" in json.dumps(answer)
    assert server.client.get("/stats", headers=guest).status_code == 200
    note = {"title": "A note", "text": "Left by a guest."}
    made = server.client.post("/api/v1/tools/ingest_document", json=note, headers=guest).json()["data"]["result"]
    assert made.get("collection") == OPEN, made


def test_the_log_of_calls_shows_a_limited_key_its_own(server: Running, library: Library, guest: dict[str, str]) -> None:
    library.search(f"{QUESTION} {MARK}", "closed")
    own = {"query": "a question of the guest", "collection": OPEN}
    server.client.post("/search", json=own, headers=guest)
    log = server.client.post("/api/v1/tools/retrieval_log", json={"last_n": 1000}, headers=guest).json()
    entries = log["data"]["result"]["entries"]
    assert {entry["caller"] for entry in entries} == {"guest"}
    assert any(entry["params"].get("query") == own["query"] for entry in entries)


def test_a_collection_outside_the_key_cannot_be_made(
    library: Library, server: Running, guest: dict[str, str], tmp_path: Path
) -> None:
    before = {record.name for record in library.collections()}
    for tool in ("ingest_document", "ingest_batch", "index_content"):
        for arguments in calls(tool, "brand new", str(tmp_path)):
            answer = server.client.post(f"/api/v1/tools/{tool}", json=arguments, headers=guest).text
            assert "There is no collection 'brand new'" in answer
    assert {record.name for record in library.collections()} == before
