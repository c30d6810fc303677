"""Budgets: nothing answers more tokens over MCP than the settings allow, and what is cut says how to go on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from serve_support import Running

from pinakes.api.http_app import create_app
from pinakes.library import Library
from pinakes.models import weights
from pinakes.models.token_counts import token_counter
from pinakes.settings import Settings, load
from pinakes.tools import tools_of
from pinakes.tools.budgets import within_budget

TOOLSETS = ("retrieve", "manage", "observe", "search", "history", "code", "knowledge")
MOST, ALLOWED = 8000, 8500
SECTION = "\n".join(f'The pump of line {n} is checked each week; its "valve" keeps {n} litres.' for n in range(40))
LONG = "\n\n".join(f"## Section {n} of the handbook about pumps\n\n{SECTION}" for n in range(60))
TINY_LINES = "\n".join(f"{n % 10}" for n in range(30_000))
CHINESE = "水泵每周检查一次。" * 3000
ONE_WORD = "x" * 60_000
HIDDEN = "pump\u200b" * 20_000


class Place:
    """A server with long documents, many sources and many tags."""

    def __init__(self, server: Running, library: Library, ids: dict[str, str]) -> None:
        self.server, self.library, self.ids = server, library, ids
        self.counter = token_counter(library.settings.cache)

    def asked(self, method: str, **params: Any) -> dict[str, Any]:
        """Return the result of a request over MCP, which is never too long."""
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        answer: dict[str, Any] = self.server.client.post("/mcp", json=message).json()
        assert "result" in answer, answer
        return answer["result"]

    def called(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Return the answer of a tool as it is sent."""
        result = self.asked("tools/call", name=tool, arguments=arguments)
        assert "structuredContent" not in result
        return result

    def text(self, tool: str, **arguments: Any) -> str:
        """Return the text of an answer."""
        [content] = self.called(tool, **arguments)["content"]
        return str(content["text"])

    def data(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Return the data of an answer."""
        found: dict[str, Any] = json.loads(self.text(tool, **arguments))
        return found


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    home = tmp_path_factory.mktemp("home")
    folder = home / "knowledge_base"
    folder.mkdir()
    for number in range(150):
        (folder / f"empty-file-with-a-long-name-{number}.md").write_text("", "utf-8")
    settings = load(home=home, environment={}, embedding__provider="deterministic", server__port=0, toolsets=TOOLSETS)
    weights.install(load(home=home, environment={}).embedding, settings.cache)  # tokens are counted, not estimated
    with Library(settings) as library:
        ids = {
            name: library.documents.put(text, title=name, uri=f"{name}.md", kind="markdown").document.uid
            for name, text in {
                "long": LONG,
                "lines": TINY_LINES,
                "chinese": CHINESE,
                "word": ONE_WORD,
                "hidden": HIDDEN,
            }.items()
        }
        for number in range(60):
            library.documents.put(
                f"Pump {number} stands in hall {number}. " * 30,
                title=f"Pump {number}",
                source=f"https://example.org/plant/{number}/a/rather/long/address/of/a/page",
                tags=[f"hall-{number}", "pump"],
                metadata={f"field {n}": "a value of some length " * 10 for n in range(20)},
                summary=f"Pump {number} of the plant, where it stands and how it is checked. " * 30,
            )
        library.collecting.describe("default", "A plant.")
        running = Running(create_app(library), settings)
        yield Place(running, library, ids)
        running.stop()


def calls(place: Place) -> list[tuple[str, dict[str, Any]]]:
    """Return calls of every tool that may be long."""
    every = list(place.ids.values())
    one, question = place.ids["long"], "pump " * 800
    pumps = [f"Pump {number}" for number in range(50)]
    found = json.loads(place.text("search_summaries", query="pump hall", top_k=50))
    ids = [hit["doc_id"] for hit in found["results"]]
    return [
        ("search_summaries", {"query": "pump", "top_k": 50}),
        ("search_summaries", {"query": question}),
        ("hybrid_search", {"query": "pump hall", "top_k": 50}),
        ("multi_query_search", {"queries": [f"pump {number} " * 100 for number in range(20)], "top_k": 50}),
        ("find_similar", {"doc_id": ids[0], "top_k": 50}),
        *(("get_documents", {"doc_ids": [uid]}) for uid in every),
        *(("get_documents", {"doc_ids": [uid], "outline": True, "include_chunks": True}) for uid in every),
        ("get_documents", {"doc_ids": ids}),
        ("get_documents", {"doc_ids": every, "max_tokens": 0}),
        ("get_documents", {"doc_ids": [f"{'nothing' * 100}-{number}" for number in range(60)]}),
        ("get_documents", {"doc_ids": [one], "section": "x" * 60_000}),
        *(("get_document_chunk", {"doc_id": uid, "chunk_index": 0, "neighbours": 5}) for uid in every),
        ("explain_retrieval", {"query": question, "doc_ids": ids}),
        ("explain_retrieval", {"query": "pump", "doc_ids": pumps}),
        ("get_document_metadata", {"doc_id": ids[0]}),
        ("collection_stats", {}),
        ("list_collections", {}),
        ("kb_status", {}),
        ("kb_status", {"max_files": 10_000}),
        ("retrieval_log", {"last_n": 1000}),
        ("search", {"query": "pump", "top_k": 50, "neighbours": 3}),
        ("search", {"query": question, "top_k": 50}),
        *(("read", {"document": f"{name}.md"}) for name in place.ids),
        ("status", {}),
        ("metadata_report", {"missing": 1000}),
        ("list_sources", {}),
        ("document_history", {"doc_id": one, "version": 1}),
        ("semantic_search", {"query": "pump", "limit": 50, "similarity_threshold": 0.0, "collection": "default"}),
        ("get_index_status", {"include_stats": True}),
        ("manageKnowledge", {"operation": "search", "query": question, "limit": 50}),
        ("version", {}),
        ("ingest_document", {"title": "t" * 900, "text": LONG, "summary": "word " * 20_000}),
        (
            "ingest_batch",
            {"documents": [{"title": f"Again {n}", "text": "Pump. ", "summary": "s " * 900} for n in range(50)]},
        ),
        ("update_document", {"doc_id": one, "title": "A handbook"}),
        ("restore_document", {"doc_id": "n" * 60_000}),
        ("index_content", {"content_type": "poem " * 9000, "source_path": "p", "content": "c"}),
        ("delete_document", {"doc_id": "n" * 60_000}),
        ("kb_resync", {}),
    ]


def test_every_tool_is_called(place: Place) -> None:
    assert {name for name, _ in calls(place)} == {tool.name for tool in tools_of(place.library.settings)}


def test_no_answer_is_longer_than_the_budget(place: Place) -> None:
    sizes = {}
    for name, arguments in calls(place):
        [content] = place.called(name, **arguments)["content"]
        sizes[f"{name} {str(arguments)[:60]}"] = place.counter.count(content["text"])
    assert {name: size for name, size in sizes.items() if size > ALLOWED} == {}
    assert max(sizes.values()) > MOST // 2, "nothing here was long"


def test_a_long_document_is_read_to_its_end_by_what_each_answer_says(place: Place) -> None:
    read, line = "", 1
    for _ in range(100):
        [document] = place.data("get_documents", doc_ids=[place.ids["long"]], start_line=line)["documents"]
        read += document["full_text"]
        if not document.get("cut"):
            break
        assert document["next_line"] > line
        line = document["next_line"]
    assert read.rstrip("…") == LONG or read == LONG


@pytest.mark.parametrize("most", [0, 4000])
def test_what_each_answer_says_leads_to_the_end_also_where_json_takes_more_than_the_text(
    place: Place, most: int
) -> None:
    """Line ends take two tokens in JSON, so that a text within the budget makes an answer that is not."""
    lines, line, uid = list[str](), 1, place.ids["lines"]
    for _ in range(100):
        answer = place.data("get_documents", doc_ids=[uid], start_line=line, max_tokens=most)
        [document] = answer["documents"]
        lines += document["full_text"].removesuffix("\n").split("\n")
        if "next" not in answer:
            break
        assert answer["next"] == f'get_documents(doc_ids=["{uid}"],start_line={document["next_line"]})'
        line = document["next_line"]
        assert line == len(lines) + 1
    assert lines == TINY_LINES.split("\n")


@pytest.mark.parametrize("most", [300, 400])
def test_a_small_budget_cuts_no_id_and_no_word_on_how_to_go_on(place: Place, most: int) -> None:
    uid = place.library.documents.put(CHINESE, title=CHINESE[:400], uri="titled.md").document.uid
    answer = place.data("get_documents", doc_ids=[uid], max_tokens=most)
    assert answer["documents"][0]["doc_id"] == uid
    assert answer["next"] == f'get_document_chunk(doc_id="{uid}",chunk_index=0)'


@pytest.mark.parametrize("most", [250, 300, 350, 420])
def test_how_to_go_on_is_said_whole_or_not_at_all(place: Place, most: int) -> None:
    ids = list(place.ids.values())
    answer = place.data("get_documents", doc_ids=ids, max_tokens=most)
    assert "…" not in answer["next"]
    assert answer["next"].startswith("get_document") or "Ask with a larger max_tokens." in answer["next"]


LONG_LINE = "# Pump\n\nshort\n\n" + "The pump is checked each week. " * 900 + "\n\nshort"
UNEVEN = "\n".join(f"{n} " + "The pump is checked each week. " * (n % 23) for n in range(120))


@pytest.mark.parametrize("most", [1200, 2500])
@pytest.mark.parametrize("text", [UNEVEN, LONG_LINE, "# Pump\n\n" + UNEVEN.replace("\n", " ")])
def test_no_line_and_no_chunk_is_read_twice(place: Place, most: int, text: str) -> None:
    uid = place.library.documents.put(text, title="Uneven", uri="uneven.md").document.uid
    read, chunks, line = "", list[int](), 1
    while line:
        answer = place.data("get_documents", doc_ids=[uid], start_line=line, max_tokens=most, include_chunks=True)
        [document] = answer["documents"]
        assert not document.get("cut") or document["returned_tokens"] >= most // 15
        read += document["full_text"]
        chunks += [one["chunk_index"] for one in document["chunks"]]
        line = document.get("next_line", 0)
    assert text.startswith(read)
    number, rest = document.get("next_chunk"), list[str]()
    while number is not None:
        chunk = place.data("get_document_chunk", doc_id=uid, chunk_index=number)
        rest += chunk["text"].split()
        chunks.append(number)
        number = number + 1 if chunk["has_next"] else None
    words, twice = text.split(), len(read.split()) + len(rest) - len(text.split())
    assert rest == words[len(words) - len(rest) :]
    assert twice == 0 if most == 2500 else 0 <= twice < 400  # a part of one chunk
    assert chunks == sorted(set(chunks))


@pytest.mark.parametrize("most", [1, 50])
def test_a_budget_that_is_too_small_for_any_answer_says_so(place: Place, most: int) -> None:
    text = place.text("get_documents", doc_ids=[place.ids["long"]], max_tokens=most)
    assert "Ask with a larger max_tokens." in text
    assert place.counter.count(text) <= 50


def test_answers_say_how_to_go_on(place: Place) -> None:
    opened = place.data("get_documents", doc_ids=[place.ids["long"], place.ids["chinese"]])
    assert opened["truncated"] is True
    assert f"start_line={opened['documents'][0]['next_line']}" in opened["next"]
    assert place.ids["chinese"] in opened["next"]


def test_a_search_for_many_documents_names_most_of_them_with_shorter_summaries(place: Place) -> None:
    found = place.data("search_summaries", query="pump hall", top_k=50)
    assert len(found["results"]) > 40
    assert found["truncated"] is True
    assert "50 results" in found["next"] or "Summaries" in found["next"]


def test_the_documents_that_a_search_leaves_out_are_named(place: Place) -> None:
    asked = {"query": "pump hall", "top_k": 50}
    found = place.data("hybrid_search", **asked)
    every = place.server.client.post("/api/v1/tools/hybrid_search", json=asked).json()["data"]["result"]["results"]
    shown = [one["doc_id"] for one in found["results"]]
    left = [one["doc_id"] for one in every if one["doc_id"] not in shown]
    assert left
    assert all(uid in found["next"] for uid in left)


@pytest.mark.parametrize("tool", ["get_documents", "explain_retrieval", "semantic_search", "search_summaries"])
def test_an_answer_of_which_little_fits_keeps_its_form(place: Place, tool: str) -> None:
    ids = [hit["doc_id"] for hit in place.data("search_summaries", query="pump hall", top_k=30)["results"]]
    arguments = {"get_documents": {"doc_ids": ids}, "explain_retrieval": {"query": "pump", "doc_ids": ids}}
    given = arguments.get(tool, {"query": "pump hall"})
    whole, declared = place.data(tool, **given), tools_of(place.library.settings)
    [one] = [one for one in declared if one.name == tool]
    outcome = one.answer(place.library, given)
    for most in (150, 250, 400):
        cut = json.loads(within_budget(one, given, outcome, place.counter, most).text)
        assert set(whole) - {"truncated", "next", "left_out"} <= set(cut)
        assert cut["truncated"] is True
        assert cut["next"]


def test_explanations_that_had_no_room_are_named(place: Place) -> None:
    ids = [hit["doc_id"] for hit in place.data("search_summaries", query="pump hall", top_k=50)["results"]]
    told = place.data("explain_retrieval", query="pump hall", doc_ids=[*ids[:49], "nothing"])
    shown = {one["doc_id"] for one in told["explanations"]}
    assert told["not_found"] == ["nothing"]
    assert 0 < len(shown) < 49
    assert any(uid in told["next"] for uid in set(ids[:49]) - shown)


def test_a_caller_may_ask_for_more_or_less_than_the_usual_budget(place: Place) -> None:
    sizes = [
        place.counter.count(place.text("get_documents", doc_ids=[place.ids["long"]], max_tokens=most, outline=True))
        for most in (500, 2000, 20_000, 10**9)
    ]
    assert sizes[0] <= 500 < sizes[1] <= 2000
    assert ALLOWED < sizes[2] <= 20_000 < sizes[3] <= 50_500


def test_http_and_python_keep_whole_texts(place: Place) -> None:
    body = {"doc_ids": [place.ids["long"]]}
    over_http = place.server.client.post("/api/v1/tools/get_documents", json=body).json()["data"]["result"]
    assert over_http["documents"][0]["full_text"] == LONG
    assert "truncated" not in over_http


def test_resources_are_cut_as_well(place: Place) -> None:
    listed = place.asked("resources/list")["resources"]
    long = 0
    for one in listed:
        [content] = place.asked("resources/read", uri=one["uri"])["contents"]
        size = place.counter.count(content["text"])
        assert size <= ALLOWED, one["uri"]
        long += size > MOST // 2
        if content.get("_meta", {}).get("pinakes/truncated"):
            assert "get_documents" in content["text"].rsplit("\n", 1)[-1]
    assert long


def test_the_list_of_tools_has_no_output_schemas(place: Place) -> None:
    tools = place.asked("tools/list")["tools"]
    assert not any("outputSchema" in tool for tool in tools)


def test_where_the_settings_say_so_answers_are_of_any_length(tmp_path: Path) -> None:
    settings: Settings = load(
        home=tmp_path,
        environment={},
        embedding__provider="deterministic",
        mcp__max_tokens=0,
        mcp__structured_content=True,
    )
    with Library(settings) as library:
        uid = library.documents.put(LONG, title="Long", uri="long.md", kind="markdown").document.uid
        running = Running(create_app(library), settings)
        whole = Place(running, library, {"long": uid})
        result = whole.asked("tools/call", name="get_documents", arguments={"doc_ids": [uid]})
        assert result["structuredContent"]["documents"][0]["full_text"] == LONG
        assert any("outputSchema" in tool for tool in whole.asked("tools/list")["tools"])
        running.stop()
