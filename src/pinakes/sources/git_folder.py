"""Reads files in the ``.git`` folder of a local repository, without running git: exclude patterns, and refs.

The file named by ``core.excludesFile`` belongs to the user and is not read: the content of a collection must not depend
on who syncs it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from pinakes.core.errors import SourceError
from pinakes.sources.git_urls import local_path

_MOST_BYTES: Final = 10_000_000
_MOST_POINTER_BYTES: Final = 8192


def git_excludes(folder: str) -> str:
    """Return the text of the exclude file of the work tree with the top ``folder``, "" if there is none.

    ``.git`` is a folder, or a file naming one: that of a linked work tree, which shares the exclude file with its
    repository, or of a submodule.

    Raises:
        SourceError: it cannot be read or is too large; files that it excludes may be private.
    """
    there = Path(folder, ".git")
    if not there.is_dir():
        pointer = _text(there, _MOST_POINTER_BYTES)
        if not pointer.startswith("gitdir:"):
            return ""
        there = Path(folder, pointer.removeprefix("gitdir:").strip())
        there = Path(there, _text(there / "commondir", _MOST_POINTER_BYTES).strip() or ".")
    file = there / "info" / "exclude"
    if not (text := _text(file)) and os.path.isfile(file) and os.path.getsize(file):  # noqa: PTH113, PTH202 - no errors
        raise SourceError(f"{str(file)!r} cannot be read, or has more than {_MOST_BYTES:,} bytes.", hint="Shorten it.")
    return text


def is_git_exclude(path: str) -> bool:
    """Return whether ``path`` is an exclude file."""
    return f"/{path}".endswith("/.git/info/exclude")


def is_at(location: str, state: str | None) -> bool | None:
    """Return whether a local repository is still at the commit in ``state`` ("commit ref", as returned by scans).

    Always true if it was read at a commit rather than a branch or tag.

    None if unknown: the repository is remote, or stores its refs in another way.
    """
    commit, _, ref = (state or "").partition(" ")
    if commit and commit == ref:
        return True
    place = local_path(location)
    there = _commit_at(place, ref) if commit and ref and place else None
    return None if there is None else there == commit


def _commit_at(place: Path, ref: str) -> str | None:
    folder = place / ".git" if (place / ".git").is_dir() else place
    loose = _text(folder / ref).strip()
    if loose:
        return loose
    lines = _text(folder / "packed-refs").splitlines()
    for number, line in enumerate(lines):
        commit, _, name = line.partition(" ")
        if name == ref:
            below = lines[number + 1] if number + 1 < len(lines) else ""
            return below[1:] if below.startswith("^") else commit
    return None


def _text(file: Path, most_bytes: int = _MOST_BYTES) -> str:
    """Return the text of a file, "" if it cannot be read, is not regular or is larger."""
    from pinakes.platform.regular_files import read_regular  # a search without hits of git does not need it

    try:
        return read_regular(file, most_bytes).decode("utf-8-sig", "replace")
    except (OSError, ValueError):
        return ""
