"""``compose.team.yaml`` names settings, commands, extras and services that there are."""

from __future__ import annotations

import re
import tomllib
from typing import Any

import yaml
from docs_blocks import ROOT, text_of
from typer.main import get_command

from pinakes.api.access import NEEDED
from pinakes.cli.commands import program
from pinakes.settings import layers
from pinakes.settings.outside import CatalogSettings, QdrantSettings

FILE = ROOT / "compose.team.yaml"
OURS = {"server-one", "server-two", "worker"}


def services() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(FILE.read_text("utf-8"))["services"]
    return found


def test_it_has_what_a_team_needs() -> None:
    assert set(services()) == OURS | {"postgres", "proxy", "qdrant"}
    assert services()["qdrant"]["profiles"] == ["qdrant"]
    homes = [[mount for mount in services()[name]["volumes"] if mount.endswith(":/storage")] for name in sorted(OURS)]
    assert len({name for [name] in homes}) == 3, "each has a home of its own"
    named = set(yaml.safe_load(FILE.read_text("utf-8"))["volumes"])
    mounted = {mount.partition(":")[0] for one in services().values() for mount in one.get("volumes", ())}
    assert mounted - {"./data"} == named


def test_its_settings_and_extras_are_there_and_can_be_used() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    for name in OURS:
        one = services()[name]
        assert set(one["build"]["args"]["EXTRAS"].split(",")) <= set(project["optional-dependencies"])
        chosen = {key: _filled(value) for key, value in one["environment"].items() if key.startswith("PINAKES_")}
        settings = layers.load(environment=chosen, home=ROOT)
        assert settings.catalog.url == CatalogSettings(url="postgresql://pinakes@postgres/pinakes").url
        assert {"server-one", "server-two", "proxy"} <= set(settings.server.allowed_hosts)
        assert QdrantSettings().key_variable in one["environment"]
        assert "PGPASSWORD" in one["environment"]


def test_its_commands_are_there() -> None:
    [words] = [one["command"] for name, one in services().items() if name in OURS and "command" in one]
    command = get_command(program()).commands[words[1]]  # type: ignore[attr-defined]
    options = {option for parameter in command.params for option in parameter.opts}
    assert {word for word in words if word.startswith("--")} <= options


def test_the_proxy_asks_servers_that_are_ready() -> None:
    text = yaml.safe_load(FILE.read_text("utf-8"))["configs"]["caddyfile"]["content"]
    upstreams = re.search(r"reverse_proxy (.+) \{", text)
    assert upstreams is not None
    assert upstreams[1].split() == ["server-one:8000", "server-two:8000"]
    health = re.search(r"health_uri (\S+)", text)
    assert health is not None
    assert NEEDED[f"GET {health[1]}"] is None, "it shows no key"


def test_the_page_names_its_variables() -> None:
    variables = set(re.findall(r"\$\{(\w+)", FILE.read_text("utf-8")))
    assert [name for name in variables if f"`{name}`" not in text_of("docs/team.md")] == []


def _filled(value: str) -> str:
    """Return a value with the defaults of its variables."""
    return re.sub(r"\$\{\w+:[-?]([^}]*)\}", r"\1", str(value))
