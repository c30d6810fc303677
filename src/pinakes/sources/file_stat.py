"""Whether a file is still the one that was read."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path

from pinakes.core.records import SourceState

_MOST_HASHED_BYTES = 4_000_000
"""A larger file of the same size counts as changed when its times are others."""


def fingerprint(status: os.stat_result) -> str:
    """Return what changes whenever the content of a file may have changed.

    An edit that keeps size and mtime still changes ctime.
    """
    return f"{status.st_size}:{status.st_mtime_ns}:{status.st_ctime_ns}"


def size_of(stamp: str) -> int | None:
    """Return the size in bytes that a fingerprint tells, None where it tells none."""
    size = stamp.partition(":")[0]
    return int(size) if size.isdecimal() and ":" in stamp else None


def state_of(location: str, path: str, stamp: str, digest: str | None) -> SourceState:
    """Say how the file at ``path`` of a folder, or the single file ``location``, is now.

    ``stamp`` is its fingerprint and ``digest`` the SHA-256 of its content when it was read. "unknown" where that cannot
    be told: the folder itself is not there, or not for us to see, or ``path`` leads into a file.
    """
    full = f"{location}/{path}"
    try:
        status = os.stat(full)  # noqa: PTH116 - for every hit of every answer
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
    """Look into a file whose times alone differ: it was touched, or its permissions were changed."""
    try:
        same = hashlib.sha256(Path(full).read_bytes()).hexdigest() == digest
    except OSError:
        return "unknown"
    return "current" if same else "changed"
