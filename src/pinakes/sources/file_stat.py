"""Detects whether a file has changed since it was read."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path

from pinakes.core.records import SourceState

_MOST_HASHED_BYTES = 4_000_000
"""A larger file of the same size counts as changed if its times differ."""


def fingerprint(status: os.stat_result) -> str:
    """Return a string that changes whenever the content of a file may have changed.

    An edit that keeps size and mtime still changes ctime.
    """
    return f"{status.st_size}:{status.st_mtime_ns}:{status.st_ctime_ns}"


def size_of(stamp: str) -> int | None:
    """Return the size in bytes from a fingerprint, None if it has none."""
    size = stamp.partition(":")[0]
    return int(size) if size.isdecimal() and ":" in stamp else None


def state_of(location: str, path: str, stamp: str, digest: str | None) -> SourceState:
    """Return the current state of the file at ``path`` of a folder, or of the single file ``location``.

    ``stamp``: its fingerprint when it was read; ``digest``: SHA-256 of its content then. "unknown" if the folder does
    not exist or is not accessible, or if ``path`` leads into a file.
    """
    full = f"{location}/{path}"
    try:
        status = os.stat(full)  # noqa: PTH116 - called for every hit
    except NotADirectoryError:
        full = location
        try:
            status = os.stat(full)  # noqa: PTH116
        except OSError:
            return "unknown"
        if stat.S_ISDIR(status.st_mode):
            return "unknown"
    except FileNotFoundError:
        return "missing" if Path(location).exists() else "unknown"
    except (OSError, ValueError):
        return "unknown"
    if fingerprint(status) == stamp:
        return "current"
    if status.st_size != size_of(stamp) or status.st_size > _MOST_HASHED_BYTES or digest is None:
        return "changed"
    return _by_content(full, digest)


def _by_content(full: str, digest: str) -> SourceState:
    """Compare the content of a file whose times differ: it may only have been touched."""
    try:
        same = hashlib.sha256(Path(full).read_bytes()).hexdigest() == digest
    except OSError:
        return "unknown"
    return "current" if same else "changed"
