"""Limits and defaults that clients are shown are those of the settings, over MCP and HTTP alike; and they hold."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from serve_support import Running

from pinakes.api.http_app import create_app
from pinakes.core.errors import codes
from pinakes.library import Library
from pinakes.models import weights
from pinakes.settings import load

TOOLSETS = ("retrieve", "manage", "observe", "search", "history", "code", "knowledge", "ask")
LIMITS: list[dict[str, Any]] = [
    {},
    {"search__max_top_k": 7, "documents__max_batch": 3, "search__max_query_chars": 90},
    {"search__top_k": 12, "search__max_top_k": 80, "search__semantic_weight": 0.4, "search__keyword_weight": 0.6},
]


class Place:
    """A server, and what it shows."""

    def __init__(self, running: Running, library: Library) -> None:
        self.running, self.library = running, library

    def asked(self, method: str, **params: Any) -> dict[str, Any]:
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        answer: dict[str, Any] = self.running.client.post("/mcp", json=message).json()
        assert "result" in answer, answer
        found: dict[str, Any] = answer["result"]
        return found

    def called(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Return the answer of a tool over MCP."""
        [content] = self.asked("tools/call", name=tool, arguments=arguments)["content"]
        found: dict[str, Any] = json.loads(content["text"])
        return found

    def over_http(self, tool: str, **arguments: Any) -> dict[str, Any]:
        answer = self.running.client.post(f"/api/v1/tools/{tool}", json=arguments).json()
        found: dict[str, Any] = answer["data"]["result"]
        return found

    def of_mcp(self) -> dict[str, dict[str, Any]]:
        """Return tool → the schema of its parameters."""
        return {one["name"]: one["inputSchema"] for one in self.asked("tools/list")["tools"]}


def opened(home: Path, **given: Any) -> Iterator[Place]:
    given = {"embedding__provider": "deterministic", "server__port": 0, "toolsets": TOOLSETS, **given}
    settings = load(home=home, environment={}, **given)
    weights.install(load(home=home, environment={}).embedding, settings.cache)  # tokens are counted, not estimated
    with Library(settings) as library:
        for number in range(15):
            library.documents.put(
                f"Pump {number} stands in hall {number}.", title=f"Pump {number}", tags=[f"t{number}"]
            )
        library.documents.put("The pump of the other place.", title="Other", collection="other")
        running = Running(create_app(library), settings)
        yield Place(running, library)
        running.stop()


