"""The configurations of clients that docs/agents.md shows do what a client expects of them."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from docs_blocks import ROOT, blocks
from docs_shell import BIN, environment_of

from pinakes.settings import load, profiles

PAGE = ROOT / "docs" / "agents.md"


def entries() -> Iterator[tuple[str, dict[str, Any]]]:
    """Give what every configuration on the page says of a server."""
    for block in blocks(PAGE, "json"):
        for servers in json.loads(block).values():
            yield from servers.items()


STDIO = [(name, entry) for name, entry in entries() if "command" in entry]
HTTP = [(name, entry) for name, entry in entries() if "url" in entry]


@pytest.mark.parametrize(("name", "entry"), STDIO)
def test_what_a_client_is_to_start_lists_its_tools(name: str, entry: dict[str, Any], tmp_path: Path) -> None:
    assert entry["command"] == "pinakes"
    done = subprocess.run(
        [BIN / "pinakes", *entry["args"]],
        input=json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}) + "\n",
        capture_output=True,
        text=True,
        timeout=120,
        env={**environment_of(tmp_path), **entry.get("env", {})},
        cwd=tmp_path,
        check=True,
    )
    listed = [tool["name"] for tool in json.loads(done.stdout)["result"]["tools"]]
    assert len(listed) == 17, name
    assert listed[0] == "search_summaries"


@pytest.mark.parametrize(("name", "entry"), HTTP)
def test_an_address_is_that_of_the_server(name: str, entry: dict[str, Any], tmp_path: Path) -> None:
    profile = "staged" if "staged" in name else None
    server = load(home=tmp_path, environment={}, profile=profile).server
    at = urlsplit(entry["url"])
    assert (at.hostname, at.port, at.path) == (server.host, server.port, "/mcp")


def test_the_table_of_profiles_has_their_ports(tmp_path: Path) -> None:
    rows = re.findall(r"^\| (?:none|`(\w+)`) \|.*\| (\d+) \|$", PAGE.read_text("utf-8"), re.MULTILINE)
    assert {profile for profile, _ in rows} == {"", *profiles()}
    for profile, port in rows:
        assert load(home=tmp_path, environment={}, profile=profile or None).server.port == int(port)
