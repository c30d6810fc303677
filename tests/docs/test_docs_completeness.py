"""Everything a user can name is described: commands, options, settings, errors, tools, routes, extras."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import import_graph
import pytest
import settings_page
import yaml
from docs_blocks import PAGES, ROOT, anchors, blocks, links, name_of, text_of, without_blocks
from prometheus_client.parser import text_string_to_metric_families
from typer.exceptions import TyperException
from typer.main import get_command

from pinakes import Library, load
from pinakes.api.http_app import create_app
from pinakes.api.prometheus import Metrics
from pinakes.cli.commands import program
from pinakes.cli.options import Invocation
from pinakes.cli.session import Common
from pinakes.compat.kep.routes import SearchRequest
from pinakes.core import errors
from pinakes.core.errors import PinakesError, exit_code, http_status
from pinakes.evaluation.questions import read_golden
from pinakes.parsing import READERS
from pinakes.settings import CollectionSettings, NamedSearch, QdrantSettings, SourceSettings, profiles, table
from pinakes.tools import TOOLS, tools_of

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def every_command(group: Any, above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from every_command(command, (*above, name))
        if not hasattr(command, "commands") or command.invoke_without_command:
            yield (*above, name), command


COMMANDS = dict(every_command(get_command(program())))
ERRORS = [value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, PinakesError)]


def says(text: str, word: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", text) is not None


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_command_and_each_of_its_options_is_described(words: tuple[str, ...]) -> None:
    text = text_of("docs/cli.md")
    assert re.search(rf"`{re.escape(' '.join(words))}[` ]", text)
    options = [
        option for parameter in COMMANDS[words].params for option in (*parameter.opts, *parameter.secondary_opts)
    ]
    assert [option for option in options if option.startswith("-") and not says(text, option)] == []


def test_every_option_of_the_program_itself_is_described() -> None:
    text = text_of("docs/cli.md")
    options = [option for parameter in get_command(program()).params for option in parameter.opts]
    assert [option for option in options if not says(text, option)] == []


def test_the_page_of_settings_is_what_the_settings_say() -> None:
    written = settings_page.PAGE.read_text("utf-8")
    assert written == settings_page.page(), "write it anew: python tests/docs/settings_page.py"


def test_the_page_of_imports_is_what_the_code_imports() -> None:
    assert import_graph.PAGE.read_text("utf-8") == import_graph.page(), "write it anew: make graph"


def test_every_setting_is_described() -> None:
    text = text_of("docs/settings.md")
    names = [line.name for line in table()]
    for model in (CollectionSettings, SourceSettings, NamedSearch):
        names += model.model_fields
    assert [name for name in names if f"| `{name}` |" not in text] == []


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: error.code)
def test_every_error_code_is_described_with_its_status_and_exit_code(error: type[PinakesError]) -> None:
    one = error.__new__(error)
    row = f"| `{error.code}` | {http_status(one)} | {exit_code(one)} |"
    assert row in text_of("docs/troubleshooting.md")


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_every_tool_and_each_of_its_parameters_is_described(tool: Any) -> None:
    rows = [line for line in text_of("docs/agents.md").splitlines() if line.startswith(f"| `{tool.name}` |")]
    assert len(rows) == 1
    assert [name for name in tool.parameters.model_fields if f"`{name}`" not in rows[0]] == []


@pytest.mark.parametrize("profile", profiles())
def test_every_shipped_profile_and_its_tools_are_described(profile: str, tmp_path: Path) -> None:
    text = text_of()
    assert f"--profile {profile}" in text
    for tool in tools_of(load(home=tmp_path, profile=profile, environment={})):
        assert f"`{tool.name}`" in text
        assert [name for name in tool.parameters.model_fields if f"`{name}`" not in text] == []


def test_every_route_is_described(tmp_path: Path) -> None:
    with Library(load(home=tmp_path, environment={}, embedding__provider="deterministic")) as library:
        routes = list(_routes(create_app(library).routes))
    headings = re.findall(r"^## (.+)$", text_of("docs/http.md"), re.MULTILINE)
    assert {"GET /health", "POST /search"} <= set(routes)
    shown = [part for heading in headings for part in heading.split(" and ")]
    assert [route for route in (*routes, "POST /mcp") if route not in shown] == []


def _routes(routes: Any) -> Iterator[str]:
    for route in routes:
        if hasattr(route, "path"):
            methods = getattr(route, "methods", {"WEBSOCKET"})
            yield from (f"{method} {route.path}" for method in sorted(methods - {"HEAD"}))
        else:
            yield from _routes(route.original_router.routes)


def test_every_field_of_a_search_request_is_described() -> None:
    text = text_of("docs/http.md")
    assert [name for name in SearchRequest.model_fields if f"| `{name}` |" not in text] == []


def test_every_counter_is_described() -> None:
    text = text_of("docs/http.md")
    families = [family.name for family in text_string_to_metric_families(Metrics().text([]).decode())]
    assert families
    assert [name for name in families if name not in text] == []


def test_every_format_is_described() -> None:
    text = text_of("docs/formats.md")
    data = [extension for extension, reader in READERS.items() if not reader.startswith("code:")]
    assert [extension for extension in data if f"`{extension}`" not in text] == []


def test_every_script_and_every_extra_is_described() -> None:
    text = text_of()
    assert [name for name in PROJECT["scripts"] if f"`{name}" not in text and f"$ {name}" not in text] == []
    assert [name for name in PROJECT["optional-dependencies"] if f".[{name}]" not in text] == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_link_within_the_project_leads_somewhere(page: Path) -> None:
    broken = []
    for link in links(page):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    assert broken == []


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=name_of)
def test_a_page_begins_with_whom_it_is_for(page: Path) -> None:
    title, first = re.sub(r"<!--.*?-->\n*", "", page.read_text("utf-8")).split("\n\n")[:2]
    assert title.startswith("# ")
    assert re.match(r"For [a-z][^:]+: ", first), first


def test_the_index_of_the_pages_has_them_all() -> None:
    index = ROOT / "docs" / "README.md"
    assert set(ROOT.glob("docs/*.md")) - {(index.parent / link).resolve() for link in links(index)} == {index}


def test_every_page_can_be_reached_from_the_readme() -> None:
    reached, waiting = set(), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page not in reached:
            reached.add(page)
            targets = [(page.parent / link.partition("#")[0]).resolve() for link in links(page) if "://" not in link]
            waiting += [target for target in targets if target.suffix == ".md"]
    assert set(PAGES) - reached == set()


def test_every_command_in_running_text_has_the_form_that_the_program_takes() -> None:
    wrong = []
    for page in PAGES:
        if page.name == "CHANGELOG.md":
            continue  # it tells of the past
        for span in re.findall(r"`(pinakes [^`]+)`", without_blocks(page)):
            try:
                parsed(shlex.split(span.replace("\\|", "|").replace("…", "x"))[1:])
            except TyperException as error:
                if "Missing parameter" not in str(error):  # text may name a command without its arguments
                    wrong.append(f"{name_of(page)}: {span}: {error}")
    assert wrong == []


def parsed(words: list[str]) -> None:
    """Let the program parse ``words`` without running them."""
    if words[0] in ("--help", "--version"):
        return
    name = max((name for name in COMMANDS if tuple(words[: len(name)]) == name), default=None)
    assert name is not None, f"there is no command {words}"
    COMMANDS[name].make_context(" ".join(name), words[len(name) :], obj=Invocation(Common()))


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "json")], ids=name_of)
def test_configurations_are_json_and_start_programs_there_are(page: Path, tmp_path: Path) -> None:
    for block in blocks(page, "json"):
        configuration = json.loads(block)
        servers = configuration.get("mcpServers") or configuration["servers"]
        for server in servers.values():
            assert ("url" in server) != ("command" in server)
            assert server.get("url", "/mcp").endswith("/mcp")
            assert server.get("command", "pinakes") in PROJECT["scripts"]
            if server.get("command") == "pinakes":
                parsed(server["args"])
            load(home=tmp_path, environment=server.get("env", {}))


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "toml")], ids=name_of)
def test_settings_that_are_shown_can_be_used(page: Path, tmp_path: Path) -> None:
    for block in blocks(page, "toml"):
        file = tmp_path / "config.toml"
        file.write_text(block, "utf-8")
        assert load(home=tmp_path, environment={}) != load(home=tmp_path / "other", environment={})


def test_every_block_says_what_it_is() -> None:
    known = {"console", "json", "mermaid", "toml", "python", "sql", "text"}
    for page in PAGES:
        fences = re.findall(r"^```(.*)$", page.read_text("utf-8"), re.MULTILINE)
        if page.name == "ARCHITECTURE.md":
            continue  # drawings
        assert set(fences[::2]) <= known, name_of(page)
        assert set(fences[1::2]) <= {""}, name_of(page)


def test_the_container_uses_settings_and_variables_that_there_are() -> None:
    compose = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))
    service = compose["services"]["knowledge-server"]
    dockerfile = (ROOT / "Dockerfile").read_text("utf-8")
    used = set(re.findall(r"\bPINAKES_[A-Z_]+", dockerfile)) | set(service["environment"])
    assert used <= {line.variable for line in table()}
    variables = set(re.findall(r"\$\{(\w+)", (ROOT / "compose.yaml").read_text("utf-8")))
    assert variables == {"API_HOST", "API_PORT", "EMBEDDING_MODEL", "PINAKES_PROFILE"}
    assert [name for name in variables if f"| `{name}` |" not in text_of("docs/operations.md")] == []
    for source in re.findall(r"^COPY (.+) \S+$", dockerfile, re.MULTILINE):
        assert all((ROOT / name).exists() for name in source.split())
    assert service["restart"] == "unless-stopped"
    assert dockerfile.startswith("FROM python:3.11-slim\n")


def test_the_example_with_qdrant_uses_settings_and_an_extra_that_there_are() -> None:
    services = yaml.safe_load((ROOT / "examples" / "qdrant" / "compose.yaml").read_text("utf-8"))["services"]
    server = services["knowledge-server"]
    used = {name for name in server["environment"] if name.startswith("PINAKES_")}
    assert used <= {line.variable for line in table()}
    assert QdrantSettings().key_variable in server["environment"]
    assert server["build"]["args"]["EXTRAS"] in PROJECT["optional-dependencies"]
    assert re.search(r"^ARG EXTRAS=", (ROOT / "Dockerfile").read_text("utf-8"), re.MULTILINE)


def test_the_golden_questions_name_documents_that_there_are() -> None:
    questions = read_golden(ROOT / "benchmarks" / "quality" / "pinakes.jsonl")
    assert len({question.id for question in questions}) == len(questions) == 25
    assert {question.kind for question in questions} == {"how", "identifier", "paraphrase", "vague"}
    named = {document for question in questions for document in question.relevant}
    assert [document for document in named if not (ROOT / document).is_file()] == []