@pytest.fixture(scope="module", params=range(len(LIMITS)))
def limited(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    yield from opened(tmp_path_factory.mktemp("home"), **LIMITS[request.param])


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    yield from opened(tmp_path_factory.mktemp("home"), mcp__max_tokens=2000)


def test_http_shows_the_schemas_that_mcp_shows(limited: Place) -> None:
    of_mcp = limited.of_mcp()
    listed = limited.running.client.get("/api/v1/tools").json()["data"]["tools"]
    assert {one["name"]: one["inputSchema"] for one in listed} == of_mcp
    paths = limited.running.client.get("/api/v1/openapi").json()["paths"]
    for name, schema in of_mcp.items():
        body = paths[f"/api/v1/tools/{name}"]["post"]["requestBody"]
        assert body["content"]["application/json"]["schema"] == schema, name


def test_what_is_shown_is_what_the_settings_say(limited: Place) -> None:
    search, of_mcp = limited.library.settings.search, limited.of_mcp()
    counts = {
        (name, parameter): about["maximum"]
        for name, schema in of_mcp.items()
        for parameter, about in schema.get("properties", {}).items()
        if parameter in ("top_k", "limit", "max_results")
    }
    assert set(counts.values()) == {search.max_top_k}
    assert {name for name, _ in counts} >= {"search", "search_summaries", "semantic_search", "manageKnowledge"}
    assert of_mcp["ingest_batch"]["properties"]["documents"]["maxItems"] == limited.library.settings.documents.max_batch
    weights = of_mcp["hybrid_search"]["properties"]
    assert weights["semantic_weight"]["default"] == search.semantic_weight
    assert of_mcp["semantic_search"]["properties"]["query"]["maxLength"] == search.max_query_chars
    assert all(
        about["default"] <= about["maximum"]
        for schema in of_mcp.values()
        for about in schema.get("properties", {}).values()
        if "maximum" in about and isinstance(about.get("default"), int | float)
    )


def test_the_search_route_shows_its_default_and_maximum_and_keeps_them(limited: Place) -> None:
    search = limited.library.settings.search
    document = limited.running.client.get("/openapi.json").json()
    top_k = document["components"]["schemas"]["SearchRequest"]["properties"]["top_k"]
    assert top_k["maximum"] == search.max_top_k
    body = {"query": "pump", "collection": "default"}
    found = limited.running.client.post("/search", json=body).json()
    assert found["total_results"] == top_k["default"]
    too_many = limited.running.client.post("/search", json={**body, "top_k": top_k["maximum"] + 1})
    assert too_many.status_code == 422
    asked = document["paths"]["/api/v1/knowledge/ask"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert asked["properties"]["limit"]["maximum"] == search.max_top_k


def test_enums_and_formats_are_shown(place: Place) -> None:
    of_mcp = place.of_mcp()
    log = of_mcp["retrieval_log"]["properties"]
    assert log["outcome"]["enum"] == ["ok", "failed", *codes()]
    assert "30m" in log["since"]["description"]
    assert of_mcp["multi_query_search"]["properties"]["fusion_method"]["enum"] == ["rrf", "max"]
    assert of_mcp["explain_retrieval"]["properties"]["doc_ids"]["maxItems"] == 50
    assert of_mcp["get_documents"]["properties"]["doc_ids"]["maxItems"] == 100


@pytest.mark.parametrize("outcome", ["ok", "OK", "failed", "not_found", "NOT_FOUND", ""])
def test_an_outcome_is_understood_however_it_is_written(outcome: str, place: Place) -> None:
    place.called("search_summaries", query="pump")
    place.called("get_document_metadata", doc_id="nobody")
    found = place.called("retrieval_log", outcome=outcome, last_n=50)["entries"]
    wanted = {"ok": {"ok"}, "failed": {"NOT_FOUND"}, "not_found": {"NOT_FOUND"}, "": {"ok", "NOT_FOUND"}}
    assert {one["outcome"] for one in found} == wanted[outcome.lower()]


@pytest.mark.parametrize(
    ("given", "said"),
    [({"outcome": "NOT_FOUNT"}, "NOT_FOUND"), ({"outcome": "nonsense"}, "ok"), ({"since": "yesterday"}, "2026-01-31")],
)
def test_what_is_no_outcome_or_time_is_refused(given: dict[str, str], said: str, place: Place) -> None:
    told = place.called("retrieval_log", **given)
    assert said in told["hint"]
    assert next(iter(given.values())) in told["error"]


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("search_summaries", {}),
        ("hybrid_search", {}),
        ("search", {}),
        ("explain_retrieval", {"doc_ids": ["Pump 1"]}),
        ("manageKnowledge", {"operation": "search"}),
    ],
)
def test_a_long_query_is_repeated_in_part_over_mcp_and_whole_over_http(
    tool: str, arguments: dict[str, Any], place: Place
) -> None:
    query = "pump hall " * 100
    [content] = place.asked("tools/call", name=tool, arguments={"query": query, **arguments})["content"]
    assert query[:210] not in content["text"]
    if content["text"].startswith("{"):
        assert json.loads(content["text"])["query"] == f"{query[:200]}…"
    assert place.over_http(tool, query=query, **arguments)["query"].strip() == query.strip()
    if content["text"].startswith("{"):
        assert place.called(tool, query="pump", **arguments)["query"] == "pump"


