"""Tools for the folder of the knowledge base: the state of its files, and reading all of it again."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from pinakes.core import caller
from pinakes.core.errors import NeedsOcr, NoText
from pinakes.library import Library
from pinakes.services.sync.watched import SourceFile, WatchedFolder, knowledge_base
from pinakes.sources.file_stat import size_of, state_of
from pinakes.tools.declare import Reply, tool
from pinakes.tools.failures import as_word

_OFF = "The knowledge base is not in use. Set knowledge_base.enabled to follow its folder."
_MOST_FAILURES = 20
_WORDS = {
    "Empty file": "Empty or unsupported file",
    "No extractable text found in PDF": "No extractable text found in PDF",
    "PDF is encrypted and cannot be decrypted": "PDF is encrypted and cannot be decrypted",
}
"""Beginnings of reasons, and the words in which clients of this tool know them."""
_FAILING = (NeedsOcr.code, NoText.code)
"""What other tools leave out, clients of this one know as failed."""


class KnowledgeFile(Reply):
    """What is known of one file; all but the first, second and last only where it gave a document.

    ``changed``: it is another now, or gone, and that was not read yet.
    """

    relative_path: str
    status: Literal["indexed", "skipped", "error"]
    doc_id: str | SkipJsonSchema[None] = None
    content_hash: str | SkipJsonSchema[None] = None
    file_size: int | SkipJsonSchema[None] = None
    indexed_at: str | SkipJsonSchema[None] = None
    updated_at: str | SkipJsonSchema[None] = None
    changed: bool | SkipJsonSchema[None] = None
    error: str | SkipJsonSchema[None] = None


class Manifest(Reply):
    """What is known of the files: how many there are, and some of them, first those with errors.

    ``files_left_out`` counts those behind them: ask again with a larger ``offset``.
    """

    total_files: int
    total_indexed: int
    total_skipped: int
    total_errors: int
    last_scan: str | SkipJsonSchema[None] = None
    files: list[KnowledgeFile]
    files_left_out: int = 0


class KnowledgeStatus(Reply):
    """How it goes with the folder; only the first two where it is not in use."""

    enabled: bool
    message: str | SkipJsonSchema[None] = None
    kb_dir: str | SkipJsonSchema[None] = None
    collection: str | SkipJsonSchema[None] = None
    watcher_running: bool | SkipJsonSchema[None] = None
    watcher: str | SkipJsonSchema[None] = None
    manifest: Manifest | SkipJsonSchema[None] = None
    truncated: bool | SkipJsonSchema[None] = None
    next: str | SkipJsonSchema[None] = None


class Failure(Reply):
    """A file that could not be read."""

    relative_path: str
    error: str


class Resynced(Reply):
    """What reading everything anew did; ``deleted`` are the documents that there were before."""

    created: int = 0
    modified: int = 0
    deleted: int = 0
    errors: int = 0
    failures: list[Failure] | SkipJsonSchema[None] = None
    enabled: bool | SkipJsonSchema[None] = None
    message: str | SkipJsonSchema[None] = None


@tool(toolset="observe", error_data=as_word)
def kb_status(
    library: Library,
    max_files: Annotated[int, Field(description="Most files listed, those with errors first.", ge=0, le=10_000)] = 10,
    offset: Annotated[int, Field(description="Skip so many of them.", ge=0)] = 0,
    status: Annotated[
        Literal["all", "error", "skipped", "indexed"], Field(description="Only files that stand so.")
    ] = "all",
) -> KnowledgeStatus:
    """See whether the folder of the knowledge base is followed, and which of its files are indexed or failed."""
    watched = _base(library)
    if watched is None:
        return KnowledgeStatus(enabled=False, message=_OFF)
    watch_status = library.watched.statuses().get(watched.key)
    only = "" if status == "all" else status
    files = _manifest(library, watched, max_files, offset, only)
    behind = offset + len(files.files)
    wanted = f',status="{only}"' if only else ""
    how = f"kb_status(offset={behind},max_files={max(1, max_files)}{wanted})" if files.files_left_out else None
    return KnowledgeStatus(
        enabled=True,
        message=(watch_status.message or None) if watch_status else None,
        kb_dir=str(watched.root),
        collection=watched.collection,
        watcher_running=watch_status is not None,
        watcher=watch_status.doing if watch_status else None,
        manifest=files,
        truncated=bool(how) or None,
        next=how,
    )


@tool(toolset="observe", read_only=False, destructive=True, idempotent=True, error_data=as_word)
def kb_resync(library: Library) -> Resynced:
    """Delete all documents of the knowledge base folder and read it anew, under new ids.

    What update_document gave them is lost. Rarely needed: changes are followed."""
    watched = _base(library)
    if watched is None:
        return Resynced(enabled=False, message=_OFF)
    deleted, report = library.watched.start_over(watched)
    failing = [*report.failed, *(entry for entry in report.skipped if entry.code in _FAILING)]
    failed = [Failure(relative_path=one.path, error=_words(one.reason)) for one in failing[:_MOST_FAILURES]]
    return Resynced(
        created=report.added,
        modified=report.changed + report.moved,
        deleted=deleted,
        errors=len(failing),
        failures=failed or None,
    )


def _base(library: Library) -> WatchedFolder | None:
    """Return the knowledge base, None where it is not in use, or not for this caller."""
    base = knowledge_base(library.settings)
    return base if base is not None and caller.current().sees(base.collection) else None


def _manifest(library: Library, watched: WatchedFolder, most: int, offset: int, only: str) -> Manifest:
    counts, listed, synced_at = library.watched.files(watched, most, _FAILING, offset=offset, only=only)
    total = sum(counts.values())
    return Manifest(
        total_files=total,
        total_indexed=counts.get("indexed", 0),
        total_skipped=counts.get("skipped", 0),
        total_errors=counts.get("error", 0),
        last_scan=synced_at,
        files=[_file(line, str(watched.root)) for line in listed],
        files_left_out=max(0, (counts.get(only, 0) if only else total) - offset - len(listed)),
    )


def _file(line: SourceFile, root: str) -> KnowledgeFile:
    state = state_of(root, line.path, line.fingerprint, line.digest) if line.uid else "unknown"
    return KnowledgeFile(
        relative_path=line.path,
        status=line.status,
        doc_id=line.uid,
        content_hash=line.digest,
        file_size=size_of(line.fingerprint),
        indexed_at=line.created_at,
        updated_at=line.updated_at,
        changed=state in ("changed", "missing") or None,
        error=_words(line.reason) if line.reason else None,
    )


def _words(reason: str) -> str:
    return next((words for beginning, words in _WORDS.items() if reason.startswith(beginning)), reason)
