from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest
from typer.main import get_command

from pinakes.cli.commands import program

COMMANDS = {
    "add", "ask", "audit export", "backup", "call", "collections configure", "collections copy",
    "collections create", "collections delete", "collections describe", "collections list", "collections move",
    "collections remove-source",
    "collections rename", "collections stats", "compare", "config", "document delete", "document deleted",
    "document history", "document put", "document restore", "document show", "document update", "evaluate",
    "events", "explain", "export", "graph alias", "graph experts", "graph export", "graph impact", "graph merge",
    "graph missing", "graph neighbours", "graph path", "graph report", "graph show", "graph split",
    "graph top", "import", "init", "keys create", "keys list", "keys revoke", "mcp",
    "metadata", "migrate", "model install", "model status", "outline", "plugins", "read", "reindex", "restore",
    "search",
    "secrets purge", "secrets scan", "serve",
    "sources import", "sources list", "sources remove", "sources show", "status", "summarize", "sync", "tools", "tune",
    "verify", "watch", "webhooks list", "webhooks retry", "webhooks test", "worker",
}  # fmt: skip
ALIASES = {"index", "index-directory", "query", "verify-index"}
EVERYWHERE = {"--home", "--profile", "--set", "--json", "--verbose", "--quiet"}


def commands(group=None, prefix: str = "") -> Iterator[tuple[str, object]]:
    for name, command in (group or get_command(program())).commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{prefix}{name} ")
        else:
            yield prefix + name, command


ALL = dict(commands())


def test_these_are_the_commands():
    assert set(ALL) == COMMANDS | ALIASES
    assert {name for name, command in ALL.items() if command.hidden} == ALIASES


@pytest.mark.parametrize("name", sorted(ALL))
def test_every_command_and_option_is_explained(name):
    command = ALL[name]
    assert command.help.endswith(".")
    for parameter in command.params:
        assert parameter.help, f"{name}: {parameter.name}"
        assert parameter.help.endswith("."), f"{name}: {parameter.name}"


@pytest.mark.parametrize("name", sorted(ALL))
def test_every_command_takes_the_common_options(name):
    options = {option for parameter in ALL[name].params for option in parameter.opts}
    assert options >= EVERYWHERE


@pytest.mark.parametrize("name", sorted(ALL))
def test_help_of_each_command_names_all_its_options(pinakes, name):
    shown = pinakes(*name.split(), "--help")
    assert shown.code == 0
    for parameter in ALL[name].params:
        if parameter.param_type_name == "option" and not parameter.hidden:
            assert parameter.opts[0] in shown.out
    assert shown.err == ""


@pytest.mark.parametrize("words", [(), ("--help",), ("-h",)])
def test_without_a_command_there_is_help(pinakes, words):
    shown = pinakes(*words)
    assert shown.code == 0
    assert all(f" {name.split()[0]} " in shown.out for name in COMMANDS)
    assert not any(f" {name} " in shown.out for name in ALIASES)


def test_the_version_is_that_of_the_package(pinakes):
    from importlib.metadata import version

    assert pinakes("--version").out == f"pinakes {version('pinakes')}\n"
    assert pinakes("--version", "--json").document == {"version": version("pinakes")}


def test_it_runs_as_a_module_where_it_is_not_on_the_path():
    done = subprocess.run([sys.executable, "-m", "pinakes", "search"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: Missing argument 'QUERY'.\nhint: See pinakes search --help\n"


HEAVY = "numpy", "onnx", "onnxruntime", "faiss", "sqlalchemy", "tantivy", "fastmcp", "fastapi", "tokenizers", "httpx"


@pytest.mark.parametrize(
    ("words", "also"),
    [(["--help"], []), (["--version"], ["rich"]), (["mcp", "--help"], []), (["config", "--json"], ["rich"])],
)
def test_what_needs_no_library_loads_none(words, also):
    code = (
        "import sys; from pinakes.cli.entry import run; run(sys.argv[1:]);"
        f"print([name for name in {HEAVY} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=True)
    assert done.stderr == "[]\n"


def test_the_stdio_server_is_reached_without_loading_anything_heavy():
    code = (
        "import sys; import pinakes.cli.commands, pinakes.cli.serving, pinakes.api; from pinakes.settings import load;"
        f"load(); print([name for name in {HEAVY} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
