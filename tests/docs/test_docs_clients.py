"""The configurations of clients that docs/agents.md shows do what a client expects of them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from docs_blocks import ROOT, blocks, tables
from docs_shell import environment_of
from forking import PINAKES, Forked

from pinakes.settings import load, profiles
from pinakes.tools import tools_of

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
    environment = {**environment_of(tmp_path), **entry.get("env", {})}
    with Forked(PINAKES, *entry["args"], environment=environment, folder=tmp_path) as process:
        asked = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
        out, err = process.communicate(f"{asked}\n".encode(), timeout=120)
    assert process.returncode == 0, err
    listed = [tool["name"] for tool in json.loads(out)["result"]["tools"]]
    assert len(listed) == 17, name
    assert listed[0] == "search_summaries"


@pytest.mark.parametrize(("name", "entry"), HTTP)
def test_an_address_is_that_of_the_server(name: str, entry: dict[str, Any], tmp_path: Path) -> None:
    profile = "staged" if "staged" in name else None
    server = load(home=tmp_path, environment={}, profile=profile).server
    at = urlsplit(entry["url"])
    assert (at.hostname, at.port, at.path) == (server.host, server.port, "/mcp")


@pytest.mark.parametrize("row", tables(PAGE, "profile"), ids=lambda row: row["profile"])
def test_the_table_of_profiles_has_their_ports_and_tools(row: dict[str, str], tmp_path: Path) -> None:
    profile = row["profile"].strip("`")
    settings = load(home=tmp_path, environment={}, profile=None if profile == "none" else profile)
    assert settings.server.port == int(row["port"])
    named, tools = re.findall(r"`(\w+)`", row["default tools"]), [tool.name for tool in tools_of(settings)]
    if row["default tools"].startswith("those of"):
        assert set(named) == set(settings.toolsets)
    else:
        assert tools == named or f"the {len(tools)}" == row["default tools"]


def test_the_table_of_profiles_has_them_all() -> None:
    assert {row["profile"].strip("`") for row in tables(PAGE, "profile")} == {"none", *profiles()}
