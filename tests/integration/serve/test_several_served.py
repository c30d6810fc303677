"""Several collections are asked over HTTP and MCP, and each result says where it is from."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from serve_support import Running

from pinakes.api.http_app import create_app
from pinakes.indexes.storage.versions import current_version
from pinakes.library import Library
from pinakes.testing import FILES, write_files

SEA = {"whale.md": "# Whale\n\nWhales eat krill, seals eat fish.\n", "heron.md": FILES["animals/heron.md"]}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder, home = tmp_path_factory.mktemp("docs"), tmp_path_factory.mktemp("home")
    settings: dict[str, Any] = {"embedding__provider": "deterministic", "server__port": 0, "toolsets": ("search",)}
    settings |= {"mcp__structured_content": True}
    with Library.open(home, **settings) as library:
        library.add(str(write_files(folder / "zoo")), "zoo")
        library.add(str(write_files(folder / "sea", SEA)), "sea")
        running = Running(create_app(library), library.settings)
        yield running
        running.stop()


def search(served: Running, **body: Any) -> dict[str, Any]:
    response = served.client.post("/search", json={"query": "fish", "search_type": "keyword", "top_k": 20, **body})
    assert response.status_code == 200, response.text
    found: dict[str, Any] = response.json()
    return found


def tool(served: Running, name: str, **arguments: Any) -> dict[str, Any]:
    params = {"name": name, "arguments": arguments}
    headers = {"accept": "application/json, text/event-stream"}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    result: dict[str, Any] = served.client.post("/mcp", json=body, headers=headers).json()["result"]
    return result


@pytest.mark.parametrize("collection", ["*", "sea,zoo"])
def test_each_result_names_its_collection(served: Running, collection: str) -> None:
    found = search(served, collection=collection)
    assert {result["collection"] for result in found["results"]} == {"sea", "zoo"}
    assert "collection" not in search(served, collection="zoo")["results"][0]


def test_a_chunk_that_both_have_is_named_with_the_other_collection(served: Running) -> None:
    found = search(served, collection="*", query="grey heron")
    [copy] = found["results"][0]["duplicates"]
    assert {found["results"][0]["collection"], copy["collection"]} == {"sea", "zoo"}
    schemas = served.client.get("/openapi.json").json()["components"]["schemas"]
    assert set(copy) <= set(schemas["Place"]["properties"])
    assert set(found["results"][0]) <= set(schemas["SearchResult"]["properties"])


def test_one_that_is_not_there_is_told_of_and_the_rest_answers(served: Running) -> None:
    found = search(served, collection="zoo,nowhere")
    assert {result["collection"] for result in found["results"]} == {"zoo"}
    assert found["degraded"] == "'nowhere' did not answer"
    assert any("'nowhere'" in note for note in found["notes"])


@pytest.mark.parametrize(("collection", "status"), [("nowhere,elsewhere", 404), (",", 422), ("../../etc", 404)])
def test_what_names_nothing_is_refused(served: Running, collection: str, status: int) -> None:
    response = served.client.post("/search", json={"query": "fish", "collection": collection})
    assert response.status_code == status


def test_the_tool_names_the_collection_that_read_needs(served: Running) -> None:
    answer = tool(served, "search", query="grey heron", collection="*", mode="keyword", top_k=1)
    [chunk] = answer["structuredContent"]["passages"]
    assert f"in collection {chunk['collection']!r}" in answer["content"][0]["text"]
    assert f"same in {chunk['duplicates'][0]['collection']} › " in answer["content"][0]["text"]
    read = tool(served, "read", document=chunk["path"], collection=chunk["collection"])
    assert "grey heron" in read["content"][0]["text"]


def test_the_tool_says_nothing_of_collections_where_one_was_asked(served: Running, tmp_path: Path) -> None:
    answer = tool(served, "search", query="grey heron", collection="zoo", top_k=1)
    assert "collection" not in answer["structuredContent"]["passages"][0]
    assert "in collection" not in answer["content"][0]["text"]


def test_versions_of_indexes_are_not_added_up(served: Running) -> None:
    index = served.client.get("/health").json()["components"]["index"]
    present = current_version()
    assert (index["format"], index["analyser"]) == (present.format, present.analyser)
    assert index["documents"] > 2
