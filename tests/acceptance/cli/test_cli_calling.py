"""``tools`` and ``call``: what agents can do, from the command line."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from forking import PINAKES, Forked

from pinakes.tools import TOOLS

DETERMINISTIC = ("--set", "embedding.provider=deterministic")


@pytest.fixture
def filled(pinakes: Any, corpus: Path) -> Any:
    assert pinakes("add", corpus).code == 0
    return pinakes


@pytest.fixture
def url(filled: Any, home: Path) -> Iterator[str]:
    with Forked(PINAKES, *DETERMINISTIC, "serve", "--port", "0") as child:
        try:
            assert child.stderr is not None
            yield next(word for word in child.stderr.readline().decode().split() if word.startswith("http"))
        finally:
            child.terminate()
            child.communicate(timeout=60)
    assert child.returncode == 0


def test_the_tools_are_listed_with_what_they_do(pinakes: Any) -> None:
    done = pinakes("tools")
    assert done.code == 0
    names = [line.split()[0] for line in done.out.splitlines()]
    assert {"search_summaries", "get_documents", "ingest_document"} <= set(names)
    assert "search" not in names
    assert "Start here" in done.out
    listed = pinakes("tools", "--json").document["tools"]
    assert [tool["name"] for tool in listed] == names
    assert all({"description", "inputSchema", "annotations"} <= set(tool) for tool in listed)
    every = pinakes("tools", "--all", "--json").document["tools"]
    assert {tool["name"] for tool in every} == {tool.name for tool in TOOLS}


def test_a_tool_is_called_with_its_arguments(filled: Any) -> None:
    done = filled("call", "search", "--arg", "query=pollen", "-a", "top_k=1", "-a", "mode=keyword")
    assert done.code == 0
    assert "1 of" in done.out
    assert "bees.md" in done.out
    found = filled("call", "search", "-a", "query=pollen", "-a", "top_k=1", "--json").document
    assert len(found["passages"]) == 1


def test_arguments_may_be_one_json_object_and_single_ones_win(filled: Any) -> None:
    whole = json.dumps({"query": "pollen", "top_k": 2})
    found = filled("call", "search", "--json-args", whole, "-a", "top_k=1", "--json").document
    assert (found["query"], len(found["passages"])) == ("pollen", 1)


def test_the_type_of_a_parameter_decides_how_a_value_is_read(filled: Any) -> None:
    put = filled("call", "ingest_document", "-a", "title=42", "-a", "text=true", "-a", "tags=a, b", "--json").document
    assert put["title"] == "42"
    about = filled("call", "get_document_metadata", "-a", f"doc_id={put['doc_id']}", "--json").document
    assert about["tags"] == ["a", "b"]
    tagged = filled("call", "search_summaries", "-a", "query=true", "-a", 'tags_filter=["a"]', "--json").document
    assert [one["doc_id"] for one in tagged["results"]] == [put["doc_id"]]


def test_a_value_may_come_from_a_file_or_stdin(pinakes: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "bees.md"
    file.write_text("# Bees\n\nBees make honey = sweet.\n", "utf-8")
    done = pinakes("call", "ingest_document", "-a", "title=Bees", "-a", f"text=@{file}", "--json")
    assert done.document["status"] == "indexed"
    monkeypatch.setattr("sys.stdin", io.StringIO("Wasps make paper."))
    done = pinakes("call", "ingest_document", "-a", "title=Wasps", "-a", "text=@-", "--json")
    assert done.document["outcome"] == "created"
    text = pinakes("call", "search", "-a", "query=honey", "-a", "mode=keyword", "--json").document["passages"][0][
        "text"
    ]
    assert "honey = sweet" in text


def test_what_goes_wrong_in_a_tool_is_its_answer_and_the_exit_code(filled: Any) -> None:
    done = filled("call", "get_document_metadata", "-a", "doc_id=nothing", "--json")
    assert done.code == 3
    assert done.document == {"error": "Document not found", "not_found": ["nothing"]}
    plain = filled("call", "read", "-a", "document=nothing")
    assert plain.code == 3
    assert plain.out == ""
    assert "nothing" in plain.err


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["no_such_tool"], 3, "no_such_tool"),
        (["serch"], 3, "Did you mean 'search'?"),
        (["search", "-a", "query"], 2, "not of the form name=value"),
        (["search", "--json-args", "[1]"], 2, "no JSON object"),
        (["search", "--json-args", "{"], 2, "not JSON"),
        (["search", "-a", "query=a", "-a", "top_k=many"], 2, "--arg top_k is not JSON"),
        (["search", "-a", "query=a", "-a", "colour=red"], 2, "colour"),
        (["search", "-a", "query=@no-such-file"], 2, "no-such-file"),
        (["search"], 2, "query is missing"),
        (["search", "--url", "http://127.0.0.1:1", "-a", "query=a"], 11, "No Pinakes answers"),
        (["search", "--url", "http://[", "-a", "query=a"], 11, "No Pinakes answers"),
    ],
)
def test_a_call_that_cannot_be_made_says_why(filled: Any, words: list[str], code: int, said: str) -> None:
    done = filled("call", *words)
    assert done.code == code
    assert said in done.err
    assert "Traceback" not in done.err
    assert done.out == ""
    assert filled("call", *words, "--json").document["error"]["code"]


def test_only_a_call_that_writes_makes_a_home(pinakes: Any, home: Path) -> None:
    assert pinakes("call", "search", "-a", "query=bees").code == 3
    assert pinakes("call", "list_collections").code == 3
    assert not home.exists()
    assert pinakes("call", "ingest_document", "-a", "title=Bees", "-a", "text=Bees make honey.").code == 0
    assert home.exists()


def test_a_running_server_answers_the_same(filled: Any, url: str) -> None:
    there = filled("tools", "--url", url, "--json").document["tools"]
    assert [tool["name"] for tool in there] == [tool["name"] for tool in filled("tools", "--json").document["tools"]]
    words = ["call", "search_summaries", "-a", "query=pollen", "-a", "top_k=1", "--json"]
    here, asked = filled(*words).document, filled(*words, "--url", url).document
    assert asked["results"] == here["results"]
    assert len(asked["results"]) == 1


def test_a_running_server_tells_what_goes_wrong(filled: Any, url: str) -> None:
    done = filled("call", "get_document_metadata", "-a", "doc_id=nothing", "--json", "--url", url)
    assert done.code == 3
    assert done.document == {"error": "Document not found", "not_found": ["nothing"]}
    for words in ((), ("-a", "query=pollen", "-a", "collection=nowhere")):
        here, there = (
            filled("call", "search_summaries", *words),
            filled("call", "search_summaries", *words, "--url", url),
        )
        assert there.code == here.code > 1
    missing = filled("call", "no_such_tool", "--url", url)
    assert missing.code == 3
    assert "Tool 'no_such_tool' not found" in missing.err
