"""Permissions of files that Pinakes writes: readable by their owner only, whatever the umask is."""

from __future__ import annotations

import os
from pathlib import Path

PRIVATE_FILE = 0o600
PRIVATE_FOLDER = 0o700
_PRIVATE_MASK = 0o077
_EVERY_FILE = 0o666
_EVERY_FOLDER = 0o777

_usual_mask = 0o022


def be_private() -> None:
    """Make this process and its children create files and folders for their owner only."""
    global _usual_mask
    _usual_mask = os.umask(_PRIVATE_MASK)


def make_private(folder: Path) -> None:
    """Create ``folder`` and its parents for their owner only; existing ones are not changed."""
    _make_with_parents(folder, PRIVATE_FOLDER)


def make_shared(folder: Path) -> None:
    """Create ``folder`` and its parents with the permissions that apply without ``be_private``."""
    _make_with_parents(folder, _EVERY_FOLDER & ~_usual_mask | PRIVATE_FOLDER)


def share(folder: Path) -> None:
    """Set the permissions of ``folder`` and its content to those that apply without ``be_private``.

    For files without user data that several users may need, such as models.
    """
    for place, _, names in os.walk(folder):
        Path(place).chmod(_EVERY_FOLDER & ~_usual_mask | PRIVATE_FOLDER)
        for name in names:
            Path(place, name).chmod(_EVERY_FILE & ~_usual_mask | PRIVATE_FILE)


def _make_with_parents(folder: Path, mode: int) -> None:
    if folder.is_dir():
        return
    _make_with_parents(folder.parent, mode)
    try:
        folder.mkdir(mode=mode)
    except FileExistsError:
        if not folder.is_dir():
            raise
    else:
        folder.chmod(mode)  # independent of the umask
