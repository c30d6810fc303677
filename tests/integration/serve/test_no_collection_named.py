"""Every tool and route, with no collection named: nothing is left out silently, and nothing told that is not allowed.

Four homes (no collection, one, three, one called "default" among others), asked by three callers (without a key, with a
key for all collections, with a key for one).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from access_support import key_for
from serve_support import Running
from websockets.sync.client import connect

from pinakes.api.access import NEEDED
from pinakes.api.http_app import create_app
from pinakes.library import Library
from pinakes.search.collection_choice import NO_COLLECTIONS, NONE_FOR_KEY
from pinakes.tools import TOOLS

QUERY = "badgers dig for earthworms"
HOMES: dict[str, tuple[str, ...]] = {
    "none": (),
    "one": ("papers",),
    "three": ("laws", "papers", "recipes"),
    "default": ("default", "laws", "papers"),
}
CALLERS = ("without a key", "key for all", "key for papers")
ALL_TOOLSETS = ["retrieve", "manage", "observe", "history", "search", "code", "knowledge", "ask"]

SEARCHES: dict[str, dict[str, Any]] = {
    "search_summaries": {"query": QUERY, "top_k": 50},
    "hybrid_search": {"query": QUERY, "top_k": 50},
    "multi_query_search": {"queries": [QUERY, "badgers at night"], "top_k": 50},
    "search": {"query": QUERY, "top_k": 50},
    "semantic_search": {"query": QUERY, "max_results": 50},
}
COUNTS = ("collection_stats", "list_collections", "status", "metadata_report", "list_sources")
BY_ID: dict[str, dict[str, Any]] = {
    "get_documents": {"doc_ids": ["ID"]},
    "get_document_chunk": {"doc_id": "ID", "chunk_index": 0},
    "get_document_metadata": {"doc_id": "ID"},
    "find_similar": {"doc_id": "ID"},
    "document_history": {"doc_id": "ID"},
    "explain_retrieval": {"query": QUERY, "doc_ids": ["ID"]},
    "read": {"document": "ID"},
    "get_index_status": {"content_id": "ID", "include_stats": False},
}
GRAPH = {"find_vendor_info", "find_entity", "related_entities", "entity_path", "graph_overview"}
GRAPH |= {"find_experts", "impact_of"}
"""None of the collections has a graph; ``test_graph.py`` asks those that do."""
CHANGES: dict[str, dict[str, Any]] = {
    "update_document": {"doc_id": "ID", "tags": ["changed"]},
    "delete_document": {"doc_id": "ID"},
    "restore_document": {"doc_id": "ID", "version": 1},
}
WRITES = {"ingest_document", "ingest_batch", "index_content"}
NOT_ABOUT_COLLECTIONS = {"retrieval_log", "kb_status", "kb_resync", "version", "manageKnowledge"}
"""The log of calls, what is about the folder of the knowledge base, and the contract that names its collection."""
CONTRACTED = {"search_summaries", "hybrid_search", "multi_query_search", "collection_stats"}
"""Of a contract whose default is "default"."""


@dataclass(frozen=True)
class Home:
    names: tuple[str, ...]
    library: Library
    server: Running
    keys: dict[str, dict[str, str]]

    def seen(self, caller: str) -> tuple[str, ...]:
        return tuple(name for name in self.names if caller != "key for papers" or name == "papers")

    def hidden(self, caller: str) -> set[str]:
        return set(self.names) - set(self.seen(caller))

    def uid(self, name: str) -> str:
        return self.library.read(f"{name}.md", name).document.uid

    def call(self, caller: str, tool: str, **arguments: Any) -> tuple[dict[str, Any], str]:
        """Return the data and the text of an answer."""
        asked = self.server.client.post(f"/api/v1/tools/{tool}", json=arguments, headers=self.keys[caller])
        assert asked.status_code == 200, asked.text
        self.check_secret(caller, asked.text)
        return asked.json()["data"], asked.text

    def check_secret(self, caller: str, answer: str) -> None:
        assert not [name for name in self.hidden(caller) if name in answer], answer


def text_of(name: str) -> str:
    return f"# Badgers of {name}\n\nIn the {name} badgers dig for earthworms at night.\n"


@pytest.fixture(scope="module", params=HOMES)
def home(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    folder, names = tmp_path_factory.mktemp("walk"), HOMES[request.param]
    settings: dict[str, Any] = {"embedding__provider": "deterministic", "server__port": 0, "toolsets": ALL_TOOLSETS}
    with Library.open(folder / "home", **settings) as library:
        for name in names:
            docs = folder / "docs" / name
            docs.mkdir(parents=True)
            (docs / f"{name}.md").write_text(text_of(name), "utf-8")
            library.add(str(docs), name)
        everywhere = key_for(library, "everywhere", "admin")
        guest = key_for(library, "guest", "admin", ["papers"])
        running = Running(create_app(library), library.settings)
        yield Home(names, library, running, dict(zip(CALLERS, ({}, everywhere, guest), strict=True)))
        running.stop()


def test_the_walk_knows_every_tool() -> None:
    walked = {*SEARCHES, *COUNTS, *BY_ID, *CHANGES, *WRITES, *GRAPH, *NOT_ABOUT_COLLECTIONS, "ask"}
    assert walked == {tool.name for tool in TOOLS}


@pytest.mark.parametrize("caller", CALLERS)
@pytest.mark.parametrize("tool", [*SEARCHES, *COUNTS])
def test_an_answer_names_every_collection_that_the_caller_may_use(home: Home, caller: str, tool: str) -> None:
    data, text = home.call(caller, tool, **SEARCHES.get(tool, {}))
    seen = home.seen(caller)
    assert not [name for name in seen if name not in text], text
    if not seen:
        empty = NO_COLLECTIONS if caller != "key for papers" else NONE_FOR_KEY
        assert "errorCode" in data or empty in text, text


@pytest.mark.parametrize("caller", CALLERS)
@pytest.mark.parametrize("tool", SEARCHES)
def test_a_search_finds_what_every_asked_collection_has(home: Home, caller: str, tool: str) -> None:
    _, text = home.call(caller, tool, **SEARCHES[tool])
    asked = home.seen(caller)
    if tool in CONTRACTED and "default" in asked:
        others = [name for name in asked if name != "default"]
        assert f"{len(others)} other collections were not asked: {', '.join(others)}" in text
        asked = ("default",)
    elif len(asked) > 1:
        assert f"no collection was named, so {len(asked)} collections were asked: {', '.join(asked)}" in text
    assert [name for name in home.names if f"Badgers of {name}" in text] == list(asked)


@pytest.mark.parametrize("caller", CALLERS)
def test_figures_are_those_of_all(home: Home, caller: str) -> None:
    number = len(home.seen(caller))
    stats, _ = home.call(caller, "collection_stats")
    counted = 1 if "default" in home.seen(caller) else number
    assert stats["result"]["document_count"] == counted
    assert stats["result"]["total_chunks"] == counted
    assert sum(stats["result"]["source_distribution"].values()) == counted
    index, _ = home.call(caller, "get_index_status")
    assert index["result"]["system_stats"]["total_content"] == number
    assert bool(index["result"].get("notes")) == (not number)


@pytest.mark.parametrize("caller", CALLERS)
@pytest.mark.parametrize("tool", BY_ID)
def test_a_document_is_found_in_whichever_collection_it_is(home: Home, caller: str, tool: str) -> None:
    for name in home.names:
        uid = home.uid(name)
        data, text = home.call(caller, tool, **with_id(BY_ID[tool], uid))
        if name in home.seen(caller):
            assert "errorCode" not in data, text
            assert "not_found" not in data["result"], text
            named = tool not in ("document_history", "get_index_status", "find_similar")
            told = [name] if named else list(home.seen(caller)) if tool == "find_similar" else []
            assert len(home.seen(caller)) == 1 or not [one for one in told if one not in text], text
        else:
            assert "errorCode" in data or data["result"].get("not_found") == [uid], text
    data, text = home.call(caller, tool, **with_id(BY_ID[tool], "no-such-id"))
    assert "errorCode" in data or data["result"]["not_found"] == ["no-such-id"], text


@pytest.mark.parametrize("caller", CALLERS)
@pytest.mark.parametrize("tool", CHANGES)
def test_a_change_is_refused_with_the_right_name(home: Home, caller: str, tool: str) -> None:
    if home.names == ("papers",) or len(home.seen(caller)) == 1:
        return  # the only one there is means itself
    for name in home.names:
        uid = home.uid(name)
        if name == "default":
            continue
        data, text = home.call(caller, tool, **with_id(CHANGES[tool], uid))
        assert data["errorCode"] == "NOT_FOUND", text
        assert f"Give collection '{name}' for" in data["result"]["hint"]
        assert home.library.documents.get(uid, collection=name).version == 1


@pytest.mark.parametrize("caller", CALLERS)
def test_routes_ask_and_count_all(home: Home, caller: str) -> None:
    seen, headers, client = home.seen(caller), home.keys[caller], home.server.client
    health = client.get("/health", headers=headers).json()
    assert (health["indexed_documents"], health["indexed_chunks"]) == (len(seen), len(seen))
    assert list(health["components"]["collections"]) == list(seen)
    assert ("note" in health["components"]) == (not seen)
    stats = client.get("/stats", headers=headers).json()
    assert (stats["total_keps"], stats["total_chunks"], stats["total_vectors"]) == (len(seen),) * 3
    assert stats["collections"] == list(seen)
    assert ("notes" in stats) == (not seen)
    told = client.get("/api/v1/sources", headers=headers).json()["data"]
    assert [one["collection"] for one in told["sources"]] == list(seen)
    assert ("notes" in told) == (not seen)
    for route in ("/", "/metrics"):
        page = client.get(route, headers={**headers, "Accept": "text/html"}).text
        assert not [name for name in seen if name not in page]
        home.check_secret(caller, page)
    home.check_secret(caller, json.dumps([health, stats, told]))


@pytest.mark.parametrize("caller", CALLERS)
def test_the_search_routes_ask_all(home: Home, caller: str) -> None:
    seen, headers, body = home.seen(caller), home.keys[caller], {"query": QUERY, "top_k": 50}
    answered = home.server.client.post("/search", json=body, headers=headers)
    last = over_socket(home, headers, body)
    for text in (answered.text, last):
        home.check_secret(caller, text)
        assert [name for name in home.names if f"Badgers of {name}" in text] == list(seen)
        assert ("no collection was named, so" in text) == (len(seen) > 1)
    assert (answered.status_code == 200) == bool(seen)
    nothing = {**body, "filters": {"path": "nowhere/**"}}
    told = home.server.client.post("/search", json=nothing, headers=headers).text
    assert not [name for name in seen if len(seen) > 1 and name not in told]


@pytest.mark.parametrize("caller", CALLERS)
def test_the_greeting_says_what_there_is_and_what_is_asked(home: Home, caller: str) -> None:
    seen = home.seen(caller)
    about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": about}
    headers = {"Accept": "application/json, text/event-stream", **home.keys[caller]}
    told = home.server.client.post("/mcp", json=message, headers=headers).json()["result"]["instructions"]
    assert [line for line in told.split("\n") if line.startswith("- ")] == [
        f"- {name}: 1 document (markdown, from {name})" for name in seen
    ]
    asked = "default alone is asked" if "default" in seen else "all are asked"
    assert (asked in told) == (len(seen) > 1)
    home.check_secret(caller, told)


def test_the_walk_knows_every_route() -> None:
    walked = {"GET /", "GET /health", "GET /stats", "GET /metrics", "POST /search", "WEBSOCKET /ws/search", "POST /mcp"}
    walked |= {"GET /api/v1/sources", "POST /api/v1/tools/{name}"}
    others = {"GET /docs", "GET /openapi.json", "GET /healthz", "GET /readyz", "DELETE /mcp", "GET /api/v1/openapi"}
    others |= {
        "GET /api/v1/tools",
        "POST /api/v1/ask",
        "POST /api/v1/command/search",
        "GET /api/v1/events",
        "POST /api/v1/knowledge/ask",
    }
    others |= {"DELETE /api/v1/knowledge/source/{source_id:path}"}
    others |= {f"GET /api/v1/graph{part}" for part in ("", "/entity", "/path", "/experts", "/impact", "/export")}
    assert walked | others == set(NEEDED)


@pytest.mark.parametrize("names", HOMES.values(), ids=list(HOMES))
def test_a_new_document_goes_to_default(tmp_path: Path, names: tuple[str, ...]) -> None:
    with Library.open(tmp_path, embedding__provider="deterministic") as library:
        for name in names:
            library.documents.put(text_of(name), title="Badgers", collection=name)
        assert library.documents.put("One more.", title="One").document.collection == "default"
        by_name = {tool.name: tool for tool in TOOLS}
        for tool, arguments in (
            ("ingest_document", {"title": "Two", "text": "Two more."}),
            ("ingest_batch", {"documents": [{"title": "Three", "text": "Three more."}]}),
            ("index_content", {"content_type": "documentation", "source_path": "four.md", "content": "Four more."}),
        ):
            assert by_name[tool].answer(library, arguments).error is None
        held = {one.name: one.documents for one in library.collecting.list_all()}
        assert held == {**dict.fromkeys(names, 1), "default": 4 + ("default" in names)}


@pytest.mark.parametrize("name", ["papers", "nowhere"])
def test_the_configured_collection_alone_is_asked(tmp_path: Path, name: str) -> None:
    with Library.open(tmp_path, embedding__provider="deterministic", collection=name) as library:
        for other in ("default", "laws", "papers"):
            library.documents.put(text_of(other), title=f"Badgers of {other}", collection=other)
        answers = {tool: call(library, tool, **SEARCHES[tool]) for tool in SEARCHES}
        for tool, answer in answers.items():
            assert [other for other in ("default", "laws", "papers") if f"Badgers of {other}" in answer] == (
                ["papers"] if name == "papers" else []
            ), tool
            assert "no collection was named" not in answer
            if name == "nowhere":
                assert "There is no collection 'nowhere'" in answer or (
                    "there is no collection 'nowhere' yet; 3 other collections were not asked: default, laws, papers"
                    in answer
                ), tool


def test_of_many_collections_the_note_names_some(tmp_path: Path) -> None:
    with Library.open(tmp_path, embedding__provider="deterministic") as library:
        for number in range(25):
            library.documents.put(f"Badgers of {number}.", title="Badgers", collection=f"c{number:02}")
        [note] = [one for one in library.search("badgers").notes if "no collection was named" in one]
        assert note.endswith(
            "so 25 collections were asked: c00, c01, c02, c03, c04, c05, c06, c07, c08, c09 and 15 more"
        )


def call(library: Library, tool: str, **arguments: Any) -> str:
    [declared] = [one for one in TOOLS if one.name == tool]
    return declared.answer(library, arguments).text


def with_id(arguments: dict[str, Any], uid: str) -> dict[str, Any]:
    return {key: [uid] if value == ["ID"] else uid if value == "ID" else value for key, value in arguments.items()}


def over_socket(home: Home, headers: dict[str, str], body: dict[str, Any]) -> str:
    """Return the last answer of a socket to a question."""
    url = home.server.url.replace("http", "ws") + "/ws/search"
    with connect(url, additional_headers=headers, proxy=None) as socket:
        socket.send(json.dumps({"id": 1, **body}))
        while True:
            answer = str(socket.recv(timeout=30))
            if json.loads(answer)["done"]:
                return answer
