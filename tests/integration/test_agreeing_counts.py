"""What the interfaces say of how much there is, and how it stands, is the same, and is what the disk says."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from forking import run_pinakes
from serve.serve_support import Running

from pinakes.api.http_app import create_app
from pinakes.library import Library
from pinakes.settings import load
from pinakes.tools import TOOLS

FILES = ("same", "changed", "gone", "touched", "again")
DOCUMENTS = len(FILES) + 2
"""Those of the files, of the repository, and the one that was put."""

MODEL = {"embedding__provider": "deterministic"}


def commit(repository: Path) -> None:
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    for command in (("init", "-q"), ("add", "."), (*who, "commit", "-qm", "a change")):
        subprocess.run(["git", "-C", str(repository), *command], check=True)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """A folder of which one file changed, one is gone, one was touched and two cannot be read; a repository; a note."""
    place = tmp_path_factory.mktemp("agreeing")
    folder, repository = place / "docs", place / "repository"
    for one in (folder, repository):
        one.mkdir()
    for name in FILES:
        (folder / f"{name}.md").write_text(f"# {name}\n\nThis document is about {name} things.\n")
    (folder / "empty.md").write_text("")
    (folder / "broken.pdf").write_bytes(b"%PDF-1.4 nothing")
    (repository / "repository.md").write_text("# A repository\n\nA text in a repository.\n")
    commit(repository)
    every = sorted({tool.toolset for tool in TOOLS})
    settings = load(home=place / "home", environment={}, server__port=0, toolsets=every, **MODEL)
    with Library(settings) as opened:
        opened.add(str(folder))
        opened.add(str(repository), kind="git")
        opened.documents.put("A text that was put by itself.", title="Put")
        (folder / "changed.md").write_text("# changed\n\nAnother text.\n")
        (folder / "gone.md").unlink()
        os.utime(folder / "touched.md")
        (repository / "repository.md").write_text("# A repository\n\nAnother text in a repository.\n")
        commit(repository)
        yield opened


def asked(library: Library, name: str, **arguments: Any) -> Any:
    return next(tool for tool in TOOLS if tool.name == name).answer(library, arguments).data


def command(library: Library, *arguments: str) -> Any:
    """Return what a command prints as JSON."""
    environment = {**os.environ, "PINAKES_EMBEDDING__PROVIDER": "deterministic"}
    done = run_pinakes([*arguments, "--home", str(library.settings.home), "--json"], environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_every_interface_counts_the_same_documents_and_chunks(library: Library) -> None:
    [status] = asked(library, "status")["collections"]
    server = Running(create_app(library), library.settings)
    try:
        health, stats = server.client.get("/health").json(), server.client.get("/stats").json()
        metrics = server.client.get("/metrics").text
        listed = server.client.get("/api/v1/sources").json()["data"]["sources"]
    finally:
        server.stop()
    shown = command(library, "status")
    overview = asked(library, "get_index_status")["system_stats"]
    [of_collection] = asked(library, "list_collections")["collections"]
    [metadata] = asked(library, "metadata_report")["collections"]
    documents = {
        "status": status["documents"],
        "health": health["indexed_documents"],
        "stats": stats["total_keps"],
        "index": overview["total_content"] - overview["status_breakdown"]["failed"],
        "sources": sum(one["documents"] for one in listed) + 1,
        "list": of_collection["document_count"],
        "collection": asked(library, "collection_stats")["document_count"],
        "metadata": metadata["documents"],
        "command": shown["collections"][0]["documents"],
    }
    assert documents == dict.fromkeys(documents, DOCUMENTS)
    assert f'pinakes_collection{{name="default",of="documents"}} {DOCUMENTS}.0' in metrics
    vectors = overview["total_embeddings"], stats["total_vectors"], health["indexed_chunks"], status["chunks"]
    assert len(set(vectors)) == 1
    assert sum(overview["content_by_type"].values()) == sum(overview["status_breakdown"].values())
    left_out = sum(one["files"].get("skipped", 0) for one in listed)
    assert left_out == status["problems"] == overview["status_breakdown"]["failed"]


def test_what_is_not_as_on_the_disk_is_stale(library: Library) -> None:
    found = asked(library, "get_index_status")
    assert found["system_stats"]["status_breakdown"] == {
        "completed": DOCUMENTS - 2,
        "pending": 0,
        "failed": 2,
        "stale": 2,
    }
    [note] = found["notes"]
    assert "has commits that were not read yet" in note
    [stale, _] = command(library, "status", "--stale")["collections"][0]["stale"]
    assert (stale["changed"], stale["missing"]) == (["changed.md"], ["gone.md"])


@pytest.mark.parametrize(
    ("path", "status", "words"),
    [
        ("same.md", "completed", None),
        ("touched.md", "completed", None),
        ("changed.md", "stale", "its file has changed since it was read"),
        ("gone.md", "stale", "its file is gone"),
        ("empty.md", "failed", "Empty file"),
        ("broken.pdf", "failed", "PDF is damaged"),
    ],
)
def test_the_status_of_one_content_says_what_became_of_its_file(
    library: Library, path: str, status: str, words: str | None
) -> None:
    one = asked(library, "get_index_status", content_id=path, include_stats=False)["content_status"]
    assert one["status"] == status
    assert (words or "") in one.get("error_message", "")


def test_what_a_source_keeps_though_its_file_is_gone_is_not_stale(tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "gone.md").write_text("# Gone\n\nThis stays.\n")
    source = {"kind": "folder", "location": str(folder), "on_delete": "keep"}
    kept = {"default": {"sources": [source]}}
    with Library(load(home=tmp_path / "home", environment={}, collections=kept, **MODEL)) as library:
        library.sync()
        (folder / "gone.md").unlink()
        library.sync()
        assert asked(library, "get_index_status")["system_stats"]["status_breakdown"]["completed"] == 1


def test_the_knowledge_base_says_which_files_changed(tmp_path: Path) -> None:
    folder = tmp_path / "base"
    folder.mkdir()
    for name in ("same", "changed", "gone"):
        (folder / f"{name}.md").write_text(f"# {name}\n\nA text about {name} things.\n")
    base = {"knowledge_base__enabled": True, "knowledge_base__folder": str(folder)}
    with Library(load(home=tmp_path / "home", environment={}, **base, **MODEL)) as library:
        library.sync()
        (folder / "changed.md").write_text("# Another\n")
        (folder / "gone.md").unlink()
        files = asked(library, "kb_status")["manifest"]["files"]
        assert {one["relative_path"]: one.get("changed") for one in files} == {
            "same.md": None,
            "changed.md": True,
            "gone.md": True,
        }
