"""A running server tells how the files of results are, and reads again what changed where it is asked to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from serve_support import Running

from pinakes.api.http_app import create_app
from pinakes.library import Library
from pinakes.settings import load
from pinakes.testing import write_files


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Running]:
    files = {f"{name}.md": f"# {name.title()}\n\nRotate the {name} keys.\n" for name in ("first", "second")}
    settings = load(
        home=tmp_path / "home",
        environment={},
        embedding__provider="deterministic",
        mcp__structured_content=True,
        cache=str(tmp_path / "cache"),
        server__port=0,
        search__refresh_ms=30_000,
        toolsets=("search",),
    )
    with Library(settings) as library:
        library.add(str(write_files(tmp_path / "docs", files)))
        running = Running(create_app(library), settings)
        yield running
        running.stop()


def search(server: Running, **fields: Any) -> dict[str, Any]:
    answer = server.client.post("/search", json={"query": "rotate", "search_type": "keyword", **fields})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def states(answer: dict[str, Any]) -> dict[str, str]:
    return {result["metadata"]["file_path"]: result["source_state"] for result in answer["results"]}


def test_results_tell_how_their_files_are(server: Running, tmp_path: Path) -> None:
    assert states(search(server)) == {"first.md": "current", "second.md": "current"}
    (tmp_path / "docs" / "first.md").write_text("# First\n\nRotate them twice.\n")
    (tmp_path / "docs" / "second.md").unlink()
    answer = search(server)
    assert states(answer) == {"first.md": "changed", "second.md": "missing"}
    assert all(result["changed"] for result in answer["results"])


def test_what_changed_is_read_again_where_that_is_asked_for(server: Running, tmp_path: Path) -> None:
    (tmp_path / "docs" / "first.md").write_text("# First\n\nRotate them twice.\n")
    (tmp_path / "docs" / "second.md").unlink()
    assert states(search(server, refresh="never"))["first.md"] == "changed"
    answer = search(server, refresh="auto")
    assert states(answer) == {"first.md": "current"}
    assert answer["results"][0]["text"].endswith("Rotate them twice.")
    assert answer["notes"] == [
        "read again, since it changed: first.md",
        "left out, since it is gone: second.md",
    ]
    assert server.client.get("/health").json()["indexed_documents"] == 1


def test_the_tool_does_so_as_well(server: Running, tmp_path: Path) -> None:
    (tmp_path / "docs" / "first.md").write_text("# First\n\nRotate them twice.\n")
    message = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "search", "arguments": {"query": "rotate first", "mode": "keyword", "refresh": "auto"}},
    }
    headers = {"Accept": "application/json, text/event-stream"}
    answer = server.client.post("/mcp", json=message, headers=headers).json()["result"]
    first = answer["structuredContent"]["passages"][0]
    assert (first["path"], first["source_state"]) == ("first.md", "current")
    assert first["text"].endswith("Rotate them twice.")


def test_another_word_for_refresh_is_refused(server: Running) -> None:
    assert server.client.post("/search", json={"query": "rotate", "refresh": "always"}).status_code == 422
