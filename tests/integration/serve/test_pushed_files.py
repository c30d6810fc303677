"""Files of a source that are pushed, over HTTP and over MCP: each changes the one document of that file."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client
from serve_support import Running

from pinakes.api.http_app import create_app
from pinakes.library import Library
from pinakes.settings import load
from pinakes.testing import write_files


def over_http(running: Running, arguments: dict[str, Any]) -> dict[str, Any]:
    body = running.client.post("/api/v1/tools/index_content", json=arguments).json()
    result: dict[str, Any] = body["data"]["result"]
    return result


def over_mcp(running: Running, arguments: dict[str, Any]) -> dict[str, Any]:
    async def called() -> dict[str, Any]:
        async with Client(f"{running.url}/mcp") as client:
            result: dict[str, Any] = (await client.call_tool("index_content", arguments)).structured_content or {}
            return result

    return asyncio.run(called())


@pytest.mark.parametrize("push", [over_http, over_mcp])
def test_what_is_pushed_to_a_file_of_a_source_changes_its_document(push: Any, tmp_path: Path) -> None:
    docs = write_files(tmp_path / "docs", {"sub/a.md": "# A\n\nalpha\n", "b.md": "# B\n\nbeta\n"})
    settings = load(
        home=tmp_path / "home",
        environment={},
        embedding__provider="deterministic",
        mcp__structured_content=True,
        server__port=0,
        toolsets=("search", "code"),
    )
    with Library(settings) as library:
        library.add(str(docs))
        before = library.read("sub/a.md").document.uid
        running = Running(create_app(library), settings)
        try:
            for path in ("sub/a.md", str(docs / "sub/a.md"), (docs / "sub/a.md").as_uri()):
                content = f"# A\n\ngamma by {path.partition(':')[0]}\n"
                given = {"content_type": "documentation", "source_path": path, "content": content}
                assert push(running, given)["content_id"] == before
                assert library.read("sub/a.md").text == content
            assert library.status()[0].documents == 2
        finally:
            running.stop()
        assert library.sync()[0].changed == 1
        assert "alpha" in library.read("sub/a.md").text, "what the file says counts"
