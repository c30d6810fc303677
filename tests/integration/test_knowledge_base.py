"""The folder of the knowledge base: what is put there is found, tagged, listed, and read anew when asked for."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from small_pdf import pdf
from waiting import until
from working import worker_of

from pinakes.api.folder_watching import Watching
from pinakes.compat.staged.watching import kb_resync, kb_status
from pinakes.core.errors import SourceError
from pinakes.library import Library
from pinakes.services.sync.watched import watched_in
from pinakes.testing import write_files

LONG_S = 30.0
ON = {"knowledge_base__enabled": True, "watch__settle_ms": 100}

OpenLibrary = Callable[..., Library]


@pytest.fixture
def library(open_library: OpenLibrary) -> Library:
    return open_library(**ON)


@pytest.fixture
def folder(home: Path) -> Path:
    return home / "knowledge_base"


@contextmanager
def followed(library: Library) -> Iterator[None]:
    watching = worker_of(library, Watching(library, say=lambda _: None))
    watching.start()
    try:
        until(lambda: status(library)["watcher"] in ("watching", "polling"))
        yield
    finally:
        assert watching.stop()


def status(library: Library, **arguments: Any) -> dict[str, Any]:
    outcome = kb_status.answer(library, arguments)
    assert outcome.data is not None
    return {"watcher": None, **outcome.data}


def resync(library: Library) -> dict[str, Any]:
    outcome = kb_resync.answer(library, {})
    assert outcome.data is not None
    return outcome.data


def read(library: Library) -> None:
    """Read the folder once, without following it."""
    (watched,) = watched_in(library.settings)
    library.watched.read_again(watched)


def test_what_is_put_into_the_folder_is_found_with_tags_and_metadata(library: Library, folder: Path) -> None:
    with followed(library):
        assert folder.is_dir()
        write_files(folder, {"team/guides/keys.md": "---\ntags: [howto]\nstatus: beta\n---\n# Keys\n\nRotate them.\n"})
        until(lambda: status(library)["manifest"]["total_indexed"] == 1)
        (hit,) = library.search("rotate", filters={"tags": "folder:guides"}).hits
    assert hit.metadata == {
        "tags": ["howto", "source:knowledge_base", "filetype:md", "folder:team", "folder:guides"],
        "status": "beta",
        "source": "knowledge_base:team/guides/keys.md",
        "ingested_from": "knowledge_base",
        "kb_relative_path": "team/guides/keys.md",
        "file_extension": ".md",
        "file_size": (folder / "team/guides/keys.md").stat().st_size,
    }


def test_the_status_has_the_folder_and_every_file_with_what_became_of_it(library: Library, folder: Path) -> None:
    write_files(folder, {"a.md": "# Alpha\n\nwords\n", "empty.md": "", "scan.pdf": "%PDF-1.4 nothing", "x.png": "x"})
    read(library)
    found = status(library)
    assert (found["enabled"], found["watcher_running"], found["collection"]) == (True, False, "default")
    assert found["kb_dir"] == str(folder)
    manifest = found["manifest"]
    figures = {name: manifest[name] for name in ("total_files", "total_indexed", "total_skipped", "total_errors")}
    assert figures == {"total_files": 4, "total_indexed": 1, "total_skipped": 3, "total_errors": 0}
    assert manifest["last_scan"] == library.status()[0].sources[0]["synced_at"]
    by_path = {file["relative_path"]: file for file in manifest["files"]}
    document = library.read("a.md").document
    assert by_path["a.md"] == {
        "relative_path": "a.md",
        "status": "indexed",
        "doc_id": document.uid,
        "content_hash": document.content_hash,
        "file_size": 15,
        "indexed_at": document.created_at,
        "updated_at": document.updated_at,
    }
    assert by_path["empty.md"] == {
        "relative_path": "empty.md",
        "status": "skipped",
        "error": "Empty or unsupported file",
    }
    assert "damaged" in by_path["scan.pdf"]["error"]
    assert by_path["x.png"]["status"] == "skipped", "what is left out is counted and named"


def test_many_files_are_listed_in_part_those_with_trouble_first(library: Library, folder: Path) -> None:
    write_files(folder, {**{f"{number}.md": f"# {number}\n" for number in range(10)}, "z.md": ""})
    read(library)
    manifest = status(library, max_files=2)["manifest"]
    assert [file["relative_path"] for file in manifest["files"]] == ["z.md", "0.md"]
    assert (manifest["total_files"], manifest["files_left_out"]) == (11, 9)


def test_large_files_are_skipped_by_its_own_limit(open_library: OpenLibrary, folder: Path) -> None:
    library = open_library(**ON, knowledge_base__max_file_bytes=10)
    write_files(folder, {"large.md": "x" * 11})
    read(library)
    (file,) = status(library)["manifest"]["files"]
    assert (file["status"], file["error"]) == ("skipped", "File too large (11 bytes, max 10)")


def test_a_scanned_pdf_is_an_error_and_a_locked_one_is_skipped(library: Library, folder: Path) -> None:
    write_files(folder, {"a.md": "# Alpha\n\nwords\n", "empty.md": ""})
    (folder / "locked.pdf").write_bytes(pdf("Words", locked=True))
    (folder / "scan.pdf").write_bytes(pdf(""))
    read(library)
    manifest = status(library)["manifest"]
    figures = {name: manifest[name] for name in ("total_files", "total_indexed", "total_skipped", "total_errors")}
    assert figures == {"total_files": 4, "total_indexed": 1, "total_skipped": 2, "total_errors": 1}
    assert [(file["relative_path"], file["status"], file.get("error")) for file in manifest["files"]] == [
        ("scan.pdf", "error", "No extractable text found in PDF"),
        ("empty.md", "skipped", "Empty or unsupported file"),
        ("locked.pdf", "skipped", "PDF is encrypted and cannot be decrypted"),
        ("a.md", "indexed", None),
    ]
    assert status(library, max_files=1)["manifest"]["files"][0]["relative_path"] == "scan.pdf"
    assert library.sync()[0].failed == [], "which would be read again and again"
    again = resync(library)
    assert again["errors"] == 1
    assert again["failures"] == [{"relative_path": "scan.pdf", "error": "No extractable text found in PDF"}]
    (folder / "scan.pdf").write_bytes(pdf("Words on the page"))
    read(library)
    assert status(library)["manifest"]["total_errors"] == 0


def test_before_it_was_read_there_is_nothing_to_list(library: Library) -> None:
    assert status(library)["manifest"] == {
        "total_files": 0,
        "total_indexed": 0,
        "total_skipped": 0,
        "total_errors": 0,
        "files": [],
        "files_left_out": 0,
    }


def test_where_it_is_not_in_use_both_tools_say_so(open_library: OpenLibrary) -> None:
    library = open_library()
    assert kb_status.answer(library, {}).data == {"enabled": False, "message": status(library)["message"]}
    assert "knowledge_base.enabled" in status(library)["message"]
    assert resync(library)["enabled"] is False
    assert watched_in(library.settings) == []


def test_a_resync_deletes_its_documents_and_no_others_and_reads_all_anew(
    library: Library, folder: Path, docs: Path
) -> None:
    write_files(folder, {"a.md": "# Alpha\n\nwords\n", "b.md": "# Beta\n\nwords\n"})
    write_files(docs, {"mine.md": "# Mine\n\nwords\n"})
    read(library)
    library.add(str(docs))
    mine = library.read("mine.md").document.uid
    write_files(folder, {"b.md": "# Gamma\n\nwords\n", "c.md": "# Delta\n\nwords\n"})
    assert resync(library) == {"created": 3, "modified": 0, "deleted": 2, "errors": 0}
    assert library.read("mine.md").document.uid == mine
    assert {hit.title for hit in library.search("words").hits} == {"Alpha", "Gamma", "Delta", "Mine"}
    assert library.verify() == {"default": []}
    assert resync(library) == {"created": 3, "modified": 0, "deleted": 3, "errors": 0}


def test_a_resync_of_a_folder_that_is_not_there_deletes_nothing(library: Library, folder: Path) -> None:
    write_files(folder, {"a.md": "# Alpha\n\nwords\n"})
    read(library)
    folder.rename(folder.parent / "away")
    data = resync(library)
    assert str(folder) in data["error"]
    assert len(library.search("words").hits) == 1


def test_neither_a_resync_nor_a_sync_takes_another_empty_folder_for_the_one_that_was_read(
    library: Library, folder: Path
) -> None:
    write_files(folder, {"a.md": "# Alpha\n\nwords\n", "b.md": "# Beta\n\nwords\n"})
    read(library)
    away = folder.rename(folder.parent / "away")
    folder.mkdir()
    write_files(folder, {"nothing.md": ""})
    assert "not the folder that it was" in resync(library)["error"]
    assert "Nothing was removed" in resync(library)["hint"]
    for _ in range(2):
        with pytest.raises(SourceError, match="not the folder that it was") as refused:
            read(library)
        assert f"remove-source default {folder}" in refused.value.hint
    assert len(library.search("words").hits) == 2
    shutil.copytree(away, folder, dirs_exist_ok=True)
    (folder / "b.md").unlink()
    read(library)
    assert len(library.search("words").hits) == 1
    (folder / "a.md").unlink()
    read(library)
    assert library.search("words").hits == ()


def test_a_resync_while_the_folder_is_followed_is_no_trouble(library: Library, folder: Path) -> None:
    write_files(folder, {"a.md": "# Alpha\n\nwords\n"})
    with followed(library):
        until(lambda: status(library)["manifest"]["total_indexed"] == 1)
        assert resync(library) == {"created": 1, "modified": 0, "deleted": 1, "errors": 0}
        write_files(folder, {"b.md": "# Beta\n\nwords\n"})
        until(lambda: len(library.search("words").hits) == 2)


def test_sync_and_add_keep_the_tags_and_limits_of_the_folder(library: Library, folder: Path) -> None:
    write_files(folder, {"a.md": "# Alpha\n\nwords\n"})
    read(library)
    (report,) = library.sync()
    assert (report.changed, report.unchanged) == (0, 1)
    report = library.add(str(folder))
    assert (report.changed, report.unchanged) == (0, 1)
    assert library.search("words").hits[0].metadata["ingested_from"] == "knowledge_base"


def test_another_folder_and_collection_can_be_named(open_library: OpenLibrary, docs: Path) -> None:
    library = open_library(
        **ON, knowledge_base__folder=str(docs), knowledge_base__collection="notes", knowledge_base__tags=["mine"]
    )
    write_files(docs, {"a.md": "# Alpha\n\nwords\n"})
    read(library)
    (hit,) = library.search("words", "notes").hits
    assert hit.metadata["tags"] == ["mine"]
    assert status(library)["collection"] == "notes"


def test_sources_of_collections_are_followed_where_the_settings_say_so(
    open_library: OpenLibrary, docs: Path, home: Path
) -> None:
    write_files(docs, {"a.md": "# Alpha\n\nwords\n"})
    home.mkdir()
    source = f'[[collections.notes.sources]]\nlocation = "{docs}"\nwatch = true\ntags = ["kind:{{extension}}"]\n'
    (home / "config.toml").write_text(source)
    library = open_library(**{**ON, "knowledge_base__enabled": False})
    watching = worker_of(library, Watching(library, say=lambda _: None))
    watching.start()
    try:
        until(lambda: library.collections() and library.search("words", "notes").hits)
        assert library.search("words", "notes").hits[0].metadata["tags"] == ["kind:md"]
        until(lambda: library.unread() == [])
        until(lambda: library.status("notes")[0].sources[0]["followed"] == "watching")
    finally:
        assert watching.stop()
    assert library.status("notes")[0].sources[0]["followed"] is None


def test_reading_anew_with_another_model_changes_nothing_and_names_the_command(
    open_library: OpenLibrary, folder: Path
) -> None:
    write_files(folder, {"keys.md": "# Keys\n\nRotate them.\n"})
    with open_library(**ON) as library:
        read(library)
    other = {"embedding__provider": "onnx", "embedding__path": str(folder.parent / "no-model")}
    with open_library(**ON, **other) as library:
        told = resync(library)
        assert "pinakes reindex --embed -c default" in told["hint"]
        assert status(library)["manifest"]["total_indexed"] == 1
