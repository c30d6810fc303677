"""``.git/info/exclude`` of a work tree: ignore patterns that are not committed.

The file named by ``core.excludesFile`` belongs to the user and is not read: the content of a collection must not depend
on who syncs it.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

_MAX_BYTES = 1_000_000
_MAX_POINTER_BYTES = 8192
_OPEN = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC


def git_excludes(folder: str) -> str:
    """Return the text of the exclude file of the work tree with the top ``folder``, "" if there is none.

    ``.git`` is a folder, or a file naming one: that of a linked work tree, which shares the exclude file with its
    repository, or of a submodule.
    """
    there = Path(folder, ".git")
    if not there.is_dir():
        pointer = _text(there, _MAX_POINTER_BYTES)
        if not pointer.startswith("gitdir:"):
            return ""
        there = Path(folder, pointer.removeprefix("gitdir:").strip())
        there = Path(there, _text(there / "commondir", _MAX_POINTER_BYTES).strip() or ".")
    return _text(there / "info" / "exclude", _MAX_BYTES)


def is_git_exclude(path: str) -> bool:
    """Return whether ``path`` is an exclude file."""
    return f"/{path}".endswith("/.git/info/exclude")


def _text(path: Path, most: int) -> str:
    """Return up to ``most`` bytes of a regular file, "" if it cannot be read."""
    try:
        file = os.open(path, _OPEN)
    except (OSError, ValueError):
        return ""
    try:
        return os.read(file, most).decode("utf-8-sig", "replace") if stat.S_ISREG(os.fstat(file).st_mode) else ""
    except OSError:
        return ""
    finally:
        os.close(file)
