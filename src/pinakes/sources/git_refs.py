"""Reads which commit a branch or tag of a local repository is at, without running git."""

from __future__ import annotations

from pathlib import Path

from pinakes.sources.git_urls import local_path

_MOST_BYTES = 10_000_000


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


def _text(file: Path) -> str:
    try:
        return file.read_text("utf-8") if file.stat().st_size <= _MOST_BYTES else ""
    except (OSError, ValueError):
        return ""
