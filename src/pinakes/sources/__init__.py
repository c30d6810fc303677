"""Sources: the places documents come from, one file per kind.

``folder`` reads a folder or one file where it lies; ``git`` reads the committed files of a repository; ``http`` reads
pages and what sitemaps list; ``slack``, ``confluence`` and ``notion`` read exports of these.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from pinakes.core.ports import Source
from pinakes.settings import FetchSettings, SourceSettings
from pinakes.sources.locations import recognise

SOURCES = {
    "folder": "pinakes.sources.folder:FolderSource",
    "git": "pinakes.sources.git:GitSource",
    "http": "pinakes.sources.http:HttpSource",
    "slack": "pinakes.sources.slack:SlackExport",
    "confluence": "pinakes.sources.confluence:ConfluenceExport",
    "notion": "pinakes.sources.notion:NotionExport",
}

__all__ = ["SOURCES", "open_source", "read_at", "recognise"]


def open_source(
    settings: SourceSettings,
    *,
    work: Path,
    max_file_bytes: int,
    git_timeout_s: float,
    avoid: Sequence[Path] = (),
    fetch: FetchSettings | None = None,
) -> Source:
    """Open the source that ``settings`` describe; nothing is read yet.

    ``work`` is a folder this source alone may fill (a git source keeps its clone there); it need not exist.
    ``avoid`` are folders that are left out where they lie inside the source: our own. ``fetch``: how pages are fetched.

    Raises:
        InvalidInput: a location or ref that no source can use, or that carries a password.
        InvalidSetting: an include or exclude pattern that cannot be parsed.
    """
    module, name = SOURCES[settings.kind].split(":")
    kind = getattr(import_module(module), name)
    limits: dict[str, Any] = {"max_file_bytes": max_file_bytes, "git_timeout_s": git_timeout_s}
    if settings.kind in ("http", "git"):
        limits["fetch"] = fetch or FetchSettings()
    return cast("Source", kind(settings, work=work, avoid=avoid, **limits))


def read_at(kind: str, state: str | None) -> tuple[str | None, str | None]:
    """Return the branch or tag and the commit that a source was read at, as its ``state`` tells; None for others."""
    commit, _, ref = (state or "").partition(" ")
    if kind != "git" or not ref:
        return None, None
    return ref.removeprefix("refs/heads/").removeprefix("refs/tags/"), commit
