"""What a client hears first, and how quickly."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from pinakes.library import Library
from pinakes.serve.greeting import instructions, version_of
from pinakes.settings import load

LIGHT = """
import json, sys
import pinakes.serve.stdio, pinakes.serve.greeting, pinakes.serve
print(json.dumps(sorted(name.partition(".")[0] for name in sys.modules)))
"""
HEAVY = {"fastapi", "fastmcp", "faiss", "httpx", "mcp", "numpy", "onnx", "onnxruntime", "sqlalchemy", "starlette",
         "tantivy", "tokenizers", "tree_sitter", "kreuzberg", "uvicorn"}  # fmt: skip


def test_the_greeting_loads_nothing_heavy() -> None:
    run = subprocess.run([sys.executable, "-c", LIGHT], capture_output=True, check=True, text=True)
    assert not HEAVY & set(json.loads(run.stdout))


def test_the_instructions_name_the_collections_there_are(tmp_path: Path) -> None:
    settings = load(home=tmp_path / "home", environment={}, embedding__provider="deterministic")
    assert "Collections" not in instructions(settings)
    (tmp_path / "a.md").write_text("# A\n\nSome text.\n")
    with Library(settings) as library:
        library.add(str(tmp_path / "a.md"), "papers")
        assert "- papers" in instructions(settings)
    assert "Search first with search," in instructions(settings)


def test_a_profile_names_its_collection_tool_and_version(tmp_path: Path) -> None:
    settings = load(home=tmp_path, environment={}, profile="kep")
    assert "- keps: Kubernetes Enhancement Proposals" in instructions(settings)
    assert "Search first with search_keps," in instructions(settings)
    assert version_of(settings) == "1.0.0"


def test_a_damaged_catalogue_does_not_keep_a_client_from_being_greeted(tmp_path: Path) -> None:
    (tmp_path / "catalog.db").write_bytes(b"not a database at all, but long enough to be read as one" * 50)
    assert "data" in instructions(load(home=tmp_path, environment={}))
