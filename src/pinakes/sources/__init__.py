"""Sources: where documents come from, one file per kind.

``folder`` reads a folder or a single file; ``git`` reads the committed files of a repository; ``http`` reads web pages
and what sitemaps list; ``slack``, ``confluence`` and ``notion`` read exports of these systems.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from pinakes.core.ports import Source
from pinakes.settings import FetchSettings, SourceSettings

SOURCES = {
    "folder": "pinakes.sources.folder:FolderSource",
    "git": "pinakes.sources.git:GitSource",
    "http": "pinakes.sources.http:HttpSource",
    "slack": "pinakes.sources.slack:SlackExport",
    "confluence": "pinakes.sources.confluence:ConfluenceExport",
    "notion": "pinakes.sources.notion:NotionExport",
}

__all__ = ["SOURCES", "open_source", "read_at"]


def open_source(
    settings: SourceSettings,
    *,
    work: Path,
    max_file_bytes: int,
    git_timeout_s: float,
    avoid: Sequence[Path] = (),
    fetch: FetchSettings | None = None,
) -> Source:
    """Open the source described by ``settings``, without reading anything.

    ``work``: a folder for this source alone (a git source keeps its clone there); it need not exist. ``avoid``: our own
    folders, which are skipped if they are inside of the source. ``fetch``: how pages are fetched.

    Raises:
        InvalidInput: the location or ref is unusable, or contains a password.
        InvalidSetting: an include or exclude pattern is invalid.
    """
    module, name = SOURCES[settings.kind].split(":")
    kind = getattr(import_module(module), name)
    limits: dict[str, Any] = {"max_file_bytes": max_file_bytes, "git_timeout_s": git_timeout_s}
    if settings.kind in ("http", "git"):
        limits["fetch"] = fetch or FetchSettings()
    return cast("Source", kind(settings, work=work, avoid=avoid, **limits))


def read_at(kind: str, state: str | None) -> tuple[str | None, str | None]:
    """Return the branch or tag, and the commit, that a source was read at, from its ``state``; None for other kinds."""
    commit, _, ref = (state or "").partition(" ")
    if kind != "git" or not ref:
        return None, None
    return ref.removeprefix("refs/heads/").removeprefix("refs/tags/"), commit
