"""Questions as of a past day, and old versions, over HTTP and by the tools."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from serve_support import Running, settings_for

from pinakes.api.http_app import create_app
from pinakes.library import Library
from pinakes.tools.retrieve import MAX_READ_CHARS, read, search

OLD = "# Herons\n\nHerons stand in shallow water and wait for fish.\n"
NEW = "# Herons\n\nHerons nest in trees.\n"


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    with Library(settings_for(tmp_path / "home", server__port=0, toolsets=("search",))) as opened:
        yield opened


@pytest.fixture
def server(library: Library) -> Iterator[Running]:
    running = Running(create_app(library), library.settings)
    yield running
    running.stop()


@pytest.fixture
def then(library: Library) -> str:
    """Put a document and change it; return a time between."""
    first = library.documents.put(OLD, title="Herons").document
    library.documents.update(first.uid, text=NEW)
    return first.created_at


def ask(library: Library, declared: Any, **arguments: Any) -> dict[str, Any]:
    data: dict[str, Any] = declared.answer(library, arguments).data
    return data


def test_a_search_over_http_asks_the_documents_of_then(server: Running, then: str) -> None:
    question = {"query": "water", "search_type": "keyword"}
    assert server.client.post("/search", json=question).json()["results"] == []
    answer = server.client.post("/search", json={**question, "as_of": then}).json()
    assert ["wait for fish" in result["text"] for result in answer["results"]] == [True]
    assert answer["notes"][-1].startswith("as of ")


def test_what_is_no_day_is_refused_as_any_other_value_is(server: Running, then: str) -> None:
    for wrong in ("yesterday", " ", "2026-13-01"):
        refused = server.client.post("/search", json={"query": "water", "as_of": wrong})
        too_many = server.client.post("/search", json={"query": "water", "top_k": 99})
        assert refused.status_code == too_many.status_code == 422
        assert "is no day or time" in refused.text
        assert refused.json().keys() == too_many.json().keys()


def test_the_parameter_is_in_the_documentation(server: Running) -> None:
    schema = server.client.get("/openapi.json").json()["components"]["schemas"]["SearchRequest"]
    assert "2026-01-31" in schema["properties"]["as_of"]["description"]


def test_the_tool_searches_and_reads_what_was(library: Library, then: str) -> None:
    assert ask(library, search, query="water", mode="keyword")["passages"] == []
    [chunk] = ask(library, search, query="water", mode="keyword", as_of=then)["passages"]
    assert "wait for fish" in chunk["text"]
    assert ask(library, read, document="Herons")["text"] == NEW
    assert ask(library, read, document="Herons", as_of=then)["text"] == OLD
    assert ask(library, read, document="Herons", version=1)["text"] == OLD
    assert ask(library, read, document="Herons:3", version=1)["text"].startswith("Herons stand")


def test_the_tools_refuse_what_the_library_refuses(library: Library, then: str) -> None:
    for declared, arguments in ((search, {"query": "water"}), (read, {"document": "Herons"})):
        outcome = declared.answer(library, {**arguments, "as_of": "yesterday"})
        assert outcome.failed
        assert "'yesterday' is no day or time." in outcome.text
    both = read.answer(library, {"document": "Herons", "version": 1, "as_of": then})
    assert "not both" in both.text
    assert "cannot be read" in read.answer(library, {"document": "Herons", "version": 9}).text


def test_what_goes_on_stays_in_the_same_version(library: Library) -> None:
    long = "\n".join(f"line {number}" for number in range(MAX_READ_CHARS // 5))
    first = library.documents.put(long, title="Long").document
    library.documents.update(first.uid, text="short")
    for chosen in ({"version": 1}, {"as_of": first.created_at}):
        parts, more = [], dict[str, Any](chosen)
        while more:
            shown = ask(library, read, document="Long", **more)
            parts.append(shown["text"])
            more = shown.get("go_on", {})
            assert not more or chosen.items() <= more.items()
        assert "\n".join(parts) == long
