"""What the pages name is there, and has the values that they say: settings, flags, codes, parameters, files."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from operator import attrgetter
from pathlib import Path

import pytest
from docs_blocks import PAGES, ROOT, name_of, tables, text_of, without_blocks
from test_docs_completeness import COMMANDS, ERRORS
from test_docs_hints import messages
from typer.main import get_command

from pinakes import Library
from pinakes.cli.commands import program
from pinakes.core.errors import exit_code, http_status
from pinakes.indexes import ENGINES
from pinakes.settings import REMOVED, load, profiles, table
from pinakes.settings.layers import OWN_FILES
from pinakes.tools import TOOLS
from pinakes.tools.listing_limits import listing_for

PRESENT = [page for page in PAGES if page.name != "CHANGELOG.md"]
"""The changelog tells of the past."""
READERS = [page for page in PRESENT if page.name != "ARCHITECTURE.md"]
"""ARCHITECTURE.md names modules, as in ``search.gathered``."""

SETTINGS = {line.name: line for line in table()}
SECTIONS = {name.partition(".")[0] for name in SETTINGS if "." in name}
CODES = {error.code: error for error in ERRORS}
_FILE_ENDINGS = {"json", "jsonl", "db", "md", "toml", "yaml"}
NOT_IN_ONE_PIECE = {
    "boosted by vendor",
    "the rerank endpoint",
    "open user configuration",
    "ignore all previous instructions",
    "which enhancement made service account tokens expire, and how far is it?",
    "tests of the scheduler",
    "to the letter",
    "pinakes, with tests",
    "command not found",
}
"""What stands in italics and is no message of ours, or is put together of parts."""
NO_FIELDS = {
    "X-Forwarded-Proto",
    "claude_desktop_config",
    "client_secret",
    "living_git",
    "max_retry_count",
    "maxRetryCount",
    "pinakes_requests_total",
}
"""What is read by a library, belongs to another program, is an example, or is put together of parts."""
_VALUES = re.compile(r"…|: |\. |\b[NX]\b|[\d+(][\d,.%]*|'[^']*'")
_UNITS = {
    "s": 1,
    "ms": 1,
    "second": 1,
    "seconds": 1,
    "minute": 60,
    "minutes": 60,
    "hour": 3600,
    "day": 86400,
    "%": 0.01,
    "MB": 10**6,
    "million": 10**6,
}


@pytest.mark.parametrize("page", READERS, ids=name_of)
def test_settings_that_are_named_are_there(page: Path) -> None:
    text = page.read_text("utf-8")
    named = re.findall(r"`([a-z_]+\.[a-z_]+)(?:\s*=[^`]*)?`", text) + re.findall(r"--set '?([\w.]+)=", text)
    settings = {name for name in named if name.partition(".")[0] in SECTIONS}
    settings -= REMOVED.keys() if page.name == "settings.md" else set()
    assert [one for one in settings - SETTINGS.keys() if one.rpartition(".")[2] not in _FILE_ENDINGS] == []


def test_variables_that_are_named_are_read() -> None:
    source = "\n".join(file.read_text("utf-8") for file in (ROOT / "src").rglob("*.py"))
    others = set(re.findall(r'"(PINAKES_\w+)"', source)) | {"PINAKES_TEST_DATA", "PINAKES_PROFILE"}
    named = {name for page in PRESENT for name in re.findall(r"\bPINAKES_\w+", page.read_text("utf-8"))}
    named -= {
        name for name in named if name.startswith(tuple(one for one in others - {"PINAKES_"} if one.endswith("_")))
    }
    assert named - {line.variable for line in table()} - others == set()


@pytest.mark.parametrize("page", READERS, ids=name_of)
def test_defaults_in_parentheses_are_those_of_the_settings(page: Path) -> None:
    found = re.findall(r"`([a-z_]+\.[a-z_]+)`,? \(([^)]*)\)", page.read_text("utf-8"))
    said = [(name, value) for name, value in found if name in SETTINGS and not value.startswith("say ")]
    assert [(name, value) for name, value in said if _number(value) != SETTINGS[name].default] == []


@pytest.mark.parametrize("page", READERS, ids=name_of)
def test_figures_before_the_name_of_a_setting_are_its_default(page: Path) -> None:
    found = re.findall(
        r"(?<!/ )(?<![\d.,])(\d[\d,]*(?:\.\d+)?(?: (?:s|ms|minutes|%)\b)?)[^\d|`(]{0,40}\(`([a-z_]+\.[a-z_]+)`(?!, `)",
        page.read_text("utf-8"),
    )
    assert [one for one in found if one[1] in SETTINGS and _number(one[0]) != SETTINGS[one[1]].default] == []


@pytest.mark.parametrize(
    "page", [page for page in READERS if tables(page, "setting") and page.name != "settings.md"], ids=name_of
)
def test_defaults_in_tables_are_those_of_the_settings(page: Path) -> None:
    wrong = []
    for row in tables(page, "setting"):
        names = [name for name in re.findall(r"`([\w.]+)`", row["setting"]) if name in SETTINGS]
        said = row.get("default", "")
        values = said.split(", ") if len(names) > 1 else [said]
        wrong += [
            (name, value) for name, value in zip(names, values, strict=False) if said and not _is_default(name, value)
        ]
    assert wrong == []


@pytest.mark.parametrize("page", PRESENT, ids=name_of)
def test_flags_that_are_named_are_there(page: Path) -> None:
    parameters = [one for command in (*COMMANDS.values(), get_command(program())) for one in command.params]
    known = {"--help", "--all-embedded", *(option for one in parameters for option in (*one.opts, *one.secondary_opts))}
    lines = [line for line in page.read_text("utf-8").splitlines() if "pinakes" in line or "`--" in line]
    named = {flag for line in lines for flag in re.findall(r"(?<=[ `(])--[a-z][a-z-]+\b", line) if not _of_others(line)}
    assert named - known == set()


@pytest.mark.parametrize("page", PRESENT, ids=name_of)
def test_codes_have_the_status_and_the_exit_code_that_is_said(page: Path) -> None:
    text = page.read_text("utf-8")
    for code, said in re.findall(r"`([A-Z][A-Z_]+)`[,:]? ?\(?([^`.|]{0,60})", text):
        if code in CODES:
            one = CODES[code].__new__(CODES[code])
            exits = re.findall(r"exit\s+code (\d+)", said)
            statuses = re.findall(r"HTTP (\d+)", said)
            assert (exits or [str(exit_code(one))]) == [str(exit_code(one))], code
            assert (statuses or [str(http_status(one))]) == [str(http_status(one))], code


def test_parameters_of_tools_have_the_defaults_that_are_said(tmp_path: Path) -> None:
    wrong, settings = [], load(home=tmp_path, environment={})
    for row in tables(ROOT / "docs" / "agents.md", "tool"):
        tool = next(tool for tool in TOOLS if f"`{tool.name}`" == row["tool"])
        properties = listing_for(tool, settings)["inputSchema"]["properties"]
        said = next((cell for title, cell in row.items() if title.startswith("parameters")), "")
        for name, value in re.findall(r"`(\w+)`\*{0,2} \(([\w.\"]+)(?! to)\b", said):
            default = properties[name].get("default")
            shown = value.strip('"')
            same = shown in (str(default), str(default).lower()) or not re.fullmatch(r"[\d.]+|true|false|\".*\"", value)
            wrong += [] if same else [(tool.name, name, value, default)]
    assert wrong == []


def test_profiles_that_are_named_are_shipped() -> None:
    named = set(re.findall(r"--profile ([a-z]+)\b(?!\.)", text_of()))
    assert named <= set(profiles())


@pytest.mark.parametrize("profile", profiles())
def test_a_profile_is_named_where_readers_look_with_what_it_fetches(profile: str, tmp_path: Path) -> None:
    [row] = [row for row in tables(ROOT / "docs" / "cli.md", "`--profile`") if row["`--profile`"] == f"`{profile}`"]
    settings = load(home=tmp_path, profile=profile, environment={})
    fetched = {source.location for one in settings.collections.values() for source in one.sources}
    assert set(re.findall(r"https://[\w./-]+", str(row))) == fetched
    assert f"`{profile}`" in text_of("README.md") or f"docs/{profile}.md" in text_of("README.md")


def test_the_readme_names_the_home_that_make_run_fills() -> None:
    [home] = re.findall(r"^PINAKES := .*--home (\S+)", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    [after] = re.findall(r"`make run` sets up(.*?)^## ", text_of("README.md"), re.MULTILINE | re.DOTALL)
    assert f"`.venv/bin/pinakes --home {home} search" in after
    assert f"`~/{load(environment={}).home.relative_to(Path.home())}`" in after
    said = subprocess.run(["make", "-n", "run"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert re.search(rf"^echo .*--home {re.escape(home)} search", said, re.MULTILINE)


def test_the_table_of_the_home_names_its_files_of_settings() -> None:
    [row] = [
        row for row in tables(ROOT / "docs" / "operations.md", "in the home") if "config.toml" in row["in the home"]
    ]
    assert [name for name in (*OWN_FILES, ".env") if f"`{name}`" not in row["in the home"]] == []


def test_the_page_for_platform_teams_says_what_there_is_for_kubernetes_and_qdrant() -> None:
    rows = tables(ROOT / "docs" / "platform.md", "you have")
    shipped = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    manifests = [
        name for name in shipped.splitlines() if re.search(r"(?:^|/)(?:charts?|crds?|k8s|manifests)/|Chart\.yaml", name)
    ]
    assert (list(ENGINES), manifests) == (["tantivy", "faiss", "qdrant", "postgres"], [])
    assert [row["you have"].split()[0] for row in rows] == ["a", "a", "Qdrant"]
    assert all(word in rows[-1]["here is"] for word in ("Tantivy", "FAISS"))


@pytest.mark.parametrize("page", READERS, ids=name_of)
def test_messages_that_are_quoted_are_those_of_the_program(page: Path) -> None:
    quoted = re.findall(r"(?<![*\w`/])\*([^*\n`|]+(?:\n[^*\n`|]+)?)\*(?![*\w`/])", without_blocks(page))
    wrong = []
    for message in quoted:
        parts = (_plain(part) for part in _VALUES.split(message))
        wrong += [
            part
            for part in parts
            if len(part.split()) >= 3 and part not in _messages() and part not in NOT_IN_ONE_PIECE
        ]
    assert wrong == []


@pytest.mark.parametrize("page", ["agents", "audit", "http", "platform", "search", "security", "staged", "sync"])
def test_fields_and_headers_that_are_named_are_in_the_program(page: str) -> None:
    spans = " ".join(re.findall(r"`([^`\n]+)`", without_blocks(ROOT / "docs" / f"{page}.md")))
    named = set(re.findall(r"\b(?:[a-z]+(?:_[a-z0-9]+)+|[a-z]+(?:[A-Z][a-z]+)+|[A-Z][a-z]*-[A-Z][A-Za-z-]+)\b", spans))
    assert [name for name in named - NO_FIELDS if name.replace("_", "").lower() not in _source()] == []


@cache
def _source() -> str:
    """Return the program without capitals and underscores, since fields are called matchType in some answers."""
    files = [file for file in (ROOT / "src").rglob("*") if file.suffix in (".py", ".toml", ".sql")]
    return "\n".join(file.read_text("utf-8") for file in files).lower().replace("_", "")


@cache
def _messages() -> str:
    return "\n".join(_plain(text) for _, text in messages())


def _plain(text: str) -> str:
    return " ".join(text.split()).rstrip(".").lower()


def test_what_the_library_is_said_to_have_is_there(tmp_path: Path) -> None:
    named = set(re.findall(r"\blibrary((?:\.[a-z_]+)+)\b(?!/)", text_of(*(name_of(page) for page in READERS))))
    with Library(load(home=tmp_path, environment={}, embedding__provider="deterministic")) as library:
        assert {"status", "documents.put"} <= {name.removeprefix(".") for name in named}
        for name in named:
            attrgetter(name.removeprefix("."))(library)


def test_nothing_is_said_to_lose_nothing() -> None:
    """What Ctrl+C keeps is told by tests/attacks/test_stopping_loses_no_vector.py: vectors, and committed documents."""
    assert not re.findall(r"Ctrl\+C`?\s+loses\s+nothing", text_of())


@pytest.mark.parametrize("page", PRESENT, ids=name_of)
def test_rows_of_tables_have_the_cells_of_their_head(page: Path) -> None:
    wrong, width = [], 0
    for line in without_blocks(page).splitlines():
        cells = len(re.split(r"(?<!\\)\|", re.sub(r"`[^`]*`", "", line))) if line.startswith("|") else 0
        if cells and width and cells != width:
            wrong.append(line)
        width = (width or cells) if cells else 0
    assert wrong == []


@pytest.mark.parametrize("page", PRESENT, ids=name_of)
def test_files_and_benchmarks_that_are_named_are_there(page: Path) -> None:
    text = page.read_text("utf-8")
    files = re.findall(r"`((?:src|tests|benchmarks|examples)/[\w./-]+?\.(?:py|toml|md|json))`", text)
    modules = [name.rstrip(".").replace(".", "/") for name in re.findall(r"python -m (benchmarks[\w.]+)", text)]
    missing = [one for one in files if not (ROOT / one).exists() and "yours" not in one and page.name != "ranking.md"]
    missing += [
        one for one in modules if not (ROOT / f"{one}.py").exists() and not (ROOT / one / "__main__.py").exists()
    ]
    assert missing == []


def _of_others(line: str) -> bool:
    """Say whether the flags of a line are those of another program."""
    return re.search(r"\b(?:pip|git|docker|curl|benchmarks|flags?)\b", line) is not None


def _number(text: str) -> float | str:
    """Return the number that ``text`` begins with, in the unit of settings: "30 minutes" is 1800."""
    match = re.match(r"(a|[\d.,]+)\s*([A-Za-z]+|%)?", text)
    if match is None:
        return text
    number = 1.0 if match[1] == "a" else float(match[1].replace(",", "").rstrip("."))
    return number * _UNITS.get(match[2] or "", 1)


def _is_default(name: str, said: str) -> bool:
    default = SETTINGS[name].default
    words = said.strip("`")
    if isinstance(default, bool):
        return words == str(default).lower()
    if default in ("", None, ()):
        return words in ("(none)", "none", "", "one a core")
    if isinstance(default, (int, float)):
        return _number(words) == default
    return words == (",".join(map(str, default)) if isinstance(default, tuple) else str(default))
