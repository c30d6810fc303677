"""What commands load: the imports are most of the time of a short command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pinakes.library import Library
from pinakes.settings import load

PROBE = """
import sys
from pinakes.cli.entry import run
code = run(sys.argv[2:])
open(sys.argv[1], "w").write(" ".join(sys.modules))
sys.exit(code)
"""
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("PINAKES")}

INTERFACES = {"fastapi", "fastmcp", "starlette", "uvicorn", "websockets", "pinakes.compat", "pinakes.tools"}
OTHER_DATABASES = {"alembic", "pgvector", "psycopg", "qdrant_client", "sqlalchemy.dialects.postgresql"}
READING = {
    "httpx",
    "jinja2",
    "kreuzberg",
    "pathspec",
    "pypdfium2",
    "tree_sitter",
    "watchfiles",
    "pinakes.catalog.documents",
    "pinakes.chunking",
    "pinakes.extraction",
    "pinakes.ingestion.run",
    "pinakes.metadata",
    "pinakes.parsing",
    "pinakes.services.documents",
    "pinakes.services.ingestion_runs",
    "pinakes.services.sync",
    "pinakes.sources.folder",
    "pinakes.sources.git",
}
GRAPH = {"pinakes.graph", "pinakes.services.graph_search", "pinakes.services.knowledge_graph"}
UNUSED_BY_A_SEARCH = (
    INTERFACES | OTHER_DATABASES | READING | GRAPH | {"numpy.ma", "onnx", "pinakes.search.ranking.rerank"}
)
MOST_OF_OURS = 211
"""So many modules of Pinakes a search loads at most, those of the command line included."""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home, corpus = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("corpus")
    (corpus / "keys.md").write_text("# Keys\n\nKeys are rotated daily.\n\nEvery service has one.\n", "utf-8")
    with Library(load(home=home, environment={}, embedding__provider="deterministic")) as library:
        library.add(str(corpus), "notes")
    return home


def loaded_by(tmp_path: Path, home: Path, *words: str) -> set[str]:
    """Run a command in a process of its own; return the modules that it loaded, with the packages around them."""
    told = tmp_path / "loaded"
    options = ["--home", str(home), "--set", "embedding.provider=deterministic", "--json"]
    command = [sys.executable, "-c", PROBE, str(told), *words, *options]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=60, check=True)
    assert "error" not in json.loads(done.stdout)
    return set(told.read_text("utf-8").split())


def under(names: set[str], loaded: set[str]) -> list[str]:
    return sorted(name for name in loaded if any(name == one or name.startswith(f"{one}.") for one in names))


def test_a_search_loads_nothing_that_only_others_need(home: Path, tmp_path: Path) -> None:
    loaded = loaded_by(tmp_path, home, "search", "when are keys rotated")
    empty = {"pinakes.services.documents", "pinakes.services.sync"}  # the packages without their modules
    assert [name for name in under(UNUSED_BY_A_SEARCH, loaded) if name not in empty] == []
    ours = [name for name in loaded if name.partition(".")[0] == "pinakes"]
    assert len(ours) <= MOST_OF_OURS, sorted(ours)


@pytest.mark.parametrize("words", [("status",), ("read", "keys.md"), ("collections", "stats", "notes"), ("sync",)])
def test_no_command_over_sqlite_loads_interfaces_or_other_databases(
    home: Path, tmp_path: Path, words: tuple[str, ...]
) -> None:
    others = (INTERFACES | OTHER_DATABASES) - {"pinakes.tools"}  # one of them finds documents
    assert under(others, loaded_by(tmp_path, home, *words)) == []