@pytest.mark.parametrize(
    "tool",
    [
        *("find_similar", "get_document_chunk", "get_document_metadata", "update_document", "delete_document"),
        *("document_history", "restore_document"),
    ],
)
@pytest.mark.parametrize("where", ["nowhere", "other"])
def test_an_unknown_id_is_named(tool: str, where: str, place: Place) -> None:
    uid, here = "nobody", {}
    if where == "other":
        here = {"collection": "default"}
        [uid] = [one["doc_id"] for one in place.called("search_summaries", query="pump", collection="other")["results"]]
    extra = {"chunk_index": 0} if tool == "get_document_chunk" else {"title": "x"} if tool == "update_document" else {}
    for told in (place.called(tool, doc_id=uid, **here, **extra), place.over_http(tool, doc_id=uid, **here, **extra)):
        assert told["error"] == "Document not found"
        assert told["not_found"] == [uid]
        assert ("Give collection 'other'" in told.get("hint", "")) is (where == "other")


@pytest.mark.parametrize("tool", ["get_documents", "explain_retrieval"])
def test_unknown_ids_among_others_are_named(tool: str, place: Place) -> None:
    [known] = [one["doc_id"] for one in place.called("search_summaries", query="pump 3", top_k=1)["results"]]
    [other] = [one["doc_id"] for one in place.called("search_summaries", query="pump", collection="other")["results"]]
    asked: dict[str, Any] = {"doc_ids": ["nobody", known, other, "nobody"], "collection": "default"}
    asked |= {"query": "pump"} if tool == "explain_retrieval" else {}
    for told in (place.called(tool, **asked), place.over_http(tool, **asked)):
        assert told["not_found"] == ["nobody", other]
        assert told["hint"] == f"Give collection 'other' for {other!r}."


@pytest.mark.parametrize("most", [0, 3, 14])
def test_tags_and_sources_that_are_left_out_can_be_had(most: int, place: Place) -> None:
    told = place.over_http("collection_stats", max_entries=most)
    assert len(told["tag_distribution"]) == most
    assert told["tags_left_out"] == 15 - most
    assert told["truncated"] is True
    assert told["next"] == 'collection_stats(collection="default",max_entries=15)'
    assert "truncated" not in place.over_http("collection_stats", max_entries=15)


def test_a_document_that_is_cut_in_every_interface_says_how_to_go_on(place: Place) -> None:
    text = "\n".join(f"Line {number} of the long log of the pumps." for number in range(2000))
    uid = place.library.documents.put(text, title="Log", uri="log.md").document.uid
    try:
        read, told = "", place.over_http("read", document="log.md")
        while True:
            read += told["text"] + "\n"
            assert told["cut"] is bool(told.get("truncated"))
            if not told["cut"]:
                break
            again = told["go_on"]
            assert told["next"].startswith(f'read(document="{uid}",start_line={again["start_line"]}')
            told = place.over_http("read", document=uid, **again)
        assert read.rstrip("\n") == text
    finally:
        place.library.documents.delete(uid)


@pytest.mark.parametrize(
    ("name", "arguments", "longest"),
    [
        ("staged_rag_system_prompt", {"question": "Which pump is checked? " * 2000}, "question"),
        ("evaluate_summaries_prompt", {"summaries": "Pump in hall 3, checked.\n" * 2000}, "summaries"),
        ("deep_analysis_prompt", {"question": "Which pump?", "context": "水泵每周检查一次。" * 2000}, "context"),
    ],
)
def test_prompts_keep_to_the_budget_and_say_how_to_go_on(
    name: str, arguments: dict[str, str], longest: str, place: Place
) -> None:
    from pinakes.models.token_counts import token_counter

    def text(given: dict[str, str]) -> str:
        [message] = place.asked("prompts/get", name=name, arguments=given)["messages"]
        return str(message["content"]["text"])

    counter, rest, rounds = token_counter(place.library.settings.cache), arguments[longest], 0
    while True:
        told = text({**arguments, longest: rest})
        assert counter.count(told) <= 2000
        if "(Cut at" not in told:
            break
        end, total = (int(part) for part in told.rsplit("tokens. ", 1)[1].split(" characters")[0].split(" of the "))
        assert total == len(rest)
        assert rest[:end].strip() in told
        assert told.endswith(f"characters of {longest} are above: ask for {name} again with the rest.)")
        rest, rounds = rest[end:], rounds + 1
        assert end > 0
    assert rounds >= 2
    assert rest.strip() in told
